"""What things print themselves as: words, not memory addresses."""

from pathlib import Path
from typing import Any

import polhode as ph
from polhode.methods import find


def friction(t: float, q: Any, w: Any, p: Any) -> Any:
    return (-p[0] * w[0], -p[0] * w[1], -p[0] * w[2] + p[1])


def test_methods() -> None:
    assert repr(find("MR2(axes=231)")) == f"<Method MR2(axes=231): {find('MR2').summary}>"


def test_torques(plain: None, tmp_path: Path) -> None:
    assert repr(ph.HeavyTop(2.0)) == "HeavyTop(weight=2.0, point=(0.0, 0.0, 1.0), down=(0.0, 0.0, -1.0))"
    mine = ph.torque(friction, parameters=[0.5, 2.0], breakpoints=[1.0], depends=["time", "rate"])
    assert repr(mine) == "<torque friction(0.5, 2): depends on attitude, time, rate; breakpoints [1.0]>"
    ph.simulate(ph.Body([1, 2, 2.5]), mine, omega=[1, 2, 3], t_span=(0, 1), step=0.5, method="RK4").save(
        tmp_path / "s.nc"
    )
    assert repr(ph.load(tmp_path / "s.nc").torque) == "<torque friction(0.5, 2) from a file, without its function>"


def test_quantities() -> None:
    q = ph.quantity("omega").max("time").quantile([0.1, 0.9], "body")
    assert repr(q) == "quantity('omega').max('time').quantile([0.1, 0.9], 'body')"
    assert repr(ph.quantity("energy").last().mean("body")) == "quantity('energy').last().mean('body')"
    assert repr(ph.quantity(len).reduce(max).fold(min, 0.0)) == "quantity(len).reduce(max).fold(min)"
    assert repr(ph.quantity("omega").quantile(0.5, "body")) == "quantity('omega').quantile(0.5, 'body')"


def test_steps_of_ensembles_are_those_of_a_body(plain: None) -> None:
    given: dict[str, Any] = {
        "omega": ph.samples.Normal([0, 0, 1], 0.1), "count": 5, "seed": 1, "t_span": (0, 10), "step": 0.1,
        "method": "MR2",
    }  # fmt: skip
    many = ph.ensemble(ph.Body([1, 2, 2.5]), **given)
    assert "0 to 10 s in 100 steps and 2 rows a body" in repr(many)
    reduced = ph.ensemble(ph.Body([1, 2, 2.5]), **given, reduce={"rate": ph.quantity("omega").mean("body")})
    assert "500 of all bodies together" in repr(reduced)


def test_steps_that_a_method_chooses_are_shown_by_their_mean(plain: None) -> None:
    top, body = ph.HeavyTop(1.0), ph.Body([1, 2, 2.5])
    run = ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, 4), step=4.0, method="DOP853")
    mean = f"steps of {4.0 / run.stats.steps:.3g} s on average"
    assert f"method    {run.method}, {mean}" in repr(run)
    assert "step 4 s" not in repr(run)
    many = ph.ensemble(body, top, omega=[[1, 2, 3]] * 2, t_span=(0, 4), step=4.0, method="DOP853")
    assert mean in repr(many)
    fixed = ph.simulate(body, top, omega=[1, 2, 3], t_span=(0, 4), step=0.1, method="MR2")
    assert "method    MR2, step 0.1 s" in repr(fixed)
