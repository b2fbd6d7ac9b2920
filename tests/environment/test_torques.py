"""Torques on a body in orbit, each against a truth that is computed otherwise."""

import math
import pickle
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.environment import (
    EARTH_MU,
    EARTH_RATE,
    IGRF,
    MSIS,
    DipoleField,
    ExponentialAir,
    Orbit,
    Sun,
    eclipses,
    sidereal_angle,
)  # fmt: skip
from polhode.environment._tables import _made
from polhode.scenario import ScenarioError, load_scenario

loose: Any = ph
"""For arrays and lists in the place of tuples, and for mistakes, which a type checker would find."""
BODY = ph.Body([2.0e-3, 3.0e-3, 4.0e-3])
LIBRATING = ph.Body([15.0, 18.0, 4.0])
"""Roll, pitch and yaw: in pitch it librates with sqrt(3 (15 - 4) / 18) = 1.35401 of the orbital rate."""
CUBE: dict[str, Any] = {
    "areas": [0.01, 0.02, 0.03, 0.01, 0.02, 0.03],
    "normals": np.vstack([np.eye(3), -np.eye(3)]),
    "centres": 0.05 * np.vstack([np.eye(3), -np.eye(3)]) + [0.01, 0.002, -0.01],
}
G8: dict[str, Any] = {"method": "G8", "step": 40.0}
"""With these steps errors are below 1e-9 on low orbits, and no other program has to be compiled."""
LEO = Orbit(6.9e6, 0.002, 51.6, 30.0, 40.0, 10.0)


def crossed(a: Any, b: Any) -> Any:
    """a x b; NumPy takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def truth(torque: Any, body: ph.Body, omega: Any, times: Any, breaks: Any = ()) -> Any:
    """Attitudes (scalar first) by SciPy, stopped at the breaks; `torque(t, R)` is in body axes."""
    inertia = body.moments

    def rate(t: float, x: Any) -> Any:
        a, b, c, d = x[:4] / math.sqrt(x[:4] @ x[:4])
        matrix = np.array([
            [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
        ])  # fmt: skip
        w = x[4:]
        dq = 0.5 * np.array([-x[1:4] @ w, *(x[0] * w + crossed(x[1:4], w))])
        return np.concatenate([dq, (torque(t, matrix) - crossed(w, inertia * w)) / inertia])

    x = np.concatenate([[1.0, 0.0, 0.0, 0.0], omega])
    edges = [times[0], *(b for b in breaks if times[0] < b < times[-1]), times[-1]]
    rows = [x]
    for t0, t1 in pairwise(edges):
        inside = times[(times > t0) & (times <= t1)]
        run = solve_ivp(rate, (t0, t1), x, "DOP853", np.union1d(inside, t1), rtol=1e-13, atol=1e-15)
        rows += [row for t, row in zip(run.t, run.y.T, strict=True) if t in inside]
        x = run.y[:, -1]
    found = np.array(rows)[:, :4]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def angles(a: Any, b: Any) -> Any:
    """The angles between attitudes."""
    c = np.abs((a * b).sum(axis=1)).clip(max=1.0)
    return 2 * np.minimum(np.arccos(c), np.linalg.norm(np.minimum(np.abs(a - b), np.abs(a + b)), axis=1))


def newton_position(orbit: Orbit, t: float) -> Any:
    """Where a body is on an ellipse in the equator, by Newton's method."""
    m = orbit.mean_motion * t
    x = m
    for _ in range(30):
        x -= (x - orbit.eccentricity * math.sin(x) - m) / (1 - orbit.eccentricity * math.cos(x))
    b = math.sqrt(1 - orbit.eccentricity**2)
    return orbit.semi_major_axis * np.array([math.cos(x) - orbit.eccentricity, b * math.sin(x), 0.0])


# --- gravity


