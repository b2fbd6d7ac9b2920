"""Result files that are damaged, old, or written by others: what loads is what was saved, or makes sense."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode
from polhode import Body, HeavyTop, Solution
from polhode.files import checksum, netcdf
from polhode.files.netcdf import BadFile, Variable


@pytest.fixture
def solution(plain: None) -> Solution:
    return polhode.simulate(
        Body([1.0, 2.0, 2.5], name="top"),
        HeavyTop(2.0, (0.0, 1.0, 0.0)),
        omega=[0.1, 0.2, 0.3],
        t_span=(0.0, 3.0),
        step=0.125,
        method="MR2",
        events=[lambda t, q, w: w[0]],
    )


def everything(s: Solution) -> tuple[Any, ...]:
    """All that a solution holds, to be compared bit by bit."""
    rows = [
        (e.t.tobytes(), e.quaternion.tobytes(), e.momentum.tobytes(), e.potential_energy.tobytes()) for e in s.events
    ]
    start = (s.problem.quaternion_start.tobytes(), s.problem.momentum_start.tobytes(), s.body.tensor.tobytes())
    end = (s.last_quaternion.tobytes(), s.last_momentum.tobytes(), s.t_last, s.message, int(s.status), s.memory)
    return (
        s.t.tobytes(), s.quaternion.tobytes(), s.momentum.tobytes(), s.potential_energy.tobytes(), rows, start, end,
        s.body.name, s.torque, s.method, s.step, s.stats, s.problem.t_start, s.problem.t_end, s.problem.every,
        repr(s.metadata), s.error_estimate, s.torque_changed,
    )  # fmt: skip


def outcomes_of_damage(whole: bytes, path: Path, files: int, seed: int) -> Counter[str]:
    """Writes files with one to twenty changed bytes, or with a cut or swapped stretch; counts what `load` makes of
    them."""
    path.write_bytes(whole)
    good = everything(polhode.load(path))
    rng = np.random.default_rng(seed)
    counted: Counter[str] = Counter()
    for k in range(files):
        raw = bytearray(whole)
        if k % 4 < 3:
            for at in rng.integers(len(raw), size=1 if k % 4 < 2 else int(rng.integers(2, 21))):
                raw[at] ^= int(rng.integers(1, 256))
        else:
            first, size = int(rng.integers(len(raw))), int(rng.integers(1, 64))
            other = int(rng.integers(len(raw) - size))
            raw[first : first + size] = raw[other : other + size] if k % 8 == 3 else bytes(size)
        path.write_bytes(raw)
        try:
            found = everything(polhode.load(path))
        except BadFile:
            counted["refused"] += 1
        else:
            counted["the same" if found == good else "OTHER CONTENTS"] += 1
    return counted


def test_no_damaged_file_loads_with_other_contents(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    solution.save(path)
    counted = outcomes_of_damage(path.read_bytes(), path, 400, seed=1)
    assert counted["OTHER CONTENTS"] == 0
    assert counted["refused"] > 350  # in the others padding, or sizes that are said twice, have changed


@pytest.mark.evidence
def test_no_damaged_file_of_many_loads_with_other_contents(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    solution.save(path)
    counted = outcomes_of_damage(path.read_bytes(), path, 20_000, seed=2)
    assert counted["OTHER CONTENTS"] == 0


def test_the_message_says_what_can_be_done(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    solution.save(path)
    raw = bytearray(path.read_bytes())
    raw[-100] ^= 1
    path.write_bytes(raw)
    with pytest.raises(
        BadFile, match=r"s\.nc is damaged: .* checksum\. Use another copy of it, or run again; .*'none'"
    ):
        polhode.load(path)


def test_everything_that_is_saved_has_a_checksum(plain: None, tmp_path: Path) -> None:
    many = polhode.ensemble(
        Body([1.0, 2.0, 2.5]), omega=[[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]], t_span=(0, 1), step=0.25, method="MR2"
    )
    assert isinstance(many, polhode.Ensemble)
    many.save(tmp_path / "many.nc")
    polhode.compare(
        Body([1.0, 2.0, 2.5]), omega=[0.1, 0.2, 0.3], t_span=(0, 1), methods="MR2", steps=[0.25], repeats=1
    ).save(tmp_path / "compared.nc")
    for path in tmp_path.iterdir():
        raw = bytearray(path.read_bytes())
        netcdf.read(path)
        raw[-50] ^= 4
        path.write_bytes(raw)
        with pytest.raises(BadFile, match="checksum"):
            netcdf.read(path, ["time"])  # also if it is in an array that is not wanted


def rewritten(path: Path, change: Callable[[dict[str, Variable], dict[str, Any]], None], version: int = 1) -> None:
    """Writes a file anew with other contents, as another program may have done: without a checksum."""
    variables, attributes = netcdf.read(path)
    attributes["format_version"] = version
    change(variables, attributes)
    netcdf.write(path, variables, attributes, overwrite=True)
    raw = path.read_bytes()
    own = str(netcdf.read(path).attributes[checksum.NAME]).encode()
    if version == 1:  # the attribute becomes another one, of the same length
        raw = raw.replace(b"checksum", b"checkold").replace(own, bytes(len(own)).replace(b"\0", b"-"))
    path.write_bytes(raw)


def test_old_files_without_a_checksum_load(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    solution.save(path)
    good = everything(polhode.load(path))
    rewritten(path, lambda variables, attributes: None)
    assert checksum.NAME not in netcdf.read(path).attributes
    assert everything(polhode.load(path)) == good


def test_a_new_file_without_its_checksum_is_refused(solution: Solution, tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    solution.save(path)
    path.write_bytes(path.read_bytes().replace(b"checksum", b"checkold"))
    with pytest.raises(BadFile, match="its checksum is missing"):
        polhode.load(path)


def test_a_change_on_purpose(solution: Solution, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    solution.save(tmp_path / "s.nc")
    with xarray.open_dataset(tmp_path / "s.nc") as data:
        data["momentum"] *= 1.5
        data.to_netcdf(tmp_path / "x.nc", engine="scipy", format="NETCDF3_64BIT")
        with pytest.raises(BadFile, match="'none'"):
            polhode.load(tmp_path / "x.nc")
        data.attrs["checksum"] = "none"
        data.to_netcdf(tmp_path / "y.nc", engine="scipy", format="NETCDF3_64BIT")
    np.testing.assert_array_equal(polhode.load(tmp_path / "y.nc").momentum, 1.5 * solution.momentum)


def setting(**values: Any) -> Callable[..., None]:
    return lambda variables, attributes: attributes.update(values)


def at_row(name: str, k: int, value: Any) -> Callable[..., None]:
    def change(variables: dict[str, Variable], attributes: dict[str, Any]) -> None:
        data = variables[name].data.copy()
        data[k] = value
        variables[name] = replace(variables[name], data=data)

    return change


def shorter(name: str) -> Callable[..., None]:
    def change(variables: dict[str, Variable], attributes: dict[str, Any]) -> None:
        v = variables[name]
        variables[name] = Variable((f"{name}_rows", *v.dimensions[1:]), v.data[:-1], v.attributes)

    return change


NONSENSE = {
    "step = 0": (setting(step=0.0), r"the step 0\.0 does not lead to the end"),
    "step backward": (setting(step=-0.1), r"the step -0\.1 does not lead"),
    "step NaN": (setting(step=np.nan), "the step nan"),
    "every = -1": (setting(every=-1), "every = -1"),
    "every = 0": (setting(every=0), "every = 0"),
    "every = 1.5": (setting(every=1.5), "not a whole number"),
    "no end": (setting(t_end=np.inf), "not all finite"),
    "no span": (setting(t_end=0.0), "begins and ends at"),
    "negative steps": (setting(steps=-3), "steps=-3"),
    "unknown status": (setting(status=99), "99"),
    "zero attitude": (at_row("quaternion", 3, 0.0), "not finite, or zero"),
    "NaN attitude": (at_row("quaternion", 3, np.nan), "not finite, or zero"),
    "infinite momentum": (at_row("momentum", 3, np.inf), "momentum is not finite"),
    "NaN time": (at_row("time", 3, np.nan), "time is not finite"),
    "time beyond the end": (at_row("time", -1, 99.0), "outside the motion"),
    "fewer rows": (shorter("momentum"), "momentum has the shape"),
    "wrong event": (at_row("event_number", 0, 7.0), "event_number"),
}
"""Contents that are refused with and without a checksum."""

DOUBTFUL = {
    "long quaternion": (at_row("quaternion", 3, [2.0, 0.0, 0.0, 0.0]), "unit length"),
    "times out of order": (at_row("time", 3, 0.01), "not in order"),
}
"""Contents that are refused without a checksum."""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_refused_whoever_wrote_it(case: str, version: int, solution: Solution, tmp_path: Path) -> None:
    change, words = NONSENSE[case]
    solution.save(tmp_path / "s.nc")
    rewritten(tmp_path / "s.nc", change, version)
    with pytest.raises(BadFile, match=words):
        polhode.load(tmp_path / "s.nc")


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_contents_are_refused_without_a_checksum(case: str, solution: Solution, tmp_path: Path) -> None:
    change, words = DOUBTFUL[case]
    solution.save(tmp_path / "s.nc")
    rewritten(tmp_path / "s.nc", change)
    with pytest.raises(BadFile, match=words):
        polhode.load(tmp_path / "s.nc")


def test_times_in_any_order_are_saved_and_loaded(solution: Solution, tmp_path: Path) -> None:
    asked = solution.at([2.0, 0.5, 1.0, 0.5])
    asked.save(tmp_path / "s.nc")
    assert polhode.load(tmp_path / "s.nc").t.tolist() == [2.0, 0.5, 1.0, 0.5]
