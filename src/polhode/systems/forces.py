"""What acts on a system: models with their numbers, functions of the user's, and sums of them."""

import ctypes
import inspect
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from polhode.compiler import Trampoline, forces_callback, program
from polhode.compiler.derive import CannotDerive, gradient_of
from polhode.kernels.algebra.quat import to_space
from polhode.kernels.callback_torques import HALF_BITS
from polhode.kernels.systems import bodies
from polhode.kernels.systems import pairs as kernels
from polhode.kernels.types import Depends
from polhode.run.grid import Segment
from polhode.run.step_warnings import levels_of_polhode
from polhode.support import checks
from polhode.support.arrays import Floats, lengths
from polhode.systems.system import System
from polhode.torques import Torque, checked

ENERGY_SIGNATURE = "ppppppii"
CHECKED_ERROR = 1e-5
"""A force may differ from minus the gradient of its potential by this part of it: finite differences are no better."""
CHECKED_BODIES = 4
"""Bodies at which the forces of a function are compared with its potential."""
CHECKED_PAIRS = 16
"""Pairs of sites at which a derivative that was given is compared with its potential."""


class Forces(ABC):
    """What acts on a system. Forces can be added."""

    name = "forces"
    keeps_momentum = False
    """Whether they conserve the total momentum."""
    keeps_angular_momentum = False
    """Whether they conserve the total angular momentum about `centre`."""
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    depends_on_time = False
    suits_lanes = True
    """Whether compiled code may evaluate them at several nodes of a step at once: they have no branches or arrays."""

    @property
    @abstractmethod
    def kernel(self) -> bodies.Forces:
        """The function that adds forces and torques."""

    @property
    def energy_kernel(self) -> bodies.Energy | None:
        """The potential energy as a kernel; None: there is none that compiled code knows."""
        return None

    def numbers(self, system: System) -> list[float]:
        """What the kernel reads in p; raises an error if the forces do not suit the system."""
        return []

    def room(self, system: System) -> int:
        """How many numbers of room the kernel needs."""
        return 0

    def for_span(self, t0: float, t1: float) -> "Forces":
        """Returns the forces for a run between two times, or raises ValueError if they do not suit it."""
        return self

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which they jump: steps end there."""
        return ()

    def between(self, t0: float, t1: float) -> "Forces":
        """The forces for a stretch between two jumps, of which it sees neither."""
        return self

    def try_on(self, system: System, t: float) -> None:  # noqa: B027 (most have nothing to try)
        """Tries what is the user's in plain Python, at the start."""

    def energies(self, system: System, t: Floats, x: Floats, q: Floats) -> Floats | None:
        """The potential energy in rows, if plain Python knows it and compiled code does not."""
        return None

    @property
    def parts(self) -> tuple["Forces", ...]:
        """The forces of a sum."""
        return (self,)

    @property
    def has_potential(self) -> bool:
        """Whether the potential energy is known."""
        return self.energy_kernel is not None

    def __add__(self, other: Any) -> "Forces":
        made = checked_forces(other)
        return SumForces((*self.parts, *made.parts))

    __radd__ = __add__


class NoForces(Forces):
    """Nothing acts: bodies fly and turn freely."""

    name = "no forces"
    keeps_momentum = keeps_angular_momentum = True

    kernel, energy_kernel = staticmethod(bodies.no_forces), staticmethod(bodies.no_energy)


def checked_forces(forces: Any) -> Forces:
    """The forces that a user means: forces, a torque that acts on every body, a list of them, or none."""
    if forces is None:
        return NoForces()
    if isinstance(forces, Forces):
        return forces
    if isinstance(forces, Torque):
        return TorqueOnEach(forces)
    if isinstance(forces, list | tuple) and forces:
        return SumForces(tuple(p for f in forces for p in checked_forces(f).parts))
    if callable(forces):
        raise TypeError(f"a function becomes forces by polhode.forces: write polhode.forces({_name_of(forces)})")
    raise TypeError(f"forces must be made by polhode.forces, polhode.pairs or one of the models, not {forces!r}")


