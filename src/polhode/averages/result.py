"""The answer of a drift: mean momentum and energy over long times, and what is known of them."""

from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.accuracy.policy import ToleranceNotReached
from polhode.api.simulate import simulate
from polhode.averages.course import Course, DriftImpossible, DriftProgress, Question, followed
from polhode.averages.evolution import ALIGNED, DriftEvent, Path
from polhode.averages.rates import MeanRates, slant
from polhode.averages.separatrix import Fate, fates
from polhode.averages.stretches import Stretch, Window
from polhode.body import Body
from polhode.files import netcdf
from polhode.files.records import TorqueFromFile, describe_torque, read_torque, torque_record
from polhode.free.free_motion import Axis, FreeMotion, ObservedPeriods
from polhode.run.integration import SimulationInterrupted
from polhode.run.step_warnings import duration
from polhode.solution import Solution
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import keeping
from polhode.torques import Torque
from polhode.torques.no_torque import Free

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

FORMAT, FORMAT_VERSION = "polhode drift", 1
"""The name and the version of the file format."""
_STEPS = ("step_time", "step_state", "step_length", "step_coefficients")
_STRETCHES = ("stretch_start", "stretch_end", "stretch_excess")
DRIFT_ARRAYS = ("time", *_STEPS, *_STRETCHES)
"""The arrays that a drift is made of again."""
KEPT = "what was computed is the `solution` of this exception, a Drift"
_NAMES = {
    "time": (("time",), "time", "s"),
    "momentum": (("time", "component"), "mean angular momentum in space axes", "kg m2 s-1"),
    "kinetic_energy": (("time",), "mean kinetic energy of rotation", "J"),
    "separatrix_distance": (("time",), "distance from the separatrix, G^2 / (2 T I2) - 1", "1"),
    "period": (("time",), "period of the momentum in the body", "s"),
    "precession_period": (("time",), "mean period of the axis that the momentum circles about it", "s"),
}


class RemainingDrift(NamedTuple):
    """What an interruption has left to be done: to state the error of the path from a time on, and to go on."""

    t0: float
    window: Window
    """What the motion is in the mean from there on."""
    stated: float
    """The error that is stated for the time before."""


class Branch(NamedTuple):
    """A way on from the separatrix."""

    probability: float
    drift: Drift


