"""Bodies: moments of inertia, principal axes and states in them, and bodies from the literature."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np

from polhode.kernels.algebra.quat import conjugate, multiply, to_space
from polhode.kernels.algebra.vector_table import handle_of, made_once, packed
from polhode.kernels.states import STATE
from polhode.kernels.types import Quat, State, Vec3
from polhode.support import checks
from polhode.support.arrays import Floats, row_products

SYMMETRY_TOLERANCE = 1e-12
"""A relative asymmetry of a tensor up to this is taken for round-off."""

TRIANGLE_TOLERANCE = 1e-12
"""A relative excess over the triangle inequality up to this is taken for round-off: flat bodies reach equality."""

ZERO = Decimal(0)

SMALLEST_MOMENT = 1e-300
"""Moments lie between this and its inverse, so that they, their inverses and sums of them are floats."""


LARGEST_EXPONENT = 100
"""Moments that change lie between 10 to the power of this and its inverse, so that products of three are floats."""
KINDS = ("linear", "cubic")
LOOKS = 9
"""Times in each piece, its ends included, at which a tensor that changes is checked; straight lines need their ends."""
DEGREE = 7
"""The degree of the polynomials that follow a tensor that is a function of time."""
FUNCTION_TOLERANCE, SHORTEST_SHARE, MOST_PIECES = 3e-14, 2.0**-30, 100_000
"""They do so to this part of its largest element; no piece is shorter than this share of the whole."""
FEW_ROWS = 16
"""Up to this many rows are turned one by one: the calls of NumPy would take longer."""


class BodyNumbers(NamedTuple):
    """The numbers of a body."""

    moments: Vec3
    tensor: tuple[Vec3, Vec3, Vec3]
    least: float
    """The least of the moments."""
    greatest: float


class Body:
    """A rigid body: three principal moments, or a full inertia tensor, in kg m^2.

    Moments keep the order in which they are given, and so does a diagonal tensor. Any other tensor is diagonalised
    inside; rates, torques and attitudes stay in the axes in which the tensor was given.

    A `rotor` makes it a gyrostat: a body with a constant internal angular momentum g, in its axes and in kg m^2/s, such
    as that of a wheel that is kept at one speed relative to the body. Then the angular momentum is m = I w + g. The
    moments are those of the whole, in which the rotor takes part as if it were fixed.

    A body changes with time if `times` are given, with moments or tensors for each of them, or a function of time as
    `inertia`: `Body(rows, times=t)`, `Body(function, times=(first, last))`. Rows are joined by straight lines, or with
    kind="cubic" by a spline; a time that is there twice is a jump, and the inner times of a function are. The angular
    momentum is that of the whole, m' = m x w + N with w = I(t)^-1 (m - g): no change of the tensor changes it in space.
    Mass that leaves takes its momentum along by a torque, `MassFlow`.

    No mass distribution has a moment greater than the sum of the other two. Some published test bodies do:
    `allow_unphysical=True` accepts them.

    Examples
    --------
    >>> brick = ph.Body([1, 2, 2.8])
    >>> brick.moments
    array([1. , 2. , 2.8])
    >>> bent = ph.Body([[2, 0.1, 0], [0.1, 2.5, 0], [0, 0, 3]], name="bent")
    >>> bent.moments.round(4)
    array([1.9807, 2.5193, 3.    ])
    >>> ph.Body.named("book")
    Body([5.0, 10.0, 1.0], name='book', allow_unphysical=True)
    >>> boom = ph.Body([[1, 2, 2.8], [3, 4, 2.8]], times=[0, 60])  # a boom along the third axis, within a minute
    >>> boom.at(30).moments
    array([2. , 3. , 2.8])
    """

    changes = False
    """Whether it changes with time."""
    elements_that_change = 0
    """How many elements of its tensor change with time: none, the 3 of the diagonal, or all 6."""
    breakpoints: tuple[float, ...] = ()
    """The times at which its tensor jumps or has a kink."""
    mass: float | None = None
    """Its mass in kg, where that is known: of shapes, meshes, sums, and of what was `placed` with one."""
    centre: Floats = np.broadcast_to(0.0, (3,))
    """Its centre of mass in m, in the axes in which a shape, a mesh or a sum was given. Motions are about it."""

    def __new__(cls, inertia: Any = None, *, times: Any = None, **settings: Any) -> "Body":
        """Makes a `ChangingBody` of a table or a function of time."""
        changes = times is not None or callable(inertia)
        return object.__new__(ChangingBody if cls is Body and changes else cls)

    def __init__(
        self, inertia: Any, *, times: Any = None, kind: Literal["linear", "cubic"] = "linear", name: str | None = None,
        allow_unphysical: bool = False, rotor: Any = None,
    ) -> None:  # fmt: skip
        if kind != "linear":
            raise ValueError(f"kind={kind!r} joins the rows of a body that changes: give their times=, or leave it out")
        tensor = _tensor(inertia)
        self.name = name
        self.tensor: Floats = tensor
        if np.count_nonzero(tensor - np.diag(np.diag(tensor))) == 0:
            moments, axes = np.diag(tensor).copy(), np.eye(3)
        else:
            moments, axes = _principal(tensor)
        if moments.min() <= 0:
            raise ValueError(f"moments of inertia must be positive, not {_listed(moments)}")
        if moments.min() < SMALLEST_MOMENT or moments.max() > 1.0 / SMALLEST_MOMENT:
            raise ValueError(
                f"the moments {_listed(moments)} are near the ends of the range of floats: use other units"
            )
        self.moments: Floats = moments
        self.axes: Floats = axes
        """Column i is the principal axis of moment i, in the user's axes."""
        self.rotor: Floats = np.zeros(3) if rotor is None else _rotor(rotor)
        """The internal angular momentum, in the user's axes; zeros: there is none."""
        for value in (tensor, moments, axes, self.rotor):
            value.setflags(write=False)
        if not allow_unphysical and not self.physical:
            raise ValueError(
                f"no body has the moments {_listed(moments)}: the greatest exceeds the sum of the other two. "
                "If this is intended, set allow_unphysical: an argument of Body, a key of scenarios, an option of "
                "commands"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a pickled or copied body; its arrays come back as ones that can be written to, and must not be."""
        self.__dict__.update({"rotor": np.zeros(3)} | state)  # bodies of versions before 0.2 have no rotor
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @classmethod
    def named(cls, name: str) -> "Body":
        """A body from the literature; `polhode.body.NAMED` lists them with their sources."""
        known = NAMED[checks.choice("body", name, NAMED)]
        return cls(known.moments, name=known.name, allow_unphysical=True)

    # --- shapes

    @staticmethod
    def box(mass: float, sides: Any) -> "Body":
        """A uniform box with these three sides, in m, along its axes; `mass` is in kg.

        Examples
        --------
        >>> ph.Body.box(12.0, [1, 2, 3]).moments
        array([13., 10.,  5.])
        """
        from polhode.shapes import box

        return box(mass, sides)

    @staticmethod
    def ellipsoid(mass: float, semi_axes: Any) -> "Body":
        """A uniform ellipsoid with these three semi-axes, in m, along its axes; three equal ones make a ball."""
        from polhode.shapes import ellipsoid

        return ellipsoid(mass, semi_axes)

    @staticmethod
    def cylinder(mass: float, radius: float, height: float, *, inner: float = 0.0) -> "Body":
        """A uniform cylinder about its z axis, with a hole of radius `inner`, up to its own, along it."""
        from polhode.shapes import cylinder

        return cylinder(mass, radius, height, inner)

    @staticmethod
    def points(masses: Any, positions: Any) -> "Body":
        """Points, held together: a mass for each, or one for all, in kg, and positions (points, 3) in m."""
        from polhode.shapes import points

        return points(masses, positions)

    @staticmethod
    def sum(*parts: Any) -> "Body":
        """The body of several parts, about their common centre of mass, which is its `centre`.

        Each part is a body with a mass, where `placed` put it, or a point as (mass, position).

        Examples
        --------
        >>> bus = ph.Body.box(40.0, [0.5, 0.5, 0.6])
        >>> wing = ph.Body.box(2.0, [1.5, 0.5, 0.02])
        >>> craft = ph.Body.sum(bus, wing.placed([1, 0, 0]), wing.placed([-1, 0, 0]), (0.5, [0, 0, 0.4]))
        >>> craft.mass, craft.centre.round(4), craft.tensor.diagonal().round(3)
        (44.5, array([0.    , 0.    , 0.0045]), array([2.196, 6.863, 6.5  ]))
        """
        from polhode.shapes import joined

        return joined(parts)

    @staticmethod
    def from_mesh(mesh: Any, *, mass: float | None = None, density: float | None = None, scale: float = 1.0) -> "Body":
        """The uniform solid that a closed mesh of triangles encloses: mass, centre of mass and tensor, exactly.

        Parameters
        ----------
        mesh
            An STL, OBJ or PLY file. Its triangles must close; that they do not cross each other is not checked.
        mass, density
            The mass in kg, or the density in kg/m^3: one of the two.
        scale
            The length of a unit of the file, in m.
        """
        from polhode.shapes import of_mesh

        return of_mesh(mesh, mass, density, scale)

    def placed(self, centre: Any = (0.0, 0.0, 0.0), attitude: Any = None, *, mass: float | None = None) -> "Body":
        """A copy with its centre of mass there, turned from its own axes by an attitude, as a part of a `sum`."""
        from polhode.shapes import placed

        return placed(self, centre, attitude, mass)

    def with_rotor(self, rotor: Any) -> "Body":
        """A copy with another rotor; None removes it."""
        other = copy.copy(self)
        for known in ("has_rotor", "principal_rotor"):
            other.__dict__.pop(known, None)
        other.rotor = np.zeros(3) if rotor is None else _rotor(rotor)
        other.rotor.setflags(write=False)
        return other

    def plus(self, tensor: Floats, *, allow_unphysical: bool) -> "Body":
        """The body with this tensor more."""
        total = self.tensor + tensor
        own = np.diag(total) if np.count_nonzero(total - np.diag(np.diag(total))) == 0 else total
        return Body(own, name=self.name, allow_unphysical=allow_unphysical, rotor=self.rotor)

    def at_knots(self) -> Floats:
        """The tensors (times, 3, 3) between which it changes, if it does."""
        return self.tensor[None]

    @property
    def least_moments(self) -> Floats:
        """The least that the moments become."""
        return self.moments

    @property
    def greatest_moments(self) -> Floats:
        """The greatest that the moments become."""
        return self.moments

    @property
    def physical(self) -> bool:
        """Whether some mass distribution has these moments."""
        return bool(2 * self.moments.max() <= self.moments.sum() * (1 + TRIANGLE_TOLERANCE))

    @cached_property
    def aligned(self) -> bool:
        """Whether the user's axes are principal axes."""
        return bool((self.axes == np.eye(3)).all())

    @cached_property
    def has_rotor(self) -> bool:
        """Whether the body is a gyrostat: whether its internal angular momentum is not zero."""
        return any(self.rotor.tolist())

    @cached_property
    def principal_rotor(self) -> Floats:
        """The internal angular momentum in principal axes."""
        if self.aligned:
            return self.rotor
        turned: Floats = self.rotor @ self.axes
        turned.setflags(write=False)
        return turned

    @cached_property
    def symmetry_axis(self) -> int:
        """The principal axis, from 1 to 3, for which the other two moments are equal; 0: there is none."""
        a, b, c = self.moments.tolist()
        return 3 if a == b else 1 if b == c else 2 if c == a else 0

    @cached_property
    def axes_quaternion(self) -> Floats:
        """The turn from principal axes to the user's, scalar first."""
        if self.aligned:
            q = np.array([1.0, 0.0, 0.0, 0.0])
        else:
            from scipy.spatial.transform import Rotation

            x, y, z, w = Rotation.from_matrix(self.axes).as_quat()
            q = np.array([w, x, y, z])
        q.setflags(write=False)
        return q

    @cached_property
    def numbers(self) -> "BodyNumbers":
        """Moments and tensor as plain numbers, with which a single rate is quicker than with arrays."""
        rows = [(x, y, z) for x, y, z in self.tensor.tolist()]
        a, b, c = self.moments.tolist()
        return BodyNumbers((a, b, c), (rows[0], rows[1], rows[2]), min(a, b, c), max(a, b, c))

    def at(self, t: float) -> "Body":
        """The body as it is at a time: itself, unless it changes."""
        return self

    def check_span(self, t0: float, t1: float) -> None:
        """Raises a ValueError if the tensor is not known at all times between these two."""

    @property
    def pieces(self) -> dict[str, Any]:
        """The numbers of a tensor that changes, for files."""
        return {}

    @classmethod
    def of_record(cls, inertia: Any, record: Mapping[str, Any], *, name: str | None, rotor: Any) -> "Body":
        """The body of a file, which may have `pieces`."""
        if "inertia_knots" not in record:
            tensor = checks.array("inertia", inertia, (9,)).reshape(3, 3)
            return Body(tensor, name=name, allow_unphysical=True, rotor=rotor)
        knots = np.array(checks.row("inertia_knots", record["inertia_knots"]))
        numbers = checks.row("inertia_pieces", record["inertia_pieces"])
        stops = np.atleast_1d(record.get("inertia_breakpoints", ())).tolist()
        made = object.__new__(ChangingBody)
        pieces = np.array(numbers).reshape(knots.size - 1, -1, 6)
        made._settle(knots, pieces, tuple(stops), name=name, rotor=rotor, allow_unphysical=True)
        return made

    def check_constant(self, what: str) -> None:
        """Raises a ValueError if it changes with time, which is more than `what` takes."""
        if self.changes:
            raise ValueError(f"{what} takes bodies that stay as they are, and {self!r} changes: take body.at(t)")

    @property
    def handles(self) -> tuple[float, float]:
        """The parameters by which kernels find a tensor that changes: its handle, and whether it is full."""
        return 0.0, 0.0

    def at_times(self, t: Any) -> Floats:
        """The inertia tensors at a time, (3, 3), or at many, (times, 3, 3)."""
        return np.broadcast_to(self.tensor, (*np.shape(t), 3, 3))

    def momentum_of_one(self, omega: Sequence[float], t: Any = None) -> list[float]:
        """I w + g of a single rate, with the bits that `momentum` has."""
        x, y, z = omega
        if self.aligned:
            a, b, c = self.numbers.moments
            product = [x * a, y * b, z * c]
        else:
            product = [x * a + y * b + z * c for a, b, c in zip(*self.numbers.tensor, strict=True)]
        return [m + g for m, g in zip(product, self.rotor.tolist(), strict=True)] if self.has_rotor else product

    def momentum(self, omega: Floats, t: Any = None) -> Floats:
        """I w + g, in the user's axes, for one rate or a stack of them, at a time or at one for each of them."""
        product = omega * self.moments if self.aligned else row_products(omega, self.tensor)
        return product + self.rotor if self.has_rotor else product

    def own_momentum(self, momentum: Floats) -> Floats:
        """M - g = I w: the momentum without that of the rotor, for one or a stack of them."""
        return momentum - self.rotor if self.has_rotor else momentum

    def rate(self, momentum: Floats, t: Any = None) -> Floats:
        """The rate that has this momentum, in the user's axes, for one or a stack of them, at such times."""
        own = self.own_momentum(momentum)
        if self.aligned:
            return own / self.moments
        return row_products(row_products(own, self.axes) / self.moments, self.axes.T)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Body):
            return False
        return bool((self.tensor == other.tensor).all() and (self.rotor == other.rotor).all())

    def __hash__(self) -> int:
        return hash((self.tensor.tobytes(), *self.rotor.tolist()))

    def __repr__(self) -> str:
        label = f", name={self.name!r}" if self.name else ""
        extra = "" if self.physical else ", allow_unphysical=True"
        inertia = self.moments.tolist() if self.aligned else self.tensor.tolist()
        turning = f", rotor={self.rotor.tolist()}" if self.has_rotor else ""
        return f"Body({inertia}{turning}{label}{extra})"


