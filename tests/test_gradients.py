"""Motions in JAX and PyTorch, where these are installed: gradients against differences, and what learners do with them.

Neither is a requirement of `make test`: they are large.
"""

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.gradients import free_states, simulated
from polhode.support.arrays import Floats
from polhode.torques import CustomTorque

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

MOMENTS, OMEGA, START = np.array([1.0, 1.4, 2.1]), np.array([0.6, 0.7, 0.4]), np.array([0.5, 0.5, -0.5, 0.5])
TENSOR = np.array([[1.0, 0.1, 0.05], [0.1, 1.4, -0.2], [0.05, -0.2, 2.1]])
STEPS: dict[str, Any] = {"t": [1.0, 2.0], "method": "RK4", "step": 0.02}


@ph.torque(parameters=[1.0, 0.05])
def damped(t: float, q: Any, w: Any, p: Any) -> Any:
    """The weight at an arm, and damping."""
    n = ph.cross((0.3, 0.1, 0.2), ph.to_body(q, (0.0, 0.0, -1.0)))
    return p[0] * n[0] - p[1] * w[0], p[0] * n[1] - p[1] * w[1], p[0] * n[2] - p[1] * w[2]


def differenced(f: Any, x: Floats, h: float = 1e-4) -> Floats:
    """The derivative of numbers f by numbers x, by differences of fourth order."""
    found = []
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[k] = h
        found.append((f(x - 2 * e) - 8 * f(x - e) + 8 * f(x + e) - f(x + 2 * e)) / (12 * h))
    return np.array(found).reshape(*x.shape)


def test_states(plain: None) -> None:
    """The arrays behind both: bodies and times broadcast, and Jacobians are derivatives of the matrices."""
    moved = free_states(np.stack([MOMENTS, 2 * MOMENTS]), OMEGA, np.array([[1.0], [5.0], [9.0]]), full=False)
    assert moved.matrix.shape == (3, 2, 3, 3)
    assert np.allclose(
        moved.matrix[1, 0], ph.FreeMotion(ph.Body(MOMENTS), OMEGA).at(5.0).attitude.as_matrix(), atol=1e-14
    )
    J = free_states(TENSOR, OMEGA, 3.0, full=True).jacobian
    by_tensor = differenced(lambda x: free_states(x, OMEGA, 3.0, full=True).omega[0], TENSOR)
    assert np.allclose(J[3, :9].reshape(3, 3), by_tensor, atol=1e-9)
    assert np.array_equal(J[3, :9].reshape(3, 3), J[3, :9].reshape(3, 3).T)
    with pytest.raises(ValueError, match="inertia must be three moments"):
        free_states(TENSOR[:2], OMEGA, 3.0, full=True)
    with pytest.raises(TypeError, match="p are the parameters of a torque"):
        simulated(ph.Body(MOMENTS), ph.HeavyTop(1.0), [1.0], {}, ("p",))
    assert isinstance(damped, CustomTorque)
    with pytest.raises(ValueError, match=r"p must have the shape \(2,\), not \(3,\)"):
        simulated(ph.Body(MOMENTS), damped, [1.0], {}, ("p",))(np.zeros(3))


@pytest.fixture
def jax() -> Any:
    """JAX in double precision."""
    found = pytest.importorskip("jax")
    found.config.update("jax_enable_x64", True)
    return found


def test_jax(plain: None, jax: Any) -> None:
    """grad, jvp, vjp, vmap and jit, by every argument."""
    import polhode.jax as pj

    check_grads: Any = pytest.importorskip("jax.test_util").check_grads
    np_, tight = jax.numpy, {"order": 1, "modes": ("fwd", "rev"), "atol": 1e-6, "rtol": 1e-6}
    check_grads(pj.free_flow, (MOMENTS, OMEGA, 3.0), **tight)
    check_grads(lambda x: pj.free_flow(x, OMEGA, 3.0), (TENSOR,), **tight)

    def element(moments: Any, omega: Any, t: Any) -> Any:
        return pj.free_flow(moments, omega, t)[0][2, 0]

    late = jax.jit(jax.grad(element, argnums=1))(MOMENTS, OMEGA, 1e6)
    J = ph.FreeMotion(ph.Body(MOMENTS), OMEGA).jacobian(1e6, "omega")[:3]
    R = ph.FreeMotion(ph.Body(MOMENTS), OMEGA).at(1e6).attitude.as_matrix()
    assert np.allclose(late, np.cross(J.T, R[:, 0])[:, 2], rtol=1e-12)  # at a million seconds
    each = jax.vmap(jax.grad(element, argnums=0), (0, None, None))(np_.stack([MOMENTS, 2 * MOMENTS]), OMEGA, 2.0)
    assert np.allclose(each[1], jax.grad(element, argnums=0)(2 * MOMENTS, OMEGA, 2.0))

    def run(omega: Any, attitude: Any, p: Any) -> Any:
        return pj.simulate(ph.Body(MOMENTS), damped, omega=omega, attitude=attitude, p=p, **STEPS)

    check_grads(run, (OMEGA, START, np.array([1.0, 0.05])), **(tight | {"atol": 1e-5, "rtol": 1e-5}))


