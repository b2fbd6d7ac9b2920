"""Write docs/reference/scenario.md from the models of scenario files: `python -m docs.make_scenario`."""

import ast
import dataclasses
import inspect
import types
import typing
from pathlib import Path
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from polhode import samples, scenario
from polhode.text import cards
from polhode.torques import catalogue

PAGE = Path(__file__).parent / "reference" / "scenario.md"

INTRODUCTION = """\
# The keys of scenario files

<!-- Made by docs/make_scenario.py from the models in src/polhode/scenario.py and the torques: edit those. -->

A scenario is a run written down in TOML; [Files](../howto/files.md) say how to run it, and what it may execute.
This page lists every key. Keys that are not listed are errors, and so are values of another type. Angles are in
radians, unless a name says `_deg`."""

SECTIONS: list[tuple[str, type[BaseModel]]] = [
    ("[body]", scenario._Body),
    ("[initial]", scenario._Initial),
    ("euler = {...}, euler_deg = {...} in [initial]", scenario._Euler),
    ("[torque], or several [[torque]]", scenario._Torque),
    ("[run]", scenario._Run),
    ("[[event]]", scenario._Event),
    ("[output]", scenario._Output),
    ("[ensemble]", scenario._Ensemble),
    ("distributions, in [ensemble]", scenario._Distribution),
    ("parameters = {...} in [ensemble]", scenario._ParameterDistribution),
    ("[drift]", scenario._Drift),
]


def page() -> str:
    """Returns the whole page."""
    parts = [INTRODUCTION, "## Tables", _table(scenario._File)]
    for heading, model in SECTIONS:
        parts += [f"## {heading}", inspect.cleandoc(model.__doc__ or ""), _table(model)]
        if model is scenario._Torque:
            parts += [_file_torques(), _torques()]
        if model is scenario._Distribution:
            parts.append(_distributions())
    return "\n\n".join(parts) + "\n"


def sentences(model: type[BaseModel]) -> dict[str, str]:
    """Returns the sentence under each key of a model, from the source."""
    (made,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(made, ast.ClassDef)
    found: dict[str, str] = {}
    for line, below in zip(made.body, made.body[1:], strict=False):
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[line.target.id] = " ".join(str(below.value.value).split())
    return found


def _table(model: type[BaseModel]) -> str:
    about = sentences(model)
    own = {name: field for name, field in model.model_fields.items() if name in model.__annotations__}
    if missing := own.keys() - about.keys():
        raise ValueError(f"{model.__name__}: no sentence for {', '.join(sorted(missing))}")
    hints = typing.get_type_hints(model)
    rows = [
        f"| `{name}` | {_kind(hints[name], field)} | {_default(field)} | {about[name]} |" for name, field in own.items()
    ]
    return "\n".join(["| key | value | default | |", "|---|---|---|---|", *rows])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == () or value == {} or value == "" or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _kind(hint: Any, field: FieldInfo | None = None) -> str:
    """Returns a type in words."""
    said = _in_words(hint)
    for limit in field.metadata if field is not None else ():
        if isinstance(limit, Ge):
            said += f", {limit.ge} or more"
        if isinstance(limit, Le):
            said += f", at most {limit.le}"
        if isinstance(limit, Gt):
            said += f", above {limit.gt}"
        if isinstance(limit, Lt):
            said += f" and below {limit.lt}"
    return said


def _in_words(hint: Any) -> str:
    plain = {float: "number", int: "whole number", str: "text", bool: "true or false"}
    if hint in plain:
        return plain[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_in_words(a) for a in arguments if a is not types.NoneType)
    if origin is typing.Literal:
        return f"{', '.join(map(str, arguments[:-1]))} or {arguments[-1]}"
    if origin is dict:
        return f"table of {_in_words(arguments[1])}s"
    if origin is tuple and arguments[-1] is Ellipsis:
        return "tables" if _is_table(arguments[0]) else f"list of {_in_words(arguments[0]).removesuffix('s')}s"
    if origin is tuple and typing.get_origin(arguments[0]) is tuple:
        return f"{len(arguments)} rows of {_in_words(arguments[0])}"
    if origin is tuple:
        return f"{len(arguments)} {_in_words(arguments[0])}s"
    if _is_table(hint):
        return "distribution" if issubclass(hint, scenario._Distribution) else "table"
    raise TypeError(f"no words for {hint}")


def _is_table(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _file_torques() -> str:
    keys = " and ".join(f"`{name}`" for name in scenario._SETTINGS)
    return (
        f"Of a function in a Python file, {keys} can be given: the numbers that it finds in p, and whether it is\n"
        "compiled. `Table` also takes `file`, the name of a text file with a column for the time and three for the\n"
        "torque. Every model has its own keys; `polhode torques NAME` shows units and an example, and\n"
        "[orbit.md](../howto/orbit.md) how orbits and fields are written."
    )


def _torques() -> str:
    rows = []
    for name, model in catalogue().items():
        record = cards.torque_record(model)
        if record["package"] is not None:
            continue
        keys = [
            f"**`{key}`**" if key in record["required"] else _optional(key, value)
            for key, value in record["parameters"].items()
        ]
        rows.append(f"| `{name}` | {', '.join(keys)} | {record['summary']} |")
    return "\n".join(["| model | keys: required ones in bold, others with their defaults | |", "|---|---|---|", *rows])


def _distributions() -> str:
    rows = []
    for name in samples.__all__:
        kind = getattr(samples, name)
        keys = [
            f"`{f.name}`" if f.default is dataclasses.MISSING else _optional(f.name, f.default)
            for f in dataclasses.fields(kind)
        ]
        summary = inspect.cleandoc(kind.__doc__ or "").splitlines()[0]
        rows.append(f"| `{name}` | {', '.join(keys)} | {summary} |")
    text = "Without `mean`, `around` or `body`, a distribution is centred on the nominal value of the other tables."
    return "\n".join([text, "", "| kind | keys | |", "|---|---|---|", *rows])


def _optional(key: str, default: Any) -> str:
    return f"`{key}`" if default is None else f"`{key} = {_written(default)}`"


def _written(value: Any) -> str:
    """Returns a value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
