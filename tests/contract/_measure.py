"""Measurements on methods: errors, observed orders, defects. Everything is independent of polhode's own diagnostics."""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.algebra.quat import multiply
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.steps.variable_steps import Reversible
from polhode.kernels.types import Params, Scales, State
from polhode.methods import Keeps, Method, catalogue
from polhode.problem import Plan, Problem
from polhode.run.integration import as_kernels_see, solve
from tests.authorities import Floats, generic_records
from tests.authorities.problems import PROBLEMS, Recipe

EPS = float(np.finfo(float).eps)
TURNS = 3
"""Days in which the evidence that goes by turns is run through once."""


def of_today(cases: Sequence[Any]) -> list[Any]:
    """Returns the cases whose turn it is today, every third; all of them where `EVIDENCE=all` is set.

    Workers that collect at the same time find the same ones.
    """
    if os.environ.get("EVIDENCE") == "all":
        return list(cases)
    return list(cases[date.today().toordinal() % TURNS :: TURNS])


@contextmanager
def interpreted() -> Iterator[None]:
    """Runs in plain Python: the same kernels and the same driver, without the seconds of a compilation."""
    before = os.environ.get("NUMBA_DISABLE_JIT")
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["NUMBA_DISABLE_JIT"]
        else:
            os.environ["NUMBA_DISABLE_JIT"] = before


def compiled_run(
    problem: Problem, method: Method, steps: int, t_end: float | None = None, every: int | None = None
) -> ph.Solution:
    """Runs from time 0 to the end of the problem, or to another time, in this number of steps."""
    end = problem.t_end if t_end is None else t_end
    return solve(problem.until(end, every=every or steps), Plan(method, end / steps))


def run(
    problem: Problem, method: Method, steps: int, t_end: float | None = None, every: int | None = None
) -> ph.Solution:
    """The same in plain Python."""
    with interpreted():
        return compiled_run(problem, method, steps, t_end, every)


def accepted(method: Method) -> list[str]:
    """The generic problems that a method takes."""
    return [name for name, problem in PROBLEMS.items() if not method.refuses(problem.torque.depends)]


def pairs(*, tilted: bool = True) -> list[Any]:
    """Every method with every problem that it takes, as test parameters.

    Free and one problem more, another for each method in turn, are always run; the rest is left to the evidence.
    """
    out = []
    for k, method in enumerate(catalogue().values()):
        names = [name for name in accepted(method) if tilted or "tilted" not in name]
        torqued = [name for name in names if not name.startswith("free")]
        always = {"free", *torqued[k % len(torqued) :][:1]} if torqued else {"free"}
        for name in names:
            marks = [] if name in always else [pytest.mark.evidence]
            out.append(pytest.param(method, name, id=f"{method.name}-{name}", marks=marks))
    return out


def matrices(q: Floats) -> Floats:
    """Rotation matrices of a stack of quaternions, normalised first."""
    w, x, y, z = (q / np.linalg.norm(q, axis=-1, keepdims=True)).T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


# --- orders


class Errors(NamedTuple):
    """At the end of a run: the largest entry of the difference in R, and the relative error of the momentum."""

    attitude: float
    momentum: float


@cache
def errors(name: str, method: Method, steps: int) -> Errors:
    """Returns the errors on a generic problem, against its stored reference."""
    record, problem = generic_records()[name], PROBLEMS[name]
    R, w = np.array(record["R_end"], dtype=np.float64), np.array(record["omega_end"], dtype=np.float64)
    return compared(run(problem, method, steps), R, w)


def compared(solution: ph.Solution, R: Floats, w: Floats) -> Errors:
    """The last row of a solution against a true state."""
    m = solution.body.momentum(w)
    turned = matrices(solution.quaternion[-1:])[0]
    off = float(np.linalg.norm(solution.momentum[-1] - m) / np.linalg.norm(m))
    return Errors(float(np.abs(turned - R).max()), off)


COARSEST = 8
"""Steps of the coarsest grid: a quarter of a unit each, in which the generic bodies turn by 0.4."""
FINEST = 512
HIGHEST_ORDER = 12
"""A higher order shows only at longer steps than a grid of the generic problems has: `tests/methods/test_gauss.py`."""
FLOOR = 1e-12
"""Errors below this are too near round-off, some 1e-15 to 1e-14 here, to be fitted."""


def floor_of(method: Method) -> float:
    """A high order shows in a few steps only, and they round little."""
    return FLOOR / 10 if (method.order or 0) >= 8 else FLOOR


