"""Several floats as one value: in every lane the bits that one float has, and nothing that lanes cannot do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polhode.compiler import CompilationFailed, program
from polhode.compiler.digest import digest
from polhode.kernels import status as codes
from polhode.kernels.algebra.quat import normalised, rescaled, tidied, turn
from polhode.kernels.algebra.trig import sine_versine, sine_versine_of_step
from polhode.kernels.codegen import writer_of
from polhode.kernels.loop.drive import (
    AT,
    SETTING,
    Counters,
    driver,
    loop_over_bodies,
    packed_loop_over_bodies,
    values_together,
)
from polhode.kernels.ops import (
    all_of,
    beginning_at,
    columns,
    fma,
    from_lanes,
    lane,
    largest_in,
    matrix,
    row_maximum,
    row_of,
    rows_of,
    sum_of_row,
    two_product,
    verdict,
    view,
    where,
)
from polhode.kernels.states import STATE
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import BoundStep, Depends, Scales
from polhode.methods import find
from polhode.run.binding import SIGNATURE
from tests.compiler.fresh import Fresh

# --- bits ------------------------------------------------------------------------------------------------------------


def everything(a: float, b: float, c: float) -> tuple[float, ...]:
    """All that kernels do with floats."""
    d = a
    d += b
    d *= c
    d -= 1
    d /= 3.0
    p, e = two_product(a, b)
    q = (a, b, c, 0.5)
    return (
        a + b, a - b, a * b, a / b, -a, +a, 2 * a, a - 1, 1.5 / a, d, float(b),
        abs(a), math.fabs(b), math.sqrt(abs(a)), math.sqrt(c), np.sqrt(c), np.abs(b),
        fma(a, b, c), fma(2.0, a, c), fma(a, -0.5, 1), p, e,
        min(a, b), max(a, b), min(a, b, c), max(c, 0.25, b), max(a, 1), min(1.0, a, b, c),
        a**2, b**3, c**5, b**0, a**1, a**7,
        where(a < b, a, b), where(a <= b, 1.0, c), where(a > b, c, 2), where(a >= b, 0.0, -0.0),
        where(a == b, 1.0, 2.0), where(a != b, a, b), where((a < b) & (b < c), a, where((a < 0.0) | (c > 1.0), b, c)),
        where(~(a < b), a, c), where(1.0 < 2.0, a, c),
        math.sin(a), math.cos(b), math.tan(c), math.exp(a), math.log(abs(b)), math.atan2(a, b), math.hypot(a, b),
        math.pow(abs(a), c), math.copysign(a, b), math.tanh(a), math.atan(2 * c), math.expm1(b), math.log1p(abs(c)),
        math.erf(a), math.erfc(b), math.pow(2.5, b), math.atan2(1, c),
        *sine_versine(a), *sine_versine_of_step(b), *turn(q, (b, c, 0.1)), *tidied(q), *rescaled(q), *normalised(q),
    )  # fmt: skip


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 2.0, 0.3, -0.7]


def triples() -> Any:
    """Rows of three numbers: special ones in all combinations, and others, a multiple of eight."""
    special = np.array([(a, b, c) for a in SPECIAL for b in SPECIAL for c in SPECIAL[:6]])
    others = np.random.default_rng(5).normal(size=(96, 3)) * 10.0 ** np.arange(-4, 4).repeat(12)[:, None]
    return np.ascontiguousarray(np.concatenate([special, others]))


@pytest.mark.parametrize("lanes", [pytest.param(4, marks=pytest.mark.evidence), 8])
def test_every_lane_has_the_bits_of_a_float(lanes: int) -> None:
    with np.errstate(all="ignore"):
        count = len(everything(np.float64(0.3), np.float64(0.7), np.float64(0.2)))  # whose comparisons know ~
    store, offsets = writer_of(count), tuple(range(lanes))

    def one_by_one(x: Any, out: Any, n: int) -> int:
        for i in range(n):
            store(out, count * i, everything(x[3 * i], x[3 * i + 1], x[3 * i + 2]))
        return 0

    threes, rows = tuple(3 * i for i in offsets), tuple(count * i for i in offsets)

    def together(x: Any, out: Any, n: int) -> int:
        for i in range(0, n, lanes):
            y = columns(beginning_at(x, 3 * i), threes)
            store(columns(beginning_at(out, count * i), rows), 0, everything(y[0], y[1], y[2]))
        return 0

    x = triples()
    ends = np.zeros((2, len(x), count))
    for f, out in zip((one_by_one, together), ends, strict=True):
        program(f, "ppi")(x.reshape(-1), out.reshape(-1), len(x))
    alone, packed = ends
    assert np.isfinite(alone).mean() > 0.5
    same = (alone.view(np.int64) == packed.view(np.int64)) | (np.isnan(alone) & np.isnan(packed))
    assert same.all(), sorted(set(np.nonzero(~same)[1].tolist()))


def rows_in_memory(x: Any, out: Any, n: int) -> int:
    """All that collocation does with rows over nodes."""
    rows, to = rows_of(x, 4, 4), rows_of(out, 0, 4)
    for k in range(n):
        to[k] = 2.0 * rows[k] + row_of((1.0, 2.0, 3.0, 4.0))
    to[n] = row_maximum(rows[0], rows[1])
    to[n + 1] = 5.0
    later = beginning_at(to, n + 2)
    later[0] = rows[n - 1]
    out[4 * (n + 3)], out[4 * (n + 3) + 1] = largest_in(rows[0]), sum_of_row(rows[1])
    return 0


def test_rows_over_nodes_are_those_of_plain_python() -> None:
    x = np.random.default_rng(3).normal(size=4 + 4 * 3)
    found, plain = np.zeros(4 * 7), np.zeros(4 * 7)
    program(rows_in_memory, "ppi")(x, found, 3)
    rows_in_memory(x, plain, 3)
    assert (found == plain).all()
    assert plain[:4] == pytest.approx(2 * x[4:8] + [1, 2, 3, 4])
    assert (plain[12:16] == np.maximum(x[4:8], x[8:12])).all()
    assert plain[24] == x[4:8].max()


@pytest.mark.parametrize("refused", [lambda rows: view(rows, 3), lambda rows: matrix(rows, 1, 3)])
def test_rows_are_no_arrays(refused: Any) -> None:
    def kernel(x: Any, out: Any) -> int:
        out[0] = refused(rows_of(x, 0, 4))[0]
        return 0

    with pytest.raises(CompilationFailed, match="one node at a time"):
        program(kernel, "pp")


def test_what_a_driver_does_with_lanes() -> None:
    def kernel(x: Any, out: Any, n: int) -> int:
        y = columns(x, (0, 4, 2, 6))
        z = from_lanes((lane(y[1], 0), lane(y[1], 1), 100 * n, lane(y[1], 3)))
        columns(out, (3, 2, 1, 0))[0] = z
        out[4] = lane(y[0], 1)
        out[5] = 1.0 if all_of(y[0] < 7.0) else 0.0
        out[6] = 1.0 if all_of(y[0] < 6.0) else 0.0
        return verdict(n, y[0] < 3.0) + 100 * verdict(0, y[0] < 3.0) + 1000 * verdict(n, y[0] < 9.0)

    x, out = np.arange(8.0), np.full(8, -1.0)
    assert (
        program(kernel, "ppi")(x, out, 1) == 0b1010 + 1000 * 0b1111
    )  # lanes hold 0, 4, 2, 6; if none is to blame, all
    assert out.tolist() == [7.0, 100.0, 5.0, 1.0, 4.0, 1.0, 0.0, -1.0]


# --- what cannot be --------------------------------------------------------------------------------------------------


def chosen(x: float) -> float:
    return 1.0 if x > 0.0 else 2.0


def joined(x: float) -> float:
    return where(x > 0.0 and x < 1.0, 1.0, 2.0)  # type: ignore[no-any-return]


def truth(x: float) -> float:
    return 1.0 if x else 2.0


def shared(kernel: Callable[[float], float]) -> Any:
    def together(x: Any, n: int) -> int:
        y = columns(x, (0, 1, 2, 3, 4, 5, 6, 7))
        y[0] = kernel(y[0])
        return n

    return together


@pytest.mark.parametrize("kernel", [chosen, joined, truth])
def test_lanes_take_no_branches(kernel: Any) -> None:
    with pytest.raises(CompilationFailed, match=r"polhode\.where can choose for each") as told:
        program(shared(kernel), "pi")
    assert __file__ in str(told.value)


REFUSED = """
import numpy as np
from polhode.compiler import CompilationFailed, program
from polhode.kernels.ops import columns
def together(x, n):
    y = columns(x, (0, 1, 2, 3))
    y[0] = 1.0 if y[0] > 0.0 else 2.0
    return n
