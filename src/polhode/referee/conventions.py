"""The convention of a log: every convention is tried, and the motion decides.

From rows of the log the motion is computed a little ahead, once under each convention, and compared with later
rows. Under the right convention the difference is small, even if the simulator is not accurate; under a wrong one it is
as large as the motion itself.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polhode.attitudes import quaternion_from_euler, quaternion_from_mrp
from polhode.body import Body
from polhode.kernels.ops import read_only
from polhode.kernels.types import Depends
from polhode.referee.names import TIME_UNITS
from polhode.referee.reading import Log, Raw
from polhode.support.arrays import Floats, inverse, lengths, product, vector_of
from polhode.torques import Torque
from polhode.vectors import to_body

PAIRS = 24
"""The number of rows from which the motion is computed ahead."""
TURN = 0.5
"""How far ahead, as an angle in rad: long enough to be seen, short enough that an inaccurate simulator is not lost."""
STEP_ANGLE = 0.1
"""The angle of a step of the motion ahead, in rad: then its relative error is about 1e-7."""
MOST_STEPS = 256
TORQUED_PAIRS, MOST_TORQUED_STEPS = 12, 32
"""Fewer of both under a torque, which is called in plain Python."""
DOUBTFUL = 0.05
"""If every convention leaves more than this unexplained, the body or the torque may be another one than was given."""
NO_FIT = 0.25
"""Where the best convention leaves more than this share of the motion unexplained, none fits."""
ALIKE, LIKELY, CERTAIN = 1.5, 3.0, 10.0
"""How many times worse the next convention is: alike, or enough to call the best one likely, or certain."""
EARTH_RATE = 7.292115e-5
"""The rotation of the Earth in rad/s, as in WGS 84."""
TO_RADIANS = {"rad": 1.0, "deg": math.pi / 180.0, "rpm": 2.0 * math.pi / 60.0}
TO_RADIANS |= {f"{x}/{word}": TO_RADIANS[x] / unit for x in ("rad", "deg") for word, unit in TIME_UNITS.items()}

DIRECTIONS = ("body to space", "space to body")
SEQUENCES = tuple("".join(s) for s in itertools.product("XYZ", repeat=3) if s[0] != s[1] and s[1] != s[2])


def rate_unit(unit: str) -> str:
    """The unit of a rate in full: deg/s of deg, and rpm and deg/h as they are."""
    return f"{unit}/s" if unit in ("rad", "deg") else unit


class Meaning(NamedTuple):
    """One reading of the numbers. Empty texts: the log has nothing of the kind."""

    direction: str = ""
    """"body to space" or "space to body"."""
    order: str = ""
    """"scalar first" or "scalar last"."""
    sequence: str = ""
    angle_unit: str = ""
    axes: str = ""
    """The axes of the rates: "body" or "space"."""
    unit: str = ""
    sign: float = 1.0
    """-1: the rates turn the other way."""
    frame: str = ""
    """"ned": attitudes are against north-east-down axes on the turning Earth."""

    def words(self) -> str:
        """The reading as a phrase."""
        said = []
        if self.direction:
            said.append(f"attitudes from {self.direction}")
        if self.order:
            said.append(self.order)
        if self.sequence:
            said.append(f"Euler angles {self.sequence} in {self.angle_unit}")
        if self.axes:
            opposite = " with the opposite sign" if self.sign < 0 else ""
            said.append(f"rates in {self.axes} axes in {rate_unit(self.unit)}{opposite}")
        if self.frame:
            said.append("against north-east-down axes, which turn with the Earth")
        return ", ".join(said)


@dataclass(frozen=True)
class Convention:
    """The convention that was found for a log, and its certainty."""

    meaning: Meaning
    certainty: str
    """"certain", "likely", "not to be told" from others, or "none fits"."""
    ratio: float
    """How many times worse the next best convention explains the motion."""
    unexplained: float
    """The share of the motion, over about half a radian, that this convention leaves unexplained."""
    alternatives: tuple[Meaning, ...] = ()
    """Other conventions under which the motion is explained as well."""
    surprises: tuple[str, ...] = ()
    """Where the numbers contradict the names of their columns."""

    def __str__(self) -> str:
        return self.meaning.words()


# --- candidates ----------------------------------------------------------------------------------------------------


def candidates(log: Log, words: str | None) -> list[Meaning]:
    """All readings of a log that the user's words allow, the least surprising first."""
    attitudes: list[Meaning] = [Meaning()]
    if (a := log.attitude) is not None:
        orders, sequences, units = [""], [""], [""]
        if a.kind == "quaternion":
            orders = ["scalar first"] if a.hint in ("first", "body to space") else ["scalar first", "scalar last"]
        if a.kind == "euler":
            sequences = {"any": [*SEQUENCES], "ZYX or ZXZ": ["ZYX", "ZXZ"]}.get(a.hint, [a.hint])
            units = ["deg", "rad"] if a.unit == "deg" or np.abs(a.values).max() > 7.0 else ["rad", "deg"]
            if np.abs(a.values).max() > 7.0:
                units = ["deg"]
        places = ["", "ned"] if log.place is not None else [""]
        attitudes = [
            Meaning(direction=d, order=o, sequence=s, angle_unit=u, frame=f)
            for s in sequences for u in units for o in orders for d in DIRECTIONS for f in places
        ]  # fmt: skip
    found = attitudes
    if (w := log.omega) is not None:
        axes = ["space", "body"] if w.hint == "space" else ["body", "space"]
        if log.attitude is None:
            axes = axes[:1]
        units = ["deg", "rad"] if w.unit == "deg" else [w.unit] if w.unit not in ("", "rad") else ["rad", "deg"]
        found = [
            m._replace(axes=x, unit=u, sign=s) for s in (1.0, -1.0) for u in units for x in axes for m in attitudes
        ]  # fmt: skip
    expected = found[0]

    def surprise(m: Meaning) -> int:
        return (m.sign < 0) * 2 + sum(x != y for x, y in zip(m[:6], expected[:6], strict=True)) + bool(m.frame)

    found.sort(key=surprise)
    return _allowed(found, words)


