"""Sums of torques: parts that are scaled, switched on for a time, and asked for one by one."""

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import locatable
from polhode.compiler.digest import named
from polhode.ensembles.result import Ensemble
from polhode.files.records import TorqueFromFile
from polhode.kernels import codegen as text
from polhode.kernels.algebra.quat import upright_to_body
from polhode.kernels.algebra.vec import cross
from polhode.kernels.types import Depends
from polhode.torques import SumTorque, Torque, _sums
from polhode.torques.gravity_gradient import upright_gradient_torque

BODY = ph.Body([2.0, 3.0, 4.0])
TILTED = ph.Body([[2.0, 0.2, 0.0], [0.2, 3.0, 0.1], [0.0, 0.1, 4.0]])
Q, W = (0.5, 0.1, -0.7, 0.5), (0.4, 0.2, 0.3)
GRADIENT, TOP = ph.GravityGradient(0.5), ph.HeavyTop(1.5)


@ph.torque(parameters=[0.3, 0.2])
def control(t: float, q: Any, w: Any, p: Any) -> Any:
    return [-p[0] * w[0], -p[1] * w[1], -p[-2] * w[2]]


@ph.torque(parameters=[*GRADIENT.parameters(BODY), *TOP.parameters(BODY)], depends="attitude")
def by_hand(t: float, q: Any, w: Any, p: Any) -> Any:
    a = upright_gradient_torque(t, q, w, p)
    b = cross((p[9], p[10], p[11]), upright_to_body(q, p[14]))
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@ph.torque(parameters=[0.2])
def bang(t: float, q: Any, w: Any, p: Any) -> Any:
    return (-p[0] if q[1] > 0.1 else p[0], 0.0, 0.0)


def at(torque: Torque, t: float = 0.0, body: ph.Body = BODY) -> np.ndarray:
    """The torque at one state, in plain Python."""
    return np.array(torque.torque_kernel(t, Q, W, np.array(torque.parameters(body))))


def run(torque: Torque, method: str | None, body: ph.Body = BODY, **options: Any) -> ph.Solution:
    given: dict[str, Any] = {"omega": W, "t_span": (0.0, 2.0), "method": method, **options}
    if "rtol" not in options:
        given.setdefault("step", 0.1)
    return ph.simulate(body, torque, **given)


# --- algebra -------------------------------------------------------------------------------------------------------


def test_operators() -> None:
    a, b, c = at(GRADIENT), at(TOP), at(control)
    for made, expected in {
        GRADIENT + TOP + control: (a + b) + c, sum([GRADIENT, TOP, control]): (a + b) + c,
        0.5 * TOP: 0.5 * b, TOP * 2: 2 * b, -TOP: -b, TOP / 4: 0.25 * b, GRADIENT - TOP: a - b,
        -(GRADIENT + TOP) - 2 * control: (-a - b) - 2 * c, np.float64(3.0) * TOP: 3 * b, 2 * (0.5 * TOP): b,
        ph.GravityGradient(0.5) + ph.Free(): a,
    }.items():  # fmt: skip
        assert isinstance(made, Torque)
        assert at(made).tolist() == expected.tolist(), made


def test_free_is_neutral_and_one_part_is_no_sum() -> None:
    free = ph.Free()
    assert free + TOP is TOP
    assert TOP + free is TOP
    assert sum([TOP]) is TOP
    assert 3 * free == free == free.during(0.0, 1.0) == free + free == -free


def test_names_and_parts() -> None:
    total = GRADIENT + control + 0.5 * GRADIENT.during(0, 1) - control
    assert total.name == "GravityGradient + control + GravityGradient_2 + control_2"
    assert list(total.parts) == total.name.split(" + ")
    assert total.parts["control"] is control
    assert total.parts["control_2"] == -control
    assert TOP.parts == {"HeavyTop": TOP}
    assert (0.5 * TOP).parts == {"HeavyTop": 0.5 * TOP}


