"""Faults of a log: each cause is tried, and one that makes the error vanish is named.

A cause has a few parameters, such as other ratios of the moments. They are fitted to the log; if what is left of
the error is a small share of it, the cause explains it. The error of an integrator can look like a small change of the
moments or of the clock: such changes are held against a simulator only if they are larger than that.
"""

import math
from dataclasses import dataclass

import numpy as np

from polhode.attitudes import euler, quaternion_from_euler
from polhode.kernels.types import Depends
from polhode.referee import conventions
from polhode.referee.causes import EXPLAINED, FAIR, Cause, LogBesideTruth, beyond, explanation
from polhode.referee.rows import APART, Break, conventions_of_parts, find_break, find_rate_map, rates_wrong_since
from polhode.support.arrays import angles, lengths, to_space

LARGE_JUMP = 0.2
"""A jump by this share of the motion from row to row is none between two steps of an integrator."""
LEAST_ERROR = 1e-9
"""Smaller errors are those of a good integration, whatever they look like."""
LEAST_OFFSET = 0.01
"""A torque that acts at another time does so by this share of a row at least."""
PURE = 0.05
"""Axes that turn leave the rates alone: errors of rates stay below this share of the turning."""
LEAST_TURNING = 1e-8
"""Axes that turn more slowly than this, relative to the body, cannot be distinguished from an error of integration."""
MOST_APART = 0.3
"""A torque that changes the momentum changes the rates from row to row: both show the same one, up to this share."""
STANDSTILL = 0.1
"""A clock that is this slow, or slower, is none: the motion stands still."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a log."""

    kind: str
    sentence: str
    certainty: str = "certain"
    """"certain", or "possible" if an inaccurate integration looks the same."""
    since: int | None = None
    """The row with which it begins, if it does not concern all rows."""

    def __str__(self) -> str:
        return self.sentence


def find_faults(trial: LogBesideTruth, words: str | None = None) -> tuple[Fault, ...]:
    """Faults of a log beyond rounding and good integration; `words` are the user's on its conventions."""
    place = find_break(trial)
    broken = None if place is None else _broken(trial, place, words)
    if broken is not None and broken.certainty == "certain" and broken.since != 1:
        return (broken,)
    if not beyond(trial).any():
        return ()
    attitude, rate = trial.errors()
    cause = explanation(trial) if max(attitude.max(), rate.max()) > LEAST_ERROR else None
    fault = None if cause is None else _fault(trial, cause)
    for one in (fault, broken):
        if one is not None and one.certainty == "certain":
            return (one,)
    found = [one for one in (fault, broken) if one is not None]
    if (rule := find_rate_map(trial)) is not None:
        clock = ": the rates or the clock are wrong" if rule.words.endswith(" times those") else ""
        sentence = f"The rates are {rule.words} with which the attitudes turn, {100 * rule.change:.2g} % off{clock}"
        found.append(_unless_small("rates", sentence, rule.change, trial.row_angle**2 / 4.0))
        if found[-1].certainty == "certain":
            return (found[-1],)
    for search in (_wrong_rates, _kinematic):
        if (certain := search(trial)) is not None:
            return (certain,)
    torque = _hidden_torque(trial)
    return (*found, torque) if torque is not None else tuple(found)


# --- places --------------------------------------------------------------------------------------------------------


