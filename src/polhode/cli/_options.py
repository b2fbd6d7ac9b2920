"""Options that several commands have: flags, bodies, torques and columns of tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from polhode.body import Body
    from polhode.scenario import Scenario
    from polhode.torques import Torque

AllowUnphysical = Annotated[
    bool,
    typer.Option("--allow-unphysical", help="Allow moments that no body has: one that exceeds the sum of the others."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with all digits.")]
BodyText = Annotated[
    str | None,
    typer.Option(
        help="Principal moments, as in 1,2,3; or Ixx,Iyy,Izz,Ixy,Ixz,Iyz, the elements of the tensor; or the name of a "
        "body."
    ),
]
ColumnTexts = Annotated[
    list[str] | None,
    typer.Option(
        help="What columns hold, if their names do not say it, as in omega_deg=P,Q,R or t=T or 'euler(ZYX)=a,b,c'. It "
        "can be given several times."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless something is wrong.")]
ScenarioFile = Annotated[Path | None, typer.Option(help="Take body, torque and start from this scenario file instead.")]
TorqueText = Annotated[
    str | None,
    typer.Option(help="A model of `polhode torques` with its fields, as in 'HeavyTop(weight=9.81)'; + joins several."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Allow scenarios to execute Python files (model = 'file.py:function') that lie outside their folders.",
    ),
]


def problem_of(
    body: str | None, allow_unphysical: bool, torque: str | None, scenario: Path | None, trust: bool
) -> tuple[Body, Torque | None, Scenario | None]:
    """The body and the torque that the options name, and the scenario that they are taken from."""
    if scenario is not None:
        from polhode.scenario import load_scenario

        if body is not None or torque is not None:
            raise ValueError("give either --scenario or --body and --torque, not both")
        given = load_scenario(scenario, trust=trust)
        return given.body, given.torque, given
    if body is None:
        raise ValueError("give the body: --body 1,2,3 for its principal moments, or --scenario FILE.toml")
    return body_of(body, allow_unphysical), None if torque is None else torque_of(torque), None


def body_of(text: str, allow_unphysical: bool) -> Body:
    """The body that --body names: moments, the elements of a tensor, or a name."""
    from polhode.body import Body

    try:
        numbers = [float(x) for x in text.replace(";", ",").replace(",", " ").split()]
    except ValueError:
        return Body.named(text)
    if len(numbers) == 3:
        return Body(numbers, allow_unphysical=allow_unphysical)
    if len(numbers) == 6:
        xx, yy, zz, xy, xz, yz = numbers
        return Body([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], allow_unphysical=allow_unphysical)
    raise ValueError(f"--body {text} has {len(numbers)} numbers: give three moments, or Ixx,Iyy,Izz,Ixy,Ixz,Iyz")


def torque_of(text: str) -> Torque:
    """A torque written as in Python; nothing is executed."""
    import ast

    from polhode.torques import find

    wrong = f"--torque {text!r} must be written like 'HeavyTop(weight=9.81)', with numbers and lists of them"

    def made(node: ast.expr) -> Torque:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return made(node.left) + made(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return float(ast.literal_eval(node.left)) * made(node.right)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError(wrong)
        fields: dict[str, Any] = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg is not None}
        given: list[Any] = [ast.literal_eval(a) for a in node.args]
        model = find(node.func.id)
        try:
            return model(*given, **fields)
        except TypeError as problem:
            raise ValueError(
                f"--torque {text!r}: {problem}; `polhode torques {node.func.id}` lists its fields"
            ) from None

    try:
        return made(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise ValueError(wrong) from None


def columns_of(columns: list[str] | None) -> dict[str, Any] | None:
    """The quantity in each column, from texts such as omega=wx,wy,wz."""
    if not columns:
        return None
    made: dict[str, Any] = {}
    for text in columns:
        key, mark, names = text.partition("=")
        if not mark or not names:
            raise ValueError(f"--columns {text!r} must be written like omega=wx,wy,wz")
        made[key.strip()] = [name.strip() for name in names.split(",")]
    return made
