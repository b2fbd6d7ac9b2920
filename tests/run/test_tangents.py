"""Derivatives of torqued runs, against variational equations of SciPy's, symplecticity, chains and nearby runs."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.free.jacobian_motion import PAIRS
from polhode.run.tangents import by_runs
from polhode.support.arrays import Floats

TURNED = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
TENSOR = TURNED @ np.diag([1.0, 1.4, 2.1]) @ TURNED.T
ARM, DOWN, OMEGA = np.array([0.3, 0.1, 0.2]), np.array([0.0, 0.0, -1.0]), np.array([0.3, 0.7, -1.1])
ATTITUDE = Rotation.from_rotvec([0.8, 0.3, -2.0])
TIMES = [0.0, 3.0, 10.0]
START: dict[str, Any] = {"omega": OMEGA, "attitude": ATTITUDE, "t_span": (0.0, 10.0), "t_eval": TIMES}
BY = ("omega", "attitude")


@ph.torque(parameters=[1.0, 0.05])
def damped_top(t: float, q: Any, w: Any, p: Any) -> Any:
    """The weight at an arm, and damping."""
    n = ph.cross((0.3, 0.1, 0.2), ph.to_body(q, (0.0, 0.0, -1.0)))
    return p[0] * n[0] - p[1] * w[0], p[0] * n[1] - p[1] * w[1], p[0] * n[2] - p[1] * w[2]


def true_jacobian(tensor: Floats, damping: float, rotor: Floats, times: Any = TIMES) -> Floats:
    """By omega, attitude, weight, damping and the tensor: equations of R, w, zeta and dw by SciPy."""
    inverse, k = np.linalg.inv(tensor), 14

    def slope(t: float, y: Floats) -> Floats:
        R, w, z, d = y[:9].reshape(3, 3), y[9:12], y[12 : 12 + 3 * k].reshape(3, k), y[12 + 3 * k :].reshape(3, k)
        u = R.T @ DOWN
        wdot = inverse @ (np.cross(ARM, u) - damping * w - np.cross(w, tensor @ w + rotor))
        r = np.cross(ARM[:, None], R.T @ np.cross(DOWN[:, None], z, axis=0), axis=0) - damping * d
        r[:, 6] += np.cross(ARM, u)
        r[:, 7] -= w
        r -= np.cross(d, (tensor @ w + rotor)[:, None], axis=0) + np.cross(w[:, None], tensor @ d, axis=0)
        for n, (i, j) in enumerate(PAIRS):
            E = np.zeros((3, 3))
            E[i, j] = E[j, i] = 1.0
            r[:, 8 + n] -= np.cross(w, E @ w) + E @ wdot
        turn = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        return np.concatenate([(R @ turn).ravel(), wdot, (R @ d).ravel(), (inverse @ r).ravel()])

    start = np.zeros((6, k))
    start[:3, 3:6] = start[3:, :3] = np.eye(3)
    y0 = np.concatenate([ATTITUDE.as_matrix().ravel(), OMEGA, start.ravel()])
    y = solve_ivp(slope, (0.0, times[-1]), y0, t_eval=times, method="DOP853", rtol=3e-14, atol=1e-14).y.T
    found: Floats = y[:, 12:].reshape(-1, 6, k)
    return found


@pytest.mark.parametrize(
    ("method", "step", "tolerance"),
    [  # tolerances: some times what was measured
        ("DOP853(rtol=1e-12)", 0.1, 2e-12), ("G8", 0.5, 2e-12),
        pytest.param("Radau(rtol=1e-11)", 0.1, 3e-9, marks=pytest.mark.evidence), ("RK4", 0.05, 1e-5),
        ("CF4", 0.05, 5e-6), ("RKMK4", 0.05, 5e-6),
    ],
)  # fmt: skip
def test_variational_equations(plain: None, method: str, step: float, tolerance: float) -> None:
    """By the start, parameters of the torque and the tensor, for a body whose axes are not the principal ones."""
    by = (*BY, "p", "inertia")
    run = ph.simulate(ph.Body(TENSOR), damped_top, **START, method=method, step=step, derivatives=by)
    assert run.derivatives is not None
    assert run.derivatives.columns[6:8] == ("p[0]", "p[1]")
    assert run.jacobian.shape == (3, 6, 14)
    assert np.abs(run.jacobian - true_jacobian(TENSOR, 0.05, np.zeros(3))).max() < tolerance
    if not method.startswith("Radau"):  # which iterates for the columns as well
        alone = ph.simulate(ph.Body(TENSOR), damped_top, **START, method=method, step=step)
        assert np.array_equal(alone.quaternion, run.quaternion)
        assert np.array_equal(alone.momentum, run.momentum)


@pytest.mark.parametrize(("method", "step"), [("DOP853(rtol=1e-12)", 0.1), ("G8", 0.5)])
def test_columns_in_lanes(method: str, step: float) -> None:
    """Compiled, nodes or columns are lanes; the motion is the one without columns, bit by bit."""
    run, alone = (
        ph.simulate(ph.Body(TENSOR), damped_top, **START, method=method, step=step, derivatives=by)
        for by in ((*BY, "p"), ())
    )
    assert np.abs(run.jacobian - true_jacobian(TENSOR, 0.05, np.zeros(3))[:, :, :8]).max() < 2e-12
    assert np.array_equal(alone.quaternion, run.quaternion)


@pytest.mark.parametrize(("method", "step"), [("KL8", 0.1), ("ABA1064", 0.1), ("MR4", 0.01)])
@pytest.mark.parametrize("rotor", [None, [0.3, -0.2, 0.5]])
def test_splittings(plain: None, method: str, step: float, rotor: Any) -> None:
    """Splittings, with and without a rotor; the weight and the point are fields of a model."""
    body = ph.Body(TENSOR, rotor=rotor)
    top = ph.HeavyTop(1.0, tuple(ARM))
    run = ph.simulate(body, top, **START, method=method, step=step, derivatives=(*BY, "weight"))
    truth = true_jacobian(TENSOR, 0.0, np.zeros(3) if rotor is None else np.array(rotor))[:, :, :7]
    # the error is that of the method; with a rotor ABA1064 is of second order
    allowed = {"KL8": 1e-8, "MR4": 3e-6, "ABA1064": 3e-9 if rotor is None else 1e-4}[method]
    assert np.abs(run.jacobian - truth).max() < allowed
    alone = ph.simulate(body, top, **START, method=method, step=step)
    assert np.array_equal(alone.quaternion, run.quaternion)
    assert np.array_equal(alone.momentum, run.momentum)
    assert run.torque is top
    assert run.state.shape == (3, 0)


def spatial(run: ph.Solution) -> tuple[Floats, Floats, Floats]:
    """Changes of attitude and of the momentum in space, and that momentum."""
    R, L = run.attitude.as_matrix(), run.spatial_momentum
    zeta = run.jacobian[:, :3]
    dL = np.cross(zeta, L[:, :, None], axis=1) + R @ run.body.tensor @ run.jacobian[:, 3:]
    return zeta, dL, L


def form(run: ph.Solution) -> Floats:
    """The symplectic form of all pairs of columns, row by row."""
    zeta, dL, L = spatial(run)
    mixed = np.swapaxes(zeta, 1, 2) @ dL
    turned = np.einsum("ra,rabij->rij", L, np.cross(zeta[:, :, :, None], zeta[:, :, None, :], axis=1)[:, :, None])
    found: Floats = mixed - np.swapaxes(mixed, 1, 2) - turned
    return found


@pytest.mark.parametrize("method", ["SABA", "MR2", "MR2(axes=auto)", "Strang", "SRKN11"])
@pytest.mark.parametrize(
    "moments", [(1.0, 1.4, 2.1), (1.0, 1.0, 1.7), (1.3, 0.6, 0.9), (1.0, 1.5, 1.0), (2.0, 2.0, 2.0)]
)
def test_symplectic(plain: None, method: str, moments: tuple[float, float, float]) -> None:
    """The tangent of a symplectic map keeps the symplectic form to round-off, whatever its error: for all bodies."""
    by = ("momentum", "attitude")
    start = START | {"t_eval": np.linspace(0.0, 10.0, 11)}
    run = ph.simulate(ph.Body(moments), ph.HeavyTop(1.0, tuple(ARM)), **start, method=method, step=0.25, derivatives=by)
    found = form(run)
    assert np.abs(found[0]).max() > 0.5
    assert np.abs(found - found[0]).max() < 1e-13  # 2e-14 was measured


def test_not_symplectic(plain: None) -> None:
    """The form would show it: RK4 does not keep it."""
    start = START | {"t_eval": [0.0, 10.0]}
    by = ("momentum", "attitude")
    run = ph.simulate(
        ph.Body((1, 1.4, 2.1)), ph.HeavyTop(1.0, tuple(ARM)), **start, method="RK4", step=0.2, derivatives=by
    )
    assert np.abs(form(run)[1] - form(run)[0]).max() > 1e-6


@pytest.mark.parametrize(("method", "step"), [("SABA", 0.25), ("G8", 0.5)])
def test_chain(plain: None, method: str, step: float) -> None:
    """J(10) is the Jacobian from 5 to 10, times J(5)."""
    body, top = ph.Body(TENSOR), ph.HeavyTop(1.0, tuple(ARM))
    whole = ph.simulate(
        body, top, **(START | {"t_eval": [5.0, 10.0]}), method=method, step=step, derivatives=("attitude", "omega")
    )
    rest = {"omega": whole.omega[0], "attitude": whole.attitude[0], "t_span": (5.0, 10.0), "t_eval": [10.0]}
    second = ph.simulate(body, top, **rest, method=method, step=step, derivatives=("attitude", "omega"))
    assert np.allclose(second.jacobian[0] @ whole.jacobian[0], whole.jacobian[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "moments", [(1.0, 1.0, 1.7), (1.3, 0.6, 1.3), (0.7, 1.5, 1.5), (2.0, 2.0, 2.0), (1.0, 1.4, 2.1)]
)
@pytest.mark.parametrize("rate", [0.0, 1e-6, 1e-3, 1.0, 30.0])
def test_free_flow(plain: None, moments: tuple[float, float, float], rate: float) -> None:
    """Steps of the free flow, of any length, against the Jacobian in closed form."""
    body, omega = ph.Body(moments), rate * np.array([0.3, -0.8, 0.5])
    start: dict[str, Any] = {"omega": omega, "attitude": ATTITUDE, "t_span": (0.0, 2.0), "t_eval": [0.7, 2.0]}
    run = ph.simulate(body, **start, method="Exact", step=1.0, derivatives=BY)
    exact = ph.FreeMotion(body, omega, ATTITUDE).jacobian([0.7, 2.0], BY)
    # a step of 30 rad is made in some twenty pieces
    assert np.abs(run.jacobian - exact).max() < (1e-13 if rate < 30.0 else 1e-12) * np.abs(exact).max()


def branching(t: float, q: Any, w: Any, p: Any) -> Any:
    """The same torque as `damped_top`, with a branch that changes nothing."""
    n = ph.cross((0.3, 0.1, 0.2), ph.to_body(q, (0.0, 0.0, -1.0)))
    if w[0] > 0.1:
        return p[0] * n[0] - p[1] * w[0], p[0] * n[1] - p[1] * w[1], p[0] * n[2] - p[1] * w[2]
    return p[0] * n[0] - p[1] * w[0], p[0] * n[1] - p[1] * w[1], p[0] * n[2] - p[1] * w[2]


def test_differences(plain: None) -> None:
    """A torque that branches is differentiated by differences, and a warning says so; one that is called, too."""
    truth = true_jacobian(TENSOR, 0.05, np.zeros(3))[:, :, :8]
    asked: dict[str, Any] = START | {"method": "DOP853(rtol=1e-12)", "step": 0.1, "derivatives": (*BY, "p")}
    with pytest.warns(UserWarning, match=r"branching is differentiated by differences, since it takes a branch"):
        run = ph.simulate(ph.Body(TENSOR), ph.torque(branching, parameters=[1.0, 0.05]), **asked)
    assert run.derivatives is not None
    assert "by differences" in run.derivatives.torque
    assert np.abs(run.jacobian - truth).max() < 1e-9
    called = ph.torque(branching, parameters=[1.0, 0.05], compiled=False, smooth=True)
    again = ph.simulate(ph.Body(TENSOR), called, **asked)
    assert np.abs(again.jacobian - truth).max() < 1e-9


@pytest.mark.parametrize("compiled", [True, False])
def test_differences_in_compiled_code(compiled: bool) -> None:
    """Differences by the parameters compile, too, and have the same values."""
    acting = ph.torque(branching, parameters=[1.0, 0.05], compiled=compiled, smooth=None if compiled else True)
    asked: dict[str, Any] = START | {"method": "RK4", "step": 0.01, "derivatives": (*BY, "p")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = ph.simulate(ph.Body(TENSOR), acting, **asked)
    assert run.derivatives is not None
    assert "by differences" in run.derivatives.torque
    assert np.abs(run.jacobian - true_jacobian(TENSOR, 0.05, np.zeros(3))[:, :, :8]).max() < 1e-7


def given(t: float, q: Any, w: Any, p: Any) -> Any:
    """The derivatives of `damped_top`: a small turn v in body axes changes u = R^T f by u x v."""
    u = ph.to_body(q, (0.0, 0.0, -1.0))
    # r x (u x v) = u (r . v) - v (r . u)
    r = (0.3, 0.1, 0.2)
    s = r[0] * u[0] + r[1] * u[1] + r[2] * u[2]
    n = ph.cross(r, u)
    turn = (
        (p[0] * (u[0] * r[0] - s), p[0] * u[0] * r[1], p[0] * u[0] * r[2]),
        (p[0] * u[1] * r[0], p[0] * (u[1] * r[1] - s), p[0] * u[1] * r[2]),
        (p[0] * u[2] * r[0], p[0] * u[2] * r[1], p[0] * (u[2] * r[2] - s)),
    )
    rate = ((-p[1], 0.0, 0.0), (0.0, -p[1], 0.0), (0.0, 0.0, -p[1]))
    return turn, rate, (n, (-w[0], -w[1], -w[2]))


STRENGTH = 0.5


@ph.torque
def drag(t: float, q: Any, w: Any, p: Any) -> Any:
    """A drag that reads a global."""
    return -STRENGTH * w[0], -STRENGTH * w[1], -STRENGTH * w[2]


def test_globals_that_change(plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative that is kept is that of the torque as it is now."""
    sphere = ph.Body([1.0, 1.0, 1.0])
    for strength in (0.5, 2.0):
        monkeypatch.setattr(f"{__name__}.STRENGTH", strength)
        run = ph.simulate(
            sphere, drag, omega=[0.1, 0.2, 0.3], t_span=(0.0, 1.0), method="DOP853", step=0.1, derivatives=("omega",)
        )
        np.testing.assert_allclose(run.jacobian[-1, 3:], math.exp(-strength) * np.eye(3), atol=1e-9)


