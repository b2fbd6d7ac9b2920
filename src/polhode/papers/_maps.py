"""Single steps of a method as maps of states, and what they do to the symplectic form."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.status import OK
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import Inertia, Params, State
from polhode.methods import Method, find
from polhode.papers._measure import hat
from polhode.problem import Problem
from polhode.support.arrays import Floats


class MethodState(NamedTuple):
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

    def begun(self, s: State) -> MethodState:
        """The state at the beginning of a run."""
        return MethodState(s, self.stepper.start(self.body, self.p, 0.0, s))

    def after(self, at: MethodState, h: float, count: int = 1) -> MethodState:
        """The state some steps later. No torque of this paper's tops depends on time."""
        for _ in range(count):
            s, memory, status = self.stepper.step(self.body, self.p, 0.0, at.state, h, at.memory)
            if status != OK:
                raise ArithmeticError(f"{self.method.name} could not make a step of {h:g}")
            at = MethodState(s, memory)
        return at


# --- the symplectic form on the cotangent bundle of the rotations, trivialised from the left


def symplectic_form(m: Any) -> Floats:
    """The differential of m . R^T dR as a matrix: W((a, u), (b, v)) = u . b - v . a - m . (a x b)."""
    return np.block([[hat(m), -np.eye(3)], [np.eye(3), np.zeros((3, 3))]])


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
    return float(np.abs(J.T @ symplectic_form(new.m) @ J - symplectic_form(s.m)).max())


def defect(problem: Problem, method: str, h: float, count: int = 1) -> float:
    """The symplectic defect of some steps of a method, from the start of a problem."""
    steps = Steps(problem, method)
    return symplectic_defect(lambda s: steps.after(steps.begun(s), h, count).state, steps.start)
