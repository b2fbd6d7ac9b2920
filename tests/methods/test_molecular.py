"""Methods of molecular dynamics and of game engines, against their formulas as the papers write them."""

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import State
from polhode.methods import find
from tests.authorities import Floats
from tests.authorities.problems import PROBLEMS
from tests.contract._measure import EPS, OneStep, matrices, states

H = 0.3
"""A step in which the bodies turn by half a radian: nothing agrees by being small."""

# --- NO_SQUISH in quaternion momenta  [miller2002]

P = np.array(  # P_k q, k = 0 ... 3: the columns of the matrix S(q)
    [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]],
        [[0, 0, -1, 0], [0, 0, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]],
        [[0, 0, 0, -1], [0, 0, 1, 0], [0, -1, 0, 0], [1, 0, 0, 0]],
    ],
    dtype=float,
)


def four(q: Floats, v: Floats) -> Floats:
    """2 S(q) (0, v)."""
    return np.asarray(2 * sum(P[k] @ q * v[k - 1] for k in (1, 2, 3)))


def rotated(k: int, q: Floats, p: Floats, moment: float, h: float) -> tuple[Floats, Floats]:
    """The flow of the part k of the kinetic energy: both quaternions turn at the same rate."""
    angle = h * (p @ P[k] @ q) / (4 * moment)
    c, s = np.cos(angle), np.sin(angle)
    return c * q + s * P[k] @ q, c * p + s * P[k] @ p


@pytest.mark.parametrize("name", ["free", "weight"])
def test_no_squish_is_a_rotation_of_quaternion_momenta(name: str) -> None:
    """The same to round-off, after five steps each."""
    problem = PROBLEMS[name]
    step = OneStep(problem, find("NO_SQUISH"))
    pull = principal_torque(problem.torque.torque_kernel, tilted=False, windowed=False)
    moments = step.body.inertia

    def torque(q: Floats) -> Floats:
        return np.array(pull(step.body, step.p, 0.0, State(tuple(q.tolist()), (0.0, 0.0, 0.0))))

    for s in states(3):
        q, p = np.array(s.q), four(np.array(s.q), np.array(s.m))
        for _ in range(5):
            s = step(s, H)
            p = p + H / 2 * four(q, torque(q))
            for k, part in ((3, 1 / 2), (2, 1 / 2), (1, 1), (2, 1 / 2), (3, 1 / 2)):
                q, p = rotated(k, q, p, moments[k - 1], part * H)
            p = p + H / 2 * four(q, torque(q))
        m = np.array([p @ P[k] @ q / 2 for k in (1, 2, 3)])
        assert abs(p @ q) < 32 * EPS * np.linalg.norm(p)  # the fourth momentum stays zero
        np.testing.assert_allclose(s.m, m, rtol=0, atol=32 * EPS * np.abs(m).max())
        np.testing.assert_allclose(matrices(np.array([s.q])), matrices(q[None]), rtol=0, atol=32 * EPS)


def test_no_squish_is_mr2_in_reverse() -> None:
    assert find("NO_SQUISH").scheme == find("MR2", axes="321").scheme


# --- Buss


def cross_matrix(v: Floats) -> Floats:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rotation(v: Floats) -> Floats:
    """Rodrigues' formula."""
    a, K = float(np.linalg.norm(v)), cross_matrix(v)
    return np.asarray(np.eye(3) + np.sin(a) / a * K + (1 - np.cos(a)) / a**2 * K @ K)


def test_buss_in_space() -> None:
    """The paper's form, in space: the rotation by a corrected rate, the momentum by the mean of the torques."""
    problem = PROBLEMS["weight"]
    step = OneStep(problem, find("Buss"))
    pull = principal_torque(problem.torque.torque_kernel, tilted=False, windowed=False)
    inertia = np.diag(step.body.inertia)

    def spatial_torque(R: Floats, q: tuple[float, float, float, float]) -> Floats:
        return np.asarray(R @ pull(step.body, step.p, 0.0, State(q, (0.0, 0.0, 0.0))))

    for s in states(3):
        new = step(s, H)
        R, S = matrices(np.array([s.q, new.q]))
        L, torque = R @ s.m, spatial_torque(R, s.q)
        inverse = R @ np.linalg.inv(inertia) @ R.T
        w = inverse @ L
        a = inverse @ (torque - np.cross(w, L))
        mean = w + H / 2 * a + H**2 / 12 * np.cross(a, w)
        np.testing.assert_allclose(S, rotation(H * mean) @ R, rtol=0, atol=16 * EPS)
        L = L + H / 2 * (torque + spatial_torque(S, new.q))
        np.testing.assert_allclose(S @ new.m, L, rtol=0, atol=16 * EPS * np.abs(L).max())


def test_buss_adds_a_constant_spatial_torque_exactly() -> None:
    torque = np.array([0.3, -0.2, 0.5])
    s = ph.simulate(
        ph.Body([1.0, 2.0, 2.5]), ph.ConstantSpaceTorque(torque.tolist()), omega=[1.0, 0.4, -0.7], t_span=(0, 20),
        step=0.5, method="Buss", every=1,
    )  # fmt: skip
    L = np.einsum("nij,nj->ni", matrices(s.quaternion), s.momentum)
    np.testing.assert_allclose(L, L[0] + s.t[:, None] * torque, rtol=0, atol=64 * EPS * np.abs(L).max())


# --- Catto


def test_catto_by_his_formulas() -> None:
    """One Newton step on I (w2 - w1) + h w2 x I w2 = 0, in body axes, after the torque."""
    problem = PROBLEMS["stir"]
    step = OneStep(problem, find("Catto"))
    pull = principal_torque(problem.torque.torque_kernel, tilted=False, windowed=False)
    inertia = np.diag(step.body.inertia)
    for s in states(3):
        w = (np.array(s.m) + H * np.array(pull(step.body, step.p, 0.0, s))) / step.body.inertia
        jacobian = inertia + H * (cross_matrix(w) @ inertia - cross_matrix(inertia @ w))
        w = w - np.linalg.solve(jacobian, H * np.cross(w, inertia @ w))
        q0, v = s.q[0], np.array(s.q[1:])
        q = np.array(s.q) + H / 2 * np.array([-v @ w, *(q0 * w + np.cross(v, w))])
        new = step(s, H)
        np.testing.assert_allclose(new.m, inertia @ w, rtol=0, atol=16 * EPS * np.abs(s.m).max())
        np.testing.assert_allclose(new.q, q / np.linalg.norm(q), rtol=0, atol=8 * EPS)


def test_catto_loses_energy_and_momentum() -> None:
    """Step by step, until the body turns about the axis of its largest moment. The numbers are those of the card."""
    s = ph.simulate(ph.Body([1, 2, 3]), omega=[1, 1.2, 0.9], t_span=(0, 400), step=0.05, method="Catto", every=1)
    energy, size = np.einsum("ni,ni->n", s.momentum, s.omega), np.linalg.norm(s.momentum, axis=1)
    assert np.all(np.diff(energy) < 0)
    assert np.all(np.diff(size) < 0)
    assert energy[-1] / energy[0] == pytest.approx(0.389, abs=5e-4)
    assert size[-1] / size[0] == pytest.approx(0.724, abs=5e-4)
    assert s.omega[-1] == pytest.approx([0, 0, 0.9044], abs=5e-4)