class ChangingBody(Body):
    """A body whose inertia tensor changes with time: `Body(inertia, times=...)` makes it.

    `tensor` is that at the first time, and `moments` is its diagonal; `at(t)` is the body at another time. Motions are
    computed in the axes in which the tensors were given.
    """

    changes = True

    def __init__(
        self, inertia: Any, *, times: Any = None, kind: Literal["linear", "cubic"] = "linear", name: str | None = None,
        allow_unphysical: bool = False, rotor: Any = None,
    ) -> None:  # fmt: skip
        if hasattr(inertia, "coefficients"):
            made = _of_table(inertia)
        elif callable(inertia):
            made = _of_function(inertia, times)
        else:
            made = _of_rows(inertia, times, checks.choice("kind of body", kind, KINDS))
        self._settle(*made, name=name, rotor=rotor, allow_unphysical=allow_unphysical)

    def _settle(
        self, knots: Floats, coefficients: Floats, breakpoints: tuple[float, ...], *, name: str | None, rotor: Any,
        allow_unphysical: bool,
    ) -> None:  # fmt: skip
        self.knots = knots
        self.coefficients = coefficients
        """Coefficients (pieces, terms, 6) of the time since a piece began, highest powers first, of the elements 11,
        22, 33, 23, 13 and 12."""
        self.breakpoints = breakpoints
        self.elements_that_change = 6 if coefficients[:, :, 3:].any() else 3
        unphysical = self._checked(allow=allow_unphysical)
        super().__init__(self.at_times(knots[0]), name=name, allow_unphysical=True, rotor=rotor)
        self.axes = np.eye(3)  # kernels compute in the user's axes
        self.moments = np.diag(self.tensor).copy()
        self.unphysical = unphysical
        for value in (knots, coefficients, self.axes, self.moments):
            value.setflags(write=False)

    # --- at a time

    @property
    def known(self) -> tuple[float, float]:
        """The first and the last time."""
        return float(self.knots[0]), float(self.knots[-1])

    def with_all_elements(self) -> "ChangingBody":
        """The same body, whose tensor kernels take for full, also where nothing is beside its diagonal."""
        made = object.__new__(ChangingBody)
        made.__dict__ = {name: x for name, x in self.__dict__.items() if name not in ("_tensor", "_change")}
        made.elements_that_change = 6
        return made

    @property
    def least_moments(self) -> Floats:
        """The least diagonal elements at any knot."""
        return np.asarray(self._moments_at_knots.min(axis=0))

    @property
    def greatest_moments(self) -> Floats:
        """The greatest diagonal elements at any knot."""
        return np.asarray(self._moments_at_knots.max(axis=0))

    @cached_property
    def _moments_at_knots(self) -> Floats:
        return np.diagonal(self.at_knots(), axis1=1, axis2=2)

    def at_knots(self) -> Floats:
        """The tensors (knots, 3, 3) at the knots."""
        return self.at_times(self.knots)

    @property
    def physical(self) -> bool:
        """Whether some mass distribution has such a tensor, at every time that was looked at."""
        return not self.unphysical

    def at_times(self, t: Any) -> Floats:
        """The inertia tensors at these times, in kg m^2: (3, 3), or (times, 3, 3). At a jump it is the one after it."""
        times = np.asarray(t, dtype=np.float64)
        piece = np.clip(np.searchsorted(self.knots, times, side="right") - 1, 0, len(self.coefficients) - 1)
        return self._in_pieces(piece, times - self.knots[piece])

    def _in_pieces(self, piece: Any, since: Floats) -> Floats:
        """The tensors at times since the pieces of these numbers began."""
        x = self.coefficients[piece, 0]
        for k in range(1, self.coefficients.shape[1]):
            x = x * since[..., None] + self.coefficients[piece, k]
        return _full(x)

    def at(self, t: float) -> Body:
        """The body as it is at a time."""
        self.check_span(t, t)
        return Body(self.at_times(t), name=self.name, allow_unphysical=True, rotor=self.rotor)

    def momentum(self, omega: Floats, t: Any = None) -> Floats:
        """I(t) w + g, in the user's axes, of one rate or of one at each time."""
        product = (self.at_times(_given(t)) @ np.asarray(omega)[..., None])[..., 0]
        return np.asarray(product + self.rotor)

    def momentum_of_one(self, omega: Sequence[float], t: Any = None) -> list[float]:
        """I(t) w + g of a single rate."""
        return cast("list[float]", self.momentum(np.array(omega), t).tolist())

    def rate(self, momentum: Floats, t: Any = None) -> Floats:
        """The rate that has this momentum, in the user's axes, of one or of one at each time."""
        own = np.asarray(momentum) - self.rotor
        return np.asarray(np.linalg.solve(self.at_times(_given(t)), own[..., None])[..., 0])

    def plus(self, tensor: Floats, *, allow_unphysical: bool) -> "ChangingBody":
        """The body with this tensor more at all times."""
        coefficients = self.coefficients.copy()
        coefficients[:, -1] += tensor[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]
        made = object.__new__(ChangingBody)
        made._settle(
            self.knots, coefficients, self.breakpoints, name=self.name, rotor=self.rotor,
            allow_unphysical=allow_unphysical,
        )  # fmt: skip
        return made

    def check_span(self, t0: float, t1: float) -> None:
        """Raises a ValueError if the tensor is not known at all times between these two."""
        first, last = self.known
        slack = 4.0 * np.spacing(max(abs(first), abs(last)))
        if min(t0, t1) < first - slack or max(t0, t1) > last + slack:
            raise ValueError(
                f"the inertia of the body is known from {first:g} to {last:g} s, and not over the span from "
                f"{min(t0, t1):g} to {max(t0, t1):g}: give it for all of the span"
            )

    @property
    def pieces(self) -> dict[str, Any]:
        """Knots, coefficients and breakpoints."""
        stops = {"inertia_breakpoints": np.array(self.breakpoints)} if self.breakpoints else {}
        return {"inertia_knots": self.knots, "inertia_pieces": self.coefficients.reshape(-1)} | stops

    # --- for kernels

    @property
    def handles(self) -> tuple[float, float]:
        """The parameters by which kernels find the tensor as long as this object lives."""
        return self._handle("_tensor", lambda: self.coefficients)

    @property
    def handles_of_change(self) -> tuple[float, float]:
        """The same of the time derivative of the tensor."""
        powers = np.arange(self.coefficients.shape[1] - 1, 0.0, -1.0)[:, None]
        return self._handle("_change", lambda: self.coefficients[:, :-1] * powers)

    def _handle(self, name: str, make: Callable[[], Floats]) -> tuple[float, float]:
        numbers = made_once(self, name, lambda: packed(self.knots, make()[:, :, : self.elements_that_change]))
        return handle_of(numbers), float(self.elements_that_change == 6)

    # --- an object

    def _checked(self, *, allow: bool) -> bool:
        """Raises a ValueError if no body has the tensor at some time; returns whether one is merely unphysical."""
        count = 2 if self.coefficients.shape[1] <= 2 else LOOKS
        since = np.diff(self.knots)[:, None] * np.linspace(0.0, 1.0, count)
        t = (self.knots[:-1, None] + since).reshape(-1)
        moments = np.linalg.eigvalsh(self._in_pieces(np.arange(len(since))[:, None], since)).reshape(-1, 3)
        if not (positive := moments[:, 0] > 0.0).all():
            k = int(np.argmin(positive))
            raise ValueError(f"at t = {t[k]:g} s a moment of inertia is {moments[k, 0]:g}, and it must be positive")
        if (beyond := np.abs(np.log10(moments)) > LARGEST_EXPONENT).any():
            k, i = divmod(int(np.argmax(beyond)), 3)
            raise ValueError(
                f"at t = {t[k]:g} s a moment of inertia is {moments[k, i]:g}, and moments that change lie between "
                f"1e-{LARGEST_EXPONENT} and 1e{LARGEST_EXPONENT} kg m^2: use other units"
            )
        excess = moments[:, 2] - moments[:, :2].sum(axis=1)
        if (excess > TRIANGLE_TOLERANCE * moments.sum(axis=1)).any():
            k = int(np.argmax(excess))
            if not allow:
                listed = ", ".join(f"{m:g}" for m in moments[k])
                raise ValueError(
                    f"at t = {t[k]:g} s no body has the moments {listed}: the greatest exceeds the sum of the other "
                    "two. If this is intended, set allow_unphysical"
                )
            return True
        return False

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, ChangingBody) and self._content == other._content
        return same and bool((self.rotor == cast("Body", other).rotor).all())

    def __hash__(self) -> int:
        return hash((self._content, *self.rotor.tolist()))

    @property
    def _content(self) -> tuple[bytes, bytes]:
        return self.knots.tobytes(), self.coefficients.tobytes()

    def __repr__(self) -> str:
        label = f", name={self.name!r}" if self.name else ""
        first, last = self.known
        return f"<Body that changes from {first:g} to {last:g} s, at first with the moments {self.moments}{label}>"


