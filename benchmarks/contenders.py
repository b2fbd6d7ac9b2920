"""polhode and its peers behind one interface: a motion and a setting in, states and a time out.

A setting is one positive number, the greater the finer: a number of steps, or the inverse of a tolerance. Everything
that happens once for a motion (compilation, tracing, building an integrator) is done before the clock starts.
"""

import importlib
import math
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

import polhode as ph
from benchmarks.motions import Floats, Motion
from polhode.accuracy import character, choice
from polhode.api.simulate import checked_arguments
from polhode.kernels.judge import COARSER
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Plan
from polhode.run.integration import solve

Run = Callable[[], Floats]
"""Rows of quaternion and rate at the output times."""


class Unable(Exception):
    """A competitor cannot be installed, or cannot follow a motion; the message says why."""


@dataclass(frozen=True)
class Settings:
    """Settings from coarse to fine, in equal ratios."""

    coarsest: float
    finest: float
    ratio: float


class Contender(Protocol):
    """What the measurements use of a competitor."""

    @property
    def name(self) -> str: ...

    @property
    def depends_on_target(self) -> bool:
        """Whether a run depends on the target, and not on the setting alone."""
        ...

    def settings(self, motion: Motion) -> Settings: ...

    def runner(self, motion: Motion, setting: float, target: float) -> Run: ...

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        """Returns the setting in words."""
        ...


TOLERANCES = Settings(1e2, 1e17, 10.0**0.5)
"""Inverses of tolerances."""


class _ByTolerance:
    depends_on_target = False

    def settings(self, motion: Motion) -> Settings:
        return TOLERANCES

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        return f"tolerance {1 / setting:.1e}"


def imported(module: str) -> Any:
    """Returns a peer, or raises the reason why it is missing."""
    try:
        return importlib.import_module(module)
    except Exception as reason:
        raise Unable(f"{module} cannot be imported: {reason}") from None


def in_time(run: Run, seconds: float) -> Floats:
    """Returns the result of a run, if it ends in time. Compiled code that reacts to Ctrl-C is stopped by it."""
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
    """Holds a method and its step."""

    method: Method
    step: float
    longest_step: float | None
    """The longest step that its exact flows are prepared for."""


