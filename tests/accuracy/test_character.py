"""What kind of problem it is: what is seen of a torque before a run."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.accuracy import character, choice
from polhode.api.simulate import checked_arguments
from polhode.methods import find
from tests.accuracy.common import BODY, TOP, answer
from tests.accuracy.test_choice import GENERIC


def test_walls_that_are_not_reached_do_not_count() -> None:
    start = checked_arguments(
        ph.Body([5.0, 5.0, 1.0]), ph.CoulombSoftWall(), omega=(0.3, 0.2, 1.0), t_span=(0.0, 1.0), step=1.0, method="G8"
    )[0]
    assert character.character(start).torque_ratio < 10.0


def test_harmony() -> None:
    """A weight changes once while a body turns round, a gravity gradient twice, and a constant torque not at all."""

    def of(torque: Any) -> float:
        return character.harmonic(
            checked_arguments(BODY, torque, omega=(0.3, 0.2, 1.0), t_span=(0.0, 1.0), rtol=1e-6)[0]
        )

    @ph.torque
    def cubic(t: float, q: Any, w: Any, p: Any) -> Any:
        x = ph.to_body(q, (0.0, 0.0, 1.0))[0]
        return (0.0, x * x * x, 0.0)

    @ph.torque
    def raises(t: float, q: Any, w: Any, p: Any) -> Any:
        return (math.sqrt(-1.0), 0.0, 0.0)

    assert of(TOP) == of(ph.ConstantBodyTorque((1.0, 0.0, 0.0))) == of(raises) == 1.0
    assert 1.6 < of(ph.GravityGradient(strength=1.0)) <= 2.0
    assert 2.0 < of(cubic) <= 3.0
    shorter, _ = choice._first_turn(
        find("Strang(corrector=17)"), GENERIC._replace(harmonic=2.0, torque_ratio=1e-6), 1e-6
    )
    longer, _ = choice._first_turn(find("Strang(corrector=17)"), GENERIC._replace(torque_ratio=1e-6), 1e-6)
    assert shorter == pytest.approx(longer / 2, rel=0.01)


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        (np.linspace(0.0, 50.0, 101), 100),
        (np.linspace(0.0, 50.0, 101)[[3, 4, 17, 100]], 100),
        ([50.0], 1),
        ([0.0], 0),
        ([12.5, 50.0], 4),
        ([10.0, 20.0 + 1e-6, 50.0], 0),
        ([25.0, np.nextafter(25.0, 50.0), 50.0], 0),
        ([5e-324, 50.0], 1),
        (np.sort(np.random.default_rng(1).uniform(0.0, 50.0, 7)), 0),
    ],
)
@pytest.mark.parametrize("backward", [False, True])
def test_equal_parts(times: Any, parts: int, backward: bool) -> None:
    given: dict[str, Any] = {"t_span": (50.0, 0.0), "t_eval": 50.0 - np.array(times)} if backward else {
        "t_span": (0.0, 50.0), "t_eval": times}  # fmt: skip
    problem, _ = checked_arguments(BODY, TOP, omega=(0.3, 0.2, 1.0), rtol=1e-6, **given)
    assert character.equal_parts(problem) == parts


def test_character_of_a_problem() -> None:
    solution = answer(1e-2, 1e-3)
    found = character.character(solution.problem)
    assert found.torque_ratio == pytest.approx(1e-2, rel=0.3)
    assert 1.58 < found.rate < 2.5
    assert not found.symmetric


STRENGTH = 1.0


@ph.torque
def swayed(t: float, q: Any, w: Any, p: Any) -> Any:
    return (STRENGTH * q[1], STRENGTH * q[2], 0.0)


def test_a_torque_that_has_changed_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    body, omega = ph.Body([2, 3, 4.5]), [0.3, 0.2, 1.0]
    run = checked_arguments(body, swayed, omega=omega, t_span=(0.0, 1.0), step=0.1, method="MR2")[0]
    before = character.character(run).torque_ratio
    assert character.character(run).torque_ratio == before > 0.0
    monkeypatch.setitem(globals(), "STRENGTH", 3.0)
    assert character.character(run).torque_ratio == pytest.approx(3.0 * before)
