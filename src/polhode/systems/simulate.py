"""simulate_system(...) -> SystemSolution: bodies that act on each other, with a given step or a given error."""

import math
from typing import Any

import numpy as np

from polhode import _check
from polhode.compiled import announced_once
from polhode.integration.binding import OnCompile
from polhode.integration.loop import Progress
from polhode.methods import Method
from polhode.problem import checked_times
from polhode.systems.adaptive import AdaptiveRun
from polhode.systems.events import Watch, listed_events
from polhode.systems.files import UnknownForces
from polhode.systems.forces import checked_forces
from polhode.systems.run import SystemPlan, SystemRun
from polhode.systems.solution import SystemSolution
from polhode.systems.steps import Langevin, system_method
from polhode.systems.system import System
from polhode.systems.tolerance import DEFAULT_ROWS, Question, accurate


@announced_once
def simulate_system(
    system: System,
    forces: Any = None,
    *,
    t_span: tuple[float, float],
    step: float | None = None,
    rtol: float | None = None,
    method: str | Method | None = None,
    heat: Langevin | None = None,
    t_eval: Any = None,
    every: int | None = None,
    events: Any = None,
    progress: Progress | None = None,
    on_compile: OnCompile = None,
) -> SystemSolution:
    """Moves and turns bodies that act on each other, in steps of a given length or with an error of at most `rtol`.

    Parameters
    ----------
    system
        The bodies and their state at the start.
    forces
        What acts on them: forces made by `pairs`, `forces` or `forces_from_pointer`, `UniformGravity`, `CentralBody`,
        `Springs`, a torque, which then acts on every body, or a sum or list of them. Without any, bodies are free.
    t_span
        Start and end, which may lie before the start.
    step
        The length of a step. If it does not divide the span, the last step is shorter.
    rtol
        Instead of `step`: the error of the answer. That is the largest, over the output times and all bodies, of the
        error of attitudes in radians, of rates relative to the largest rate, of positions relative to the largest
        distance of a body from the centre of mass at the start, or from a central body, and of velocities relative to
        the largest. The `error_estimate` of the solution comes from its distance to another run with longer steps.
    method
        A splitting of kicks and free flows, such as "Strang", "MR2", "NO_SQUISH", "KL8(of=Strang)" or "ABA104", or
        "G8" or "NMB". Default: Strang with a step, G8 with a tolerance. With a tolerance the steps of G8 adapt to the
        motion; others make equal steps, whose number is searched for.
    heat
        A `Langevin` heat bath, with a step and Strang, MR2 or NO_SQUISH.
    t_eval, every
        Output at these times, or after every `every` steps (default 1, and always at the end). With `rtol` there are
        101 times at even distances if none are given. Output never changes the run.
    events
        A function `g(t, x, q, v, w)` of all bodies, a `SystemEvent`, `closest_approach(i, j)`, `contact(i, j, r)`, or a
        list of them; `solution.events` has their rows.
    progress, on_compile
        As for `simulate`.

    Raises
    ------
    SimulationFailed
        If a step cannot be made; it names the body. Everything computed so far is in its `solution`.
    SimulationInterrupted
        A `KeyboardInterrupt` with a `solution`.

    Examples
    --------
    >>> one = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=[[0, 0, 0]], omega=[[0.1, 2, 0]])
    >>> run = ph.simulate_system(one, ph.systems.UniformGravity((0, 0, -9.81)), t_span=(0, 1), step=0.01)
    >>> run.position[-1].round(3) + 0.0
    array([[ 0.   ,  0.   , -4.905]])
    """
    if not isinstance(system, System):
        raise TypeError(f"system must be a polhode.System, not {system!r}")
    acting = checked_forces(forces)
    t0, t1 = _span(t_span)
    watched = listed_events(events, len(system), acting)
    chosen = None if method is None or (rtol is not None and method == "auto") else system_method(method)
    if (step is None) == (rtol is None):
        raise ValueError("give either step, the length of a step, or rtol, the error of the answer")
    times = None if t_eval is None else checked_times(t_eval, t0, t1)
    if t_eval is not None and every is not None:
        raise ValueError("give either t_eval or every, not both")
    if heat is not None and not isinstance(heat, Langevin):
        raise TypeError(f"heat must be a polhode.Langevin, not {heat!r}")
    acting.try_on(system, t0)
    if rtol is not None:
        if heat is not None:
            raise ValueError("a heat bath is random, and has no error to be held: give step, not rtol")
        if every is not None:
            raise ValueError("with rtol the steps are chosen: give output times as t_eval, not every")
        allowed = _check.number("rtol", rtol, positive=True)
        plan = SystemPlan(system_method("Strang"), 1.0, t0, t1, times=times)
        return accurate(Question(system, acting, plan, allowed, watched, progress, on_compile), chosen)
    h = math.copysign(_check.number("step", step, positive=True), t1 - t0)
    stride = None if times is not None else _check.count("every", 1 if every is None else every, " of steps")
    plan = SystemPlan(chosen or system_method("Strang"), h, t0, t1, every=stride, times=times, heat=heat)
    run = SystemRun(system, acting, plan, None, progress, on_compile)
    return Watch(run, watched).solution() if watched else run.solution()


