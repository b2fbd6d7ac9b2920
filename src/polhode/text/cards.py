"""Methods and torques as text: the lists and cards of the command line and of docs/reference/methods.md."""

import ast
import enum
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from itertools import chain, pairwise
from types import ModuleType
from typing import Any, NamedTuple, get_args, get_type_hints

from polhode import methods, torques
from polhode.kernels.steps.compose import KickedFreeStep, Splitting, Stage
from polhode.kernels.steps.flows import kick, spin1
from polhode.kernels.types import Depends, Inertia, Params, State, Vec3
from polhode.methods import Keeps, Method, Option
from polhode.text.references import citation
from polhode.torques import Torque

LETTERS = {
    Keeps.SYMPLECTIC: "S",
    Keeps.REVERSIBLE: "R",
    Keeps.ENERGY: "E",
    Keeps.MOMENTUM_NORM: "N",
    Keeps.SPATIAL_MOMENTUM: "M",
    Keeps.AXIAL_MOMENTUM: "A",
}
"""The letter for each property that a method keeps, in the order in which tables show them."""
READS = {Depends.POSITION: "q", Depends.TIME: "t", Depends.RATE: "w"}
"""The letter for each argument of a torque function that a torque may read."""
KEY = {
    "order": "of momentum/attitude; of a free body where that differs; exact: the error is round-off at any step",
    "keeps": "to round-off at any step, under a potential and when free: S symplectic form, R reversibility, E energy, "
    "N norm of the momentum, M momentum in space, A its component along the axis of the potential",
    "takes": "torques that read the attitude q, the time t, the rate w; free bodies always; g: bodies with a rotor; z: "
    "torques that carry numbers",
    "cost": "torque evaluations a step (*: they vary) + flows of a splitting (f)",
}
"""How to read a table of methods."""


class Family(NamedTuple):
    """Holds the methods of one module, or of one package besides polhode."""

    name: str
    heading: str
    """The first line of the module's docstring."""
    text: str
    """The rest of the module's docstring."""
    members: tuple[Method, ...]
    package: str | None = None
    """The installed package with its version; None for polhode's own."""


@cache
def families() -> tuple[Family, ...]:
    """All methods: polhode's own by the module that defines them, others by their packages."""
    others: dict[str, list[Method]] = {}
    for name, method in methods.catalogue().items():
        if package := methods.package(name):
            others.setdefault(package, []).append(method)
    foreign = [Family(p, f"From the package {p}", "", tuple(members), p) for p, members in others.items()]
    return *_own_families(), *foreign


def _own_families() -> Iterator[Family]:
    homes: dict[str, list[ModuleType]] = {name: [] for name in methods.catalogue() if not methods.package(name)}
    modules = methods.modules()
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Method):
                homes[value.name].append(module)
    home = {name: _definer(name, holders) for name, holders in homes.items()}
    for module in modules:
        heading, _, text = (inspect.getdoc(module) or "").partition("\n")
        members = tuple(methods.catalogue()[name] for name in homes if home[name] is module)
        if members:
            yield Family(module.__name__.rpartition(".")[2], heading.rstrip("."), text.strip(), members)


def _definer(name: str, holders: list[ModuleType]) -> ModuleType:
    """The module that defines a method, among those that hold it: the one that has not imported it."""
    if len(holders) == 1:
        return holders[0]
    own = [module for module in holders if name not in _imported(module)]
    return (own or holders)[0]


def _imported(module: ModuleType) -> set[str]:
    """The methods that come into a module by its import statements."""
    found = (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom))
    values = (vars(module).get(alias.asname or alias.name) for node in found for alias in node.names)
    return {value.name for value in values if isinstance(value, Method)}


def family(method: Method) -> Family | None:
    """The family of a method, or of the method it is a variant of; None for a method of the user's own."""
    bare = method.bare_name
    return next((f for f in families() if any(m.name == bare for m in f.members)), None)


# --- a line for each method ----------------------------------------------------------------------------------------

HEAD = ("method", "order", "free", "keeps", "free", "takes", "cost", "reference", "what it is")