def observed_order(error: Callable[[int], float], finest: int = FINEST, floor: float = FLOOR) -> float:
    """The slope of the error against the step, fitted on four grids that span a factor of two.

    The grids are as fine as possible, up to `finest` steps, while the errors stay above the floor: there a method of
    order 1 has reached its asymptotic range, and so has one of order 16. Exact results have infinite order.
    """
    steps = finest
    while error(steps) < floor:
        if steps <= COARSEST:
            return float("inf")
        steps = _even(steps * 0.75)
    grids = sorted(n for n in {_even(steps * f) for f in (1.0, 0.8, 0.64, 0.5)} if error(n) < math.inf)  # it can fail
    if len(grids) <= 1:  # only the coarsest one is above the floor: nothing to fit
        return float("inf")
    slope = np.polyfit(np.log(grids), np.log([error(n) for n in grids]), 1)[0]
    return -float(slope)


def _even(x: float) -> int:
    """Returns an even number near x: a grid of that many steps has a point at its middle, where a torque may jump."""
    return max(COARSEST, 2 * round(x / 2))


# --- what is kept


@cache
def defects(recipe: Recipe, method: Method, h: float, steps: int, *, compiled: bool = False) -> dict[Keeps, float]:
    """The largest relative change of every quantity that the exact motion conserves, at all saved times."""
    every = max(1, steps // 200)
    solution = (compiled_run if compiled else run)(recipe.problem, method, steps, steps * h, every)
    R, m, w = matrices(solution.quaternion), solution.momentum, solution.omega
    L = np.einsum("nij,nj->ni", R, m)
    kinetic = np.einsum("ni,ni->n", m - np.array(recipe.rotor), w) / 2
    size = float(np.linalg.norm(m, axis=1).max())
    if recipe.kind == "free":
        norms = np.linalg.norm(m, axis=1)
        return {
            Keeps.ENERGY: float(np.abs(kinetic - kinetic[0]).max() / kinetic.max()),
            Keeps.MOMENTUM_NORM: float(np.abs(norms - norms[0]).max() / size),
            Keeps.SPATIAL_MOMENTUM: float(np.abs(L - L[0]).max() / size),
        }
    assert recipe.kind == "weight"
    force = np.array(recipe.force)
    energy = kinetic - np.einsum("i,nij,j->n", force, R, np.array(recipe.point))
    axial = L @ (force / np.linalg.norm(force))
    return {
        Keeps.ENERGY: float(np.abs(energy - energy[0]).max() / kinetic.max()),
        Keeps.AXIAL_MOMENTUM: float(np.abs(axial - axial[0]).max() / size),
    }


def reversal_defect(problem: Problem, method: Method, h: float, steps: int) -> float:
    """Returns how far from its start a run ends that makes some steps forth and, from its last state, as many back."""
    if isinstance(method.scheme, Reversible):
        return _reversal_along_densities(problem, method, h, steps)
    with interpreted():
        forth = compiled_run(problem, method, steps, steps * h)
        back = ph.simulate(
            problem.body, problem.torque, omega=forth.omega[-1], attitude=forth.quaternion[-1],
            t_span=(steps * h, 0.0), step=-h, method=method, every=steps,
        )  # fmt: skip
    q, m = forth.quaternion[0], forth.momentum[0]
    off = float(np.linalg.norm(back.momentum[-1] - m) / np.linalg.norm(m))
    return max(off, float(np.abs(matrices(back.quaternion[-1:]) - matrices(q[None])).max()))


def _reversal_along_densities(problem: Problem, method: Method, h: float, steps: int) -> float:
    """The same for steps whose lengths follow a recurrence: the way back begins with the last density."""
    one = OneStep(problem, method)
    turned = np.array(multiply(tuple(problem.quaternion_start), one.p.axes))
    s = begin = State(tuple(turned), tuple(problem.body.axes.T @ problem.momentum_start))
    memory, t = one.stepper.start(one.body, one.p, 0.0, s), 0.0
    for _ in range(steps):
        s, memory, status = one.stepper.step(one.body, one.p, t, s, h, memory)
        assert status == 0
        t += memory[0]
    monitor = one.stepper.start(one.body, one.p, t, s)[1]
    memory = (memory[0], 2 * monitor - memory[1], *memory[2:])
    for _ in range(steps):
        s, memory, status = one.stepper.step(one.body, one.p, t, s, -h, memory)
        assert status == 0
        t += memory[0]
    off = float(np.linalg.norm(np.array(s.m) - begin.m) / np.linalg.norm(begin.m))
    return max(off, float(np.abs(matrices(np.array([s.q])) - matrices(np.array([begin.q]))).max()), abs(t))


# --- the symplectic form


WITH_ROTOR = Scales((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), 1.0, many=True, effort=(40.0, 40.0), gyrostat=True)
"""The scales of a gyrostat: flows are prepared for steps of several radians."""


class OneStep:
    """One step of a method as a map of states in principal axes, in plain Python."""

    def __init__(self, problem: Problem, method: Method) -> None:
        body, torque = problem.body, problem.torque
        axes = tuple(body.axes_quaternion.tolist())
        pull = principal_torque(torque.torque_kernel, tilted=not body.aligned, windowed=False)
        self.stepper = method.scheme.bind(pull, torque.depends, WITH_ROTOR if body.has_rotor else None)
        self.body = as_kernels_see(body, gyrostat=body.has_rotor)
        self.p = Params(tuple(torque.parameters(body)), axes, (-np.inf, np.inf), method.tuning)

    def __call__(self, s: State, h: float) -> State:
        if self.stepper.enter:
            s = self.stepper.enter(self.body, self.p, 0.0, s, h)
        memory = self.stepper.start(self.body, self.p, 0.0, s)
        new, memory, status = self.stepper.step(self.body, self.p, 0.0, s, h, memory)
        if self.stepper.exactly:  # the first length is given, the second depends on the state
            new, memory, status = self.stepper.step(self.body, self.p, h, new, h, memory)
        assert status == 0
        return self.stepper.leave(self.body, self.p, h, new, h) if self.stepper.leave else new


def moved(s: State, x: Floats) -> State:
    """The state at the coordinates (theta, dm) around s: R exp(theta), m + dm."""
    theta, dm = x[:3], x[3:]
    angle = float(np.linalg.norm(theta))
    u = np.sinc(angle / (2 * np.pi)) / 2 * theta
    c, v = np.cos(angle / 2), np.array(s.q[1:])
    q = (s.q[0] * c - v @ u, *(s.q[0] * u + c * v + np.cross(v, u)))
    return State(tuple(map(float, q)), tuple(map(float, np.array(s.m) + dm)))  # type: ignore[arg-type]


def coordinates(s: State, near: State) -> Floats:
    """The inverse of `moved`, around `near`, for small angles."""
    a, b = np.array(near.q), np.array(s.q)
    c = float(a @ b)
    v = a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:])
    sine = float(np.linalg.norm(v))
    angle = 2 * np.arctan2(sine, abs(c)) * np.sign(c)
    theta = v * (angle / sine) if sine > 0 else 2 * v
    return np.concatenate([theta, np.array(s.m) - np.array(near.m)])


