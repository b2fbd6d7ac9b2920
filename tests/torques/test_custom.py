"""A user's function as a torque."""

import functools
import math
import pickle
from typing import Any

import numba
import numpy as np
import pytest

import polhode as ph
from polhode.kernels.types import Depends, Quat, Vec3
from polhode.torques import CustomTorque

BODY = ph.Body([2.0, 3.0, 4.0])
Q, W = (0.5, 0.5, 0.5, 0.5), (0.1, 0.2, 0.3)


def still(t: float, q: Any, w: Any, p: Any) -> Any:
    return (q[0], q[1], q[2])


def energy(t: float, q: Any, p: Any) -> Any:
    return p[0] * q[0]


def growing_energy(t: float, q: Any, p: Any) -> Any:
    return t + q[0]


def ended(torque: CustomTorque, **options: Any) -> Any:
    """The momentum after five steps."""
    run = ph.simulate(BODY, torque, omega=W, t_span=(0.0, 0.5), step=0.1, method="RK4", **options)
    return run.momentum[-1]


# --- how it is made ------------------------------------------------------------------------------------------------


def test_bare() -> None:
    made = ph.torque(still)
    assert made.name == "still"
    assert made.torque_kernel is still
    assert (made.potential_kernel, made.parameters(BODY), made.breakpoints, made.axis) == (None, (), (), None)
    assert not made.conserves_energy
    assert made(0.0, Q, W, None) == (0.5, 0.5, 0.5)


def test_with_arguments() -> None:
    @ph.torque(parameters=[1, 2.5], potential=energy, breakpoints=[0.5, 1])
    def pushed(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0], p[1], 0.0)

    assert pushed.name == "pushed"
    assert pushed.parameters(BODY) == (1.0, 2.5)
    assert pushed.breakpoints == (0.5, 1.0)
    assert pushed.potential_kernel is energy
    assert pushed.conserves_energy
    assert ph.torque(pushed.function, parameters=7.0).parameters(BODY) == (7.0,)


def test_with_parameters_changes_nothing_else() -> None:
    made = ph.torque(still, parameters=[1.0], potential=energy, breakpoints=[2.0])
    other = made.with_parameters([3.0, 4.0])
    assert other.parameters(BODY) == (3.0, 4.0)
    assert made.parameters(BODY) == (1.0,)
    for name in ("function", "potential", "jumps", "depends"):
        assert getattr(other, name) is getattr(made, name)


def test_with_parameters_compiles_nothing() -> None:
    from polhode.compiler import programs

    @ph.torque(parameters=[1.0])
    def pushed(t: float, q: Any, w: Any, p: Any) -> Any:
        return (p[0], 0.0, 0.0)

    first = ended(pushed)
    before = programs.compilations
    second = ended(pushed.with_parameters([2.0]))
    assert programs.compilations == before
    assert second[0] > first[0] + 0.4  # a torque greater by 1 for 0.5 s, as little turns meanwhile


# --- what it reads -------------------------------------------------------------------------------------------------

POSITION, TIME, RATE = Depends.POSITION, Depends.TIME, Depends.RATE


def reads_neither(a: float, b: Any, c: Any, d: Any) -> Any:
    return (b[0], d[0], 0.0)


def reads_time(a: float, b: Any, c: Any, d: Any) -> Any:
    return (a, 0.0, 0.0)


def reads_rate(a: float, b: Any, c: Any, d: Any) -> Any:
    x = 2.0
    y = c[0] * x
    return (y, x, 0.0)


def reads_rate_inside(a: float, b: Any, c: Any, d: Any) -> Any:
    def drag(i: int) -> Any:
        return -c[i]

    return (drag(0), drag(1), drag(2))


def reads_all(a: float, b: Any, c: Any, d: Any) -> Any:
    x, y, z = c
    return (math.cos(a) * x, y, z)


