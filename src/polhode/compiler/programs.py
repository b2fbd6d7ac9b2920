"""Compiled programs as object files: LLVM makes them once, and they are loaded ever after.

A program is a function over raw pointers and numbers that returns an integer. Its machine code is kept in one file,
named by all that decides it: the digest of the function, the versions of the tools, the processor. A file is written
whole or not at all, never changed, and carries a checksum; a bad or missing one costs a compilation, nothing else.
Compilers work in a thread of their own, where no signal can leave them half done, and no fork happens meanwhile.
"""

import ctypes
import gc
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from polhode.compiler import callbacks
from polhode.compiler.announce import PATIENCE_SECONDS, announce
from polhode.compiler.digest import Recursion, digest, divided, plain
from polhode.compiler.errors import INTERPRETED, Complaint, explained, message_of
from polhode.compiler.recently_used import Recent
from polhode.compiler.separate import NOT_APART, form_named, in_form
from polhode.compiler.stack_room import with_room
from polhode.compiler.translate import FromNumba, ProgramText, Unsupported, translated
from polhode.kernels.status import EXCEPTION
from polhode.support.interrupts import hold_over_forks, imported, is_from_handler, undivided, uninterrupted

MOST_PROGRAMS = 128
"""Programs that stay loaded although they may not be in use: about 0.1 MB each."""
KEPT_PROGRAMS = 1000
"""Beyond this number, the files that were used least recently are removed."""

_C_TYPES: dict[str, Any] = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "d": ctypes.c_double, "i": ctypes.c_int64}
_ITEMS = {"p": np.dtype(np.float64), "n": np.dtype(np.int64)}

T = TypeVar("T")
Program = Callable[..., int]
OnCompile = Callable[[], None] | None


class CompilationFailed(TypeError):
    """The function could not be compiled; the message shows the line."""


class KernelRaised(ArithmeticError):
    """Compiled code raised an exception; the arrays it was given are as they were.

    The message says which one. It is found when it is asked for, by the same call in plain Python.
    """

    call: tuple[Any, tuple[Any, ...]] | None = None
    """The plain function, and its arguments."""

    def __str__(self) -> str:
        if self.call is not None:
            f, args = self.call
            own = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
            try:
                with np.errstate(all="ignore"):
                    f(*own)
            except NotImplementedError:  # of lanes, which plain Python has not
                pass
            except Exception as problem:
                if is_from_handler(problem):
                    raise
                text = ", ".join(map(str, problem.args))
                return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
        return "an exception"


class _Code(NamedTuple):
    """Machine code with the name of its entry and the outside symbols it calls.

    If there is no code, the name is empty, and `externals` holds the complaint.
    """

    symbol: str
    externals: tuple[str, ...]
    object: bytes
    variables: tuple[str, ...] = ()
    """The variables for the addresses of functions that are compiled apart (`separate.py`)."""
    refers_to: Any = None
    """What the code has addresses of; the code of a file has none."""

    @classmethod
    def refused(cls, complaint: Complaint) -> Self:
        """The record of a function that could not be compiled."""
        return cls("", (complaint.function, str(complaint.instruction), complaint.reason), b"")

    @property
    def complaint(self) -> Complaint | None:
        """Why there is no code; None if there is."""
        if self.symbol:
            return None
        function, instruction, reason = self.externals
        return Complaint(function, int(instruction), reason)