told = []
for tentative in (True, True, False):
    try:
        program(together, "pi", tentative=tentative)
    except CompilationFailed as problem:
        told.append(str(problem))
report(told=told)
"""


def line_of(told: str) -> int:
    return int(told.partition(", line ")[2].partition("\n")[0])


def test_a_refusal_is_kept(fresh: Fresh) -> None:
    cold = fresh.code(REFUSED)
    assert len(cold["told"]) == 3
    assert len(set(cold["told"])) == 1
    assert "polhode.where" in cold["told"][0]
    assert cold["compilations"] == 0
    assert cold["numba"]
    assert fresh.code(REFUSED) == {**cold, "numba": False}
    lines_move = REFUSED.replace("def", "\ndef").replace("    y[0] =", "    # a comment\n    y[0] =")
    moved = fresh.code(lines_move)
    assert not moved["numba"]
    assert line_of(moved["told"][0]) == line_of(cold["told"][0]) + 2
    (kept,) = fresh.programs()
    kept.write_bytes(kept.read_bytes()[:-3])  # not whole: tried again
    assert fresh.code(REFUSED) == cold


# --- programs with lanes are programs --------------------------------------------------------------------------------

ENSEMBLE = """
import hashlib
import numpy as np
import polhode as ph
from polhode.run.binding import SIGNATURE
draw = np.random.default_rng(2)
rates, weights = draw.normal(size=(21, 3)), [ph.HeavyTop(w) for w in draw.uniform(0.5, 1.5, size=21)]
@ph.torque
def branching(t, q, w, p):
    return (0.1, 0.2 if q[1] > 0.0 else 0.1, 0.0)
