"""Vectors and quaternions, for torques and for everything around them.

Each function takes vectors as tuples, lists or arrays of three numbers, and quaternions of four, scalar first. In a
torque it is compiled with it. Called from Python it takes stacks as well: arrays with the components along the last
axis, which broadcast. One vector comes back as a tuple, a stack as an array.
"""

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from polhode.kernels.algebra import quat, vec
from polhode.kernels.types import Quat, Vec3

__all__ = ["clip", "cross", "dot", "quaternion_conjugate", "quaternion_product", "to_body", "to_space"]


@overload
def cross(a: Vec3, b: Vec3) -> Vec3: ...
@overload
def cross(a: Any, b: Any) -> Any: ...
def cross(a: Any, b: Any) -> Any:
    """The cross product a x b.

    Examples
    --------
    >>> ph.cross((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    (0.0, 0.0, 1.0)
    """
    return _each(vec.cross, (a, 3), (b, 3))


@overload
def dot(a: Vec3, b: Vec3) -> float: ...
@overload
def dot(a: Any, b: Any) -> Any: ...
def dot(a: Any, b: Any) -> Any:
    """The scalar product a . b.

    Examples
    --------
    >>> ph.dot((1.0, 2.0, 3.0), (0.0, 1.0, 0.0))
    2.0
    """
    return _each(vec.dot, (a, 3), (b, 3))


@overload
def clip(x: float, low: float, high: float) -> float: ...
@overload
def clip(x: Vec3, low: float | Vec3, high: float | Vec3) -> Vec3: ...
@overload
def clip(x: Any, low: Any, high: Any) -> Any: ...
def clip(x: Any, low: Any, high: Any) -> Any:
    """X within the limits: min(max(x, low), high), of a number or of every component of a vector.

    Limits are numbers, or vectors if x is one. In a torque, steps that choose their length end where a limit is
    reached: such a bend is located.

    Examples
    --------
    >>> ph.clip(3.0, -1.0, 1.0), ph.clip((0.5, -2.0, 9.0), -1.0, 1.0)
    (1.0, (0.5, -1.0, 1.0))
    """
    if not any(map(_is_stack, (x, low, high))):
        for name, value in (("low", low), ("high", high)):
            if hasattr(value, "__len__") and not hasattr(x, "__len__"):
                raise ValueError(f"{name} must be a number, because x is one, not {value!r}")
        return vec.clip(x, low, high)
    return np.minimum(np.maximum(x, low), high)


@overload
def quaternion_product(a: Quat, b: Quat) -> Quat: ...
@overload
def quaternion_product(a: Any, b: Any) -> Any: ...
def quaternion_product(a: Any, b: Any) -> Any:
    """Hamilton's product a b, scalar first: the rotation b, then the rotation a.

    Examples
    --------
    >>> ph.quaternion_product((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    (0.0, 0.0, 0.0, 1.0)
    """
    return _each(quat.multiply, (a, 4), (b, 4))


@overload
def quaternion_conjugate(q: Quat) -> Quat: ...
@overload
def quaternion_conjugate(q: Any) -> Any: ...
def quaternion_conjugate(q: Any) -> Any:
    """The conjugate (w, -x, -y, -z): of a unit quaternion, the opposite rotation.

    Examples
    --------
    >>> ph.quaternion_conjugate((0.5, 0.5, 0.5, 0.5))
    (0.5, -0.5, -0.5, -0.5)
    """
    return _each(quat.conjugate, (q, 4))


@overload
def to_space(q: Quat, v: Vec3) -> Vec3: ...
@overload
def to_space(q: Any, v: Any) -> Any: ...
def to_space(q: Any, v: Any) -> Any:
    """R v: takes the components of a vector from body axes to space axes.

    A quaternion that is not of unit length scales the result by its squared norm.

    Examples
    --------
    >>> ph.to_space((0.5, 0.5, 0.5, 0.5), (1.0, 2.0, 3.0))
    (3.0, 1.0, 2.0)
    """
    return _each(quat.to_space, (q, 4), (v, 3))


@overload
def to_body(q: Quat, v: Vec3) -> Vec3: ...
@overload
def to_body(q: Any, v: Any) -> Any: ...
def to_body(q: Any, v: Any) -> Any:
    """R^T v: takes the components of a vector from space axes to body axes.

    A quaternion that is not of unit length scales the result by its squared norm.

    Examples
    --------
    >>> ph.to_body((0.5, 0.5, 0.5, 0.5), (1.0, 2.0, 3.0))
    (2.0, 3.0, 1.0)
    """
    return _each(quat.to_body, (q, 4), (v, 3))


_KERNELS: dict[Callable[..., Any], Callable[..., Any]] = {
    clip: vec.clip, cross: vec.cross, dot: vec.dot, quaternion_conjugate: quat.conjugate,
    quaternion_product: quat.multiply, to_body: quat.to_body, to_space: quat.to_space,
}  # fmt: skip
for _public, _kernel in _KERNELS.items():  # the compiler replaces each function by its kernel
    _public.py_func = _kernel  # type: ignore[attr-defined]


def _is_stack(value: Any) -> bool:
    """Whether there are rows of components, in an array or in a list of lists; a list of arrays is a single vector."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and isinstance(value[0], list | tuple)
    return isinstance(value, np.ndarray) and value.ndim > 1


def _each(kernel: Callable[..., Any], *arguments: tuple[Any, int]) -> Any:
    """Applies a kernel to arguments with their numbers of components: single, with arrays in them, or stacks."""
    if not any(_is_stack(value) for value, _ in arguments):
        for value, count in arguments:
            if len(value) != count:
                raise ValueError(
                    f"{'a quaternion' if count == 4 else 'a vector'} has {count} numbers, unlike {value!r}"
                )
        return kernel(*(value for value, _ in arguments))
    columns = []
    for value, count in arguments:
        stack = np.asarray(value, dtype=np.float64)
        if stack.shape[-1:] != (count,):
            raise ValueError(f"the last axis must have {count} components, not the shape {stack.shape}")
        columns.append(tuple(stack[..., k] for k in range(count)))
    found = kernel(*columns)
    return np.stack(np.broadcast_arrays(*found), axis=-1) if isinstance(found, tuple) else found
