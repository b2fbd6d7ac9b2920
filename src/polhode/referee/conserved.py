"""Energy and angular momentum of the rows of a log, and the columns in which a log states them."""

from collections.abc import Iterator

import numpy as np

from polhode.body import Body
from polhode.kernels.types import Depends
from polhode.referee.causes import LogBesideTruth
from polhode.referee.faults import Fault
from polhode.referee.noise import Noise
from polhode.referee.truth import thinned
from polhode.solution import potentials
from polhode.support.arrays import Floats, dots, to_space
from polhode.torques import Torque

LEAST_DIFFERENCE = 1e-3
"""Columns of energy or momentum are wrong if they differ from those of their rows by more than this share."""
CHECKED_ROWS = 4000
"""Energies and momenta are compared in about this many rows."""


def kinetic_energy(body: Body, w: Floats) -> Floats:
    """The kinetic energy of the rotation in each row."""
    return 0.5 * dots(w, body.momentum(w) - body.rotor)


def potential_energy(torque: Torque, body: Body, t: Floats, q: Floats) -> Floats | None:
    """The potential energy in each row; None: the torque has no potential."""
    if torque.potential_kernel is None or torque.depends is Depends.NOTHING:
        return None
    (energies,) = potentials(torque, np.array([torque.parameters(body)], dtype=np.float64), t, q[None])
    return np.asarray(energies)


def column_faults(trial: LogBesideTruth, noise: Noise | None) -> Iterator[Fault]:
    """Yields columns of energy or momentum that are not those of the rows; a constant factor may be another unit."""
    if trial.w is None or not trial.log.conserved:
        return
    rows = thinned(trial.t.size, CHECKED_ROWS)
    body, w, q = trial.model.body, trial.w[rows], None if trial.q is None else trial.q[rows]
    T, L = kinetic_energy(body, w)[:, None], body.momentum(w)
    V = None if q is None else potential_energy(trial.model.torque, body, trial.t[rows], q)
    made = {
        "energy": [T] if V is None else [T, T + V[:, None]],
        "momentum": [L] if q is None else [L, to_space(q, L)],
    }
    allowed = max(LEAST_DIFFERENCE, 0.0 if noise is None else 20.0 * (noise.rate + noise.attitude))
    for raw in trial.log.conserved:
        stated, name = raw.values[rows], ", ".join(raw.names)
        left, factor, off = min(
            (_compared(stated, one, raw.kind == "energy") for one in made[raw.kind]), key=lambda found: found[0]
        )
        if left > allowed:
            k = int(rows[np.argmax(off > allowed)])
            yield Fault(
                raw.kind,
                f"The column {name} is not the {raw.kind} of its rows: it differs by up to {off.max():.2%}, since "
                f"{trial.log.row(k)} (t = {trial.t[k]:.6g} s).",
                since=k,
            )
        elif abs(factor - 1.0) > allowed and (V is None or raw.kind == "momentum"):
            sentence = f"The column {name} is {factor:.5g} times the {raw.kind} of its rows: its unit is another, or"
            yield Fault(raw.kind, f"{sentence} it is wrong.", "possible")


def _compared(stated: Floats, made: Floats, may_be_shifted: bool) -> tuple[float, float, Floats]:
    """Residual of the best factor (and shift), that factor, and the differences without it; all relative."""
    size = float(np.linalg.norm(made, axis=1).max()) or 1.0
    factor = float((stated * made).sum()) / (float((made * made).sum()) or 1.0)
    left = np.linalg.norm(stated - factor * made, axis=1)
    off = np.linalg.norm(stated - made, axis=1)
    if may_be_shifted:
        basis = np.hstack([made, np.ones_like(made)])
        left = np.linalg.norm(stated - basis @ np.linalg.lstsq(basis, stated, rcond=1e-9)[0], axis=1)
        off = np.linalg.norm(stated - made - (stated[0] - made[0]), axis=1)
    return float(left.max()) / (abs(factor) * size or 1.0), factor, off / size
