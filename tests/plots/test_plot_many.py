"""Pictures of many bodies: the curves are the quantiles of the bodies that are left."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import polhode as ph
from polhode.plots.plot_many import LEVELS, MOST_PANELS, Drawable, draw

BODY = ph.Body([1.0, 2.0, 2.5])


def made(**more: Any) -> Any:
    given: dict[str, Any] = {
        "omega": ph.samples.Normal([0.2, 0.0, 1.0], 0.1), "count": 12, "seed": 1, "t_span": (0, 1), "step": 0.1,
        "method": "MR2", "every": 1,
    }  # fmt: skip
    return ph.ensemble(BODY, ph.HeavyTop(0.3), **given, **more)


def test_median_and_bands(plain: None) -> None:
    many = made()
    figure = many.plot()
    rates, energy, direction = figure.axes
    assert (rates.get_ylabel(), energy.get_ylabel()) == ("omega (rad/s)", "kinetic energy (J)")
    assert direction.get_ylabel() == "direction of body axis z"
    for line, values in zip(rates.lines, np.moveaxis(many.omega, 2, 0), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.quantile(values, 0.5, axis=0), rtol=1e-12)
    bands = [band for band in energy.collections if isinstance(band, PolyCollection)]
    assert len(bands) == len(LEVELS) // 2
    low, high = np.quantile(many.kinetic_energy, [LEVELS[0], LEVELS[-1]], axis=0)
    seen = np.asarray(bands[0].get_paths()[0].vertices)
    assert np.isclose(seen[:, 1].min(), low.min())
    assert np.isclose(seen[:, 1].max(), high.max())


def test_bodies_that_failed_are_left_out() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 4))
    values[5:20, 2:] = np.nan
    values[:, 3] = np.nan
    status = Drawable(("body",), np.zeros(30), {})
    time = Drawable(("time",), np.arange(4.0), {})
    figure = draw({"time": time, "status": status, "omega": Drawable(("body", "time"), values, {})}, "title")
    assert figure is not None
    (line,) = figure.axes[0].lines
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        expected = np.nanquantile(values, 0.5, axis=0)
    np.testing.assert_allclose(np.asarray(line.get_ydata()), expected, rtol=1e-12)


def test_reductions(plain: None) -> None:
    q = ph.quantity
    reduced = made(
        reduce={
            "rate": q("omega").mean("body"),
            "spread": q("kinetic_energy").quantile([0.1, 0.9], "body"),
            "cov": q("omega").cov(),
            "final": q("omega").last(),
        }
    )
    figure = reduced.plot()
    rate, spread, cov = figure.axes
    assert [line.get_label() for line in rate.lines] == ["x", "y", "z"]
    assert [line.get_label() for line in spread.lines] == ["0.1", "0.9"]
    assert [line.get_label() for line in cov.lines] == ["x x", "x y", "x z", "y y", "y z", "z z"]
    np.testing.assert_array_equal(np.asarray(rate.lines[1].get_ydata()), reduced["rate"][:, 1])


def test_what_is_not_over_time_cannot_be_drawn(plain: None) -> None:
    with pytest.raises(ValueError, match="nothing over time to draw: final has no time left"):
        made(reduce={"final": ph.quantity("omega").last()}).plot()


def test_too_many_panels_are_counted() -> None:
    table = {f"v{k}": Drawable(("time",), np.ones(3), {}) for k in range(MOST_PANELS + 2)}
    figure = draw({"time": Drawable(("time",), np.arange(3.0), {}), **table}, "title")
    assert figure is not None
    assert len(figure.axes) == MOST_PANELS
    assert figure.get_suptitle() == "title; 2 more are not drawn"


def test_quantities_and_quantiles_of_the_users_choice(plain: None, tmp_path: Path) -> None:
    many = made()
    figure = many.plot(
        tmp_path / "many.png", "omega", "pointing_angle_deg(z, [0, 0, 1])", spin, quantiles=[0.1, 0.3, 0.6, 0.7, 0.9]
    )
    assert (tmp_path / "many.png").stat().st_size > 1000
    rates, angle, own = figure.axes
    assert rates.get_ylabel() == "omega (rad/s)"
    assert own.get_ylabel() == "spin"
    np.testing.assert_allclose(
        np.asarray(own.lines[0].get_ydata()), np.quantile(many.omega[..., 2], 0.6, axis=0), rtol=1e-12
    )
    bands = [band for band in angle.collections if isinstance(band, PolyCollection)]
    assert len(bands) == 2
    inner = np.asarray(bands[1].get_paths()[0].vertices)[:, 1]
    tilts = np.degrees(np.arccos(np.clip([one.attitude.as_matrix()[:, 2, 2] for one in many], -1.0, 1.0)))
    assert np.isclose(inner.max(), np.quantile(tilts, 0.7, axis=0).max())
    legend = rates.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "quantile 0.6, 40 % and 80 %"


def spin(many: Any) -> Any:
    return many.omega[..., 2]


def test_axes_of_the_users(plain: None) -> None:
    figure = Figure()
    ax = figure.subplots()
    many = made()
    assert many.plot("kinetic_energy", ax=ax, quantiles=0.5) is figure
    (line,) = ax.lines
    np.testing.assert_allclose(np.asarray(line.get_ydata()), np.median(many.kinetic_energy, axis=0), rtol=1e-12)
    assert not ax.collections
    with pytest.raises(ValueError, match="axes take one quantity"):
        many.plot(ax=ax)


@pytest.mark.parametrize(
    ("what", "more", "words"),
    [
        ("omga", {}, "there is no quantity 'omga': did you mean 'omega'"),
        ("state", {}, "carries no numbers"),
        ("pointing_angle(z)", {}, "must be written like"),
        (lambda many: np.zeros(3), {}, "must return an array"),
        ("omega", {"quantiles": [0.1, 0.9]}, "an odd number of numbers from 0 to 1 that rise"),
        ("omega", {"quantiles": [0.9, 0.5, 0.1]}, "that rise"),
        ("omega", {"quantiles": [5, 50, 95]}, "from 0 to 1"),
    ],
)
def test_what_cannot_be_drawn_of_an_ensemble(plain: None, what: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        made().plot(what, **more)
