"""Where a search begins: rates, attitudes and moments as the data themselves suggest them."""

from itertools import product as combinations

import numpy as np

from polhode.body import Body
from polhode.fitting.data import Measurements
from polhode.fitting.parameters import PAIRS, Parameters
from polhode.support.arrays import Floats, inverse, lengths, product, vector_of

NEAR_START_RAD = 0.7
"""The rate at the start is taken from data over which the body turns by this angle."""
FIRST_PAIRS = 8
"""Attitudes at the start that are looked at for the two that lie closest in time."""
FEW_ROWS = 6
"""With fewer rows a line is put through them instead of a parabola."""


def largest_rate(data: Measurements, guess: Floats | None) -> float:
    """About the largest rate in the data, without outliers, in rad/s."""
    rates = lengths(data.omega[data.has_omega.all(axis=1)])
    if rates.size:
        return float(np.quantile(rates, 0.75))
    _, between = _rates_between(data)
    sizes = lengths(between)
    found = float(np.quantile(sizes, 0.75)) if sizes.size else 0.0
    return max(found, 0.0 if guess is None else float(np.linalg.norm(guess)))


def _rates_between(data: Measurements) -> tuple[Floats, Floats]:
    """Mean rates between successive attitudes, and the times in the middle."""
    seen = np.flatnonzero(data.has_attitude)
    t, q = data.t[seen], data.quaternion[seen]
    apart = np.diff(t) > 0.0
    turns = vector_of(product(inverse(q[:-1]), q[1:]))[apart]
    return (t[:-1] + t[1:])[apart] / 2.0, turns / np.diff(t)[apart][:, None]


def rates_at_start(data: Measurements, rate: float) -> list[Floats]:
    """Guesses of the rate at the first time, from the data."""
    whole = data.has_omega.all(axis=1)
    if whole.any():
        t, w = data.t[whole], data.omega[whole]
    else:
        t, w = _rates_between(data)
    if not t.size:
        return []
    near = np.flatnonzero(rate * (t - data.t[0]) <= NEAR_START_RAD)
    guesses = [w[0]]
    if not whole.any():  # over the shortest time a turn is least likely to be taken for another
        guesses.append(w[np.argmin(np.diff(data.t[data.has_attitude])[:FIRST_PAIRS])])
    if near.size >= 3:
        degree = 2 if near.size >= FEW_ROWS else 1
        s = (t[near] - data.t[0]) / (t[near[-1]] - data.t[0])
        guesses.insert(0, np.polynomial.polynomial.polyfit(s, w[near], degree)[0])
        guesses.append(np.median(w[near], axis=0))
    return guesses


def attitude_at_start(data: Measurements) -> Floats | None:
    """The first attitude that was measured."""
    seen = np.flatnonzero(data.has_attitude)
    return data.quaternion[seen[0]] if seen.size else None


def turned_attitudes() -> list[Floats]:
    """The 24 turns that bring the axes onto each other, as guesses of an attitude of which nothing is known."""
    root = np.sqrt(0.5)
    found = [*np.eye(4)]
    found += [np.array([0.5, a, b, c]) for a, b, c in combinations((0.5, -0.5), repeat=3)]
    for i, j in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)):
        for sign in (1.0, -1.0):
            q = np.zeros(4)
            q[i], q[j] = root, sign * root
            found.append(q)
    return found


def moments_of_free_motion(data: Measurements, guess: Body, parameters: Parameters) -> Body | None:
    """The body whose free motion the rates suggest, of the size of the guess; None if they suggest none.

    The momentum I w changes by the integral of I w x w, which is linear in I: the tensor is the direction of least
    change. The integrals are sums of trapezes, so this serves for data that lie close in time.
    """
    whole = data.has_omega.all(axis=1)
    t, w = (data.t[whole], data.omega[whole]) if whole.sum() > FEW_ROWS else _rates_between(data)
    if t.size <= FEW_ROWS:
        return None
    full = parameters.has("inertia")
    frame = np.eye(3) if full else guess.axes
    w = w @ frame
    columns = []
    for i, j in PAIRS if full else PAIRS[:3]:
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        own = w @ unit
        flow = np.cross(own, w)
        sums = np.concatenate([np.zeros((1, 3)), np.cumsum((flow[1:] + flow[:-1]) / 2.0 * np.diff(t)[:, None], axis=0)])
        change = own - sums
        columns.append((change - change.mean(axis=0)).reshape(-1))
    direction = np.linalg.svd(np.stack(columns, axis=1), full_matrices=False)[2][-1]
    tensor = np.zeros((3, 3))
    for value, (i, j) in zip(direction, PAIRS, strict=False):
        tensor[i, j] = tensor[j, i] = value
    tensor *= np.sign(np.trace(tensor))
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] <= 1e-3 * moments[2]:
        return None
    size = np.cbrt(np.prod(guess.moments) / np.prod(moments))
    turned = frame @ (size * tensor) @ frame.T
    made = Body((turned + turned.T) / 2.0, name=guess.name, allow_unphysical=True)
    return made.with_rotor(guess.rotor) if guess.has_rotor else made
