"""The file layer, against two readers and writers that are not ours: SciPy's and xarray's."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from numpy.typing import NDArray
from scipy.io import netcdf_file

from polhode.files import atomic, netcdf
from polhode.files.netcdf import BadFile, TooLarge, Variable

RNG = np.random.default_rng(7)
AWKWARD = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 0.1])
VARIABLES = {
    "time": Variable(("time",), AWKWARD, {"units": "s", "long_name": "Zeit, größer als α"}),
    "label": Variable(("component",), np.array(["x", "y", "größe"]), {}),
    "matrix": Variable(("time", "component"), RNG.normal(size=(8, 7))[:, 2:5], {"rank": 2}),  # not contiguous
}
ATTRIBUTES: dict[str, Any] = {
    "title": "tést",
    "empty": "",
    "five": 5,
    "tenth": 0.1,
    "many": 2**40 + 1,
    "negative": -3,
    "row": np.array([0.1, -0.0, np.inf]),
}


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    netcdf.write(tmp_path / "a.nc", VARIABLES, ATTRIBUTES)
    return tmp_path / "a.nc"


def test_round_trip_keeps_every_bit(path: Path) -> None:
    variables, attributes = netcdf.read(path)
    assert str(attributes.pop("checksum")).startswith("sha256 ")
    assert list(variables) == list(VARIABLES)
    for name, v in VARIABLES.items():
        back = variables[name]
        assert back.dimensions == v.dimensions
        assert back.attributes == v.attributes
        assert (back.data == v.data).all() if v.data.dtype.kind == "U" else same_bits(back.data, v.data.copy())
    assert list(attributes) == list(ATTRIBUTES)
    assert same_bits(np.asarray(attributes.pop("row")), ATTRIBUTES["row"])
    assert attributes == {k: v for k, v in ATTRIBUTES.items() if k != "row"}


def test_only_the_named_arrays(path: Path) -> None:
    assert list(netcdf.read(path, ["matrix"]).variables) == ["matrix"]


def test_blocks_do_not_show(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(3, 140_000)).T  # more than are written at once, and not in one piece
    netcdf.write(tmp_path / "a.nc", {"rows": netcdf.Variable(("time", "component"), rows, {})}, {})
    assert same_bits(netcdf.read(tmp_path / "a.nc").variables["rows"].data, rows.copy())


def test_scipy_reads_it(path: Path) -> None:
    with netcdf_file(path, mmap=False) as file:
        assert file.version_byte == 2
        assert same_bits(file.variables["time"][:].astype(float), AWKWARD)
        assert (file.variables["matrix"][:] == VARIABLES["matrix"].data).all()
        assert file.variables["matrix"].dimensions == ("time", "component")
        assert getattr(file.variables["matrix"], "rank") == 2  # noqa: B009 (attributes of the file, unknown to types)
        assert getattr(file, "title") == "tést".encode()  # noqa: B009
        assert getattr(file, "tenth") == 0.1  # noqa: B009


def test_xarray_reads_it(path: Path) -> None:
    with xarray.open_dataset(path) as data:
        assert same_bits(data["time"].values, AWKWARD)
        assert data["label"].values.tolist() == ["x", "y", "größe"]
        assert data["time"].attrs == VARIABLES["time"].attributes
        assert data.attrs["title"] == "tést"
        assert data.attrs["many"] == 2**40 + 1
        assert data["matrix"].dims == ("time", "component")


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT"])
def test_we_read_what_xarray_writes(format: Any, tmp_path: Path) -> None:
    data = xarray.Dataset(
        {"a": (("t", "k"), RNG.normal(size=(5, 3)), {"units": "m"}), "n": ("t", np.arange(5, dtype=np.int32))},
        {"t": np.linspace(0, 1, 5), "k": ["x", "yy", "zzz"]},
        {"title": "outside"},
    )
    data.to_netcdf(tmp_path / "x.nc", engine="scipy", format=format)
    variables, attributes = netcdf.read(tmp_path / "x.nc")
    assert same_bits(variables["a"].data, data["a"].values)
    assert variables["a"].attributes["units"] == "m"
    assert variables["n"].data.tolist() == [0, 1, 2, 3, 4]
    assert variables["k"].data.tolist() == ["x", "yy", "zzz"]
    assert attributes["title"] == "outside"


def test_no_rows(tmp_path: Path) -> None:
    empty = {"t": Variable(("t",), np.empty(0)), "a": Variable(("t", "k"), np.empty((0, 3)))}
    netcdf.write(tmp_path / "e.nc", empty, {})
    assert netcdf.read(tmp_path / "e.nc").variables["a"].data.shape == (0, 3)
    with xarray.open_dataset(tmp_path / "e.nc") as data:
        assert data["a"].shape == (0, 3)


def test_records_are_refused(tmp_path: Path) -> None:
    xarray.Dataset({"a": ("t", np.ones(4))}).to_netcdf(tmp_path / "r.nc", engine="scipy", unlimited_dims=["t"])
    with pytest.raises(BadFile, match="unlimited"):
        netcdf.read(tmp_path / "r.nc")


def test_a_file_cut_anywhere_is_told(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(BadFile, match=r"a\.nc is (not a NetCDF-3 file|cut short or damaged)"):
            netcdf.read(path)


def test_a_damaged_header_is_told_or_harmless(path: Path) -> None:
    whole = path.read_bytes()
    head = len(whole) - sum(v.data.nbytes for v in VARIABLES.values() if v.data.dtype.kind == "f")
    good, loaded = netcdf.read(path), 0
    for k in range(head):
        for flipped in {whole[k] ^ 0xFF, whole[k] ^ 1, 0} - {whole[k]}:
            path.write_bytes(whole[:k] + bytes([flipped]) + whole[k + 1 :])
            try:
                found = netcdf.read(path)
            except BadFile as problem:
                assert str(path) in str(problem)  # noqa: PT017 (padding may change)
            else:
                loaded += 1
                for name, v in good.variables.items():
                    # one NaN is as good as another
                    np.testing.assert_array_equal(found.variables[name].data, v.data, strict=v.data.dtype.kind == "f")
                kept = {
                    name: value for name, value in good.attributes.items() if name not in ("checksum", "row", "empty")
                }
                assert kept.items() <= {n: v for n, v in found.attributes.items() if n in kept}.items()
    assert (
        loaded < head / 2
    )  # of twice as many: sizes that are redundant, padding, names of what is empty, the name of the checksum


def test_other_kinds_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    with pytest.raises(BadFile, match="not a NetCDF-3 file"):
        netcdf.read(tmp_path / "a")
    (tmp_path / "h").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(BadFile, match=r"NETCDF3_64BIT"):
        netcdf.read(tmp_path / "h")
    with pytest.raises(FileNotFoundError):
        netcdf.read(tmp_path / "none")


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    huge = np.broadcast_to(np.zeros(1), (2**29,))  # 4 GiB that take no memory
    with pytest.raises(TooLarge, match=r"a takes 4 GiB, but an array in a NetCDF-3 file can take no more than 4 GiB"):
        netcdf.write(tmp_path / "a.nc", {"a": Variable(("t",), huge)}, {})
    with pytest.raises(TypeError, match="floats or strings, not int64"):
        netcdf.write(tmp_path / "a.nc", {"a": Variable(("t",), np.arange(3))}, {})
    with pytest.raises(ValueError, match="the shape"):
        netcdf.write(tmp_path / "a.nc", {"a": Variable(("t", "k"), np.zeros(3))}, {})
    with pytest.raises(ValueError, match="length 4 along t, others have 3"):
        netcdf.write(tmp_path / "a.nc", {"a": Variable(("t",), np.zeros(3)), "b": Variable(("t",), np.zeros(4))}, {})
    assert os.listdir(tmp_path) == []


# --- files that appear whole or not at all -------------------------------------------------------------------------


def test_nothing_is_overwritten_unasked(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"a\.nc exists already: .* overwrite=True"):
        netcdf.write(path, {}, {})
    assert path.read_bytes() == before
    netcdf.write(path, {}, {"title": "new"}, overwrite=True)
    assert netcdf.read(path).attributes["title"] == "new"
    assert os.listdir(path.parent) == ["a.nc"]


def test_nobody_is_overwritten_by_a_race(tmp_path: Path) -> None:
    """Another process makes the file after we looked, before we are done."""
    path = tmp_path / "a"
    with pytest.raises(FileExistsError, match="exists already"), atomic.whole_file(path):
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a"]


def test_only_one_of_many_gets_the_name(tmp_path: Path) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(8)

    def one(k: int) -> None:
        barrier.wait()
        try:
            with atomic.whole_file(tmp_path / "a") as file:
                file.write(bytes([k]) * 1000)
            outcomes.append("written")
        except FileExistsError:
            outcomes.append("refused")

    threads = [threading.Thread(target=one, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 7 + ["written"]
    assert len(set((tmp_path / "a").read_bytes())) == 1
    assert os.listdir(tmp_path) == ["a"]


def no_links(*_: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    with atomic.whole_file(tmp_path / "a") as file:
        file.write(b"mine")
    assert (tmp_path / "a").read_bytes() == b"mine"
    with pytest.raises(FileExistsError), atomic.whole_file(tmp_path / "b"):
        (tmp_path / "b").write_bytes(b"theirs")
    assert (tmp_path / "b").read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def disk_full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_leaves_the_old_file_and_no_rubbish(
    overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.nc"
    if overwrite:
        path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match=r"cannot write .*a\.nc: No space left on device; nothing was left behind"):
        netcdf.write(path, VARIABLES, ATTRIBUTES, overwrite=overwrite)
    assert os.listdir(tmp_path) == (["a.nc"] if overwrite else [])
    assert not overwrite or path.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_write_that_fails_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, mode: str) -> Any:
        path.touch()
        return open("/dev/full", "wb")

    monkeypatch.setattr(atomic, "open", full, raising=False)
    large = {"a": Variable(("t",), np.zeros(100_000))}
    with pytest.raises(OSError, match="No space left"):
        netcdf.write(tmp_path / "a.nc", large, {})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_other_failures_pass_through_and_leave_nothing(failure: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(failure, match="midway"), atomic.whole_file(tmp_path / "a"):
        raise failure("midway")
    assert os.listdir(tmp_path) == []


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*missing; make it first"):
        netcdf.write(tmp_path / "missing" / "a.nc", {}, {})
    (tmp_path / "file").write_text("a file, not a directory")
    with pytest.raises(NotADirectoryError, match=r"cannot write .*a\.nc: Not a directory; choose another place"):
        netcdf.write(tmp_path / "file" / "a.nc", {}, {})
    with pytest.raises(FileExistsError):
        netcdf.write(tmp_path, {}, {})
    with pytest.raises(OSError, match="not a regular file"):
        netcdf.write(tmp_path, {}, {}, overwrite=True)
    with pytest.raises(OSError, match="not a regular file"):
        netcdf.write(os.devnull, {}, {}, overwrite=True)
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="choose another place"):
            netcdf.write(tmp_path / "a.nc", {}, {})
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")
def test_modes_and_links(tmp_path: Path) -> None:
    plain, path, link = tmp_path / "plain", tmp_path / "a", tmp_path / "link"
    plain.touch()
    netcdf.write(path, {}, {})
    assert path.stat().st_mode == plain.stat().st_mode  # as the user's umask has it, not private
    path.chmod(0o600)
    link.symlink_to(path)
    netcdf.write(link, {}, {"title": "through the link"}, overwrite=True)
    assert link.is_symlink()
    assert netcdf.read(path).attributes["title"] == "through the link"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


KILLED_WHILE_WRITING = """
import os, signal, sys
from polhode.files.atomic import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path / "a")], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.endswith(".part")
    (tmp_path / ".polhode-other-computer.part").touch()
    (tmp_path / "mine.part").touch()
    with atomic.whole_file(tmp_path / "b") as file:  # and not what is still being written
        file.write(b"b")
        with atomic.whole_file(tmp_path / "c") as other:
            other.write(b"c")
    assert sorted(os.listdir(tmp_path)) == [".polhode-other-computer.part", "b", "c", "mine.part"]
    assert (tmp_path / "b").read_bytes() == b"b"


def test_a_file_system_without_links_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "replace", disk_full)
    with pytest.raises(OSError, match="No space left") as caught, atomic.whole_file(tmp_path / "a") as file:
        file.write(b"mine")
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_links_that_lead_nowhere_are_taken_names(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match="exists already"):
        netcdf.write(tmp_path / "out" / "a", {}, {})
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.raises(OSError, match=r"cannot write .*: File name too long"):
            netcdf.write(tmp_path / ("a" * 300), {}, {}, overwrite=overwrite)
    assert os.listdir(tmp_path) == []
