"""The Lagrangian top and its invariants, SW begun anew, and single steps of a method as maps of states."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode import HeavyTop
from polhode.body import Body
from polhode.kernels.status import OK
from polhode.kernels.steps.compose import Increments
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import Depends, Inertia, Params, Pull, Start, State
from polhode.methods import Keeps, Method, find
from polhode.methods.compared.newmark import simo_wong
from polhode.papers._measure import pose, symplectic_form
from polhode.problem import Problem
from polhode.solution import Solution
from polhode.support.arrays import Floats

# --- the Lagrangian top: figures 8 and 9, accuracy

WEIGHT = math.sqrt(3) / 2 * 9.81
"""M l g, in N m: the only number that the paper gives for this top."""
MOMENTS = (7 / 8, 7 / 8, 2 / 8)
"""kg m^2. Section 3.3 refers to work by authors of DiffMan, whose example 9 is a heavy top with the same M l g: a mass
of 1 kg at sqrt(3)/2 m. These are its moments. They fit to mass and distance: a thin disc has I1 = I3/2 + M l^2."""
SPIN, TILT = 1.0, math.pi / 16
"""Spin in rad/s and tilt in rad, of the same example."""
STEP, END = 0.05, 100.0
"""Step and end in s, of the paper."""


def lagrangian_top(spin: float = SPIN, tilt: float = TILT) -> Problem:
    """The problem of section 3.3 with the data of the example, or with another spin and tilt."""
    turned = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    return pose(Body(MOMENTS), HeavyTop(weight=WEIGHT), (0.0, 0.0, spin), turned)


def relative_energy(solution: Solution) -> Floats:
    """The change of the Hamiltonian, relative to its exact value."""
    energy = solution.energy
    return np.asarray((energy - energy[0]) / abs(energy[0]))


def vertical_momentum(solution: Solution) -> Floats:
    """The change of pi . gamma."""
    vertical = solution.spatial_momentum[:, 2]
    return np.asarray(vertical - vertical[0])


def largest(values: Any) -> float:
    """The largest absolute value."""
    return float(np.abs(values).max())


def growth(error: Floats, part: int) -> float:
    """The largest error in the last part of the time over that in the first; there are this many parts."""
    rows = len(error) // part
    return largest(error[-rows:]) / largest(error[:rows])


# --- SW, begun anew at every step


def _anew(pull: Pull) -> tuple[Start, Any]:
    """SW with the acceleration from Euler's equation at every step, instead of that of the last step."""
    start, change = simo_wong(pull, symmetric=True)

    def fresh(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        moved: tuple[State, Any, int] = change(body, p, t, s, h, start(body, p, t, s))
        return moved

    return start, fresh


SW_ANEW = Method(
    "SW begun anew",
    Increments(_anew, memory=6, evaluations_at_start=1, evaluations_per_step=2),
    summary="SW, begun anew at every step",
    about="The program in appendix B keeps attitude and rate between calls, and begins every call with the "
    "acceleration of Euler's equation. With a call for every step this does not matter for NMB, but makes another "
    "method of SW.",
    cite="krysl2004",
    order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)


# --- steps as maps


class Carried(NamedTuple):
    """Holds a state, and what the method remembers with it."""

    state: State
    memory: Any


class Steps:
    """Runs a method on a problem step by step, in plain Python: with its memory, and with states of any kind."""

    def __init__(self, problem: Problem, method: str | Method) -> None:
        self.method = find(method) if isinstance(method, str) else method
        torque, body = problem.torque, problem.body
        pull = principal_torque(torque.torque_kernel, tilted=False, windowed=False)
        self.stepper = self.method.scheme.bind(pull, torque.depends)
        inertia = tuple(body.moments.tolist())
        self.body = Inertia(inertia, tuple(1.0 / i for i in inertia))
        self.p = Params(tuple(torque.parameters(body)), (1.0, 0.0, 0.0, 0.0), (-math.inf, math.inf), self.method.tuning)
        self.start = State(tuple(problem.quaternion_start.tolist()), tuple(problem.momentum_start.tolist()))

    def begun(self, s: State) -> Carried:
        """The state at the beginning of a run."""
        return Carried(s, self.stepper.start(self.body, self.p, 0.0, s))

    def after(self, at: Carried, h: float, count: int = 1) -> Carried:
        """The state some steps later. No torque of this paper's tops depends on time."""
        for _ in range(count):
            s, memory, status = self.stepper.step(self.body, self.p, 0.0, at.state, h, at.memory)
            if status != OK:
                raise ArithmeticError(f"{self.method.name} could not make a step of {h:g}")
            at = Carried(s, memory)
        return at


def distance(a: State, b: State) -> float:
    """The larger of the difference of quaternions, whatever their signs, and the relative one of momenta."""
    p, q = np.array(a.q), np.array(b.q)
    off = np.linalg.norm(np.subtract(a.m, b.m)) / np.linalg.norm(b.m)
    return float(max(off, min(np.linalg.norm(p - q), np.linalg.norm(p + q))))


def there_and_back(steps: Steps, h: float, count: int, *, anew: bool) -> float:
    """How far from its start a run ends that makes some steps forth, and as many back with the step -h.

    The steps back begin anew from the last state, or with what the method remembers. The memory is the same in both
    directions of time except for HSTAGM, whose second chain has to be half a step behind, where it was one step ago.
    """
    before = steps.after(steps.begun(steps.start), h, count - 1)
    last = steps.after(before, h)
    if anew:
        last = steps.begun(last.state)
    elif steps.method.name == "HSTAGM":
        last = Carried(last.state, (*before.memory[:7], -h, before.memory[8]))
    return distance(steps.after(last, -h, count).state, steps.start)


# --- the symplectic form on the cotangent bundle of the rotations, trivialised from the left


def _moved(s: State, x: Floats) -> State:
    """The state at the coordinates x = (theta, dm) around s: R exp(theta), m + dm."""
    angle = float(np.linalg.norm(x[:3]))
    u = np.sinc(angle / (2 * np.pi)) / 2 * x[:3]
    c, a, v = math.cos(angle / 2), s.q[0], np.array(s.q[1:])
    q = (a * c - v @ u, *(a * u + c * v + np.cross(v, u)))
    return State(tuple(map(float, q)), tuple(map(float, np.array(s.m) + x[3:])))  # type: ignore[arg-type]


def _coordinates(s: State, around: State) -> Floats:
    """The coordinates of a state around another: the inverse of `_moved`."""
    a, b = np.array(around.q), np.array(s.q)
    c, v = float(a @ b), a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:])
    sine = float(np.linalg.norm(v))
    scale = 2.0 if sine == 0 else 2 * math.atan2(sine, abs(c)) / sine
    return np.concatenate([math.copysign(scale, c) * v, np.subtract(s.m, around.m)])


def symplectic_defect(flow: Callable[[State], State], s: State) -> float:
    """The largest entry of J^T W(new) J - W(old), J by differences of sixth order, whose own error is 1e-12."""
    new, d, columns = flow(s), 1 / 64, []
    for e in np.eye(6):
        column = np.zeros(6)
        for k, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
            up, down = (_coordinates(flow(_moved(s, sign * k * d * e)), new) for sign in (1, -1))
            column += weight / d * (up - down)
        columns.append(column)
    J = np.array(columns).T
    return largest(J.T @ symplectic_form(new.m) @ J - symplectic_form(s.m))
