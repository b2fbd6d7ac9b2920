"""Meshes of triangles, for pictures and for bodies, from STL files (text and binary), OBJ files and PLY files.

The formats are a few lines each, so they are read here, with errors that say what is wrong with which line, rather
than by a library that knows thirty others.
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polhode.files.atomic import AnyPath
from polhode.files.netcdf import BadFile
from polhode.support import checks
from polhode.support.arrays import Floats

MOST_TRIANGLES = 200_000
"""The triangles of a mesh, at most: they take 5 MB in a page, and a phone still turns them."""
MOST_BYTES = 2**28
"""The size of a file, at most: a text of this many triangles is smaller."""
STL_HEADER, STL_TRIANGLE = 84, 50
"""The bytes of a binary STL file before the triangles, with their number at the end, and of each triangle."""
FARTHEST = 1e100
"""Coordinates are smaller, and extents are larger than one over this, so that a volume is a number."""


class BadMesh(BadFile):
    """The file holds no mesh that can be shown."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface of triangles, in body axes."""

    positions: Floats
    """The corners, (corners, 3)."""
    triangles: NDArray[np.int64]
    """The numbers of the three corners of each triangle, (triangles, 3)."""

    def about(self, centre: Any = "volume") -> Mesh:
        """The mesh with the centre of mass as its origin, and as large as fits into a cube from -1 to 1.

        The centre is "volume", that of a uniform solid with this surface; "origin", that of the file; or a point.
        """
        if isinstance(centre, str):
            kind = checks.choice("centre of a mesh", centre, ("volume", "origin"))
            middle = self._centre_of_volume() if kind == "volume" else np.zeros(3)
        else:
            middle = np.array(checks.vector("mesh_centre", centre))
        moved = self.positions - middle
        return Mesh(moved / float(np.abs(moved).max()), self.triangles)

    def _centre_of_volume(self) -> Floats:
        """The centre of the enclosed volume; of a surface that encloses none, that of the surface."""
        middle = self.positions.mean(axis=0)
        a, b, c = np.moveaxis(self.positions[self.triangles] - middle, 1, 0)
        normal = np.cross(b - a, c - a)
        area = np.sqrt((normal**2).sum(axis=1))
        volume = (a * normal).sum(axis=1)  # six times that of the tetrahedron with the middle
        size = float(np.ptp(self.positions, axis=0).max())
        if self.opening() is None and abs(float(volume.sum())) > 1e-9 * size**3:
            offset = (volume[:, None] * (a + b + c) / 4.0).sum(axis=0) / volume.sum()
        else:
            offset = (area[:, None] * (a + b + c) / 3.0).sum(axis=0) / (area.sum() or 1.0)  # 0: of lines and points
        found: Floats = middle + offset
        return found

    def opening(self) -> str | None:
        """Where the surface is open, or its triangles disagree on what is outside; None: it is closed.

        It is if every edge belongs to as many triangles that run along it one way as the other.
        """
        _, corner = np.unique(self.positions, axis=0, return_inverse=True)
        t = corner.reshape(-1)[self.triangles]
        edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
        many = int(t.max()) + 1
        key, back = edges[:, 0] * many + edges[:, 1], edges[:, 1] * many + edges[:, 0]
        if np.array_equal(np.sort(key), np.sort(back)):
            return None
        sides, count = np.unique(np.concatenate([key, back]), return_counts=True)
        single = np.isin(key, sides[count == 1])
        lonely = single if single.any() else ~np.isin(key, back)
        place = self.positions[self.triangles.T.reshape(-1)[int(np.argmax(lonely))]]
        at = f"near ({', '.join(f'{x:.4g}' for x in place)})"
        if single.any():
            return f"{int(single.sum())} edges have a triangle on one side only, the first {at}: close these holes"
        return f"triangles do not agree on which side is outside, the first {at}: make all run counterclockwise"

    def data(self) -> dict[str, str]:
        """The mesh as the page takes it."""
        coded = (self.positions.astype("<f4"), self.triangles.astype("<u4"))
        texts = (base64.b64encode(np.ascontiguousarray(x).tobytes()).decode("ascii") for x in coded)
        return dict(zip(("positions", "indices"), texts, strict=True))


