"""simulate_system(...) -> SystemSolution: bodies that act on each other, with a given step or a given error."""

import math
from types import EllipsisType
from typing import Any

import numpy as np

from polhode.accuracy.policy import checked_tolerance
from polhode.compiler import announced_once
from polhode.methods import Method
from polhode.problem import checked_output, checked_span
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.run.step_warnings import say_steps_are_long
from polhode.support import checks
from polhode.support.arrays import lengths
from polhode.support.interrupts import attempted
from polhode.systems.events import StretchedRun, happened_at_end, listed_events
from polhode.systems.files import UnknownForces
from polhode.systems.forces import Pairs, checked_forces
from polhode.systems.solution import SystemSolution, kinetic_temperature
from polhode.systems.steps import Langevin, system_method
from polhode.systems.system import System
from polhode.systems.system_run import SystemPlan, is_at, outward
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
        Forces and torques on the bodies: what `pairs`, `forces` or `forces_from_pointer` make, `UniformGravity`,
        `CentralBody`, `Springs`, a torque, which acts on every body, or a sum or list of them. Default: free bodies.
        Steps end where a torque jumps.
    t_span
        Start time and end time, s. The end may lie before the start.
    step
        Length of a step, s; give this or `rtol`. The last step is shorter if `step` does not divide the span.
    rtol
        Bound of the error of the answer: over the output times and all bodies, the largest error of attitudes, rad, of
        rates relative to the largest rate, of positions relative to the largest distance of a body from the centre of
        mass at the start, or from a central body, and of velocities relative to the largest. The `error_estimate` of
        the solution follows from its distance to a run with longer steps.
    method
        A splitting of kicks and free flows, such as "Strang", "MR2", "NO_SQUISH", "KL8(of=Strang)" or "ABA104", or
        "G8" or "NMB". Default: Strang with a step, G8 with a tolerance. With a tolerance the steps of G8 adapt to the
        motion; others make equal steps, whose number is searched for.
    heat
        A `Langevin` heat bath, with a step and Strang, MR2 or NO_SQUISH.
    t_eval
        Output times, s; output never changes the run. Default with `rtol`: 101 equidistant times.
    every
        Number of steps between two rows of output, if `t_eval` is not given. Default 1; the end is always a row.
    events
        A function `g(t, x, q, v, w)` of all bodies, a `SystemEvent`, `closest_approach(i, j)`, `contact(i, j, r)`, or a
        list of them; `solution.events` has their rows.
    progress
        Function of the number of steps done and of all steps, as in `simulate`.
    on_compile
        Function called before a compilation, as in `simulate`.

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
    checks.is_called("progress", progress, "done, steps")
    t0, t1 = checked_span(t_span)
    acting = checked_forces(forces).for_span(t0, t1)
    watched = listed_events(events, len(system), acting)
    chosen = None if method is None or (rtol is not None and method == "auto") else system_method(method)
    if (step is None) == (rtol is None):
        raise ValueError("give either step, the length of a step, or rtol, the error of the answer")
    times, stride = checked_output(t_eval, every, t0, t1)
    _checked_heat(heat)
    acting.try_on(system, t0)
    if ended := [p for p in acting.parts if isinstance(p, Pairs) and p.cut in ("sites", "bodies")]:
        known = _thermal_energy(system, heat)
        for part in ended:
            part.warn_of_jump(*known)
    if rtol is not None:
        if heat is not None:
            raise ValueError("a heat bath is random, and has no error to be held: give step, not rtol")
        if every is not None:
            raise ValueError("with rtol the steps are chosen: give output times as t_eval, not every")
        allowed = checked_tolerance(rtol)
        plan = SystemPlan(system_method("Strang"), 1.0, t0, t1, times=times)
        return accurate(Question(system, acting, plan, allowed, watched, progress, on_compile), chosen)
    h = math.copysign(checks.number("step", step, positive=True), t1 - t0)
    plan = SystemPlan(chosen or system_method("Strang"), h, t0, t1, every=stride, times=times, heat=heat)
    made = StretchedRun(system, acting, plan, None, progress, on_compile, watched).solution()
    if made.t.size:
        rates = float(lengths(made.omega[0]).max()), float(lengths(made.omega[-1]).max())
        drift = "energy", _energy_drift(made)
        say_steps_are_long(plan.method, min(abs(h), abs(t1 - t0)), rates, drift, "the fastest body")
    return made


def _energy_drift(made: SystemSolution) -> float:
    """The relative change of the energy in the last row; 0 if it is not conserved, or not known."""
    rows = {name: getattr(made, name)[-1:] for name in ("t", "position", "quaternion", "velocity", "momentum")}
    end = made.having(**rows, saved_potential=None)
    change = attempted(lambda: float(end.invariant_errors.get("energy", np.zeros(1))[0]), 0.0)
    return change if math.isfinite(change) else 0.0


