"""States between the user's body axes and the principal axes, in which the compiled loop works."""

from typing import NamedTuple, Self

import numpy as np

from polhode.body import Body
from polhode.kernels.algebra.quat import conjugate, multiply, to_space
from polhode.kernels.states import STATE
from polhode.kernels.types import CarriedState, Quat, State, Vec3
from polhode.support.arrays import Floats

FEW_ROWS = 16
"""Up to this many rows are turned one by one: the calls of NumPy would take longer."""


class Frame(NamedTuple):
    """The user's axes of one body."""

    body: Body
    axes: Quat
    """The rotation from principal axes to the user's."""

    @classmethod
    def of(cls, body: Body) -> Self:
        """Returns the frame of a body."""
        a, b, c, d = body.axes_quaternion.tolist()
        return cls(body, (a, b, c, d))

    def inward(self, q: Floats, m: Floats, z: Floats) -> Floats:
        """Returns a state in principal axes, as seven numbers and those that the torque carries."""
        return np.array([*self.inward_numbers(q, m), *z.tolist()])

    def inward_numbers(self, q: Floats, m: Floats) -> list[float]:
        """Returns quaternion and momentum in principal axes, as seven numbers."""
        if self.body.aligned:
            return [*q.tolist(), *m.tolist()]
        return [*_products([q.tolist()], self.axes)[0], *(m @ self.body.axes).tolist()]

    def outward(self, states: Floats, *, scaled: bool) -> tuple[Floats, Floats, Floats]:
        """Returns quaternions and momenta in the user's axes, and carried numbers, from rows of states.

        Quaternions can be scaled to unit length.
        """
        q, m, z = states[:, :4], states[:, 4:STATE], states[:, STATE:]
        if scaled:
            q = q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]
        if not self.body.aligned:
            away = conjugate(self.axes)
            if q.shape[0] <= FEW_ROWS:
                back = np.array(_products(q.tolist(), away)).reshape(-1, 4)
            else:
                back = np.stack(multiply(tuple(q.T), away), axis=1)  # columns: the same algebra
            q, m = back, m @ self.body.axes.T
        return q, m, z

    def outward_one(self, state: Floats) -> tuple[Floats, Floats]:
        """Returns quaternion and momentum of one state in the user's axes."""
        q, m = state[:4], state[4:STATE]
        if self.body.aligned:
            return q, m
        return np.array(_products([q.tolist()], conjugate(self.axes))[0]), m @ self.body.axes.T

    def seen_by_torque(self, s: State | CarriedState, w: Vec3) -> tuple[Quat, Vec3]:
        """Returns attitude and rate in the user's axes, as a torque sees them."""
        if self.body.aligned:
            return s.q, w
        return multiply(s.q, conjugate(self.axes)), to_space(self.axes, w)


def _products(rows: list[list[float]], other: Quat) -> list[Quat]:
    """Returns the products of quaternions and another one, as `multiply` has them in plain Python, but at once."""
    e, f, g, h = other
    return [
        (
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        )
        for a, b, c, d in rows
    ]