@dataclass(frozen=True, eq=False)
class Drift:
    """The mean motion of a body under a weak torque: `t`, `momentum`, `kinetic_energy` and what follows from them.

    All arrays have one row for each time. Between rows, `at` has the values to the same error. The phases of the motion
    are not known: `motion(t)` has a free motion with the mean values of that time and with phases of your choice.

    Examples
    --------
    >>> d = ph.drift(
    ...     ph.Body([1, 1.4, 2.1]), ph.LinearDamping((1e-7, 2e-7, 0.5e-7)), omega=[0.2, 0.25, 0.9], t_span=(0, 3e6)
    ... )
    >>> d.mode[-1], bool(d.kinetic_energy[-1] < d.kinetic_energy[0]), len(d.stretches)
    ('short-axis', True, 5)
    """

    asked: Question
    side: float
    """The end of the axis that the momentum circles: 1 or -1."""
    path: Path
    t: Floats
    error: float
    """The error of momentum and energy, relative to their sizes at the start, that the stretches and the resonances
    state: the largest at any time."""
    stretches: tuple[Stretch, ...]
    """The parts of the span that were also run in full: where, and the rates beyond the averages."""
    corrected: bool
    """Whether the stretches have corrected the averages to second order."""
    evaluations: int
    """Evaluations of the mean rates."""
    branches: tuple[Branch, ...] = field(default=())
    """The ways on from the separatrix, the likeliest first, if they were asked for with `beyond="both"`."""
    left: RemainingDrift | None = None
    """What an interruption has left for `resume`; the error is infinite until enough stretches have stated it."""

    # --- mean values

    @property
    def body(self) -> Body:
        """The body."""
        return self.asked.body

    @property
    def torque(self) -> Torque:
        """The torque."""
        return self.asked.torque

    @property
    def t_last(self) -> float:
        """The end of the drift, which an event may have set, s."""
        return float(self.path.t[-1])

    @property
    def events(self) -> list[DriftEvent]:
        """What was met, in the order of time."""
        return self.path.events

    @property
    def momentum(self) -> Floats:
        """The mean angular momentum in space axes, kg m^2/s."""
        return self.path.at(self.t)[:, :3]

    @property
    def kinetic_energy(self) -> Floats:
        """The mean kinetic energy, J."""
        return self.path.at(self.t)[:, 3]

    @property
    def pole(self) -> Floats:
        """The direction of the angular momentum in space axes."""
        return np.asarray(self.momentum / np.linalg.norm(self.momentum, axis=1)[:, None])

    @property
    def separatrix_distance(self) -> Floats:
        """G^2 / (2 T I2) - 1: positive in short-axis mode, negative in long-axis mode."""
        z = self.path.at(self.t)
        middle = np.sort(self.body.moments)[1]
        return np.asarray((z[:, :3] ** 2).sum(axis=1) / (2.0 * z[:, 3] * middle) - 1.0)

    @property
    def mode(self) -> list[str]:
        """`short-axis` or `long-axis`, at each time."""
        return ["short-axis" if d > 0.0 else "long-axis" for d in self.separatrix_distance]

    def at(self, t: Any) -> tuple[Floats, Floats]:
        """The mean momentum in space axes and the mean energy at one or many times."""
        z = self.path.at(self._within(t))
        return z[..., :3], z[..., 3]

    def motion(self, t: float, psi: float = 0.0, phi: float = 0.0) -> FreeMotion:
        """The free motion with the mean momentum and energy of a time.

        `psi` and `phi` are its phases then, in radians: how far the momentum has gone round in the body since it passed
        the plane of the axes of the least and the greatest moment, and how far the body is turned about the momentum.
        The drift does not know them.
        """
        time = checks.number("t", t)
        return self._frames().motion(time, self.path.at(self._within(time)), psi, phi)

    def observed_periods(self, reference: Axis = "long") -> ObservedPeriods:
        """The two periods that observers see, at each time: see `FreeMotion.observed_periods`."""
        found = [m.observed_periods(reference) for m in self._motions()]
        return ObservedPeriods(np.array([p.phi for p in found]), np.array([p.psi for p in found]))

    def simulate(self, t0: float, span: float, *, psi: float = 0.0, phi: float = 0.0, **how: Any) -> Solution:
        """Runs the body in full from the mean state at t0, with phases of your choice.

        `how` goes to `polhode.simulate`; without a tolerance or a step there, `rtol=1e-9` is taken.
        """
        if not {"rtol", "step"} & set(how):
            how["rtol"] = 1e-9
        state = self.motion(t0, psi, phi).at(t0)
        t_span = (float(t0), float(t0) + checks.number("span", span))
        return simulate(
            self.body, self.torque, omega=state.omega, attitude=state.quaternion, t_span=t_span, **how
        )  # fmt: skip

    def resume(self, t_end: float | None = None, *, t_eval: Any = None) -> Drift:
        """Goes on to another end, or after an interruption to that which was asked for; returns the whole drift.

        Where the separatrix ended it, `branches` are the ways on (`beyond="both"`), and each can be resumed.
        """
        end = self.asked.t_end if t_end is None else checks.number("t_end", t_end)
        if self.path.ended:
            if self.left is None:
                raise DriftImpossible(f"this drift has ended, because it {self.events[-1].text}")
            end = self.asked.t_end
        beyond = (end - self.t_last) * math.copysign(1.0, self.asked.t_end - self.asked.t_start)
        if beyond < 0.0 or (beyond == 0.0 and self.left is None):
            raise ValueError(f"t_end must lie beyond the last time {self.t_last:g}, not at {end:g}")
        t0, window, stated = self.left or RemainingDrift(self.t_last, Window(self.t_last, self.path.z[-1]), self.error)
        before, begun = self.path.cut(t0)
        done = [s for s in self.stretches if (s.middle - t0) * (end - t0) <= 0.0]
        late = self.stretches[len(done) :]
        asked = replace(self.asked, t_start=t0, t_end=end)
        rates = _started(asked, self.side, t0, begun.z[0])

        def whole(more: Drift) -> Drift:
            rows = self.t[(self.t - t0) * (end - t0) <= 0.0] if before.lengths.size else self.t[:0]
            return replace(
                more, asked=replace(more.asked, t_start=self.asked.t_start), path=before.followed_by(more.path),
                t=np.concatenate([rows, more.t[more.t != rows[-1]] if rows.size else more.t]),
                error=stated + more.error, stretches=(*done, *more.stretches),
                evaluations=self.evaluations + more.evaluations,
                left=more.left and more.left._replace(stated=stated),
            )  # fmt: skip

        with keeping(SimulationInterrupted, lambda raised: whole(raised.solution)):  # type: ignore[attr-defined]
            so_far = DriftProgress(begun, late if end == self.asked.t_end else ())
            return whole(drift_along(asked, rates, window, so_far, t_eval))

    def continued(self) -> tuple[Branch, ...]:
        """The ways on from the separatrix to the end of the span, each with its probability, the likeliest first."""
        if not self.events or self.events[-1].kind != "separatrix":
            raise ValueError("this drift has not ended at the separatrix, so that there are no branches")
        made = []
        for fate in self.fates():
            t, distance = self.t_last, 0.0
            asked = replace(self.asked, t_start=t)
            rates = _started(asked, fate.side, t, fate.z)
            # Averages hold some periods behind the separatrix, which the drift is set ahead by.
            distance = 12.0 * rates.survey(t, fate.z).strength * (1.0 if fate.mode == "short-axis" else -1.0)
            z = np.append(fate.z[:3], fate.z[:3] @ fate.z[:3] / (2.0 * rates.moments[1] * (1.0 + distance)))
            way = drift_along(asked, _started(asked, fate.side, t, z), Window(t, z), DriftProgress(Path.at_rest(t, z)))
            made.append(Branch(fate.probability, way))
        return tuple(made)

    def fates(self) -> list[Fate]:
        """The modes and axes in which the body may go on from the separatrix, with their probabilities."""
        return fates(self._rates(), self.t_last, self.path.z[-1])

    def _rates(self) -> MeanRates:
        return self.asked.rates(self.side)

    def _frames(self) -> MeanRates:
        """Rates that have motions: the function of a torque may be lost, and motions need none."""
        known = not isinstance(self.torque, TorqueFromFile)
        return (self.asked if known else replace(self.asked, torque=Free())).rates(self.side)

    def _motions(self) -> list[FreeMotion]:
        rates = self._frames()
        return [rates.motion(t, z) for t, z in zip(self.t.tolist(), self.path.at(self.t), strict=True)]

    def _within(self, t: Any) -> Floats:
        times = checks.floats("t", t, "be a time or an array of times")
        low, high = sorted((float(self.path.t[0]), self.t_last))
        if times.size and not (low <= float(times.min()) and float(times.max()) <= high):
            raise ValueError(f"this drift is known from t = {low:g} to {high:g} s")
        return times

    # --- in words, pictures and files

    def __str__(self) -> str:
        last = self.events[-1].text if self.path.ended else ""
        met = [e.text for e in self.events[: -1 if last else None] if e.kind == "axis"]
        jumps = [e for e in self.events if e.kind == "resonance"]
        t0, z0 = float(self.path.t[0]), self.path.z[0]
        moments = np.sort(self.body.moments)
        short = z0[:3] @ z0[:3] > 2.0 * z0[3] * moments[1]
        how = f"tumbles in {'short' if short else 'long'}-axis mode"
        if slant(moments, z0) < math.sin(ALIGNED):
            how = f"turns about the axis of the {'greatest' if short else 'least'} moment"
        parts = [f"{how} for {duration(abs(self.t_last - t0))}", *met]
        if jumps:
            worst = max(e.bound for e in jumps)
            count = "a resonance" if len(jumps) == 1 else f"{len(jumps)} resonances"
            parts.append(f"meets {count} (a jump of {worst:.1e} at most{', each' * (len(jumps) > 1)})")
        text = ", ".join(parts) + (f", then {last}" if last else "")
        if self.branches:
            ways = (f"{b.drift.mode[-1]} {b.drift.side:+.0f}: {b.probability:.2g}" for b in self.branches)
            text += f" ({', '.join(ways)})"
        if self.left is not None:
            text += f", interrupted at t = {self.t_last:.6g} s (resume() goes on)"
        if not math.isfinite(self.error):
            return f"{text}; its error is not known yet"
        how = f"from {len(self.stretches)} stretches that were also run in full" if self.stretches else "of jumps alone"
        return f"{text}; error {self.error:.1e}, {how}"

    @property
    def message(self) -> str:
        """What happened, in a sentence: that which `print` shows."""
        return str(self)

    def __repr__(self) -> str:
        rows = [
            ("body", repr(self.body)),
            ("torque", describe_torque(self.torque)),
            ("time", f"{self.path.t[0]:.6g} to {self.t_last:.6g} s, {self.t.size} rows"),
            ("averages", f"{self.evaluations} evaluations, {'second' if self.corrected else 'first'} order"),
            ("says", str(self)),
        ]
        return "\n".join(["Drift", *(f"  {name:<9}{value}" for name, value in rows)])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws momentum, pole, energy and distance from the separatrix over time; a path saves the picture, too."""
        from polhode.plots.plot import finished
        from polhode.plots.plot_drift import draw

        return finished(draw(self), path)

    def _table(self) -> dict[str, netcdf.Variable]:
        seen = [(m.period, m.precession_period) for m in self._motions()]
        periods = np.array(seen).reshape(-1, 2)
        data = {
            "time": self.t, "momentum": self.momentum, "kinetic_energy": self.kinetic_energy,
            "separatrix_distance": self.separatrix_distance, "period": periods[:, 0],
            "precession_period": periods[:, 1],
        }  # fmt: skip
        rows = {
            name: netcdf.Variable(dimensions, data[name], {"long_name": long_name, "units": units})
            for name, (dimensions, long_name, units) in _NAMES.items()
        }
        return {**rows, "component": netcdf.Variable(("component",), np.array(["x", "y", "z"]))}

    def _attributes(self) -> dict[str, Any]:
        return {
            "torque": self.torque.name, "rtol": self.asked.rtol, "error": self.error, "corrected": int(self.corrected),
            "evaluations": self.evaluations, "t_start": self.asked.t_start, "t_end": self.asked.t_end,
            "message": str(self), "events": json.dumps(self.events),
        }  # fmt: skip

    def to_xarray(self) -> Dataset:
        """Everything at the rows as an xarray Dataset, with units."""
        made: Dataset = netcdf.dataset(self._table(), self._attributes())
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a NetCDF file from which `polhode.load` makes the same drift; its branches are not kept."""
        arrays = self._table()
        steps = (self.path.t, self.path.z, self.path.lengths, self.path.F.reshape(-1, 28))
        for name, data in zip(_STEPS, steps, strict=True):
            dimensions = ("step_end" if data.shape[0] == self.path.t.size else "step", f"{name}_size")
            arrays[name] = netcdf.Variable(dimensions[: data.ndim], data)
        excess = np.array([s.excess for s in self.stretches]).reshape(-1, 4)
        ends = (np.array([s[k] for s in self.stretches]) for k in (0, 1))
        for name, data in zip(_STRETCHES, (*ends, excess), strict=True):
            if data.size:
                arrays[name] = netcdf.Variable(("stretch", "slow")[: data.ndim], data)
        own = {
            "format": FORMAT, "format_version": FORMAT_VERSION, **self._attributes(), "side": self.side,
            "ended": int(self.path.ended), "body_name": self.body.name or "", "inertia": self.body.tensor.ravel(),
            "torque_record": torque_record(self.torque, self.body), "orbit": self.asked.orbit or 0.0,
            "over_orbit": int(self.asked.over_orbit), "scale": self.asked.scale,
        }  # fmt: skip
        if self.left is not None:
            t0, (centre, mean, half), stated = self.left
            own["left"] = np.array([t0, centre, half, stated, *mean])
        netcdf.write(path, arrays, own, overwrite=overwrite)


