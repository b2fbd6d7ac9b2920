"""Compiled programs as object files: Numba makes them once, llvmlite loads them ever after.

A program is a function over raw pointers and numbers that returns an integer. Its machine code is kept in one file,
named by all that decides it: the digest of the function, the versions of the tools, the processor. A file is written
whole or not at all, never changed, and carries a checksum; a bad or missing one costs a compilation, nothing else.
Numba itself is imported only to compile, so that a warm start is quick. It works in a thread of its own, where no
signal can leave it half done, and no fork happens meanwhile.
"""

import ctypes
import gc
import hashlib
import json
import os
import platform
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from polhode._interrupts import hold_over_forks, imported, is_from_handler, undivided, uninterrupted
from polhode.compiled import callbacks
from polhode.compiled.announce import PATIENCE_SECONDS, announce
from polhode.compiled.digest import Recursion, digest, plain
from polhode.compiled.explain import INTERPRETED, Complaint, explained, message_of
from polhode.compiled.raised import exception_at
from polhode.compiled.recent import Recent
from polhode.compiled.room import with_room

MOST_PROGRAMS = 128
"""Programs that stay loaded although they may not be in use: about 0.1 MB each."""
KEPT_PROGRAMS = 1000
"""Beyond this number, the files that were used least recently are removed."""

_C_TYPES: dict[str, Any] = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "d": ctypes.c_double, "i": ctypes.c_int64}
_ITEMS = {"p": np.dtype(np.float64), "n": np.dtype(np.int64)}

Program = Callable[..., int]
OnCompile = Callable[[], None] | None


class CompilationFailed(TypeError):
    """Numba could not compile the function; the message shows the line."""


class KernelRaised(ArithmeticError):
    """Compiled code raised the exception in the message; the arrays it was given are as they were."""