@dataclass(frozen=True)
class Polhode:
    """Runs one method of polhode through `simulate`, with output at the listed times."""

    method: Method
    looser: float = 1.0
    """Where equations are solved by iteration: the multiple of what `simulate(rtol=...)` allows."""

    @cached_property
    def _options(self) -> frozenset[str]:
        return frozenset(option.name for option in self.method.options)

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.method.name

    @property
    def depends_on_target(self) -> bool:
        """Whether equations are solved by iteration, as accurately as the target asks, as `simulate(rtol=...)` does."""
        return not self.method.variable_steps and "tolerance" in self._options

    def settings(self, motion: Motion) -> Settings:
        """Returns numbers of steps, or tolerances."""
        if self.method.variable_steps:
            return TOLERANCES
        if self.method.order is None:  # exact: one step to each output time
            return Settings(float(motion.outputs), float(motion.outputs), 2.0)
        whole = character.character(motion.problem)
        c = whole.seen_by(self.method)
        model = choice.model_of(self.method, symmetric=whole.comoving is not None)
        longest = model.longest_turn if model else LONGEST
        if model and not model.flows:
            longest /= COARSER  # `simulate` leaves room for its companion
        angle = motion.angle * c.turn / whole.turn
        if model and model.longest_flow and not c.symmetric:  # beyond its reach an exact flow goes in two pieces
            longest = min(longest, 0.97 * c.reach / model.longest_flow)
        return Settings(max(1.0, angle / longest), angle / SHORTEST, 1.25)

    def steps(self, motion: Motion, setting: float) -> int:
        """Returns a number of steps with as many for each output interval, so that output times are steps."""
        return motion.outputs * max(1, round(setting / motion.outputs))

    def chosen(self, motion: Motion, setting: float, target: float) -> Settled:
        """Returns the method and step with which `simulate(rtol=...)` would make this number of steps."""
        if self.method.variable_steps:
            method = self.method.replace(rtol=float(f"{1 / setting:.3g}"))
            return Settled(method, motion.span / motion.outputs, None)
        found = choice.candidate(self.method, character.character(motion.problem), target)
        plan = found.plan(motion.problem, self.steps(motion, setting), self.looser * target)
        return Settled(plan.method, plan.step, plan.longest_step)

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a function that makes a whole call."""
        simulate = self.bound(motion, setting, target)
        return lambda: rows(simulate())

    def bound(self, motion: Motion, setting: float, target: float) -> Callable[[], ph.Solution]:
        """Does what `simulate(step=...)` does, except that the exact flows of neighbouring steps share a program.

        So do those of `simulate(rtol=...)`; otherwise every step that is tried would be compiled anew.
        """
        settled = self.chosen(motion, setting, target)
        body, torque, start, times = motion.body, motion.torque, _start(motion), motion.times

        def simulate() -> ph.Solution:
            asked, plan = checked_arguments(
                body, torque, **start, step=settled.step, method=settled.method, t_eval=times
            )
            assert isinstance(plan, Plan)
            return solve(asked, plan.replace(longest_step=settled.longest_step))

        return simulate

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        """Returns the method and the radians in a step, or its tolerance."""
        settled = self.chosen(motion, setting, target)
        if self.method.variable_steps:
            return settled.method.name
        return f"{settled.method.name}, {settled.step * motion.angle / motion.span:.3g} rad"


def _start(motion: Motion) -> dict[str, Any]:
    return {"omega": motion.omega, "attitude": motion.attitude, "t_span": (0.0, motion.span)}


class Closed:
    """Runs `FreeMotion`, set up beforehand: the closed form at the output times."""

    name, depends_on_target = "FreeMotion", False

    def settings(self, motion: Motion) -> Settings:
        """Returns the only setting."""
        return Settings(1.0, 1.0, 2.0)

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        """Returns nothing: there is no setting."""
        return self.name

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a function that calls `at`."""
        free, times = ph.FreeMotion(motion.body, motion.omega, motion.attitude), motion.times

        def run() -> Floats:
            found = free.at(times)
            return np.hstack([found.quaternion, found.omega])

        return run


def rows(solution: ph.Solution) -> Floats:
    """Returns quaternions and rates in rows."""
    return np.hstack([solution.quaternion, solution.omega])


def automatic(motion: Motion, target: float) -> ph.Solution:
    """Calls `simulate` as a user would: with a tolerance."""
    return ph.simulate(motion.body, motion.torque, **_start(motion), rtol=target, t_eval=motion.times)


CANDIDATES = (
    "SABA8", "SABA10", "ABA104", "ABA864", "ABA1064", "Strang", "Strang(corrector=17)", "KL8(of=Strang)",
    "BlanesMoanS10", "SRKN11", "G8", "G8(compensated=true)", "G8(comoving=true)", "DOP853", "A8", "A10", "A12",
)  # fmt: skip
"""Methods that the map tries with hindsight; names that do not exist are skipped."""


def candidates(names: Sequence[str] = CANDIDATES) -> list[Polhode]:
    """Returns those of the methods that exist."""
    found = []
    for name in names:
        try:
            found.append(Polhode(find_method(name)))
        except (ValueError, TypeError):
            continue
    return found


# --- heyoka --------------------------------------------------------------------------------------------------------