def test_what_is_kept() -> None:
    total = GRADIENT + TOP
    assert total.depends == Depends.POSITION
    assert total.conserves_energy
    assert total.axis == (0.0, 0.0, 1.0)
    assert not total.may_bend
    assert total.bends_known
    assert (total + control).depends == Depends.POSITION | Depends.RATE
    assert (total + control).potential_kernel is None
    assert (total + control).axis is None
    limited = GRADIENT + TOP.during(1.0, 2.5) + ph.PiecewiseTorque(((2.0, (1, 0, 0)), (3.0, (0, 1, 0)))).during(1.5, 9)
    assert limited.breakpoints == (1.0, 1.5, 2.0, 2.5, 3.0, 9.0)
    assert limited.depends == Depends.POSITION | Depends.TIME
    assert not (GRADIENT + TOP.during(1.0, 2.5)).conserves_energy
    assert (GRADIENT + TOP.during(1.0, 2.5)).axis == (0.0, 0.0, 1.0)
    assert (GRADIENT + ph.HeavyTop(1.0, down=(1, 0, 0))).axis is None
    assert not (ph.LinearDamping(1.0) + ph.ConstantBodyTorque((1, 0, 0))).reads_attitude
    assert (ph.LinearDamping(1.0) + TOP).reads_attitude


def test_the_energy_in_turning_axes() -> None:
    orbit = ph.OrbitalGravityGradient(0.3)
    assert (orbit + 0.1 * orbit).turning == orbit.turning
    assert (orbit + TOP).turning == orbit.turning  # which is symmetric about the normal of the orbit
    assert (orbit + ph.HeavyTop(1.0, down=(1, 0, 0))).turning is None
    assert (orbit + ph.OrbitalGravityGradient(0.4)).turning is None
    assert (orbit + control).turning is None
    assert (orbit + TOP.during(0, 1)).turning is None


@pytest.mark.usefixtures("plain")
def test_the_energy_in_turning_axes_is_kept() -> None:
    found = run(ph.OrbitalGravityGradient(0.3) + TOP, "G8")
    assert found.invariant_errors["energy in turning axes"].max() < 1e-13  # of 20 steps of order 8 and their round-off


def test_equal_and_hashed_and_pickled_and_shown() -> None:
    total = GRADIENT + 0.5 * TOP.during(0.0, math.inf) - control
    assert total == ph.GravityGradient(0.5) + 0.5 * ph.HeavyTop(1.5).during(0.0, math.inf) - control
    assert hash(total) == hash(GRADIENT + 0.5 * TOP.during(0.0, math.inf) - control)
    assert total != GRADIENT + 0.4 * TOP.during(0.0, math.inf) - control
    assert GRADIENT + TOP != TOP + GRADIENT  # the last bits may differ
    _ = total.torque_kernel
    again = pickle.loads(pickle.dumps(total))
    assert again.torque_kernel is total.torque_kernel
    assert again.parameters(BODY) == total.parameters(BODY)
    models = GRADIENT - TOP.during(0, 1)
    assert pickle.loads(pickle.dumps(models)) == models
    names = {name: getattr(ph, name) for name in ("GravityGradient", "HeavyTop")}
    assert eval(repr(models), names) == models
    assert eval(repr(-0.5 * TOP.during(0, 1)), names) == -0.5 * TOP.during(0, 1)


def test_numbers_do_not_change_the_program() -> None:
    compiled: list[str] = []
    run(GRADIENT + TOP, "Strang")
    for torque in (ph.GravityGradient(0.1) + ph.HeavyTop(3.0), ph.GravityGradient(0.0) + ph.HeavyTop(-1.0)):
        run(torque, "Strang", on_compile=lambda: compiled.append("again"))
    assert compiled == []
    first = ph.GravityGradient(0.1) + 2 * ph.HeavyTop(3.0).during(0, 1)
    name = named(first.torque_kernel)  # by which the program is found on disk, in any process
    assert name is not None
    text._shared.cache_clear()
    _sums._torques_together.cache_clear()
    again = ph.GravityGradient(0.1) + 3 * ph.HeavyTop(1.0).during(0, 2)
    assert again.torque_kernel is not first.torque_kernel
    assert named(again.torque_kernel) == name