@announced_once
def resume_system(
    solution: SystemSolution, t_end: float, *, forces: Any = None, t_eval: Any = None, every: int | None = None,
    events: Any = None, progress: Progress | None = None, on_compile: OnCompile = None,
) -> SystemSolution:  # fmt: skip
    """Goes on from where a solution of a system ended, with the same method and step; returns the whole motion.

    A run that is cut and goes on has the bits of one that was not, if the cut is at a grid point (with G8, up to
    round-off). A solution from a file needs its `forces` again. A solution that was asked for with a tolerance goes on
    with steps as accurate as before; its estimate holds for the first part only, and the whole has none.

    Examples
    --------
    >>> one = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=[[0, 0, 0]], velocity=[[1, 0, 0]])
    >>> half = ph.simulate_system(one, t_span=(0, 1), step=0.1)
    >>> ph.resume_system(half, t_end=2).position[-1].round(6)
    array([[2., 0., 0.]])
    """
    if not isinstance(solution, SystemSolution):
        raise TypeError(f"a SystemSolution can be resumed, not {type(solution).__name__}")
    end = _check.number("t_end", t_end)
    if (end - solution.t_last) * solution.step <= 0:
        raise ValueError(f"t_end must lie beyond the last time {solution.t_last:g}, not at {end:g}")
    acting = solution.forces if forces is None else checked_forces(forces)
    if isinstance(acting, UnknownForces):
        raise ValueError(f"a file does not keep forces: pass those that {acting.name!r} stands for as forces=")
    acting.numbers(solution.system)
    begin, first = solution.grid
    watched = listed_events(events, len(solution.system), acting)
    times = None if t_eval is None else checked_times(t_eval, solution.t_last, end)
    method = system_method(solution.method)
    run: SystemRun
    if solution.step_error is not None:
        if every is not None:
            raise ValueError("the steps of this solution adapt to the motion: give output times as t_eval, not every")
        times = np.linspace(solution.t_last, end, DEFAULT_ROWS) if times is None else times
        plan = SystemPlan(method, 1.0, solution.t_last, end, times=times, step_error=solution.step_error)
        run = AdaptiveRun(solution.system, acting, plan, solution.last, progress, on_compile)
    else:
        stride = None if times is not None else _check.count("every", 1 if every is None else every, " of steps")
        plan = SystemPlan(method, solution.step, begin, end, first, stride, times, solution.heat)
        run = SystemRun(solution.system, acting, plan, solution.last, progress, on_compile)
    new = Watch(run, watched).solution() if watched else run.solution()
    skip = int(bool(new.t.size and solution.t.size and run.is_at(new.t[0], solution.t[-1])))
    joined = {
        name: np.concatenate([getattr(solution, name), getattr(new, name)[skip:]])
        for name in ("t", "position", "quaternion", "velocity", "momentum")
    }
    return new.having(
        **joined, stats=solution.stats + new.stats, t_span=(solution.t_span[0], end),
        events=(*solution.events, *new.events), metadata=solution.metadata, saved_potential=None,
    )  # fmt: skip


def _span(t_span: Any) -> tuple[float, float]:
    if not isinstance(t_span, list | tuple | np.ndarray) or len(t_span) != 2:
        raise ValueError(f"t_span must be two times, not {t_span!r}")
    t0, t1 = (_check.number("t_span", t) for t in t_span)
    if t0 == t1:
        raise ValueError(f"t_span must have a length, but both ends are {t0:g}")
    return t0, t1
