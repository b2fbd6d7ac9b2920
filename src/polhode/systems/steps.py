"""How a method steps a system: its operations as data, and the flow of a body that its drifts are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.compared import magnus
from polhode.kernels.free.exact_flow import Resolution, effort, finest
from polhode.kernels.steps.compose import KickedFreeStep, Splitting
from polhode.kernels.steps.correctors import in_parts
from polhode.kernels.steps.flows import free, triaxial
from polhode.kernels.systems import bodies, collocation
from polhode.kernels.systems.bodies import AHEAD, DRIFT, HEAT, KICK, MODES
from polhode.kernels.systems.system_splitting import Operation, SystemRecipe, operations_of
from polhode.kernels.types import Flow, Inertia
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.systems.system import System

ACCEPTED = (
    "splittings of kicks and free flows (Strang, MR2, NO_SQUISH, their compositions such as KL8(of=Strang), SABA4, "
    "ABA104, BlanesMoanS10 and so on), SEJ, SEJ4, G8 and NMB"
)
"""The methods that step systems, in words."""


@dataclass(frozen=True)
class Langevin:
    """A heat bath: friction and random kicks that bring all velocities and rates to one temperature.

    Between two half steps of the free flow, velocities and angular momenta, in body axes, follow the exact solution of
    dv = -friction v dt + noise for the time of the step: half kick, half flow, bath, half flow, half kick.
    Random numbers depend on the seed, the body and the number of the step, and on nothing else.

    A body in a liquid whose shape is no ball turns as it is dragged, and drifts as it turns: `resistance` is the matrix
    of force and torque of the liquid on it by its velocity and rate, with the noise that belongs to it, as in
    Davidchack, Ouldridge and Tretyakov (2017). The bath is exact for it too. Bodies do not feel the liquid that others
    stir.

    Examples
    --------
    >>> bath = ph.Langevin(kT=1.0, friction=0.5, seed=1)
    >>> gas = ph.System([ph.Body([1, 2, 2.8])] * 2, mass=1.0, position=[[0, 0, 0], [5, 0, 0]])
    >>> run = ph.simulate_system(gas, t_span=(0, 1), step=0.1, heat=bath)
    >>> bool(run.kinetic_energy[-1] > 0)
    True
    """

    kT: float
    """Boltzmann's constant times the temperature, J."""
    friction: float | None = None
    """The rate at which velocities forget, 1/s."""
    rotational_friction: float | None = None
    """The rate at which angular momenta forget, 1/s; the same as that of velocities if it is None."""
    seed: int = 0
    """A whole number of at most 64 bits; another gives other random numbers."""
    resistance: Any = None
    """In place of both frictions: a symmetric 6 x 6 matrix in body axes, for all bodies or for each; -resistance times
    velocity and rate, (vx, vy, vz, wx, wy, wz), is the force and the torque of the liquid, N and N m."""

    def __post_init__(self) -> None:
        if self.resistance is not None:
            if self.friction is not None or self.rotational_friction is not None:
                raise ValueError("a bath has frictions or a resistance: give one of them")
            object.__setattr__(self, "resistance", _as_tuples(self.resistance))
        elif self.friction is None:
            raise ValueError("a bath needs a friction, or a resistance")
        for name in ("kT", "friction", "rotational_friction"):
            if getattr(self, name) is not None:
                checks.number(name, getattr(self, name), negative=False)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must be a whole number from 0 to 2**64 - 1, not {self.seed!r}")

    @property
    def numbers(self) -> tuple[float, float, float]:
        """What the compiled step reads: kT and both frictions."""
        other = self.friction if self.rotational_friction is None else self.rotational_friction
        return (float(self.kT), float(self.friction or 0.0), float(other or 0.0))

    def modes(self, system: System) -> Floats:
        """The modes in which the bodies forget: 42 numbers for each, of mass and principal axes.

        With M = diag(mass, moments) the momenta p obey dp = -R M^-1 p dt + noise. M^-1/2 R M^-1/2 = Q diag(rates) Q^T
        makes M^1/2 Q the columns of the modes: the components along them forget independently.
        """
        given = np.array(self.resistance, dtype=np.float64)
        if given.shape not in ((6, 6), (len(system), 6, 6)):
            raise ValueError(f"resistance has {len(given)} matrices: give one, or one for each of {len(system)} bodies")
        out = np.empty((len(system), MODES))
        for i, (body, R) in enumerate(zip(system.bodies, np.broadcast_to(given, (len(system), 6, 6)), strict=True)):
            turn = np.kron(np.eye(2), body.axes)
            root = np.sqrt(np.concatenate([np.full(3, system.mass[i]), body.moments]))
            rates, Q = np.linalg.eigh(turn.T @ R @ turn / np.outer(root, root))
            out[i] = np.concatenate([(root[:, None] * Q).ravel(), np.maximum(rates, 0.0)])
        return out


