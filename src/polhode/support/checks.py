"""Checks of the user's input: each error names the value and the remedy. No deeper code checks again."""

import difflib
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DOUBLE = np.dtype(np.float64)
PLAIN = frozenset({float, int, np.float64})
"""The types of numbers that need no check but whether they are finite."""
LARGEST = 1e100
"""Measured and logged numbers are smaller than this: squares and products of larger ones are no numbers any more."""


FEW_SHOWN, MOST_CHARACTERS = 12, 100
"""The most entries of an array, a list or a dictionary that a message shows, and the most characters of a value."""


def shown(value: Any) -> str:
    """What a user gave as messages show it: in short, if it is long."""
    if isinstance(value, np.ndarray) and value.size > FEW_SHOWN:
        return f"an array of shape {value.shape}"
    if isinstance(value, list | tuple | set | dict) and len(value) > FEW_SHOWN:
        return f"a {type(value).__name__} of {len(value):,} entries"
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def is_called(name: str, value: Any, arguments: str) -> None:
    """Raises an error unless the value is None or a function."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function of ({arguments}), not {shown(value)}")


def number(name: str, value: Any, *, positive: bool = False, negative: bool = True) -> float:
    """The value as a finite float."""
    x = value if type(value) is float else _float(name, value)
    if not math.isfinite(x):
        raise ValueError(f"{name} must be finite, not {x}")
    if positive and x <= 0:
        raise ValueError(f"{name} must be positive, not {x:g}")
    if x < 0.0 and not negative:
        raise ValueError(f"{name} must not be negative, not {x:g}")
    return x


def _float(name: str, value: Any) -> float:
    try:
        if not _is_number(value) or value is np.ma.masked:
            raise TypeError
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a number, not {shown(value)}") from None


def count(name: str, value: Any, of: str = "") -> int:
    """The value as a positive whole number; it may be written as a float."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not value >= 1 or (isinstance(value, float | np.floating) and not float(value).is_integer()):
        raise ValueError(f"{name} must be a positive whole number{of}, not {shown(value)}")
    if value > MOST_COUNT:
        raise ValueError(f"{name} must be at most 2**62, not {_shortened(int(value))}")
    return int(value)


MOST_COUNT = 2**62
"""The greatest number that is counted to: compiled code has integers of 64 bits."""


def _shortened(number: int) -> str:
    text = str(number) if number < 10**40 else ""
    return text or f"2**{number.bit_length() - 1} or more"


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """The shape of what the user gave, which may be anything."""
    return _rows_of(name, value).shape


def _rows_of(name: str, value: Any) -> NDArray[Any]:
    _refuse_masked(name, value)
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} must hold rows of one length, not {shown(value)}") from None


def _refuse_masked(name: str, value: Any) -> None:
    """Raises an error for an array with masked entries, of which NumPy would take what lies under the mask."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} has {int(np.ma.getmaskarray(value).sum())} masked entries: fill them, or leave their rows out"
        )


def _is_number(value: Any) -> bool:
    """Whether this entry of an array of objects may become a float: NumPy also takes texts, dates and bools for one."""
    return not isinstance(value, str | bytes | bool | complex) and value is not None and _kind(value) in "iufO"


def _kind(value: Any) -> str:
    """The kind of number of NumPy that this is; f for any other."""
    return str(getattr(getattr(value, "dtype", None), "kind", "f"))


def floats(name: str, value: Any, what: str) -> Floats:
    """Real numbers as an array of whatever shape; they need not be finite, and may be the user's own array."""
    _refuse_masked(name, value)
    try:
        given = np.asarray(value)
        kind = given.dtype.kind
        if kind not in "iufO" or (kind == "O" and not all(map(_is_number, given.flat))) or _has_bools(value):
            raise TypeError
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must {what}, not {shown(value)}") from None


