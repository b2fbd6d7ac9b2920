"""The operations of one step

How many multiplications and divisions, additions and subtractions, sines and cosines one application of
each method takes for the momentum alone: counted by applying it to numbers that count what is done with them. What
stays the same from step to step is computed beforehand and does not count. Bars: counted here; black marks: the paper's
table. SS and SS1 advance 2h by one application.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers.khlistunova2003._momentum import leapfrog, runge_kutta, short, simpson
from polhode.papers.study import Claim, Data, Size, claim, named

MOMENTS, STEP = (40.5, 40.6, 50.0), 0.1
OPERATIONS = ("* /", "+ -", "sin", "cos")
TABLE = {"RK": (99, 63, 0, 0), "LS": (18, 6, 3, 3), "SS": (30, 10, 5, 5), "LS1": (33, 12, 0, 0), "SS1": (55, 20, 0, 0)}
"""The numbers that the paper prints."""


class Counted:
    """Is a number that counts what is done with it and with those it came from."""

    __slots__ = ("tally", "value")

    def __init__(self, value: float, tally: Counter[str]) -> None:
        self.value, self.tally = value, tally

    def _made(self, operation: str, value: float) -> "Counted":
        self.tally[operation] += 1
        return Counted(value, self.tally)

    def __mul__(self, other: Any) -> "Counted":
        return self._made("* /", self.value * _plain(other))

    def __add__(self, other: Any) -> "Counted":
        return self._made("+ -", self.value + _plain(other))

    def __sub__(self, other: Any) -> "Counted":
        return self._made("+ -", self.value - _plain(other))

    def __rsub__(self, other: float) -> "Counted":
        return self._made("+ -", other - self.value)

    __rmul__, __radd__ = __mul__, __add__

    def sine_cosine(self) -> tuple["Counted", "Counted"]:
        """Returns sine and cosine, and counts one of each."""
        return self._made("sin", math.sin(self.value)), self._made("cos", math.cos(self.value))


def _plain(x: Any) -> float:
    return x.value if isinstance(x, Counted) else x


STEPS = {
    "RK": runge_kutta(MOMENTS, STEP),
    "RK without zeros": runge_kutta(MOMENTS, STEP, zeros=False),
    "LS": leapfrog(MOMENTS, STEP, Counted.sine_cosine),
    "SS": simpson(MOMENTS, STEP, Counted.sine_cosine),
    "LS1": leapfrog(MOMENTS, STEP, short),
    "SS1": simpson(MOMENTS, STEP, short),
}
"""One application of each method; "without zeros" leaves out products with zero."""


def counts(name: str) -> tuple[int, ...]:
    """How many of each operation one application takes."""
    tally: Counter[str] = Counter()
    STEPS[name]((Counted(0.7, tally), Counted(0.2, tally), Counted(8.7, tally)))
    return tuple(tally[o] for o in OPERATIONS)


def run(size: Size) -> Data:
    """Counts the operations."""
    return Data(
        method=named("method", list(STEPS), "methods"),
        operation=named("operation", list(OPERATIONS), "operations"),
        count=named("method operation", [counts(m) for m in STEPS], "how many in one application"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Compares the counts with the table, column by column, then judges the summary."""
    counted = {m: tuple(int(c) for c in row) for m, row in zip(STEPS, data["count"], strict=True)}
    total = {m: sum(row) for m, row in counted.items()}
    spare = "/".join(map(str, counted["RK without zeros"][:2]))
    notes = {
        "RK": f"; one weight of the method is zero, and is multiplied with: {spare} without",
        "SS": "; one application advances 2h",
        "SS1": "; one application advances 2h",
    }
    table = [
        claim(
            f"{m} takes {_told(row)}",
            source="table",
            paper=_told(row),
            measured=_told(counted[m]) + notes.get(m, ""),
            holds=counted[m] == row,
            test="equal, if each angle comes from the momentum that its rotation meets"
            if m != "RK"
            else "equal, for Euler's equations of the rates with constants prepared",
        )
        for m, row in TABLE.items()
    ]
    ls, ss = total["RK"] / total["LS1"], total["RK"] / total["SS1"]
    return [
        *table,
        claim(
            "With shortened sines and cosines LS and SS are about 3 and 2 times faster than RK",
            source="sec. 4, end",
            paper="3 and 2",
            measured=f"RK takes {ls:.1f} and {ss:.1f} times the operations of LS1 and SS1",
            holds=bool(2.5 < ls < 4 and 1.5 < ss < 2.5),
            test="operations of one application, all counted alike: between 2.5 and 4, and between 1.5 and 2.5",
        ),
    ]


def _told(row: tuple[int, ...]) -> str:
    return ", ".join(f"{n} {o}" for n, o in zip(row, OPERATIONS, strict=True) if n)


def plot(data: Data) -> Figure:
    """Draws bars beside the paper's table."""
    figure, axes = panels(width=6.5, height=4.0)
    ax = axes[0, 0]
    counted = dict(zip(data["method"], data["count"], strict=True))
    places = np.arange(len(TABLE))
    for k, operation in enumerate(OPERATIONS):
        x = places + 0.2 * (k - 1.5)
        ax.bar(x, [counted[m][k] for m in TABLE], 0.18, color=COLOURS[k], label=operation)
        printed = [(a, row[k]) for a, row in zip(x, TABLE.values(), strict=True) if row[k]]
        ax.plot(*zip(*printed, strict=True), "_", color="black", markersize=13, markeredgewidth=2)
        for a, value in printed:
            ax.text(a, value + 2, str(value), ha="center", fontsize=8)
    ax.set_xticks(places, list(TABLE))
    ax.set_ylim(0, 1.12 * max(map(max, TABLE.values())))
    labelled(ax, "", "operations in one application")
    return figure
