"""krysl2004's methods: what agrees with what, what drifts, what breaks, and the numbers of another implementation."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels import status as codes
from polhode.kernels.types import State
from polhode.methods import Method, find
from polhode.run.integration import SimulationFailed
from tests.authorities import paper_case
from tests.authorities.problems import PROBLEMS
from tests.contract._measure import EPS, OneStep, interpreted, matrices, run, states

MOMENTS, OMEGA = (0.9144, 1.098, 1.66), (0.45549, 0.82623, 0.03476)
"""The free body of section 3.1. It turns by 0.94 a unit of time."""
STEPS = 50


def free_body(method: str, t: float, step: float, **output: Any) -> ph.Solution:
    return ph.simulate(ph.Body(MOMENTS), omega=OMEGA, t_span=(0.0, t), step=step, method=method, **output)


def slow_top(method: str, t: float, step: float) -> ph.Solution:
    """Section 3.5: it falls, and swings."""
    tilt = (math.cos(0.025), math.sin(0.025), 0.0, 0.0)
    return ph.simulate(
        ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=(0.0, 0.0, 5.0), attitude=tilt,
        t_span=(0.0, t), step=step, method=method,
    )  # fmt: skip


def apart(a: ph.Solution, b: ph.Solution) -> float:
    """The largest difference between two runs, relative to the momentum."""
    off = np.abs(a.momentum - b.momentum).max() / np.abs(a.momentum).max()
    return max(float(off), float(np.abs(matrices(a.quaternion) - matrices(b.quaternion)).max()))


# --- the same motion in other words


@pytest.mark.parametrize("name", ["free", "weight", "weight-tilted", "swing"])
@pytest.mark.parametrize("other", ["NMS", "NMB(newton=zero)", "NMB(attitude=matrix)", "NMB(compensated=true)"])
def test_newmark_by_any_name(other: str, name: str) -> None:
    """In space or in the body (41), whatever carries the attitude, wherever Newton's iteration starts."""
    a, b = (run(PROBLEMS[name], find(m), STEPS, every=1) for m in ("NMB", other))
    assert apart(a, b) < 64 * EPS  # measured: 23 eps


def test_gamma_of_one_half_is_the_default() -> None:
    assert find("NMB(gamma=0.5)").name == "NMB"
    with pytest.raises(ValueError, match=r"gamma of NMB must lie between 0 and 1, not 1\.5"):
        find("NMB(gamma=1.5)")
    with pytest.raises(ValueError, match="leave one of the two options"):
        find("NMB(attitude=matrix, compensated=true)")


def test_gamma_is_continuous() -> None:
    """The general formula (35), with S and its sign, leads to the simple one (36), linearly."""
    central = run(PROBLEMS["weight"], find("NMB"), STEPS, every=1)
    near, nearer = (
        apart(run(PROBLEMS["weight"], find("NMB", gamma=0.5 + x), STEPS, every=1), central) for x in (1e-4, 1e-5)
    )
    assert near < 1e-4
    assert near / nearer == pytest.approx(10, rel=0.01)


def test_midpoint_rules_agree_on_a_free_momentum() -> None:
    """The torque is all that IMR and AKW differ in, and the attitude all that AKWexp does."""
    runs = {m: run(PROBLEMS["free"], find(m), STEPS, every=1) for m in ("IMR", "AKW", "AKWexp", "LewisSimo")}
    for other in ("IMR", "AKWexp"):
        assert np.array_equal(runs["AKW"].momentum, runs[other].momentum)
    assert np.array_equal(runs["AKW"].quaternion, runs["IMR"].quaternion)
    assert apart(runs["AKW"], runs["AKWexp"]) > 1e-4
    assert np.abs(runs["AKW"].momentum - runs["LewisSimo"].momentum).max() > 1e-4


@pytest.mark.parametrize("method", ["AKW", "AKWexp", "IMR", "LewisSimo"])
@pytest.mark.parametrize("name", ["free", "weight", "stir"])
def test_newton_from_zero_finds_the_same_root(method: str, name: str) -> None:
    """At a price, or at none where a free body's iteration converges at once."""
    last, zero = (run(PROBLEMS[name], find(method, newton=x), STEPS, every=1) for x in ("last", "zero"))
    assert apart(last, zero) < 32 * EPS  # measured: 8 eps
    assert 3 * STEPS <= last.nfev < zero.nfev + (name == "free") < 6 * STEPS


def step_of(method: Method, name: str) -> tuple[Any, Any, Any, State]:
    """Start and step of a method for a generic problem, and a state."""
    given = OneStep(PROBLEMS[name], method)
    s = next(states(1))
    return given, given.stepper.start(given.body, given.p, 0.0, s), given.stepper.step, s


