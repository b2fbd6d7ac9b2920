"""What every torque model promises, measured: potential, dependence, symmetry, frames, and its compiled form."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from pydantic import TypeAdapter

import polhode as ph
from polhode.body import Body
from polhode.compiler import program
from polhode.kernels.algebra.quat import multiply, to_space
from polhode.kernels.ops import view
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques import Torque, catalogue

EPS = float(np.finfo(float).eps)

TILTED = Body([[2.0, 0.3, -0.2], [0.3, 3.0, 0.4], [-0.2, 0.4, 4.0]])
"""No axis of the user is a principal axis."""

ORBIT = ph.environment.Orbit(1.5, 0.3, 40.0, 20.0, 70.0, true_anomaly_deg=100.0, mu=2.0, radius=0.5)
"""Numbers of the order of one, and a period of 8 s."""
ROUND_ORBIT = ph.environment.Orbit(1.5, 0.0, 40.0, 20.0, 70.0, mu=2.0, radius=0.5)
BEHIND = tuple((-ROUND_ORBIT.position(1.75)).tolist())
"""With the Sun in this direction the planet's shadow falls on the body from t = 1.3 to 2.2."""

PLATES: dict[str, Any] = {
    "areas": (1.0, 0.7, 1.2),
    "normals": ((1.0, 0.4, 0.0), (0.0, 2.0, 0.9), (-0.5, 0.0, -1.0)),
    "centres": ((0.1, 0.2, 1.0), (1.0, 0.0, 0.3), (0.0, -1.0, 0.2)),
}
ROWS = ((0.3, 0.1, 0.2), (-0.5, 0.4, 0.1), (0.2, -0.6, 0.7), (0.9, 0.3, -0.2), (0.1, 0.8, 0.4))


def gimbals(t: float, q: Any, w: Any, p: Any, angles: Any) -> Any:
    """The rates of four gimbals."""
    return p[0] * w[0], -p[0] * angles[1], 0.3, p[0] * w[2]


def across(t: float, q: Any, w: Any, p: Any, b: Any) -> Any:
    """The moments of two torquers."""
    return p[0] * b[1], -p[0] * w[0]