def _full(x: Floats) -> Floats:
    """The tensors of elements 11, 22, 33, 23, 13 and 12."""
    return np.stack([x[..., [0, 5, 4]], x[..., [5, 1, 3]], x[..., [4, 3, 2]]], axis=-2)


def _given(t: Any) -> Any:
    if t is None:
        raise TypeError("the body changes with time: its rate and momentum belong to a time, so give t")
    return t


Made = tuple[Floats, Floats, tuple[float, ...]]
"""Knots, coefficients, and the knots at which steps of a run must end."""


def _six(values: Any, t: Floats) -> Floats:
    """The six elements of the moments or the tensor at each time, checked."""
    shape, count = checks.shape_of("inertia", values), t.size
    if shape not in ((count, 3), (count, 3, 3)):
        raise ValueError(
            f"inertia must have the shape ({count}, 3) or ({count}, 3, 3), moments or a tensor for each of {count} "
            f"times, not {shape}"
        )
    x = checks.array("inertia", values, shape)
    if len(shape) == 2:
        return np.concatenate([x, np.zeros((count, 3))], axis=1)
    asymmetry = np.abs(x - x.transpose(0, 2, 1)).max(axis=(1, 2))
    if (bad := asymmetry > 1e-12 * np.abs(x).max(axis=(1, 2))).any():
        k = int(np.argmax(bad))
        raise ValueError(f"an inertia tensor is symmetric, but that at t = {t[k]:g} s is not: pass (I + I.T) / 2")
    return np.stack([x[:, 0, 0], x[:, 1, 1], x[:, 2, 2], x[:, 1, 2], x[:, 0, 2], x[:, 0, 1]], axis=1)


