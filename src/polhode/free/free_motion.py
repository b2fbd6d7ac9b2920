"""FreeMotion: the exact motion of a free body, at any time."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from polhode.attitudes import WithAttitudes
from polhode.body import NAMED, Body
from polhode.compiler import compiles, repaid_program
from polhode.kernels.algebra.exact_fma import with_fused
from polhode.kernels.algebra.quat import to_space
from polhode.kernels.free.closed_form import CONSTANTS, MOTION, STEADY, Constants, evaluate_rows, set_up_rows
from polhode.plots.turning import Turning
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.extras import missing
from polhode.text.terminal import duration

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from polhode.free.from_observations import MomentumAngles
    from polhode.free.jacobian_motion import Covariance
    from polhode.free.proven import ProvenState

EPSILON = 2.0**-52

NEGLIGIBLE = 1e-285
"""A component of the rate smaller than this times the largest is replaced by zero: its inverse would overflow, and the
second half of its product with a moment would be lost."""
MOST_INTERPRETED, MOST_INTERPRETED_STATES = 100, 1000
"""The motions that a call sets up, and the states that it evaluates, in plain Python if no compiled program is kept:
they take 0.1 s, compilation takes 1.5 s. The program gives the same bits."""
HUGE_PAGE_BYTES = 2**21
"""Results at least this large begin on such a boundary. The system then gives memory in pages of this size, where it
has them (Linux, as NumPy asks it to), instead of 512 small ones, which cost more time than writing the results."""
MOST_RATIO = 1e14
"""The greatest ratio of two moments: beyond it energies were off by more than round-off (docs: the free motion)."""
SMALLEST_SIZE = 1e-306
"""Rates and momenta that are not zero lie between this and its inverse: below it floats have fewer digits."""
FEW_DIGITS = 2.0
"""If fewer digits of the phase are left, `at` warns."""
MOST_RADIANS = 1e19
"""The state is refused beyond this phase: the rates of the phases are two-doubles, which leave 1e-12 of it there."""
Axis = Literal["short", "long"]
Reference = Literal["short", "long", "x", "y", "z"]


_ROWS = ("_omega", "_quaternion", "_tensor", "_moments", "_axes", "_scale", "_norm", "_starts", "_motions")
"""The arrays of a `FreeMotion` that have one row for each motion."""


def has_closed_form(body: Body) -> bool:
    """Whether the closed form holds for this body: for its moments, and for its rotor if it has one."""
    if body.changes or float(body.moments.max()) > MOST_RATIO * float(body.moments.min()):
        return False
    if not body.has_rotor:
        return True
    from polhode.free.gyrostat_motion import rotor_frame

    return rotor_frame(body) is not None


class ObservedPeriods(NamedTuple):
    """The two periods of a tumbling body in seconds, as observers of asteroids and comets give them."""

    phi: Any
    """The mean period of the precession of the reference axis about the angular momentum."""
    psi: Any
    """The period of the rotation about the reference axis, or of the oscillation about it."""


class Nutation(NamedTuple):
    """The angle between a body axis and the angular momentum, in radians."""

    least: Any
    mean: Any
    """The mean over time."""
    greatest: Any


@dataclass(frozen=True, eq=False)
class FreeState(WithAttitudes):
    """The state of free bodies: arrays have the axis of motions, if there are many, the axes of times, components."""

    t: Floats
    quaternion: Floats
    """The attitude, body to space, scalar first."""
    omega: Floats
    """The angular velocity in body axes, rad/s."""
    momentum: Floats
    """The angular momentum in body axes, kg m^2/s."""

    @property
    def spatial_momentum(self) -> Floats:
        """The angular momentum in space axes, kg m^2/s, which does not change."""
        return _rotated(self.quaternion, self.momentum)

    @property
    def spatial_omega(self) -> Floats:
        """The angular velocity in space axes, rad/s."""
        return _rotated(self.quaternion, self.omega)


class FreeMotion(Turning):
    """The motion of a body that no torque acts on, in closed form.

    The state at any time, before or after the start, costs the same and is accurate to the last digits: the error is
    below 4 eps (1 + s), where eps is 2.2e-16 and s is the greatest change of the state per relative change of any of
    the numbers given; for moments that no body has it is below 16 eps (1 + s). Where moments are far apart, errors of
    rates are relative to the greatest rate of the motion. Moments may be up to 1e14 apart.
    (docs/understand/free_motion.md has the measurements.) `at(t, proven=True)` has states with a proven bound.

    For many motions at once, give a list of bodies, or a stack of rates or attitudes, or several of these of one
    length. All results then have an axis of motions first, then the axes of the times, then components.

    A body with a rotor, a gyrostat, has a closed form if its rotor lies on a principal axis. Then the error is below
    8 eps (1 + s), and what has no meaning for it says so in an error.

    Parameters
    ----------
    body
        A `Body`, or a sequence of them.
    omega
        The angular velocity at `t0` in body axes, rad/s: shape (3,) or (motions, 3).
    attitude
        The rotation from body to space axes at `t0`: a SciPy `Rotation`, a quaternion (scalar first) or a matrix,
        or a stack. By default the axes coincide.
    t0
        The time of the start, in seconds.

    Examples
    --------
    >>> nut = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0])
    >>> nut.mode, round(float(nut.period), 6)
    ('long-axis', 12.325253)
    >>> nut.flip_times(3).round(3)
    array([ 3.081,  9.244, 15.407])
    >>> nut.at(3.2e9).omega.round(4).tolist()
    [0.0082, 5.0, -0.0044]
    """

    def __new__(cls, body: Any = None, *_: Any, **__: Any) -> FreeMotion:
        """Makes a `GyrostatMotion`, which is a `FreeMotion`, if a body has a rotor."""
        bodies = body if isinstance(body, Sequence | np.ndarray) else [body]
        if cls is FreeMotion and any(isinstance(b, Body) and b.has_rotor for b in bodies):
            from polhode.free.gyrostat_motion import GyrostatMotion

            return object.__new__(GyrostatMotion)
        return object.__new__(cls)

    def __init__(self, body: Body | Sequence[Body], omega: Any, attitude: Any = None, t0: float = 0.0) -> None:
        bodies = list(body) if isinstance(body, Sequence | np.ndarray) else [body]
        if not all(isinstance(b, Body) for b in bodies):
            raise TypeError(f"body must be a polhode.Body or a sequence of them, not {body!r}: write Body({body!r})")
        for b in bodies:
            b.check_constant("the closed form")
        rates = _rates(omega)
        quaternions = _quaternions(attitude)
        stacks = {"body": not isinstance(body, Body), "omega": rates.ndim == 2, "attitude": quaternions.ndim == 2}
        lengths = {"body": len(bodies), "omega": len(np.atleast_2d(rates)), "attitude": len(np.atleast_2d(quaternions))}
        given = {name: lengths[name] for name, stacked in stacks.items() if stacked}
        if len(set(given.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in given.items())
            raise ValueError(f"body, omega and attitude must be single or stacks of one length, but are: {listed}")
        self._shape: tuple[int, ...] = tuple(given.values())[:1]
        count = self._shape[0] if self._shape else 1
        if count == 0:
            raise ValueError("there must be at least one motion, but the stack given is empty")
        self._bodies = bodies
        self.t0 = checks.number("t0", t0)
        self._omega: Floats = np.broadcast_to(rates, (count, 3))
        self._quaternion: Floats = np.broadcast_to(quaternions, (count, 4))
        self._set_up()

    @classmethod
    def from_periods(
        cls, ratios: Any, P_psi: Any, P_phi: Any, mode: str | Sequence[str], *, reference: Axis = "long",
        phi: Any = 0.0, psi: Any = None, direction: Any = (0.0, 0.0, 1.0), t0: float = 0.0,
    ) -> FreeMotion:  # fmt: skip
        """The motion of a tumbling body with two observed periods.

        Energy and momentum follow from the periods and the ratios of the moments. For many motions at once, give rows
        of ratios, periods, modes, angles or directions, or of several of them.  [kaasalainen2001]

        Parameters
        ----------
        ratios
            Three moments in any unit, along the body axes x, y, z; or two in units of the third; or a `Body`.
        P_psi, P_phi
            The periods of `observed_periods`, in s: of the turning or rocking about the reference axis, and of the
            mean precession of that axis about the angular momentum.
        mode
            "SAM" or "short-axis", if the momentum circles the axis of the greatest moment; "LAM" or "long-axis", if it
            circles that of the least.
        reference
            The axis of psi: "long", that of the least moment, or "short", that of the greatest.
        phi, psi
            The angles at t0 in radians, as `from_momentum` has them; theta, of at most 90 degrees, follows. By default
            the momentum lies in the plane of the axis that it circles and the intermediate one.
        direction
            The direction of the angular momentum in space axes.
        """
        from polhode.free.from_observations import from_periods

        return from_periods(cls, ratios, P_psi, P_phi, mode, reference, phi, psi, direction, t0)

    @classmethod
    def named(cls, name: str) -> FreeMotion:
        """A tumbling body from the literature, as `from_periods` makes it of its published periods, in s.

        Examples
        --------
        >>> toutatis = ph.FreeMotion.named("toutatis")
        >>> toutatis.mode, round(float(toutatis.observed_periods().phi) / 86400, 2)
        ('long-axis', 7.35)
        """
        known = {one.name: one.tumbling for one in NAMED.values() if one.tumbling is not None}
        P_psi, P_phi, mode, reference = known[checks.choice("tumbling body", name, known)]
        return cls.from_periods(Body.named(name), P_psi, P_phi, mode, reference=reference)

    @classmethod
    def from_momentum(
        cls, body: Body | Sequence[Body], momentum: Any, *, phi: Any, theta: Any, psi: Any,
        reference: Reference = "long", degrees: bool = False, t0: float = 0.0,
    ) -> FreeMotion:  # fmt: skip
        """The motion with this angular momentum and these Euler angles about it at t0.

        Any of the arguments may be stacks of one length.

        Parameters
        ----------
        body
            A `Body`, or a sequence of them.
        momentum
            The angular momentum in space axes, kg m^2/s; a number is the size of one along Z.
        phi, theta, psi
            How far the reference axis has gone round the momentum, its angle from the momentum, and how far the body
            has turned about it: the attitude is Rz(phi) Rx(theta) Rz(psi), of principal axes in cyclic order with the
            reference axis last, to axes with Z along the momentum. The latter are the space axes, turned about Z by the
            longitude of the momentum and then about Y by its distance from Z. In radians, or with `degrees=True`.
        reference
            The principal axis: "long" (of the least moment), "short" (of the greatest), or "x", "y", "z".
        """
        from polhode.free.from_observations import from_angles

        return from_angles(cls, body, momentum, phi, theta, psi, reference, degrees, t0)

    def momentum_angles(self, t: Any, reference: Reference = "long") -> MomentumAngles:
        """Phi, theta and psi about the angular momentum at one or many times, in radians.

        They are those of `from_momentum`. phi and psi lie between -pi and pi: `numpy.unwrap` joins them.
        """
        from polhode.free.from_observations import angles_of

        return angles_of(self, t, reference)

    def _set_up(self) -> None:
        count = len(self._omega)

        def of_bodies(values: Sequence[Any]) -> Floats:
            stacked = np.array(values)
            return np.broadcast_to(stacked, (count, *stacked.shape[1:]))

        moments, axes = of_bodies([b.moments for b in self._bodies]), of_bodies([b.axes for b in self._bodies])
        self._check_range(moments)
        tilt = of_bodies([b.axes_quaternion for b in self._bodies])
        self._tensor = of_bodies([b.tensor for b in self._bodies])
        aligned = np.array([b.aligned for b in self._bodies])[:, None]
        principal = np.where(aligned, self._omega, np.einsum("ni,nij->nj", self._omega, axes))
        inertia, size = _scaled(moments)
        rates, speed = _scaled(principal)
        rates = np.where(np.abs(rates) < NEGLIGIBLE, 0.0, rates)
        self._moments, self._axes, self._scale = moments, axes, np.ldexp(1.0, speed)
        given = [inertia, rates, self._scale[:, None], self._quaternion, tilt, axes.reshape(count, 9)]
        self._starts = np.concatenate(given, axis=1)
        self._motions = _set_up(set_up_rows, self._starts, MOTION)
        self._norm = np.ldexp(np.ldexp(self._c.G, size), speed)
        self._motions[:, -9:] *= self._norm[:, None]

    def _check_range(self, moments: Floats) -> None:
        """Raises an error for moments too far apart, and for rates or momenta near the ends of the range of floats."""
        greatest, least = moments.max(axis=1), moments.min(axis=1)
        ratios = greatest / least
        worst = int(np.argmax(ratios))
        if (ratio := float(ratios[worst])) > MOST_RATIO:
            raise ValueError(
                f"the moments{self._of(worst)} are {ratio:.2g} times apart, and the closed form holds up to "
                f"{MOST_RATIO:g}: give the least of them a greater value"
            )
        rates = np.abs(self._omega).max(axis=1)
        with np.errstate(over="ignore"):
            sizes = {"rate": rates, "momentum": rates * greatest, **self._other_sizes(greatest)}
        for name, size in sizes.items():
            outside = (size > 0.0) & ~((size > SMALLEST_SIZE) & (size < 1.0 / SMALLEST_SIZE))
            if outside.any():
                bad = int(np.argmax(outside))
                raise ValueError(
                    f"the {name}{self._of(bad)} is {size[bad]:.2g} in these units, near the "
                    "end of the range of floats: choose a unit of time or of mass in which it is nearer to one"
                )

    def _other_sizes(self, greatest: Floats) -> dict[str, Floats]:
        """What else must be far from the ends of the range of floats."""
        return {}

    def _of(self, number: int) -> str:
        """Which motion is meant, for a message; nothing if there is only one."""
        return f" of motion {number}" if self._shape else ""

    # --- the state at any time

    @overload
    def at(self, t: Any, *, proven: Literal[False] = False) -> FreeState: ...
    @overload
    def at(self, t: Any, *, proven: Literal[True]) -> ProvenState: ...
    def at(self, t: Any, *, proven: bool = False) -> FreeState | ProvenState:
        """The state at one or many times, in any order, before or after the start.

        The arrays of a state share one piece of memory, which is freed when none of them is used any more.

        With `proven=True` the rate and the attitude have a radius each, within which the exact values lie: those of the
        tensor, the rate, the quaternion and the times that the motion has, taken at their exact values. The radius is
        below one unit in the last place. Times may also be integers, fractions or decimal texts such as "1e18". It
        needs python-flint: `pip install 'polhode[proof]'`. Bodies with a rotor have no proven states.
        """
        if proven:
            return self._proven(t)
        times, earliest, latest = _times(t)
        if self._shape or max(latest - self.t0, self.t0 - earliest) > self._carefree:
            self.refuse_too_many_turns(times)
            self._warn_of_lost_digits(times)
        return self._state(times)

    def _proven(self, t: Any) -> ProvenState:
        try:
            from polhode.free.proven import proven_states
        except ModuleNotFoundError as problem:
            raise missing(problem, "proven states need") from None
        tensors = [body.tensor for body in self._bodies]
        return proven_states(tensors, self._omega, self._quaternion, t, self.t0, self._shape)

    def at_checked(self, times: Floats) -> FreeState:
        """The state at times that are finite floats, without a warning: the numbers given are exact."""
        self.refuse_too_many_turns(times)
        return self._state(times)

    def _state(self, times: Floats) -> FreeState:
        shape = (*self._shape, *times.shape)
        t, q, w, m = self._evaluated(times, self.t0)
        return FreeState(t.reshape(times.shape), q.reshape(*shape, 4), w.reshape(*shape, 3), m.reshape(*shape, 3))

    def _evaluated(self, times: Floats, t0: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Times, attitudes, rates and momenta as flat arrays in one piece of memory."""
        motions, count = len(self._motions), times.size
        states = motions * count
        block = _block(count + 10 * states)
        i, j, k = count, count + 4 * states, count + 7 * states
        t, q, w, m = block[:i], block[i:j], block[j:k], block[k:]
        t[:] = times.reshape(-1)
        _evaluate(evaluate_rows, self._motions, (t, q, w, m), t0)
        return t, q, w, m

    def digits(self, t: Any) -> Any:
        """About how many digits of the state at t the numbers given determine, if each is good to its last bit.

        Ten times the time costs one digit of the phase; near the separatrix digits are lost faster, because the time of
        the next flip depends on the distance from it. This is a guide, not a bound.
        """
        times, _, _ = _times(t)
        return self._shaped(self._digits(times.reshape(-1) - self.t0), times.shape)

    def _digits(self, elapsed: Floats) -> Floats:
        with np.errstate(all="ignore"):
            digits: Floats = -np.log10(EPSILON * self.sensitivity(elapsed))
        return np.maximum(0.0, digits)

    def sensitivity(self, elapsed: Floats) -> Floats:
        """Roughly the change of the state per relative change of a given number, after these times: a row a motion."""
        c = self._c
        spin, lam = self._column("spin"), self._column("lam")
        time = np.abs(elapsed)[None, :]
        with np.errstate(all="ignore"):  # infinities and NaN are right here, or not chosen
            I1, I2, I3 = np.take_along_axis(self._moments, _labels(c), axis=1).T
            flat32, flat21 = np.abs(I3 - I2) / I3, np.abs(I2 - I1) / I2
            # k'^2 = P^2 - Q^2 with P = dn(u0): its relative change with the inputs shifts the times of the flips.
            P2, difference = (c.y3 / c.C) ** 2, c.kc**2
            Q2 = np.maximum(P2 - difference, 0.0)
            slipping = (P2 / flat32 + np.where(flat21 > 0.0, Q2 / flat21, 0.0)) / (4.0 * c.K * difference)
            slip = np.where(c.K > 0.0, slipping, np.inf)[:, None] * lam * time
            # Before the first flip, deviations grow away from the intermediate axis.
            growth = (np.hypot(c.y1, c.y3) / flat32)[:, None] * np.expm1(np.minimum(lam * time, 700.0))
            extra = np.where(lam > 0.0, lam * time / flat32[:, None] + np.fmin(growth, slip), 0.0)
            sensitivity: Floats = 1.0 + spin * time + extra
        return sensitivity

    def jacobian(
        self, t: Any, by: str | Sequence[str] = ("omega", "attitude"), *, axes: Literal["space", "body"] = "space"
    ) -> Floats:  # fmt: skip
        """The derivative of the state at one or many times by what the motion was given, in closed form.

        It has the shape (..., 6, k): three rows for the rotation vector of the change of attitude, three for the
        angular velocity in body axes; k columns, in the order of `by`. Elements relative to the largest are accurate to
        about 2e-14, at any time and in every kind of motion. An element that floats cannot hold is infinite.

        Parameters
        ----------
        t
            A time or an array of times, s.
        by
            One or several names: "omega" (3 columns, body axes), "attitude" (3, the rotation vector of a change of the
            attitude at the start, with the rate in body axes held), "momentum" (3, body axes, in place of omega),
            "moments" (3, the principal moments in the order of `body.moments`), "inertia" (6, the elements xx, yy, zz,
            xy, xz, yz of the tensor in body axes; xy stands for both xy and yx), "t" (1). By moments and inertia, the
            rate and the attitude at the start are held.
        axes
            The axes of rotation vectors, at the start and at t: "space" (R -> exp(v) R) or "body" (R -> R exp(v)).

        Examples
        --------
        >>> nut = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0])
        >>> J = nut.jacobian(100.0, by=("omega", "moments"))
        >>> J.shape
        (6, 6)
        """
        from polhode.free.jacobian_motion import jacobian

        return jacobian(self, t, by, axes)

    def covariance(self, P0: Any, t: Any, by: str | Sequence[str] = ("omega", "attitude")) -> Covariance:
        """The covariance of the state at one or many times, J P0 J^T, and how far the motion is from linear.

        From a `bend` of 0.1 on it warns; from 0.5 on it raises, because no covariance describes what is there.

        Parameters
        ----------
        P0
            The covariance at the start of what `by` names, in its order: rad^2/s^2, rad^2, and so on.
        t
            A time or an array of times, s.
        by
            What is uncertain at the start: names of `jacobian`, without "t". Attitudes are rotation vectors in space
            axes.

        Examples
        --------
        >>> nut = ph.FreeMotion(ph.Body([1, 1.4, 2.1]), omega=[0.6, 0.7, 0.4])
        >>> P0 = np.diag([1e-4**2] * 3)  # rates are known to 1e-4 rad/s
        >>> found = nut.covariance(P0, 100.0, by="omega")
        >>> round(float(np.degrees(found.angle)), 2), round(float(found.bend), 3)
        (0.93, 0.005)
        """
        from polhode.free.jacobian_motion import covariance

        return covariance(self, P0, t, by)

    def known_until(self, P0: Any, angle_deg: float = 10.0, by: str | Sequence[str] = ("omega", "attitude")) -> float:
        """The time at which the standard deviation of the attitude first exceeds an angle, s; infinity if never.

        `P0` and `by` are those of `covariance`. The time is found among 720 that grow by 6 % each, then by bisection.
        """
        from polhode.free.jacobian_motion import known_until

        return known_until(self, P0, angle_deg, by)

    @cached_property
    def _carefree(self) -> float:
        """The time since the start up to which no digits need be counted: a quick check instead of `digits`."""
        time = np.logspace(-20, 40, 241) / max(float(self._column("spin").max()), 1e-200)
        few = (self._digits(time) < FEW_DIGITS + 1.0).any(axis=0)
        return float(time[max(0, int(np.argmax(few)) - 1)]) if few.any() else math.inf

    def refuse_too_many_turns(self, times: Floats) -> None:
        """Raises an error where the phase is longer than the rates of the phases have digits for."""
        if times.size == 0:
            return
        spin = self._column("spin")[:, 0]
        worst, far = int(np.argmax(spin)), int(np.argmax(np.abs(times.reshape(-1) - self.t0)))
        t = float(times.reshape(-1)[far])
        if (radians := float(spin[worst]) * abs(t - self.t0)) > MOST_RADIANS:
            raise ValueError(
                f"at t = {t:g} the phase{self._of(worst)} is {radians:.2g} radians, and beyond {MOST_RADIANS:g} "
                f"rounding takes its digits: {self._REMEDY_FOR_LONG_TIMES}"
            )

    _REMEDY_FOR_LONG_TIMES = "FreeMotion.at(t, proven=True) has the state of the very numbers given"

    def _warn_of_lost_digits(self, times: Floats) -> None:
        if times.size == 0:
            return
        elapsed = times.reshape(-1) - self.t0
        far = int(np.argmax(np.abs(elapsed)))
        left = self._digits(elapsed[far : far + 1])[:, 0]
        worst = int(np.argmin(left))
        if left[worst] < FEW_DIGITS:
            turns = float(self._column("spin")[worst, 0]) * float(abs(elapsed[far])) / (2.0 * math.pi)
            warnings.warn(
                f"at t = {times.reshape(-1)[far]:g} about {left[worst]:.0f} digits of the phase{self._of(worst)} are "
                f"left: after {turns:.2g} turns, the others depend on the last bit of the numbers given",
                UserWarning,
                stacklevel=3,
            )

    # --- constants of the motion

    @property
    def body(self) -> Body | tuple[Body, ...]:
        """The body, or the bodies if there are several."""
        return tuple(self._bodies) if self._shape and len(self._bodies) > 1 else self._bodies[0]

    @property
    def omega(self) -> Floats:
        """The angular velocity at the start, in body axes, rad/s."""
        return self._shaped(self._omega.copy())  # type: ignore[no-any-return]

    @property
    def kinetic_energy(self) -> Any:
        """The kinetic energy T = w . I w / 2, J."""
        return self._shaped(0.5 * np.einsum("ni,nij,nj->n", self._omega, self._tensor, self._omega))

    @property
    def angular_momentum(self) -> Floats:
        """The angular momentum in space axes, kg m^2/s."""
        return self._shaped(_rotated(self._quaternion, self._momenta()))  # type: ignore[no-any-return]

    def _momenta(self) -> Floats:
        """The angular momenta at the start, in body axes."""
        return np.einsum("nij,nj->ni", self._tensor, self._omega)  # type: ignore[no-any-return]

    @cached_property
    def mode(self) -> Any:
        """How the body moves: `short-axis`, `long-axis`, `separatrix` or `steady`.

        In short-axis mode the momentum, seen from the body, circles the axis of the greatest moment; in long-axis mode
        that of the least. On the separatrix the body flips once and then approaches the intermediate axis for ever. In
        a steady motion the angular velocity is constant.

        A body with a rotor is in `rotor-axis` mode if the momentum, seen from the body, goes round the axis of the
        rotor, and in `off-axis` mode if it does not.
        """
        c = self._c
        modes = np.where(c.s > 0, "short-axis", "long-axis")
        modes[c.kc == 0.0] = "separatrix"
        modes[(c.kind == STEADY) | (c.A == 0.0)] = "steady"
        return self._shaped(modes)

    @property
    def modulus(self) -> Any:
        """k, the modulus of the elliptic functions: 0 for symmetric bodies and steady spin, 1 on the separatrix."""
        return self._shaped(self._c.k)

    @property
    def complementary_modulus(self) -> Any:
        """k' = sqrt(1 - k^2), to full relative accuracy however near the separatrix is."""
        return self._shaped(np.where(self._c.kind == STEADY, 1.0, self._c.kc))

    @property
    def separatrix_distance(self) -> Any:
        """G^2 / (2 T I2) - 1, with I2 the intermediate moment, to full relative accuracy.

        It is positive in short-axis mode, negative in long-axis mode, zero on the separatrix, for spheres and at rest.
        """
        return self._shaped(self._relative_distance())

    @property
    def period(self) -> Any:
        """The time after which angular velocity and momentum repeat in the body, s; the attitude in general does not.

        It is 4K / lam. For a steady rotation about the axis of the least or greatest moment it is the period of small
        oscillations about it. It is infinite on the separatrix, and for every other steady rotation, about which no
        oscillation is possible.
        """
        c = self._c
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self._shaped(np.where(c.K > 0.0, 4.0 * c.K / c.lam / self._scale, np.inf))

    @property
    def mean_precession_rate(self) -> Any:
        """The mean rate at which the circled axis precesses about the angular momentum, rad/s.

        The circled axis is the short axis in short-axis mode and the long axis in long-axis mode. On the separatrix the
        rate is the limit 2T / G, and for a steady rotation that circles no axis it is |w|.
        """
        return self._shaped(self._c.precession * self._scale)

    @property
    def precession_period(self) -> Any:
        """The period of one turn at the `mean_precession_rate`, s; infinite at rest."""
        with np.errstate(divide="ignore", over="ignore"):
            return self._shaped(2.0 * math.pi / (self._c.precession * self._scale))

    def observed_periods(self, reference: Axis = "long") -> ObservedPeriods:
        """P_phi and P_psi of a tumbling body, in either of the two conventions of observers.

        phi is the angle by which the reference axis has precessed about the angular momentum. It does not grow evenly:
        P_phi is the time of one turn at its mean rate. psi is the angle about the reference axis; it repeats after
        P_psi, which is `period`. In long-axis mode psi makes a full turn about the long axis in that time, or
        oscillates about the short one; in short-axis mode the two axes exchange their roles.

        `reference="long"`, the axis of the least moment, is the L-convention of Samarasinha and A'Hearn (1991);
        `reference="short"`, that of the greatest, is the S-convention. In both modes
        1 / P_phi(short) = 1 / P_phi(long) + 1 / P_psi.  [samarasinha1991, samarasinha2015]
        """
        wanted = checks.choice("reference axis", reference, ("long", "short"))
        c = self._c
        circled = (c.s > 0) == (wanted == "short")
        with np.errstate(divide="ignore"):
            phi = 2.0 * math.pi / (np.where(circled, c.precession, c.transverse) * self._scale)
        return ObservedPeriods(self._shaped(phi), self.period)

    def nutation(self, axis: Axis | None = None) -> Nutation:
        """The angle between an axis and the angular momentum: least, mean over time, greatest.

        `axis` is `long` (least moment), `short` (greatest moment), or by default the one that the momentum circles.
        The angle is measured from the end of the axis that is nearer to the momentum at the start. At rest it is NaN.
        """
        c = self._c
        steady = c.kind == STEADY
        circled = np.ones(len(steady), dtype=bool)
        if axis is not None:
            circled = (c.s > 0) == (checks.choice("axis", axis, ("long", "short")) == "short")
        A, B, C = c.A, c.B, c.C
        least = np.where(circled, np.arctan2(A, C), np.arctan2(C, A))
        greatest = np.where(circled, np.arctan2(B, C * c.kc), math.pi - least)
        mean = np.where(circled, self._mean_nutation(), 0.5 * math.pi)
        if steady.any():
            y = np.stack([c.y1, c.y2, c.y3], axis=1)
            index = self._moments.argmin(axis=1) if axis == "long" else self._moments.argmax(axis=1)
            along = np.abs(np.take_along_axis(y, index[:, None], axis=1)[:, 0])
            across = np.sqrt(np.maximum(0.0, (y**2).sum(axis=1) - along**2))
            fixed = np.where(c.G > 0.0, np.arctan2(across, along), np.nan)
            least, mean, greatest = (np.where(steady, fixed, x) for x in (least, mean, greatest))
        return Nutation(*(self._shaped(x) for x in (least, mean, greatest)))

    def _mean_nutation(self) -> Floats:
        """The mean angle of the circled axis, by the trapezoidal rule over a half period: it converges fast."""
        c = self._c
        out = np.full(len(c.kind), 0.5 * math.pi)
        for i in np.flatnonzero(c.K > 0.0):
            single, half = self._only(int(i)), 2.0 * c.K[i] / c.lam[i] / self._scale[i]
            points, before = 64 + 16 * int(c.K[i]), math.inf
            while abs(out[i] - before) > 1e-13 and points < 1_000_000:
                y = single._relabelled(np.arange(points) * (half / points))
                before, out[i] = out[i], np.arctan2(np.hypot(y[:, 0], y[:, 1]), y[:, 2]).mean()
                points *= 2
        return out

    def flip_times(self, count: int) -> Floats:
        """The first `count` times from the start on at which the body flips; infinity if there are no more.

        At a flip the component of the momentum along the intermediate axis changes its sign: near the separatrix, it is
        halfway between long stays at the two ends of that axis. Flips are half a period apart. On the separatrix there
        is at most one, in a steady rotation none.
        """
        n = _count("count", count, 0)
        c = self._c
        j = np.arange(n)[None, :]
        moving = ((c.kind != STEADY) & (c.A > 0.0))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            # A flip is where u = u0 + s lam t is 2 K j.
            ahead = -(c.s * c.u0)[:, None]  # lam t at the flip nearest to the start
            half = 2.0 * c.K[:, None]
            first = np.where((ahead >= 0.0) | (half == 0.0), ahead, ahead + half)
            u = np.where(half > 0.0, first + j * half, np.where((j == 0) & (first >= 0.0), first, np.inf))
            times = np.where(moving, self.t0 + u / (c.lam * self._scale)[:, None], np.inf)
        return self._shaped(times)  # type: ignore[no-any-return]

    # --- curves

    def polhode(self, count: int = 400) -> Floats:
        """The curve of the rate in body axes, closed by its last point; on the separatrix one branch, end to end."""
        n = _count("count", count, 2)
        c = self._c
        around = np.linspace(0.0, 2.0 * math.pi, n)
        across = np.linspace(-0.5 * math.pi, 0.5 * math.pi, n)
        angle = np.where((c.kc == 0.0)[:, None], across, around)
        sine, cosine = np.sin(angle), np.cos(angle)
        y = np.stack(
            [
                c.A[:, None] * cosine,
                c.B[:, None] * sine,
                c.C[:, None] * np.hypot(cosine, c.kc[:, None] * sine),
            ],
            axis=2,
        )
        steady = c.kind == STEADY
        y[steady] = np.stack([c.y1, c.y2, c.y3], axis=1)[steady, None, :]
        return self._shaped(self._in_user_axes(y))  # type: ignore[no-any-return]

    def herpolhode(self, count: int = 1000, t: Any = None) -> Floats:
        """The curve of the angular velocity in space axes, in a plane perpendicular to the angular momentum.

        Its points are at the times given, or at `count` times over ten periods (ten turns if there is no period). In
        general the curve never closes.
        """
        if t is None:
            if self._shape:
                raise ValueError("many motions have many periods: give the times t, or take one motion with motion[i]")
            span = self.period if math.isfinite(self.period) else 2.0 * math.pi / self._column("spin")[0, 0]
            t = self.t0 + np.linspace(0.0, 10.0 * span if math.isfinite(span) else 0.0, _count("count", count, 2))
        return self.at(t).spatial_omega

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws polhode and herpolhode as a Matplotlib figure, which a path saves as PNG, SVG or PDF, too."""
        if self._shape:
            raise ValueError("a picture shows one motion: take one with motion[i].plot()")
        from polhode.plots.plot import finished
        from polhode.plots.plot_free import draw

        return finished(draw(self), path)

    def _run(self, t_span: Any, name: str | None = None) -> Any:
        from polhode.page.content import FreeRun

        return FreeRun(self, t_span, name)

    # --- stacks

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("this is a single motion, which has no length")
        return self._shape[0]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> FreeMotion:
        return self._only(range(len(self))[operator.index(index)])

    def _only(self, i: int) -> FreeMotion:
        """Motion i as a single one."""
        single = object.__new__(FreeMotion)
        single._shape, single.t0 = (), self.t0
        single._bodies = [self._bodies[i if len(self._bodies) > 1 else 0]]
        for name in _ROWS:
            setattr(single, name, getattr(self, name)[i : i + 1])
        return single

    def __repr__(self) -> str:
        if self._shape:
            modes, counts = np.unique(self.mode, return_counts=True)
            listed = ", ".join(f"{n} {mode}" for mode, n in zip(modes, counts, strict=True))
            return f"FreeMotion\n  {len(self):,} motions: {listed}"
        rows = [
            ("body", repr(self.body)),
            ("omega", f"({', '.join(f'{x:g}' for x in self._omega[0])}) rad/s at t = {self.t0:g} s"),
            *self._described(),
        ]
        return "\n".join(["FreeMotion", *(f"  {name:<8}{value}" for name, value in rows)])

    def _described(self) -> list[tuple[str, str]]:
        """The rows of the text of a single motion after those of its start."""
        return [
            ("mode", f"{self.mode}, {self.separatrix_distance:.3g} from the separatrix, modulus {self.modulus:.6g}"),
            ("period", f"{duration(self.period)} in the body, precession {duration(self.precession_period)}"),
        ]

    # --- internals

    @cached_property
    def _c(self) -> Any:
        """`Constants` whose fields are arrays, with one number for each motion."""
        return Constants(*self._motions[:, :CONSTANTS].T)

    def _column(self, name: Literal["spin", "lam"]) -> Floats:
        """A rate of each motion in rad/s, as a column."""
        c = self._c
        values = c.lam if name == "lam" else np.maximum(c.precession, c.transverse)
        rate: Floats = (values * self._scale)[:, None]
        return rate

    def _relative_distance(self) -> Floats:
        c = self._c
        energy = c.i1 * c.y1**2 + c.i2 * c.y2**2 + c.i3 * c.y3**2  # 2T / G
        with np.errstate(divide="ignore", invalid="ignore"):
            distance: Floats = c.s * (c.kc * c.C) ** 2 * self._flatness() * c.i2 / energy
        return np.where(c.kind == STEADY, 0.0, distance)

    def _flatness(self) -> Floats:
        """|I3 - I2| / I3, in relabelled axes."""
        ordered = np.take_along_axis(self._moments, _labels(self._c), axis=1)
        flatness: Floats = np.abs(ordered[:, 2] - ordered[:, 1]) / ordered[:, 2]
        return flatness

    def _relabelled(self, elapsed: Floats) -> Floats:
        """Y / G of a single motion, in relabelled axes, after these times."""
        m, c = self._evaluated(elapsed, 0.0)[3].reshape(-1, 3), self._c
        y: Floats = (m @ self._axes[0])[:, _labels(c)[0]] / self._norm[0]
        y *= np.array([c.sign1[0], c.sign2[0], c.sign3[0]])
        return y

    def _in_user_axes(self, y: Floats) -> Floats:
        """Rates in the user's axes from y / G in relabelled ones, shape (motions, n, 3)."""
        c = self._c
        signed = y * np.stack([c.i1 * c.sign1, c.i2 * c.sign2, c.i3 * c.sign3], axis=1)[:, None, :]
        principal = np.empty_like(signed)
        np.put_along_axis(principal, _labels(c)[:, None, :], signed, axis=2)
        out: Floats = (principal * self._scale[:, None, None]) @ self._axes.transpose(0, 2, 1)
        return out

    def _shaped(self, values: Any, times: tuple[int, ...] | None = None) -> Any:
        """Removes the axis of motions for a single motion, and returns a number in place of a single number."""
        out = values.reshape((*self._shape, *(values.shape[1:] if times is None else times)))
        return out.item() if out.ndim == 0 else out


