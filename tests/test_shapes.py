"""Bodies of shapes, sums and meshes, against integrals that are computed in other ways."""

import struct
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.files.meshes import BadMesh, Mesh, read_mesh
from tests.files.test_meshes import CORNERS, TRIANGLES, binary, obj

TURN = Rotation.from_rotvec([0.3, -1.1, 0.7])


def by_quadrature(corners: Any, density: float) -> tuple[float, Any, Any]:
    """Mass, centre and tensor about it of a tetrahedron, by Gauss points in a cube that is mapped onto it."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    size = abs(np.linalg.det(corners[1:] - corners[0]))
    for (a, u), (b, v), (c, w) in product(zip(nodes, weights, strict=True), repeat=3):
        one, two, three = np.diff(corners, axis=0)
        x = corners[0] + a * (one + b * (two + c * three))
        dm = density * size * u * v * w * a * a * b
        mass, first, second = mass + dm, first + dm * x, second + dm * np.outer(x, x)
    centre = first / mass
    spread = second - mass * np.outer(centre, centre)
    return mass, centre, np.trace(spread) * np.eye(3) - spread


def torus(n: int) -> Mesh:
    u, v = (k.reshape(-1) * 2.0 * np.pi / n for k in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    x = np.stack([(2.0 + 0.5 * np.cos(v)) * np.cos(u), (2.0 + 0.5 * np.cos(v)) * np.sin(u), 0.5 * np.sin(v)], axis=1)

    def at(i: int, j: int) -> int:
        return (i % n) * n + j % n

    faces = [
        t for i in range(n) for j in range(n)
        for t in ((at(i, j), at(i + 1, j), at(i + 1, j + 1)), (at(i, j), at(i + 1, j + 1), at(i, j + 1)))
    ]  # fmt: skip
    return Mesh(x, np.array(faces))


def test_a_tetrahedron_is_exact() -> None:
    rng = np.random.default_rng(4)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    for _ in range(5):
        corners = rng.normal(size=(4, 3)) + 10.0 * rng.normal(size=3)
        mass, centre, tensor = by_quadrature(corners, 3.0)
        for mesh in (Mesh(corners, faces), Mesh(corners, faces[:, ::-1])):  # inside out is no other body
            body = ph.Body.from_mesh(mesh, density=3.0)
            assert body.mass == pytest.approx(mass, rel=1e-12)
            np.testing.assert_allclose(body.centre, centre, rtol=1e-12)
            np.testing.assert_allclose(body.tensor, tensor, atol=1e-12 * np.abs(tensor).max())


def test_a_torus_comes_nearer_by_the_square_of_its_parts() -> None:
    across, along = 2.0**2 / 2.0 + 5.0 / 8.0 * 0.25, 2.0**2 + 0.75 * 0.25
    errors = []
    for n in (24, 48):
        found = ph.Body.from_mesh(torus(n), mass=1.0).moments
        errors.append(np.abs(found / [across, across, along] - 1.0).max())
    assert 3.7 < errors[0] / errors[1] < 4.3
    assert errors[1] < 5e-3


def ply(path: Path, order: str) -> Path:
    """The box with quadrilaterals and properties that nobody asked for."""
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    name = {"a": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = (
        f"ply\nformat {name} 1.0\ncomment a box\nelement vertex 8\nproperty double x\nproperty float quality\n"
        "property double y\nproperty double z\nelement face 6\nproperty uchar red\n"
        "property list uchar int vertex_indices\nend_header\n"
    ).encode()
    if order == "a":
        lines = [f"{x} 0.5 {y} {z}" for x, y, z in CORNERS] + [f"7 4 {' '.join(map(str, q))}" for q in quads]
        path.write_bytes(head + "\n".join(lines).encode())
    else:
        body = b"".join(struct.pack(f"{order}dfdd", x, 0.5, y, z) for x, y, z in CORNERS)
        path.write_bytes(head + body + b"".join(struct.pack(f"{order}BB4i", 7, 4, *q) for q in quads))
    return path


@pytest.mark.parametrize("kind", ["stl", "obj", "a", "<", ">"])
def test_a_box_from_files(kind: str, tmp_path: Path) -> None:
    path = {"stl": lambda: binary(tmp_path / "box.stl"), "obj": lambda: obj(tmp_path / "box.obj")}.get(
        kind, lambda: ply(tmp_path / "box.ply", kind)
    )()
    body = ph.Body.from_mesh(path, density=500.0, scale=0.1)
    box = ph.Body.box(1.0, [0.2, 0.1, 0.1])
    assert body.mass == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(body.centre, [0.2, 0.05, 0.05], rtol=1e-12)
    np.testing.assert_allclose(body.tensor, box.tensor, atol=1e-14)


def test_shapes_are_sums_of_small_parts() -> None:
    n = 20
    grid = (np.arange(n) + 0.5) / n - 0.5
    x = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    whole, cell = ph.Body.box(6.0, [1, 2, 3]), ph.Body.box(6.0 / n**3, np.array([1, 2, 3]) / n)
    parts = ph.Body.sum(*(cell.placed(p * [1, 2, 3]) for p in x[::1]))
    np.testing.assert_allclose(parts.tensor, whole.tensor, atol=1e-12)
    rng = np.random.default_rng(1)
    ball = rng.normal(size=(200_000, 3))
    ball *= (rng.random(len(ball)) ** (1 / 3) / np.linalg.norm(ball, axis=1))[:, None]
    drawn = ph.Body.points(2.0 / len(ball), ball * [1.0, 2.0, 0.5])
    np.testing.assert_allclose(drawn.tensor, ph.Body.ellipsoid(2.0, [1.0, 2.0, 0.5]).tensor, atol=1e-2)
    solid, hole = ph.Body.cylinder(4.0, 1.0, 3.0), ph.Body.cylinder(1.0, 0.5, 3.0)
    tube = ph.Body.cylinder(3.0, 1.0, 3.0, inner=0.5)
    np.testing.assert_allclose(ph.Body.sum(tube, hole).tensor, solid.tensor, rtol=1e-14)


def test_places_and_turns() -> None:
    rng = np.random.default_rng(2)
    x, m = rng.normal(size=(7, 3)), rng.uniform(0.5, 2.0, 7)
    y, k = rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5)
    a, b = ph.Body.points(m, x), ph.Body.points(k, y)
    shift = np.array([3.0, -1.0, 2.0])
    moved = b.placed(shift, TURN)
    together = ph.Body.points([*m, *k], np.vstack([x, TURN.apply(y - b.centre) + shift]))
    both = ph.Body.sum(a, moved)
    np.testing.assert_allclose(both.tensor, together.tensor, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(both.centre, together.centre, rtol=1e-12)
    with_points = ph.Body.sum(a, *zip(k.tolist(), (TURN.apply(y - b.centre) + shift).tolist(), strict=True))
    np.testing.assert_allclose(with_points.tensor, together.tensor, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.with_rotor([1, 2, 3]).placed(attitude=TURN).rotor, TURN.apply([1, 2, 3]), rtol=1e-14)
    assert ph.Body([1, 2, 2.8]).placed(mass=3.0).mass == 3.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ph.Body.box(1.0, [1, 0, 2]), "sides must be positive, not [1, 0, 2]"),
        (lambda: ph.Body.box(-1.0, [1, 1, 2]), "mass must be positive, not -1"),
        (lambda: ph.Body.cylinder(1.0, 1.0, 2.0, inner=1.5), "must lie between 0 and the radius 1, not at 1.5"),
        (lambda: ph.Body.points([1, 2], [[0, 0, 0], [1, 1, 1]]), "all the mass lies on a line"),
        (lambda: ph.Body.points([1, 2], [[0, 0, 0], [1, 1, 1], [2, 0, 0]]), "one for each of 3 points, not 2"),
        (lambda: ph.Body.points(1, [0, 0, 0]), "a row of three for each point, not the shape (3,)"),
        (lambda: ph.Body.sum(ph.Body([1, 2, 2.8])), "has no mass: give it one by part.placed(centre, mass=...)"),
        (lambda: ph.Body.sum([1, 2]), "a point as (mass, position), not [1, 2]"),
        (lambda: ph.Body.sum(), "at least one part"),
        (lambda: ph.Body.from_mesh(torus(5)), "give either mass or density"),
        (lambda: ph.Body.from_mesh(Mesh(CORNERS, np.array(TRIANGLES[:-1])), mass=1), "3 edges have a triangle on one"),
        (
            lambda: ph.Body.from_mesh(Mesh(CORNERS, np.array([*TRIANGLES[:-1], TRIANGLES[-1][::-1]])), mass=1),
            "triangles do not agree on which side is outside",
        ),
        (lambda: ph.Body.from_mesh(Mesh(CORNERS, np.array([[0, 1, 2], [0, 2, 1]])), mass=1), "it is flat"),
    ],
)  # fmt: skip
def test_bad_input(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert words in str(caught.value)


def test_damaged_ply_files(tmp_path: Path) -> None:
    for order in "a<>":
        path = ply(tmp_path / "box.ply", order)
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(BadMesh, match="cut short or damaged"):
            read_mesh(path)
    path.write_bytes(b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n")
    with pytest.raises(BadMesh, match="has no end_header"):
        read_mesh(path)
    ply(path, "a").write_text(path.read_text().replace("1 5 7 3", "1 5 8 3"))
    with pytest.raises(BadMesh, match="a face with the corner 8, but only 8 corners"):
        read_mesh(path)
