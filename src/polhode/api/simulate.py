"""simulate(...) -> Solution: one body, with a step that the user gives or with an error that is asked for."""

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.accuracy import search, short_runs
from polhode.accuracy.answer import answer, answer_from
from polhode.accuracy.estimate import largest_rate
from polhode.accuracy.policy import checked_tolerance
from polhode.body import Body
from polhode.compiler import announced_once
from polhode.events import single
from polhode.events.derivatives import of_events
from polhode.files.records import is_same_torque
from polhode.free.free_motion import has_closed_form
from polhode.kernels.states import STATE
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import NO_STATE, Plan, Problem, Stats, checked_state, checked_times
from polhode.run.binding import OnCompile
from polhode.run.integration import Begin, Progress, SimulationFailed, SimulationInterrupted, solve
from polhode.run.rows import check_room
from polhode.run.step_warnings import announce, levels_of_polhode, warn_of_long_steps
from polhode.run.tangents import check_names, names_of, solve_with_derivatives, with_derivatives
from polhode.solution import Solution
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping
from polhode.torques import Torque, checked


@announced_once
def simulate(
    body: Body,
    torque: Torque | None = None,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    rtol: float | None = None,
    step: float | None = None,
    method: str | Method | None = None,
    t_eval: Any = None,
    every: int | None = None,
    events: Any = None,
    state: Any = None,
    derivatives: str | Sequence[str] = (),
    progress: Progress | None = None,
    on_compile: OnCompile = None,
) -> Solution:
    """Turns a body from `t_span[0]` to `t_span[1]`, with an error of at most `rtol` or in steps of a given length.

    Parameters
    ----------
    body
        The rigid body: its moments of inertia, and a rotor or a change with time if it has one.
    torque
        A model, a function decorated by `torque`, or a sum of them. Without a torque the body is free.
    omega
        Angular velocity at the start: three components in body axes, rad/s.
    attitude
        Rotation from body to space axes at the start: a SciPy `Rotation`, a quaternion (scalar first) or a matrix.
        Default: the axes coincide.
    t_span
        Start time and end time, s. The end may lie before the start.
    rtol
        Bound of the error of the answer: over the output times, the largest error of the attitude, rad, and of the
        rate, relative to the largest rate. polhode chooses method and step and states an `error_estimate`, which it
        obtains from a second run. A `ToleranceNotReached` warning says that the tolerance is out of reach.
    step
        Length of a step, s; give this or `rtol`. The last step is shorter if `step` does not divide the span. Methods
        with variable steps take it as the length of the first or the longest step.
    method
        A name from `polhode methods`, or a `Method`. Required with `step`; with `rtol` the default is "auto".
    t_eval
        Output times, s. A time between two grid points is reached by a separate step, which leaves the run unchanged.
    every
        Number of steps between two rows of output, if `t_eval` is not given. Default 1; the end is always a row.
    events
        A function `g(t, q, w)` of time, quaternion (scalar first) and angular velocity, an `Event` made of one, or a
        list of them. Their zeros along the run are located to round-off; `solution.events` has their rows.
    state
        Initial values of the state variables of a torque that has some (`torque.state_names`), as a row or a
        dictionary. `rtol` bounds their errors as well, each relative to its largest size.
    derivatives
        Quantities to differentiate the motion by: "omega", "attitude", "momentum", "moments", "inertia", "p" for all
        parameters of the torque, or the name of one. `solution.jacobian` has one matrix for each row.
    progress
        Function of the number of steps done and of all steps, called about twenty times a second. An exception in it
        ends the run; the exception has what was computed as its `solution`.
    on_compile
        Function called before a compilation. Without it, a compilation of more than half a second is announced on
        standard error, unless the environment has POLHODE_QUIET=1.

    Raises
    ------
    SimulationFailed
        If a step cannot be made. Everything computed so far is in its `solution`.
    SimulationInterrupted
        A `KeyboardInterrupt` with a `solution`. What the handler of another signal raises comes out as it is, and has a
        `solution`, too.

    Examples
    --------
    >>> top = ph.simulate(
    ...     ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=[0.1, 0, 50], attitude=[0.96, 0.28, 0, 0],
    ...     t_span=(0, 2), rtol=1e-9,
    ... )
    >>> top.omega[-1].round(6).tolist()
    [0.032859, 0.040173, 50.0]
    >>> bool(top.error_estimate < 1e-9)
    True
    """
    plain = step is None and method is None and state is None and events is None and progress is None
    kept = short_runs.kept(body, torque, t_span, t_eval, every, rtol) if plain and not derivatives else None
    if kept:
        return answer_from(kept[0], omega, attitude, on_compile)
    checks.is_called("progress", progress, "done, steps")
    problem = Problem.given(
        body, torque, omega=omega, attitude=attitude, t_span=t_span, t_eval=t_eval, every=every, state=state
    )  # fmt: skip
    goal = checked_goal(problem, rtol, step, method)
    watched = () if events is None else single.listed(events)
    by = names_of(derivatives) if derivatives else ()
    if by:
        check_names(problem, by)
        if any(event.takes_state for event in watched):
            raise ValueError("an event that sees what the torque carries has no derivatives: write it as g(t, q, w)")
    if isinstance(goal, Plan):
        if not goal.method.variable_steps:
            say_what_it_costs(problem, goal, shown=progress is not None)
        if watched:
            found = single.with_events(problem, goal, watched, progress, on_compile)
            if by:
                found = of_events(found, watched, lambda rows: solve_with_derivatives(
                    rows.problem.replace(times=rows.t, every=None), goal, by, None, on_compile))  # fmt: skip
        elif by:
            found = solve_with_derivatives(problem, goal, by, progress, on_compile)
        else:
            found = solve(problem, goal, None, progress, on_compile)
        warn_of_long_steps(found)
        return found
    if watched:
        found = _accurate_with_events(problem, goal, watched, progress, on_compile)
        if not by:
            return found
        return of_events(found, watched, lambda rows: with_derivatives(rows, by, goal.rtol, on_compile))
    if kept is not None:
        short_runs.keep(kept, problem, torque, goal.rtol)
    found = answer(problem, goal, progress, on_compile)
    return with_derivatives(found, by, goal.rtol, on_compile) if by else found


