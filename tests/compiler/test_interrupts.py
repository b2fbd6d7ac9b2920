"""Signals, forks and passing failures while something is compiled; and what is said meanwhile."""

import _thread
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polhode.compiler import CompilationFailed, announced_once, program, programs
from polhode.compiler import announce as announcing
from polhode.support import interrupts
from tests.compiler.fresh import Fresh


def tripled(x: Any, n: int) -> int:
    for i in range(n):
        x[i] = 3.0 * x[i] + 1.0
    return n


def fivefold(x: Any, n: int) -> int:
    for i in range(n):
        x[i] = 5.0 * x[i] + 1.0
    return n


def first(f: Any) -> float:
    x = np.ones(1)
    assert f(x, 1) == 1
    return float(x[0])


# --- what is said ----------------------------------------------------------------------------------------------------


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Returns the lines on standard error since it was last called."""
    monkeypatch.delenv("POLHODE_QUIET")
    return lambda: capsys.readouterr().err.splitlines()


def test_a_long_compilation_is_announced(
    empty_cache: Path, heard: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "PATIENCE_SECONDS", 0.0)
    program(tripled, "pi", what="this with that")
    (line,) = heard()
    assert line.startswith("polhode: compiling this with that, once; the program is kept for next time")
    assert "POLHODE_QUIET=1" in line
    program(tripled, "pi")  # in memory
    monkeypatch.setattr(programs, "_programs", {})
    program(tripled, "pi")  # on disk
    assert heard() == []
    said = list[str]()
    program(fivefold, "pi", lambda: said.append("so"))  # who is called says it
    assert said == ["so"]
    assert heard() == []


def test_a_short_compilation_is_not(
    empty_cache: Path, heard: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "PATIENCE_SECONDS", 600.0)
    assert first(program(tripled, "pi")) == 4.0
    assert heard() == []


def test_the_environment_makes_it_quiet(heard: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    for quiet, lines in (("0", 1), ("", 1), ("1", 0)):
        monkeypatch.setenv("POLHODE_QUIET", quiet)
        announcing.announce("this", kept=False)
        assert len(heard()) == lines
    monkeypatch.setattr(sys, "stderr", None)  # under pythonw
    monkeypatch.delenv("POLHODE_QUIET")
    announcing.announce("this", kept=False)


def test_a_call_says_it_once(heard: Callable[[], list[str]]) -> None:
    @announced_once
    def inner() -> None:
        announcing.announce("one", kept=True)
        announcing.announce("other", kept=True)

    @announced_once
    def outer() -> None:
        inner()
        inner()

    for _ in range(2):
        outer()
        assert len(heard()) == 1


# --- failures that pass ----------------------------------------------------------------------------------------------


def in_lowering() -> None:
    from numba.core.errors import LoweringError

    try:
        raise RecursionError("maximum recursion depth exceeded")
    except RecursionError as problem:
        raise LoweringError(str(problem)) from None  # as Numba wraps it


def in_words() -> None:
    from numba.core.errors import TypingError

    raise TypingError("No implementation of function f.\n- Resolution failure:\nRecursionError: maximum depth")


def raising(kind: type[BaseException]) -> Callable[[], None]:
    def fail() -> None:
        raise kind("now")

    return fail


def by_the_compiler() -> None:
    from numba.core.errors import TypingError

    raise TypingError("this cannot be compiled")


@pytest.mark.parametrize(
    ("fail", "seen"),
    [
        (raising(MemoryError), MemoryError),
        (raising(OSError), OSError),
        (raising(KeyboardInterrupt), KeyboardInterrupt),
        (raising(RecursionError), CompilationFailed),
        (in_lowering, CompilationFailed),
        (in_words, CompilationFailed),
    ],
)
def test_a_passing_failure_is_not_kept(
    fail: Callable[[], None], seen: type[BaseException], empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(programs, "translated", lambda *_, **__: fail())
        with pytest.raises(seen):
            program(tripled, "pi", tentative=True)
    assert not list(empty_cache.glob("*"))
    assert first(program(tripled, "pi", tentative=True)) == 4.0


def test_what_the_compiler_says_is_kept(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(programs, "translated", lambda *_, **__: by_the_compiler())
        with pytest.raises(CompilationFailed):
            program(tripled, "pi", tentative=True)
    monkeypatch.setattr(programs, "_programs", {})
    with pytest.raises(CompilationFailed, match="this cannot be compiled"):
        program(tripled, "pi", tentative=True)
    assert programs.compilations == 0


def test_what_is_neither_is_kept_in_memory(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(programs, "translated", lambda *_, **__: [][1])
        with pytest.raises(CompilationFailed):
            program(tripled, "pi", tentative=True)
    with pytest.raises(CompilationFailed):
        program(tripled, "pi", tentative=True)
    assert not list(empty_cache.glob("*"))


def test_a_deep_stack_does_not_matter(empty_cache: Path) -> None:
    def deep(n: int) -> float:
        return deep(n - 1) if n else first(program(tripled, "pi", tentative=True))

    frame: Any = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    assert deep(sys.getrecursionlimit() - depth - 150) == 4.0  # Numba needs about 200 to 300
    assert programs.compilations == 1


# --- signals ---------------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Stop, TimeoutError])
def test_an_interrupted_compilation_goes_on_by_itself(
    kind: type[BaseException], empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    compiled = programs._compile

    def slow(*given: Any) -> Any:
        begun.set()
        try:
            assert go_on.wait(600)
            return compiled(*given)
        finally:
            ended.set()

    def handler(number: int, frame: Any) -> None:
        raise kind

    monkeypatch.setattr(programs, "_compile", slow)
    usual = signal.signal(signal.SIGUSR1, handler)
    filters = warnings.filters[:]

    def send() -> None:
        begun.wait(600)
        os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(kind):
            program(tripled, "pi")
        assert not ended.is_set()  # nobody has waited for what takes long
        assert warnings.filters == filters
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, usual)
        go_on.set()
    assert first(program(tripled, "pi")) == 4.0
    assert programs.compilations == 1  # the one that was interrupted


def test_the_compilers_functions_are_freed_where_no_signal_is_heard(tmp_path: Path) -> None:
    """Numba hears of their end by callbacks, in which Python ignores a Ctrl-C."""
    found = Fresh(tmp_path, tmp_path / "bytecode").code("""
        import gc, threading, weakref
        import numpy as np
        import polhode as ph
        from numba.core.typing.context import BaseContext

        def weighed(t, q, w, p):
            arm = np.array([0.1, 0.2, 0.3])  # an array: Numba compiles it
            return -arm[0] * w[0], -arm[1] * w[1], -arm[2] * w[2]

        insert, watched, freed = BaseContext._insert_global, [], []

        def noted(context, value, kind):
            insert(context, value, kind)
            if hasattr(value, "py_func") and "weighed" in repr(value):
                watched.append(weakref.ref(value, lambda _: freed.append(threading.current_thread() is main)))

        main, BaseContext._insert_global = threading.main_thread(), noted
        run = {"omega": [0.1, 0.2, 0.3], "t_span": (0.0, 1.0), "method": "RK4", "step": 0.1}
        ph.simulate(ph.Body([1.0, 2.0, 2.5]), ph.torque(weighed), **run)
        gc.collect()
        report(watched=len(watched), freed=freed)
    """)
    assert found["watched"] > 0
    assert found["freed"] == [False] * found["watched"]


def test_threads_that_compile_leave_the_settings_alone(empty_cache: Path) -> None:
    """Whatever the order in which they begin and end."""
    import gc

    filters = warnings.filters[:]
    first, second = programs._undisturbed(), programs._undisturbed()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert warnings.filters == filters
    assert gc.isenabled()


# --- forks -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_the_compiler(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    compiled = programs._compile

    def slow(*given: Any) -> Any:
        begun.set()
        time.sleep(0.2)
        return compiled(*given)

    monkeypatch.setattr(programs, "_compile", slow)
    other = threading.Thread(target=program, args=(tripled, "pi"))
    other.start()
    assert begun.wait(600)
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = first(program(tripled, "pi")) == 4.0 and first(program(fivefold, "pi")) == 6.0
        finally:
            os._exit(0 if right else 1)
    other.join()
    end = time.monotonic() + 600
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
    if found == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert found == (child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_an_interrupt_before_a_fork_comes_after_it(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """However long what runs after the fork takes, as on a busy machine: there it would be ignored."""
    start = _thread.start_new_thread

    def slow(*given: Any) -> None:
        start(*given)
        time.sleep(seconds)

    monkeypatch.setattr(_thread, "start_new_thread", slow)
    held, wanted = threading.Event(), threading.Event()

    def hold() -> None:
        with programs._compiling:
            held.set()
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)
            wanted.wait(0.2)

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        end = time.monotonic() + 600.0
        while time.monotonic() < end:  # it comes between two instructions
            time.sleep(0.01)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(600)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with pytest.raises(KeyboardInterrupt):
                fork()
    finally:
        other.join()
        signal.signal(signal.SIGINT, usual)
    assert not interrupts._held


# --- whose cache it is -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no modes here")
def test_a_cache_of_others_is_not_used(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_distrusted", set())
    program(tripled, "pi")
    assert len(list(empty_cache.glob("*.code"))) == 1
    for mode in (0o777, 0o770, 0o707, 0o722):
        empty_cache.chmod(mode)
        programs._distrusted.clear()
        with pytest.warns(UserWarning, match=r"not kept: .*programs can be written to by other users .*chmod go-w"):
            assert programs.trusted_directory() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # once
            assert programs.trusted_directory() is None
    monkeypatch.setattr(programs, "_programs", {})
    assert first(program(tripled, "pi")) == 4.0  # goes on without
    assert programs.compilations == 2
    empty_cache.chmod(0o755)
    assert programs.trusted_directory() == empty_cache
    (kept,) = empty_cache.glob("*.code")
    assert programs._read(kept) is not None
    kept.chmod(0o666)
    assert programs._read(kept) is None
    kept.chmod(0o644)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    if me != 0:  # what belongs to root is trusted
        with pytest.warns(UserWarning, match="belongs to another user"):
            assert programs.trusted_directory() is None
        assert programs._read(kept) is None
