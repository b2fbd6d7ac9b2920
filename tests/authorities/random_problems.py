"""Problems drawn at random, and their true motions: what error estimates are tried on.

A draw is bodies of all kinds (three different moments, two equal ones, nearly equal ones, spheres, needles, discs; in
principal axes or tilted), torques of all kinds, from none to one that turns the body over within a radian, spans,
directions of time and tolerances. All torques are cases of one formula,

    tau = c(t) r x R^T f + 3 g z x J z + b - d w - e |w|^2 w,     z = R^T e3,   c(t) = 1 + a (cos(nu t + phase) - 1),

where c is multiplied by `after` beyond the time of a jump. The truth is found in extended precision by extrapolation
in the rotation matrix, for all problems at once, and by Taylor series with 48 digits where that is not good enough;
nothing is shared with polhode's kernels.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

import polhode as ph
from polhode.kernels.algebra.vec import cross
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques import Torque
from polhode.torques._torque import CustomTorque

Floats = NDArray[np.float64]
Extended = NDArray[np.longdouble]

OUTPUTS = 8
"""Output times, evenly spaced."""
JUMP = 3
"""The output after which a torque that jumps does so."""

KINDS: dict[str, Depends] = {
    "free": Depends.NOTHING,
    "weight": Depends.POSITION,
    "gradient": Depends.POSITION,
    "thrust": Depends.POSITION,
    "swing": Depends.POSITION | Depends.TIME,
    "jump": Depends.POSITION | Depends.TIME,
    "drag": Depends.POSITION | Depends.RATE,
    "stir": Depends.POSITION | Depends.TIME | Depends.RATE,
}


def _kernel(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return _torque(1.0 + p[6] * (math.cos(p[7] * t + p[8]) - 1.0), q, w, p)


def _jumping_kernel(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """With a branch, so that it cannot be computed at several times at once."""
    if p[11] * (t - p[9]) > 0.0:
        return _torque(p[10], q, w, p)
    return _torque(1.0, q, w, p)


def _torque(c: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    n = cross((p[0], p[1], p[2]), ph.to_body(q, (c * p[3], c * p[4], c * p[5])))
    z = ph.to_body(q, (0.0, 0.0, 3.0 * p[12]))
    u = ph.to_body(q, (0.0, 0.0, 1.0))
    g = cross(
        z,
        (
            p[13] * u[0] + p[16] * u[1] + p[17] * u[2],
            p[16] * u[0] + p[14] * u[1] + p[18] * u[2],
            p[17] * u[0] + p[18] * u[1] + p[15] * u[2],
        ),
    )
    e = p[22] + p[23] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return (
        n[0] + g[0] + p[19] - e * w[0],
        n[1] + g[1] + p[20] - e * w[1],
        n[2] + g[2] + p[21] - e * w[2],
    )


@dataclass(frozen=True)
class RandomRecipe:
    """The numbers of a random problem: a motion over `span`, with the tolerance that is asked for."""

    kind: str
    shape: str
    tensor: Floats
    omega: Floats
    quaternion: Floats
    values: Floats
    """The parameters of the kernel."""
    span: float
    rtol: float
    turn: float
    """The angle through which the body turns, at most, more or less."""
    torque_ratio: float
    """The largest torque over twice the kinetic energy, more or less."""

    @property
    def body(self) -> ph.Body:
        """The body, from its tensor."""
        return ph.Body(self.tensor)

    @property
    def torque(self) -> Torque:
        """The torque, as polhode's."""
        if self.kind == "free":
            return ph.Free()
        values = tuple(self.values.tolist())
        if self.kind == "jump":
            return CustomTorque(_jumping_kernel, values, None, (float(self.values[9]),), KINDS[self.kind])
        return CustomTorque(_kernel, values, None, (), KINDS[self.kind])

    @property
    def times(self) -> Floats:
        """Where the motion is wanted."""
        return self.span * np.arange(1, OUTPUTS + 1) / OUTPUTS

    def solved(self, **arguments: Any) -> ph.Solution:
        """By polhode."""
        return ph.simulate(
            self.body, self.torque, omega=self.omega, attitude=self.quaternion, t_span=(0.0, self.span),
            t_eval=self.times, **arguments,
        )  # fmt: skip