found = [
    ph.ensemble(ph.Body([1, 2, 2.5]), torque, omega=rates, t_span=(0, 2), step=0.05, method="MR2", every=4)
    for torque in (weights, branching)
]
report(
    ends=[hashlib.sha256(many.quaternion.tobytes() + many.momentum.tobytes()).hexdigest() for many in found],
    lanes=[(many.lanes, many.why_not_packed.splitlines()[-1:]) for many in found],
)
"""


def test_later_processes_compile_nothing(fresh: Fresh) -> None:
    cold = fresh.code(ENSEMBLE)
    assert cold["compilations"] == 5  # three loops (the numbers of parameters differ), tops in lanes, and a torque
    (all_lanes, nothing), (flows, why) = cold["lanes"]
    assert (all_lanes, nothing, flows) == (8, [], 8)
    assert "polhode.where" in why[0]
    assert len(fresh.programs()) == 6  # one of them is the refusal
    assert fresh.code(ENSEMBLE) == {**cold, "compilations": 0, "numba": False}


# --- the loop over bodies --------------------------------------------------------------------------------------------

GUARD, GUARD_INTEGER = -12345.0, -987654321
BODIES, STEPS = 21, 10
PLAN = [(0, 0.0), (0, 0.004), (3, 0.0), (9, 0.009), (10, 0.0)]


def weight(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] * q[1], p[1] * q[2], p[2] * t)


class Arrays:
    """Everything that a loop_over_bodies is given, each array with guards before and after it."""

    def __init__(self, memory: int) -> None:
        draw = np.random.default_rng(8)
        count = np.zeros((BODIES, len(Counters())), dtype=np.int64)
        count[:, [AT.steps, AT.rows, AT.times, AT.values]] = STEPS, len(PLAN), len(PLAN), 3
        moments = draw.uniform(1.0, 1.9, size=(BODIES, 3))
        rest = np.tile([1.0, 0.0, 0.0, 0.0, -1e9, 1e9, *[0.0] * 6], (BODIES, 1))
        settings = np.concatenate([moments, 1.0 / moments, rest], axis=1)
        assert settings.shape[1] == SETTING
        state = np.concatenate([np.tile([1.0, 0.0, 0.0, 0.0], (BODIES, 1)), draw.normal(size=(BODIES, 3))], axis=1)
        self.whole: list[Any] = []
        self.arrays = [
            self.guarded(content, GUARD_INTEGER if np.issubdtype(np.asarray(content).dtype, np.integer) else GUARD)
            for content in (
                settings,
                draw.normal(size=(BODIES, 3)),
                state,
                np.zeros((BODIES, max(1, memory))),
                [offset for _, offset in PLAN],
                np.full((BODIES, len(PLAN), STATE), np.nan),
                [index for index, _ in PLAN],
                count,
            )
        ]
        self.state, self.out, self.count = self.arrays[2], self.arrays[5], self.arrays[7].reshape(BODIES, -1)

    def guarded(self, content: Any, guard: Any) -> Any:
        content = np.asarray(content).reshape(-1)
        whole = np.concatenate([np.full(16, guard), content, np.full(16, guard)]).astype(content.dtype)
        self.whole.append((whole, guard))
        return whole[16 : 16 + content.size]

    def intact(self) -> bool:
        return all((w[:16] == guard).all() and (w[-16:] == guard).all() for w, guard in self.whole)


def stepper_for(method: str) -> BoundStep:
    pull = principal_torque(weight, tilted=False, windowed=False)
    scales = Scales((1.0, 1.5, 1.9), (3.0, 3.0, 3.0), 0.01, 1.0, packed=True)
    return find(method).scheme.bind(pull, Depends.POSITION | Depends.TIME, scales)


def flown(run_bodies: Any, stepper: BoundStep, ranges: list[tuple[int, int]]) -> Arrays:
    arrays = Arrays(stepper.memory)
    for stop in (1, 4, 9, 10):
        for first, beyond in ranges:
            assert run_bodies(*arrays.arrays, 0.5, 0.01, 0.007, stop, first, beyond, STATE, STATE) == codes.OK
        assert (arrays.count[: ranges[-1][1], AT.done] == stop).all()
    assert arrays.intact()
    return arrays


@pytest.mark.parametrize("method", ["MR2", pytest.param("Strang", marks=pytest.mark.evidence)])
def test_nothing_is_written_out_of_bounds(method: str) -> None:
    stepper, signature = stepper_for(method), SIGNATURE + "iiii"
    scalar = program(loop_over_bodies(stepper, driver(stepper)), signature)
    lanes = program(packed_loop_over_bodies(stepper, driver(stepper, values_together(3)), 8), signature)
    alone = flown(scalar, stepper, [(0, BODIES)])
    for ranges in ([(0, BODIES)], [(0, 8), (8, 9), (9, BODIES)], [(k, k + 1) for k in range(BODIES)]):
        packed = flown(lanes, stepper, ranges)
        assert not np.isnan(packed.out).any()
        for one, other in zip(alone.arrays, packed.arrays, strict=True):
            assert one.tobytes() == other.tobytes()
    some = flown(lanes, stepper, [(0, 5)])
    assert np.isnan(some.out.reshape(BODIES, -1)[5:]).all()
    assert (some.count[5:, AT.done] == 0).all()


def test_the_same_loop_in_plain_python() -> None:
    """With one lane, and arrays that know their bounds."""
    stepper = stepper_for("MR2")
    alone = flown(loop_over_bodies(stepper, driver(stepper)), stepper, [(0, BODIES)])
    packed = flown(
        packed_loop_over_bodies(stepper, driver(stepper, values_together(3)), 1), stepper, [(0, 4), (4, BODIES)]
    )
    for one, other in zip(alone.arrays, packed.arrays, strict=True):
        assert one.tobytes() == other.tobytes()


def test_lanes_have_programs_of_their_own() -> None:
    stepper = stepper_for("MR2")
    loops = [
        packed_loop_over_bodies(stepper, driver(stepper, values_together(n)), lanes) for n in (2, 3) for lanes in (4, 8)
    ]
    names = {digest(f).name for f in (*loops, loop_over_bodies(stepper, driver(stepper, view)))}  # type: ignore[arg-type]
    assert len(names) == 5