def test_given(plain: None) -> None:
    """Derivatives that a user gave are used, and checked against differences at the start."""
    asked: dict[str, Any] = START | {"method": "DOP853(rtol=1e-12)", "step": 0.1, "derivatives": (*BY, "p")}
    run = ph.simulate(ph.Body(TENSOR), ph.torque(branching, parameters=[1.0, 0.05], jacobian=given), **asked)
    assert run.derivatives is not None
    assert run.derivatives.torque == "as given"
    assert np.abs(run.jacobian - true_jacobian(TENSOR, 0.05, np.zeros(3))[:, :, :8]).max() < 2e-12

    def wrong(t: float, q: Any, w: Any, p: Any) -> Any:
        turn, rate, numbers = given(t, q, w, p)
        return turn, rate, (numbers[0], w)

    bad = ph.torque(branching, parameters=[1.0, 0.05], jacobian=wrong)
    with pytest.raises(ValueError, match=r"the jacobian of branching is wrong: by p\[1\], at t = 0"):
        ph.simulate(ph.Body(TENSOR), bad, **asked)
    with pytest.raises(TypeError, match="a jacobian is for a compiled torque"):
        ph.torque(branching, jacobian=given, compiled=False)


def test_time_apart() -> None:
    """Places on an orbit and spans of time are called as they are: the rest of the torque is derived from its code."""
    orbit = ph.environment.Orbit(semi_major_axis=1.0, eccentricity=0.3, mu=1.0, radius=0.1)
    gradient = ph.GravityGradient(orbit=orbit)
    for torque in (gradient, gradient + ph.LinearDamping((0.1, 0.2, 0.3)), gradient.during(2.0, 7.5)):
        asked: dict[str, Any] = START | {"method": "DOP853(rtol=1e-12)", "step": 0.1}
        run = ph.simulate(ph.Body(TENSOR), torque, **asked, derivatives=BY)
        assert run.derivatives is not None
        assert run.derivatives.torque == "derived from its code"
        sure = by_runs(run, BY).jacobian
        assert np.abs(run.jacobian - sure).max() < 1e-8 * np.abs(sure).max()


