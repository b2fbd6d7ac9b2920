"""Free motions from periods and from Euler angles about the momentum: measured by SciPy from Euler's equations."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import FreeMotion


def measured(moments: Any, omega: Any, axis: int, P_psi: float) -> tuple[float, float, float]:
    """Distance of the momentum from its start after P_psi and after half of it, and the mean period of phi.

    The reference axis goes round the momentum at the rate G (mi^2 / Ii + mj^2 / Ij) / (mi^2 + mj^2).
    """
    moment, i, j = np.asarray(moments), (axis + 1) % 3, (axis + 2) % 3

    def slope(t: float, y: Any) -> Any:
        m = y[:3]
        turned = (m[i] ** 2 / moment[i] + m[j] ** 2 / moment[j]) / (m[i] ** 2 + m[j] ** 2)
        return [*np.cross(m, m / moment), np.linalg.norm(m) * turned]

    y = [*(moment * omega), 0.0]
    run = solve_ivp(slope, (0.0, P_psi), y, "DOP853", [P_psi / 2, P_psi], rtol=1e-12, atol=1e-14)
    half, end = run.y.T
    size = np.linalg.norm(y[:3])
    return (
        float(np.abs(end[:3] - y[:3]).max() / size),
        float(np.abs(half[:3] - y[:3]).max() / size),
        2 * math.pi * P_psi / float(end[3]),
    )


CASES = {
    "long, LAM": ([3.22, 3.09, 1.0], 5.41, 7.35, "LAM", "long"),
    "long, SAM": ([1.0, 2.0, 2.5], 31.0, 12.0, "SAM", "long"),
    "short, SAM": ([0.61, 0.965, 1.0], 263.0, 27.38, "SAM", "short"),
    "short, LAM": ([2.0, 1.0, 2.5], 40.0, 16.0, "long-axis", "short"),
    "axes in another order": ([2.5, 1.0, 2.0], 40.0, 12.0, "short-axis", "long"),
    "near the separatrix": ([1.0, 2.0, 2.5], 15.0, 2.0, "SAM", "long"),
    "oblate": ([1.0, 1.0, 1.5], 4.0, 1.0, "SAM", "short"),
    "prolate": ([1.0, 2.0, 2.0], 3.0, 2.0, "LAM", "long"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_motion_has_the_periods(case: Any) -> None:
    moments, P_psi, P_phi, mode, reference = case
    motion = FreeMotion.from_periods(moments, P_psi, P_phi, mode, reference=reference)
    assert motion.mode == {"SAM": "short-axis", "LAM": "long-axis"}.get(mode, mode)
    axis = int(np.argmin(moments) if reference == "long" else np.argmax(moments))
    back, half, phi = measured(moments, motion.omega, axis, P_psi)
    growth = 1e4 if P_psi / P_phi > 7 else 10  # near the separatrix deviations grow
    assert back < 1e-11 * growth
    assert half > 1e-2  # no shorter period: the momentum is elsewhere after half of it
    assert phi == pytest.approx(P_phi, rel=1e-10)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_phases(case: Any) -> None:
    """phi, psi and the direction are those asked for; psi that is never reached is refused."""
    moments, P_psi, P_phi, mode, reference = case
    reached = 0
    for psi in (0.0, 0.4, 1.2, math.pi / 2, -2.9):
        try:
            motion = FreeMotion.from_periods(
                moments, P_psi, P_phi, mode, reference=reference, phi=-2.0, psi=psi, direction=(1, 2, -2), t0=5.0
            )
        except ValueError as problem:
            if "psi is never" not in str(problem):
                raise
            continue
        reached += 1
        found = motion.momentum_angles(5.0, reference)
        assert found.phi == pytest.approx(-2.0, abs=1e-12)
        assert math.remainder(found.psi - psi, 2 * math.pi) == pytest.approx(0.0, abs=1e-12)
        assert found.theta <= math.pi / 2 + 1e-12
        G = motion.angular_momentum
        np.testing.assert_allclose(G / np.linalg.norm(G), [1 / 3, 2 / 3, -2 / 3], atol=1e-14)
        periods = motion.observed_periods(reference)
        assert (periods.psi, periods.phi) == pytest.approx((P_psi, P_phi), rel=1e-10)
    turns = (mode in ("SAM", "short-axis")) == (reference == "short")
    assert reached == 5 if turns else 0 < reached < 5


def test_symmetric_bodies_have_a_formula() -> None:
    """P_phi = 2 pi It / G and P_psi = 2 pi / (G cos(theta) (1 / Il - 1 / It)) of a prolate body."""
    motion = FreeMotion.from_periods([1.0, 3.0, 3.0], 4.0, 5.0, "LAM")
    assert np.linalg.norm(motion.angular_momentum) == pytest.approx(2 * math.pi * 3.0 / 5.0, rel=1e-14)
    cosine = 5.0 / (4.0 * (3.0 - 1.0))
    assert motion.momentum_angles([0.0, 0.7, 100.0]).theta == pytest.approx([math.acos(cosine)] * 3, rel=1e-12)


def test_apophis() -> None:
    """Published periods and moments give the published energy, 1.024 of the least for that momentum.  [pravec2014]"""
    motion = FreeMotion.from_periods([0.61, 0.965], 263 * 3600.0, 27.38 * 3600.0, "SAM", reference="short")
    energy = 2 * motion.kinetic_energy / np.linalg.norm(motion.angular_momentum) ** 2
    assert energy == pytest.approx(1.024, abs=0.001)
    assert motion.observed_periods("long").phi / 3600 == pytest.approx(30.56, abs=0.1)


def test_as_near_to_the_separatrix_as_wanted() -> None:
    for ratio in (20.0, 100.0, 600.0):
        for mode in ("SAM", "LAM"):
            periods = FreeMotion.from_periods([1.0, 2.0, 2.5], ratio, 1.0, mode).observed_periods()
            assert (periods.psi, periods.phi) == pytest.approx((ratio, 1.0), rel=1e-13)
    with pytest.raises(ValueError, match=r"no state at psi = 1\.4 has P_psi = 100: its last digits decide"):
        FreeMotion.from_periods([1.0, 2.0, 2.5], 100.0, 1.0, "SAM", psi=1.4)
    with pytest.raises(ValueError, match="cannot be told from one on the separatrix"):
        FreeMotion.from_periods([1.0, 2.0, 2.5], 1e4, 1.0, "SAM")


def test_many_motions() -> None:
    ratios = np.random.default_rng(3).uniform(0.75, 0.95, (4, 2))
    many = FreeMotion.from_periods(ratios, [30.0, 31.0, 32.0, 33.0], 2.0, "LAM", phi=0.3)
    assert many.observed_periods().psi == pytest.approx([30.0, 31.0, 32.0, 33.0], rel=1e-12)
    assert many.observed_periods().phi == pytest.approx([2.0] * 4, rel=1e-12)
    one = FreeMotion.from_periods(ratios[2], 32.0, 2.0, "LAM", phi=0.3)
    np.testing.assert_allclose(many[2].omega, one.omega, rtol=1e-13)
    np.testing.assert_allclose(many.at(0.5).quaternion[2], one.at(0.5).quaternion, atol=1e-13)
    assert many.momentum_angles([0.0, 1.0, 2.0]).theta.shape == (4, 3)
    np.testing.assert_allclose(many.momentum_angles(1.7).psi[2], one.momentum_angles(1.7).psi, atol=1e-12)
    shared = FreeMotion.from_periods([1.0, 2.0, 2.5], [30.0, 31.0], [2.0, 2.1], "SAM")
    assert shared.observed_periods().phi == pytest.approx([2.0, 2.1], rel=1e-12)


# --- Euler angles about the momentum -------------------------------------------------------------------------------

BODY = ph.Body([2.0, 3.0, 4.5])
TURN = Rotation.from_rotvec([0.4, -1.1, 0.6])
TILTED = ph.Body(TURN.as_matrix() @ np.diag([2.0, 3.0, 4.5]) @ TURN.as_matrix().T)


def test_angles_are_those_of_the_attitude() -> None:
    """With the momentum along Z and the reference axis z they are the Euler angles ZXZ."""
    motion = FreeMotion.from_momentum(BODY, 7.0, phi=0.3, theta=0.9, psi=-2.2, reference="z")
    np.testing.assert_allclose(motion.angular_momentum, [0, 0, 7.0], atol=1e-14)
    np.testing.assert_allclose(motion.at(0.0).attitude.as_euler("ZXZ"), [0.3, 0.9, -2.2], atol=1e-14)
    t = np.linspace(-3, 20, 50)
    found = motion.momentum_angles(t, "z")
    np.testing.assert_allclose(np.transpose(found), motion.at(t).attitude.as_euler("ZXZ"), atol=1e-12)
    np.testing.assert_array_equal(motion.momentum_angles(t, "short"), found)


@pytest.mark.parametrize("body", [BODY, TILTED], ids=["aligned", "tilted"])
@pytest.mark.parametrize("reference", ["long", "short"])
def test_angles_about_any_momentum(body: ph.Body, reference: Any) -> None:
    G = np.array([1.0, -2.0, 0.5])
    motion = FreeMotion.from_momentum(body, G, phi=40.0, theta=70.0, psi=10.0, reference=reference, degrees=True)
    np.testing.assert_allclose(motion.angular_momentum, G, atol=1e-14)
    k = int(np.argmin(body.moments) if reference == "long" else np.argmax(body.moments))
    axis = motion.at(0.0).attitude.apply(body.axes[:, k].copy())
    assert axis @ G / np.linalg.norm(G) == pytest.approx(math.cos(math.radians(70)), abs=1e-14)
    inside = body.axes.T @ body.momentum(motion.omega) / np.linalg.norm(G)  # on principal axes
    sine, psi = math.sin(math.radians(70)), math.radians(10)
    np.testing.assert_allclose(
        inside[[(k + 1) % 3, (k + 2) % 3]], [sine * math.sin(psi), sine * math.cos(psi)], atol=1e-14
    )
    found = motion.momentum_angles(0.0, reference)
    assert np.degrees(found) == pytest.approx([40, 70, 10], abs=1e-12)
    # later: the mean rate of phi is that of the observed period
    span = 50 * motion.period
    phi = np.unwrap(motion.momentum_angles(np.linspace(0.0, span, 4001), reference).phi)
    assert 2 * math.pi * span / (phi[-1] - phi[0]) == pytest.approx(motion.observed_periods(reference).phi, rel=1e-9)


def test_stacks_of_angles() -> None:
    theta = np.array([0.4, 0.8, 1.2])
    many = FreeMotion.from_momentum(BODY, [0.0, 1.0, 2.0], phi=0.1, theta=theta, psi=0.2)
    assert len(many) == 3
    np.testing.assert_allclose(many.momentum_angles(0.0).theta, theta, atol=1e-14)
    np.testing.assert_allclose(many.angular_momentum, [[0.0, 1.0, 2.0]] * 3, atol=1e-14)
    mixed = FreeMotion.from_momentum([BODY, TILTED], 3.0, phi=[0.1, 0.2], theta=0.5, psi=0.2)
    np.testing.assert_allclose(mixed.momentum_angles(0.0).phi, [0.1, 0.2], atol=1e-14)


# --- what no motion has --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (([1.0, 2.0, 2.5], 1.0, 3.0, "LAM"), r"P_psi / P_phi is 0\.333333, but .* where it is greater than 0\.825742"),
        (([1.0, 2.0, 2.5], [3.0, 1.0], 2.0, "LAM"), "P_psi / P_phi of motion 1 is 0.5"),
        (([1.0, 2.0, 2.0], 9.0, 3.0, "SAM"), "1, 2, 2 has no short-axis mode: its two greatest moments are equal"),
        (([1.0, 1.0, 1.0], 9.0, 3.0, "LAM"), "has no long-axis mode: its two least moments are equal"),
        (([1.0, 2.0, 5.0], 9.0, 3.0, "SAM"), "no body has the moments 1, 2, 5: .* in a Body that is given as ratios"),
        (([1.0, 2.0, -1.0], 9.0, 3.0, "SAM"), "moments of inertia must be positive"),
        (([1.0, 2.0, 2.5], -9.0, 3.0, "SAM"), "P_psi must be positive, not -9"),
        (([1.0, 2.0, 2.5], 9.0, math.inf, "SAM"), "P_phi must be finite"),
        (([1.0, 2.0, 2.5], 9.0, 3.0, "tumbling"), "there is no mode 'tumbling': "),
        (([1.0], 9.0, 3.0, "SAM"), "ratios must be three moments in any unit, or two in units of the third"),
        (([1.0, 2.0, 2.5], [9.0, 8.0], [3.0, 3.0, 3.0], "SAM"), "must be single or stacks of one length"),
    ],
)  # fmt: skip
def test_periods_that_no_motion_has(given: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        FreeMotion.from_periods(*given)


def test_bad_angles() -> None:
    angles: dict[str, Any] = {"phi": 0.1, "theta": 0.2, "psi": 0.3}
    with pytest.raises(ValueError, match="momentum must not be zero"):
        FreeMotion.from_momentum(BODY, [0, 0, 0], **angles)
    with pytest.raises(ValueError, match="momentum must be positive"):
        FreeMotion.from_momentum(BODY, -1.0, **angles)
    with pytest.raises(TypeError, match="theta must be an angle"):
        FreeMotion.from_momentum(BODY, 1.0, phi=0.1, theta="steep", psi=0.3)
    with pytest.raises(ValueError, match="the axis x is not a principal axis of this body"):
        FreeMotion.from_momentum(TILTED, 1.0, **angles, reference="x")
    with pytest.raises(TypeError, match=r"body must be a polhode\.Body"):
        FreeMotion.from_momentum([2.0, 3.0, 4.0], 1.0, **angles)  # type: ignore[list-item]


def test_rows_in_all_arguments() -> None:
    rng = np.random.default_rng(8)
    n = 6
    ratios = rng.uniform(0.75, 0.95, (n, 2))
    modes = ["LAM", "SAM", "long-axis", "SAM", "LAM", "short-axis"]
    given: dict[str, Any] = {
        "phi": rng.uniform(-3, 3, n),
        "psi": rng.uniform(1.2, 1.5, n),
        "direction": rng.normal(size=(n, 3)),
    }
    periods = rng.uniform(30.0, 40.0, n), rng.uniform(0.8, 1.0, n)
    many = FreeMotion.from_periods(ratios, *periods, modes, t0=2.0, **given)
    for k in range(n):
        one = FreeMotion.from_periods(
            ratios[k], periods[0][k], periods[1][k], modes[k], t0=2.0, **{name: x[k] for name, x in given.items()}
        )
        np.testing.assert_allclose(many.omega[k], one.omega, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(many.at(2.0).quaternion[k], one.at(2.0).quaternion, rtol=1e-12, atol=1e-14)
    one_body = FreeMotion.from_periods([0.8, 0.9], 30.0, 1.0, modes[:2], psi=1.4)
    assert list(one_body.mode) == ["long-axis", "short-axis"]
    with pytest.raises(ValueError, match="but are: phi 6, psi 3"):
        FreeMotion.from_periods([0.8, 0.9], 30.0, 2.0, "LAM", phi=given["phi"], psi=np.zeros(3))
    with pytest.raises(ValueError, match=r"direction\[1\] must point somewhere"):
        FreeMotion.from_periods([0.8, 0.9], 30.0, 2.0, "LAM", direction=[[0, 0, 1], [0, 0, 0]])


def test_named_motions() -> None:
    """The published periods, and what else was published of the same states."""
    toutatis, apophis = FreeMotion.named("toutatis"), FreeMotion.named("Apophis")
    assert toutatis.mode == "long-axis"
    assert np.array(toutatis.observed_periods("long")) / 86400 == pytest.approx([7.35, 5.41], rel=1e-9)
    assert apophis.mode == "short-axis"
    assert np.array(apophis.observed_periods("short")) / 3600 == pytest.approx([27.38, 263.0], rel=1e-9)
    energy = 2 * apophis.kinetic_energy / np.linalg.norm(apophis.angular_momentum) ** 2
    assert energy == pytest.approx(1.024, abs=0.001)  # [pravec2014]
    halley, oumuamua = FreeMotion.named("halley"), FreeMotion.named("oumuamua")
    assert np.array(halley.observed_periods("long")) / 86400 == pytest.approx([3.69, 7.1], rel=1e-9)
    assert np.degrees(halley.nutation("long").mean) == pytest.approx(66.0, abs=4.0)  # [belton1991]
    assert np.array(oumuamua.observed_periods("long")) / 3600 == pytest.approx([8.67, 54.48], rel=1e-9)
    assert isinstance(oumuamua.body, ph.Body)
    lowest = np.linalg.norm(oumuamua.angular_momentum) ** 2 / (2 * oumuamua.body.moments.max())
    assert oumuamua.kinetic_energy == pytest.approx(lowest, rel=0.01)  # a cigar if near its least energy [belton2018]
    A, B, C = ph.Body.named("hyperion").moments
    assert math.sqrt(3 * (B - A) / C) == pytest.approx(0.89, abs=0.005)  # [wisdom1984]
    with pytest.raises(ValueError, match="there is no tumbling body 'hyperion'"):
        FreeMotion.named("hyperion")


def test_osculating_motions_along_a_run(plain: None) -> None:
    """Each row's free motion, against runs without a torque from that row; and a body that changes."""
    t = [0.0, 3.0, 9.0]
    body = ph.Body([[1.0, 0.1, 0.0], [0.1, 2.0, 0.0], [0.0, 0.0, 2.8]])
    run = ph.simulate(body, ph.LinearDamping(0.1), omega=[1, 0.2, 0.1], t_span=(0, 9), t_eval=t, rtol=1e-9)
    for k in range(3):
        alone = FreeMotion(body, run.omega[k], run.quaternion[k])
        assert run.osculating.period[k] == pytest.approx(alone.period, rel=1e-12)
        assert run.osculating.observed_periods().phi[k] == pytest.approx(alone.observed_periods().phi, rel=1e-12)
        np.testing.assert_allclose(run.osculating.angular_momentum[k], run.spatial_momentum[k], rtol=1e-12, atol=1e-14)
    boom = ph.Body([[1.0, 2.0, 2.8], [3.0, 4.0, 2.8]], times=[0.0, 9.0])
    run = ph.simulate(boom, omega=[1, 0.2, 0.1], t_span=(0, 9), t_eval=t, method="RK4", step=0.01)
    assert run.osculating.period[1] == pytest.approx(FreeMotion(boom.at(3.0), run.omega[1]).period, rel=1e-12)


