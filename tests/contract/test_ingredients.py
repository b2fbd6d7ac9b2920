"""Whatever a torque is made of is accepted wherever a torque is accepted, or refused in words that say why.

Every cell of `PLACES` x `INGREDIENTS` is run in plain Python and compared with `simulate` at the same steps, which is
compared with SciPy. `python -m tests.contract.test_ingredients` prints the exceptions for docs/howto/torques.md.
"""

import pickle
import shutil
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.fmu import BodyUnit
from polhode.scenario import ScenarioError, check_scenario, load_scenario
from polhode.support.arrays import Floats
from polhode.torques import Torque
from tests.contract import ingredients
from tests.contract.ingredients import BODY

pytestmark = pytest.mark.usefixtures("plain")

OMEGA, SPAN, STEP, STATE = [0.3, 0.2, 0.4], 0.4, 0.05, [0.3, -0.2]
STARTS = [OMEGA, [0.1, 0.2, 0.3]]
TIMES = np.linspace(0.0, SPAN, 9)

INGREDIENTS = {
    "parameters": "parameters",
    "numbers_of_the_body": "numbers of the body (`from_body=`)",
    "table": "a `Table`",
    "table_with_jumps": "a `Table` that jumps",
    "table_as_a_parameter": "a `Table` among the parameters",
    "field": "a field of `environment` in a model",
    "field_as_a_parameter": "a field of `environment` among the parameters",
    "carried_numbers": "carried numbers (`state=`)",
    "breakpoint": "`breakpoints=`",
    "callback": "a function that is called back (`compiled=False`)",
    "c_pointer": "a function of C",
    "sum_of_torques": "a sum",
    "window": "a window (`during`)",
    "sampled": "a `Sampled` law",
    "torquers": "`Magnetorquers` with a law",
    "commands": "commands that a `Sampled` law holds (`holds=`)",
    "reading": "a torque that reads what another one carries (`reads=`)",
    "pulses": "pulses of `thrusters`",
}
JUMPING = ("table_with_jumps", "breakpoint", "window", "sampled", "commands", "reading", "pulses")
CARRYING = ("carried_numbers", "sampled", "commands", "reading", "pulses")
RATED = ("reading",)
OTHER_GRID = 3e-10
"""Pieces between jumps are divided anew by a run that is cut: both are RK4, whose error is of this size."""

REFUSED = {
    **{
        ("simulate_system", name): "carries numbers along .*the state of a system has no place for them"
        for name in CARRYING
        if name not in RATED
    },
    **{("simulate_system", name): "needs the rate" for name in RATED},
    **{
        ("Sampled", name): r"carries numbers along .*which change between samples, too: write the law as a function"
        for name in CARRYING
    },
}
"""The cells that cannot be, and what polhode says about them."""


def torque(name: str) -> Torque:
    found: Torque = getattr(ingredients, name)
    return found


def carried(name: str) -> dict[str, Any]:
    return {"state": STATE} if name == "carried_numbers" else {}


@cache
def simulated(name: str, method: str = "RK4", step: float = STEP) -> ph.Solution:
    return ph.simulate(BODY, torque(name), omega=OMEGA, t_span=(0.0, SPAN), step=step, method=method, **carried(name))


def state_at_start(acting: Torque) -> Any:
    return () if (known := acting.state_at_start(np.array(OMEGA))) is None else known