def method_row(method: Method) -> tuple[str, ...]:
    """The cells of a method in a table; the columns are those of `HEAD`."""
    orders, when_free = (_orders_short(method.orders(free=free)) for free in (False, True))
    return (
        method.name,
        orders,
        when_free if when_free != orders else "",
        _letters(method.keeps) if method.accepts else "",
        _letters(method.keeps_when_free),
        "".join(letter if flag in method.accepts else "-" for flag, letter in READS.items())
        + ("g" if method.accepts_rotor else "-")
        + ("z" if method.takes_state else "-"),
        cost(method),
        method.cite.split(",")[0],
        method.summary,
    )


def method_table(width: int | None, one: str = "polhode methods NAME") -> str:
    """A table of all methods by family, of this width or as wide as its content; its end says how to see `one`."""
    rows = {f: [method_row(m) for m in f.members] for f in families()}
    widths = [max(len(row[k]) for row in (HEAD, *(r for group in rows.values() for r in group))) for k in range(8)]
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        widths.pop()  # the references
    room = None if width is None else width - sum(widths) - 2 * len(widths)

    def line(row: tuple[str, ...]) -> str:
        cells = [text.ljust(n) for text, n in zip(row, widths, strict=False)]
        if room is None or (room >= 24 and len(widths) == 8):
            cells.append(row[-1] if room is None or len(row[-1]) <= room else f"{row[-1][: room - 3].rstrip()}...")
        return "  ".join(cells).rstrip()

    blocks = [line(HEAD)]
    for f, group in rows.items():
        blocks.append(textwrap.fill(f.heading, width or 10_000) + "\n" + "\n".join(map(line, group)))
    key = "\n".join(_hanging(f"{name:7}{text}", 7, min(width or 120, 120)) for name, text in KEY.items())
    return "\n\n".join([*blocks, key, f"For one method in full, with options and an example: {one}"])


def start_rows() -> dict[str, list[tuple[str, ...]]]:
    """The methods that a newcomer needs, by purpose: name, order, torques that it takes, when to choose it."""
    out: dict[str, list[tuple[str, ...]]] = {}
    for purpose, choices in methods.START_HERE.items():
        rows = {name: method_row(methods.find(name)) for name in choices}
        out[purpose] = [(name, rows[name][1], rows[name][5], when) for name, when in choices.items()]
    return out


START_HEAD = ("method", "order", "takes", "choose it for")


def start_table(
    width: int | None, every: str = "polhode methods --all", one: str = "polhode methods NAME"
) -> str:  # fmt: skip
    """The methods for newcomers by purpose, within a width; the end says how to see `every` one, and `one`."""
    rows = start_rows()
    widths = [max(len(row[k]) for row in (START_HEAD, *chain.from_iterable(rows.values()))) for k in range(3)]
    margin = sum(widths) + 2 * len(widths)

    def line(row: tuple[str, ...]) -> str:
        cells = [text.ljust(n) for text, n in zip(row, widths, strict=False)]
        return _hanging("  ".join([*cells, row[-1].replace("`", "")]), margin, width or 10_000)

    blocks = [textwrap.fill(methods.ADVICE, min(width or 120, 120)), line(START_HEAD)]
    blocks += [textwrap.fill(p, width or 10_000) + "\n" + "\n".join(map(line, group)) for p, group in rows.items()]
    blocks += [f"{f.heading}\n{', '.join(m.name for m in f.members)}" for f in families() if f.package]
    key = "\n".join(_hanging(f"{name:7}{KEY[name]}", 7, min(width or 120, 120)) for name in ("order", "takes"))
    more = f"All {len(methods.catalogue())} methods: {every}\nOne in full: {one}"
    return "\n\n".join([*blocks, key, more])


def method_record(method: Method) -> dict[str, Any]:
    """A method for programs to read: the columns of the table under names of their own."""
    home = family(method)
    return {
        "name": method.name,
        "family": home.name if home else None,
        "package": home.package if home else None,
        "summary": method.summary,
        **_promises(method, method),
        "accepts": _names(method.accepts),
        "accepts_rotor": method.accepts_rotor,
        "steps_systems": method.steps_systems,
        "takes_state": method.takes_state,
        "with_rotor": _promises(method, method.promises(rotor=True)) if method.accepts_rotor else None,
        "cost": cost(method),
        "options": {option.name: option.default for option in method.options},
        "cite": [key for key in method.cite.split(",") if key],
    }


