"""simulate(...) -> Solution: one body, one method."""

import math
import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from polhode import _check, _events
from polhode._arrays import Floats
from polhode._check import FEW
from polhode.body import Body
from polhode.core.types import Depends
from polhode.integration.fixed import Progress, SimulationFailed, SimulationInterrupted
from polhode.integration.variable import integration
from polhode.io.records import same_torque
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run, Solution
from polhode.tolerance import choice, search
from polhode.torques import Torque, checked
from polhode.torques.free import Free


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
    progress: Progress | None = None,
    announce: Callable[[], None] | None = None,
) -> Solution:
    """Turn a body from `t_span[0]` to `t_span[1]`, with an error of at most `rtol` or in steps of a given length.

    Parameters
    ----------
    body, torque
        What turns and what turns it; without a torque the body is free.
    omega
        Initial angular velocity in body axes, rad/s.
    attitude
        Initial rotation from body to space axes: a SciPy `Rotation`, a quaternion (scalar first) or a matrix.
        Default: the axes coincide.
    t_span
        Start and end, which may lie before the start.
    rtol
        The error of the answer: the largest, over the output times, of the error of the attitude in radians and of the
        error of the rate relative to the largest rate. Method and step are chosen, and the `error_estimate` of the
        solution comes from a second run; if the tolerance is out of reach, a `ToleranceNotReached` warning says so.
    step
        Instead of `rtol`: the length of a step. If it does not divide the span, the last step is shorter. Methods with
        variable steps take it as the length of the first or the longest step.
    method
        A name of `polhode methods`, or a `Method`; with `rtol` it may be left out, or "auto".
    t_eval, every
        Output at these times, or every so many steps (default 1, and always at the end). Output never changes the
        run: times off the grid are reached by a step aside.
    events
        A function `g(t, q, w)` of time, quaternion (scalar first) and angular velocity, an `Event` made of one, or a
        list of them. Their zeros along the run are located to round-off; `solution.events` has their rows.
    progress, announce
        Called with (steps done, steps in all) about twenty times a second; called before a compilation. An exception
        in `progress` ends the run, and has what was computed as its `solution`.

    Raises
    ------
    SimulationFailed
        If a step cannot be made. Everything computed so far is in its `solution`.
    SimulationInterrupted
        A `KeyboardInterrupt` with a `solution`.
    """
    run, times, tolerance, chosen = checked_arguments(
        body,
        torque,
        omega=omega,
        attitude=attitude,
        t_span=t_span,
        rtol=rtol,
        step=step,
        method=method,
        t_eval=t_eval,
        every=every,
    )
    watched = _events.listed(events)
    if tolerance is not None:
        if watched:
            return _watched(run, times, tolerance, chosen, watched, progress, announce)
        return search.answer(run, times, tolerance, chosen, progress, announce)
    if watched:
        return _events.with_events(run, times, watched, progress, announce)
    return integration(run)(run, run.quaternion_start, run.momentum_start, times, progress, announce).solution()


BEYOND_A_STOP = 0.05
"""So much longer than to where a first run is stopped by an event are the runs that answer."""


def _watched(
    run: Run, times: Floats | None, tolerance: float, method: Method | None, events: tuple[_events.Event, ...],
    progress: Progress | None, announce: Callable[[], None] | None,
) -> Solution:  # fmt: skip
    """With an error below the tolerance from the start to the end, or to where an event stops it."""
    ends, nfev, seconds = [run.t_end], 0, 0.0
    if any(e.terminal for e in events):
        first = search.first_run(run, times, tolerance, method, announce)
        with suppress(SimulationFailed):  # that steps are too long will be seen again, and mended
            pilot = _events.with_events(first, np.array([run.t_end]), events, progress, announce)
            nfev, seconds = pilot.nfev, pilot.run.seconds
            early = pilot.t_last + BEYOND_A_STOP * (pilot.t_last - run.t_start)
            if run.t_start != early and (run.t_end - early) * run.step > 0:
                ends.insert(0, early)
    for t_end in ends:
        part, asked = run.having(t_end=t_end, step=t_end - run.t_start), times
        if times is not None:
            inside = times[(t_end - times) * run.step >= 0]
            asked = inside if inside.size and inside[-1] == t_end else np.append(inside, t_end)
        found = search.answer(part, asked, tolerance, method, progress, announce)
        seen = _events.with_events(found.run, times if times is None else inside, events, progress, announce)
        nfev, seconds = nfev + found.nfev + seen.nfev, seconds + found.run.seconds + seen.run.seconds
        if seen.t_last != t_end:
            break
    told = f"{seen.message}; the error is estimated as {found.error_estimate:.1e}"
    spent = seen.run.having(t_end=run.t_end, nfev=nfev, seconds=seconds)
    return replace(seen, run=spent, error_estimate=found.error_estimate, message=told)