def jacobian(step: Callable[[State], State], s: State) -> Floats:
    """Returns the derivative of a map of states in the coordinates (theta, dm), by central differences of sixth order.

    With a spacing of 1/64 truncation and round-off are both near 1e-13.
    """
    new, d = step(s), 1 / 64
    columns = []
    for e in np.eye(6):
        total = np.zeros(6)
        for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
            up, down = (coordinates(step(moved(s, sign * k * d * e)), new) for sign in (1, -1))
            total += weight * (up - down) / d
        columns.append(total)
    return np.array(columns).T


def symplectic_form(m: Floats) -> Floats:
    """Minus the canonical form of T*SO(3), trivialised from the left, at momentum m, as a matrix.

    It is the differential of m.theta: W((a, u), (b, v)) = u.b - a.v - m.(a x b), where a, b turn and u, v change m.
    """
    turned = np.array([[0.0, -m[2], m[1]], [m[2], 0.0, -m[0]], [-m[1], m[0], 0.0]])  # turned b = m x b
    return np.block([[turned, -np.eye(3)], [np.eye(3), np.zeros((3, 3))]])


def symplectic_defect(step: Callable[[State], State], s: State) -> float:
    """The largest entry of J^T W(new) J - W(old)."""
    new, J = step(s), jacobian(step, s)
    return float(np.abs(J.T @ symplectic_form(np.array(new.m)) @ J - symplectic_form(np.array(s.m))).max())


def states(count: int) -> Iterator[State]:
    """Generic states."""
    draw = np.random.default_rng(20)
    for _ in itertools.repeat(None, count):
        q = draw.normal(size=4)
        q /= np.linalg.norm(q)
        yield State(tuple(q.tolist()), tuple((1.5 * draw.normal(size=3)).tolist()))
