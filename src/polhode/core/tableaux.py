"""Coefficients of explicit Runge-Kutta methods, in vector spaces and on groups, as data.

Rows hold weights of the slopes so far, so that row i is the i-th stage and the first row is empty; the last row, with
all slopes, is the step itself. The time of a stage is the sum of its row.
"""

from fractions import Fraction as F
from typing import NamedTuple

Number = float | F
Row = tuple[Number, ...]


class Tableau(NamedTuple):
    """A method in a vector space: the state moves by h times a weighted sum of slopes."""

    stages: tuple[Row, ...]
    step: Row


class Turn(NamedTuple):
    """The exponential of h sum w_i k_i + h^2 sum c_ij k_i x k_j, where k are rates in the body."""

    weights: Row
    brackets: tuple[tuple[int, int, Number], ...] = ()
    """(i, j, c_ij)."""


Turns = tuple[Turn, ...]
"""Exponentials in the order in which they act."""


class GroupTableau(NamedTuple):
    """A method on a group: the attitude moves by one exponential after the other.

    Variables in a vector space, such as the momentum, move by the sum of the weights.
    """

    stages: tuple[Turns, ...]
    step: Turns


def total(turns: Turns) -> Row:
    """The sum of the weights of all exponentials: the row of the method in a vector space."""
    longest = max((len(turn.weights) for turn in turns), default=0)
    return tuple(sum(turn.weights[i] for turn in turns if i < len(turn.weights)) for i in range(longest))


def underlying(tableau: GroupTableau) -> Tableau:
    """The method in a vector space that has the same weights."""
    return Tableau(tuple(total(turns) for turns in tableau.stages), total(tableau.step))


# --- in vector spaces

CLASSICAL = Tableau(((), (F(1, 2),), (F(0), F(1, 2)), (F(0), F(0), F(1))), (F(1, 6), F(1, 3), F(1, 3), F(1, 6)))
"""Kutta's method of order 4.  [kutta1901]"""

FEHLBERG = Tableau(
    (
        (),
        (F(1, 4),),
        (F(3, 32), F(9, 32)),
        (F(1932, 2197), F(-7200, 2197), F(7296, 2197)),
        (F(439, 216), F(-8), F(3680, 513), F(-845, 4104)),
        (F(-8, 27), F(2), F(-3544, 2565), F(1859, 4104), F(-11, 40)),
    ),
    (F(16, 135), F(0), F(6656, 12825), F(28561, 56430), F(-9, 50), F(2, 55)),
)
"""Fehlberg's six stages with the weights of order 5.  [fehlberg1970]"""

DORMAND_PRINCE = Tableau(
    (
        (),
        (5.26001519587677318785587544488e-2,),
        (1.97250569845378994544595329183e-2, 5.91751709536136983633785987549e-2),
        (2.95875854768068491816892993775e-2, 0.0, 8.87627564304205475450678981324e-2),
        (2.41365134159266685502369798665e-1, 0.0, -8.84549479328286085344864962717e-1,
         9.24834003261792003115737966543e-1),
        (3.7037037037037037037037037037e-2, 0.0, 0.0, 1.70828608729473871279604482173e-1,
         1.25467687566822425016691814123e-1),
        (3.7109375e-2, 0.0, 0.0, 1.70252211019544039314978060272e-1, 6.02165389804559606850219397283e-2,
         -1.7578125e-2),
        (3.70920001185047927108779319836e-2, 0.0, 0.0, 1.70383925712239993810214054705e-1,
         1.07262030446373284651809199168e-1, -1.53194377486244017527936158236e-2, 8.27378916381402288758473766002e-3),
        (6.24110958716075717114429577812e-1, 0.0, 0.0, -3.36089262944694129406857109825,
         -8.68219346841726006818189891453e-1, 2.75920996994467083049415600797e1, 2.01540675504778934086186788979e1,
         -4.34898841810699588477366255144e1),
        (4.77662536438264365890433908527e-1, 0.0, 0.0, -2.48811461997166764192642586468,
         -5.90290826836842996371446475743e-1, 2.12300514481811942347288949897e1, 1.52792336328824235832596922938e1,
         -3.32882109689848629194453265587e1, -2.03312017085086261358222928593e-2),
        (-9.3714243008598732571704021658e-1, 0.0, 0.0, 5.18637242884406370830023853209,
         1.09143734899672957818500254654, -8.14978701074692612513997267357, -1.85200656599969598641566180701e1,
         2.27394870993505042818970056734e1, 2.49360555267965238987089396762, -3.0467644718982195003823669022),
        (2.27331014751653820792359768449, 0.0, 0.0, -1.05344954667372501984066689879e1,
         -2.00087205822486249909675718444, -1.79589318631187989172765950534e1, 2.79488845294199600508499808837e1,
         -2.85899827713502369474065508674, -8.87285693353062954433549289258, 1.23605671757943030647266201528e1,
         6.43392746015763530355970484046e-1),
    ),
    (5.42937341165687622380535766363e-2, 0.0, 0.0, 0.0, 0.0, 4.45031289275240888144113950566,
     1.89151789931450038304281599044, -5.8012039600105847814672114227, 3.1116436695781989440891606237e-1,
     -1.52160949662516078556178806805e-1, 2.01365400804030348374776537501e-1, 4.47106157277725905176885569043e-2),
)  # fmt: skip
"""The twelve stages of order 8 of Dormand and Prince, as in Hairer's DOP853.  [hairer1993]"""

