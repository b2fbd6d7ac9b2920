"""Free motions from what observers know: two periods, or Euler angles about the angular momentum.

Angles are phi, theta and psi of the sequence ZXZ. The first axes have Z along the angular momentum; the last are the
principal axes in the cyclic order that ends with the reference axis k: (i, j, k) is (x, y, z), (y, z, x) or (z, x, y).
In the body, the angular momentum has the direction (sin theta sin psi, sin theta cos psi, cos theta) on these axes.
[samarasinha1991, kaasalainen2001]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.attitudes import euler, quaternion_from_euler
from polhode.body import Body
from polhode.kernels.types import Vec3
from polhode.support import checks
from polhode.support.arrays import Floats, columns, inverse, product

if TYPE_CHECKING:
    from polhode.free.free_motion import FreeMotion

MODES = {"SAM": "short", "short-axis": "short", "LAM": "long", "long-axis": "long"}
"""The names of the modes, with the axis that the momentum circles."""
LEAST_LOGARITHM, GREATEST_LOGARITHM = -650.0, 40.0
"""The ends between which the logarithm of the ratio of two components of the momentum is looked for: from as near to
the separatrix as floats can say to a steady rotation."""
HALVINGS = 72
"""Halvings of that stretch: after them its ends are neighbouring floats."""
PERIOD_TOLERANCE = 1e-9
"""The relative error of a period beyond which a motion is refused: near the separatrix the state at the start may be
too coarse to have the periods that were asked for."""
POLE_TOLERANCE = 2.0**-46
"""The distance of a direction from Z, in radians, up to which it is round-off and has no longitude: it counts as 0."""


class MomentumAngles(NamedTuple):
    """Euler angles about the angular momentum, in radians."""

    phi: Any
    """The angle by which the reference axis has gone round the momentum."""
    theta: Any
    """The angle between the reference axis and the momentum."""
    psi: Any
    """The angle by which the body has turned about the reference axis."""


# --- axes ----------------------------------------------------------------------------------------------------------


def _reference(body: Body, reference: Any) -> int:
    """The index of the principal axis that is meant."""
    name = checks.choice("reference axis", reference, ("long", "short", "x", "y", "z"))
    if name in ("long", "short"):
        return int(np.argmin(body.moments) if name == "long" else np.argmax(body.moments))
    if not body.aligned:
        raise ValueError(f"the axis {name} is not a principal axis of this body: name the reference axis long or short")
    return "xyz".index(name)


def _cyclic(k: int) -> tuple[int, int, int]:
    """The three axes in cyclic order with k last."""
    return (k + 1) % 3, (k + 2) % 3, k


def _relabelling(body: Body, k: int) -> Floats:
    """The turn from (i, j, k) to the user's axes as a quaternion."""
    cyclic = np.array({0: (0.5, 0.5, 0.5, 0.5), 1: (0.5, -0.5, -0.5, -0.5), 2: (1.0, 0.0, 0.0, 0.0)}[k])
    return product(body.axes_quaternion, cyclic)


def _frame(momentum: Floats) -> Floats:
    """Axes with Z along the momentum: Z turned by its longitude, then Y by its distance from Z, (..., 4)."""
    x, y, z = columns(momentum)
    across = np.hypot(x, y)
    has_longitude = across > POLE_TOLERANCE * np.abs(z)
    longitude, distance = np.where(has_longitude, np.arctan2(y, x), 0.0), np.arctan2(across, z)
    return quaternion_from_euler("ZY", np.stack([longitude, distance], axis=-1))


# --- angles --------------------------------------------------------------------------------------------------------


def from_angles(
    kind: type[FreeMotion], body: Any, momentum: Any, phi: Any, theta: Any, psi: Any, reference: Any, degrees: bool,
    t0: float,
) -> FreeMotion:  # fmt: skip
    """The motion of `FreeMotion.from_momentum`."""
    bodies = [body] if isinstance(body, Body) else list(body)
    for one in bodies:
        if not isinstance(one, Body):
            raise TypeError(f"body must be a polhode.Body or a sequence of them, not {one!r}: write Body({one!r})")
    angles = [checks.floats(n, x, "be an angle") for n, x in (("phi", phi), ("theta", theta), ("psi", psi))]
    angles = [checks.array(n, x, x.shape) for n, x in zip(("phi", "theta", "psi"), angles, strict=True)]
    G = _momentum(momentum)
    shapes = {"momentum": G.shape[:-1], **dict(zip(("phi", "theta", "psi"), (x.shape for x in angles), strict=True))}
    shapes["body"] = () if isinstance(body, Body) else (len(bodies),)
    shape = _common(shapes)
    q = quaternion_from_euler("ZXZ", np.stack(np.broadcast_arrays(*angles), axis=-1), degrees=degrees)
    k = [_reference(one, reference) for one in bodies]
    relabelled = np.array([_relabelling(one, i) for one, i in zip(bodies, k, strict=True)])
    attitude = product(_frame(G), q, inverse(relabelled))
    tilt, spin = (np.radians(x) if degrees else x for x in angles[1:])
    components = np.sin(tilt) * np.sin(spin), np.sin(tilt) * np.cos(spin), np.cos(tilt)
    along = np.stack(np.broadcast_arrays(*components), axis=-1)
    size = np.linalg.norm(G, axis=-1)[..., None]
    return _made(kind, bodies, k, along * size, attitude, shape, t0)


