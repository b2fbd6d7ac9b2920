"""The syntax trees of functions. A source is believed only if it compiles to the very code that the function has."""

import __future__

import ast
import copy
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from polhode.compiler.digest import code_text

FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
Definition = ast.FunctionDef | ast.Lambda


class NoSource(ValueError):
    """There is no source, or one that has changed since."""


def definition(f: types.FunctionType) -> Definition:
    """The syntax tree of a function; one that was made of a tree has it with its code as `__tree__`."""
    made: tuple[types.CodeType, Definition] | None = getattr(f, "__tree__", None)
    if made is not None and made[0] is f.__code__:
        return made[1]
    return _definition(f.__code__, getattr(f, "__text__", None))


@lru_cache(maxsize=1024)
def _definition(code: types.CodeType, text: str | None) -> Definition:
    given = sys.orig_argv.index("-c") + 1 if code.co_filename == "<string>" and "-c" in sys.orig_argv else 0
    if text is None and given:
        text = sys.orig_argv[given]
    if text is None:
        try:
            text = "".join(inspect.findsource(code)[0])
        except (OSError, TypeError, IndexError):
            raise NoSource(f"{code.co_name} has no source") from None
    source = _read(text, code.co_flags & FUTURE)
    if code_text(code) in map(code_text, source.codes.get(code.co_firstlineno, ())):
        if code.co_name == "<lambda>":
            found: Iterable[Definition] = (node for node in ast.walk(source.tree) if isinstance(node, ast.Lambda))
        else:
            found = source.definitions.get(code.co_firstlineno, [])
        for node in reversed([*found]):  # from the inside out
            if code.co_name == getattr(node, "name", "<lambda>") and _is_inside(code, node):
                return node
    raise NoSource(f"{code.co_name} has no source, or one that has changed since")


class _Source(NamedTuple):
    """All functions in a source, and the codes that it compiles to, by the line at which they begin."""

    tree: ast.Module
    definitions: dict[int, list[Definition]]
    codes: dict[int, list[types.CodeType]]


@lru_cache(maxsize=256)
def _read(text: str, flags: int) -> _Source:
    definitions: dict[int, list[Definition]] = {}
    codes: dict[int, list[types.CodeType]] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise NoSource("the source has changed since") from None
    statements: list[Any] = [tree]
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            definitions.setdefault(min([node.lineno, *(d.lineno for d in node.decorator_list)]), []).append(node)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements += getattr(node, part, [])
    # Cells of a notebook may await outside of functions.
    whole = compile(tree, "<source>", "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    to_see = [whole]
    for code in to_see:
        codes.setdefault(code.co_firstlineno, []).append(code)
        to_see += codes_in(code)
    return _Source(tree, definitions, codes)


def _is_inside(code: types.CodeType, node: Definition) -> bool:
    """Whether all of the code comes from this piece of the source; a line can have several lambdas."""
    if isinstance(node, ast.FunctionDef):
        return True
    if node.lineno != code.co_firstlineno:
        return False
    arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if arguments != list(code.co_varnames[: len(arguments)]):
        return False
    first, last = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and b != 0 and d != 0]
    return all(first <= (a, c) and (b, d) <= last for a, c, b, d in places)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The codes of the functions that are defined in a function."""
    return (constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def bare(node: Definition) -> ast.FunctionDef:
    """A copy of a definition of which only arguments and body are left."""
    node = copy.deepcopy(node)
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.decorator_list, node.returns = [], None
        return node
    made = ast.parse("def f(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(made, node)


def compiled(node: ast.FunctionDef, f: types.FunctionType, free: tuple[str, ...]) -> types.CodeType:
    """The code of a definition in which the names `free` are closed over, as they are in f."""
    outer = ast.parse(f"def outer__({', '.join(free)}): pass")
    around: Any = outer.body[0]
    around.body = [node]
    flags = f.__code__.co_flags & FUTURE
    module = compile(ast.fix_missing_locations(outer), f.__code__.co_filename, "exec", flags, dont_inherit=True)
    (code,) = codes_in(next(codes_in(module)))
    return code
