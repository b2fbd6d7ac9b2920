"""The exact motion of free bodies with a rotor along a principal axis: what `FreeMotion` is for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.free.free_motion import (
    Axis,
    FreeMotion,
    Nutation,
    ObservedPeriods,
    _block,
    _count,
    _evaluate,
    _set_up,
)
from polhode.kernels.algebra.quat import multiply
from polhode.kernels.free.closed_form import quaternion_of_axes
from polhode.kernels.free.closed_gyrostat import (
    COMPLEX,
    CONSTANTS,
    DIRECT,
    MOTION,
    POLE,
    STEADY,
    Gyration,
    Pole,
    evaluate_rows,
    set_up_rows,
)
from polhode.support.arrays import Floats

if TYPE_CHECKING:
    from polhode.free.proven import ProvenState

NEGLIGIBLE = 1e-120
"""A component of the rate smaller than this times the size of the motion is replaced by zero: its square, and products
of that, would lose their second halves."""
UNSEEN = 2.0**-100
"""A rotor that is weaker than the momentum of the body by this factor is left out: two-doubles do not see it."""
BESIDE_SEPARATRIX = 0.1
"""Nearer to the separatrix than this, the period depends on the distance."""
ROUNDING_OF_AXES = 16.0 * 2.0**-52
"""The principal axes of a tilted tensor are rounded: a rotor may be off them by this part of it, and moments are taken
for equal that differ by this part of the greatest."""


class RotorFrame(NamedTuple):
    """Principal axes of which the third is the rotor's, and the first has a moment not greater than the second's."""

    moments: Floats
    axes: Floats
    """Column i is axis i in the user's axes."""
    quaternion: tuple[float, float, float, float]
    """The turn from these axes to the user's, of any length."""
    rotor: float


def rotor_frame(body: Body) -> RotorFrame | None:
    """The frame of a rotor; None if it does not lie on a principal axis."""
    rounding = 0.0 if body.aligned else ROUNDING_OF_AXES
    g, moments = body.principal_rotor, body.moments
    largest = float(np.abs(g).max())
    along = [i for i in range(3) if abs(g[i]) > rounding * largest]
    tolerance = rounding * float(moments.max())
    if len(along) > 1:
        if np.ptp(moments[along]) > tolerance:
            return None
        return _turned_frame(body, along)
    k = along[0]
    i, j = (k + 1) % 3, (k + 2) % 3
    # (i, j, k) is a right-handed frame, and so is (j, -i, k)
    frame = np.zeros((3, 3))
    frame[k, 2] = 1.0
    if moments[i] <= moments[j]:
        frame[i, 0], frame[j, 1] = 1.0, 1.0
    else:
        frame[j, 0], frame[i, 1] = 1.0, -1.0
        i, j = j, i
    (a, b, c), (d, e, f), (p, q, r) = frame.T.tolist()
    turn = multiply(tuple(body.axes_quaternion.tolist()), quaternion_of_axes((a, b, c), (d, e, f), (p, q, r)))
    return RotorFrame(moments[[i, j, k]], body.axes @ frame, turn, float(g[k]))


def _turned_frame(body: Body, along: list[int]) -> RotorFrame:
    """The frame where the rotor lies between principal axes of equal moments, which may be turned."""
    from scipy.spatial.transform import Rotation

    g, moments = np.where(np.isin(range(3), along), body.principal_rotor, 0.0), body.moments
    size = float(np.sqrt(g @ g))
    third = g / size
    if len(along) == 3:
        helper = np.eye(3)[int(np.argmin(np.abs(third)))]
        other = (moments[0], moments[0])
    else:
        rest = 3 - sum(along)
        helper = np.eye(3)[rest]
        other = (moments[rest], moments[along[0]])
    first = np.cross(np.cross(third, helper), third)
    first /= np.sqrt(first @ first)
    second = np.cross(third, first)
    if other[0] > other[1]:
        first, second, other = second, -first, (other[1], other[0])
    axes = body.axes @ np.stack([first, second, third], axis=1)
    x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
    return RotorFrame(np.array([*other, moments[along[0]]]), axes, (w, x, y, z), size)


