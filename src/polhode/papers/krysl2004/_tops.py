"""The Lagrangian top and its invariants, SW begun anew, and single steps of a method as maps of states."""

import math
from typing import Any

import numpy as np

from polhode import HeavyTop
from polhode.body import Body
from polhode.kernels.steps.compose import Increments
from polhode.kernels.types import Depends, Inertia, Params, Pull, Start, State
from polhode.methods import Keeps, Method
from polhode.methods.compared.newmark import simo_wong
from polhode.papers._maps import MethodState, Steps
from polhode.papers._measure import pose
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
        last = MethodState(last.state, (*before.memory[:7], -h, before.memory[8]))
    return distance(steps.after(last, -h, count).state, steps.start)