def test_osculating_motions_beside_a_wheel(plain: None) -> None:
    """A wheel that is let go keeps its momentum: the body goes on as a gyrostat."""
    wheel = ph.ReactionWheels(((0, 0, 1),), 0.05, speeds=100.0, viscous=0.02)
    carrier, t = wheel.carrier(ph.Body([9.0, 8.0, 5.0])), [0.0, 10.0]
    run = ph.simulate(carrier, wheel, omega=[0.1, 0.2, 0.3], t_span=(0, 10), t_eval=t, method="RK4", step=0.01)
    np.testing.assert_allclose(run.osculating.angular_momentum, run.total_momentum, rtol=1e-13)
    gyrostat = carrier.with_rotor([0, 0, run.state[1, 0]])
    alone = FreeMotion(gyrostat, run.omega[1], run.quaternion[1])
    np.testing.assert_allclose(run.osculating.at(7.0).omega[1], alone.at(7.0).omega, rtol=1e-13)
    assert np.abs(run.osculating.at(7.0).omega[1] - FreeMotion(carrier, run.omega[1]).at(7.0).omega).max() > 0.01
    three = ph.ReactionWheels(((1, 0, 0), (0, 1, 0), (0, 0, 1)), 0.01, speeds=(100.0, 20.0, 30.0))
    run = ph.simulate(carrier, three, omega=[0.1, 0.2, 0.3], t_span=(0, 1), method="RK4", step=0.1)
    with pytest.raises(ValueError, match="does not lie on a principal axis"):
        _ = run.osculating


def test_long_periods_are_said_in_days_and_hours() -> None:
    assert "467424 s (5.41 days) in the body, precession 635040 s (7.35 days)" in str(FreeMotion.named("toutatis"))
    assert " h) in the body" in str(FreeMotion(ph.Body([1.0, 2.0, 2.8]), [1e-4, 2e-5, 3e-4]))
    assert "(" not in str(FreeMotion(ph.Body([1.0, 2.0, 2.8]), [1, 0.2, 0.3])).splitlines()[-1]
