"""compare(...) -> Comparison: errors and costs of several methods on one motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.api.simulate import checked_arguments, checked_goal
from polhode.body import Body
from polhode.compiler import CompilationFailed, announced_once
from polhode.files.records import describe_torque
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.kernels.types import Depends
from polhode.methods import Method, split_list
from polhode.methods import find as find_method
from polhode.problem import Plan, Problem
from polhode.run.integration import Progress, SimulationFailed, reason_of, solve
from polhode.solution import Solution
from polhode.support import checks
from polhode.support.arrays import Floats, angles, lengths
from polhode.torques import Torque
from polhode.torques.no_torque import Free

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Tolerances with which a method that has one is run, instead of steps."""
OUTPUTS = 200
"""Errors are taken at about this many times, if none are listed: enough to find the largest."""
NO_OUTPUT = 2**62
"""Steps between outputs of timed runs: they have no output but the end."""
LONG_SECONDS = 1.0
"""A run that takes longer than this is timed once."""
FORMAT, FORMAT_VERSION = "polhode comparison", 1

_ARRAYS = {
    "method": ("name of the method", ""),
    "step": ("length of a step; for methods with a tolerance the longest one", "s"),
    "rtol": ("relative tolerance, for methods that have one", "1"),
    "steps": ("steps made", "1"),
    "evaluations": ("evaluations of the torque", "1"),
    "seconds": ("wall time of a run without output", "s"),
    "failure": ("why a run could not be finished", ""),
    "time": ("time", "s"),
    "attitude_error": ("angle between the attitude and that of the reference", "rad"),
    "rate_error": ("error of the angular velocity, relative to its largest value", "1"),
    "energy_error": ("change of the energy, relative to that at the start", "1"),
}
"""Descriptions and units of the arrays in files."""


@dataclass(frozen=True, eq=False)
class Entry:
    """Holds the errors and the cost of one method with one step or tolerance."""

    method: str
    step: float
    """The step in s, positive; for a method with a tolerance the whole span, which does not limit its steps."""
    rtol: float | None = None
    """The tolerance, for methods that have one."""
    steps: int = 0
    evaluations: int = 0
    seconds: float = math.nan
    """The least wall time of a run without output."""
    attitude_error: Floats = field(default_factory=lambda: np.zeros(0))
    """Errors at the output times, in rad."""
    rate_error: Floats = field(default_factory=lambda: np.zeros(0))
    """Errors at the output times, relative to the largest rate."""
    energy_error: Floats | None = None
    """Relative errors at the output times; None where the energy is not conserved."""
    failure: str = ""
    """Why the run could not be finished."""

    @property
    def setting(self) -> str:
        """The step or the tolerance, in words."""
        return f"{self.step:g} s" if self.rtol is None else f"rtol {self.rtol:.0e}"

    @property
    def worst(self) -> tuple[float, float, float]:
        """The largest errors of attitude, rate and energy; NaN where there are none."""
        return tuple(  # type: ignore[return-value]
            float(e.max()) if e is not None and e.size and not self.failure else math.nan
            for e in (self.attitude_error, self.rate_error, self.energy_error)
        )


