"""Reading CCSDS attitude messages: `read_aem` and `read_apm`.

The standard (CCSDS 504.0-B) has frames A and B. A quaternion that rotates A to B turns components in A into those in B
when it is applied as q* v q. This is the quaternion from body to space axes where A is the space frame and B the body
frame. Angles of a sequence are turns about the axes of A, then about the turned ones. Rates are those of B relative
to A.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from polhode.attitudes import WithAttitudes, euler, quaternion_from_euler
from polhode.files.atomic import AnyPath
from polhode.files.ccsds_text import DataLine, KeywordLine, Message, MessageBlock, as_number
from polhode.files.ccsds_text import read as read_text
from polhode.files.epochs import PS, SYSTEMS, Instant, counts
from polhode.support.arrays import Floats, dots, inverse, lengths, to_space, with_continuous_signs

UNIT_TOLERANCE = 1e-3
"""Quaternions in a file may differ from unit length by this much, as numbers with few digits do; they are scaled."""
ROUNDING = 1e-15
"""Lengths this near to one are rounded: such quaternions stay as they are, to the last bit."""
SEGMENTS_AGREE = 1e-6
"""Where one segment ends and the next begins, attitudes may differ by this much, in rad."""
_BODY = re.compile(
    r"(SC_BODY|ACC|ACTUATOR|AST|CSS|DSS|ESA|GYRO|GYRO_FRAME|IMU_FRAME|IMU|INSTRUMENT|MTA|RW|SA|SENSOR|STARTRACKER|TAM)"
    r"(_\w+)?"
)
_INERTIAL = re.compile(
    r"(ICRF|GCRF)\d*|EME2000|J2000|B1950|MCI|CIRS|(TEME|MOD|TOD|MOE|TOE)(OFDATE|_\w+)?|ALIGN_\w+|\w+_INERTIAL"
)
_TURNING = re.compile(
    r"(ITRF|DTRF)-?\d*|GTOD|TDR|GRC|EFG|TIRS|WGS-?84|FIXED_\w+|MOON_\w+|"
    r"LVLH|RSW|RTN|QSW|RIC|TNW|NTW|NSW|VNC|SEZ|UVW|VVLH|PQW|EQW|\w+_ROTATING"
)
"""The names of frames in the registry of CCSDS: those of the body, those that do not turn, and those that do."""


@dataclass(frozen=True, eq=False)
class AttitudeHistory(WithAttitudes):
    """Attitudes over time, as a file has them; one row for each time."""

    t: Floats
    """The time in seconds from `epoch`, which is that of the first row."""
    quaternion: Floats
    """The attitude from body to space axes, scalar first, of unit length and with continuous signs."""
    omega: Floats | None
    """The angular velocity in body axes, rad/s; None: the file has no rates."""
    epoch: Instant
    """The instant of the first row, with its time system: `str(epoch)`, `epoch.system`."""
    frames: tuple[str, str]
    """The names of the space frame and of the body frame."""
    object_name: str
    object_id: str
    interpolation: tuple[str, int] | None
    """How to interpolate: a method and a degree; None: the file does not say."""
    segment_starts: tuple[int, ...]
    """The rows at which segments begin: do not interpolate over them, and expect gaps there."""
    comments: tuple[str, ...] = ()
    version: str = ""
    """The kind of the file and the version of the standard, as in 'AEM 1.0'."""
    inertia: Floats | None = None
    """The inertia tensor in body axes, kg m^2, (3, 3), which an ACM may have; None: there is none."""

    @property
    def is_inertial(self) -> bool:
        """Whether the space frame is known not to turn, so that the attitudes are those of a motion."""
        return is_inertial_frame(self.frames[0])


@dataclass(frozen=True)
class Maneuver:
    """A torque that acts for a while, as an APM announces it."""

    t_start: float
    """The start in seconds from the epoch of the file."""
    duration: float
    frame: str
    """The frame of the torque."""
    torque: tuple[float, float, float]
    """N m."""


@dataclass(frozen=True, eq=False)
class AttitudeState(WithAttitudes):
    """The state of a body at one instant, as a file has it."""

    epoch: Instant
    quaternion: Floats
    """The attitude from body to space axes, scalar first."""
    omega: Floats | None
    """The angular velocity in body axes, rad/s; None: the file has no rates."""
    frames: tuple[str, str]
    """The names of the space frame and of the body frame."""
    object_name: str
    object_id: str
    inertia: Floats | None = None
    """The inertia tensor, kg m^2, (3, 3), with the cross terms of the file as its elements; None: there is none."""
    maneuvers: tuple[Maneuver, ...] = ()
    comments: tuple[str, ...] = ()
    version: str = ""

    def initial(self) -> dict[str, Any]:
        """The start for `simulate(body, torque, **state.initial(), ...)`; needs rates, and a space frame that rests."""
        if self.omega is None:
            raise ValueError("the file has no rates: give omega= to simulate, and attitude=state.attitude")
        if not is_inertial_frame(self.frames[0]):
            raise ValueError(
                f"{self.frames[0]} turns in space, so that attitude and rate relative to it do not begin a motion: "
                "convert them to an inertial frame first, for which the orbit or the turn of the planet is needed"
            )
        return {"attitude": self.attitude, "omega": self.omega}


# --- frames and numbers --------------------------------------------------------------------------------------------


class _Sides(NamedTuple):
    """The frame that a rotation starts from and the one that it leads to; which of them is the body's."""

    start: str
    end: str
    ends_in_body: bool

    @property
    def frames(self) -> tuple[str, str]:
        return (self.start, self.end) if self.ends_in_body else (self.end, self.start)