SAMPLES: dict[str, list[Torque]] = {
    "ConstantBodyTorque": [ph.ConstantBodyTorque((0.3, -1.2, 0.7))],
    "ConstantSpaceTorque": [ph.ConstantSpaceTorque((0.3, -1.2, 0.7))],
    "ControlMomentGyros": [
        ph.ControlMomentGyros.pyramid(0.6, 40.0, attitude_gain=0.3, rate_gain=(0.5, 0.6, 0.7), rate_limit=0.4),
        ph.ControlMomentGyros.pyramid((0.6, 0.5, 0.3, 0.8), law=gimbals, parameters_of_law=(0.7,)),
    ],
    "CoulombSoftWall": [ph.CoulombSoftWall(), ph.CoulombSoftWall(sign="printed")],
    "Facets": [
        ph.Facets(**PLATES, sun=(1.0, -2.0, 0.5), pressure=1.0, specular=(0.1, 0.5, 0.9), diffuse=(0.2, 0.3, 0.1)),
        ph.Facets(**PLATES, orbit=ORBIT, density=ph.environment.ExponentialAir(1.0, 1.0, 2.0), air_rate=0.1),
        ph.Facets(**PLATES, orbit=ROUND_ORBIT, sun=BEHIND, pressure=1.0).for_span(-1.0, 4.0),
    ],
    "Damper": [ph.Damper((1.0, 2.0, -0.5), 0.4, 0.3), ph.Damper((1.0, 2.0, -0.5), 0.4, 0.3, spring=0.7)],
    "Free": [ph.Free()],
    "GravityGradient": [
        ph.GravityGradient(0.7),
        ph.GravityGradient(1.3, (0.5, -2.0, 1.0)),
        ph.GravityGradient(orbit=ORBIT),
        ph.GravityGradient(orbit=ROUND_ORBIT),
    ],
    "HeavyTop": [ph.HeavyTop(20.0), ph.HeavyTop(2.0, (0.3, 0.1, -0.7), (0.5, -2.0, 1.0))],
    "LinearDamping": [
        ph.LinearDamping(0.3),
        ph.LinearDamping((0.1, 0.2, 0.3)),
        ph.LinearDamping(((0.1, 0.2, 0.0), (-0.2, 0.3, 0.1), (0.0, 0.4, 0.5))),
    ],
    "MassFlow": [ph.MassFlow(rate=-0.3, point=(0.4, -0.1, 1.2))],
    "MagneticDipole": [
        ph.MagneticDipole((0.3, -1.2, 0.7), (0.5, 0.1, 2.0)),
        ph.MagneticDipole((0.3, -1.2, 0.7), ph.environment.DipoleField(ORBIT, None, 1.0, 1.0)),
        ph.MagneticDipole((0.3, -1.2, 0.7), ph.Table([-2.0, 0.5, 5.0, 6.0], np.eye(4, 3), frame="space")),
    ],
    "Magnetorquers": [
        ph.Magnetorquers(
            ((1.0, 0.0, 0.4), (0.0, 2.0, 0.0)), 0.9, (0.5, 0.1, 2.0), law=across, parameters_of_law=(0.7,)
        ),
        ph.Magnetorquers(
            ((1.0, 0.0, 0.4), (0.0, 2.0, 0.0)),
            (0.9, 0.3),
            ph.environment.DipoleField(ORBIT, None, 1.0, 1.0),
            law=across,
            parameters_of_law=(0.7,),
        ),
    ],
    "OrbitalGravityGradient": [
        ph.OrbitalGravityGradient(0.7),
        ph.OrbitalGravityGradient(1.3, (1.0, 2.0, 2.0), (2.0, 1.0, -2.0)),
    ],
    "PiecewiseTorque": [
        ph.PiecewiseTorque(((2.0, (20.0, 1.0, 0.0)), (2.5, (0.0, 4.0, 3.0)))),
        ph.PiecewiseTorque(((2.0, (20.0, 1.0, 0.0)), (2.5, (0.0, 4.0, 3.0))), frame="body", start=0.5),
    ],
    "ReactionWheels": [
        ph.ReactionWheels(((1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (-1.0, -1.0, 1.0)), 0.2, viscous=0.1, coulomb=0.4),
        ph.ReactionWheels(
            ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)),
            (0.2, 0.3, 0.2, 0.2),
            attitude_gain=0.3,
            rate_gain=(0.5, 0.6, 0.7),
            target=(0.8, 0.0, 0.6, 0.0),
            torque_limit=0.8,
            speed_limit=3.0,
            speed_margin=0.5,
        ),
    ],
    "Table": [
        ph.Table((-2.0, 0.0, 1.6, 2.65, 5.0), ROWS),
        ph.Table((-2.0, 0.0, 1.6, 2.65, 5.0), ROWS, frame="space", kind="steps"),
    ],
    "SinusoidalTorque": [ph.SinusoidalTorque((0.3, -1.2, 0.7), 2.1, 0.4)],
}

SPACE_VECTORS = {
    "ConstantSpaceTorque": ("vector",),
    "GravityGradient": ("direction",),
    "HeavyTop": ("down",),
    "MagneticDipole": ("field",),
    "Magnetorquers": ("field",),
    "OrbitalGravityGradient": ("normal", "towards"),
}
"""The fields that hold vectors of space. (The segments of PiecewiseTorque are another such field.)"""

UNEVEN = [SAMPLES["GravityGradient"][2], *SAMPLES["MagneticDipole"]]
"""The models whose potential changes with time otherwise than by turning."""

TIMES = (0.1, 0.9, 1.7, 2.2, 3.0)
"""Among them one in each segment of the piecewise torques, one before and one after."""

ALL = [pytest.param(model, id=f"{name}{i}") for name, models in SAMPLES.items() for i, model in enumerate(models)]
every_model = pytest.mark.parametrize("model", ALL)
every_model_with_a_potential = pytest.mark.parametrize(
    "model",
    [x for x in ALL if x.values[0].potential_kernel is not None],  # type: ignore[union-attr]
)
every_model_with_an_axis = pytest.mark.parametrize(
    "model",
    [x for x in ALL if x.values[0].axis is not None],  # type: ignore[union-attr]
)


def test_every_model_has_samples() -> None:
    assert set(SAMPLES) == set(catalogue())
    for name, models in SAMPLES.items():
        assert models
        assert all(type(model) is catalogue()[name] for model in models)


def test_every_model_is_public() -> None:
    for name, kind in catalogue().items():
        assert getattr(ph, name) is kind


# --- states and values ---------------------------------------------------------------------------------------------


def random_quaternion(rng: np.random.Generator) -> Quat:
    q = rng.normal(size=4)
    w, x, y, z = (q / math.sqrt(float(q @ q))).tolist()
    return (w, x, y, z)


def random_vector(rng: np.random.Generator) -> Vec3:
    x, y, z = rng.normal(size=3).tolist()
    return (x, y, z)


@cache
def states() -> list[tuple[float, Quat, Vec3]]:
    """Six states at each of the times."""
    rng = np.random.default_rng(2006)
    return [(t, random_quaternion(rng), random_vector(rng)) for t in TIMES for _ in range(6)]