class Heyoka(_ByTolerance):
    """Runs heyoka: Taylor series of adaptive order and step, not in compact mode, with its own dense output."""

    def __init__(self, high_accuracy: bool = False) -> None:
        self.high_accuracy = high_accuracy
        self.name = "heyoka, high accuracy" if high_accuracy else "heyoka"
        self._made: dict[tuple[Motion, float], Any] = {}

    def settings(self, motion: Motion) -> Settings:
        """Returns tolerances. The order follows the tolerance and is compiled in; below round-off there is nothing."""
        return Settings(1e3, 2.0**52, 10.0**0.5)

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run of an integrator that is built and compiled beforehand."""
        heyoka = imported("heyoka")
        state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
        # a parameter costs what a constant costs (measured), and the same program serves all strengths
        system = list(zip(state, motion.slope(strength=heyoka.par[0])(*state), strict=True))
        start, times = np.array(motion.start), [0.0, *motion.times.tolist()]
        key = (motion, setting)
        if key not in self._made:
            self._made[key] = heyoka.taylor_adaptive(
                system, start, tol=1 / setting, compact_mode=False, high_accuracy=self.high_accuracy,
                pars=[] if motion.kind == "free" else [motion.strength],
            )  # fmt: skip
        integrator = self._made[key]

        def run() -> Floats:
            integrator.time = 0.0
            integrator.state[:] = start
            return np.asarray(integrator.propagate_grid(times)[-1][1:])

        return run


# --- SciPy ---------------------------------------------------------------------------------------------------------


class SciPy(_ByTolerance):
    """Runs SciPy's DOP853 with a compiled right-hand side, stopped at the output times: its interpolant has order 7."""

    name = "SciPy DOP853"

    def __init__(self) -> None:
        self._slopes: dict[Motion, Any] = {}

    def settings(self, motion: Motion) -> Settings:
        """Returns tolerances; SciPy refuses those below 100 eps."""
        return Settings(1e2, 1 / (100 * 2.0**-52), 10.0**0.5)

    def _slope(self, motion: Motion) -> Any:
        if motion not in self._slopes:
            numba = imported("numba")
            slope = numba.njit(motion.slope(numba.njit))

            def of_array(t: float, y: Any) -> Any:
                out = np.empty(7)
                out[0], out[1], out[2], out[3], out[4], out[5], out[6] = slope(y[0], y[1], y[2], y[3], y[4], y[5], y[6])
                return out

            self._slopes[motion] = numba.njit("float64[:](float64, float64[:])")(of_array)
        return self._slopes[motion]

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run of one interval after another, each beginning with the last step of the one before."""
        from scipy.integrate import DOP853

        slope, tolerance = self._slope(motion), 1 / setting
        times, start = motion.times.tolist(), np.array(motion.start)

        def run() -> Floats:
            y, t, first, found = start, 0.0, None, []
            for end in times:
                solver = DOP853(slope, t, y, end, rtol=tolerance, atol=tolerance, first_step=first)
                while solver.status == "running":
                    before = solver.h_abs
                    if solver.step() is not None:
                        raise ArithmeticError("SciPy's step became too small")
                y, t, first = solver.y, end, min(before or solver.h_abs, motion.span / motion.outputs)
                found.append(y)
            return np.array(found)

        return run


# --- diffrax -------------------------------------------------------------------------------------------------------


class Diffrax(_ByTolerance):
    """Runs Dopri8 under jit in double precision; it stops at the output times."""

    name = "diffrax Dopri8"

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def _solver(self, motion: Motion) -> Any:
        key = (motion.kind, motion.moments, motion.outputs)
        if key not in self._made:
            jax = imported("jax")
            jax.config.update("jax_enable_x64", True)
            diffrax = imported("diffrax")

            def slope(t: Any, y: Any, strength: Any) -> Any:
                return jax.numpy.stack([jax.numpy.asarray(x) for x in motion.slope(strength=strength)(*y)])

            def solve(start: Any, times: Any, strength: Any, tolerance: Any) -> Any:
                controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
                return diffrax.diffeqsolve(
                    diffrax.ODETerm(slope), diffrax.Dopri8(), 0.0, times[-1], None, start, strength,
                    saveat=diffrax.SaveAt(ts=times), max_steps=10_000_000, adjoint=diffrax.ForwardMode(), throw=False,
                    stepsize_controller=diffrax.ClipStepSizeController(controller, step_ts=times),
                ).ys  # fmt: skip

            self._made[key] = jax.jit(solve)
        return self._made[key]

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run that is traced and compiled once for a body."""
        solve = self._solver(motion)
        arguments = (np.array(motion.start), motion.times, motion.strength, 1 / setting)
        return lambda: np.asarray(solve(*arguments))


