"""Lists of flows: scaling, merging, clocks, and the steps that they become."""

import math
from typing import Any

import numpy as np
import pytest

from polhode.kernels.status import NO_CONVERGENCE, OK
from polhode.kernels.steps.compose import (
    ComposedStep,
    Routine,
    Splitting,
    Stage,
    composed,
    merged,
    nothing,
    suzuki,
    triple_jump,
)
from polhode.kernels.steps.flows import kick, principal_torque, spin1, spin2, spin3
from polhode.kernels.types import Depends, Inertia, Memory, Params, Pull, Quat, State, Vec3
from polhode.methods import split

BODY = Inertia((1.0, 1.75, 2.5), (1.0, 1 / 1.75, 0.4))
NO_PARAMETERS = Params((), (1.0, 0.0, 0.0, 0.0), (-np.inf, np.inf))
S0 = State((1.0, 0.0, 0.0, 0.0), (0.9, -1.2, 2.7))

MR2 = split((kick, 1 / 2), (spin1, 1 / 2), (spin2, 1 / 2), (spin3, 1), (spin2, 1 / 2), (spin1, 1 / 2), (kick, 1 / 2))
LIE = split((kick, 1), (spin1, 1), (spin2, 1), (spin3, 1))
LIE_BACK = split((spin3, 1), (spin2, 1), (spin1, 1), (kick, 1))


def counting(log: list[float]) -> Pull:
    """A torque that grows with time and writes down when it was asked."""

    def torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        log.append(t)
        return (0.125 * t, -0.25, 0.5)

    return principal_torque(torque, tilted=False, windowed=False)


# --- list algebra


def test_merged_joins_neighbours_only() -> None:
    joined = merged([Stage(kick, 0.25), Stage(kick, 0.5), Stage(spin1, 1.0), Stage(kick, 0.25)])
    assert joined.stages == (Stage(kick, 0.75), Stage(spin1, 1.0), Stage(kick, 0.25))


def test_kicks_that_are_not_alike_stay_apart() -> None:
    stages = [Stage(kick, 0.5), Stage(kick, 0.5, 0.1), Stage(kick, 0.25, 0.1)]
    assert merged(stages).stages == (stages[0], Stage(kick, 0.75, 0.1))
    assert Splitting(tuple(stages)).composed((2.0,)).stages == (Stage(kick, 1.0), Stage(kick, 1.5, 0.4))


def test_composition_scales_concatenates_and_merges() -> None:
    two = MR2.composed((0.25, 0.75))
    assert [s.flow for s in two.stages] == [*(s.flow for s in MR2.stages), *(s.flow for s in MR2.stages[1:])]
    assert two.stages[6] == Stage(kick, 0.5)  # 1/8 + 3/8
    for flow in (kick, spin1, spin2, spin3):
        assert sum(s.fraction for s in two.stages if s.flow is flow) == pytest.approx(1.0, abs=1e-15)


def test_compositions_of_compositions_are_compositions() -> None:
    rows = (0.5, 0.5), (0.25, 0.75)
    flat = tuple(g * f for g in rows[1] for f in rows[0])
    assert MR2.composed(rows[0]).composed(rows[1]) == MR2.composed(flat)
    routine = Routine(lambda pull: (nothing, None))
    assert composed(composed(routine, rows[0]), rows[1]) == ComposedStep(routine, flat)


def test_without_kicks() -> None:
    assert [s.flow for s in MR2.without_kicks().stages] == [spin1, spin2, spin3, spin2, spin1]
    doubled = MR2.composed((0.5, 0.5)).without_kicks()
    assert [s.flow for s in doubled.stages] == [spin1, spin2, spin3, spin2, spin1, spin2, spin3, spin2, spin1]


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("row", [triple_jump, suzuki])
def test_rows_meet_their_conditions(row: Any, order: int) -> None:
    """The rows add up to one, are palindromes, and their powers of order + 1 cancel."""
    fractions = row(order)
    assert fractions == fractions[::-1]
    assert math.fsum(fractions) == pytest.approx(1.0, abs=1e-15)
    assert math.fsum(f ** (order + 1) for f in fractions) == pytest.approx(0.0, abs=1e-14)


# --- clocks


def test_clock_runs_with_the_drifts() -> None:
    assert MR2.times() == pytest.approx([0, 0, 1 / 6, 1 / 3, 2 / 3, 5 / 6, 1], abs=1e-15)


def test_clock_of_asymmetric_lists() -> None:
    """A kick before all drifts sees the start of the step, one after all sees its end."""
    assert LIE.times() == pytest.approx([0, 0, 1 / 3, 2 / 3], abs=1e-15)
    assert LIE_BACK.times() == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-15)
    uneven = split((spin1, 0.25), (kick, 0.5), (spin2, 1), (spin1, 0.75), (kick, 0.5))
    assert uneven.times() == pytest.approx([0, 0.125, 0.125, 0.625, 1], abs=1e-15)