def _sides(message: Message, a: KeywordLine, b: KeywordLine, direction: KeywordLine | None) -> _Sides:
    """Which frame is the body's; one of them must be."""
    is_body = []
    for found in (a, b):
        name = found.value.upper()
        is_body.append(bool(_BODY.fullmatch(name)))
        if not is_body[-1] and not _INERTIAL.fullmatch(name) and not _TURNING.fullmatch(name):
            raise message.bad(
                found.line, f"the frame {found.value!r} is not known: use a name of the registry, such as EME2000, "
                "ICRF, ITRF2000, LVLH_ROTATING or SC_BODY_1"
            )  # fmt: skip
    if is_body[0] == is_body[1]:
        what = "both frames are of the spacecraft" if is_body[0] else "neither frame is of the spacecraft"
        raise message.bad(b.line, f"{what} ({a.value} and {b.value}): one must be, such as SC_BODY_1")
    first, second = (a, b), (is_body[0], is_body[1])
    if direction is not None:
        if direction.value.upper() not in ("A2B", "B2A"):
            raise message.bad(direction.line, f"{direction.key} is {direction.value!r}: it must be A2B or B2A")
        if direction.value.upper() == "B2A":
            first, second = (b, a), (is_body[1], is_body[0])
    return _Sides(first[0].value, first[1].value, second[1])


def _sequence(message: Message, found: KeywordLine) -> str:
    """The axes of a sequence of turns: 312 and ZXY are the same."""
    axes = found.value.upper().translate(str.maketrans("123", "XYZ"))
    if not re.fullmatch(r"[XYZ]{3}", axes) or axes[0] == axes[1] or axes[1] == axes[2]:
        raise message.bad(
            found.line, f"{found.key} = {found.value!r} is no sequence of turns: it must name three axes, of which "
            "no two that follow each other are the same, such as 321 or ZXZ"
        )  # fmt: skip
    return axes


def _rate_of_angles(axes: str, angles: Floats, rates: Floats) -> Floats:
    """The angular velocity in the final axes, from the derivatives of the angles of a sequence."""
    from scipy.spatial.transform import Rotation

    last = Rotation.from_euler(axes[2], angles[:, 2:])
    both = Rotation.from_euler(axes[1:], angles[:, 1:])
    first, second, third = (np.eye(3)["XYZ".index(axis)] for axis in axes)
    found = both.inv().apply(first) * rates[:, :1] + last.inv().apply(second) * rates[:, 1:2]
    return np.asarray(found + third * rates[:, 2:])


def _rate_of_derivative(q: Floats, q_dot: Floats) -> Floats:
    """2 q* q' / |q|^2, the angular velocity in the final axes, from quaternions that need not be scaled."""
    s, v, s_dot, v_dot = q[:, :1], q[:, 1:], q_dot[:, :1], q_dot[:, 1:]
    return np.asarray(2.0 * (s * v_dot - s_dot * v - np.cross(v, v_dot)) / dots(q, q)[:, None])


def _spun(values: Floats, kind: str) -> tuple[Floats, Floats]:
    """Attitudes and rates of a body that spins about its z axis, from right ascension and declination of it.

    The momentum, about which the axis turns, is given by its own angles, or by the angle between both and a phase.
    """
    radians = np.radians(values)
    angles = np.column_stack([radians[:, 0] + math.pi / 2, math.pi / 2 - radians[:, 1], radians[:, 2]])
    q = quaternion_from_euler("ZXZ", angles)
    w = np.zeros((len(values), 3))
    w[:, 2] = radians[:, 3]
    if kind == "SPIN/NUTATION":
        nutation, phase = radians[:, 4], radians[:, 6]
        h = np.column_stack([np.sin(nutation) * np.cos(phase), -np.sin(nutation) * np.sin(phase), np.cos(nutation)])
        w += h * (2 * math.pi / values[:, 5])[:, None]
    elif kind == "SPIN/NUTATION_MOM":
        alpha, delta = radians[:, 4], radians[:, 5]
        h = np.column_stack([np.cos(delta) * np.cos(alpha), np.cos(delta) * np.sin(alpha), np.sin(delta)])
        w += to_space(inverse(q), h) * radians[:, 6:7]
    return q, w


def _to_body(sides: _Sides, q: Floats, w: Floats | None) -> tuple[Floats, Floats | None]:
    """Attitude and rate of the body from those of the final frame relative to the first."""
    if sides.ends_in_body:
        return q, w
    return inverse(q), None if w is None else to_space(q, -w)


def _in_final_axes(message: Message, frame: KeywordLine, sides: _Sides, q: Floats, w: Floats) -> Floats:
    """A rate in the final axes, from the axes of the frame that a field names."""
    name = frame.value.upper()
    if name == sides.end.upper():
        return w
    if name == sides.start.upper():
        return to_space(inverse(q), w)
    raise message.bad(frame.line, f"{frame.key} is {frame.value}, which is neither {sides.start} nor {sides.end}")


def _scaled(message: Message, q: Floats, lines: Sequence[int]) -> Floats:
    """Quaternions of unit length, if they nearly have it."""
    size = lengths(q)
    bad = np.abs(size - 1.0) > UNIT_TOLERANCE
    if bad.any():
        k = int(np.argmax(bad))
        raise message.bad(
            lines[k],
            f"the quaternion has the length {size[k]:.6g}, not 1: correct the row, or the order of its columns",
        )
    return np.where(np.abs(size - 1.0) > ROUNDING, 1.0 / size, 1.0)[:, None] * q


# --- AEM -----------------------------------------------------------------------------------------------------------