# --- REBOUND -------------------------------------------------------------------------------------------------------


class Rebound(_ByTolerance):
    """Runs Bulirsch and Stoer's extrapolation, with a compiled right-hand side; it stops at the output times."""

    name = "REBOUND BS"
    PATIENCE = 10.0
    """In seconds. At tolerances near round-off it may shorten its steps for ever."""

    def __init__(self) -> None:
        self._slopes: dict[Motion, Any] = {}

    def settings(self, motion: Motion) -> Settings:
        """Returns tolerances; below the last nothing is gained."""
        return Settings(1e2, 1e16, 10.0**0.5)

    def _slope(self, motion: Motion) -> Any:
        if motion not in self._slopes:
            numba = imported("numba")
            types = numba.types
            slope = numba.njit(motion.slope(numba.njit))
            pointer = types.CPointer(types.float64)

            def of_pointers(ode: Any, out: Any, y: Any, t: float) -> None:
                out[0], out[1], out[2], out[3], out[4], out[5], out[6] = slope(y[0], y[1], y[2], y[3], y[4], y[5], y[6])

            signature = types.void(types.voidptr, pointer, pointer, types.float64)
            self._slopes[motion] = numba.cfunc(signature)(of_pointers)
        return self._slopes[motion]

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run of a new simulation, which costs little; the right-hand side is compiled beforehand."""
        rebound = imported("rebound")
        address, start, times = self._slope(motion).address, motion.start, motion.times.tolist()
        first = 0.1 * motion.span / motion.angle
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
    """Runs a ball joint under gravity by its fourth-order Runge-Kutta method; the loop runs in C (`mujoco.rollout`)."""

    name, depends_on_target = "MuJoCo RK4", False
    MASS = 1e-3
    """Mass of the point at which the weight acts, relative to the least moment; the inertia is about that point."""

    def settings(self, motion: Motion) -> Settings:
        """Returns numbers of steps."""
        return Settings(4 * motion.angle, 4000 * motion.angle, 1.5)

    def _steps(self, motion: Motion, setting: float) -> int:
        return max(1, round(setting / motion.outputs))

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        """Returns the radians in a step."""
        return f"{motion.angle / (motion.outputs * self._steps(motion, setting)):.3g} rad"

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run from output time to output time."""
        mujoco, rollout = imported("mujoco"), imported("mujoco.rollout")
        if motion.kind not in ("free", "top"):
            raise Unable("MuJoCo has weights, and no torque of this kind without a callback")
        mass = self.MASS * min(motion.moments)
        about = (motion.moments[0] - mass, motion.moments[1] - mass, motion.moments[2])
        steps = self._steps(motion, setting)
        try:
            model = mujoco.MjModel.from_xml_string(
                f'<mujoco><option integrator="RK4" timestep="{motion.span / (motion.outputs * steps)!r}" '
                f'gravity="0 0 {-motion.strength / mass!r}"><flag contact="disable" constraint="disable"/></option>'
                f'<worldbody><body><joint type="ball"/><inertial pos="0 0 1" mass="{mass!r}" '
                f'diaginertia="{about[0]!r} {about[1]!r} {about[2]!r}"/></body></worldbody></mujoco>'
            )
        except ValueError as reason:
            raise Unable(f"MuJoCo refuses this body: {str(reason).splitlines()[0]}") from None
        data = mujoco.MjData(model)
        start = np.concatenate([[0.0], motion.start])  # time, quaternion, rate in body axes

        def run() -> Floats:
            state, found = start, np.empty((motion.outputs, 7))
            for k in range(motion.outputs):
                states, _ = rollout.rollout(model, data, state, nstep=steps)
                state = states[0, -1]
                found[k] = state[1:8]
            return found

        return run