def test_flags(plain: None) -> None:
    """A branch on whether a number equals another is one that symbols do not take: both sides are not guessed at."""

    def flagged(t: float, q: Any, w: Any, p: Any) -> Any:
        if p[2] == 1.0:
            return damped_top(t, q, w, p)
        return 0.0, 0.0, 0.0

    truth = true_jacobian(TENSOR, 0.05, np.zeros(3))[:, :, :8]
    asked: dict[str, Any] = START | {"method": "DOP853(rtol=1e-12)", "step": 0.1, "derivatives": (*BY, "p[0]", "p[1]")}
    with pytest.warns(UserWarning, match="flagged is differentiated by differences, since it takes a branch"):
        run = ph.simulate(ph.Body(TENSOR), ph.torque(flagged, parameters=[1.0, 0.05, 1.0]), **asked)
    assert np.abs(run.jacobian - truth).max() < 1e-9

    def chosen(t: float, q: Any, w: Any, p: Any) -> Any:
        on = ph.where(p[2] != 0.0, 1.0, 0.0)
        n = damped_top(t, q, w, p)
        return on * n[0], on * n[1], on * n[2]

    run = ph.simulate(ph.Body(TENSOR), ph.torque(chosen, parameters=[1.0, 0.05, 1.0]), **asked)
    assert run.derivatives is not None
    assert run.derivatives.torque == "derived from its code"
    assert np.abs(run.jacobian - truth).max() < 2e-12


