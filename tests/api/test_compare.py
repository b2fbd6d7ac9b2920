"""Comparisons of methods: the numbers, the table, the picture and the file."""

import math
import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.api.compare import TOLERANCES, Comparison, halvings, listed
from polhode.files import netcdf
from polhode.support.arrays import angles
from tests.authorities import paper_case

BODY = ph.Body([2.0, 3.0, 4.0])
FREE: dict[str, Any] = {"omega": [0.3, 1.0, 0.5], "t_span": (0.0, 5.0)}
TOP: dict[str, Any] = {"torque": ph.HeavyTop(weight=2.0), **FREE}


@pytest.fixture(scope="module")
def free() -> Comparison:
    begun = time.perf_counter()
    made = ph.compare(BODY, **FREE, methods="MR2,RK4", steps=[0.05, 0.1, 0.025], repeats=2)
    assert all(0.0 < entry.seconds < time.perf_counter() - begun for entry in made.entries)
    return made


@pytest.fixture(scope="module")
def top() -> Comparison:
    return ph.compare(BODY, **TOP, methods=["MR2", "DOP853", "MR2(axes=231)"], steps=[0.1, 0.05], repeats=2)


def test_errors_of_a_free_body_are_those_against_the_exact_motion(free: Comparison) -> None:
    (entry,) = (e for e in free.entries if e.method == "MR2" and e.step == 0.05)
    solution = ph.simulate(BODY, **FREE, method="MR2", step=0.05, t_eval=free.t)
    exact = ph.FreeMotion(BODY, FREE["omega"]).at(free.t)
    turned = (exact.attitude.inv() * solution.attitude).magnitude()
    np.testing.assert_allclose(entry.attitude_error, turned, rtol=1e-9)
    assert entry.worst[0] == entry.attitude_error.max()
    largest = np.linalg.norm(exact.omega, axis=1).max()
    rates = np.linalg.norm(solution.omega - exact.omega, axis=1) / largest
    np.testing.assert_allclose(entry.rate_error, rates, rtol=1e-9)
    assert entry.energy_error is not None
    np.testing.assert_array_equal(entry.energy_error, solution.energy_error)
    assert (entry.steps, entry.evaluations) == (100, 0)
    assert free.t[-1] == 5.0
    np.testing.assert_allclose(free.t, np.arange(1, 51) * 0.1, rtol=1e-15)  # the grid of the longest step


def test_observed_orders(free: Comparison) -> None:
    for name, order in (("MR2", 2), ("RK4", 4)):
        first, *rest = free.methods[name]
        assert all(map(math.isnan, free.orders(first)))
        for entry in rest:
            assert free.orders(entry) == pytest.approx((order, order), abs=0.2)
        assert all(a.step > b.step for a, b in pairwise([first, *rest]))


@pytest.mark.parametrize("name", ["krysl2004-fasttop@t=10", "krysl2004-slowtop@t=5", "celledoni2006-satellite@t=10"])
def test_a_torqued_reference_is_as_good_as_it_says(name: str) -> None:
    """Against a state that is known to 40 digits; four times the stated uncertainty, as that is an estimate."""
    case = paper_case(name)
    motion: dict[str, Any] = {"omega": case.omega, "attitude": case.attitude, "t_span": (0.0, case.t)}
    done = ph.compare(case.body, case.torque, **motion, methods="MR2", steps=[case.t / 100], repeats=1)
    reference = done.reference
    assert 0 < reference.attitude_uncertainty < 1e-10
    from scipy.spatial.transform import Rotation

    q = reference.quaternion[-1]
    angle = (Rotation.from_matrix(case.R).inv() * Rotation.from_quat(q, scalar_first=True)).magnitude()
    noise = 1e-15 * (1 + case.sensitivity)  # of the inputs themselves, which are rounded
    assert angle < 4 * reference.attitude_uncertainty + noise
    rate = np.abs(reference.omega[-1] - case.omega_end).max() / np.abs(case.omega_end).max()
    assert rate < 4 * reference.rate_uncertainty + noise


