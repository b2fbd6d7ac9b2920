"""Runs: compiled or not, in one go or continued, and what they cost."""

from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.adams_steps import Adams
from polhode.kernels.types import Depends, Quat, UserTorque, Vec3
from polhode.methods import Method, catalogue
from polhode.run.rows import FixedSteps, VariableSteps
from polhode.text.cards import cost
from polhode.torques import Torque
from tests.authorities import paper_case, paper_records
from tests.authorities.problems import PROBLEMS
from tests.contract._measure import EPS, accepted, compiled_run, interpreted, matrices, of_today, pairs, run

ALL = [(m, name) for m in catalogue().values() for name in accepted(m)]
STEPS = 64
"""In a time of 2: the grid is exact, and so are the times of a continued run."""


def sampled() -> list[tuple[Method, str]]:
    """One method of each kind of scheme, with another problem in turn: a compilation takes seconds."""
    turn, kinds = cycle(PROBLEMS), dict[tuple[str, type], tuple[Method, str]]()
    for m in catalogue().values():
        names = accepted(m)
        kind = (m.cite, type(m.scheme))
        if kind not in kinds:
            kinds[kind] = (m, next(name for name in turn if name in names))
    return list(kinds.values())


def listed(pairs: list[tuple[Method, str]]) -> list[Any]:
    return [pytest.param(m, name, id=f"{m.name}-{name}") for m, name in pairs]


REST = listed([pair for pair in ALL if pair not in sampled()])


# --- compiled


def agrees(method: Method, name: str) -> None:
    """Compiled code fuses some multiplications and additions, and differs from plain Python by round-off."""
    slow, fast = (make(PROBLEMS[name], method, STEPS, every=1) for make in (run, compiled_run))
    assert np.abs(matrices(slow.quaternion) - matrices(fast.quaternion)).max() < 64 * EPS
    assert np.abs(slow.momentum - fast.momentum).max() < 64 * EPS * np.abs(slow.momentum).max()
    # How many iterations it takes to round-off, round-off decides.
    assert abs(slow.nfev - fast.nfev) <= (0.02 * fast.nfev if cost(method).startswith("*") else 0)


@pytest.mark.parametrize(("method", "name"), listed(sampled()))
def test_compiled_equals_plain(method: Method, name: str) -> None:
    agrees(method, name)


@pytest.mark.evidence
@pytest.mark.parametrize(("method", "name"), of_today(REST))
def test_compiled_equals_plain_for_all(method: Method, name: str) -> None:
    agrees(method, name)


@pytest.mark.evidence
@pytest.mark.parametrize("model", of_today(sorted({r["torque"]["model"] for r in paper_records().values()})))
def test_compiled_equals_plain_for_models(method: Method, model: str) -> None:
    """The torques of the catalogue that the papers' problems use."""
    case = paper_case(next(r for r, record in paper_records().items() if record["torque"]["model"] == model))
    if method.refuses(case.torque.depends):
        pytest.skip(f"{method.name} does not take {case.torque.name}")

    # Adams methods are unstable at steps of 0.16 rad and more. Steps that choose their length differ by round-off: they
    # are compared at the end, where they have the same time.
    steps = 8 * STEPS if isinstance(method.scheme, Adams) else STEPS
    output: dict[str, Any] = {"t_eval": [case.t]} if method.variable_steps else {}

    def last() -> ph.Solution:
        return ph.simulate(
            case.body, case.torque, omega=case.omega, attitude=case.attitude,
            t_span=(0.0, case.t), step=case.t / steps, method=method, **output,
        )  # fmt: skip

    fast = last()
    with interpreted():
        slow = last()
    # A sensitive motion parts faster, and so do these two.
    bound = 64 * EPS * max(1.0, case.sensitivity)
    assert np.abs(matrices(slow.quaternion) - matrices(fast.quaternion)).max() < bound
    assert np.abs(slow.momentum - fast.momentum).max() < bound * np.abs(slow.momentum).max()


# --- continued