def test_gravity_on_an_ellipse() -> None:
    orbit = Orbit(1.2e7, 0.4)

    def pull(t: float, matrix: Any) -> Any:
        r = newton_position(orbit, t)
        u = matrix.T @ (r / np.linalg.norm(r))
        return 3 * EARTH_MU / np.linalg.norm(r) ** 3 * np.cross(u, LIBRATING.moments * u)

    times = np.linspace(0.0, 1.2 * orbit.period, 13)
    omega = [2e-4, -8e-4, 3e-4]
    s = ph.simulate(
        LIBRATING, loose.GravityGradient(orbit=orbit), omega=omega, t_span=(0, times[-1]), t_eval=times, **G8
    )  # fmt: skip
    assert angles(s.quaternion, truth(pull, LIBRATING, omega, times)).max() < 1e-8
    rows = np.arange(-300.0, times[-1] + 300.0, 60.0)
    table = loose.environment.OrbitTable(rows, orbit.position(rows), orbit.velocity(rows))
    t = loose.GravityGradient(orbit=table)
    p, exact = np.array(t.parameters(LIBRATING)), np.array(s.torque.parameters(LIBRATING))
    for k in (3, 7):
        n = t.torque_kernel(times[k], tuple(s.quaternion[k]), (0, 0, 0), p)
        np.testing.assert_allclose(n, s.torque_of()[k], rtol=0, atol=1e-6 * np.abs(s.torque_of()).max())
    assert exact[0] == 3 * EARTH_MU * 15.0


def earth_pointing(pitch: float, rate: float, n: float) -> dict[str, Any]:
    """The start of a body with its third axis down and its first along the motion, but for a pitch."""
    down = Rotation.from_matrix(np.array([[0, 1, 0], [0, 0, -1], [-1, 0, 0]], dtype=float).T)
    return {"attitude": down * Rotation.from_rotvec([0, pitch, 0]), "omega": [0, rate - n, 0]}


def pitch_of(s: ph.Solution, angle: Any) -> Any:
    """The pitch, where the body is at an angle along an orbit in the equator."""
    down = -np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    along = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    third = Rotation.from_quat(s.quaternion[:, [1, 2, 3, 0]]).apply([0, 0, 1])
    return np.arctan2((third * along).sum(axis=1), (third * down).sum(axis=1))


def test_libration_has_the_frequency_of_linear_theory() -> None:
    """Pitch is a cos(1.35401 n t) for the body with moments 15, 18 and 4; beyond, terms of the third degree in a."""
    orbit, a = Orbit(7e6), 1e-4
    n = orbit.mean_motion
    frequency = math.sqrt(3 * (15 - 4) / 18)
    assert frequency == pytest.approx(1.35401, abs=5e-6)
    times = np.linspace(0.0, 5 * orbit.period, 41)
    start = earth_pointing(a, 0.0, n)
    s = ph.simulate(
        LIBRATING, loose.GravityGradient(orbit=orbit), **start, t_span=(0, times[-1]), t_eval=times, **G8
    )  # fmt: skip
    np.testing.assert_allclose(pitch_of(s, n * times), a * np.cos(frequency * n * times), rtol=0, atol=1e-6 * a)
    assert s.invariant_errors["energy in turning axes"].max() < 1e-13  # T + V - n L; the torque knows it
    other = ph.OrbitalGravityGradient(n, towards=(-1, 0, 0))
    p = np.array(other.parameters(LIBRATING))
    found = [other.torque_kernel(t, tuple(q), (0, 0, 0), p) for t, q in zip(times, s.quaternion, strict=True)]
    np.testing.assert_allclose(s.torque_of(), found, rtol=0, atol=1e-12 * 3 * n * n * 15)


def test_an_eccentric_orbit_forces_a_libration() -> None:
    """-2 e / (3 (I1 - I3) / I2 - 1) sin(n t), in linear theory: 2.4 e. Pitch is counted against the orbit's turn."""
    e = 1e-5
    orbit = Orbit(7e6, e)
    n, amplitude = orbit.mean_motion, -2 * e / (3 * 11 / 18 - 1)
    times = np.linspace(0.0, 3 * orbit.period, 31)
    # At the perigee the angle along the orbit has the rate n (1 + 2 e), and the pitch its largest rate.
    start = earth_pointing(0.0, amplitude * n - 2 * e * n, n)
    s = ph.simulate(
        LIBRATING, loose.GravityGradient(orbit=orbit), **start, t_span=(0, times[-1]), t_eval=times, **G8
    )  # fmt: skip
    r = orbit.position(times)
    np.testing.assert_allclose(
        pitch_of(s, np.arctan2(r[:, 1], r[:, 0])), amplitude * np.sin(n * times), rtol=0, atol=3e-4 * abs(amplitude)
    )


# --- magnets


