"""Drifts that are drawn: ten kinds of torques, bodies of all shapes, starts of all kinds, beside runs in full."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import polhode as ph
from polhode.averages.rates import MeanRates
from polhode.support.arrays import Floats

PLACES = (0.3, 0.65, 0.97)
"""Where a drift is looked at, as shares of its span."""
HALF_WINDOW, HALF_WINDOW_ORBITS = 60.0, 12.0
"""Half of the window of the means that are compared, in turns and in orbits: another one than the package has."""
MOST_TURNS = 100.0
"""The most turns of the faster angle in one of the slower: the runs in full take these."""
ROWS_A_TURN, MOST_ROWS = 40.0, 150_000
TRUTHS = (1e-9, 1e-11)
"""The tolerance of a run in full, and of the second one, which decides where the first is not below the statement."""


@ph.torque(parameters=[1e-9, 1.0, 1.0, 1.25])
def friction(t: Any, q: Any, w: Any, p: Any) -> Any:
    """Inner friction takes energy and no momentum: k |w| ((m . w) m - m^2 w), m = (p1 w1, p2 w2, p3 w3)."""
    m = (p[1] * w[0], p[2] * w[1], p[3] * w[2])
    along = m[0] * w[0] + m[1] * w[1] + m[2] * w[2]
    square = m[0] * m[0] + m[1] * m[1] + m[2] * m[2]
    k = p[0] * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) ** 0.5
    return [k * (along * m[j] - square * w[j]) for j in range(3)]


@ph.torque(parameters=[1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
def eddies(t: Any, q: Any, w: Any, p: Any) -> Any:
    """Eddy currents in a field that turns in space at the rate p6: N = (M (w x B)) x B."""
    a = p[6] * t
    field = [p[3] * math.cos(a) - p[4] * math.sin(a), p[3] * math.sin(a) + p[4] * math.cos(a), p[5]]
    B = ph.to_body(q, field)
    e = ph.cross(w, B)
    return ph.cross([p[0] * e[0], p[1] * e[1], p[2] * e[2]], B)


class Problem(NamedTuple):
    """What is drawn, as `ph.drift` takes it."""

    body: ph.Body
    torque: Any
    omega: Floats
    attitude: Floats
    span: float
    rtol: float
    over: tuple[str, ...]
    orbit: float
    """The period of the orbit, s; zero: there is none."""


def body_of(rng: Any) -> ph.Body:
    """A body of any shape: symmetric ones, nearly symmetric ones and spheres among them, with axes of its own."""
    a, b, c = np.sort(10.0 ** rng.uniform(-1.0, 0.0, 3))  # mean squares along the axes
    shape = rng.choice(["any", "any", "any", "plate", "rod", "nearly", "round"])
    if shape == "plate":
        b = c
    elif shape == "rod":
        a = b
    elif shape == "nearly":
        b = c * (1.0 - 10.0 ** rng.uniform(-4, -1.5))
    elif shape == "round":
        a, b = c * (1.0 - rng.uniform(0.02, 0.2)), c * (1.0 - rng.uniform(0.01, 0.02))
    moments = rng.permutation([b + c, a + c, a + b]) * 10.0 ** rng.uniform(-1, 3)
    if rng.random() < 0.5 or shape in ("plate", "rod"):
        return ph.Body(moments)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return ph.Body(turn @ np.diag(moments) @ turn.T)


def _damping(body: ph.Body, rng: Any, orbit: float) -> Any:
    return ph.LinearDamping(tuple(rng.uniform(0.1, 2.0, 3).tolist()))


def _fixed(body: ph.Body, rng: Any, orbit: float) -> Any:
    return ph.ConstantBodyTorque(tuple(rng.normal(size=3).tolist()))


def _magnet(body: ph.Body, rng: Any, orbit: float) -> Any:
    return ph.MagneticDipole(moment=tuple(rng.normal(size=3).tolist()), field=tuple(rng.normal(size=3).tolist()))


def _gradient(body: ph.Body, rng: Any, orbit: float, eccentricity: float = 0.0) -> Any:
    path = ph.environment.Orbit(
        semi_major_axis=1.0, eccentricity=eccentricity, inclination_deg=rng.uniform(0, 180),
        mu=(2 * np.pi / orbit) ** 2,
        raan_deg=rng.uniform(0, 360), perigee_deg=rng.uniform(0, 360), mean_anomaly_deg=rng.uniform(0, 360), radius=0.1,
    )  # fmt: skip
    return ph.GravityGradient(orbit=path)


def _eccentric(body: ph.Body, rng: Any, orbit: float) -> Any:
    return _gradient(body, rng, orbit, rng.uniform(0.05, 0.5))


def _sunlit(body: ph.Body, rng: Any, orbit: float) -> Any:
    normals: Any = np.concatenate([np.eye(3), -np.eye(3)])
    size: Any = rng.uniform(0.5, 2.0, 3)
    return ph.Facets(
        areas=tuple(np.tile(np.prod(size) / size, 2)), normals=normals, centres=normals * np.tile(size, 2)[:, None] / 2
        + 0.1 * rng.normal(size=(6, 3)), sun=tuple(rng.normal(size=3).tolist()),
        specular=rng.uniform(0, 0.5, 6), diffuse=rng.uniform(0, 0.5, 6),
    )  # fmt: skip


def _eddies(body: ph.Body, rng: Any, orbit: float) -> Any:
    return eddies.with_parameters([*rng.uniform(0.2, 2.0, 3), *rng.normal(size=3), 2 * np.pi / orbit if orbit else 0.0])


def _friction(body: ph.Body, rng: Any, orbit: float) -> Any:
    return friction.with_parameters([1.0, *np.diag(body.tensor)])


KINDS: dict[str, tuple[tuple[Callable[..., Any], ...], str]] = {
    "damping": ((_damping,), ""),
    "body-fixed torque": ((_fixed,), ""),
    "magnet": ((_magnet,), ""),
    "gravity gradient, circular orbit": ((_gradient,), "slow"),
    "gravity gradient, eccentric orbit": ((_eccentric,), "slow"),
    "gravity gradient, averaged over the orbit": ((_eccentric,), "averaged"),
    "plates in sunlight": ((_sunlit,), ""),
    "eddy currents in a turning field": ((_eddies,), "slow"),
    "inner friction": ((_friction,), ""),
    "sums of two or three": ((), ""),
}
"""The torques of each kind, and whether an orbit is followed or averaged over."""


def draw(seed: int, shorter: float = 1.0) -> tuple[str, Problem]:
    """A problem of 10,000 to 100,000 turns, or a part of these."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    makers, orbits = KINDS[kind]
    if not makers:
        others = [_damping, _fixed, _magnet, _sunlit, _eddies, _friction]
        makers = tuple(others[k] for k in rng.permutation(len(others))[: rng.integers(2, 4)])
    turn, slowest = 1.0, math.inf
    while slowest > MOST_TURNS * turn:
        body = body_of(rng)
        omega = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
        if rng.random() < 0.25:  # near an axis
            shares = np.full(3, 1e-3)
            shares[np.argsort(body.moments)[rng.choice([0, 2])]] = 1.0
            omega = body.axes @ (omega * shares)
        attitude = rng.normal(size=4)
        attitude /= np.linalg.norm(attitude)
        motion = ph.FreeMotion(body, omega, attitude)
        turn, slowest = sorted((motion.period, motion.precession_period))
    turns = shorter * 10.0 ** rng.uniform(4, 5)
    span = max(turns * turn, 500.0 * slowest)
    orbit = 0.0
    if orbits == "slow":
        orbit = span / rng.uniform(3, 40)
    elif orbits == "averaged":
        orbit = span / rng.uniform(100, 200)
    # All torques of a sum have the same size, as the motion at the start sees them, and a share that is drawn.
    change = 10.0 ** rng.uniform(-2, -0.3)
    torque = None
    for make in makers:
        one = make(body, rng, orbit)
        part = change * rng.uniform(0.3, 1.0) / (_strength(one, body, motion) * span / motion.period) * one
        torque = part if torque is None else torque + part
    over = ("rotation", "orbit") if orbits == "averaged" else ("rotation",)
    rtol = 10.0 ** rng.uniform(-7, -4)
    if rng.random() < 0.2:
        span = -span
    return kind, Problem(body, torque, omega, attitude, span, rtol, over, orbit)