def _broken(trial: LogBesideTruth, place: Break, words: str | None) -> Fault:
    """A place where the log leaves its own motion, in words."""
    k, row = place.row, trial.log.row
    at = f"(t = {trial.t[k]:.6g} s)"
    if place.rows is None:
        rows = place.size / max(trial.row_angle, 1e-300)
        if (back := place.back) is not None:
            which = f"Row {k} is" if trial.log.lines is None else f"The row in {row(k)} is"
            which = which if back == k + 1 else f"The rows from {row(k)} to {row(back - 1)} are"
            more = f" ({place.places} such places)" if back == k + 1 and place.places > 2 else ""
            return Fault("jump", f"{which} not on the motion of the others {at}{more}.", since=k)
        lost = f", about as much as {rows:.2g} rows" if 0.5 < rows < 1000 else ""
        more = f" ({place.places} such places)" if place.places > 1 else ""
        certain = place.is_clean or rows > LARGE_JUMP
        return Fault(
            "jump",
            f"The motion jumps between {row(k - 1)} and {row(k)} {at}{lost}{more}: rows are missing or were changed "
            f"there, or the times do not belong to them{'' if certain else ', or an integrator changed its step'}.",
            "certain" if certain else "possible",
            since=k,
        )
    if (parts := conventions_of_parts(trial, k, words)) is not None:
        before, after = parts
        return Fault(
            "mixed conventions",
            f"The convention changes at {row(k)} {at}: before, it is {before}; from there on, {after}. Write all rows "
            "in one convention.",
            since=k,
        )
    is_late = place.rows.start is not None
    where = f"From {row(k)} on {at}" if is_late else f"Up to {row(k - 1)} (t = {trial.t[k - 1]:.6g} s)"
    since = k if is_late else 0
    if (rule := find_rate_map(trial, place.rows)) is not None:
        said = f"{where} the rates are {rule.words} with which the attitudes turn, {100 * rule.change:.2g} % off."
        return Fault("rates", said, since=since)
    attitude, rate = (e[place.rows] for e in trial.errors())
    if is_late and trial.q is not None:
        if rates_wrong_since(trial) is not None:
            said = f"{where} the rates are not those of the attitudes: they are up to {100 * rate.max():.2g} % off."
            return Fault("rates", said, since=since)
        led = FAIR * trial.limits.attitude[k:] + APART * rate.max() * trial.size * abs(trial.t[-1] - trial.t[k])
        if (attitude > led).any() and attitude[0] > max(
            0.3 * float(np.median(attitude)), trial.errors()[0][k - 1] * 2.0
        ):
            said = f"{where} the attitudes are not those of the motion: they are up to {_degrees(attitude.max())} off."
            return Fault("rows", said, since=since)
    said = f"{where} rows do not follow from the rows before them, or an integrator takes other steps."
    return Fault("rows", said, "possible", since)


def _wrong_rates(trial: LogBesideTruth) -> Fault | None:
    """Finds rates that are wrong, since the attitudes are right."""
    if (k := rates_wrong_since(trial)) is None:
        return None
    attitude, rate = trial.errors()
    return Fault(
        "rates",
        f"The rates are not those of the attitudes: the attitudes are right to {_degrees(attitude.max())}, but the "
        f"rates are up to {100 * rate.max():.2g} % of the largest off, since {trial.log.row(k)} "
        f"(t = {trial.t[k]:.6g} s).",
        since=k,
    )


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.2g} degrees"


# --- causes in words -----------------------------------------------------------------------------------------------