def test_the_field_of_a_dipole() -> None:
    """Twice as strong at the poles as at the equator, north at the equator, down at the northern pole."""
    equator = DipoleField(Orbit(7e6)).vectors(0.0)
    strength = 29_733.5e-9 * (6371.2 / 7000) ** 3
    np.testing.assert_allclose(equator, [0, 0, strength], rtol=1e-4, atol=1e-12)
    pole = DipoleField(Orbit(7e6, 0.0, 90.0, mean_anomaly_deg=90.0)).vectors(0.0)
    np.testing.assert_allclose(pole, [0, 0, -2 * strength], rtol=1e-4, atol=1e-12)


def test_a_tilted_dipole_turns_with_the_earth() -> None:
    """Over the magnetic pole, at 80.8 N 72.8 W, the field is straight down, at any hour."""
    for hour in (0, 5):
        date = f"2026-03-20T{hour:02}:00:00"
        latitude, longitude = math.radians(80.8), sidereal_angle(date) + math.radians(-72.8)
        u = np.array([
            math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude),
        ])  # fmt: skip
        side = np.cross(u, [0, 0, 1])
        orbit = Orbit.from_state(7e6 * u, 7.5e3 * side / np.linalg.norm(side))
        b = DipoleField(orbit, date).vectors(0.0)
        np.testing.assert_allclose(b / np.linalg.norm(b), -u, rtol=0, atol=5e-3)


def test_a_magnet_in_a_field_that_changes() -> None:
    field = DipoleField(LEO, "2026-03-20")
    moment = np.array([0.01, -0.02, 0.03])

    def pull(t: float, matrix: Any) -> Any:
        return np.cross(moment, matrix.T @ field.vectors(t))

    times, omega = np.linspace(0.0, 900.0, 7), [1e-3, 2e-3, -1e-3]
    magnet = loose.MagneticDipole(moment, field)
    s = ph.simulate(BODY, magnet, omega=omega, t_span=(0, 900), t_eval=times, method="G8", step=10.0)
    assert angles(s.quaternion, truth(pull, BODY, omega, times)).max() < 1e-8
    knots = np.linspace(-10.0, 910.0, 185)
    tabled = loose.MagneticDipole(moment, ph.Table(knots, field.vectors(knots), frame="space"))
    p = np.array(tabled.parameters(BODY))
    found = [tabled.torque_kernel(t, tuple(q), (0, 0, 0), p) for t, q in zip(times, s.quaternion, strict=True)]
    np.testing.assert_allclose(found, s.torque_of(), rtol=0, atol=1e-7 * np.abs(s.torque_of()).max())
    assert tabled.knots == tuple(knots[1:-1])
    assert tabled.roughness > 0.0
    kinked = loose.MagneticDipole(
        moment, ph.Table([0.0, 1.0, 2.0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], "space", "linear")
    )
    assert kinked.breakpoints == (1.0,)
    with pytest.raises(ValueError, match=r"known from t = 0\.0 to 2\.0"):
        ph.simulate(BODY, kinked, omega=omega, t_span=(0, 3), step=0.1, method="RK4")
    in_body = loose.MagneticDipole(moment, ph.Table([0.0, 1.0], [[0, 0, 1], [1, 0, 0]], "body", "linear"))
    assert in_body.potential_kernel is None
    assert not in_body.reads_attitude