SHAPES = ("triaxial", "triaxial", "triaxial", "prolate", "oblate", "nearly symmetric", "sphere", "needle", "disc")


def _moments(shape: str, draw: np.random.Generator) -> Floats:
    a = draw.uniform(0.3, 1.0)
    if shape == "sphere":
        return np.array([a, a, a])
    if shape == "needle":
        b = draw.uniform(1.0, 1.3)
        return np.array([10 ** draw.uniform(-2.0, -1.0), b, b * draw.uniform(1.001, 1.005)])
    if shape == "disc":
        b = draw.uniform(0.5, 0.8)
        return np.array([b, b * draw.uniform(1.001, 1.2), 1.0])
    squares = draw.uniform(0.1, 1.0, size=3)  # of the radii of gyration: every such body can be built
    x, y, z = squares
    moments = np.array([y + z, z + x, x + y])
    if shape == "triaxial":
        return moments
    i, k = (0, 1) if shape == "nearly symmetric" else (draw.permutation(3)[:2]).tolist()
    other = 3 - i - k
    moments[k] = moments[i] * (1 + (10 ** draw.uniform(-9, -3) if shape == "nearly symmetric" else 0.0))
    moments[other] = min(moments[other], 1.9 * moments[i])
    if shape == "prolate":
        moments[other] = moments[i] * draw.uniform(0.1, 0.95)
    if shape == "oblate":
        moments[other] = moments[i] * draw.uniform(1.05, 1.95)
    return moments


def _rotation(draw: np.random.Generator) -> Floats:
    q, r = np.linalg.qr(draw.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def random_recipe(
    draw: np.random.Generator, *, longest: float = 300.0, kinds: Sequence[str] = tuple(KINDS)
) -> RandomRecipe:
    """Returns one; the body turns by up to `longest` radians, less under a strong torque, where motions are chaotic."""
    kind, shape = str(draw.choice(kinds)), str(draw.choice(SHAPES))
    moments = _moments(shape, draw) * 10 ** draw.uniform(-3, 3)
    tilted = shape in ("triaxial", "needle") and draw.random() < 0.3
    S = _rotation(draw) if tilted else np.eye(3)
    tensor = S @ np.diag(moments) @ S.T
    tensor = 0.5 * (tensor + tensor.T) if tilted else np.diag(moments)
    direction = draw.normal(size=3)
    omega = direction / np.linalg.norm(direction) * 10 ** draw.uniform(-2, 2)
    energy2 = float(omega @ tensor @ omega)  # twice the kinetic energy
    principal = S.T @ omega
    fastest = math.sqrt(float(_greatest_rate2(moments, moments * principal)))
    eps = 10 ** draw.uniform(-8, 0.5)
    turn = 10 ** draw.uniform(0.5, math.log10(longest))
    if kind != "free" and eps > 0.01:
        turn = min(turn, 40.0)
    if eps > 0.3:
        turn = min(turn, 20.0)
    size = eps * energy2 if kind != "free" else 0.0
    quickest = math.hypot(fastest, math.sqrt(size / float(moments.min())))  # the torque may spin the body up
    span = turn / quickest
    if kind == "thrust":  # which spins the body up for as long as it acts
        span = min(span, quickest * float(moments.min()) / size)
    span *= 1.0 if draw.random() < 0.9 else -1.0
    return RandomRecipe(
        kind, shape, tensor, omega, draw.normal(size=4), _values(kind, draw, size, span, tensor, quickest),
        span, 10 ** draw.uniform(-11, -3), quickest * abs(span), 0.0 if kind == "free" else eps,
    )  # fmt: skip


def _values(
    kind: str, draw: np.random.Generator, size: float, span: float, tensor: Floats, rate: float
) -> Floats:  # fmt: skip
    p = np.zeros(24)
    p[13:19] = tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]
    p[10], p[11] = 1.0, math.copysign(1.0, span)
    arm, force = draw.normal(size=3), draw.normal(size=3)
    if kind in ("weight", "swing", "jump", "drag", "stir"):
        p[0:3], p[3:6] = arm / np.linalg.norm(arm), size * force / np.linalg.norm(force)
    if kind in ("swing", "stir"):
        p[6:9] = draw.uniform(0.2, 1.0), rate * 10 ** draw.uniform(-1.5, 0.5), draw.uniform(0, 6)
    if kind == "jump":
        p[9], p[10] = span * JUMP / OUTPUTS, draw.uniform(-1, 1)
    if kind == "gradient":
        p[12] = size / (3 * float(np.ptp(np.linalg.eigvalsh(tensor)) or tensor[0, 0]))
    if kind == "thrust":
        p[19:22] = size * arm / np.linalg.norm(arm)
        p[3:6], p[0:3] = 0.3 * size * force, arm[[1, 2, 0]]
    if kind in ("drag", "stir"):  # some spin up; all lose or gain less than a factor e^2 of their rate
        sign = -0.3 if draw.random() < 0.2 else 1.0
        weakest = float(np.linalg.eigvalsh(tensor)[0])
        p[22] = sign * draw.uniform(0, 2) * weakest / span
        p[23] = draw.uniform(0, 1) * weakest / span / rate**2
    return p


