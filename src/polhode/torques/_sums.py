"""Sums of torques: parts that act together, each scaled by a number or switched on for a time if that is wanted.

The kernel of a sum is one function that calls the kernels of its parts, each with its own stretch of p. It depends on
the kernels and on how many numbers they read, not on the numbers: torques that differ in these share a program.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.vec import cross
from polhode.kernels.codegen import function
from polhode.kernels.ops import derivatives, is_between, section, triple
from polhode.kernels.types import Depends, UserTorque, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques._torque import ANY_BODY, CustomTorque, Torque, UserPotential, checked_part
from polhode.torques.no_torque import Free

PARALLEL_TOLERANCE = 1e-12
"""The greatest sine of the angle between two directions of unit length that are taken for the same: their round-off."""


class _TermShape(NamedTuple):
    """All of a term on which the text of a sum depends."""

    kernel: Callable[..., Any]
    numbers: int
    scaled: bool
    windowed: bool
    bends: bool
    state: int = 0
    reads: tuple[int, ...] = ()
    """The places among all carried numbers of those that it reads."""

    def seen(self, first: int) -> tuple[int, ...]:
        """The places of the numbers that it finds in z, with its own from `first` on."""
        return (*range(first, first + self.state), *self.reads)

    def label(self, k: int) -> str:
        """The name under which the kernel of a sum calls this one, the k-th."""
        return f"{'bent' if self.bends else 'smooth'}{k}"


@lru_cache(maxsize=256)
def _torques_together(shapes: tuple[_TermShape, ...]) -> UserTorque:
    """The kernel of a sum: always the same function for the same kernels, so that programs are shared."""
    parts = {shape.label(k): shape.kernel for k, shape in enumerate(shapes)}
    names: dict[str, Any] = {**parts, "triple": triple, "section": section, "is_between": is_between}
    count = sum(shape.state for shape in shapes)
    head, end = "torques_together(t, q, w, p)", "return (nx, ny, nz)"
    if count:
        names["derivatives"] = derivatives
        end += f", ({''.join(f'd{i}, ' for i in range(count))})"
    if count or any(shape.reads for shape in shapes):
        head = "torques_together(t, q, w, p, z)"
    lines = [*_lines(shapes, "triple({f}(t, q, w, {p}))", ("nx", "ny", "nz")), end]
    made: UserTorque = function(head, lines, names)
    made.__smooth__ = tuple(name for name in parts if name.startswith("smooth"))  # type: ignore[attr-defined]
    return made


@lru_cache(maxsize=256)
def _samples_together(shapes: tuple[_TermShape, ...], sampled: tuple[bool, ...]) -> UserTorque:
    """The function that takes the samples that are due, of a sum: a part that is off takes none.

    A part that reads what another one holds is sampled after that one.
    """
    count = sum(shape.state for shape in shapes)
    names: dict[str, Any] = {"section": section, "is_between": is_between}
    blocks: list[tuple[set[int], set[int], list[str]]] = []  # what each part carries and reads, and its lines
    place, first = 0, 0
    for k, (shape, takes) in enumerate(zip(shapes, sampled, strict=True)):
        window = place + shape.scaled
        own, carried = window + 2 * shape.windowed, range(first, first + shape.state)
        lines = list[str]()
        if takes:
            names[f"sample{k}"] = shape.kernel
            z = "".join(f"z{i}, " for i in shape.seen(first))
            taken = [f"y = sample{k}(t, q, w, section(p, {own}, {shape.numbers}), ({z}))"]
            taken += [f"z{i} = y[{i - first}]" for i in carried]
            if shape.windowed:
                lines.append(f"if is_between(t, p[{window}], p[{window + 1}]):")
                taken = [f"    {line}" for line in taken]
            lines += taken
        blocks.append((set(carried), set(shape.reads), lines))
        place, first = own + shape.numbers, first + shape.state
    lines = [f"z{i} = z[{i}]" for i in range(count)]
    while blocks:  # parts that read each other are left in their order
        ready = (b for b in blocks if not any(b[1] & other[0] for other in blocks if other is not b))
        block = next(ready, blocks[0])
        blocks.remove(block)
        lines += block[2]
    end = f"return ({''.join(f'z{i}, ' for i in range(count))})"
    made: UserTorque = function("samples_together(t, q, w, p, z)", [*lines, end], names)
    return made


@lru_cache(maxsize=256)
def _potentials_together(shapes: tuple[_TermShape, ...]) -> UserPotential:
    """The potential of a sum."""
    parts = {shape.label(k): shape.kernel for k, shape in enumerate(shapes)}
    names = {**parts, "section": section, "is_between": is_between}
    lines = [*_lines([shape._replace(state=0, reads=()) for shape in shapes], "{f}(t, q, {p})", ("v",)), "return v"]
    made: UserPotential = function("potentials_together(t, q, p)", lines, names)
    return made


def _lines(shapes: Sequence[_TermShape], call: str, totals: tuple[str, ...]) -> list[str]:
    """Writes the body of a kernel that adds up the parts in `totals`; derivatives of carried numbers are d0, d1, ..."""
    lines, place, first = [], 0, 0
    for k, shape in enumerate(shapes):
        window = place + shape.scaled  # p has the scale, the ends of the window, and the parameters of the part
        own = window + 2 * shape.windowed
        scale = f"p[{place}] * " if shape.scaled else ""
        items = [f"n{k}"] if len(totals) == 1 else [f"n{k}[{i}]" for i in range(3)]
        carried = range(first, first + shape.state)
        sums = [
            f"n{k} = {call.format(f=shape.label(k), p=f'section(p, {own}, {shape.numbers})')}",
            *(f"{a} {'+=' if k else '='} {scale}{item}" for a, item in zip(totals, items, strict=True)),
        ]
        if seen := shape.seen(first):
            z = "".join(f"z[{i}], " for i in seen)
            sums[0] = f"both{k} = {shape.label(k)}(t, q, w, section(p, {own}, {shape.numbers}), ({z}))"
            sums.insert(1, f"n{k} = triple({f'both{k}[0]' if shape.state else f'both{k}'})")
        if shape.state:
            sums.append(f"{''.join(f'd{i}, ' for i in carried)} = derivatives(both{k}[1], {shape.state})")
        if shape.windowed:
            lines += [] if k else [f"{a} = 0.0" for a in totals]
            lines += [f"d{i} = 0.0" for i in carried]
            lines.append(f"if is_between(t, p[{window}], p[{window + 1}]):")
            sums = [f"    {line}" for line in sums]
        lines += sums
        place, first = own + shape.numbers, first + shape.state
    return lines


@dataclass(frozen=True)
class Term:
    """A torque in a sum, with what was done to it."""

    torque: Torque
    """The torque, which is no sum itself."""
    scale: float | None = None
    """The number by which it is multiplied; None: it is not."""
    window: tuple[float, float] | None = None
    """The times between which it acts; None: it always does."""

    @property
    def settings(self) -> tuple[float, ...]:
        """The numbers that stand in p before those of the torque: the scale and the window."""
        # Parameters are finite: an endless window ends with the largest number.
        ends = [max(-sys.float_info.max, min(sys.float_info.max, x)) for x in self.window or ()]
        return (*(() if self.scale is None else (self.scale,)), *ends)

    @cached_property
    def count(self) -> int:
        """The number of parameters of the torque."""
        return len(self.torque.parameters(ANY_BODY))

    @property
    def breakpoints(self) -> Iterator[float]:
        """The times at which it jumps."""
        start, end = self.window or (-math.inf, math.inf)
        yield from (t for t in (start, end) if math.isfinite(t))
        yield from (t for t in self.torque.breakpoints if start < t < end)

    def for_span(self, t0: float, t1: float) -> "Term":
        """The term for a run between two times; it may end before it."""
        start, end = self.window or (-math.inf, math.inf)
        low, high = max(min(t0, t1), start), min(max(t0, t1), end)
        if low > high:  # it never acts: any time that it is asked for will do
            low = high = min(max(t0, start), end)
        torque = self.torque.for_span(low, high)
        return self if torque is self.torque else replace(self, torque=torque)

    @property
    def is_plain(self) -> bool:
        """Whether nothing was done to the torque."""
        return self.scale is None and self.window is None

    def shape(self, kernel: Callable[..., Any], reads: tuple[int, ...] = (), bends: bool = False) -> "_TermShape":
        """What the kernel of a sum has to know of this term, with one of its kernels and the places that it reads."""
        does = (self.scale is not None, self.window is not None, bends)
        return _TermShape(kernel, self.count, *does, len(self.torque.state_names), reads)

    def text(self, torque: str) -> str:
        """Writes the term as in Python, with this text for its torque."""
        scale = {None: "", -1.0: "-"}.get(self.scale, f"{self.scale!r} * ")
        return f"{scale}{torque}" + ("" if self.window is None else ".during({!r}, {!r})".format(*self.window))


def _any_part(trait: str) -> Any:
    """A trait that a sum has if one of its parts has it."""
    return property(lambda torque: any(getattr(term.torque, trait) for term in torque.terms))


@dataclass(frozen=True, repr=False)
class SumTorque(Torque):
    """The sum of torques. The operators of torques make it: `a + b`, `0.5 * a`, `a.during(0, 10)`."""

    terms: tuple[Term, ...]

    reads_attitude, reads_body = _any_part("reads_attitude"), _any_part("reads_body")
    calls_python, calls_out = _any_part("calls_python"), _any_part("calls_out")
    upright = _any_part("upright")

    @property
    def name(self) -> str:
        """The names of the parts, with plus signs in between."""
        return " + ".join(self.parts)

    @cached_property
    def parts(self) -> dict[str, Torque]:
        """The parts by their names, each a torque for itself. The second part of one name is called `name_2`."""
        found: dict[str, Torque] = {}
        for term in self.terms:
            name, k = term.torque.name, 1
            while (label := name if k == 1 else f"{name}_{k}") in found:
                k += 1
            found[label] = term.torque if term.is_plain else SumTorque((term,)) if len(self.terms) > 1 else self
        return found

    @cached_property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the numbers that the parts carry; where two parts have the same, the name of the part leads."""
        names = [name for term in self.terms for name in term.torque.state_names]
        if len(set(names)) == len(names):
            return tuple(names)
        return tuple(
            f"{part}_{name}"
            for part, term in zip(self.parts, self.terms, strict=True)
            for name in term.torque.state_names
        )

    @cached_property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names that parts read and none of them carries."""
        return tuple(dict.fromkeys(x for t in self.terms for x in t.torque.reads if x not in self._carried))

    @cached_property
    def _carried(self) -> dict[str, int]:
        """The places of carried numbers by their names here, and by those in their parts that are not there twice."""
        own = [name for term in self.terms for name in term.torque.state_names]
        once = {name: i for i, name in enumerate(own) if own.count(name) == 1}
        return once | {name: i for i, name in enumerate(self.state_names)}

    def _read(self, term: Term) -> tuple[int, ...]:
        """The places of what a term reads; behind all carried numbers stands what no part carries."""
        first = len(self.state_names)
        return tuple(self._carried[x] if x in self._carried else first + self.reads.index(x) for x in term.torque.reads)

    def _shapes(self, kernels: Iterable[Callable[..., Any]]) -> tuple[_TermShape, ...]:
        """The shapes of all terms, with a kernel for each."""
        return tuple(
            term.shape(kernel, self._read(term), self._bends(term))
            for term, kernel in zip(self.terms, kernels, strict=True)
        )

    def _bends(self, term: Term) -> bool:
        """Whether a term may bend within a step: not where it is commanded by numbers that change at samples only."""
        if not term.torque.commanded:
            return term.torque.may_bend
        held = {i for _, t, _, own in self._places() if t.torque.held for i in range(own.start, own.stop)}
        return term.torque.may_bend and not held.issuperset(self._read(term))

    @cached_property
    def may_bend(self) -> bool:
        """Whether a part may bend within a step."""
        return any(map(self._bends, self.terms))

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """The sizes below which carried numbers count as zero."""
        return tuple(size for term in self.terms for size in term.torque.state_sizes)

    def state_at_start(self, omega: Floats) -> Floats | None:
        """The carried numbers of all parts at the start, if no part needs the user for its own."""
        rows: list[Floats] = []
        for term in self.terms:
            if (own := term.torque.state_at_start(omega)) is None:
                return None
            rows.append(own)
        return np.concatenate(rows, axis=-1)

    def carrier(self, body: Body) -> Body:
        """The body without the spin inertias of all parts."""
        for term in self.terms:
            body = term.torque.carrier(body)
        return body

    def check_body(self, body: Body) -> None:
        """Raises ValueError if a part cannot act on this body."""
        for term in self.terms:
            term.torque.check_body(body)

    def carried_momentum(self, state: Floats) -> Floats:
        """The momentum that belongs to the carried numbers of all parts."""
        return np.asarray(sum(term.torque.carried_momentum(state[..., own]) for _, term, _, own in self._places()))

    def carried_energy(self, state: Floats) -> Floats:
        """The energy that belongs to the carried numbers of all parts."""
        return np.asarray(sum(term.torque.carried_energy(state[..., own]) for _, term, _, own in self._places()))

    def _places(self) -> Iterator[tuple[str, Term, slice, slice]]:
        """Yields names and terms, each with the places of its own parameters in p and of its carried numbers in z."""
        own, mine = slice(0, 0), slice(0, 0)
        for name, term in zip(self.parts, self.terms, strict=True):
            first = own.stop + len(term.settings)
            own, mine = slice(first, first + term.count), slice(mine.stop, mine.stop + len(term.torque.state_names))
            yield name, term, own, mine

    def _placed(self, part: str) -> tuple[Term, slice, slice]:
        for name, *found in self._places():
            if name == part:
                return found  # type: ignore[return-value]
        raise ValueError(f"there is no part {part!r}: the parts are {', '.join(self.parts)}")

    def acting(self, t: float, p: Any, z: Any = ()) -> list[tuple[str, Torque, Any, Any]]:
        """The torques that act at the time t: their names in `parts`, and their shares of p and z."""
        return [
            (name, term.torque, p[own], tuple(z[i] for i in self._seen(term, mine)))
            for name, term, own, mine in self._places()
            if term.window is None or is_between(t, *term.window)
        ]

    def _seen(self, term: Term, own: slice) -> list[int]:
        return [*range(own.start, own.stop), *self._read(term)]

    def seen_by(self, part: str) -> list[int]:
        """Where the numbers that a part carries stand among all of them, and then those that it reads."""
        term, _, own = self._placed(part)
        return self._seen(term, own)

    @property
    def known_state(self) -> tuple[float | None, ...]:
        """The carried numbers at the start, of the parts that know theirs whatever the rate."""
        return tuple(x for term in self.terms for x in term.torque.known_state)

    @property
    def held(self) -> bool:
        """Whether the carried numbers of all parts change at samples only."""
        return bool(self.state_names) and all(t.torque.held for t in self.terms if t.torque.state_names)

    @property
    def samples_compiled(self) -> bool:
        """Whether compiled code takes the samples of every part that is sampled."""
        return all(term.torque.samples_compiled for term in self.terms)

    @cached_property
    def sample_kernel(self) -> UserTorque | None:
        """The samples of the parts that have some; the numbers of others stay as they are."""
        if all(term.torque.sample_kernel is None for term in self.terms):
            return None
        shapes = self._shapes(t.torque.sample_kernel or t.torque.torque_kernel for t in self.terms)
        return _samples_together(shapes, tuple(t.torque.sample_kernel is not None for t in self.terms))

    def state_of(self, part: str) -> slice:
        """Where the numbers that a part carries stand among all of them."""
        return self._placed(part)[2]

    @cached_property
    def depends(self) -> Depends:  # type: ignore[override]
        """All that the parts depend on."""
        found = Depends.NOTHING
        for term in self.terms:
            found |= term.torque.depends | (Depends.NOTHING if term.window is None else Depends.TIME)
        return found

    @property
    def has_value_at_all_times(self) -> bool:  # type: ignore[override]
        """Whether every part has a value at all times, and none is switched on for a time only."""
        return all(
            term.window is None and (term.torque.has_value_at_all_times or not term.torque.depends & Depends.TIME)
            for term in self.terms
        )

    def for_any_direction(self) -> "SumTorque":
        """This sum by kernels for any direction, with equal bits."""
        terms = (Term(t.torque.for_any_direction(), t.scale, t.window) if t.torque.upright else t for t in self.terms)
        return SumTorque(tuple(terms))

    def for_span(self, t0: float, t1: float) -> "SumTorque":
        """This sum for a run between two times; a part needs only the times at which it acts."""
        terms = tuple(term.for_span(t0, t1) for term in self.terms)
        return self if all(new is old for new, old in zip(terms, self.terms, strict=True)) else SumTorque(terms)

    @cached_property
    def torque_kernel(self) -> UserTorque:
        """The sum of the parts, from the first to the last."""
        return _torques_together(self._shapes(t.torque.torque_kernel for t in self.terms))

    @cached_property
    def potential_kernel(self) -> UserPotential | None:
        """The sum of the potentials; None if a part has none. A part has none while it is switched off."""
        shapes = []
        for term in self.terms:
            if (potential := term.torque.potential_kernel) is None:
                return None
            shapes.append(term.shape(potential, bends=self._bends(term)))
        return _potentials_together(tuple(shapes))

    def parameters(self, body: Body) -> Sequence[float]:
        """For each part its scale, its window and its own parameters."""
        found: list[float] = []
        for term in self.terms:
            own = term.torque.parameters(body)
            self._check_count(term, len(own))
            found += (*term.settings, *own)
        return found

    def kept_parameters(self, body: Body) -> Sequence[float]:
        """Parameters of each part that mean something beyond this process."""
        return [x for term in self.terms for x in (*term.settings, *term.torque.kept_parameters(body))]

    def place_of(self, part: str) -> slice:
        """Where the user's parameters of a part stand in p, without what is before and behind them."""
        term, own, _ = self._placed(part)
        if not isinstance(term.torque, CustomTorque):
            return slice(own.start, own.start)
        first = own.start + term.torque.head_size
        return slice(first, first + len(term.torque.values))

    def with_parameters(self, part: str, values: Any) -> "SumTorque":
        """Copy with other parameters of a part that is a function of the user's."""
        self.place_of(part)
        terms = list(self.terms)
        k = list(self.parts).index(part)
        if not isinstance(own := terms[k].torque, CustomTorque):
            raise ValueError(f"{part} is a model, whose parameters come from its fields: make a sum with another one")
        terms[k] = replace(terms[k], torque=own.with_parameters(values))
        return SumTorque(tuple(terms))

    def parameter_rows(self, tensors: Floats, rotors: Floats | None = None) -> Floats:
        """The parameters of many bodies, one row each."""
        blocks: list[Floats] = []
        for term in self.terms:
            rows = term.torque.parameter_rows(tensors, rotors)
            self._check_count(term, rows.shape[1])
            blocks += [np.array([term.settings]), rows]
        count = max(len(rows) for rows in blocks)
        return np.concatenate([np.broadcast_to(rows, (count, rows.shape[1])) for rows in blocks], axis=1)

    def _check_count(self, term: Term, count: int) -> None:
        if count != term.count:
            raise ValueError(
                f"{term.torque.name} has {count} parameters for this body, but {term.count} for another: in a sum "
                "their number must be the same for all bodies"
            )

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which any part jumps, or is switched."""
        return tuple(sorted({t for term in self.terms for t in term.breakpoints}))

    @cached_property
    def knots(self) -> tuple[float, ...]:
        """The knots of all parts, while they act."""
        found = set[float]()
        for term in self.terms:
            start, end = term.window or (-math.inf, math.inf)
            found.update(t for t in term.torque.knots if start < t < end)
        return tuple(sorted(found))

    @property
    def roughness(self) -> float:
        """The largest roughness of the parts."""
        return max(term.torque.roughness for term in self.terms)

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless all parts are known at the times of a run at which they act."""
        for name, term in zip(self.parts, self.terms, strict=True):
            start, end = term.window or (-math.inf, math.inf)
            low, high = max(min(t0, t1), start), min(max(t0, t1), end)
            if low < high:
                try:
                    term.torque.check_span(low, high)
                except ValueError as problem:
                    raise ValueError(f"the part {name}: {problem}") from None

    @property
    def bends_known(self) -> bool:
        """Whether each place can be located at which a part bends."""
        return all(term.torque.bends_known or not self._bends(term) for term in self.terms) and super().bends_known

    @property
    def axis(self) -> Vec3 | None:
        """The direction in space about which all parts are symmetric, if there is one."""
        axes = [term.torque.axis for term in self.terms]
        first = axes[0]
        return first if all(_are_parallel(first, axis) for axis in axes) else None

    @property
    def turning(self) -> Vec3 | None:
        """The rate at which the potentials of all parts turn, those that are symmetric about it included."""
        rate = next((term.torque.turning for term in self.terms if term.torque.turning is not None), None)
        if rate is None or any(term.window is not None for term in self.terms):
            return None
        return rate if all(_turns_with(term.torque, rate) for term in self.terms) else None

    def __repr__(self) -> str:
        return joined(term.text(repr(term.torque)) for term in self.terms)

    def __reduce__(self) -> Any:
        """Pickles the parts. The kernel, which may have been made already, is made again from them."""
        return SumTorque, (self.terms,)