class Reference(NamedTuple):
    """The motion that errors are measured against, with its uncertainty."""

    text: str
    quaternion: Floats
    omega: Floats
    attitude_uncertainty: float
    """Uncertainty of the attitude in rad."""
    rate_uncertainty: float
    """Uncertainty of the rate, relative to the largest rate."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Holds the errors and costs of methods on one motion, with an entry for each method and step.

    Examples
    --------
    >>> found = ph.compare(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0.3], t_span=(0, 2), methods="RK4", steps=[0.1, 0.05])
    >>> coarse, fine = found.entries
    >>> round(found.orders(fine)[0], 1)
    4.0
    """

    body: Body
    torque: Torque
    t_span: tuple[float, float]
    t: Floats
    """The times at which errors are taken."""
    reference: Reference
    entries: tuple[Entry, ...]
    interrupted: bool = False
    title: str = ""

    @property
    def methods(self) -> dict[str, list[Entry]]:
        """The entries of each method, from the coarsest to the finest."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.method, []).append(entry)
        return found

    def is_doubtful(self, entry: Entry) -> bool:
        """Tells whether the attitude error is no larger than the uncertainty of the reference."""
        return entry.worst[0] <= self.reference.attitude_uncertainty

    def is_rate_doubtful(self, entry: Entry) -> bool:
        """Tells whether the error of the rate is no larger than the uncertainty of the reference."""
        return entry.worst[1] <= self.reference.rate_uncertainty

    def orders(self, entry: Entry) -> tuple[float, float]:
        """The observed orders of attitude and rate, from this entry and the one before; NaN where undefined."""
        listed = self.methods[entry.method]
        at = listed.index(entry)
        before = listed[at - 1] if at else None
        if before is None or entry.rtol is not None:
            return (math.nan, math.nan)
        ratio = math.log(before.step / entry.step)

        def order(k: int, is_doubtful: Callable[[Entry], bool]) -> float:
            a, b = before.worst[k], entry.worst[k]
            defined = a > 0 and b > 0 and not is_doubtful(before) and not is_doubtful(entry)
            return math.log(a / b) / ratio if defined else math.nan

        return order(0, self.is_doubtful), order(1, self.is_rate_doubtful)

    def table(self) -> str:
        """The whole comparison as lines of text."""
        head = (
            "method", "step", "evaluations", "time", "attitude, rad", "order", "rate, rel.", "order", "energy, rel."
        )  # fmt: skip
        rows = [self._row(entry) for entry in self.entries]
        widths = [max(len(row[k]) for row in (head, *rows) if len(row) > 3 or k < 2) for k in range(len(head))]
        lines = [_line(head, widths)]
        for row, entry in zip(rows, self.entries, strict=True):
            if len(lines) > 1 and entry is self.methods[entry.method][0]:
                lines.append("")
            lines.append(_line(row, widths))
        return "\n".join([*lines, "", *self.notes()])

    def notes(self) -> list[str]:
        """How the numbers were found, and their limits, as sentences."""
        r = self.reference
        lines = [
            f"Errors: the largest of {self.t.size} times, against {r.text}.",
            f"Uncertainty of the reference: attitude {r.attitude_uncertainty:.1e} rad, rate {r.rate_uncertainty:.1e}.",
        ]
        if any(self.is_doubtful(e) or self.is_rate_doubtful(e) for e in self.entries):
            lines.append("* no larger than the uncertainty of the reference: the true error may be anything below it.")
        if any(entry.rtol is not None for entry in self.entries):
            lines.append("rtol: these methods choose their steps by a tolerance, which is varied instead of the step.")
        if self.interrupted:
            lines.append("The comparison was interrupted: runs are missing, or were timed less often.")
        return lines

    def _row(self, entry: Entry) -> tuple[str, ...]:
        if entry.failure:
            return (entry.method, entry.setting, f"failed: {entry.failure}")
        attitude, rate, energy = ("-" if math.isnan(e) else f"{e:.1e}" for e in entry.worst)
        order_attitude, order_rate = (f"{p:.2f}" if p > 0 else "-" for p in self.orders(entry))
        attitude += "*" if self.is_doubtful(entry) else ""
        rate += "*" if self.is_rate_doubtful(entry) else ""
        cost = (str(entry.evaluations), _clock(entry.seconds))
        return (entry.method, entry.setting, *cost, attitude, order_attitude, rate, order_rate, energy)

    def __repr__(self) -> str:
        return self.table()

    def plot(self, *paths: str | os.PathLike[str]) -> Figure:
        """Draws error against cost and energy error over time, and saves the figure at each of the paths."""
        from polhode.plots.plot import finished
        from polhode.plots.plot_compare import draw

        return finished(draw(self), *paths)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes all numbers to a NetCDF file, which `xarray.open_dataset` opens."""
        from importlib.metadata import version

        from polhode.files import netcdf

        def over_time(name: str) -> Floats:
            table = np.full((len(self.entries), self.t.size), np.nan)
            for row, entry in zip(table, self.entries, strict=True):
                errors = getattr(entry, name)
                if errors is not None:
                    row[: errors.size] = errors
            return table

        runs = ("run",)
        arrays: dict[str, tuple[tuple[str, ...], Any]] = {"time": (("time",), self.t)}
        for name in ("method", "failure"):
            arrays[name] = (runs, np.array([getattr(e, name) for e in self.entries], dtype=np.str_))
        for name in ("step", "rtol", "steps", "evaluations", "seconds"):  # without a tolerance, rtol is NaN
            arrays[name] = (runs, np.array([getattr(e, name) for e in self.entries], dtype=np.float64))
        for name in ("attitude_error", "rate_error", "energy_error"):
            arrays[name] = (("run", "time"), over_time(name))
        variables = {}
        for name, entry in arrays.items():
            words, unit = _ARRAYS[name]
            variables[name] = netcdf.Variable(*entry, {"long_name": words} | ({"units": unit} if unit else {}))
        r = self.reference
        attributes: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "title": self.title,
            "body": repr(self.body),
            "torque": describe_torque(self.torque),
            "t_span": np.array(self.t_span),
            "reference": r.text,
            "reference_attitude_uncertainty": r.attitude_uncertainty,
            "reference_rate_uncertainty": r.rate_uncertainty,
            "interrupted": int(self.interrupted),
            "polhode": version("polhode"),
        }
        netcdf.write(path, variables, attributes, overwrite=overwrite)