def test_numbers_do_not_change_the_kernel() -> None:
    first = GRADIENT + 0.5 * control.during(0, 1)
    assert first.torque_kernel is (ph.GravityGradient(9.0) - control.with_parameters([1, 2]).during(2, 3)).torque_kernel
    assert first.torque_kernel is not (GRADIENT + 0.5 * control).torque_kernel


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: TOP + 1.0, TypeError, "not 1.0: take a model that `polhode torques` lists"),
        (lambda: None + TOP, TypeError, "not None"),
        (lambda: 1 - TOP, TypeError, "not 1"),
        (lambda: TOP + ph.HeavyTop, TypeError, r"write HeavyTop\(...\)"),
        (lambda: TOP + (lambda t, q, w, p: (0, 0, 0)), TypeError, "decorate it with @ph.torque"),
        (lambda: TOP * TOP, TypeError, "by a number, not by another torque"),
        (lambda: math.nan * TOP, ValueError, "the factor of a torque must be finite, not nan"),
        (lambda: TOP * "2", TypeError, "the factor of a torque"),
        (lambda: TOP / 0, ValueError, "divided by zero"),
        (lambda: TOP.during(2, 2), ValueError, r"start < end, but 2 is not before 2"),
        (lambda: ph.Free().during(3, 2), ValueError, r"3 is not before 2"),
        (lambda: TOP.during(math.nan, 2), ValueError, "start must be finite"),
        (lambda: (TOP.during(0, 1) + GRADIENT).during(1, 2), ValueError, "HeavyTop acts from 0 to 1 s, and never"),
    ],
)
def test_mistakes(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


# --- runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["Strang", "G8"])
def test_a_sum_has_the_bits_of_a_function_written_by_hand(method: str) -> None:
    a, b = (run(torque, method) for torque in (GRADIENT + TOP, by_hand))
    assert (a.quaternion == b.quaternion).all()
    assert (a.momentum == b.momentum).all()
    assert a.energy_error.max() < (1e-3 if method == "Strang" else 1e-12)  # of a step of 0.1 s
    assert a.momentum_error.max() < 1e-14


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["MR2", "DOP853", "RK4", "Radau"])
@pytest.mark.parametrize("body", [BODY, TILTED])
def test_parts_add_up_in_any_axes(method: str, body: ph.Body) -> None:
    """Two halves are a whole, to round-off: doubling and halving are exact."""
    whole, halves = (run(torque, method, body, step=0.2) for torque in (TOP, 0.5 * TOP + 0.5 * TOP))
    np.testing.assert_array_equal(whole.momentum, halves.momentum)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(("method", "order"), [("Strang", 2), ("RK4", 4)])
def test_the_order_of_a_method_holds_across_a_switch(method: str, order: int) -> None:
    torque = GRADIENT + (4 * TOP).during(0.333, 1.234)
    options: dict[str, Any] = {"omega": (3.0, 2.0, 5.0), "t_eval": [2.0]}
    sure = run(torque, "G8", step=0.02, **options).omega[-1]
    long, short = (np.abs(run(torque, method, step=h, **options).omega[-1] - sure).max() for h in (0.1, 0.05))
    assert math.log2(long / short) > order - 0.7  # steps before and after a switch are cut to other lengths
    # Order 16: a step that saw both sides of a switch would err by a hundredth.
    assert np.abs(run(torque, "G8", step=0.3, **options).omega[-1] - sure).max() < 1e-12


