"""Newton's iteration for the equations of implicit steps: three unknowns, relative tolerances, bounded.

The unknown is the momentum, and rates are momenta times the inverse moments: a rounded inverse then belongs to a
slightly different body, for which the method keeps what it promises. A product of a moment and its rounded inverse is
not quite one, by the same amount in every step, and would be a drift.
"""

from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.gyrostat import rate_of, with_gyration
from polhode.kernels.ops import fma, internal, is_gyrostat
from polhode.kernels.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.kernels.types import Inertia, Vec3

MOST_ITERATIONS = 25
NEWTON_TOLERANCE = 1e-9
"""The iteration ends after a correction this small relative to the momentum. The error left is its square, far below
round-off."""


def differences(body: Inertia) -> Vec3:
    """The differences of the moments: I3 - I2, I1 - I3, I2 - I1."""
    i = body.inertia
    return (i[2] - i[1], i[0] - i[2], i[1] - i[0])


def euler(k: Vec3, w: Vec3, n: Vec3) -> Vec3:
    """Returns dm/dt in body axes by Euler's equation, where k are the `differences` and n is the torque."""
    return (fma(-k[0], w[1] * w[2], n[0]), fma(-k[1], w[2] * w[0], n[1]), fma(-k[2], w[0] * w[1], n[2]))


def size(a: Vec3) -> float:
    """|a1| + |a2| + |a3|, which is not finite if any of them is not."""
    return abs(a[0]) + abs(a[1]) + abs(a[2])


def unit_diagonal(a: float, b: float, c: float, d: float, e: float, o: float, f: Vec3) -> Vec3:
    """Solves the linear equations with the matrix (1, a, b; c, 1, d; e, o, 1) and the right-hand side f."""
    u, v, s = fma(-d, o, 1.0), fma(-d, e, c), fma(c, o, -e)
    r = 1.0 / fma(b, s, fma(-a, v, u))
    return (
        r * fma(u, f[0], fma(fma(b, o, -a), f[1], fma(a, d, -b) * f[2])),
        r * fma(-v, f[0], fma(fma(-b, e, 1.0), f[1], fma(b, c, -d) * f[2])),
        r * fma(s, f[0], fma(fma(a, e, -o), f[1], fma(-a, c, 1.0) * f[2])),
    )


def slope_of_momentum(body: Inertia, w: Vec3, n: Vec3) -> Vec3:
    """Returns dm/dt in body axes by Euler's equation with the torque n, and with g x w of a rotor."""
    return euler(differences(body), w, with_gyration(body, w, n))


def momentum_correction(body: Inertia, g: float, w: Vec3, f: Vec3) -> Vec3:
    """Solves d + k (w2 v3 + w3 v2, ...) - r x v = f with v = g j d for d: the tangent of y - euler(w + g j y).

    k are the `differences`, j the inverse moments, and r is the momentum of a rotor.
    """
    k, j = differences(body), body.inverse
    a, b = (k[0] * g * j[1]) * w[2], (k[0] * g * j[2]) * w[1]
    c, d = (k[1] * g * j[0]) * w[2], (k[1] * g * j[2]) * w[0]
    e, o = (k[2] * g * j[0]) * w[1], (k[2] * g * j[1]) * w[0]
    if is_gyrostat(body):
        r = internal(body)
        a, b = fma(g * j[1], r[2], a), fma(-g * j[2], r[1], b)
        c, d = fma(-g * j[0], r[2], c), fma(g * j[2], r[0], d)
        e, o = fma(g * j[0], r[1], e), fma(-g * j[1], r[0], o)
    return unit_diagonal(a, b, c, d, e, o, f)


def balance(body: Inertia, n: Vec3, m: Vec3, g: float, guess: Vec3) -> tuple[Vec3, int]:
    """Solves y = euler at the momentum m + g y for y, the rate of change of the momentum, from a guess."""
    y = guess
    new = combine(m, g, y)
    for _ in range(MOST_ITERATIONS):
        w = rate_of(body, new)
        # without n, which the processor still waits for
        still = combine(y, -1.0, slope_of_momentum(body, w, (0.0, 0.0, 0.0)))
        d = momentum_correction(body, g, w, combine(still, -1.0, n))
        y = combine(y, -1.0, d)
        new = combine(m, g, y)
        change = size(d)
        if not change < 1e300:  # neither infinite nor NaN can be iterated away
            return y, UNSOUND
        if abs(g) * change <= NEWTON_TOLERANCE * size(new):
            return y, OK
    return y, NO_CONVERGENCE


Columns = tuple[Vec3, Vec3, Vec3]


def solved(a: Columns, f: Vec3) -> Vec3:
    """Solves a x = f for x, where a is given by its columns, by Cramer's rule."""
    normal = cross(a[1], a[2])
    r = 1.0 / dot(a[0], normal)
    return (r * dot(f, normal), r * dot(a[0], cross(f, a[2])), r * dot(a[0], cross(a[1], f)))


def applied(a: Columns, x: Vec3) -> Vec3:
    """a x, where the matrix a is given by its columns."""
    return combine(combine((x[0] * a[0][0], x[0] * a[0][1], x[0] * a[0][2]), x[1], a[1]), x[2], a[2])


def secant(b: Columns, dx: Vec3, dy: Vec3) -> Columns:
    """The matrix nearest to b that takes dx to dy: Broyden's update of a derivative that is not known."""
    miss = combine(dy, -1.0, applied(b, dx))
    square = dot(dx, dx)
    r = 1.0 / square if square != 0.0 else 0.0
    return combine(b[0], r * dx[0], miss), combine(b[1], r * dx[1], miss), combine(b[2], r * dx[2], miss)