def by_scipy(name: str) -> Floats:
    """The rate at the end; a law is asked at its samples."""
    acting = torque(name).for_span(0.0, SPAN)
    p = np.array(acting.parameters(BODY))
    y = np.array([1.0, 0.0, 0.0, 0.0, *OMEGA, *carried(name).get("state", state_at_start(acting))])
    inside = [t for t in acting.breakpoints if 0.0 < t < SPAN]
    for a, b in pairwise([0.0, *inside, SPAN]):
        if acting.sample_kernel is not None:
            y[7:] = acting.sample_kernel(a, tuple(y[:4]), tuple(y[4:7]), p, tuple(y[7:]))

        def slope(t: float, y: Floats, a: float = a, b: float = b) -> Floats:
            q, w, z = tuple(y[:4]), tuple(y[4:7]), tuple(y[7:])
            t = min(max(t, a), np.nextafter(b, a))
            found = acting.torque_kernel(t, q, w, p, z) if z else (acting.called(t, q, w, p), ())
            dq = 0.5 * np.array(ph.quaternion_product(q, (0.0, *w)))
            return np.concatenate([dq, (found[0] - np.cross(w, BODY.moments * w)) / BODY.moments, found[1]])

        y = solve_ivp(slope, (a, b), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return np.asarray(y[4:7])


# --- the places: each returns the rate at the end, what it must be, and how far it may be off


Found = tuple[Any, Any, float]


def in_steps(name: str, here: Path) -> Found:
    return simulated(name, step=STEP / 4).omega[-1], by_scipy(name), 1e-9


def within_a_tolerance(name: str, here: Path) -> Found:
    s = ph.simulate(BODY, torque(name), omega=OMEGA, t_span=(0.0, SPAN), rtol=1e-8, **carried(name))
    return s.omega[-1], by_scipy(name), 1e-8


def resumed(name: str, here: Path) -> Found:
    half = ph.simulate(
        BODY, torque(name), omega=OMEGA, t_span=(0.0, SPAN / 2), step=STEP, method="RK4", **carried(name)
    )  # fmt: skip
    whole, given = ph.resume(half, SPAN), ph.resume(half, SPAN, torque=torque(name))
    assert not given.torque_changed
    np.testing.assert_array_equal(given.omega, whole.omega)
    return whole.omega[-1], simulated(name).omega[-1], OTHER_GRID if name in JUMPING else 0.0


def many(name: str, here: Path) -> Found:
    e = ph.ensemble(
        BODY, torque(name), omega=STARTS, t_span=(0.0, SPAN), step=STEP, method="RK4", **carried(name)
    )  # fmt: skip
    return e.omega[0, -1], simulated(name).omega[-1], 0.0


def planned(name: str, here: Path) -> Found:
    plan = ph.plan_ensemble(
        BODY, torque(name), omega=STARTS, t_span=(0.0, SPAN), step=STEP, method="RK4", t_eval=[SPAN],
        store=str(here / "plan.zarr"), **carried(name),
    )  # fmt: skip
    made: Any = plan.run()
    return made.omega[0, -1], simulated(name).omega[-1], 0.0


def prepared(name: str, here: Path) -> Found:
    ready = ph.prepare(BODY, torque(name), t_span=(0.0, SPAN), step=STEP, method="RK4")
    return ready(OMEGA, **carried(name)).omega[-1], simulated(name).omega[-1], 0.0


def stepped(name: str, here: Path) -> Found:
    loop = ph.Stepper(BODY, torque(name), omega=OMEGA, step=STEP, method="RK4", **carried(name))
    for _ in range(round(SPAN / STEP)):
        loop.step()
    return loop.omega, simulated(name).omega[-1], OTHER_GRID if name in JUMPING else 1e-15


def sampled(name: str, here: Path) -> Found:
    """The law is the torque; by hand, each period is a run with the constant torque that was found at its start."""
    law, acting = ph.Sampled(0.1, torque(name)), torque(name).for_span(0.0, SPAN)
    found = ph.simulate(BODY, law, omega=OMEGA, t_span=(0.0, SPAN), step=STEP, method="RK4").omega[-1]
    q, w, p = np.array([1.0, 0.0, 0.0, 0.0]), np.array(OMEGA), np.array(acting.parameters(BODY))
    for k in range(4):
        held = ph.ConstantBodyTorque(acting.called(0.1 * k, tuple(q), tuple(w), p))
        s = ph.simulate(BODY, held, omega=w, attitude=q, t_span=(0.0, 0.1), step=STEP, method="RK4")
        q, w = s.quaternion[-1], s.omega[-1]
    return found, w, 1e-15


def in_a_system(name: str, here: Path) -> Found:
    pair = ph.System(BODY, mass=1.0, position=[[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]], omega=STARTS)
    s = ph.simulate_system(pair, torque(name), t_span=(0.0, SPAN), step=STEP)
    return s.omega[-1, 0], simulated(name, "Strang").omega[-1], 1e-15


def in_a_scenario(name: str, here: Path) -> Found:
    return ph.simulate(**load_scenario(scenario(name, here)).arguments()).omega[-1], simulated(name).omega[-1], 0.0


def in_a_unit(name: str, here: Path) -> Found:
    unit = BodyUnit()
    unit.begin(load_scenario(scenario(name, here)))
    for _ in range(4):
        unit.advance(SPAN / 4)
    return unit.now.omega, simulated(name).omega[-1], OTHER_GRID if name in JUMPING else 1e-15


def fitted(name: str, here: Path) -> Found:
    data = {"t": TIMES, "omega": simulated(name, step=STEP / 4).omega[::4], "sigma_omega": 1e-6}
    if name in JUMPING:  # their pieces have steps of their own
        s = ph.simulate(BODY, torque(name), omega=OMEGA, t_span=(0.0, SPAN), step=STEP / 4, method="RK4", t_eval=TIMES)
        data["omega"] = s.omega
    fit = ph.fit(
        BODY, data, free=["omega"], attitude=[1.0, 0.0, 0.0, 0.0], omega=[0.31, 0.19, 0.41], torque=torque(name),
        rtol=1e-7, **carried(name),
    )  # fmt: skip
    return fit.omega, OMEGA, 1e-6


def checked(name: str, here: Path) -> Found:
    log = ph.simulate(BODY, torque(name), omega=OMEGA, t_span=(0.0, SPAN), rtol=1e-9, t_eval=TIMES, **carried(name))
    verdict = ph.check(log, body=BODY, torque=torque(name), rtol=1e-7, **carried(name))
    assert verdict.agrees, str(verdict)
    other = ph.check(
        log, body=ph.Body([1.0, 1.7, 2.3]), torque=torque(name), rtol=1e-7, tolerance=1e-6, **carried(name)
    )
    assert not other.agrees
    return 0.0, 0.0, 0.0


def scenario(name: str, here: Path) -> Path:
    shutil.copy(ingredients.__file__, here / "ingredients.py")
    state = f"state = {STATE}\n" if name == "carried_numbers" else ""
    path = here / "run.toml"
    path.write_text(
        f"[body]\nmoments = [1.0, 1.7, 2.2]\n[initial]\nomega = {OMEGA}\n{state}[torque]\n"
        f'model = "ingredients.py:{name}"\n[run]\nt_span = [0.0, {SPAN}]\nstep = {STEP}\nmethod = "RK4"\n',
        "utf-8",
    )
    return path


PLACES: dict[str, Callable[[str, Path], Found]] = {
    "simulate(step=)": in_steps, "simulate(rtol=)": within_a_tolerance, "resume": resumed, "ensemble": many,
    "plan_ensemble": planned, "prepare": prepared, "Stepper": stepped, "Sampled": sampled,
    "simulate_system": in_a_system, "scenario": in_a_scenario, "fmu": in_a_unit, "fit": fitted, "check": checked,
}  # fmt: skip


@pytest.mark.parametrize("ingredient", INGREDIENTS)
@pytest.mark.parametrize("place", PLACES)
def test_an_ingredient_in_a_place(place: str, ingredient: str, here: Path) -> None:
    if (words := REFUSED.get((place, ingredient))) is not None:
        with pytest.raises(ValueError, match=words):
            PLACES[place](ingredient, here)
        return
    found, expected, off = PLACES[place](ingredient, here)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=off)


