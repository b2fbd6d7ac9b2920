"""The numbers of compositions and splittings, each with its source and with every published digit.

All rows are palindromes, so the tables hold the first halves; a number that follows from the others, because the sum is
one, is computed. `tests/methods/test_coefficients.py` checks the order conditions of every row to round-off.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import cbrt, cos, fsum, pi, sqrt
from typing import Any, NamedTuple, TypeVar

from polhode.kernels.steps.compose import suzuki, triple_jump

Row = tuple[float, ...]


def nested(*rows: Sequence[float]) -> Row:
    """The row of compositions within compositions; the first row is the outermost."""
    out: Row = (1.0,)
    for row in rows:
        out = tuple(outer * inner for outer in out for inner in row)
    return out


def palindrome(half: Sequence[float], *, odd: bool) -> Row:
    """The half and its mirror image. If the row is odd, the last entry of the half is its middle."""
    return (*half, *reversed(half[:-1] if odd else half))


def summing_to_one(half: Sequence[float], *, odd: bool) -> Row:
    """The palindrome of the half and one more number, which makes the sum one."""
    rest = fsum([1.0, *(-2.0 * x for x in half)])
    return palindrome((*half, rest if odd else 0.5 * rest), odd=odd)


# --- compositions of a symmetric method of order 2 -------------------------------------------------------------------

TRIPLE_JUMP_4 = triple_jump(2)
"""[creutz1989, yoshida1990]"""
TRIPLE_JUMP_6 = nested(triple_jump(4), triple_jump(2))
TRIPLE_JUMP_8 = nested(triple_jump(6), triple_jump(4), triple_jump(2))
SUZUKI_4 = suzuki(2)
"""[suzuki1990]"""

KAHAN_LI_6 = palindrome(
    (
        0.39216144400731413927925056,
        0.33259913678935943859974864,
        -0.70624617255763935980996482,
        0.08221359629355080023149045,
        0.79854399093482996339895035,
    ),
    odd=True,
)
"""s9odr6a of [kahan1997]."""

KAHAN_LI_8 = palindrome(
    (
        0.13020248308889008087881763,
        0.56116298177510838456196441,
        -0.38947496264484728640807860,
        0.15884190655515560089621075,
        -0.39590389413323757733623154,
        0.18453964097831570709183254,
        0.25837438768632204729397911,
        0.29501172360931029887096624,
        -0.60550853383003451169892108,
    ),
    odd=True,
)
"""s17odr8a of [kahan1997]."""


class Processed(NamedTuple):
    """A composition in other variables: the fractions of its steps, and those of the steps that lead there.

    The fractions of the processor come in pairs that cancel, so that the sums of all their odd powers vanish.
    """

    kernel: Row
    processor: Row


PROCESSED_4 = Processed(
    kernel=(*(1 / 6,) * 4, -1 / 3, *(1 / 6,) * 4),
    processor=(
        -0.0498318954292827890276950838724983718423532,
        0.225,
        -0.114889909409620529488411687280477634562303,
        -0.225,
        0.0498318954292827890276950838724983718423532,
        0.114889909409620529488411687280477634562303,
    ),
)
"""Order 4, after the idea of [blanes2024]. The kernel is of Suzuki's kind, with eight equal steps; the processor was
solved for here, with one fraction free."""

PROCESSED_6 = Processed(
    kernel=palindrome(
        (
            *(0.170576886500922215701503304741831192767853,) * 4,
            -0.423366140892658047989052006756675175519463,
            0.482117189777938370366077575578700808896104,
        ),
        odd=True,
    ),
    processor=(
        0.114128107995952992375222432544974878684206,
        -0.290991694794290132316610630844631201401857,
        0.280399687945099700292586554248430980140546,
        0.290991694794290132316610630844631201401857,
        0.257267364841033608071337321801593866070487,
        -0.280399687945099700292586554248430980140546,
        -0.114128107995952992375222432544974878684206,
        -0.257267364841033608071337321801593866070487,
    ),
)
"""Order 6, after the idea of [blanes2024]: the conditions of the kernel, that the third and fifth powers of its
fractions sum to zero, and those of the processor were solved here."""


# --- splittings into two flows ---------------------------------------------------------------------------------------


class Alternating(NamedTuple):
    """The fractions of two flows that alternate; the flow with one fraction more begins and ends the step."""

    drifts: Row
    """The fractions of the dominant flow, here the free motion."""
    kicks: Row
    """The fractions of the kicks by the torque."""


_ROOT = cbrt(36.0 + 2.0 * sqrt(326.0))
_OUTER = 1 / 2 - _ROOT / 12 + 1 / (6 * _ROOT)
OMELYAN_2 = Alternating(drifts=(1 / 2, 1 / 2), kicks=(_OUTER, 1 - 2 * _OUTER, _OUTER))
"""Order 2 with the least sum of squares of both error terms: [omelyan2002], 0.1931833275037836."""

BLANES_MOAN_S6 = Alternating(
    drifts=summing_to_one((0.209515106613362, -0.143851773179818), odd=False),
    kicks=summing_to_one((0.0792036964311957, 0.353172906049774, -0.0420650803577195), odd=True),
)
"""Order 4, any two flows: S6 of [blanes2002], table 2."""

BLANES_MOAN_S10 = Alternating(
    drifts=summing_to_one((0.148816447901042, -0.132385865767784, 0.067307604692185, 0.432666402578175), odd=False),
    kicks=summing_to_one(
        (0.0502627644003922, 0.413514300428344, 0.0450798897943977, -0.188054853819569, 0.541960678450780), odd=True
    ),
)
"""Order 6, any two flows: S10 of [blanes2002], table 2."""

SRKN11 = Alternating(
    drifts=summing_to_one(
        (0.123229775946271, 0.290553797799558, -0.127049212625417, -0.246331761062075, 0.357208872795928), odd=True
    ),
    kicks=summing_to_one(
        (0.0414649985182624, 0.198128671918067, -0.0400061921041533, 0.0752539843015807, -0.0115113874206879), odd=False
    ),
)
"""Order 6 if a threefold commutator of the kicks with the drift vanishes: SRKN11b of [blanes2002], table 3."""

SRKN19 = Alternating(
    drifts=palindrome(
        (
            0.0320334180789, 0.1153810739918092145806, 0.243496041174167882653, 0.02203058416537700319918,
            -0.02671838693432099650532, -0.2066093281497151839563, -0.04100543031838811478576, 0.2085805703171668907297,
            0.1557520938592653470288, -0.002940636184262042943914,
        ),
        odd=False,
    ),
    kicks=palindrome(
        (
            0.0821095820926, 0.155257381186111305646, 0.3594810755828357767782, -0.03320662916773261416148,
            -0.3365422664328818009296, 0.07809739074955466880223, -0.05893277763566980742588, 0.1880227769732593239019,
            0.49539875215003771886, -0.8593705709962291429427,
        ),
        odd=True,
    ),
)  # fmt: skip
"""Order 8 under the same condition, of the family of [blanes2022], whose own numbers are not at hand: the 18 conditions
solved here, from Kahan and Li's composition by a path of least error of order 9 in 21 stages and the merging of two.
The first numbers of both rows are free, and have thirteen digits."""


def legendre(stages: int) -> Alternating:
    """Returns SABA of [laskar2001]: the kicks act at the nodes of Gauss's quadrature, with its weights."""
    with localcontext(prec=40):
        points = [legendre_point(stages, k) for k in range(1, (stages + 1) // 2 + 1)]
        odd = stages % 2 == 1
        ends = [Decimal(1), *(x for x, _ in points)]
        drifts = [float((b - a) / 2) for b, a in pairwise(ends)]
        if not odd:
            drifts.append(float(ends[-1]))
        return Alternating(palindrome(drifts, odd=not odd), palindrome([float(w / 2) for _, w in points], odd=odd))


N = TypeVar("N", Decimal, Fraction)


def lagrange(nodes: Sequence[N], j: int) -> list[N]:
    """The coefficients, from the constant up, of the polynomial that is one at nodes[j] and zero at the others."""
    x, zero = nodes[j], type(nodes[j])(0)
    out: list[Any] = [zero + 1]
    for k, y in enumerate(nodes):
        if k != j:
            out = [(r - y * c) / (x - y) for r, c in zip([zero, *out], [*out, zero], strict=True)]
    return out


def legendre_point(n: int, k: int) -> tuple[Decimal, Decimal]:
    """The k-th root of Legendre's polynomial, from the greatest down, and its weight, by Newton's iteration."""
    x = Decimal(cos(pi * (k - 0.25) / (n + 0.5))) if 2 * k - 1 != n else Decimal(0)
    slope = Decimal(1)
    for _ in range(6):  # from 2 digits or more to 40
        before, value = Decimal(0), Decimal(1)
        for m in range(n):
            before, value = value, ((2 * m + 1) * x * value - m * before) / (m + 1)
        slope = n * (before - x * value) / (1 - x * x)
        x -= value / slope
    return x, 2 / ((1 - x * x) * slope * slope)


ABA84 = Alternating(
    drifts=palindrome((0.07534696026989288842, 0.51791685468825678230, -0.09326381495814967072), odd=False),
    kicks=palindrome((0.19022593937367661925, 0.84652407044352625706, -1.07350001963440575260), odd=True),
)
"""Orders (8, 4): [mclachlan1995]."""

ABA104 = Alternating(
    drifts=palindrome(
        (
            0.04706710064597250612947887637243678556564,
            0.1847569354170881069247376193702560968574,
            0.2827060056798362053243616565541452479160,
            -0.01453004174289681837857815229683813033908,
        ),
        odd=False,
    ),
    kicks=palindrome(
        (
            0.1188819173681970199453503950853885936957,
            0.2410504605515015657441667865901651105675,
            -0.2732866667053238060543113981664559460630,
            0.8267085775712504407295884329818044835997,
        ),
        odd=True,
    ),
)
"""Orders (10, 4): [blanes2013]."""

ABA864 = Alternating(
    drifts=palindrome(
        (
            0.0711334264982231177779387300061549964174,
            0.241153427956640098736487795326289649618,
            0.521411761772814789212136078067994229991,
            -0.333698616227678005726562603400438876027,
        ),
        odd=False,
    ),
    kicks=palindrome(
        (
            0.183083687472197221961703757166430291072,
            0.310782859898574869507522291054262796375,
            -0.0265646185119588006972121379164987592663,
            0.0653961422823734184559721793911134363710,
        ),
        odd=True,
    ),
)
"""Orders (8, 6, 4): [blanes2013]."""

ABA1064 = Alternating(
    drifts=palindrome(
        (
            0.03809449742241219545697532230863756534060,
            0.1452987161169137492940200726606637497442,
            0.2076276957255412507162056113249882065158,
            0.4359097036515261592231548624010651844006,
            -0.6538612258327867093807117373907094120024,
        ),
        odd=True,
    ),
    kicks=palindrome(
        (
            0.09585888083707521061077150377145884776921,
            0.2044461531429987806805077839164344779763,
            0.2170703479789911017143385924306336714532,
            -0.01737538195906509300561788011852699719871,
        ),
        odd=False,
    ),
)
"""Orders (10, 6, 4): [blanes2013]."""