def _as_tuples(resistance: Any) -> Any:
    """The matrices as tuples, which can be compared, if they are symmetric and brake every motion."""
    R = checks.floats("resistance", resistance, "hold a 6 x 6 matrix")
    if R.shape[-2:] != (6, 6) or R.ndim not in (2, 3):
        raise ValueError(f"resistance must be a 6 x 6 matrix, or one for each body, not of the shape {R.shape}")
    sizes = np.sqrt(np.abs(np.diagonal(R, axis1=-2, axis2=-1)))
    size = np.where(sizes > 0, sizes, 1.0)
    scaled = R / (size[..., :, None] * size[..., None, :])
    if (off := float(np.abs(scaled - np.swapaxes(scaled, -1, -2)).max())) > 1e-9:
        raise ValueError(f"resistance must be symmetric, but differs from its transpose by {off:.2g} of its diagonal")
    if (least := float(np.linalg.eigvalsh(scaled).min())) < -1e-9:
        raise ValueError(
            f"resistance must brake every motion, but has an eigenvalue of {least:.2g}, by its diagonal: the coupling "
            "of velocity and rate is too large for the frictions"
        )
    return tuple(map(tuple, R.tolist())) if R.ndim == 2 else tuple(tuple(map(tuple, r)) for r in R.tolist())


def system_method(method: str | Method) -> Method:
    """The method that is meant, if it steps systems."""
    found = method if isinstance(method, Method) else find_method(method)
    if not found.steps_systems:
        raise ValueError(f"{found.name} does not step systems: take one of the {ACCEPTED}")
    return found


def recipe_of(method: Method, *, gyrostat: bool) -> SystemRecipe:
    """The operations of a method, for bodies with or without rotors."""
    found, scheme = None, method.scheme
    if isinstance(scheme, KickedFreeStep):
        found = None if gyrostat else _kicked(scheme)
    elif not gyrostat or method.accepts_rotor:
        assert isinstance(scheme, Splitting)
        found = operations_of(scheme, gyrostat)
    if found is None:
        raise ValueError(f"{method.name} does not step systems of bodies with rotors: take Strang, MR2 or NO_SQUISH")
    return found


def _kicked(scheme: KickedFreeStep) -> SystemRecipe:
    """Half kicks around the exact momentum with an attitude by Magnus's series: SEJ and SEJ4."""
    assert isinstance(scheme.drift, magnus.Magnus)
    whole = (Operation(KICK, 0.5, 0.0), Operation(DRIFT, 1.0, 0.0), Operation(KICK, 0.5, 1.0))
    return SystemRecipe(whole, ((magnus.flow(scheme.drift.order), 1.0),))


def heated(recipe: SystemRecipe, method: Method) -> SystemRecipe:
    """The operations with the heat bath in the middle of the drift: that of Strang, MR2 or NO_SQUISH."""
    kinds = [o.kind for o in recipe.operations]
    if kinds != [KICK, DRIFT, KICK]:
        raise ValueError(f"a heat bath goes with Strang, MR2 or NO_SQUISH, not with {method.name}")
    first, _, last = recipe.operations
    middle = (Operation(DRIFT, 0.5, 0.0), Operation(HEAT, 1.0, 0.5), Operation(DRIFT, 0.5, 0.5))
    return recipe._replace(operations=(first, *middle, last))


