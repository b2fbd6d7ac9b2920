"""A motion with an error below a tolerance: in closed form, by one call of compiled code, or by a search."""

from typing import Any

from polhode.accuracy import short_runs
from polhode.accuracy.free_body import closed_form
from polhode.accuracy.search import NOTHING_INHERITED, Goal, InheritedError, searched
from polhode.problem import Problem, start_of
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.solution import Solution


def answer(
    problem: Problem, goal: Goal, progress: Progress | None, on_compile: OnCompile,
    inherited: InheritedError = NOTHING_INHERITED, *, in_steps: bool = False, tried: bool = False,
) -> Solution:  # fmt: skip
    """The motion with an error below the tolerance, by the method of the goal or by the one that suits best.

    The start of the problem may have inherited an error: the estimate tells what becomes of it. A motion `in_steps`,
    along which events can be looked for, is not taken from its closed form. With `tried`, one call of
    compiled code has declined before.
    """
    found = None
    if goal.method is None and inherited is NOTHING_INHERITED:
        if not in_steps:
            found = closed_form(problem, goal.rtol, progress)
        if found is None and progress is None and not tried:
            found = short_runs.attempt(problem, goal.rtol, on_compile)
    return found or searched(problem, goal, progress, on_compile, inherited)


def answer_from(runs: short_runs.ShortRuns, omega: Any, attitude: Any, on_compile: OnCompile) -> Solution:
    """The motion from a start that a user gave, of a problem that lacks only that."""
    asked = runs.problem
    start = start_of(asked.body, omega, attitude, asked.t_start)
    if (found := runs.attempt(start, on_compile)) is not None:
        return found
    return answer(asked.beginning_with(start), Goal(runs.rtol, None), None, on_compile, tried=runs.fits)