def compiles() -> bool:
    """Whether programs are compiled at all: with NUMBA_DISABLE_JIT=1 the same functions run in plain Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def cache_directory() -> Path | None:
    """The folder of the programs: POLHODE_CACHE_DIR, else the place that this system has for caches.

    None for a user without a home: in a shared place, such as /tmp, others could plant code.
    """
    if chosen := os.environ.get("POLHODE_CACHE_DIR"):
        return Path(chosen)
    platformdirs = imported("platformdirs")  # it costs milliseconds, and only here is it needed
    try:
        place: Path = platformdirs.user_cache_path("polhode", appauthor=False)
        return place
    except RuntimeError:
        return None


_distrusted: set[Path] = set()
"""The folders that the user was warned of."""


def trusted_directory() -> Path | None:
    """The folder of the programs; None, with a warning, if others could put code there that would be run."""
    directory = cache_directory()
    if directory is None:
        return None
    try:
        found = directory.stat()
    except OSError as problem:
        if is_from_handler(problem):
            raise
        return directory  # it will be made, or nothing will be kept
    if fault := _distrust(found):
        if directory not in _distrusted:
            _distrusted.add(directory)
            remedy = "chmod go-w, or set POLHODE_CACHE_DIR to a folder of your own"
            warnings.warn(f"compiled programs are not kept: {directory} {fault} ({remedy})", UserWarning, stacklevel=3)
        return None
    return directory


def _distrust(found: os.stat_result) -> str:
    """Why a file or folder may hold what others have put there; empty if only this user and root can."""
    if not hasattr(os, "getuid"):  # on Windows a user's folders are the user's
        return ""
    if found.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (number {found.st_uid})"
    return "can be written to by other users" if found.st_mode & 0o022 else ""


_unnamed: dict[tuple[str, str], tuple[Any, ...]] = {}
"""The values named by their identity, for each program: no other value may have it while the program has its name."""
_programs: Recent[tuple[str, str], Program | Complaint] = Recent(MOST_PROGRAMS, lambda key: _unnamed.pop(key, None))
"""The programs that were used last. Any other is freed when no one holds it any more."""
_loops: Recent[tuple[str, str], _Code] = Recent(MOST_PROGRAMS)
"""The code of programs whose torques are compiled apart: each torque has a copy of it."""
_compiling = threading.RLock()
"""Held while a compiler is at work, and over a fork, so that no child inherits a compiler in the middle of its work."""
_lock = threading.RLock()
"""Held for moments only, while functions are named and programs loaded; the one above is never waited for meanwhile."""
compilations = 0
"""How many programs this process had to compile."""


def program(
    f: Any, signature: str, on_compile: OnCompile = None, *, tentative: bool = False, what: str = "a program"
) -> Program:
    """Returns f as machine code. In the signature p and n are arrays of floats and of integers, d and i numbers.

    `on_compile` is called before a compilation, which takes seconds; without it, a line on standard error says `what`
    is compiled, if that takes longer than a moment. A tentative program is one that may fail to compile and has an
    alternative: what the compiler says against it is kept in the file, so that no process tries again.
    """
    if not compiles():
        return plain(f)  # type: ignore[no-any-return]
    found = _found(plain(f), signature, lambda make: _compiled(make, on_compile, what, tentative))
    assert found is not None
    if isinstance(found, Complaint):
        raise CompilationFailed(message_of(found, plain(f)))
    return found


def kept_program(f: Any, signature: str) -> Program | None:
    """Returns f as machine code if that is there already, in this process or in a file; it is not compiled."""
    found = _found(plain(f), signature, None) if compiles() else None
    return None if isinstance(found, Complaint) else found


def _found(f: Any, signature: str, compiled: Callable[[Callable[..., Any]], Any] | None) -> Program | Complaint | None:
    """Returns f as machine code, or why there is none; None: it is not there, and there is no `compiled` to make it.

    It is looked for in this process, then in its files: that of the loop, with those of the torques that it calls by
    address, or one of the whole.
    """
    with _lock:
        try:
            asked = _ProgramRequest.of(f, signature)
        except Recursion as why:
            raise CompilationFailed(str(why)) from None
        found: Program | Complaint | None = _programs.get(asked.key)
    if found is None and asked.apart:
        code = asked.kept_loop() or (compiled and compiled(partial(_make_loop, asked)))
        if code is None:
            return None
        if code.complaint is None:
            made = []
            for g, kind in asked.forms(code):
                made.append(_found(g, kind, compiled))
                if isinstance(made[-1], Complaint) and compiled is not None:
                    raise CompilationFailed(message_of(made[-1], g))
                if made[-1] is None or isinstance(made[-1], Complaint):
                    return None
            found = asked.remember(_load(code, f, signature, made))
        elif NOT_APART not in code.complaint.reason:
            return code.complaint
    if found is None:
        found = asked.kept_whole()
    if found is None and compiled is not None:
        found, volatile = compiled(partial(_make, asked))
        if volatile and not isinstance(found, Complaint):
            warnings.warn(f"compiled for this process only: {volatile}", UserWarning, stacklevel=3)
    return found


_looked_for: dict[tuple[Any, str], Program | None] = {}
"""The programs that `repaid_program` has found, and None for those that are not kept: to look takes milliseconds."""


def repaid_program(f: Any, signature: str, *, is_large: bool, what: str) -> Program | None:
    """Returns f as machine code if that is there already, or if the call is large enough to repay its compilation.

    None: f is to be run in plain Python, with the same bits. Which it is depends on the call and on the cache, not on
    earlier calls. Nowhere else does a size decide whether something is compiled: docs/decisions/0009 says why here.
    """
    key = (f, signature)
    if not compiles():
        return None
    if key not in _looked_for or (is_large and _looked_for[key] is None):
        _looked_for[key] = program(f, signature, what=what) if is_large else kept_program(f, signature)
    return _looked_for[key]


class _ProgramRequest(NamedTuple):
    """A program that is asked for."""

    f: Any
    signature: str
    name: str
    volatile: str | None
    unnamed: Any
    loop: str
    """Its name without the functions that are compiled apart from it."""
    apart: tuple[Any, ...]
    """These functions."""

    @classmethod
    def of(cls, f: Any, signature: str) -> Self:
        """Names a function and what it calls."""
        found = digest(f)
        loop, apart = ("", ()) if hasattr(f, "__leaf__") or (found.name, signature) in _programs else divided(f)
        return cls(f, signature, *found, loop, apart)

    @property
    def key(self) -> tuple[str, str]:
        """The program with all that it calls."""
        return self.name, self.signature

    @property
    def loop_key(self) -> tuple[str, str]:
        """The program without what is compiled apart."""
        return f"apart {self.loop}", self.signature

    def remember(self, made: Program | Complaint) -> Program | Complaint:
        """Keeps the program in this process."""
        with _lock:
            _unnamed[self.key] = self.unnamed
            _programs[self.key] = made
        return made

    def forms(self, code: _Code) -> list[tuple[Any, str]]:
        """The functions that are compiled apart, as the program calls them, with their signatures."""
        forms = [form for name in code.variables if (form := form_named(name)) is not None]
        return [(in_form(self.apart[form.place], form), form.signature) for form in forms]

    def kept_loop(self) -> _Code | None:
        """The code without what is compiled apart, if it is there already."""
        code: _Code | None = _loops.get(self.loop_key)
        if code is None and (path := _path_of(self.loop_key)) is not None:
            code = _read(path)
            code = code if code and (not code.symbol or _resolved(code)) else None
            if code is not None:
                _loops[self.loop_key] = code
        return code

    def kept_whole(self) -> Program | Complaint | None:
        """The program in its file, or why there is none; None if there is no file or it cannot be used."""
        path = None if self.volatile else _path_of(self.key)
        code = _read(path) if path else None
        if code is None or (code.symbol and not _resolved(code)):
            return None
        return self.remember(code.complaint or _load(code, self.f, self.signature))


def _compiled(make: Callable[..., T], on_compile: OnCompile, what: str, tentative: bool) -> T:
    """What is made by the compiler, after a word to the user; `make` takes whether that is tentative."""
    on_wait = None
    if on_compile:
        on_compile()
    else:
        on_wait = partial(announce, what, kept=trusted_directory() is not None)
    with _undisturbed():
        return uninterrupted(lambda: _cleared(make, tentative), PATIENCE_SECONDS, on_wait)


def _cleared(make: Callable[..., T], tentative: bool) -> T:
    """Makes a program, and frees in this thread what the compiler has left.

    Numba is told when its functions are freed, by callbacks in which Python ignores exceptions: in the main thread a
    Ctrl-C that came then would be lost.
    """
    try:
        return make(tentative)
    finally:
        gc.collect(0)  # nothing is older that was made since the search for garbage rests


def _path_of(key: tuple[str, str]) -> Path | None:
    """The file of a program; None if there is no place where programs are kept."""
    directory = trusted_directory()
    file = hashlib.sha256(repr((*key, _here())).encode()).hexdigest()[:40]
    return directory and directory / f"{file}.code"


def _make(asked: _ProgramRequest, tentative: bool) -> tuple[Program | Complaint, str | None]:
    """Has a program compiled, and keeps what comes of it; returns it, and why it is good for this process only."""
    with _compiling:
        with _lock:
            if asked.key in _programs:  # another thread was first
                return _programs[asked.key], None
        code, volatile, keep = _compile(asked.f, asked.signature, asked.volatile)
        if code.complaint and (not tentative or keep == "nowhere"):
            return code.complaint, None
        if not volatile and keep == "on disk":
            _write(_path_of(asked.key), code)
        return asked.remember(code.complaint or _load(code, asked.f, asked.signature)), volatile


def _make_loop(asked: _ProgramRequest, tentative: bool) -> _Code:
    """Has a program compiled without what is compiled apart, and keeps what comes of it."""
    with _compiling:
        found: _Code | None = _loops.get(asked.loop_key)
        if found is not None:
            return found
        code, volatile, keep = _compile(asked.f, asked.signature, None, divided=True)
        if code.complaint and (keep == "nowhere" or not (tentative or NOT_APART in code.complaint.reason)):
            return code
        if not volatile and keep == "on disk":
            _write(_path_of(asked.loop_key), code)
        _loops[asked.loop_key] = code
    return code


def _lock_of_numba() -> list[Any]:
    """The lock of Numba's compiler, once it is there: others may compile with it."""
    lock = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    return [] if lock is None else [lock]


