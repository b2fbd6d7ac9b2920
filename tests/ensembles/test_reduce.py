"""Reductions of ensembles: what NumPy makes of all rows, to the same bits whatever the threads and the batches."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xarray import open_dataset

import polhode as ph
from polhode.ensembles import accumulators
from polhode.ensembles.accumulators import Quantiles
from polhode.kernels.types import Quat, Vec3
from tests.contract._measure import interpreted

BODY, TOP = ph.Body([1.0, 2.0, 2.7]), ph.HeavyTop(1.0)
COUNT = 700
GIVEN: dict[str, Any] = {
    "omega": ph.samples.Normal([0.1, 0.2, 2.0], 0.4),
    "attitude": ph.samples.Attitude(),
    "seed": 5,
    "t_span": (0.0, 1.0),
    "step": 0.05,
    "method": "MR2",
    "t_eval": [0.0, 0.33, 0.7, 1.0],
}


def tilt(many: ph.Ensemble) -> Any:
    """The height of the body's third axis: (bodies, times)."""
    w, x, y, z = np.moveaxis(many.quaternion, -1, 0)
    return w * w - x * x - y * y + z * z


def counts(total: Any, values: Any) -> Any:
    """A histogram."""
    return total + np.histogram(values, bins=8, range=(-1.0, 1.0))[0]


WANTED = {
    "mean": ph.quantity("omega").mean("body"),
    "std": ph.quantity("omega").std("body"),
    "cov": ph.quantity("momentum").last().cov("body"),
    "min": ph.quantity("kinetic_energy").min("body"),
    "max": ph.quantity("energy_error").max("time"),
    "quantiles": ph.quantity(tilt).quantile([0.0, 0.05, 0.5, 1.0], "body"),
    "median": ph.quantity(tilt).quantile(0.5, "time"),
    "worst": ph.quantity("energy_error").max("time").quantile(0.99, "body"),
    "final": ph.quantity("quaternion").last(),
    "range": ph.quantity(tilt).reduce(np.ptp, "time").mean("body"),
    "histogram": ph.quantity(tilt).fold(counts, np.zeros(8, dtype=int)),
    "steps": ph.quantity("steps").max("body"),
    "status": ph.quantity("status"),
}


@pytest.fixture(scope="module")
def full() -> ph.Ensemble:
    made: ph.Ensemble = ph.ensemble(BODY, TOP, count=COUNT, **GIVEN)
    return made


@pytest.fixture(scope="module")
def reduced() -> ph.Reduced:
    return ph.ensemble(BODY, TOP, count=COUNT, reduce=WANTED, **GIVEN)


def test_the_same_as_of_all_rows(full: ph.Ensemble, reduced: ph.Reduced) -> None:
    height, errors = tilt(full), full.energy_error.max(axis=1)
    expected = {
        "mean": full.omega.mean(axis=0),
        "std": full.omega.std(axis=0),
        "cov": np.cov(full.momentum[:, -1].T, ddof=0),
        "min": full.kinetic_energy.min(axis=0),
        "max": errors,
        "quantiles": np.quantile(height, [0.0, 0.05, 0.5, 1.0], axis=0),
        "median": np.median(height, axis=1),
        "worst": np.quantile(errors, 0.99),
        "final": full.quaternion[:, -1],
        "range": np.ptp(height, axis=1).mean(),
        "histogram": np.histogram(height, bins=8, range=(-1.0, 1.0))[0],
        "steps": 20,
        "status": np.zeros(COUNT),
    }
    assert set(reduced) == set(expected)
    for name, value in expected.items():
        assert np.shape(reduced[name]) == np.shape(value), name
        assert np.allclose(reduced[name], value, rtol=1e-13, atol=1e-14), name
    assert (reduced.count, reduced.failed) == (COUNT, 0)
    assert reduced.stats.steps == COUNT * 20