# --- Orekit --------------------------------------------------------------------------------------------------------


class Orekit:
    """Runs TorqueFree, a closed form for free bodies without settings, in the Java virtual machine."""

    name, depends_on_target = "Orekit TorqueFree", False

    def __init__(self) -> None:
        self._inside: bool | None = None

    def settings(self, motion: Motion) -> Settings:
        """Returns the only setting."""
        return Settings(1.0, 1.0, 2.0)

    def describe(self, motion: Motion, setting: float, target: float) -> str:
        """Returns nothing: there is no setting."""
        return "closed form"

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run of a provider that is made beforehand."""
        if motion.kind != "free":
            raise Unable("Orekit turns free bodies only")
        peers, jpype = imported("benchmarks.peers"), imported("jpype")
        if self._inside is None:
            self._inside = peers.start_java()
        if not self._inside:
            raise Unable("Orekit is timed inside the Java virtual machine, which takes a Java compiler (javac)")
        try:
            loop = jpype.JClass("TorqueFreeLoop")(
                list(motion.moments), list(motion.omega), jpype.JArray(jpype.JDouble)(motion.times)
            )
        except jpype.JException as refused:
            raise Unable(f"Orekit refuses this body: {refused.message()}") from None
        return lambda: np.array(loop.states()).reshape(-1, 7)


# --- Basilisk ------------------------------------------------------------------------------------------------------


class Basilisk(_ByTolerance):
    """Runs a free hub by Fehlberg's pair of orders 7 and 8, with Rodrigues' parameters that switch between steps."""

    name = "Basilisk RKF78"
    TURN = 0.5
    """Radians between the times at which it may switch: it cannot go on through a whole turn."""

    def settings(self, motion: Motion) -> Settings:
        """Returns tolerances, as for the others."""
        return Settings(1e2, 1e16, 10.0)

    def runner(self, motion: Motion, setting: float, target: float) -> Run:
        """Returns a run that initialises and executes a simulation built beforehand, output time by output time."""
        if motion.kind != "free":
            raise Unable("Basilisk's torques are those of spacecraft in orbit: only free bodies are tried")
        base, macros = imported("Basilisk.utilities.SimulationBaseClass"), imported("Basilisk.utilities.macros")
        spacecraft = imported("Basilisk.simulation.spacecraft")
        integrators = imported("Basilisk.simulation.svIntegrators")
        conversions = imported("Basilisk.utilities.RigidBodyKinematics")
        logging = imported("Basilisk.architecture.bskLogging")
        logging.setDefaultLogLevel(logging.BSK_ERROR)  # it warns of what is registered again by a second run
        # Its clock counts nanoseconds: intervals are halved, so that output times are met exactly.
        pieces = 2 ** math.ceil(math.log2(motion.angle / motion.outputs / self.TURN))
        tick = macros.sec2nano(motion.span / motion.outputs / pieces)
        if tick * pieces * motion.outputs != macros.sec2nano(motion.span):
            raise Unable("the output times are no multiples of Basilisk's nanoseconds")
        simulation = base.SimBaseClass()
        simulation.SetProgressBar(False)
        simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", tick))
        craft = spacecraft.Spacecraft()
        craft.hub.mHub = 1.0
        craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        craft.hub.IHubPntBc_B = np.diag(motion.moments).tolist()
        craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
        craft.hub.omega_BN_BInit = [[w] for w in motion.omega]
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
            found = np.empty((motion.outputs, 7))
            simulation.InitializeSimulation()
            for k in range(motion.outputs):
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
"""The peers by the name under which they are installed."""