def _fault(trial: LogBesideTruth, cause: Cause) -> Fault | None:
    """A cause in words."""
    p, second = cause.p, trial.row_angle**2 / 4.0
    attitude, rate = trial.errors()
    gone = f"with this the error of {max(attitude.max(), rate.max()):.1e} falls to {_percent(cause.left)}"
    if cause.is_local:
        gone = f"with this the differences from row to row fall to {_percent(cause.left)}"
    if cause.kind == "axes":
        speed = float(np.sqrt((p**2).sum()))
        axis = ", ".join(f"{x:.4g}" for x in p / (speed or 1.0))
        earth = abs(speed / conventions.EARTH_RATE - 1.0) < 5e-3
        if trial.w is not None and rate.max() > max(PURE * speed / trial.size, FAIR * float(trial.limits.rate.max())):
            return None  # rates that are off as well do so because of the integration
        if not earth and speed < trial.size * LEAST_TURNING:
            return None
        who = ", as the Earth does" if earth else ""
        sentence = f"The attitudes are against axes that turn, at {speed:.5g} rad/s about ({axis}){who}: {gone}"
        return Fault("axes", f"{sentence}.") if earth else _unless_small("axes", sentence, speed / trial.size, second)
    if cause.kind in ("lag", "shift"):
        step = float(np.median(np.abs(np.diff(trial.t))))
        shift = abs(float(p[0]))
        rows = f" ({shift / step:.3g} of a row)" if shift > 0.01 * step else ""
        when = "later" if p[0] > 0 else "earlier"
        first_row = ", but in the first row" if cause.kind == "shift" else ""
        what = "the error" if cause.left < EXPLAINED else "the error of the rates"
        left = _percent(cause.left if cause.left < EXPLAINED else cause.rate_left)
        return Fault(
            "lag",
            f"The rates are those of {shift:.4g} s {when} than the times beside them{rows}{first_row}: with this "
            f"{what} falls to {left}. A method that computes rates half a step aside writes such rows.",
        )
    if cause.kind == "start":
        turn, change = float(lengths(p[None, :3])[0]), float(lengths(p[None, 3:])[0]) / trial.size
        return Fault(
            "start",
            f"The first row is not on the motion of the others: it is off by {turn:.2g} rad in attitude and by "
            f"{change:.2g} of the rate; {gone}.",
            "certain" if cause.is_exact or max(turn, change) > 4.0 * second else "possible",
        )
    if cause.kind == "moments":
        factors = np.exp(np.append(p, 0.0) if p.size == 2 else p)
        moments = trial.model.body.moments * factors
        change = float(np.ptp(np.log(factors))) if p.size == 2 else float(np.abs(p).max())
        shown = ", ".join(f"{x:.6g}" for x in moments)
        unsaid = " (a free motion does not determine their scale)" if p.size == 2 else ""
        fell = gone.removeprefix("with this ")
        sentence = f"The body is another one: {fell} with the principal moments {shown}{unsaid}"
        return _unless_small("moments", sentence, change, second)
    if cause.kind in ("rates", "turned"):
        if cause.kind == "rates":
            rule = find_rate_map(trial, np.s_[1:])
            gains, added = (", ".join(f"{x:.4g}" for x in part) for part in (1.0 + p[:3], trial.size * p[3:]))
            what = f"those times ({gains}) plus ({added}) rad/s" if rule is None else rule.words
            sentence = f"The rates are {what} of the motion, but in the first row: {gone}"
        else:
            sentence = f"The attitudes but the first are turned, the second by {_degrees(attitude[1])}: {gone}"
        if cause.is_exact:
            return Fault(cause.kind, f"{sentence}.", since=1)
        return _unless_small(cause.kind, sentence, float(np.abs(p).max()), second)
    if cause.kind == "clock":
        if abs(1.0 + p[0]) < STANDSTILL:
            return None
        fell = gone.removeprefix("with this ")
        how = "fast" if p[0] > 0 else "slow"
        sentence = (
            f"The motion is {abs(p[0]):.3%} too {how} for its rates, by a wrong clock or wrong rates: {fell} when "
            f"times are multiplied by {1 + p[0]:.6g}"
        )
        return _unless_small("clock", sentence, abs(float(p[0])), second)
    if cause.kind == "offset":
        if abs(float(p[0])) < LEAST_OFFSET * float(np.median(np.abs(np.diff(trial.t)))):
            return None
        return Fault("offset", f"The torque acts {abs(p[0]):.4g} s too {'early' if p[0] > 0 else 'late'}: {gone}.")
    scale = 1.0 + float(p[0])
    if abs(scale + 1.0) < 0.02:
        return Fault("torque", f"The torque has the wrong sign: {gone}.")
    if abs(scale) < 0.02:
        return Fault("torque", f"The torque does not act at all: {gone}.")
    return _unless_small(
        "torque", f"The torque is {scale:.4g} times as strong as it should be: {gone}", abs(scale - 1), second
    )


def _unless_small(kind: str, sentence: str, change: float, bound: float) -> Fault:
    if change > bound:
        return Fault(kind, f"{sentence}.")
    return Fault(
        kind,
        f"{sentence}. So small a change may as well be the error of a method of second order with steps as long as the "
        "rows: a second log with other steps tells.",
        "possible",
    )


def _percent(share: float) -> str:
    if share == 0.0:
        return "what rounding allows"
    return f"{share:.1%} of that" if share > 1e-3 else f"{share:.0e} of that"


def _kinematic(trial: LogBesideTruth) -> Fault | None:
    """Finds attitudes that do not follow from the rates beside them."""
    if trial.q is None or trial.w is None:
        return None
    attitude, rate = trial.errors()
    gaps = np.abs(np.diff(trial.t))
    allowed = np.concatenate([[0.0], np.cumsum(rate[1:] * trial.size * gaps)]) + trial.limits.attitude
    worst = int(np.argmax(attitude))
    if attitude[worst] < 10.0 * allowed[worst] or attitude[worst] < 1e-6:
        return None
    speed = attitude[worst] / abs(trial.t[worst] - trial.t[0])
    how = _by_eulers_method(trial, float(attitude[worst]))
    if not how and speed < trial.size * trial.row_angle**2 / 4.0:
        return None  # a method of second order with steps as long as the rows may do that
    unknown = "The attitude is integrated less accurately than the rate, or against axes that turn."
    return Fault(
        "kinematics",
        f"The attitudes do not follow from the rates: the rates are right to {rate.max():.1e} of the largest, but the "
        f"attitudes turn away by {speed:.2g} rad/s. {how or unknown}",
    )