@pytest.mark.usefixtures("small_batches")
def test_threads_and_batches_change_no_bit(reduced: ph.Reduced) -> None:
    for threads in (1, 3):
        other = ph.ensemble(BODY, TOP, count=COUNT, reduce=WANTED, threads=threads, **GIVEN)
        for name in reduced:
            assert np.asarray(reduced[name]).tobytes() == np.asarray(other[name]).tobytes(), name


@ph.torque
def fragile(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (0.3 if w[0] < 0.7 else math.nan, 0.0, 0.0)


def test_bodies_that_fail_are_left_out() -> None:
    wanted = {
        "mean": ph.quantity("omega").mean("body"),
        "std": ph.quantity("omega").std("body"),
        "cov": ph.quantity("omega").cov(),
        "max": ph.quantity("omega").max("body"),
        "median": ph.quantity("omega").quantile(0.5, "body"),
        "over time": ph.quantity("omega").mean("time"),
        "t_last": ph.quantity("t_last").min("body"),
    }
    rates = np.zeros((300, 3))
    rates[:, 0] = np.linspace(-1.0, 0.8, 300)
    given: dict[str, Any] = {"omega": rates, "t_span": (0.0, 1.0), "step": 0.05, "method": "RK4", "every": 10}
    with interpreted():
        full = ph.ensemble(BODY, fragile, **given)
        found = ph.ensemble(BODY, fragile, reduce=wanted, **given)
    failed = np.flatnonzero(~full.success)
    assert 20 < failed.size < 200
    assert found.failed == failed.size
    assert found.messages == full.messages
    assert "of which" in repr(found)
    assert np.allclose(found["mean"], np.nanmean(full.omega, axis=0), rtol=1e-13)
    assert np.allclose(found["std"], np.nanstd(full.omega, axis=0), rtol=1e-12, atol=1e-15)
    assert np.allclose(found["cov"][-1], np.cov(full.omega[full.success, -1].T, ddof=0), rtol=1e-12, atol=1e-15)
    assert np.array_equal(found["max"], np.nanmax(full.omega, axis=0))
    assert np.allclose(found["median"], np.nanmedian(full.omega, axis=0), rtol=1e-13)
    assert np.allclose(found["over time"][:200], full.omega[:200].mean(axis=1), rtol=1e-13)
    assert found["t_last"] == full.t_last.min() < 1.0


def test_nobody_left_is_nan() -> None:
    with interpreted():
        found = ph.ensemble(
            BODY, omega=[[30.0, 20.0, 10.0], [30.0, 20.0, 11.0]], t_span=(0.0, 1.0), step=0.1, method="DMV2",
            reduce={k: getattr(ph.quantity("omega").last(), k)("body") for k in ("mean", "std", "min", "cov")},
        )  # fmt: skip
    assert found.failed == 2
    for name in found:
        assert np.isnan(found[name]).all()


def test_a_start_that_is_changed_in_place_serves_again() -> None:
    def count(total: Any, values: Any) -> Any:
        total += len(values)
        return total

    start = np.zeros(1)
    wanted = {"bodies seen": ph.quantity("steps").fold(count, start)}
    with interpreted():
        found = [ph.ensemble(BODY, TOP, count=3, reduce=wanted, **GIVEN)["bodies seen"] for _ in range(2)]
    assert (found[0].tolist(), found[1].tolist(), start.tolist()) == ([3.0], [3.0], [0.0])


@pytest.mark.usefixtures("small_batches")
def test_whole_numbers_in_the_first_batch_only() -> None:
    def mixed(many: ph.Ensemble) -> Any:
        return np.full(len(many), 1 if many.start.first == 0 else 0.5)

    found = ph.ensemble(BODY, TOP, count=COUNT, reduce={"x": ph.quantity(mixed)}, **GIVEN)
    assert (found["x"][:256] == 1.0).all()
    assert (found["x"][256:] == 0.5).all()


def test_truth_values_are_numbers() -> None:
    def upright(many: ph.Ensemble) -> Any:
        return tilt(many) > 0

    true = ph.quantity(upright)
    wanted = {"some": true.mean("body"), "half": true.quantile(0.5, "time"), "ever": true.max("time").min("body")}
    with interpreted():
        found = ph.ensemble(BODY, TOP, count=9, reduce=wanted, **GIVEN)
        many = ph.ensemble(BODY, TOP, count=9, **GIVEN)
    rows = upright(many).astype(float)
    assert np.allclose(found["some"], rows.mean(axis=0))
    assert np.array_equal(found["half"], np.median(rows, axis=1))
    assert found["ever"] == rows.max(axis=1).min()


@pytest.mark.parametrize("make", [lambda f: ph.quantity("omega").reduce(f), lambda f: ph.quantity("omega").fold(f, 0)])
def test_functions_that_raise_are_named(make: Any) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no") as caught, interpreted():
        ph.ensemble(BODY, TOP, count=2, reduce={"x": make(broken)}, **GIVEN)
    assert caught.value.__notes__ == ["raised by the function of reduce['x']"]


def test_bodies_near_the_largest_number_do_not_warn() -> None:
    energy = ph.quantity("kinetic_energy")
    endless = ph.quantity(lambda many: np.full(len(many), np.inf))
    with interpreted():
        found = ph.ensemble(
            BODY, omega=[[1e49, 0.0, 1e49], [1.0, 2.0, 3.0]], t_span=(0.0, 0.1), step=0.1, method="RK4",
            reduce={"mean": energy.mean("body"), "std": energy.std("body"), "q": energy.quantile(0.1, "body"),
                    "endless": endless.quantile(0.1, "body")},
        )  # fmt: skip
    assert found["endless"] == np.inf
    assert found.failed == 1
    assert 1e97 < found["mean"][0] < np.inf
    assert np.isfinite(found["mean"][1])


def test_a_long_seed_is_told_in_full(tmp_path: Path) -> None:
    seed = 2**100 + 1
    with interpreted():
        found = ph.ensemble(BODY, TOP, count=2, reduce={"x": ph.quantity("omega")}, **(GIVEN | {"seed": seed}))
    found.save(tmp_path / "seed.nc")
    with open_dataset(tmp_path / "seed.nc") as read:
        assert int(read.attrs["seed"]) == seed


# --- quantiles of more numbers than there is room for


@pytest.mark.parametrize("kind", ["normal", "sorted", "falling", "heavy tail", "ties"])
def test_thinned_quantiles_keep_their_rank_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulators, "QUANTILE_BYTES", 8 * 2 * 16_384)
    draw, n = np.random.default_rng(3), 200_000
    x = draw.normal(size=(n, 2))
    x = {
        "normal": x,
        "sorted": np.sort(x, axis=0),
        "falling": -np.sort(x, axis=0),
        "heavy tail": np.exp(9 * x),
        "ties": x.round(1),
    }[kind]
    x[draw.random(n) < 0.95, 1] = np.nan
    levels = tuple(np.linspace(0.0, 1.0, 21).tolist())
    total = Quantiles(levels, n)
    for first in range(0, n, 256):
        total.add(x[first : first + 256])
    assert 0 < total.bound < 0.01
    assert total.rank_error == total.bound * n / np.sum(~np.isnan(x[:, 1]))
    kept = sum(row.size for row in total.rows if row is not None) + total.waiting.size
    assert 8 * kept <= accumulators.QUANTILE_BYTES
    for column, found in enumerate(total.result().T):
        there = np.sort(x[~np.isnan(x[:, column]), column])
        low, high = np.searchsorted(there, found, side="left"), np.searchsorted(there, found, side="right")
        wanted = np.array(levels) * (there.size - 1)
        error = np.maximum(np.maximum(low - wanted, wanted - high), 0.0) / there.size
        assert error.max() <= total.bound * n / there.size, kind
        assert error.max() > 0 or kind == "ties"  # they are thinned out


