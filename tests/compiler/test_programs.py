"""Programs and their files within one process: damage, failure, and the parts of Numba that are leaned on."""

import ast
import math
import os
import platform
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest
from platformdirs.macos import MacOS

from polhode.compiler import CompilationFailed, KernelRaised, program, programs
from polhode.kernels.codegen import function
from polhode.kernels.ops import beginning_at, fma, triple, view


def doubled(x: Any, n: int) -> int:
    for i in range(n):
        x[i] = 2.0 * x[i] + 1.0
    return n


def is_right(f: Callable[..., int]) -> bool:
    x = np.arange(4.0)
    return f(x, 4) == 4 and x.tolist() == [1.0, 3.0, 5.0, 7.0]


def kept(directory: Path) -> Path:
    (path,) = directory.glob("*.code")
    return path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_programs", {})


# --- files -----------------------------------------------------------------------------------------------------------


def test_damaged_files_are_not_read(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_right(program(doubled, "pi"))
    path = kept(empty_cache)
    whole = path.read_bytes()
    assert programs._read(path) is not None
    for length in [*range(40), len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert programs._read(path) is None, length
    for position in [0, 31, 32, 33, whole.index(b"\n", 32), len(whole) // 2, len(whole) - 1]:
        for bit in (1, 128):
            flipped = bytearray(whole)
            flipped[position] ^= bit
            path.write_bytes(flipped)
            assert programs._read(path) is None, position
    path.write_bytes(whole + b"more")
    assert programs._read(path) is None
    other = path.with_name("0" * 40 + ".code")  # whole, but not what its name says
    other.write_bytes(whole)
    assert programs._read(other) is None

    path.write_bytes(whole[:-7])
    forget(monkeypatch)
    assert is_right(program(doubled, "pi"))
    assert programs.compilations == 2
    assert programs._read(path) is not None  # mended
    forget(monkeypatch)
    assert is_right(program(doubled, "pi"))
    assert programs.compilations == 2


def test_only_the_latest_are_kept(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache.mkdir()
    for k in range(5):
        (empty_cache / f"{k}.code").write_bytes(b"")
        os.utime(empty_cache / f"{k}.code", (1e9 + k, 1e9 + k))
    (empty_cache / ".new-left").write_bytes(b"")
    os.utime(empty_cache / ".new-left", (1e9, 1e9))
    (empty_cache / ".new-now").write_bytes(b"")  # somebody is writing
    monkeypatch.setattr(programs, "KEPT_PROGRAMS", 3)
    programs._forget_oldest(empty_cache)
    assert sorted(f.name for f in empty_cache.iterdir()) == [".new-now", "2.code", "3.code", "4.code"]


@pytest.fixture
def usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a user whose home is /h, and who has chosen no other place."""
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("POLHODE_CACHE_DIR", raising=False)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_where_programs_are_kept(usual_place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs.cache_directory() == Path("/h/.cache/polhode")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert programs.cache_directory() == Path("/x/polhode")
    monkeypatch.setenv("POLHODE_CACHE_DIR", "/p")
    assert programs.cache_directory() == Path("/p")


def test_programs_are_not_kept_in_the_working_directory(usual_place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns that directory could plant code in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert programs.cache_directory() == Path("/h/.cache/polhode")
    for home in ("", "home"):
        monkeypatch.setenv("HOME", home)
        place = programs.cache_directory()
        assert place is None or place.is_absolute()


def test_macs_have_a_place_of_their_own(usual_place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "PlatformDirs", MacOS)
    assert programs.cache_directory() == Path("/h/Library/Caches/polhode")


# --- calls -----------------------------------------------------------------------------------------------------------


def test_arrays_of_another_kind_are_refused() -> None:
    f = program(doubled, "pi")
    wrong: list[Any] = [np.arange(4), np.arange(4, dtype=np.float32), np.arange(8.0)[::2]]
    for x in wrong:
        with pytest.raises(TypeError, match="contiguous float64 arrays"):
            f(x, 4)
    with pytest.raises(ValueError, match="zip"):
        f(np.arange(4.0))


def test_an_exception_leaves_the_next_call_alone() -> None:
    def picky(x: Any, n: int) -> int:
        if x[0] > 1.0:
            raise ValueError("too large")
        x[0] += 1.0
        return 7

    f, x = program(picky, "pi"), np.array([1.5])
    for _ in range(3):
        with pytest.raises(KernelRaised):
            f(x, 1)
        assert x[0] == 1.5
    x[0] = 0.5
    assert f(x, 1) == 7
    assert x[0] == 1.5


def test_fused_means_rounded_once() -> None:
    def fused(x: Any, n: int) -> int:
        x[0] = fma(x[0], x[1], x[2])
        return 0

    a = 1.0 + 2.0**-30
    x = np.array([a, a, -1.0 - 2.0**-29])
    program(fused, "pi")(x, 1)
    assert x[0] == 2.0**-60  # the product alone would have lost it


# --- volatile programs -----------------------------------------------------------------------------------------------


def test_what_has_no_name_is_compiled_once_a_process(empty_cache: Path) -> None:
    shape = np.dtype("f8")  # Numba understands it, but its name would be a guess

    def make() -> Any:
        def sized(x: Any, n: int) -> int:
            x[0] = np.zeros(n, shape).sum() + n
            return 0

        return sized

    with pytest.warns(UserWarning, match=r"for this process only: .*sized reads shape, a numpy.dtype"):
        first = program(make(), "pi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program(make(), "pi") is first
    assert programs.compilations == 1
    assert not empty_cache.exists()
    held = [value for values in programs._unnamed.values() for value in values]
    assert any(value is shape for value in held)  # its identity cannot pass to another value


# --- what cannot be compiled -----------------------------------------------------------------------------------------


class Table:
    def at(self, t: float) -> float:
        return t


TABLE = Table()
SETTINGS = {"g": 9.81}


def strings(t: Any) -> Any:
    label = "a" + t  # here
    return (t, label, 0.0)


def scipy_call(t: Any) -> Any:
    import scipy.special

    return (scipy.special.erf(t), 0.0, 0.0)


def undefined(t: Any) -> Any:
    return (t * gravity, 0.0, 0.0)  # type: ignore[name-defined]  # noqa: F821  here


def wrong_length(t: Any) -> Any:  # here
    return (t, 0.0)


def nothing(t: Any) -> Any:  # here
    t + 1.0


def sometimes_nothing(t: Any) -> Any:  # here
    return (t, 0.0, 0.0) if t < 1.0 else None


def truth(t: Any) -> Any:  # here
    return (0.0, t > 1.0, 0.0)


def truths(t: Any) -> Any:  # here
    return np.array([t, t, t]) > 1.0


def a_tuple(t: Any) -> Any:  # here
    return ((t, t), 0.0, 0.0)


def matrix(t: Any) -> Any:  # here
    return np.zeros((3, 1))


def unstable(t: Any) -> Any:
    x: Any = 0.0
    if t > 1.0:
        x = (1.0, 2.0)
    return (x, 0.0, 0.0)  # here


def mixed(t: Any) -> Any:
    many = [1.0, "a"]
    many.append(2.0)  # here
    return (t, 0.0, 0.0)


def method_call(t: Any) -> Any:
    return (TABLE.at(t), 0.0, 0.0)  # here


def dictionary(t: Any) -> Any:
    return (SETTINGS["g"], 0.0, 0.0)  # here


def helper(x: Any) -> Any:
    y = x + 1
    return y.nothing  # here


def in_a_helper(t: Any) -> Any:
    return (helper(t), 0.0, 0.0)


def keyword(x: float, *, scale: float = 2.0) -> float:
    return x * scale


def keyword_only(t: Any) -> Any:
    return (keyword(t, scale=3.0), 0.0, 0.0)  # here


def unsupported(t: Any) -> Any:
    return np.einsum("i,i", np.zeros(3), np.zeros(3))  # here


def too_far(t: Any) -> Any:
    return (t, (1.0, 2.0)[3], 0.0)  # type: ignore[misc]  # here


def file_access(t: Any) -> Any:  # here
    with open("x") as file:
        return (float(file.read()), 0.0, 0.0)


def printing(t: Any) -> Any:
    print(t)  # here
    return (t, 0.0, 0.0)


def complex_numbers(t: Any) -> Any:  # here
    return (1j * t, 0.0, 0.0)


CHANGING = [1.0, 2.0]
evaluations = 0


def changing(t: Any) -> Any:
    return (t, CHANGING[0], 0.0)  # here


def generator(t: Any) -> Any:
    return (t, sum(x * t for x in (1.0, 2.0)), 0.0)  # here


def starred(t: Any) -> Any:
    a, *rest = (t, 1.0, 2.0)  # here
    return (a, rest[0], 0.0)


def counting(t: Any) -> Any:
    global evaluations
    evaluations += 1  # here
    return (t, 0.0, 0.0)


def of_integers(t: Any) -> Any:
    return np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) @ np.array([t, 0.0, 0.0])  # here


def too_many(t: Any) -> Any:
    return (math.log(t, 10.0), 0.0, 0.0)  # here


@pytest.mark.parametrize(
    ("torque", "reason"),
    [
        (too_many, r"the compiled form takes \(x\), and is called with \(float64, float64\)"),
        (strings, r"there is no compiled form of add\(str, float64\)"),
        (scipy_call, r"unsupported opcode \(IMPORT_NAME\)"),
        (undefined, r"name 'gravity' is not defined"),
        (wrong_length, r"a torque returns three numbers, not a tuple of 2"),
        (nothing, r"a torque returns three numbers, as a tuple, list or array, not None: does it end without return"),
        (sometimes_nothing, r"a torque returns three numbers in every branch, never None"),
        (truth, r"a torque returns numbers, but item 1 is a bool: write 1.0 if ... else 0.0"),
        (truths, r"a torque returns numbers, but every item is a bool"),
        (a_tuple, r"a torque returns numbers, but item 0 is a tuple"),
        (matrix, r"a torque returns three numbers in a row, not an array of 2 dimensions"),
        (unstable, r"Cannot unify float64 and UniTuple\(float64 x 2\)"),
        (mixed, r"append"),
        (method_call, r"TABLE, of type Table, has no compiled form: take numbers, tuples"),
        (dictionary, r"SETTINGS, of type dict, has no compiled form: take numbers, tuples"),
        (changing, r"CHANGING is a list, which may change: take numbers, tuples"),
        (generator, r"generators have no compiled form: write \[... for ...\]"),
        (starred, r"a, \*b = c has no compiled form: write a, b = c\[0\], c\[1:\]"),
        (counting, r"global variables cannot be written to"),
        (of_integers, r"@ takes arrays of one type: write floats"),
        (in_a_helper, r"Unknown attribute 'nothing' of type float64"),
        (keyword_only, r"arguments by keyword only have no compiled form: write the definition without"),
        (unsupported, r"unsupported NumPy function 'numpy.einsum'"),
        (too_far, r"tuple index out of range"),
        (file_access, r"context manager"),
        (printing, r"print and objmode call the interpreter"),
        (complex_numbers, r"a torque returns real numbers, but item 0 is complex: write .real"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
@pytest.mark.filterwarnings("ignore:compiled for this process only")
def test_the_message_shows_the_line(torque: Any, reason: str) -> None:
    lines = ["x[0], x[1], x[2] = triple(torque(x[0]))", "return 0"]
    kernel = function("kernel(x, n)", lines, {"torque": torque, "triple": triple})
    with pytest.raises(CompilationFailed) as caught:
        program(kernel, "pi")
    message = str(caught.value)
    assert re.search(reason, message)
    first, *rest = message.splitlines()
    place = re.fullmatch(r'File "(.+)", line (\d+)', first)
    assert place
    assert Path(place[1]).samefile(__file__)
    line = Path(__file__).read_text().splitlines()[int(place[2]) - 1].strip()
    assert rest[0] == f"    {line}"
    assert torque is scipy_call or "here" in line
    assert len(rest) == 2
    assert len(rest[1]) < 200


def test_code_without_source_has_a_line_at_least() -> None:
    scope: dict[str, Any] = {}
    exec("def kernel(x, n):\n    y = x[0]\n    x[0] = y.nothing\n    return 0", scope)
    with pytest.raises(CompilationFailed) as caught:
        program(scope["kernel"], "pi")
    assert str(caught.value) == "File \"<string>\", line 3\nUnknown attribute 'nothing' of type float64"


def test_recursion_is_refused_with_advice() -> None:
    def factorial(n: int) -> float:
        return 1.0 if n < 2 else n * factorial(n - 1)

    def kernel(x: Any, n: int) -> int:
        x[0] = factorial(n)
        return 0

    with pytest.raises(CompilationFailed, match="factorial: recursion; write it as a loop"):
        program(kernel, "pi")


# --- what is leaned on -----------------------------------------------------------------------------------------------


def test_no_private_name_of_numba_or_llvmlite_is_used() -> None:
    """A version that was not tried may rename those, and promises to keep the others."""
    own = {"_make", "_fields", "_field_defaults", "_initializing"}  # Python's
    texts = {path.name: path.read_text() for path in Path(programs.__file__).parent.glob("*.py")}
    for name, text in texts.items():
        if not re.search(r"\b(import|from) (numba|llvmlite)\b", text):
            continue
        for node in ast.walk(ast.parse(text)):
            names = []
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") not in ("self", "cls"):
                names = [node.attr]
            elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(("numba", "llvmlite")):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]  # type: ignore[union-attr]
            private = [n for n in names if n.startswith("_") and not n.startswith("__") and n not in own]
            assert not private, (name, getattr(node, "lineno", 0), private)


def test_a_change_of_what_makes_code_gives_files_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torques name `math.sin` only: that another kernel stands for it now is not in their digest."""
    read, by_itself = set[Path](), Path.read_bytes

    def noted(path: Path) -> bytes:
        read.add(path)
        return by_itself(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    programs._described()
    here = Path(programs.__file__).parent
    emits = [p for p in here.glob("*.py") if re.search(r"(?m)^(import|from) (numba|llvmlite)\b", p.read_text())]
    core = here.parent / "kernels"
    assert read >= {*emits, core / "algebra" / "dd.py", *(core / "elementary").glob("*.py")}


def test_numbers_go_in_and_come_out_and_an_exception_is_one(empty_cache: Path) -> None:
    def everything(x: Any, k: Any, a: float, i: int) -> int:
        if a < 0.0:
            raise ValueError("negative")
        x[0] = a + math.erf(x[1])
        k[0] = i + k[1]
        return 2**40 + i

    x, k = np.array([0.0, 0.5]), np.array([0, 5])
    f = program(everything, "pndi")
    assert f(x, k, 2.5, 3) == 2**40 + 3  # the result is 64 bits wide
    assert x[0] == 2.5 + math.erf(0.5)
    assert k[0] == 8
    for given in ((f, (x, k, -1.0, 3)), (programs.on_arrays(f, x, k), (-1.0, 3))):
        with pytest.raises(KernelRaised, match=r"^ValueError: negative$"):
            given[0](*given[1])
    with pytest.raises(KernelRaised, match=r"^an exception$"):  # where arrays begin is not what is in them
        programs.at_addresses(f)(programs.address_of(x), programs.address_of(k), -1.0, 3)
    code, _, _ = programs._compile(everything, "pndi", None)
    assert code.externals == ("erf",)  # nothing of Numba's or Python's: a warm start has neither


@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks for an instruction of this processor")
def test_the_stack_begins_on_a_cache_line() -> None:
    """Wherever the caller leaves it: spilled vectors that lie across two lines take a third more time."""

    def first_of_view(x: Any, n: int) -> int:
        return int(view(x, n)[0])

    def first_from_beginning(x: Any, n: int) -> int:
        return int(beginning_at(x, n)[0])

    for f in (first_of_view, first_from_beginning):
        code, _, _ = programs._compile(f, "pi", None)
        assert b"\x48\x83\xe4\xc0" in code.object  # and rsp, -64