def _greatest_rate2(moments: Floats, m: Floats) -> float:
    j = 1 / moments
    high, low = float(j.max()), float(j.min())
    return (high + low) * float(m * m @ j) - high * low * float(m @ m)


def random_recipes(seed: int, count: int, **limits: Any) -> list[RandomRecipe]:
    """Returns `count` of them; the same seed gives the same ones."""
    draw = np.random.default_rng(seed)
    return [random_recipe(draw, **limits) for _ in range(count)]


# --- the truth -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """Rotation matrices and rates at the output times, for each problem, and how well they are known."""

    R: Extended
    """Problem, output, row, column."""
    omega: Extended
    doubt: Floats
    """For each problem the distance to a coarser solution, in the measure of `error`."""


def truths(recipes: Sequence[RandomRecipe], wanted: Floats | float = math.inf) -> Truth:
    """Returns the motions, found twice: the coarser solution tells how good the finer one is.

    Extended precision has some sixteen digits left after hundreds of radians. A problem of which more are `wanted`,
    because its doubt is not below that number, is solved again with more digits.
    """
    coarse, fine = (_motions(recipes, steps_per_radian) for steps_per_radian in (0.7, 1.0))
    R, w = fine
    doubt = np.array([distance(*(x[k] for x in (*fine, *coarse))) for k in range(len(recipes))])
    for k in np.flatnonzero(~(doubt < wanted)).tolist():
        worse, better = (series_motion(recipes[k], last_term) for last_term in (1e-20, 1e-24))
        R[k], w[k], doubt[k] = *better, distance(*better, *worse)
    return Truth(R, w, doubt)


def distance(R: Extended, w: Extended, S: Any, v: Any) -> float:
    """Returns the largest angle between attitudes, or the largest difference of rates relative to the largest rate."""
    chord = np.sqrt(
        np.sum((np.asarray(R) - S) ** 2, axis=(-2, -1)).astype(np.float64)
    )  # of an angle a: 8^(1/2) sin(a/2)
    angle = 2 * np.arcsin(np.minimum(1.0, chord / math.sqrt(8)))
    rates = np.sqrt(np.sum((np.asarray(w) - v) ** 2, axis=-1).astype(np.float64))
    largest = float(np.sqrt(np.sum(np.asarray(w) ** 2, axis=-1).astype(np.float64)).max())
    return float(max(angle.max(), rates.max() / largest))


def error(truth: Truth, k: int, solution: ph.Solution) -> float:
    """Returns the true error of the k-th problem, which `error_estimate` estimates."""
    w, x, y, z = (solution.quaternion.astype(np.longdouble).T) / np.sqrt(
        np.sum(solution.quaternion.astype(np.longdouble) ** 2, axis=1)
    )
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return distance(truth.R[k], truth.omega[k], np.moveaxis(np.array(rows), -1, 0), solution.omega)