_META = frozenset({
    "OBJECT_NAME", "OBJECT_ID", "CENTER_NAME", "REF_FRAME_A", "REF_FRAME_B", "TIME_SYSTEM", "START_TIME",
    "USEABLE_START_TIME", "USEABLE_STOP_TIME", "STOP_TIME", "ATTITUDE_TYPE", "EULER_ROT_SEQ", "INTERPOLATION_METHOD",
    "INTERPOLATION_DEGREE",
})  # fmt: skip
_META_KEYS = {
    "1.0": _META | {"ATTITUDE_DIR", "QUATERNION_TYPE", "RATE_FRAME"},
    "2.0": _META | {"ANGVEL_FRAME"},
}
_HEADER_KEYS = frozenset({"CREATION_DATE", "ORIGINATOR", "CLASSIFICATION", "MESSAGE_ID"})
_LAST, _FIRST = ("Q1", "Q2", "Q3", "QC"), ("QC", "Q1", "Q2", "Q3")
_ANGVEL = ("ANGVEL_X", "ANGVEL_Y", "ANGVEL_Z")
_SPIN = ("SPIN_ALPHA", "SPIN_DELTA", "SPIN_ANGLE", "SPIN_ANGLE_VEL")
_NUTATION = ("NUTATION", "NUTATION_PER", "NUTATION_PHASE")
_MOMENTUM = ("MOMENTUM_ALPHA", "MOMENTUM_DELTA", "NUTATION_VEL")
_ANGLES = ("ANGLE_1", "ANGLE_2", "ANGLE_3")
_UNITS = {"NUTATION_PER": "s"} | dict.fromkeys((*_ANGVEL, "SPIN_ANGLE_VEL", "NUTATION_VEL"), "deg/s")
_UNITS |= dict.fromkeys([f"{x}_DOT" for x in _ANGLES] + [f"{x}_RATE" for x in "XYZ"], "deg/s")
_UNITS |= dict.fromkeys([f"{x}_DOT" for x in _LAST], "1/s") | dict.fromkeys(_LAST, "")


def _columns(message: Message, kind: KeywordLine, scalar_first: bool, axes: str) -> tuple[str, ...]:
    """The columns of a type of attitude, by their keywords."""
    q = _FIRST if scalar_first else _LAST
    old = message.version == "1.0"
    angles = tuple(f"{x}_ANGLE" for x in axes) if old and message.is_xml else _ANGLES
    known = {
        "QUATERNION": q,
        "QUATERNION/DERIVATIVE": q + tuple(f"{x}_DOT" for x in q),
        "EULER_ANGLE": angles,
        "SPIN": _SPIN,
        "SPIN/NUTATION": _SPIN + _NUTATION,
        "SPIN/NUTATION_MOM": _SPIN + _MOMENTUM,
    }
    if old:
        rates = tuple(f"{x}_RATE" for x in axes) if message.is_xml else tuple(f"{x}_DOT" for x in _ANGLES)
        known |= {"QUATERNION/RATE": (*q, "X_RATE", "Y_RATE", "Z_RATE"), "EULER_ANGLE/RATE": angles + rates}
    else:
        known |= {"EULER_ANGLE/DERIVATIVE": angles + tuple(f"{x}_DOT" for x in _ANGLES)}
        known |= {"QUATERNION/ANGVEL": q + _ANGVEL, "EULER_ANGLE/ANGVEL": angles + _ANGVEL}
    name = kind.value.upper().replace("EULER ANGLE", "EULER_ANGLE")
    if name not in known:
        raise message.bad(
            kind.line,
            f"the attitude type {kind.value!r} is not known in version {message.version}: {', '.join(known)} are",
        )
    return known[name]


def read_aem(path: AnyPath, *, segment: int | None = None) -> AttitudeHistory:
    """Reads the attitudes of an AEM, or the attitude blocks of an ACM: CCSDS files of version 1.0 or 2.0, KVN or XML.

    Of an ACM, which is read as KVN, the inertia tensor is taken as well; its other blocks are left alone.
    Segments that follow each other are joined. Where they overlap, or have other frames or objects, `segment` says
    which is meant, from 0 on. Every error names the line and the remedy.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    >>> run = run.with_epoch("2026-01-01T00:00:00")
    >>> written = run.to_aem("probe.aem", object_name="PROBE", object_id="2026-001A")
    >>> ph.read_aem("probe.aem").object_name
    'PROBE'
    """
    message = read_text(path)
    if message.kind == "APM":
        raise message.bad(1, "this is an APM, the state at one instant: read it with polhode.read_apm")
    message.check_keys(message.head, _HEADER_KEYS)
    parts = _acm_segments(message) if message.kind == "ACM" else _aem_segments(message)
    if segment is not None:
        if isinstance(segment, bool) or not isinstance(segment, int) or not 0 <= segment < len(parts):
            raise ValueError(
                f"segment must be a number from 0 to {len(parts) - 1}, not {segment!r}: {path} has no other"
            )
        return parts[segment][1]
    return _joined(message, parts)


def _aem_segments(message: Message) -> list[tuple[int, AttitudeHistory]]:
    """All segments, each with its line."""
    blocks, parts = message.blocks, list[tuple[int, AttitudeHistory]]()
    for k, block in enumerate(blocks):
        expected = "DATA" if k % 2 else "META"
        if block.name != expected:
            raise message.bad(block.line, f"{block.name} stands where {expected} must: segments are META, then DATA")
        if k % 2:
            parts.append((blocks[k - 1].line, _aem_segment(message, blocks[k - 1], block)))
    if not blocks or len(blocks) % 2:
        line = blocks[-1].end if blocks else message.head.end or 1
        raise message.bad(line, "the file ends without the DATA of a segment: it is cut short, get the whole file")
    return parts