class SumForces(Forces):
    """Several forces together."""

    def __init__(self, parts: tuple[Forces, ...]) -> None:
        self._parts = tuple(p for p in parts if not isinstance(p, NoForces))
        self.name = " + ".join(p.name for p in self._parts) or "no forces"
        self.keeps_momentum = all(p.keeps_momentum for p in self._parts)
        centres = {p.centre for p in self._parts if not p.keeps_momentum}
        self.keeps_angular_momentum = all(p.keeps_angular_momentum for p in self._parts) and len(centres) <= 1
        self.centre = next(iter(centres)) if len(centres) == 1 else (0.0, 0.0, 0.0)
        self.depends_on_time = any(p.depends_on_time for p in self._parts)
        self.suits_lanes = all(p.suits_lanes for p in self._parts)

    @property
    def parts(self) -> tuple[Forces, ...]:
        """The forces of the sum."""
        return self._parts

    @cached_property
    def kernel(self) -> bodies.Forces:
        """Adds all of them."""
        return bodies.sum_of([p.kernel for p in self._parts])

    @cached_property
    def energy_kernel(self) -> bodies.Energy | None:
        """The sum of their energies; None if one is not compiled."""
        known = [p.energy_kernel for p in self._parts]
        return None if None in known else bodies.sum_of_energies([k for k in known if k is not None])

    @property
    def has_potential(self) -> bool:
        """Whether all of them have a potential."""
        return all(p.has_potential for p in self._parts)

    def numbers(self, system: System) -> list[float]:
        """Where numbers and room of each part begin, and the numbers."""
        own = [p.numbers(system) for p in self._parts]
        head, at, room = [], 2 * len(own), 0
        for p, numbers in zip(self._parts, own, strict=True):
            head += [float(at), float(room)]
            at, room = at + len(numbers), room + p.room(system)
        return [*head, *(x for numbers in own for x in numbers)]

    def room(self, system: System) -> int:
        """The room of all of them."""
        return sum(p.room(system) for p in self._parts)

    def for_span(self, t0: float, t1: float) -> Forces:
        """The sum of all of them for a run between two times."""
        return self._with(tuple(p.for_span(t0, t1) for p in self._parts))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which any of them jumps."""
        return tuple(sorted({t for p in self._parts for t in p.breakpoints}))

    def between(self, t0: float, t1: float) -> Forces:
        """The sum of all of them for a stretch between two jumps."""
        return self._with(tuple(p.between(t0, t1) for p in self._parts))

    def _with(self, parts: tuple[Forces, ...]) -> Forces:
        return self if all(a is b for a, b in zip(parts, self._parts, strict=True)) else SumForces(parts)

    def try_on(self, system: System, t: float) -> None:
        """Tries all of them."""
        for p in self._parts:
            p.try_on(system, t)

    def energies(self, system: System, t: Floats, x: Floats, q: Floats) -> Floats | None:
        """The sum where one is not compiled."""
        found = [energies_of(p, system, t, x, q) for p in self._parts]
        return None if any(f is None for f in found) else np.sum([f for f in found if f is not None], axis=0)


# --- pairs


class Site:
    """A point fixed in a body that acts on the points of others: its position in body axes, and numbers of its own.

    The numbers, such as a charge, are what the potential is given of it. An `axis`, a vector in body axes, is for
    potentials that depend on directions, such as that of a dipole.
    """

    def __init__(self, position: Any = (0.0, 0.0, 0.0), *numbers: float, axis: Any = None) -> None:
        self.position = checks.vector("position of a site", position)
        self.numbers = tuple(checks.number("a number of a site", x) for x in numbers)
        self.axis = None if axis is None else checks.vector("axis of a site", axis)

    def __repr__(self) -> str:
        axis = "" if self.axis is None else f", axis={self.axis}"
        return f"Site({self.position}{''.join(f', {x:g}' for x in self.numbers)}{axis})"


ORIGIN = (0.0, 0.0, 0.0)
CUTS = ("shifted force", "sites", "bodies")
"""How a cutoff ends a potential."""
SWITCH_PART = 0.1
"""The last part of the cutoff in which potentials are switched off, where they are."""
DAMPING = 2.4
"""The damping of charges times the cutoff: 0.2 per Angstrom where that is 12 Angstrom, as in fennell2006."""
JUMP = 0.01
"""A cutoff may take away this part of kT from the energy of two sites or bodies; more is warned of."""
TRIED_TURNS = 24
"""Orientations of two bodies at which their energy at the cutoff is computed."""
TRIED_KINDS = 8
"""Kinds of sites or bodies among which it is."""


class CutoffJump(RuntimeWarning):
    """A cutoff takes away energy that is not small beside kT.

    Examples
    --------
    >>> import warnings
    >>> two = ph.System([ph.Body([1, 1, 0.5])] * 2, mass=1.0, position=[[0, 0, 0], [3, 0, 0]], velocity=[0, 0, 1])
    >>> cut = ph.pairs(lambda r, a, b: 1 / r**3, [ph.systems.Site()], cutoff=2.0)
    >>> with warnings.catch_warnings(record=True) as noted:
    ...     warnings.simplefilter("always", ph.systems.CutoffJump)
    ...     run = ph.simulate_system(two, cut, t_span=(0, 1), step=0.1)
    ...
    >>> print(str(noted[0].message).split(":")[0])
    pairs(<lambda>) is cut off at the distance 2, where the energy of two sites is up to 0.125
    """


def pairs(
    potential: Callable[..., Any], sites: Any, *, cutoff: float | None = None, box: Any = None,
    derivative: Callable[..., Any] | None = None, cut: str | None = None, damping: float | None = None,
) -> "Pairs":  # fmt: skip
    """Makes forces of a potential between the sites of different bodies; forces and torques are derived from it.

    Parameters
    ----------
    potential
        `V(r, a, b)`: the energy of two sites at the distance r, where a and b are the numbers of the sites. For sites
        with axes it is `V(d, u, w, a, b)`: d is the vector from the first to the second, u and w are their axes, all in
        space. It is differentiated automatically: it may use `math`, arithmetic, loops, helpers and `polhode.where`,
        but no branches by what it computes.
    sites
        A list of `Site`, which every body has, or a list with a list for each body, which may be empty.
    cutoff
        The distance beyond which two sites, or two bodies, do not act on each other. Without one, all pairs act.
    box
        The sides of a periodic box; sites act on the nearest image of others. It needs a cutoff of at most half a side.
    derivative
        For a potential that cannot be differentiated automatically: `dV/dr(r, a, b)`, or for sites with axes a
        function of the same arguments that returns the derivatives by d, u and w, each three numbers. It is compared
        with the potential at the start of a run.
    cut
        How the cutoff c ends the potential. Forces are the gradient of the energy in all of them.

        - "shifted force": two sites have the energy V(r) - V(c) - (r - c) V'(c). The default for potentials that fall
          as 1/r, which are those of charges: whole charges may not be cut off. Not for sites with axes.
        - "sites": in the last tenth of the cutoff, the potential of two sites is switched off. The default for others.
        - "bodies": the same for all sites of two bodies together, by the distance of their centres of mass.

        A run warns with `systems.CutoffJump` if a potential that is switched off is larger than kT / 100 at the cutoff.
    damping
        For charges, V = a b / r, with the shifted force: V is multiplied by erfc(damping r) before, as Fennell and
        Gezelter (2006) do. Default: 2.4 / cutoff; 0 damps nothing. The energy then has a constant for each body, that
        of its own charges and of what neutralises them at the cutoff, as Wolf and others (1999) have it.

    Examples
    --------
    >>> def charges(r, a, b):
    ...     return a[0] * b[0] / r
    ...
    >>> sites = [ph.systems.Site((0, 0, 0.5), 1.0), ph.systems.Site((0, 0, -0.5), -1.0)]
    >>> two = ph.System([ph.Body([1, 1, 0.5])] * 2, mass=1.0, position=[[0, 0, 0], [3, 0, 0]])
    >>> run = ph.simulate_system(two, ph.pairs(charges, sites), t_span=(0, 1), step=0.1)
    >>> bool(run.velocity[-1, 0, 0] < 0)
    True
    """
    return Pairs(potential, sites, cutoff, box, derivative, cut, damping)


class Pairs(Forces):
    """A potential between the sites of different bodies: see `polhode.pairs`."""

    keeps_momentum = True

    def __init__(
        self, potential: Callable[..., Any], sites: Any, cutoff: float | None, box: Any,
        derivative: Callable[..., Any] | None, cut: str | None = None, damping: float | None = None,
    ) -> None:  # fmt: skip
        if not callable(potential):
            raise TypeError(f"the potential of pairs must be a function V(r, a, b), not {potential!r}")
        self.potential, self.derivative = potential, derivative
        self.name = f"pairs({_name_of(potential)})"
        self.sites, self.shared = _site_lists(sites)
        every = [s for one in self.sites for s in one]
        self.directed = any(s.axis is not None for s in every)
        if self.directed and any(s.axis is None for s in every):
            raise ValueError("either all sites of a potential have an axis, or none has: give two potentials, and add")
        self.count = len(every[0].numbers) if every else 0
        if odd := [s for s in every if len(s.numbers) != self.count]:
            raise ValueError(f"all sites of a potential have as many numbers: {odd[0]} has not {self.count}")
        self.cutoff = None if cutoff is None else checks.number("cutoff", cutoff, positive=True)
        self.box = None if box is None else sides_of(box)
        if self.box is not None:
            if self.cutoff is None:
                raise ValueError(f"a box needs a cutoff, of at most half its least side: {min(self.box) / 2:g}")
            if self.cutoff > min(self.box) / 2:
                raise ValueError(
                    f"the box has a side of {min(self.box):g}, less than twice the cutoff {self.cutoff:g}: a site "
                    f"would meet two images of another. Take a larger box, or a cutoff of at most {min(self.box) / 2:g}"
                )
        self.keeps_angular_momentum = self.box is None
        self.suits_lanes = self.cutoff is None  # beyond which pairs are left out
        expected = ("d", "u", "w", "a", "b") if self.directed else ("r", "a", "b")
        _check_arguments("potential", potential, expected)
        if derivative is not None:
            _check_arguments("derivative", derivative, expected)
            self.value, self.slope = kernels.by_hand(potential, derivative, self.count, directed=self.directed)
        else:
            try:
                self.value, self.slope = gradient_of(potential, expected[:-2], self.count, scalar=not self.directed)
            except CannotDerive as why:
                raise CannotDerive(
                    f"the potential {_name_of(potential)} cannot be differentiated automatically: {why}; or pass "
                    "derivative="
                ) from None
        self.kinds = {numbers: k for k, numbers in enumerate(dict.fromkeys(s.numbers for s in every))}
        """The numbers that sites have, each once, in their order."""
        self._choose_cut(cut, damping)

    def _choose_cut(self, cut: str | None, damping: float | None) -> None:
        """Sets how the potential ends at the cutoff, and the functions that do so."""
        if cut is not None and cut not in CUTS:
            raise ValueError(f"cut must be {', '.join(map(repr, CUTS[:-1]))} or {CUTS[-1]!r}, not {cut!r}")
        if self.cutoff is None and (cut is not None or damping is not None):
            raise ValueError("cut and damping say how a potential ends at a cutoff: give cutoff, too")
        charges = self.cutoff is not None and not self.directed and self._falls_as_charges()
        self.cut = None if self.cutoff is None else cut or ("shifted force" if charges else "sites")
        if self.cut == "shifted force" and self.directed:
            raise ValueError("the shifted force is for potentials of the distance: sites with axes need another cut")
        pure = self.cut == "shifted force" and charges and self._is_of_charges()
        if damping and not pure:
            raise ValueError(
                f"damping is for charges, V = a b / r, with the shifted force, and not for {self.name} with "
                f"cut={self.cut!r}: make pairs of the charges alone, and add those of the rest"
            )
        self.damping = 0.0
        if pure:
            assert self.cutoff is not None
            given = DAMPING / self.cutoff if damping is None else damping
            self.damping = checks.number("damping", given, negative=False)
        if self.damping:
            self.value, self.slope = kernels.damped(self.value, self.slope)
        self._table: list[float] = []
        self.own_energies: list[float] = [0.0] * len(self.sites)
        """The constant energy of the bodies that have these sites."""
        if self.cut == "shifted force":
            self._table = [x for a in self.kinds for b in self.kinds for x in self._at_cutoff(a, b)]
            if pure:
                self.own_energies = [self._own_energy(own) for own in self.sites]
            self.value, self.slope = kernels.shifted(self.value, self.slope)
        elif self.cut == "sites":
            switched = kernels.switched_directed if self.directed else kernels.switched
            self.value, self.slope = switched(self.value, self.slope)

    def _products(self, distances: Sequence[float]) -> Floats:
        """R V(r) at distances, over the cutoff, for kinds of sites and pairs of some; NaN: V has no value."""
        numbers = [np.array(x) for x in self.kinds]
        some = numbers[:: -(-len(numbers) // TRIED_KINDS) or 1]
        tried = [*zip(numbers, numbers, strict=True), *((a, b) for a in some for b in some)]
        out = []
        for r in (self.cutoff * x for x in distances if self.cutoff):
            try:
                out.append([r * float(self.potential(r, a, b)) for a, b in tried])
            except (ArithmeticError, ValueError):
                out.append([math.nan] * len(tried))
        return np.array(out)

    def _falls_as_charges(self) -> bool:
        """Whether the energy of some sites falls as 1/r far beyond the cutoff."""
        far, farther = self._products((1e3, 1e4))
        return bool((np.abs(farther - far) < 1e-3 * np.abs(far)).any())

    def _is_of_charges(self) -> bool:
        """Whether r V(r) is the same at all distances."""
        found = self._products((0.05, 0.3, 1.0, 7.0))
        return bool((np.abs(found - found[0]) <= 1e-12 * np.abs(found[0])).all())

    def _at_cutoff(self, a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float]:
        """The potential of two kinds of sites at the cutoff, damped as it may be, and its derivative."""
        assert self.cutoff is not None
        p = np.array([0.0] * 7 + [self.damping] + [0.0] * (kernels.PAIRS_HEAD - 8) + [*a, *b])
        value, slope = self.slope(self.cutoff, p, kernels.PAIRS_HEAD, kernels.PAIRS_HEAD + self.count)
        return float(value), float(slope)

    def _own_energy(self, own: list[Site]) -> float:
        """Half the sum of the energies of charges in a body as they are cut, less those of whole charges."""
        total, cutoff = 0.0, self.cutoff or math.inf
        for s, other in product(own, own):
            k = 2 * (len(self.kinds) * self.kinds[s.numbers] + self.kinds[other.numbers])
            v, dv = self._table[k : k + 2]
            r = math.dist(s.position, other.position)
            charges = cutoff * float(self.potential(cutoff, np.array(s.numbers), np.array(other.numbers)))
            part = math.erf(self.damping * r) / r if r > 0.0 else 2.0 * self.damping / math.sqrt(math.pi)
            total += 0.5 * (-charges * part - v - (r - cutoff) * dv)
        return total

    def warn_of_jump(self, kT: float, whose: str) -> None:
        """Warns if what is switched off at the cutoff is not small beside kT; `whose` says where kT is from."""
        jump = self.jump
        if jump > JUMP * kT:
            other = "" if self.directed else "take cut='shifted force', or "
            warnings.warn(
                f"{self.name} is cut off at the distance {self.cutoff:g}, where the energy of two {self.cut} is up to "
                f"{jump:.3g}: more than a hundredth of kT = {kT:.3g}, {whose}. What is switched off there acts as a "
                f"wall: {other}take a longer cutoff",
                CutoffJump,
                stacklevel=levels_of_polhode(),
            )

    @cached_property
    def jump(self) -> float:
        """The largest energy of two sites or bodies at the cutoff, of those that were tried."""
        groups = self.sites
        if self.cut == "sites":
            lone = dict.fromkeys((s.numbers, s.axis) for own in self.sites for s in own)
            groups = [[Site(ORIGIN, *numbers, axis=axis)] for numbers, axis in lone]
        some = [own for own in groups[:: -(-len(groups) // TRIED_KINDS) or 1] if own]
        tried = TRIED_TURNS if self.cut == "bodies" or self.directed else 1
        turns = np.random.default_rng(0).normal(size=(tried, 2, 4))
        turns /= lengths(turns)[..., None]
        away, most = np.array([self.cutoff, 0.0, 0.0]), 0.0
        for k, one in enumerate(some):
            for other in some[k:]:
                for p, q in turns.tolist():
                    total = 0.0
                    for s, z in product(one, other):
                        d = away + to_space(q, z.position) - np.array(to_space(p, s.position))
                        total += self._energy_of(s, z, d, to_space(p, s.axis or ORIGIN), to_space(q, z.axis or ORIGIN))
                    most = max(most, abs(total))
        return most

    def _energy_of(self, s: Site, other: Site, d: Any, u: Any, w: Any) -> float:
        one, two = np.array(s.numbers), np.array(other.numbers)
        if self.directed:
            return float(self.potential(tuple(d), tuple(u), tuple(w), one, two))
        return float(self.potential(math.hypot(*d), one, two))

    @property
    def kernel(self) -> bodies.Forces:
        """The loop over pairs of sites, or of bodies."""
        periodic = self.box is not None
        if self.cut == "bodies":
            slope = self.slope if self.directed else kernels.slope_along_line(self.slope)
            return kernels.pairs_of_bodies(slope, directed=self.directed, periodic=periodic)
        made = kernels.directed_pairs if self.directed else kernels.radial_pairs
        return made(self.slope, cut=self.cutoff is not None, periodic=periodic)

    @property
    def energy_kernel(self) -> bodies.Energy:
        """The same for the energy."""
        value = self.value if self.directed else kernels.along_line(self.value)
        return kernels.pair_energy(
            value, directed=self.directed, by_body=self.cut == "bodies", cut=self.cutoff is not None,
            periodic=self.box is not None,
        )  # fmt: skip

    def sites_of(self, system: System) -> list[list[Site]]:
        """The sites of each body."""
        if self.shared:
            return [self.sites[0]] * len(system)
        if len(self.sites) != len(system):
            raise ValueError(f"there are {len(system)} bodies, but sites of {len(self.sites)}: give a list for each")
        return self.sites

    def numbers(self, system: System) -> list[float]:
        """The sites of all bodies, in their order."""
        listed = self.sites_of(system)
        total = sum(map(len, listed))
        cutoff = math.inf if self.cutoff is None else self.cutoff
        table = kernels.PAIRS_HEAD + (kernels.SITE + self.count) * total
        constant = math.fsum(self.own_energies) * (len(system) if self.shared else 1)
        out = [float(total), float(self.count), (1.0 - SWITCH_PART) * cutoff, cutoff, *(self.box or (1.0, 1.0, 1.0))]
        out += [self.damping, float(len(self.kinds)), float(table), constant]
        following = 0
        for i, own in enumerate(listed):
            following += len(own)
            for s in own:
                axis = s.axis or (float(self.kinds[s.numbers]), 0.0, 0.0)
                out += [float(i), float(following), *s.position, *axis, *s.numbers]
        return out + self._table

    def room(self, system: System) -> int:
        """Room for positions and forces of sites, and for their axes."""
        return 12 * sum(map(len, self.sites_of(system)))

    def positions(self, system: System, x: Floats, q: Floats) -> list[tuple[int, Site, Floats, Floats]]:
        """Body, site, position and axis in space of all sites."""
        return [
            (i, s, x[i] + to_space(q[i], s.position), np.array(to_space(q[i], s.axis or ORIGIN)))
            for i, own in enumerate(self.sites_of(system))
            for s in own
        ]

    def try_on(self, system: System, t: float) -> None:
        """Compares a derivative that was given with the potential, at the pairs of sites at the start."""
        if self.derivative is None:
            return
        places, done = self.positions(system, system.position, system.quaternion), 0
        for k, (i, s, x, u) in enumerate(places):
            for j, other, y, w in places[k + 1 :]:
                if i == j or done >= CHECKED_PAIRS or (x == y).all():  # the run names bodies at one place
                    continue
                done += 1
                self._check_pair(s, other, y - x, u, w)

    def _check_pair(self, s: Site, other: Site, d: Floats, u: Floats, w: Floats) -> None:
        one, two = np.array(s.numbers), np.array(other.numbers)
        assert self.derivative is not None
        z = np.array([np.linalg.norm(d)])
        if self.directed:
            z = np.concatenate([d, u, w])
            given = np.concatenate([np.ravel(g) for g in self.derivative(tuple(d), tuple(u), tuple(w), one, two)])
        else:
            given = np.array([float(self.derivative(float(z[0]), one, two))])

        def value(z: Floats) -> float:
            return self._energy_of(s, other, z[:3], z[3:6], z[6:])

        if given.shape != z.shape:
            raise ValueError(f"the derivative must return {z.size} numbers, not {given.size}")
        size = float(np.linalg.norm(d))
        axes = np.eye(z.size)
        found = np.array([_slope(value, z, axis, 1e-5 * size) for axis in axes])
        if not np.allclose(given, found, rtol=CHECKED_ERROR, atol=CHECKED_ERROR * np.abs(found).max()):
            raise ValueError(
                f"the derivative of {self.name} is not that of its potential: at the distance {size:.6g} it is "
                f"{given.tolist()}, but differences of the potential give {found.tolist()}"
            )


def _slope(f: Callable[[Floats], float], z: Floats, axis: Floats, e: float) -> float:
    """The derivative of f along an axis by differences of fourth order."""
    near, far = e * axis, 2.0 * e * axis
    return (8.0 * (f(z + near) - f(z - near)) - (f(z + far) - f(z - far))) / (12.0 * e)


def _site_lists(sites: Any) -> tuple[list[list[Site]], bool]:
    """Lists of sites, and whether there is one list for all bodies."""
    if isinstance(sites, Site):
        return [[sites]], True
    listed = list(sites) if isinstance(sites, Sequence) else None
    if listed and all(isinstance(s, Site) for s in listed):
        return [listed], True
    if listed and all(isinstance(own, Sequence) and all(isinstance(s, Site) for s in own) for own in listed):
        return [list(own) for own in listed], False
    raise TypeError(
        f"sites must be a list of polhode.systems.Site, or a list with such a list for each body, not {sites!r}"
    )


def box_of(forces: Forces) -> tuple[float, float, float] | None:
    """The sides of the periodic box that the forces have; None: there is none."""
    boxes = {p.box for p in forces.parts if isinstance(p, Pairs) and p.box is not None}
    if len(boxes) > 1:
        raise ValueError(f"the forces have boxes of different sides, {sorted(boxes)}")
    return next(iter(boxes), None)


def sides_of(box: Any) -> tuple[float, float, float]:
    """The three sides of a box that is given by one or three."""
    sides = checks.floats("box", box, "be one side or three")
    if sides.shape not in ((), (1,), (3,)):
        raise ValueError(f"box must be one side or three, not of the shape {sides.shape}")
    given = np.broadcast_to(sides, (3,)).tolist()
    x, y, z = (checks.number("a side of the box", s, positive=True) for s in given)
    return (x, y, z)


def _check_arguments(what: str, f: Callable[..., Any], names: Sequence[str]) -> None:
    try:
        found = len(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return
    if found != len(names):
        hint = "sites have axes, so it" if len(names) == 5 else "it"
        raise TypeError(
            f"the {what} {_name_of(f)} takes {found} arguments, but {hint} is called as f({', '.join(names)})"
        )


def _name_of(f: Any) -> str:
    return str(getattr(f, "__name__", type(f).__name__))


# --- models


class UniformGravity(Forces):
    """The weight of all bodies in a uniform field, in m/s^2."""

    def __init__(self, field: Any = (0.0, 0.0, -9.80665)) -> None:
        self.field = checks.vector("field", field)
        self.name = f"UniformGravity({self.field})"

    kernel, energy_kernel = staticmethod(kernels.gravity_forces), staticmethod(kernels.gravity_energy)

    def numbers(self, system: System) -> list[float]:
        """Field and masses."""
        return [*self.field, *system.mass.tolist()]


class CentralBody(Forces):
    """The attraction of bodies of finite size by a fixed mass point, with its gravity gradient.

    To second order in the size of a body over its distance: the gradient turns the body, and the attitude of the body
    changes its orbit. `mu` is the gravitational parameter, in m^3/s^2.
    """

    keeps_angular_momentum = True

    def __init__(self, mu: float, position: Any = (0.0, 0.0, 0.0)) -> None:
        self.mu = checks.number("mu", mu, positive=True)
        self.position = self.centre = checks.vector("position", position)
        self.name = f"CentralBody({self.mu:g})"

    kernel, energy_kernel = staticmethod(kernels.central_forces), staticmethod(kernels.central_energy)

    def numbers(self, system: System) -> list[float]:
        """The parameter, the position, and masses and tensors of the bodies."""
        out = [self.mu, *self.position]
        for m, b in zip(system.mass.tolist(), system.bodies, strict=True):
            i = b.tensor
            out += [m, *(float(i[k]) for k in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)))]
        return out


@dataclass(frozen=True)
class Spring:
    """A spring between a point of one body and a point of another, or of space.

    `points` are in the axes of their bodies, in m; if `second` is None, the second point is fixed in space.
    """

    first: int
    second: int | None
    points: tuple[Any, Any]
    stiffness: float
    """N/m."""
    length: float = 0.0
    """The length at rest, in m."""


class Springs(Forces):
    """Springs between points of bodies, or between points of bodies and of space."""

    def __init__(self, springs: Spring | Sequence[Spring]) -> None:
        self.springs = [springs] if isinstance(springs, Spring) else list(springs)
        if wrong := [s for s in self.springs if not isinstance(s, Spring)]:
            raise TypeError(f"springs must be a list of polhode.systems.Spring, not of {wrong[0]!r}")
        self.keeps_momentum = self.keeps_angular_momentum = all(s.second is not None for s in self.springs)
        self.name = f"Springs({len(self.springs)})"
        self._rows: list[tuple[int, int, list[float]]] = []
        for s in self.springs:
            stiffness, length = checks.number("stiffness", s.stiffness), checks.number("length", s.length)
            if length < 0:
                raise ValueError(f"the length of a spring at rest must not be negative, not {length:g}")
            if len(s.points) != 2:
                raise ValueError(f"a spring has two points, not {len(s.points)}")
            a, b = (checks.vector("a point of a spring", p) for p in s.points)
            second = -1 if s.second is None else s.second
            self._rows.append((s.first, second, [*a, float(second), *b, stiffness, length]))

    kernel, energy_kernel = staticmethod(kernels.spring_forces), staticmethod(kernels.spring_energy)

    def numbers(self, system: System) -> list[float]:
        """All springs."""
        out = [float(len(self.springs))]
        for first, second, row in self._rows:
            for i in (first, second):
                if not (isinstance(i, int | np.integer) and (-1 if i is second else 0) <= i < len(system)):
                    raise ValueError(f"a spring is fastened to body {i}, but there are bodies 0 to {len(system) - 1}")
            if first == second:
                raise ValueError(f"a spring joins two points of body {first}: it does nothing to a rigid body")
            out += [float(first), *row]
        return out


class TorqueOnEach(Forces):
    """A torque of the attitude that acts on every body."""

    def __init__(self, torque: Torque, window: tuple[float, float] = (-math.inf, math.inf)) -> None:
        """Takes the open interval in which the torque is asked: jumps at its ends belong to neither side."""
        if checked(torque).depends & Depends.RATE:
            raise ValueError(f"forces on systems depend on positions, attitudes and time; {torque.name} needs the rate")
        if torque.state_names:
            raise ValueError(
                f"{torque.name} carries numbers along ({', '.join(torque.state_names)}), and the state of a system has "
                "no place for them: simulate its body by itself, or write the forces as a function of the time"
            )
        self.torque, self.window = torque, window
        self.name = torque.name
        self.keeps_momentum = True
        self.depends_on_time = bool(torque.depends & Depends.TIME)

    @property
    def kernel(self) -> bodies.Forces:
        """The torque on one body after the other."""
        return kernels.torques_on_each(self.torque.torque_kernel, windowed=bool(self.breakpoints))

    @property
    def energy_kernel(self) -> bodies.Energy | None:
        """The sum of its potential over the bodies."""
        potential = self.torque.potential_kernel
        return None if potential is None else kernels.energy_of_each(potential, windowed=bool(self.breakpoints))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The times at which the torque jumps."""
        return self.torque.breakpoints

    def for_span(self, t0: float, t1: float) -> Forces:
        """The torque for a run between two times."""
        self.torque.check_span(t0, t1)
        torque = self.torque.for_span(t0, t1)
        return self if torque is self.torque else TorqueOnEach(torque)

    def between(self, t0: float, t1: float) -> Forces:
        """The torque for a stretch between two jumps."""
        return TorqueOnEach(self.torque, Segment(t0, t1, t1 - t0, 0.0, 1).window) if self.breakpoints else self

    def numbers(self, system: System) -> list[float]:
        """The parameters for each body, and before them the times between which the torque is asked."""
        rows = [list(self.torque.parameters(b)) for b in system.bodies]
        return [float(len(rows[0])), *(self.window if self.breakpoints else ()), *(x for row in rows for x in row)]