def _times(times: Any) -> Floats:
    t = np.array(checks.row("times", times))
    if t.size < 2:
        raise ValueError(f"a body that changes needs two times at least, not {t.size}")
    falls = np.diff(t) < 0.0
    twice = (np.diff(t)[1:] == 0.0) & (np.diff(t)[:-1] == 0.0)
    if falls.any() or twice.any():
        k = int(np.argmax(falls)) if falls.any() else int(np.argmax(twice)) + 1
        raise ValueError(
            f"times must rise, and be there twice where the tensor jumps, but times[{k}] = {float(t[k])!r} is followed "
            f"by {float(t[k + 1])!r}"
        )
    if t[0] == t[1] or t[-1] == t[-2]:
        raise ValueError("the tensor cannot jump at the first or the last of its times: leave one of the two rows out")
    return t


def _of_rows(inertia: Any, times: Any, kind: str) -> Made:
    """A table, whose rows are joined by straight lines or by cubic splines; a time that is there twice is a jump."""
    t = _times(times)
    x = _six(inertia, t)
    ends = [0, *(np.flatnonzero(np.diff(t) == 0.0) + 1).tolist(), t.size]
    parts = []
    for a, b in pairwise(ends):
        if kind == "linear" or b - a == 2:
            slope = np.diff(x[a:b], axis=0) / np.diff(t[a:b])[:, None]
            zero = np.zeros((1, *slope.shape))
            part = np.stack([slope, x[a : b - 1]])
            parts.append(part if kind == "linear" else np.concatenate([zero, zero, part]))
        else:
            from scipy.interpolate import CubicSpline

            parts.append(CubicSpline(t[a:b], x[a:b]).c)
    knots = np.unique(t)
    return knots, np.ascontiguousarray(np.concatenate(parts, axis=1).transpose(1, 0, 2)), tuple(knots[1:-1].tolist())