def is_auto(method: str | Method | None) -> bool:
    """Whether a method is still to be chosen."""
    return method is None or (isinstance(method, str) and method.strip().lower() == "auto")


def checked_arguments(
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
) -> tuple[Run, Floats | None, float | None, Method | None]:
    """What `simulate` would do: the run, listed output times, the tolerance if there is one, and the method if named.

    With a tolerance, the step of the run and an unnamed method only stand for those to be found.
    """
    t0, t1 = _span(t_span)
    named = None if is_auto(method) else method
    tolerance = _tolerance(rtol, step, named)
    torque = Free() if torque is None else checked(torque)
    if not isinstance(body, Body):
        raise TypeError(
            f"body must be a polhode.Body, not {body!r}: "
            f"write Body{'.named' if isinstance(body, str) else ''}({body!r})"
        )
    chosen = named if isinstance(named, Method) else find_method(choice.ANY if named is None else named)
    _check_accepted(chosen, torque)
    h = _step(t1 - t0 if step is None else step, t0, t1)
    if every is not None and t_eval is not None:
        raise ValueError("give either t_eval or every, not both")
    stride = None if t_eval is not None else _check.count("every", 1 if every is None else every, " of steps")
    times = None if t_eval is None else _times(t_eval, t0, t1)
    q = _check.quaternion("attitude", attitude)
    w = np.array(_check.vector("omega", omega))
    run = Run(body, torque, chosen, h, t0, t1, stride, q, body.momentum(w))
    return run, times, tolerance, None if named is None else chosen


def resume(
    solution: Solution,
    t_end: float,
    *,
    torque: Torque | None = None,
    method: str | Method | None = None,
    t_eval: Any = None,
    events: Any = None,
    progress: Progress | None = None,
    announce: Callable[[], None] | None = None,
) -> Solution:
    """Go on from where a solution ended, with the same method and step; returns the whole motion.

    Output every so many steps counts from there. What the method remembers is handed over, so that a continued run is
    the run in one go; with another torque or method it starts by itself from the state. Over a change of the torque
    nothing is conserved, so that there are no errors of energy and momentum.
    The events of the solution are kept. Their functions are not: give them again as `events` to watch on.
    A solution from a file needs its `torque` again if that was a user's function, and its `method` if that was not one
    of polhode's.
    """
    if not isinstance(solution, Solution):
        raise TypeError(
            f"a Solution can be resumed, not {type(solution).__name__}; of an ensemble take one body: many[k]"
        )
    old = solution.run
    end = _check.number("t_end", t_end)
    if (end - solution.t_last) * old.step <= 0:
        raise ValueError(f"t_end must lie beyond the last time {solution.t_last:g}, not at {end:g}")
    if t_eval is None and old.every is None:
        raise ValueError("this solution has output at listed times: give t_eval for the times to come")
    stride = None if t_eval is not None else old.every
    times = None if t_eval is None else _times(t_eval, solution.t_last, end)
    chosen = find_method(method) if isinstance(method, str) else method or old.method
    acting = old.torque if torque is None else checked(torque)
    same = same_torque(old.torque, acting, old.body)
    goes_on = same and chosen == old.method
    # Only the method itself knows what to do with a quaternion that it left unscaled.
    attitude = solution.last_quaternion if goes_on else _check.quaternion("attitude", solution.last_quaternion)
    state = (attitude, solution.last_momentum)
    run = replace(old, t_start=solution.t_last, t_end=end, every=stride, torque=acting, method=chosen)
    if not same:
        run = replace(
            run, quaternion_start=state[0], momentum_start=state[1], torque_size=None, torque_changed=True
        )  # fmt: skip
    _check_accepted(run.method, run.torque)
    memory = solution.memory if goes_on else ()
    watched = _events.listed(events)

    def new() -> Solution:
        if not watched:
            return integration(run)(run, *state, times, progress, announce, memory).solution()
        earlier = _events.Earlier(state, memory, solution.events)
        return _events.with_events(run, times, watched, progress, announce, earlier)

    try:
        return _joined(solution, new())
    except SimulationFailed as failure:
        raise SimulationFailed(_joined(solution, failure.solution)) from None
    except SimulationInterrupted as stopped:
        raise SimulationInterrupted(_joined(solution, stopped.solution)) from None
    except Exception as problem:  # of the user's `progress`
        if isinstance(part := getattr(problem, "solution", None), Solution):
            problem.solution = _joined(solution, part)  # type: ignore[attr-defined]
        raise