EULER_STEPS = (1, 2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 100)
"""Steps from row to row with which Euler's method is tried."""
MOST_EULER_STEPS = 100_000


def _by_eulers_method(trial: LogBesideTruth, error: float) -> str:
    """A sentence if attitudes turn away as Euler's method for Euler angles makes them, else nothing."""
    raw, even = trial.log.attitude, np.ptp(np.diff(trial.t)) < 1e-6 * abs(trial.t[1] - trial.t[0])
    if raw is None or raw.kind != "euler" or trial.meaning.sequence != "ZYX" or not even or trial.q is None:
        return ""
    best, steps = math.inf, 0
    for count in EULER_STEPS:
        if count * (trial.t.size - 1) > MOST_EULER_STEPS:
            break
        fine = np.interp(np.arange(count * (trial.t.size - 1) + 1) / count, np.arange(trial.t.size), trial.t)
        q = conventions.relative_to_place(
            trial.log, trial.meaning, fine, trial.model.motion(fine, trial.true.q[0], trial.true.w[0]).q
        )
        turns = conventions.turn_vectors(q[:-1], q[1:])
        yaw, pitch, roll = euler(q[:1], "ZYX")[0].tolist()
        rows = [(yaw, pitch, roll)]
        for k, (x, y, z) in enumerate(turns.tolist(), 1):
            across = y * math.sin(roll) + z * math.cos(roll)
            yaw, pitch, roll = (
                yaw + across / math.cos(pitch),
                pitch + y * math.cos(roll) - z * math.sin(roll),
                roll + x + math.tan(pitch) * across,
            )
            if k % count == 0:
                rows.append((yaw, pitch, roll))
        if not np.isfinite(rows).all():
            continue
        made = quaternion_from_euler("ZYX", rows)
        theirs = conventions.relative_to_place(trial.log, trial.meaning, trial.t, trial.q)
        left = float(angles(made, theirs).max())
        if left < best:
            best, steps = left, count
    if best > 0.1 * error:
        return ""
    step = abs(trial.t[1] - trial.t[0]) / steps
    return (
        "They are what Euler's method of first order makes of the equations for the Euler angles with steps of "
        f"{step:.3g} s: with this the error falls to {best / error:.1%} of that."
    )


def _hidden_torque(trial: LogBesideTruth) -> Fault | None:
    """Finds a torque that acts in the log, where none was given."""
    if trial.model.torque.depends is not Depends.NOTHING or trial.q is None or trial.w is None:
        return None
    body = trial.model.body
    L = to_space(trial.q, body.momentum(trial.w))
    size = float(lengths(L[:1])[0])
    x = (trial.t - trial.t[0])[:, None]
    slope = (x * (L - L[0])).sum(axis=0) / float((x * x).sum())
    left = float(np.sqrt(np.mean(((L - L[0]) - x * slope) ** 2)))
    total = float(np.sqrt(np.mean((L - L[0]) ** 2)))
    if total < 1e-6 * size:
        return None
    steps = min(conventions.MOST_STEPS, max(1, math.ceil(trial.row_angle / conventions.STEP_ANGLE)))
    gaps = np.diff(trial.t)
    w1 = conventions.ahead(body, trial.model.torque, trial.t[:-1], trial.q[:-1], trial.w[:-1], gaps, steps)[1]
    pushes = body.momentum(trial.w[1:]) - body.momentum(w1)
    pushed = lengths(pushes)
    mean = to_space(trial.q[1:], pushes).sum(axis=0) / float(trial.t[-1] - trial.t[0])
    # Axes that turn change the momentum as well, but not the rates.
    if left < 0.1 * total and lengths((mean - slope)[None])[0] < MOST_APART * lengths(slope[None])[0]:
        shown = ", ".join(f"{v:.4g}" for v in slope)
        return Fault("hidden torque", f"The momentum changes as if a torque ({shown}) acted, constant in space axes.")
    if float(np.median(pushed)) < trial.row_angle**2 * size:  # which steps as long as the rows may do
        return None
    torque = float(np.sqrt(np.mean((pushed / gaps) ** 2)))
    return Fault(
        "hidden torque",
        f"The momentum changes from row to row as if a torque acted, of {torque:.3g} in the mean: give it, or take it "
        "out of the simulation.",
    )