def test_igrf_along_an_orbit() -> None:
    ppigrf = pytest.importorskip("ppigrf")
    from datetime import datetime, timedelta

    start = datetime(2026, 3, 20, 6)
    field = IGRF(LEO, start.isoformat())
    times = [0.0, 1234.5, 70_000.0]
    for t in times:
        x, y, z = LEO.position(t)
        angle = sidereal_angle((start + timedelta(seconds=t)).isoformat())
        r, across, longitude = math.sqrt(x * x + y * y + z * z), math.hypot(x, y), math.atan2(y, x)
        east = math.degrees(longitude - angle)
        up, south, eastward = (
            float(b[0][0] if np.ndim(b) == 2 else b[0])
            for b in ppigrf.igrf_gc(r / 1e3, math.degrees(math.acos(z / r)), east, start + timedelta(seconds=t))
        )
        radial = np.array([x, y, z]) / r
        eastern = np.array([-y, x, 0.0]) / across
        southern = np.cross(eastern, radial)
        truth = 1e-9 * (up * radial + south * southern + eastward * eastern)
        np.testing.assert_allclose(field.vectors(t), truth, rtol=0, atol=2e-12)
    magnet = loose.MagneticDipole((0, 0, 0.01), field)
    prepared = magnet.for_span(0.0, 80_000.0)
    p = np.array(prepared.parameters(BODY))
    identity = (1.0, 0.0, 0.0, 0.0)
    for t in times:
        x, y, z = field.vectors(t)
        found = prepared.torque_kernel(t, identity, (0, 0, 0), p)
        np.testing.assert_allclose(found, [-0.01 * y, 0.01 * x, 0.0], rtol=0, atol=2e-10 * 0.01 * 6e-5)
    assert prepared == magnet
    with pytest.raises(ValueError, match="must know for how long: give t_span to IGRF"):
        magnet.parameters(BODY)
    again = pickle.loads(pickle.dumps(prepared))
    assert again.span == (0.0, 80_000.0)
    assert "_table" not in again.__dict__
    with pytest.raises(ValueError, match="IGRF-14 is defined from 1900 to 2030, but t = 0 s is in the year 2031"):
        IGRF(LEO, "2031-01-01")


def test_a_table_along_an_orbit_stays_where_it_is() -> None:
    """Other runs push it out of the cache: made again, it would leave a run with the address of freed memory."""
    pytest.importorskip("ppigrf")
    prepared = loose.MagneticDipole((0, 0, 0.01), IGRF(LEO, "2026-03-20")).for_span(0.0, 100.0)
    first = prepared.parameters(BODY)
    _made.cache_clear()
    assert prepared.parameters(BODY) == first


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ppigrf", None)
    monkeypatch.setitem(sys.modules, "pymsis", None)
    with pytest.raises(ImportError, match=r"ppigrf.*pip install 'polhode\[environment\]'"):
        IGRF(Orbit(6.91e6), "2026-03-20").vectors(0.0)
    air = MSIS("2026-03-20", 150, 150, 4)
    with pytest.raises(ImportError, match=r"pymsis.*pip install 'polhode\[environment\]'"):
        air.table(Orbit(6.91e6), (0.0, 10.0))


# --- plates


def light_on(plates: dict[str, Any], u: Any, specular: float, diffuse: float) -> Any:
    """The torque of sunlight from the direction u, for the pressure 1: Wertz (1978), equation 17-40, plate by plate."""
    total = np.zeros(3)
    for a, n, c in zip(plates["areas"], plates["normals"], plates["centres"], strict=True):
        cosine = n @ u
        if cosine > 0:
            force = -a * cosine * ((1 - specular) * u + 2 * (specular * cosine + diffuse / 3) * n)
            total += crossed(c, force)
    return total


def test_light_and_air_on_plates() -> None:
    """One attitude after another, against the formulas of a textbook."""
    sun, orbit = Sun("2026-06-01"), LEO
    air = ExponentialAir(2e-12, 450e3, 60e3)
    lit = loose.Facets(**CUBE, sun=sun, specular=0.3, diffuse=0.2, pressure=1.0)
    dragged = loose.Facets(**CUBE, orbit=orbit, density=air, drag_coefficient=2.5)
    both = loose.Facets(
        **CUBE, orbit=orbit, density=air, drag_coefficient=2.5, sun=sun, specular=0.3, diffuse=0.2, pressure=1.0,
        shadow=False,
    )  # fmt: skip
    rng = np.random.default_rng(17)
    for t in (0.0, 4000.0):
        x, y, z = orbit.position(t)
        v = orbit.velocity(t) - EARTH_RATE * np.array([-y, x, 0.0])
        rho = 2e-12 * math.exp(-(math.sqrt(x * x + y * y + z * z) - 6378137.0 - 450e3) / 60e3)
        strength = 1.0 / 1.01405**2  # the distance of the Sun on June 1, AU, to 1e-4
        for _ in range(4):
            turn = Rotation.random(random_state=rng)
            q = turn.as_quat()[[3, 0, 1, 2]]
            w = turn.inv().apply(v)
            speed = np.linalg.norm(w)
            air_torque = sum(
                np.cross(c, -0.5 * rho * 2.5 * a * max(0.0, n @ w) * w * speed / speed)
                for a, n, c in zip(*CUBE.values(), strict=True)
            )
            light = strength * light_on(CUBE, turn.inv().apply(sun.direction(t)), 0.3, 0.2)
            found = [
                np.array(m.torque_kernel(t, tuple(q), (0, 0, 0), np.array(m.parameters(BODY))))
                for m in (lit, dragged, both)
            ]
            np.testing.assert_allclose(found[0], light, rtol=0, atol=3e-4 * np.abs(light).max())
            np.testing.assert_allclose(found[1], air_torque, rtol=0, atol=1e-12 * np.abs(air_torque).max())
            np.testing.assert_allclose(found[2], found[0] + found[1], rtol=0, atol=1e-14 * np.abs(found[2]).max())