# --- checks of arguments -------------------------------------------------------------------------------------------


def _rates(omega: Any) -> Floats:
    shape = np.shape(omega)
    if shape != (3,) and (len(shape) != 2 or shape[1] != 3):
        raise ValueError(f"omega must have the shape (3,) or (motions, 3), not {shape}")
    return checks.array("omega", omega, shape)


def _quaternions(attitude: Any) -> Floats:
    """A unit quaternion, or a stack of them."""
    if hasattr(attitude, "as_quat") and np.ndim(attitude.as_quat()) == 2:
        return np.roll(np.asarray(attitude.as_quat(), dtype=np.float64), 1, axis=-1)
    single = attitude is None or hasattr(attitude, "as_quat") or np.shape(attitude) in ((4,), (3, 3))
    if single or not isinstance(attitude, Sequence | np.ndarray):
        return checks.quaternion("attitude", attitude)
    return np.array([checks.quaternion(f"attitude[{i}]", a) for i, a in enumerate(attitude)]).reshape(-1, 4)


def _times(t: Any) -> tuple[Floats, float, float]:
    """Times, the earliest and the latest; zeros if there are none."""
    times = np.asarray(t) if isinstance(t, float) else checks.floats("t", t, "be a time or an array of times")
    if times.size == 0:
        return times, 0.0, 0.0
    if times.ndim == 0:
        earliest = latest = times.item()
    else:
        earliest, latest = float(times.min()), float(times.max())
    if not (math.isfinite(earliest) and math.isfinite(latest)):
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(times))[0])
        where = f"t[{', '.join(map(str, bad))}]" if bad else "it"
        raise ValueError(f"t must be finite, but {where} is {times[bad]}")
    return times, earliest, latest