class _Code(NamedTuple):
    """Machine code with the name of its entry and the outside symbols it calls.

    If there is no code, the name is empty, and `externals` holds the complaint.
    """

    symbol: str
    externals: tuple[str, ...]
    object: bytes
    refers_to: Any = None
    """What the code has addresses of; the code of a file has none."""

    @classmethod
    def refused(cls, complaint: Complaint) -> Self:
        """Returns the record of a function that could not be compiled."""
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
    """Returns the folder of the programs: POLHODE_CACHE_DIR, else the place that this system has for caches.

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
    """Returns the folder of the programs; None, with a warning, if others could put code there that would be run."""
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
    """Returns why a file or folder may hold what others have put there; empty if only this user and root can."""
    if not hasattr(os, "getuid"):  # on Windows a user's folders are the user's
        return ""
    if found.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (number {found.st_uid})"
    return "can be written to by other users" if found.st_mode & 0o022 else ""


_unnamed: dict[tuple[str, str], tuple[Any, ...]] = {}
"""The values named by their identity, for each program: no other value may have it while the program has its name."""
_programs: Recent[tuple[str, str], Program | Complaint] = Recent(MOST_PROGRAMS, lambda key: _unnamed.pop(key, None))
"""The programs that were used last. Any other is freed when no one holds it any more."""
_compiling = threading.RLock()
"""Held while Numba is at work, and over a fork, so that no child inherits a compiler in the middle of its work."""
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
    f = plain(f)
    if not compiles():
        return f  # type: ignore[no-any-return]
    with _lock:
        try:
            name, volatile, unnamed = digest(f)
        except Recursion as why:
            raise CompilationFailed(str(why)) from None
        key = (name, signature)
        found: Program | Complaint | None = _programs.get(key)
    if found is None:
        path = None if volatile else _path_of(key)
        found = _kept(path, signature) if path else None
        if found is not None:
            _remember(key, found, unnamed)
    if found is None:
        on_wait = None
        if on_compile:
            on_compile()
        else:
            on_wait = partial(announce, what, kept=path is not None)
        with _undisturbed():
            made = partial(_make, f, key, path, volatile, unnamed, tentative=tentative)
            found, volatile = uninterrupted(made, PATIENCE_SECONDS, on_wait)
        if volatile and not isinstance(found, Complaint):
            warnings.warn(f"compiled for this process only: {volatile}", UserWarning, stacklevel=2)
    if isinstance(found, Complaint):
        raise CompilationFailed(message_of(found, f))
    return found


def kept_program(f: Any, signature: str) -> Program | None:
    """Returns f as machine code if that is there already, in this process or in a file; it is not compiled."""
    f = plain(f)
    if not compiles():
        return None
    with _lock:
        name, volatile, unnamed = digest(f)
        key = (name, signature)
        found: Program | Complaint | None = _programs.get(key)
    if found is None and not volatile and (path := _path_of(key)) is not None:
        found = _kept(path, signature)
        if found is not None:
            _remember(key, found, unnamed)
    return None if isinstance(found, Complaint) else found


def _path_of(key: tuple[str, str]) -> Path | None:
    """Returns the file of a program; None if there is no place where programs are kept."""
    directory = trusted_directory()
    file = hashlib.sha256(repr((*key, _here())).encode()).hexdigest()[:40]
    return directory and directory / f"{file}.code"


def _make(
    f: Any, key: tuple[str, str], path: Path | None, volatile: str | None, unnamed: Any, *, tentative: bool
) -> tuple[Program | Complaint, str | None]:
    """Has f compiled, and keeps what comes of it; returns it, and why it is good for this process only, if it is."""
    signature = key[1]
    with _compiling:
        with _lock:
            if key in _programs:  # another thread was first
                return _programs[key], None
        code, volatile, keep = _compile(f, signature, volatile)
        if code.complaint and (not tentative or keep == "nowhere"):
            return code.complaint, None
        if path and not volatile and keep == "on disk":
            _write(path, code)
        made = _load(code, signature)
        _remember(key, made, unnamed)
    return made, volatile


def _remember(key: tuple[str, str], made: Program | Complaint, unnamed: Any) -> None:
    with _lock:
        _unnamed[key] = unnamed
        _programs[key] = made


def _kept(path: Path, signature: str) -> Program | Complaint | None:
    """Returns the program in the file, or why there is none; None if there is no file or it cannot be used."""
    code = _read(path)
    return _load(code, signature) if code and (not code.symbol or _resolved(code)) else None


def _locks_of_others() -> list[Any]:
    """Returns the locks of Numba and llvmlite, once they are there: others may compile with them."""
    numbas = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    llvms = getattr(getattr(library, "_lock", None), "_lock", None)
    return [lock for lock in (numbas, llvms) if lock is not None]


hold_over_forks(lambda: [_compiling, _lock])
hold_over_forks(_locks_of_others)

# --- the compiler ----------------------------------------------------------------------------------------------------


@cache
def _here() -> str:
    """Describes everything that decides the machine code of a program, except the program."""
    return undivided(_described)


def _described() -> str:
    import llvmlite.binding as llvm

    makers = ["assemble.py", "digest.py", "guard.py", "lanes.py", "link.py", "native.py", "primitives.py"]
    makers += ["shortcuts.py", "twins.py"]
    contents = [hashlib.sha256(Path(__file__).with_name(n).read_bytes()).hexdigest() for n in makers]
    versions = [version(n) for n in ("numba", "llvmlite", "numpy")]
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    cpu = (platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((sys.version, versions, cpu, settings, contents))


@cache
def floats_in_register() -> int:
    """Returns how many floats the vector registers of this processor hold, as compiled programs use them."""
    return undivided(_register_floats)


def _register_floats() -> int:
    import llvmlite.binding as llvm

    return 8 if llvm.get_host_cpu_features().get("avx512f") else 4


Keep = Literal["on disk", "in memory", "nowhere"]
"""How long the outcome of a compilation holds."""
PASSING = (MemoryError, OSError, RecursionError)
"""These say nothing of the program: the next attempt may succeed."""


@with_room
def _compile(f: Any, signature: str, volatile: str | None) -> tuple[_Code, str | None, Keep]:
    """Returns Numba's object code for f or its complaint, why it is good for this process only, and where to keep it.

    It uses private names of Numba, as do `assemble.py`, `shortcuts.py` and `twins.py` (docs/decisions/0001).
    """
    global compilations
    from numba import types
    from numba.core.errors import NumbaError

    from polhode.compiled.assemble import passes_freed
    from polhode.compiled.lanes import BRANCH
    from polhode.compiled.link import link
    from polhode.compiled.shortcuts import shortcuts

    pointer: Any = types.CPointer
    kinds = {"p": pointer(types.float64), "n": pointer(types.int64), "d": types.float64, "i": types.int64}
    for runtime in (False, True):  # Numba's runtime library is needed by torques that make arrays, and only by them
        dispatcher = link(f, runtime=runtime)
        try:
            with passes_freed(), shortcuts():
                dispatcher.compile(tuple(kinds[k] for k in signature))
            break
        except (MemoryError, OSError):
            raise
        except Exception as problem:  # Numba's passes raise other exceptions than its own
            passing = _has_passed(problem)
            if runtime or passing or BRANCH in str(problem):
                keep: Keep = "nowhere" if passing else "on disk" if isinstance(problem, NumbaError) else "in memory"
                return _Code.refused(explained(problem, f)), volatile, keep
    compilations += 1
    (result,) = dispatcher.overloads.values()
    library = result.library
    if library.has_dynamic_globals:  # the code contains addresses of this process
        volatile = volatile or "it reads an array of more than a megabyte, which is not kept in a file"
    code = library.object_code()
    declared = [g.name for g in library._final_module.functions if g.is_declaration]
    externals = sorted(name for name in declared if name.encode() in code)  # most declarations are never used
    if "numba_gil_release" in externals:
        why = f"{INTERPRETED} call the interpreter, which compiled code cannot; NUMBA_DISABLE_JIT=1 runs it in Python"
        return _Code.refused(explained(CompilationFailed(why), f)), volatile, "on disk"
    refers_to = dispatcher if library.has_dynamic_globals else None
    return _Code(result.fndesc.llvm_func_name, tuple(externals), code, refers_to), volatile, "on disk"


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


def _resolved(code: _Code) -> bool:
    """Whether every outside symbol can be found: an unknown one would end the process when the code is loaded."""
    import llvmlite.binding as llvm

    process = ctypes.CDLL(None)

    def known() -> bool:
        return all(hasattr(process, s) or llvm.address_of_symbol(s) for s in code.externals)

    if not known():
        uninterrupted(_refresh)  # what is missing is Numba's own runtime, for torques that make arrays
    return known()


def _refresh() -> None:
    import numba.core.registry

    with _compiling:
        numba.core.registry.cpu_target.target_context.refresh()


def _load(code: _Code, signature: str) -> Program | Complaint:
    if code.complaint:
        return code.complaint
    import llvmlite.binding as llvm

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # its own engine: no shared symbols
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
        engine.finalize_object()
    # Numba's calling convention: a place for the result, a place for an exception, then the arguments.
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[_C_TYPES[k] for k in signature])
    call = prototype(engine.get_function_address(code.symbol))
    call.alive = engine, code.refers_to  # type: ignore[attr-defined]  # the engine owns the memory of the code
    items = [_ITEMS.get(k) for k in signature]

    def entered(arguments: tuple[Any, ...], result: Any, error: Any) -> int:
        if callbacks.are_there():
            with callbacks.handlers_heard():
                failed = call(*arguments)
            callbacks.raise_again()
        else:
            failed = call(*arguments)
        if failed:
            raise KernelRaised(exception_at(error.value))
        value: int = result.value
        return value

    def places() -> tuple[Any, Any, int, int]:
        result, error = ctypes.c_int64(), ctypes.c_void_p()
        return result, error, ctypes.addressof(result), ctypes.addressof(error)

    def run(*args: Any) -> int:
        raw = [a if item is None else _address(a, item) for a, item in zip(args, items, strict=True)]
        result, error, *there = places()  # new ones for each call: threads share the function
        return entered((*there, *raw), result, error)

    def on_arrays(*arrays: Any) -> Program:
        raw = [_address(a, item) for a, item in zip(arrays, items, strict=False) if item is not None]
        result, error, *there = places()
        begin = (*there, *raw)

        def run_there(*numbers: Any) -> int:
            return entered((*begin, *numbers), result, error)

        run_there.alive = arrays  # type: ignore[attr-defined]
        return run_there

    def at_addresses(*raw: Any) -> int:
        result, error, *there = places()
        return entered((*there, *raw), result, error)

    run.address = ctypes.cast(call, ctypes.c_void_p).value  # type: ignore[attr-defined]
    run.on_arrays = on_arrays  # type: ignore[attr-defined]
    run.at_addresses = at_addresses  # type: ignore[attr-defined]
    return run


def on_arrays(made: Program, *arrays: Any) -> Program:
    """Returns a program that always works on these arrays, and takes the numbers that follow them.

    Addresses are looked up once, which is most of the time of a short call. Unlike the program itself, what is returned
    is for one thread at a time.
    """
    bind = getattr(made, "on_arrays", None)
    return partial(made, *arrays) if bind is None else bind(*arrays)


def at_addresses(made: Program) -> Program:
    """Returns a compiled program that takes addresses (`address_of`) in place of arrays, from any thread.

    Whoever calls it keeps the arrays alive.
    """
    found: Program = made.at_addresses  # type: ignore[attr-defined]
    return found


def address_of_program(made: Program) -> int:
    """Returns the address at which another program can call this one, as long as someone holds it."""
    found: int = made.address  # type: ignore[attr-defined]
    return found


def address_of(array: Any) -> int:
    """Returns the address of the numbers of a contiguous array of floats or integers of 64 bits."""
    return _address(array, array.dtype)


def _address(array: Any, item: Any) -> int:
    """Returns the address of an array's numbers, checked: compiled code reads on from there without any checks."""
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
    """Returns the checksum of a file. It covers the name, so that no file can be taken for another."""
    return hashlib.sha256(path.name.encode() + body).digest()


def _read(path: Path) -> _Code | None:
    """Returns the code in the file; None if there is no file or it is damaged."""
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
    symbol, externals = json.loads(head)
    return _Code(symbol, tuple(externals), code)


def _write(path: Path, code: _Code) -> None:
    """Keeps the code in the file if that is possible; a read-only home costs time, not correctness."""
    body = json.dumps([code.symbol, code.externals]).encode() + b"\n" + code.object
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