def say_what_it_costs(problem: Problem, plan: Plan, *, shown: bool) -> None:
    """Refuses output that does not fit into memory, and announces a long run whose progress is not shown."""
    steps = abs(problem.span / plan.step)
    if problem.every is not None:
        check_room(int(steps / problem.every) + 1, STATE + problem.state_start.size)
    if not shown:
        announce(steps, hint="take longer steps, or rtol= to have them chosen")


EVENT_MARGINS = (0.05, 1e-4)
"""Accurate runs go this fraction beyond the first run's terminal event; the second if the torque fails so far behind
it."""


def _accurate_with_events(
    problem: Problem, goal: search.Goal, events: tuple[single.Event, ...], progress: Progress | None,
    on_compile: OnCompile, inherited: search.InheritedError = search.NOTHING_INHERITED,
    earlier: single.Earlier | None = None,
) -> Solution:  # fmt: skip
    """The motion with an error below the tolerance, from the start to the end or to a terminal event."""
    ends, spent = [problem.t_end], Stats()
    if any(e.terminal for e in events):
        first = search.first_plan(problem, goal, on_compile)
        with suppress(SimulationFailed):  # steps that are too long will be seen again, and mended
            only_end = problem.replace(times=np.array([problem.t_end]), every=None)
            pilot = single.with_events(only_end, first, events, progress, on_compile, earlier=earlier)
            spent = pilot.stats
            early = [pilot.t_last + margin * (pilot.t_last - problem.t_start) for margin in EVENT_MARGINS]
            ends = [t for t in early if t != problem.t_start and (problem.t_end - t) * problem.direction > 0] + ends
    failed = False
    for number, t_end in enumerate(ends):
        if number == 1 and len(ends) > 2 and not failed:
            continue  # the first went farther
        asked = shown = problem.replace(t_end=t_end)
        if problem.times is not None:
            inside = problem.times[(t_end - problem.times) * problem.direction >= 0]
            shown = problem.replace(t_end=t_end, times=inside)
            if not inside.size or inside[-1] != t_end:  # the tolerance holds to the end
                asked = problem.replace(t_end=t_end, times=np.append(inside, t_end))
        try:
            found = answer(asked, goal, progress, on_compile, inherited, in_steps=True)
        except SimulationFailed:
            if number > 0 or len(ends) < 3:
                raise
            failed = True
            continue
        seen = single.with_events(shown, found.plan, events, progress, on_compile, earlier=earlier)
        spent = spent + found.stats + seen.stats
        if seen.t_last != t_end:
            break
    return replace(
        seen,
        problem=problem,
        stats=replace(spent, steps=seen.stats.steps),
        error_estimate=found.error_estimate,
        rtol=goal.rtol,
        method_asked=goal.method,
        message=f"{seen.message}; the error is estimated as {found.error_estimate:.1e}",
    )


