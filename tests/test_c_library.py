"""The library in C: it has the bits of polhode, refuses what makes no sense, and its own test passes."""

import ctypes
import math
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode import c_library
from polhode.c_library.translate import Translation
from polhode.kernels.types import Inertia, State
from tests.authorities import free_regimes

CC = shutil.which("cc")
FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic"]
IDENTITY = (1.0, 0.0, 0.0, 0.0)

needs_compiler = pytest.mark.skipif(CC is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("c")
    assert [p.name for p in c_library.write(place)] == list(c_library.FILES)
    return place


def build(folder: Path, *arguments: str) -> None:
    subprocess.run([str(CC), *FLAGS, *arguments], cwd=folder, check=True)


@pytest.fixture(scope="module")
def library(folder: Path) -> ctypes.CDLL:
    build(folder, "-fPIC", "-c", "polhode_free.c")
    build(folder, "-shared", "polhode_free.o", "-lm", "-o", "polhode_free.so")
    return ctypes.CDLL(str(folder / "polhode_free.so"))


def floats(*values: float) -> Any:
    return (ctypes.c_double * len(values))(*values)


def at(
    library: ctypes.CDLL, p: free_regimes.FreeCase, attitude: Any = IDENTITY
) -> tuple[int, list[float], list[float]]:
    motion, q, w = floats(*[0.0] * 64), floats(*[math.nan] * 4), floats(*[math.nan] * 3)
    status = library.polhode_motion_begin(motion, floats(*p.inertia), floats(*p.omega), floats(*attitude))
    status = status or library.polhode_motion_at(motion, ctypes.c_double(p.t), q, w, None)
    return status, list(q), list(w)


@needs_compiler
@pytest.mark.parametrize("regime", free_regimes.REGIMES)
def test_bits_of_the_closed_form(library: ctypes.CDLL, regime: str) -> None:
    for p in free_regimes.cases(regime, 8, seed=5):
        q, w = free_regimes.state(p)
        assert at(library, p) == (0, q.tolist(), w.tolist())


@needs_compiler
def test_bits_of_attitudes_at_the_start(library: ctypes.CDLL) -> None:
    draw = np.random.default_rng(3)
    for size in (1.0, 1.0, 1.0, 1.0, 1e-3, 1e120):
        q = draw.normal(size=4)
        q *= size / np.linalg.norm(q)
        p = free_regimes.FreeCase((1.0, 1.4, 2.1), (0.3, -0.2, 0.9), 7.0)
        with warnings.catch_warnings(action="ignore", category=ph.ScaledQuaternion):
            s = ph.FreeMotion(ph.Body(p.inertia), p.omega, q).at(p.t)
        assert at(library, p, q) == (0, s.quaternion.tolist(), s.omega.tolist())


@needs_compiler
def test_steps(library: ctypes.CDLL) -> None:
    """Short, long and very long steps. In plain Python fma rounds twice, so that steps are equal to some 1e-15."""
    draw = np.random.default_rng(8)
    for _ in range(40):
        moments = np.sort(draw.uniform(0.4, 1.0, 3)).tolist()
        q, m = (v / np.linalg.norm(v) for v in (draw.normal(size=4), draw.normal(size=3)))
        h = float(10.0 ** draw.uniform(-3, 3))
        attitude, momentum = floats(*q), floats(*m)
        assert library.polhode_step(floats(*moments), attitude, momentum, ctypes.c_double(h)) == 0
        body = Inertia(tuple(moments), tuple(1.0 / i for i in moments))
        true = c_library.step(body, State(tuple(q.tolist()), tuple(m.tolist())), h)
        allowed = 1e-14 * max(1.0, h)  # the longest steps are sensitive to their numbers
        np.testing.assert_allclose([*attitude, *momentum], [*true.q, *true.m], atol=allowed, rtol=0.0)


@needs_compiler
def test_it_refuses(library: ctypes.CDLL) -> None:
    good = free_regimes.FreeCase((1.0, 2.0, 3.0), (0.1, 1.0, 0.2), 1.0)
    wrong: list[tuple[int, dict[str, Any]]] = [
        (1, {"inertia": (1.0, -2.0, 3.0)}),
        (1, {"inertia": (1.0, math.nan, 3.0)}),
        (1, {"inertia": (1e-15, 1.0, 1.0)}),
        (2, {"omega": (math.inf, 0.0, 0.0)}),
        (2, {"omega": (1e-300, 0.0, 0.0)}),
        (4, {"t": math.nan}),
        (4, {"t": 1e300}),
    ]
    for status, change in wrong:
        assert at(library, good._replace(**change))[0] == status, change
    attitude, momentum = floats(*IDENTITY), floats(1.0, 0.2, 0.3)
    for moments, h, status in (((1.0, 2.0, 0.0), 0.1, 1), ((1.0, 2.0, 3.0), math.inf, 4)):
        assert library.polhode_step(floats(*moments), attitude, momentum, ctypes.c_double(h)) == status
    assert library.polhode_step(floats(1.0, 2.0, 3.0), floats(*[0.0] * 4), momentum, ctypes.c_double(0.1)) == 3
    assert (list(attitude), list(momentum)) == (list(IDENTITY), [1.0, 0.2, 0.3])


def far_off(draw: np.random.Generator, count: int, positive: bool = False) -> list[float]:
    """Numbers of any size, some of them zero, denormal, equal, or none at all."""
    size = 10.0 ** draw.uniform(-308, 308) if draw.random() < 0.7 else 1.0
    x = size * draw.uniform(0.1 if positive else -1.0, 1.0, count)
    if draw.random() < 0.5:
        x[draw.integers(count)] = draw.choice([0.0, 5e-324, 1e-300, -1e-290, x[0], math.nan, math.inf, 1.7e308])
    return [float(i) for i in x]


@needs_compiler
def test_answers_are_finite_or_refused_and_then_nothing_is_written(library: ctypes.CDLL) -> None:
    draw, done = np.random.default_rng(17), 0
    pull = ctypes.CFUNCTYPE(None, ctypes.c_double, *(ctypes.POINTER(ctypes.c_double),) * 3, ctypes.c_void_p)

    def push(t: float, q: Any, w: Any, torque: Any, data: Any) -> None:
        assert all(math.isfinite(x) for x in (t, *q[:4], *w[:3]))
        torque[0], torque[1], torque[2] = (w[1], 1e200, -w[0]) if w[0] < 0.0 else (0.0, 0.0, 1e-200)

    for _ in range(3000):
        moments, start, q = floats(*far_off(draw, 3, True)), far_off(draw, 3), far_off(draw, 4)
        (h,) = draw.choice([far_off(draw, 1), [0.0], [1.0]])
        for name, more in (("polhode_step", ()), ("polhode_step_with_torque", (ctypes.c_double(0.0),))):
            attitude, momentum = floats(*q), floats(*start)
            last = (pull(push), None) if more else ()
            status = getattr(library, name)(moments, attitude, momentum, *more, ctypes.c_double(h), *last)
            after = [*attitude, *momentum]
            if status:
                assert np.array_equal(after, [*q, *start], equal_nan=True)
            else:
                assert np.isfinite(after).all(), (name, list(moments), start, q, h)
                assert math.isclose(math.hypot(*attitude), 1.0, rel_tol=1e-14)
                done += 1
    assert done > 500


@needs_compiler
def test_steps_of_any_units_are_one_step(library: ctypes.CDLL) -> None:
    """Powers of two change no digit: 1e-200 kg m^2 turn as 1 kg m^2 do."""

    def stepped(size: int, speed: int) -> tuple[int, list[float]]:
        moments = floats(*(math.ldexp(i, size) for i in (1.0, 1.4, 2.1)))
        attitude, momentum = floats(*IDENTITY), floats(*(math.ldexp(m, speed) for m in (0.3, -0.2, 0.9)))
        status = library.polhode_step(moments, attitude, momentum, ctypes.c_double(math.ldexp(0.7, size - speed)))
        return status, [*attitude, *(math.ldexp(m, -speed) for m in momentum)]

    for size, speed in ((-700, 10), (700, 300), (0, -900), (-300, 500)):
        assert stepped(size, speed) == stepped(0, 0)
        assert stepped(size, speed)[0] == 0


@needs_compiler
def test_its_own_test(folder: Path, library: ctypes.CDLL) -> None:
    build(folder, "polhode_free.o", "test_polhode_free.c", "-lm", "-o", "tests")
    build(folder, "polhode_free.o", "tumbling_nut.c", "-lm", "-o", "nut")
    ran = subprocess.run([folder / "tests"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "30 of 30 states are equal to the bit" in ran.stdout
    shown = subprocess.run([folder / "nut"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert len(rows) == 11
    assert all(abs(float(row[1]) - float(row[2])) < 0.01 for row in rows)


@needs_compiler
def test_a_wrong_number_fails_its_test(folder: Path, tmp_path: Path) -> None:
    for name in c_library.FILES:
        shutil.copy(folder / name, tmp_path / name)
    text = (tmp_path / "polhode_free.c").read_text()
    changed = text.replace("0.008333333333333194", "0.008333333333343194")
    assert changed != text
    (tmp_path / "polhode_free.c").write_text(changed)
    build(tmp_path, "-O0", "polhode_free.c", "test_polhode_free.c", "-lm", "-o", "tests")
    ran = subprocess.run([tmp_path / "tests"], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "FAILED" in ran.stdout


def test_the_text_is_the_same_each_time(folder: Path) -> None:
    assert (folder / "polhode_free.c").read_text() == c_library.source()


def by_name(x: float) -> float:
    names = {"a": x}
    return names["a"]


def by_generator(x: float) -> float:
    return sum(x for _ in range(3))


@pytest.mark.parametrize("kernel", [by_name, by_generator])
def test_what_has_no_translation_says_so(kernel: Callable[[float], float]) -> None:
    with pytest.raises(NotImplementedError, match=rf"{kernel.__name__}: .* has no translation to C"):
        Translation().function(kernel, ("double",))


def test_command(call: Callable[..., tuple[int, str, str]], here: Path) -> None:
    code, out, _ = call("c-library", "library")
    assert code == 0
    assert sorted(p.name for p in (here / "library").iterdir()) == sorted(c_library.FILES)
    assert "cmake" in out
    code, _, err = call("c-library", "library")
    assert code == 2
    assert "--force" in err
    assert call("c-library", "library", "--force")[0] == 0