def joined(terms: Iterable[str]) -> str:
    """Writes a sum of these terms as in Python."""
    return "".join(f" - {t[1:]}" if t.startswith("-") and k else f"{' + ' * (k > 0)}{t}" for k, t in enumerate(terms))


def _are_parallel(a: Vec3 | None, b: Vec3 | None) -> bool:
    return a is not None and b is not None and math.hypot(*cross(a, b)) <= PARALLEL_TOLERANCE


def _turns_with(torque: Torque, rate: Vec3) -> bool:
    """Whether the potential of a torque turns at this rate, or stays where it is and looks the same when turned so."""
    if torque.turning is not None:
        return torque.turning == rate
    return torque.conserves_energy and _are_parallel(torque.axis, checks.direction("turning", rate))


def terms_of(torque: Torque) -> tuple[Term, ...]:
    """The terms of a torque: those of a sum, one of another torque, none of a free body."""
    if isinstance(torque, SumTorque):
        return torque.terms
    return () if isinstance(torque, Free) else (Term(torque),)


def sum_of(terms: Sequence[Term]) -> Torque:
    """The torque that has these terms."""
    if not terms:
        return Free()
    return terms[0].torque if len(terms) == 1 and terms[0].is_plain else SumTorque(tuple(terms))


def added(a: Any, b: Any) -> Torque:
    """The sum of two torques."""
    return sum_of((*terms_of(checked_part(a)), *terms_of(checked_part(b))))