def _promises(method: Method, declared: Any) -> dict[str, Any]:
    """The promises of a method, in general or for bodies with a rotor."""
    orders = {
        name: dict(zip(("momentum", "attitude"), declared.orders(free=free), strict=True))
        for name, free in (("order", False), ("order_when_free", True))
    }
    kept = {"keeps": _names(declared.keeps) if method.accepts else []}
    return orders | kept | {"keeps_when_free": _names(declared.keeps_when_free)}


def _names(value: enum.Flag) -> list[str]:
    return [str(flag.name).lower() for flag in value]


def _letters(keeps: Keeps) -> str:
    return "".join(letter if flag in keeps else "-" for flag, letter in LETTERS.items())


def _orders_short(orders: tuple[int | None, int | None]) -> str:
    momentum, attitude = orders
    return "exact" if momentum is None and attitude is None else f"{_order(momentum)}/{_order(attitude)}"


def _order(order: int | None) -> str:
    return "exact" if order is None else str(order)


def cost(method: Method) -> str:
    """The torque evaluations of a step and, for a splitting, the flows: `1+5f`."""
    stages = method.scheme.without_veers().stages if isinstance(method.scheme, Splitting) else ()
    drifts = sum(s.flow is not kick for s in stages)
    flows = f"{drifts / method.advance:.3g}f" if drifts else ""
    if not method.accepts:
        return flows
    each = _evaluations(method)[1]
    pulls = "*" if each is None else f"{each / method.advance:.3g}"
    return "+".join(filter(None, [pulls, flows]))


def _evaluations(method: Method) -> tuple[int, int | None]:
    """The torque evaluations at the start and in one application of the method."""

    def pull(body: Inertia, p: Params, t: float, s: State) -> Vec3:
        return (0.0, 0.0, 0.0)

    scheme = method.scheme
    if isinstance(scheme, KickedFreeStep):  # its drift evaluates no torque, and may take long to prepare
        scheme = KickedFreeStep(Splitting((Stage(spin1, 1.0),)))
    stepper = scheme.bind(pull, method.accepts)
    return stepper.evaluations_at_start, stepper.evaluations_per_step


# --- one method in full --------------------------------------------------------------------------------------------


def method_card(method: Method, width: int) -> str:
    """Everything that is known about a method, with an example."""
    home = family(method)
    about = method.about or (home.text if home else "")
    paragraphs = [f"{method.name}: {method.summary}", *about.split("\n\n")]
    text = [textwrap.fill(" ".join(p.split()), width, break_on_hyphens=False) for p in paragraphs if p]
    facts = method_facts(method)
    margin = max(map(len, facts)) + 2
    lines = [_hanging(f"{name:{margin}}{value}", margin, width) for name, value in facts.items()]
    text.append("\n".join(lines))
    if method.options:
        text.append(_options(method, width))
    listed = (_hanging(f"  {citation(key)}", 4, width) for key in method.cite.split(",") if key)
    text.append("\n".join(["References", *listed]))
    text.append("In Python\n\n" + textwrap.indent(python_example(method), "    "))
    text.append("In a scenario file\n\n" + textwrap.indent(run_table(method), "    "))
    return "\n\n".join(text)


def method_facts(method: Method) -> dict[str, str]:
    """The property card: what is declared, and measured by the contract tests."""
    home = family(method)
    torqued, free = method.orders(free=False), method.orders(free=True)
    facts = {"family": home.heading if home else "a method of your own"}
    if method.also:
        facts["also called"] = ", ".join(method.also)
    facts["order"] = _orders_long(torqued) + (f"; of a free body {_orders_long(free)}" if free != torqued else "")
    if method.generalised_order:
        terms = [f"eps{f'^{k}' if k > 1 else ''} h^{r}" for k, r in enumerate(method.generalised_order, 1)]
        facts["generalised order"] = (
            f"{', '.join(map(str, method.generalised_order))}: under a torque of size eps the error is of the "
            f"size {' + '.join(terms)}"
        )
    if method.accepts:
        facts["keeps under a potential"] = flags(method.keeps)
    facts["keeps when free"] = flags(method.keeps_when_free)
    facts["accepts"] = f"torques that depend on {flags(method.accepts)}" if method.accepts else "free bodies only"
    facts["bodies with a rotor"] = _spoken_rotor(method)
    facts["systems"] = "yes" if method.steps_systems else "no"
    facts["numbers of a torque"] = "carried along, at the order of the momentum" if method.takes_state else "refused"
    if method.accepts:
        facts["torque evaluations"] = _spoken_evaluations(method)
    if method.variable_steps:
        facts["step"] = "chosen by the method; the one that you give is the first or the longest"
    elif method.advance != 1.0:
        facts["step"] = f"one application of the method advances {method.advance:g} of your steps"
    return facts


