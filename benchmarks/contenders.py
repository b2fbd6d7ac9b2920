"""polhode and its peers, each behind the same small door: a problem and a setting in, states and a stopwatch out.

A setting is one positive number, the greater the finer: a number of steps, or the inverse of a tolerance. Everything
that happens once for a problem (compilation, tracing, building an integrator) is done before the clock starts.
"""

import importlib
import math
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

import polhode as ph
from benchmarks.problems import Floats, Problem
from polhode._simulate import checked_arguments
from polhode.integration.fixed import Integration
from polhode.integration.variable import OwnClockIntegration
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.tolerance import character, choice
from polhode.tolerance.estimate import COARSER

Run = Callable[[], Floats]
"""Rows of quaternion and rate at the output times."""


class Unable(Exception):
    """A competitor that cannot be installed, or cannot do a problem; the message says which."""


@dataclass(frozen=True)
class Settings:
    """From coarse to fine, in equal ratios."""

    coarsest: float
    finest: float
    ratio: float


class Contender(Protocol):
    """What the measurements see of a competitor."""

    @property
    def name(self) -> str: ...

    @property
    def of_target(self) -> bool:
        """Whether a run depends on the target, and not on the setting alone."""
        ...

    def settings(self, problem: Problem) -> Settings: ...

    def runner(self, problem: Problem, setting: float, target: float) -> Run: ...

    def told(self, problem: Problem, setting: float, target: float) -> str:
        """The setting in words."""
        ...


TOLERANCES = Settings(1e2, 1e17, 10.0**0.5)
"""As inverses."""


class _ByTolerance:
    of_target = False

    def settings(self, problem: Problem) -> Settings:
        return TOLERANCES

    def told(self, problem: Problem, setting: float, target: float) -> str:
        return f"tolerance {1 / setting:.1e}"


def imported(module: str) -> Any:
    """A peer, or the reason why there is none."""
    try:
        return importlib.import_module(module)
    except Exception as problem:
        raise Unable(f"{module} cannot be imported: {problem}") from None


def in_time(run: Run, seconds: float) -> Floats:
    """What a run gives, if it comes to an end by then. Compiled code that heeds Ctrl-C is stopped by that."""
    fired = False

    def stop() -> None:
        nonlocal fired
        fired = True
        os.kill(os.getpid(), signal.SIGINT)

    clock = threading.Timer(seconds, stop)
    clock.start()
    try:
        return run()
    except KeyboardInterrupt:
        if not fired:
            raise
        raise ArithmeticError(f"it did not come to an end in {seconds:g} s") from None
    finally:
        clock.cancel()


# --- polhode -------------------------------------------------------------------------------------------------------


LONGEST = 8.0
"""Radians in the longest step that is tried."""
SHORTEST = 4e-3


class Settled(NamedTuple):
    """A method and its step."""

    method: Method
    step: float
    longest_step: float | None
    """That its exact flows are ready for."""


