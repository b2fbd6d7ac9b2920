"""A motion with an error below a tolerance: in closed form, by one call of compiled code, or by a search."""

from polhode.accuracy import short_runs
from polhode.accuracy.free_body import closed_form
from polhode.accuracy.search import NOTHING_INHERITED, Goal, InheritedError, searched
from polhode.problem import Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.solution import Solution


def answer(
    problem: Problem, goal: Goal, progress: Progress | None, on_compile: OnCompile,
    inherited: InheritedError = NOTHING_INHERITED, *, in_steps: bool = False,
) -> Solution:  # fmt: skip
    """The motion with an error below the tolerance, by the method of the goal or by the one that suits best.

    The start of the problem may have inherited an error: the estimate tells what becomes of it. A motion `in_steps`,
    along which events can be looked for, is not taken from its closed form.
    """
    found = None
    if goal.method is None and inherited is NOTHING_INHERITED:
        if not in_steps:
            found = closed_form(problem, goal.rtol, progress)
        if found is None and progress is None:
            found = short_runs.attempt(problem, goal.rtol, on_compile)
    return found or searched(problem, goal, progress, on_compile, inherited)
