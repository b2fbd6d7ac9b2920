"""What methods promise, measured on systems."""

import math
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.systems.bodies import AT
from polhode.methods import find
from polhode.systems.system_run import EqualSteps, SystemPlan, SystemRun
from tests.systems._problems import interaction, last_state, three_bodies

ORDERS = {
    "Strang": 2, "MR2": 2, "NO_SQUISH": 2, "NMB": 2, "TJ(of=Strang)": 4, "Suzuki4(of=MR2)": 4, "BlanesMoanS6": 4,
    "KL6(of=Strang)": 6, "SRKN11": 6, "BlanesMoanS10": 6, "KL8(of=Strang)": 8, "SABA4": 2, "ABA104": 4,
    "Omelyan2": 2, "Chin4": 4, "SEJ": 2, "SEJ4": 2, "SRKN19": 8,
}  # fmt: skip
QUICK = ("Strang", "MR2", "NMB", "BlanesMoanS6", "KL6(of=Strang)", "Chin4", "SEJ")
"""Methods of the short tests; the others are evidence."""


def methods(*extra: str) -> list[Any]:
    listed = [*ORDERS, *extra]
    return [m if m in QUICK else pytest.param(m, marks=pytest.mark.evidence) for m in listed]


class Map:
    """One step of a method as a map of states, in plain Python."""

    def __init__(self, method: str, h: float, **kind: bool) -> None:
        self.system = three_bodies(**kind)
        self.run = SystemRun(self.system, interaction(), SystemPlan(find(method), h, 0.0, h))
        self.h = h
        self.start = np.array(self.run.y)

    def __call__(self, y: Any, h: float | None = None) -> Any:
        run = self.run
        run.y[:], run.memory[0] = y, 0.0
        run.count[AT.done] = run.count[AT.known] = run.count[AT.row] = 0
        run.plan = run.plan._replace(step=h or self.h)
        assert isinstance(run.steps, EqualSteps)
        run.steps.last = h or self.h
        assert run.steps.call(1) == 0
        return np.array(run.y)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", methods())
def test_order(method: str) -> None:
    order, system, forces = ORDERS[method], three_bodies(), interaction()
    exact = last_state(ph.simulate_system(system, forces, t_span=(0, 0.8), step=0.05, method="G8"))
    steps = {2: (0.04, 0.02), 4: (0.08, 0.04), 6: (0.2, 0.1), 8: (0.2, 0.1)}[order]
    errors = [
        np.abs(last_state(ph.simulate_system(system, forces, t_span=(0, 0.8), step=h, method=method)) - exact).max()
        for h in steps
    ]
    assert math.log2(errors[0] / errors[1]) > order - 0.35  # the next term of the error is still seen


def test_methods_say_whether_they_step_systems() -> None:
    from polhode.methods import catalogue
    from polhode.text.cards import method_facts

    able = {m.name for m in catalogue().values() if m.steps_systems}
    assert {
        "Strang",
        "MR2",
        "NO_SQUISH",
        "KL8",
        "SABA",
        "ABA1064",
        "SRKN11",
        "SRKN19",
        "G8",
        "NMB",
        "SEJ",
        "SEJ4",
    } <= able
    assert not able & {"Exact", "RK4", "DOP853", "TakahashiImada"}
    assert not find("MR2(axes=auto)").steps_systems  # bodies may differ in the order of their moments
    for method in ("Chin4", "SEJ"):
        with pytest.raises(ValueError, match=f"{method} does not step systems of bodies with rotors"):
            ph.simulate_system(three_bodies(rotor=True), interaction(), t_span=(0, 1), step=0.1, method=method)
    assert all(method_facts(m)["systems"] == ("yes" if m.name in able else "no") for m in catalogue().values())


@pytest.mark.evidence
def test_collocation_has_order_sixteen() -> None:
    system, forces = three_bodies(), interaction()
    exact = last_state(ph.simulate_system(system, forces, t_span=(0, 8), step=0.05, method="G8"))
    errors = [
        np.abs(last_state(ph.simulate_system(system, forces, t_span=(0, 8), step=h, method="G8")) - exact).max()
        for h in (0.8, 0.4)
    ]
    assert math.log2(errors[0] / errors[1]) > 9  # from 1e-5 to round-off in one halving


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", methods("G8"))
def test_reversible(method: str) -> None:
    step = Map(method, 0.1)
    there = step(step.start, 0.1)
    assert np.abs(step(there, -0.1) - step.start).max() < (1e-11 if method == "NMB" else 1e-13)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [{}, {"tilted": True}, {"rotor": True}], ids=["plain", "tilted", "rotor"])
@pytest.mark.parametrize("method", ["Strang", pytest.param("MR2", marks=pytest.mark.evidence)])
def test_symplectic(method: str, kind: dict[str, bool]) -> None:
    step = Map(method, 0.2, **kind)
    assert symplectic_defect(step) < 1e-7  # of numerical derivatives of second order