@announced_once
def resume_system(
    solution: SystemSolution, t_end: float, *, forces: Any = None, t_eval: Any = None, every: int | None = None,
    events: Any = None, heat: Langevin | EllipsisType | None = ..., progress: Progress | None = None,
    on_compile: OnCompile = None,
) -> SystemSolution:  # fmt: skip
    """Goes on from where a solution of a system ended, with the same method and step; returns the whole motion.

    A run that is cut and goes on has the bits of one that was not, if the cut is at a grid point (with G8, up to
    round-off). A solution from a file needs its `forces` again. A solution that was asked for with a tolerance goes on
    with steps as accurate as before; its estimate holds for the first part only, and the whole has none.

    Events that were watched before, by their names, go on in one list of rows each, and one that has ended the first
    part does not happen there again.

    A heat bath goes on as before. With another `heat`, or with `heat=None`, which takes it away, another motion begins
    at the end of this one: what is returned begins there, and so do its errors.

    Examples
    --------
    >>> one = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=[[0, 0, 0]], velocity=[[1, 0, 0]])
    >>> half = ph.simulate_system(one, t_span=(0, 1), step=0.1)
    >>> ph.resume_system(half, t_end=2).position[-1].round(6)
    array([[2., 0., 0.]])
    """
    if not isinstance(solution, SystemSolution):
        raise TypeError(f"a SystemSolution can be resumed, not {type(solution).__name__}")
    checks.is_called("progress", progress, "done, steps")
    end = checks.number("t_end", t_end)
    if (end - solution.t_last) * solution.step <= 0:
        raise ValueError(f"t_end must lie beyond the last time {solution.t_last:g}, not at {end:g}")
    acting = solution.forces if forces is None else checked_forces(forces)
    if isinstance(acting, UnknownForces):
        raise ValueError(f"a file does not keep forces: pass those that {acting.name!r} stands for as forces=")
    acting = acting.for_span(solution.t_last, end)
    bath = _checked_heat(solution.heat if isinstance(heat, EllipsisType) else heat)
    system = solution.system if bath == solution.heat else _system_at_end(solution)
    acting.numbers(system)
    begin, first = solution.grid
    watched = listed_events(events, len(system), acting)
    times, stride = checked_output(t_eval, every, solution.t_last, end)
    method = system_method(solution.method)
    if solution.step_error is not None:
        if every is not None:
            raise ValueError("the steps of this solution adapt to the motion: give output times as t_eval, not every")
        if bath is not None:
            raise ValueError("the steps of this solution adapt to the motion, which a heat bath does not allow")
        times = np.linspace(solution.t_last, end, DEFAULT_ROWS) if times is None else times
        plan = SystemPlan(method, 1.0, solution.t_last, end, times=times, step_error=solution.step_error)
    else:
        plan = SystemPlan(method, solution.step, begin, end, first, stride, times, bath)
    again = [e.metadata.get("event") for e in solution.events] == [e.name for e in watched]
    earlier = happened_at_end(solution) if again else None
    run = StretchedRun(system, acting, plan, solution.last, progress, on_compile, watched, earlier)
    new = run.solution()
    if bath != solution.heat:
        return new
    at_start = bool(new.t.size and solution.t.size) and is_at(new.t[0], solution.t[-1], plan.t_start)
    return solution.followed_by(new, int(at_start), same_events=again)


def _checked_heat(heat: Any) -> Langevin | None:
    if heat is not None and not isinstance(heat, Langevin):
        raise TypeError(f"heat must be a polhode.Langevin, or None, not {heat!r}")
    return heat


def _system_at_end(solution: SystemSolution) -> System:
    """The system with the state at the end of a solution."""
    x, q, v, m = (a[0] for a in outward(solution.system, solution.last[None]))
    omega = [b.rate(one) for b, one in zip(solution.system.bodies, m, strict=True)]
    return solution.system.replace(position=x, attitude=q, velocity=v, omega=omega)


KT_OF_300_K = 1.380649e-23 * 300.0
"""In J: what energies are compared with where no temperature is known."""


def _thermal_energy(system: System, heat: Langevin | None) -> tuple[float, str]:
    """Returns kT of the heat bath, or of the motion at the start, or of 300 K, and says which."""
    if heat is not None and heat.kT > 0.0:
        return heat.kT, "that of the heat bath"
    if (kT := kinetic_temperature(system)) > 0.0:
        return kT, "that of the motion at the start"
    return KT_OF_300_K, "that of 300 K in J, as the bodies are at rest and there is no heat bath"
