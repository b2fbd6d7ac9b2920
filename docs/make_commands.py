"""The page of the command line, from the commands themselves: docs/reference/commands.md, written by `make docs`."""

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from polhode.cli import app

PAGE = Path(__file__).parent / "reference" / "commands.md"

INTRODUCTION = """\
# The command line

`polhode COMMAND --help` says the same in a terminal. `polhode --install-completion` teaches your shell to complete
commands, options and file names; open a new shell then. Every command leaves 0 if all went well, and says in one line
what was wrong if it did not.
"""


def page() -> str:
    """Returns the whole page."""
    top: Any = typer.main.get_command(app)
    parts = [INTRODUCTION]
    for name, command in _sorted(top):
        if hasattr(command, "commands"):
            parts += [f"## polhode {name}", _text(command)]
            parts += [_command(f"polhode {name} {inner}", found, "###") for inner, found in _sorted(command)]
        else:
            parts.append(_command(f"polhode {name}", command, "##"))
    return "\n\n".join(parts) + "\n"


def _sorted(group: Any) -> list[tuple[str, Any]]:
    return sorted((name, command) for name, command in group.commands.items() if not command.hidden)


def _text(command: Any) -> str:
    return _plain(inspect.cleandoc((command.help or "").partition("\f")[0]))


def _command(title: str, command: Any, heading: str) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([title, "[OPTIONS]" if options else "", *map(_written, arguments)])
    rows = [f"| `{_written(p)}` | {_about(p)} |" for p in arguments]
    rows += [f"| {_names(p)} | {_about(p)} |" for p in options]
    table = ["| | |", "|---|---|", *rows] if rows else []
    return "\n\n".join([f"{heading} {title}", f"    {' '.join(usage.split())}", _text(command), "\n".join(table)])


def _written(argument: Any) -> str:
    return argument.metavar or (argument.name.upper() if argument.required else f"[{argument.name.upper()}]")


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    kind = "" if option.is_flag else f" `{option.metavar or option.name.upper()}`"
    return names + kind


def _about(parameter: Any) -> str:
    text = _plain(" ".join((getattr(parameter, "help", None) or "").split()))
    default = getattr(parameter, "default", None)
    shown = default is not None and not callable(default) and default not in (False, True, (), [], "")
    return f"{text} Default: `{default}`." if shown and getattr(parameter, "show_default", False) else text


def _plain(text: str) -> str:
    """Returns text that Markdown leaves alone."""
    text = re.sub(r"\[/?(?:bold|dim|italic|cyan)\]", "", text).replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"(?<!`)<(\w)", r"\\<\1", text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
