"""What may be wrong with a history: each cause is tried, and one that makes the error vanish is named.

A cause has a few parameters, such as other ratios of the moments. They are fitted to the history; if what is left of
the error is a small share of it, the cause explains it. The error of an integrator can look like a small change of the
moments or of the clock: such changes are held against a simulator only if they are larger than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from polhode._arrays import Floats, lengths, to_space
from polhode.attitudes import euler, quaternion_from_euler
from polhode.core.types import Depends
from polhode.referee.causes import EXPLAINED, FAIR, Case, Cause, beyond, explanation
from polhode.referee.conventions import (
    EARTH_RATE,
    MOST_STEPS,
    STEP_ANGLE,
    ahead,
    angles,
    relative_to_place,
    turn_vectors,
)  # fmt: skip
from polhode.referee.growth import growth
from polhode.referee.truth import limits

GROSS = 0.1
"""An error of this many radians, or of this share of the rate, is a fault of its own."""

LEAST_ERROR = 1e-9
"""Smaller errors are those of a good integration, whatever they look like."""

LEAST_OFFSET = 0.01
"""A torque that acts at another time does so by this share of a row at least."""

JUMP = 30.0
"""A row that is this many times farther than usual from where the one before leads has jumped."""

PURE = 0.05
"""Axes that turn leave the rates alone: errors of rates stay below this share of the turning."""

LEAST_TURNING = 1e-8
"""Axes that turn more slowly than this, relative to the body, cannot be told from an error of integration."""

LEAST_NOISY_ROWS = 32
"""Noise is looked for in histories with this many rows at least."""

MOST_DEVIATIONS = 4.0
"""Noise is at most this many standard deviations."""

MOST_APART = 0.3
"""A torque that changes the momentum changes the rates from row to row: both show the same one, up to this share."""

STANDSTILL = 0.1
"""A clock that is this slow, or slower, is none: the motion stands still."""

MOST_TORQUED_ROWS = 20_000
"""Jumps of torqued bodies are looked for in up to this many rows: the torque is called in plain Python."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a history."""

    kind: str
    sentence: str
    certainty: str = "certain"
    """"certain", or "possible" if an inaccurate integration looks the same."""

    def __str__(self) -> str:
        return self.sentence


def find_faults(case: Case) -> tuple[Fault, ...]:
    """Returns what is wrong with a history; nothing if its errors are those of a good integration, or of rounding."""
    if not beyond(case).any():
        return ()
    if (jumps := _jumps(case)) is not None:
        return (jumps,)
    attitude, rate = case.errors()
    is_large = max(attitude.max(), rate.max()) > LEAST_ERROR
    if is_large and (noise := _noise(case)) is not None:
        return (noise,)
    cause = explanation(case) if is_large else None
    fault = None if cause is None else _fault(case, cause)
    found = [] if fault is None else [fault]
    if any(f.certainty == "certain" for f in found):
        return tuple(f for f in found if f.certainty == "certain")
    if (kinematic := _kinematic(case)) is not None:
        return (kinematic,)
    torque = _hidden_torque(case)
    if torque is not None:
        found.append(torque)
    if not any(f.certainty == "certain" for f in found) and (attitude.max() > GROSS or rate.max() > GROSS):
        found.insert(0, _gross(case, attitude, rate))
    return tuple(found)


def _gross(case: Case, attitude: Floats, rate: Floats) -> Fault:
    curve = attitude if attitude.max() > rate.max() else rate
    small = np.flatnonzero(curve < 1.0)[-1] + 1 if (curve < 1.0).any() else curve.size
    kind = growth(case.t[:small], curve[:small], 0.0)[0]
    words = {
        "linear": ", in proportion to time",
        "quadratic": ", as the square of time",
        "exponential": ", exponentially",
    }
    worst = f"{attitude.max():.2g} rad" if attitude.max() > rate.max() else f"{rate.max():.2g} of the largest rate"
    return Fault(
        "accuracy",
        f"The error grows to {worst}{words.get(kind, '')}: the integration is not accurate, or body, torque and axes "
        "are not those of the simulation.",
    )


# --- noise ---------------------------------------------------------------------------------------------------------


def _noise(case: Case) -> Fault | None:
    """Finds noise, as measurements have it, if that in the first row and in each other explains the whole error."""
    gaps = np.diff(case.t)
    if case.t.size < LEAST_NOISY_ROWS or np.ptp(gaps) > 0.01 * abs(float(gaps[0])):
        return None
    none = np.zeros((case.t.size, 3))
    turn = _scatter(none if case.q is None else turn_vectors(case.true.q, case.q))
    rate = _scatter(none if case.w is None else (case.w - case.true.w) / case.size)
    if not (turn > 2.0 * case.limits.attitude[0] or rate > 2.0 * case.limits.rate[0]):
        return None
    most = MOST_DEVIATIONS * rate * case.size
    bound = limits(
        case.model, case.t, case.true, max(MOST_DEVIATIONS * turn, float(case.limits.attitude[0])),
        np.full(case.t.size, most), 0.0, start_rate=np.full(3, most),
    )  # fmt: skip
    if beyond(case._replace(limits=bound)).any():
        return None
    parts = [
        f"{name} by {size:.1e} {unit}"
        for name, size, unit in (("attitudes", turn, "rad"), ("rates", rate, "of the largest")) if size > 0.0
    ]  # fmt: skip
    return Fault(
        "noise",
        f"Rows scatter at random, {' and '.join(parts)}: so much noise in the first row explains the whole error. "
        "The motion behind noisy rows is found by polhode.fit.",
        "possible",
    )


