"""Symplectic correctors: order conditions, errors in powers of the torque, and every way through the driver."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest

import polhode as ph
from polhode.kernels.algebra.quat import turn
from polhode.kernels.steps.compose import composed
from polhode.kernels.steps.correctors import AHEAD, SPACING, CorrectedSplitting, bernoulli, passage, weights
from polhode.kernels.steps.flows import ahead, principal_torque
from polhode.kernels.types import Inertia, Params, State
from polhode.methods import catalogue, find
from polhode.run import integration
from polhode.run.integration import SimulationFailed
from tests.contract._measure import EPS, interpreted
from tests.methods.test_coefficients import ROUNDED, discrepancies

ORDERS = (3, 5, 7, 11, 17)
C17, MODIFIED = "Strang(corrector=17)", "TakahashiImada"
BODY, OMEGA = ph.Body([1.0, 1.4, 2.1]), (0.9, -0.7, 1.1)


def weight(eps: float) -> ph.HeavyTop:
    return ph.HeavyTop(eps, point=(0.375, -0.25, 0.875))


def compiled_run(method: str, step: float, torque: Any, t_end: float = 32.0, **output: Any) -> ph.Solution:
    return ph.simulate(
        BODY, torque, omega=OMEGA, t_span=(0.0, t_end), step=step, method=method, **output or {"every": 10**6}
    )


def run(method: str, step: float, torque: Any, t_end: float = 32.0, **output: Any) -> ph.Solution:
    """The same in plain Python."""
    with interpreted():
        return compiled_run(method, step, torque, t_end, **output)


def apart(a: ph.Solution, b: ph.Solution) -> float:
    """The largest difference of momenta, over all rows."""
    return float(np.abs(a.momentum - b.momentum).max())


# --- the weights


def kick_of(b: float, k: float) -> dict[str, float]:
    """A kick whose torque is k ahead: b B + b k / 2 [B, [A, B]]."""
    return {"B": b, "BAB": b * k, "BBA": -0.5 * b * k, "ABB": -0.5 * b * k}


def walk(order: int, spacing: float, *, squares: bool = False) -> list[dict[str, float]]:
    """What the corrector does to a state for a step of length one, flow by flow."""
    steps: list[dict[str, float]] = []

    def ahead(body: Any, p: Any, t: float, s: State, h: float, k: float) -> State:
        steps.append(kick_of(h, k))
        return s

    def note(letter: str) -> Any:
        def flow(body: Any, p: Any, t: float, s: State, h: float) -> State:
            steps.append({letter: h})
            return s

        return flow

    nowhere = State((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    body, p = Inertia((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)), Params((), (1.0, 0.0, 0.0, 0.0), (-math.inf, math.inf))
    flows = (note("A"), note("B"), ahead if squares else None)
    passage(*flows, order, spacing, unscaled=False)(body, p, 0.0, nowhere, 1.0)
    return steps


@pytest.mark.parametrize("order", ORDERS)
def test_order_conditions(order: int) -> None:
    """In the first power of the torque, word by word: right up to the order, and no further."""
    leapfrog = [{"B": 0.5}, {"A": 1.0}, {"B": 0.5}]
    off = discrepancies(
        walk(order, SPACING) + leapfrog + walk(order, -SPACING), {"A": mpmath.mpf(1), "B": mpmath.mpf(1)},
        lambda w: w.count("B") <= 1 and len(w) <= order + 2,
    )  # fmt: skip
    first = {word: x for word, x in off.items() if word.count("B") == 1}
    assert max(x for word, x in first.items() if len(word) <= order + 1) < ROUNDED
    # Words of length n have their moments divided by factorials.
    assert max(x for word, x in first.items() if len(word) == order + 2) > 1e-3 / math.factorial(order // 2)
    assert max(off[word] for word in off if "B" not in word) < ROUNDED  # in all it goes nowhere


@pytest.mark.parametrize("order", ORDERS)
def test_squares(order: int) -> None:
    """In the second power of the torque, with kicks ahead: h^3 and h^4 are right, for the walk that knows of them."""

    def off(*, squares: bool) -> dict[int, float]:
        there, back = (walk(order, a, squares=squares) for a in (SPACING, -SPACING))
        leapfrog = [kick_of(0.5, AHEAD), {"A": 1.0}, kick_of(0.5, AHEAD)]
        all_words = discrepancies(
            there + leapfrog + back,
            {"A": mpmath.mpf(1), "B": mpmath.mpf(1)},
            lambda w: w.count("B") <= 2 and len(w) <= 5,
        )
        words = [word for word in all_words if word.count("B") == 2]
        return {n: max(all_words[word] for word in words if len(word) == n) for n in (3, 4, 5)}

    with_them, without = off(squares=True), off(squares=False)
    assert max(with_them[3], with_them[4], without[3]) < ROUNDED
    assert without[4] > 5e-3  # a walk that is right in the first power only, as in the literature
    assert with_them[5] > 1e-4


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_the_way_back_is_the_inverse(order: int, squares: bool) -> None:
    there, back = (walk(order, a, squares=squares) for a in (SPACING, -SPACING))
    assert [{x: -c for x, c in f.items()} for f in reversed(there)] == back


def test_bernoulli() -> None:
    with mpmath.workdps(30):
        assert all(abs(mpmath.mpf(b.numerator) / b.denominator - mpmath.bernoulli(n)) < 1e-25
                   for n in range(20) for b in [bernoulli(n)])  # fmt: skip


@pytest.mark.parametrize("order", [1, -3, 0, 4])
def test_bad_orders(order: int) -> None:
    with pytest.raises(ValueError, match="odd number from 3 on"):
        weights(order)


def test_every_choice_has_a_corrector() -> None:
    option, _ = catalogue()["Strang"].options
    assert option.choices == (0, *ORDERS)
    for n in ORDERS:
        made = find("Strang", corrector=n)
        assert isinstance(made.scheme, CorrectedSplitting)
        assert made.generalised_order == (n + 1, 2)
        assert composed(made.scheme, (0.5, 0.5)) == composed(find("Strang").scheme, (0.5, 0.5))
        assert find(MODIFIED, corrector=n).generalised_order == (n + 1, 4)


# --- errors


@pytest.mark.parametrize("order", [3, 5, 7])
def test_first_power_of_the_torque(order: int) -> None:
    """A torque so weak that its square does not count."""
    true = run("ABA1064", 0.0625, weight(1e-7), 4.0)
    a, b = (apart(run(f"Strang(corrector={order})", h, weight(1e-7), 4.0), true) for h in (0.5, 0.4))
    assert math.log(a / b) / math.log(1.25) == pytest.approx(order + 1, abs=0.5)


def test_second_power_of_the_torque() -> None:
    """C17 leaves eps^2 h^2: a torque ten times as strong errs a hundred times as much, half the step a quarter."""
    true = {eps: run("ABA1064", 0.0625, weight(eps)) for eps in (1e-3, 1e-2)}
    error = {(e, h): apart(run(C17, h, weight(e)), true[e]) for e in true for h in (0.5, 0.25)}
    plain = apart(run("Strang", 0.5, weight(1e-3)), true[1e-3])
    assert error[1e-2, 0.25] / error[1e-3, 0.25] == pytest.approx(100, rel=0.3)
    assert error[1e-2, 0.5] / error[1e-2, 0.25] == pytest.approx(4, rel=0.1)
    assert error[1e-3, 0.5] < 1e-3 * plain


def test_fourth_power_of_the_step() -> None:
    """Kicks ahead leave eps^2 h^4 over a long run of a body that nutates, and the axial momentum as it is."""
    true = {eps: run("ABA1064", 0.0625, weight(eps)) for eps in (1e-3, 1e-2)}
    error = {(e, h): apart(run(MODIFIED, h, weight(e)), true[e]) for e in true for h in (0.5, 0.25)}
    assert error[1e-2, 0.25] / error[1e-3, 0.25] == pytest.approx(100, rel=0.3)
    assert error[1e-2, 0.5] / error[1e-2, 0.25] == pytest.approx(16, rel=0.2)
    assert error[1e-2, 0.5] < 0.05 * apart(run(C17, 0.5, weight(1e-2)), true[1e-2])


def test_a_torque_ahead_is_a_gradient_up_to_the_second_order() -> None:
    """Turned about axes i and j, the torque of a potential has equal slopes, but for its own component along the third.

    What is left is quadratic in the way ahead, k n = eps h^2: so a kick is symplectic up to eps^3 h^4.
    """
    torque = ahead(principal_torque(weight(1.0).torque_kernel, tilted=False, windowed=False))
    rotor = Inertia(tuple(BODY.moments), tuple(1 / BODY.moments))
    p = Params(np.array(weight(1.0).parameters(BODY)), (1.0, 0.0, 0.0, 0.0), (-math.inf, math.inf))

    def defect(k: float) -> float:
        def at(v: Any) -> Any:
            return np.array(torque(rotor, p, 0.0, State(turn((0.5, 0.1, -0.7, 0.5), tuple(v)), (0.0, 0.0, 0.0)), k))

        slopes = np.array([(at(x) - at(-x)) / 2e-4 for x in 1e-4 * np.eye(3)])
        own = at(np.zeros(3))
        return float(np.abs(slopes - slopes.T - np.cross(own, np.eye(3))).max())

    assert defect(0.0) < 1e-7
    assert defect(0.4) > 1e-2
    assert defect(0.4) / defect(0.2) == pytest.approx(4, rel=0.05)


# --- through the driver: whatever the output, the error is that of the second power

TORQUES = {
    "weight": weight(1e-4),
    "jumps": ph.PiecewiseTorque(((7.3, (1e-4, 5e-5, 0.0)), (12.5, (0.0, 4e-5, 3e-5)))),
    "time": ph.SinusoidalTorque((1e-4, -5e-5, 7e-5), 0.7, 0.4),
}


@pytest.mark.parametrize("name", TORQUES)
@pytest.mark.parametrize(
    "output", [{"every": 1}, {"every": 7}, {"t_eval": [0.0, 0.3, 7.0, 7.5, 30.0, 31.7, 32.2]}], ids=["1", "7", "listed"]
)
def test_outputs(name: str, output: dict[str, Any]) -> None:
    """On and off the grid, and a last step that is shorter."""
    mine = run(C17, 0.5, TORQUES[name], 32.2, **output)
    true = run("ABA1064", 0.0625, TORQUES[name], 32.2, t_eval=mine.t)
    plain = run("Strang", 0.5, TORQUES[name], 32.2, **output)
    assert apart(mine, true) < 1e-8  # measured: 5e-9 at the most
    assert apart(plain, true) > 2e-7
    assert mine.t[-1] == 32.2


def test_the_start_is_shown_as_given() -> None:
    mine = run(C17, 0.5, weight(1e-2), every=1)
    assert np.array_equal(mine.momentum[0], np.array(OMEGA) * BODY.moments)
    assert np.array_equal(mine.last_momentum, mine.momentum[-1])


def test_output_does_not_change_the_run() -> None:
    ends = [run(C17, 0.5, weight(1e-2), **output) for output in ({}, {"every": 1}, {"t_eval": [0.1, 3.0, 17.77, 32.0]})]
    assert len({s.momentum[-1].tobytes() + s.quaternion[-1].tobytes() for s in ends}) == 1


def test_chunks_do_not_change_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compiled_run(C17, 0.5, weight(1e-2), every=3)
    monkeypatch.setattr(integration, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(integration, "FIRST_EVALUATIONS", 1)
    pieces = compiled_run(C17, 0.5, weight(1e-2), every=3)
    assert np.array_equal(whole.momentum, pieces.momentum)
    assert np.array_equal(whole.quaternion, pieces.quaternion)
    assert whole.memory == pieces.memory
    assert whole.nfev == pieces.nfev


@pytest.mark.parametrize("name", TORQUES)
def test_resumed(name: str) -> None:
    """To the bit where the grid goes on; after a shorter last step as accurately as ever."""
    torque = TORQUES[name]
    whole = run(C17, 0.5, torque, every=1)
    with interpreted():
        both = ph.resume(run(C17, 0.5, torque, 16.0, every=1), 32.0)
        other = ph.resume(run(C17, 0.5, torque, 16.2, every=1), 32.0)
    assert np.array_equal(both.quaternion, whole.quaternion)
    assert np.array_equal(both.momentum, whole.momentum)
    assert both.nfev == whole.nfev
    assert np.abs(other.momentum[-1] - whole.momentum[-1]).max() < 1e-8


def test_times_between_rows() -> None:
    mine, times = run(C17, 0.5, weight(1e-4), every=8), [0.0, 3.3, 9.9, 21.0]
    with interpreted():
        between = mine.at(times)
    assert apart(between, run("ABA1064", 0.0625, weight(1e-4), t_eval=times)) < 1e-8


def test_events_are_those_of_the_corrected_motion() -> None:
    def level(t: float, q: Any, w: Any) -> float:
        return float(ph.to_space(q, (1.0, 0.0, 0.0))[2])

    exact, mine, plain = (
        run(m, h, weight(1e-2), 8.0, events=level).events[0].t
        for m, h in (("ABA1064", 0.0625), (C17, 0.5), ("Strang", 0.5))
    )
    assert exact.size > 1
    assert np.abs(mine - exact).max() < 0.01 * np.abs(plain - exact).max()


def test_a_free_body_needs_no_corrector() -> None:
    a, b = (run(m, 0.5, None, every=1) for m in (C17, "Strang"))
    assert np.array_equal(a.quaternion, b.quaternion)
    assert a.nfev == 0


# --- many bodies


@pytest.mark.parametrize(
    ("eps", "method"),
    [
        pytest.param(1e-3, C17, id="weak", marks=pytest.mark.evidence), pytest.param(3.0, C17, id="some go alone"),
        pytest.param(3.0, "Processed(of=Strang)", id="processed"),
    ],
)  # fmt: skip
def test_lanes(eps: float, method: str) -> None:
    """Among others in lanes, a body moves as it does without them, to the bit."""
    rates = np.random.default_rng(1).normal(size=(19, 3))
    given: dict[str, Any] = {
        "t_span": (0.0, 33.3),
        "step": 0.5,
        "method": method,
        "t_eval": [0.0, 1.0, 1.33, 22.2, 33.3],
    }
    packed = ph.ensemble(BODY, weight(eps), omega=rates, **given)
    assert packed.lanes == 8
    fastest = int(np.argmax((rates**2).sum(axis=1)))
    alone = ph.simulate(BODY, weight(eps), omega=rates[fastest], **given)  # its scales are those of all
    assert np.array_equal(packed.quaternion[fastest], alone.quaternion)
    assert np.array_equal(packed.momentum[fastest], alone.momentum)
    assert packed[fastest].nfev == alone.nfev


# --- what it costs, and what can go wrong


@pytest.mark.parametrize("t_eval", [[2.0], [0.1, 0.25, 0.5, 1.33, 2.0]])
def test_evaluations(t_eval: list[float]) -> None:
    """One a step; seventeen to go in and to come out for a row; two passages and a step more for one aside."""
    solution = run(C17, 0.1, weight(1e-2), 2.0, t_eval=t_eval)
    rows, asides = len(t_eval), sum(t in (0.25, 1.33) for t in t_eval)
    assert solution.nfev == 17 + 20 + 17 * rows + asides * (2 * 17 + 1)
    assert run(MODIFIED, 0.1, weight(1e-2), 2.0, t_eval=t_eval).nfev == 20 + 40 + 20 * rows + asides * (2 * 20 + 2)
    processed = run("Processed", 0.1, weight(1e-2), 2.0, t_eval=t_eval)  # eight steps to a passage, eleven to a step
    assert processed.nfev == (9 + 1) + 20 * 11 + 9 * rows + asides * (2 * 9 + 1 + 11)


def test_a_torque_that_fails_beyond_the_end() -> None:
    """The corrector looks there, and says so: no row is made of nothing."""

    @ph.torque
    def dies(t: float, q: Any, w: Any, p: Any) -> Any:
        x = 1e-3 if t < 8.1 else math.nan
        return (x, 0.0, 0.0)

    with pytest.raises(SimulationFailed, match=r"dies returned \(nan, 0, 0\) .* t = 8.*beyond the ends") as caught:
        run(C17, 0.5, dies, 8.0, every=1)
    solution = caught.value.solution
    assert np.isfinite(solution.momentum).all()
    assert np.isfinite(solution.last_momentum).all()


def test_long_runs_keep_their_energy() -> None:
    """Symplectic, and what is shown differs from what steps by a bounded amount."""
    s = compiled_run(C17, 0.5, weight(1e-2), 20000.0, every=100)
    assert s.energy_error is not None
    early, late = (np.abs(part).max() for part in np.array_split(s.energy_error, 2))
    assert late < 1.2 * early + 1000 * EPS


# --- processed compositions


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("base", ["MR2", "Strang"])
@pytest.mark.parametrize("body", [BODY, ph.Body(BODY.moments, rotor=(0.3, -0.2, 0.4))], ids=["body", "gyrostat"])
def test_orders_of_processed_compositions(body: ph.Body, base: str, order: int) -> None:
    """In a run that is long enough for what grows to outgrow what oscillates."""

    def ran(method: str, step: float) -> ph.Solution:
        with interpreted():
            return ph.simulate(
                body, weight(2.0), omega=OMEGA, t_span=(0.0, 32.0), step=step, method=method, every=10**6
            )

    true = ran("G8", 0.25)
    off = [apart(ran(f"Processed(order={order},of={base})", h), true) for h in (0.2, 0.1)]
    assert math.log2(off[0] / off[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("base", ["DMV2", "IMR", "Strang(compensated=true)"])
def test_what_cannot_be_processed(base: str) -> None:
    with pytest.raises(ValueError, match="Processed is made of splittings, such as MR2 or Strang"):
        find("Processed", of=base)


@pytest.mark.parametrize("name", TORQUES)
def test_outputs_of_processed_compositions(name: str) -> None:
    """On and off the grid, beyond jumps, and after a last step that is shorter."""
    mine = run("Processed(of=Strang)", 0.5, TORQUES[name], 32.2, t_eval=[0.0, 0.3, 7.0, 7.5, 30.0, 31.7, 32.2])
    assert apart(mine, run("ABA1064", 0.0625, TORQUES[name], 32.2, t_eval=mine.t)) < 1e-9  # measured: 3e-10