def read_mesh(path: AnyPath, *, most: int | None = None) -> Mesh:
    """Reads a mesh of at most so many triangles from a file whose name ends in .stl, .obj or .ply."""
    ending = Path(path).suffix.lower()
    if ending not in (".stl", ".obj", ".ply"):
        raise BadMesh(
            f"{os.fspath(path)} is no mesh that can be read: give an STL, an OBJ or a PLY file (.stl, .obj, .ply)"
        )
    if (size := os.stat(path).st_size) > MOST_BYTES:
        raise BadMesh(
            f"{os.fspath(path)} has {size / 2**20:.0f} MiB, and a mesh may have {MOST_BYTES >> 20}: simplify it"
        )
    raw = Path(path).read_bytes()
    shown = os.fspath(path)
    if ending != ".stl":
        return _checked(shown, *(_obj if ending == ".obj" else _ply)(shown, raw), most)
    corners = _binary_stl(shown, raw)
    if corners is None:
        corners = _text_stl(shown, raw)
    positions, place = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return _checked(shown, positions, place.reshape(-1, 3), most)


def _checked(path: str, positions: Floats, triangles: NDArray[np.int64], most: int | None) -> Mesh:
    if len(triangles) == 0:
        raise BadMesh(f"{path} holds no triangle")
    if len(triangles) > (most or MOST_TRIANGLES):
        limit = f"a page shows {MOST_TRIANGLES:,}" if most is None else f"at most {most:,} are read"
        raise BadMesh(f"{path} has {len(triangles):,} triangles, and {limit}: simplify the mesh")
    if not np.isfinite(positions).all():
        bad = int(np.argmax(~np.isfinite(positions).all(axis=1)))
        raise BadMesh(f"{path} has a corner that is no point: ({', '.join(f'{x:g}' for x in positions[bad])})")
    used = positions[np.unique(triangles)]
    if not np.ptp(used, axis=0).max() > 0.0:
        raise BadMesh(f"{path} has no extent: all its corners are the same point")
    farthest, extent = float(np.abs(used).max()), float(np.ptp(used, axis=0).max())
    if not (farthest < FARTHEST and extent > 1.0 / FARTHEST):
        raise BadMesh(
            f"{path} extends over {extent:.3g}, up to {farthest:.3g} from the origin: give it in a unit in which both "
            f"are between {1.0 / FARTHEST:g} and {FARTHEST:g}"
        )
    return Mesh(positions, triangles.astype(np.int64))


def _binary_stl(path: str, raw: bytes) -> Floats | None:
    """The corners of a binary file, (triangles, 3, 3); None: it is a text."""
    if len(raw) >= STL_HEADER:
        (count,) = struct.unpack("<I", raw[80:84])
        if len(raw) == STL_HEADER + STL_TRIANGLE * count:
            kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
            return np.asarray(np.frombuffer(raw, kind, count, STL_HEADER)["corners"], dtype=np.float64)
    if raw[:5].lower() == b"solid" and b"\0" not in raw:
        return None
    if len(raw) < STL_HEADER:
        raise BadMesh(
            f"{path} is no STL file: it has {len(raw)} bytes, neither a text that begins with 'solid' nor a header"
        )
    needed = STL_HEADER + STL_TRIANGLE * count
    raise BadMesh(
        f"{path} is cut short or damaged: it states {count:,} triangles, which take {needed:,} bytes, but has "
        f"{len(raw):,}"
    )


def _text_stl(path: str, raw: bytes) -> Floats:
    """The corners of a text file, (triangles, 3, 3)."""
    corners: list[list[float]] = []
    for number, words in _lines(raw):
        if words[0] == "vertex":
            corners.append(_point(path, number, words))
        elif words[0] == "endloop" and len(corners) % 3:
            raise BadMesh(f"{path}, line {number}: a facet has other than three corners")
    if len(corners) % 3:
        raise BadMesh(f"{path} is cut short: its last triangle has {len(corners) % 3} of three corners")
    return np.array(corners).reshape(-1, 3, 3)


def _obj(path: str, raw: bytes) -> tuple[Floats, NDArray[np.int64]]:
    """Corners and triangles of an OBJ file; faces of more corners become triangles."""
    corners: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, words in _lines(raw):
        if words[0] == "v":
            corners.append(_point(path, number, words[:4]))
        elif words[0] == "f":
            face = [_corner(path, number, word, len(corners)) for word in words[1:]]
            if len(face) < 3:
                raise BadMesh(f"{path}, line {number}: a face has {len(face)} corners, and needs three")
            triangles += [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]
    return _indexed(path, np.array(corners).reshape(-1, 3), triangles, 1)