def test_quantiles_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulators, "QUANTILE_BYTES", 8 * 300)
    with pytest.raises(ValueError, match="ask for fewer output times"):
        ph.ensemble(BODY, TOP, count=COUNT, reduce={"q": ph.quantity("omega").quantile(0.5, "body")}, **GIVEN)


# --- interruption, tables, bad input


@pytest.mark.usefixtures("small_batches")
def test_interruption_keeps_whole_batches() -> None:
    def stop(done: int, total: int) -> None:
        if done > 0.6 * total:
            raise KeyboardInterrupt

    wanted = {"mean": ph.quantity("omega").mean("body"), "final": ph.quantity("quaternion").last()}
    with pytest.raises(ph.EnsembleInterrupted) as caught:
        ph.ensemble(BODY, TOP, count=COUNT, reduce=wanted, progress=stop, **GIVEN)
    found = caught.value.ensemble
    assert 0 < found.count < COUNT
    assert found.count % 256 == 0
    part = ph.ensemble(BODY, TOP, count=found.count, reduce=wanted, **GIVEN)
    for name in wanted:
        assert np.array_equal(found[name], part[name])


@pytest.mark.usefixtures("small_batches")
def test_an_exception_in_progress_loses_nothing() -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if done == total:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as caught:
        ph.ensemble(BODY, TOP, count=COUNT, reduce={"n": ph.quantity("steps")}, progress=progress, **GIVEN)
    assert caught.value.ensemble.count == 512  # type: ignore[attr-defined]
    assert seen[-1] == (COUNT * 20, COUNT * 20)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.usefixtures("small_batches")
