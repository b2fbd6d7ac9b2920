"""Sampled control: a law measures the body at regular times, and its torque is held in between."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.environment.model import Spanned
from polhode.kernels.codegen import function
from polhode.kernels.loop.sampling import ALMOST, is_due, sample_number
from polhode.kernels.ops import derivatives, lane, section
from polhode.kernels.states import NO_ERROR
from polhode.kernels.types import Depends, UserTorque
from polhode.support import checks
from polhode.torques._called import check_called
from polhode.torques._torque import (
    ANY_BODY,
    CustomTorque,
    Torque,
    carried_numbers,
    inspected,
    names_read,
    numbers_and_tables,
)
from polhode.torques.no_torque import Free

OWN = 2
"""The numbers in front of the law's in p: period and phase."""
NAMES = ("torque_x", "torque_y", "torque_z")
"""The numbers that are held come first; then those of the law, then the number of the last sample."""
LAST = "sample"
NO_SAMPLE = -(2.0**53)
"""The number of the last sample where there was none."""
MOST_SAMPLES = 2**26
"""The samples of a run: their times are listed, which takes 40 bytes for each."""


@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Spanned, Torque):
    """A torque that a law sets every `period` seconds, and that is held in between, in body axes.

    The law is called as `law(t, q, w, p)` at the times phase + k period: time, quaternion (body to space, scalar
    first), angular velocity in body axes and parameters. It returns the torque in N m, three numbers in body axes. With
    `state` it remembers numbers from sample to sample: `law(t, q, w, p, z)` returns the torque and the new numbers.
    The first sample is taken at the start of the run, whether that is such a time or not.

    A law is compiled with the step, unless `compiled=False`: then it may be any Python function. It is called again
    where a run is repeated, as `rtol` does, and must return the same: what it remembers belongs into `state`. A law may
    also be a torque, of anything that torques are made of: it is held from sample to sample.

    With `holds=["dipole_x", ...]` the law returns commands by these names in place of a torque, for other parts of a
    sum to read (`Magnetorquers`, `ReactionWheels`). With `reads` it finds numbers in z that others carry, behind those
    that it remembers; what another law holds is read after that law was sampled.

    Steps end at the samples. The held torque, the numbers of the law and the number of the last sample are carried
    numbers of the solution (`solution.state`). Every method takes such a torque, except those with a corrector.

    Examples
    --------
    >>> def brake(t, q, w, p):
    ...     return -0.5 * w[0], -0.5 * w[1], -0.5 * w[2]
    ...
    >>> law = ph.Sampled(0.1, brake)
    >>> run = ph.simulate(ph.Body([1, 1, 1]), law, omega=[0, 0, 2], t_span=(0, 1), method="RK4", step=0.05)
    >>> bool(abs(run.omega[-1, 2] - 2 * 0.95**10) < 1e-12)
    True
    """

    period: float
    law: Callable[..., Any] | Torque
    state: Mapping[str, float] | Sequence[str] = ()
    """Memory of the law: names with their values at the start, or names of numbers that begin as zero."""
    phase: float = 0.0
    compiled: bool = True
    source: Torque = field(default_factory=Free)
    """The law as a torque: it has the parameters, with their tables and fields."""
    holds: tuple[str, ...] = ()
    """The names of the commands; none: a torque is held."""

    depends = Depends.POSITION | Depends.TIME
    reads_attitude = False

    def __init__(
        self, period: float, law: Callable[..., Any] | Torque, state: Mapping[str, float] | Sequence[str] = (), *,
        parameters: Any = (), phase: float = 0.0, compiled: bool = True, reads: Sequence[str] = (),
        holds: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Checks what the user gave."""
        seconds = checks.number("period", period)
        if not seconds > 0.0:
            raise ValueError(f"period must be positive, in s, not {seconds:g}")
        names, _ = carried_numbers(tuple(state) if isinstance(state, Mapping) else state)
        others, held = names_read(reads), carried_numbers(tuple(holds))[0]
        for name in names:
            if name in (taken := (*(held or NAMES), LAST)):
                raise ValueError(f"{name!r} is taken: the carried numbers {', '.join(taken)} have that name")
        given = state.items() if isinstance(state, Mapping) else [(name, 0.0) for name in names]
        starts = [checks.number(f"{name} in state", x) for name, x in given]
        arguments = ("t", "q", "w", "p", "z") if names or others else ("t", "q", "w", "p")
        if isinstance(law, Torque):
            source, compiled = _checked_source(law, (*names, *others, *held), parameters), True
        else:
            plain: Any = law
            if compiled:
                hint = "" if names or others else "; one that takes z as well needs their names, as in state={'a': 0.0}"
                plain, _ = inspected("law", law, arguments, hint=hint)
            else:
                check_called("law", law, arguments)
            numbers, tables = numbers_and_tables(parameters)
            law, source = plain, CustomTorque(plain, numbers, state_names=names, tables=tables, reads=others)
        self._settle(
            period=seconds, law=law, state=dict(zip(names, starts, strict=True)), compiled=bool(compiled),
            source=source, phase=checks.number("phase", phase), holds=held,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The name of the law."""
        if isinstance(self.law, Torque):
            return self.law.name
        return str(getattr(self.law, "__name__", type(self.law).__name__))

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """What is held, the numbers of the law, and the number of the last sample."""
        return (*self._held, *self.state, LAST)

    @property
    def _held(self) -> tuple[str, ...]:
        return self.holds or NAMES

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        """The numbers of other parts that the law finds in z."""
        return self.source.reads

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """`NO_ERROR` for each number: what is held follows from the motion, whose error is estimated."""
        return (NO_ERROR,) * len(self.state_names)

    @property
    def starting_state(self) -> tuple[float, ...]:
        """No torque or command, the numbers of the law as given, and no sample yet."""
        return (
            *([0.0] * len(self._held)),
            *(self.state.values() if isinstance(self.state, Mapping) else ()),
            NO_SAMPLE,
        )

    @property
    def held(self) -> bool:
        """Whether carried numbers change at samples only."""
        return True

    @property
    def samples_compiled(self) -> bool:
        """Whether the law is compiled."""
        return self.compiled

    @property
    def torque_kernel(self) -> UserTorque:
        """The torque that is held."""
        return _held(len(self.state_names), "0.0, 0.0, 0.0" if self.holds else "z[0], z[1], z[2]")

    @property
    def sample_kernel(self) -> UserTorque:
        """`(t, q, w, p, z)`: returns the carried numbers from t on, which are z if no sample is due."""
        law = self.source.torque_kernel if self.compiled else self._checked
        return _taken(law, len(self.source.parameters(ANY_BODY)), len(self._held), len(self.state), len(self.reads))

    @property
    def calls_python(self) -> bool:  # type: ignore[override]
        """Whether the law is a torque that programs call back."""
        return self.compiled and self.source.calls_python

    @property
    def calls_out(self) -> bool:  # type: ignore[override]
        """Whether the law is a torque that programs call by its address."""
        return self.compiled and self.source.calls_out

    def _checked(self, t: float, *arguments: Any) -> Any:
        """Calls a law of Python, and raises an error that says what is wrong with what it returns."""
        assert callable(self.law)
        returned = self.law(t, *arguments)
        own, what = len(self.state), f"the law {self.name}"
        if own and not (isinstance(returned, tuple | list) and len(returned) == 2):
            raise ValueError(
                f"{what} must return the torque and its {own} new numbers, not {returned!r} at t = {t:.12g}"
            )
        n, new = returned if own else (returned, ())
        held = len(self._held)
        for numbers, count, kind in ((n, held, "commands" if self.holds else "torque"), (new, own, "new numbers")):
            try:
                found = np.asarray(numbers, dtype=np.float64).reshape(-1)
            except (TypeError, ValueError):
                found = np.empty(0)
            if found.size != count or (count and numbers is None):
                raise ValueError(f"{what} must return {count} numbers as {kind}, not {numbers!r} at t = {t:.12g}")
            if not np.isfinite(found).all():
                raise ValueError(f"{what} returned {numbers!r} as {kind} at t = {t:.12g}, which are not all finite")
        torque = tuple(np.asarray(n, dtype=np.float64).reshape(-1).tolist())
        return (torque, tuple(np.asarray(new, dtype=np.float64).reshape(-1).tolist())) if own else torque

    def parameters(self, body: Body) -> Sequence[float]:
        """Returns period, phase, and the parameters of the law."""
        return (self.period, self.phase, *self.source.parameters(body))

    def kept_parameters(self, body: Body) -> Sequence[float]:
        """The parameters that mean something beyond this process."""
        return (self.period, self.phase, *self.source.kept_parameters(body))

    @property
    def reads_body(self) -> bool:
        """Whether the parameters of the law depend on the body."""
        return self.source.reads_body

    def check_span(self, t0: float, t1: float) -> None:
        """Raises ValueError unless the law is known at all times of a run."""
        self.source.check_span(t0, t1)

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """The times of the samples, in the span of the run."""
        if self.span is None:
            return ()
        low, high = self.span
        first, last = math.ceil((low - self.phase) / self.period - ALMOST), sample_number(high, self.period, self.phase)
        if last - first > MOST_SAMPLES or not math.isfinite(high - low):
            raise ValueError(
                f"a period of {self.period:g} s has {(high - low) / self.period:.2g} samples from {low:g} to {high:g} "
                f"s, and {MOST_SAMPLES} are possible: take a longer one, or go on from a shorter run with resume"
            )
        return tuple((self.phase + self.period * np.arange(first, last + 1)).tolist())

    def with_parameters(self, values: Any) -> "Sampled":
        """Copy with other parameters of the law, by the same compiled program."""
        if not isinstance(self.source, CustomTorque):
            raise ValueError(f"the law is the torque {self.name}: make it with other numbers, and sample that one")
        return self._of(self.source.with_parameters(values))

    def _of(self, source: Torque) -> "Sampled":
        """Copy with another source."""
        made = object.__new__(Sampled)
        kept = ("period", "law", "state", "phase", "compiled", "holds")
        made._settle(source=source, **{name: getattr(self, name) for name in kept})
        return made

    def for_span(self, t0: float, t1: float) -> "Sampled":
        """This torque for a run between two times."""
        made = self._of(self.source.for_span(t0, t1))
        made._settle(span=(min(t0, t1), max(t0, t1)))
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sampled) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        kept = tuple(self.state.items()) if isinstance(self.state, Mapping) else ()
        numbers = (self.source.values, self.source.tables) if isinstance(self.source, CustomTorque) else ()
        return (self.period, self.law, kept, numbers, self.phase, self.compiled, self.reads, self.holds)

    def __repr__(self) -> str:
        remembers = f"; remembers {', '.join(self.state)}" if self.state else ""
        remembers += f"; holds {', '.join(self.holds)}" if self.holds else ""
        how = "" if self.compiled else ", called in Python"
        return f"<torque {self.name}, sampled every {self.period:g} s{how}{remembers}>"