def drift_of(path: Any, contents: netcdf.Contents, torque: Torque | None = None) -> Drift:
    """Makes a drift of the contents of a file."""
    a: dict[str, Any] = contents.attributes
    with contents.checked(path, FORMAT, FORMAT_VERSION):
        data = {name: v.data for name, v in contents.variables.items()}
        tensor = checks.array("inertia", a["inertia"], (9,)).reshape(3, 3)
        body = Body(tensor, name=str(a["body_name"]) or None, allow_unphysical=True)
        acting = torque or read_torque(str(a["torque"]), str(a["torque_record"]))
        asked = Question(
            body, acting, float(a["t_end"]), float(a["rtol"]), float(a["orbit"]) or None, bool(a["over_orbit"]),
            checks.array("scale", a["scale"], (4,)), float(a["t_start"]),
        )  # fmt: skip
        listed = json.loads(str(a["events"]))
        events = [DriftEvent(t, kind, text, bound, (k[0], k[1])) for t, kind, text, bound, k in listed]
        t, z = checks.row("step_time", data["step_time"]), data["step_state"]
        F = data["step_coefficients"].reshape(-1, 7, 4) if "step_coefficients" in data else np.zeros((0, 7, 4))
        whole = Path(t, z, data.get("step_length", np.zeros(0)), F, events, bool(a["ended"]))
        ends = zip(*(data.get(name, ()) for name in _STRETCHES), strict=True)
        stretches = tuple(Stretch(float(begin), float(end), x) for begin, end, x in ends)
        left = None
        if "left" in a:
            t0, centre, half, stated, *mean = checks.array("left", a["left"], (8,)).tolist()
            left = RemainingDrift(t0, Window(centre, np.array(mean), half), stated)
        return Drift(
            asked, float(a["side"]), whole, checks.row("time", data["time"]), float(a["error"]), stretches,
            bool(a["corrected"]), int(a["evaluations"]), left=left,
        )  # fmt: skip