def _scatter(values: Floats) -> float:
    """Returns the standard deviation of white noise in values that else are smooth; 0: there is none to be seen.

    Third differences of white noise have 20 times its variance, and each has a correlation of -0.75 with the next.
    """
    d = np.diff(values, 3, axis=0)
    power = float((d * d).sum())
    if power == 0.0 or float((d[1:] * d[:-1]).sum()) > -0.6 * power:
        return 0.0
    return math.sqrt(power / (20.0 * d.size))


# --- jumps ---------------------------------------------------------------------------------------------------------


def _jumps(case: Case) -> Fault | None:
    """Finds rows at which the history leaves its own motion."""
    if case.w is None or (not case.model.is_free and case.t.size > MOST_TORQUED_ROWS):
        return None
    q = case.true.q if case.q is None else case.q
    steps = min(MOST_STEPS, max(1, math.ceil(case.row_angle / STEP_ANGLE)))
    model = case.model
    q1, w1 = ahead(model.body, model.torque, case.t[:-1], q[:-1], case.w[:-1], np.diff(case.t), steps, case.carried)
    grown = lengths(w1 - case.w[1:]) / case.size
    if case.q is not None:
        grown = np.hypot(grown, angles(q1, case.q[1:]))
    usual = float(np.median(grown))
    noise = 4.0 * (case.limits.attitude[0] + case.limits.rate[0])
    bad = np.flatnonzero((grown > JUMP * usual) & (grown > noise) & (grown > 1e-3 * case.row_angle))
    bad = bad[bad > 0]  # the first step of a multistep method is its own
    if not bad.size or bad.size > max(3, 0.02 * grown.size):
        return None
    k = int(bad[0])
    rows = grown[k] / max(case.row_angle, 1e-300)
    lost = f", about as much as {rows:.2g} rows" if 0.5 < rows < 1000 else ""
    more = f" ({bad.size} such places)" if bad.size > 1 else ""
    return Fault(
        "jump",
        f"The motion jumps between {case.log.row(k)} and {case.log.row(k + 1)} (t = {case.t[k + 1]:.6g} s){lost}{more}"
        ": rows are missing or were changed there, or the times do not belong to them.",
    )


# --- causes in words -----------------------------------------------------------------------------------------------


def _fault(case: Case, cause: Cause) -> Fault | None:
    """Returns a cause in words."""
    p, second = cause.p, case.row_angle**2 / 4.0
    attitude, rate = case.errors()
    gone = f"with this the error of {max(attitude.max(), rate.max()):.1e} falls to {_percent(cause.left)}"
    if cause.is_local:
        gone = f"with this the differences from row to row fall to {_percent(cause.left)}"
    if cause.kind == "axes":
        speed = float(np.sqrt((p**2).sum()))
        axis = ", ".join(f"{x:.4g}" for x in p / (speed or 1.0))
        earth = abs(speed / EARTH_RATE - 1.0) < 5e-3
        if case.w is not None and rate.max() > max(PURE * speed / case.size, FAIR * float(case.limits.rate.max())):
            return None  # rates that are off as well do so because of the integration
        if not earth and speed < case.size * LEAST_TURNING:
            return None
        who = ", as the Earth does" if earth else ""
        sentence = f"The attitudes are against axes that turn, at {speed:.5g} rad/s about ({axis}){who}: {gone}"
        return Fault("axes", f"{sentence}.") if earth else _unless_small("axes", sentence, speed / case.size, second)
    if cause.kind in ("lag", "shift"):
        step = float(np.median(np.abs(np.diff(case.t))))
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
        turn, change = float(lengths(p[None, :3])[0]), float(lengths(p[None, 3:])[0]) / case.size
        return Fault(
            "start",
            f"The first row is not on the motion of the others: it is off by {turn:.2g} rad in attitude and by "
            f"{change:.2g} of the rate; {gone}.",
            "certain" if max(turn, change) > 4.0 * second else "possible",
        )
    if cause.kind == "moments":
        factors = np.exp(np.append(p, 0.0) if p.size == 2 else p)
        moments = case.model.body.moments * factors
        change = float(np.ptp(np.log(factors))) if p.size == 2 else float(np.abs(p).max())
        shown = ", ".join(f"{x:.6g}" for x in moments)
        unsaid = " (their scale cannot be told from a free motion)" if p.size == 2 else ""
        fell = gone.removeprefix("with this ")
        sentence = f"The body is another one: {fell} with the principal moments {shown}{unsaid}"
        return _unless_small("moments", sentence, change, second)
    if cause.kind == "clock":
        if abs(1.0 + p[0]) < STANDSTILL:
            return None
        fell = gone.removeprefix("with this ")
        how = "fast" if p[0] > 0 else "slow"
        sentence = f"The motion is {abs(p[0]):.3%} too {how}: {fell} when times are multiplied by {1 + p[0]:.6g}"
        return _unless_small("clock", sentence, abs(float(p[0])), second)
    if cause.kind == "offset":
        if abs(float(p[0])) < LEAST_OFFSET * float(np.median(np.abs(np.diff(case.t)))):
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
        "rows: a second history with other steps tells.",
        "possible",
    )