def _checked_source(law: Torque, names: tuple[str, ...], parameters: Any) -> Torque:
    """A torque that can be a law, or raises an error that says why it cannot."""
    if names:
        raise TypeError(
            f"the torque {law.name} remembers nothing: state, reads and holds are for a function law(t, q, w, p, z)"
        )
    if law.state_names:
        raise ValueError(
            f"{law.name} carries numbers along ({', '.join(law.state_names)}), which change between samples, too: "
            "write the law as a function law(t, q, w, p, z) that returns the torque and the new numbers, with state="
        )
    if len(parameters) == 0:
        return law
    if not isinstance(law, CustomTorque):
        raise TypeError(f"parameters are for a function of your own: the torque {law.name} has numbers of its own")
    return law.with_parameters(parameters)


@lru_cache(maxsize=128)
def _held(count: int, torque: str) -> UserTorque:
    """The torque that waits: it is what was held last, and nothing changes."""
    made: UserTorque = function("held(t, q, w, p, z)", [f"return ({torque}), ({'0.0, ' * count})"], {})
    return made


@lru_cache(maxsize=128)
def _taken(law: Any, numbers: int, held: int, own: int, reads: int) -> UserTorque:
    """The function that takes a sample, if one is due: it returns what is carried from then on."""
    last, remembers = held + own, own + reads > 0

    def taken(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
        if not is_due(t, p[0], p[1], z[last]):
            return z[: last + 1]
        given = (t, q, w, section(p, OWN, numbers))
        seen = (*z[held:last], *z[last + 1 : last + 1 + reads])
        both = law(*given, seen) if remembers else law(*given)
        n = derivatives(both[0] if own else both, held)
        y = derivatives(both[1], own) if own else ()
        return (*n, *y, float(sample_number(t, lane(p[0], 0), lane(p[1], 0))))

    return taken
