"""Translates kernels to C99: functions of floats, tuples and named tuples become functions of structs, to the bit.

A kernel has no types of its own. It is translated for the types that it is called with, from the functions that are
wanted down to those that they call; so each C function has one Python function, whose name and first line it bears.
Only what kernels use is known; anything else raises `NotImplementedError` with the line.
"""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, get_args, get_type_hints

from polhode.kernels import ops

Type = str
"""A type of C: `double`, `int`, `double *`, or the name of a struct."""

HELPERS = """\
static double least(double a, double b) { return b < a ? b : a; }
static double greatest(double a, double b) { return b > a ? b : a; }
static int modulo(int a, int b) { return (a % b + b) % b; }
static D2 two_product(double a, double b) { double p = a * b; return (D2){{p, fma(a, b, -p)}}; }
"""
"""Minima and maxima as Python has them, remainders that are never negative, and products by one rounding."""

FUNCTIONS: dict[Any, str] = {getattr(math, name): name for name in (
    "asinh", "atan2", "copysign", "cos", "exp", "fabs", "log", "sin", "sqrt"
)} | {ops.fma: "fma"}  # fmt: skip

RESERVED = {
    "auto", "case", "char", "const", "default", "do", "double", "enum", "extern", "float", "goto", "inline", "int",
    "long", "register", "restrict", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile",
}  # fmt: skip
"""Words of C that names of Python may be."""

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&&", ast.BitOr: "||", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "&&", ast.Or: "||",
    ast.USub: "-", ast.UAdd: "+",
}  # fmt: skip


@dataclass(frozen=True)
class Struct:
    """A struct of C: a row of values of one type, or fields with names."""

    name: Type
    types: tuple[Type, ...]
    fields: tuple[str, ...] = ()
    """The names of the fields; none for a row."""

    def member(self, value: str, index: int) -> str:
        """The expression for one of its values."""
        return f"{value}.{self.fields[index]}" if self.fields else f"{value}.v[{index}]"

    def made_of(self, values: Sequence[str]) -> str:
        """The expression for a struct of these values."""
        inside = ", ".join(values)
        return f"({self.name}){{{inside}}}" if self.fields else f"({self.name}){{{{{inside}}}}}"

    def declaration(self) -> str:
        """Its type definition."""
        if not self.fields:
            return f"typedef struct {{ {self.types[0]} v[{len(self.types)}]; }} {self.name};"
        members = " ".join(f"{kind} {name};" for kind, name in zip(self.types, self.fields, strict=True))
        return f"typedef struct {{ {members} }} {self.name};"


class Translation:
    """The C text of kernels: `function` adds one with all that it calls, `text` is the whole."""

    def __init__(self) -> None:
        self.structs: dict[Type, Struct] = {}
        self.functions: dict[tuple[Any, tuple[Type, ...]], tuple[str, Type]] = {}
        self.names: set[str] = set()
        self.bodies: list[str] = []
        self.row(("double",) * 2)

    def text(self) -> str:
        """Types, helpers and functions, each after what it needs."""
        declarations = [s.declaration() for s in self.structs.values()]
        return "\n".join([*declarations, "", HELPERS, "\n\n".join(self.bodies)]) + "\n"

    def row(self, types: tuple[Type, ...]) -> Struct:
        """The struct for a plain tuple."""
        if len(set(types)) == 1:
            short = {"double": "D", "int": "N"}.get(types[0], f"{types[0]}x")
            return self.structs.setdefault(f"{short}{len(types)}", Struct(f"{short}{len(types)}", types))
        name = "Of_" + "_".join({"double": "d", "int": "n"}.get(t, t) for t in types)
        return self.structs.setdefault(name, Struct(name, types, tuple(f"f{i}" for i in range(len(types)))))

    def record(self, cls: Any) -> Struct:
        """The struct for a named tuple."""
        if cls.__name__ not in self.structs:
            hints = get_type_hints(cls)
            names = tuple(name for name in cls._fields if ... not in get_args(hints[name]))  # no free motion has those
            types = tuple(self.type_of(hints[name]) for name in names)
            self.structs[cls.__name__] = Struct(cls.__name__, types, names)
        return self.structs[cls.__name__]

    def type_of(self, hint: Any) -> Type:
        """The C type of an annotation."""
        if hint in (float, int):
            return "double" if hint is float else "int"
        if hasattr(hint, "_fields"):
            return self.record(hint).name
        return self.row(tuple(self.type_of(part) for part in hint.__args__)).name

    def function(self, f: Callable[..., Any], types: tuple[Type, ...]) -> tuple[str, Type]:
        """The C name and the result's type of a kernel for these types of arguments."""
        if (f, types) not in self.functions:
            name = f"{f.__module__.rpartition('.')[2]}_{f.__name__.strip('_')}"
            if f.__module__ == "polhode.kernels.codegen":
                name = f.__name__
            while name in self.names:
                name += "_"
            self.names.add(name)
            result, body = _Function(self, f, types).translated(name)
            self.functions[f, types] = name, result
            self.bodies.append(body)
        return self.functions[f, types]


