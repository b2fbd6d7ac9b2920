"""Kernels of SPICE, read back by SPICE."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.files.atomic import whole_file

spice: Any = pytest.importorskip("spiceypy", reason="spiceypy is not installed (the extra spice)")
ID = -999


@pytest.fixture
def pool() -> Iterator[None]:
    spice.kclear()
    yield
    spice.kclear()


def test_kernels_keep_their_bound(tmp_path: Path, pool: None) -> None:
    s = ph.simulate(ph.Body([1.0, 2.0, 2.8]), omega=[0.1, 1.0, 0.2], t_span=(5, 25), rtol=1e-12)
    made = s.to_ck(tmp_path / "a.bc", spacecraft_id=ID, epoch="2026-01-01T00:00:00", tolerance=1e-4)
    assert made.bound is not None
    assert made.bound <= 1e-4
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a.bc", "a.tf", "a.tsc"]
    for name in ("a.tsc", "a.tf", "a.bc"):
        spice.furnsh(str(tmp_path / name))
    t = np.sort(np.random.default_rng(3).uniform(5, 25, 400))
    true, worst, worst_rate = s.at(t), 0.0, 0.0
    # 2026-01-01T00:00:00 UTC is 37 + 32.184 s earlier than its name in TT; TDB differs by at most 1.7 ms.
    et = (9497 - 0.5) * 86_400 + 69.184  # there are 9497 days from 2000 to 2026
    zero = float(spice.sct2e(ID, 0.0))
    assert abs(zero - (et + 5)) < 0.0018
    for k, x in enumerate(t):
        c, rate, _, found = unpacked(spice.ckgpav(1000 * ID, 1e6 * (x - 5), 0.0, "J2000"))
        assert found
        worst = max(worst, float((Rotation.from_matrix(c.T).inv() * true.attitude[k]).magnitude()))
        worst_rate = max(worst_rate, float(np.abs(rate - true.spatial_omega[k]).max()))
    assert 0.7 * made.bound < worst <= made.bound
    assert worst_rate < 1e-3
    turn = spice.pxform("J2000", "POLHODE_BODY", zero + 3.0)
    # SPICE counts from 2000 in one float, whose last bit is 1e-7 s
    assert (Rotation.from_matrix(turn.T).inv() * s.at([8.0]).attitude[0]).magnitude() <= made.bound + 2.4e-7


def unpacked(answer: Any) -> Any:
    """The answer of ckgpav, with whether there is one: spiceypy may raise an error instead of saying no."""
    return answer if len(answer) == 4 else (*answer, True)


def test_bound_holds_at_breakpoints(plain: None, tmp_path: Path, pool: None) -> None:
    torque = ph.PiecewiseTorque(((0.7, (0.5, 0.0, 0.0)),))
    s = ph.simulate(ph.Body([1, 2, 2.8]), torque, omega=[0.1, 0.4, 0.2], t_span=(0, 1), method="MR2", step=0.1)
    made = s.to_ck(tmp_path / "a.bc", spacecraft_id=ID, epoch="2026-01-01T00:00:00", tolerance=1e-3)
    assert made.bound is not None
    assert made.bound <= 1e-3
    for name in ("a.tsc", "a.tf", "a.bc"):
        spice.furnsh(str(tmp_path / name))
    for t in np.linspace(0.6, 0.8, 41):
        c, *_ = unpacked(spice.ckgpav(1000 * ID, 1e6 * t, 0.0, "J2000"))
        assert (Rotation.from_matrix(c.T).inv() * s.at([t]).attitude[0]).magnitude() <= made.bound


def test_the_command(call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    s = ph.simulate(ph.Body([1.0, 2.0, 2.8]), omega=[0.1, 1.0, 0.2], t_span=(0, 1), rtol=1e-9)
    s.with_epoch("2026-01-01T00:00:00").save("run.nc")
    code, out, _ = call("export", "run.nc", "run.bc", "--tolerance", 1e-3)
    assert code == 0
    assert "rows in 1 segment written to run.bc" in out
    assert Path("run.tsc").exists()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    s = ph.simulate(ph.Body([1.0, 2.0, 2.8]), omega=[0.1, 1.0, 0.2], t_span=(0, 1), rtol=1e-9)
    s = s.with_epoch("2026-01-01T00:00:00")
    for given, why in (
        ({"spacecraft_id": 5}, "must be a negative whole number"),
        ({"frame": "two words"}, "frame must be a name"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
    ):
        with pytest.raises(ValueError, match=why):
            s.to_ck(tmp_path / "a.bc", **({"spacecraft_id": ID} | given))
    with pytest.raises(ValueError, match=r"must end in \.bc"):
        s.to_ck(tmp_path / "a.ck", spacecraft_id=ID)
    (tmp_path / "a.tsc").write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.tsc exists already"):
        s.to_ck(tmp_path / "a.bc", spacecraft_id=ID)
    assert [x.name for x in tmp_path.iterdir()] == ["a.tsc"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_all_three_kernels_appear_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    s = ph.simulate(ph.Body([1.0, 2.0, 2.8]), omega=[0.1, 1.0, 0.2], t_span=(0, 1), rtol=1e-9)
    opened = list[Any]()

    @contextmanager
    def full(path: Path, **options: Any) -> Iterator[Any]:
        with whole_file(path, **options) as file:
            opened.append(file)
            if len(opened) == at + 1:
                raise OSError(28, "No space left on device")
            yield file

    monkeypatch.setattr("polhode.files.spice.whole_file", full)
    with pytest.raises(OSError, match="No space left on device"):
        s.to_ck(tmp_path / "a.bc", spacecraft_id=ID, epoch="2026-01-01T00:00:00")
    assert list(tmp_path.iterdir()) == []