def scaled(torque: Torque, factor: Any) -> Torque:
    """A torque times a number; of a sum, every part is multiplied."""
    if isinstance(factor, Torque):
        raise TypeError("a torque is multiplied by a number, not by another torque")
    scale = checks.number("the factor of a torque", factor)
    terms = terms_of(torque)
    return sum_of([Term(t.torque, scale if t.scale is None else scale * t.scale, t.window) for t in terms])


def limited(torque: Torque, start: Any, end: Any) -> Torque:
    """A torque that acts between two times; of a sum, every part does, if it is not switched off then."""
    first, last = _time("start", start), _time("end", end)
    if not first < last:
        raise ValueError(f"a torque acts during(start, end) with start < end, but {first:g} is not before {last:g}")
    terms = []
    for t in terms_of(torque):
        begin, finish = t.window or (-math.inf, math.inf)
        window = (max(begin, first), min(finish, last))
        if not window[0] < window[1]:
            raise ValueError(
                f"{t.torque.name} acts from {begin:g} to {finish:g} s, and never during({first:g}, {last:g}): "
                "leave it out"
            )
        terms.append(Term(t.torque, t.scale, window))
    return sum_of(terms)


def _time(name: str, value: Any) -> float:
    """A time, which may be infinite."""
    if isinstance(value, float) and math.isinf(value):
        return float(value)
    return checks.number(name, value)