def test_no_ingredient_does_nothing() -> None:
    """Else a place could leave it out, and nobody would see it."""
    free = ph.simulate(BODY, omega=OMEGA, t_span=(0.0, SPAN), step=STEP, method="RK4").omega[-1]
    for name in INGREDIENTS:
        assert np.abs(simulated(name).omega[-1] - free).max() > 1e-3, name


def test_a_stepper_extends_the_tables_of_fields() -> None:
    """Beyond the steps for which a table was made at first, forwards and back, and after it was pickled."""
    name = "field_as_a_parameter"
    loop = ph.Stepper(BODY, torque(name), omega=OMEGA, step=STEP, method="RK4")
    loop.step(300)
    again = pickle.loads(pickle.dumps(loop))
    again.step(700)
    loop.step(700)
    s = ph.simulate(BODY, torque(name), omega=OMEGA, t_span=(0.0, 1000 * STEP), step=STEP, method="RK4")
    np.testing.assert_array_equal(loop.omega, s.omega[-1])
    np.testing.assert_array_equal(again.omega, s.omega[-1])
    loop.step(1500, h=-STEP)
    back = ph.simulate(
        BODY, torque(name), omega=s.omega[-1], attitude=s.quaternion[-1], t_span=(1000 * STEP, -500 * STEP), step=-STEP,
        method="RK4",
    )  # fmt: skip
    np.testing.assert_allclose(loop.omega, back.omega[-1], rtol=0.0, atol=1e-13)