@cache
def values(model: Torque) -> Any:
    return np.array(model.parameters(TILTED), dtype=np.float64)


def torque_at(model: Torque, t: float, q: Quat, w: Vec3) -> Any:
    return np.array(model.called(t, q, w, values(model), carried(model)), dtype=np.float64)


def carried(model: Torque) -> tuple[float, ...]:
    """Numbers for a model that carries some."""
    return (0.3, -0.2, 0.5, 0.1)[: len(model.state_names)]


def torques(model: Torque) -> Any:
    """One row a state."""
    return np.array([torque_at(model, *s) for s in states()])


def size(model: Torque) -> float:
    """The largest torque of the samples: what round-off is measured against."""
    return float(np.abs(torques(model)).max()) or 1.0


def slack(model: Torque, n: Any) -> float:
    """What a handful of roundings may do to the torque n, in the largest component.

    The wall has the slope 11 / (1.1 + z), at most 110: it amplifies the rounding of the height z.
    """
    if isinstance(model, ph.CoulombSoftWall):
        return 500 * EPS * float(np.abs(n).max())
    holder = getattr(model, "field", model)
    if getattr(holder, "orbit", None) is not None:
        # Position and velocity become elements and angles in degrees again: the size of the orbit is good to some
        # ten roundings, and so is the distance, of which the gradient is the third power.
        return 100 * EPS * size(model)
    return 10 * EPS * size(model)


def about(axis: Any, angle: float) -> Quat:
    x, y, z = (math.sin(angle / 2) * np.asarray(axis)).tolist()
    return (math.cos(angle / 2), x, y, z)


# --- the promises --------------------------------------------------------------------------------------------------


@every_model_with_a_potential
def test_potential_has_the_torque_for_its_gradient(model: Torque) -> None:
    """d/ds V(q exp(s e_i)) = -tau_i.

    Both kernels run on 40-digit numbers. A central difference with s = 1e-12 has a truncation error of s^2 V''' / 6,
    where V''' is at most 1e4 times the torque (at the wall): the identity must hold to 1e-20.
    """
    potential: Any = model.potential_kernel
    with mpmath.workdps(40):
        exact: Callable[[Any], Any] = np.vectorize(mpmath.mpf, otypes=[object])
        s, p = mpmath.mpf(10) ** -12, exact(values(model)) if values(model).size else values(model)
        for t, q, w in states():
            unit = tuple(exact(q) / mpmath.sqrt(sum(x * x for x in exact(q))))
            torque = model.torque_kernel(t, unit, w, p)
            for i in range(3):

                def displaced(step: Any, i: int = i, unit: Any = unit, t: float = t) -> Any:
                    turn = [mpmath.cos(step / 2), *([mpmath.mpf(0)] * 3)]
                    turn[1 + i] = mpmath.sin(step / 2)
                    return potential(t, multiply(unit, tuple(turn)), p)

                slope = (displaced(s) - displaced(-s)) / (2 * s)
                assert abs(slope + torque[i]) <= 1e-20 * (1 + max(map(abs, torque)))


@every_model
def test_a_potential_is_declared_just_where_there_is_one(model: Torque) -> None:
    """The work over a full turn vanishes if there is a potential; if there is none, not for every axis and attitude.

    The trapezoidal rule converges like rho^-n for a periodic function. The wall's pole, at a height of -1.1 and of
    order 11, gives rho = 1.56 at the worst: n = 200 points leave 1e-22. The other potentials are polynomials of the
    second degree in cosines, for which 24 points are more than enough.
    """
    n = 200 if isinstance(model, ph.CoulombSoftWall) else 24
    work, largest = 0.0, 0.0
    for t, q, w in states():
        for axis in np.eye(3):
            turn = [multiply(q, about(axis, 2 * math.pi * k / n)) for k in range(n)]
            along = np.array([torque_at(model, t, at, w) for at in turn]) @ axis
            work, largest = max(work, abs(float(along.mean()))), max(largest, float(np.abs(along).max()))
    if model.potential_kernel is not None:
        assert work <= 10 * EPS * largest
    else:
        assert work > 0.1 * largest


