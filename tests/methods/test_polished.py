"""Splittings with low halves: what they keep, in exact arithmetic, and that round-off does not grow."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.status import OK, UNSOUND
from polhode.kernels.steps.compensated import LOW, CompensatedSplitting, gliding
from polhode.kernels.types import Inertia, Scales, State
from polhode.methods import find
from tests.contract._measure import EPS, interpreted

SHAPES = {
    "triaxial": (1.0, 1.4, 2.1),
    "axis 1": (0.7, 1.3, 1.3),
    "axis 2": (1.3, 2.1, 1.3),
    "axis 3": (1.1, 1.1, 0.9),
    "spherical": (1.3, 1.3, 1.3),
}
MOMENTUM = (0.9, -0.7, 1.1)
ATTITUDE = (0.5, 0.5, -0.5, 0.5)


def exactly(s: State, low: tuple[float, ...]) -> tuple[list[Fraction], list[Fraction]]:
    """Quaternion and momentum with their low halves."""
    m = [Fraction(a) + Fraction(b) for a, b in zip(s.m, low[:3], strict=True)]
    return [Fraction(a) + Fraction(b) for a, b in zip(s.q, low[3:], strict=True)], m


def in_space(q: list[Fraction], m: list[Fraction]) -> list[Fraction]:
    """R m, of a quaternion of any norm."""
    w, u, n = q[0], q[1:], sum(x * x for x in q)
    k, along = w * w - sum(x * x for x in u), 2 * sum(a * b for a, b in zip(u, m, strict=True))
    c = [u[1] * m[2] - u[2] * m[1], u[2] * m[0] - u[0] * m[2], u[0] * m[1] - u[1] * m[0]]
    return [(k * m[i] + along * u[i] + 2 * w * c[i]) / n for i in range(3)]


@pytest.mark.parametrize("h", [0.01, 0.3, -0.9, 5.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_glide_keeps(shape: str, h: float) -> None:
    """Energy and norm far beyond doubles; the momentum in space too if the body is symmetric, or else to an ulp.

    And it goes where the exact flow goes.
    """
    i = SHAPES[shape]
    body = Inertia(i, (1 / i[0], 1 / i[1], 1 / i[2]))
    glide = gliding(Scales(i, MOMENTUM, abs(h)), 1.0)
    s, low = State(ATTITUDE, MOMENTUM), (0.0,) * LOW
    before = in_space(*exactly(s, low))
    for _ in range(5):
        s, low, status = glide(body, s, h, low)  # type: ignore[arg-type]
        assert status == OK
    q, m = exactly(s, low)
    off = max(abs(float(a - b)) for a, b in zip(in_space(q, m), before, strict=True))
    assert off < (2 * EPS if shape == "triaxial" else 1e-29)
    for weights in ([Fraction(1)] * 3, [1 / Fraction(x) for x in i]):
        change = sum(w * (a * a - Fraction(b) ** 2) for w, a, b in zip(weights, m, MOMENTUM, strict=True))
        assert abs(float(change)) < (1e-19 if shape == "triaxial" else 1e-29)
    with interpreted():
        true = ph.simulate(
            ph.Body(i), omega=np.divide(MOMENTUM, i), attitude=ATTITUDE, t_span=(0.0, 5 * h), step=h, method="Exact"
        )
    # 1 / I is rounded, and the angles are 5 h of it
    assert np.abs(true.momentum[-1] - s.m).max() < 8 * EPS * (1 + 5 * abs(h))
    mine, theirs = np.array(s.q) / np.linalg.norm(s.q), true.quaternion[-1]
    assert min(np.abs(mine - theirs).max(), np.abs(mine + theirs).max()) < 8 * EPS * (1 + 5 * abs(h))


@pytest.mark.parametrize("shape", SHAPES)
def test_glides_that_go_nowhere_or_too_far(shape: str) -> None:
    i = SHAPES[shape]
    body, low = Inertia(i, (1 / i[0], 1 / i[1], 1 / i[2])), (0.0,) * LOW
    glide = gliding(Scales(i, MOMENTUM, 1.0), 1.0)
    rest = State(ATTITUDE, (0.0, 0.0, 0.0))
    assert glide(body, rest, 1.0, low) == (rest, low, OK)  # type: ignore[arg-type]
    assert glide(body, State(ATTITUDE, MOMENTUM), 1e12, low)[2] == UNSOUND  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["Strang", "SABA3", "Strang(corrector=5)"])
def test_the_same_method(method: str, shape: str) -> None:
    """But for round-off; with times between grid points, and a last step that is shorter."""
    given: dict[str, Any] = {
        "omega": (0.9, -0.7, 1.1), "attitude": (0.5, 0.5, -0.5, 0.5), "t_span": (0.0, 2.1), "step": 0.2,
        "t_eval": [0.4, 0.73, 2.1],
    }  # fmt: skip
    with interpreted():
        a, b = (
            ph.simulate(ph.Body(SHAPES[shape]), ph.HeavyTop(0.3), method=m, **given)
            for m in (find(method), find(method).replace(compensated=True))
        )
    assert b.nfev == a.nfev
    assert np.abs(a.momentum - b.momentum).max() < 30 * EPS
    assert np.abs(a.quaternion - b.quaternion).max() < 30 * EPS
    assert np.abs(np.linalg.norm(b.quaternion, axis=1) - 1).max() < 2 * EPS


def test_continued_runs_are_runs_in_one_go() -> None:
    given: dict[str, Any] = {"omega": (0.9, -0.7, 1.1), "step": 0.25, "method": "SABA2(compensated=true)"}
    body, torque = ph.Body([1.0, 1.4, 2.1]), ph.HeavyTop(0.3)
    with interpreted():
        whole = ph.simulate(body, torque, t_span=(0.0, 4.0), **given)
        part = ph.resume(ph.simulate(body, torque, t_span=(0.0, 2.0), **given), 4.0)
    assert np.array_equal(part.momentum, whole.momentum)
    assert np.abs(part.quaternion - whole.quaternion).max() < 2 * EPS  # rows were scaled on the way


@pytest.mark.parametrize("other", [{"method": "SABA10"}, {"torque": ph.HeavyTop(0.2)}])
def test_other_methods_and_torques_go_on_from_unit_quaternions(other: dict[str, Any]) -> None:
    body, torque = ph.Body([1.0, 1.4, 2.1]), ph.HeavyTop(0.3)
    ends = []
    with interpreted():
        for method in ("SABA10", "SABA10(compensated=true)"):
            half = ph.simulate(body, torque, omega=(0.9, -0.7, 1.1), t_span=(0.0, 2.0), step=0.2, method=method)
            ends.append(ph.resume(half, 4.0, **other))
    assert np.abs(ends[0].quaternion - ends[1].quaternion).max() < 100 * EPS
    assert np.abs(np.linalg.norm(ends[1].quaternion, axis=1) - 1).max() < 4 * EPS


@pytest.mark.parametrize("unit", [1e-162, 1e-150, 1e140])
def test_units_do_not_matter_to_symmetric_bodies(unit: float) -> None:
    i = (unit, unit, 1.4 * unit)
    body = Inertia(i, (1 / i[0], 1 / i[1], 1 / i[2]))
    m = (0.9 * unit, -0.7 * unit, 1.1 * unit)
    small = Inertia((1.0, 1.0, 1.4), (1.0, 1.0, 1 / 1.4))
    s, _, status = gliding(Scales(i, m, 0.5), 1.0)(body, State(ATTITUDE, m), 0.5, (0.0,) * LOW)  # type: ignore[arg-type]
    true, _, _ = gliding(Scales(small.inertia, MOMENTUM, 0.5), 1.0)(small, State(ATTITUDE, MOMENTUM), 0.5, (0.0,) * LOW)  # type: ignore[arg-type]
    assert status == OK
    assert np.abs(np.subtract(s.q, true.q)).max() < 4 * EPS


def test_round_off_does_not_grow() -> None:
    """Ten thousand radians: plain steps of two lengths part by 1e-11 and more, polished ones by a tenth of it."""
    body, torque = ph.Body([1.0, 1.0, 1.6]), ph.HeavyTop(1e-8)

    def apart(method: str) -> float:
        ends = [
            ph.simulate(
                body, torque, omega=(0.5, -0.6, 0.62), t_span=(0.0, 1e4), step=1e4 / n, method=method, t_eval=[1e4]
            )
            for n in (12_000, 12_345)
        ]
        return float(np.abs(ends[0].quaternion - ends[1].quaternion).max())

    plain, polished = apart("Strang(corrector=17)"), apart("Strang(corrector=17, compensated=true)")
    assert polished < 3e-12
    assert plain > 5 * polished


def test_ensembles_of_them() -> None:
    """One body at a time, with flows that suit all; each is what `simulate` makes of it, to round-off."""
    omega = np.array([(0.9, -0.7, 1.1), (0.2, 0.4, -0.6), (1.0, 0.0, 0.1)])
    body = ph.Body([1.0, 1.4, 2.1])
    given: dict[str, Any] = {"t_span": (0.0, 3.0), "step": 0.3, "method": "Strang(compensated=true)"}
    many = ph.ensemble(body, ph.HeavyTop(0.3), omega=omega, **given)
    one = ph.simulate(body, ph.HeavyTop(0.3), omega=omega[1], **given)
    assert np.abs(many.quaternion[1, -1] - one.quaternion[-1]).max() < 4 * EPS
    assert np.abs(many.momentum[1, -1] - one.momentum[-1]).max() < 4 * EPS


def test_compositions() -> None:
    scheme = CompensatedSplitting(find("Strang").scheme).composed((0.5, 0.5))  # type: ignore[arg-type]
    assert len(scheme.splitting.without_veers().stages) == 5


@pytest.mark.parametrize("turn", [2.0, 2.2, 3.0, 3.14159265, 7.0])
def test_long_turns_of_slow_nutation(turn: float) -> None:
    """The quaternion is left unscaled but for halves: a step must not more than double it."""
    body, omega = ph.Body([1.0, 1.02, 1.05]), (0.0, 1e-3, 1.0)
    with interpreted():
        polished = ph.simulate(body, omega=omega, t_span=(0.0, 30 * turn), step=turn, method="ExactPolished")
    true = ph.FreeMotion(body, omega).at(polished.t)
    assert np.abs(polished.momentum - true.momentum).max() < 1e-13