def _of_function(function: Callable[[float], Any], times: Any) -> Made:
    """A function of time as polynomials, so short that they follow it to round-off; it may jump at the inner times."""
    if times is None:
        raise TypeError("inertia is a function of time: give times=(first, last), with those of jumps between them")
    t = _times(times)
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    looks = np.linspace(0.03, 0.97, 2 * DEGREE + 1)
    # By Chebyshev's polynomials, whose coefficients are well known: those of powers would lose five digits.
    bases = [np.polynomial.Chebyshev.basis(k, domain=[0, 1]) for k in range(DEGREE + 1)]
    powers_of = [base.convert(kind=np.polynomial.Polynomial).coef[::-1] for base in bases]
    forth = np.linalg.inv(np.array([base(nodes) for base in bases]).T)
    back = np.array([np.pad(row, (DEGREE + 1 - row.size, 0)) for row in powers_of]).T

    def at(times: Floats) -> Floats:
        rows = []
        for x in times.tolist():
            name, given = f"inertia(t = {x:g} s)", function(x)
            if (shape := checks.shape_of(name, given)) not in ((3,), (3, 3)):
                raise ValueError(f"{name} must be three moments or a 3x3 tensor, not of shape {shape}")
            rows.append(checks.array(name, given, shape))
        return _six(np.array(rows), times)

    knots, parts = [float(t[0])], list[Floats]()
    todo = list(pairwise(t.tolist()))[::-1]
    while todo:
        a, b = todo.pop()
        powers = back @ (forth @ at(a + (b - a) * nodes))
        there = at(a + (b - a) * looks)
        error = np.abs(np.vander(looks, DEGREE + 1) @ powers - there).max()
        if error > FUNCTION_TOLERANCE * np.abs(there).max():
            if b - a < SHORTEST_SHARE * (t[-1] - t[0]) or len(parts) > MOST_PIECES:
                raise ValueError(
                    f"the inertia as a function of time cannot be followed near t = {a:g} s: if it jumps or has a "
                    "kink there, give that time among times"
                )
            todo += [(0.5 * (a + b), b), (a, 0.5 * (a + b))]
            continue
        knots.append(b)
        parts.append(powers / (b - a) ** np.arange(DEGREE, -1.0, -1.0)[:, None])
    return np.array(knots), np.array(parts), tuple(t[1:-1].tolist())


