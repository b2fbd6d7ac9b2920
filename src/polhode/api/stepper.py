"""Stepper: bodies that turn step by step, in a loop of the user's."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polhode.api.simulate import check_accepted
from polhode.body import Body
from polhode.compiler import announced_once
from polhode.ensembles.batch import INWARD, Survey, turned
from polhode.ensembles.initial import READERS, Start, Starts, read_states
from polhode.ensembles.result import Ensemble
from polhode.kernels.loop.drive import AT
from polhode.kernels.states import STATE
from polhode.kernels.status import Status
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.methods.exact import Exact
from polhode.problem import Problem, Stats
from polhode.run.binding import OnCompile
from polhode.run.integration import SimulationFailed
from polhode.solution import Solution, assemble
from polhode.stepping.engine import KICK, EngineRecipe, Failure, StepEngine, SteppedBodies
from polhode.support import checks
from polhode.support.arrays import Floats, dots, row_products, to_space
from polhode.torques import CustomTorque, SumTorque, Torque, terms_of
from polhode.torques.no_torque import Free
from polhode.torques.prescribed import ConstantBodyTorque, ConstantSpaceTorque

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

Given = Any
"""A torque given to a call: three numbers, a row for each body, a `Torque`, or a function f(t, q, w)."""
Axes = Literal["body", "space"]
HELD: dict[str, type[ConstantBodyTorque] | type[ConstantSpaceTorque]] = {
    "body": ConstantBodyTorque, "space": ConstantSpaceTorque,
}  # fmt: skip
"""The models of a torque that is held, by the axes in which it is given."""
_FLOATS = frozenset({float, np.float64})
MOST_ENGINES = 32
"""Engines that a stepper keeps; torques that jump at other times need others."""
COVERED_STEPS = 256
"""Fields along an orbit are in tables for this many steps ahead at first, and then for twice as many each time."""
ON_GRID = 1e-6
"""A jump of the torque that lies this close to the end of a step, in steps, is taken to be there, as in `simulate`."""


class Stepper:
    """Bodies that turn step by step, in a loop of yours.

    Parameters
    ----------
    body, torque, omega, attitude, parameters
        As in `simulate` for one body. For many, as in `ensemble`: a list of bodies or rows of omegas, attitudes or
        parameters of a torque of your own. The torque acts in every step; without one the bodies are free.
    method
        A name of `polhode methods`, or a `Method`.
    step
        The length of a step, in s; a negative one goes back. A method with variable steps makes as many as it needs to
        cross it.
    t
        The time at the start.
    state
        For a torque that carries numbers of its own along: their values at the start, as in `simulate` or `ensemble`.
    every
        Keeps a row after every `every` steps, and one at the start, for `solution()`. Default: none but those that
        `record()` keeps.
    on_compile
        Called before a compilation, which takes seconds. Without it, one that takes more than half a second is
        announced on standard error.

    The bits are those that `simulate` computes with the same method and step, and for many bodies those of `ensemble`;
    the time after i steps is t + i step. What a method remembers is kept from call to call. It restarts, as in
    `resume`, when anything has changed: the length of the steps, parameters, a torque that was given, the state.

    `quaternion` and `momentum` are read-only views of the state itself, which change with every step, if the body axes
    are principal axes and the method keeps quaternions of unit length; else they are computed when they are read.
    Everything else is computed when it is read.

    A stepper is for one thread at a time; several steppers can be used by several threads at once. It can be copied
    and pickled, with what the method remembers. It does not look for events: `simulate` does.

    Examples
    --------
    >>> loop = ph.Stepper(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], method="MR2", step=0.1)
    >>> for _ in range(10):
    ...     loop.step()
    ...
    >>> round(loop.t, 9)
    1.0
    """

    def __init__(
        self,
        body: Body | Sequence[Body] | Floats,
        torque: Torque | Sequence[Torque] | None = None,
        *,
        omega: Any,
        attitude: Any = None,
        method: str | Method = "Strang",
        step: float,
        t: float = 0.0,
        parameters: Any = None,
        state: Any = None,
        every: int | None = None,
        on_compile: OnCompile = None,
    ) -> None:
        chosen = method if isinstance(method, Method) else find_method(method)
        t_start = checks.number("t", t)
        h = _checked_length("step", step, t_start)
        self._every = None if every is None else checks.count("every", every, " of steps")
        self._on_compile = on_compile
        self._method, self._step = chosen, h
        starts = Starts.given(body, torque, omega, attitude, parameters, None, None, state)
        self._is_many = starts.count > 1 or not isinstance(body, Body) or np.ndim(omega) > 1
        self._begin(starts, t_start)

    @announced_once
    def _begin(self, starts: Starts, t: float, states: Floats | None = None) -> None:
        """Begins a motion: the arrays of `states`, if there are some, are used again, so that views of them stay."""
        h, unprepared = self._step, starts
        self._covered = (min(t, t + COVERED_STEPS * h), max(t, t + COVERED_STEPS * h))
        """The times for which the torque is prepared, if it has to be."""
        starts = starts.beginning_at(t).for_span(*self._covered)
        self._is_extended = starts is not unprepared
        start = starts.whole
        first = starts.part(0, 1)
        problem = Problem.given(
            first.bodies[0], first.torque(0), omega=first.rates[0], attitude=first.quaternions[0], t_span=(t, t + h),
            state=first.state[0] if first.torque(0).state_names else None,
        )  # fmt: skip
        # The quaternion has been scaled already, and its last bit could change when that is done again.
        problem = first.problem(0, problem.replace(times=np.array([problem.t_end]), every=None))
        self._bodies = SteppedBodies(starts, start, problem, Survey.of(starts) if starts.count > 1 else None)
        self._torque = start.torque(self._bodies.fastest)
        self._width = STATE + len(self._torque.state_names)
        self._has_rotor = start.bodies.rotors is not None
        check_accepted(self._method, self._torque, rotor=self._has_rotor, body=problem.body)
        self._own_values = np.array(np.broadcast_to(start.parameters, (starts.count, start.parameters.shape[1])))
        self._version = 0  # of these values
        self._origin, self._h, self._index = t, h, 0
        self._engines: dict[Any, StepEngine] = {}
        self._spent = 0
        """Evaluations in engines that are no longer there."""
        self._holding: dict[tuple[str, str], StepEngine] = {}
        """The engines of torques that are held, by method and axes."""
        self._current: StepEngine | None = None
        """The engine that can go on with what its method remembers."""
        self._stopped: dict[int, tuple[Status, float, int, str]] = {}
        """Bodies that failed: how, when, after how many steps, and a sentence."""
        self._plain = self._engine(EngineRecipe(self._method, h, self._torque, "own", 0), states)
        if states is None:
            self._states = self._plain.states
        else:
            states[:, : self._width] = self._inward(start.quaternion, start.momentum, start.state)
        self._show()
        self._steps = 0
        self._rows: list[tuple[Floats, Floats]] = []
        """Times of rows, and their states (bodies, rows, numbers)."""
        self._row_at = 0
        """The number of steps at the last row that was kept without `record()`."""
        self._is_disturbed = False
        """Whether anything but the stepper's own torque has acted: then nothing is conserved."""
        if self._every is not None:
            self.record()

    def _show(self) -> None:
        """Makes the views of the state."""
        states = self._states if self._is_many else self._states[0]
        self._quaternion_view, self._momentum_view = states[..., :4], states[..., 4:STATE]
        self._state_view = states[..., STATE : self._width]
        for seen in (self._quaternion_view, self._momentum_view, self._state_view):
            seen.flags.writeable = False
        self._is_tilted = self._plain.lead.binding.tilted

    # --- what can be read

    @property
    def t(self) -> float:
        """The time, in s: the time at the start plus a whole number of steps."""
        return self._origin + self._index * self._h

    @property
    def quaternion(self) -> Floats:
        """The attitude from body to space, scalar first: (4,), or (bodies, 4)."""
        if self._is_tilted or self._method.unscaled:
            q = self._outward(scaled=self._method.unscaled)[0]
            return q if self._is_many else q[0]
        return self._quaternion_view

    @property
    def momentum(self) -> Floats:
        """The angular momentum in body axes, kg m^2/s: (3,), or (bodies, 3)."""
        if not self._is_tilted:
            return self._momentum_view
        if not self._is_many:  # without the quaternion, which takes longer
            return row_products(self._momentum_view, self._bodies.problem.body.axes.T)
        return self._outward()[1]

    @property
    def state(self) -> Floats:
        """The numbers that the torque carries: (numbers,), or (bodies, numbers); a view, as those above."""
        return self._state_view

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the numbers that the torque carries."""
        return self._torque.state_names

    @property
    def omega(self) -> Floats:
        """The angular velocity in body axes, rad/s: (3,), or (bodies, 3); a new array."""
        if not self._is_many:
            return self._bodies.problem.body.rate(self.momentum, self.t)
        return self._bodies.start.bodies.rates(self.momentum[:, None, :], [self.t])[:, 0]

    @property
    def attitude(self) -> Rotation:
        """The rotation from body to space axes; a stack of them for many bodies."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion, scalar_first=True)

    @property
    def spatial_momentum(self) -> Floats:
        """The angular momentum in space axes, kg m^2/s: (3,), or (bodies, 3); a new array."""
        return to_space(self.quaternion, self.momentum)

    @property
    def kinetic_energy(self) -> Any:
        """The kinetic energy, in J: a number, or (bodies,)."""
        own = self._bodies.start.bodies.own_momentum(np.atleast_2d(self.momentum)[:, None, :])[:, 0]
        energy = 0.5 * dots(self.omega, own if self._is_many else own[0])
        return energy if self._is_many else float(energy)

    @property
    def torque(self) -> Torque:
        """The torque that acts in every step; of many bodies that of one."""
        return self._torque

    @property
    def method(self) -> str:
        """The name of the method."""
        return self._method.name

    @property
    def step_length(self) -> float:
        """The length of a step, in s."""
        return self._step

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return self._steps

    @property
    def status(self) -> Any:
        """How it stands with each body of many: (bodies,), 0 for one that goes on; for a single body a number."""
        status = np.zeros(self._bodies.count, dtype=np.int64)
        for k, (how, *_) in self._stopped.items():
            status[k] = how
        return status if self._is_many else int(status[0])

    @property
    def messages(self) -> dict[int, str]:
        """Why bodies failed, by their numbers."""
        return {k: told for k, (*_, told) in self._stopped.items()}

    def __len__(self) -> int:
        return self._bodies.count

    def __repr__(self) -> str:
        whose = f"{len(self):,} bodies" if self._is_many else repr(self._bodies.problem.body)
        acting = self._torque.name
        return f"<Stepper of {whose} under {acting}: {self.method}, step {self._step:g} s, t = {self.t:.6g} s>"

    # --- steps

    def step(
        self, n: int = 1, torque: Given = None, parameters: Any = None, *, frame: Axes = "body", h: float | None = None
    ) -> None:
        """Makes n steps.

        Parameters
        ----------
        n
            The number of steps; n at once are the same as n times one.
        torque
            A torque that acts in these steps only, beside the torque of the stepper. Three numbers, in N m, or a row
            for each body, are held over the steps: nothing is compiled when they change. A function `f(t, q, w)` of
            time, quaternion and angular velocity is asked at the beginning of each step, and its answer is held over
            it; for many bodies it gets and returns rows. A polhode torque is integrated as such.
        parameters
            Other parameters p for the torque of the stepper, from now on; of a sum, those of one part:
            `{"name": values}`. A row for each body, or one for all.
        frame
            The axes of three numbers: "body", with which they turn, or "space".
        h
            Another length for these steps; a negative one goes back.

        Raises `SimulationFailed` if a step cannot be made, with the `solution` up to there: the state is that before
        the step. Of many bodies those that can make all steps, and the others stay where they are from then on;
        `status` and `messages` say which and why.
        """
        if type(n) is not int or n < 1:
            n = checks.count("n", n, " of steps")
        if parameters is not None:
            self.set_parameters(parameters)
        length = self._step if h is None else self._length(h)
        if torque is None:
            self._go(self._ready(self._plain), n, length)
            return
        for count in [1] * n if _is_function(torque) else [n]:
            self._go(self._given(self._method, torque, frame, count * length), count, length)

    def prepare(self, torque: Given = None, *, frame: Axes = "body") -> None:
        """Compiles now what `step` with such a torque would compile at its first call, and makes no step.

        Three numbers stand for all others: exact flows are prepared for a torque of their size, and work with any.
        """
        disturbed = self._is_disturbed
        if torque is not None:
            self._given(self._method, torque, frame, self._step)
        self._is_disturbed = disturbed

    def kick(self, torque: Given, h: float, *, frame: Axes = "body") -> None:
        """Lets a torque act alone for a time h: the momentum moves by h times the torque, at once.

        Attitude and time stay. The torque is one as `step` takes it, and acts without that of the stepper; a polhode
        torque is evaluated at the present state, and None means the torque of the stepper.
        """
        length = checks.number("h", h)
        if torque is None:
            engine = self._ready(self._engine(EngineRecipe(KICK, self._step, self._torque, "own", 0), self._states))
        else:
            engine = self._given(KICK, torque, frame, 0.0)
        self._current, self._is_disturbed = None, True
        engine.restart(self.t, length)
        self._open_window(engine, 0.0, self.t)
        try:
            engine.advance(1)
        except Failure as failure:
            self._fail(engine, failure, self.t)

    def drift(self, h: float) -> None:
        """Turns the bodies freely for a time h, exactly: no torque acts."""
        length = self._length(h)
        if self._has_rotor:
            raise ValueError(
                "a drift is exact, and there is no exact flow for a body with a rotor: make steps of a stepper without "
                "a torque, with a method such as KL6(of=Strang)"
            )
        reach = self._step
        if abs(length) > abs(reach):
            reach = math.ldexp(abs(reach), math.ceil(math.log2(abs(length / reach))))
        engine = self._engine(EngineRecipe(Exact, abs(reach), Free(), "alone", 0), self._states)
        self._is_disturbed = self._is_disturbed or not isinstance(self._torque, Free)
        self._go(engine, 1, length, counted=False)

    def _go(self, engine: StepEngine, n: int, h: float, *, counted: bool = True) -> None:
        """Makes n steps of length h; rows are kept of those that are counted."""
        if self._stopped and len(self._stopped) == self._bodies.count:
            raise SimulationFailed(replace(self._ensemble()[0], message="all bodies have failed: see `messages`"))
        if self._is_extended:
            self._cover(self.t, self.t + n * h)
        if not engine.is_known_always:
            t = self.t
            end = t + n * h
            end -= math.copysign(4 * math.ulp(end), h)
            engine.recipe.torque.check_span(t, end)
            self._bodies.start.bodies[0].check_span(t, end)
        if engine is not self._current or h != engine.h:
            self._current = None  # until it has restarted as a whole
            engine.restart(self.t, h)
            self._current = engine
        recorded = counted and self._every is not None
        is_sampled = self._torque.sample_kernel is not None and engine.recipe.acts != "alone"
        if is_sampled and h < 0.0:
            raise ValueError(f"{self._torque.name} is sampled, which cannot be undone: steps must go forward")
        crosses = engine.is_variable or is_sampled or bool(engine.breakpoints)
        if not recorded and not crosses:
            self._go_unrecorded(engine, n, h, counted=counted)
            return
        try:
            if crosses:
                for _ in range(n):
                    self._cross(engine, h)
                    if recorded:
                        self._record_if_due()
            else:
                self._go_recorded(engine, n, h)
        except SimulationFailed:
            raise
        except BaseException:
            if recorded:
                self._record_if_due()
            raise

    def _cover(self, t: float, end: float) -> None:
        """Prepares the torque for these times, and for as many as it was prepared for beyond them."""
        low, high = self._covered
        if low <= min(t, end) and max(t, end) <= high:
            return
        more = math.copysign(max(high - low, abs(end - t)), end - t)
        self._covered = (min(low, t, end + more), max(high, t, end + more))
        starts = self._bodies.starts.for_span(*self._covered)
        self._bodies = replace(self._bodies, starts=starts, start=starts.whole)
        self._torque = self._bodies.start.torque(self._bodies.fastest)
        fresh = np.broadcast_to(self._bodies.start.parameters, self._own_values.shape)
        others = _are_handles(fresh)
        self._own_values[others] = fresh[others]
        for engine in self._engines.values():
            if engine.recipe.acts != "alone":
                engine.values[:, : fresh.shape[1]][others] = fresh[others]
                engine.breakpoints = tuple(sorted({*engine.breakpoints, *self._torque.breakpoints}))

    def _go_unrecorded(self, engine: StepEngine, n: int, h: float, *, counted: bool = True) -> None:
        before, clock = engine.done, (self._origin, self._h, self._index, self._steps)  # quicker than the property
        try:
            engine.advance(n)
            self._tick(h, n, counted=counted)
        except Failure as failure:
            self._tick(h, engine.done - before, counted=counted)
            self._fail(engine, failure, engine.t0)
        except BaseException:  # a signal may come at any place, the clock itself included
            self._clock = clock
            self._tick(h, engine.made() - before, counted=counted)
            raise

    @property
    def _clock(self) -> tuple[float, float, int, int]:
        """What the time and the number of steps are made of."""
        return self._origin, self._h, self._index, self._steps

    @_clock.setter
    def _clock(self, numbers: tuple[float, float, int, int]) -> None:
        self._origin, self._h, self._index, self._steps = numbers

    def _length(self, h: Any) -> float:
        return _checked_length("h", h, self.t)

    def _tick(self, h: float, made: int, *, counted: bool = True) -> None:
        """Lets the clock go on by this number of steps of length h; a drift is not counted among the steps."""
        if h == self._h:
            self._index += made
        elif h == -self._h:
            self._index -= made
        else:
            self._origin, self._h, self._index = self.t, h, made
        if counted:
            self._steps += made

    def _go_recorded(self, engine: StepEngine, n: int, h: float) -> None:
        every = self._every or 1
        rest = -self._steps % every or every  # steps to the next row
        rows = max(0, 1 + (n - rest) // every)
        if rows == 0 or rest == n:
            self._go_unrecorded(engine, n, h)
            if rows:
                self._record_if_due()
            return
        base, index = (self._origin, self._index) if h == self._h else (self.t, 0)
        before, clock, length = engine.done, self._clock, len(self._rows)
        out: Floats | None = None
        failed: Failure | None = None

        def finish() -> None:
            """Lets the clock go on, and keeps the rows. It can be called again, if a signal has ended it."""
            self._clock = clock
            del self._rows[length:]
            made = engine.made() - before
            kept = max(0, 1 + (made - rest) // every) if out is not None else 0
            if out is not None and kept:
                made_at = np.arange(kept, dtype=np.float64) * every + (index + rest)
                self._rows.append((base + made_at * h, out[:, :kept]))
                self._row_at = self._steps + rest + (kept - 1) * every
            self._tick(h, made)
            engine.stop_recording()

        try:
            out = engine.record_into(rows, every, rest)
            try:
                engine.advance(n)
            except Failure as failure:
                failed = failure
            finish()
        except BaseException:
            finish()
            raise
        if failed is not None:
            self._fail(engine, failed, engine.t0)

    def _cross(self, engine: StepEngine, h: float) -> None:
        """Makes one step in which the torque may jump, or that is made of steps of any length."""
        t = self.t
        end = self._origin + (self._index + 1) * self._h if h == self._h else t + h
        near, far = t + ON_GRID * h, end - ON_GRID * h
        jumps = engine.breakpoints
        inside = jumps[bisect_right(jumps, min(near, far)) : bisect_left(jumps, max(near, far))]
        places = [t, *(inside if h > 0 else reversed(inside)), end]
        before, how, clock = self._states.copy(), engine.count[:, AT.status].copy(), self._clock
        try:
            self._cross_pieces(engine, h, places)
        except SimulationFailed:
            raise
        except BaseException:  # bodies and pieces may be at different times: the step is not made
            self._states[:], engine.count[:, AT.status], self._clock = before, how, clock
            self._current = None
            raise

    def _cross_pieces(self, engine: StepEngine, h: float, places: list[float]) -> None:
        t, inside = places[0], len(places) > 2
        failed: Failure | None = None
        for a, b in pairwise(places):
            piece = b - a if inside or engine.is_variable else h
            jumped = self._open_window(engine, piece, a)
            if self._torque.sample_kernel is not None and engine.recipe.acts != "alone" and self._take_samples(a):
                jumped = True
            try:
                if engine.is_variable:
                    engine.h = h
                    if jumped:
                        engine.done = 0  # the method goes on from the other side of a jump
                    engine.cross(a, piece)
                else:
                    if (jumped and engine.done > 0) or piece != engine.h:
                        engine.restart(a, piece)
                    engine.advance(1)
            except Failure as failure:
                if not self._is_many:  # it stands between two points of the grid
                    reached = a + float(self._states[0, engine.width]) if engine.is_variable else a
                    self._origin, self._h, self._index = reached, self._step, 0
                    self._current = None
                    self._fail(engine, failure, a)
                failed = failure if failed is None else failed.joined(failure)
        self._tick(h, 1)
        if inside and not engine.is_variable:
            self._current = None
        if failed is not None:
            self._fail(engine, failed, t)

    def _take_samples(self, t: float) -> bool:
        """Lets the law of a sampled torque look at the bodies, in plain Python; returns whether a sample was due."""
        kernel = self._torque.sample_kernel
        assert kernel is not None
        q, _, z = self._outward()
        w = np.atleast_2d(self.omega)
        taken = np.array(
            [
                kernel(t, tuple(q[k].tolist()), tuple(w[k].tolist()), self._own_values[k], tuple(z[k].tolist()))
                for k in range(len(z))
            ]
        )
        for k in np.flatnonzero(~np.isfinite(taken).all(axis=1)).tolist():
            wrong = dict(zip(self._torque.state_names, taken[k].tolist(), strict=True))
            listed = ", ".join(f"{name} = {x:g}" for name, x in wrong.items() if not math.isfinite(x))
            raise ValueError(f"the law {self._torque.name} returned {listed} in a sample at t = {t:.12g}, of body {k}")
        self._states[:, STATE : self._width] = taken
        return bool((taken != z).any())

    def _open_window(self, engine: StepEngine, h: float, t: float) -> bool:
        """Shows the torque times between its jumps around the step from t on; returns whether these are others."""
        if not engine.breakpoints:
            return False
        jumps = engine.breakpoints
        place = bisect_right(jumps, t + 0.5 * h)
        low = jumps[place - 1] if place else -math.inf
        high = jumps[place] if place < len(jumps) else math.inf
        if (low, high) == engine.window:
            return False
        engine.set_window(low, high)
        return True

    # --- what acts

    def _engine(self, recipe: EngineRecipe, states: Floats | None = None) -> StepEngine:
        """The engine of a recipe, which is made when it is first wanted."""
        found = self._engines.get(recipe.key)
        if found is None:
            check_accepted(recipe.method, recipe.torque, rotor=self._has_rotor)
            if len(self._engines) >= MOST_ENGINES:
                self._forget_oldest()
            found = self._engines[recipe.key] = StepEngine(self._bodies, recipe, states, self._on_compile)
            found.stop({k: status for k, (status, *_) in self._stopped.items()})
        else:
            found.take(recipe)
        return found

    def _forget_oldest(self) -> None:
        """Lets the engine go that was made first, of those that were made for torques of calls."""
        needed = {id(e) for e in (self._plain, self._current, *self._holding.values())}
        key = next((key for key, engine in self._engines.items() if id(engine) not in needed), None)
        if key is not None:
            self._spent += self._engines.pop(key).nfev

    def _ready(self, engine: StepEngine) -> StepEngine:
        """The engine with the present parameters of the stepper's own torque."""
        if engine.own_version != self._version:
            engine.own_version = self._version
            engine.values[:, : self._own_values.shape[1]] = self._own_values
            if engine.remembers and engine is self._current:
                self._current = None
        return engine

    def _held(self, method: Method, torque: Any, frame: str, what: str = "torque") -> StepEngine:
        """The engine for three numbers, or a row for each body, that are held."""
        if frame not in HELD:
            frame = checks.choice("frame", frame, HELD)
        values: Any
        if self._bodies.count == 1 and not self._is_many:
            values = _three(what, torque)
            first = values
        else:
            values = self._rows_of(what, torque, 3)
            first = tuple(values[self._bodies.fastest if len(values) > 1 else 0].tolist())
        engine = self._holding.get((method.name, frame))
        if engine is None:
            engine = self._holding[method.name, frame] = self._beside(method, HELD[frame](first), 3)
        return self._with(engine, values)

    def _given(self, method: Method, torque: Any, frame: str, time: float) -> StepEngine:
        """The engine for a torque that acts for this time, as it was given to a call."""
        if _is_function(torque):
            return self._held(method, torque(self.t, self.quaternion, self.omega), frame, "what the torque returned")
        if not isinstance(torque, Torque):
            if isinstance(torque, type) and issubclass(torque, Torque):
                raise TypeError(f"torque must not be the class {torque.__name__}: write {torque.__name__}(...)")
            return self._held(method, torque, frame)
        if torque.state_names:
            raise ValueError(
                f"{torque.name} carries numbers along ({', '.join(torque.state_names)}), which a torque of one call "
                "cannot: give it to the Stepper"
            )
        torque = torque.for_span(self.t, self.t + time)
        bodies = self._bodies.start.bodies
        rows = bodies.parameter_rows(torque)
        engine = self._beside(method, torque, rows.shape[1])
        return self._with(engine, rows if self._is_many else tuple(rows[0].tolist()))

    def _beside(self, method: Method, extra: Torque, numbers: int) -> StepEngine:
        """The engine in which another torque acts: alone in a kick, else beside that of the stepper."""
        if method is KICK:
            return self._engine(EngineRecipe(method, self._step, extra, "alone", numbers), self._states)
        return self._engine(EngineRecipe(method, self._step, self._torque + extra, "both", numbers), self._states)

    def _with(self, engine: StepEngine, values: Any) -> StepEngine:
        """The engine with these parameters of the torque that was given."""
        if engine.recipe.acts == "both":
            self._ready(engine)
        if engine.set_extra(values) and engine.remembers and engine is self._current:
            self._current = None
        self._is_disturbed = True
        return engine

    def _rows_of(self, name: str, value: Any, width: int) -> Floats:
        """A row for each body, or one for all."""
        count = self._bodies.count
        shape = checks.shape_of(name, value)
        if shape == (width,):
            return checks.array(name, value, shape)[None, :]
        if shape != (count, width):
            raise ValueError(f"{name} must have the shape ({width},) or ({count}, {width}), not {shape}")
        return checks.array(name, value, shape)

    def set_parameters(self, parameters: Any) -> None:
        """Gives the torque of the stepper other parameters, from now on; nothing is compiled."""
        part: str | None = None
        if isinstance(parameters, Mapping):
            if len(parameters) != 1:
                raise ValueError(f"parameters of a sum are those of one part, as {{'name': values}}, not {parameters}")
            part, parameters = next(iter(parameters.items()))
        owner = self._torque
        if isinstance(owner, SumTorque):
            if part is None:
                raise ValueError(
                    f"parameters are for one part of {owner.name}: name it, as parameters={{'name': values}}"
                )
            places = owner.place_of(part)
            owner = owner.terms[list(owner.parts).index(part)].torque
        elif part is not None and part != owner.name:
            raise ValueError(f"parameters are given for the part {part!r}, but the torque is {owner.name}")
        if not isinstance(owner, CustomTorque):
            raise ValueError(
                f"parameters are for a torque of your own, whose p they are, not for {owner.name}: give step() "
                f"a torque={owner.name}(...) instead, or make another stepper"
            )
        if owner is self._torque:
            places = _places_of(owner)
        old = self._own_values[:, places]
        given = self._rows_of("parameters", np.atleast_1d(parameters), old.shape[1])
        rows = np.array(np.broadcast_to(given, old.shape))
        for k, _ in owner.tables:  # they stay, and each body may have one of its own
            rows[:, k] = old[:, k]
        if not (old == rows).all():
            self._own_values[:, places] = rows
            self._version += 1
            self._is_disturbed = True

    # --- the state

    def set(self, *, omega: Any = None, momentum: Any = None, attitude: Any = None, state: Any = None) -> None:
        """Changes the state where it is: another angular velocity or momentum, in body axes, or another attitude.

        `state` gives the numbers that the torque carries other values. Each is one for all bodies, or a row for each.
        Time and rows stay. Bodies that failed go on from there.
        """
        if omega is not None and momentum is not None:
            raise ValueError("give omega or momentum, not both")
        if omega is momentum is attitude is state is None:
            raise ValueError("give what is to be changed: omega, momentum, attitude or state")
        start, count = self._bodies.start, self._bodies.count
        q, m, z = self._outward()
        if attitude is not None:
            q = self._other_starts(None, attitude, None).whole.quaternion
        if state is not None:
            z = self._other_starts(None, None, state).whole.state
        if momentum is not None:
            m = np.broadcast_to(self._rows_of("momentum", momentum, 3), (count, 3))
        if omega is not None:
            m = replace(start.bodies, t_start=self.t).momentum(self._rows_of("omega", omega, 3), count)
        self._states[:, : self._width] = self._inward(q, m, z)
        self._current, self._is_disturbed = None, True
        self._revive()

    def reset(self, *, omega: Any = None, attitude: Any = None, state: Any = None, t: float | None = None) -> None:
        """Restarts: at the start, or at another one, as a new stepper would. Rows and failures are forgotten.

        Parameters that were changed stay.
        """
        at = self._bodies.problem.t_start if t is None else checks.number("t", t)
        _checked_length("step", self._step, at)
        starts = self._bodies.starts
        if not (omega is attitude is state is None):
            starts = self._other_starts(omega, attitude, state)
        values = self._own_values
        self._begin(starts, at, self._states)
        self._own_values = values

    def _other_starts(self, omega: Any, attitude: Any, state: Any) -> Starts:
        """The same bodies with other states at the start."""
        old = self._bodies.starts
        changed: dict[str, Any] = {}
        readers: dict[str, Any] = {**READERS, "state": partial(read_states, torque=self._torque)}
        wanted = (("rates", "omega", omega), ("quaternions", "attitude", attitude), ("carried", "state", state))
        for key, name, value in wanted:
            if value is not None:
                rows = readers[name](name, value)
                if len(rows) not in (1, old.count):
                    raise ValueError(f"{name} must have a row for each of the {old.count} bodies, not {len(rows)}")
                changed[key] = rows
        return replace(old, **changed)

    def _revive(self) -> None:
        """Lets bodies go on that had failed."""
        self._stopped = {}
        for engine in self._engines.values():
            engine.stop({})

    def _inward(self, q: Floats, m: Floats, z: Floats) -> Floats:
        """States in principal axes from quaternions, momenta and carried numbers in the users' axes."""
        if self._bodies.count == 1:
            return self._plain.lead.frame.inward(q[0], m[0], z[0])[None, :]
        assert self._plain.run is not None
        if self._plain.run.axes is not None:
            q, m = turned(q, m, self._plain.run.axes, INWARD)
        return np.concatenate([q, m, z], axis=1)

    def _outward(self, states: Floats | None = None, *, scaled: bool = False) -> tuple[Floats, Floats, Floats]:
        """Quaternions, momenta and carried numbers in the users' axes, of states (bodies, ..., numbers)."""
        given = self._states[:, : self._width] if states is None else states
        if self._bodies.count == 1 and states is None and not scaled:
            q, m = self._plain.lead.frame.outward_one(given[0])
            return q[None, :], m[None, :], given[:, STATE:]
        if self._bodies.count == 1:
            rows = given.reshape(-1, self._width)
            q, m, z = self._plain.lead.frame.outward(rows, scaled=scaled)
            before = given.shape[:-1]
            return q.reshape(*before, 4), m.reshape(*before, 3), z.reshape(*before, z.shape[-1])
        assert self._plain.run is not None
        deep = given if states is not None else given[:, None, :]
        q, m, z = self._plain.run.outward(deep, as_computed=not scaled)
        return (q, m, z) if states is not None else (q[:, 0], m[:, 0], z[:, 0])

    # --- results

    def _record_if_due(self) -> None:
        """Keeps a row if the steps so far ask for one, and it has not been kept."""
        if self._row_at != self._steps and self._steps % (self._every or 1) == 0:
            self.record()
            self._row_at = self._steps

    def record(self) -> None:
        """Keeps the present state as a row of `solution()`."""
        states = self._states[:, None, : self._width].copy()
        states[list(self._stopped)] = np.nan
        self._rows.append((np.array([self.t]), states))

    def solution(self) -> Any:
        """What was recorded as a `Solution`, of many bodies as an `Ensemble`; else the present state alone.

        `resume` goes on from it. Its torque is the stepper's own: of a motion in which another torque acted, a state
        was set or a kick was given, it claims nothing to be conserved.
        """
        return self._ensemble() if self._is_many else self._solution(Status.OK, "")

    def _recorded(self) -> tuple[Floats, Floats]:
        """Times, and states (bodies, rows, numbers)."""
        if not self._rows:
            return np.array([self.t]), self._states[:, None, : self._width].copy()
        if len(self._rows) > 1:  # joined once, so that the next call need not
            t, states = (np.concatenate(x, axis=k) for k, x in enumerate(zip(*self._rows, strict=True)))
            self._rows = [(t, states)]
        t, states = self._rows[0]
        return t.copy(), states.copy()

    def _problem(self) -> Problem:
        acting = self._torque if self._is_many else self._torque_on(0)
        return self._bodies.problem.replace(t_end=self.t, times=None, every=self._every or 1, torque=acting)

    def _torque_on(self, k: int) -> Torque:
        """The torque of the stepper on one body, with its present parameters."""
        acting, row = self._bodies.start.torque(k), self._own_values[k]
        for part, place in self._changed_parts().items():
            if isinstance(acting, SumTorque):
                acting = acting.with_parameters(part, row[place])
            elif isinstance(acting, CustomTorque):
                acting = acting.with_parameters(row[place])
        return acting

    def _changed_parts(self) -> dict[str, slice]:
        """The parts of the torque whose parameters are not those of the start, with the places of these."""
        differ = (self._own_values != self._bodies.start.parameters).any(axis=0)
        return {part: place for part, place in _places_of_parts(self._torque).items() if differ[place].any()}

    def _start(self) -> Start:
        """The start of all bodies, with the present parameters of the torque."""
        start, changed = self._bodies.start, self._changed_parts()
        if not changed:
            return start
        if len(changed) > 1 or len(start.torques) > 1 or start.custom_parameters is not None:
            torques = tuple(self._torque_on(k) for k in range(start.count))
            return replace(start, torques=torques, custom_parameters=None, summand=None)
        ((part, place),) = changed.items()
        summand = part if isinstance(self._torque, SumTorque) else None
        return replace(start, custom_parameters=self._own_values[:, place].copy(), summand=summand)

    def _memory(self) -> Floats:
        """What the method remembers, (bodies, numbers), if it can go on with it."""
        plain = self._plain
        goes_on = self._current is plain and plain.h == self._step and self._steps > 0
        return plain.carried[:, : plain.memory if goes_on else 0].copy()

    def _stats(self) -> Stats:
        return Stats(self._steps * len(self), self._spent + sum(e.nfev for e in self._engines.values()))

    def _solution(self, status: Status, message: str) -> Solution:
        t, states = self._recorded()
        scaled = self._method.unscaled
        (q, m, z), (last_q, last_m, last_z) = self._outward(states, scaled=scaled), self._outward()
        told = message or f"reached t = {self.t:.12g} in {self._steps} steps"
        end = (self.t, last_q[0].copy(), last_m[0].copy(), last_z[0].copy())
        return assemble(
            self._problem(), self._plain.lead.plan, self._stats(), (t, q[0], m[0], z[0]), end, status, told,
            tuple(self._memory()[0].tolist()), torque_changed=self._is_disturbed,
        )  # fmt: skip

    def _ensemble(self) -> Ensemble:
        t, states = self._recorded()
        (q, m, z), (last_q, last_m, last_z) = self._outward(states, scaled=True), self._outward()
        count, plain = self._bodies.count, self._plain
        t_last, steps = np.full(count, self.t), np.full(count, self._steps)
        for k, (_, when, made, _) in self._stopped.items():
            t_last[k], steps[k] = when, made
        stats = self._stats()
        rows = np.count_nonzero(~np.isnan(states[:, :, 0]), axis=1)
        batch = plain.batch
        return Ensemble(
            self._problem(), self._plain.lead.plan, stats, t, q, m, self.status, t_last, steps,
            np.full(count, stats.nfev // count), last_q.copy(), last_m.copy(), self._memory(), self.messages,
            self._start(), rows, 1 if batch is None else batch.lanes,
            "" if batch is None else batch.why_not_packed, state=z, last_state=last_z.copy(),
        )  # fmt: skip

    def _fail(self, engine: StepEngine, failure: Failure, t0: float) -> None:
        """Raises SimulationFailed; of many bodies for the first that failed, after the others have gone on."""
        new = {k: status for k, status in failure.failures.items() if k not in self._stopped}
        for k, status in new.items():
            made = self._steps
            when = self.t
            if self._is_many:
                done = int(engine.count[k, AT.done])
                when = t0 + float(self._states[k, engine.width]) if engine.is_variable else engine.t0 + done * engine.h
                missing = 1 if engine.is_variable else engine.done - done
                is_step = engine.recipe.method is not KICK and engine.recipe.acts != "alone"
                made = self._steps - (missing if is_step else 0)
            told = engine.message(k, status, when, made, failure.raised.get(k))
            if not self._is_many:
                raise SimulationFailed(self._solution(status, told)) from None
            self._stopped[k] = (status, when, made, told)
        for other in self._engines.values():
            other.stop({k: status for k, (status, *_) in self._stopped.items()})
        first = next(iter(new))
        more = f"; {len(new) - 1} more bodies failed" if len(new) > 1 else ""
        made_of_one = self._ensemble()[first]
        raise SimulationFailed(replace(made_of_one, message=f"body {first}: {made_of_one.message}{more}")) from None

    # --- copies

    def copy(self) -> Stepper:
        """Another stepper at the same state, which goes on by itself with the same bits."""
        other = object.__new__(Stepper)
        other.__dict__.update(self.__dict__)
        other._states = self._states.copy()
        other._own_values = self._own_values.copy()
        other._rows, other._stopped = list(self._rows), dict(self._stopped)
        other._engines = {key: engine.copy(other._states) for key, engine in self._engines.items()}
        by_old = {id(old): other._engines[key] for key, old in self._engines.items()}
        other._plain = by_old[id(self._plain)]
        other._holding = {key: by_old[id(old)] for key, old in self._holding.items()}
        other._current = None if self._current is None else by_old[id(self._current)]
        other._show()
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Stepper:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: compiled programs stay behind, and are found again."""
        state = self.__dict__.copy()
        views = [f"_{name}_view" for name in ("quaternion", "momentum", "state")]
        for name in ("_engines", "_holding", "_plain", "_current", "_on_compile", *views):
            del state[name]
        engines = list(self._engines.values())
        state["engines"] = [(e.recipe, e.saved()) for e in engines]
        state["current"] = None if self._current is None else engines.index(self._current)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved, current = state["engines"], state["current"]
        state = {name: value for name, value in state.items() if name not in ("engines", "current")}
        self.__dict__.update(state)
        self._on_compile = None
        self._engines, self._holding = {}, {}
        # Tables and functions that are called are elsewhere in another process: only numbers of the user's stay.
        fresh = np.array(np.broadcast_to(self._bodies.start.parameters, self._own_values.shape))
        for places in _places_of_parts(self._torque).values():
            stay = ~_are_handles(self._own_values[:, places])
            fresh[:, places][stay] = self._own_values[:, places][stay]
        self._own_values = fresh
        engines = []
        for recipe, numbers in saved:
            if recipe.method.name == KICK.name:
                recipe = recipe._replace(method=KICK)
            engine = self._engines[recipe.key] = StepEngine(self._bodies, recipe, self._states, None)
            engine.restore(numbers)
            if recipe.acts != "alone":
                engine.values[:, : self._own_values.shape[1]] = self._own_values
            if engine.extra is not None and self._is_of_process(recipe, engine.extra):
                engine.extra = None
            engines.append(engine)
        self._plain, self._current = engines[0], None if current is None else engines[current]
        self._show()

    def _is_of_process(self, recipe: EngineRecipe, extra: Any) -> bool:
        """Whether there are handles of tables or addresses among the parameters of a torque that was given."""
        if bool(_are_handles(np.asarray(extra)).any()):
            return True
        given = recipe.torque
        if recipe.acts == "both" and isinstance(given, SumTorque):
            return any(term.torque.calls_out for term in given.terms[len(terms_of(self._torque)) :])
        return given.calls_out


def _is_function(torque: Given) -> bool:
    """Whether this is a function that is called at the beginning of each step."""
    return callable(torque) and not isinstance(torque, Torque | type)


def _three(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite floats; the usual forms are read quickly, and `checks` says what is wrong with others."""
    kind = type(value)
    if kind is np.ndarray and value.shape == (3,) and value.dtype == checks.DOUBLE:
        x, y, z = value.tolist()
    elif (kind is tuple or kind is list) and len(value) == 3 and _FLOATS.issuperset(map(type, value)):
        x, y, z = float(value[0]), float(value[1]), float(value[2])
    else:
        return checks.vector(name, value)
    return (x, y, z) if math.isfinite(x + y + z) else checks.vector(name, value)


def _places_of(torque: CustomTorque) -> slice:
    """Where the user's parameters stand in p: behind the addresses of a function that is called."""
    return slice(torque.head_size, torque.head_size + len(torque.values))


def _places_of_parts(torque: Torque) -> dict[str, slice]:
    """Where the user's parameters of each part stand in p."""
    if isinstance(torque, CustomTorque):
        return {torque.name: _places_of(torque)}
    if not isinstance(torque, SumTorque):
        return {}
    terms = zip(torque.parts, torque.terms, strict=True)
    return {name: torque.place_of(name) for name, term in terms if isinstance(term.torque, CustomTorque)}


def _are_handles(values: Floats) -> Any:
    """Whether each parameter is the handle of a table, as `kernels.algebra.vector_table.is_handle` says of one."""
    return (values > 0.0) & (values < sys.float_info.min)


def _checked_length(name: str, value: Any, t: float) -> float:
    """The length of a step that can be told from nothing at the time t."""
    h = checks.number(name, value)
    if h == 0.0:
        raise ValueError(f"{name} must not be zero")
    if abs(h) <= 4 * math.ulp(t):
        raise ValueError(f"{name} {h:g} is lost in the round-off of the time {t:g}: take a longer step")
    return h