class _Llvm:
    """Which threads are inside LLVM. A fork waits until none is: llvmlite has a lock that a child would inherit."""

    def __init__(self) -> None:
        self._threads: list[int] = []

    @cached_property
    def binding(self) -> Any:
        """llvmlite, which from now on says who is in it."""
        import llvmlite.binding as llvm

        llvm.ffi.register_lock_callback(self._enter, self._leave)
        return llvm

    def _enter(self) -> None:
        self._threads.append(threading.get_ident())

    def _leave(self) -> None:
        if self._threads:  # a thread may have entered before this was registered
            self._threads.pop()

    def acquire(self) -> None:
        """Waits for the other threads. With the compilers' locks held, they only free what was compiled before."""
        while any(thread != threading.get_ident() for thread in self._threads):
            time.sleep(0.0005)

    def release(self) -> None:
        """Lets the next thread in, which nothing keeps out."""


_llvm = _Llvm()

hold_over_forks(lambda: [_compiling, _lock])
hold_over_forks(_lock_of_numba)
hold_over_forks(lambda: [_llvm])

# --- the compiler ----------------------------------------------------------------------------------------------------


@cache
def _here() -> str:
    """Describes everything that decides the machine code of a program, except the program."""
    return undivided(_described)


def _described() -> str:
    llvm = _llvm.binding

    makers = [
        "separate.py", "digest.py", "numba_door.py", "programs.py", "source.py", "translate.py",
    ]  # fmt: skip
    here, core = Path(__file__).parent, Path(__file__).parents[1] / "kernels"
    files = [
        *(here / n for n in makers),
        core / "status.py",
        core / "algebra" / "dd.py",
        *sorted((core / "elementary").glob("*.py")),
    ]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    versions = [version(n) for n in ("numba", "llvmlite", "numpy")]
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    cpu = (platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((sys.version, versions, cpu, settings, contents))


@cache
def floats_in_register() -> int:
    """How many floats the vector registers of this processor hold, as compiled programs use them."""
    return undivided(lambda: 8 if _llvm.binding.get_host_cpu_features().get("avx512f") else 4)


Keep = Literal["on disk", "in memory", "nowhere"]
"""How long the outcome of a compilation holds."""
PASSING = (MemoryError, OSError, RecursionError)
"""Exceptions that say nothing of the program: the next attempt to compile it may succeed."""


@with_room
def _compile(f: Any, signature: str, volatile: str | None, divided: bool = False) -> tuple[_Code, str | None, Keep]:
    """Returns object code for f or a complaint, why it is good for this process only, and where to keep it."""
    global compilations
    try:
        found = translated(f, signature, divided=divided)
    except Unsupported as problem:
        keep: Keep = "nowhere" if problem.lacks_source else "on disk"
        return _Code.refused(explained(problem, f, divided=divided)), volatile, keep
    except (MemoryError, OSError):
        raise
    except Exception as raised:  # Numba's passes raise other exceptions than its own
        told = raised.args[0] if isinstance(raised, FromNumba) else raised
        said_by_numba = type(told).__module__.startswith("numba.")
        keep = "nowhere" if _has_passed(told) else "on disk" if said_by_numba else "in memory"
        return _Code.refused(explained(told, f, divided=divided)), volatile, keep
    compilations += 1
    addresses = [door.code for door in found.doors if _ADDRESS.search(door.text)]
    if addresses:
        volatile = volatile or "it reads an array of more than a megabyte, which is not kept in a file"
    code, externals, variables = _assembled(found)
    if _INTERPRETER in externals:
        why = f"{INTERPRETED} call the interpreter, which compiled code cannot; NUMBA_DISABLE_JIT=1 runs it in Python"
        return _Code.refused(explained(CompilationFailed(why), f)), volatile, "on disk"
    return _Code(found.symbol, externals, code, variables, addresses or None), volatile, "on disk"


_ADDRESS = re.compile(r"\binttoptr \(i64 \d")
"""An address of this process in LLVM's text."""
_INTERPRETER = "numba_gil_release"
"""The function of Numba's that code calls after it has called the interpreter."""
_FREES = "NRT_MemInfo_call_dtor"
"""Numba's function that frees an array that a program has made."""


def _assembled(found: ProgramText) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """A program as machine code for this processor, the outside symbols and the addresses that it calls.

    Numba keeps a function out of its C form. One that is called at every step is to be in one with it.
    Numba's views of arrays may have to be freed, for all that the code knows. In a program that makes none they never
    are: it has a function of its own for it, that does nothing, or a warm start would have to import Numba.
    """
    llvm = _llvm.binding

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True,
        reloc="static" if target.name.startswith("x86") else "default", codemodel="jitdefault",
    )  # fmt: skip
    context = _without_types_of_pointers()
    module = llvm.parse_assembly(found.text, context)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    for door in found.doors:
        module.link_in(llvm.parse_assembly(re.sub(r"\bnoinline\b", "nounwind", door.text), context))
    module.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)

    def outside() -> tuple[bytes, tuple[str, ...]]:
        code = machine.emit_object(module)
        declared = [g.name for g in module.functions if g.is_declaration]
        return code, tuple(sorted(n for n in declared if n.encode() in code))  # most declarations are never used

    code, externals = outside()
    if [name for name in externals if name.startswith("NRT_")] == [_FREES]:
        module.link_in(llvm.parse_assembly(f"define void @{_FREES}(ptr %0) {{ ret void }}", context))
        code, externals = outside()
    names = [v.name for v in module.global_variables if form_named(v.name) and v.name.encode() in code]
    return code, externals, tuple(sorted(names))