@pytest.mark.parametrize(("method", "symmetric"), [("NMB", True), ("SW", True), ("SWd", False)])
def test_symmetry_of_the_map_with_its_memory(method: str, symmetric: bool) -> None:
    """Forth and back with the acceleration in hand: SW is symmetric in this sense, though not from state to state."""
    given, memory, step, first = step_of(find(method), "weight")
    s, h = first, 0.5
    for sign in (1, -1):
        for _ in range(10):
            s, memory, status = step(given.body, given.p, 0.0, s, sign * h, memory)
            assert status == codes.OK
    off = np.abs(np.subtract((*s.q, *s.m), (*first.q, *first.m))).max()
    assert off < 64 * EPS if symmetric else off > 1e-3  # measured: 9 eps


# --- the errors that an independent implementation makes, in NumPy and with matrices: momentum at t = 100, free body

MOMENTUM_ERRORS = {
    "NMB": (0.34222610568663975, 0.0825211167740351, 0.02028363641337404),
    "SW": (1.0560513751284673, 0.46589544515026576, 0.1552420701358894),
    "LewisSimo": (0.6481463461716831, 0.6556937510614368, 0.27000311383689246),
    "AKW": (0.16065695753553977, 0.03965849975432614, 0.0098659492520695),
}
TOP_ERRORS = {
    "NMB": (0.14010123266616029, 0.2910174186349343),
    "SW": (0.8424480347149644, 0.2259748300319561),
    "HSTAGM": (0.13168776530080056, 0.791461444029132),
    "AKW": (1.1178336553590917, 0.9593873923153565),
}
"""Errors of the slow top at t = 10 with steps of 0.1: attitude (the 2-norm of the difference) and momentum."""


def errors(solution: ph.Solution, record_id: str) -> tuple[float, float]:
    """The 2-norms of the errors of attitude and momentum at the end, against a state of 40 digits."""
    true = paper_case(record_id)
    turned = matrices(solution.quaternion[-1:])[0]
    off = solution.momentum[-1] - solution.body.tensor @ true.omega_end
    return float(np.linalg.norm(turned - true.R, 2)), float(np.linalg.norm(off))


def free_errors(method: str, step: float) -> tuple[float, float]:
    with interpreted():
        return errors(free_body(method, 100.0, step, every=10**6), "krysl2004-mclachlan-zanna@t=100")


@pytest.mark.parametrize("method", MOMENTUM_ERRORS)
def test_errors_of_the_free_body(method: str) -> None:
    """Figure 5, with steps of 2, 1 and 1/2: the other implementation's reference is good to ten digits."""
    for step, error in zip((2.0, 1.0, 0.5), MOMENTUM_ERRORS[method], strict=True):
        assert free_errors(method, step)[1] == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("method", TOP_ERRORS)
def test_errors_of_the_slow_top(method: str) -> None:
    """Figure 11."""
    with interpreted():
        solution = slow_top(method, 10.0, 0.1)
    assert errors(solution, "krysl2004-slowtop@t=10") == pytest.approx(TOP_ERRORS[method], rel=1e-6)


def test_cayley_makes_the_difference_between_newmark_and_midpoint() -> None:
    """Figure 4: two orders of magnitude in attitude, which an exact turn reduces to a factor of four."""
    newmark, cayley, exact = (free_errors(m, 1 / 8)[0] for m in ("NMB", "AKW", "AKWexp"))
    assert cayley / newmark == pytest.approx(80.5, rel=0.01)
    assert exact / newmark == pytest.approx(3.885, rel=0.01)


# --- drift


def energy_offset(method: str, t: float) -> tuple[float, float]:
    """The mean relative energy error of the first and the last tenth of a run with steps of 1/4."""
    energy = free_body(method, t, 0.25).energy
    error, n = energy / energy[0] - 1, energy.size // 10
    return float(error[:n].mean()), float(error[-n:].mean())


def test_simo_wong_as_printed_does_not_drift() -> None:
    """krysl2004 says that it does, for all steps."""
    for t in (1e3, 1e4, 1e5):
        first, last = energy_offset("SW", t)
        assert first == pytest.approx(3.0e-4, rel=0.05)
        assert last == pytest.approx(3.0e-4, rel=0.05)


def test_simo_wong_with_the_last_mean_acceleration_drifts() -> None:
    assert energy_offset("SWd", 1e2) == pytest.approx((5.790e-4, 1.966e-3), rel=1e-3)
    assert energy_offset("SWd", 1e4)[1] == pytest.approx(0.1029, rel=1e-3)


def test_hulbert_blows_up_on_the_slow_top() -> None:
    """Whatever the step. Until the chains part it is no worse than others."""
    for step in (0.05, 0.01):
        assert np.abs(slow_top("HSTAGM", 10.0, step).energy_error).max() < 0.02
        energy = slow_top("HSTAGM", 100.0, step).energy
        assert np.abs(energy / energy[0] - 1).max() > 100


# --- round-off