class ComparisonInterrupted(KeyboardInterrupt):
    """The user stopped a comparison. `comparison` holds the runs that were finished.

    Examples
    --------
    >>> def impatient(done, steps):
    ...     raise KeyboardInterrupt  # as Ctrl-C does
    ...
    >>> what = {"omega": [0.1, 2, 0], "t_span": (0, 5), "methods": "MR2,RK4", "steps": [0.1, 0.05]}
    >>> try:
    ...     found = ph.compare(ph.Body([1, 2, 2.8]), **what, progress=impatient)
    ... except ph.ComparisonInterrupted as stopped:
    ...     found = stopped.comparison
    ...
    >>> found.interrupted
    True
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__("interrupted")
        self.comparison = comparison


OnCompile = Callable[[str], None]


@announced_once
def compare(
    body: Body,
    torque: Torque | None = None,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    methods: str | Sequence[str | Method],
    steps: Sequence[float] | Mapping[str, Sequence[float]],
    t_eval: Any = None,
    repeats: int = 5,
    progress: Progress | None = None,
    on_compile: OnCompile | None = None,
) -> Comparison:
    """Runs methods with several steps and measures their errors and their cost.

    A free body is compared with its exact motion. With a torque the reference is DOP853 with the smallest tolerance
    that it can meet; its uncertainty is measured by another Runge-Kutta method with ever smaller steps.

    Parameters
    ----------
    body, torque, omega, attitude, t_span
        The motion, as for `polhode.simulate`.
    methods
        Names or methods; or names in one text, separated by commas. A method with an option `rtol` that is not set is
        run with several tolerances instead of the steps.
    steps
        Lengths of steps in s, in any order; or, by the names of methods, steps for each of them, with those of all
        others under the name "*": `{"KL6": [0.4, 0.2], "*": [0.1, 0.05]}`.
    t_eval
        The times at which errors are taken. Default: about 200 on the grid of the longest step.
    repeats
        How often a run is timed. All runs take turns, and the least time of each counts. Timed runs have no output,
        so that its cost is not included.
    progress, on_compile
        Called with (steps done, steps in all) of all runs after the reference; called with a sentence before
        something that takes long, such as a compilation.

    Raises
    ------
    ValueError
        Before anything is run, if a method does not accept the torque or a step is impossible.
    ComparisonInterrupted
        A `KeyboardInterrupt` with a `comparison` of the runs that were finished.

    Examples
    --------
    >>> body, steps = ph.Body([1, 2, 2.8]), [0.1, 0.05]
    >>> found = ph.compare(body, omega=[0.1, 2, 0.3], t_span=(0, 2), methods="RK4,MR2", steps=steps)
    >>> [(entry.method, entry.step) for entry in found.entries]
    [('RK4', 0.1), ('RK4', 0.05), ('MR2', 0.1), ('MR2', 0.05)]
    """
    repeats = checks.count("repeats", repeats)
    torque = Free() if torque is None else torque
    motion: dict[str, Any] = {"omega": omega, "attitude": attitude, "t_span": t_span}
    chosen = [find_method(m) if isinstance(m, str) else m for m in listed(methods)]
    by_method = _steps_by_method(steps, chosen)
    trials = _trials(body, torque, motion, chosen, by_method)
    t0, t1 = (float(t) for t in t_span)
    longest = max((row[0] for row in by_method.values()), default=abs(t1 - t0) / OUTPUTS)
    times = _times(t0, t1, longest) if t_eval is None else checks.row("t_eval", t_eval)
    contest = _Contest(Problem.given(body, torque, **motion, t_eval=times), on_compile)
    if torque.depends is Depends.NOTHING and (not body.has_rotor or has_closed_form(body)):
        reference = _exact(FreeMotion(body, omega, attitude, t0), times)
    else:
        reference = contest.reference(longest)
    work = _Work(trials, repeats, progress)
    finished: list[Entry] = []
    try:
        for trial in trials:
            finished.append(contest.entry(trial, reference, work))  # noqa: PERF401 (an interruption keeps what there is)
        for _ in range(repeats - 1):
            for k, trial in enumerate(trials):
                finished[k] = contest.timed(trial, finished[k], work)
    except KeyboardInterrupt:
        comparison = Comparison(body, torque, (t0, t1), times, reference, tuple(finished), interrupted=True)
        raise ComparisonInterrupted(comparison) from None
    return Comparison(body, torque, (t0, t1), times, reference, tuple(finished))


def listed(methods: str | Sequence[str | Method]) -> list[str | Method]:
    """The methods one by one; commas inside brackets belong to the options of a method."""
    found: list[str | Method] = [*split_list(methods)] if isinstance(methods, str) else [*methods]
    if not found:
        raise ValueError("name at least one method")
    return found


EVERY_OTHER = "*"
"""Stands for the methods that have no steps of their own."""


def _steps_by_method(
    steps: Sequence[float] | Mapping[str, Sequence[float]], methods: Sequence[Method]
) -> dict[str, list[float]]:  # fmt: skip
    """The steps of each method that takes any, longest first."""
    given = steps if isinstance(steps, Mapping) else {EVERY_OTHER: steps}
    named = {name if name == EVERY_OTHER else find_method(name).name: row for name, row in given.items()}
    names = [m.name for m in methods]
    if unknown := [name for name in named if name != EVERY_OTHER and name not in names]:
        raise ValueError(f"there are steps for {', '.join(unknown)}, which is not among the methods {', '.join(names)}")
    found = {}
    for method in methods:
        if _has_tolerance(method) and method.name not in named and EVERY_OTHER not in named:
            continue
        if method.name not in named and EVERY_OTHER not in named:
            raise ValueError(f"there are no steps for {method.name}: name it, or give steps for all others under '*'")
        row = named.get(method.name, named.get(EVERY_OTHER, []))
        lengths = sorted((checks.number("a step", h, positive=True) for h in row), reverse=True)
        if any(a == b for a, b in pairwise(lengths)):
            raise ValueError(f"a step is listed twice: {', '.join(f'{h:g}' for h in lengths)}")
        if not lengths:
            raise ValueError("give at least one step")
        found[method.name] = lengths
    return found


def _has_tolerance(method: Method) -> bool:
    """Whether a method is run with tolerances instead of steps."""
    return method.variable_steps and any(option.name == "rtol" for option in method.options)


def halvings(step: float, t_span: tuple[float, float]) -> list[float]:
    """Steps around this one, from four times to a quarter of it, of which at least ten fit into the span."""
    span = abs(t_span[1] - t_span[0])
    row = [abs(step) * factor for factor in (4.0, 2.0, 1.0, 0.5, 0.25)]
    return [h for h in row if 10 * h <= span] or row[2:]


# --- the runs ------------------------------------------------------------------------------------------------------


class _PlannedRun(NamedTuple):
    """Describes a run that is to be made."""

    method: Method
    entry: Entry
    signed: float
    """The step with the sign of the span."""
    nominal: int
    """The expected number of steps."""


def _trials(
    body: Body, torque: Torque, motion: dict[str, Any], methods: Sequence[Method], steps: dict[str, list[float]]
) -> list[_PlannedRun]:
    """Every run that is to be made, checked as far as possible without making it."""
    t0, t1 = checks.array("t_span", motion["t_span"], (2,)).tolist()
    span = abs(t1 - t0)
    longest = max((row[0] for row in steps.values()), default=0.0)
    if span and longest > span:
        raise ValueError(f"a step of {longest:g} s is longer than the whole time from {t0:g} to {t1:g} s")
    if refused := [m.name for m in methods if m.refuses(torque.depends)]:
        raise ValueError(
            f"{torque.name} is a torque that cannot be used with {', '.join(refused)}: leave these methods out"
        )
    trials, problems = [], []
    for method in {m.name: m for m in methods}.values():
        settings = [(method, Entry(method.name, h)) for h in steps.get(method.name, [])]
        if _has_tolerance(method):
            chosen = dict(method.settings).get("rtol")
            tolerances = TOLERANCES if chosen is None else (float(chosen),)
            settings = [(method.replace(rtol=r), Entry(method.name, span, rtol=r)) for r in tolerances]
        for variant, entry in settings:
            signed = math.copysign(entry.step, t1 - t0)
            try:
                checked_arguments(body, torque, **motion, step=signed, method=variant)
            except (ValueError, TypeError) as problem:
                problems.append(str(problem).replace(variant.name, method.name, 1))
            trials.append(_PlannedRun(variant, entry, signed, math.ceil(span / entry.step)))
    if problems:
        raise ValueError("\n".join(dict.fromkeys(problems)))
    return trials


def _times(t0: float, t1: float, longest: float) -> Floats:
    """Times on the grid of the longest step, about `OUTPUTS` of them, and the end."""
    count = max(1, math.floor(abs(t1 - t0) / longest * (1 + 1e-9)))
    stride = -(-count // OUTPUTS)
    index = np.arange(stride, count + 1, stride)
    times = t0 + math.copysign(longest, t1 - t0) * index
    near = np.abs(times - t1) < 1e-6 * longest
    return np.append(times[~near], t1)


class _Work:
    """Counts how much of all the runs is done, in expected steps."""

    def __init__(self, trials: Sequence[_PlannedRun], repeats: int, progress: Progress | None) -> None:
        self.total = (1 + repeats) * sum(trial.nominal for trial in trials)
        self.before, self.repeats, self.progress = 0, repeats, progress

    def within(self, trial: _PlannedRun) -> Progress:
        """A function that reports the progress of one run as progress of the whole."""

        def progress(done: int, steps: int) -> None:
            if self.progress:
                self.progress(self.before + round(trial.nominal * min(1.0, done / max(steps, 1))), self.total)

        return progress

    def over(self, trial: _PlannedRun) -> None:
        """Counts a run that has ended."""
        self.before += trial.nominal
        if self.progress:
            self.progress(self.before, self.total)

    def drop(self, trial: _PlannedRun, runs: int) -> None:
        """Takes this number of runs of a trial out of the total: they will not be made."""
        self.total -= runs * trial.nominal


class _Contest(NamedTuple):
    """The runs of all methods on one problem, which has output at listed times."""

    problem: Problem
    on_compile: OnCompile | None

    def run(self, method: Method, step: float, progress: Progress | None = None, *, output: bool = True) -> Solution:
        """Runs a method, with output at the listed times, or with as little as possible."""
        problem = self.problem if output else self.problem.until(self.problem.t_end, every=NO_OUTPUT)
        plan = checked_goal(problem, None, step, method)
        assert isinstance(plan, Plan)

        said = f"compiling {method.name} with {problem.torque.name} for a step of {abs(step):g} s, once ..."
        tell = self.on_compile
        return solve(problem, plan, None, progress, None if tell is None else lambda: tell(said))

    def entry(self, trial: _PlannedRun, reference: Reference, work: _Work) -> Entry:
        """The errors of a run, with a first measurement of its cost."""
        try:
            solution = self.run(trial.method, trial.signed, work.within(trial))
        except (SimulationFailed, CompilationFailed) as failure:
            work.drop(trial, 1 + work.repeats)
            return replace(trial.entry, failure=" ".join(reason_of(failure).split()))
        work.over(trial)
        energy = solution.invariant_errors.get("energy")
        measured = replace(
            trial.entry,
            attitude_error=angles(reference.quaternion, solution.quaternion),
            rate_error=_rate_errors(reference.omega, solution.omega),
            energy_error=energy,
        )
        first = self.timed(trial, measured, work)
        if first.seconds > LONG_SECONDS:
            work.drop(trial, work.repeats - 1)
        return first

    def timed(self, trial: _PlannedRun, entry: Entry, work: _Work) -> Entry:
        """Measures the cost of a run without output: its evaluations, and the least time so far."""
        if entry.failure or entry.seconds > LONG_SECONDS:
            return entry
        done = self.run(trial.method, trial.signed, work.within(trial), output=False).stats
        work.over(trial)
        least = float(np.fmin(entry.seconds, done.seconds))
        return replace(entry, steps=done.steps, evaluations=done.nfev, seconds=least)

    # --- the reference

    def reference(self, longest: float) -> Reference:
        """An accurate motion with its uncertainty."""
        step = math.copysign(min(longest, abs(self.problem.span) / 10), self.problem.span)
        tight, text = self._tightest(step)
        attitude, rate = self._disagreement(tight, step)
        text = f"{text}, checked with RKF5 at ever smaller steps"
        return Reference(text, tight.quaternion, tight.omega, attitude, rate)

    def _tightest(self, step: float) -> tuple[Solution, str]:
        """Runs DOP853 with the smallest tolerance that it can meet."""
        for rtol in (1e-15, 1e-14, 1e-13):
            with suppress(SimulationFailed):
                return self.run(find_method("DOP853", rtol=rtol), step), f"DOP853 with rtol {rtol:.0e}"
        return self.run(find_method("DOP853", rtol=1e-12), step), "DOP853 with rtol 1e-12"

    def _disagreement(self, tight: Solution, step: float) -> tuple[float, float]:
        """The differences of attitude and rate between the reference and a method of fixed steps.

        The steps are halved until the differences no longer fall. RKF5 takes any torque, and with compensated sums
        its round-off stays below that of the reference.
        """
        best = (math.inf, math.inf)
        other = find_method("RKF5", compensated=True)
        while abs(self.problem.span / step) < MOST_STEPS:
            with suppress(SimulationFailed):  # with this step; shorter ones may do
                found = self.run(other, step)
                attitude = float(angles(tight.quaternion, found.quaternion).max())
                rate = float(_rate_errors(tight.omega, found.omega).max())
                if best[0] < SETTLED and attitude > best[0] / 2:
                    return min(best, (attitude, rate))
                best = min(best, (attitude, rate))
            step /= 2
        return best


def _exact(free: FreeMotion, times: Floats) -> Reference:
    """The exact motion of a free body."""
    states = free.at(times)
    bound = 4 * 10.0 ** -float(np.min(free.digits(times)))  # see FreeMotion
    return Reference("the exact solution of the free body", states.quaternion, states.omega, bound, bound)


MOST_STEPS = 4_000_000
SETTLED = 1e-7
"""In rad. A difference between references that no longer falls is taken for round-off only below this."""


def _rate_errors(exact: Floats, found: Floats) -> Floats:
    """Errors relative to the largest rate; absolute ones for a body that never turns."""
    return np.asarray(lengths(found - exact) / (float(lengths(exact).max()) or 1.0))


# --- text ----------------------------------------------------------------------------------------------------------


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    if len(row) == 3:  # a failure, in words
        return f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}"
    cells = [f"{text:{n}}" if k < 2 else f"{text:>{n}}" for k, (text, n) in enumerate(zip(row, widths, strict=True))]
    return "  ".join(cells).rstrip()


def _clock(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