# --- functions of the user's


def forces(
    function: Callable[..., Any], /, *, parameters: Any = (), potential: Callable[..., Any] | None = None,
    compiled: bool = True, depends_on_time: bool = True,
) -> Forces:  # fmt: skip
    """Makes forces on a system from a function of arrays.

    It is called as `f(t, x, q, p)`: time, positions (bodies, 3), attitudes as quaternions (bodies, 4), scalar first,
    and the parameters. It returns two arrays (bodies, 3): the forces in space, in N, and the torques in body axes about
    the centres of mass, in N m. It is compiled together with the step; with `compiled=False` it is called as it is, and
    may be any function of NumPy, JAX or anything else. `potential`, called as `V(t, x, q, p)`, gives the energy; at
    the start of a run forces and torques are compared with its gradient.

    Examples
    --------
    >>> def spring(t, x, q, p):
    ...     return -p[0] * x, 0.0 * x
    ...
    >>> one = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=[[1, 0, 0]])
    >>> held = ph.forces(spring, parameters=[1.0], compiled=False)
    >>> run = ph.simulate_system(one, held, t_span=(0, np.pi), step=np.pi / 100)
    >>> run.position[-1].round(2) + 0.0
    array([[-1.,  0.,  0.]])
    """
    return ArrayForces(function, parameters, potential, compiled, depends_on_time)