def _spoken_rotor(method: Method) -> str:
    """Says what is promised for gyrostats."""
    if not method.accepts_rotor:
        return "refused"
    declared = method.with_rotor
    if declared is None:
        return "accepted, with the same promises"
    torqued, free = declared.orders(free=False), declared.orders(free=True)
    orders = _orders_long(torqued) + (f"; when free {_orders_long(free)}" if free != torqued else "")
    return f"accepted; order: {orders}; keeps when free: {flags(declared.keeps_when_free)}"


def _orders_long(orders: tuple[int | None, int | None]) -> str:
    momentum, attitude = map(_order, orders)
    return "exact" if momentum == attitude == "exact" else f"momentum {momentum}, attitude {attitude}"


def _spoken_evaluations(method: Method) -> str:
    start, each = _evaluations(method)
    if each is None:
        return "varies from step to step"
    per = "a step" if method.advance == 1.0 else f"in {method.advance:g} steps"
    return f"{each} {per}" + (f", and {start} at the start" if start else "")


def _options(method: Method, width: int) -> str:
    chosen = dict(method.settings)
    names = {o.name: f"  {o.name}={written(chosen.get(o.name, o.default))}" for o in method.options}
    margin = max(map(len, names.values())) + 2
    lines = [f"{names[o.name]:{margin}}{option_text(o, show_default=o.name in chosen)}" for o in method.options]
    head = f"Options, wherever a method is named, as in {example_variant(method)}"
    return "\n".join([head, *(_hanging(line, margin, width) for line in lines)])


def option_text(option: Option, *, show_default: bool = False) -> str:
    """The meaning and the values of an option."""
    listed = f" [{', '.join(map(written, _values(option)))}]" if _values(option) else ""
    default = f" (default {written(option.default)})" if show_default else ""
    return f"{option.meaning}{listed}{default}"


def example_variant(method: Method) -> str:
    """The method with another value of an option, as one types it, or with the default if no other is known."""
    bare, first = method.bare_name, method.options[0]
    known = ((o, v) for o in method.options for v in (*_values(o), *o.examples) if v != o.default)
    option, value = next(known, (first, first.default))
    return f"{bare}({option.name}={written(value)})"


def _values(option: Option) -> tuple[Any, ...]:
    return option.choices or ((True, False) if isinstance(option.default, bool) else ())


def written(value: Any) -> str:
    """A value of an option as one types it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def python_example(method: Method) -> str:
    """A few lines that run as they are."""
    torque = "    ph.HeavyTop(weight=5),\n" if method.accepts else ""
    return (
        "import polhode as ph\n\n"
        "motion = ph.simulate(\n"
        "    ph.Body([2, 3, 4]),\n"
        f"{torque}"
        "    omega=[0.3, 3, 0.2],\n"
        "    t_span=(0, 1),\n"
        "    step=0.02,\n"
        f'    method="{method.name}",\n'
        ")\n"
        "print(motion)"
    )


def run_table(method: Method) -> str:
    """The [run] table of a scenario, for the same run."""
    return f'[run]\nt_span = [0.0, 1.0]\nstep = 0.02\nmethod = "{method.name}"'


def flags(value: enum.Flag) -> str:
    """The names of flags in words."""
    return ", ".join(str(flag.name).lower().replace("_", " ") for flag in value) or "nothing"


def _hanging(text: str, indent: int, width: int) -> str:
    return textwrap.fill(
        text, max(width, indent + 20), subsequent_indent=" " * indent, break_on_hyphens=False, drop_whitespace=True
    )


# --- torques -------------------------------------------------------------------------------------------------------


def torque_row(model: type[Torque]) -> tuple[str, ...]:
    """The cells of a torque: its parameters, what it depends on, whether it has a potential, its package."""
    listed = ", ".join(map(_parameter, _fields(model))) or "-"
    return (model.__name__, listed, depends_on(model), _potential(model), torques.package(model.__name__) or "")


def torque_rows() -> tuple[list[str], list[tuple[str, ...]]]:
    """The head and the rows of a table of all torques; it has their packages if one is not polhode's own."""
    rows = [torque_row(model) for model in torques.catalogue().values()]
    head = ["model", "parameters (= default)", "depends on", "potential", "package"]
    if any(row[-1] for row in rows):
        return head, rows
    return head[:-1], [row[:-1] for row in rows]