def _percent(share: float) -> str:
    if share == 0.0:
        return "what rounding allows"
    return f"{share:.1%} of that" if share > 1e-3 else f"{share:.0e} of that"


def _kinematic(case: Case) -> Fault | None:
    """Finds attitudes that do not follow from the rates beside them."""
    if case.q is None or case.w is None:
        return None
    attitude, rate = case.errors()
    gaps = np.abs(np.diff(case.t))
    allowed = np.concatenate([[0.0], np.cumsum(rate[1:] * case.size * gaps)]) + case.limits.attitude
    worst = int(np.argmax(attitude))
    if attitude[worst] < 10.0 * allowed[worst] or attitude[worst] < 1e-6:
        return None
    speed = attitude[worst] / abs(case.t[worst] - case.t[0])
    how = _by_eulers_method(case, float(attitude[worst]))
    if not how and speed < case.size * case.row_angle**2 / 4.0:
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


def _by_eulers_method(case: Case, error: float) -> str:
    """Returns a sentence if attitudes turn away as Euler's method for Euler angles makes them, else nothing."""
    raw, even = case.log.attitude, np.ptp(np.diff(case.t)) < 1e-6 * abs(case.t[1] - case.t[0])
    if raw is None or raw.kind != "euler" or case.meaning.sequence != "ZYX" or not even or case.q is None:
        return ""
    best, steps = math.inf, 0
    for count in EULER_STEPS:
        if count * (case.t.size - 1) > MOST_EULER_STEPS:
            break
        fine = np.interp(np.arange(count * (case.t.size - 1) + 1) / count, np.arange(case.t.size), case.t)
        q = relative_to_place(case.log, case.meaning, fine, case.model.motion(fine, case.true.q[0], case.true.w[0]).q)
        turns = turn_vectors(q[:-1], q[1:])
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
        theirs = relative_to_place(case.log, case.meaning, case.t, case.q)
        left = float(angles(made, theirs).max())
        if left < best:
            best, steps = left, count
    if best > 0.1 * error:
        return ""
    step = abs(case.t[1] - case.t[0]) / steps
    return (
        "They are what Euler's method of first order makes of the equations for the Euler angles with steps of "
        f"{step:.3g} s: with this the error falls to {best / error:.1%} of that."
    )


def _hidden_torque(case: Case) -> Fault | None:
    """Finds a torque that acts in the history, where none was given."""
    if case.model.torque.depends is not Depends.NOTHING or case.q is None or case.w is None:
        return None
    body = case.model.body
    L = to_space(case.q, body.momentum(case.w))
    size = float(lengths(L[:1])[0])
    x = (case.t - case.t[0])[:, None]
    slope = (x * (L - L[0])).sum(axis=0) / float((x * x).sum())
    left = float(np.sqrt(np.mean(((L - L[0]) - x * slope) ** 2)))
    total = float(np.sqrt(np.mean((L - L[0]) ** 2)))
    if total < 1e-6 * size:
        return None
    steps = min(MOST_STEPS, max(1, math.ceil(case.row_angle / STEP_ANGLE)))
    gaps = np.diff(case.t)
    w1 = ahead(body, case.model.torque, case.t[:-1], case.q[:-1], case.w[:-1], gaps, steps)[1]
    pushes = body.momentum(case.w[1:]) - body.momentum(w1)
    pushed = lengths(pushes)
    mean = to_space(case.q[1:], pushes).sum(axis=0) / float(case.t[-1] - case.t[0])
    # Axes that turn change the momentum as well, but not the rates.
    if left < 0.1 * total and lengths((mean - slope)[None])[0] < MOST_APART * lengths(slope[None])[0]:
        shown = ", ".join(f"{v:.4g}" for v in slope)
        return Fault("hidden torque", f"The momentum changes as if a torque ({shown}) acted, constant in space axes.")
    if float(np.median(pushed)) < case.row_angle**2 * size:  # which steps as long as the rows may do
        return None
    torque = float(np.sqrt(np.mean((pushed / gaps) ** 2)))
    return Fault(
        "hidden torque",
        f"The momentum changes from row to row as if a torque acted, of {torque:.3g} in the mean: give it, or take it "
        "out of the simulation.",
    )
