"""What the referee says: in numbers, in plain English, as a picture and as a page."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polhode._arrays import Floats
from polhode.body import Body
from polhode.io.atomic import AnyPath, whole_file
from polhode.io.records import describe_torque
from polhode.referee.causes import FAIR
from polhode.referee.conventions import Convention
from polhode.referee.faults import Fault
from polhode.referee.growth import Drift
from polhode.torques import Torque

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_CHARACTERS = 100
"""The width of a printed verdict."""


@dataclass(frozen=True, eq=False)
class Errors:
    """How far a history is from the true motion that begins with its first row."""

    t: Floats
    attitude: Floats | None
    """The angle between the attitudes in each row, in rad; None: the history has no attitudes."""
    rate: Floats | None
    """The error of the rate in each row, relative to the largest rate; None: the history has no rates."""
    attitude_limit: Floats
    """The part of it that rounding in the history can make: in the row itself, and, as it grows, in the first one."""
    rate_limit: Floats
    reference: str
    """What the true motion was computed by."""
    reference_error: float
    """The error of that, in rad and relative to the largest rate."""

    @property
    def worst(self) -> float:
        """The largest error: of attitude in rad, or of rate relative to the largest rate."""
        return max(float(e.max()) for e in (self.attitude, self.rate) if e is not None)

    @property
    def is_rounding(self) -> bool:
        """Whether rounding in the history explains the error in every row."""
        pairs = ((self.attitude, self.attitude_limit), (self.rate, self.rate_limit))
        return all(bool((e <= FAIR * limit).all()) for e, limit in pairs if e is not None)

    def lines(self) -> list[str]:
        """Returns the errors in words."""
        made = []
        for name, unit, error, limit in (
            ("attitude", " rad", self.attitude, self.attitude_limit),
            ("rate", " of the largest rate", self.rate, self.rate_limit),
        ):
            if error is None:
                made.append(f"{name:<9}not in the history")
                continue
            k = int(np.argmax(error))
            allowed = f"rounding allows {limit[k]:.1e}"
            made.append(f"{name:<9}off by at most {error[k]:.2e}{unit}, at t = {self.t[k]:.6g} s; {allowed}")
        return made

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Order:
    """The power of the step with which errors fall, from histories of one motion with different steps."""

    steps: tuple[float, ...]
    """The steps in s, the longest first."""
    attitude_errors: tuple[float, ...]
    rate_errors: tuple[float, ...]
    attitude: float
    """The order of the attitude, from the two shortest steps whose errors are beyond rounding; NaN: not to be told."""
    rate: float

    def __str__(self) -> str:
        def shown(order: float) -> str:
            return "not to be told" if math.isnan(order) else f"{order:.2f}"

        steps = " and ".join(f"{h:g}" for h in self.steps)
        return f"attitude {shown(self.attitude)}, rate {shown(self.rate)}, from steps of {steps} s"


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a history of a motion is worth: `print(verdict)` says it in plain English.

    Examples
    --------
    >>> theirs = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 20), method="RK4", step=0.1)
    >>> verdict = ph.check(theirs, body=ph.Body([1, 2, 2.8]), tolerance=1e-2)
    >>> verdict.agrees
    True
    """

    source: str
    """The file, or what else the history came from."""
    body: Body
    torque: Torque
    rows: int
    convention: Convention
    """What the numbers mean: direction, order, axes, units; and how sure that is."""
    error: Errors
    """How far the history is from the true motion, over time."""
    drift: dict[str, Drift]
    """How energy, momentum and the length of quaternions drift."""
    order: Order | None
    """The order of the method, if there are histories with different steps."""
    faults: tuple[Fault, ...]
    """What is wrong, each in a sentence; those that are only possible say so."""
    notes: tuple[str, ...]
    tolerance: float | None = None
    digits: str = ""
    """How many digits the history has."""

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong: no fault was found, and the error is at most the tolerance, if one was given."""
        if any(f.certainty == "certain" for f in self.faults):
            return False
        return self.tolerance is None or self.error.worst <= self.tolerance or self.error.is_rounding

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        certain = [f for f in self.faults if f.certainty == "certain"]
        if certain:
            return f"WRONG: {certain[0]}"
        if self.error.is_rounding:
            return "RIGHT, as far as its digits can show: rounding explains all differences from the true motion."
        if self.tolerance is not None and not self.agrees:
            return f"NOT WITHIN THE TOLERANCE of {self.tolerance:g}: the error grows to {self.error.worst:.2e}."
        within = "" if self.tolerance is None else f", within the tolerance of {self.tolerance:g}"
        possible = {f.kind for f in self.faults}
        rest = "the error of its integration"
        if "noise" in possible:
            rest = "noise"
        elif possible - {"norm"}:
            rest += ", or a fault that is named below"
        return f"RIGHT TO {self.error.worst:.1e}{within}: the rest is {rest}."

    def __str__(self) -> str:
        lines = [f"{self.source}: {self.headline}", ""]
        lines += self.error.lines()
        lines += [f"{name:<9}{drift}" for name, drift in self.drift.items()]
        if self.order is not None:
            lines.append(f"order    {self.order}")
        lines += ["", f"Convention: {self.convention} ({self._certainty()})."]
        lines += self.convention.surprises
        lines += [str(f) for f in self.faults if f"WRONG: {f}" != self.headline]
        lines += self.notes
        lines.append(
            f"Compared: {self.rows:,} rows with the motion from the first one, by {self.error.reference} (error "
            f"{self.error.reference_error:.0e}); {self.digits}."
        )
        return "\n".join(
            w for line in lines for w in (textwrap.wrap(line, LINE_CHARACTERS, subsequent_indent=_indent(line)) or [""])
        )

    def __repr__(self) -> str:
        return str(self)

    def _certainty(self) -> str:
        c = self.convention
        if c.certainty == "none fits":
            return f"none fits: {min(1.0, c.unexplained):.0%} of the motion is left unexplained by the best"
        if c.certainty == "not to be told":
            other = c.alternatives[0].words()
            more = f", or {len(c.alternatives) - 1} others" if len(c.alternatives) > 1 else ""
            return f"this motion cannot tell it from: {other}{more}; taken because it is the usual one"
        times = f"{c.ratio:.0f} times" if c.ratio < 1e6 else "far"
        return f"{c.certainty}: the next best explains the motion {times} worse" if math.isfinite(c.ratio) else "given"

    def plot(self, *paths: AnyPath) -> Figure:
        """Draws errors and drifts over time as a Matplotlib figure.

        It is saved at each of the paths, as PNG, SVG or PDF by the ending of the name.
        """
        from polhode.views.plot import finished
        from polhode.views.plot_check import draw

        return finished(draw(self), *paths)

    def report(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Writes one page with the verdict and its picture: HTML, in one file."""
        from polhode.views.plot_check import page

        with whole_file(path, overwrite=overwrite) as file:
            file.write(page(self).encode("utf-8"))

    @property
    def problem(self) -> str:
        """The body and the torque, in words."""
        torque = describe_torque(self.torque)
        return f"{self.body!r}" if torque in ("Free", "Free()") else f"{self.body!r}, {torque}"


def _indent(line: str) -> str:
    head = line[:9]
    return " " * 9 if head.rstrip() in ("attitude", "rate", "energy", "momentum", "|q|", "order", "axial") else ""