def continued(method: Method, name: str, make: Any) -> None:
    problem = PROBLEMS[name]
    whole = make(problem, method, STEPS, every=1)
    part = make(problem, method, STEPS // 4, problem.t_end / 4, every=1)
    both = ph.resume(part, problem.t_end)
    assert np.array_equal(both.t, whole.t)
    assert both.stats.steps == whole.stats.steps
    assert both.nfev == whole.nfev
    if not problem.body.aligned or problem.torque.breakpoints:
        # A state crosses from principal axes to the user's and back; between jumps a method starts anew.
        assert np.abs(both.quaternion - whole.quaternion).max() < 64 * EPS
        assert np.abs(both.momentum - whole.momentum).max() < 64 * EPS * np.abs(whole.momentum).max()
    else:
        assert np.array_equal(both.quaternion, whole.quaternion)
        assert np.array_equal(both.momentum, whole.momentum)


GRID = [pair for pair in pairs() if not pair.values[0].variable_steps]
"""Steps that choose their length do not stop where a continued run does."""


@pytest.mark.parametrize(("method", "name"), GRID)
def test_continued_run_equals_whole_run(method: Method, name: str) -> None:
    with interpreted():
        continued(method, name, compiled_run)


@pytest.mark.parametrize(("method", "name"), listed([pair for pair in sampled() if not pair[0].variable_steps]))
def test_continued_run_equals_whole_run_compiled(method: Method, name: str) -> None:
    continued(method, name, compiled_run)


# --- what a run costs


@dataclass(frozen=True, eq=False)
class Counted(Torque):
    """A torque that counts its calls, in plain Python."""

    depends: Depends = Depends.POSITION
    jumps: tuple[float, ...] = ()
    calls: list[float] = field(default_factory=list)

    @property
    def torque_kernel(self) -> UserTorque:
        def counted(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
            self.calls.append(t)
            return (0.0, 0.0, 0.0)

        return counted

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return self.jumps


DEPENDS = [
    Depends.NOTHING,
    Depends.POSITION,
    Depends.POSITION | Depends.TIME,
    Depends.POSITION | Depends.TIME | Depends.RATE,
]


@pytest.mark.parametrize("jumps", [(), (0.9,)], ids=["smooth", "jump"])
@pytest.mark.parametrize("depends", DEPENDS, ids=lambda d: d.name or "NOTHING")
def test_evaluations_are_as_declared(
    method: Method, depends: Depends, jumps: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`nfev` is what the run evaluates; before it, the torque is called once to find mistakes.

    Where a stretch ends, or a piece of it that was made for the sake of progress and Ctrl-C, a corrected method shows
    its state. Such passages do not count.
    """
    stop = FixedSteps.stop
    monkeypatch.setattr(FixedSteps, "stop", lambda self, segment, wanted: stop(self, segment, 10**6))
    monkeypatch.setattr(VariableSteps, "stop", lambda self, segment, wanted: 10**6)
    if method.refuses(depends):
        pytest.skip(f"{method.name} does not take {depends}")
    torque = Counted(depends, jumps)
    with interpreted():
        solution = ph.simulate(
            ph.Body([1.0, 1.75, 2.5]), torque, omega=[0.3, 0.2, 0.1], t_span=(0.0, 2.0), method=method,
            step=0.1 / method.advance, t_eval=[0.1, 0.25, 0.5, 1.33],
        )  # fmt: skip
    assert solution.stats.steps == 20 or method.variable_steps
    stepper = method.scheme.bind(lambda body, p, t, s: (0.0, 0.0, 0.0), depends)
    passage, starts = stepper.evaluations_per_passage, 1 + len(jumps)
    assert solution.nfev + starts * passage == len(torque.calls) - 1
    if stepper.evaluations_per_step is not None:
        steps, aside = 20 + 2, 2  # two of the listed times lie off the grid
        others = 4 * passage + aside * (stepper.evaluations_at_start + passage) if passage else 0
        assert solution.nfev == starts * stepper.evaluations_at_start + steps * stepper.evaluations_per_step + others