class OutsideForces(Forces):
    """Forces that compiled code calls by the address of a function."""

    suits_lanes = False
    kernel = staticmethod(kernels.outside_forces)

    def __init__(self, name: str, parameters: Any, depends_on_time: bool, address: int = 0) -> None:
        self.name, self.depends_on_time, self.address = name, depends_on_time, address
        self.parameters = checks.row("parameters", parameters) if np.size(parameters) else np.zeros(0)

    def numbers(self, system: System) -> list[float]:
        """The address, in two halves, and the parameters."""
        return [*(float(half) for half in divmod(self.address, 2**HALF_BITS)), *self.parameters.tolist()]

    def room(self, system: System) -> int:
        """Room for what is called to write to."""
        return 6 * len(system)


class ArrayForces(OutsideForces):
    """Forces that a function of the user's computes: see `polhode.forces`."""

    def __init__(
        self, function: Callable[..., Any], parameters: Any, potential: Callable[..., Any] | None, compiled: bool,
        depends_on_time: bool,
    ) -> None:  # fmt: skip
        if not callable(function):
            raise TypeError(f"forces are made of a function f(t, x, q, p), not of {function!r}")
        _check_arguments("function", function, ("t", "x", "q", "p"))
        if potential is not None:
            _check_arguments("potential", potential, ("t", "x", "q", "p"))
        self.function, self.potential, self.compiled = function, potential, compiled
        super().__init__(_name_of(function), parameters, depends_on_time and potential is None)
        self._link: Trampoline | None = None

    @property
    def kernel(self) -> bodies.Forces:  # type: ignore[override]
        """The function among kernels."""
        return kernels.forces_of_arrays(self.function) if self.compiled else kernels.outside_forces

    @property
    def energy_kernel(self) -> bodies.Energy | None:
        """The potential, if it is compiled."""
        return kernels.energy_of_arrays(self.potential) if self.compiled and self.potential is not None else None

    @property
    def has_potential(self) -> bool:
        """Whether a potential was given."""
        return self.potential is not None

    def numbers(self, system: System) -> list[float]:
        """The parameters, with their number or the address of the function in front."""
        if self.compiled:
            return [float(self.parameters.size), *self.parameters.tolist()]
        if self._link is None:
            self._link = forces_callback(self._call, self.parameters.size, f"the forces {self.name}")
            self.address = self._link.address
        return super().numbers(system)

    def room(self, system: System) -> int:
        """Room for what is called to write to."""
        return 0 if self.compiled else super().room(system)

    def _call(self, t: float, n: int, x: Floats, q: Floats, p: Floats, out: Any) -> None:
        """Calls the function, checks what it returns, and writes it to `out`."""
        x, q = np.array(x[: 3 * n]).reshape(n, 3), np.array(q[: 4 * n]).reshape(n, 4)
        f, m = self._checked(self.function(t, x, q, np.array(p)), n)
        out[: 3 * n], out[3 * n : 6 * n] = f.ravel(), m.ravel()

    def _checked(self, found: Any, n: int) -> tuple[Floats, Floats]:
        """Forces and torques, if they have the right shape."""
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise TypeError(f"the forces {self.name} must return two arrays, forces and torques, not {found!r}")
        arrays = []
        for what, value in zip(("forces", "torques"), found, strict=True):
            a = np.asarray(value)
            if a.dtype.kind not in "iuf" or a.shape != (n, 3):
                raise ValueError(
                    f"{self.name} must return {what} as an array of numbers of the shape ({n}, 3), a row for each "
                    f"body, not of {a.dtype} in the shape {a.shape}"
                )
            arrays.append(np.asarray(a, dtype=np.float64))
        return arrays[0], arrays[1]

    def try_on(self, system: System, t: float) -> None:
        """Calls the function once in plain Python, and compares it with its potential."""
        x, q, p = np.array(system.position), np.array(system.quaternion), self.parameters
        f, m = self._checked(self.function(t, x, q, p), len(system))
        for i in range(len(system)):
            if not (np.isfinite(f[i]).all() and np.isfinite(m[i]).all()):
                raise ValueError(f"{self.name} returns {f[i]} and {m[i]} for body {i} at the start, t = {t:g}")
        if self.potential is None:
            return
        for i in range(min(len(system), CHECKED_BODIES)):
            self._compare(t, x, q, i, f[i], m[i])

    def _compare(self, t: float, x: Floats, q: Floats, i: int, f: Floats, m: Floats) -> None:
        from scipy.spatial.transform import Rotation

        potential = self.potential
        assert potential is not None
        apart, far = float(np.abs(x - x.mean(axis=0)).max()), float(np.abs(x).max())
        scale = 1e-4 * (apart or far or 1.0)  # lengths are the user's: molecules and orbits are both in metres

        def at(z: Floats) -> float:
            y, r = x.copy(), q.copy()
            y[i] = y[i] + z[:3]
            turned = Rotation.from_quat(q[i], scalar_first=True) * Rotation.from_rotvec(z[3:])
            r[i] = turned.as_quat(scalar_first=True)
            return float(potential(t, y, r, self.parameters))

        axes, here = np.eye(6), np.zeros(6)
        for given, e, own, what in ((f, scale, axes[:3], "force"), (m, 1e-4, axes[3:], "torque")):
            found = np.array([-_slope(at, here, axis, e) for axis in own])
            noise = 1e-12 * abs(at(here)) / e
            if not np.allclose(given, found, rtol=CHECKED_ERROR, atol=CHECKED_ERROR * np.abs(found).max() + noise):
                raise ValueError(
                    f"the {what} of {self.name} on body {i} is {given.tolist()} at the start, but minus the gradient "
                    f"of its potential is {found.tolist()}"
                )

    def energies(self, system: System, t: Floats, x: Floats, q: Floats) -> Floats | None:
        """The potential of a function that is not compiled."""
        if self.potential is None:
            return None
        rows = zip(t.tolist(), x, q, strict=True)
        return np.array([float(self.potential(s, y, r, self.parameters)) for s, y, r in rows])