def test_drag_at_rest(plain: None) -> None:
    """The drag |w| w has the derivative zero at rest, though that of the root is infinite there."""

    def drag(t: float, q: Any, w: Any, p: Any) -> Any:
        size = p[0] * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        return -size * w[0], -size * w[1], -size * w[2]

    asked: dict[str, Any] = START | {"omega": np.zeros(3), "method": "RK4", "step": 0.5, "derivatives": BY}
    run = ph.simulate(ph.Body(TENSOR), ph.torque(drag, parameters=[0.3]), **asked)
    exact = ph.FreeMotion(ph.Body(TENSOR), np.zeros(3), ATTITUDE).jacobian(TIMES, BY)
    assert np.abs(run.jacobian - exact).max() < 1e-13 * np.abs(exact).max()


def test_side_that_is_not_chosen() -> None:
    """What `where` does not choose may be no number, and leaves the derivatives alone."""

    @ph.torque(parameters=[0.5])
    def rising(t: float, q: Any, w: Any, p: Any) -> Any:
        u = ph.to_body(q, (0.0, 0.0, 1.0))
        x = u[2] - p[0]
        return ph.where(x > 0.0, x * x * math.sqrt(x), 0.0) + 0.1 * u[1], 0.0, 0.0

    asked: dict[str, Any] = {"omega": [1.3, 0.2, 0.5], "t_span": (0.0, 2.0), "method": "RK4", "step": 0.1}
    asked["t_eval"] = [0.0, 2.0]
    run = ph.simulate(ph.Body(TENSOR), rising, **asked, derivatives=("omega", "p"))
    assert run.attitude.as_matrix()[-1, 2, 2] < 0.5
    h = 1e-5
    ends = [ph.simulate(ph.Body(TENSOR), rising.with_parameters([x]), **asked) for x in (0.5 + h, 0.5 - h)]
    turned = (ends[0].attitude[-1] * ends[1].attitude[-1].inv()).as_rotvec() / (2.0 * h)
    assert np.abs(run.jacobian[-1, :3, 3] - turned).max() < 1e-6