@pytest.mark.evidence
def test_sunlight_with_eclipses() -> None:
    """A tumbling body through a shadow: sides that turn away, and both edges of the shadow, cost no accuracy."""
    orbit, sun = Orbit(7e6, mean_anomaly_deg=110.0), (1.0, 0.0, 0.0)
    plates = {name: rows[:2] for name, rows in CUBE.items()}
    lit = loose.Facets(**plates, orbit=orbit, sun=sun, specular=0.5, pressure=2e-2)  # strong, to be seen
    assert lit.bends_known
    assert lit.breakpoints == ()
    end, omega = 2500.0, [4e-3, -3e-3, 3e-3]
    times = np.linspace(0.0, end, 9)
    dark = eclipses(orbit, sun, 0.0, end)
    assert dark.shape == (1, 2)

    def pull(t: float, matrix: Any) -> Any:
        shadow = dark[0, 0] < t < dark[0, 1]
        return np.zeros(3) if shadow else 2e-2 * light_on(plates, matrix[0], 0.5, 0.0)

    s = ph.simulate(BODY, lit, omega=omega, t_span=(0, end), t_eval=times, method="DOP853(rtol=1e-11)", step=10.0)
    # SciPy meets the bends with steps of its own.
    assert angles(s.quaternion, truth(pull, BODY, omega, times, dark[0])).max() < 1e-7
    assert s.torque.breakpoints == tuple(dark[0])
    inside = (s.t > dark[0, 0]) & (s.t < dark[0, 1])
    assert inside.any()
    assert (s.torque_of()[inside] == 0).all()
    assert (s.torque_of()[~inside] != 0).any()


def test_a_shadow_without_a_span_is_that_of_the_list() -> None:
    """A torque that does not know the times of its run looks where the planet is."""
    lit = loose.Facets(**CUBE, orbit=LEO, sun=Sun("2026-03-20"), diffuse=0.1)
    listed = lit.for_span(0.0, 9000.0)
    assert len(listed.breakpoints) in (2, 3, 4)
    p, listed_p = np.array(lit.parameters(BODY)), np.array(listed.parameters(BODY))
    q = (0.5, -0.5, 0.1, 0.7)
    seen = [
        (lit.torque_kernel(t, q, (0, 0, 0), p), listed.torque_kernel(t, q, (0, 0, 0), listed_p))
        for t in np.linspace(0.0, 9000.0, 200).tolist()
    ]
    for a, b in seen:
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-20)
    assert any(a == (0, 0, 0) for a, _ in seen)
    assert any(a != (0, 0, 0) for a, _ in seen)


