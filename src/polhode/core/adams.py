"""Adams steps of fixed length: predict, evaluate, correct, evaluate.

The slope is the polynomial through the slopes of the last steps, and its integral is the step: first without the slope
at the end, which gives a first guess of the state there, then with the slope at that guess.  [hairer1993, sec. III.1]

There is no past at the start, nor where the length of the steps changes: until there is, steps are those of Dormand
and Prince's pair of order 8, which err less than those of Adams do at any length that these can have.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from polhode.core.compose import Composed, Increments, InLanes
from polhode.core.ops import fma, from_lanes, lane
from polhode.core.runge_kutta import Make, moved, scaled, slope_of, stage_lines, weighted
from polhode.core.status import OK
from polhode.core.tableaux import DORMAND_PRINCE
from polhode.core.text import function
from polhode.core.types import Depends, Pull, Scales, Start, State, Stepper

PARTS = (*(f"q[{a}]" for a in range(4)), *(f"m[{a}]" for a in range(3)))
"""The seven numbers of a state."""
COUNTS = 3
"""After the slopes, in the memory: how many there are, how long the steps between them were, evaluations."""


def bashforth(order: int) -> tuple[float, ...]:
    """Weights of the slopes here and at the points before, in steps: the integral over the step to come."""
    return _integrals([-j for j in range(order)])


def moulton(order: int) -> tuple[float, ...]:
    """Weights of the slopes at the end of the step to come, here, and at the points before."""
    return _integrals([1 - j for j in range(order)])


def _integrals(nodes: Sequence[int]) -> tuple[float, ...]:
    """From zero to one, of the polynomials that are one at a node and zero at the others."""
    out = []
    for x in nodes:
        polynomial = [Fraction(1)]  # from the constant up
        for y in nodes:
            if y != x:
                raised = [Fraction(0), *polynomial]
                polynomial = [(r - y * c) / (x - y) for r, c in zip(raised, [*polynomial, Fraction(0)], strict=True)]
        out.append(float(sum((c / (k + 1) for k, c in enumerate(polynomial)), start=Fraction(0))))
    return tuple(out)


def _sum(weights: Sequence[float], numbers: Sequence[str]) -> str:
    """As text, the newest added last: all others are there long before it."""
    text = f"{weights[-1]!r} * {numbers[-1]}"
    for w, x in zip(reversed(weights[:-1]), reversed(numbers[:-1]), strict=True):
        text = f"fma({w!r}, {x}, {text})"
    return text


def _seven(parts: Sequence[str]) -> str:
    return f"State(({', '.join(parts[:4])}), ({', '.join(parts[4:])}))"


def _lines(
    order: int, history: Sequence[str], kept: Sequence[str], here: Sequence[str], guess: Sequence[str],
    step: Sequence[str],
) -> list[str]:  # fmt: skip
    """The text of a step. `history` names the parts of the memory, `kept` those of the next one."""
    lead, mix = weighted(DORMAND_PRINCE.step, "k", "moved")
    return [
        f"{', '.join(history)}, there, length, spent = memory",
        "k0 = slope(body, p, t, s)",
        *here,
        "same = lane(length, 0) == h",  # bodies that go together have come equally far
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
    """`make(pull)` of a scheme of increments, and the number of parts of its memory: the slopes from the latest back,
    number by number, and the counts."""
    past, parts = range(1, order), range(len(PARTS))
    history = [f"x{j}_{a}" for j in past for a in parts]
    known = [[f"x{j}_{a}" for j in range(order)] for a in parts]
    kept = [f"x{j}_{a}" for j in range(order - 1) for a in parts]
    here = [f"x0_{a} = k0.{PARTS[a]}" for a in parts]
    at = [f"fma(h, {_sum(bashforth(order), known[a])}, s.{PARTS[a]})" for a in parts]
    by = [f"h * {_sum(moulton(order), [f'f.{PARTS[a]}', *known[a][:-1]])}" for a in parts]
    lines = _lines(order, history, kept, here, [f"f = slope(body, p, t + h, {_seven(at)})"], [f"d = {_seven(by)}"])
    return _maker(lines, len(history)), len(history) + COUNTS


def in_registers(order: int) -> Make:
    """The same with the seven numbers of a slope in one vector register: the same operations on each, the same bits."""
    lanes = range(len(PARTS))

    def packed(slope: str) -> str:
        return f"from_lanes(({', '.join(f'{slope}.{x}' for x in PARTS)}, 0.0))"

    known = [f"x{j}" for j in range(order)]
    guess = [
        f"g = {_sum(bashforth(order), known)}",
        f"f = slope(body, p, t + h, {_seven([f'fma(h, lane(g, {a}), s.{PARTS[a]})' for a in lanes])})",
    ]
    step = [
        f"x = {packed('f')}",
        f"g = h * {_sum(moulton(order), ['x', *known[:-1]])}",
        f"d = {_seven([f'lane(g, {a})' for a in lanes])}",
    ]
    lines = _lines(order, known[1:], known[:-1], [f"x0 = {packed('k0')}"], guess, step)
    return _maker(lines, order - 1, "from_lanes((z, z, z, z, z, z, z, z))")


def _maker(lines: Sequence[str], slopes: int, nothing: str = "z") -> Make:
    """Of so many parts that are slopes; at the start there are none."""
    begin = ["z = 0.0 * s.q[0]", f"n = {nothing}", f"return ({'n, ' * slopes}{'z, ' * COUNTS})"]

    def make(pull: Pull) -> tuple[Start, Any]:
        names = {
            "State": State, "slope": slope_of(pull), "fma": fma, "lane": lane, "from_lanes": from_lanes,
            "moved": moved, "scaled": scaled, "OK": OK,
        }  # fmt: skip
        start: Start = function("start(body, p, t, s)", begin, {"from_lanes": from_lanes})
        return start, function("change(body, p, t, s, h, memory)", lines, names)

    return make


class Adams(NamedTuple):
    """Predictor and corrector of this order, the sum plain or compensated."""

    order: int
    compensated: bool = False

    @property
    def in_lanes(self) -> tuple[InLanes, ...]:
        """The other form, with the same bits, to be tried first."""
        return self._increments().in_lanes

    def _increments(self) -> Increments:
        make, parts = in_numbers(self.order)
        wide = InLanes(in_registers(self.order), self.order - 1, len(PARTS), COUNTS, lanes=8)
        return Increments(make, parts, 0, None, self.compensated, in_lanes=(wide,))

    @property
    def ignores_scales(self) -> bool:
        """Whether it is bound alike whatever the sizes of a run."""
        return True

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> Stepper:
        """The step with its torque in place."""
        return self._increments().bind(pull, depends, scales)

    def composed(self, fractions: Sequence[float]) -> Composed:
        """Steps of these fractions in a row, as one step."""
        return Composed(self, tuple(fractions))