def test_torques_of_the_rate_have_a_reference_too() -> None:
    done = ph.compare(BODY, ph.LinearDamping(0.5), **FREE, methods="RK4", steps=[0.1, 0.05], repeats=1)
    assert 0 < done.reference.attitude_uncertainty < 1e-13
    assert done.orders(done.entries[1])[0] == pytest.approx(4, abs=0.2)
    assert done.entries[0].energy_error is None
    assert "energy" in done.table()


def test_a_tolerance_takes_the_place_of_the_step(top: Comparison) -> None:
    entries = top.methods["DOP853"]
    assert [e.rtol for e in entries] == list(TOLERANCES)
    errors = [e.worst[0] for e in entries]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] / errors[-1] > 1e6
    costs = [e.evaluations for e in entries]
    assert costs == sorted(costs)
    assert "rtol 1e-08" in top.table()
    assert all(math.isnan(p) for e in entries for p in top.orders(e))
    one = ph.compare(BODY, **FREE, methods="DOP853(rtol=1e-7)", steps=[0.1], repeats=1)
    assert [(e.method, e.rtol) for e in one.entries] == [("DOP853(rtol=1e-07)", 1e-7)]


def test_options_make_methods_of_their_own(top: Comparison) -> None:
    assert list(top.methods) == ["MR2", "DOP853", "MR2(axes=231)"]
    plain, turned = top.methods["MR2"][0], top.methods["MR2(axes=231)"][0]
    assert plain.worst[0] != turned.worst[0]
    assert plain.evaluations == turned.evaluations == 51


def test_output_does_not_count_as_cost() -> None:
    times = np.linspace(0, 5, 1001)  # off the grid
    done = ph.compare(BODY, **TOP, methods="MR2,DOP853(rtol=1e-6)", steps=[0.1], t_eval=times, repeats=1)
    bare = ph.simulate(BODY, **TOP, method="MR2", step=0.1)
    assert done.entries[0].evaluations == bare.nfev
    assert done.entries[1].evaluations < 1000
    assert done.entries[0].attitude_error.shape == (1001,)


def test_time_may_run_backward() -> None:
    motion: dict[str, Any] = {"omega": [0.3, 1.0, 0.5], "t_span": (5.0, 0.0)}
    done = ph.compare(BODY, **motion, methods="MR2", steps=[0.1, 0.05], repeats=1)
    assert done.orders(done.entries[1])[0] == pytest.approx(2, abs=0.1)
    assert done.t[0] == pytest.approx(4.9)
    assert done.t[-1] == 0.0


def test_a_failed_run_is_a_row_and_the_rest_goes_on() -> None:
    wild: dict[str, Any] = {"omega": [100, 200, 300], "t_span": (0, 1)}
    done = ph.compare(ph.Body([1, 2, 2.5]), **wild, methods="RK4,MR2", steps=[0.1, 1e-3], repeats=2)
    failed, *others = done.entries
    assert "RK4 produced NaN or infinity" in failed.failure
    assert all(map(math.isnan, failed.worst))
    assert not any(e.failure for e in others)
    row = next(line for line in done.table().splitlines() if "failed" in line)
    assert re.match(r"RK4 +0\.1 s +failed: RK4 produced NaN or infinity .*: take a shorter step: it turns", row)
    assert done.plot() is not None


def test_errors_below_the_uncertainty_are_marked() -> None:
    done = ph.compare(BODY, **FREE, methods="Exact,RK4", steps=[0.1, 0.05], repeats=1)
    exact, _, rk4, _ = done.entries
    assert done.is_doubtful(exact)
    assert not done.is_doubtful(rk4)
    lines = done.table().splitlines()
    assert re.search(r"e-1\d\*", lines[1])
    assert any(line.startswith("* no larger than the uncertainty") for line in lines)
    assert not any("*" in line for line in lines if line.startswith("RK4"))


