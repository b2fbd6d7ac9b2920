"""What Numba need not do for our programs: its machine code is the same to the byte. Imported on a cache miss only.

Most of a compilation is Numba's own Python, and much of that is bookkeeping: lifetimes of variables after every pass,
which only its object mode and generators look at; the type of a product of two floats, looked for again each time
among all that can be multiplied; registries read anew for each function; events that no one listens to.
(docs/decisions/0009-what-compilation-costs.md has the measurements.)
"""

# mypy: disable-error-code="no-untyped-call, misc, attr-defined"

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import base, ir, postproc, transforms, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, _pass_registry
from numba.core.errors import new_error_context
from numba.core.typing import context as typing_context

from polhode._interrupts import stop_if_ending
from polhode.compiled.lanes import Lanes, Mask

OPERATORS = frozenset(f for f in vars(operator).values() if callable(f))
PLAIN = (types.Number, types.Boolean, Lanes, Mask)
"""Types of numbers: what an operator does with them never changes."""

Call = Callable[..., Any]


class Passes(PassManager):
    """Numba's passes, without its checks and notes of each of them; gives up if the process is about to end."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        stop_if_ending()
        pss.analysis = self._analysis
        with new_error_context("Pass {name}", name=pss.name()):
            changed = pss.run_initialization(internal_state)
            changed |= pss.run_pass(internal_state)
            changed |= pss.run_finalizer(internal_state)
        if changed and _pass_registry.get(pss.__class__).mutates_CFG:
            postproc.PostProcessor(internal_state.func_ir).run()


def _resolving(resolve: Call) -> Call:
    """Returns a form of `BaseFunction.get_call_type` that remembers operators on numbers."""

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or self.typing_key not in OPERATORS or not all(_is_plain(a) for a in args):
            return resolve(self, context, args, kws)
        known = self.__dict__.setdefault("_polhode_known", {})
        if (found := known.get(args)) is None:
            found = resolve(self, context, args, kws)
            if self._impl_keys[found.args] is self.typing_key:  # no overload, which would be compiled by itself
                known[args] = found
        return found

    return get_call_type


def _is_plain(kind: Any) -> bool:
    return isinstance(kind, PLAIN) and not isinstance(kind, types.Literal)


def _post_processing(run: Call) -> Call:
    """Returns a form of `PostProcessor.run` that works out the lifetimes of variables only for those who ask."""

    def without_lifetimes(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> Any:
        f = self.func_ir
        if f.is_generator:
            return run(self, emit_dels, extend_lifetimes)
        f.blocks = transforms.canonicalize_cfg(f.blocks)
        f.variable_lifetime = postproc.VariableLifetime(f.blocks)  # its parts are computed when they are read
        f.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)
        return None

    return without_lifetimes


def _refreshing(refresh: Call) -> Call:
    """Returns a form of a context's `refresh` that does nothing if nothing was registered since the last time."""

    def if_there_is_news(self: Any) -> None:
        if self.__dict__.get("_polhode_registered") != _registered(self):
            refresh(self)
            self._polhode_registered = _registered(self)

    return if_there_is_news


def _registered(context: Any) -> int:
    return sum(len(x) for registry in context._registries for x in vars(registry).values() if isinstance(x, list))


def _listing(list_vars: Call) -> Call:
    """Returns a form of `Inst._rec_list_vars` that does not look for variables in names and places."""
    nothing = (str, ir.Loc, int, float, type(None))

    def listed(self: Any, val: Any) -> Any:
        return [] if isinstance(val, nothing) else list_vars(self, val)

    return listed


@contextmanager
def shortcuts() -> Iterator[None]:
    """Has Numba take the shortcuts of this file meanwhile."""
    lock = global_compiler_lock._lock
    places: list[tuple[Any, str, Any]] = [
        (types.BaseFunction, "get_call_type", _resolving(types.BaseFunction.get_call_type)),
        (postproc.PostProcessor, "run", _post_processing(postproc.PostProcessor.run)),
        (base.BaseContext, "refresh", _refreshing(base.BaseContext.refresh)),
        (typing_context.BaseContext, "refresh", _refreshing(typing_context.BaseContext.refresh)),
        (ir.Inst, "_rec_list_vars", _listing(ir.Inst._rec_list_vars)),
    ]
    with lock:  # another thread that compiles with Numba waits: it may need what is left out here
        usual = [(place, name, place.__dict__[name]) for place, name, _ in places]
        for place, name, quick in places:
            setattr(place, name, quick)
        global_compiler_lock.acquire, global_compiler_lock.release = lock.acquire, lock.release  # type: ignore[method-assign]
        try:
            yield
        finally:
            for place, name, before in usual:
                setattr(place, name, before)
            del global_compiler_lock.acquire, global_compiler_lock.release