_WORDS = {
    "body to space": ("direction", "body to space"), "space to body": ("direction", "space to body"),
    "scalar first": ("order", "scalar first"), "scalar last": ("order", "scalar last"),
    "body rates": ("axes", "body"), "space rates": ("axes", "space"),
    "deg/s": ("unit", "deg"), "rad/s": ("unit", "rad"),
    "ned": ("frame", "ned"), "inertial": ("frame", ""), "deg": ("angle_unit", "deg"), "rad": ("angle_unit", "rad"),
}  # fmt: skip
"""Conventions of a log that a user can give."""


def _allowed(found: list[Meaning], words: str | None) -> list[Meaning]:
    for word in [] if words is None else [w.strip().lower() for w in words.split(",") if w.strip()]:
        if word.upper() in SEQUENCES:
            key, value = "sequence", word.upper()
        elif word in _WORDS:
            key, value = _WORDS[word]
        else:
            raise ValueError(f"convention: {word!r} must be a sequence such as ZYX, or one of {', '.join(_WORDS)}")
        kept = [m for m in found if getattr(m, key) == value]
        if not kept:
            raise ValueError(f"convention: {word!r} does not apply to this log, or contradicts the names in it")
        found = kept
    return found


# --- one reading applied -------------------------------------------------------------------------------------------


def quaternions(raw: Raw, m: Meaning, t: Floats, place: Floats | None) -> Floats:
    """Attitudes from body to space under a reading, scalar first and of unit length."""
    q: Any
    if raw.kind == "quaternion":
        q = raw.values[:, [3, 0, 1, 2]] if m.order == "scalar last" else raw.values
        q = q / lengths(q)[:, None]
    elif raw.kind == "matrix":
        from scipy.spatial.transform import Rotation

        q = Rotation.from_matrix(raw.values.reshape(-1, 3, 3)).as_quat(scalar_first=True)
    elif raw.kind == "mrp":
        q = quaternion_from_mrp(raw.values)
    else:
        values = raw.values[:, ::-1] if m.sequence == "ZXZ" and raw.hint == "ZYX or ZXZ" else raw.values
        q = quaternion_from_euler(m.sequence, values, degrees=m.angle_unit == "deg")
    if m.direction == "space to body":
        q = inverse(q)
    if m.frame and place is not None:
        q = product(north_east_down(t, place), q)
    return np.asarray(q)


def north_east_down(t: Floats, place: Floats) -> Floats:
    """The attitudes of north-east-down axes at latitudes and longitudes, with the Earth's turn since t[0]."""
    east = place[:, 1] + EARTH_RATE * (t - t[0])
    return quaternion_from_euler("ZY", np.stack([east, -0.5 * math.pi - place[:, 0]], axis=-1))