def _without_types_of_pointers() -> Any:
    """Where LLVM reads text with `ptr`: until llvmlite 0.45, in a context that was asked for it."""
    llvm = _llvm.binding
    if getattr(sys.modules["llvmlite"], "opaque_pointers_enabled", True):
        return None
    return llvm.context.ContextRef(llvm.ffi.lib.LLVMPY_ContextCreate(True))


def _has_passed(problem: BaseException) -> bool:
    """Whether a failure, or one that Numba has wrapped in it or put into words, says nothing of the program."""
    chain: BaseException | None = problem
    while chain is not None:
        if isinstance(chain, PASSING) or not isinstance(chain, Exception):
            return True
        chain = chain.__cause__ or chain.__context__
    return any(f"{kind.__name__}:" in str(problem) for kind in PASSING)


_waiting = 0
_usual: "tuple[warnings.catch_warnings[None], bool] | None" = None
"""The settings of the process before it began to wait for compilations: those of warnings and of garbage."""


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Silences Numba's advice on style, which is not for our users, and lets the search for garbage rest.

    Numba allocates so much that Python looks for garbage again and again: that is an eighth of a compilation. Both are
    settings of the whole process: they are changed by the first thread that waits, and changed back by the last.
    """
    global _waiting, _usual
    with _lock:
        _waiting += 1
        if _usual is None:
            _usual = warnings.catch_warnings(), gc.isenabled()
            _usual[0].__enter__()
            warnings.simplefilter("ignore")
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1
            if _waiting == 0:
                _as_usual()


def _as_usual() -> None:
    global _waiting, _usual
    _waiting = 0
    if _usual is not None:
        filters, collects = _usual
        _usual = None
        filters.__exit__(None, None, None)
        if collects:
            gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_as_usual)  # the threads that wait are not there


def c_library() -> ctypes.CDLL:
    """Returns the C library of this process: Windows finds nothing in a process, only in libraries."""
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _resolved(code: _Code) -> bool:
    """Whether every outside symbol can be found: an unknown one would end the process when the code is loaded."""
    llvm, process = _llvm.binding, c_library()

    def known() -> bool:
        return all(hasattr(process, s) or llvm.address_of_symbol(s) for s in code.externals)

    if not known():
        uninterrupted(_have_numba_ready)  # what is missing is Numba's own runtime, for torques that make arrays
    return known()


def _have_numba_ready() -> None:
    import numba

    with _compiling:
        numba.cfunc(numba.void())(lambda: None)  # a compilation brings in Numba's runtime library


class _Address:
    """A program that is called by other programs only."""

    def __init__(self, address: int, alive: Any) -> None:
        self.address, self.alive = address, alive

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError("this program is called by others only")


def _load(code: _Code, f: Any, signature: str, apart: Sequence[Any] = ()) -> Program:
    """The code as a program, with the functions that are compiled apart from it."""
    llvm = _llvm.binding

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # its own engine: no shared symbols
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
        engine.finalize_object()
        for name, called in zip(code.variables, apart, strict=True):
            ctypes.c_int64.from_address(engine.get_global_value_address(name)).value = address_of_program(called)
        address = engine.get_function_address(code.symbol)
    alive = engine, code.refers_to, apart  # the engine owns the memory of the code
    if hasattr(f, "__leaf__"):
        return _Address(address, alive)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[_C_TYPES[k] for k in signature])(address)
    call.alive = alive  # type: ignore[attr-defined]
    items = [_ITEMS.get(k) for k in signature]

    def at_addresses(*raw: Any) -> int:
        if callbacks.are_there():
            with callbacks.handlers_heard():
                value: int = call(*raw)
            callbacks.raise_again()
        else:
            value = call(*raw)
        if value == EXCEPTION:
            raise KernelRaised
        return value

    def run(*args: Any) -> int:
        try:
            given = zip(args, items, strict=True)
            return at_addresses(*(a if item is None else _address(a, item) for a, item in given))
        except KernelRaised as problem:
            problem.call = f, args
            raise

    def on_arrays(*arrays: Any) -> Program:
        raw = [_address(a, item) for a, item in zip(arrays, items, strict=False) if item is not None]

        def run_there(*numbers: Any) -> int:
            try:
                return at_addresses(*raw, *numbers)
            except KernelRaised as problem:
                problem.call = f, (*arrays, *numbers)
                raise

        return run_there

    run.address = address  # type: ignore[attr-defined]
    run.on_arrays = on_arrays  # type: ignore[attr-defined]
    run.at_addresses = at_addresses  # type: ignore[attr-defined]
    return run


def on_arrays(made: Program, *arrays: Any) -> Program:
    """A program that always works on these arrays, and takes the numbers that follow them.

    Addresses are looked up once, which is most of the time of a short call. Unlike the program itself, what is returned
    is for one thread at a time.
    """
    bind = getattr(made, "on_arrays", None)
    return partial(made, *arrays) if bind is None else bind(*arrays)


def at_addresses(made: Program) -> Program:
    """A compiled program that takes addresses (`address_of`) in place of arrays, from any thread.

    Whoever calls it keeps the arrays alive.
    """
    found: Program = made.at_addresses  # type: ignore[attr-defined]
    return found


def address_of_program(made: Program) -> int:
    """The address at which another program can call this one, as long as someone holds it."""
    found: int = made.address  # type: ignore[attr-defined]
    return found


def address_of(array: Any) -> int:
    """The address of the numbers of a contiguous array of floats or integers of 64 bits."""
    return _address(array, array.dtype)


def address_of_bytes(numbers: bytearray) -> int:
    """Returns the address of bytes."""
    return ctypes.addressof(ctypes.c_char.from_buffer(numbers))


def _address(array: Any, item: Any) -> int:
    """The address of an array's numbers, checked: compiled code reads on from there without any checks."""
    try:
        if array.dtype == item:
            return ctypes.addressof(ctypes.c_char.from_buffer(array))  # four times as fast as the other way
    except (TypeError, ValueError):  # the array is read-only, empty or not contiguous
        pass
    if array.dtype != item or not array.flags.c_contiguous:
        raise TypeError(f"a program needs contiguous {item} arrays, not {array.dtype} with strides {array.strides}")
    address: int = array.ctypes.data
    return address


