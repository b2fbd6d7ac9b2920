"""Functions that differ from one compiled before only in what they call. Imported on a cache miss only.

The loop of a run is the same function for every method and torque, closed over other steps. Numba would infer its types
and lower it again for each, which is half of the compilation of a further method. If what a function calls takes and
returns the same types as what its twin called, all of that would have the same outcome: so the LLVM code of the twin is
taken, with the other names in it. The machine code is the same to the byte.
"""

# mypy: disable-error-code="no-untyped-call, misc, attr-defined"

from typing import Any, NamedTuple

from numba.core import ir, types
from numba.core.bytecode import FunctionIdentity
from numba.core.errors import NumbaError
from numba.core.funcdesc import PythonFunctionDescriptor

from polhode.compiled.recent import Recent

MOST_TWINS = 500
"""Functions whose code is kept for those that are alike: up to 0.1 MB each."""
MOST_VARIANTS = 8
"""Functions of one shape whose callees have different types."""


class Shape(NamedTuple):
    """What a function is besides what it calls, and what it calls."""

    text: tuple[Any, ...]
    """Describes the function and everything that it captures, except the functions in `called`."""
    called: tuple[Any, ...]
    """The dispatchers of the functions that it captures."""


class Called(NamedTuple):
    """A call in a function that was compiled."""

    place: int
    """Which of the captured functions is called."""
    args: tuple[Any, ...]
    result: Any
    inline: bool
    symbol: str
    library: Any


class Twin(NamedTuple):
    """A function that was compiled."""

    calls: tuple[Called, ...]
    code: Any
    """Its own LLVM module, after the passes over functions, before anything was linked to it."""
    made: Any
    """What Numba returned for it."""


_twins: Recent[tuple[Any, ...], list[Twin]] = Recent(MOST_TWINS)
"""The functions that were compiled, by the texts of their shapes and the types of their arguments."""


def remember(shape: Shape, made: Any, code: Any) -> None:
    """Keeps what Numba has made of a function, unless a function is a value in it, not only called."""
    calls, args = _calls_in(shape, made.fndesc.typemap, made.fndesc.calltypes), tuple(made.signature.args)
    variants = _twins.setdefault((shape.text, args), [])
    if calls is not None and len(variants) < MOST_VARIANTS:
        # the types of variables are large, and of no use any more
        variants.append(Twin(_in_order(calls, args), code, made._replace(type_annotation=None, metadata={})))


def _calls_in(shape: Shape, typemap: Any, calltypes: Any) -> list[Called] | None:
    if any(isinstance(kind, types.BaseTuple) and _has_function(kind) for kind in typemap.values()):
        return None
    places = {id(dispatcher): place for place, dispatcher in enumerate(shape.called)}
    found: dict[tuple[Any, ...], Called] = {}
    for expression, sig in calltypes.items():
        if sig is None:
            continue
        if any(_has_function(kind) for kind in sig.args):
            return None
        if not isinstance(expression, ir.Expr) or expression.op != "call":
            continue
        kind = typemap[expression.func.name]
        place = places.get(id(kind.dispatcher)) if isinstance(kind, types.Dispatcher) else None
        if place is None:
            continue
        one = shape.called[place].overloads.get(tuple(sig.args))
        if one is None:
            return None
        desc = one.fndesc
        found[place, sig.args] = Called(place, sig.args, sig.return_type, desc.inline, desc.mangled_name, one.library)
    return list(found.values())


def _in_order(calls: list[Called], args: tuple[Any, ...]) -> tuple[Called, ...]:
    """Returns the calls such that none comes before those whose results it takes.

    Where a result has another type than with the twin, nothing has been compiled then for arguments of its type.
    """
    there, results = set(args), {call.result for call in calls}
    ordered: list[Called] = []
    while calls:
        ready = [c for c in calls if all(k in there or k not in results for k in c.args)] or calls
        ordered += ready
        there.update(c.result for c in ready)
        calls = [c for c in calls if c not in ready]
    return tuple(ordered)


def _has_function(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(_has_function(item) for item in kind.types)
    return isinstance(kind, types.Callable)


def made_like_a_twin(state: Any, function: Any, shape: Shape, new_library: Any) -> Any:
    """Returns what Numba would make of a function, except for its entry; None if it has no twin."""
    try:
        for twin in _twins.get((shape.text, tuple(state.args))) or ():
            if (callees := _callees(twin, shape)) is not None:
                return _renamed(state, function, twin, callees, new_library)
    except NumbaError:  # it will come again, with all that leads to it, when the function is compiled as usual
        return None
    return None


def _callees(twin: Twin, shape: Shape) -> list[Any] | None:
    """Returns what stands in the place of the callees of the twin; None if some have other types."""
    found = []
    for call in twin.calls:
        dispatcher = shape.called[call.place]
        dispatcher.compile(call.args)
        one = dispatcher.overloads[call.args]
        if one.signature.return_type != call.result or one.fndesc.inline != call.inline:
            return None
        found.append(one)
    return found


def _renamed(state: Any, function: Any, twin: Twin, callees: list[Any], new_library: Any) -> Any:
    known, before = FunctionIdentity.from_function(function), twin.made.fndesc
    fndesc = PythonFunctionDescriptor(
        True, before.modname, known.func_qualname, known.unique_name, before.doc, {}, before.restype, {}, before.args,
        before.kws, mangler=state.targetctx.mangler, argtypes=before.argtypes, inline=before.inline,
        noalias=before.noalias, abi_tags=before.abi_tags, uid=known.unique_id,
    )  # fmt: skip
    names = {before.mangled_name: fndesc.mangled_name}
    libraries = {}
    for call, one in zip(twin.calls, callees, strict=True):
        names[call.symbol] = one.fndesc.mangled_name
        libraries[call.library] = one.library
    code = twin.code.clone()
    code.name = known.func_qualname
    renamed = [(code.get_function(old), new) for old, new in names.items()]
    renamed.append((code.get_global_variable(before.env_name), fndesc.env_name))
    for k, (value, _) in enumerate(renamed):  # in two passes: a new name may be an old one of another
        value.name = f"polhode.renamed.{k}"
    for value, new in renamed:
        value.name = new
    library = new_library(known.func_qualname)
    library.take(code, [libraries.get(x, x) for x in twin.made.library._linking_libraries])
    return twin.made._replace(library=library, fndesc=fndesc, metadata={})  # Numba writes into the latter