def test_a_reduction_that_raises_loses_no_batch_before(fold: bool) -> None:
    """Nor is half of its own batch counted in."""
    calls: list[int] = []

    def late(*values: Any, **_: Any) -> Any:
        calls.append(len(values[-1]))
        if len(calls) == 3:
            raise RuntimeError("no")
        return values[0] + values[1].sum() if fold else values[0].sum(axis=(1, 2))

    rates = ph.quantity("omega")
    wanted = {"mean": rates.mean("body"), "own": rates.fold(late, 0.0) if fold else rates.reduce(late), "all": rates}
    with pytest.raises(RuntimeError, match="no") as caught:
        ph.ensemble(BODY, TOP, count=COUNT, reduce=wanted, **GIVEN)
    found = caught.value.ensemble  # type: ignore[attr-defined]
    assert found.count == len(found["all"]) == sum(calls[:2]) == 512
    assert "what was reduced before" in caught.value.__notes__[-1]
    part = ph.ensemble(BODY, TOP, count=512, reduce={"mean": rates.mean("body")}, **GIVEN)
    assert np.array_equal(found["mean"], part["mean"])


@pytest.mark.usefixtures("small_batches")
def test_a_fold_that_ends_in_something_else_loses_no_batch_before() -> None:
    def late(total: Any, values: Any) -> Any:
        return total + len(values) if total < 512 else "many"

    with pytest.raises(TypeError, match=r"what a fold makes must be a number .*, not 'many'") as caught:
        ph.ensemble(BODY, TOP, count=COUNT, reduce={"seen": ph.quantity("steps").fold(late, 0)}, **GIVEN)
    found = caught.value.ensemble  # type: ignore[attr-defined]
    assert found.count == found["seen"] == 512