@pytest.mark.parametrize(
    ("function", "depends"),
    [
        (reads_neither, POSITION),
        (reads_time, POSITION | TIME),
        (reads_rate, POSITION | RATE),
        (reads_rate_inside, POSITION | RATE),
        (reads_all, POSITION | TIME | RATE),
        (lambda t, q, w, p: (0.0, 0.0, 0.0), POSITION),
        (lambda t, q, w, p: (w[0], 0.0, t), POSITION | TIME | RATE),
    ],
)
def test_what_a_function_reads_is_found(function: Any, depends: Depends) -> None:
    assert ph.torque(function).depends == depends


def test_a_potential_that_reads_time_is_no_constant_of_the_motion() -> None:
    assert ph.torque(still, potential=energy).conserves_energy
    assert not ph.torque(still, potential=growing_energy).conserves_energy


# --- functions of all sorts ----------------------------------------------------------------------------------------


def test_a_closure_and_a_lambda() -> None:
    def pushed(strength: float) -> CustomTorque:
        return ph.torque(lambda t, q, w, p: (strength, 0.0, 0.0))

    expected = ended(ph.ConstantBodyTorque((0.7, 0, 0)))  # type: ignore[arg-type]
    assert (ended(pushed(0.7)) == expected).all()
    assert (ended(pushed(0.8)) != expected).any()


def test_a_compiled_function_is_taken_for_its_python_source() -> None:
    jitted = numba.njit(still)
    made = ph.torque(jitted, parameters=[1.0], potential=numba.njit(energy))
    assert made.torque_kernel is still
    assert made.potential_kernel is energy
    assert made.name == "still"
    assert not getattr(jitted, "signatures", ())  # nothing was compiled for its own sake
    assert (ended(made) == ended(ph.torque(still))).all()


class Thruster:
    def __call__(self, t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.0, 0.0, 0.0)

    def method(self, t: float, q: Any, w: Any) -> Any:
        """As many arguments as a torque has, but not those."""
        return (0.0, 0.0, 0.0)


def five(t: float, q: Any, w: Any, p: Any, more: float) -> Any:
    return (0.0, 0.0, 0.0)


def three(t: float, q: Any, w: Any) -> Any:
    return (0.0, 0.0, 0.0)


def keyword_only(t: float, q: Any, w: Any, *, p: Any) -> Any:
    return (0.0, 0.0, 0.0)


def any_number(t: float, q: Any, w: Any, p: Any, *rest: Any) -> Any:
    return (0.0, 0.0, 0.0)


def generator(t: float, q: Any, w: Any, p: Any) -> Any:
    yield 0.0


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (functools.partial(five, more=1.0), r"functools.partial.*write it as a function, with its numbers in p"),
        (Thruster(), r"Thruster object.*write it as a function"),
        (Thruster().method, r"bound method.*write it as a function"),
        (Thruster, r"class .*Thruster.*write it as a function"),
        (ph.torque(still), r"<torque still.*already, whose with_parameters"),
        (ph.HeavyTop(2.0), r"HeavyTop.*it is a torque already$"),
        (3.0, r"unlike 3.0"),
        (five, r"unlike five\(t: float, .*more: float\)"),
        (three, r"unlike three\("),
        (keyword_only, r"unlike keyword_only\("),
        (any_number, r"unlike any_number\("),
        (generator, r"unlike generator\("),
    ],
)
def test_what_is_no_torque_is_refused(function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=r"a torque is a Python function of \(t, q, w, p\), .*" + told):
        ph.torque(function)
    with pytest.raises(TypeError, match=told):
        ph.torque(parameters=[1.0])(function)


