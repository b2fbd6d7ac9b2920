"""Verdicts of the referee: in numbers, in plain English, as a picture and as a page."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polhode.body import Body
from polhode.files.atomic import AnyPath, whole_file
from polhode.files.records import describe_torque
from polhode.referee.causes import FAIR
from polhode.referee.conventions import Convention
from polhode.referee.faults import Fault
from polhode.referee.growth import Drift
from polhode.referee.noise import Noise
from polhode.support.arrays import Floats
from polhode.torques import Torque

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_CHARACTERS = 100
"""The width of a printed verdict."""
ATTITUDE_TOLERANCE, RATE_TOLERANCE = math.radians(1.0), 0.01
"""The errors up to which a motion is right for practical purposes, unless the user says others: in rad, and relative to
the largest rate."""
HEADS = {
    "exact": "EXACT TO ITS DIGITS", "right": "RIGHT WITHIN THE INTEGRATOR'S ERROR", "noisy": "RIGHT WITHIN ITS NOISE",
    "inaccurate": "INACCURATE", "wrong": "WRONG",
}  # fmt: skip
"""The outcomes, and the words with which their headlines begin."""


@dataclass(frozen=True, eq=False)
class Errors:
    """How far a log is from the true motion that begins with its first row."""

    t: Floats
    attitude: Floats | None
    """The angle between the attitudes in each row, in rad; None: the log has no attitudes."""
    rate: Floats | None
    """The error of the rate in each row, relative to the largest rate; None: the log has no rates."""
    attitude_limit: Floats
    """The part of it that rounding in the log can make: in the row itself, and, as it grows, in the first one."""
    rate_limit: Floats
    reference: str
    """Method of the true motion."""
    reference_error: float
    """The error of that, in rad and relative to the largest rate."""

    @property
    def worst(self) -> float:
        """The largest error: of attitude in rad, or of rate relative to the largest rate."""
        return max(float(e.max()) for e in (self.attitude, self.rate) if e is not None)

    @property
    def is_rounding(self) -> bool:
        """Whether rounding in the log explains the error in every row."""
        pairs = ((self.attitude, self.attitude_limit), (self.rate, self.rate_limit))
        return all(bool((e <= FAIR * limit).all()) for e, limit in pairs if e is not None)

    def largest(self) -> str:
        """The largest errors that rounding does not explain, in words; an empty text: there are none."""
        shown = []
        if self.attitude is not None and (self.attitude > FAIR * self.attitude_limit).any():
            shown.append(shown_angle(self.attitude.max()))
        if self.rate is not None and (self.rate > FAIR * self.rate_limit).any():
            shown.append(shown_share(self.rate.max()))
        return " and ".join(shown)

    def undetermined(self, attitude: float, rate: float) -> float | None:
        """The time since which rounding alone can make errors beyond these bounds; None: there is none."""
        wide = (self.rate_limit > rate) if self.attitude is None else (self.attitude_limit > attitude)
        return float(self.t[int(np.argmax(wide))]) if wide.any() else None

    def beyond(self, attitude: float, rate: float) -> list[tuple[str, float, float, float]]:
        """Which errors exceed these bounds: what is how far off, when, and since when."""
        found = []
        for name, error, bound in (("attitude", self.attitude, attitude), ("rate", self.rate, rate)):
            if error is not None and error.max() > bound:
                off = shown_angle(error.max()) if name == "attitude" else shown_share(error.max())
                k = int(np.argmax(error > bound))
                found.append(
                    (f"the {name} is {off} off", float(error.max()) / bound, self.t[np.argmax(error)], self.t[k])
                )
        return found

    def lines(self) -> list[str]:
        """The errors in words."""
        made = []
        for name, error, limit in (
            ("attitude", self.attitude, self.attitude_limit), ("rate", self.rate, self.rate_limit),
        ):  # fmt: skip
            if error is None:
                made.append(f"{name:<9}not in the log")
                continue
            k, is_angle = int(np.argmax(error)), name == "attitude"
            off = f"{shown_angle(error[k])} off ({error[k]:.2e} rad)" if is_angle else f"{shown_share(error[k])} off"
            allowed = math.degrees(limit[k]) if is_angle else 100.0 * limit[k]
            made.append(f"{name:<9}at most {off}, at t = {self.t[k]:.6g} s; rounding allows {allowed:.1e}")
        return made

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Order:
    """The power of the step with which errors fall, from logs of one motion with different steps."""

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
    """Verdict on a log of a motion: `print(verdict)` says it in plain English.

    Examples
    --------
    >>> theirs = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 20), method="RK4", step=0.1)
    >>> verdict = ph.check(theirs, body=ph.Body([1, 2, 2.8]), tolerance=1e-2)
    >>> verdict.agrees
    True
    """

    source: str
    """The file, or what else the log came from."""
    body: Body
    torque: Torque
    rows: int
    convention: Convention
    """Convention of the numbers (direction, order, axes, units), and its certainty."""
    error: Errors
    """How far the log is from the true motion, over time."""
    drift: dict[str, Drift]
    """How energy, momentum and the length of quaternions drift."""
    order: Order | None
    """The order of the method, if there are logs with different steps."""
    faults: tuple[Fault, ...]
    """Faults, each in a sentence; those that are only possible say so."""
    notes: tuple[str, ...]
    noise: Noise | None = None
    """White noise, if it explains all errors."""
    tolerance: float | None = None
    """The error that the user accepts: of attitudes in rad, of rates relative to the largest; None: 1 degree, 1 %."""
    digits: str = ""
    """How many digits the log has."""

    @property
    def outcome(self) -> str:
        """One word: "exact", "right" or "noisy" if the log agrees with the true motion, else "inaccurate" or "wrong".

        "wrong": a fault was found, which has a sentence in `faults`. "inaccurate": the error is larger than accepted,
        and no fault explains it.
        """
        if any(f.certainty == "certain" for f in self.faults):
            return "wrong"
        if self.error.is_rounding:
            return "exact"
        if self.noise is not None:
            attitude, rate = self.accepted
            return "noisy" if self.noise.attitude <= attitude and self.noise.rate <= rate else "inaccurate"
        return "inaccurate" if self.error.beyond(*self.accepted) else "right"

    @property
    def agrees(self) -> bool:
        """Whether the log is right for practical purposes: exact to its digits, or within the accepted error."""
        return self.outcome in ("exact", "right", "noisy")

    @property
    def accepted(self) -> tuple[float, float]:
        """The errors that are accepted: of attitudes in rad, and of rates relative to the largest."""
        return (ATTITUDE_TOLERANCE, RATE_TOLERANCE) if self.tolerance is None else (self.tolerance, self.tolerance)

    @property
    def since(self) -> float | None:
        """The time since which the log is wrong or not accurate enough, in s; None: it agrees."""
        rows = [f.since or 0 for f in self.faults if f.certainty == "certain"]
        if rows:
            return float(self.error.t[min(rows)])
        found = [] if self.agrees else self.error.beyond(*self.accepted)
        return min((when for *_, when in found), default=None)

    @property
    def head(self) -> str:
        """The words with which the headline begins, which depend on the outcome only."""
        return HEADS[self.outcome]

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        head, span = self.head, f"{abs(self.error.t[-1] - self.error.t[0]):.6g} s"
        if self.outcome == "wrong":
            off = self.error.largest()
            by = f" by up to {off}, since t = {self.since:.4g} s" if off else ""
            return f"{head}{by}: {self._cause}"
        if self.outcome == "exact":
            unclear = self.error.undetermined(*self.accepted)
            rest = "" if unclear is None else f"; but its digits do not determine the motion after t = {unclear:.4g} s"
            return f"{head}: rounding explains every difference from the true motion over {span}{rest}."
        if self.noise is not None:
            return f"{head}: rows scatter at random about the true motion, {self.noise}."
        if self.outcome == "inaccurate":
            parts = sorted(self.error.beyond(*self.accepted), key=lambda part: -part[1])
            words = ", ".join(f"{what} at t = {when:.4g} s" for what, _, when, _ in parts)
            return f"{head}: {words}; more than {self._accepted_words()} since t = {self.since:.4g} s."
        rest = ", unless a fault makes that which is named below" if self.faults else ""
        return f"{head}: at most {self.error.largest()} off over {span}{rest}."

    def _accepted_words(self) -> str:
        if self.tolerance is None:
            return "1 degree or 1 %"
        return f"the tolerance of {self.tolerance:g}"

    @property
    def _cause(self) -> Fault | None:
        return next((f for f in self.faults if f.certainty == "certain"), None)

    def explanation(self) -> list[str]:
        """Sentences on the cause: the faults that the headline does not state, and what else may be behind."""
        said = [str(f) for f in self.faults if f is not self._cause]
        if self.noise is not None:
            return [*said, "polhode.fit finds the motion behind noisy rows."]
        if self.outcome != "inaccurate":
            return said
        order = math.nan if self.order is None else np.nanmax([self.order.attitude, self.order.rate, -math.inf])
        if order > 0.7:
            said.append(f"The error falls with the step to the power {order:.2f}: it is that of the integration.")
        elif not said:
            said.append(
                "No fault was found that explains it: the integration is not accurate, or body, torque and axes are "
                "not those of the simulation."
            )
        if (energy := self.drift.get("energy")) is not None and energy.kind != "none":
            change = energy.values[np.argmax(np.abs(energy.values))]
            said.append(f"The energy is up to {shown_share(abs(change), '')} too {'high' if change > 0 else 'low'}.")
        return said

    def __str__(self) -> str:
        lines = [f"{self.source}: {self.headline}", *self.explanation(), ""]
        lines += self.error.lines()
        lines += [f"{name:<9}{drift}" for name, drift in self.drift.items()]
        if self.order is not None:
            lines.append(f"order    {self.order}")
        lines += ["", f"Convention: {self.convention} ({self._certainty()})."]
        lines += self.convention.surprises
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
        """Draws errors and drifts over time, and saves the figure at each of the paths, by the ending of the name."""
        from polhode.plots.plot import finished
        from polhode.plots.plot_check import draw

        return finished(draw(self), *paths)

    def report(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Writes one page with the verdict and its picture: HTML, in one file."""
        from polhode.plots.plot_check import page

        with whole_file(path, overwrite=overwrite) as file:
            file.write(page(self).encode("utf-8"))

    def junit(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Writes the verdict as a test in JUnit XML, which servers that run tests read: it fails unless `agrees`."""
        with whole_file(path, overwrite=overwrite) as file:
            file.write(junit_xml(self.source, failure=None if self.agrees else self.headline, text=str(self)))

    @property
    def problem(self) -> str:
        """The body and the torque, in words."""
        torque = describe_torque(self.torque)
        return f"{self.body!r}" if torque in ("Free", "Free()") else f"{self.body!r}, {torque}"


def junit_xml(source: str, *, failure: str | None = None, error: str | None = None, text: str = "") -> bytes:
    """One test of JUnit XML: it passes unless there is a failure, or an error that kept it from running."""
    from xml.etree import ElementTree

    def clean(words: str) -> str:
        return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in words)  # XML has no control characters

    counts = {"tests": "1", "failures": str(int(failure is not None)), "errors": str(int(error is not None))}
    suite = ElementTree.Element("testsuite", {"name": "polhode check", **counts, "skipped": "0", "time": "0"})
    case = ElementTree.SubElement(suite, "testcase", {"classname": "polhode.check", "name": clean(source), "time": "0"})
    for tag, message in (("failure", failure), ("error", error)):
        if message is not None:
            ElementTree.SubElement(case, tag, {"message": clean(message), "type": tag}).text = clean(text or message)
    if failure is None and error is None:
        ElementTree.SubElement(case, "system-out").text = clean(text)
    return bytes(ElementTree.tostring(suite, "utf-8", xml_declaration=True)) + b"\n"


def shown_angle(angle: float) -> str:
    """An angle in degrees."""
    return f"{math.degrees(angle):.3g} degrees"


def shown_share(share: float, of: str = " of the largest rate") -> str:
    """A share in percent."""
    return f"{100 * share:.3g} %{of}" if share < 10.0 else f"{100 * share:,.0f} %{of}"


def _indent(line: str) -> str:
    head = line[:9]
    return " " * 9 if head.rstrip() in ("attitude", "rate", "energy", "momentum", "|q|", "order", "axial") else ""