def test_msis_along_an_orbit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities from indices that are given: nothing is downloaded."""
    pymsis = pytest.importorskip("pymsis")
    import socket

    def refuse(*given: Any, **named: Any) -> None:
        raise AssertionError("something was downloaded")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    air = MSIS("2026-03-20T06:00:00", 150.0, 140.0, 7.0)
    orbit = Orbit(6.778e6, mean_anomaly_deg=40.0)  # in the equator, so that the height is simple
    drag = loose.Facets(**CUBE, orbit=orbit, density=air).for_span(0.0, 6000.0)
    p = np.array(drag.parameters(BODY))
    for t in (0.0, 3000.0):
        x, y, _ = orbit.position(t)
        east = math.degrees(math.atan2(y, x) - sidereal_angle("2026-03-20T06:00:00") - EARTH_RATE * t)
        when = np.datetime64("2026-03-20T06:00:00") + np.timedelta64(int(t), "s")
        rho = float(np.ravel(pymsis.calculate(when, east, 0.0, 399.863, 150.0, 140.0, [[7.0] * 7]))[0])
        fixed = loose.Facets(**CUBE, orbit=orbit, density=rho)
        q = (0.5, -0.5, 0.1, 0.7)
        n = drag.torque_kernel(t, q, (0, 0, 0), p)
        np.testing.assert_allclose(n, fixed.torque_kernel(t, q, (0, 0, 0), np.array(fixed.parameters(BODY))), rtol=2e-3)
    with pytest.raises(ValueError, match=r"MSIS has a table from t = 0\.0 to 10\.0"):
        loose.Facets(**CUBE, orbit=orbit, density=MSIS("2026-03-20", 150, 150, 4, (0, 10))).check_span(0.0, 20.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"areas": [1, 2, -3, 4, 5, 6]}, r"areas must not be negative, but areas\[2\] is -3"),
        ({"areas": []}, "one area at least"),
        ({"normals": np.zeros((6, 3))}, r"normals\[0\] must point somewhere"),
        ({"centres": np.zeros((5, 3))}, "centres must have a row for each of the 6 areas, not 5"),
        ({"specular": 0.7, "diffuse": 0.5}, "1 together at most, not 1.2"),
        ({"specular": -0.1}, "specular must not be negative"),
        ({"specular": [0.1, 0.2]}, "one for each of the 6 facets, not 2"),
        ({"sun": None}, "nothing acts"),
        ({"density": 1e-12}, "drag needs an orbit"),
        ({"density": -1e-12, "orbit": LEO}, "density must not be negative"),
        ({"sun": Sun("2026-01-01"), "density": MSIS("2026-01-02", 1, 1, 1), "orbit": LEO}, "need one date"),
        ({"sun": (0, 0, 0)}, "sun must point somewhere"),
    ],
)
def test_what_are_no_plates(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        loose.Facets(**{**CUBE, "sun": (1.0, 0.0, 0.0), **changed})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: loose.GravityGradient(), "give the strength"),
        (lambda: loose.GravityGradient(1.0, orbit=LEO), "not both"),
        (lambda: loose.GravityGradient(orbit=7e6), "orbit must be polhode.environment.Orbit"),
        (lambda: loose.MagneticDipole((1, 0, 0), {"model": "IGRF14"}), "there is no model 'IGRF14'"),
        (lambda: loose.MagneticDipole((1, 0, 0), {"model": "IGRF", "date": "2026-01-01"}), "lacks 'orbit'"),
        (lambda: loose.MagneticDipole((1, 0, 0), math.sin), "field must be a vector in space axes"),
        (lambda: loose.MagneticDipole((1, 0), (1, 0, 0)), "moment must have the shape"),
        (lambda: ExponentialAir(1e-12, 4e5, 0.0), "scale_height must be positive"),
        (lambda: MSIS("2026-01-01", -1, 1, 1), "f107 must not be negative"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


# --- sums, files, scenarios, many bodies


def test_a_file_keeps_orbits_and_fields(tmp_path: Path) -> None:
    total = (
        loose.GravityGradient(orbit=LEO)
        + 0.5 * loose.MagneticDipole((0, 0, 0.01), DipoleField(LEO, "2026-03-20")).during(1.0, 3.0)
        + loose.Facets(**CUBE, orbit=LEO, density=ExponentialAir(1e-12, 4e5, 6e4), sun=Sun("2026-03-20"))
    )
    end = 1200.0
    s = ph.simulate(BODY, total, omega=[1e-3, 0, 2e-3], t_span=(0, end), step=4.0, method="RK4")
    assert len(s.torque.breakpoints) == 3  # of `during`, and where the shadow begins
    assert set(s.torque.breakpoints) <= set(s.t)
    s.save(tmp_path / "orbit.nc")
    again = ph.load(tmp_path / "orbit.nc")
    assert again.torque == total
    np.testing.assert_array_equal(again.torque_of(), s.torque_of())
    one, other = (ph.resume(x, 2 * end) for x in (s, again))
    np.testing.assert_array_equal(one.quaternion, other.quaternion)
    whole = ph.simulate(BODY, total, omega=[1e-3, 0, 2e-3], t_span=(0, 2 * end), step=4.0, method="RK4")
    # The steps of one run end where the other resumes, and RK4 does not look for the bends: 5e-8 were seen.
    assert angles(one.quaternion[-1:], whole.quaternion[-1:]).max() < 1e-6
    assert pickle.loads(pickle.dumps(s.torque)) == total


def test_a_run_beyond_a_table_of_positions() -> None:
    rows = np.arange(0.0, 601.0, 30.0)
    table = loose.GravityGradient(orbit=loose.environment.OrbitTable(rows, LEO.position(rows)))
    with pytest.raises(ValueError, match=r"known from t = 0\.0 to 600\.0 s, but it is needed from 0\.0 to 700\.0"):
        ph.simulate(BODY, table, omega=[0, 0, 1e-3], t_span=(0, 700), step=10.0, method="RK4")
    (table.during(0.0, 600.0) + ph.ConstantBodyTorque((1e-9, 0, 0))).check_span(0.0, 700.0)


SCENARIO = """
[body]
moments = [2e-3, 3e-3, 4e-3]
[initial]
omega = [1e-3, 0, 2e-3]
[run]
t_span = [0, 10]
step = 1.0
method = "RK4"