def test_what_is_no_potential_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a potential is a Python function of \(t, q, p\), unlike still\("):
        ph.torque(still, potential=still)  # type: ignore[arg-type]


# --- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"parameters": [1.0, math.nan]}, ValueError, r"parameters\[1\] is nan"),
        ({"parameters": np.eye(2)}, ValueError, "parameters must be a list of numbers, not of shape"),
        ({"parameters": "many"}, TypeError, "parameters must hold numbers"),
        ({"parameters": [[1, 2], [3]]}, TypeError, "parameters must hold rows of one length"),
        ({"breakpoints": [2.0, 1.0]}, ValueError, "breakpoints must rise, but 2 is followed by 1"),
        ({"breakpoints": [1.0, 1.0]}, ValueError, "breakpoints must rise, but 1 is followed by 1"),
        ({"breakpoints": [math.inf]}, ValueError, r"breakpoints\[0\] is inf"),
        ({"breakpoints": ["soon"]}, TypeError, "breakpoints must hold numbers"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ph.torque(still, **options)
    if "parameters" in options:
        with pytest.raises(error, match=message):
            ph.torque(still).with_parameters(options["parameters"])


# --- what a torque that passes its arguments on reads


@ph.torque
def steady(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    return (p[0], 0.0, 0.0)


def passes_on(t: float, q: Quat, w: Vec3, p: Any) -> Any:
    return steady(t, q, w, p)


def test_what_is_read_can_be_said() -> None:
    assert ph.torque(passes_on).depends == Depends.POSITION | Depends.TIME | Depends.RATE
    assert ph.torque(depends="attitude")(passes_on).depends == Depends.POSITION
    assert ph.torque(passes_on, depends=["time"]).depends == Depends.POSITION | Depends.TIME
    with pytest.raises(ValueError, match="no dependence 'rates': did you mean 'rate'"):
        ph.torque(passes_on, depends="rates")
    said = ph.torque(passes_on, parameters=[0.3], depends=[])
    problem: dict[str, Any] = {"omega": [0.1, 0.2, 1.0], "t_span": (0, 1), "step": 0.1, "method": "MR2"}
    body = ph.Body([1.0, 2.0, 2.5])
    a, b = (ph.simulate(body, t, **problem) for t in (said, steady.with_parameters([0.3])))
    np.testing.assert_array_equal(a.momentum, b.momentum)


# --- pickle, which looks for the function under the name that the torque has taken


def test_torques_can_be_pickled() -> None:
    strong = steady.with_parameters([4.0])
    for made in (strong, ph.torque(passes_on, parameters=[1.0], depends=[], breakpoints=[0.5])):
        back = pickle.loads(pickle.dumps(made))
        assert back.torque_kernel is made.torque_kernel
        assert (back.values, back.jumps, back.depends) == (made.values, made.jumps, made.depends)
    solution = ph.simulate(
        ph.Body([1.0, 2.0, 2.5]), strong, omega=[0.1, 0.2, 1.0], t_span=(0, 1), step=0.1, method="RK4(compensated=true)"
    )
    back = pickle.loads(pickle.dumps(solution))
    assert back.plan.method is solution.plan.method
    np.testing.assert_array_equal(ph.resume(back, 2).momentum, ph.resume(solution, 2).momentum)


def test_a_local_torque_says_that_it_cannot_be_pickled() -> None:
    @ph.torque
    def local(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (1.0, 0.0, 0.0)

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


def test_every_python_reads_the_same_from_the_code() -> None:
    """Bytecode differs from version to version: comprehensions are nested or not, two variables are loaded at once."""

    def closes_over(t: float, q: Any, w: Any, p: Any) -> Any:
        return (lambda: w[0])(), q[1], p[0]

    def chooses_in_a_comprehension(t: float, q: Any, w: Any, p: Any) -> Any:
        return [x if x > 0.0 else 0.0 for x in w]

    def comprehends(t: float, q: Any, w: Any, p: Any) -> Any:
        return [2.0 * x for x in q[1:]]

    def loops(t: float, q: Any, w: Any, p: Any) -> Any:
        total = 0.0
        for k in range(3):
            total += q[k] * t
        return total, total, total

    def short_circuits(t: float, q: Any, w: Any, p: Any) -> Any:
        return (q[1] and q[2]), 0.0, 0.0

    def unpacks(t: float, q: Any, w: Any, p: Any) -> Any:
        a, b, c = w
        return a, b, c

    found = {
        f.name: (Depends.TIME in f.depends, Depends.RATE in f.depends, f.may_bend)
        for f in map(ph.torque, (closes_over, chooses_in_a_comprehension, comprehends, loops, short_circuits, unpacks))
    }
    assert found == {
        "closes_over": (False, True, False),
        "chooses_in_a_comprehension": (False, True, True),
        "comprehends": (False, False, False),
        "loops": (True, False, False),
        "short_circuits": (False, False, True),
        "unpacks": (False, True, False),
    }