def _aem_segment(message: Message, meta: MessageBlock, data: MessageBlock) -> AttitudeHistory:
    message.check_keys(meta, _META_KEYS[message.version])
    if data.fields:
        found = next(iter(data.fields.values()))
        raise message.bad(found.line, f"{found.key} stands among the data: only rows and comments may")
    name, identity = message.need(meta, "OBJECT_NAME"), message.need(meta, "OBJECT_ID")
    system = _system(message, message.need(meta, "TIME_SYSTEM"))
    for key in ("START_TIME", "STOP_TIME"):
        _instant(message, message.need(meta, key), system)
    direction = message.need(meta, "ATTITUDE_DIR") if message.version == "1.0" else None
    sides = _sides(message, message.need(meta, "REF_FRAME_A"), message.need(meta, "REF_FRAME_B"), direction)
    kind = message.need(meta, "ATTITUDE_TYPE")
    name_of_kind = kind.value.upper().replace("EULER ANGLE", "EULER_ANGLE")
    axes = ""
    if name_of_kind.startswith("EULER"):
        axes = _sequence(message, message.need(meta, "EULER_ROT_SEQ", f", for {kind.value}"))
    scalar_first = False
    if message.version == "1.0" and name_of_kind.startswith("QUATERNION"):
        order = message.need(meta, "QUATERNION_TYPE", f", for {kind.value}")
        if order.value.upper() not in ("FIRST", "LAST"):
            raise message.bad(order.line, f"QUATERNION_TYPE is {order.value!r}: it must be FIRST or LAST")
        scalar_first = order.value.upper() == "FIRST"
    columns = _columns(message, kind, scalar_first, axes)
    epochs, values = _numbers(message, data, columns, system)
    lines = [row.line for row in data.rows]
    frame = meta.fields.get("ANGVEL_FRAME")
    if name_of_kind.endswith("/ANGVEL"):
        frame = message.need(meta, "ANGVEL_FRAME", f", for {kind.value}")
    elif name_of_kind == "QUATERNION/RATE":
        # Version 1.0 leaves open what these are. With a sequence they are derivatives of its angles, as for Orekit.
        if "EULER_ROT_SEQ" in meta.fields:
            axes = _sequence(message, meta.fields["EULER_ROT_SEQ"])
        else:
            frame = _named_frame(message, message.need(meta, "RATE_FRAME", f", for {kind.value}"), meta)
    q, w = _states(message, name_of_kind, columns, values, axes, lines, sides, frame)
    history = _history(message, epochs, q, w, system, sides, name.value, identity.value, meta, data)
    return replace(history, interpolation=_interpolation(message, meta))


def _history(
    message: Message, epochs: list[int], q: Floats, w: Floats | None, system: str, sides: _Sides, name: str,
    identity: str, *blocks: MessageBlock,
) -> AttitudeHistory:  # fmt: skip
    """The history of one segment, with the comments of the header and of its blocks."""
    comments = [text for block in (message.head, *blocks) for text in block.comments]
    return AttitudeHistory(
        _seconds(epochs), with_continuous_signs(q), w, Instant(epochs[0], system), sides.frames, name, identity, None,
        (0,), tuple(comments), f"{message.kind} {message.version}",
    )  # fmt: skip


def _named_frame(message: Message, found: KeywordLine, block: MessageBlock) -> KeywordLine:
    """The frame that a keyword names, as version 1.0 has it: RATE_FRAME = REF_FRAME_A."""
    if found.value in block.fields:
        return replace(found, value=block.fields[found.value].value)
    if found.value.endswith(("FRAME_A", "FRAME_B")):
        raise message.bad(found.line, f"{found.key} is {found.value}, which is not given: add it")
    return found


def _states(
    message: Message, kind: str, columns: Sequence[str], values: Floats, axes: str, lines: list[int], sides: _Sides,
    frame: KeywordLine | None,
) -> tuple[Floats, Floats | None]:  # fmt: skip
    """Attitudes and rates of the body from rows of a file, whose columns and rates are those of a type of attitude."""
    attitude, _, rate_kind = kind.partition("/")
    angles, w = np.zeros((len(values), 3)), None
    if attitude == "SPIN":
        if rate_kind == "NUTATION" and not (values[:, 5] != 0.0).all():
            raise message.bad(lines[int(np.argmin(values[:, 5] != 0.0))], "NUTATION_PER is zero: it must have a length")
        return _to_body(sides, *_spun(values, kind))
    if attitude == "QUATERNION":
        order = [columns.index(key) for key in _FIRST]
        q, rates = _scaled(message, values[:, order], lines), values[:, 4:]
        if rate_kind == "DERIVATIVE":
            return _to_body(sides, q, _rate_of_derivative(values[:, order], rates[:, order]))
        if axes:
            angles = euler(q, axes)
    else:
        angles = np.radians(values[:, :3])
        q, rates = quaternion_from_euler(axes, angles), values[:, 3:]
    if rate_kind == "DERIVATIVE" or (rate_kind == "RATE" and axes):
        w = _rate_of_angles(axes, angles, np.radians(rates))
    elif rates.size:
        assert frame is not None
        w = _in_final_axes(message, frame, sides, q, np.radians(rates))
    return _to_body(sides, q, w)


def _numbers(message: Message, data: MessageBlock, columns: tuple[str, ...], system: str) -> tuple[list[int], Floats]:
    """The instants of all rows, in picoseconds, and their numbers."""
    if not data.rows:
        raise message.bad(data.line, f"{data.name} has no rows: the file is cut short, get the whole file")
    width = 1 + len(columns)
    words = [row.words if row.fields is None else _words(message, row, columns) for row in data.rows]
    for row, found in zip(data.rows, words, strict=True):
        if len(found) != width:
            raise message.bad(
                row.line, f"the row has {len(found)} columns, not {width} (time, {', '.join(columns)}): it is cut "
                "short, or of another type"
            )  # fmt: skip
    epochs = list[int]()
    try:
        for now in counts([found[0] for found in words], system):
            epochs.append(now)
    except ValueError as problem:
        raise message.bad(data.rows[len(epochs)].line, str(problem)) from None
    for k, (before, now) in enumerate(pairwise(epochs), 1):
        if now <= before:
            what = "repeats the time of" if now == before else "is earlier than"
            raise message.bad(
                data.rows[k].line, f"{words[k][0]} {what} the row before: sort the rows, and keep one for each time"
            )
    try:
        values = np.array([float(word) for found in words for word in found[1:]]).reshape(len(words), -1)
    except ValueError:
        values = np.full((1, 1), np.nan)
    if not np.isfinite(values).all():
        for row, found in zip(data.rows, words, strict=True):
            for key, word in zip(columns, found[1:], strict=True):
                if as_number(word) is None:
                    raise message.bad(row.line, f"{word!r} in the column {key} is not a finite number")
    return epochs, values


