"""Results of `polhode.methods()` and `polhode.torques()`: lists and cards, to read and to use as data."""

import html
import shutil
from collections.abc import Sequence
from typing import Any

from polhode.methods import ADVICE, START_HERE
from polhode.methods import catalogue as all_methods
from polhode.methods import find as find_method
from polhode.text import cards
from polhode.torques import catalogue as all_torques
from polhode.torques import find as find_torque

CARD_CHARACTERS = 100
"""The greatest width of a card: longer lines are hard to read."""
Rows = Sequence[tuple[str, ...]]


class Card(dict[str, Any]):
    """Everything that is known about one method or torque: a dictionary that prints as a page."""

    def __init__(self, record: dict[str, Any], text: str) -> None:
        super().__init__(record)
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __reduce__(self) -> Any:
        """Pickles the record and the text."""
        return Card, (dict(self), self.text)


class Listing(dict[str, Card]):
    """Methods or torques by their names: a dictionary that prints as a table."""

    def __init__(self, members: dict[str, Card], head: Sequence[str], groups: dict[str, Rows], text: str) -> None:
        super().__init__(members)
        self.head, self.groups, self.text = tuple(head), groups, text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str = "td", span: int = 1) -> str:
            start = f'<{tag} colspan="{span}" style="text-align:left">'
            return f"<tr>{''.join(f'{start}{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

        rows = [line(self.head, "th")]
        for heading, group in self.groups.items():
            if heading:
                rows.append(line([heading], "th", len(self.head)))
            rows += map(line, group)
        return f"<table>{''.join(rows)}</table>"

    def __reduce__(self) -> Any:
        """Pickles the members and the table."""
        return Listing, (dict(self), self.head, self.groups, self.text)


def methods(name: str | None = None, *, all: bool = False) -> Listing | Card:
    """The methods that most people need, by what they are for; with `all=True` every one; or one of them.

    Each is a dictionary with name, family, orders, what it keeps, what it accepts and what it costs; the whole is a
    dictionary of these by name, and prints as the table of `polhode methods`. `methods("MR2")` is one method, with its
    options and an example; options are part of the name, as in "MR2(axes=231)".
    """
    if name is not None:
        return _method_card(name)
    width = shutil.get_terminal_size((CARD_CHARACTERS, 24)).columns
    if all:
        groups: dict[str, Rows] = {f.heading: [cards.method_row(m) for m in f.members] for f in cards.families()}
        text = cards.method_table(width, one='polhode.methods("NAME")')
        return Listing({n: _method_card(n) for n in all_methods()}, cards.HEAD, groups, text)
    added = [f for f in cards.families() if f.package]
    shown = [n for choices in START_HERE.values() for n in choices] + [m.name for f in added for m in f.members]
    text = cards.start_table(width, every="polhode.methods(all=True)", one='polhode.methods("NAME")')
    groups = {ADVICE: [], **cards.start_rows()}
    for f in added:
        rows = map(cards.method_row, f.members)
        groups[f.heading] = [(row[0], row[1], row[5], row[-1]) for row in rows]
    return Listing({n: _method_card(n) for n in shown}, cards.START_HEAD, groups, text)


def _method_card(name: str) -> Card:
    method = find_method(name)
    return Card(cards.method_record(method), cards.method_card(method, CARD_CHARACTERS))


def torques(name: str | None = None) -> Listing | Card:
    """The torque models by their names, or one of them.

    Each is a dictionary with name, what it is, parameters with their defaults, what it depends on, and whether it has a
    potential; the whole prints as the table of `polhode torques`.
    """
    if name is not None:
        return _torque_card(name)
    head, rows = cards.torque_rows()
    more = 'For units and an example: polhode.torques("NAME"). For a function of your own: @polhode.torque.'
    return Listing({n: _torque_card(n) for n in all_torques()}, head, {"": rows}, f"{_table(head, rows)}\n\n{more}")


def _torque_card(name: str) -> Card:
    model = find_torque(name)
    return Card(cards.torque_record(model), cards.torque_card(model))


def _table(head: Sequence[str], rows: Rows) -> str:
    """A table whose columns are as wide as their contents."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (head, *rows))
    return "\n".join(lines)
