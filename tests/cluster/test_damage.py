"""Stores with damaged files: nobody gets other numbers, and the error says which part to run again, and how."""

import pickle
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import polhode as ph
from tests.cluster.tasks import WANTED
from tests.cluster.test_plan import planned

FEW, MANY = 8, 200
KINDS = {
    "motions": {},
    "reductions": {"reduce": {name: WANTED[name] for name in ("mean", "spread", "final", "ended")}},
}


@pytest.fixture(scope="module", params=KINDS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], Any]:
    """A finished store, how to plan it, and all its numbers."""
    store = tmp_path_factory.mktemp("whole") / "x.zarr"
    planned(store, **KINDS[request.param]).run()
    return store, KINDS[request.param], read_all(store)


@pytest.fixture
def copy(whole: Any, tmp_path: Path) -> Iterator[Path]:
    yield Path(shutil.copytree(whole[0], tmp_path / "x.zarr"))
    shutil.rmtree(tmp_path / "x.zarr")


def read_all(store: Path) -> dict[str, Any]:
    found = ph.load(store)
    return {**{str(name): x.values for name, x in found.variables.items()}, **found.attrs}


def is_same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[name], expected[name], equal_nan=np.asarray(found[name]).dtype.kind == "f")
        for name in expected
    )


def damage(store: Path, draw: random.Random) -> str:
    """Damages one file, each kind of file as often as the others, and says what was done."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(p for p in store.rglob("*") if p.is_file()):
        name = str(path.relative_to(store))
        kind = "chunk" if "/c/" in name or name.endswith("/c") else name if name.count("/") < 2 else path.parts[-3]
        kinds.setdefault("description" if kind.endswith("zarr.json") and "/" in kind else kind, []).append(path)
    path = draw.choice(kinds[draw.choice(sorted(kinds))])
    raw = path.read_bytes()
    what = draw.choice(["bit", "bit", "removed", "cut", "lengthened", "emptied"])
    if what == "removed":
        path.unlink()
    elif what == "bit":
        at = draw.randrange(8 * len(raw))
        path.write_bytes(raw[: at // 8] + bytes([raw[at // 8] ^ 1 << at % 8]) + raw[at // 8 + 1 :])
    else:
        cut = draw.randrange(len(raw))
        path.write_bytes({"cut": raw[:cut], "lengthened": raw + raw[:8], "emptied": b""}[what])
    return f"{path.relative_to(store)} {what}"


def check(store: Path, other: dict[str, Any], expected: dict[str, Any], what: str) -> str:
    """Reads a damaged store and has it mended; returns what was said, or nothing if all numbers are right."""
    said = ""
    try:
        assert is_same(read_all(store), expected), what
    except ph.cluster.PlanError as problem:
        said = str(problem)
        assert str(store) in said, (what, said)
        assert re.search(r"verify|run the plan|delete the store|another store|no store of polhode", said), (what, said)
    if "manifest" in what:  # nothing else knows what was decided: the store is lost, or planned anew
        return said
    plan = planned(store, **other)
    try:
        plan.run()
        assert is_same(read_all(store), expected), what
    except ph.cluster.PlanError:
        plan.verify()
        plan.run()
        assert is_same(read_all(store), expected), what
    return said


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.api import plan

    monkeypatch.setattr(plan, "ARRAYS_SECONDS", 0.0)


def test_deleted_chunk_is_named_with_its_part(tmp_path: Path) -> None:
    plan = planned(tmp_path / "x.zarr")
    found = plan.run()
    assert found is not None
    expected = found["omega"].values
    assert np.array_equal(pickle.loads(pickle.dumps(found["omega"])).values, expected)  # for workers of Dask
    shutil.rmtree(tmp_path / "x.zarr" / "omega" / "c" / "1")
    for again in (plan.run(), ph.load(tmp_path / "x.zarr")):
        assert again is not None
        assert np.array_equal(again["omega"][:1024].values, expected[:1024])  # of another part
        with pytest.raises(ph.cluster.PlanError, match=r"part 1 of .* damaged in the array omega .*call verify\(\)"):
            again["omega"].mean().compute()
    assert plan.verify() == [1]
    assert np.array_equal(plan.run()["omega"].values, expected)  # type: ignore[index]


def test_readers_of_zarr_notice_a_changed_bit(tmp_path: Path) -> None:
    planned(tmp_path / "x.zarr").run()
    chunk = tmp_path / "x.zarr" / "omega" / "c" / "1" / "0" / "0"
    raw = bytearray(chunk.read_bytes())
    raw[len(raw) // 2] ^= 1
    chunk.write_bytes(raw)
    with pytest.raises(ValueError, match="checksum"):
        xarray.open_zarr(tmp_path / "x.zarr")["omega"].load()


@pytest.mark.parametrize("key", ["failed", "sha256", "missed", "messages"])
def test_receipt_with_another_key_is_named_and_made_again(tmp_path: Path, key: str) -> None:
    plan = planned(tmp_path / "x.zarr", reduce={"mean": WANTED["mean"]})
    plan.run(parts=[0, 1])
    file = tmp_path / "x.zarr" / "polhode" / "parts" / "0000" / "000001.json"
    file.write_text(file.read_text().replace(key, key.upper()))
    with pytest.raises(ph.cluster.PlanError, match=r"the receipt of part 1 in .* is damaged: call verify\(\)"):
        plan.run()
    assert plan.verify() == [1]
    assert plan.run() is not None


def test_lost_receipt_is_a_damaged_part(tmp_path: Path) -> None:
    plan = planned(tmp_path / "x.zarr", reduce={"mean": WANTED["mean"]})
    plan.run()
    sha = plan.sha256
    (tmp_path / "x.zarr" / "polhode" / "parts" / "0000" / "000002.json").unlink()
    assert plan.verify() == [2]
    found = plan.run()
    assert found is not None
    assert found.attrs["sha256"] == sha


@pytest.mark.parametrize(
    "seed", [*range(FEW), *(pytest.param(k, marks=pytest.mark.evidence) for k in range(FEW, MANY))]
)
def test_damage_is_named_and_mended(copy: Path, whole: Any, seed: int) -> None:
    _, other, expected = whole
    what = damage(copy, random.Random(seed))
    print(what, "->", check(copy, other, expected, what) or "all numbers are right")