def _of_table(table: Any) -> Made:
    """A `Table` of moments."""
    c = np.asarray(table.coefficients)
    return np.array(table.t), np.concatenate([c, np.zeros_like(c)], axis=2), tuple(table.t[1:-1].tolist())


def _tensor(inertia: Any) -> Floats:
    """The inertia tensor that the user's argument means, checked and exactly symmetric."""
    if isinstance(inertia, str):
        raise TypeError(
            f"inertia must be three moments or a 3x3 tensor, not {inertia!r}: write Body.named({inertia!r})"
        )
    shape = checks.shape_of("inertia", inertia)
    if shape == (3,):
        return np.diag(checks.array("inertia", inertia, (3,)))
    if shape != (3, 3):
        raise ValueError(f"inertia must be three moments or a 3x3 tensor, not of shape {shape}")
    tensor = checks.array("inertia", inertia, (3, 3))
    asymmetry = np.abs(tensor - tensor.T).max()
    if asymmetry > SYMMETRY_TOLERANCE * np.abs(tensor).max():
        i, j = np.unravel_index(np.argmax(np.abs(tensor - tensor.T)), (3, 3))
        raise ValueError(
            f"an inertia tensor is symmetric, but inertia[{i}, {j}] = {tensor[i, j]:g} "
            f"and inertia[{j}, {i}] = {tensor[j, i]:g}; pass (I + I.T) / 2 if the difference is noise"
        )
    return (tensor + tensor.T) / 2


