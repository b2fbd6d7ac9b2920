"""Meshes from STL and OBJ files."""

import struct
from pathlib import Path

import numpy as np
import pytest

from polhode.files.meshes import BadMesh, Mesh, read_mesh

CORNERS = np.array([[x, y, z] for x in (1.0, 3.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
"""A box of 2 x 1 x 1 about (2, 0.5, 0.5)."""
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))]


def binary(path: Path, count: int | None = None) -> Path:
    facets = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[list(t)].reshape(-1), 0) for t in TRIANGLES)
    header = b"solid, says this binary file".ljust(80)
    path.write_bytes(header + struct.pack("<I", len(TRIANGLES) if count is None else count) + facets)
    return path


def text(path: Path, *, lines: int | None = None) -> Path:
    made = ["solid box"]
    for t in TRIANGLES:
        corners = [f"      vertex {x:e} {y:e} {z:e}" for x, y, z in CORNERS[list(t)]]
        made += ["  facet normal 0 0 0", "    outer loop", *corners, "    endloop", "  endfacet"]
    path.write_text("\n".join([*made, "endsolid box"][:lines]))
    return path


def obj(path: Path) -> Path:
    made = ["# a box", "mtllib none.mtl", *(f"v {x} {y} {z}" for x, y, z in CORNERS), "vn 0 0 1"]
    made += ["f " + " ".join(f"{k + 1}//1" if n % 2 else str(k - 8) for k in face) for n, face in enumerate(FACES)]
    path.write_text("\n".join(made))
    return path


@pytest.mark.parametrize("write", [binary, text, obj])
def test_the_three_formats_hold_the_same_box(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    mesh = read_mesh(write(tmp_path / ("box.obj" if write is obj else "box.STL")))
    assert mesh.triangles.shape == (12, 3)
    assert len(mesh.positions) == 8  # corners are shared
    volume = np.linalg.det(mesh.positions[mesh.triangles]).sum() / 6
    assert abs(volume) == pytest.approx(2.0, rel=1e-6)
    scaled = mesh.about().positions
    assert scaled.max(axis=0) == pytest.approx([1.0, 0.5, 0.5])
    assert scaled.min(axis=0) == pytest.approx([-1.0, -0.5, -0.5])


def test_centres() -> None:
    mesh = Mesh(CORNERS, np.array(TRIANGLES))
    assert mesh.about("origin").positions.max(axis=0) == pytest.approx([1.0, 1 / 3, 1 / 3])
    assert mesh.about((3.0, 0.0, 0.0)).positions.min(axis=0) == pytest.approx([-1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="there is no centre of a mesh 'middle'"):
        mesh.about("middle")
    fine = Mesh(np.vstack([CORNERS, CORNERS[0] + 0.1 * (CORNERS[3] - CORNERS[0])]), np.array(TRIANGLES))
    assert fine.about().positions[:8] == pytest.approx(mesh.about().positions)  # corners that no triangle has
    plate = Mesh(CORNERS, np.array(TRIANGLES[:2]))  # an open surface: the face x = 1
    assert plate.about().positions[:4, 0] == pytest.approx(np.zeros(4))


def test_the_centre_of_a_volume_is_that_of_a_solid() -> None:
    """A tetrahedron with its corner at the origin: its centre is the mean of the corners."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype=float)
    mesh = Mesh(corners, np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]))
    assert mesh._centre_of_volume() == pytest.approx([0.25, 0.5, 0.75])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", b"", "neither a text that begins with 'solid' nor a header"),
        ("a.stl", b"\x89PNG" + bytes(200), "is cut short or damaged|holds no triangle"),
        ("a.stl", b"solid empty\nendsolid", "holds no triangle"),
        ("a.stl", b"solid x\nvertex 1 2 z\n", r"line 2: a corner is three numbers, not 'vertex 1 2 z'"),
        ("a.stl", b"solid x\nvertex 1 2 3\nendloop", "line 3: a facet has other than three corners"),
        ("a.stl", b"solid x\nvertex 1 2 3\n", "its last triangle has 1 of three corners"),
        ("a.stl", b"solid x\n" + b"vertex 1 2 3\n" * 3, "all its corners are the same point"),
        ("a.stl", b"solid x\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 nan 0\n", "a corner that is no point"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2\n", "line 3: a face has 2 corners"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 9\n", "the corner 9, but only 2 corners"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 0\n", "there is no corner 0"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 x\n", "'x' is no corner"),
        ("a.obj", b"v 0 0\n", "line 1: a corner is three numbers"),
        ("a.obj", b"# nothing", "holds no triangle"),
        ("a.off", b"OFF", "give an STL, an OBJ or a PLY file"),
        ("a.ply", b"ply", "it does not begin with .ply., or has no end_header"),
    ],
)
def test_broken_meshes_are_a_sentence_each(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadMesh, match=words):
        read_mesh(tmp_path / name)


def test_a_binary_file_that_is_cut_short(tmp_path: Path) -> None:
    with pytest.raises(BadMesh, match="states 13 triangles, which take 734 bytes, but has 684"):
        read_mesh(binary(tmp_path / "cut.stl", 13))


def test_large_meshes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polhode.files.meshes.MOST_TRIANGLES", 11)
    with pytest.raises(BadMesh, match="12 triangles, and a page shows 11: simplify"):
        read_mesh(binary(tmp_path / "box.stl"))
    monkeypatch.setattr("polhode.files.meshes.MOST_BYTES", 100)
    with pytest.raises(BadMesh, match="simplify"):
        read_mesh(tmp_path / "box.stl")