@dataclass(frozen=True)
class Polhode:
    """One method of polhode, through `simulate`, with output at the listed times."""

    method: Method
    looser: float = 1.0
    """Where equations are solved by iteration: so many times what `simulate(rtol=...)` allows."""

    @cached_property
    def _options(self) -> frozenset[str]:
        return frozenset(option.name for option in self.method.options)

    @property
    def name(self) -> str:
        """Of the method."""
        return self.method.name

    @property
    def of_target(self) -> bool:
        """Where equations are solved by iteration: as well as the target asks, as `simulate(rtol=...)` does it."""
        return not self.method.own_clock and "tolerance" in self._options

    def settings(self, problem: Problem) -> Settings:
        """Numbers of steps, or tolerances."""
        if self.method.own_clock:
            return TOLERANCES
        if self.method.order is None:  # exact: one step to each output time
            return Settings(float(problem.outputs), float(problem.outputs), 2.0)
        whole = character.character(self._plan(problem))
        c = whole.seen_by(self.method)
        model = choice.model_of(self.method, symmetric=whole.comoving is not None)
        longest = model.longest if model else LONGEST
        if model and not model.flows:
            longest /= COARSER  # `simulate` leaves room for its companion
        angle = problem.angle * c.turn / whole.turn
        if model and model.part and not c.symmetric:  # beyond its reach an exact flow goes in two pieces
            longest = min(longest, 0.97 * c.reach / model.part)
        return Settings(max(1.0, angle / longest), angle / SHORTEST, 1.25)

    def _plan(self, problem: Problem) -> Any:
        """The run, in one step."""
        step = problem.span
        return checked_arguments(problem.body, problem.torque, **_start(problem), step=step, method=self.method)[0]

    def steps(self, problem: Problem, setting: float) -> int:
        """As many for each output interval, so that output times are steps."""
        return problem.outputs * max(1, round(setting / problem.outputs))

    def chosen(self, problem: Problem, setting: float, target: float) -> Settled:
        """As `simulate(rtol=...)` would make this number of steps."""
        if self.method.own_clock:
            method = self.method.having(rtol=float(f"{1 / setting:.3g}"))
            return Settled(method, problem.span / problem.outputs, None)
        run = self._plan(problem)
        rungs = choice.ladder(self.method, character.character(run), target)
        made = rungs.made(run, self.steps(problem, setting), self.looser * target)
        return Settled(made.method, made.step, made.longest_step)

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """A whole call."""
        simulate = self.bound(problem, setting, target)
        return lambda: rows(simulate())

    def bound(self, problem: Problem, setting: float, target: float) -> Callable[[], ph.Solution]:
        """What `simulate(step=...)` does, except that the exact flows of neighbouring steps share a program.

        So do those of `simulate(rtol=...)`; otherwise every step that is tried would be compiled anew.
        """
        settled = self.chosen(problem, setting, target)
        body, torque, start, times = problem.body, problem.torque, _start(problem), problem.times

        def simulate() -> ph.Solution:
            run, listed, _, _ = checked_arguments(
                body, torque, **start, step=settled.step, method=settled.method, t_eval=times
            )
            run = replace(run, longest_step=settled.longest_step)
            kind = OwnClockIntegration if run.method.own_clock else Integration
            return kind(run, run.quaternion_start, run.momentum_start, listed, None, None).solution()

        return simulate

    def told(self, problem: Problem, setting: float, target: float) -> str:
        """Method and radians a step, or its tolerance."""
        settled = self.chosen(problem, setting, target)
        if self.method.own_clock:
            return settled.method.name
        return f"{settled.method.name}, {settled.step * problem.angle / problem.span:.3g} rad"


def _start(problem: Problem) -> dict[str, Any]:
    return {"omega": problem.omega, "attitude": problem.attitude, "t_span": (0.0, problem.span)}


class Closed:
    """`FreeMotion`, made before: the closed form at the output times."""

    name, of_target = "FreeMotion", False

    def settings(self, problem: Problem) -> Settings:
        """One."""
        return Settings(1.0, 1.0, 2.0)

    def told(self, problem: Problem, setting: float, target: float) -> str:
        """Nothing to tell."""
        return self.name

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """A call of `at`."""
        motion, times = ph.FreeMotion(problem.body, problem.omega, problem.attitude), problem.times

        def run() -> Floats:
            found = motion.at(times)
            return np.hstack([found.quaternion, found.omega])

        return run


def rows(solution: ph.Solution) -> Floats:
    """Quaternions and rates."""
    return np.hstack([solution.quaternion, solution.omega])


def automatic(problem: Problem, target: float) -> ph.Solution:
    """As a user would ask: a tolerance in, an answer out."""
    return ph.simulate(problem.body, problem.torque, **_start(problem), rtol=target, t_eval=problem.times)


CANDIDATES = (
    "SABA8", "SABA10", "ABA104", "ABA864", "ABA1064", "Strang", "Strang(corrector=17)", "KL8(of=Strang)",
    "BlanesMoanS10", "SRKN11", "G8", "G8(compensated=true)", "G8(comoving=true)", "DOP853", "A8", "A10", "A12",
)  # fmt: skip
"""What the map tries with hindsight; names that there are not are passed over."""


def candidates(names: Sequence[str] = CANDIDATES) -> list[Polhode]:
    """Those of the methods that exist."""
    found = []
    for name in names:
        try:
            found.append(Polhode(find_method(name)))
        except (ValueError, TypeError):
            continue
    return found


# --- heyoka --------------------------------------------------------------------------------------------------------


