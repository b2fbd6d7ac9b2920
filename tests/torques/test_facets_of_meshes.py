"""Sunlight on the triangles of a mesh, against plates and against sums that NumPy makes."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.files.meshes import Mesh
from tests.files.test_meshes import CORNERS, TRIANGLES

BOX = Mesh(CORNERS, np.array(TRIANGLES))
OCTAHEDRON = Mesh(
    np.array([[1.0, 0, 0], [0, 0.7, 0], [-1.0, 0, 0], [0, -0.7, 0], [0, 0, 0.5], [0, 0, -0.5]]),
    np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4], [1, 0, 5], [2, 1, 5], [3, 2, 5], [0, 3, 5]]),
)


def on(torque: Any, body: ph.Body, turn: Any) -> Any:
    q = tuple(turn.as_quat(scalar_first=True).tolist())
    return np.array(torque.called(0.0, q, (0.0, 0.0, 0.0), np.array(list(torque.parameters(body)))))


def test_a_box_is_six_plates() -> None:
    body = ph.Body.from_mesh(BOX, mass=1.0)
    given: dict[str, Any] = {"sun": (0.3, -0.5, 0.9), "diffuse": 0.4, "specular": 0.2, "pressure": 1.0}
    centre = np.array([0.1, 0.2, -0.1])
    mesh = ph.Facets.from_mesh(BOX, centre=[2.1, 0.7, 0.4], **given)
    sides = np.array([2.0, 1.0, 1.0])
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    areas, centres = np.tile([1.0, 2.0, 2.0], 2), normals * sides / 2.0 - centre
    plates = ph.Facets(areas.tolist(), normals.tolist(), centres.tolist(), **given)
    for turn in Rotation.random(10, 3):
        np.testing.assert_allclose(on(mesh, body, turn), on(plates, body, turn), atol=1e-14)


def test_the_mean_torque_of_heat_that_is_given_back_at_once() -> None:
    """The sum over lit triangles of -(2/3) A cos(i) c x n, over a spin and a year; none of a body with a centre."""
    rng = np.random.default_rng(1)
    for lumpy in (False, True):
        mesh = Mesh(OCTAHEDRON.positions * (1.0 + lumpy * rng.uniform(-0.3, 0.3, (6, 1))), OCTAHEDRON.triangles)
        body = ph.Body.from_mesh(mesh, density=1.0)
        a, b, c = np.moveaxis(mesh.positions[mesh.triangles] - body.centre, 1, 0)
        cross = np.cross(b - a, c - a) / 2.0
        total, expected = np.zeros(3), np.zeros(3)
        for longitude in np.arange(10) * np.pi / 5:
            sun = np.array([np.cos(longitude), 0.8 * np.sin(longitude), 0.6 * np.sin(longitude)])
            torque = ph.Facets.from_mesh(mesh, centre=body.centre, sun=sun, diffuse=1.0, pressure=1.0)
            for angle in np.arange(36) * np.pi / 18:
                turn = Rotation.from_rotvec([0.0, 0.0, angle])
                total += on(torque, body, turn) / 360.0
                lit = np.maximum(cross @ turn.inv().apply(sun), 0.0)  # A cos(i)
                normal = cross / np.linalg.norm(cross, axis=1)[:, None]
                force = -lit[:, None] * (turn.inv().apply(sun) + 2.0 / 3.0 * normal)
                expected += np.cross((a + b + c) / 3.0, force).sum(axis=0) / 360.0
        np.testing.assert_allclose(total, expected, atol=1e-14)
        assert (abs(total[2]) > 1e-5) == lumpy
        assert lumpy or np.abs(total).max() < 1e-14


def test_bad_meshes() -> None:
    with pytest.raises(ValueError, match="scale must be positive, not 0"):
        ph.Facets.from_mesh(BOX, scale=0.0, sun=(1, 0, 0))
    with pytest.raises(ValueError, match="give density for drag, sun for sunlight"):
        ph.Facets.from_mesh(BOX)
