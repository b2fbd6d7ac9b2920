"""A torque with the columns of a Jacobian: what a run with `derivatives=` is made with, in place of the torque."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from polhode.body import Body
from polhode.compiler import name_now
from polhode.compiler.derive import CannotDerive, torque_slopes
from polhode.kernels.states import LIKE_THE_LARGEST, NO_ERROR
from polhode.kernels.steps.tangent import Columns, kick_data, slopes_by_differences, slopes_given, slopes_of
from polhode.kernels.types import Quat, UserTorque, Vec3
from polhode.torques._torque import CustomTorque, Torque

DERIVED, GIVEN, BY_DIFFERENCES = "derived from its code", "as given", "by differences, good to about 1e-11"
"""Where the derivatives of a torque come from."""


class TangentTorque(Torque):
    """A torque that carries the columns of a Jacobian along.

    `values` is what the columns change: the numbers in p behind those of the torque. The columns of a method that
    `splits` are (zeta, dL) in space axes, those of others (dq, dm). `slopes` has the derivatives of the torque, as
    `compiler.derive.torque_slopes` makes them. Methods that iterate are to converge for the columns as well.
    """

    def __init__(
        self, acting: Torque, columns: Columns, values: tuple[float, ...], slopes: UserTorque, *,
        splits: bool, iterates: bool,
    ) -> None:  # fmt: skip
        self.plain, self.columns, self.values, self.slopes = acting, columns, values, slopes
        self.splits, self.iterates = splits, iterates
        self.depends, self.calls_python, self.calls_out = acting.depends, acting.calls_python, acting.calls_out
        self.has_value_at_all_times, self.reads_attitude = acting.has_value_at_all_times, acting.reads_attitude
        self.state_names = tuple(f"column{k}" for k in range((6 if splits else 7) * columns.width))

    @property
    def name(self) -> str:
        """The name of the torque that acts."""
        return self.plain.name

    @property
    def state_sizes(self) -> tuple[float, ...]:
        """Columns have no part in the choice of steps, but iterations are to converge for them as well."""
        return (LIKE_THE_LARGEST if self.iterates else NO_ERROR,) * len(self.state_names)

    @property
    def torque_kernel(self) -> UserTorque:
        """The torque with columns."""
        return _kernel(self.plain.torque_kernel, self.slopes, self.columns, self.splits)

    @property
    def potential_kernel(self) -> Any:
        """The potential of the torque."""
        return self.plain.potential_kernel

    def parameters(self, body: Body) -> Sequence[float]:
        """The numbers of the torque, and what the columns change."""
        return (*self.plain.parameters(body), *self.values)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The breakpoints of the torque."""
        return self.plain.breakpoints

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots of the torque."""
        return self.plain.knots

    @property
    def axis(self) -> Vec3 | None:
        """The axis of the torque."""
        return self.plain.axis


@lru_cache(maxsize=128)
def _kernel(torque: UserTorque, slopes: UserTorque, columns: Columns, splits: bool) -> UserTorque:
    """The torque as it is tried in plain Python; methods take what is made by its `__pull__`."""
    count = (6 if splits else 7) * columns.width

    def with_columns(t: float, q: Quat, w: Vec3, p: Any, z: Any) -> Any:
        return torque(t, q, w, p[: columns.parameters]), (0.0,) * count

    with_columns.__pull__ = partial(kick_data if splits else slopes_of, torque, slopes, columns)  # type: ignore[attr-defined]
    return with_columns


@lru_cache(maxsize=128)
def _derived(
    torque: UserTorque, name: str | None, count: int, by: tuple[int, ...], by_rate: bool
) -> tuple[UserTorque, str]:
    """The derivatives of a torque, and why they are differences, if they are.

    The values of what the torque reads stand in their text, so that it is kept by the torque's name by content.
    """
    try:
        return torque_slopes(torque, count, by, by_rate=by_rate), ""
    except CannotDerive as problem:
        return slopes_by_differences(torque, count, by, by_rate=by_rate), str(problem)


def slopes_and_source(
    torque: Torque, count: int, by: tuple[int, ...], *, by_rate: bool
) -> tuple[UserTorque, str, str]:  # fmt: skip
    """The derivatives of a torque as a kernel, where they come from, and why, where that is by differences."""
    if isinstance(torque, CustomTorque) and torque.jacobian is not None:
        return slopes_given(torque.jacobian, by, by_rate=by_rate), GIVEN, ""
    name = name_now(torque.torque_kernel)
    derived = _derived if name else _derived.__wrapped__  # without a name it may read anything
    slopes, why = derived(torque.torque_kernel, name, count, by, by_rate)
    return slopes, BY_DIFFERENCES if why else DERIVED, why


GIVEN_ERROR = 1e-5
"""By how much a derivative that a user gave may differ from differences, as a part of the largest of its kind."""


def check_given(torque: Torque, slopes: UserTorque, by: tuple[int, ...], at: tuple[Any, ...], *, by_rate: bool) -> None:
    """Raises ValueError unless derivatives that a user gave agree with differences at the time and state `at`."""
    found, count = [float(x) for x in slopes(*at)], len(at[3])
    sure = slopes_by_differences(torque.torque_kernel, count, by, by_rate=by_rate)(*at)
    kinds = ["turn"] * 9 + (["rate"] * 9 if by_rate else []) + [f"p[{k}]" for k in by for _ in range(3)]
    for kind in dict.fromkeys(kinds):
        places = [k for k, name in enumerate(kinds) if name == kind]
        size = max(abs(float(sure[k])) for k in places)
        for k in places:
            if not abs(found[k] - float(sure[k])) <= GIVEN_ERROR * size:
                what = "a small turn" if kind == "turn" else "the rate" if kind == "rate" else kind
                raise ValueError(
                    f"the jacobian of {torque.name} is wrong: by {what}, at t = {at[0]:g}, it makes {found[k]:.6g} of "
                    f"an element that differences find to be {float(sure[k]):.6g} (turns are in body axes; rows are "
                    "components of the torque)"
                )