def _principal(tensor: Floats) -> tuple[Floats, Floats]:
    """The principal moments of a tensor, rising, and its axes as columns of a right-handed frame, to the last digit.

    `eigh` leaves errors of the size of the greatest moment, which motions near the separatrix make grow: Jacobi's
    rotations with 40 digits remove them.  [golub2013, sec. 8.5]
    """
    _, rough = np.linalg.eigh(tensor)
    with localcontext(Context(prec=40)):
        rows = [[Decimal(x) for x in row] for row in tensor.tolist()]
        x, y, _ = ([Decimal(c) for c in axis] for axis in rough.T.tolist())
        x = _combined(1 / _dot(x, x).sqrt(), x, ZERO, x)
        y = _combined(Decimal(1), y, -_dot(x, y), x)
        y = _combined(1 / _dot(y, y).sqrt(), y, ZERO, y)
        axes = [x, y, _cross(x, y)]
        seen = [[_dot(row, a) for row in rows] for a in axes]
        s = [[_dot(a, of) for of in seen] for a in axes]
        least = max(abs(s[k][k]) for k in range(3)).scaleb(-24)
        while max(abs(s[0][1]), abs(s[0][2]), abs(s[1][2])) > least:
            for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
                off, half = s[i][j], (s[j][j] - s[i][i]) / 2
                tangent = off / (half + (half * half + off * off).sqrt().copy_sign(half)) if off else ZERO
                cosine = 1 / (1 + tangent * tangent).sqrt()
                sine = tangent * cosine
                axes[i], axes[j] = _combined(cosine, axes[i], -sine, axes[j]), _combined(sine, axes[i], cosine, axes[j])
                s[i][i], s[j][j], s[i][j], s[j][i] = s[i][i] - tangent * off, s[j][j] + tangent * off, ZERO, ZERO
                s[i][k], s[j][k] = cosine * s[i][k] - sine * s[j][k], sine * s[i][k] + cosine * s[j][k]
                s[k][i], s[k][j] = s[i][k], s[j][k]
        (a, x), (b, y), (c, _) = sorted((s[k][k], axes[k]) for k in range(3))
        return np.array([float(a), float(b), float(c)]), np.array([x, y, _cross(x, y)], dtype=np.float64).T.copy()


def _dot(a: list[Decimal], b: list[Decimal]) -> Decimal:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _combined(a: Decimal, x: list[Decimal], b: Decimal, y: list[Decimal]) -> list[Decimal]:
    return [a * c + b * d for c, d in zip(x, y, strict=True)]


def _cross(a: list[Decimal], b: list[Decimal]) -> list[Decimal]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _rotor(rotor: Any) -> Floats:
    """The internal angular momentum that the user's argument means, checked."""
    g = np.array(checks.vector("rotor", rotor))
    if np.abs(g).max() > 1.0 / SMALLEST_MOMENT:
        raise ValueError(f"the rotor {_listed(g)} is near the end of the range of floats: use other units")
    return g + 0.0  # without a zero that has a sign, which would be another hash


def _listed(moments: Floats) -> str:
    """Writes the moments for a message."""
    return ", ".join(f"{m:g}" for m in moments)