class Heyoka(_ByTolerance):
    """Taylor series of adaptive order and step; compiled without compact mode, dense output by its own series."""

    def __init__(self, high_accuracy: bool = False) -> None:
        self.high_accuracy = high_accuracy
        self.name = "heyoka, high accuracy" if high_accuracy else "heyoka"
        self._made: dict[tuple[Problem, float], Any] = {}

    def settings(self, problem: Problem) -> Settings:
        """The order follows the tolerance and is compiled in; below round-off there is nothing."""
        return Settings(1e3, 2.0**52, 10.0**0.5)

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """The integrator is built and compiled before."""
        heyoka = imported("heyoka")
        state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
        # a parameter costs what a constant costs (measured), and the same program serves all strengths
        system = list(zip(state, problem.slope(strength=heyoka.par[0])(*state), strict=True))
        start, times = np.array(problem.start), [0.0, *problem.times.tolist()]
        key = (problem, setting)
        if key not in self._made:
            self._made[key] = heyoka.taylor_adaptive(
                system, start, tol=1 / setting, compact_mode=False, high_accuracy=self.high_accuracy,
                pars=[] if problem.kind == "free" else [problem.strength],
            )  # fmt: skip
        integrator = self._made[key]

        def run() -> Floats:
            integrator.time = 0.0
            integrator.state[:] = start
            return np.asarray(integrator.propagate_grid(times)[-1][1:])

        return run


# --- SciPy ---------------------------------------------------------------------------------------------------------


class SciPy(_ByTolerance):
    """DOP853 of SciPy with a compiled right-hand side. It stops at the output times: its interpolant is of order 7."""

    name = "SciPy DOP853"

    def __init__(self) -> None:
        self._slopes: dict[Problem, Any] = {}

    def settings(self, problem: Problem) -> Settings:
        """SciPy refuses tolerances below 100 eps."""
        return Settings(1e2, 1 / (100 * 2.0**-52), 10.0**0.5)

    def _slope(self, problem: Problem) -> Any:
        if problem not in self._slopes:
            numba = imported("numba")
            slope = numba.njit(problem.slope(numba.njit))

            def of_array(t: float, y: Any) -> Any:
                out = np.empty(7)
                out[0], out[1], out[2], out[3], out[4], out[5], out[6] = slope(y[0], y[1], y[2], y[3], y[4], y[5], y[6])
                return out

            self._slopes[problem] = numba.njit("float64[:](float64, float64[:])")(of_array)
        return self._slopes[problem]

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """An interval after another, each with the last step of the one before."""
        from scipy.integrate import DOP853

        slope, tolerance = self._slope(problem), 1 / setting
        times, start = problem.times.tolist(), np.array(problem.start)

        def run() -> Floats:
            y, t, first, found = start, 0.0, None, []
            for end in times:
                solver = DOP853(slope, t, y, end, rtol=tolerance, atol=tolerance, first_step=first)
                while solver.status == "running":
                    before = solver.h_abs
                    if solver.step() is not None:
                        raise ArithmeticError("SciPy's step became too small")
                y, t, first = solver.y, end, min(before or solver.h_abs, problem.span / problem.outputs)
                found.append(y)
            return np.array(found)

        return run


# --- diffrax -------------------------------------------------------------------------------------------------------


class Diffrax(_ByTolerance):
    """Dopri8 under jit in double precision; it stops at the output times."""

    name = "diffrax Dopri8"

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def _solver(self, problem: Problem) -> Any:
        key = (problem.kind, problem.moments, problem.outputs)
        if key not in self._made:
            jax = imported("jax")
            jax.config.update("jax_enable_x64", True)
            diffrax = imported("diffrax")

            def slope(t: Any, y: Any, strength: Any) -> Any:
                return jax.numpy.stack([jax.numpy.asarray(x) for x in problem.slope(strength=strength)(*y)])

            def solve(start: Any, times: Any, strength: Any, tolerance: Any) -> Any:
                controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
                return diffrax.diffeqsolve(
                    diffrax.ODETerm(slope), diffrax.Dopri8(), 0.0, times[-1], None, start, strength,
                    saveat=diffrax.SaveAt(ts=times), max_steps=10_000_000, adjoint=diffrax.ForwardMode(), throw=False,
                    stepsize_controller=diffrax.ClipStepSizeController(controller, step_ts=times),
                ).ys  # fmt: skip

            self._made[key] = jax.jit(solve)
        return self._made[key]

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """Traced and compiled once for a body."""
        solve = self._solver(problem)
        arguments = (np.array(problem.start), problem.times, problem.strength, 1 / setting)
        return lambda: np.asarray(solve(*arguments))


# --- REBOUND -------------------------------------------------------------------------------------------------------


