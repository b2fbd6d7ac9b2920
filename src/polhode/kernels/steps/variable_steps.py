"""Steps that choose their length: by a tolerance, or reversibly by a monitor function.

Both are steppers with `exactly`: the first number of the memory is the length of the last step, the last number counts
evaluations of the torque.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.vec import dot, times
from polhode.kernels.gyrostat import rate_of
from polhode.kernels.states import sizes_of
from polhode.kernels.status import NO_CONVERGENCE, OK, STALLED
from polhode.kernels.steps.compose import Scheme, nothing_of
from polhode.kernels.steps.dop853 import EVALUATIONS, pair
from polhode.kernels.steps.tangent import in_rows
from polhode.kernels.types import BoundStep, Depends, Inertia, Params, Pull, Scales, State, Vec3

Monitor = Callable[[Inertia, Vec3, State], float]
"""`(body, torque, state) -> U > 0`: the wanted density of the steps, in any unit. It must be even in the rate."""

MOST_ATTEMPTS = 60
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
"""Factors for the next step: the margin below the length that the estimate allows, and the bounds of a change."""


def shorter(error: float) -> float:
    """The factor for the length of a step that was rejected for its error, in units of the tolerance."""
    return max(SHRINK, SAFETY * error**-0.125) if error < 1e300 else SHRINK


def length_after(length: float, error: float, planned: float, rejected: bool) -> float:
    """The length to try after an accepted step, whose error was this."""
    most = 1.0 if rejected else GROW
    factor = most if error == 0.0 else min(most, max(SHRINK, SAFETY * error**-0.125))
    return length_to_try(length, factor, planned)


def length_to_try(length: float, factor: float, planned: float) -> float:
    """The length of a step times a factor; the planned one if the step was short only for lack of room."""
    following = factor * length
    return planned if factor > 1.0 and abs(following) < abs(planned) else following


class Adaptive(NamedTuple):
    """The scheme of Dormand and Prince's pair of order 8. Its steps are as long as the tolerances allow, but at most h.

    The tolerances are `Params.tuning`: one relative, one absolute. If the second is negative there is none, and errors
    of the momentum are relative to its largest size so far instead of its size now. Errors of numbers that the torque
    carries are relative to their largest sizes so far.
    """

    @property
    def takes_state(self) -> bool:
        """Whether a torque may carry numbers of its own along."""
        return True

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque.

        The memory is: length made, length to try next, largest momentum before the step, largest sizes of carried
        numbers, evaluations.
        """
        carried = scales.carried if scales is not None else ()
        columns = getattr(pull, "__columns__", None)
        slope, attempt = pair(pull.__rows__ if columns else pull, carried)  # type: ignore[attr-defined]
        of, grown, last = sizes_of(carried).of, sizes_of(carried).grown, 3 + len(carried)
        start = nothing_of(last + 1)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            k = slope(body, p, t, s)
            spent = memory[last] + 1.0
            sizes = grown(of(memory), s)
            largest = max(memory[2], sqrt(dot(s.m, s.m)))
            absolute = p.tuning[1] if p.tuning[1] >= 0.0 else p.tuning[0] * largest
            length = h if memory[1] == 0.0 or abs(memory[1]) > abs(h) else memory[1]
            rejected = False
            for _ in range(MOST_ATTEMPTS):
                new, error = attempt(body, p, t, s, length, k, p.tuning[0], absolute, sizes)
                spent += EVALUATIONS
                if error <= 1.0:
                    following = length_after(length, error, memory[1], rejected)
                    return new, (length, following, largest, *sizes, spent), OK
                # A NaN is an error too: it fails the comparison above.
                rejected = True
                length = length * shorter(error)
            return s, (length, length, largest, *sizes, spent), STALLED

        def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            sizes = of(memory)
            new, _ = attempt(body, p, t, s, h, slope(body, p, t, s), p.tuning[0], max(p.tuning[1], 0.0), sizes)
            return new, (h, memory[1], memory[2], *sizes, memory[last] + 1.0 + EVALUATIONS), OK

        def again(body: Inertia, p: Params, t: float, s: State, memory: Any) -> Any:
            return (0.0, memory[1], memory[2], *of(memory), 0.0)

        steps = (in_rows(step, columns), in_rows(exactly, columns)) if columns else (step, exactly)
        return BoundStep(start, steps[0], last + 1, 0, None, steps[1], again, limited=True, carried=len(carried))


