"""Write docs/reference/methods.md, and a page for each family, from the catalogue: `python -m docs.make_methods`."""

from pathlib import Path

from polhode import methods
from polhode.methods import Method
from polhode.text import cards
from polhode.text.references import citation

REFERENCE = Path(__file__).parent / "reference"

MADE = "<!-- Made by docs/make_methods.py from the declarations in src/polhode/methods: edit those. -->"

MEASURED = """\
## All methods

Whatever stands here is measured: the contract tests run every method, compare its order with the one declared, and
check at steps far too large to be accurate that it keeps what it claims, and that it does not keep what it does not
claim. In the shell, `polhode methods --all` prints the tables and `polhode methods NAME` one method with its options,
its literature and an example; with `--json` both are for programs to read. `polhode compare` measures errors and costs
on a motion of your own ([compare.md](../howto/choose_method.md)).

Each family has a page:
"""

TREE = """\
```{toctree}
:hidden:
:glob:

methods/*
```
"""


def pages() -> dict[Path, str]:
    """The text of every page, by its place."""
    families = [family for family in cards.families() if not family.package]
    links = "\n".join(f"- [{_plain(f.heading)}](methods/{f.name}.md): {_named(f.members)}" for f in families)
    front = ["# Methods", MADE, start_here(), MEASURED + "\n" + links, "How to read the tables:\n\n" + _key(), TREE]
    return {
        REFERENCE / "methods.md": "\n\n".join(front),
        **{REFERENCE / "methods" / f"{family.name}.md": family_page(family) for family in families},
    }


def family_page(family: cards.Family) -> str:
    """The table of a family, its methods, and the literature that they cite."""
    parts = [f"# {family.heading}", MADE, family.text, _table(family.members)]
    parts += [_method(method) for method in family.members if method.about or method.options]
    cited = {key for method in family.members for key in method.cite.split(",")}
    parts.append("## References\n\n" + "\n".join(f"- {citation(key)}" for key in sorted(cited)))
    return "\n\n".join(filter(None, parts)) + "\n"


def _key() -> str:
    return "\n".join(f"- *{name}*: {_plain(text)}." for name, text in cards.KEY.items())


def _named(members: tuple[Method, ...]) -> str:
    return ", ".join(f"`{method.name}`" for method in members)


def start_here() -> str:
    """The methods that a newcomer needs, by what they are for."""
    parts = [f"## Start here\n\n{_plain(methods.ADVICE)}"]
    for purpose, rows in cards.start_rows().items():
        head, *body = (f"| {' | '.join(map(_plain, row))} |" for row in (cards.START_HEAD, *rows))
        parts.append("\n".join([f"**{purpose}**", "", head, "|---" * len(cards.START_HEAD) + "|", *body]))
    return "\n\n".join(parts)


def _table(members: tuple[Method, ...]) -> str:
    rows = [cards.HEAD, *map(cards.method_row, members)]
    head, *body = (f"| {' | '.join(map(_plain, row))} |" for row in rows)
    return "\n".join([head, "|---" * len(cards.HEAD) + "|", *body])


def _plain(text: str) -> str:
    """Returns text that Markdown leaves alone."""
    return text.replace("|", "\\|").replace("*", "\\*")


def _method(method: Method) -> str:
    """Returns a paragraph as one line: a line break before a sign would make a list of it."""
    text = f"**{method.name}.** {_plain(method.about or method.summary)}"
    options = [f"- `{o.name}={cards.written(o.default)}`: {_plain(cards.option_text(o))}" for o in method.options]
    return "\n".join([text, "", *options]) if options else text


if __name__ == "__main__":
    for place, text in pages().items():
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, "utf-8")