@pytest.mark.usefixtures("plain")
def test_newmark_is_not_symplectic() -> None:
    assert symplectic_defect(Map("NMB", 0.2)) > 1e-5


def symplectic_defect(step: Map) -> float:
    """The largest entry of J^T W(new) J - W(old), in the coordinates x, theta, p, m."""
    n, y, e = len(step.system), step.start, 1e-4
    mass = np.repeat(step.system.mass, 3)

    def moved(z: Any) -> Any:
        out = np.array(y)
        out[: 3 * n] += z[: 3 * n]
        for i in range(n):
            a, t = out[3 * n + 4 * i : 3 * n + 4 * i + 4], z[3 * n + 3 * i : 3 * n + 3 * i + 3] / 2
            r = np.array([math.sqrt(1 - t @ t), *t])
            out[3 * n + 4 * i : 3 * n + 4 * i + 4] = product(a, r)
        out[7 * n : 10 * n] += z[6 * n : 9 * n] / mass
        out[10 * n :] += z[9 * n :]
        return out

    def difference(a: Any, b: Any) -> Any:
        turns = []
        for i in range(n):
            p, q = (s[3 * n + 4 * i : 3 * n + 4 * i + 4] for s in (b, a))
            turns.append(2 * product(p * np.array([1, -1, -1, -1]), q)[1:])
        d = a - b
        return np.concatenate([d[: 3 * n], *turns, mass * d[7 * n : 10 * n], d[10 * n :]])

    new = step(y)
    columns = []
    for k in range(12 * n):
        z = np.zeros(12 * n)
        z[k] = e
        columns.append((difference(step(moved(z)), new) - difference(step(moved(-z)), new)) / (2 * e))
    J = np.array(columns).T
    return float(np.abs(J.T @ form(new, n) @ J - form(y, n)).max())


def product(a: Any, b: Any) -> Any:
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def form(y: Any, n: int) -> Any:
    """The form dp dx + d(m . theta), with momenta in body axes."""
    W = np.zeros((12 * n, 12 * n))
    one = np.eye(6 * n)
    W[: 6 * n, 6 * n :], W[6 * n :, : 6 * n] = -one, one
    for i in range(n):
        m = y[10 * n + 3 * i : 10 * n + 3 * i + 3]
        at = slice(3 * n + 3 * i, 3 * n + 3 * i + 3)
        W[at, at] = [[0.0, -m[2], m[1]], [m[2], 0.0, -m[0]], [-m[1], m[0], 0.0]]
    return W


@pytest.mark.parametrize("method", ["Strang", "KL6(of=Strang)"])
def test_momenta_are_kept_and_energy_is_bounded(method: str) -> None:
    s = ph.simulate_system(three_bodies(), interaction(), t_span=(0, 40), step=0.02, method=method, every=20)
    assert s.invariant_errors["momentum"].max() < 1e-13  # round-off of 2000 steps
    assert s.invariant_errors["angular momentum"].max() < 1e-13
    early, late = np.array_split(s.energy_error, 2)
    assert late.max() < 2 * early.max() < 2e-2


def test_an_approximate_attitude_loses_the_angular_momentum() -> None:
    """SEJ turns the body a little wrong, and momenta in space with it, by h^2; the momentum is kept, energy bounded."""
    lost = []
    for h in (0.04, 0.02):
        s = ph.simulate_system(three_bodies(), interaction(), t_span=(0, 8), step=h, method="SEJ", every=20)
        assert s.invariant_errors["momentum"].max() < 1e-13
        lost.append(s.invariant_errors["angular momentum"].max())
    assert 1e-7 < lost[1] < lost[0] / 3


@pytest.mark.evidence
@pytest.mark.parametrize("method", ["Strang", "MR2", "NO_SQUISH"])
def test_energy_is_bounded_over_a_million_steps(method: str) -> None:
    """Bodies on springs, so that none escapes: the error of the energy does not grow, momenta stay at round-off."""
    springs = [
        ph.systems.Spring(i, j, ((0.1, 0.0, 0.2), (0.0, -0.2, 0.1)), 1.0, 1.5) for i, j in ((0, 1), (1, 2), (2, 0))
    ]
    drawn = three_bodies()
    mean = np.average(drawn.velocity, axis=0, weights=drawn.mass)  # far from the origin round-off would be larger
    system = drawn.replace(velocity=drawn.velocity - mean)
    s = ph.simulate_system(system, ph.systems.Springs(springs), t_span=(0, 2e4), step=0.02, method=method, every=1000)
    parts = [float(e.max()) for e in np.array_split(s.energy_error, 4)]
    assert max(parts) < 1.5 * parts[0]
    worst = {name: float(e.max()) for name, e in s.invariant_errors.items()}
    assert worst["momentum"] < 1e-11, worst  # a random walk of round-off: 1e-16 sqrt(1e6), some hundred times
    assert worst["angular momentum"] < 1e-11, worst