@pytest.mark.parametrize("method", ["AKW", *(pytest.param(m, marks=pytest.mark.evidence) for m in ("LewisSimo", "SW"))])
def test_compensated_summation(method: str) -> None:
    """After 200 000 steps the momentum in space is off by some 100 eps, with compensation by about three."""
    plain, compensated = (free_body(m, 2000.0, 0.01, every=500) for m in (method, f"{method}(compensated=true)"))
    walked, stayed = (np.abs(x.spatial_momentum - x.spatial_momentum[0]).max() for x in (plain, compensated))
    assert stayed < 8 * EPS
    assert walked > 5 * stayed


@pytest.mark.usefixtures("plain")
def test_matrix_that_nobody_corrects() -> None:
    """Figure 9: the momentum along the axis of a Lagrangian top has the error of the matrix, which is not corrected."""
    body, tilt = ph.Body([0.875, 0.875, 0.25]), (math.cos(math.pi / 32), math.sin(math.pi / 32), 0.0, 0.0)
    top = ph.HeavyTop(weight=9.81, point=(0.0, 0.0, math.sqrt(0.75)))
    solution = ph.simulate(
        body, top, omega=(0.0, 0.0, 1.0), attitude=tilt, t_span=(0.0, 100.0), step=0.05, method="NMB(attitude=matrix)"
    )
    R, m = np.array(solution.memory[3:]).reshape(3, 3), solution.momentum[-1]
    skew = float(np.abs(R.T @ R - np.eye(3)).max())
    assert 4 * EPS < skew < 200 * EPS  # 2000 steps; measured: 8 eps
    along = (R @ m) @ R[:, 2]
    assert abs(along - m[2]) < 4 * skew * float(np.linalg.norm(m))
    assert abs(m[2] - 0.25) < 4 * EPS  # the momentum itself knows nothing of it
    assert np.abs(matrices(solution.quaternion[-1:])[0] - R).max() < 2 * skew


# --- steps too large


def test_root_out_of_reach() -> None:
    """A step of LewisSimo that turns the body by three radians."""
    with interpreted(), pytest.raises(SimulationFailed, match="take a shorter step") as caught:
        free_body("LewisSimo", 32.0, 4.0)
    assert caught.value.solution.status == codes.NO_CONVERGENCE
    assert np.isfinite(caught.value.solution.momentum).all()


@pytest.mark.parametrize("method", ["NMB", "NMS", "AKW", "IMR"])
def test_seven_radians_a_step(method: str) -> None:
    """Figure 4 goes as far: a root is found, if a meaningless one."""
    with interpreted():
        solution = free_body(method, 104.0, 8.0)
    assert np.isfinite(solution.momentum).all()


@pytest.mark.parametrize("method", ["NMB", "NMS", "SW", "SWd", "HSTAGM", "AKW", "AKWexp", "IMR", "LewisSimo"])
def test_torque_beyond_the_numbers(method: str) -> None:
    """Reported at once, never returned."""

    def wild(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.0, 1e308 * (1e10 if t > 0.3 else 0.0), 0.0)

    with interpreted(), np.errstate(all="ignore"), pytest.raises(SimulationFailed) as caught:
        ph.simulate(
            ph.Body([1.0, 1.75, 2.5]),
            ph.torque(wild),
            omega=(0.3, 0.2, 0.1),
            t_span=(0.0, 1.0),
            step=0.1,
            method=method,
        )
    assert caught.value.solution.stats.steps in (2, 3)
    assert np.isfinite(caught.value.solution.momentum).all()


# --- LIEMID


def test_liemid_is_the_midpoint_rule_on_the_group_between_impulses() -> None:
    """krysl2005 with NumPy: half an impulse, twice I w = exp(-h w / 4) m with the turn h w / 2, half an impulse."""
    recipe, h = PROBLEMS["weight"], 0.3
    step, inertia = OneStep(recipe, find("LIEMID")), np.array(recipe.body.moments)

    def turned(v: Any, x: Any) -> Any:
        """exp(-hat v) x."""
        angle = float(np.linalg.norm(v))
        n = v / angle
        return math.cos(angle) * x - math.sin(angle) * np.cross(n, x) + (1 - math.cos(angle)) * n * (n @ x)

    for s in states(3):
        m = np.array(s.m) + h / 2 * np.array(step.stepper.start(step.body, step.p, 0.0, s))
        R = matrices(np.array([s.q]))[0]
        for _ in range(2):
            w = m / inertia
            for _ in range(200):
                w = turned(h / 4 * w, m) / inertia
            m = turned(h / 2 * w, m)
            R = R @ np.array([turned(-h / 2 * w, e) for e in np.eye(3)]).T
        end = step(s, h)
        assert np.abs(matrices(np.array([end.q]))[0] - R).max() < 16 * EPS
        m = m + h / 2 * np.array(step.stepper.start(step.body, step.p, h, end))
        assert np.abs(np.array(end.m) - m).max() < 16 * EPS * np.abs(m).max()
