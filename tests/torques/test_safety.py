"""What a torque must not do ends the run, in plain Python, compiled, and for many bodies at once."""

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import CompilationFailed
from polhode.kernels.status import Status

BODY = ph.Body([2.0, 3.0, 4.0])
W = (0.1, 0.2, 0.3)
PROBLEM: dict[str, Any] = {"t_span": (0.0, 1.0), "step": 0.1, "method": "RK4"}


@ph.torque(parameters=[0.3])
def late(t: float, q: Any, w: Any, p: Any) -> Any:
    """Reads beyond its parameters, if there is only one."""
    return (p[0] if t < 0.45 else p[1], 0.0, 0.0)


@ph.torque(parameters=[0.3])
def writing(t: float, q: Any, w: Any, p: Any) -> Any:
    if t > 0.45:
        p[0] += 1.0
    return (p[0], 0.0, 0.0)


def energy(t: float, q: Any, p: Any) -> Any:
    return p[0] if q[1] == 0.0 else p[1]


turned = ph.torque(lambda t, q, w, p: (p[0], 0.0, 0.0), parameters=[0.3], potential=energy)
FAR = r"the torque late raised IndexError: index 1 is out of bounds .* size 1 after 4 of 10 steps, at t = 0.45"


def test_a_torque_that_reads_beyond_its_parameters_ends_the_run() -> None:
    with pytest.raises(ph.SimulationFailed, match=FAR) as caught:
        ph.simulate(BODY, late, omega=W, **PROBLEM)
    assert caught.value.solution.t[-1] == pytest.approx(0.4)
    assert ph.simulate(BODY, late.with_parameters([0.3, 0.1]), omega=W, **PROBLEM).success


@pytest.mark.usefixtures("plain")
def test_in_plain_python_too() -> None:
    with pytest.raises(ph.SimulationFailed, match=FAR):
        ph.simulate(BODY, late, omega=W, **PROBLEM)
    with pytest.raises(ph.SimulationFailed, match=r"writing raised ValueError: .*read-only after 4 of 10 steps"):
        ph.simulate(BODY, writing, omega=W, **PROBLEM)


def test_each_body_of_an_ensemble_is_looked_after() -> None:
    """Numbers of parameters do not differ among bodies, so all of them fail, each with its message."""
    many = ph.ensemble(BODY, late, omega=[W] * 3, **PROBLEM)
    assert (many.status == Status.RAISED).all()
    assert many.t_last == pytest.approx(0.4)
    assert "late raised IndexError: index 1 is out of bounds" in many.messages[2]
    assert ph.ensemble(BODY, late.with_parameters([0.3, 0.1]), omega=[W] * 3, **PROBLEM).success.all()


def test_a_torque_that_writes_to_its_parameters_is_refused() -> None:
    with pytest.raises(CompilationFailed, match=r"cannot be written to.* own = p.copy\(\)\n.*compiled=False"):
        ph.simulate(BODY, writing, omega=W, **PROBLEM)
    with pytest.raises(CompilationFailed, match=r"parameters, .* cannot be written to"):
        ph.ensemble(BODY, writing, omega=[W] * 3, **PROBLEM)
    at_once = ph.torque(lambda t, q, w, p: (p.fill(1.0), 0.0, 0.0), parameters=[0.3])
    told = r"raised ValueError at t = 0: assignment destination is read-only; .* write to a copy"
    with pytest.raises(ValueError, match=told):
        ph.simulate(BODY, at_once, omega=W, **PROBLEM)