@dataclass(frozen=True)
class NamedBody:
    """A body from the literature."""

    name: str
    moments: tuple[float, float, float]
    source: str
    """A key of `references.bib`."""
    note: str
    tumbling: tuple[float, float, str, Literal["long", "short"]] | None = None
    """Of a body that tumbles: its observed periods of psi and phi in s, its mode, and the reference axis of psi."""


NAMED = {
    b.name: b
    for b in (
        NamedBody("water", (0.345, 0.653, 1.0), "vilmart2008", "scaled water molecule; slightly unphysical"),
        NamedBody("book", (5.0, 10.0, 1.0), "krysl2004", "the book toss; unphysical"),
        NamedBody("top", (5.0, 5.0, 1.0), "krysl2004", "fast and slow symmetric tops"),
        NamedBody("soft-wall", (2.0, 3.0, 4.5), "krysl2004", "body between Coulomb centre and soft wall"),
        NamedBody("mclachlan-zanna", (0.9144, 1.098, 1.66), "krysl2004", "freely spinning body"),
        NamedBody("lagrange-top", (0.875, 0.875, 0.25), "krysl2004", "Lagrangian top as in DiffMan's example 9"),
        NamedBody("heavy-top", (1000.0, 5000.0, 6000.0), "celledoni2006", "asymmetric heavy top; flat"),
        NamedBody("satellite", (1.7e4, 3.7e4, 5.4e4), "celledoni2006", "satellite under gravity gradient; flat"),
        NamedBody("descending", (5.0, 4.0, 3.0), "celledoni2006", "free body, moments in falling order"),
        NamedBody("spacecraft", (40.5, 40.6, 50.0), "khlistunova2003", "nearly symmetric spacecraft"),
        NamedBody(
            "toutatis",
            (3.22, 3.09, 1.0),
            "hudson1995",
            "asteroid (4179), in units of the least moment",
            (5.41 * 86400.0, 7.35 * 86400.0, "LAM", "long"),
        ),
        NamedBody(
            "apophis",
            (0.61, 0.965, 1.0),
            "pravec2014",
            "asteroid (99942), in units of the greatest moment",
            (263.0 * 3600.0, 27.38 * 3600.0, "SAM", "short"),
        ),
        NamedBody(
            "hyperion",
            (0.59555, 0.85945, 1.0),
            "wisdom1984",
            "Saturn's moon, as a uniform ellipsoid of 190 x 145 x 114 km",
        ),
        NamedBody(
            "halley",
            (2 * 8.2**2 / (14.9**2 + 8.2**2), 1.0, 1.0),
            "belton1991",
            "comet 1P, as a uniform ellipsoid of 14.9 x 8.2 x 8.2 km, in units of the greatest moment",
            (7.1 * 86400.0, 3.69 * 86400.0, "LAM", "long"),
        ),
        NamedBody(
            "oumuamua",
            (2 * 35.0**2 / (230.0**2 + 35.0**2), 1.0, 1.0),
            "belton2018",
            "1I/2017 U1, as a uniform ellipsoid of 230 x 35 x 35 m, in units of the greatest moment; the likeliest LAM",
            (54.48 * 3600.0, 8.67 * 3600.0, "LAM", "long"),
        ),
        NamedBody("handout", (0.8, 0.9, 1.0), "handout", "nearly spherical body of the course project"),
    )
}


class Frame(NamedTuple):
    """The user's axes of one body: states in them, and in the principal axes, in which compiled loops work."""

    body: Body
    axes: Quat
    """The rotation from principal axes to the user's."""

    @classmethod
    def of(cls, body: Body) -> Self:
        """The frame of a body."""
        a, b, c, d = body.axes_quaternion.tolist()
        return cls(body, (a, b, c, d))

    def inward(self, q: Floats, m: Floats, z: Floats) -> Floats:
        """A state in principal axes, as seven numbers and those that the torque carries."""
        return np.array([*self.inward_numbers(q, m), *z.tolist()])

    def inward_numbers(self, q: Floats, m: Floats) -> list[float]:
        """Quaternion and momentum in principal axes, as seven numbers."""
        if self.body.aligned:
            return [*q.tolist(), *m.tolist()]
        return [*_products([q.tolist()], self.axes)[0], *(m @ self.body.axes).tolist()]

    def outward(self, states: Floats, *, scaled: bool) -> tuple[Floats, Floats, Floats]:
        """Quaternions and momenta in the user's axes, and carried numbers, from rows of states.

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
            q, m = back, row_products(m, self.body.axes.T)
        return q, m, z

    def outward_one(self, state: Floats) -> tuple[Floats, Floats]:
        """Quaternion and momentum of one state in the user's axes."""
        q, m = state[:4], state[4:STATE]
        if self.body.aligned:
            return q, m
        return np.array(_products([q.tolist()], conjugate(self.axes))[0]), row_products(m, self.body.axes.T)

    def seen_by_torque(self, s: State, w: Vec3) -> tuple[Quat, Vec3]:
        """Attitude and rate in the user's axes, as a torque sees them."""
        if self.body.aligned:
            return s.q, w
        return multiply(s.q, conjugate(self.axes)), to_space(self.axes, w)


def _products(rows: list[list[float]], other: Quat) -> list[Quat]:
    """The products of quaternions and another one, as `multiply` has them in plain Python, but at once."""
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