def test_breakpoints(plain: None) -> None:
    """Through the jumps of a torque at known times, and of a sum with a part that is switched on for a time."""
    top = ph.HeavyTop(1.0, tuple(ARM))
    switched = top + ph.HeavyTop(0.5, (0.1, 0.4, 0.0)).during(2.0, 5.3)
    asked: dict[str, Any] = START | {"t_eval": [10.0], "method": "G8", "step": 0.5}
    run = ph.simulate(ph.Body(TENSOR), switched, **asked, derivatives=BY)
    columns, h = [], 1e-4
    for k in range(6):
        ends = []
        for sign in (-2.0, -1.0, 1.0, 2.0):
            d = np.zeros(6)
            d[k] = sign * h
            moved = asked | {"omega": OMEGA + d[:3], "attitude": Rotation.from_rotvec(d[3:]) * ATTITUDE}
            one = ph.simulate(ph.Body(TENSOR), switched, **moved)
            ends.append(np.concatenate([(one.attitude * run.attitude.inv()).as_rotvec()[0], one.omega[0]]))
        columns.append((ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h))
    assert np.abs(run.jacobian[0] - np.array(columns).T).max() < 1e-9


def test_tolerance(plain: None) -> None:
    """With rtol the solution is the same, and the Jacobian has an estimate that covers its error."""
    asked: dict[str, Any] = START | {"rtol": 1e-8}
    run = ph.simulate(ph.Body(TENSOR), damped_top, **asked, derivatives=(*BY, "p", "inertia"))
    alone = ph.simulate(ph.Body(TENSOR), damped_top, **asked)
    assert np.array_equal(run.quaternion, alone.quaternion)
    truth = true_jacobian(TENSOR, 0.05, np.zeros(3))
    error = (np.abs(run.jacobian - truth).max(axis=(1, 2)) / np.abs(truth).max(axis=(1, 2))).max()
    assert run.derivatives is not None
    assert run.derivatives.error is not None
    assert error < run.derivatives.error < 1e-6


def test_error_between_many_kinks() -> None:
    """Two runs that make the same steps, one from each kink to the next, do not show that there is no error."""
    t = np.linspace(-1.0, 6.0, 60)
    table = ph.Table(t, 0.2 * np.stack([np.sin(t), np.cos(t), 0.3 * t], axis=1), frame="space", kind="linear")
    asked: dict[str, Any] = START | {"omega": [3.0, 10.0, 2.0], "t_span": (0.0, 4.0), "t_eval": [4.0]}
    fine = ph.simulate(ph.Body(TENSOR), table, **asked, rtol=1e-11, derivatives="omega").jacobian
    run = ph.simulate(ph.Body(TENSOR), table, **asked, rtol=1e-2, derivatives="omega")
    assert run.derivatives is not None
    assert run.derivatives.error is not None
    off = np.abs(run.jacobian - fine).max() / np.abs(fine).max()
    assert 0.0 < off < run.derivatives.error < 1e-3


def test_free_body_within_a_tolerance(plain: None) -> None:
    """Without a torque the Jacobian is that of the closed form."""
    run = ph.simulate(ph.Body(TENSOR), **START, rtol=1e-9, derivatives=("omega", "moments"))
    exact = ph.FreeMotion(ph.Body(TENSOR), OMEGA, ATTITUDE).jacobian(TIMES, ("omega", "moments"))
    assert np.abs(run.jacobian - exact).max() < 1e-13
    with pytest.raises(ValueError, match=r"this solution has no Jacobian in these rows"):
        run.at([1.0, 2.0, 3.0]).jacobian  # noqa: B018


def test_covariance(plain: None) -> None:
    """The covariance is that of nearby runs, and its bend says how far it is from them."""
    body, top = ph.Body(TENSOR), ph.HeavyTop(1.0, tuple(ARM))
    asked: dict[str, Any] = START | {"method": "SABA", "step": 0.25}
    run = ph.simulate(body, top, **asked, derivatives=(*BY, "weight"))
    P0 = np.diag([1e-4**2] * 3 + [1e-3**2] * 3 + [1e-3**2])
    found = run.covariance(P0)
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(7), P0, size=300)
    ends = []
    for d in draws:
        moved = asked | {"omega": OMEGA + d[:3], "attitude": Rotation.from_rotvec(d[3:6]) * ATTITUDE}
        one = ph.simulate(body, ph.HeavyTop(1.0 + d[6], tuple(ARM)), **moved)
        ends.append((one.attitude[-1] * run.attitude[-1].inv()).as_rotvec())
    sampled = np.sqrt((np.array(ends) ** 2).mean(axis=0).sum())
    assert found.angle[-1] == pytest.approx(sampled, rel=0.12)  # 300 draws: 4 %
    assert found.bend.max() < 0.01
    assert found.bend[0] < 1e-3
    with pytest.warns(UserWarning, match="standard deviations are good to about"):
        run.covariance(3e4 * P0)
    with pytest.raises(ValueError, match="a covariance does not describe it"):
        run.covariance(1e6 * P0)
    with pytest.raises(ValueError, match="P0 must be symmetric"):
        run.covariance(P0 + np.eye(7, k=1))
    with pytest.raises(ValueError, match="P0 must be positive in all directions"):
        run.covariance(-P0)