def torque_record(model: type[Torque]) -> dict[str, Any]:
    """A torque for programs to read. A parameter without a default has None."""
    return {
        "name": model.__name__,
        "package": torques.package(model.__name__),
        "summary": (inspect.getdoc(model) or "").partition("\n")[0],
        "parameters": {f.name: None if f.default is MISSING else f.default for f in _fields(model)},
        "required": [f.name for f in _fields(model) if f.default is MISSING],
        "depends_on": [word for word in depends_on(model).split(", ") if word != "nothing"],
        "potential": _potential(model) == "yes",
    }


def described(model: type[Torque]) -> str:
    """The docstring without its example in Python."""
    return (inspect.getdoc(model) or "").partition("\n\nExamples\n---")[0]


def torque_card(model: type[Torque]) -> str:
    """Everything that is known about a torque, with an example."""
    docs = _field_docs(model)
    package = torques.package(model.__name__)
    return "\n".join(
        [
            f"{model.__name__}: {described(model)}\n",
            *([f"package     {package}"] if package else []),
            f"depends on  {depends_on(model)}",
            f"potential   {_potential(model)}\n",
            *(f"{_parameter(field)}\n    {docs.get(field.name, '')}" for field in _fields(model)),
            f"\nIn a scenario file:\n\n[torque]\n{torque_example(model)}",
        ]
    )


def depends_on(model: type[Torque]) -> str:
    """The arguments on which a torque in body axes depends, in words."""
    words = {Depends.POSITION: "attitude", Depends.TIME: "time", Depends.RATE: "rate"}
    read = [words[flag] for flag in model.depends if flag is not Depends.POSITION or model.reads_attitude]
    return ", ".join(read) or "nothing"


def _fields(model: type[Torque]) -> tuple[Any, ...]:
    return fields(model)  # type: ignore[arg-type]  # every model is a dataclass


def _parameter(field: Any) -> str:
    return field.name if field.default is MISSING else f"{field.name} = {_toml(field.default)}"


def _potential(model: type[Torque]) -> str:
    return "no" if model.potential_kernel is Torque.potential_kernel else "yes"


def _field_docs(model: type[Torque]) -> dict[str, str]:
    """The string below each field, read from the source, since Python does not keep it."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    except OSError:  # a package without its sources
        return {}
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            docs[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return docs


def torque_example(model: type[Torque], *, explained: bool = False) -> str:
    """A [torque] table that works, with defaults or plausible numbers, and with `explained` their meanings."""
    hints = get_type_hints(model)
    docs = _field_docs(model) if explained else {}
    lines = [f'model = "{model.__name__}"']
    for field in _fields(model):
        value = _plausible(hints[field.name]) if field.default is MISSING else field.default
        value = model.example.get(field.name, value)
        if value is None:
            continue
        if field.name in docs:
            lines.append(f"# {docs[field.name]}")
        lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join(lines)


def _plausible(hint: Any) -> Any:
    """A plausible value of this type; of the first type if there are several."""
    inner = get_args(hint)
    if not inner:
        return 1.0
    if inner == (float, float, float):
        return (0.0, 0.0, 1.0)
    if getattr(hint, "__origin__", None) is tuple:
        return tuple(_plausible(x) for x in inner if x is not Ellipsis)
    return _plausible(inner[0])


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
