"""Compiled programs as object files: Numba makes them once, llvmlite loads them ever after.

A program is a function over raw pointers and numbers that returns an integer. Its machine code is kept in one file,
named by all that decides it: the digest of the function, the versions of the tools, the processor. A file is written
whole or not at all, never changed, and carries a checksum; a bad or missing one costs a compilation, nothing else.
Numba itself is imported only to compile, so that a warm start is quick.
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
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from polhode.compiled.digest import Recursion, digest, plain
from polhode.compiled.explain import INTERPRETED, Complaint, explained, message_of
from polhode.compiled.raised import exception_at
from polhode.compiled.recent import Recent

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
    import platformdirs  # it costs milliseconds, and only here is it needed

    try:
        return platformdirs.user_cache_path("polhode", appauthor=False)
    except RuntimeError:
        return None


_unnamed: dict[tuple[str, str], tuple[Any, ...]] = {}
"""The values named by their identity, for each program: no other value may have it while the program has its name."""
_programs: Recent[tuple[str, str], Program | Complaint] = Recent(MOST_PROGRAMS, lambda key: _unnamed.pop(key, None))
"""The programs that were used last. Any other is freed when no one holds it any more."""
_lock = threading.RLock()
compilations = 0
"""How many programs this process had to compile."""


def program(f: Any, signature: str, on_compile: OnCompile = None, *, tentative: bool = False) -> Program:
    """Returns f as machine code. In the signature p and n are arrays of floats and of integers, d and i numbers.

    `on_compile` is called before a compilation, which takes seconds. A tentative program is one that
    may fail to compile and has an alternative: then the failure is kept in the file, so that no process tries again.
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
        if key not in _programs:
            directory = None if volatile else cache_directory()
            file = hashlib.sha256(repr((*key, _here())).encode()).hexdigest()[:40]
            path = directory and directory / f"{file}.code"
            made = _kept(path, signature) if path else None
            if made is None:
                code, volatile = _compile(f, signature, on_compile, volatile)
                if code.complaint and not tentative:
                    raise CompilationFailed(message_of(code.complaint, f))
                if volatile and code.symbol:
                    warnings.warn(f"compiled for this process only: {volatile}", UserWarning, stacklevel=3)
                elif path and not volatile:
                    _write(path, code)
                made = _load(code, signature)
            _unnamed[key] = unnamed
            _programs[key] = made
        found = _programs[key]
    if isinstance(found, Complaint):
        raise CompilationFailed(message_of(found, f))
    return found


def _kept(path: Path, signature: str) -> Program | Complaint | None:
    """Returns the program in the file, or why there is none; None if there is no file or it cannot be used."""
    code = _read(path)
    return _load(code, signature) if code and (not code.symbol or _resolved(code)) else None


@cache
def _here() -> str:
    """Describes everything that decides the machine code of a program, except the program."""
    import llvmlite.binding as llvm

    makers = ["assemble.py", "digest.py", "guard.py", "lanes.py", "link.py", "native.py", "primitives.py"]
    contents = [hashlib.sha256(Path(__file__).with_name(n).read_bytes()).hexdigest() for n in makers]
    versions = [version(n) for n in ("numba", "llvmlite", "numpy")]
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    cpu = (platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((sys.version, versions, cpu, settings, contents))


def _compile(f: Any, signature: str, on_compile: OnCompile, volatile: str | None) -> tuple[_Code, str | None]:
    """Returns Numba's object code for f or its complaint, and why it is good for this process only, if it is.

    This is the only place that uses private names of Numba (docs/decisions/0001).
    """
    global compilations
    if on_compile:
        on_compile()
    from numba import types

    from polhode.compiled.assemble import passes_freed
    from polhode.compiled.lanes import BRANCH
    from polhode.compiled.link import link

    pointer: Any = types.CPointer
    kinds = {"p": pointer(types.float64), "n": pointer(types.int64), "d": types.float64, "i": types.int64}
    with warnings.catch_warnings(), _without_garbage_collection(), passes_freed():
        warnings.simplefilter("ignore")  # Numba's advice on style is not for our users
        for runtime in (False, True):  # Numba's runtime library is needed by torques that make arrays, and only by them
            dispatcher = link(f, runtime=runtime)
            try:
                dispatcher.compile(tuple(kinds[k] for k in signature))
                break
            except Exception as problem:  # Numba's passes raise other exceptions than its own
                if runtime or BRANCH in str(problem):
                    return _Code.refused(explained(problem, f)), volatile
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
        return _Code.refused(explained(CompilationFailed(why), f)), volatile
    refers_to = dispatcher if library.has_dynamic_globals else None
    return _Code(result.fndesc.llvm_func_name, tuple(externals), code, refers_to), volatile


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Numba allocates so much that Python looks for garbage again and again: that is an eighth of a compilation."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _resolved(code: _Code) -> bool:
    """Whether every outside symbol can be found: an unknown one would end the process when the code is loaded."""
    import llvmlite.binding as llvm

    process = ctypes.CDLL(None)

    def known() -> bool:
        return all(hasattr(process, s) or llvm.address_of_symbol(s) for s in code.externals)

    if not known():
        import numba.core.registry  # what is missing is Numba's own runtime, for torques that make arrays

        numba.core.registry.cpu_target.target_context.refresh()
    return known()


def _load(code: _Code, signature: str) -> Program | Complaint:
    if code.complaint:
        return code.complaint
    import llvmlite.binding as llvm

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

    def run(*args: Any) -> int:
        raw = [a if item is None else _address(a, item) for a, item in zip(args, items, strict=True)]
        result, error = ctypes.c_int64(), ctypes.c_void_p()  # new ones for each call: threads share the function
        if call(ctypes.addressof(result), ctypes.addressof(error), *raw):
            raise KernelRaised(exception_at(error.value))
        return result.value

    return run


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
        data = path.read_bytes()
    except OSError:
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
