"""What users give by mistake: it is refused by an error that names it, or taken as it was meant."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode import elliptic
from polhode.support import checks

BODY, OMEGA = ph.Body([1.0, 1.2, 1.5]), [0.3, 1.1, -0.4]
START: dict[str, Any] = {"omega": OMEGA, "t_span": (0.0, 1.0), "step": 0.5, "method": "MR2"}

NO_NUMBERS: dict[str, Any] = {
    "digits": "1", "text of NumPy": np.str_("1"), "array of a text": np.array("1"), "bytes": b"1", "bool": True,
    "bool of NumPy": np.True_, "array of a bool": np.array(True), "complex": 1j, "complex of NumPy": np.complex128(1),
    "duration": np.timedelta64(1, "s"), "date": np.datetime64("2020-01-01"), "nothing": None, "row": np.array([1.0]),
    "huge": 10**400, "masked": np.ma.masked,
}  # fmt: skip

NUMBERS: dict[str, Any] = {
    "int": 1, "float32": np.float32(1), "int64": np.int64(1), "array": np.array(1.0), "fraction": Fraction(1),
    "decimal": Decimal(1),
}  # fmt: skip


PLAIN: dict[str, Any] = {
    "floats": [1.0, 2.0], "ints": (1, 2), "numbers of NumPy": [np.float64(1.0), 2], "array": np.array([1.0, 2.0]),
    "part of an array": np.array([[1.0, 5.0], [2.0, 6.0]])[:, 0],
}  # fmt: skip


@pytest.mark.parametrize("value", PLAIN.values(), ids=PLAIN)
def test_what_needs_no_closer_look(value: Any) -> None:
    found = checks.plain(value, 2)
    assert found == [1.0, 2.0] == checks.array("x", value, (2,)).tolist()
    assert all(type(x) is float for x in found)
    assert checks.plain(value, 3) is None


@pytest.mark.parametrize(
    "value",
    [
        *(x for kind, x in NO_NUMBERS.items() if kind != "row"), [], np.array([]), [True, 1.0], [1.0, "2"],
        [1.0, 10**400], [math.nan], [1.0, math.inf],
        np.array([math.nan]), np.array([1, 2]), np.array([1.0, 2.0], dtype=np.float32), np.array([[1.0, 2.0]]),
        np.array([1.0, 2.0], dtype=">f8"), np.ma.masked_array([1.0, 2.0], [True, False]), [1.0] * 51, np.ones(51),
        [1e308, 1e308],
    ],
)  # fmt: skip
def test_what_is_looked_at_more_closely(value: Any) -> None:
    assert checks.plain(value) is None


@pytest.mark.parametrize("times", [[math.nan], np.array([math.nan]), [0.1, math.nan, 0.3], np.full(60, math.nan)])
def test_times_that_are_no_numbers(times: Any) -> None:
    with pytest.raises(ValueError, match=r"t_eval must be finite, but t_eval\[\d\] is nan"):
        ph.simulate(BODY, **START, t_eval=times)


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(TypeError, match="x must be a number, not"):
        checks.number("x", value)


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS)
def test_what_is_a_number(value: Any) -> None:
    assert checks.number("x", value) == 1.0
    assert checks.array("x", [value, 2.0], (2,)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", [n for n in NO_NUMBERS if n not in ("row", "masked")])
def test_what_is_no_row_of_numbers(name: str) -> None:
    for given in ([NO_NUMBERS[name], 2.0, 3.0], (2.0, NO_NUMBERS[name], 3.0)):
        with pytest.raises(TypeError, match="x must hold numbers"):
            checks.array("x", given, (3,))
        with pytest.raises(TypeError, match="x must hold numbers"):
            checks.row("x", given)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (10**30, r"at most 2\*\*62, not 1000000000000000000000000000000"),
        (10**400, r"at most 2\*\*62, not 2\*\*1328 or more"),
        (1e30, r"at most 2\*\*62"),
        (math.nan, "positive whole number"),
        (math.inf, "positive whole number"),
        (0, "positive whole number"),
        (-3, "positive whole number"),
        (True, "positive whole number"),
        ("3", "positive whole number"),
        (2.5, "positive whole number"),
    ],
)
def test_what_is_no_count(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"every must be .*{told}"):
        ph.simulate(BODY, **START, every=value)


def test_a_row_after_more_steps_than_there_are() -> None:
    assert ph.simulate(BODY, **START, every=2**62).t.tolist() == [0.0, 1.0]


MASKED = np.ma.array([0.3, 1.1, -0.4], mask=[False, True, False])
STACK = np.ma.array([[0.3, 1.1, -0.4], [0.1, 0.2, 0.3]], mask=[[False] * 3, [False, True, False]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ph.simulate(BODY, **(START | {"omega": MASKED})),
        lambda: ph.simulate(BODY, **START, t_eval=np.ma.array([0.5, 1.0], mask=[True, False])),
        lambda: ph.simulate(BODY, **START).at(np.ma.array([0.5, 1.0], mask=[True, False])),
        lambda: ph.FreeMotion(BODY, STACK),
        lambda: ph.ensemble(BODY, **(START | {"omega": STACK})),
        lambda: ph.ensemble(STACK, **START),
        lambda: ph.ConstantBodyTorque(MASKED),  # type: ignore[arg-type]
        lambda: ph.samples.Normal(MASKED, 1.0),
        lambda: elliptic.ellipk(MASKED),
    ],
)
def test_masked_entries_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="has 1 masked entries: fill them, or leave their rows out"):
        call()


def test_arrays_of_all_kinds_are_right() -> None:
    """Views, other floats, objects, and the tables of others."""
    pd: Any = pytest.importorskip("pandas")
    import xarray as xr

    straight = np.array(OMEGA)
    straight.setflags(write=False)
    kinds: list[Any] = [
        straight, straight[::-1][::-1], np.asfortranarray(np.stack([straight] * 2))[0], straight.astype(object),
        np.ma.array(OMEGA), pd.Series(OMEGA), xr.DataArray(OMEGA), [Decimal(str(x)) for x in OMEGA],
    ]  # fmt: skip
    for given in kinds:
        run = ph.simulate(BODY, **(START | {"omega": given}))
        assert run.problem.omega_given is not None
        assert run.problem.omega_given.tolist() == OMEGA
        assert ph.FreeMotion(BODY, given).omega.tolist() == OMEGA


# --- quaternions that are not of unit length -----------------------------------------------------------------------


@pytest.mark.filterwarnings("error::polhode.ScaledQuaternion")
def test_a_quaternion_of_another_length_is_scaled_with_a_warning() -> None:
    long, unit = [2.0, 0.0, 0.0, 0.0], [0.6, 0.0, 0.8, 0.0]
    told = r"attitude is a quaternion of length 2, which was scaled to one: give a unit quaternion, scalar first"
    with pytest.warns(ph.ScaledQuaternion, match=told) as caught:
        run = ph.simulate(BODY, **START, attitude=long)
    assert caught[0].filename == __file__
    assert run.quaternion[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    with pytest.warns(ph.ScaledQuaternion, match="attitude is a quaternion of length 2"):
        ph.FreeMotion(BODY, OMEGA, long)
    with pytest.warns(ph.ScaledQuaternion, match="attitude has quaternions that are not of unit length"):
        ph.ensemble(BODY, **START, attitude=[unit, long])
    with pytest.warns(ph.ScaledQuaternion, match="around is a quaternion of length 2"):
        near = ph.samples.Attitude(long, 0.1)
    ph.ensemble(BODY, **START, attitude=near, count=3, seed=1)  # which was said before
    ph.ensemble(BODY, **START, attitude=ph.samples.Attitude(), count=3, seed=1)
    ph.simulate(BODY, **START, attitude=[1.0 + 5e-7, 0.0, 0.0, 0.0])  # a rounding of a unit one
    ph.simulate(BODY, **START, attitude=unit)
    with pytest.raises(ph.ScaledQuaternion):
        ph.simulate(BODY, **START, attitude=[1.0 + 2e-6, 0.0, 0.0, 0.0])


# --- sizes that methods cannot compute with ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moments", "omega", "told"),
    [
        ([1.0, 1.2, 1.5], [1e-310, 0.0, 0.0], "the momentum is 1e-310"),
        ([1.0, 1.2, 1.5], [1e60, 0.0, 0.0], r"the momentum is 1e\+60"),
        ([1e-60, 1e-60, 1e-60], [1.0, 0.0, 0.0], "the moment is 1e-60"),
        ([1e40, 1e40, 1e40], [1e-60, 0.0, 0.0], "the rate is 1e-60"),
    ],
)
def test_sizes_beyond_the_range_of_methods(moments: Any, omega: Any, told: str) -> None:
    body = ph.Body(moments)
    with pytest.raises(
        ValueError, match=told + r", and methods compute with sizes from 1e-50 to 1e\+50: choose a unit of"
    ):
        ph.simulate(body, **(START | {"omega": omega}))
    which = told.replace(" is ", " of body 1 is ")
    with pytest.raises(ValueError, match=which):
        ph.ensemble([BODY, body], **(START | {"omega": [OMEGA, omega]}))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", ["JE0", "MR2", "Buss", "RK4", "Strang", "DMV4"])
@pytest.mark.parametrize(("mass", "time"), [(160, 0), (-160, 0), (0, 160), (0, -160), (160, -160), (-160, 160)])
def test_methods_are_right_at_the_ends_of_the_range(method: str, mass: int, time: int) -> None:
    """Powers of two, so that the same bits may be expected; a method may round square roots of them otherwise."""
    ends = []
    for kilogram, second in ((0, 0), (mass, time)):
        unit, pace = 2.0**kilogram, 2.0**second
        body, omega = ph.Body(unit * np.array([1.0, 1.25, 1.7])), pace * np.array(OMEGA)
        run = ph.simulate(body, omega=omega, t_span=(0, 1 / pace), step=0.25 / pace, method=method)
        ends.append((run.quaternion[-1], run.omega[-1] / pace))
    np.testing.assert_allclose(ends[1][0], ends[0][0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(ends[1][1], ends[0][1], rtol=0, atol=1e-14)


# --- what a run will cost ------------------------------------------------------------------------------------------


def test_long_runs_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they begin, unless their progress is shown."""

    def begun(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("polhode.api.simulate.solve", begun)
    monkeypatch.setattr("polhode.api.ensemble.Survey.of", begun)
    long: dict[str, Any] = START | {"t_span": (0.0, 1e9), "every": 10**9}
    told = r"2e\+09 steps take about 3.3 minutes at least: take longer steps"
    with pytest.warns(ph.LongRun, match=told), pytest.raises(KeyboardInterrupt):
        ph.simulate(BODY, **long)
    with pytest.raises(KeyboardInterrupt):  # no warning
        ph.simulate(BODY, **long, progress=lambda done, steps: None)
    drawn: dict[str, Any] = START | {"omega": ph.samples.Normal(OMEGA, 0.1), "seed": 1, "count": 10**9, "threads": 2}
    rate = {"rate": ph.quantity("omega").mean("body")}
    told = r"1e\+09 bodies with 2 steps each take about 10 minutes at least: take fewer"
    with pytest.warns(ph.LongRun, match=told), pytest.raises(KeyboardInterrupt):
        ph.ensemble(BODY, **drawn, reduce=rate)


def test_output_that_no_memory_holds_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before bodies are drawn and before anything is allocated: some systems promise memory that is not there."""
    from polhode.run import rows

    monkeypatch.setattr(rows, "physical_memory", lambda: 2.0**34)
    drawn: dict[str, Any] = START | {"omega": ph.samples.Normal(OMEGA, 0.1), "seed": 1}
    with pytest.raises(MemoryError, match=r"1000000000 bodies with 2 rows of output need 104 GiB: ask for fewer"):
        ph.ensemble(BODY, **drawn, count=10**9)
    with pytest.raises(MemoryError, match=r"400000001 rows of output need 20.9 GiB"):
        ph.simulate(BODY, **(START | {"t_span": (0, 2e8)}))