def is_auto(method: str | Method | None) -> bool:
    """Whether a method is still to be chosen."""
    return method is None or (isinstance(method, str) and method.strip().lower() == "auto")


@announced_once
def resume(
    solution: Solution,
    t_end: float,
    *,
    torque: Torque | None = None,
    rtol: float | None = None,
    step: float | None = None,
    method: str | Method | None = None,
    t_eval: Any = None,
    events: Any = None,
    state: Any = None,
    progress: Progress | None = None,
    on_compile: OnCompile = None,
) -> Solution:
    """Goes on from where a solution ended; returns the whole motion.

    A solution that was asked for with a tolerance goes on with it, or with another `rtol`, by the method that was asked
    for, if one was; `method="auto"` has it chosen. The tolerance holds for the
    whole motion: what the error so far becomes later counts in the new estimate, and where it becomes too much, the
    motion is computed again from its start. After a change of the torque that cannot be done, and a
    `ToleranceNotReached` warning says so if it would be needed; if nothing is known of the error before the change, the
    whole has no estimate.

    Other solutions go on with the same method and step, or with another `step`. Output after every `every` steps counts
    from there. What the method remembers is handed over, so that a continued run is the run in one go; with another
    torque, method or step it starts by itself from the state. Over a change of the torque nothing is conserved, so that
    there are no errors of energy and momentum.
    Numbers that the torque carries go on as they are; `state` gives them other values, which another torque that
    carries other numbers needs. Rows from before it then have NaN.
    The events of the solution are kept. Their functions are not: give them again as `events` to watch on.
    A solution from a file needs its `torque` again if that was a user's function, and its `method` if that was not one
    of polhode's.

    Examples
    --------
    >>> half = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), method="MR2", step=0.1)
    >>> ph.resume(half, t_end=10).t_last
    10.0
    """
    if not isinstance(solution, Solution):
        raise TypeError(
            f"a Solution can be resumed, not {type(solution).__name__}; a drift goes on by its own d.resume(t_end), "
            "and of an ensemble take one body: many[k]"
        )
    checks.is_called("progress", progress, "done, steps")
    old, plan = solution.problem, solution.plan
    end = checks.number("t_end", t_end)
    if (end - solution.t_last) * plan.step <= 0:
        raise ValueError(f"t_end must lie beyond the last time {solution.t_last:g}, not at {end:g}")
    if t_eval is None and old.every is None:
        raise ValueError("this solution has output at listed times: give t_eval for the times to come")
    times = None if t_eval is None else checked_times(t_eval, solution.t_last, end)
    if rtol is not None and step is not None:
        raise ValueError("give either rtol, and the step is chosen, or step, not both")
    acting = old.torque if torque is None else checked(torque)
    old.body.check_span(solution.t_last, end)
    acting.check_span(solution.t_last, end)
    same = is_same_torque(old.torque, acting, old.body) and state is None
    z = _carried_on(solution, acting, state)
    acting = acting.for_span(old.t_start if same else solution.t_last, end)
    tolerance = rtol if rtol is not None or step is not None else solution.rtol
    if tolerance is not None:
        named = solution.method_asked if method is None else method
        goal = checked_goal(old.replace(torque=acting), tolerance, None, named)
        assert isinstance(goal, search.Goal)
        return _resumed_within(solution, end, goal, acting, z, times, events, progress, on_compile, same=same)
    chosen = plan.method if is_auto(method) else find_method(method) if isinstance(method, str) else method
    assert chosen is not None
    length = plan.step if step is None else _checked_step(step, solution.t_last, end)
    goes_on = same and chosen == plan.method and length == plan.step
    # Only the method itself knows what to do with a quaternion that it left unscaled.
    q = solution.last_quaternion if goes_on else checks.quaternion("attitude", solution.last_quaternion, again=True)
    m = solution.last_momentum
    begin = Begin(solution.t_last, q, m, solution.memory if goes_on else (), z)
    problem = old.replace(t_end=end, times=times, every=None if times is not None else old.every, torque=acting)
    plan = plan.replace(method=chosen)
    if length != plan.step:
        plan = plan.replace(step=length, longest_step=None)
    if not same:
        problem = problem.replace(quaternion_start=q, momentum_start=m, state_start=z)
        plan = plan.replace(torque_size=None)
    check_accepted(chosen, acting, rotor=old.body.has_rotor, body=old.body)
    changed = solution.torque_changed or not same
    watched = single.listed(events)

    def whole(part: Solution) -> Solution:
        return _joined(solution, part, changed)

    with _as_part_of(whole):
        if watched:
            earlier = single.going_on(solution, watched)
            part = single.with_events(problem, plan, watched, progress, on_compile, begin, earlier)
        else:
            part = solve(problem, plan, begin, progress, on_compile)
        if solution.rtol is None:
            warn_of_long_steps(part)
        return whole(part)