[[torque]]
model = "GravityGradient"
orbit = {semi_major_axis = 6.9e6, eccentricity = 0.002}

[[torque]]
model = "MagneticDipole"
moment = [0, 0, 0.01]
[torque.field]
model = "DipoleField"
date = "2026-03-20"
orbit.semi_major_axis = 6.9e6

[[torque]]
model = "Facets"
areas = [0.01]
normals = [[1, 0, 0]]
centres = [[0, 0.1, 0]]
orbit.semi_major_axis = 6.9e6
density = {model = "ExponentialAir", density = 1e-12, altitude = 4e5, scale_height = 6e4}
sun = {date = "2026-03-20"}
"""


def test_scenarios_can_say_it(tmp_path: Path) -> None:
    file = tmp_path / "orbit.toml"
    file.write_text(SCENARIO)
    found = load_scenario(file).torque.parts
    assert found["GravityGradient"] == loose.GravityGradient(orbit=Orbit(6.9e6, 0.002))
    assert found["MagneticDipole"] == loose.MagneticDipole((0, 0, 0.01), DipoleField(Orbit(6.9e6), "2026-03-20"))
    air = ExponentialAir(1e-12, 4e5, 6e4)
    plate = loose.Facets([0.01], [[1, 0, 0]], [[0, 0.1, 0]], Orbit(6.9e6), air, sun=Sun("2026-03-20"))
    assert found["Facets"] == plate
    for old, new, message in (
        ("eccentricity = 0.002", "eccentricity = 2", r"torque\[0\]\.orbit: eccentricity must be at least 0"),
        ("eccentricity = 0.002", "exentricity = 0.2", "did you mean 'eccentricity'"),
        ('"DipoleField"', '"Dipole"', r"torque\[1\]\.field: there is no model 'Dipole'"),
        ("areas = [0.01]", "areas = [-1]", "areas must not be negative"),
        ('sun = {date = "2026-03-20"}', 'sun = {date = "soon"}', r"torque\[2\]\.sun: date must be a date"),
    ):
        file.write_text(SCENARIO.replace(old, new))
        with pytest.raises(ScenarioError, match=message):
            load_scenario(file)


@pytest.mark.evidence
def test_many_bodies_on_an_orbit() -> None:
    """Bodies share registers, along a Kepler orbit; different orbits may have one program."""
    rng = np.random.default_rng(8)
    rates = rng.normal(scale=1e-3, size=(16, 3))
    orbits = [Orbit(7e6 + 1e5 * k, 0.01 * (k % 3)) for k in range(16)]
    run: dict[str, Any] = {"t_span": (0, 100), "step": 5.0, "method": "Strang"}
    torques = [loose.GravityGradient(orbit=o) for o in orbits]
    many = ph.ensemble(BODY, torques, omega=rates, **run)
    assert many.lanes > 1
    alone = ph.simulate(BODY, torques[5], omega=rates[5], **run)
    np.testing.assert_array_equal(many[5].quaternion[-1], alone.quaternion[-1])
    sun = (1.0, 0.0, 0.0)
    shadows = [loose.Facets(**CUBE, orbit=o, sun=sun) for o in (Orbit(7e6), Orbit(7.1e6))]
    with pytest.raises(ValueError, match="jump at the same times"):
        ph.ensemble(BODY, shadows, omega=rates[:2], t_span=(0, 6000), step=10.0, method="RK4")