class Rebound(_ByTolerance):
    """Bulirsch and Stoer's extrapolation, with a compiled right-hand side; it stops at the output times."""

    name = "REBOUND BS"
    PATIENCE = 10.0
    """Seconds. At tolerances near round-off it may shorten its steps for ever."""

    def __init__(self) -> None:
        self._slopes: dict[Problem, Any] = {}

    def settings(self, problem: Problem) -> Settings:
        """Below that nothing is gained."""
        return Settings(1e2, 1e16, 10.0**0.5)

    def _slope(self, problem: Problem) -> Any:
        if problem not in self._slopes:
            numba = imported("numba")
            types = numba.types
            slope = numba.njit(problem.slope(numba.njit))
            pointer = types.CPointer(types.float64)

            def of_pointers(ode: Any, out: Any, y: Any, t: float) -> None:
                out[0], out[1], out[2], out[3], out[4], out[5], out[6] = slope(y[0], y[1], y[2], y[3], y[4], y[5], y[6])

            signature = types.void(types.voidptr, pointer, pointer, types.float64)
            self._slopes[problem] = numba.cfunc(signature)(of_pointers)
        return self._slopes[problem]

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """A new simulation every time, which costs little; the right-hand side is compiled before."""
        rebound = imported("rebound")
        address, start, times = self._slope(problem).address, problem.start, problem.times.tolist()
        first = 0.1 * problem.span / problem.angle
        type_of_slope = rebound.ode.ODEDER

        def run() -> Floats:
            simulation = rebound.Simulation()
            simulation.integrator = "bs"
            simulation.integrator.eps_rel = simulation.integrator.eps_abs = 1 / setting
            simulation.dt = first
            equation = simulation.create_ode(length=7, needs_nbody=False)
            equation._derivatives = type_of_slope(address)  # its setter would wrap compiled code in Python
            for i, x in enumerate(start):
                equation.y[i] = x
            found = np.empty((len(times), 7))
            for k, t in enumerate(times):
                simulation.integrate(t)
                found[k] = equation.y[:7]
            return found

        known = False

        def guarded() -> Floats:
            nonlocal known
            found = run() if known else in_time(run, self.PATIENCE)
            known = True
            return found

        return guarded


# --- MuJoCo --------------------------------------------------------------------------------------------------------


class MuJoCo:
    """A ball joint under gravity, by its fourth-order Runge-Kutta method; the loop runs in C (`mujoco.rollout`)."""

    name, of_target = "MuJoCo RK4", False
    MASS = 1e-3
    """Of the point at which the weight acts, relative to the least moment; the inertia is given about that point."""

    def settings(self, problem: Problem) -> Settings:
        """Numbers of steps."""
        return Settings(4 * problem.angle, 4000 * problem.angle, 1.5)

    def _steps(self, problem: Problem, setting: float) -> int:
        return max(1, round(setting / problem.outputs))

    def told(self, problem: Problem, setting: float, target: float) -> str:
        """Radians a step."""
        return f"{problem.angle / (problem.outputs * self._steps(problem, setting)):.3g} rad"

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """From output time to output time."""
        mujoco, rollout = imported("mujoco"), imported("mujoco.rollout")
        if problem.kind not in ("free", "top"):
            raise Unable("MuJoCo has weights, and no torque of this kind without a callback")
        mass = self.MASS * min(problem.moments)
        about = (problem.moments[0] - mass, problem.moments[1] - mass, problem.moments[2])
        steps = self._steps(problem, setting)
        try:
            model = mujoco.MjModel.from_xml_string(
                f'<mujoco><option integrator="RK4" timestep="{problem.span / (problem.outputs * steps)!r}" '
                f'gravity="0 0 {-problem.strength / mass!r}"><flag contact="disable" constraint="disable"/></option>'
                f'<worldbody><body><joint type="ball"/><inertial pos="0 0 1" mass="{mass!r}" '
                f'diaginertia="{about[0]!r} {about[1]!r} {about[2]!r}"/></body></worldbody></mujoco>'
            )
        except ValueError as reason:
            raise Unable(f"MuJoCo refuses this body: {str(reason).splitlines()[0]}") from None
        data = mujoco.MjData(model)
        start = np.concatenate([[0.0], problem.start])  # time, quaternion, rate in body axes

        def run() -> Floats:
            state, found = start, np.empty((problem.outputs, 7))
            for k in range(problem.outputs):
                states, _ = rollout.rollout(model, data, state, nstep=steps)
                state = states[0, -1]
                found[k] = state[1:8]
            return found

        return run


# --- Orekit --------------------------------------------------------------------------------------------------------


