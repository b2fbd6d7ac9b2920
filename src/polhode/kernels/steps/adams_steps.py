"""Adams steps of fixed length: predict, evaluate, correct, evaluate.

The slope is the polynomial through the slopes of the last steps, and its integral is the step: first without the slope
at the end, which gives a first guess of the state there, then with the slope at that guess.  [hairer1993, sec. III.1]

At the start, and where the length of the steps changes, there are no slopes of earlier steps. Until there are, the
steps are those of Dormand and Prince's pair of order 8, which err less than Adams steps of any length that is stable.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import bodies_at
from polhode.kernels.ops import fma, from_lanes, lane
from polhode.kernels.states import moved, scaled, slope_of
from polhode.kernels.status import OK
from polhode.kernels.steps.coefficients import lagrange
from polhode.kernels.steps.compose import Increments, InLanes, Make
from polhode.kernels.steps.explicit_runge_kutta import stage_lines, weighted
from polhode.kernels.steps.tableaux import DORMAND_PRINCE
from polhode.kernels.types import BoundStep, Depends, Pull, Scales, Start, State

PARTS = (*(f"q[{a}]" for a in range(4)), *(f"m[{a}]" for a in range(3)))
"""The seven numbers of a state."""
COUNTS = 3
"""The memory ends with these numbers: how many slopes are known, the length of the steps between them, evaluations."""


def bashforth(order: int) -> tuple[float, ...]:
    """The weights of the slopes here and at the points before, whose sum is the next step over its length."""
    return _integrals([-j for j in range(order)])


def moulton(order: int) -> tuple[float, ...]:
    """The weights of the slopes at the end of the next step, here, and at the points before."""
    return _integrals([1 - j for j in range(order)])


def _integrals(nodes: Sequence[int]) -> tuple[float, ...]:
    """Integrates, from zero to one, each polynomial that is one at its node and zero at the others."""
    points = list(map(Fraction, nodes))
    polynomials = [lagrange(points, j) for j in range(len(points))]
    return tuple(float(sum((c / (k + 1) for k, c in enumerate(p)), start=Fraction(0))) for p in polynomials)


def _sum(weights: Sequence[float], numbers: Sequence[str]) -> str:
    """Writes a weighted sum that adds the newest number last: it is computed last, and the processor need not wait."""
    text = f"{weights[-1]!r} * {numbers[-1]}"
    for w, x in zip(reversed(weights[:-1]), reversed(numbers[:-1]), strict=True):
        text = f"fma({w!r}, {x}, {text})"
    return text


def _state(parts: Sequence[str]) -> str:
    """Writes the state that has these seven numbers."""
    return f"State(({', '.join(parts[:4])}), ({', '.join(parts[4:])}))"


def _lines(
    order: int, history: Sequence[str], kept: Sequence[str], here: Sequence[str], guess: Sequence[str],
    step: Sequence[str],
) -> list[str]:  # fmt: skip
    """Writes a step. `history` names the slopes in the memory, `kept` those in the next memory."""
    lead, mix = weighted(DORMAND_PRINCE.step, "k", "moved")
    return [
        f"{', '.join(history)}, there, length, spent = memory",
        "now, then = bodies_at(body, p, (t, t + h))",
        "k0 = slope(now, p, t, s)",
        *here,
        "same = lane(length, 0) == h",  # bodies in lanes have made the same steps: one lane speaks for all
        f"if same and lane(there, 0) == {float(order - 1)!r}:",
        *(f"    {line}" for line in guess),
        *(f"    {line}" for line in step),
        "    spent = spent + 2.0",
        "else:",
        *(f"    {line}" for line in stage_lines(DORMAND_PRINCE)),
        f"    d = scaled({lead!r} * h, {mix})",
        "    there = there * (1.0 if same else 0.0) + 1.0",
        "    length = 0.0 * length + h",
        f"    spent = spent + {float(len(DORMAND_PRINCE.stages))!r}",
        f"return d, ({', '.join(kept)}, there, length, spent), OK",
    ]


def in_numbers(order: int) -> tuple[Make, int]:
    """Returns `make(pull)` of a scheme of increments, and the length of its memory.

    The memory holds the slopes from the latest back, number by number, and then the counts.
    """
    past, parts = range(1, order), range(len(PARTS))
    history = [f"x{j}_{a}" for j in past for a in parts]
    known = [[f"x{j}_{a}" for j in range(order)] for a in parts]
    kept = [f"x{j}_{a}" for j in range(order - 1) for a in parts]
    here = [f"x0_{a} = k0.{PARTS[a]}" for a in parts]
    at = [f"fma(h, {_sum(bashforth(order), known[a])}, s.{PARTS[a]})" for a in parts]
    by = [f"h * {_sum(moulton(order), [f'f.{PARTS[a]}', *known[a][:-1]])}" for a in parts]
    lines = _lines(order, history, kept, here, [f"f = slope(then, p, t + h, {_state(at)})"], [f"d = {_state(by)}"])
    return _maker(lines, len(history)), len(history) + COUNTS


def in_registers(order: int) -> Make:
    """The Adams scheme with the seven numbers of a slope in one vector register; it computes the same bits."""
    lanes = range(len(PARTS))

    def packed(slope: str) -> str:
        return f"from_lanes(({', '.join(f'{slope}.{x}' for x in PARTS)}, 0.0))"

    known = [f"x{j}" for j in range(order)]
    guess = [
        f"g = {_sum(bashforth(order), known)}",
        f"f = slope(then, p, t + h, {_state([f'fma(h, lane(g, {a}), s.{PARTS[a]})' for a in lanes])})",
    ]
    step = [
        f"x = {packed('f')}",
        f"g = h * {_sum(moulton(order), ['x', *known[:-1]])}",
        f"d = {_state([f'lane(g, {a})' for a in lanes])}",
    ]
    lines = _lines(order, known[1:], known[:-1], [f"x0 = {packed('k0')}"], guess, step)
    return _maker(lines, order - 1, "from_lanes((z, z, z, z, z, z, z, z))")


def _maker(lines: Sequence[str], slopes: int, nothing: str = "z") -> Make:
    """Returns `make(pull)` for these lines; its first memory has `slopes` parts equal to `nothing`, and zero counts."""
    begin = ["z = 0.0 * s.q[0]", f"n = {nothing}", f"return ({'n, ' * slopes}{'z, ' * COUNTS})"]

    def make(pull: Pull) -> tuple[Start, Any]:
        names = {
            "State": State, "slope": slope_of(pull), "fma": fma, "lane": lane, "from_lanes": from_lanes,
            "bodies_at": bodies_at, "moved": moved, "scaled": scaled, "OK": OK,
        }  # fmt: skip
        start: Start = function("start(body, p, t, s)", begin, {"from_lanes": from_lanes})
        return start, function("change(body, p, t, s, h, memory)", lines, names)

    return make


class Adams(NamedTuple):
    """The scheme: predictor and corrector of this order, with plain or compensated summation."""

    order: int
    compensated: bool = False

    @property
    def in_lanes(self) -> tuple[InLanes, ...]:
        """The form in vector registers, which computes the same bits and is tried first."""
        return self._increments().in_lanes

    def _increments(self) -> Increments:
        make, parts = in_numbers(self.order)
        wide = InLanes(in_registers(self.order), self.order - 1, len(PARTS), COUNTS, lanes=8)
        return Increments(make, parts, 0, None, self.compensated, in_lanes=(wide,))

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the scheme to its torque."""
        return self._increments().bind(pull, depends, scales)