def forces_from_pointer(address: Any, *, parameters: Any = (), depends_on_time: bool = True) -> Forces:
    """Makes forces of a function in C or Fortran, given by its address or as a `ctypes` function.

    `void f(double t, int64_t n, const double *x, const double *q, const double *p, double *force, double *torque)`
    finds positions and quaternions of n bodies in rows, and writes forces in space and torques in body axes.
    """
    return PointerForces(address, parameters, depends_on_time)


class PointerForces(OutsideForces):
    """Forces that a function outside of the program computes: see `polhode.systems.forces_from_pointer`."""

    def __init__(self, address: Any, parameters: Any, depends_on_time: bool) -> None:
        self.owner = address  # which may own the code
        if not isinstance(address, int) or isinstance(address, bool):
            try:
                address = ctypes.cast(address, ctypes.c_void_p).value or 0
            except (TypeError, ctypes.ArgumentError):
                raise TypeError(f"address must be a number or a function of ctypes, not {address!r}") from None
        if address <= 0:
            raise ValueError(f"address must be that of a function, not {address}")
        super().__init__(f"function at {address:#x}", parameters, depends_on_time, address)


# --- energies


_energy = lru_cache(maxsize=64)(bodies.energy_rows)


def energies_of(forces: Forces, system: System, t: Floats, x: Floats, q: Floats) -> Floats | None:
    """The potential energy in rows of times, positions and attitudes; None if it is not known."""
    if (kernel := forces.energy_kernel) is None:
        return forces.energies(system, t, x, q) if forces.has_potential else None
    if t.size == 0:
        return np.zeros(0)
    fill = program(_energy(kernel), ENERGY_SIGNATURE, what=f"the potential energy of {forces.name}")
    values, work = np.array([*forces.numbers(system), 0.0]), np.zeros(forces.room(system) + 1)
    out = np.empty(t.size)
    rows = (np.ascontiguousarray(a, dtype=np.float64).reshape(-1) for a in (t, x, q))
    fill(*rows, values, work, out, len(system), t.size)
    return out