def _motions(recipes: Sequence[RandomRecipe], steps_per_radian: float, columns: int = 10) -> tuple[Extended, Extended]:
    """Returns R and w of all problems at all output times, with as many steps as the longest of them needs."""
    ld = np.longdouble
    longest = max(p.turn * (2.0 if p.torque_ratio > 0.1 or p.kind == "thrust" else 1.0) for p in recipes)
    steps = math.ceil(steps_per_radian * longest / OUTPUTS) + 1
    J = np.array([p.tensor for p in recipes], dtype=ld)
    inverse = _inverse(J)
    q = np.array([p.quaternion for p in recipes], dtype=np.float64).astype(ld).T
    p = np.array([p.values for p in recipes]).astype(ld).T
    times = np.array([p.times for p in recipes]).astype(ld).T  # as polhode is given them: some are rounded
    m = np.einsum("nij,nj->ni", J, np.array([p.omega for p in recipes]).astype(ld))
    y = np.concatenate([_matrix(q).reshape(9, -1), m.T])
    forced = np.array([p.kind != "free" for p in recipes]).astype(ld)
    R, w, t = [], [], np.zeros_like(times[0])
    for k in range(OUTPUTS):
        slope = _slope(J, inverse, p, np.where(k >= JUMP, p[10], ld(1)), forced)
        h = (times[k] - t) / steps
        for i in range(steps):
            y = _extrapolated(slope, t + i * h, y, h, columns)
        t = times[k]
        R.append(y[:9].T.reshape(-1, 3, 3))
        w.append(np.einsum("nij,jn->ni", inverse, y[9:]))
    return np.stack(R, axis=1), np.stack(w, axis=1)


def _inverse(J: Extended) -> Extended:
    """By cofactors: NumPy inverts no extended numbers."""
    rows = [np.cross(J[:, 1], J[:, 2]), np.cross(J[:, 2], J[:, 0]), np.cross(J[:, 0], J[:, 1])]
    determinant = np.einsum("ni,ni->n", J[:, 0], rows[0])
    out: Extended = np.stack(rows, axis=2) / determinant[:, None, None]
    return out


def _matrix(q: Extended) -> Extended:
    w, x, y, z = q / np.sqrt(np.sum(q**2, axis=0))
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def _slope(
    J: Extended, inverse: Extended, p: Extended, factor: Extended, forced: Extended
) -> Callable[[Any, Extended], Extended]:
    def slope(t: Any, y: Extended) -> Extended:
        R, m = y[:9].reshape(3, 3, -1), y[9:]
        w = np.einsum("nij,jn->in", inverse, m)
        c = factor * (1 + p[6] * (np.cos(p[7] * t + p[8]) - 1))
        f = c * np.einsum("ijn,in->jn", R, p[3:6])
        z = R[2]
        e = p[22] + p[23] * np.sum(w * w, axis=0)
        torque = _cross(p[0:3], f) + 3 * p[12] * _cross(z, np.einsum("nij,jn->in", J, z)) + p[19:22] - e * w
        turning = np.stack([_cross(row, w) for row in R]).reshape(9, -1)
        out: Extended = np.concatenate([turning, forced * torque + _cross(m, w)])
        return out

    return slope


def _cross(a: Extended, b: Extended) -> Extended:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _extrapolated(slope: Callable[[Any, Extended], Extended], t: Any, y: Extended, h: Any, columns: int) -> Extended:
    """Gragg's midpoint rules with 2, 4, 6, ... substeps, extrapolated to infinitely many; as an increment."""
    first = slope(t, y)
    table: list[Extended] = []
    for j in range(1, columns + 1):
        row = _midpoint(slope, t, y, h, 2 * j, first)
        fresh = [row]
        for i in range(1, j):
            ratio = np.longdouble(j) ** 2 / np.longdouble(j - i) ** 2 - 1
            fresh.append(fresh[i - 1] + (fresh[i - 1] - table[i - 1]) / ratio)
        table = fresh
    return y + table[-1]


def _midpoint(slope: Any, t: Any, y: Extended, h: Any, substeps: int, first: Extended) -> Extended:
    """The increment of y."""
    s = h / substeps
    before, now = np.zeros_like(y), s * first
    for k in range(1, substeps):
        before, now = now, before + 2 * s * slope(t + k * s, y + now)
    out: Extended = (before + now + s * slope(t + h, y + now)) / 2
    return out


# --- the truth with more digits --------------------------------------------------------------------------------------

BITS = 160
"""The precision of Taylor series: 48 digits."""
ORDER = 30
"""The last power of the time in them."""
MOST_STEPS = 5000
"""Where more would be needed, a body turns faster and faster: no recipe is meant to be like that."""