def _sealed(path: Path, body: bytes) -> bytes:
    """The checksum of a file. It covers the name, so that no file can be taken for another."""
    return hashlib.sha256(path.name.encode() + body).digest()


def _read(path: Path) -> _Code | None:
    """The code in the file; None if there is no file or it is damaged."""
    try:
        with open(path, "rb") as file:
            if _distrust(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError as problem:
        if is_from_handler(problem):  # a TimeoutError is an OSError
            raise
        return None
    if _sealed(path, data[32:]) != data[:32]:
        return None
    with suppress(OSError):  # the time of last use; a read-only cache has none
        os.utime(path)
    head, _, code = data[32:].partition(b"\n")
    symbol, externals, variables = json.loads(head)
    return _Code(symbol, tuple(externals), code, tuple(variables))


def _write(path: Path | None, code: _Code) -> None:
    """Keeps the code in the file if that is possible; a read-only home costs time, not correctness."""
    if path is None:
        return
    body = json.dumps([code.symbol, code.externals, code.variables]).encode() + b"\n" + code.object
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_sealed(path, body) + body)
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        _forget_oldest(path.parent)


def _forget_oldest(directory: Path) -> None:
    """Removes the programs that were used least recently, and files that interrupted writers left."""
    kept = sorted(directory.glob("*.code"), key=lambda f: f.stat().st_mtime, reverse=True)
    stale = [f for f in directory.glob(".new-*") if f.stat().st_mtime < time.time() - 86400]
    for old in (*kept[KEPT_PROGRAMS:], *stale):
        old.unlink(missing_ok=True)
