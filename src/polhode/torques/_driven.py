"""Parts that a law of the user's drives: motors of wheels and gimbals, magnetic torquers, thrusters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polhode.kernels.algebra.quat import conjugate, multiply
from polhode.kernels.ops import where
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.support import checks
from polhode.torques._torque import inspected

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


def checked_target(target: Any) -> Quat:
    """A quaternion to which gains turn the body, as it was given."""
    w, x, y, z = checks.numbers("target", target, 4)
    checks.quaternion("target", (w, x, y, z), again=True)
    return w, x, y, z


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
        raise ValueError(f"reads must name {what}, {count} of them, not {len(reads)}: or give a law that reads these")


def law_call(numbers: int, seen: str, reads: Sequence[int]) -> str:
    """Writes the call of a law, with this text for what it sees, and the places in z of what it reads."""
    behind = [seen] if seen else []
    behind += [f"({''.join(f'z[{i}], ' for i in reads)})"] if reads else []
    return f"law({', '.join(['t', 'q', 'w', f'section(p, 0, {numbers})', *behind])})"


def total_lines(axes: Sequence[Sequence[str]], item: str) -> list[str]:
    """Writes the three components of a sum of directions, each times an item in which its number stands."""
    return [" + ".join(f"{axis[k]} * {item.format(i)}" for i, axis in enumerate(axes)) for k in range(3)]
