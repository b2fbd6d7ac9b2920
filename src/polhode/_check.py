"""Checks at the border: each names the value and the remedy. Nothing deeper checks again."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def number(name: str, value: Any, *, positive: bool = False) -> float:
    """A finite float."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    if not math.isfinite(x):
        raise ValueError(f"{name} must be finite, not {x}")
    if positive and x <= 0:
        raise ValueError(f"{name} must be positive, not {x:g}")
    return x


def array(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """A finite array of this shape."""
    try:
        x = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers in the shape {shape}, not {value!r}") from None
    if x.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {x.shape}")
    if not np.isfinite(x).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise ValueError(f"{name} must be finite, but {name}[{', '.join(map(str, bad))}] is {x[bad]}")
    return x


def vector(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite floats."""
    x, y, z = array(name, value, (3,)).tolist()
    return (x, y, z)


def direction(name: str, value: Any) -> tuple[float, float, float]:
    """Three finite floats, scaled to unit length."""
    v = array(name, value, (3,))
    largest = float(np.abs(v).max())
    if largest == 0.0:
        raise ValueError(f"{name} must point somewhere, not be zero")
    v = v / largest
    x, y, z = (v / math.sqrt(float(v @ v))).tolist()
    return (x, y, z)


def quaternion(name: str, attitude: Any) -> Floats:
    """Unit quaternion, scalar first, from what the user gave."""
    if attitude is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    if hasattr(attitude, "as_quat"):
        q = np.asarray(attitude.as_quat(), dtype=np.float64)
        if q.shape != (4,):
            raise ValueError(f"{name} must be a single Rotation, not a stack of shape {q.shape[:-1]}")
        return np.array([q[3], q[0], q[1], q[2]])
    if np.shape(attitude) == (3, 3):
        matrix = array(name, attitude, (3, 3))
        defect = float(np.abs(matrix @ matrix.T - np.eye(3)).max())
        if defect > 1e-6:
            raise ValueError(f"{name} must be a rotation matrix, but R R^T differs from 1 by {defect:.2g}")
        if np.linalg.det(matrix) < 0:
            raise ValueError(f"{name} must be a rotation matrix, but its determinant is -1: a reflection")
        from scipy.spatial.transform import Rotation

        return quaternion(name, Rotation.from_matrix(matrix))
    if np.shape(attitude) != (4,):
        shape = np.shape(attitude)
        raise ValueError(
            f"{name} must be a Rotation, a quaternion (scalar first) or a 3x3 matrix, not of shape {shape}"
        )
    q = array(name, attitude, (4,))
    largest = float(np.abs(q).max())
    if largest == 0.0:
        raise ValueError(f"{name} must be a rotation, but the quaternion is zero")
    q = q / largest
    return q / math.sqrt(float(q @ q))


FEW = 30
"""So many names can be listed in an error."""


def choice(kind: str, name: str, known: Iterable[str]) -> str:
    """The known name that is meant, whatever its case; if there is none, an error that suggests the nearest."""
    options = {k.lower(): k for k in known}
    if isinstance(name, str) and name.lower() in options:
        return options[name.lower()]
    near = difflib.get_close_matches(str(name).lower(), options, n=3, cutoff=0.4)
    if len(options) <= FEW:
        hint = f"did you mean {options[near[0]]!r}? " if near else ""
        raise ValueError(f"there is no {kind} {name!r}: {hint}known are {', '.join(sorted(options.values()))}")
    hint = f"did you mean {' or '.join(repr(options[n]) for n in near)}? " if near else ""
    raise ValueError(f"there is no {kind} {name!r}: {hint}there are {len(options)}, which `polhode {kind}s` lists")
