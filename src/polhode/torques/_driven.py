"""Parts that a law of the user's drives: motors of wheels and gimbals, magnetic torquers, thrusters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polhode.kernels.algebra.quat import conjugate, multiply
from polhode.kernels.ops import derivatives, section, where
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.support import checks
from polhode.torques._torque import carried_numbers, gain, inspected, names_read

MOST_PARTS = 8
"""More wheels, torquers or gyros than spacecraft have. Each has up to five decisions: the bends of 64 are located."""

Each = float | tuple[float, ...]
Law = Callable[..., Any]


def pointing_error(q: Quat, target: Quat) -> Vec3:
    """Returns twice the vector part of the quaternion of the turn from the target to q, the short way round."""
    e = multiply(conjugate(target), q)
    k = where(e[0] < 0.0, -2.0, 2.0)
    return (k * e[1], k * e[2], k * e[3])


def axes_of(name: str, given: Any, part: str, most: int = MOST_PARTS) -> tuple[Vec3, ...]:
    """A direction for each part, of any length."""
    rows = np.atleast_2d(checks.floats(name, given, f"hold a row of three numbers for each {part}"))
    if rows.ndim != 2 or rows.shape[1] != 3 or not 1 <= len(rows) <= most:
        raise ValueError(
            f"{name} must have a row of three numbers for each of 1 to {most} {part}s, not the shape {rows.shape}"
        )
    axes = tuple(checks.vector(f"{name}[{i}]", row.tolist()) for i, row in enumerate(rows))
    for i, axis in enumerate(axes):
        checks.direction(f"{name}[{i}]", axis)
    return axes


def units(name: str, axes: Sequence[Vec3]) -> list[Vec3]:
    """The directions with length one."""
    return [checks.direction(f"{name}[{i}]", axis) for i, axis in enumerate(axes)]


def each(
    name: str, given: Any, count: int, part: str = "wheel", *, positive: bool = False, negative: bool = True
) -> tuple[float, ...]:
    """A number for each part, from one for all or one for each."""
    row = checks.row(name, given).tolist()
    if len(row) not in (1, count):
        raise ValueError(f"{name} must be one number, or one for each of the {count} {part}s, not {len(row)} numbers")
    for x in row:
        if (positive and x <= 0.0) or (not negative and x < 0.0):
            raise ValueError(f"{name} must be positive{'' if positive else ' or zero'}, not {x:g}")
    return tuple(row * count if len(row) == 1 else row)


def law_of(
    what: str, given: Any, count: int, numbers: Sequence[float], reads: Sequence[str], seen: str = "", extra: Any = (),
) -> tuple[Law | None, Depends, bool]:  # fmt: skip
    """The law as a plain function, what it depends on, and whether it reads the attitude.

    `seen` is the name of its argument behind p, with an example of it in `extra`; `what` says what it must return.
    """
    if given is None:
        return None, Depends.NOTHING, False
    names = ("t", "q", "w", "p", *([seen] if seen else []), *(["z"] if reads else []))
    law, used = inspected("law", given, names)
    rest = ((extra,) if seen else ()) + (((0.0,) * len(reads),) if reads else ())
    try:
        found = law(0.0, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), np.array(numbers), *rest)
    except Exception:  # at that place it may have no value; the run will tell
        found = None
    if found is not None and np.shape(found) != (count,) and not (np.shape(found) == () and count == 1):
        raise ValueError(
            f"the law {law.__qualname__} must return {what}, not {found!r}: as in "
            f"`return ({', '.join('abcdefgh'[:count])}{',' if count == 1 else ''})`"
        )
    return law, (Depends.TIME if used[0] else Depends.NOTHING) | (Depends.RATE if used[2] else Depends.NOTHING), used[1]


def check_driver(law: Any, reads: Sequence[str], count: int, gains: bool, numbers: Sequence[float], what: str) -> None:
    """Raises ValueError unless one thing at most drives the parts: a law, gains, or numbers of another part."""
    if law is not None and gains:
        raise ValueError("give either a law or gains, not both")
    if law is None and numbers:
        raise ValueError("parameters_of_law are given, but no law that reads them")
    if law is None and reads and gains:
        raise ValueError("give either gains or reads, not both: gains take no commands")
    if law is None and reads and len(reads) != count:
        raise ValueError(f"reads must name {what}, not {len(reads)} numbers: or give a law that reads these")


def driven(torque: Any, count: int, part: str, named: str, what: str, seen: str, example: Any) -> dict[str, Any]:
    """The checked fields of `count` parts on board with a law, gains or commands, and what follows from them.

    `named` begins the names of what is carried, `what` is what a law returns, and `seen` what it finds behind p.
    """
    gains = {name: gain(name, getattr(torque, name)) for name in ("attitude_gain", "rate_gain")}
    steered = any(np.any(given) for given in gains.values())
    numbers = tuple(checks.row("parameters_of_law", torque.parameters_of_law).tolist())
    names, reads = tuple(torque.names) or tuple(f"{named}_{i + 1}" for i in range(count)), names_read(torque.reads)
    if len(names) != count:
        raise ValueError(f"there are {count} {part}s, but {len(names)} names: {', '.join(map(str, names))}")
    law, depends, turns = law_of(what, torque.law, count, numbers, reads, seen, example)
    check_driver(law, reads, count, steered, numbers, what)
    w, x, y, z = checks.numbers("target", torque.target, 4)
    checks.quaternion("target", (w, x, y, z), again=True)
    return {
        **gains, "target": (w, x, y, z), "law": law, "parameters_of_law": numbers, "reads": reads,
        "names": tuple(torque.names), "state_names": carried_numbers(names)[0],
        "depends": Depends.POSITION | Depends.RATE | depends,
        "reads_attitude": turns or bool(np.any(gains["attitude_gain"])), "commanded": law is None and bool(reads),
    }  # fmt: skip


def driven_lines(
    names: dict[str, Any], law: Law | None, count: int, numbers: int, reads: int, seen: str, carried: int
) -> list[str]:
    """Writes d0, d1 and so on: what a law returns that sees this, or what is read, behind the own `carried` numbers.

    The functions that the lines call are put into `names`.
    """
    if law is None:
        return [f"d{i} = {f'z[{carried + i}]' if reads else '0.0'}" for i in range(count)]
    names |= {"law": law, "section": section, "derivatives": derivatives}
    behind = f", ({''.join(f'z[{carried + i}], ' for i in range(reads))})" if reads else ""
    listed = "".join(f"d{i}, " for i in range(count))
    return [f"{listed} = derivatives(law(t, q, w, section(p, 0, {numbers}), {seen}{behind}), {count})"]


def total_lines(axes: Sequence[Sequence[str]], item: str) -> list[str]:
    """Writes the three components of a sum of directions, each times an item in which its number stands."""
    return [" + ".join(f"{axis[k]} * {item.format(i)}" for i, axis in enumerate(axes)) for k in range(3)]