@dataclass
class _Function:
    """The translation of one kernel for given types of arguments."""

    all: Translation
    python: Callable[..., Any]
    types: tuple[Type, ...]
    lines: list[str] = field(default_factory=list)
    variables: dict[str, tuple[str, Type]] = field(default_factory=dict)
    """The C name and type that each Python name has now: one that changes its type has another C name from then on."""
    declared: dict[str, Type] = field(default_factory=dict)
    result: Type = "void"
    depth: int = 1

    def translated(self, name: str) -> tuple[Type, str]:
        """The type of the result, and the text."""
        source = getattr(self.python, "__text__", None) or inspect.getsource(self.python)
        tree = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.scope = {**vars(math), **self.python.__globals__, **inspect.getclosurevars(self.python).nonlocals}
        names = [a.arg for a in tree.args.args]
        self.variables = {n: (n, t) for n, t in zip(names, self.types, strict=True)}
        parameters = ", ".join(f"{t} {n}".replace("* ", "*") for n, t in zip(names, self.types, strict=True))
        self.block(tree.body)
        doc = (ast.get_docstring(tree) or "").partition("\n")[0]
        declarations = [f"    {t} {n};" for n, t in self.declared.items()]
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        declarations += [f"    (void){n};" for n in names if n not in read]
        head = [f"/* {doc} */"] if doc else []
        return self.result, "\n".join(
            [*head, f"static {self.result} {name}({parameters}) {{", *declarations, *self.lines, "}"]
        )

    def refuse(self, node: ast.AST) -> NoReturn:
        raise NotImplementedError(f"{self.python.__qualname__}: {ast.unparse(node)} has no translation to C")

    # --- statements

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        self.say(head + " {")
        self.depth += 1
        yield
        self.depth -= 1
        self.say("}")

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, type(statement).__name__, self.refuse)(statement)

    def Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.say(self.value(node.value)[0] + ";")

    def Pass(self, _: ast.Pass) -> None:
        pass

    def Break(self, _: ast.Break) -> None:
        self.say("break;")

    def Return(self, node: ast.Return) -> None:
        assert node.value is not None
        text, kind = self.value(node.value)
        self.result = kind if self.result in ("void", "int") else self.result
        self.say(f"return {text};")

    def If(self, node: ast.If) -> None:
        test = self.value(node.test)[0]
        if isinstance(node.test, ast.Compare):
            test = test[1:-1]  # Clang warns of parentheses about a whole comparison
        with self.braces(f"if ({test})"):
            self.block(node.body)
        if node.orelse:
            with self.braces("else"):
                self.block(node.orelse)

    def While(self, node: ast.While) -> None:
        with self.braces(f"while ({self.value(node.test)[0]})"):
            self.block(node.body)

    def For(self, node: ast.For) -> None:
        if not (isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)):
            self.refuse(node)
        bounds = [self.value(a)[0] for a in node.iter.args]
        first, end = bounds if len(bounds) == 2 else ("0", bounds[0])
        i = self.named(node.target.id + "_" if node.target.id == "_" else node.target.id, "int")
        self.variables[node.target.id] = i, "int"
        with self.braces(f"for ({i} = {first}; {i} < {end}; {i}++)"):
            self.block(node.body)

    def AugAssign(self, node: ast.AugAssign) -> None:
        target = self.value(node.target)[0]
        self.say(f"{target} {OPERATORS[type(node.op)]}= {self.value(node.value)[0]};")

    def AnnAssign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self.assign(node.target, *self.value(node.value))

    def Assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Call) and self.constant(value.func) is ops.scratch:
            assert isinstance(target, ast.Name)
            self.declared[f"{target.id}[{self.constant(value.args[0])}]"] = "double"
            self.variables[target.id] = target.id, "double *"
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            # All values are computed before the first name changes.
            values = [self.value(v) for v in value.elts]
            reads = {n.id for v in value.elts for n in ast.walk(v) if isinstance(n, ast.Name)}
            if any(isinstance(t, ast.Name) and t.id in reads for t in target.elts):
                values = [(self.kept(text, kind), kind) for text, kind in values]
            for t, (text, kind) in zip(target.elts, values, strict=True):
                self.assign(t, text, kind)
        else:
            self.assign(target, *self.value(value))

    def assign(self, target: ast.expr, text: str, kind: Type) -> None:
        if isinstance(target, ast.Name):
            held = self.named(target.id, kind)
            self.variables[target.id] = held, self.declared.get(held, kind)
            self.say(f"{held} = {text};")
        elif isinstance(target, ast.Tuple):
            struct, whole = self.all.structs[kind], self.kept(text, kind)
            for i, part in enumerate(target.elts):
                if not (isinstance(part, ast.Name) and part.id.startswith("_")):
                    self.assign(part, struct.member(whole, i), struct.types[i])
        else:
            self.say(f"{self.value(target)[0]} = {text};")

    def named(self, name: str, kind: Type) -> str:
        """The C variable for a Python name that is given a value of this type."""
        if name in self.variables and self.variables[name][1] in (kind, "double" if kind == "int" else kind):
            return self.variables[name][0]
        held = name
        while held in RESERVED or held in self.declared or held in {n for n, _ in self.variables.values()}:
            held += "_"
        self.declared[held] = kind
        return held

    def kept(self, text: str, kind: Type) -> str:
        """A new variable that holds a value."""
        name = f"part{len(self.declared)}"
        self.declared[name] = kind
        self.say(f"{name} = {text};")
        return name

    # --- expressions: the text and the type

    def value(self, node: ast.expr) -> tuple[str, Type]:
        if isinstance(node, ast.Name) and node.id in self.variables:
            return self.variables[node.id]
        known = self.constant(node)
        if known is not None and not callable(known) and not inspect.ismodule(known):
            return self.literal(known)
        found: tuple[str, Type] = getattr(self, "of_" + type(node).__name__, self.refuse)(node)
        return found

    def constant(self, node: ast.expr) -> Any:
        """What an expression is before the program runs, or None."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if names & set(self.variables) or any(isinstance(n, ast.Call) for n in ast.walk(node)):
            return None
        try:
            return eval(compile(ast.Expression(node), "", "eval"), dict(self.scope))
        except (NameError, AttributeError, TypeError):
            return None

    def literal(self, value: Any) -> tuple[str, Type]:
        if isinstance(value, bool | int):
            return str(int(value)), "int"
        if isinstance(value, float):
            return ("NAN" if math.isnan(value) else "INFINITY" if math.isinf(value) else repr(value)), "double"
        parts = [self.literal(part) for part in value]
        struct = self.all.record(type(value)) if hasattr(value, "_fields") else self.all.row(tuple(k for _, k in parts))
        return struct.made_of([text for text, _ in parts]), struct.name

    def of_Tuple(self, node: ast.Tuple) -> tuple[str, Type]:
        texts, kinds = self.spread(node.elts)
        if set(kinds) == {"int", "double"}:
            kinds = ["double"] * len(kinds)
        struct = self.all.row(tuple(kinds))
        return struct.made_of(texts), struct.name

    def spread(self, nodes: Sequence[ast.expr]) -> tuple[list[str], list[Type]]:
        """The values of arguments or elements, starred ones one by one."""
        texts: list[str] = []
        kinds: list[Type] = []
        for node in nodes:
            text, kind = self.value(node.value if isinstance(node, ast.Starred) else node)
            if isinstance(node, ast.Starred):
                struct, whole = self.all.structs[kind], self.kept(text, kind)
                texts += [struct.member(whole, i) for i in range(len(struct.types))]
                kinds += struct.types
            else:
                texts.append(text)
                kinds.append(kind)
        return texts, kinds

    def of_Attribute(self, node: ast.Attribute) -> tuple[str, Type]:
        text, kind = self.value(node.value)
        struct = self.all.structs[kind]
        return f"{text}.{node.attr}", struct.types[struct.fields.index(node.attr)]

    def of_Subscript(self, node: ast.Subscript) -> tuple[str, Type]:
        text, kind = self.value(node.value)
        if kind == "double *":
            return f"{text}[{self.value(node.slice)[0]}]", "double"
        struct, index = self.all.structs[kind], self.constant(node.slice)
        if index is not None:
            return struct.member(text, index), struct.types[index]
        if struct.fields:
            self.refuse(node)
        return f"{text}.v[{self.value(node.slice)[0]}]", struct.types[0]

    def of_UnaryOp(self, node: ast.UnaryOp) -> tuple[str, Type]:
        text, kind = self.value(node.operand)
        return (f"!({text})", "int") if isinstance(node.op, ast.Not) else (f"-{text}", kind)

    def of_BinOp(self, node: ast.BinOp) -> tuple[str, Type]:
        (a, one), (b, other) = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod):
            return f"modulo({a}, {b})", "int"
        if isinstance(node.op, ast.Pow) and b == "2":
            return f"({a} * {a})", one
        return f"({a} {OPERATORS[type(node.op)]} {b})", "int" if (one, other) == ("int", "int") else "double"

    def of_BoolOp(self, node: ast.BoolOp) -> tuple[str, Type]:
        return "(" + f" {OPERATORS[type(node.op)]} ".join(self.value(v)[0] for v in node.values) + ")", "int"

    def of_Compare(self, node: ast.Compare) -> tuple[str, Type]:
        values = [self.value(v)[0] for v in (node.left, *node.comparators)]
        pairs = zip(values, node.ops, values[1:], strict=False)
        return "(" + " && ".join(f"{a} {OPERATORS[type(op)]} {b}" for a, op, b in pairs) + ")", "int"

    def of_IfExp(self, node: ast.IfExp) -> tuple[str, Type]:
        (a, one), (b, other) = self.value(node.body), self.value(node.orelse)
        return f"({self.value(node.test)[0]} ? {a} : {b})", "double" if "double" in (one, other) else one

    def of_Call(self, node: ast.Call) -> tuple[str, Type]:
        f = self.constant(node.func)
        texts, kinds = self.spread(node.args)
        if f in FUNCTIONS:
            return f"{FUNCTIONS[f]}({', '.join(texts)})", "double"
        if f in (min, max):
            whole = texts[0]
            for text in texts[1:]:
                whole = f"{'least' if f is min else 'greatest'}({whole}, {text})"
            return whole, "double"
        if f in (float, int):
            return f"({'double' if f is float else 'int'}){texts[0]}", "double" if f is float else "int"
        if f is abs:
            return (f"fabs({texts[0]})", "double") if kinds[0] == "double" else (f"abs({texts[0]})", "int")
        if f is ops.two_product:
            return f"two_product({', '.join(texts)})", "D2"
        if f is ops.where:
            return f"({texts[0]} ? {texts[1]} : {texts[2]})", kinds[1]
        if f is ops.all_of:
            return texts[0], "int"
        if hasattr(f, "_fields"):
            record = self.all.record(f)
            return record.made_of(texts), record.name
        if not inspect.isfunction(f) or hasattr(f, "__primitive__"):
            self.refuse(node)
        name, result = self.all.function(f, tuple(kinds))
        return f"{name}({', '.join(texts)})", result