class CompiledStep(NamedTuple):
    """A method as the compiled loop takes it, for one system under its forces."""

    step: Callable[..., int]
    ops: Floats
    kinds: Any
    room: int
    """Numbers of room that the step needs beside the forces."""
    evaluations: int | None
    """Evaluations in a step; None if it varies."""
    in_lanes: Callable[..., int] | None = None
    """The step that evaluates the forces at all nodes together. Not all forces can be compiled that way."""


def compiled_method(
    method: Method, system: System, forces: bodies.Forces, step: float, heat: Langevin | None, *,
    any_turn: bool = False, force_room: int = 0,
) -> CompiledStep:  # fmt: skip
    """The step of a method; the flow of a body is prepared for the fastest of the bodies.

    With `any_turn` it is prepared for steps of any length: then runs with different ones share a program. `force_room`
    is the room that the forces need.
    """
    kind = {"tilted": system.is_tilted, "gyrostat": system.has_rotors}
    n, nothing = len(system), (np.zeros(2), np.zeros(1, dtype=np.int64))
    if heat is not None and method.bare_name in ("G8", "NMB"):
        raise ValueError(f"a heat bath goes with Strang, MR2 or NO_SQUISH, not with {method.name}")
    if method.bare_name == "NMB":
        return CompiledStep(_newmark(forces, **kind), *nothing, 4 + 3 * n, 1)
    if method.bare_name == "G8":
        room, lanes = collocation.room_of(n, force_room), _gauss(forces, **kind, in_lanes=True)
        return CompiledStep(_gauss(forces, **kind, in_lanes=False), *nothing, room, None, lanes)
    recipe = recipe_of(method, gyrostat=kind["gyrostat"])
    recipe = heated(recipe, method) if heat is not None else recipe
    exact = triaxial(finest()) if any_turn else exact_flow(system, recipe.longest * step)
    flows = tuple((exact if f is free else f, c) for f, c in recipe.flows)
    ops = np.array([x for o in recipe.operations for x in (o.part, o.time)])
    kinds = np.array([o.kind for o in recipe.operations], dtype=np.int64)
    leaning = bool(AHEAD in kinds)
    coupled = heat is not None and heat.resistance is not None
    made = _in_turn(in_parts(tuple(flows)), forces, **kind, leaning=leaning, coupled=coupled)
    room = 4 + 7 * n * leaning + (MODES * n + 12) * coupled
    return CompiledStep(made, ops, kinds, room, recipe.evaluations)


MODERATE = Resolution(7, 9, 0.6, 0.0791)
"""The resolution of exact flows for bodies that turn by up to 0.6 rad in a step; others have the finest. Faster bodies
have their steps cut. There are two only, so that few programs are compiled."""
HEADROOM = 1.5
"""Bodies may become faster by this factor before their steps are cut."""


def exact_flow(system: System, step: float) -> Flow:
    """The exact flow that suits all bodies for steps of this length."""
    rate2, series = 0.0, 0.0
    for b, m in zip(system.bodies, system.momentum, strict=True):
        i, j, k = b.moments.tolist()
        inside = m if b.aligned else m @ b.axes
        x, y, z = (np.abs(inside) + np.abs(b.principal_rotor)).tolist() if b.has_rotor else inside.tolist()
        found = effort(Inertia((i, j, k), (1.0 / i, 1.0 / j, 1.0 / k)), (x, y, z))
        rate2, series = max(rate2, found[0]), max(series, found[1])
    h2 = (HEADROOM * step) ** 2
    fits = rate2 * h2 <= MODERATE.longest_turn**2 and series * h2 <= MODERATE.longest_series
    return triaxial(MODERATE if fits else finest())


# The same step for the same flow and forces: then its program is found at once.
_in_turn = lru_cache(maxsize=64)(bodies.in_turn)
_newmark = lru_cache(maxsize=64)(bodies.newmark)
_gauss = lru_cache(maxsize=64)(collocation.collocation)