class Orekit:
    """TorqueFree, a closed form for free bodies: nothing to set. It runs in the Java virtual machine."""

    name, of_target = "Orekit TorqueFree", False

    def __init__(self) -> None:
        self._inside: bool | None = None

    def settings(self, problem: Problem) -> Settings:
        """One."""
        return Settings(1.0, 1.0, 2.0)

    def told(self, problem: Problem, setting: float, target: float) -> str:
        """Nothing to tell."""
        return "closed form"

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """The provider is made before."""
        if problem.kind != "free":
            raise Unable("Orekit turns free bodies only")
        peers, jpype = imported("benchmarks.peers"), imported("jpype")
        if self._inside is None:
            self._inside = peers.start_java()
        if not self._inside:
            raise Unable("Orekit is timed inside the Java virtual machine, which takes a Java compiler (javac)")
        try:
            loop = jpype.JClass("TorqueFreeLoop")(
                list(problem.moments), list(problem.omega), jpype.JArray(jpype.JDouble)(problem.times)
            )
        except jpype.JException as refused:
            raise Unable(f"Orekit refuses this body: {refused.message()}") from None
        return lambda: np.array(loop.states()).reshape(-1, 7)


# --- Basilisk ------------------------------------------------------------------------------------------------------


class Basilisk(_ByTolerance):
    """A free hub, by Fehlberg's pair of orders 7 and 8, with Rodrigues' parameters that are switched between steps."""

    name = "Basilisk RKF78"
    TURN = 0.5
    """Radians between the times at which it may switch: it cannot go on through a whole turn."""

    def settings(self, problem: Problem) -> Settings:
        """As others."""
        return Settings(1e2, 1e16, 10.0)

    def runner(self, problem: Problem, setting: float, target: float) -> Run:
        """The simulation is built before; a run initialises and executes it, output time by output time."""
        if problem.kind != "free":
            raise Unable("Basilisk's torques are those of spacecraft in orbit: only free bodies are tried")
        base, macros = imported("Basilisk.utilities.SimulationBaseClass"), imported("Basilisk.utilities.macros")
        spacecraft = imported("Basilisk.simulation.spacecraft")
        integrators = imported("Basilisk.simulation.svIntegrators")
        conversions = imported("Basilisk.utilities.RigidBodyKinematics")
        logging = imported("Basilisk.architecture.bskLogging")
        logging.setDefaultLogLevel(logging.BSK_ERROR)  # it warns of what is registered again by a second run
        # Its clock counts nanoseconds: intervals are halved, so that output times are met exactly.
        pieces = 2 ** math.ceil(math.log2(problem.angle / problem.outputs / self.TURN))
        tick = macros.sec2nano(problem.span / problem.outputs / pieces)
        if tick * pieces * problem.outputs != macros.sec2nano(problem.span):
            raise Unable("the output times are no multiples of Basilisk's nanoseconds")
        simulation = base.SimBaseClass()
        simulation.SetProgressBar(False)
        simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", tick))
        craft = spacecraft.Spacecraft()
        craft.hub.mHub = 1.0
        craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        craft.hub.IHubPntBc_B = np.diag(problem.moments).tolist()
        craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
        craft.hub.omega_BN_BInit = [[w] for w in problem.omega]
        integrator = integrators.svIntegratorRKF78(craft)
        integrator.relTol = integrator.absTol = 1 / setting
        craft.setIntegrator(integrator)
        simulation.AddModelToTask("task", craft)
        try:
            simulation.InitializeSimulation()
        except Exception as refused:
            raise Unable(f"Basilisk refuses this body: {refused}") from None
        kept = (simulation, craft, integrator)  # their pointers to each other do not keep them alive

        def run() -> Floats:
            simulation, craft, _ = kept
            found = np.empty((problem.outputs, 7))
            simulation.InitializeSimulation()
            for k in range(problem.outputs):
                simulation.ConfigureStopTime(tick * pieces * (k + 1))
                simulation.ExecuteSimulation()
                message = craft.scStateOutMsg.read()
                found[k, :4] = conversions.MRP2EP(np.array(message.sigma_BN))
                found[k, 4:] = message.omega_BN_B
            return found

        return run


PEERS: dict[str, Callable[[], Contender]] = {
    "heyoka": Heyoka, "scipy": SciPy, "diffrax": Diffrax, "rebound": Rebound, "mujoco": MuJoCo, "orekit": Orekit,
    "bsk": Basilisk,
}  # fmt: skip
"""By the name under which they are installed."""