@every_model
def test_depends_is_true(model: Torque) -> None:
    later = any((torque_at(model, t, q, w) != torque_at(model, t + 1.0, q, w)).any() for t, q, w in states())
    faster = any((torque_at(model, t, q, w) != torque_at(model, t, q, (1.0, 2.0, 3.0))).any() for t, q, w in states())
    assert later == bool(model.depends & Depends.TIME)
    assert faster == bool(model.depends & Depends.RATE)
    assert (model.depends is Depends.NOTHING) == bool((torques(model) == 0).all())
    other = (0.5, -0.5, 0.5, 0.5)
    turned = any((torque_at(model, t, q, w) != torque_at(model, t, other, w)).any() for t, q, w in states())
    assert turned == model.reads_attitude
    if model.depends is not Depends.NOTHING:
        assert model.depends & Depends.POSITION  # also where the attitude is not read: see Depends
    if model.potential_kernel is not None and not model.depends & Depends.TIME:
        p = values(model)
        assert all(model.potential_kernel(t, q, p) == model.potential_kernel(t + 1.0, q, p) for t, q, _ in states())


@every_model
def test_turning_is_true(model: Torque) -> None:
    """A potential that turns at the rate n is the same later for a body that was turned with it."""
    moves = model.potential_kernel is not None and bool(model.depends & Depends.TIME)
    if model not in UNEVEN:
        assert (model.turning is not None) == moves
    if model.turning is not None:
        later, rate, p, potential = 0.7, math.hypot(*model.turning), values(model), model.potential_kernel
        assert potential is not None
        along = about(np.array(model.turning) / rate, rate * later)
        for t, q, _ in states():
            here, there = potential(t, q, p), potential(t + later, multiply(along, q), p)
            assert there == pytest.approx(here, abs=20 * EPS * size(model))


@every_model
def test_axis_is_true(model: Torque) -> None:
    """A direction n is an axis if space can be turned about it unnoticed and the torque has no component along it.

    Both conditions are linear in n, so the null space of one matrix holds all axes: the rows are the torques in space
    and, by a symmetric difference, the change of the torque with an infinitesimal turn of space.
    """
    if model.depends is Depends.NOTHING:
        assert model.axis is None  # all directions are: the solution knows
        return
    s, rows = 1e-5, []
    for t, q, w in states():
        rows.append(to_space(q, tuple(torque_at(model, t, q, w))))
        turned = [
            torque_at(model, t, multiply(about(e, s), q), w) - torque_at(model, t, multiply(about(e, -s), q), w)
            for e in np.eye(3)
        ]
        rows.extend(np.array(turned).T / (2 * s))
    matrix = np.array(rows)
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(min=1e-9 * size(model))  # all states count
    _, singular, directions = np.linalg.svd(matrix)
    if model.axis is None:
        assert singular[2] > 1
    else:
        assert singular[2] < 1e-8  # the difference: truncation of the order s^2 and rounding of the order EPS / s
        assert singular[1] > 1
        assert np.abs(np.cross(directions[2], model.axis)).max() < 1e-8
        assert math.hypot(*model.axis) == pytest.approx(1.0, abs=4 * EPS)


@every_model_with_an_axis
def test_turning_space_about_the_axis_changes_nothing(model: Torque) -> None:
    turn, p = about(model.axis, 1.234), values(model)
    potential = model.potential_kernel
    assert potential is not None or isinstance(model, ph.Facets | ph.Magnetorquers)
    for t, q, w in states():
        turned = multiply(turn, q)
        n = torque_at(model, t, q, w)
        np.testing.assert_allclose(torque_at(model, t, turned, w), n, rtol=0, atol=slack(model, n))
        if potential is None:
            continue
        v = potential(t, q, p)
        assert potential(t, turned, p) == pytest.approx(v, rel=0, abs=slack(model, v))


