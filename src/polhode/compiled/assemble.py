"""How Numba's pipeline ends for the parts of a program: with LLVM's code of a function. Imported on a cache miss only.

Numba would also make machine code of every part and load it into an engine of its own, which frees nothing. The parts
of a program are inlined, and only the whole is wanted, as an object file. It is loaded by `compiled/native.py`.
"""

# mypy: disable-error-code="no-untyped-call, misc, attr-defined"

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite.binding import newpassmanagers
from llvmlite.binding.ffi import ObjectRef
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class Library(JITCodeLibrary):
    """The LLVM code of a function and of what it calls. It is never handed to Numba's engine."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def object_code(self) -> bytes:
        """Returns the machine code as an object file."""
        with global_compiler_lock:
            code: bytes = self._codegen._tm.emit_object(self._final_module)
        return code


@register_pass(mutates_CFG=True, analysis_only=False)
class Assembly(NativeLowering):
    """Numba's last pass but one, without the machine code."""

    _name = "polhode_assembly"

    def run_pass(self, state: Any) -> bool:
        """Makes the code, and registers it under a stand-in for the address that it has not got, for its callers."""
        name = state.func_id.func_qualname
        state.library = library = Library(state.targetctx.codegen(), name)
        state.flags.no_compile = True
        super().run_pass(state)
        library._ensure_finalized()
        made = state["cr"]
        module = made.fndesc.lookup_module()
        stand_in = _dynfunc.make_function(module, name.split(".")[-1], "", 0, made.env, (library,))
        state.targetctx.insert_user_function(stand_in, made.fndesc, [library])
        state["cr"] = made._replace(cfunc=stand_in)
        return True


class Compiler(CompilerBase):
    """Numba's compiler for the parts of programs."""

    def define_pipelines(self) -> list[Any]:
        """Returns Numba's passes, with another end."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        self.look_closer(passes)
        passes.passes = [(Assembly if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]

    def look_closer(self, passes: Any) -> None:
        """Adds the passes that a user's function needs."""


@contextmanager
def passes_freed() -> Iterator[None]:
    """Has llvmlite free the passes that it makes for each function: 2 MB for a program.

    Its classes inherit from one that frees nothing before the one that knows how to (llvmlite 0.50).
    """
    kinds = (newpassmanagers.ModulePassManager, newpassmanagers.FunctionPassManager)
    leaking = [kind for kind in kinds if kind._dispose is ObjectRef._dispose]
    for kind in leaking:
        kind._dispose = newpassmanagers.NewPassManager._dispose
    try:
        yield
    finally:
        for kind in leaking:
            del kind._dispose