def _indexed(
    path: str, corners: Floats, triangles: list[tuple[int, int, int]], first: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Corners and triangles, whose numbers must be those of corners; a file counts them from `first` on."""
    made = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    wrong = (made < 0) | (made >= len(corners))
    if wrong.any():
        raise BadMesh(
            f"{path} has a face with the corner {int(made[wrong][0]) + first}, but only {len(corners)} corners"
        )
    return corners, made


PLY_KINDS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
"""The numbers of PLY files, as NumPy has them."""


def _ply(path: str, raw: bytes) -> tuple[Floats, NDArray[np.int64]]:
    """Corners and triangles of a PLY file, text or binary; faces of more corners become triangles."""
    head, found, body = raw.partition(b"end_header")
    order, elements = "", list[tuple[str, int, list[list[str]]]]()
    if not found or head[:3] != b"ply":
        raise BadMesh(f"{path} is no PLY file: it does not begin with 'ply', or has no end_header")
    try:
        for _, words in _lines(head[3:]):
            if words[0] == "format":
                order = {"ascii": "a", "binary_little_endian": "<", "binary_big_endian": ">"}[words[1]]
            elif words[0] == "element":
                elements.append((words[1], int(words[2]), []))
            elif words[0] == "property":
                elements[-1][2].append([*(PLY_KINDS[kind] for kind in words[1:-1] if kind != "list"), words[-1]])
        numbers = _Numbers(body, order)
        corners, triangles = np.zeros((0, 3)), list[tuple[int, int, int]]()
        for name, count, properties in elements:
            if name == "vertex" and all(len(p) == 2 for p in properties):
                values = numbers.take([p[0] for p in properties], count)
                columns = dict(zip((p[1] for p in properties), values, strict=True))
                corners = np.stack([columns[axis] for axis in "xyz"], axis=1)
                continue
            for _ in range(count):
                for p in properties:
                    size = 1 if len(p) == 2 else int(numbers.take(p[:1], 1)[0, 0])
                    numbers_of_corners = numbers.take([p[-2]], size)[0]
                    if name == "face" and p[-1] in ("vertex_indices", "vertex_index"):
                        face = [int(k) for k in numbers_of_corners]
                        triangles += [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]
    except (KeyError, IndexError, ValueError):
        raise BadMesh(f"{path} is cut short or damaged: its numbers are not those that its header states") from None
    return _indexed(path, corners, triangles, 0)


class _Numbers:
    """The numbers of a PLY file after its header, one after the other."""

    def __init__(self, body: bytes, order: str) -> None:
        self.words = body.split() if order == "a" else None
        self.body, self.order, self.place = body.partition(b"\n")[2], order, 0

    def take(self, kinds: list[str], count: int) -> Floats:
        """The next rows of numbers of these kinds, as columns."""
        if self.words is not None:
            first, self.place = self.place, self.place + count * len(kinds)
            return np.array(list(map(float, self.words[first : self.place]))).reshape(count, len(kinds)).T
        row = np.dtype([(f"f{k}", self.order + kind) for k, kind in enumerate(kinds)])
        found = np.frombuffer(self.body, row, count, self.place)
        self.place += row.itemsize * count
        return np.array([found[f"f{k}"].astype(np.float64) for k in range(len(kinds))])


def _lines(raw: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yields the lines that are not empty, with their numbers, as words."""
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if words:
            yield number, [words[0].lower(), *words[1:]]


def _point(path: str, number: int, words: list[str]) -> list[float]:
    try:
        x, y, z = (float(w) for w in words[1:])
    except ValueError:
        shown = " ".join(words)[:60]
        raise BadMesh(f"{path}, line {number}: a corner is three numbers, not {shown!r}") from None
    return [x, y, z]


def _corner(path: str, number: int, word: str, known: int) -> int:
    """The number of a corner from 0 on; negative ones count back from the last, words are v/vt/vn."""
    try:
        k = int(word.split("/", 1)[0])
    except ValueError:
        raise BadMesh(f"{path}, line {number}: {word[:30]!r} is no corner of a face") from None
    place = k - 1 if k > 0 else known + k
    if k == 0 or place < 0:
        raise BadMesh(f"{path}, line {number}: there is no corner {k}")
    return place
