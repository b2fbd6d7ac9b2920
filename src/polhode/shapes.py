"""Mass, centre of mass and inertia tensor of simple shapes, of meshes, and of bodies put together."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.files.atomic import AnyPath
from polhode.files.meshes import BadMesh, Mesh, read_mesh
from polhode.support import checks
from polhode.support.arrays import Floats, to_space

MOST_TRIANGLES = 5_000_000
"""The triangles of a mesh of which a body is made, at most."""


def of_spread(mass: float, spread: Floats, centre: Any = (0.0, 0.0, 0.0)) -> Body:
    """The body with this mass, and with the integral of r r^T dm about its centre of mass."""
    tensor = np.trace(spread) * np.eye(3) - spread
    if not np.linalg.eigvalsh(tensor)[0] > 1e-14 * np.trace(tensor):
        raise ValueError("all the mass lies on a line, or in a point: such a body has no moment of inertia about it")
    return with_mass(Body((tensor + tensor.T) / 2.0), mass, centre)


def with_mass(body: Body, mass: Any, centre: Any) -> Body:
    """A copy of a body that knows its mass and where its centre of mass is."""
    made = copy.copy(body)
    made.mass = None if mass is None else checks.number("mass", mass, positive=True)
    made.centre = np.array(checks.vector("centre", centre))
    made.centre.setflags(write=False)
    return made


def _sizes(name: str, value: Any, count: int) -> Floats:
    sizes = np.array(checks.numbers(name, value, count))
    if not (sizes > 0.0).all():
        raise ValueError(f"{name} must be positive, not {value!r}")
    return sizes


def box(mass: Any, sides: Any) -> Body:
    """See `Body.box`."""
    m = checks.number("mass", mass, positive=True)
    return of_spread(m, np.diag(m * _sizes("sides", sides, 3) ** 2 / 12.0))


def ellipsoid(mass: Any, semi_axes: Any) -> Body:
    """See `Body.ellipsoid`."""
    m = checks.number("mass", mass, positive=True)
    return of_spread(m, np.diag(m * _sizes("semi_axes", semi_axes, 3) ** 2 / 5.0))


def cylinder(mass: Any, radius: Any, height: Any, inner: Any) -> Body:
    """See `Body.cylinder`."""
    m = checks.number("mass", mass, positive=True)
    r, h = (float(_sizes(name, x, 1)[0]) for name, x in (("radius", [radius]), ("height", [height])))
    hole = checks.number("inner", inner)
    if not 0.0 <= hole <= r:
        raise ValueError(f"inner, the radius of the hole, must lie between 0 and the radius {r:g}, not at {hole:g}")
    across = m * (r * r + hole * hole) / 4.0
    return of_spread(m, np.diag([across, across, m * h * h / 12.0]))


def points(masses: Any, positions: Any) -> Body:
    """See `Body.points`."""
    shape = checks.shape_of("positions", positions)
    if len(shape) != 2 or shape[1] != 3:
        raise ValueError(f"positions must have a row of three for each point, not the shape {shape}")
    m = np.broadcast_to(checks.row("masses", masses), (shape[0],)) if np.size(masses) in (1, shape[0]) else None
    if m is None:
        raise ValueError(f"masses must be one number, or one for each of {shape[0]} points, not {np.size(masses)}")
    if not (m > 0.0).all():
        raise ValueError(f"masses must be positive, not {float(m.min()):g}")
    x = checks.array("positions", positions, shape)
    centre = m @ x / m.sum()
    away = x - centre
    return of_spread(float(m.sum()), (away.T * m) @ away, centre)


def joined(parts: tuple[Any, ...]) -> Body:
    """See `Body.sum`."""
    if not parts:
        raise ValueError("a sum of bodies needs at least one part")
    rows = []
    for k, part in enumerate(parts):
        if isinstance(part, Body):
            part.check_constant("a sum of bodies")
            if part.has_rotor:
                raise ValueError(f"part {k} has a rotor: give that to the sum, by with_rotor")
            if part.mass is None:
                raise ValueError(f"part {k}, {part!r}, has no mass: give it one by part.placed(centre, mass=...)")
            rows.append((part.mass, part.centre, np.trace(part.tensor) / 2.0 * np.eye(3) - part.tensor))
        elif isinstance(part, tuple) and len(part) == 2:
            m = checks.number(f"the mass of part {k}", part[0], positive=True)
            rows.append((m, np.array(checks.vector(f"the position of part {k}", part[1])), np.zeros((3, 3))))
        else:
            raise TypeError(f"a part must be a Body, or a point as (mass, position), not {part!r}")
    mass = sum(m for m, _, _ in rows)
    centre = np.sum([m * c for m, c, _ in rows], axis=0) / mass
    spread = np.sum([s + m * np.outer(c - centre, c - centre) for m, c, s in rows], axis=0)
    return of_spread(mass, spread, centre)


def placed(body: Body, centre: Any, attitude: Any, mass: Any) -> Body:
    """See `Body.placed`."""
    body.check_constant("a place")
    q = checks.quaternion("attitude", attitude)
    made = body
    if attitude is not None:
        R = to_space(np.asarray(q), np.eye(3)).T  # columns are the turned axes
        turned = R @ body.tensor @ R.T
        made = Body((turned + turned.T) / 2.0, name=body.name, allow_unphysical=not body.physical)
        made = made.with_rotor(R @ body.rotor) if body.has_rotor else made
    return with_mass(made, body.mass if mass is None else mass, centre)


def of_mesh(mesh: AnyPath | Mesh, mass: Any, density: Any, scale: Any) -> Body:
    """See `Body.from_mesh`."""
    if (mass is None) == (density is None):
        raise ValueError("give either mass or density, from which the other follows")
    name = "the mesh" if isinstance(mesh, Mesh) else str(mesh)
    given = mesh if isinstance(mesh, Mesh) else read_mesh(mesh, most=MOST_TRIANGLES)
    size = checks.number("scale", scale, positive=True)
    if (fault := given.opening()) is not None:
        raise BadMesh(f"{name} encloses no volume: {fault}")
    x = given.positions * size
    middle = x[given.triangles].reshape(-1, 3).mean(axis=0)
    corners = x[given.triangles] - middle
    # A tetrahedron of a triangle and the middle has the integral of x x^T as V/20 (sum c c^T + s s^T), s = sum c.
    six = np.linalg.det(corners)
    volume = float(six.sum()) / 6.0
    extent = float(np.ptp(x, axis=0).max())
    if not abs(volume) > 1e-12 * extent**3:
        raise BadMesh(f"{name} encloses no volume: it is flat")
    total = corners.sum(axis=1)
    centre = np.einsum("n,ni->i", six, total) / (24.0 * volume)
    moments = np.einsum("n,nki,nkj->ij", six, corners, corners) + np.einsum("n,ni,nj->ij", six, total, total)
    m = (
        checks.number("mass", mass, positive=True)
        if density is None
        else checks.number("density", density, positive=True) * abs(volume)
    )
    spread = m * (moments / (120.0 * volume) - np.outer(centre, centre))
    return of_spread(m, (spread + spread.T) / 2.0, middle + centre)
