"""Torques are compiled apart from the loops that call them, and give the bits that they would give inside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polhode.compiler import CompilationFailed, KernelRaised, digest, program, programs, separate
from polhode.kernels.callback_torques import apart as seen_apart
from polhode.kernels.ops import rows_of, view
from polhode.kernels.types import Depends
from polhode.methods import find
from polhode.run.binding import ANY_SCALES, ById, bound

Torque = Callable[..., Any]
STATE = np.array([0.25, 0.1, -0.2, 0.3, 0.9, 1.5, -0.75, 0.125])


def loop(torque: Torque, lanes: int = 0, common: bool = True, own: bool = False) -> Any:
    """A program that calls a torque: of one state, or of `lanes` states with a time in common, or parameters apart."""
    seen = seen_apart(torque)
    if lanes == 0:

        def one(x: Any, p: Any, n: int) -> int:
            x[0], x[1], x[2] = seen(x[0], (x[1], x[2], x[3], x[4]), (x[5], x[6], x[7]), view(p, n))
            return 0

        return one

    def many(x: Any, p: Any, n: int) -> int:
        r = rows_of(x, 0, 4)
        values = (rows_of(p, 0, 4)[0], rows_of(p, 0, 4)[1]) if own else view(p, n)
        t = x[0] if common else r[0]
        r[0], r[1], r[2] = seen(t, (r[1], r[2], r[3], r[4]), (r[5], r[6], r[7]), values)
        return 0

    return many


def spring(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * q[1] - p[1] * w[0], p[0] * q[2] * t, 0.5)


def drag(t: float, q: Any, w: Any, p: Any) -> Any:
    return [-p[0] * w[0], -p[1] * w[1], -p[0] * w[2] * w[2]]


def limited(t: float, q: Any, w: Any, p: Any) -> Any:
    if t > 1.0:
        raise ValueError("too late")
    return (p[0], p[1], w[0])


def wrong(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0], open("nothing"), 0.0)


def branching(t: float, q: Any, w: Any, p: Any) -> Any:
    return (1.0 if w[0] > 0.0 else 2.0, 0.0, 0.0)


VALUES = np.array([0.7, -0.3])


def result(f: Any, x: Any = STATE) -> list[float]:
    own = np.array(x)
    program(f, "ppi")(own, VALUES, 2)
    return own[:3].tolist()  # type: ignore[no-any-return]


def test_a_loop_is_compiled_once_for_all_torques(empty_cache: Path) -> None:
    for count, torque in enumerate((spring, drag), 2):
        x = STATE.tolist()
        wanted = [float(v) for v in torque(x[0], tuple(x[1:5]), tuple(x[5:]), VALUES)]
        assert result(loop(torque)) == wanted
        assert programs.compilations == count
    programs._programs.clear()
    programs._loops.clear()
    assert programs.kept_program(loop(spring), "ppi") is not None  # both parts come from their files
    assert programs.compilations == 3
    assert len(list(empty_cache.glob("*.code"))) == 3


@pytest.mark.parametrize(("common", "own"), [(True, False), (False, True)])
def test_lanes_have_the_bits_of_one_state(common: bool, own: bool, empty_cache: Path) -> None:
    rows = STATE[:, None] * np.array([1.0, -0.5, 2.0, 3.0])
    values = np.array([[0.7, 0.6, 0.5, 0.4], [-0.3, 0.3, 0.1, 0.2]])
    many = rows.copy()
    program(loop(spring, 4, common, own), "ppi")(many.reshape(-1), values.reshape(-1) if own else VALUES, 2)
    for k in range(4):
        t, *state = rows[:, k].tolist()
        p = values[:, k] if own else VALUES
        one = spring(rows[0, 0] if common else t, tuple(state[:4]), tuple(state[4:]), p)
        assert many[:3, k].tolist() == [float(v) for v in one]


def test_an_exception_of_a_torque_is_one_of_its_loop(empty_cache: Path) -> None:
    late = np.where(np.arange(8) == 0, 2.0, STATE)
    assert result(loop(limited)) == [0.7, -0.3, 1.5]
    with pytest.raises(KernelRaised, match=r"^ValueError: too late$"):
        result(loop(limited), late)


def test_what_cannot_be_compiled_is_shown_in_the_torque(empty_cache: Path) -> None:
    with pytest.raises(CompilationFailed, match=r"test_separate\.py.*\n.*open"):
        program(loop(wrong), "ppi")
    with pytest.raises(CompilationFailed, match=r"polhode\.where"):
        program(loop(branching, 4), "ppi")
    assert result(loop(branching)) == [1.0, 0.0, 0.0]


def test_arguments_of_other_types_are_compiled_together(empty_cache: Path) -> None:
    seen = seen_apart(spring)

    def with_numbers(x: Any, p: Any, n: int) -> int:
        x[0], x[1], x[2] = seen(x[0], (x[1], x[2], x[3], x[4]), (x[5], x[6], x[7]), (p[0], p[1]))
        return 0

    assert result(with_numbers) == result(loop(spring))
    kept = [programs._read(path) for path in empty_cache.glob("*.code")]
    assert [separate.NOT_APART in c.complaint.reason for c in kept if c and c.complaint] == [True]


def test_iterations_are_compiled_with_a_torque_that_depends_on_the_time() -> None:
    """What depends on the time alone is computed once for all iterations of a step: G8 took 1.7 times as long."""

    def is_apart(method: str, depends: Depends) -> bool:
        stepper = bound(ById(find(method).scheme), spring, False, False, depends, ANY_SCALES[0])
        return digest.divided(stepper.step)[1] != ()  # type: ignore[arg-type]

    both = Depends.POSITION | Depends.TIME
    assert [is_apart(m, both) for m in ("IMR", "G8", "RK4", "DOP853")] == [False, False, True, True]
    assert all(is_apart(m, Depends.POSITION) for m in ("IMR", "G8", "RK4", "DOP853"))