def _as_part_of(whole: Callable[[Solution], Solution]) -> AbstractContextManager[None]:
    """Lets exceptions have the whole motion, where they have a part of it."""

    def kept(raised: BaseException) -> Solution | None:
        return whole(part) if isinstance(part := getattr(raised, "solution", None), Solution) else None

    return keeping(SimulationInterrupted, kept)


def _resumed_within(
    solution: Solution, end: float, goal: search.Goal, acting: Torque, z: Floats, times: Floats | None, events: Any,
    progress: Progress | None, on_compile: OnCompile, *, same: bool,
) -> Solution:  # fmt: skip
    """Goes on to `end` with a tolerance that holds for the whole motion."""
    old, watched = solution.problem, single.listed(events)
    every = None if times is not None else old.every
    from_start = same and not solution.torque_changed

    def answered(problem: Problem, inherited: search.InheritedError, earlier: single.Earlier) -> Solution:
        if watched:
            return _accurate_with_events(problem, goal, watched, progress, on_compile, inherited, earlier)
        known = inherited if inherited.error else search.NOTHING_INHERITED
        return answer(problem, goal, progress, on_compile, known)

    if not same and not solution.torque_changed and solution.error_estimate is not None:
        solution = _estimated_to_its_end(solution, goal, progress, on_compile)
    error, best, spent = solution.error_estimate, solution, solution.stats
    is_free = acting.depends is Depends.NOTHING and (
        not (old.body.has_rotor or old.body.changes) or has_closed_form(old.body)
    )
    # The whole motion of a free body costs no more than a part of it.
    is_good = error is not None and error <= goal.rtol and _end_is_estimated(solution)
    if not from_start or (not is_free and is_good):
        q = checks.quaternion("attitude", solution.last_quaternion, again=True)
        rest = old.replace(
            t_start=solution.t_last, t_end=end, quaternion_start=q, momentum_start=solution.last_momentum, times=times,
            every=every, torque=acting, state_start=z,
        )  # fmt: skip
        rate = largest_rate(solution.omega, old.omega_start)

        def whole(part: Solution) -> Solution:
            start = (old if same else rest).replace(
                t_start=old.t_start, t_end=end, times=part.problem.times, every=every
            )
            joined = _joined(solution, replace(part, problem=start), solution.torque_changed or not same)
            if error is not None:
                return joined
            unknown = f"{joined.message}, of what follows t = {solution.t_last:.12g}; before, it is not known"
            return replace(joined, error_estimate=None, message=unknown)

        with warnings.catch_warnings(record=True) as said, _as_part_of(whole):
            warnings.simplefilter("always")
            part = answered(rest, search.InheritedError(error or 0.0, rate), single.going_on(solution, watched))
        assert part.error_estimate is not None
        if part.error_estimate <= goal.rtol or not from_start:
            for one in said:
                warnings.warn(one.message, stacklevel=levels_of_polhode())
            return whole(part)
        best, spent = whole(part), solution.stats + part.stats

    def farther(anew: Solution) -> Solution:
        return anew if (anew.t_last - best.t_last) * old.direction >= 0 else replace(
            best, status=anew.status, message=f"{best.message}; {anew.message}"
        )  # fmt: skip

    shown = times
    if times is not None:
        again = solution.t.size > 0 and times.size > 0 and times[0] == solution.t[-1]
        shown = np.concatenate([solution.t, times[int(again) :]])
    with _as_part_of(farther):
        made = answered(
            old.replace(t_end=end, times=shown, every=every, torque=acting), search.NOTHING_INHERITED,
            single.anew(solution, watched),
        )  # fmt: skip
    kept = () if single.as_before(solution.events, watched) else solution.events
    made = replace(made, metadata=solution.metadata, stats=replace(spent + made.stats, steps=made.stats.steps))
    return replace(made, events=single.joined(replace(made, events=()), kept, made.events))