def _words(message: Message, row: DataLine, columns: tuple[str, ...]) -> list[str]:
    """A row of an XML file as the words of a line."""
    assert row.fields is not None
    words = list[str]()
    for key in ("EPOCH", *columns):
        if key not in row.fields:
            raise message.bad(row.line, f"{key} is missing in this state: add it")
        found = row.fields[key]
        unit = "" if key == "EPOCH" else _UNITS.get(key, "deg")
        if found.unit and found.unit.lower() != unit.lower():
            raise message.bad(
                found.line, f"{key} is in {found.unit!r}: the standard has it in {unit or 'no unit'}, convert it"
            )
        words.append(found.value)
    if more := row.fields.keys() - {"EPOCH", *columns}:
        key = sorted(more)[0]
        raise message.bad(row.fields[key].line, f"{key} does not belong to the attitude type of the segment: remove it")
    return words


def _seconds(epochs: list[int]) -> Floats:
    """Instants as seconds from the first, correctly rounded."""
    first = epochs[0]
    return np.array([(now - first) / PS for now in epochs])


def _system(message: Message, found: KeywordLine) -> str:
    if found.value.upper() not in SYSTEMS:
        raise message.bad(
            found.line,
            f"the time system {found.value!r} is not known: convert the times to one of {', '.join(SYSTEMS)}",
        )
    return found.value.upper()


def _instant(message: Message, found: KeywordLine, system: str) -> Instant:
    try:
        return Instant.read(found.value, system)
    except ValueError as problem:
        raise message.bad(found.line, f"{found.key}: {problem}") from None


def _interpolation(message: Message, meta: MessageBlock) -> tuple[str, int] | None:
    method, degree = meta.fields.get("INTERPOLATION_METHOD"), meta.fields.get("INTERPOLATION_DEGREE")
    if method is None:
        return None
    if degree is None:
        raise message.bad(method.line, "INTERPOLATION_DEGREE is missing beside INTERPOLATION_METHOD: add it")
    if not degree.value.isdecimal() or len(degree.value) > 3:
        raise message.bad(degree.line, f"INTERPOLATION_DEGREE = {degree.value[:30]!r} is not a whole number below 1000")
    return method.value.upper(), int(degree.value)


def _joined(message: Message, parts: list[tuple[int, AttitudeHistory]]) -> AttitudeHistory:
    """One history of segments that follow each other."""
    whole = parts[0][1]
    if len(parts) == 1:
        return whole
    pieces, starts = [whole], [0]
    choose = f"read one of them with segment=0 to {len(parts) - 1}"
    rows, first = whole.t.size, whole.epoch
    for line, part in parts[1:]:
        before = pieces[-1]
        for what in ("frames", "object_name", "object_id"):
            if getattr(part, what) != getattr(whole, what):
                raise message.bad(
                    line, f"the segment has other {what.replace('_', ' ')} than the first ({getattr(part, what)}, not "
                    f"{getattr(whole, what)}): {choose}"
                )  # fmt: skip
        if part.epoch.system != first.system or (part.omega is None) != (whole.omega is None):
            raise message.bad(line, f"the segment has another time system, or rates where the first has none: {choose}")
        end = before.epoch.shifted(float(before.t[-1]))
        gap = part.epoch.picoseconds - end.picoseconds
        if gap < 0:
            raise message.bad(
                line, f"the segment begins at {part.epoch}, before the end of the one before at {end}: {choose}"
            )
        if gap == 0:
            apart = 2.0 * lengths(_nearest(part.quaternion[:1], before.quaternion[-1:]) - before.quaternion[-1:])[0]
            if apart > SEGMENTS_AGREE:
                raise message.bad(line, f"the segment begins {apart:.2g} rad from where the one before ends: {choose}")
            # The row stands there twice: once is enough, and the segment that begins has it.
            pieces[-1] = replace(
                before, t=before.t[:-1], quaternion=before.quaternion[:-1],
                omega=None if before.omega is None else before.omega[:-1],
            )  # fmt: skip
            rows -= 1
        starts.append(rows)
        pieces.append(part)
        rows += part.t.size
    t = np.concatenate([(part.epoch.picoseconds - first.picoseconds) / PS + part.t for part in pieces])
    return replace(
        whole,
        t=t,
        quaternion=with_continuous_signs(np.concatenate([part.quaternion for part in pieces])),
        omega=None if whole.omega is None else np.concatenate([p.omega for p in pieces if p.omega is not None]),
        segment_starts=tuple(starts),
        comments=tuple(dict.fromkeys(text for _, part in parts for text in part.comments)),
    )


def _nearest(q: Floats, other: Floats) -> Floats:
    return np.where(dots(q, other)[:, None] < 0.0, -q, q)


# --- ACM -----------------------------------------------------------------------------------------------------------


def _acm_segments(message: Message) -> list[tuple[int, AttitudeHistory]]:
    """The attitude blocks of a comprehensive message; its other blocks are left alone."""
    metas = [block for block in message.blocks if block.name == "META"]
    if len(metas) != 1:
        line = metas[1].line if metas else 1
        raise message.bad(line, f"an ACM has one block META, not {len(metas)}")
    blocks = [block for block in message.blocks if block.name == "ATT"]
    if not blocks:
        others = ", ".join(dict.fromkeys(block.name for block in message.blocks if block.name != "META")) or "nothing"
        raise message.bad(message.head.end, f"the ACM holds no attitudes (no block ATT, only {others})")
    return [(block.line, _acm_segment(message, metas[0], block)) for block in blocks]


