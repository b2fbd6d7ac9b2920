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

from polhode.compiled.shortcuts import Passes
from polhode.compiled.twins import Shape, made_like_a_twin, remember


class Library(JITCodeLibrary):
    """The LLVM code of a function and of what it calls. It is never handed to Numba's engine."""

    keeps_own_code = False
    own_code: Any = None
    """The code of the function alone, if it is kept."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Adds the code of the function."""
        self._optimize_functions(ll_module)
        self.own_code = ll_module.clone() if self.keeps_own_code else None
        self._final_module.link_in(ll_module)

    def take(self, code: Any, libraries: list[Any]) -> None:
        """Takes code that was added to another library, under other names, with what it calls."""
        self._final_module.link_in(code)
        for library in libraries:
            self.add_linking_library(library)
        self._ensure_finalized()

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
        state.library = library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
        library.keeps_own_code = hasattr(state.func_id.func, "__shape__")
        state.flags.no_compile = True
        super().run_pass(state)
        library._ensure_finalized()
        made = state["cr"]
        state["cr"] = made._replace(cfunc=registered(state, made.fndesc, made.env, library))
        return True


def registered(state: Any, fndesc: Any, env: Any, library: Library) -> Any:
    """Registers a function for its callers, and returns what stands for its address."""
    name = fndesc.qualname.split(".")[-1]
    stand_in = _dynfunc.make_function(fndesc.lookup_module(), name, "", 0, env, (library,))
    state.targetctx.insert_user_function(stand_in, fndesc, [library])
    return stand_in


class Compiler(CompilerBase):
    """Numba's compiler for the parts of programs."""

    def compile_extra(self, func: Any) -> Any:
        """Compiles a function, or takes the code of one that differs only in what it calls."""
        shape: Shape | None = getattr(func, "__shape__", None)
        if shape is None:
            return super().compile_extra(func)
        state = self.state
        made = made_like_a_twin(state, func, shape, lambda name: Library(state.targetctx.codegen(), name))
        if made is not None:
            return made._replace(entry_point=registered(state, made.fndesc, made.environment, made.library))
        made = super().compile_extra(func)
        remember(shape, made, made.library.own_code)
        made.library.own_code = None
        return made

    def define_pipelines(self) -> list[Any]:
        """Returns Numba's passes, with another end."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        self.look_closer(usual)
        passes = Passes(usual.pipeline_name)
        passes.passes = [(Assembly if p is NativeLowering else p, text) for p, text in usual.passes]
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
