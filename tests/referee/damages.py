"""Logs that are right, logs that are damaged in a known way, and what the referee says of each.

`python -m tests.referee.damages` draws the whole table: every damage, on every motion, at every spacing of rows.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.support.arrays import Floats
from polhode.torques import Torque
from tests.referee.motions import digits

Log = dict[str, Any]


class Motion(NamedTuple):
    """A motion that is known to round-off, or under a torque to 1e-10, by SciPy."""

    name: str
    body: ph.Body
    torque: Torque | None
    t: Floats
    q: Floats
    w: Floats

    @property
    def log(self) -> Log:
        return {"t": self.t, "quaternion": self.q, "omega": self.w}


PROBLEMS: dict[str, tuple[ph.Body, Torque | None, list[float]]] = {
    "free triaxial": (ph.Body([1.0, 2.0, 2.6]), None, [0.5, 0.7, 0.6]),
    "free symmetric": (ph.Body([1.0, 1.0, 1.7]), None, [0.4, 0.2, 0.9]),
    "heavy top": (ph.Body([2.0, 2.3, 1.2]), ph.HeavyTop(weight=0.4), [0.3, 0.2, 1.3]),
    "gravity gradient": (ph.Body([1.0, 2.0, 2.6]), ph.GravityGradient(0.02), [0.5, 0.7, 0.6]),
    "damped": (ph.Body([1.0, 2.0, 2.6]), ph.LinearDamping(0.01), [0.5, 0.7, 0.6]),
}
"""Body, torque, and rate at the start."""

ROW_ANGLES = (0.02, 0.1, 0.4)
"""How far the body turns from one row to the next, in rad."""

ROWS = 200


def motion(problem: str, row_angle: float = 0.1, rows: int = ROWS) -> Motion:
    """Returns a motion with rows about so far apart."""
    body, torque, w0 = PROBLEMS[problem]
    q0 = np.array([0.5, -0.1, 0.7, 0.5])
    q0 /= np.linalg.norm(q0)
    t = np.arange(rows, dtype=np.float64) * float(f"{row_angle / float(np.linalg.norm(w0)):.2g}")
    if torque is None:
        state = ph.FreeMotion(body, w0, q0).at(t)
        return Motion(problem, body, torque, t, state.quaternion, state.omega)
    start = np.concatenate([q0, w0])
    made = solve_ivp(slope_of(body, torque), (0.0, t[-1]), start, "DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T
    return Motion(problem, body, torque, t, made[:, :4] / np.linalg.norm(made[:, :4], axis=1)[:, None], made[:, 4:])


def slope_of(body: ph.Body, torque: Torque | None) -> Callable[[float, Floats], Floats]:
    """Returns the derivative of attitude and rate, which is written here once more."""
    p = None if torque is None else np.array(torque.parameters(body), dtype=np.float64)

    def slope(t: float, x: Floats) -> Floats:
        q, w = tuple(x[:4]), tuple(x[4:])
        M = np.array(ph.cross(tuple(body.moments * x[4:]), w))
        if torque is not None:
            M = M + np.array(torque.called(t, q, w, p, ()))
        return np.concatenate([0.5 * np.array(ph.quaternion_product(q, (0.0, *w))), M / body.moments])

    return slope


# --- logs that are right ---------------------------------------------------------------------------------------------


def right_logs(m: Motion) -> Iterator[tuple[str, Log]]:
    """Yields logs of a motion as honest people write them."""
    rng = np.random.default_rng(1)
    size = float(np.abs(m.w).max())
    yield "exact", m.log
    yield "6 digits", {"t": m.t, "quaternion": digits(m.q, "6g"), "omega": digits(m.w, "6g")}
    yield "4 decimals", {"t": m.t, "quaternion": digits(m.q, "4f"), "omega": digits(m.w, "4f")}
    momentum = m.body.momentum(m.w)
    yield "energy and momentum", m.log | {
        "energy": 0.5 * (m.w * momentum).sum(axis=1), "angular_momentum": np.asarray(ph.to_space(m.q, momentum)),
    }  # fmt: skip
    yield "every fifth row", {k: v[::5] for k, v in m.log.items()}
    yield "single precision", {k: (v if k == "t" else digits(v, "f4")) for k, v in m.log.items()}
    yield "without rates", {"t": m.t, "quaternion": m.q}
    if m.torque is None or not m.torque.reads_attitude:
        yield "without attitudes", {"t": m.t, "omega": m.w}
    yield "in deg/s", m.log | {"omega": np.degrees(m.w)}
    yield "in space axes", m.log | {"omega": ph.to_space(m.q, m.w)}
    uneven = np.sort(np.unique(rng.choice(m.t.size, (3 * m.t.size) // 4, replace=False)))
    yield "with rows left out", {k: v[uneven] for k, v in m.log.items()}
    for share in (1e-5, 1e-3, 1e-2):
        yield f"noise of {share:g}", m.log | {"quaternion": _turned(m.q, share * rng.normal(size=m.w.shape)),
                                              "omega": m.w + share * size * rng.normal(size=m.w.shape)}  # fmt: skip
    yield "rates with noise of 0.001", m.log | {"omega": m.w + 1e-3 * size * rng.normal(size=m.w.shape)}
    yield "attitudes with noise of 0.001", m.log | {"quaternion": _turned(m.q, 1e-3 * rng.normal(size=m.w.shape))}
    for order, substeps in ((4, 1), (2, 10), (1, 1000)):
        yield f"Runge-Kutta {order}, {substeps} steps a row", integrated(m, order, substeps)


def _turned(q: Floats, by: Floats) -> Floats:
    """Returns attitudes that are turned, about axes of the body."""
    r = Rotation.from_quat(q, scalar_first=True) * Rotation.from_rotvec(by)
    return np.asarray(r.as_quat(scalar_first=True))


def integrated(m: Motion, order: int, substeps: int) -> Log:
    """Returns what a plain Runge-Kutta method makes of a motion."""
    step = (m.t[1] - m.t[0]) / substeps
    slope = slope_of(m.body, m.torque)
    x, rows = np.concatenate([m.q[0], m.w[0]]), [np.concatenate([m.q[0], m.w[0]])]
    count = m.t.size if substeps < 100 else 40
    for k in range((count - 1) * substeps):
        t = k * step
        a = slope(t, x)
        if order == 2:
            a = slope(t + step / 2, x + step / 2 * a)
        if order == 4:
            b = slope(t + step / 2, x + step / 2 * a)
            c = slope(t + step / 2, x + step / 2 * b)
            a = (a + 2 * b + 2 * c + slope(t + step, x + step * c)) / 6
        x = x + step * a
        x[:4] /= np.linalg.norm(x[:4])
        if (k + 1) % substeps == 0:
            rows.append(x.copy())
    made = np.array(rows)
    return {"t": m.t[:count], "quaternion": made[:, :4], "omega": made[:, 4:]}


# --- damages ---------------------------------------------------------------------------------------------------------

Damage = Callable[[Motion], tuple[Floats, Floats]]
"""Attitudes and rates that are wrong in every row."""


def _delayed(x: Floats, rows: int = 1) -> Floats:
    return np.concatenate([x[:1].repeat(rows, 0), x[:-rows]])


def _of(x: float, m: Motion) -> float:
    return x * float(np.abs(m.w).max())


DAMAGES: dict[str, Damage] = {
    "rates scaled by 1.1": lambda m: (m.q, 1.1 * m.w),
    "rates scaled by 1.01": lambda m: (m.q, 1.01 * m.w),
    "rates scaled by 1.002": lambda m: (m.q, 1.002 * m.w),
    "rates scaled by 0.5": lambda m: (m.q, 0.5 * m.w),
    "one rate scaled by 1.05": lambda m: (m.q, m.w * [1.0, 1.05, 1.0]),
    "rates shifted by 10 %": lambda m: (m.q, m.w + _of(0.1, m)),
    "rates shifted by 0.5 %": lambda m: (m.q, m.w + _of(0.005, m)),
    "one rate shifted by 1 %": lambda m: (m.q, m.w + np.array([0.0, 0.0, _of(0.01, m)])),
    "rates with axes swapped": lambda m: (m.q, m.w[:, [1, 0, 2]]),
    "rates cycled": lambda m: (m.q, m.w[:, [1, 2, 0]]),
    "rates with the opposite sign": lambda m: (m.q, -m.w),
    "one rate with the opposite sign": lambda m: (m.q, m.w * [1.0, -1.0, 1.0]),
    "rates one row late": lambda m: (m.q, _delayed(m.w)),
    "rates in deg/s": lambda m: (m.q, np.degrees(m.w)),
    "rates in space axes": lambda m: (m.q, np.asarray(ph.to_space(m.q, m.w))),
    "rates with noise of 20 %": lambda m: (m.q, m.w + _of(0.2, m) * np.random.default_rng(5).normal(size=m.w.shape)),
    "one rate stands still": lambda m: (m.q, np.stack([m.w[:, 0], m.w[:, 1], m.w[0, 2].repeat(m.t.size)], axis=1)),
    "attitudes inverted": lambda m: (m.q * [1.0, -1.0, -1.0, -1.0], m.w),
    "attitudes with the scalar last": lambda m: (np.roll(m.q, -1, axis=1), m.w),
    "attitudes with axes swapped": lambda m: (m.q[:, [0, 2, 1, 3]], m.w),
    "attitudes drift": lambda m: (_turned(m.q, np.outer(m.t, [0.0, _of(0.02, m), 0.0])), m.w),
    "attitudes turned by 3 degrees": lambda m: (_turned(m.q, np.tile([0.05, 0.0, 0.0], (m.t.size, 1))), m.w),
    "attitudes turned by 0.3 degrees": lambda m: (_turned(m.q, np.tile([0.005, 0.0, 0.0], (m.t.size, 1))), m.w),
    "attitudes scaled": lambda m: (1.2 * m.q, m.w),
    "attitudes one row late": lambda m: (_delayed(m.q), m.w),
    "attitudes with noise of 10 degrees": lambda m: (
        _turned(m.q, 0.17 * np.random.default_rng(6).normal(size=m.w.shape)), m.w,
    ),
}  # fmt: skip

SPANS: dict[str, Callable[[int], Any]] = {
    "everywhere": lambda n: np.s_[0:],
    "from row 1 on": lambda n: np.s_[1:],
    "from row 31 on": lambda n: np.s_[31:],
    "in the last tenth": lambda n: np.s_[n - n // 10 :],
    "up to row 30": lambda n: np.s_[:31],
    "in row 31": lambda n: np.s_[31:32],
}

HARMLESS = {
    ("rates with the opposite sign", "everywhere"), ("rates in deg/s", "everywhere"),
    ("rates in space axes", "everywhere"), ("attitudes inverted", "everywhere"),
    ("attitudes with the scalar last", "everywhere"), ("attitudes turned by 3 degrees", "everywhere"),
    ("attitudes turned by 0.3 degrees", "everywhere"),
}  # fmt: skip
"""Another convention, or other body axes, in every row: the referee has to name the first, and may see the second."""


def damaged_logs(m: Motion) -> Iterator[tuple[str, str, Log]]:
    """Yields logs with one damage each, with its name and the rows that have it."""
    for name, damage in DAMAGES.items():
        for span, rows in SPANS.items():
            if (name, span) in HARMLESS:
                continue
            q, w = m.q.copy(), m.w.copy()
            bad_q, bad_w = damage(m)
            where = rows(m.t.size)
            q[where], w[where] = bad_q[where], bad_w[where]
            if np.allclose(q, m.q, atol=1e-9) and np.allclose(w, m.w, atol=1e-9):
                continue  # a rate that is steady stands still
            yield name, span, m.log | {"quaternion": q, "omega": w}
    energy, momentum = 0.5 * (m.w * m.body.momentum(m.w)).sum(axis=1), m.body.momentum(m.w)
    for name, values in (("energy", energy), ("angular_momentum", momentum)):
        stated = values.copy()
        stated[31:] *= 1.05
        yield f"{name} scaled by 1.05", "from row 31 on", m.log | {name: stated}
        stated = values.copy()
        stated[31] *= 1.01
        yield f"{name} scaled by 1.01", "in row 31", m.log | {name: stated}
    rng = np.random.default_rng(7)
    gap = m.t[1] - m.t[0]
    yield "times jittered by 30 % of a row", "everywhere", m.log | {"t": m.t + gap * rng.uniform(-0.3, 0.3, m.t.size)}
    late = m.t.copy()
    late[31:] += 0.4321 * gap  # half a row of 0.02 s might be the rounding of times with two decimals
    yield "times 0.43 rows late", "from row 31 on", m.log | {"t": late}
    yield "a row doubled, with the next time", "in row 31", {
        "t": m.t, "quaternion": np.insert(m.q, 31, m.q[31], 0)[:-1], "omega": np.insert(m.w, 31, m.w[31], 0)[:-1],
    }  # fmt: skip
    yield "a row lost without a gap", "in row 31", {
        "t": m.t[:-1], "quaternion": np.delete(m.q, 31, 0), "omega": np.delete(m.w, 31, 0),
    }  # fmt: skip


def with_few_digits(log: Log) -> Log:
    """Returns a log with six digits."""
    return {k: v if k == "t" else digits(v, "6g") for k, v in log.items()}


# --- the table -------------------------------------------------------------------------------------------------------


def judged(m: Motion, log: Log) -> tuple[bool, str]:
    """Returns whether a log is called right, and the verdict's first sentence; a refusal is no call."""
    try:
        verdict = ph.check(log, body=m.body, torque=m.torque)
    except ValueError as refusal:
        return False, f"REFUSED: {refusal}"
    return verdict.agrees, verdict.headline


def main(problems: list[str], angles: tuple[float, ...] = ROW_ANGLES) -> None:
    """Prints every mistake of the referee, and the counts."""
    counts: Counter[str] = Counter()
    for name in problems:
        for angle in angles:
            m = motion(name, angle)
            for label, log in right_logs(m):
                agrees, said = judged(m, log)
                counts["right logs"] += 1
                counts[f"    {said.partition(':')[0]}"] += 1
                if not agrees:
                    counts["right logs called wrong"] += 1
                    print(f"CALLED WRONG  {name}, {angle} rad a row, {label}: {said}", flush=True)
            for damage, span, log in damaged_logs(m):
                agrees, said = judged(m, log)
                counts["wrong logs"] += 1
                if agrees:
                    counts["wrong logs called right"] += 1
                    print(f"CALLED RIGHT  {name}, {angle} rad a row, {damage} {span}: {said}", flush=True)
                else:
                    counts[f"      {re.sub(r'[-+]?[0-9][0-9.e+-]*', '#', said)[:48]}"] += 1
    for key, count in sorted(counts.items()):
        print(f"{count:6} {key}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(PROBLEMS))