_ACM_TYPES = {"QUATERNION": _LAST, "EULER_ANGLES": _ANGLES, "DCM": tuple(f"D{i}{j}" for i in "123" for j in "123")}
_ACM_RATES = {
    "NONE": (),
    "ANGVEL": _ANGVEL,
    "Q_DOT": tuple(f"{x}_DOT" for x in _LAST),
    "EULER_RATE": tuple(f"{x}_DOT" for x in _ANGLES),
    "GYRO_BIAS": ("BIAS_X", "BIAS_Y", "BIAS_Z"),
}


def _acm_segment(message: Message, meta: MessageBlock, block: MessageBlock) -> AttitudeHistory:
    system = _system(message, message.need(meta, "TIME_SYSTEM"))
    zero = _instant(message, message.need(meta, "EPOCH_TZERO"), system)
    sides = _sides(message, message.need(block, "REF_FRAME_A"), message.need(block, "REF_FRAME_B"), None)
    kind, rate = message.need(block, "ATT_TYPE"), block.fields.get("RATE_TYPE")
    rate_kind = "NONE" if rate is None else rate.value.upper()
    if kind.value.upper() not in _ACM_TYPES or rate_kind not in _ACM_RATES:
        found = kind if kind.value.upper() not in _ACM_TYPES or rate is None else rate
        raise message.bad(found.line, f"{found.key} = {found.value} is not known")
    columns = _ACM_TYPES[kind.value.upper()] + _ACM_RATES[rate_kind]
    states = message.need(block, "NUMBER_STATES")
    if states.value != str(len(columns)):
        raise message.bad(
            states.line,
            f"NUMBER_STATES is {states.value}, but {kind.value} with the rates {rate_kind} has {len(columns)}",
        )
    lines = [row.line for row in block.rows]
    for row in block.rows:
        if row.words and (seconds := as_number(row.words[0])) is not None:
            row.words[0] = zero.shifted(seconds).text()
    epochs, values = _numbers(message, block, columns, system)
    attitude, axes = kind.value.upper(), ""
    size = len(_ACM_TYPES[attitude])
    first, rates = values[:, :size], values[:, size:] if rate_kind != "GYRO_BIAS" else values[:, :0]
    if attitude == "DCM":
        first = np.roll(_from_matrices(message, first.reshape(-1, 3, 3), lines), -1, axis=1)
    elif attitude == "EULER_ANGLES":
        axes = _sequence(message, message.need(block, "EULER_ROT_SEQ", ", for EULER_ANGLES"))
        if rate_kind == "Q_DOT":
            first = np.roll(quaternion_from_euler(axes, np.radians(first)), -1, axis=1)
    if rate_kind == "EULER_RATE" and not axes:
        raise message.bad(block.line, "EULER_RATE belongs to EULER_ANGLES: correct ATT_TYPE or RATE_TYPE")
    name = "EULER_ANGLE" if first.shape[1] == 3 else "QUATERNION"
    name += {"ANGVEL": "/ANGVEL", "Q_DOT": "/DERIVATIVE", "EULER_RATE": "/DERIVATIVE"}.get(rate_kind, "")
    given, frame = np.column_stack([first, rates]), message.need(block, "REF_FRAME_B")
    q, w = _states(message, name, _LAST, given, axes, lines, sides, frame)
    identity = meta.fields.get("INTERNATIONAL_DESIGNATOR") or meta.fields.get("OBJECT_DESIGNATOR")
    object_name, object_id = message.need(meta, "OBJECT_NAME").value, "" if identity is None else identity.value
    history = _history(message, epochs, q, w, system, sides, object_name, object_id, meta, block)
    return replace(history, inertia=_acm_inertia(message, sides.frames[1]))


def _acm_inertia(message: Message, body_frame: str) -> Floats | None:
    """The inertia tensor, if there is one in the axes of this frame."""
    for block in message.blocks:
        frame = block.fields.get("INERTIA_REF_FRAME")
        if block.name == "PHYS" and frame is not None and frame.value.upper() == body_frame.upper():
            return _inertia(message, block)
    return None