DORMAND_PRINCE_ERROR5: Row = (
    0.1312004499419488073250102996e-1, 0.0, 0.0, 0.0, 0.0, -0.1225156446376204440720569753e1,
    -0.4957589496572501915214079952, 0.1664377182454986536961530415e1, -0.3503288487499736816886487290,
    0.3341791187130174790297318841, 0.8192320648511571246570742613e-1, -0.2235530786388629525884427845e-1,
)  # fmt: skip
"""The weights of the step minus those of a step of order 5."""

DORMAND_PRINCE_THIRD: Row = (
    0.244094488188976377952755905512, *(0.0,) * 7, 0.733846688281611857341361741547, 0.0, 0.0,
    0.220588235294117647058823529412e-1,
)  # fmt: skip
"""The weights of a step of order 3."""


# --- on groups


def _in_turn(row: Row) -> Turns:
    """One exponential for each slope, as in the methods of Crouch and Grossman."""
    return tuple(Turn((*(F(0),) * i, w)) for i, w in enumerate(row) if w != 0)


def crouch_grossman(tableau: Tableau) -> GroupTableau:
    """The method that turns by one slope after the other.  [crouch1993]"""
    return GroupTableau(tuple(map(_in_turn, tableau.stages)), _in_turn(tableau.step))


CROUCH_GROSSMAN_CLASSICAL = crouch_grossman(CLASSICAL)
"""The coefficients of the classical method, which miss a condition of order 3 on the group: the order is 2."""

CROUCH_GROSSMAN_3 = crouch_grossman(
    Tableau(((), (F(3, 4),), (F(119, 216), F(17, 108))), (F(13, 51), F(-2, 3), F(24, 17)))
)
"""Order 3, in three stages.  [crouch1993]"""

CROUCH_GROSSMAN_4 = crouch_grossman(
    Tableau(
        (
            (),
            (0.8177227988124852,),
            (0.3199876375476427, 0.0659864263556022),
            (0.9214417194464946, 0.4997857776773573, -1.0969984448371582),
            # The last number is often printed ending in 3565, which misses the order conditions by 3e-15, not 2e-16.
            (0.3552358559023322, 0.2390958372307326, 1.3918565724203246, -1.1092979392113465),
        ),
        (0.1370831520630755, -0.0183698531564020, 0.7397813985370780, -0.1907142565505889, 0.3322195591068374),
    )
)
"""Order 4, in five stages.  [owren1999, jackiewicz2000]"""

MUNTHE_KAAS_4 = GroupTableau(
    (
        (),
        (Turn((F(1, 2),)),),
        (Turn((F(0), F(1, 2)), ((0, 1, F(1, 8)),)),),
        (Turn((F(0), F(0), F(1))),),
    ),
    (Turn((F(1, 6), F(1, 3), F(1, 3), F(1, 6)), ((0, 3, F(1, 12)),)),),
)
"""The classical method in the Lie algebra, of order 4 with two brackets.  [munthekaas1999]

The signs of the brackets are those of rates in the body, which act from the right.
"""

COMMUTATOR_FREE_4 = GroupTableau(
    (
        (),
        (Turn((F(1, 2),)),),
        (Turn((F(0), F(1, 2))),),
        (Turn((F(1, 2),)), Turn((F(-1, 2), F(0), F(1)))),
    ),
    (
        Turn((F(1, 4), F(1, 6), F(1, 6), F(-1, 12))),
        Turn((F(-1, 12), F(1, 6), F(1, 6), F(1, 4))),
    ),
)
"""The classical method with two exponentials where one is not enough, of order 4 without brackets.  [celledoni2003]"""
