"""The flows: exact rotations, kicks, and torques seen from principal axes."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from polhode.body import Body
from polhode.kernels.algebra.quat import to_space
from polhode.kernels.steps.flows import kick, principal_torque, push, spin1, spin2, spin3
from polhode.kernels.types import Flow, Inertia, Params, Quat, State, Vec3

EPS = float(np.finfo(float).eps)
BODY = Inertia((1.0, 1.75, 2.5), (1.0, 1 / 1.75, 0.4))
NO_PARAMETERS = Params((), (1.0, 0.0, 0.0, 0.0), (-np.inf, np.inf))
SPINS = (spin1, spin2, spin3)
draw = np.random.default_rng(5)


def state() -> State:
    q = draw.normal(size=4)
    a, b, c, d = (q / np.linalg.norm(q)).tolist()
    x, y, z = draw.normal(size=3).tolist()
    return State((a, b, c, d), (x, y, z))


STATES = [state() for _ in range(100)]


def spatial(s: State) -> Vec3:
    return to_space(s.q, s.m)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("h", [-0.7, 1e-3, 0.5, 3.0])
def test_spins_are_exact_rotations(axis: int, h: float) -> None:
    """Against 40 digits: q times exp(angle e), and the momentum turned back by the angle."""
    for s in STATES[:30]:
        new = SPINS[axis](BODY, NO_PARAMETERS, 0.0, s, h)
        with mp.workdps(40):
            angle = mp.mpf(h) * mp.mpf(s.m[axis]) * mp.mpf(BODY.inverse[axis])
            u, v, w, z = _exact(s, axis, angle), new.q, new.m, _sign(angle / 2)
            assert max(float(abs(z * a - b)) for a, b in zip(u[0], v, strict=True)) < 4 * EPS
            assert max(float(abs(a - b)) for a, b in zip(u[1], w, strict=True)) < 8 * EPS * np.linalg.norm(s.m)


def _exact(s: State, axis: int, angle: Any) -> tuple[list[Any], list[Any]]:
    q, m = [mp.mpf(x) for x in s.q], [mp.mpf(x) for x in s.m]
    e = [mp.mpf(i == axis) for i in range(3)]
    c, n = mp.cos(angle / 2), [mp.sin(angle / 2) * x for x in e]
    u = q[1:]
    scalar = q[0] * c - sum(a * b for a, b in zip(u, n, strict=True))
    turned = [q[0] * n[i] + c * u[i] + u[(i + 1) % 3] * n[(i + 2) % 3] - u[(i + 2) % 3] * n[(i + 1) % 3]
              for i in range(3)]  # fmt: skip
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out = list(m)
    out[j], out[k] = mp.cos(angle) * m[j] + mp.sin(angle) * m[k], mp.cos(angle) * m[k] - mp.sin(angle) * m[j]
    return [scalar, *turned], out


def _sign(half: Any) -> int:
    """Half angles are reduced by multiples of pi: the quaternion may come with the other sign."""
    return 1 if int(mp.nint(half / mp.pi)) % 2 == 0 else -1


@pytest.mark.parametrize("spin", SPINS)
def test_spins_keep_norms_and_spatial_momentum(spin: Flow) -> None:
    for s in STATES:
        new = spin(BODY, NO_PARAMETERS, 0.0, s, 0.8)
        size = float(np.linalg.norm(s.m))
        assert abs(np.linalg.norm(new.q) - 1.0) < 4 * EPS
        assert abs(np.linalg.norm(new.m) - size) < 4 * EPS * size
        assert np.abs(np.array(spatial(new)) - spatial(s)).max() < 16 * EPS * size


@pytest.mark.parametrize("spin", SPINS)
def test_spins_are_flows(spin: Flow) -> None:
    """Two in a row are one of the summed time; one back undoes it."""
    for s in STATES:
        twice = spin(BODY, NO_PARAMETERS, 0.0, spin(BODY, NO_PARAMETERS, 0.0, s, 0.25), 0.5)
        once = spin(BODY, NO_PARAMETERS, 0.0, s, 0.75)
        back = spin(BODY, NO_PARAMETERS, 0.0, once, -0.75)
        for a, b in ((twice, once), (back, s)):
            assert np.abs(np.array(a.q) - b.q).max() < 8 * EPS
            assert np.abs(np.array(a.m) - b.m).max() < 16 * EPS * np.linalg.norm(s.m)


def test_push_and_kick() -> None:
    """The attitude waits; the torque sees the time, the attitude and the parameters that it is given."""
    seen: list[Any] = []

    def torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        seen.append((t, q, w, p))
        return (2.0, 0.0, -4.0 * t)

    s = STATES[0]
    p = NO_PARAMETERS._replace(values=(7.0,))
    flow = kick(principal_torque(torque, tilted=False, windowed=False))
    new = flow(BODY, p, 3.0, s, 0.5)
    assert new.q == s.q
    assert new.m == (s.m[0] + 1.0, s.m[1], s.m[2] - 6.0)
    t, q, w, values = seen.pop()
    assert (t, q, values) == (3.0, s.q, (7.0,))
    assert w == pytest.approx(np.array(s.m) / BODY.inertia)
    assert push(s, 0.5, (2.0, 0.0, -12.0)) == new


def test_windowed_torques_see_no_time_outside() -> None:
    def clock(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (t, 0.0, 0.0)

    p = NO_PARAMETERS._replace(window=(1.0, 2.0))
    for windowed, expected in ((True, [1.0, 1.5, 2.0]), (False, [0.5, 1.5, 2.5])):
        pull = principal_torque(clock, tilted=False, windowed=windowed)
        assert [pull(BODY, p, t, STATES[0])[0] for t in (0.5, 1.5, 2.5)] == expected


def test_tilted_torques_see_the_axes_of_the_user() -> None:
    """With principal axes A: the user's attitude is R A^T, the rate A w; the torque comes back as A^T n."""
    body = Body([[1.5, 0.25, -0.125], [0.25, 2.0, 0.375], [-0.125, 0.375, 1.25]])
    a, b, c, d = body.axes_quaternion.tolist()
    seen: list[Any] = []

    def torque(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        seen.append((q, w))
        return (1.0, -2.0, 0.5)

    x, y, z = body.moments.tolist()
    rotor = Inertia((x, y, z), (1 / x, 1 / y, 1 / z))
    pull = principal_torque(torque, tilted=True, windowed=False)
    for s in STATES:
        n = pull(rotor, NO_PARAMETERS._replace(axes=(a, b, c, d)), 0.0, s)
        q, w = seen.pop()
        v = (0.3, -0.2, 0.9)  # a vector fixed in the body, in the user's axes
        principal = tuple((body.axes.T @ v).tolist())
        assert np.abs(np.array(to_space(q, v)) - to_space(s.q, principal)).max() < 32 * EPS
        assert np.abs(body.tensor @ w - body.axes @ s.m).max() < 32 * EPS * np.linalg.norm(s.m)
        assert np.abs(body.axes @ n - (1.0, -2.0, 0.5)).max() < 32 * EPS