def _joined(old: Solution, new: Solution) -> Solution:
    """Two stretches of one motion as one."""
    first = int(old.t.size > 0 and new.t.size > 0 and new.t[0] == old.t[-1])
    run = replace(
        new.run,
        t_start=old.run.t_start,
        steps=old.run.steps + new.run.steps,
        nfev=old.run.nfev + new.run.nfev,
        seconds=old.run.seconds + new.run.seconds,
    )
    whole = replace(
        new,
        run=run,
        message=f"{new.message}, after {old.run.steps} steps to t = {old.t_last:.12g}",
        metadata=old.metadata,
        t=np.concatenate([old.t, new.t[first:]]),
        quaternion=np.concatenate([old.quaternion, new.quaternion[first:]]),
        momentum=np.concatenate([old.momentum, new.momentum[first:]]),
        events=(),
    )
    return replace(whole, events=_events.joined(whole, old.events, new.events))


# --- what the user gave, checked -----------------------------------------------------------------------------------


PLAIN_CHOICES = ("Strang", "MR2", "RK4", "DOP853")
"""What to suggest to somebody whose method does not fit the torque."""


def _check_accepted(method: Method, torque: Torque) -> None:
    if torque.depends not in method.accepts:
        from polhode.methods import catalogue

        able = [m.name for m in catalogue().values() if not m.refuses(torque.depends)]
        others = [name for name in PLAIN_CHOICES if name in able] or able[:3]
        what = " and ".join(
            {Depends.POSITION: "the attitude", Depends.TIME: "time", Depends.RATE: "the rate"}[d]
            for d in method.refuses(torque.depends)
        )
        raise ValueError(
            f"{method.name} does not accept {torque.name}, a torque that depends on {what}: use {' or '.join(others)}, "
            "or another that `polhode methods` shows to accept it"
        )


def _span(t_span: Any) -> tuple[float, float]:
    t0, t1 = _check.numbers("t_span", t_span, 2)
    if t0 == t1:
        raise ValueError(f"t_span must have a length: it starts and ends at {t0:g}")
    return t0, t1


LEAST_TOLERANCE = 1e-17
"""Who asks for less gets this: far below what can be had, as a warning will tell."""


def _tolerance(rtol: float | None, step: float | None, method: str | Method | None) -> float | None:
    """The tolerance, or None where a step and a method are given."""
    if rtol is not None and step is not None:
        raise ValueError("give either rtol, and the step is chosen, or step, not both")
    if rtol is None:
        if step is None:
            raise ValueError("give rtol, the error of the answer (such as rtol=1e-6), or a method and its step")
        if method is None:
            raise ValueError("a step needs a method: name one of `polhode methods`, or give rtol instead of step")
        return None
    tolerance = _check.number("rtol", rtol)
    if not 0 < tolerance < 1:
        raise ValueError(f"rtol must lie between 0 and 1, such as 1e-6, not {tolerance:g}")
    return max(tolerance, LEAST_TOLERANCE)


def _step(step: Any, t0: float, t1: float) -> float:
    h = _check.number("step", step)
    if h == 0:
        raise ValueError("step must not be zero")
    if (t1 - t0) * h < 0:
        raise ValueError(
            f"step {h:g} leads away from {t1:g}: from {t0:g} it must be {'positive' if t1 > t0 else 'negative'}"
        )
    if abs(h) <= 4 * math.ulp(max(abs(t0), abs(t1))):
        raise ValueError(f"step {h:g} is lost in the round-off of the times {t0:g} to {t1:g}: take a longer step")
    return h


def _times(t_eval: Any, t0: float, t1: float) -> Floats:
    times = _check.row("t_eval", t_eval)
    if times.size == 0:
        raise ValueError("t_eval must be a list of times, not empty")
    if not _follow_each_other(times, t0, t1):
        inside = np.clip(times, min(t0, t1), max(t0, t1))
        by_rounding = np.abs(inside - times).max() <= 4 * math.ulp(max(abs(t0), abs(t1)))
        if by_rounding and _follow_each_other(inside, t0, t1):
            return inside
        sign = 1.0 if t1 > t0 else -1.0
        forward = sign * times
        rises = forward[1:] > forward[:-1]
        if not rises.all():
            bad = int(np.argmin(rises))
            raise ValueError(
                f"t_eval must run from t_span[0] to t_span[1] without repetition, but {times[bad]:g} is followed by "
                f"{times[bad + 1]:g}: sort it, and remove duplicates with numpy.unique"
            )
        bad = int(np.argmax((forward < sign * t0) | (forward > sign * t1)))
        raise ValueError(f"t_eval[{bad}] = {float(times[bad])!r} lies outside t_span ({t0!r}, {t1!r})")
    return times


def _follow_each_other(times: Floats, t0: float, t1: float) -> bool:
    """Whether the times lie on the way from t0 to t1, each beyond the one before."""
    before = operator.lt if t1 > t0 else operator.gt
    if times.size > FEW:
        ordered = bool(before(times[:-1], times[1:]).all())
        first, last = float(times[0]), float(times[-1])
    else:  # for a few the calls of NumPy take longer
        listed = times.tolist()
        ordered = all(map(before, listed, listed[1:]))
        first, last = listed[0], listed[-1]
    return ordered and not before(first, t0) and not before(t1, last)