def _count(name: str, value: Any, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if n < least:
        raise ValueError(f"{name} must be at least {least}, not {n}")
    return n


# --- arrays --------------------------------------------------------------------------------------------------------


def _scaled(values: Floats) -> tuple[Floats, Any]:
    """Scales rows so that their greatest number is between 1/2 and 1; returns them and the exponents of two."""
    _, exponent = np.frexp(np.abs(values).max(axis=1))
    return np.ldexp(values, -exponent[:, None]), exponent


def _block(count: int) -> Floats:
    """An array of `count` numbers that are not set."""
    if 8 * count < HUGE_PAGE_BYTES:
        return np.empty(count)
    room = np.empty(8 * count + 2 * HUGE_PAGE_BYTES, dtype=np.uint8)  # what is not written to takes no memory
    first = -room.ctypes.data % HUGE_PAGE_BYTES
    return room[first : first + 8 * count].view(np.float64)


def _set_up(f: Callable[..., int], given: Floats, width: int) -> Floats:
    """The constants of all motions."""
    motions = np.empty((len(given), width))
    _run(f, SET_UP, (given.reshape(-1),), (motions.reshape(-1),), (len(given),), len(given) > MOST_INTERPRETED)
    return motions


def _evaluate(f: Callable[..., int], motions: Floats, arrays: tuple[Floats, ...], t0: float) -> None:
    """Evaluates all motions at all times."""
    t, *out = arrays
    is_large = len(motions) * t.size > MOST_INTERPRETED_STATES
    _run(f, EVALUATE, (motions.reshape(-1), t), tuple(out), (t0, len(motions), t.size), is_large)


SET_UP, EVALUATE = "ppi", "pppppdii"
"""The arguments of the programs that set up and that evaluate motions."""


def _run(
    f: Callable[..., int], signature: str, given: tuple[Floats, ...], out: tuple[Floats, ...],
    numbers: tuple[float, ...], is_large: bool,
) -> None:  # fmt: skip
    """Runs a kernel: compiled if it is kept or if the call repays that, else in plain Python with the same bits."""
    compiled = repaid_program(f, signature, is_large=is_large, what="the motion of free bodies")
    if compiled is not None:
        compiled(*given, *out, *numbers)
        return
    kernel = with_fused(f) if compiles() else f
    found = [[0.0] * x.size for x in out]
    kernel(*(x.tolist() for x in given), *found, *numbers)
    for x, values in zip(out, found, strict=True):
        x[:] = values


def _labels(c: Constants) -> Any:
    """Which principal axis is axis 1, 2, 3, one row for each motion."""
    return np.stack([c.axis1, c.axis2, c.axis3], axis=1).astype(np.int64)


def _rotated(q: Floats, v: Floats) -> Floats:
    """R v along the last axis."""
    return np.stack(to_space(tuple(np.moveaxis(q, -1, 0)), tuple(np.moveaxis(v, -1, 0))), axis=-1)