def _end_is_estimated(solution: Solution) -> bool:
    """Whether the estimate of a solution is one of its last state, too, which may lie behind all listed times."""
    return any(rows.t.size > 0 and rows.t[-1] == solution.t_last for rows in (solution, *solution.events))


FIRST_PART = 0.1
"""The part of a tolerance for which the end of a first part is computed again: its error may grow in what follows."""


def _estimated_to_its_end(
    solution: Solution, goal: search.Goal, progress: Progress | None, on_compile: OnCompile
) -> Solution:
    """A solution whose last state is within its estimate: that of another run, if it lies behind all rows."""
    if _end_is_estimated(solution):
        return solution
    to_end = solution.problem.replace(t_end=solution.t_last, times=np.append(solution.t, solution.t_last), every=None)
    closer = goal._replace(method=None, rtol=FIRST_PART * goal.rtol)
    other = answer(to_end, closer, progress, on_compile, in_steps=True)
    assert other.error_estimate is not None
    assert solution.error_estimate is not None
    return replace(
        solution, stats=replace(solution.stats + other.stats, steps=solution.stats.steps),
        last_quaternion=other.last_quaternion, last_momentum=other.last_momentum, last_state=other.last_state,
        memory=(),
        error_estimate=max(solution.error_estimate, other.error_estimate),
    )  # fmt: skip


def _carried_on(solution: Solution, acting: Torque, state: Any) -> Floats:
    """What a torque carries where a solution goes on."""
    if state is None and acting.state_names == solution.state_names:
        return solution.last_state
    if state is None and not acting.state_names:
        return NO_STATE
    return checked_state(acting, state, solution.body.rate(solution.last_momentum, solution.t_last))


def _joined_states(old: Solution, new: Solution, first: int) -> Floats:
    """The carried numbers of two stretches; where they were others before, these rows are NaN."""
    before = old.state if old.state_names == new.state_names else np.full((old.t.size, new.state.shape[1]), np.nan)
    return (
        np.concatenate([before, new.state[first:]])
        if new.state_names
        else np.empty((old.t.size + new.t.size - first, 0))
    )


def _joined(old: Solution, new: Solution, torque_changed: bool) -> Solution:
    """Two stretches of one motion as one."""
    first = int(old.t.size > 0 and new.t.size > 0 and new.t[0] == old.t[-1])
    t = np.concatenate([old.t, new.t[first:]])
    whole = replace(
        new,
        problem=new.problem.replace(times=None if new.problem.times is None else t),
        stats=old.stats + new.stats,
        message=f"{new.message}, after {old.stats.steps} steps to t = {old.t_last:.12g}",
        metadata=old.metadata,
        t=t,
        quaternion=np.concatenate([old.quaternion, new.quaternion[first:]]),
        momentum=np.concatenate([old.momentum, new.momentum[first:]]),
        state=_joined_states(old, new, first),
        events=(),
        torque_changed=torque_changed,
    )
    return replace(whole, events=single.joined(whole, old.events, new.events))


# --- what the user gave, checked -----------------------------------------------------------------------------------


CARRYING_METHODS = ("RK4", "DOP853", "G8", "Radau")
"""Methods to suggest to somebody whose torque carries numbers of its own."""
SUGGESTED_METHODS = ("Strang", "MR2", "RK4", "DOP853")
"""Methods to suggest to somebody whose method does not fit the torque."""