def series_motion(recipe: RandomRecipe, last_term: float) -> tuple[Extended, Extended]:
    """Returns R and w of a problem at its output times, by Taylor series whose last term is this small."""
    R, w = np.zeros((OUTPUTS, 3, 3), np.longdouble), np.zeros((OUTPUTS, 3), np.longdouble)
    with flint.ctx.workprec(BITS):
        p = [flint.arb(x) for x in recipe.values.tolist()]
        J = flint.arb_mat(recipe.tensor.tolist())
        inverse = J.inv()
        a, b, c, d = (flint.arb(x) for x in recipe.quaternion.tolist())
        n = a * a + b * b + c * c + d * d
        y = [
            (a * a + b * b - c * c - d * d) / n, 2 * (b * c - a * d) / n, 2 * (b * d + a * c) / n,
            2 * (b * c + a * d) / n, (a * a - b * b + c * c - d * d) / n, 2 * (c * d - a * b) / n,
            2 * (b * d - a * c) / n, 2 * (c * d + a * b) / n, (a * a - b * b - c * c + d * d) / n,
            *_product(J, [flint.arb(x) for x in recipe.omega.tolist()]),
        ]  # fmt: skip
        t, steps = flint.arb(0), 0
        for k, goal in enumerate(recipe.times.tolist()):
            factor = p[10] if k >= JUMP else 1
            while (left := (goal - t).mid()) != 0:
                y = [x.mid() for x in y]  # the bounds of Arb would grow from step to step
                series = _series(recipe.kind != "free", t, y, p, J, inverse, factor)
                longest = _length(series, last_term)
                step = left if abs(float(left)) <= longest else flint.arb(math.copysign(longest, float(left)))
                y = [flint.arb_poly(x.coeffs())(step) for x in series]
                t, steps = (t + step).mid(), steps + 1
                if steps > MOST_STEPS:
                    raise ArithmeticError(f"the truth of a body under {recipe.kind} was not found")
            R[k] = np.reshape([extended(x) for x in y[:9]], (3, 3))
            w[k] = [extended(x) for x in _product(inverse, y[9:])]
    return R, w


def _series(forced: bool, t: Any, y: list[Any], p: list[Any], J: Any, inverse: Any, factor: Any) -> list[Any]:
    """Returns the Taylor series of R and m about t: each integral of the equations makes one more term right."""
    cap = flint.ctx.cap
    try:
        flint.ctx.cap = ORDER + 1
        start = [flint.arb_series([x]) for x in y]
        c = factor * (1 + p[6] * (flint.arb_series([p[7] * t + p[8], p[7]]).cos() - 1))
        series = start
        for known in range(1, ORDER + 1):
            flint.ctx.cap = known  # terms of higher powers would be wrong, and cost time
            x, e, z, m = (series[k : k + 3] for k in (0, 3, 6, 9))
            w = _product(inverse, m)
            slope = [*_cross3(x, w), *_cross3(e, w), *_cross3(z, w), *_cross3(m, w)]
            if forced:
                f = [c * (p[3] * x[i] + p[4] * e[i] + p[5] * z[i]) for i in range(3)]
                gradient = _cross3(z, _product(J, z))
                drag = p[22] + p[23] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
                for i, arm in enumerate(_cross3(p[0:3], f)):
                    slope[9 + i] += arm + 3 * p[12] * gradient[i] + p[19 + i] - drag * w[i]
            flint.ctx.cap = ORDER + 1
            series = [a + b.integral() for a, b in zip(start, slope, strict=True)]
    finally:
        flint.ctx.cap = cap
    return series


def _length(series: list[Any], last_term: float) -> float:
    """Returns the longest step in which the last two terms are small, those of the momentum relative to all of it."""
    momentum = math.sqrt(sum(float(x[0]) ** 2 for x in series[9:]))
    lengths = [math.inf]
    for power in (ORDER - 1, ORDER):
        largest = max(
            *(abs(float(x[power])) for x in series[:9]), *(abs(float(x[power])) / momentum for x in series[9:])
        )
        if largest > 0.0:
            lengths.append((last_term / largest) ** (1.0 / power))
    return min(lengths)


def _product(matrix: Any, v: Sequence[Any]) -> list[Any]:
    return [matrix[i, 0] * v[0] + matrix[i, 1] * v[1] + matrix[i, 2] * v[2] for i in range(3)]


def _cross3(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def extended(x: Any) -> np.longdouble:
    """Returns a number of Arb or mpmath with the digits that extended precision has."""
    high = float(x)
    return np.longdouble(high) + np.longdouble(float(x - high))