def test_clock_of_compositions() -> None:
    """Kicks stand at the joints of the steps, also where time runs back."""
    a, b, _ = triple_jump(2)
    row = MR2.composed((a, b, a))
    kicks = [t for s, t in zip(row.stages, row.times(), strict=True) if s.flow is kick]
    assert kicks == pytest.approx([0, a, a + b, 1], abs=1e-14)


@pytest.mark.parametrize("splitting", [MR2, LIE, LIE_BACK, MR2.composed(triple_jump(2))])
def test_torques_are_asked_at_their_times(splitting: Splitting) -> None:
    log: list[float] = []
    stepper = splitting.bind(counting(log), Depends.POSITION | Depends.TIME)
    t, h = 10.0, 0.5
    stepper.step(BODY, NO_PARAMETERS, t, S0, h, stepper.start(BODY, NO_PARAMETERS, t, S0))
    expected = [t + h * c for s, c in zip(splitting.stages, splitting.times(), strict=True) if s.flow is kick]
    assert log == pytest.approx(expected, abs=1e-14)


# --- steps


def by_hand(splitting: Splitting, pull: Pull, t: float, s: State, h: float) -> State:
    for stage, c in zip(splitting.stages, splitting.times(), strict=True):
        flow = kick(pull) if stage.flow is kick else stage.flow
        s = flow(BODY, NO_PARAMETERS, t + c * h, s, stage.fraction * h)
    return s


@pytest.mark.parametrize("depends", [Depends.POSITION | Depends.TIME, Depends.POSITION | Depends.RATE])
@pytest.mark.parametrize("splitting", [MR2, LIE, LIE_BACK, MR2.composed(suzuki(2))])
def test_generated_step_is_the_list(splitting: Splitting, depends: Depends) -> None:
    """With the torque carried from step to step or not, two steps equal the flows applied one by one."""
    log: list[float] = []
    pull = counting(log)
    stepper = splitting.bind(pull, depends)
    memory, s, expected = stepper.start(BODY, NO_PARAMETERS, 1.0, S0), S0, S0
    for t in (1.0, 1.5):
        s, memory, status = stepper.step(BODY, NO_PARAMETERS, t, s, 0.5, memory)
        assert status == OK
    spent = len(log)
    for t in (1.0, 1.5):
        expected = by_hand(splitting, pull, t, expected, 0.5)
    assert np.abs(np.array([*s.q, *s.m]) - [*expected.q, *expected.m]).max() < 1e-15
    assert stepper.evaluations_per_step is not None
    assert spent == stepper.evaluations_at_start + 2 * stepper.evaluations_per_step


def test_torque_is_carried_when_it_may_be() -> None:
    pull = counting([])
    at_rest, moving = (MR2.bind(pull, d) for d in (Depends.POSITION, Depends.POSITION | Depends.RATE))
    assert (at_rest.memory, at_rest.evaluations_at_start, at_rest.evaluations_per_step) == (3, 1, 1)
    assert (moving.memory, moving.evaluations_at_start, moving.evaluations_per_step) == (0, 0, 2)
    assert LIE.bind(pull, Depends.POSITION).memory == 0
    free = MR2.bind(pull, Depends.NOTHING)
    assert (free.memory, free.evaluations_at_start, free.evaluations_per_step) == (0, 0, 0)


# --- routines


def ledger(pull: Pull) -> tuple[Any, Any]:
    """A routine that changes nothing but its memory: the number of its calls, its latest start and length."""

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        return (0.0, t, 0.0)

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Memory) -> tuple[State, Memory, int]:
        status = NO_CONVERGENCE if h > 10.0 else OK
        return s, (memory[0] + 1.0, t, h), status

    return start, step


def test_memory_and_clock_pass_through_a_composition() -> None:
    fractions = (0.25, -0.5, 1.25)
    routine = Routine(ledger, memory=3, evaluations_at_start=1, evaluations_per_step=2)
    stepper = composed(routine, fractions).bind(counting([]), Depends.POSITION)
    assert (stepper.memory, stepper.evaluations_at_start, stepper.evaluations_per_step) == (3, 1, 6)
    _, memory, status = stepper.step(BODY, NO_PARAMETERS, 2.0, S0, 1.0, (0.0, 2.0, 0.0))
    assert (memory, status) == ((3.0, 2.0 - 0.25, 1.25), OK)


def test_a_composition_stops_where_its_routine_fails() -> None:
    stepper = composed(Routine(ledger, memory=3), (0.25, 0.5, 0.25)).bind(counting([]), Depends.POSITION)
    _, memory, status = stepper.step(BODY, NO_PARAMETERS, 0.0, S0, 24.0, (0.0, 0.0, 0.0))
    assert status == NO_CONVERGENCE
    assert memory[0] == 2.0
