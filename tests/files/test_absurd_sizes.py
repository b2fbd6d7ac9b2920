"""Small files that state absurd sizes, depths or numbers: each reader refuses them, and names the file."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import polhode as ph
from polhode.files import tables
from polhode.files.meshes import read_mesh
from polhode.fitting.data import _fields
from polhode.referee.reading import read_log

AEM = """CCSDS_AEM_VERS = 2.0
CREATION_DATE = 2020-01-01T00:00:00
ORIGINATOR = X
META_START
OBJECT_NAME = A
OBJECT_ID = A
REF_FRAME_A = J2000
REF_FRAME_B = SC_BODY_1
TIME_SYSTEM = UTC
START_TIME = 2020-01-01T00:00:00
STOP_TIME = 2020-01-01T00:00:10
ATTITUDE_TYPE = QUATERNION
INTERPOLATION_METHOD = LAGRANGE
INTERPOLATION_DEGREE = {degree}
META_STOP
DATA_START
2020-01-01T00:00:00 0 0 0 1
2020-01-01T00:00:10 0 0 0 1
DATA_STOP
"""


def npz(path: Path, shape: tuple[int, ...], size: int = 0) -> Path:
    """Writes an .npz whose array states a shape, and has this number of bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.npy", head.getvalue() + bytes(size))
    return path


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(path: Path) -> Path:
    """Writes a table of four million equal rows, which takes a few kilobytes."""
    pandas.DataFrame({"t": np.zeros(2**22)}).to_parquet(path)
    assert path.stat().st_size < 2**16
    return path


def history(path: Path) -> Any:
    return read_log(path)


def data(path: Path) -> Any:
    return _fields(path, None)


def mesh(path: Path) -> Any:
    return read_mesh(path).about()


CASES: list[tuple[Callable[[Path], Any], str, Callable[[Path], Path], str]] = [
    *((read, "a.npz", lambda path: npz(path, (10**18,)), "states more numbers than fit into memory")
      for read in (history, data)),
    *((read, "b.npz", lambda path: npz(path, (2**21,), 2**24), r"states 0.0156 GiB of numbers, and 0 GiB are read")
      for read in (history, data)),
    *((read, "c.parquet", parquet, r"states 0.0312 GiB of numbers") for read in (history, data)),
    *((read, "d.parquet", lambda path: text(path, b"PAR1" + b"\x7f" * 99 + b"PAR1"), "cut short or damaged")
      for read in (history, data)),
    (mesh, "e.stl", lambda path: text(path, bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50)), "states 4,294,967"),
    (mesh, "f.obj", lambda path: text(path, "v 0 0 0\nv 1e308 0 -1e308\nv 0 1e308 0\nf 1 2 3\n"), "in a unit in which"),
    (mesh, "g.obj", lambda path: text(path, "v 0 0 0\nv 1e-200 0 0\nv 0 1e-200 0\nf 1 2 3\n"), "in a unit in which"),
    (mesh, "h.obj", lambda path: text(path, f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {'9' * 5000}\n"), "line 4"),
    (ph.read_aem, "i.xml", lambda path: text(path, '<aem version="2.0">' + "<x>" * 100_000), "within 32 others"),
    (ph.read_aem, "j.aem", lambda path: text(path, AEM.format(degree="9" * 5000)), "line 14: .* below 1000"),
    (ph.read_aem, "k.aem", lambda path: text(path, AEM.format(degree="99999999")), "line 14: .* below 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "name", "write", "said"), CASES, ids=[f"{c[0].__name__} {c[1]}" for c in CASES])
def test_absurd_sizes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any, name: str, write: Any, said: str
) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 2**23)
    path = write(tmp_path / name)
    with pytest.raises(ph.BadFile, match=said) as caught:
        read(path)
    assert name in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_surface_of_lines_has_a_centre(tmp_path: Path) -> None:
    path = text(tmp_path / "a.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    assert np.isfinite(read_mesh(path).about().positions).all()


def test_arrays_of_numpy_are_data_to_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=[0.0, 1.0], omega=np.ones((2, 3)))
    assert np.array_equal(data(tmp_path / "a.npz")["omega"], np.ones((2, 3)))