def refuse_other_rotors(bodies: list[Body], of: Callable[[int], str]) -> None:
    """Raises an error for a rotor that does not lie on a principal axis."""
    for i, body in enumerate(bodies):
        if body.has_rotor and rotor_frame(body) is None:
            listed = ", ".join(f"{x:g}" for x in body.rotor)
            raise ValueError(
                f"the rotor ({listed}){of(i)} does not lie on a principal axis of the body, and only then is the "
                "motion known in closed form: use simulate(body, omega=..., rtol=1e-9)"
            )


_ALL_ROWS = ("_omega", "_quaternion", "_tensor", "_rotor")
"""The arrays of a `GyrostatMotion` with one row for each motion."""
_OWN_ROWS = ("_motions", "_moments", "_axes", "_scale", "_momentum_scale")
"""The arrays of a `GyrostatMotion` with one row for each motion that has a rotor."""


class GyrostatMotion(FreeMotion):
    """The motion of gyrostats in closed form: see `FreeMotion`, which bodies among them without a rotor have."""

    _plain: FreeMotion | None
    """The motions of bodies without a rotor."""

    def _set_up(self) -> None:
        count = len(self._omega)
        bodies = self._bodies if len(self._bodies) == count else self._bodies * count
        refuse_other_rotors(self._bodies, self._of)
        self._rotor = np.array([b.rotor for b in bodies])
        self._check_range(np.array([b.moments for b in bodies]))
        self._tensor = np.array([b.tensor for b in bodies])
        own = np.abs(np.einsum("nij,nj->ni", self._tensor, self._omega)).max(axis=1)
        seen = np.abs(self._rotor).max(axis=1) > UNSEEN * own
        self._own, others = np.flatnonzero(seen), np.flatnonzero(~seen)
        self._plain = self._without_rotor([bodies[i] for i in others], others) if others.size else None
        frames = {id(b): rotor_frame(b) for b in self._bodies if b.has_rotor}
        chosen = [f for i in self._own if (f := frames[id(bodies[i])]) is not None]
        moments = np.array([f.moments for f in chosen]).reshape(-1, 3)  # there may be none
        axes = np.array([f.axes for f in chosen]).reshape(-1, 3, 3)
        turns, rotor = np.array([f.quaternion for f in chosen]).reshape(-1, 4), np.array([f.rotor for f in chosen])
        rates = np.einsum("ni,nij->nj", self._omega[self._own], axes)
        _, size = np.frexp(moments.max(axis=1))
        _, speed = np.frexp(np.maximum(np.abs(rates).max(axis=1), np.abs(rotor) / moments.max(axis=1)))
        rates = np.ldexp(rates, -speed[:, None])
        rates = np.where(np.abs(rates) < NEGLIGIBLE, 0.0, rates)
        self._moments, self._axes = moments, axes
        self._scale, self._momentum_scale = np.ldexp(1.0, speed), np.ldexp(np.ldexp(1.0, size), speed)
        given = [
            np.ldexp(moments, -size[:, None]), rates, np.ldexp(np.ldexp(rotor, -size), -speed)[:, None],
            self._scale[:, None], self._momentum_scale[:, None], self._quaternion[self._own], turns,
            axes.reshape(-1, 9),
        ]  # fmt: skip
        self._motions = _set_up(set_up_rows, np.concatenate(given, axis=1), MOTION)

    def _without_rotor(self, bodies: list[Body], rows: Any) -> FreeMotion:
        """The motions of bodies whose rotor is zero, or too small to change the result."""
        bare = [Body(b.tensor, allow_unphysical=True) if b.has_rotor else b for b in bodies]
        plain = FreeMotion(bare, self._omega[rows], None, self.t0)
        plain._quaternion = self._quaternion[rows]
        plain._set_up()
        plain._bodies = bodies
        return plain

    def _other_sizes(self, greatest: Floats) -> dict[str, Floats]:
        rotor: Floats = np.abs(self._rotor).max(axis=1)
        return {"rotor": rotor, "rate of the rotor": rotor / greatest}

    def _momenta(self) -> Floats:
        momenta: Floats = np.einsum("nij,nj->ni", self._tensor, self._omega) + self._rotor
        return momenta

    def _evaluated(self, times: Floats, t0: float) -> tuple[Floats, Floats, Floats, Floats]:
        own, count = len(self._motions), times.size
        t = _block(count)
        t[:] = times.reshape(-1)
        q, w, m = _block(4 * own * count), _block(3 * own * count), _block(3 * own * count)
        _evaluate(evaluate_rows, self._motions, (t, q, w, m), t0)
        if self._plain is None:
            return t, q, w, m
        _, q2, w2, m2 = self._plain._evaluated(times, t0)
        return t, self._joined(q, q2, 4 * count), self._joined(w, w2, 3 * count), self._joined(m, m2, 3 * count)

    _REMEDY_FOR_LONG_TIMES = "give an earlier time"

    def _proven(self, t: Any) -> ProvenState:
        raise ValueError(
            "proven states are for bodies without a rotor: leave out `proven=True`, and the state of the closed form "
            "has a measured error of at most 1.8e-15 (1 + sensitivity)"
        )

    def jacobian(self, t: Any, by: str | Sequence[str] = (), *, axes: Any = "space") -> Floats:
        """Raises ValueError: Jacobians of bodies with a rotor have no closed form here."""
        raise ValueError(
            "Jacobians in closed form are for bodies without a rotor: take differences of motions with and without a "
            "small change, such as 1e-5 of the rate"
        )

    def _joined(self, own: Floats, others: Any, width: int = 1) -> Floats:
        """Joins rows of motions with a rotor and of those without, in the order of the motions."""
        if self._plain is None:
            return own
        rows = np.empty((len(self._omega), width), dtype=own.dtype if own.dtype.kind == "f" else object)
        rows[self._own] = own.reshape(-1, width)
        rows[self._others] = np.asarray(others).reshape(-1, width)
        out = rows.reshape(-1)
        return out if out.dtype != object else np.array(out.tolist())

    @property
    def _others(self) -> Any:
        return np.setdiff1d(np.arange(len(self._omega)), self._own)

    @cached_property
    def _g(self) -> Any:
        """`Gyration` whose fields are arrays, with one number for each motion that has a rotor."""
        return Gyration(*self._motions[:, :CONSTANTS].T)

    def constants(self, i: int = 0) -> Gyration:
        """The constants of the motion with rotor i."""
        return Gyration(*self._motions[i, :CONSTANTS].tolist())

    def _given(self, own: Floats, name: str) -> Any:
        """A property of all motions: these values for gyrostats, and those of the others."""
        return self._shaped(self._joined(own, None if self._plain is None else getattr(self._plain, name)))

    # --- how exact

    def sensitivity(self, elapsed: Floats) -> Floats:
        """About how much the state changes per relative change of a number given, after these times."""
        c, time = self._g, np.abs(elapsed)[None, :]
        with np.errstate(all="ignore"):  # infinities and NaN are right here, or not chosen
            # A frequency is a sum of the rates and of what the rotor adds: a change of each adds to its change.
            rates = np.abs(self._rates()).max(axis=1) + np.abs(self._along()) / self._moments.min(axis=1)
            base = 1.0 + (rates + c.spin * self._scale)[:, None] * time
            stiffness = (c.stiffness * self._scale)[:, None]
            periods = time / (c.period / self._scale)[:, None]
            slip = np.where(np.isfinite(c.period)[:, None], (1.0 + periods) / c.distance[:, None], np.inf)
            growth = np.exp(np.minimum(stiffness * time, 700.0))
            near = (c.kind != STEADY) & (c.distance < BESIDE_SEPARATRIX)
            own: Floats = base + np.where(near[:, None], np.fmin(slip, growth), 0.0)
            own = np.where((c.kind == STEADY)[:, None], base, own)
        if self._plain is None:
            return own
        return self._joined(own.reshape(-1), self._plain.sensitivity(elapsed), elapsed.size).reshape(-1, elapsed.size)

    def _rates(self) -> Floats:
        """The rates at the start in the axes of the rotors."""
        rates: Floats = np.einsum("ni,nij->nj", self._omega[self._own], self._axes)
        return rates

    def _along(self) -> Floats:
        """The momenta of the rotors along their axes."""
        along: Floats = np.einsum("ni,ni->n", self._rotor[self._own], self._axes[:, :, 2])
        return along

    def _column(self, name: Literal["spin", "lam"]) -> Floats:
        c = self._g
        values = c.stiffness if name == "lam" else c.spin
        own = values * self._scale
        return self._joined(own, None if self._plain is None else self._plain._column(name))[:, None]

    # --- constants of the motion

    @cached_property
    def mode(self) -> Any:
        """How the body moves: `rotor-axis`, `off-axis`, `separatrix` or `steady`; see `FreeMotion.mode`."""
        c = self._g
        modes = np.where(c.circles > 0.0, "rotor-axis", "off-axis").astype("U10")
        modes[np.isinf(c.period)] = "separatrix"
        modes[c.kind == STEADY] = "steady"
        return self._given(modes, "mode")

    @property
    def period(self) -> Any:
        """The time after which angular velocity and momentum repeat in the body, s; see `FreeMotion.period`."""
        c = self._g
        return self._given(np.where(c.circles > 0.0, 2.0, 1.0) * c.period / self._scale, "period")

    @property
    def mean_precession_rate(self) -> Any:
        """The mean precession rate of the rotor's axis, rad/s; |w| if steady, on the separatrix its limit."""
        return self._given(self._g.precession * self._scale, "mean_precession_rate")

    @property
    def precession_period(self) -> Any:
        """The period of one turn at the `mean_precession_rate`, s; infinite at rest."""
        with np.errstate(divide="ignore", over="ignore"):
            own = 2.0 * math.pi / np.abs(self._g.precession * self._scale)
        return self._given(own, "precession_period")

    def _undefined(self, what: str, instead: str) -> ValueError:
        return ValueError(f"{what} is defined for bodies without a rotor only: {instead}")

    @property
    def modulus(self) -> Any:
        """It is not defined for gyrostats, nor is `complementary_modulus`."""
        raise self._undefined("the modulus", "separatrix_distance says how near the separatrix is")

    complementary_modulus = modulus

    @property
    def separatrix_distance(self) -> Any:
        """How near the separatrix is: 0 on it, and at most 1.

        It is the ratio Y / X of the differences of roots from which the period is computed, or for complex roots
        (X + Y + 2 sqrt(XY)) / (4 sqrt(XY)). Near the separatrix the period grows by its logarithm.
        """
        return self._given(np.where(self._g.kind == STEADY, 0.0, self._g.distance), "separatrix_distance")

    def observed_periods(self, reference: Axis = "long") -> ObservedPeriods:
        """It is not defined for gyrostats."""
        raise self._undefined("observed_periods", "take `period` and `precession_period`")

    def flip_times(self, count: int) -> Floats:
        """It is not defined for gyrostats."""
        raise self._undefined("flip_times", "look for a change of sign in at(t).momentum")

    def nutation(self, axis: Axis | None = None) -> Nutation:
        """The angle between the rotor's axis and the angular momentum: least, mean over time, greatest.

        The axis points in the direction of the rotor's momentum. At zero momentum the angle is NaN. Other axes
        cannot be asked for.
        """
        if axis is not None:
            raise self._undefined(
                f"nutation({axis!r})", "nutation() is the angle between the rotor's axis and the momentum"
            )
        if self._plain is not None:
            raise ValueError("some of these bodies have no rotor: take one motion with motion[i].nutation()")
        c = self._g
        # The sign of axis 3: that of the rotor, and whether the axis was turned round.
        up = np.where(np.sign(self._along()) * np.where(c.flipped > 0.0, -1.0, 1.0) > 0.0, True, False)
        with np.errstate(all="ignore"):
            far = 2.0 * np.arctan2(np.sqrt(2.0 * c.norm - c.least), np.sqrt(c.least))
            near = 2.0 * np.arctan2(np.sqrt(c.most), np.sqrt(2.0 * c.norm - c.most))
        far, near = np.where(c.norm > 0.0, far, np.nan), np.where(c.norm > 0.0, near, np.nan)
        least, greatest = np.where(up, near, math.pi - far), np.where(up, far, math.pi - near)
        mean = np.array([self._mean_angle(k) for k in range(len(c.kind))])
        return Nutation(*(self._shaped(x) for x in (least, mean, greatest)))

    def _mean_angle(self, i: int) -> float:
        """The mean angle of motion i, by the trapezoidal rule over a period: it converges fast."""
        c = self._g
        if c.norm[i] == 0.0:
            return math.nan
        single, before = self._only(int(self._own[i])), math.inf
        axis = self._axes[i, :, 2] * np.sign(self._along()[i])
        span = float(c.period[i] / self._scale[i])
        if not math.isfinite(span):  # the limit of the separatrix; a steady motion stays where it is
            m = single._bodies[0].momentum(single.polhode(3)[-1])
            return float(np.arctan2(np.linalg.norm(np.cross(axis, m)), axis @ m))
        points = int(64 + 16 * c.stretch[i])
        while True:
            times = np.asarray(np.arange(points) * (span / points), dtype=np.float64)
            m = single._evaluated(times, 0.0)[3].reshape(-1, 3)
            mean = float(np.arctan2(np.linalg.norm(np.cross(axis, m), axis=1), m @ axis).mean())
            if abs(mean - before) <= 1e-13 or points > 1_000_000:
                return mean
            before, points = mean, 2 * points

    # --- curves

    def polhode(self, count: int = 400) -> Floats:
        """The curve of the rate in body axes, closed by its last point; on the separatrix one branch, end to end."""
        n = _count("count", count, 2)
        own = np.array([self._curve(i, n) for i in range(len(self._motions))])
        others = None if self._plain is None else self._plain.polhode(n)
        return self._shaped(self._joined(own.reshape(-1), others, 3 * n).reshape(-1, n, 3))  # type: ignore[no-any-return]

    def polhodes_from(self, omega: Floats, count: int) -> Floats:
        """The polhodes of the same body from other rates, shape (rates, count, 3)."""
        return FreeMotion(self._bodies[0], omega).polhode(count)

    def _curve(self, i: int, n: int) -> Floats:
        """The rates of motion i along its curve, at points that are closer in time where it is quicker."""
        c = self.constants(i)
        single = self._only(int(self._own[i]))
        if c.kind == STEADY:
            return np.tile(single._omega[0], (n, 1))
        poles = [Pole(*row) for row in self._motions[i, CONSTANTS : CONSTANTS + 2 * POLE].reshape(2, POLE).tolist()]
        # The singularities of the motion are as far from the real times as its quick part is long.
        if c.period == math.inf:
            quick = min(1.0, max(p.angle for p in poles))
            elapsed = np.arcsinh(quick * np.tan(np.linspace(-0.5 * math.pi, 0.5 * math.pi, n))) / c.stretch
        else:
            turns = (1.0 + c.circles) * np.arange(n) / (n - 1)
            if c.kind == DIRECT:
                quick = max(p.fall / (1.0 + p.decay) for p in poles)
                whole, rest = np.divmod(turns + 0.5, 1.0)
                angle = math.pi * (rest - 0.5)
                turns = whole + np.arctan2(quick * np.sin(angle), np.cos(angle)) / math.pi
            else:
                parts = 2.0 if c.kind == COMPLEX else 1.0  # the quick parts of a period of z, in whose middle x is 0
                whole, rest = np.divmod(parts * turns + 0.5, 1.0)
                reach = 0.5 * c.stretch / parts
                rest = np.arcsinh(np.tan((2.0 * rest - 1.0) * math.atan(math.sinh(reach)))) / (2.0 * reach)
                turns = (whole + rest) / parts
            elapsed = turns * c.period
        times = np.asarray((elapsed - c.t0) / float(self._scale[i]), dtype=np.float64)
        w = single._evaluated(times, 0.0)[2].reshape(-1, 3)
        if c.period < math.inf:
            w[-1] = w[0]
        return w

    # --- stacks

    def _only(self, i: int) -> FreeMotion:
        if self._plain is not None and i in self._others:
            return self._plain[int(np.searchsorted(self._others, i))]
        single = object.__new__(GyrostatMotion)
        single._shape, single.t0, single._plain, single._own = (), self.t0, None, np.array([0])
        single._bodies = [self._bodies[i if len(self._bodies) > 1 else 0]]
        k = int(np.searchsorted(self._own, i))
        for name in _ALL_ROWS:
            setattr(single, name, getattr(self, name)[i : i + 1])
        for name in _OWN_ROWS:
            setattr(single, name, getattr(self, name)[k : k + 1])
        return single

    def _described(self) -> list[tuple[str, str]]:
        """The rows of the text of a single motion after those of its start."""
        return [
            ("mode", f"{self.mode}, {self.separatrix_distance:.3g} from the separatrix"),
            ("period", f"{self.period:.8g} s in the body, precession {self.precession_period:.8g} s"),
        ]