@pytest.mark.parametrize(
    ("f", "told"),
    [
        (lambda t, q, w, p: (p[1], 0.0, 0.0), r"out of bounds .*; the torque has 1 parameter: give more, as in"),
        (lambda t, q, w, p: -p[0] * w, r"; q and w are tuples: write np.array\(w\)"),
        (lambda t, q, w, p: -w, r"; q and w are tuples: write np.array\(w\)"),
    ],
)
def test_usual_mistakes_are_told_with_a_remedy(f: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ph.simulate(BODY, ph.torque(f, parameters=[0.3]), omega=W, **PROBLEM)


def test_a_potential_is_looked_after() -> None:
    with pytest.raises(IndexError, match="index 1 is out of bounds"):  # of a few rows, in plain Python
        _ = ph.simulate(BODY, turned, omega=W, **PROBLEM).potential_energy
    many = PROBLEM | {"t_eval": np.linspace(0.0, 1.0, 25_000)}  # so many rows that potentials are compiled
    with pytest.raises(ValueError, match=r"the potential of <lambda> raised IndexError: index 1 is out of bounds"):
        _ = ph.simulate(BODY, turned, omega=W, **many).potential_energy
    with pytest.raises(ValueError, match=r"the potential of <lambda> raised IndexError: index 1 is out of bounds"):
        _ = ph.ensemble(BODY, turned, omega=[W] * 3, **many).potential_energy


# --- what is returned -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ((True, 0.0, 0.0), r"returned \(True, 0.0, 0.0\) at t = 0: True is a bool .* write 1.0 if \.\.\. else 0.0"),
        ((np.float64(1.0) > 0.0, 0.0, 0.0), r"True is a bool and no number"),
        (np.array([True, False, True]), r"True is a bool and no number"),
        (("1", 0.0, 0.0), r"'1' is no number"),
        ((None, 0.0, 0.0), r"None is no number; give it a value in every branch"),
        (((1.0, 2.0), 0.0, 0.0), r"\(1.0, 2.0\) is no number; write one of its items"),
        ((1j, 0.0, 0.0), r"1j is complex, but they must all be real numbers; write .real"),
        (np.zeros((3, 1)), r"array\(\[0\.\]\) is no number; write one of its items"),
        (None, r"must return three numbers, not None: does it end without return\?"),
        (1.0, r"must return three numbers, as a tuple, list or array, not 1.0"),
        ("abc", r"must return three numbers, as a tuple, list or array, not 'abc'"),
        ({"x": 1.0}, r"as a tuple, list or array, not \{'x': 1.0\}"),
        (np.zeros(()), r"as a tuple, list or array, not array\(0\.\)"),
        ((1.0, 2.0, 3.0, 4.0), r"not \(1.0, 2.0, 3.0, 4.0\)"),
    ],
)
def test_what_is_no_torque_is_named_with_a_remedy(returned: Any, told: str) -> None:
    given = ph.torque(lambda t, q, w, p: returned)
    with pytest.raises(ValueError, match=r"the torque <lambda> .*" + told):
        ph.simulate(BODY, given, omega=W, **PROBLEM)


@pytest.mark.parametrize("returned", [(1, 0, 0), [1, 0.0, np.int64(0)], np.array([1, 0, 0]), np.array([1.0, 0, 0])])
@pytest.mark.usefixtures("plain")
def test_numbers_of_all_sorts_are_taken(returned: Any) -> None:
    expected = ph.simulate(BODY, ph.torque(lambda t, q, w, p: (1.0, 0.0, 0.0)), omega=W, **PROBLEM)
    got = ph.simulate(BODY, ph.torque(lambda t, q, w, p: returned), omega=W, **PROBLEM)
    np.testing.assert_array_equal(got.momentum, expected.momentum)


@pytest.mark.parametrize(("returned", "told"), [(True, "True is a bool"), ("1.0", "'1.0' is no number"), (None, "N")])
def test_what_is_no_potential_is_named(returned: Any, told: str) -> None:
    given = ph.torque(lambda t, q, w, p: (0.0, 0.0, 0.0), potential=lambda t, q, p: returned)
    with pytest.raises(ValueError, match=rf"the potential of <lambda> must return a number: at t = 0, {told}"):
        ph.simulate(BODY, given, omega=W, **PROBLEM)


@pytest.mark.parametrize("reads", [lambda p: p.flat[0], lambda p: next(iter(np.nditer(p)))], ids=["flat", "nditer"])
def test_items_that_nothing_checks_are_refused(reads: Any) -> None:
    torque = ph.torque(lambda t, q, w, p: (reads(p), 0.0, 0.0), parameters=[0.3])
    with pytest.raises(CompilationFailed, match="arrays without a look at their ends: use indices"):
        ph.simulate(BODY, torque, omega=W, **PROBLEM)
