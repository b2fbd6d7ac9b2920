"""check(...) -> Verdict: a log that another simulator made, compared with the true motion from its first row."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.compiler import announced_once
from polhode.kernels.types import Depends
from polhode.problem import checked_state
from polhode.referee import conventions
from polhode.referee.causes import FAIR, LogBesideTruth
from polhode.referee.conserved import column_faults, kinetic_energy, potential_energy
from polhode.referee.faults import Fault, find_faults
from polhode.referee.growth import Drift, drift_of
from polhode.referee.noise import find_noise
from polhode.referee.reading import read_log
from polhode.referee.rounding import Precision, precision
from polhode.referee.truth import MotionModel, fitted, limits, thinned
from polhode.referee.verdict import Errors, Order, Verdict
from polhode.support import checks
from polhode.support.arrays import Floats, lengths, to_space
from polhode.torques import Torque, checked
from polhode.torques.no_torque import Free

DRIFT_ROWS = 4000
"""Drifts are looked at in about this many rows."""
GAP = 1.5
"""Times further apart than this many usual distances are a gap."""


@announced_once
def check(
    log: Any,
    *others: Any,
    body: Body,
    torque: Torque | None = None,
    columns: Mapping[str, Any] | None = None,
    convention: str | None = None,
    tolerance: float | None = None,
    steps: Sequence[float] | None = None,
    state: Any = None,
    rtol: float | None = None,
) -> Verdict:
    """Compares a motion that another simulator computed with the true one that begins with its first row.

    The truth of a free body is its closed form; that of a torqued one is integrated, and its error stated. The
    conventions of the log are found out by trying them. `print` the verdict to read it.

    Parameters
    ----------
    log
        The path of a file: a table (CSV or other text, Parquet, .npz), a CCSDS AEM, or a result of polhode. In Python
        also a DataFrame, a Dataset, a `Solution`, what `read_aem` returns, a recorder of Basilisk, or a dict of arrays:
        `t` with `quaternion`, `matrix`, `mrp` or `euler_deg(ZYX)`, and `omega`, of which one may be missing, or `qpos`
        and `qvel` of MuJoCo.
    others
        Logs of the same motion with other steps: the order of the method is told from them.
    body
        The rigid body, in the body axes of the log.
    torque
        The torque on it, in the same axes. Without a torque the body is free.
    columns
        Which columns of a table hold what, if their names do not say it: `{"t": "T", "omega_deg": ["P", "Q", "R"]}`.
    convention
        What is known of the conventions, in words separated by commas: "space to body", "scalar last", "space rates",
        "deg/s", "ZYX", "ned" (against north-east-down axes at the latitude and longitude in the table). Everything
        else is tried.
    tolerance
        The error that is accepted: of the attitude in rad, and of the rate relative to the largest. Default: 1 degree,
        and 1 % of the largest rate.
    steps
        The steps behind all logs, in s. Default: the distances of their rows.
    state
        Initial values of the state variables of a torque that has some.
    rtol
        Bound of the error of the true motion of a torqued body. Default: a hundredth of what the digits of the log can
        show.

    Examples
    --------
    >>> t = np.linspace(0, 10, 101)
    >>> true = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0]).at(t)
    >>> theirs = {"t": t, "quaternion": true.quaternion, "omega": true.omega}
    >>> ph.check(theirs, body=ph.Body([1, 2, 2.8])).agrees
    True
    >>> ph.check(theirs, body=ph.Body([1, 2, 2.9])).agrees
    False
    """
    if not isinstance(body, Body):
        raise TypeError(f"body must be a polhode.Body, not {body!r}: write Body({body!r})")
    body.check_constant("check")
    acting = Free() if torque is None else checked(torque)
    accepted = None if tolerance is None else checks.number("tolerance", tolerance, positive=True)
    found = [_examined(h, body, acting, columns, convention, state, rtol) for h in (log, *others)]
    first = found[0]
    order = _order(found, steps) if others else None
    noise = None if first.errors.is_rounding else find_noise(first.trial)
    faults: list[Fault] = []
    if noise is None:
        faults += find_faults(first.trial, convention)
    elif noise.time:
        rows = noise.time / abs(float(np.median(np.diff(first.trial.t))))
        scatter = f"by {noise.time:.2g} s ({rows:.0%} of a row)"
        said = f"The times scatter, {scatter}: each row is on the motion, but at another time than stands beside it."
        faults.append(Fault("times", said))
        noise = None
    faults += column_faults(first.trial, noise)
    faults += [Fault("names", text) for text in first.convention.surprises]
    drift = _drifts(first)
    if (norm := drift.get("|q|")) is not None and norm.kind != "none" and norm.largest > 1e-6:
        faults.append(
            Fault(
                "norm",
                f"The quaternions do not keep their length: it is off by {norm.largest:.1e}. They are scaled to one "
                "here; a matrix made of them as they are is no rotation.",
                "certain" if norm.largest > first.errors.worst else "possible",  # as the error of the integration is
            )
        )
    if first.convention.certainty == "none fits" and not any(f.since is not None for f in faults):
        left = f"{min(1.0, first.convention.unexplained):.0%}"
        faults.insert(
            0,
            Fault(
                "convention",
                f"No convention makes the rows follow from each other: even the best leaves {left} of the motion over "
                "half a radian unexplained. Attitudes and rates do not belong to one motion of this body.",
            ),
        )
    if order is not None and any(f.certainty == "possible" for f in faults):
        faults = [f for f in faults if f.certainty == "certain"] + _judged_by_order(faults, order)
    return Verdict(
        first.trial.log.source, body, acting, first.trial.t.size, first.convention, first.errors, drift, order,
        tuple(faults), tuple(_notes(first)), noise, accepted, first.precision.words,
    )  # fmt: skip


class _ExaminedLog(NamedTuple):
    trial: LogBesideTruth
    convention: conventions.Convention
    precision: Precision
    errors: Errors
    norm: Floats | None
    """The lengths of the quaternions, as they stand in the log."""
    notes: tuple[str, ...]


def _examined(
    source: Any, body: Body, torque: Torque, columns: Mapping[str, Any] | None, words: str | None, state: Any,
    rtol: float | None,
) -> _ExaminedLog:  # fmt: skip
    log = read_log(source, columns)
    if log.attitude is None and torque.depends is not Depends.NOTHING and torque.reads_attitude:
        raise ValueError(
            f"{log.source} has no attitudes, but {type(torque).__name__} depends on them: add their columns, or name "
            "them, as in --columns quaternion=q0,q1,q2,q3 (in Python: columns={'quaternion': ['q0', ...]})"
        )
    torque.check_span(float(log.t[0]), float(log.t[-1]))
    torque = torque.for_span(float(log.t[0]), float(log.t[-1]))
    digits = precision(log.t, log.attitude, log.omega)
    size = float(np.abs(log.omega.values).max()) if log.omega is not None else 1.0
    rough = max(digits.attitude, float(digits.rate.of(np.array(size))) / (size or 1.0))
    carried: Any = ()
    if torque.state_names:
        w_guess = np.zeros(3) if log.omega is None else log.omega.values[0]
        carried = tuple(checked_state(torque, state, w_guess).tolist())
    found = conventions.find_convention(log, body, torque, words, rough, carried)
    m = found.meaning
    q = conventions.quaternions_of(log, m)
    w = None if log.omega is None else conventions.rates(log.omega, m, q)
    goal = min(1e-8, max(1e-12, 0.01 * rough)) if rtol is None else checks.number("rtol", rtol, positive=True)
    model = MotionModel(body, torque, state, goal)
    q0 = np.array([1.0, 0.0, 0.0, 0.0]) if q is None else q[0]
    notes: tuple[str, ...] = ()
    if w is None:
        assert q is not None
        w0, uncertainty, used = _first_rate(model, log.t, q, digits.attitude)
        about = f"it is uncertain by {uncertainty:.1e} rad/s"
        notes = (f"The rate at the start is fitted to the first {used} attitudes; {about}.",)
        own, at_start = np.zeros(log.t.size), np.full(3, uncertainty)
    else:
        assert log.omega is not None
        w0 = w[0]
        each = digits.rate.of(log.omega.values) * conventions.TO_RADIANS[m.unit]
        own, at_start = each.max(axis=1), each[0]
        if m.axes == "space":
            own = own + digits.attitude * lengths(w)
            at_start = np.full(3, float(np.sqrt((at_start**2).sum())) + digits.attitude * float(lengths(w[:1])[0]))
    true = model.motion(log.t, q0, w0)
    bound = limits(model, log.t, true, digits.attitude, own, digits.time, start_rate=at_start)
    trial = LogBesideTruth(log, model, log.t, q, w, true, bound, m, carried)
    attitude, rate = trial.errors()
    errors = Errors(
        log.t, None if q is None else attitude, None if w is None else rate, bound.attitude, bound.rate, model.words,
        float(np.max(true.error)),
    )  # fmt: skip
    norm = lengths(log.attitude.values) if log.attitude is not None and log.attitude.kind == "quaternion" else None
    return _ExaminedLog(trial, found, digits, errors, norm, notes)


def _first_rate(model: MotionModel, t: Floats, q: Floats, noise: float) -> tuple[Floats, float, int]:
    """The rate at the start that fits the first attitudes, its uncertainty, and how many there were."""
    w0 = conventions.differentiated(t, q, [0])[0]
    size = float(lengths(w0[None, :])[0]) or 1.0 / abs(float(t[-1] - t[0]))
    turned = np.abs(t - t[0]) * size
    used = int(min(t.size, max(8, int(np.searchsorted(turned, 2.0))), 60))

    def residual(p: Floats, rows: int) -> Floats:
        return conventions.turn_vectors(model.motion(t[:rows], q[0], w0 + p).q, q[:rows]).ravel()

    p = fitted(residual, np.full(3, size), [used])
    span = abs(float(t[used - 1] - t[0]))
    scatter = float(np.sqrt(np.mean(residual(p, used) ** 2)))
    return w0 + p, 3.0 * (noise + scatter) / span, used


def _drifts(found: _ExaminedLog) -> dict[str, Drift]:
    """The drifts of energy, momentum and length, beyond what the true motion does."""
    trial = found.trial
    rows = thinned(trial.t.size, DRIFT_ROWS)
    t, body, torque = trial.t[rows], trial.model.body, trial.model.torque
    made: dict[str, Drift] = {}
    if trial.w is not None:
        w, true_w = trial.w[rows], trial.true.w[rows]
        unit = found.convention.meaning.unit
        assert trial.log.omega is not None
        off = found.precision.rate.of(trial.log.omega.values[rows]) * conventions.TO_RADIANS[unit]
        share = 2.0 * float((off.max(axis=1) / max(trial.size, 1e-300)).max()) * math.sqrt(3.0)
        share += found.precision.attitude if found.convention.meaning.axes == "space" else 0.0
        kinetic, true_kinetic = kinetic_energy(body, w), kinetic_energy(body, true_w)
        gained = kinetic - true_kinetic
        scale = float(true_kinetic.max()) or 1.0
        name = "energy"
        V = None if trial.q is None else potential_energy(torque, body, t, trial.q[rows])
        true_V = potential_energy(torque, body, t, trial.true.q[rows])
        if V is not None and true_V is not None:
            gained, scale = gained + V - true_V, scale + float(np.abs(true_V).max())
        limit = np.interp(t, trial.t, trial.limits.rate) if t[-1] > t[0] else trial.limits.rate[rows]
        free = trial.model.is_free and not body.has_rotor
        noise = 2.0 * share + 1e-15 if free else 2.0 * share + 4.0 * float(np.max(limit))
        made[name] = drift_of(name, t, gained / scale, noise)
        if trial.q is not None:
            L = to_space(trial.q[rows], body.momentum(w))
            true_L = to_space(trial.true.q[rows], body.momentum(true_w))
            size = float(lengths(true_L).max()) or 1.0
            noise += 2.0 * (found.precision.attitude if free else float(np.max(trial.limits.attitude)))
            made["momentum"] = drift_of("momentum", t, lengths(L - true_L) / size, noise)
    if found.norm is not None:
        assert trial.log.attitude is not None
        noise = 2.0 * found.precision.attitude + 1e-15
        made["|q|"] = drift_of("|q|", t, found.norm[rows] - 1.0, noise)
    return made


def _order(found: list[_ExaminedLog], steps: Sequence[float] | None) -> Order:
    """The order from the logs with the two shortest steps whose errors are beyond rounding."""
    if steps is None:
        sizes = [abs(float(np.median(np.diff(f.trial.t)))) for f in found]
        if max(sizes) < 1.01 * min(sizes):
            raise ValueError(
                f"all logs have rows {sizes[0]:g} s apart: say how long the steps behind them are, as in "
                "--step 0.1 --step 0.05 (in Python: steps=[0.1, 0.05])"
            )
    else:
        sizes = [checks.number("steps", h, positive=True) for h in steps]
        if len(sizes) != len(found):
            raise ValueError(f"steps must have one step for each of the {len(found)} logs, not {len(sizes)}")
        if max(sizes) == min(sizes):
            raise ValueError(f"steps must differ, but all are {sizes[0]:g}: give logs with different steps")
    listed = sorted(zip(sizes, found, strict=True), key=lambda pair: -pair[0])
    end = min(abs(float(f.trial.t[-1] - f.trial.t[0])) for f in found) * (1 + 1e-9)

    def worst(f: _ExaminedLog, name: str) -> tuple[float, bool]:
        error, limit = getattr(f.errors, name), getattr(f.errors, f"{name}_limit")
        if error is None:
            return math.nan, False
        inside = np.abs(f.trial.t - f.trial.t[0]) <= end
        k = int(np.argmax(np.where(inside, error, -1.0)))
        return float(error[k]), bool(error[k] > 2.0 * FAIR * limit[k] and error[k] < 1.0)

    def order(name: str) -> float:
        usable = [(h, e) for h, f in listed for e, good in [worst(f, name)] if good]
        if len(usable) < 2:
            return math.nan
        (long, much), (short, little) = usable[-2:]
        return math.log(much / little) / math.log(long / short)

    return Order(
        tuple(h for h, _ in listed),
        tuple(worst(f, "attitude")[0] for _, f in listed), tuple(worst(f, "rate")[0] for _, f in listed),
        order("attitude"), order("rate"),
    )  # fmt: skip


def _judged_by_order(faults: list[Fault], order: Order) -> list[Fault]:
    """The possible faults again: errors that fall with the step are those of the integration."""
    falls = max((p for p in (order.attitude, order.rate) if not math.isnan(p)), default=math.nan)
    if math.isnan(falls):
        return [f for f in faults if f.certainty == "possible"]
    if falls > 0.7:
        return []
    return [
        Fault(f.kind, f.sentence.split(". So small")[0] + ".", "certain") for f in faults if f.certainty == "possible"
    ]


def _notes(found: _ExaminedLog) -> list[str]:
    trial, notes = found.trial, [*found.trial.log.notes, *found.notes]
    gaps = np.abs(np.diff(trial.t))
    usual = float(np.median(gaps))
    wide = np.flatnonzero(gaps > GAP * usual)
    even = np.quantile(gaps, 0.9) < 1.01 * usual
    if even and wide.size:
        k = int(wide[0])
        missing = round(float(gaps[wide].sum()) / usual) - wide.size
        more = f" and {wide.size - 1} more places" if wide.size > 1 else ""
        notes.append(
            f"About {missing} rows are missing, after {trial.log.row(k)}{more}: times are kept, so nothing is lost."
        )
    return notes