def test_chaos() -> None:
    """MEGNO is two and the motions part slowly where the top is regular; where it is chaotic, both grow."""
    times = np.linspace(0.0, 400.0, 1601)
    found = []
    for weight in (0.05, 3.0):
        start: dict[str, Any] = START | {"t_span": (0.0, 400.0), "t_eval": times}
        run = ph.simulate(
            ph.Body((1, 1.4, 2.1)),
            ph.HeavyTop(weight, (0.5, 0.2, 0.8)),
            **start,
            method="SABA",
            step=0.1,
            derivatives=BY,
        )
        found.append((run.lyapunov, run.megno))
    (calm, two), (wild, many) = found
    assert calm < 0.02
    assert two == pytest.approx(2.0, abs=0.2)
    assert wild > 0.04
    assert many > 8.0


@pytest.mark.parametrize("method", ["RK4", "SABA", "G8"])
def test_stopped(plain: None, method: str) -> None:
    """A run that fails leaves the motion up to there, without the columns."""

    def broken(t: float, q: Any, w: Any, p: Any) -> Any:
        return 0.0, 0.0, math.log(5.0 - t)

    acting = ph.torque(broken)
    with pytest.raises(ph.SimulationFailed, match="broken raised ValueError") as stopped:
        ph.simulate(ph.Body(TENSOR), acting, **(START | {"t_eval": None}), method=method, step=0.1, derivatives=BY)
    assert stopped.value.solution.torque is acting
    assert stopped.value.solution.state.shape == (stopped.value.solution.t.size, 0)
    assert 4.5 < stopped.value.solution.t_last <= 5.0


@pytest.mark.parametrize("method", ["SABA", "G8"])
def test_columns_up_to_the_largest_number(method: str) -> None:
    """A run ends where a column exceeds 1e308, not where its square does."""
    top, start = ph.HeavyTop(2.0, (0.1, 0.0, 0.3)), START | {"t_span": (0.0, 2e4), "t_eval": None, "every": 100}
    with pytest.raises(ph.SimulationFailed, match="produced NaN or infinity") as stopped:
        ph.simulate(ph.Body((1, 1.4, 2.1)), top, **start, method=method, step=0.2, derivatives="omega")
    last = stopped.value.solution.t_last
    whole = START | {"t_span": (0.0, last - 40.0), "t_eval": [last - 40.0]}
    run = ph.simulate(ph.Body((1, 1.4, 2.1)), top, **whole, method=method, step=0.2, derivatives="omega")
    assert 1e280 < np.abs(run.jacobian).max() < math.inf


@ph.torque
def jumping(t: float, q: Any, w: Any, p: Any) -> Any:
    """A thruster that fires on one side, and another that fires on the other."""
    if ph.to_body(q, (0.0, 0.0, -1.0))[0] > 0.1:
        return -0.4, 0.0, 0.05
    return 0.3, 0.0, 0.0