def test_table_and_file(reduced: ph.Reduced, tmp_path: Path) -> None:
    table = reduced.to_xarray()
    assert table["mean"].dims == ("time", "component")
    assert table["mean"].attrs["units"] == "rad s-1"
    assert table["quantiles"].dims == ("quantile", "time")
    assert table["quantiles"].sel(quantile=0.5, time=1.0) == reduced["quantiles"][2, -1]
    assert table["cov"].dims == ("component", "other_component")
    assert table["final"].sel(quaternion_component="w").dims == ("body",)
    assert (table.attrs["bodies"], table.attrs["seed"]) == (COUNT, 5)
    reduced.save(tmp_path / "reduced.nc")
    with open_dataset(tmp_path / "reduced.nc") as read:
        for name in reduced:
            assert np.array_equal(read[name].values if name in read else read.attrs[name], reduced[name])
    for line in ("bodies  700, all of which reached t = 1", "'quantile': 4"):
        assert line in repr(reduced)
    with pytest.raises(KeyError, match="there is mean, std"):
        reduced["means"]


def broken(many: ph.Ensemble) -> Any:
    """Not what it should be."""
    return many.omega[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ph.quantity("omga"), "did you mean 'omega'"),
        (lambda: ph.quantity(3), "what must be a function, not 3"),  # type: ignore[arg-type]
        (lambda: ph.quantity("omega").mean("bodies"), "dim must be 'time' or 'body', not 'bodies'"),  # type: ignore[arg-type]
        (lambda: ph.quantity("omega").mean("body").max("time"), "reduce the result itself"),
        (lambda: ph.quantity("omega").mean("time").max("time"), "already reduced over time"),
        (lambda: ph.quantity("steps").mean("time"), "steps has no time"),
        (lambda: ph.quantity("omega").quantile(50, "body"), "q must lie between 0 and 1, not 50"),
        (lambda: ph.quantity("omega").reduce(np.max, "body"), "use fold"),  # type: ignore[arg-type]
        (lambda: {"time": ph.quantity("omega")}, "the name of a dimension"),
        (lambda: {"other_component": ph.quantity("omega")}, "the name of a dimension"),
        (lambda: {"a": ph.quantity("omega"), "a_quantile": ph.quantity("steps")}, "the name of a dimension"),
        (lambda: {"step": ph.quantity("steps").max("body")}, "tables and files have another step"),
        (lambda: ph.quantity("omega").fold(lambda _, x: (len(x), x[0]), 0), "use a fold for each of them"),
        (lambda: "omega", "reduce['x'] must be a polhode.quantity(...), not 'omega'"),
        (lambda: ph.quantity(lambda many: 1j * many.omega), "an array of real numbers, not of complex128"),
        (lambda: ph.quantity("omega").reduce(lambda x, axis: None), "an array of real numbers, not of object"),
        (lambda: ph.quantity(broken), "must return an array (bodies, times, ...) or (bodies,)"),
        (lambda: ph.quantity("kinetic_energy").last().cov(), "covariances are those of components"),
        (lambda: ph.quantity("error_estimate"), "errors are estimated with rtol="),
        (lambda: ph.quantity("omega").fold(None, 0), "function must be a function, not None"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(make: Any, words: str) -> None:
    def reduced() -> None:
        made = make()
        ph.ensemble(BODY, TOP, count=2, reduce=made if isinstance(made, dict) else {"x": made}, **GIVEN)

    with pytest.raises((TypeError, ValueError)) as caught:
        reduced()
    assert words in str(caught.value)


def test_errors_of_what_is_not_conserved_are_refused_at_once() -> None:
    given = {**GIVEN, "count": 2}
    for torque, name, words in (
        (ph.ConstantBodyTorque((1.0, 0.0, 0.0)), "energy_error", "does not conserve the energy"),
        (ph.ConstantBodyTorque((1.0, 0.0, 0.0)), "momentum_error", "conserves no part"),
        (ph.ConstantBodyTorque((1.0, 0.0, 0.0)), "energy", "has no potential"),
    ):
        with pytest.raises(ValueError, match=words):
            ph.ensemble(BODY, torque, reduce={"x": ph.quantity(name).max("body")}, **given)
    with pytest.raises(TypeError, match="reduce must be a dict"):
        ph.ensemble(BODY, TOP, reduce=[ph.quantity("omega")], **given)  # type: ignore[call-overload]