def test_each_column_has_its_own_doubt() -> None:
    """An attitude error that means something, with a rate error that does not, and the other way round."""
    done = ph.compare(BODY, **FREE, methods="RK4", steps=[0.1, 0.05], repeats=1)
    angle, rate, _ = done.entries[1].worst
    for doubtful, uncertain in ((0, (2 * angle, rate / 2)), (1, (angle / 2, 2 * rate))):
        reference = done.reference._replace(attitude_uncertainty=uncertain[0], rate_uncertainty=uncertain[1])
        seen = replace(done, reference=reference)
        coarse, fine = seen.entries
        assert (seen.is_doubtful(fine), seen.is_rate_doubtful(fine)) == (doubtful == 0, doubtful == 1)
        assert [math.isnan(order) for order in seen.orders(fine)] == [doubtful == 0, doubtful == 1]
        cells = seen.table().splitlines()[2].split()
        marked = [cell for cell in cells if cell.endswith("*")]
        assert marked == [f"{fine.worst[doubtful]:.1e}*"]
        assert any(line.startswith("* no larger than the uncertainty") for line in seen.notes())
        assert not seen.is_rate_doubtful(coarse)


class Impatient:
    """Interrupts when more than a number of steps is done.

    It does not count reports: a busy machine makes more of them.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, done: int, total: int) -> None:
        assert 0 <= done <= total
        if done > self.steps:
            raise KeyboardInterrupt


def test_an_interruption_keeps_what_there_is() -> None:
    """Each of the four entries is made of two runs, of 50 or 100 steps: the interruption comes in the second entry."""
    with pytest.raises(ph.ComparisonInterrupted) as stopped:
        ph.compare(BODY, **FREE, methods="MR2,RK4", steps=[0.1, 0.05], repeats=1, progress=Impatient(150))
    done = stopped.value.comparison
    assert len(done.entries) == 1
    assert done.interrupted
    assert "interrupted" in done.table()


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    ph.compare(BODY, **FREE, methods="MR2,RK4", steps=[0.1, 0.05], progress=lambda *x: seen.append(x))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": "MR2,Strng"}, "there is no method 'Strng': did you mean 'Strang'"),
        ({"methods": ""}, "name at least one method"),
        ({"methods": "MR2(axes=231"}, "brackets do not match"),
        ({"methods": "Exact,RK4,JE", "torque": ph.HeavyTop(weight=1)}, "cannot be used with Exact, JE"),
        ({"steps": []}, "at least one step"),
        ({"steps": [0.1, -0.1]}, "a step must be positive, not -0.1"),
        ({"steps": [0.1, math.nan]}, "a step must be finite"),
        ({"steps": [0.1, 0.1]}, "a step is listed twice"),
        ({"steps": [0.1, 6.0]}, "a step of 6 s is longer than the whole time from 0 to 5 s"),
        ({"steps": [1e-300]}, "lost in the round-off"),
        ({"t_eval": [0.0, 7.0]}, "outside t_span"),
        ({"t_span": (1.0, 1.0)}, "t_span must have a length"),
        ({"repeats": 0}, "repeats must be a positive whole number, not 0"),
    ],
)
def test_bad_input_is_told_before_anything_is_run(changes: dict[str, Any], message: str) -> None:
    def on_compile(what: str) -> None:
        raise AssertionError(what)

    settings: dict[str, Any] = {**FREE, "methods": "MR2", "steps": [0.1], **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        ph.compare(BODY, **settings, on_compile=on_compile, progress=Impatient(0))


def test_lists_are_split_outside_brackets() -> None:
    assert listed("MR2(axes=231), NMB,HLR(of=MR2(axes=123),monitor=rate),") == [
        "MR2(axes=231)", "NMB", "HLR(of=MR2(axes=123),monitor=rate)",
    ]  # fmt: skip


def test_halvings_fit_into_the_span() -> None:
    assert halvings(0.1, (0, 100)) == [0.4, 0.2, 0.1, 0.05, 0.025]
    assert halvings(-0.1, (2, 0)) == [0.2, 0.1, 0.05, 0.025]
    assert halvings(1.0, (0, 1)) == [1.0, 0.5, 0.25]


def test_angles_take_any_norm_and_sign() -> None:
    a = np.array([[1.0, 0, 0, 0], [2.0, 0, 0, 0], [1.0, 0, 0, 0]])
    b = np.array([[math.cos(0.05), math.sin(0.05), 0, 0], [-3.0, 0, 0, 0], [1.0, 1e-9, 0, 0]])
    np.testing.assert_allclose(angles(a, b), [0.1, 0.0, 2e-9], rtol=1e-14)


# --- what is left on the disk


def test_the_file_holds_everything(top: Comparison, tmp_path: Path) -> None:
    top.save(tmp_path / "c.nc")
    variables, attributes = netcdf.read(tmp_path / "c.nc")
    assert attributes["format"] == "polhode comparison"
    assert attributes["reference_attitude_uncertainty"] == top.reference.attitude_uncertainty
    assert variables["method"].data.tolist() == [e.method for e in top.entries]
    np.testing.assert_array_equal(variables["attitude_error"].data[0], top.entries[0].attitude_error)
    np.testing.assert_array_equal(variables["time"].data, top.t)
    assert np.isnan(variables["rtol"].data[0])
    assert all(v.attributes.get("units") for k, v in variables.items() if k not in ("method", "failure"))
    with pytest.raises(FileExistsError):
        top.save(tmp_path / "c.nc")
    import xarray

    with xarray.open_dataset(tmp_path / "c.nc") as found:
        assert found["attitude_error"].attrs["units"] == "rad"
        assert found.sizes == {"run": len(top.entries), "time": top.t.size}


def test_the_picture(top: Comparison, tmp_path: Path) -> None:
    figure = top.plot(tmp_path / "c.png", tmp_path / "c.svg")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "c.svg").read_bytes()[:1000]
    labels = {text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel())}
    assert labels >= {
        "time of a run (ms)", "evaluations of the torque", "largest attitude error (rad)", "time (s)",
        "relative energy error",
    }  # fmt: skip
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == len(top.methods)


def test_the_picture_of_a_free_body_counts_steps(free: Comparison) -> None:
    figure = free.plot()
    assert "steps" in {axes.get_xlabel() for axes in figure.axes}


@pytest.mark.usefixtures("plain")
def test_many_methods_can_be_told_apart() -> None:
    names = [f"MR2(axes={a})" for a in ("123", "132", "213", "231", "312", "321")] + ["RK4", "NMB", "DMV2"]
    done = ph.compare(BODY, **FREE, methods=names, steps=[0.1], repeats=1)
    lines = done.plot().axes[0].get_lines()
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(names)


def test_the_lines_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "choose_method.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(block, page.name, "exec"), names)
    assert len(names["done"].entries) == 6
    assert {p.name for p in tmp_path.iterdir()} == {"comparison.png", "comparison.nc"}


def test_steps_for_each_method() -> None:
    steps = {"RK4": [0.1], "*": [0.05, 0.025]}
    done = ph.compare(BODY, **FREE, methods="MR2,RK4", steps=steps, repeats=1)
    assert [(e.method, e.step) for e in done.entries] == [("MR2", 0.05), ("MR2", 0.025), ("RK4", 0.1)]
    alone = ph.compare(BODY, **FREE, methods="RK4", steps=[0.1], t_eval=done.t, repeats=1)
    np.testing.assert_array_equal(done.entries[-1].attitude_error, alone.entries[0].attitude_error)
    with pytest.raises(ValueError, match="there are no steps for MR2: name it, or give steps for all others under"):
        ph.compare(BODY, **FREE, methods="MR2,RK4", steps={"RK4": [0.1]})
    with pytest.raises(ValueError, match="there are steps for KL6, which is not among the methods MR2, RK4"):
        ph.compare(BODY, **FREE, methods="MR2,RK4", steps={"KL6": [0.1], "*": [0.2]})