def checked_arguments(
    body: Body, torque: Torque | None = None, *, rtol: float | None = None, step: float | None = None,
    method: str | Method | None = None, **motion: Any,
) -> tuple[Problem, Plan | search.Goal]:  # fmt: skip
    """Checks the arguments of `simulate`, of which `Problem.given` has the motion; returns what is asked, and how."""
    problem = Problem.given(body, torque, **motion)
    return problem, checked_goal(problem, rtol, step, method)


def checked_goal(
    problem: Problem, rtol: float | None, step: float | None, method: str | Method | None
) -> Plan | search.Goal:
    """A plan where the user gave a method and its step, or a goal where the user gave a tolerance."""
    named = None if is_auto(method) else method
    if rtol is not None and step is not None:
        raise ValueError("give either rtol, and the step is chosen, or step, not both")
    if rtol is None:
        if step is None:
            raise ValueError("give rtol, the error of the answer (such as rtol=1e-6), or a method and its step")
        if named is None:
            raise ValueError("a step needs a method: name one of `polhode methods`, or give rtol instead of step")
    chosen = named if named is None or isinstance(named, Method) else find_method(named)
    if chosen is not None:
        check_accepted(chosen, problem.torque, rotor=problem.body.has_rotor, body=problem.body)
    if rtol is None:
        assert chosen is not None
        return Plan(chosen, _checked_step(step, problem.t_start, problem.t_end))
    return search.Goal(checked_tolerance(rtol), chosen)


def check_accepted(method: Method, torque: Torque, *, rotor: bool = False, body: Body | None = None) -> None:
    """Raises a ValueError if the method cannot integrate such a torque, or a body with a rotor."""
    if torque.held:
        if method.has_corrector:
            raise ValueError(f"{method.name} has a corrector, and cannot hold the torque of {torque.name}: take Strang")
    elif torque.state_names and not method.takes_state:
        raise ValueError(
            f"{method.name} cannot carry the numbers of {torque.name} along ({', '.join(torque.state_names)}): use "
            f"{' or '.join(CARRYING_METHODS)}, or rtol"
        )
    if rotor and not method.accepts_rotor:
        plain = method.replace(compensated=False) if method.unscaled and method.options else method
        able = [plain.name] if plain.accepts_rotor and not plain.refuses(torque.depends) else _able(torque, rotor=True)
        raise ValueError(
            f"{method.name} does not accept a body with a rotor: use {' or '.join(able)}, or another that `polhode "
            "methods --all` shows to accept it"
        )
    if body is not None and body.changes and not method.accepts_changing:
        raise ValueError(
            f"{method.name} does not accept a body that changes with time: use G8, DOP853, RK4 or Radau, or rtol"
        )
    if body is not None and method.name == "MR2" and body.elements_that_change == 6:
        raise ValueError("MR2 accepts a body that changes only if its principal axes stay: use G8, DOP853, or rtol")
    if torque.depends not in method.accepts:
        others = _able(torque, rotor=rotor)
        what = " and ".join(
            {Depends.POSITION: "the attitude", Depends.TIME: "time", Depends.RATE: "the rate"}[d]
            for d in method.refuses(torque.depends)
        )
        raise ValueError(
            f"{method.name} does not accept {torque.name}, a torque that depends on {what}: use {' or '.join(others)}, "
            "or another that `polhode methods` shows to accept it"
        )


def _able(torque: Torque, *, rotor: bool) -> list[str]:
    """The names of some methods that take such a torque, and a body with a rotor if it has one."""
    from polhode.methods import catalogue

    able = [m.name for m in catalogue().values() if not m.refuses(torque.depends) and (m.accepts_rotor or not rotor)]
    return [name for name in SUGGESTED_METHODS if name in able] or able[:3]


def _checked_step(step: Any, t0: float, t1: float) -> float:
    h = checks.number("step", step)
    if h == 0:
        raise ValueError("step must not be zero")
    if (t1 - t0) * h < 0:
        raise ValueError(
            f"step {h:g} leads away from {t1:g}: from {t0:g} it must be {'positive' if t1 > t0 else 'negative'}"
        )
    if abs(h) <= 4 * math.ulp(max(abs(t0), abs(t1))):
        raise ValueError(f"step {h:g} is lost in the round-off of the times {t0!r} to {t1!r}: take a longer step")
    return h
