"""Writing motions as CCSDS attitude messages of version 2.0: `Solution.to_aem`, `to_acm` and `to_apm`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from polhode.files import nodes
from polhode.files.atomic import AnyPath, whole_file
from polhode.files.ccsds import is_body_frame, is_inertial_frame
from polhode.files.epochs import PS, Instant, checked_system, picoseconds, written
from polhode.files.nodes import NodeSegment
from polhode.support import checks
from polhode.support.arrays import lengths

if TYPE_CHECKING:
    from polhode.solution import Solution

METHODS = ("LAGRANGE", "LINEAR")
"""The interpolations that a file can ask for."""
FEW_DIGITS, MANY_DIGITS = 9, 12
"""Digits of a second in a file: nanoseconds, unless a time needs more."""


@dataclass(frozen=True)
class WrittenFile:
    """Summary of a written file: rows, segments, and the error of interpolation."""

    rows: int
    segments: int
    bound: float | None
    """The interpolation error is at most this, in rad; None: it could not be measured."""
    measured: float | None
    """The largest error that was found between rows, in rad."""


def write_history(
    kind: str, solution: Solution, path: AnyPath, *, object_name: str, object_id: str, epoch: Any,
    time_system: str | None, frames: tuple[str, str], tolerance: float | None, interpolation: str, originator: str,
    overwrite: bool,
) -> WrittenFile:  # fmt: skip
    """Writes an AEM, or an ACM: with times in seconds from the epoch, and the inertia tensor; see `Solution.to_aem`."""
    start = epoch_of(solution, epoch, time_system)
    space, body = _checked_frames(frames)
    name, identity = _text("object_name", object_name), _text("object_id", object_id)
    head = _head(kind, originator)
    method, segments = _chosen(solution, tolerance, interpolation)
    between = {"REF_FRAME_A": space, "REF_FRAME_B": body}
    with whole_file(path, overwrite=overwrite) as file:
        file.write(head.encode())
        if kind == "ACM":
            about = {"OBJECT_NAME": name, "INTERNATIONAL_DESIGNATOR": identity}
            file.write(_block("META", about | {"TIME_SYSTEM": start.system, "EPOCH_TZERO": start.text()}).encode())
        for segment in segments:
            comments = _comments(solution, segment, method, tolerance)
            if kind == "ACM":
                times, last = [_decimal(t) for t in segment.picoseconds], "ATT_STOP"
                states = {"NUMBER_STATES": "7", "ATT_TYPE": "QUATERNION", "RATE_TYPE": "ANGVEL"}
                lines = ["ATT_START", *comments, *_fields(between | states)]
            else:
                digits = FEW_DIGITS if all(t % 1000 == 0 for t in segment.picoseconds) else MANY_DIGITS
                times = [written(start.picoseconds + t, start.system, digits) for t in segment.picoseconds]
                meta = {
                    "OBJECT_NAME": name, "OBJECT_ID": identity, **between, "TIME_SYSTEM": start.system,
                    "START_TIME": times[0], "STOP_TIME": times[-1], "ATTITUDE_TYPE": "QUATERNION/ANGVEL",
                    "ANGVEL_FRAME": body, "INTERPOLATION_METHOD": method, "INTERPOLATION_DEGREE": str(segment.degree),
                }  # fmt: skip
                lines = ["META_START", *comments, *_fields(meta, 20), "META_STOP", "", "DATA_START"]
                last = "DATA_STOP"
            file.write("\n".join([*lines, ""]).encode())
            _write_rows(file, times, segment)
            file.write(f"{last}\n\n".encode())
        if kind == "ACM":
            file.write(_block("PHYS", _inertia(solution, body)).encode())
    return _written(segments)


def _chosen(solution: Solution, tolerance: float | None, interpolation: str) -> tuple[str, list[NodeSegment]]:
    """The interpolation, and the rows that it needs, in segments."""
    method = checks.choice("interpolation", interpolation, METHODS)
    check_finite(solution)
    if tolerance is None:
        return method, nodes.rows(solution, method == "LINEAR")
    positive = checks.number("tolerance", tolerance, positive=True)
    return method, nodes.choose(solution, positive, method == "LINEAR")


def _write_rows(file: BinaryIO, times: list[str], segment: NodeSegment) -> None:
    """Writes a line for each row: time, quaternion and rate in degrees a second."""
    rates = np.degrees(segment.omega)
    table = np.column_stack([segment.quaternion[:, 1:], segment.quaternion[:, :1], rates]).tolist()
    for k in range(0, len(table), 10_000):
        rows = zip(times[k : k + 10_000], table[k : k + 10_000], strict=True)
        file.write("".join(f"{t} {' '.join(map(repr, row))}\n" for t, row in rows).encode())


def _written(segments: list[NodeSegment]) -> WrittenFile:
    bounds = [s.bound for s in segments if s.bound is not None]
    measured = [s.measured for s in segments if s.measured is not None]
    known = len(bounds) == len(segments)
    return WrittenFile(
        sum(len(s.picoseconds) for s in segments),
        len(segments),
        max(bounds) if known else None,
        max(measured) if known else None,
    )


def _decimal(picoseconds: int) -> str:
    """A time in seconds with all its digits."""
    whole, fraction = divmod(abs(picoseconds), PS)
    tail = f"{fraction:012}".rstrip("0")
    return f"{'-' if picoseconds < 0 else ''}{whole}.{tail or '0'}"


def _fields(fields: dict[str, Any], width: int = 24) -> list[str]:
    return [f"{key:{width}} = {value}" for key, value in fields.items()]


def _block(name: str, fields: dict[str, Any]) -> str:
    return "\n".join([f"{name}_START", *_fields(fields), f"{name}_STOP", "", ""])


def _inertia(solution: Solution, body: str) -> dict[str, str]:
    """The inertia tensor by its keywords."""
    places = {"IXX": (0, 0), "IYY": (1, 1), "IZZ": (2, 2), "IXY": (0, 1), "IXZ": (0, 2), "IYZ": (1, 2)}
    tensor = solution.body.tensor
    values = {key: f"{float(tensor[place])!r} [kg*m**2]" for key, place in places.items()}
    return {"INERTIA_REF_FRAME": body, **values}


def write_apm(
    solution: Solution, path: AnyPath, *, object_name: str, object_id: str, t: float | None, epoch: Any,
    time_system: str | None, frames: tuple[str, str], originator: str, overwrite: bool,
) -> None:  # fmt: skip
    """Writes an APM; see `Solution.to_apm`."""
    start = epoch_of(solution, epoch, time_system)
    space, body = _checked_frames(frames)
    name, identity = _text("object_name", object_name), _text("object_id", object_id)
    head = _head("APM", originator)
    if t is None:
        when, q, w = (
            solution.t_last,
            solution.last_quaternion,
            solution.body.rate(solution.last_momentum, solution.t_last),
        )
    else:
        when = checks.number("t", t)
        there = solution.at([when])
        q, w = there.quaternion[0], there.omega[0]
    q = q / np.linalg.norm(q)
    if not (np.isfinite(q).all() and np.isfinite(w).all()):
        raise ValueError(f"the state at t = {when:g} is not finite: choose a time before the run failed")
    now = Instant(start.picoseconds + picoseconds(when), start.system)
    digits = FEW_DIGITS if now.picoseconds % 1000 == 0 else MANY_DIGITS
    ends = {"REF_FRAME_A": space, "REF_FRAME_B": body}
    rates = np.degrees(w)
    blocks: dict[str, dict[str, Any]] = {
        "QUAT": ends | dict(zip(("Q1", "Q2", "Q3", "QC"), (float(x) for x in q[[1, 2, 3, 0]]), strict=True)),
        "ANGVEL": ends
        | {"ANGVEL_FRAME": body}
        | {f"ANGVEL_{x}": f"{float(rates[k])!r} [deg/s]" for k, x in enumerate("XYZ")},
        "INERTIA": _inertia(solution, body),
    }
    meta = {"OBJECT_NAME": name, "OBJECT_ID": identity, "TIME_SYSTEM": start.system, "EPOCH": now.text(digits)}
    lines = _fields(meta, 20)
    lines.insert(3, "")
    for title, fields in blocks.items():
        lines += ["", f"{title}_START", *_fields(fields, 20), f"{title}_STOP"]
    with whole_file(path, overwrite=overwrite) as file:
        file.write((head + "\n".join([*lines, ""])).encode())


def epoch_of(solution: Solution, epoch: Any, time_system: str | None) -> Instant:
    """The instant of t = 0: as given, or as stored with the solution."""
    if epoch is None:
        stored = solution.epoch
        if stored is None:
            raise ValueError(
                "the file needs the instant of t = 0: give epoch='2026-01-31T12:00:00', or store it with "
                "solution.with_epoch(...)"
            )
        return stored if time_system is None else stored.to(time_system)
    return Instant.given(epoch, "UTC" if time_system is None else checked_system(time_system))


def _checked_frames(frames: Any) -> tuple[str, str]:
    if isinstance(frames, str) or len(frames) != 2 or not all(isinstance(x, str) for x in frames):
        raise ValueError(
            f"frames must be the names of two frames, space and body, as ('EME2000', 'SC_BODY_1'), not {frames!r}"
        )
    space, body = frames
    if not is_inertial_frame(space):
        raise ValueError(
            f"the space axes of a motion do not turn, so {space!r} must be an inertial frame, such as ICRF"
        )
    if not is_body_frame(body):
        raise ValueError(f"{body!r} must be a frame of the spacecraft, such as SC_BODY_1")
    return space.upper(), body.upper()


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or not value.isascii():
        raise ValueError(f"{name} must be a text of printable ASCII letters, not {value!r}")
    return value.strip()


def _head(kind: str, originator: str) -> str:
    made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    lines = {f"CCSDS_{kind}_VERS": "2.0", "CREATION_DATE": made, "ORIGINATOR": _text("originator", originator)}
    return "".join(f"{key} = {value}\n" for key, value in lines.items()) + "\n"


def check_finite(solution: Solution) -> None:
    """Refuses what no reader could use."""
    for name, values in (("attitude", solution.quaternion), ("rate", solution.omega)):
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            raise ValueError(
                f"the {name} at t = {solution.t[int(np.argmax(bad))]:g} is not finite: leave these rows out"
            )
    if solution.t.size and not (lengths(solution.quaternion) > 0.0).all():
        raise ValueError("a quaternion is zero: it is no attitude")


def _comments(solution: Solution, segment: NodeSegment, method: str, tolerance: float | None) -> list[str]:
    lines = ["Quaternions rotate frame A to frame B. Rates are those of B relative to A, in the axes of B."]
    if segment.bound is None or segment.measured is None:
        lines.append("The interpolation error is not known.")
    else:
        asked = "" if tolerance is None else f", asked for: {tolerance:.3g} rad"
        lines.append(f"Interpolation error at most {segment.bound:.3g} rad ({method}, degree {segment.degree}{asked})")
        lines.append(f"Largest interpolation error that was found between rows: {segment.measured:.3g} rad")
    if solution.error_estimate is not None:
        lines.append(f"Estimated error of the motion itself: {solution.error_estimate:.1e} rad")
    return [f"COMMENT {line}" for line in lines]