def _started(asked: Question, side: float, t0: float, z: Floats) -> MeanRates:
    rates = asked.rates(side)
    rates.settle_points(t0, z, asked.tolerance)
    if asked.over_orbit:
        rates.settle_times(t0, z, asked.tolerance)
    return rates


def drift_along(asked: Question, rates: MeanRates, window: Window, begun: DriftProgress, t_eval: Any = None) -> Drift:
    """The drift from where it has begun; warns where its error is above the tolerance."""
    t0 = float(begun.steps.before.t[0])

    def made(course: Course, left: RemainingDrift | None) -> Drift:
        t = course.path.t
        if t_eval is not None:
            rows = checks.floats("t_eval", t_eval, "be times")
            t = rows[(rows - t[0]) * (t[-1] - rows) >= 0.0]
        return Drift(
            asked, rates.side, course.path, t, course.error, course.stretches, course.corrected,
            rates.evaluations, left=left,
        )  # fmt: skip

    with keeping(SimulationInterrupted, lambda _: made(begun.course(), RemainingDrift(t0, window, 0.0)), KEPT):
        course = followed(asked, rates, window, begun)
    if course.error > asked.rtol:
        warnings.warn(
            f"the error of the averages is {course.error:.1e}, above rtol={asked.rtol:g}: {_cause(course)}",
            ToleranceNotReached,
            stacklevel=checks.levels_of_polhode(),
        )
    return made(course, None)


def _cause(course: Course) -> str:
    jumps = [e for e in course.path.events if e.kind == "resonance"]
    if sum(e.bound for e in jumps) > 0.5 * course.error:
        return f"resonances met with an unknown phase ({len(jumps)}) are most of it, see d.events"
    return "the torque is too strong for more; d.simulate(t0, span) runs parts of it in full"


__all__ = ["DRIFT_ARRAYS", "FORMAT", "Branch", "Drift", "drift_along", "drift_of"]