def array(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """The value as a finite array of this shape."""
    if type(value) is np.ndarray and value.dtype == DOUBLE and value.shape == shape and _all_finite(value):
        return np.array(value)
    x = np.array(floats(name, value, f"hold numbers in the shape {shape}"))
    if x.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {x.shape}")
    if not _all_finite(x):
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise ValueError(f"{name} must be finite, but {name}[{', '.join(map(str, bad))}] is {x[bad]}")
    return x


def _has_bools(value: Any) -> bool:
    """Whether a short list of the user's holds a bool, which NumPy would take for 0 or 1 among numbers."""
    if not isinstance(value, list | tuple) or len(value) > FEW_NUMBERS:
        return False
    return any(isinstance(x, bool) or _kind(x) == "b" or _has_bools(x) for x in value)


FEW_NUMBERS = 50
"""Up to this many numbers are checked one by one: the calls of NumPy would take longer."""


def _all_finite(x: Floats) -> bool:
    if x.size <= FEW_NUMBERS:
        return all(map(math.isfinite, x.ravel().tolist()))
    return int(np.count_nonzero(np.isfinite(x))) == x.size


def row(name: str, values: Any) -> Floats:
    """Finite numbers in a row; a single one is a row of one."""
    if _has_bools(values):
        raise TypeError(f"{name} must hold numbers, not {shown(values)}")
    given = values if isinstance(values, np.ndarray) and values.ndim else np.atleast_1d(_rows_of(name, values))
    if given.ndim != 1:
        raise ValueError(f"{name} must be a list of numbers, not of shape {given.shape}")
    return array(name, given, given.shape)


def plain(value: Any, count: int | None = None) -> list[float] | None:
    """A few finite numbers in a row, `count` of them if that is given, from a list, a tuple or an array.

    None: this is something else, or something is wrong with it, which takes longer to find out.
    """
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype != DOUBLE or value.ndim != 1:
            return None
        listed: list[float] = value.tolist() if value.size <= FEW_NUMBERS else []
    elif (kind is list or kind is tuple) and len(value) <= FEW_NUMBERS:
        listed = list(value)
        for k, x in enumerate(listed):
            if type(x) is not float:
                if type(x) not in PLAIN or abs(x) > LARGEST:
                    return None
                listed[k] = float(x)
    else:
        return None
    return listed if listed and len(listed) == (count or len(listed)) and math.isfinite(sum(listed)) else None


def numbers(name: str, value: Any, count: int) -> tuple[float, ...]:
    """Returns `count` finite floats, as `array` does, but quickly if they are plain already."""
    listed = plain(value, count)
    return tuple(array(name, value, (count,)).tolist() if listed is None else listed)


def vector(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite floats."""
    x, y, z = numbers(name, value, 3)
    return (x, y, z)


def direction(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite floats, scaled to unit length."""
    x, y, z = vector(name, value)
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ValueError(f"{name} must point somewhere, not be zero")
    x, y, z = x / largest, y / largest, z / largest
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def quaternion(name: str, attitude: Any, *, again: bool = False) -> Floats:
    """The unit quaternion, scalar first, of the attitude that the user gave.

    A quaternion of another length is scaled with a warning, unless it was checked before and is checked `again`.
    """
    return np.array(unit_quaternion(name, attitude, again=again))


def unit_quaternion(name: str, attitude: Any, *, again: bool = False) -> Sequence[float]:
    """The same as four floats."""
    if attitude is None:
        return (1.0, 0.0, 0.0, 0.0)
    if (listed := plain(attitude, 4)) is not None:
        return _scaled(name, listed, again=again)
    if hasattr(attitude, "as_quat"):
        q = np.asarray(attitude.as_quat(), dtype=np.float64)
        if q.shape != (4,):
            raise ValueError(f"{name} must be a single Rotation, not a stack of shape {q.shape[:-1]}")
        x, y, z, w = q.tolist()
        return (w, x, y, z)
    shape = shape_of(name, attitude)
    if shape == (3, 3):
        matrix = array(name, attitude, (3, 3))
        defect = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
        if defect > 1e-6:
            raise ValueError(f"{name} must be a rotation matrix, but R R^T differs from 1 by {defect:.2g}")
        if np.linalg.det(matrix) < 0:
            raise ValueError(f"{name} must be a rotation matrix, but its determinant is -1: a reflection")
        from scipy.spatial.transform import Rotation

        return unit_quaternion(name, Rotation.from_matrix(matrix))
    if shape != (4,):
        raise ValueError(
            f"{name} must be a Rotation, a quaternion (scalar first) or a 3x3 matrix, not of shape {shape}"
        )
    return _scaled(name, array(name, attitude, (4,)).tolist(), again=again)


class LongSteps(UserWarning):
    """Steps of the given length are too long for the method: what should be conserved is not, or it cannot turn so far.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", ph.LongSteps)
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 20, 0], t_span=(0, 1), method="MR2", step=0.1)
    ...
    >>> print(said[0].message)  # doctest: +ELLIPSIS
    steps of 0.1 s are too long for MR2: one turns the body by 2 rad...
    """


class ScaledQuaternion(UserWarning):
    """A quaternion was not of unit length, and was scaled to it.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ph.ScaledQuaternion)
    ...     motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], attitude=[2, 0, 0, 0])
    ...
    >>> motion.at(0.0).quaternion.round(6) + 0.0
    array([1., 0., 0., 0.])
    """


UNIT_TOLERANCE = 1e-6
"""A quaternion whose length differs from one by more is scaled with a warning: it is no rounding of a unit one."""


def _scaled(name: str, quaternion: Sequence[float], *, again: bool) -> Sequence[float]:
    """Scales a quaternion to unit length."""
    w, x, y, z = quaternion
    largest = max(abs(w), abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ValueError(f"{name} must be a rotation, but the quaternion is zero")
    w, x, y, z = w / largest, x / largest, y / largest, z / largest
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if not again and not abs(largest * length - 1.0) <= UNIT_TOLERANCE:
        _warn_of_scaling(f"{name} is a quaternion of length {largest * length:.9g}, which was scaled to one")
    return (w / length, x / length, y / length, z / length)


def _warn_of_scaling(text: str) -> None:
    warnings.warn(f"{text}: give a unit quaternion, scalar first", ScaledQuaternion, stacklevel=levels_of_polhode())


def levels_of_polhode() -> int:
    """How far up the stack the user's code is, counted from the caller, for warnings to point at."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("polhode."):
        level, frame = level + 1, frame.f_back
    return level


def unit(q: Floats) -> Floats:
    """Scales a stack of quaternions to unit length; each has the bits that `quaternion` would give it."""
    a, b, c, d = (np.abs(q[..., k]) for k in range(4))
    scaled: Floats = q / np.maximum(np.maximum(a, b), np.maximum(c, d))[..., None]
    w, x, y, z = (scaled[..., k] for k in range(4))
    scaled /= np.sqrt(w * w + x * x + y * y + z * z)[..., None]
    return scaled


def quaternions(name: str, attitudes: Any) -> Floats:
    """The unit quaternions, scalar first, of attitudes that the user gave, in rows; of one attitude, one row.

    They may be a stack of Rotations or a list of them, or rows of quaternions or of matrices.
    """
    if hasattr(attitudes, "as_quat"):
        q = np.atleast_2d(np.asarray(attitudes.as_quat(), dtype=np.float64))
        return q[:, [3, 0, 1, 2]]
    several = isinstance(attitudes, list | tuple) and any(hasattr(one, "as_quat") for one in attitudes)
    shape = (len(attitudes), 3, 3) if several else () if attitudes is None else shape_of(name, attitudes)
    if len(shape) < 2 or (shape == (3, 3) and not several):
        return quaternion(name, attitudes)[None, :]
    if len(shape) == 3:
        return np.array([quaternion(f"{name}[{k}]", one) for k, one in enumerate(attitudes)])
    if shape[0] == 0 or shape[1] != 4:
        raise ValueError(f"{name} must have the shape (4,) or (bodies, 4), not {shape}")
    q = array(name, attitudes, shape)
    if (zero := (q == 0.0).all(axis=1)).any():
        raise ValueError(f"{name}[{int(np.argmax(zero))}] must be a rotation, but the quaternion is zero")
    return given_unit(name, q)


def given_unit(name: str, q: Floats) -> Floats:
    """Does the same with a stack that a user gave, and warns if one of them is not of unit length."""
    w, x, y, z = (q[..., k] for k in range(4))
    with np.errstate(over="ignore"):
        off = np.abs(np.sqrt(w * w + x * x + y * y + z * z) - 1.0)
    if not (off <= UNIT_TOLERANCE).all():
        _warn_of_scaling(f"{name} has quaternions that are not of unit length, which were scaled to one")
    return unit(q)


FEW_NAMES = 30
"""More names than this are not listed in an error."""


def choice(kind: str, name: str, known: Iterable[str], *, command: str = "") -> str:
    """The known name that is meant, whatever its case; else raises an error that suggests the nearest.

    If there are too many names to list, the error names the `command` that lists them: by default `polhode` with the
    kind of thing in the plural.
    """
    options = {k.lower(): k for k in known}
    if isinstance(name, str) and name.lower() in options:
        return options[name.lower()]
    near = nearest(str(name), options.values())
    if len(options) <= FEW_NAMES:
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no {kind} {shown(name)}: {hint}known are {', '.join(sorted(options.values()))}")
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    lists = f"`{command or f'polhode {kind}s'}` lists"
    raise ValueError(f"there is no {kind} {shown(name)}: {hint}{lists} all {len(options)}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are most alike, whatever their case: three at most."""
    options = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), options, n=3, cutoff=0.5)
    alike = [difflib.SequenceMatcher(None, one, name.lower()).ratio() for one in near]
    return [options[one] for one, ratio in zip(near, alike, strict=True) if ratio > alike[0] - 0.15]