def _momentum(momentum: Any) -> Floats:
    """The momentum in space axes; a number is the size of one along Z."""
    shape = checks.shape_of("momentum", momentum)
    if shape == ():
        return np.array([0.0, 0.0, checks.number("momentum", momentum, positive=True)])
    if shape[-1:] != (3,) or len(shape) > 2:
        raise ValueError(f"momentum must be a number, a vector or a row for each motion, not of shape {shape}")
    G = checks.array("momentum", momentum, shape)
    if not np.linalg.norm(G, axis=-1).all():
        raise ValueError("momentum must not be zero: a body at rest has no such angles")
    return G


def _common(shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The number of motions; () for a single one."""
    stacked = {name: shape for name, shape in shapes.items() if shape}
    if len(set(stacked.values())) > 1 or any(len(shape) > 1 for shape in stacked.values()):
        listed = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in stacked.items())
        raise ValueError(f"{', '.join(shapes)} must be single or stacks of one length, but are: {listed}")
    return next(iter(stacked.values()), ())


def _made(
    kind: type[FreeMotion], bodies: list[Body], k: list[int], momentum: Floats, attitude: Floats,
    shape: tuple[int, ...], t0: float,
) -> FreeMotion:  # fmt: skip
    """Motions from momenta on the axes (i, j, k)."""
    count = shape[0] if shape else 1
    rows = np.broadcast_to(momentum, (count, 3))
    omega = np.empty((count, 3))
    for n in range(count):
        one, axis = bodies[n if len(bodies) > 1 else 0], k[n if len(k) > 1 else 0]
        principal = np.empty(3)
        principal[list(_cyclic(axis))] = rows[n]
        omega[n] = one.axes @ (principal / one.moments)
    q = np.broadcast_to(attitude, (count, 4))
    if not shape:
        return kind(bodies[0], omega[0], q[0], t0)
    return kind(bodies if len(bodies) > 1 else bodies[0], omega, list(map(tuple, q.tolist())), t0)


def angles_of(motion: FreeMotion, t: Any, reference: Any) -> MomentumAngles:
    """The angles of `FreeMotion.momentum_angles`."""
    state = motion.at(t)
    given = motion.body
    bodies = list(given) if isinstance(given, tuple) else [given]
    relabelled = np.array([_relabelling(one, _reference(one, reference)) for one in bodies])
    frame = _frame(np.atleast_2d(motion.angular_momentum))
    q = state.quaternion
    flat = q if motion.angular_momentum.ndim == 2 else q[None]  # motions first
    between = (1,) * (flat.ndim - 2)
    frame, relabelled = (x.reshape(len(x), *between, 4) for x in (frame, relabelled))
    seen = product(inverse(frame), flat, relabelled)
    angles = euler(seen, "ZXZ").reshape(*q.shape[:-1], 3)
    return MomentumAngles(*(x if x.ndim else float(x) for x in columns(angles)))


# --- periods -------------------------------------------------------------------------------------------------------


def from_periods(
    kind: type[FreeMotion], ratios: Any, P_psi: Any, P_phi: Any, mode: Any, reference: Any, phi: Any, psi: Any,
    direction: Any, t0: float,
) -> FreeMotion:  # fmt: skip
    """The motion of `FreeMotion.from_periods`."""
    modes = [mode] if isinstance(mode, str) else list(mode)
    circled = [MODES[checks.choice("mode", one, MODES)] for one in modes]
    wanted: Any = checks.choice("reference axis", reference, ("long", "short"))
    bodies, single = _bodies(ratios)
    periods = {"P_psi": _positive("P_psi", P_psi), "P_phi": _positive("P_phi", P_phi)}
    angles = {n: _row(n, x, "be an angle") for n, x in (("phi", phi), ("psi", psi)) if x is not None}
    aim = np.array(checks.floats("direction", direction, "be a direction"))
    if aim.ndim == 2:
        aim = np.array([checks.direction(f"direction[{n}]", one) for n, one in enumerate(aim)]).reshape(-1, 3)
    else:
        aim = np.array(checks.direction("direction", direction))
    shape = _common({
        "ratios": () if single else (len(bodies),), "mode": () if isinstance(mode, str) else (len(modes),),
        **{n: x.shape for n, x in (periods | angles).items()}, "direction": aim.shape[:-1],
    })  # fmt: skip
    count = shape[0] if shape else 1
    circled = circled if len(circled) > 1 else circled * count
    rows = [
        _axes_of(one, axis) for one, axis in zip(bodies if len(bodies) > 1 else bodies * count, circled, strict=True)
    ]
    moments, axes = np.array([m for m, _ in rows]), [a for _, a in rows]
    along_psi, along_phi = (np.broadcast_to(x, (count,)) for x in periods.values())
    ratio = along_psi / along_phi
    tangent = _solved(kind, moments, ratio, wanted, circled)
    c, s = _components(tangent)
    plain = kind([Body(m, allow_unphysical=True) for m in moments], _rates(moments, c, s))
    G = np.atleast_1d(plain.period) / along_psi  # of motions with the momentum 1
    turned = np.broadcast_to(angles["phi"], (count,)).tolist()
    about = np.broadcast_to(angles["psi"], (count,)).tolist() if "psi" in angles else [None] * count
    k, momenta, started = [], np.empty((count, 3)), np.empty((count, 3))
    relabelled = np.empty((count, 4))
    for n in range(count):
        one = bodies[n] if len(bodies) > 1 else bodies[0]
        reference_axis = axes[n][0] if wanted == circled[n] else axes[n][2]
        k.append(reference_axis)
        m, spin = _phase(moments[n], axes[n], reference_axis, float(c[n]), float(s[n]), about[n])
        momenta[n] = G[n] * np.array(m)
        started[n] = turned[n], math.atan2(math.hypot(m[0], m[1]), m[2]), spin
        relabelled[n] = _relabelling(one, reference_axis)
    attitudes = product(_frame(aim), quaternion_from_euler("ZXZ", started), inverse(relabelled))
    made = _made(kind, bodies, k, momenta, attitudes, shape, t0)
    found = made.observed_periods(wanted)
    for name, asked, got in (("P_psi", along_psi, found.psi), ("P_phi", along_phi, found.phi)):
        off = np.abs(np.atleast_1d(got) / asked - 1.0)
        if not (off < PERIOD_TOLERANCE).all():
            bad = int(np.argmax(~(off < PERIOD_TOLERANCE)))
            raise ValueError(
                f"the motion is so near the separatrix that no state at psi = {about[bad]} has {name} = "
                f"{asked[bad]:g}: its last digits decide on the period. "
                "Leave psi out, and the motion starts where it can be stated"
            )
    return made


def _bodies(ratios: Any) -> tuple[list[Body], bool]:
    """The bodies with these ratios of moments, and whether a single one was given."""
    if isinstance(ratios, Body):
        return [ratios], True
    if isinstance(ratios, list | tuple) and ratios and all(isinstance(one, Body) for one in ratios):
        return list(ratios), False
    shape = checks.shape_of("ratios", ratios)
    if len(shape) not in (1, 2) or shape[-1] not in (2, 3) or 0 in shape:
        raise ValueError(
            "ratios must be three moments in any unit, or two in units of the third, or rows of these, or a Body, "
            f"not of shape {shape}"
        )
    rows = np.atleast_2d(checks.array("ratios", ratios, shape))
    if shape[-1] == 2:
        rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    try:
        return [Body(row) for row in rows], len(shape) == 1
    except ValueError as problem:
        raise ValueError(f"ratios: {problem}, in a Body that is given as ratios") from None


def _positive(name: str, value: Any) -> Floats:
    """A period, or one for each motion."""
    given = _row(name, value, "be a period")
    if not (given > 0.0).all():
        raise ValueError(f"{name} must be positive, not {float(given.min()):g}")
    return given


def _row(name: str, value: Any, what: str) -> Floats:
    """A finite number, or one for each motion."""
    given = checks.floats(name, value, what)
    if given.ndim > 1 or given.size == 0:
        raise ValueError(f"{name} must be a number, or a row of them, not of shape {given.shape}")
    return checks.array(name, given, given.shape)


def _axes_of(body: Body, circled: str) -> tuple[Floats, tuple[int, int, int]]:
    """Moments and indices of the circled axis, the intermediate one, and the other one."""
    order = np.argsort(body.moments, kind="stable")
    c, m, o = (int(i) for i in (order[::-1] if circled == "short" else order))
    moments = body.moments[[c, m, o]]
    if moments[0] == moments[1]:
        which = "greatest" if circled == "short" else "least"
        raise ValueError(
            f"a body with the moments {', '.join(f'{x:g}' for x in body.moments)} has no {circled}-axis mode: its two "
            f"{which} moments are equal"
        )
    return moments, (c, m, o)


def _components(tangent: Floats) -> tuple[Floats, Floats]:
    """The components of a vector of unit length whose ratio is given."""
    size = np.hypot(1.0, tangent)
    return tangent / size, 1.0 / size


def _rates(moments: Floats, c: Floats, s: Floats) -> Floats:
    """Rates of motions with the momentum 1, when it lies in the plane of the circled and the intermediate axis.

    There a small component along the circled axis says to full accuracy how near the separatrix is.
    """
    return np.stack([c / moments[:, 0], s / moments[:, 1], np.zeros(len(c))], axis=1)


def _solved(kind: type[FreeMotion], moments: Floats, ratio: Floats, reference: Any, circled: list[str]) -> Floats:
    """The component of the momentum along the circled axis over that along the intermediate one.

    P_psi / P_phi grows all the way from small oscillations about the circled axis to the separatrix, where it is
    infinite: the tangent is found by halving.
    """
    bodies = [Body(m, allow_unphysical=True) for m in moments]

    def seen(c: Floats, s: Floats) -> Floats:
        phi, psi = kind(bodies, _rates(moments, c, s)).observed_periods(reference)
        return np.asarray(psi / phi)

    least = seen(np.ones(len(moments)), np.zeros(len(moments)))
    if not (ratio > least).all():
        bad = int(np.argmax(~(ratio > least)))
        of = f" of motion {bad}" if len(moments) > 1 else ""
        raise ValueError(
            f"P_psi / P_phi{of} is {ratio[bad]:.6g}, but a body with these moments has motions in {circled[bad]}-axis "
            f"mode only where it is greater than {least[bad]:.6g}, if the reference axis is the {reference} one"
        )
    low, high = np.full(len(ratio), LEAST_LOGARITHM), np.full(len(ratio), GREATEST_LOGARITHM)
    greatest = seen(*_components(np.exp(low)))
    if not (ratio < greatest).all():
        bad = int(np.argmax(~(ratio < greatest)))
        raise ValueError(
            f"P_psi / P_phi is {ratio[bad]:.6g}, and beyond {greatest[bad]:.6g} a motion of this body cannot be told "
            "from one on the separatrix"
        )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = seen(*_components(np.exp(middle))) > ratio  # nearer to the separatrix than wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    tangent: Floats = np.exp(0.5 * (low + high))
    return tangent


def _phase(
    moments: Floats, axes: tuple[int, int, int], k: int, c: float, s: float, about: float | None
) -> tuple[Vec3, float]:
    """The momentum at the start on the axes (i, j, k), and psi.

    c and s are the components along the circled and the intermediate axis when there is no other. Without psi the
    motion starts there. All sums are of terms of one sign, so that nothing is lost near the separatrix.
    """
    I_circled, I_middle, I_other = moments.tolist()
    is_circled = k == axes[0]
    extreme = axes[2] if is_circled else axes[0]  # besides k and the intermediate axis
    extreme_is_i = _cyclic(k)[0] == extreme
    if about is None:
        part, rest, along = (0.0, s, c) if is_circled else (c, s, 0.0)
        x, y = (part, rest) if extreme_is_i else (rest, part)
        return (x, y, along), math.atan2(x, y)
    x, y = math.sin(about), math.cos(about)
    part = x * x if extreme_is_i else y * y  # of the transverse momentum, squared
    to_middle, beyond = abs(1.0 / I_circled - 1.0 / I_middle), abs(1.0 / I_middle - 1.0 / I_other)
    if is_circled:  # from sin^2 (x^2 / I_i + y^2 / I_j) + cos^2 / I_k = 2T / G^2 = c^2 / I_circled + s^2 / I_middle
        sine2, cosine2 = s * s * to_middle, c * c * to_middle + part * beyond
    elif part >= c * c:
        sine2, cosine2 = beyond + c * c * to_middle, (part - c * c) * to_middle
    else:
        width, centre = math.degrees(math.acos(c)), 90 if extreme_is_i else 0
        raise ValueError(
            f"psi is never {about:g} rad in this motion: it rocks within {width:.4g} degrees of {centre} degrees, or "
            "of the opposite direction"
        )
    size = math.sqrt(sine2 + cosine2)
    sine, cosine = math.sqrt(sine2) / size, math.sqrt(cosine2) / size
    return (sine * x, sine * y, cosine), about