def _strength(torque: Any, body: ph.Body, motion: Any) -> float:
    """P max|N| / G at the start."""
    L, T = motion.angular_momentum, motion.kinetic_energy
    rates = MeanRates(body, torque, np.array(torque.parameters(body)), 1.0, np.ones(4))
    return rates.survey(0.0, np.append(L, T), 32, 8).strength


class Outcome(NamedTuple):
    """A drift beside its run in full."""

    kind: str
    seed: int
    refused: str
    """Why there is no drift; empty: there is one."""
    turns: float = 0.0
    rtol: float = 0.0
    stated: float = 0.0
    true: float = 0.0
    moved: float = 0.0
    """How far momentum or energy have moved, relative to the start."""
    ended: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)
    """What the drift and its run in full took."""


def window(x: Floats) -> Floats:
    """Weights cos^12, with the sum one."""
    weights = np.where(np.abs(x) < 1.0, np.cos(0.5 * np.pi * x) ** 12, 0.0)
    return np.asarray(weights / weights.sum())


def apart(d: Any, problem: Problem, rtol: float) -> float:
    """The greatest distance of a drift from a run in full, both seen as means, over the sizes at the start."""
    extent = d.t_last
    forward = math.copysign(1.0, extent)
    pieces = list[tuple[float, float, Floats]]()
    for place in PLACES:
        centre = place * extent
        motion = d.motion(centre)
        fastest, slowest = sorted((motion.period, motion.precession_period))
        reach = HALF_WINDOW * slowest
        if len(problem.over) > 1:
            reach = max(reach, HALF_WINDOW_ORBITS * problem.orbit)
        reach = forward * min(reach, 0.45 * abs(extent))
        centre = min(max(centre / extent, abs(reach / extent)), 1.0 - abs(reach / extent)) * extent
        count = int(min(max(ROWS_A_TURN * 2.0 * abs(reach) / fastest, 2000), MOST_ROWS))
        pieces.append((centre, reach, np.linspace(centre - reach, centre + reach, count + 1)))
    t = np.concatenate([piece[2] for piece in pieces])
    run = ph.simulate(
        problem.body, problem.torque, omega=problem.omega, attitude=problem.attitude, t_span=(0.0, extent),
        t_eval=forward * np.unique(forward * t), rtol=rtol,
    )  # fmt: skip
    full = np.column_stack([run.spatial_momentum, run.kinetic_energy])
    worst = 0.0
    for centre, reach, times in pieces:
        rows = np.minimum(np.searchsorted(forward * run.t, forward * times), run.t.size - 1)
        weights = window((times - centre) / reach)
        worst = max(worst, float(np.abs((weights @ (full[rows] - d.path.at(times))) / d.asked.scale).max()))
    return worst


def tried(seed: int, shorter: float = 1.0) -> Outcome:
    """The drift of a problem, compared with its run in full."""
    kind, problem = draw(seed, shorter)
    clock = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            d = ph.drift(
                problem.body, problem.torque, omega=problem.omega, attitude=problem.attitude,
                t_span=(0.0, problem.span), rtol=problem.rtol, over=problem.over,
            )  # fmt: skip
        except ph.DriftImpossible as why:
            return Outcome(kind, seed, str(why))
        middle = time.perf_counter()
        true = apart(d, problem, TRUTHS[0])
        if true > 0.5 * d.error:
            true = min(true, apart(d, problem, TRUTHS[1]))
    motion = ph.FreeMotion(problem.body, problem.omega)
    turns = abs(d.t_last) / min(motion.period, motion.precession_period)
    moved = float(np.abs((d.path.z[-1] - d.path.z[0]) / d.asked.scale).max())
    ended = d.events[-1].kind if d.path.ended else ""
    spent = (round(middle - clock, 3), round(time.perf_counter() - middle, 3))
    return Outcome(kind, seed, "", turns, problem.rtol, float(d.error), true, moved, ended, spent)