@every_model
def test_turning_space_with_the_model_in_it_changes_nothing(model: Torque) -> None:
    """The torque in body axes is the same if the attitude and all vectors of space are turned alike."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        turn = random_quaternion(rng)
        if isinstance(model, ph.CoulombSoftWall) or has_upright_field(model):  # walls and dipoles know up and down
            turn = about((0.0, 0.0, 1.0), 2.0)
        other = with_space_turned(model, turn)
        for t, q, w in states():
            n = torque_at(model, t, q, w)
            turned = torque_at(other, t, multiply(turn, q), w)
            np.testing.assert_allclose(turned, n, rtol=0, atol=slack(model, n))


def has_upright_field(model: Torque) -> bool:
    """Whether the axis of a planet matters."""
    field = isinstance(model, ph.MagneticDipole | ph.Magnetorquers) and isinstance(model.field, ph.environment.Field)
    return field or (isinstance(model, ph.Facets) and model.air_rate != 0.0)


def turned_vector(turn: Quat, value: Any) -> Any:
    """A vector of space, an orbit, a field or a table, turned."""
    if isinstance(value, ph.environment.Orbit):
        place, speed = (to_space(turn, tuple(x.tolist())) for x in (value.position(0.0), value.velocity(0.0)))
        return ph.environment.Orbit.from_state(place, speed, mu=value.mu, radius=value.radius)
    if isinstance(value, ph.environment.DipoleField):
        return replace(value, orbit=turned_vector(turn, value.orbit))
    if isinstance(value, ph.Table):
        return ph.Table(value.t, [to_space(turn, tuple(row)) for row in value.values.tolist()], frame=value.frame)
    return None if value is None else to_space(turn, value)


def with_space_turned(model: Torque, turn: Quat) -> Any:
    if isinstance(model, ph.GravityGradient) and model.orbit is not None:
        return ph.GravityGradient(orbit=turned_vector(turn, model.orbit))
    if isinstance(model, ph.Facets):
        other = replace(model, orbit=turned_vector(turn, model.orbit), sun=turned_vector(turn, model.sun))
        return other if model.span is None else other.for_span(*model.span)
    fields: dict[str, Any] = {k: turned_vector(turn, getattr(model, k)) for k in SPACE_VECTORS.get(model.name, ())}
    if isinstance(model, ph.ReactionWheels | ph.ControlMomentGyros):
        fields["target"] = multiply(turn, model.target)
    if isinstance(model, ph.PiecewiseTorque) and model.frame == "space":
        fields["segments"] = tuple((end, to_space(turn, vector)) for end, vector in model.segments)
    if isinstance(model, ph.Table) and model.frame == "space":
        fields["values"] = [to_space(turn, tuple(vector)) for vector in model.values]
    return replace(model, **fields)  # type: ignore[type-var]


@every_model
def test_breakpoints_are_the_jumps(model: Torque) -> None:
    """Just before and just after a breakpoint the torque differs, and it is steady everywhere else."""
    _, q, w = states()[0]
    grid = np.linspace(-1.0, 4.0, 5003)  # no breakpoint of a sample lies on it
    row = np.array([torque_at(model, t, q, w) for t in grid.tolist()])
    jumps = np.flatnonzero(np.abs(np.diff(row, axis=0)).max(axis=1) > 0.05 * size(model))
    assert [sum(grid[k] < b < grid[k + 1] for b in model.breakpoints) for k in jumps] == [1] * len(model.breakpoints)


def without_derivatives(kernel: Any, z: tuple[float, ...]) -> Any:
    """Returns a kernel that carries numbers as one that does not, for these numbers."""

    def torque(t: float, q: Quat, w: Vec3, p: Any) -> Any:
        return kernel(t, q, w, p, z)[0]

    return torque if z else kernel


def torque_rows(torque: Any) -> Callable[..., int]:
    def fill(values: Any, states: Any, out: Any, count: int, rows: int) -> int:
        p = view(values, count)
        for i in range(rows):
            k = 8 * i
            q = (states[k + 1], states[k + 2], states[k + 3], states[k + 4])
            n = torque(states[k], q, (states[k + 5], states[k + 6], states[k + 7]), p)
            out[3 * i] = n[0]
            out[3 * i + 1] = n[1]
            out[3 * i + 2] = n[2]
        return 0

    return fill


@every_model
def test_compiled_torque_is_the_python_torque(model: Torque) -> None:
    """They differ by fused operations only: a rounding here and there."""
    p = values(model)
    rows = np.array([[t, *q, *w] for t, q, w in states()])
    out = np.empty((len(rows), 3))
    kernel = without_derivatives(model.torque_kernel, carried(model))
    program(torque_rows(kernel), "pppii")(p, rows.reshape(-1), out.reshape(-1), p.size, len(rows))
    for n, compiled in zip(torques(model), out, strict=True):
        np.testing.assert_allclose(compiled, n, rtol=0, atol=slack(model, n))


@every_model
def test_a_model_is_a_value(model: Torque) -> None:
    """Equal fields make equal, hashable models; lists, as a scenario file has them, make the same model."""
    kind = type(model)
    fields = asdict(model)  # type: ignore[call-overload]
    assert kind(**fields) == model
    assert hash(kind(**fields)) == hash(model)
    plain = listed(fields)
    assert kind(**plain) == model
    assert hash(kind(**plain)) == hash(model)
    assert TypeAdapter(kind).validate_python(plain) == model
    with pytest.raises(ValueError, match="Unexpected keyword"):
        TypeAdapter(kind).validate_python({**plain, "unheard_of": 1.0})


def listed(value: Any) -> Any:
    """Tuples as lists."""
    if isinstance(value, dict):
        return {k: listed(v) for k, v in value.items()}
    return [listed(v) for v in value] if isinstance(value, tuple) else value
