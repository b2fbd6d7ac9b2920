"""Series of the discrete Moser-Veselov map, in exact rationals.

With e1, e2, e3 the elementary symmetric polynomials of the inverse moments, H the energy and C half the square of the
momentum, the coefficient of h^(2n) in a series is the sum over j of (row j) H^j C^(n-j). Each table has one tuple for
each n from 1 on, and in it the rows j = 0 ... n, written as they are computed.
"""

Table = tuple[tuple[str, ...], ...]

# fmt: off
S: Table = (
    ("1/6*e2", "-1/3*e1"),
    ("1/30*e2*e2 - 1/10*e1*e3", "-1/30*e1*e2 + 2/15*e3", "1/30*e1*e1 - 1/60*e2"),
    (
        "17/2520*e2*e2*e2 - 11/420*e1*e2*e3 + 5/126*e3*e3",
        "-1/70*e1*e2*e2 + 11/210*e1*e1*e3 - 1/84*e2*e3",
        "1/420*e1*e1*e2 + 41/2520*e2*e2 - 53/630*e1*e3",
        "-1/630*e1*e1*e1 + 1/630*e1*e2 + 1/35*e3",
    ),
    (
        "31/22680*e2*e2*e2*e2 - 19/2520*e1*e2*e2*e3 + 1/120*e1*e1*e3*e3 + 97/15120*e2*e3*e3",
        "-11/3240*e1*e2*e2*e2 + 17/1260*e1*e1*e2*e3 + 47/7560*e2*e2*e3 - 47/945*e1*e3*e3",
        "13/3780*e1*e1*e2*e2 + 1/2520*e2*e2*e2 - 17/1260*e1*e1*e1*e3 + 1/252*e1*e2*e3 + 53/1260*e3*e3",
        "-1/11340*e1*e1*e1*e2 - 11/1890*e1*e2*e2 + 23/945*e1*e1*e3 - 23/1260*e2*e3",
        "1/22680*e1*e1*e1*e1 - 1/15120*e1*e1*e2 + 17/5040*e2*e2 - 3/280*e1*e3",
    ),
)
"""Modified inverse moments are (1 + S) / I_i + D.  [hairer2006]"""

D: Table = (
    ("-1/3*e3", "1/6*e2"),
    ("-1/60*e2*e3", "-1/60*e2*e2 + 2/15*e1*e3", "-1/60*e1*e2 - 1/10*e3"),
    (
        "-19/2520*e2*e2*e3 + 1/35*e1*e3*e3",
        "1/1260*e2*e2*e2 - 1/1260*e1*e2*e3 - 22/315*e3*e3",
        "13/2520*e1*e2*e2 - 8/315*e1*e1*e3 + 11/252*e2*e3",
        "1/1260*e1*e1*e2 - 13/1260*e2*e2 + 1/42*e1*e3",
    ),
    (
        "-61/45360*e2*e2*e2*e3 + 3/560*e1*e2*e3*e3 - 61/4536*e3*e3*e3",
        "-1/45360*e2*e2*e2*e2 + 37/7560*e1*e2*e2*e3 - 2/105*e1*e1*e3*e3 + 19/1260*e2*e3*e3",
        "-1/1512*e1*e2*e2*e2 + 19/7560*e1*e1*e2*e3 - 19/1080*e2*e2*e3 + 89/1890*e1*e3*e3",
        "-1/1512*e1*e1*e2*e2 + 97/22680*e2*e2*e2 + 8/2835*e1*e1*e1*e3 - 23/1890*e1*e2*e3 - 1/35*e3*e3",
        "-1/45360*e1*e1*e1*e2 - 1/7560*e1*e2*e2 - 1/360*e1*e1*e3 + 17/1680*e2*e3",
    ),
)
"""The shift in the modified inverse moments (1 + S) / I_i + D.  [hairer2006]"""

SIGMA: Table = (
    ("-1/6*e2", "1/3*e1"),
    ("1/20*e2*e2 + 1/10*e1*e3", "-3/10*e1*e2 + 1/5*e3", "3/10*e1*e1 - 3/20*e2"),
)
"""A step h of the map moves the momentum as the exact motion does in a time h (1 + SIGMA).  [mclachlan2005]"""
# fmt: on