def test_descent_on_a_tensor(plain: None, jax: Any) -> None:
    """Newton's method on the residuals finds the tensor, up to its size, that explains three attitudes."""
    import polhode.jax as pj

    times = jax.numpy.array([1.0, 2.5, 4.0])
    seen = jax.vmap(lambda t: pj.free_flow(TENSOR, OMEGA, t)[0])(times)

    def residuals(x: Any) -> Any:
        a, b, c, d, e = x
        tensor = jax.numpy.array([[1.0, c, d], [c, a, e], [d, e, b]])
        return (jax.vmap(lambda t: pj.free_flow(tensor, OMEGA, t)[0])(times) - seen).ravel()

    x = jax.numpy.array([1.3, 2.0, 0.0, 0.0, -0.1])
    for _ in range(8):
        x -= jax.numpy.linalg.lstsq(jax.jacobian(residuals)(x), residuals(x))[0]
    assert np.allclose(x, [1.4, 2.1, 0.1, 0.05, -0.2], atol=1e-9)


def test_learned_torque(plain: None, jax: Any) -> None:
    """A small network between exact flows learns a torque from a motion: the error falls a hundredfold."""
    import polhode.jax as pj

    np_, h, n = jax.numpy, 0.2, 8
    key = np.random.default_rng(4)

    def run(torque: Any) -> Any:
        """Half a kick, the exact flow, half a kick: the attitude R and the rate w."""
        R, w, out = np_.eye(3), np_.array(OMEGA), []
        for _ in range(n):
            w = w + 0.5 * h * torque(R.T @ np_.array([0.0, 0.0, 1.0])) / MOMENTS
            turn, w = pj.free_flow(MOMENTS, w, h)
            R = R @ turn
            w = w + 0.5 * h * torque(R.T @ np_.array([0.0, 0.0, 1.0])) / MOMENTS
            out.append(np_.concatenate([w, R.ravel()]))
        return np_.stack(out)

    seen = run(lambda u: np_.cross(u, np_.array([0.2, -0.3, 0.1])))

    def loss(weights: Any) -> Any:
        a, b, c = weights
        return ((run(lambda u: c @ np_.tanh(a @ u + b)) - seen) ** 2).mean()

    weights = [np_.array(key.normal(size=s) * 0.4) for s in ((6, 3), (6,), (3, 6))]
    first, step = float(loss(weights)), jax.jit(jax.value_and_grad(loss))
    mean, square = [0.0 * x for x in weights], [0.0 * x for x in weights]
    for k in range(1, 121):  # Adam
        _, slopes = step(weights)
        mean = [0.9 * m + 0.1 * g for m, g in zip(mean, slopes, strict=True)]
        square = [0.99 * s + 0.01 * g * g for s, g in zip(square, slopes, strict=True)]
        weights = [
            x - 0.03 * (m / (1 - 0.9**k)) / (np_.sqrt(s / (1 - 0.99**k)) + 1e-9)
            for x, m, s in zip(weights, mean, square, strict=True)
        ]
    assert float(loss(weights)) < 0.01 * first


def test_torch(plain: None) -> None:
    """Backward, forward mode, and batches by vmap, by every argument."""
    torch = pytest.importorskip("torch")
    import polhode.torch as pt

    moments, omega, t, tensor, q, p = (
        torch.tensor(x, dtype=torch.float64, requires_grad=True)
        for x in (MOMENTS, OMEGA, 3.0, TENSOR, START, [1.0, 0.05])
    )
    check = torch.autograd.gradcheck
    assert check(pt.free_flow, (moments, omega, t), check_forward_ad=True)
    assert check(lambda x, w: pt.free_flow(x, w, 2.0), (tensor, omega), check_forward_ad=True)
    each = torch.func.vmap(torch.func.grad(lambda x, t: pt.free_flow(x, OMEGA, t)[0][2, 0]), (None, 0))
    found = each(moments.detach(), torch.tensor([1.0, 2.0], dtype=torch.float64))
    at_two = differenced(lambda x: free_states(x, OMEGA, 2.0, full=False).matrix[2, 0], MOMENTS)
    assert np.allclose(found[1], at_two, atol=1e-9)

    def run(omega: Any, attitude: Any, p: Any) -> Any:
        return pt.simulate(ph.Body(MOMENTS), damped, omega=omega, attitude=attitude, p=p, **STEPS)

    assert check(run, (omega, q, p), check_forward_ad=True, atol=1e-5)
    assert pt.free_flow([1.0, 1.4, 2.1], omega.detach().float(), 1.0)[0].dtype == torch.float32