@ph.torque(state=["a", "b"])
def swinging(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A torque with two numbers of its own, which the motion drives."""
    u = ph.to_body(q, (0.0, 0.0, -1.0))
    n = ph.cross((0.3, 0.1, 0.2), u)
    return (n[0] + z[0], n[1], n[2] - z[1]), (z[1] - 0.1 * w[0], 0.2 * u[1] - z[0])


def held(t: float, q: Any, w: Any, p: Any) -> Any:
    """What a computer commands."""
    return -0.5 * w[0], 0.0, 0.2 * w[1]


def differenced(change: Any, h: float = 1e-4) -> Floats:
    """The change of the last row, by central differences of order 4 of runs."""
    ends = [change(k * h) for k in (-2.0, -1.0, 1.0, 2.0)]
    base = change(0.0)
    rows = [np.r_[(one.attitude[-1] * base.attitude[-1].inv()).as_rotvec(), one.omega[-1]] for one in ends]
    return np.asarray((rows[0] - 8 * rows[1] + 8 * rows[2] - rows[3]) / (12 * h))


@pytest.mark.parametrize("torque", [jumping, swinging, ph.Sampled(0.7, held)])
def test_runs_nearby(torque: Any) -> None:
    """Jumps at places that the motion finds, carried numbers and samples: the Jacobian is made of runs nearby."""
    carries = {"state": [0.1, 0.2]} if torque is swinging else {}
    asked: dict[str, Any] = START | {"rtol": 1e-9, **carries}
    run = ph.simulate(ph.Body(TENSOR), torque, **asked, derivatives=("omega", "inertia", *(["a"] if carries else [])))
    assert run.derivatives is not None
    assert run.derivatives.method.startswith("differences of runs by DOP853")
    assert run.derivatives.error is not None
    assert run.derivatives.error < 1e-6
    exact: dict[str, Any] = asked | {"rtol": 1e-11}
    for k in range(3):
        other = differenced(lambda h, k=k: ph.simulate(
            ph.Body(TENSOR), torque, **exact | {"omega": OMEGA + h * np.eye(3)[k]}))  # fmt: skip
        assert np.abs(run.jacobian[-1, :, k] - other).max() < 1e-6
    if carries:
        other = differenced(lambda h: ph.simulate(ph.Body(TENSOR), torque, **exact | {"state": [0.1 + h, 0.2]}))
        assert np.abs(run.jacobian[-1, :, -1] - other).max() < 1e-6


def test_tensor_that_changes() -> None:
    """The Jacobian of a body that changes with time, by the start."""
    body = ph.Body([[1.0, 1.4, 2.1], [1.2, 1.3, 2.2]], times=[0.0, 10.0])
    asked: dict[str, Any] = START | {"rtol": 1e-9}
    run = ph.simulate(body, ph.HeavyTop(1.0), **asked, derivatives=("omega", "weight"))
    other = differenced(lambda h: ph.simulate(body, ph.HeavyTop(1.0), **asked | {"omega": OMEGA + h * np.eye(3)[1]}))
    assert np.abs(run.jacobian[-1, :, 1] - other).max() < 1e-6
    with pytest.raises(ValueError, match="the tensor changes with time, and has no derivatives by inertia"):
        ph.simulate(body, ph.HeavyTop(1.0), **asked, derivatives="inertia")


@pytest.mark.parametrize("how", [{"rtol": 1e-10}, {"method": "DOP853(rtol=1e-12)", "step": 0.1}])
def test_events(how: dict[str, Any]) -> None:
    """The time of an event, and the state there, change as in runs nearby; also that of one that ends the run."""

    def watched(terminal: bool) -> ph.Event:
        return ph.Event(lambda t, q, w: ph.to_space(q, (1.0, 0.0, 0.0))[1] - 0.2 - 0.01 * t, terminal=terminal)

    body, top = ph.Body(TENSOR), ph.HeavyTop(1.0, tuple(ARM))
    asked: dict[str, Any] = START | how | {"t_eval": [0.0, 4.0]}
    run = ph.simulate(body, top, **asked, events=watched(False), derivatives=BY)
    plain = ph.simulate(body, top, **asked, derivatives=BY)
    assert np.array_equal(run.t, plain.t)
    assert np.abs(run.jacobian - plain.jacobian).max() < 1e-9
    event, h = run.events[0], 1e-5
    assert event.t.size > 1
    assert event.derivatives is not None
    assert event.derivatives.times is not None
    for k in range(3):
        up, down = (
            ph.simulate(body, top, **asked | {"omega": OMEGA + s * np.eye(3)[k]}, events=watched(False)).events[0]
            for s in (h, -h)
        )
        assert np.abs((up.t - down.t) / (2 * h) - event.derivatives.times[:, k]).max() < 1e-5
        assert np.abs((up.omega - down.omega) / (2 * h) - event.jacobian[:, 3:, k]).max() < 1e-5
        turned = (up.attitude * down.attitude.inv()).as_rotvec() / (2 * h)
        assert np.abs(turned - event.jacobian[:, :3, k]).max() < 1e-5
    stopped = ph.simulate(body, top, **asked, events=watched(True), derivatives=BY)
    assert stopped.t_last == pytest.approx(event.t[0], rel=1e-12)
    assert np.abs(stopped.events[0].jacobian[0] - event.jacobian[0]).max() < 1e-8


@pytest.mark.parametrize("how", [{"method": "SABA", "step": 0.1}, {"rtol": 1e-9}])
def test_ensemble(how: dict[str, Any]) -> None:
    """Each body has the Jacobian of its own run."""
    rates, top = np.array([OMEGA, 2.0 * OMEGA]), ph.HeavyTop(1.0, tuple(ARM))
    asked: dict[str, Any] = START | how | {"omega": rates}
    many = ph.ensemble(ph.Body(TENSOR), top, **asked, derivatives=("omega", "weight"))
    assert many.jacobian.shape == (2, 3, 6, 4)
    one = ph.simulate(ph.Body(TENSOR), top, **asked | {"omega": rates[1]}, derivatives=("omega", "weight"))
    assert np.abs(many.jacobian[1] - one.jacobian).max() < 1e-7
    assert np.array_equal(many[1].jacobian, many.jacobian[1])
    assert many[1].lyapunov == pytest.approx(one.lyapunov)
    third = ph.simulate(ph.Body(TENSOR), top, **asked | {"omega": rates[1]}, derivatives="omega[2]")
    assert third.derivatives is not None
    assert third.derivatives.columns == ("omega[2]",)
    assert np.abs(third.jacobian[..., 0] - one.jacobian[..., 2]).max() < 1e-7
    with pytest.raises(ValueError, match="events of many bodies have no derivatives"):
        ph.ensemble(ph.Body(TENSOR), top, **asked, derivatives="omega", events=lambda t, q, w: w[0])
    with pytest.raises(ValueError, match="has no Jacobians: ask for them"):
        ph.ensemble(ph.Body(TENSOR), top, **asked).jacobian  # noqa: B018


def scaled(v: Any, by: float) -> Any:
    """A function that a torque calls."""
    return by * v[0], by * v[1], by * v[2]


def test_arguments_by_name(plain: None) -> None:
    """A torque may call a function with arguments by name, and is derived from its code."""

    def damped(t: float, q: Any, w: Any, p: Any) -> Any:
        return scaled(w, by=-p[0])

    run = ph.simulate(
        ph.Body([1.0, 1.0, 1.0]), ph.torque(damped, parameters=[0.5]), omega=OMEGA, t_span=(0.0, 1.0),
        method="DOP853", step=0.1, derivatives=("omega", "p"),
    )  # fmt: skip
    assert run.derivatives is not None
    assert run.derivatives.torque == "derived from its code"
    np.testing.assert_allclose(run.jacobian[-1, 3:, :3], math.exp(-0.5) * np.eye(3), atol=1e-9)
    np.testing.assert_allclose(run.jacobian[-1, 3:, 3], -math.exp(-0.5) * OMEGA, atol=1e-9)


@pytest.mark.parametrize(
    "gains",
    [
        lambda t, p: (1.0 if t < 0.5 else p[0], p[0]),
        lambda t, p: (1.0 if t < 0.5 else p[0], 0.0, 0.0, p[0]),
        lambda t, p: (1.0 if t < 0.5 else p[0], 0.0, p[0]),
    ],
)
def test_what_a_function_returns_to_a_torque(plain: None, gains: Any) -> None:
    """What a user's function of time and parameters returns need not be a vector, nor need it have a name."""

    def damped(t: float, q: Any, w: Any, p: Any) -> Any:
        k = gains(t, p)
        return -k[0] * w[0], -k[-1] * w[1], 0.0

    run = ph.simulate(
        ph.Body([1.0, 1.0, 1.0]), ph.torque(damped, parameters=[2.0], breakpoints=[0.5]), omega=OMEGA,
        t_span=(0.0, 1.0), method="DOP853(rtol=1e-11)", step=0.1, derivatives="omega",
    )  # fmt: skip
    true = np.diag([math.exp(-0.5 - 1.0), math.exp(-2.0), 1.0])
    np.testing.assert_allclose(run.jacobian[-1, 3:], true, atol=1e-9)


@pytest.mark.parametrize("unstable", [0, 1])
def test_columns_that_overflow(unstable: int) -> None:
    """A body whose columns grow beyond all numbers has no Jacobian, whichever it is, and the others have theirs."""
    rates = np.array([[0.0, 0.0, 10.0], [0.0, 0.0, 10.0]])
    rates[unstable] = [0.0, 10.0, 0.0]  # about the middle axis, with neighbours that leave it as exp(5.8 t)
    brake = ph.ConstantSpaceTorque((0.0, 0.0, 0.0))
    many = ph.ensemble(
        ph.Body([1.0, 2.0, 3.0]), brake, omega=rates, t_span=(0.0, 150.0), method="RK4", step=0.02, every=7500,
        derivatives="omega",
    )  # fmt: skip
    assert many.success.all()
    assert [one is None for one in many.derivatives] == [k == unstable for k in range(2)]


@ph.torque(state=["a"])
def carrying(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """A torque with a number of its own."""
    return (0.0, 0.0, z[0]), (-z[0],)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"derivatives": "rate"}, r"derivatives can be by omega, attitude, momentum, moments, inertia; of HeavyTop: p, "
         r"weight, point\[0\], .* not by 'rate'"),
        ({"derivatives": "omega[3]"}, r"of HeavyTop: p, weight, .* not by 'omega\[3\]'"),
        ({"derivatives": ("omega", "omega")}, "must name each thing once"),
        ({"derivatives": 3}, "derivatives names what to differentiate by"),
        ({"derivatives": "inertia"}, "SABA has no derivatives by inertia: take RK4, DOP853, G8 or rtol"),
        ({"method": "TakahashiImada"}, "TakahashiImada has no derivatives: take a splitting such as SABA"),
        ({"torque": carrying, "state": [0.0], "method": "RK4", "events": lambda t, q, w, z: z[0]}, "write it as g"),
        ({"torque": ph.torque(lambda t, q, w, p: (0.0, 0.0, 1.0)), "derivatives": "p"}, "has no parameters; not by"),
        ({"torque": 2.0 * ph.HeavyTop(1.0), "derivatives": "weight"}, "of sums and multiples, as of .* have no names"),
        ({"torque": carrying, "state": [0.0], "method": "RK4", "derivatives": "b"}, "inertia, a; carrying has"),
    ],
)  # fmt: skip
def test_refused(plain: None, changed: dict[str, Any], message: str) -> None:
    """What has no derivatives is refused, with the remedy."""
    asked: dict[str, Any] = START | {"torque": ph.HeavyTop(1.0), "method": "SABA", "step": 0.1, "derivatives": "omega"}
    with pytest.raises((TypeError, ValueError), match=message):
        ph.simulate(ph.Body(TENSOR), **(asked | changed))


def test_compiled() -> None:
    """The compiled step makes the Jacobian of the plain one."""
    asked: dict[str, Any] = START | {"method": "SABA", "step": 0.1, "derivatives": BY}
    run = ph.simulate(ph.Body((1, 1.4, 2.1)), ph.HeavyTop(0.05, (0.5, 0.2, 0.8)), **asked)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        again = ph.simulate(ph.Body((1, 1.4, 2.1)), ph.HeavyTop(0.05, (0.5, 0.2, 0.8)), **asked)
    assert np.abs(run.jacobian - again.jacobian).max() < 1e-12  # of 8
    assert math.isfinite(run.jacobian.sum())
