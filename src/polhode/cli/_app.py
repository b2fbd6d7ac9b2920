"""The application that the commands are added to."""

import re
from typing import Any

import typer
from typer.core import TyperGroup

ROWS_OF_NUMBERS = ("--body", "--mesh-centre", "--omega", "--point", "--steps")
"""Options whose value is a text of numbers, unless they take several values."""


class Commands(TyperGroup):
    """The commands. Wherever one takes several numbers, these may be separated by commas or by blanks."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for command in self.commands.values():
            command.short_help = " ".join((command.help or "").partition("\n\n")[0].split())  # or it would be cut off
            for parameter in command.params:
                _name_in_words(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts numbers as each option wants them."""
        command = self.commands.get(args[0]) if args else None
        return super().parse_args(ctx, args if command is None else _spread(command, args))


def _name_in_words(parameter: Any) -> None:
    """Has the help say <text> and not <list[str]>; what an argument is, its name says, with brackets and dots."""
    if parameter.param_type_name == "argument" and (metavar := parameter.metavar):
        parameter.make_metavar = lambda ctx=None: metavar
        parameter.get_usage_pieces = lambda ctx: [metavar]
    shown = getattr(parameter, "display_type_rich", None)
    if shown is None:  # an older Typer
        return
    words = {"str": "text", "float": "number", "int": "number", "int range": "number"}

    def name(ctx: Any) -> str:
        if parameter.param_type_name == "argument":
            return ""
        return re.sub(r"^<(?:list\[)?([\w ]+)\]?>$", lambda m: f"<{words.get(m[1], m[1].lower())}>", str(shown(ctx)))

    parameter.display_type_rich = name


def _spread(command: Any, args: list[str]) -> list[str]:
    """The arguments with the numbers after an option as separate values, or joined by commas into one."""
    options = {name: p for p in command.params if p.param_type_name == "option" for name in p.opts}
    made: list[str] = []
    rest = list(args)
    while rest:
        name, mark, value = (first := rest.pop(0)).partition("=")
        option = options.get(name)
        is_row = name in ROWS_OF_NUMBERS
        if option is None or option.is_flag or not (is_row or option.nargs > 1 or option.multiple):
            made.append(first)
            continue
        found: list[str] = []
        for text in [value] if mark else [*rest]:
            numbers = text.replace(",", " ").split()
            if not numbers or not all(map(_is_number, numbers)):
                break
            found += numbers
            del rest[: 0 if mark else 1]
        if not found:
            made.append(first)
        elif option.nargs > 1:
            if len(found) != option.nargs:
                raise typer.BadParameter(f"{name} takes {option.nargs} numbers, not {len(found)}: {' '.join(found)}")
            made += [name, *found]
        elif is_row:
            made += [name, ",".join(found)]
        else:
            made += [part for x in found for part in (name, x)]
    return made


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Without markup and pretty exceptions Typer never imports Rich, which would double the time of --help.
app = typer.Typer(
    name="polhode",
    cls=Commands,
    help="The rotation of rigid bodies: exact for free bodies, structure-preserving under a torque.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
