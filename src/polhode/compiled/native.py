"""Compiled programs as object files: made by Numba once, loaded by llvmlite ever after.

A program is a function over raw pointers and numbers that returns an integer. Its machine code is kept in one file,
named by all that decides it: the digest of the function, the versions of the tools, the processor. A file is written
whole or not at all, never changed, and carries a checksum; a bad or missing one costs a compilation, nothing else.
Numba itself is imported only to compile, so that a warm start is quick.
"""

import ctypes
import hashlib
import json
import os
import platform
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from polhode.compiled.digest import Recursion, digest, plain

KEPT_PROGRAMS = 1000
"""The oldest files beyond this number are removed."""

_C_TYPES: dict[str, Any] = {"p": ctypes.c_void_p, "n": ctypes.c_void_p, "d": ctypes.c_double, "i": ctypes.c_int64}

Program = Callable[..., int]


class CompilationFailed(TypeError):
    """Numba could not compile the function. The message shows the line."""


class KernelRaised(ArithmeticError):
    """Compiled code raised an exception; the arrays it was given are as they were."""


class _Code(NamedTuple):
    """Machine code with the name of its entry and the outside symbols it calls."""

    symbol: str
    externals: tuple[str, ...]
    object: bytes


def compiles() -> bool:
    """Whether programs are compiled at all: with NUMBA_DISABLE_JIT=1 the same functions run in plain Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def cache_directory() -> Path:
    """Where programs are kept: POLHODE_CACHE_DIR, else the user's cache."""
    if chosen := os.environ.get("POLHODE_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "polhode"


_programs: dict[str, Program] = {}
_engines: list[Any] = []  # an engine owns the memory of its code
_alive: list[Any] = []  # functions named by identity: their identity must not be given away
_lock = threading.RLock()
compilations = 0
"""How many programs this process had to compile."""


def program(f: Any, signature: str, announce: Callable[[], None] | None = None) -> Program:
    """f as machine code. In the signature p and n are arrays of floats and of integers, d and i numbers.

    `announce` is called before a compilation, which takes seconds.
    """
    f = plain(f)
    if not compiles():
        return f  # type: ignore[no-any-return]
    with _lock:
        try:
            name, volatile = digest(f)
        except Recursion as why:
            raise CompilationFailed(str(why)) from None
        key = hashlib.sha256(repr((name, signature, _here())).encode()).hexdigest()[:40]
        if key not in _programs:
            if volatile:
                warnings.warn(f"compiled for this process only: {volatile}", UserWarning, stacklevel=3)
                _alive.append(f)
                code = _compile(f, signature, announce)
            else:
                code = _kept(cache_directory() / f"{key}.code", f, signature, announce)
            _programs[key] = _load(code, signature)
        return _programs[key]


def _kept(path: Path, f: Any, signature: str, announce: Callable[[], None] | None) -> _Code:
    """The code from its file, or compiled now and put there."""
    code = _read(path)
    if code is None or not _resolved(code):
        code = _compile(f, signature, announce)
        _write(path, code)
    return code


@cache
def _here() -> str:
    """Everything but the program that decides its machine code."""
    import llvmlite.binding as llvm

    makers = [Path(__file__).with_name(n).read_bytes() for n in ("link.py", "primitives.py", "native.py")]
    versions = [version(n) for n in ("numba", "llvmlite", "numpy")]
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    cpu = (platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((sys.version, versions, cpu, settings, [hashlib.sha256(m).hexdigest() for m in makers]))


def _compile(f: Any, signature: str, announce: Callable[[], None] | None) -> _Code:
    """Numba's object code for f. The only place that leans on names Numba does not promise."""
    global compilations
    if announce:
        announce()
    from numba import types
    from numba.core.errors import NumbaError

    from polhode.compiled.link import link

    pointer: Any = types.CPointer
    kinds = {"p": pointer(types.float64), "n": pointer(types.int64), "d": types.float64, "i": types.int64}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's advice on style is not for our users
        for runtime in (False, True):  # Numba's runtime library is needed by torques that make arrays, and only by them
            dispatcher = link(f, runtime=runtime)
            try:
                dispatcher.compile(tuple(kinds[k] for k in signature))
                break
            except NumbaError as problem:
                if runtime:
                    raise CompilationFailed(_readable(problem)) from None
    compilations += 1
    (result,) = dispatcher.overloads.values()
    library = result.library
    code = library._compiled_object
    declared = [g.name for g in library._final_module.functions if g.is_declaration]
    externals = sorted(name for name in declared if name.encode() in code)  # most declarations are never used
    return _Code(result.fndesc.llvm_func_name, tuple(externals), code)


def _readable(problem: Exception) -> str:
    """The part of Numba's message that concerns the user: the reason and the line."""
    lines = [line for line in str(problem).splitlines() if line.strip()]
    skip = ("Failed in nopython mode pipeline", "During: resolving callee", "During: typing of call", "During: Pass")
    kept = [line for line in lines if not line.startswith(skip)]
    return "\n".join(kept[-14:])


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


def _load(code: _Code, signature: str) -> Program:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # its own engine: no shared symbols
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
    engine.finalize_object()
    _engines.append(engine)
    # Numba's calling convention: a place for the result, a place for an exception, then the arguments.
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[_C_TYPES[k] for k in signature])
    call = prototype(engine.get_function_address(code.symbol))

    def run(*args: Any) -> int:
        result, error = ctypes.c_int64(), ctypes.c_void_p()  # of this call: threads share the function
        raw = [a.ctypes.data if k in "pn" else a for a, k in zip(args, signature, strict=True)]
        if call(ctypes.addressof(result), ctypes.addressof(error), *raw):
            raise KernelRaised("compiled code raised an exception")
        return result.value

    return run


def _read(path: Path) -> _Code | None:
    """The code in the file, or None if it is not there or not whole."""
    try:
        data = path.read_bytes()
        body = data[32:]
        if hashlib.sha256(body).digest() != data[:32]:
            return None
        head, _, code = body.partition(b"\n")
        symbol, externals = json.loads(head)
    except (OSError, ValueError):
        return None
    with suppress(OSError):  # the time of last use; a read-only cache has none
        os.utime(path)
    return _Code(symbol, tuple(externals), code)


def _write(path: Path, code: _Code) -> None:
    """Keep the code if that is possible; a read-only home costs time, not correctness."""
    body = json.dumps([code.symbol, code.externals]).encode() + b"\n" + code.object
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        _forget_oldest(path.parent)


def _forget_oldest(directory: Path) -> None:
    """Keep the most recently used programs."""
    kept = sorted(directory.glob("*.code"), key=lambda f: f.stat().st_mtime, reverse=True)
    for old in kept[KEPT_PROGRAMS:]:
        old.unlink(missing_ok=True)
