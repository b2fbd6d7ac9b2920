"""Bodies, torques and columns of tables, as options of commands write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

UNPHYSICAL_HELP = "Allow moments that no body has: one that exceeds the sum of the other two."

if TYPE_CHECKING:
    from polhode.body import Body
    from polhode.torques import Torque


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