def relative_to_place(log: Log, m: Meaning, t: Floats, q: Floats) -> Floats:
    """Attitudes against the axes that the log has them against, at times within it."""
    if not m.frame or log.place is None:
        return q
    place = np.stack([np.interp(t, log.t, x) for x in log.place.T], axis=-1)
    return np.asarray(product(inverse(north_east_down(t, place)), q))


def turn_vectors(a: Floats, b: Floats) -> Floats:
    """The turns from attitudes a to b as vectors in the body axes of a: log(a* b)."""
    return vector_of(product(inverse(a), b))


def rates(raw: Raw, m: Meaning, q: Floats | None) -> Floats:
    """Rates in body axes in rad/s under a reading."""
    w = raw.values * (m.sign * TO_RADIANS[m.unit])
    if m.axes == "space" and q is not None:
        w = to_body(q, w)
    return np.asarray(w)


def differentiated(t: Floats, q: Floats, at: Any, width: int = 7) -> Floats:
    """Rates in body axes at some rows from the attitudes around them, by polynomials through `width` rows."""
    made = np.empty((len(at), 3))
    for out, k in zip(made, at, strict=True):
        first = min(max(0, k - width // 2), max(0, len(t) - width))
        near = np.arange(first, min(first + width, len(t)))
        angle = turn_vectors(np.broadcast_to(q[k], (near.size, 4)), q[near])
        out[:] = _weights(t[near] - t[k]) @ angle
    return made


def _weights(x: Floats) -> Floats:
    """The weights of values at x in the derivative at 0 of the polynomial through them."""
    scale = float(np.abs(x).max())
    powers = np.vander(x / scale, increasing=True).T
    wanted = np.zeros(x.size)
    wanted[1] = 1.0
    return np.asarray(np.linalg.solve(powers, wanted) / scale)


# --- the motion ahead ----------------------------------------------------------------------------------------------


def torque_rows(torque: Torque, body: Body, t: Floats, q: Floats, w: Floats, carried: Floats) -> tuple[Floats, Floats]:
    """The torque in each row in body axes, zeros without one, and the derivatives of the numbers that it carries."""
    if torque.depends is Depends.NOTHING and not torque.state_names:
        return np.zeros_like(w), carried
    p = read_only(np.array(torque.parameters(body), dtype=np.float64))
    rows = zip(t.tolist(), q.tolist(), w.tolist(), carried.tolist(), strict=True)
    if not torque.state_names:
        return np.array([torque.called(t, tuple(q), tuple(w), p) for t, q, w, _ in rows], dtype=np.float64), carried
    found = [torque.torque_kernel(t, tuple(q), tuple(w), p, tuple(z)) for t, q, w, z in rows]
    return tuple(np.array(x, dtype=np.float64) for x in zip(*found, strict=True))  # type: ignore[return-value]


def ahead(
    body: Body, torque: Torque, t: Floats, q: Floats, w: Floats, dt: Floats, steps: int, carried: Any = (),
    scale: float = 1.0,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Attitudes and rates a time dt after each row, by steps of the classical Runge-Kutta method.

    The torque is multiplied by `scale`. The numbers that it carries are `carried` in every row.
    """
    m, end = body.momentum(w), t + dt
    z = np.tile(np.array(carried, dtype=np.float64), (t.size, 1))
    jumps = np.array([-np.inf, *torque.breakpoints, np.inf])
    while True:
        # A piece ends at the next jump, whichever way it goes; times on a jump belong to the piece.
        forward = jumps[np.searchsorted(jumps, t, side="right")]
        back = jumps[np.searchsorted(jumps, t, side="left") - 1]
        stop = np.where(dt >= 0.0, np.minimum(end, forward), np.maximum(end, back))
        q, m, z = _across(body, torque, (t, stop), (q, m, z), steps, scale, jumps)
        if (stop == end).all():
            return q, body.rate(m)
        t = stop


def _across(
    body: Body, torque: Torque, piece: tuple[Floats, Floats], start: tuple[Floats, ...], steps: int, scale: float,
    jumps: Floats,
) -> tuple[Floats, ...]:  # fmt: skip
    """Attitudes, momenta and carried numbers at the ends of pieces inside which the torque does not jump."""
    t, stop = piece
    h = ((stop - t) / steps)[:, None]
    inside = (np.nextafter(t, stop), np.nextafter(stop, t)) if jumps.size > 2 else (np.array(-np.inf), np.array(np.inf))
    low, high = np.minimum(*inside), np.maximum(*inside)

    def slope(t: Floats, q: Floats, m: Floats, z: Floats) -> tuple[Floats, ...]:
        w = body.rate(m)
        dq = 0.5 * product(q, np.concatenate([np.zeros((len(w), 1)), w], axis=1))
        n, dz = torque_rows(torque, body, np.clip(t, low, high), q, w, z)
        return dq, np.cross(m, w) + scale * n, dz

    y = start
    with np.errstate(over="ignore", invalid="ignore"):  # under wrong readings anything may happen
        for _ in range(steps):
            a = slope(t, *y)
            b = slope(t + h[:, 0] / 2, *(u + h / 2 * k for u, k in zip(y, a, strict=True)))
            c = slope(t + h[:, 0] / 2, *(u + h / 2 * k for u, k in zip(y, b, strict=True)))
            d = slope(t + h[:, 0], *(u + h * k for u, k in zip(y, c, strict=True)))
            q, *rest = (u + h / 6 * (i + 2 * j + 2 * k + n) for u, i, j, k, n in zip(y, a, b, c, d, strict=True))
            y = (q / lengths(q)[:, None], *rest)
            t = t + h[:, 0]
        return y


def _lag(log: Log) -> int:
    """The number of rows over which the body turns by about half a radian."""
    n = log.t.size
    near = np.unique(np.linspace(0, n - 2, 200).astype(int))
    if (a := log.attitude) is not None:
        m = Meaning("body to space", "scalar first", SEQUENCES[0] if a.hint == "any" else a.hint[:3], a.unit or "rad")
        if a.kind == "euler" and np.abs(a.values).max() > 7.0:
            m = m._replace(angle_unit="deg")
        plain = Raw(a.kind, np.concatenate([a.values[near], a.values[near + 1]]), a.unit, a.hint)
        q = quaternions(plain, m, np.zeros(2 * near.size), None)
        turn = lengths(turn_vectors(q[: near.size], q[near.size :]))
        typical = float(np.median(turn))
    else:
        w = log.omega.values if log.omega is not None else np.zeros((n, 3))
        change = lengths(w[near + 1] - w[near]) / max(float(lengths(w).max()), 1e-300)
        typical = float(np.median(change))
    most = max(1, (n - 1) // 3)
    return int(min(most, max(1, round(TURN / typical)))) if typical > 1e-12 else most


def find_convention(
    log: Log, body: Body, torque: Torque, words: str | None, noise: float, carried: Any = ()
) -> Convention:
    """The reading of a log under which its rows follow from each other best."""
    listed = candidates(log, words)
    lag = _lag(log)
    count = PAIRS if torque.depends is Depends.NOTHING else TORQUED_PAIRS
    begin = np.unique(np.linspace(0, log.t.size - 1 - lag, count).astype(int))
    from_row, to_row = begin, begin + lag
    if torque.state_names:  # the carried numbers are known in the first row
        to_row = np.unique(np.linspace(1, lag, count).astype(int))
        from_row = np.zeros_like(to_row)
    scores = _scores(log, listed, body, torque, from_row, to_row, carried)
    floor = max(1e-7, noise)
    scores = np.maximum(np.where(np.isfinite(scores), scores, np.inf), floor)
    if float(scores.min()) > DOUBTFUL and log.attitude is not None and log.omega is not None and lag > 1:
        # The body or the torque is another one: the attitudes must still follow from the rates, over shorter times.
        near = max(1, lag // 10)
        short = _scores(log, listed, body, torque, begin, begin + near, carried, kinematic=True)
        scores = np.where(short > LIKELY * short.min() + 0.01, np.inf, scores)
        scores = np.where(scores < LIKELY * scores.min(), scores.min(), scores)
    best = float(scores.min())
    chosen = next(m for m, s in zip(listed, scores, strict=True) if s <= ALIKE * best)
    others = [(m, float(s)) for m, s in zip(listed, scores, strict=True) if m != chosen]
    near_ones = [m for m, s in others if s <= LIKELY * best]
    ratio = min([s for _, s in others], default=math.inf) / best
    if best > NO_FIT:
        certainty = "none fits"
    elif near_ones:
        certainty = "not to be told"
    else:
        certainty = "certain" if ratio >= CERTAIN else "likely"
    return Convention(chosen, certainty, ratio, best, tuple(near_ones), tuple(_surprises(log, chosen)))


def _surprises(log: Log, m: Meaning) -> Iterable[str]:
    if (w := log.omega) is not None:
        if w.unit and w.unit != m.unit:
            yield f"The names say that rates are in {rate_unit(w.unit)}, but the numbers are in {rate_unit(m.unit)}."
        if w.hint == "space" and m.axes == "body":
            yield "The names say that rates are in space axes, but the numbers are in body axes."
    if (a := log.attitude) is not None and a.kind == "euler" and a.unit and a.unit != m.angle_unit:
        yield f"The names say that angles are in {a.unit}, but the numbers are in {m.angle_unit}."


def _scores(
    log: Log, listed: list[Meaning], body: Body, torque: Torque, begin: Any, end: Any, carried: Any, *,
    kinematic: bool = False,
) -> Floats:  # fmt: skip
    """The share of the motion that each reading leaves unexplained."""
    rows = np.concatenate([begin, end])
    t, n, dt = log.t[begin], begin.size, log.t[end] - log.t[begin]
    starts: list[tuple[Floats, Floats, Floats, Floats]] = []
    known: dict[Meaning, Floats] = {}
    for m in listed:
        how = m._replace(axes="", unit="", sign=1.0)
        if how not in known:
            known[how] = _attitudes_at(log, how, rows)
        q = known[how]
        if log.omega is not None:
            w = rates(Raw("omega", log.omega.values[rows]), m, q if log.attitude is not None else None)
        else:
            every = quaternions_of(log, m)
            assert every is not None
            w = differentiated(log.t, every, rows)
        starts.append((q[:n], w[:n], q[n:], w[n:]))
    out = np.full(len(listed), np.inf)
    most = MOST_STEPS if torque.depends is Depends.NOTHING else MOST_TORQUED_STEPS
    spin = float(np.linalg.norm(body.rotor)) / float(body.moments.min())  # a rotor turns the rate at such a pace
    needed = [
        min(most, 1 << math.ceil(math.log2(max(4.0, float(((lengths(w) + spin) * np.abs(dt)).max()) / STEP_ANGLE))))
        for _, w, _, _ in starts
    ]
    if torque.state_names:  # which change at a pace of their own
        needed = [most] * len(starts)
    for steps in sorted(set(needed)):
        group = [k for k, s in enumerate(needed) if s == steps]
        q0 = np.concatenate([starts[k][0] for k in group])
        w0 = np.concatenate([starts[k][1] for k in group])
        q1, w1 = ahead(body, torque, np.tile(t, len(group)), q0, w0, np.tile(dt, len(group)), steps, carried)
        for i, k in enumerate(group):
            part = slice(i * n, (i + 1) * n)
            parts = (log.attitude is not None, not kinematic)
            out[k] = _unexplained(q1[part], w1[part], *starts[k], dt, *parts)
    return out


def _unexplained(
    q1: Floats, w1: Floats, q_start: Floats, w_start: Floats, q_end: Floats, w_end: Floats, dt: Floats,
    of_attitude: bool, of_rate: bool,
) -> float:  # fmt: skip
    """The median, over pairs of rows, of what is left of the motion from one to the other."""
    speed = np.maximum(lengths(w_end), lengths(w_start))
    size = float(np.median(speed)) or 1.0
    off = lengths(w1 - w_end) / size
    total = off * off if of_rate else np.zeros_like(off)
    if of_attitude:
        angle = np.clip(size * np.abs(dt), 1e-300, 1.0)
        turned = lengths(turn_vectors(q1, q_end)) / angle
        total = total + turned * turned
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(np.median(total)))


def _attitudes_at(log: Log, m: Meaning, rows: Any) -> Floats:
    if log.attitude is None:
        return np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))
    a = log.attitude
    raw = Raw(a.kind, a.values[rows], a.unit, a.hint)
    t = np.concatenate([log.t[:1], log.t[rows]])  # the Earth turns since the first row
    place = None if log.place is None else log.place[rows]
    if not m.frame:
        return quaternions(raw, m, log.t[rows], None)
    turned = Raw(a.kind, np.concatenate([a.values[:1], raw.values]), a.unit, a.hint)
    places = np.concatenate([log.place[:1], place]) if log.place is not None and place is not None else None
    return quaternions(turned, m, t, places)[1:]


def quaternions_of(log: Log, m: Meaning) -> Floats | None:
    """All attitudes of a log under a reading; None if it has none."""
    return None if log.attitude is None else quaternions(log.attitude, m, log.t, log.place)
