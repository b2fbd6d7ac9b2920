"""The tools of the figures on tops and of the discussion, and the verdicts that hold at any size."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from polhode.kernels.types import State
from polhode.papers._maps import Steps, symplectic_defect
from polhode.papers._measure import hat, integrate
from polhode.papers.krysl2004._coadjoint import followed, moved
from polhode.papers.krysl2004._common import FREE, SLOW_TOP
from polhode.papers.krysl2004._tops import (
    SW_ANEW,
    distance,
    lagrangian_top,
    there_and_back,
)
from polhode.papers.study import ClaimVerdict, Size, chosen
from polhode.problem import Problem


@pytest.mark.parametrize("problem", [FREE, SLOW_TOP, lagrangian_top()])
@pytest.mark.parametrize("method", ["NMB", "SW", "HSTAGM"])
def test_steps_are_those_of_a_run(problem: Problem, method: str) -> None:
    steps = Steps(problem, method)
    at = steps.after(steps.begun(steps.start), 0.05, 20).state
    run = integrate(problem, method, 1.0, 0.05)
    np.testing.assert_allclose(at.q, run.quaternion[-1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(at.m, run.momentum[-1], rtol=1e-15, atol=1e-15)


def test_sw_begun_anew_is_sw_for_one_step_and_another_method_then() -> None:
    sw, anew = (Steps(SLOW_TOP, m) for m in ("SW", SW_ANEW))
    apart = [distance(*(s.after(s.begun(s.start), 0.1, n).state for s in (sw, anew))) for n in (1, 5)]
    assert apart[0] == 0.0
    assert apart[1] > 1e-4


def test_a_turn_by_a_fixed_angle_keeps_the_form_and_friction_does_not() -> None:
    s = State((0.5, -0.5, 0.5, 0.5), (0.3, -1.2, 0.8))
    c, v = math.cos(0.4), math.sin(0.4)

    def about_space(s: State) -> State:
        w, x, y, z = s.q
        return State((c * w - v * z, c * x - v * y, c * y + v * x, c * z + v * w), s.m)

    def damped(s: State) -> State:
        return State(s.q, (0.9 * s.m[0], 0.9 * s.m[1], 0.9 * s.m[2]))

    assert symplectic_defect(about_space, s) < 1e-12
    assert symplectic_defect(damped, s) == pytest.approx(0.1 * 1.2, rel=1e-9)  # of the largest entry, a momentum


@pytest.mark.parametrize(("method", "anew", "returns"), [("MR2", True, True), ("RK4", True, False)])
def test_there_and_back(method: str, anew: bool, returns: bool) -> None:
    assert (there_and_back(Steps(SLOW_TOP, method), 0.05, 10, anew=anew) < 1e-13) is returns


def test_the_coadjoint_action_is_the_motion() -> None:
    """Its frozen slope solves the linear equations; its method has order 2 and keeps m . g and |g|."""
    y, w, v = ((0.3, -1.2, 0.8), (0.6, 0.0, 0.8)), (0.4, 0.5, -0.3), (0.1, -0.2, 0.9)
    matrix = np.block([[-hat(w), -hat(v)], [np.zeros((3, 3)), -hat(w)]])
    for h in (1e-4, 0.7):
        expected = expm(h * matrix) @ np.concatenate(y)
        np.testing.assert_allclose(np.concatenate(moved(y, w, v, h)), expected, rtol=0, atol=1e-15)
    true = integrate(lagrangian_top(), "DOP853(rtol=1e-13)", 1.0, 0.01).momentum[-1]
    found = [followed(1.0 / n, 1, n)[-1] for n in (200, 400)]
    errors = [np.linalg.norm(y[:3] - true) for y in found]
    assert 2.0 < np.log2(errors[0] / errors[1]) < 3.2  # the error of order 2 is small, as with CG
    start = followed(0.1, 0)[0]
    for y in found:
        assert y[:3] @ y[3:] == pytest.approx(start[:3] @ start[3:], abs=1e-13)
        assert y[3:] @ y[3:] == pytest.approx(1.0, abs=1e-13)


HOLD_AT_ANY_SIZE = {
    "fig8": {"The error stays below": ClaimVerdict.NOT},
    "fig9": {"With a matrix that": ClaimVerdict.REPRODUCED, "That has hardly": ClaimVerdict.REPRODUCED},
    "fig12": {"On the slow top": ClaimVerdict.REPRODUCED},
    "discussion": {
        "NMB, NMS and SW are": ClaimVerdict.REPRODUCED,
        "NMB in the body frame": ClaimVerdict.REPRODUCED,
        "It would appear": ClaimVerdict.NOT,
        "HSTAGM is perhaps": ClaimVerdict.NOT,
    },
}
"""By figure: how a claim begins, and its verdict."""


@pytest.mark.parametrize("name", HOLD_AT_ANY_SIZE)
def test_verdicts(name: str) -> None:
    (study,) = chosen([f"krysl2004/{name}"])
    claims = study.check(study.run(Size.QUICK), Size.QUICK)
    for begins, verdict in HOLD_AT_ANY_SIZE[name].items():
        (c,) = (c for c in claims if c.says.startswith(begins))
        assert c.verdict is verdict, c