def _from_matrices(message: Message, found: Floats, lines: list[int]) -> Floats:
    """Quaternions of matrices that turn components in A into components in B."""
    from scipy.spatial.transform import Rotation

    defect = np.abs(found @ found.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    bad = (defect > UNIT_TOLERANCE) | (np.linalg.det(found) < 0.0)
    if bad.any():
        k = int(np.argmax(bad))
        raise message.bad(lines[k], f"the matrix is not a rotation: R R^T differs from 1 by {defect[k]:.2g}")
    return np.atleast_2d(Rotation.from_matrix(found.transpose(0, 2, 1)).as_quat(scalar_first=True))


# --- APM -----------------------------------------------------------------------------------------------------------

_INERTIA = {
    "1.0": ("I11", "I22", "I33", "I12", "I13", "I23"),
    "2.0": ("IXX", "IYY", "IZZ", "IXY", "IXZ", "IYZ"),
}
_TORQUE = {"1.0": ("MAN_TOR_1", "MAN_TOR_2", "MAN_TOR_3"), "2.0": ("MAN_TOR_X", "MAN_TOR_Y", "MAN_TOR_Z")}
_APM_HEAD = _HEADER_KEYS | {"OBJECT_NAME", "OBJECT_ID", "CENTER_NAME", "TIME_SYSTEM", "EPOCH"}
_ENDPOINTS = {"REF_FRAME_A", "REF_FRAME_B"}
_DOTS = {f"{x}_DOT" for x in _LAST}
_MANEUVER = {"MAN_EPOCH_START", "MAN_DURATION", "MAN_REF_FRAME"}
_APM_KEYS: dict[str, dict[str, set[str]]] = {
    "1.0": {
        "QUAT": {"Q_FRAME_A", "Q_FRAME_B", "Q_DIR", *_LAST, *_DOTS},
        "EULER": {"EULER_FRAME_A", "EULER_FRAME_B", "EULER_DIR", "EULER_ROT_SEQ", "RATE_FRAME"}
        | {f"{x}_{what}" for x in "XYZ" for what in ("ANGLE", "RATE")},
        "SPIN": {"SPIN_FRAME_A", "SPIN_FRAME_B", "SPIN_DIR", *_SPIN, *_NUTATION},
        "INERTIA": {"INERTIA_REF_FRAME", *_INERTIA["1.0"]},
        "MAN": _MANEUVER | set(_TORQUE["1.0"]),
    },
    "2.0": {
        "QUAT": {*_ENDPOINTS, *_LAST, *_DOTS},
        "EULER": {*_ENDPOINTS, "EULER_ROT_SEQ", *_ANGLES, *(f"{x}_DOT" for x in _ANGLES)},
        "ANGVEL": {*_ENDPOINTS, "ANGVEL_FRAME", *_ANGVEL},
        "SPIN": {*_ENDPOINTS, *_SPIN, *_NUTATION, *_MOMENTUM},
        "INERTIA": {"INERTIA_REF_FRAME", *_INERTIA["2.0"]},
        "MAN": _MANEUVER | set(_TORQUE["2.0"]) | {"MAN_DELTA_MASS"},
    },
}


class _Part(NamedTuple):
    """Attitude and rate of the body from one block of an APM."""

    frames: tuple[str, str]
    line: int
    q: Floats | None
    w: Floats | None


def read_apm(path: AnyPath) -> AttitudeState:
    """Reads the state of a body at one instant from an APM: a CCSDS file of version 1.0 or 2.0, KVN or XML.

    The attitude is that of the quaternion if there is one, else of the Euler angles, else of the spin; the rate that of
    the angular velocity, of the derivatives of quaternion or angles, or of the spin, in this order.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    >>> run = run.with_epoch("2026-01-01T00:00:00")
    >>> run.to_apm("probe.apm", object_name="PROBE", object_id="2026-001A", t=0.0)
    >>> ph.read_apm("probe.apm").omega.round(6)
    array([0.1, 2. , 0. ])
    """
    message = read_text(path)
    if message.kind != "APM":
        raise message.bad(1, f"this is an {message.kind}, attitudes over time: read it with polhode.read_aem")
    head, blocks = _apm_blocks(message)
    system = _system(message, message.need(head, "TIME_SYSTEM"))
    epoch = _instant(message, message.need(head, "EPOCH"), system)
    name, identity = message.need(head, "OBJECT_NAME").value, message.need(head, "OBJECT_ID").value
    quat = _quat_part(message, blocks["QUAT"][0]) if "QUAT" in blocks else None
    euler = _euler_part(message, blocks["EULER"][0], quat) if "EULER" in blocks else None
    spin = _spin_part(message, blocks["SPIN"][0]) if "SPIN" in blocks else None
    attitude = next((part for part in (quat, euler, spin) if part is not None and part.q is not None), None)
    if attitude is None or attitude.q is None:
        raise message.bad(
            head.end or 1, "the file has no attitude (no quaternion, Euler angles or spin): ask for one that does"
        )
    angvel = _angvel_part(message, blocks["ANGVEL"][0], attitude) if "ANGVEL" in blocks else None
    rate = next((part for part in (angvel, quat, euler, spin) if part is not None and part.w is not None), None)
    if rate is not None and [x.upper() for x in rate.frames] != [x.upper() for x in attitude.frames]:
        raise message.bad(
            rate.line, f"the rate is that of {rate.frames[1]} in {rate.frames[0]}, the attitude that of "
            f"{attitude.frames[1]} in {attitude.frames[0]}: give both for the same frames"
        )  # fmt: skip
    return AttitudeState(
        epoch, attitude.q[0], None if rate is None or rate.w is None else rate.w[0], attitude.frames, name, identity,
        _inertia(message, blocks["INERTIA"][0]) if "INERTIA" in blocks else None,
        tuple(_maneuver(message, block, epoch) for block in blocks.get("MAN", [])),
        tuple(text for block in (message.head, *message.blocks) for text in block.comments), f"APM {message.version}",
    )  # fmt: skip


def _apm_blocks(message: Message) -> tuple[MessageBlock, dict[str, list[MessageBlock]]]:
    """The fields of the head, and the blocks by name; in version 1.0 keywords say to which they belong."""
    known = _APM_KEYS[message.version]
    blocks = dict[str, list[MessageBlock]]()
    head = MessageBlock("the file", 1, dict(message.head.fields), end=message.head.end or message.head.line)
    metas = 0
    for block in message.blocks:
        if block.rows:
            raise message.bad(block.rows[0].line, "an APM has no rows of numbers: read an AEM with polhode.read_aem")
        if block.name in ("META", "DATA"):
            metas += block.name == "META"
            if metas > 1:
                raise message.bad(block.line, "there is a second block META: an APM has one")
            head.fields.update(block.fields)
            head.end = max(head.end, block.end)
        elif block.name in known:
            if block.name != "MAN" and block.name in blocks:
                raise message.bad(block.line, f"there is a second block {block.name}: an APM has one")
            blocks.setdefault(block.name, []).append(block)
        else:
            raise message.bad(
                block.line, f"the block {block.name} is not known in version {message.version} of the APM"
            )
    if message.version == "1.0":
        for name, keys in known.items():
            fields = {key: found for key, found in head.fields.items() if key in keys}
            if fields:
                lines = [found.line for found in fields.values()]
                blocks.setdefault(name, []).append(MessageBlock(name, min(lines), fields, end=max(lines)))
                head.fields = {key: found for key, found in head.fields.items() if key not in keys}
        for key, found in message.repeated:
            if key == "MAN_EPOCH_START" or "MAN" not in blocks:
                blocks.setdefault("MAN", []).append(MessageBlock("MAN", found.line, end=found.line))
            blocks["MAN"][-1].fields[key] = found
        for block in blocks.get("QUAT", []):  # of XML: the epoch stands within
            if "EPOCH" in block.fields:
                head.fields["EPOCH"] = block.fields.pop("EPOCH")
    elif message.repeated:
        raise message.bad(
            message.repeated[0][1].line, "a maneuver stands between MAN_START and MAN_STOP: add these lines"
        )
    message.check_keys(head, _APM_HEAD)
    for name, listed in blocks.items():
        for block in listed:
            message.check_keys(block, known[name])
    return head, blocks


def _sides_of(message: Message, block: MessageBlock, prefix: str) -> _Sides:
    old = message.version == "1.0"
    a, b = (message.need(block, f"{prefix if old else 'REF'}_FRAME_{x}") for x in "AB")
    return _sides(message, a, b, message.need(block, f"{prefix}_DIR") if old else None)


def _row(message: Message, block: MessageBlock, keys: Sequence[str]) -> Floats:
    """The numbers of some fields as one row."""
    return np.array([[message.number(message.need(block, key), _UNITS.get(key, "deg")) for key in keys]])


def _quat_part(message: Message, block: MessageBlock) -> _Part:
    sides, keys, kind = _sides_of(message, block, "Q"), [*_LAST], "QUATERNION"
    if any(key in block.fields for key in _DOTS):
        keys, kind = [*_LAST, *(f"{x}_DOT" for x in _LAST)], "QUATERNION/DERIVATIVE"
    line = message.need(block, "QC").line
    states = _states(message, kind, _LAST, _row(message, block, keys), "", [line], sides, None)
    return _Part(sides.frames, block.line, *states)


def _euler_part(message: Message, block: MessageBlock, quat: _Part | None) -> _Part:
    """Attitude and rate from angles and their derivatives; without angles those of the quaternion are taken."""
    sides = _sides_of(message, block, "EULER")
    axes = _sequence(message, message.need(block, "EULER_ROT_SEQ"))
    old = message.version == "1.0"
    angle_keys = [f"{x}_ANGLE" for x in axes] if old else list(_ANGLES)
    rate_keys = [f"{x}_RATE" for x in axes] if old else [f"{x}_DOT" for x in _ANGLES]
    if old and len(set(axes)) < 3:
        line = message.need(block, "EULER_ROT_SEQ").line
        raise message.bad(
            line, f"version 1.0 has one angle for each axis, and {axes} turns twice about one: use version 2.0"
        )
    every = {key for key in block.fields if key.endswith(("_ANGLE", "_RATE"))}
    if old and (stray := every - {*angle_keys, *rate_keys}):
        raise message.bad(block.fields[min(stray)].line, f"{min(stray)} does not belong to the sequence {axes}")
    has_rates = any(key in block.fields for key in rate_keys)
    if not has_rates or any(key in block.fields for key in angle_keys):
        angles = np.radians(_row(message, block, angle_keys))
        q = quaternion_from_euler(axes, angles)
    elif quat is not None and quat.q is not None and quat.frames == sides.frames:
        turned = quat.q if sides.ends_in_body else inverse(quat.q)
        angles, q = euler(turned, axes), None
    else:
        raise message.bad(
            block.line, "the angles are missing, and there is no quaternion for the same frames: add them"
        )
    w = _rate_of_angles(axes, angles, np.radians(_row(message, block, rate_keys))) if has_rates else None
    turned, rate = _to_body(sides, quaternion_from_euler(axes, angles), w)
    return _Part(sides.frames, block.line, None if q is None else turned, rate)


def _spin_part(message: Message, block: MessageBlock) -> _Part:
    sides = _sides_of(message, block, "SPIN")
    kind, keys = "SPIN", tuple[str, ...](_SPIN)
    if any(key in block.fields for key in _MOMENTUM):
        kind, keys = "SPIN/NUTATION_MOM", _SPIN + _MOMENTUM
    elif any(key in block.fields for key in _NUTATION):
        kind, keys = "SPIN/NUTATION", _SPIN + _NUTATION
    values = _row(message, block, keys)
    return _Part(sides.frames, block.line, *_states(message, kind, keys, values, "", [block.line], sides, None))


def _angvel_part(message: Message, block: MessageBlock, attitude: _Part) -> _Part:
    sides = _sides_of(message, block, "")
    frame = message.need(block, "ANGVEL_FRAME")
    assert attitude.q is not None
    turned = attitude.q if sides.ends_in_body else inverse(attitude.q)
    w = _in_final_axes(message, frame, sides, turned, np.radians(_row(message, block, _ANGVEL)))
    return _Part(sides.frames, block.line, None, _to_body(sides, turned, w)[1])


def _inertia(message: Message, block: MessageBlock) -> Floats:
    xx, yy, zz, xy, xz, yz = (message.number(message.need(block, key), "kg*m**2") for key in _INERTIA[message.version])
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _maneuver(message: Message, block: MessageBlock, epoch: Instant) -> Maneuver:
    start = _instant(message, message.need(block, "MAN_EPOCH_START"), epoch.system)
    x, y, z = (message.number(message.need(block, key), "N*m") for key in _TORQUE[message.version])
    duration = message.number(message.need(block, "MAN_DURATION"), "s")
    return Maneuver(start - epoch, duration, message.need(block, "MAN_REF_FRAME").value, (x, y, z))


def is_body_frame(name: str) -> bool:
    """Tells whether a frame is one of the spacecraft."""
    return bool(_BODY.fullmatch(name.upper()))


def is_inertial_frame(name: str) -> bool:
    """Tells whether a frame does not turn, but for precession."""
    return bool(_INERTIAL.fullmatch(name.upper()))