def test_a_tolerance_holds_across_a_switch() -> None:
    torque = GRADIENT + TOP.during(0.333, 1.234)
    found = run(torque, None, rtol=1e-9)
    sure = run(torque, "G8", step=0.01, t_eval=[2.0])
    assert np.abs(found.omega[-1] - sure.omega[-1]).max() < 1e-9 * np.abs(sure.omega).max()
    assert found.error_estimate is not None
    assert {0.333, 1.234} <= set(run(torque, "Strang").t.tolist())


@pytest.mark.usefixtures("plain")
def test_a_switched_torque_is_not_called_while_it_is_off() -> None:
    """A function may have no value then: a table may end, a root may be of a negative number."""

    @ph.torque
    def until_one(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.sqrt(1.0 - t), 0.0, 0.0)

    for method in ("RK4", "DOP853"):
        found = run(until_one.during(-math.inf, 1.0), method)
        assert found.success
        before = run(until_one, method, t_span=(0.0, 1.0))
        # The root is steep at its end, where a switched torque is seen just before it.
        np.testing.assert_allclose(found.at([1.0]).momentum[-1], before.momentum[-1], rtol=1e-8)


@pytest.mark.evidence
def test_bends_of_a_part_are_located() -> None:
    jumps = ph.PiecewiseTorque(((0.5, (0.1, 0.0, 0.0)), (1.5, (0.0, 0.2, 0.0))), frame="body")
    torque = jumps + bang + 0.1 * GRADIENT.during(0.7, 2.0)
    assert torque.may_bend
    assert torque.bends_known
    assert bang.bends_known
    found = run(torque, "DOP853(rtol=1e-9)", step=0.1, t_span=(0.0, 20.0))
    sure = run(torque, "DOP853(rtol=1e-12)", step=0.1, t_span=(0.0, 20.0))
    assert np.abs(found.at([20.0]).omega - sure.at([20.0]).omega).max() < 1e-8
    free = run(jumps + 0.1 * GRADIENT.during(0.7, 2.0), "DOP853(rtol=1e-9)", step=0.1, t_span=(0.0, 20.0))
    crossed = int((np.diff(np.sign(sure.quaternion[:, 1] - 0.1)) != 0).sum())
    assert crossed > 1
    assert found.stats.nfev < free.stats.nfev + 60 * crossed


def test_one_function_may_jump_at_breakpoints_in_one_part_and_bend_in_another() -> None:
    declared = ph.torque(bang.function, parameters=[0.1], breakpoints=[3.0])
    assert not declared.may_bend
    both = declared + bang
    assert both.bends_known
    form = locatable(both.torque_kernel, both.parameters(BODY))
    assert form is not None
    assert form.decisions == 1