class Reversible(NamedTuple):
    """The scheme that makes steps of a symmetric method, whose density follows a monitor function U reversibly.

    The density r between two states obeys r_(n+1/2) + r_(n-1/2) = 2 U(z_n), which is explicit, and the length is
    h U(z_0) / r: the user's step is the first one. Going back along the same densities undoes the steps.  [holder2001]
    """

    base: Scheme
    monitor: Monitor

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque.

        The memory is: length made, density, density at the start, the memory of the method inside, evaluations.
        """
        base, monitor, torqued = self.base.bind(pull, depends, scales), self.monitor, depends is not Depends.NOTHING
        start, inside, kept = base.start, base.step, base.memory
        counts, asked = base.evaluations_per_step is None, float(torqued)
        own, at_start, each = kept - counts, float(base.evaluations_at_start), float(base.evaluations_per_step or 0)

        def wanted(body: Inertia, p: Params, t: float, s: State) -> float:
            """The wanted density U."""
            return monitor(body, pull(body, p, t, s) if torqued else (0.0, 0.0, 0.0), s)

        def begin(body: Inertia, p: Params, t: float, s: State) -> Any:
            u, fresh = wanted(body, p, t, s), start(body, p, t, s)
            return (0.0, u, u, *fresh[:own], (fresh[kept - 1] if counts else at_start) + asked)

        def again(body: Inertia, p: Params, t: float, s: State, memory: Any) -> Any:
            u, fresh = wanted(body, p, t, s), start(body, p, t, s)
            first = memory[2] if memory[2] > 0.0 else u
            return (0.0, u, first, *fresh[:own], (fresh[kept - 1] if counts else at_start) + asked)

        def made(
            body: Inertia, p: Params, t: float, s: State, h: float, memory: Any, density: float
        ) -> tuple[State, Any, int]:
            """A step of exactly this length, with the density that the memory has after it."""
            new, fresh, status = inside(body, p, t, s, h, memory[3 : 3 + kept])
            spent = fresh[kept - 1] if counts else memory[3 + kept] + each
            return new, (h, density, memory[2], *fresh[:own], spent + asked), status

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            density = 2.0 * wanted(body, p, t, s) - memory[1]
            at_rest = density == 0.0 and memory[2] == 0.0  # at rest and without a torque no step is too long
            if not (at_rest or (density > 0.0 and memory[2] > 0.0)):
                return s, memory, NO_CONVERGENCE
            length = h if memory[2] == density else h * (memory[2] / density)
            return made(body, p, t, s, length, memory, density)

        def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            """A part of the next step; the density changes by the same part, for a run that goes on from there."""
            density = 2.0 * wanted(body, p, t, s) - memory[1]
            whole = memory[0] * memory[1]  # the length that is due, times its density
            part = min(h * density / whole, 1.0) if h * density * whole > 0.0 else 1.0
            return made(body, p, t, s, h, memory, memory[1] + part * (density - memory[1]))

        return BoundStep(begin, step, kept + 4 - counts, 0, None, exactly, again)


def frequency(body: Inertia, n: Vec3, s: State) -> float:
    """sqrt(|w|^2 + |n / I|): one frequency for the rate and for the swing that the torque could cause."""
    w, a = rate_of(body, s.m), times(n, body.inverse)
    return sqrt(dot(w, w) + sqrt(dot(a, a)))


def rate(body: Inertia, n: Vec3, s: State) -> float:
    """|w|: steps of equal angles."""
    w = rate_of(body, s.m)
    return sqrt(dot(w, w))