def test_many_bodies_of_a_stepper_are_sampled() -> None:
    acting = torque("sampled") + torque("field_as_a_parameter")
    loop = ph.Stepper(BODY, acting, omega=STARTS, step=STEP, method="RK4", every=1)
    loop.step(8)
    each = [ph.simulate(BODY, acting, omega=w, t_span=(0.0, SPAN), step=STEP, method="RK4") for w in STARTS]
    np.testing.assert_allclose(loop.omega, [s.omega[-1] for s in each], rtol=0.0, atol=OTHER_GRID)
    np.testing.assert_allclose(loop.state, [s.state[-1] for s in each], rtol=0.0, atol=OTHER_GRID)
    with pytest.raises(ValueError, match="steps must go forward"):
        loop.step(h=-STEP)


def test_tables_and_fields_among_the_parameters_of_a_scenario(here: Path) -> None:
    rows = np.column_stack([ingredients.TIMES, ingredients.VECTORS])
    np.savetxt(here / "field.csv", rows, delimiter=",", fmt="%.17g")
    orbit = '{ model = "DipoleField", orbit = { semi_major_axis = 6.8e6, inclination_deg = 51.6 } }'
    for name, first, second in (
        ("table_as_a_parameter", '{ file = "field.csv", frame = "space" }', 0.7), ("field_as_a_parameter", orbit, 3e3)
    ):  # fmt: skip
        path = scenario(name, here)
        text = path.read_text("utf-8").replace("[run]", f"parameters = [{first}, {second}]\n[run]")
        path.write_text(text, "utf-8")
        s = ph.simulate(**load_scenario(path).arguments())
        np.testing.assert_array_equal(s.omega, simulated(name).omega)
    assert check_scenario(scenario_with(here, "field.csv")).files == ["ingredients.py", "field.csv"]
    with pytest.raises(ScenarioError, match=r"torque.parameters\[0\].*no_such.csv.* cannot be read"):
        load_scenario(scenario_with(here, "no_such.csv"))


def scenario_with(here: Path, file: str) -> Path:
    """A scenario whose torque looks up the table of a file."""
    path = scenario("table_as_a_parameter", here)
    text = path.read_text("utf-8").replace("[run]", f'parameters = [{{ file = "{file}" }}, 0.7]\n[run]')
    path.write_text(text, "utf-8")
    return path


def test_what_parameters_cannot_be() -> None:
    for make, words in (
        (lambda: ph.torque(parameters=[ph.Free()])(ingredients._law), "a number, a Table or a field of polhode.env"),
        (lambda: ph.torque_from_pointer(ingredients._of_c, parameters=[ingredients.SMOOTH]), "a function of C cannot"),
        (lambda: ph.Sampled(0.1, ph.HeavyTop(1.0), parameters=[1.0]), "has numbers of its own"),
        (lambda: ph.Sampled(0.1, ph.HeavyTop(1.0), state=["a"]), "remembers nothing"),
    ):
        with pytest.raises(TypeError, match=words):
            make()
    with pytest.raises(ValueError, match="make it with other numbers"):
        ph.Sampled(0.1, ph.HeavyTop(1.0)).with_parameters([1.0])
    other = ph.Sampled(0.1, ingredients.parameters).with_parameters([0.1, 0.2])
    assert other.parameters(BODY) == (0.1, 0.0, 0.1, 0.2)


def exceptions() -> str:
    """The cells that are refused, as a table of Markdown."""
    reasons = {
        "simulate_system": "the state of a system has no place for them",
        "Sampled": "they change between samples: a law remembers by `law(t, q, w, p, z)` and `state=`",
    }
    lines = ["| place | what it does not take | why |", "|---|---|---|"]
    for place, why in reasons.items():
        refused = "; ".join(INGREDIENTS[name] for at, name in REFUSED if at == place)
        lines.append(f"| `{place}` | {refused} | {why} |")
    return "\n".join(lines)


def test_the_page_lists_the_exceptions() -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "torques.md"
    rows = [line for line in exceptions().splitlines() if not line.startswith("|--")]
    assert [line for line in page.read_text("utf-8").splitlines() if line in rows] == rows


if __name__ == "__main__":
    print(exceptions())