@pytest.mark.usefixtures("plain")
def test_the_parts_of_a_solution() -> None:
    torque = GRADIENT + control + 2.0 * TOP.during(0.5, 1.0)
    found = run(torque, "RK4")
    parts = [found.torque_of(name) for name in torque.parts]
    np.testing.assert_allclose(sum(parts), found.torque_of(), rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(found.torque_of(1), -np.array([0.3, 0.2, 0.3]) * found.omega)
    np.testing.assert_array_equal(found.torque_of("control"), found.torque_of(1))
    on = (found.t >= 0.5) & (found.t < 1.0)
    assert (np.abs(found.torque_of("heavytop")).max(axis=1) > 0).tolist() == on.tolist()
    assert run(TOP, "RK4").torque_of().shape == (21, 3)
    with pytest.raises(ValueError, match="known are GravityGradient, HeavyTop, control"):
        found.torque_of("wheel")
    with pytest.raises(ValueError, match="from 0 to 2, not 3"):
        found.torque_of(3)


def test_the_parts_of_many_rows() -> None:
    found = run(GRADIENT + TOP, "Strang")
    rows = np.resize(np.arange(found.t.size), 25_000)  # so many that torques are compiled
    many = replace(found, t=found.t[rows], quaternion=found.quaternion[rows], momentum=found.momentum[rows])
    np.testing.assert_allclose(many.torque_of("HeavyTop"), found.torque_of("HeavyTop")[rows], rtol=1e-15)


@pytest.mark.usefixtures("plain")
def test_potentials_add_up() -> None:
    found = run(GRADIENT + 2.0 * TOP, "G8", step=0.01)
    parts = (run(GRADIENT, "G8", step=0.01), run(TOP, "G8", step=0.01))
    expected = [part._potential(found.t, found.quaternion) * k for part, k in zip(parts, (1.0, 2.0), strict=True)]
    np.testing.assert_allclose(found.potential_energy, expected[0] + expected[1], rtol=1e-14)
    switched = run(GRADIENT + TOP.during(0.5, 1.0), "Strang")
    off = switched.t < 0.5
    np.testing.assert_array_equal(
        switched.potential_energy[off], parts[0]._potential(switched.t[off], switched.quaternion[off])
    )


@pytest.mark.usefixtures("plain")
def test_errors_name_the_part() -> None:
    @ph.torque
    def nothing(t: float, q: Any, w: Any, p: Any) -> Any:
        pass

    @ph.torque
    def broken(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.nan if t > 1.0 else 0.0, 0.0, 0.0)

    with pytest.raises(ValueError, match="the torque nothing must return three numbers, not None"):
        run(TOP + 0.5 * nothing, "RK4")
    with pytest.raises(ph.SimulationFailed, match="in its part broken"):
        run(TOP + broken, "RK4")


# --- ensembles -----------------------------------------------------------------------------------------------------


def test_bodies_have_parameters_of_their_own_in_a_part() -> None:
    torques = [ph.GravityGradient(0.1 * k, (0, 0, 1) if k else (1, 0, 1)) + k * TOP.during(0.35, 1.0) for k in range(9)]
    many = ph.ensemble(BODY, torques, omega=[W] * 9, t_span=(0, 2), step=0.1, method="MR2")
    assert many.why_not_packed == ""
    for k in (0, 8):
        alone = run(torques[k], "MR2")
        np.testing.assert_array_equal(many.momentum[k, -1], alone.momentum[-1])


def test_directions_of_the_parts_may_differ() -> None:
    """Each sum has one part that is upright, and the kernel of another one that is not."""
    x = (1.0, 0.0, 0.0)
    torques = [ph.GravityGradient(0.5) + ph.HeavyTop(1.0, down=x), ph.GravityGradient(0.5, x) + ph.HeavyTop(1.0)]
    many = ph.ensemble(BODY, torques, omega=[W] * 2, t_span=(0, 2), step=0.1, method="MR2")
    for k, torque in enumerate(torques):
        np.testing.assert_array_equal(many.momentum[k, -1], run(torque, "MR2").momentum[-1])


@pytest.mark.evidence
def test_rows_of_parameters_for_a_part() -> None:
    moments = np.array([[2.0, 3.0, 4.0 + 0.01 * k] for k in range(9)])
    rows = [[0.1 * k, 0.2] for k in range(9)]
    torque = GRADIENT + 0.5 * control
    assert isinstance(torque, SumTorque)
    given: dict[str, Any] = {"omega": W, "t_span": (0, 2), "step": 0.1, "method": "RK4"}
    many = ph.ensemble(moments, torque, parameters={"control": rows}, **given)
    listed = ph.ensemble(moments, [torque.with_parameters("control", row) for row in rows], **given)
    np.testing.assert_array_equal(many.momentum, listed.momentum)
    alone = ph.simulate(ph.Body(moments[7]), GRADIENT + 0.5 * control.with_parameters(rows[7]), **given)
    np.testing.assert_array_equal(many.momentum[7, -1], alone.momentum[-1])
    assert many[7].torque.parameters(BODY)[10:] == [rows[7][0], 0.2]
    drawn = {"control": ph.samples.Normal([0.3, 0.2], 0.01)}
    some = ph.ensemble(BODY, torque, parameters=drawn, count=9, seed=1, **given)
    assert np.ptp(some.momentum[:, -1], axis=0).min() > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([[1.0, 2.0]], "name it, as parameters="),
        ({"wheel": [[1.0, 2.0]]}, "the parts are GravityGradient, control"),
        ({"GravityGradient": [[1.0, 2.0]]}, "not for GravityGradient"),
        ({"control": [[1.0]]}, "control has 2 parameters, but a row of parameters has 1"),
        ({"control": [[1.0, 2.0]], "other": [[1.0]]}, "those of one part"),
    ],
)
def test_mistakes_in_parameters_of_a_part(parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ph.ensemble(
            BODY, GRADIENT + control, parameters=parameters, omega=[W] * 2, t_span=(0, 1), step=0.1, method="RK4"
        )


def test_moments_of_many_bodies_reach_their_parts() -> None:
    moments = np.array([[2.0, 3.0, 4.0 + 0.01 * k] for k in range(9)])
    many = ph.ensemble(moments, GRADIENT + TOP, omega=[W] * 9, t_span=(0, 2), step=0.1, method="Strang")
    alone = run(GRADIENT + TOP, "Strang", ph.Body(moments[8]))
    # The exact flow is prepared for the fastest of all bodies, which may change the last digit.
    np.testing.assert_allclose(many.momentum[8, -1], alone.momentum[-1], rtol=1e-13)
    assert np.nanmax(many.each("energy_error")) < 1e-3  # of a step of 0.1 s


# --- files, and runs that go on ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
def test_a_sum_of_models_comes_back_from_a_file(tmp_path: Path) -> None:
    torque = GRADIENT - 0.5 * TOP.during(0.5, math.inf)
    found = run(torque, "Strang")
    found.save(tmp_path / "sum.nc")
    again = ph.load(tmp_path / "sum.nc")
    assert again.torque == torque
    assert "- 0.5 * HeavyTop" in str(torque)
    np.testing.assert_array_equal(again.torque_of("HeavyTop"), found.torque_of("HeavyTop"))
    on = ph.resume(again, 3.0)
    np.testing.assert_array_equal(on.momentum[-1], run(torque, "Strang", t_span=(0, 3)).momentum[-1])


@pytest.mark.usefixtures("plain")
def test_a_sum_with_a_function_of_the_user_is_named_in_a_file(tmp_path: Path) -> None:
    torque = GRADIENT + 0.5 * control
    run(torque, "RK4").save(tmp_path / "sum.nc")
    again = ph.load(tmp_path / "sum.nc")
    assert isinstance(again.torque, TorqueFromFile)
    with pytest.raises(ValueError, match=r"torque=GravityGradient \+ control"):
        ph.resume(again, 3.0)
    on = ph.resume(ph.load(tmp_path / "sum.nc", torque=GRADIENT + 0.5 * control), 3.0)
    np.testing.assert_array_equal(on.momentum[-1], run(torque, "RK4", t_span=(0, 3)).momentum[-1])
    with pytest.raises(ValueError, match="which is not"):
        ph.load(tmp_path / "sum.nc", torque=GRADIENT + 0.6 * control)


# --- scenarios -----------------------------------------------------------------------------------------------------

SCENARIO = """
[body]
moments = [2.0, 3.0, 4.0]
[initial]
omega = [0.4, 0.2, 0.3]
[run]
t_span = [0.0, 2.0]
step = 0.1
method = "RK4"
"""


def scenario(folder: Path, text: str) -> Torque:
    from polhode.scenario import load_scenario

    (folder / "sum.toml").write_text(SCENARIO + text, "utf-8")
    return load_scenario(folder / "sum.toml").torque


def test_tables_of_torques_are_a_sum(tmp_path: Path) -> None:
    made = scenario(
        tmp_path,
        '[[torque]]\nmodel = "GravityGradient"\nstrength = 0.5\n'
        '[[torque]]\nmodel = "HeavyTop"\nweight = 1.5\nscale = 0.5\nduring = [0.0, 1.0]\n',
    )
    assert made == GRADIENT + 0.5 * TOP.during(0.0, 1.0)
    assert scenario(tmp_path, '[torque]\nmodel = "HeavyTop"\nweight = 1.5\nscale = -1.0\n') == -TOP
    assert scenario(tmp_path, '[[torque]]\nmodel = "HeavyTop"\nweight = 1.5\n') == TOP


@pytest.mark.usefixtures("plain")
def test_drawn_parameters_of_a_part(tmp_path: Path) -> None:
    from polhode.scenario import ScenarioError, load_scenario

    (tmp_path / "own.py").write_text("def push(t, q, w, p):\n    return (p[0], 0.0, 0.0)\n")
    torques = '[[torque]]\nmodel = "own.py:push"\nparameters = [2.0]\n[[torque]]\nmodel = "HeavyTop"\nweight = 1.5\n'
    drawn = '[ensemble]\ncount = 3\nseed = 1\nparameters = {PARTkind = "Normal", sd = 0.1}\n'
    path = tmp_path / "sum.toml"
    path.write_text(SCENARIO + torques + drawn.replace("PART", 'part = "push", '), "utf-8")
    found = load_scenario(path).ensemble()
    assert isinstance(found, Ensemble)
    pushes = [found[k].torque.parameters(BODY)[0] for k in range(3)]
    assert len(set(pushes)) == 3
    assert all(abs(push - 2.0) < 1.0 for push in pushes)
    for part, message in {"": "name one of its parts", 'part = "HeavyTop", ': "not HeavyTop"}.items():
        path.write_text(SCENARIO + torques + drawn.replace("PART", part), "utf-8")
        with pytest.raises(ScenarioError, match=message):
            load_scenario(path)


def test_functions_in_tables_of_torques(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def push(t, q, w, p):\n    return (p[0], 0.0, 0.0)\n\n\ndef pull(t, q, w, p):\n    return (0.0, -1.0, 0.0)\n"
    )
    made = scenario(
        tmp_path,
        '[[torque]]\nmodel = "own.py:push"\nparameters = [2.0]\nduring = [0.5, 1.0]\n'
        '[[torque]]\nmodel = "HeavyTop"\nweight = 1.5\n[[torque]]\nmodel = "own.py:pull"\nscale = 3.0\n',
    )
    assert isinstance(made, SumTorque)
    assert made.name == "push + HeavyTop + pull"
    assert at(made).tolist() == (at(TOP) + np.array([0.0, -3.0, 0.0])).tolist()
    assert at(made, 0.7)[0] == 2.0 + at(TOP)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[torque]]\nmodel = "Free"\n[[torque]]\nmodel = "HeavyToq"\n', r"torque\[1\].model: .*did you mean"),
        ('[[torque]]\nmodel = "HeavyTop"\nwait = 1.0\n', r"torque\[0\].wait: unknown key; did you mean 'weight'"),
        ('[[torque]]\nweight = 1.0\n', r"torque\[0\].model: missing"),
        ('[torque]\nmodel = "HeavyTop"\nweight = 1.0\nduring = [2, 1]\n', r"torque.during: .* 2 is not before 1"),
        ('[torque]\nmodel = "HeavyTop"\nweight = 1.0\nscale = nan\n', r"torque.scale: must be finite"),
        ('[torque]\nmodel = "HeavyTop"\nweight = 1.0\nduring = 3\n', r"torque.during: must be a list"),
    ],
)  # fmt: skip
def test_mistakes_in_tables(tmp_path: Path, text: str, message: str) -> None:
    from polhode.scenario import ScenarioError

    with pytest.raises(ScenarioError, match=message):
        scenario(tmp_path, text)
