"""Systems: forces, output, and what bad input says."""

import ctypes
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.compiler.derive import CannotDerive, gradient_of
from polhode.kernels.callback_torques import ForcesOfC
from polhode.kernels.systems.bodies import philox
from polhode.systems.tolerance import share_of
from tests.systems._problems import SITES, charged, interaction, last_state, three_bodies


def run(forces: Any, system: ph.System | None = None, **kind: Any) -> Any:
    given: dict[str, Any] = {"t_span": (0, 0.2), "step": 0.05} | kind
    return ph.simulate_system(system or three_bodies(), forces, **given)


# --- forces against the gradients of their energies


def dipoles(d: Any, u: Any, w: Any, a: Any, b: Any) -> Any:
    r = math.sqrt(ph.dot(d, d))
    return a[0] * b[0] * (ph.dot(u, w) / r**3 - 3.0 * ph.dot(u, d) * ph.dot(w, d) / r**5)


POINTS = ((0.1, 0.0, 0.2), (0.0, -0.2, 0.1))
FORCES: dict[str, Any] = {
    "pairs": interaction(),
    "pairs with a cutoff in a box": ph.pairs(charged, SITES, cutoff=2.4, box=(5.0, 5.5, 6.0)),
    "pairs that are switched off": ph.pairs(charged, SITES, cutoff=2.4, box=(5.0, 5.5, 6.0), cut="sites"),
    "bodies that are switched off": ph.pairs(charged, SITES, cutoff=2.25, box=(4.5, 5.5, 6.0), cut="bodies"),
    "damped charges": ph.pairs(lambda r, a, b: a[0] * b[0] / r, SITES, cutoff=2.4, box=(5.0, 5.5, 6.0)),
    "dipoles": ph.pairs(dipoles, [ph.systems.Site((0.1, 0.0, 0.0), 0.7, axis=(0.5, 0.2, 1.0))]),
    "dipoles with a cutoff": ph.pairs(dipoles, [ph.systems.Site((0.1, 0, 0), 0.7, axis=(0.5, 0.2, 1.0))], cutoff=2.2),
    "dipoles of bodies that are switched off": ph.pairs(
        dipoles,
        [ph.systems.Site((0.1, 0, 0), 0.7, axis=(0.5, 0.2, 1.0))],
        cutoff=2.25,
        box=(4.5, 5.5, 6.0),
        cut="bodies",
    ),
    "springs": ph.systems.Springs([ph.systems.Spring(0, 1, POINTS, 1.3, 0.4), ph.systems.Spring(2, None, POINTS, 0.7)]),
    "gravity": ph.systems.UniformGravity((0.3, 0.0, -1.0)),
    "central body": ph.systems.CentralBody(0.8, (-3.0, 0.5, 0.0)),
    "torque": ph.MagneticDipole((0.1, 0.2, 0.3), (0.0, 0.5, 1.0)),
    "sum": interaction() + ph.systems.UniformGravity() + ph.systems.Springs(ph.systems.Spring(0, 1, POINTS, 1.3, 0.4)),
}


def at_start(system: ph.System, forces: Any) -> tuple[Any, Any]:
    """Forces in space and torques in body axes, from the change of momenta in a tiny step."""
    h = 1e-7
    still = system.replace(velocity=np.zeros(3), omega=np.zeros(3))
    s = ph.simulate_system(still, forces, t_span=(0, h), step=h, method="Strang")
    return s.velocity[-1] * system.mass[:, None] / h, (s.momentum[-1] - s.momentum[0]) / h


def energy(system: ph.System, forces: Any) -> Any:
    return run(forces, system, t_span=(0, 1e-9), step=1e-9).potential_at_start


@pytest.mark.usefixtures("plain")
@pytest.mark.filterwarnings("ignore::polhode.systems.forces.CutoffJump")
@pytest.mark.parametrize("name", FORCES)
@pytest.mark.parametrize("tilted", [False, True], ids=["aligned", "tilted"])
def test_forces_are_gradients(name: str, tilted: bool) -> None:
    system, forces, e = three_bodies(tilted=tilted), FORCES[name], 1e-5
    force, torque = at_start(system, forces)
    for i in range(3):
        for k in range(3):
            step = np.zeros((3, 3))
            step[i, k] = e
            up, down = (energy(system.replace(position=system.position + d * step), forces) for d in (1, -1))
            assert force[i, k] == pytest.approx(-(up - down) / (2 * e), rel=1e-5, abs=1e-6)
            turned = []
            for d in (1, -1):
                turns = Rotation.from_quat(system.quaternion, scalar_first=True) * Rotation.from_rotvec(d * step)
                turned.append(energy(system.replace(attitude=turns), forces))
            assert torque[i, k] == pytest.approx(-(turned[0] - turned[1]) / (2 * e), rel=1e-5, abs=1e-6)


@pytest.mark.usefixtures("plain")
def test_a_derivative_given_by_hand_is_the_same_and_is_checked() -> None:
    def slope(r: float, a: Any, b: Any) -> Any:
        return -1.8 / r**7 - a[0] * b[0] * r / math.sqrt(r * r + 0.25) ** 3

    given = run(ph.pairs(charged, SITES, derivative=slope))
    assert np.abs(last_state(given) - last_state(run(interaction()))).max() < 1e-14
    with pytest.raises(ValueError, match=r"is not that of its potential: at the distance"):
        run(ph.pairs(charged, SITES, derivative=lambda r, a, b: 1.01 * slope(r, a, b)))


def test_potentials_that_cannot_be_differentiated_say_why() -> None:
    def branches(r: float, a: Any, b: Any) -> Any:
        return 0.0 if r > 1.0 else (1.0 - r) ** 2

    with pytest.raises(CannotDerive, match=r"takes a branch.*polhode\.where.*derivative="):
        ph.pairs(branches, SITES)
    with pytest.raises(CannotDerive, match="more numbers of a site than there are: every site has 1"):
        ph.pairs(lambda r, a, b: a[1] / r, SITES)
    with pytest.raises(TypeError, match=r"takes 2 arguments, but it is called as f\(r, a, b\)"):
        ph.pairs(lambda r, a: 1 / r, SITES)


def helper(x: float) -> Any:
    return math.erfc(x) / x + max(x, 2.0) + ph.where(x > 1.0, x**3, math.sin(x)) + abs(x - 5.0) ** 1.5 + 2.0**x


@pytest.mark.parametrize("r", [0.7, 1.3, 2.5])
def test_derivatives_of_functions(r: float) -> None:
    def potential(r: float, a: Any, b: Any) -> Any:
        return helper(r) + math.tanh(r) * np.exp(-r) - math.log(r) / math.cosh(r) + math.atan(r) ** -2

    value, slope = gradient_of(potential, ("r",), 0, scalar=True)
    e = 1e-5
    assert value(r, (), 0, 0) == pytest.approx(potential(r, (), ()), rel=1e-14)
    numerical = (potential(r + e, (), ()) - potential(r - e, (), ())) / (2 * e)
    assert slope(r, (), 0, 0)[1] == pytest.approx(numerical, rel=1e-8)


# --- functions of arrays


def pulled(t: float, x: Any, q: Any, p: Any) -> Any:
    torque = np.zeros_like(x)
    for i in range(len(x)):
        torque[i, 0] = p[1] * q[i, 1] * q[i, 0]
    return -p[0] * x, torque


def pulled_energy(t: float, x: Any, q: Any, p: Any) -> Any:
    return 0.5 * p[0] * np.sum(x * x)


@pytest.mark.usefixtures("plain")
def test_functions_of_numpy_and_of_c_agree() -> None:
    @ForcesOfC  # type: ignore[untyped-decorator]
    def in_c(t: float, n: int, x: Any, q: Any, p: Any, force: Any, torque: Any) -> None:
        for i in range(n):
            for k in range(3):
                force[3 * i + k] = -p[0] * x[3 * i + k]
            torque[3 * i] = p[1] * q[4 * i + 1] * q[4 * i]

    p = [1.3, 0.4]
    plainly = last_state(run(ph.forces(pulled, parameters=p)))
    assert (last_state(run(ph.forces(pulled, parameters=p, compiled=False))) == plainly).all()
    assert (last_state(run(ph.systems.forces_from_pointer(in_c, parameters=p))) == plainly).all()
    address = ctypes.cast(in_c, ctypes.c_void_p).value
    assert (last_state(run(ph.systems.forces_from_pointer(address, parameters=p))) == plainly).all()


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::polhode.systems.forces.CutoffJump")
def test_compiled_functions_agree_with_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [ph.forces(pulled, parameters=[1.3, 0.4]), ph.forces(pulled, parameters=[1.3, 0.4], compiled=False)]
    found = [last_state(run(f, every=4)) for f in (*given, *FORCES.values())]
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    for one, f in zip(found, (*given, *FORCES.values()), strict=True):
        assert np.abs(last_state(run(f, every=4)) - one).max() < 1e-14


@pytest.mark.usefixtures("plain")
def test_a_potential_of_a_function_is_checked() -> None:
    with pytest.raises(ValueError, match=r"the torque of pulled on body 0 is .* but minus the gradient of its"):
        run(ph.forces(pulled, parameters=[1.3, 0.4], potential=pulled_energy))
    s = run(ph.forces(pulled, parameters=[1.3, 0.0], potential=pulled_energy, compiled=False))
    assert s.energy_error.max() < 1e-3


@pytest.mark.parametrize("size", [1e-10, 7e6], ids=["molecules", "orbits"])
def test_a_potential_is_checked_at_the_lengths_of_the_system(size: float) -> None:
    """Molecules and orbits are both in metres: differences of the potential are taken over a part of their size."""

    def attracted(t: float, x: Any, q: Any, p: Any) -> Any:
        return -p[0] * x / np.sum(x * x) ** 1.5, np.zeros_like(x)

    def potential(t: float, x: Any, q: Any, p: Any) -> Any:
        return -1.0 / np.sqrt(np.sum(x * x))

    system = ph.System(ph.Body([1.0, 2.0, 2.5]), mass=1.0, position=[[size, 0.3 * size, 0.0]])
    ph.forces(attracted, parameters=[1.0], potential=potential, compiled=False).try_on(system, 0.0)
    with pytest.raises(ValueError, match="the force of attracted on body 0"):
        ph.forces(attracted, parameters=[2.0], potential=potential, compiled=False).try_on(system, 0.0)


# --- bad input


def test_bad_systems() -> None:
    body, x = ph.Body([1.0, 1.0, 1.0]), [[0.0, 0, 0], [1.0, 0, 0]]
    with pytest.raises(ValueError, match="there are 3 bodies, but position has 2 rows"):
        ph.System([body] * 3, mass=1.0, position=x)
    with pytest.raises(ValueError, match="there are 2 bodies, but mass has 3 rows"):
        ph.System(body, mass=[1.0, 2.0, 3.0], position=x)
    with pytest.raises(ValueError, match="that of body 1 is -2"):
        ph.System(body, mass=[1.0, -2.0], position=x)
    with pytest.raises(ValueError, match="that of body 0 is 0"):
        ph.System(body, mass=0.0, position=x)
    with pytest.raises(ValueError, match="there are 2 bodies, but omega has the shape"):
        ph.System(body, mass=1.0, position=x, omega=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"position must be finite, but position\[1, 2\] is nan"):
        ph.System(body, mass=1.0, position=[[0.0, 0, 0], [0, 0, math.nan]])
    with pytest.raises(ValueError, match=r"attitude\[1\] must be a rotation, but the quaternion is zero"):
        ph.System(body, mass=1.0, position=x, attitude=[[1.0, 0, 0, 0], [0.0, 0, 0, 0]])
    with pytest.raises(TypeError, match=r"bodies must be a list of polhode\.Body"):
        ph.System([1.0, 2.0], mass=1.0, position=x)  # type: ignore[list-item]


@pytest.mark.usefixtures("plain")
def test_bad_runs() -> None:
    with pytest.raises(ValueError, match=r"box must be one side or three, not of the shape \(2,\)"):
        ph.pairs(charged, SITES, cutoff=3.0, box=[8.0, 8.0])
    with pytest.raises(ValueError, match="less than twice the cutoff 3"):
        ph.pairs(charged, SITES, cutoff=3.0, box=5.0)
    with pytest.raises(ValueError, match="a box needs a cutoff"):
        ph.pairs(charged, SITES, box=5.0)
    with pytest.raises(ValueError, match="give either step"):
        ph.simulate_system(three_bodies(), t_span=(0, 1))
    with pytest.raises(ValueError, match=r"RK4 does not step systems: take one of the splittings"):
        run(None, method="RK4")
    with pytest.raises(TypeError, match=r"write polhode\.forces\(pulled\)"):
        run(pulled)
    with pytest.raises(ValueError, match="there are 3 bodies, but sites of 2"):
        run(ph.pairs(charged, [SITES, SITES]))
    with pytest.raises(ValueError, match="body 7, but there are bodies 0 to 2"):
        run(ph.systems.Springs(ph.systems.Spring(0, 7, POINTS, 1.0)))
    with pytest.raises(ValueError, match=r"forces as an array of numbers of the shape \(3, 3\)"):
        run(ph.forces(lambda t, x, q, p: (x[:2], x)))
    with pytest.raises(ValueError, match="heat bath goes with Strang"):
        run(None, method="KL6(of=Strang)", heat=ph.Langevin(1.0, 1.0))


@pytest.mark.usefixtures("plain")
def test_bodies_at_one_place_are_named() -> None:
    x = [[0.0, 0, 0], [2.0, 0, 0], [2.0, 0, 0]]
    system = ph.System(ph.Body([1.0, 2.0, 2.5]), mass=1.0, position=x)
    with pytest.raises(ph.SimulationFailed, match=r"bodies 1 and 2 have sites at one place.*after 0 of 4 steps"):
        run(ph.pairs(charged, [ph.systems.Site((0.1, 0, 0), 1.0)]), system)
    by_hand = ph.pairs(lambda r, a, b: 1.0 / r, [ph.systems.Site()], derivative=lambda r, a, b: -1.0 / r**2)
    with pytest.raises(ph.SimulationFailed, match="bodies 1 and 2 have sites at one place"):
        run(by_hand, system)


def broken(t: float, x: Any, q: Any, p: Any) -> Any:
    force = -1.0 * x
    if t > 0.12:
        force[1, 2] = np.nan
    return force, np.zeros_like(x)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("compiled", [True, False])
def test_forces_that_are_no_numbers_name_body_and_time_and_keep_what_there_is(compiled: bool) -> None:
    with pytest.raises(ph.SimulationFailed, match=r"on body 1 are NaN .* after 2 of 4 steps, at t = 0\.1") as caught:
        run(ph.forces(broken, compiled=compiled))
    kept = caught.value.solution
    assert kept.t.tolist() == pytest.approx([0.0, 0.05, 0.1])
    assert kept.t_last == pytest.approx(0.1)


@pytest.mark.usefixtures("plain")
def test_interrupts_and_exceptions_keep_what_there_is() -> None:
    def stop(done: int, steps: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(ph.SimulationInterrupted) as caught:
        run(interaction(), progress=stop)
    assert caught.value.solution.t.size >= 3

    def raises(t: float, x: Any, q: Any, p: Any) -> Any:
        if t > 0.12:
            raise RuntimeError("out of paper")
        return -x, 0 * x

    with pytest.raises(RuntimeError, match="out of paper") as other:
        run(ph.forces(raises, compiled=False))
    assert other.value.solution.t[-1] == pytest.approx(0.1)  # type: ignore[attr-defined]


# --- output


@pytest.mark.usefixtures("plain")
def test_output_does_not_change_the_run_and_a_cut_run_has_the_same_bits() -> None:
    whole = run(interaction(), t_span=(0, 0.5))
    asked = run(interaction(), t_span=(0, 0.5), t_eval=[0.0, 0.1, 0.123, 0.5])
    assert (last_state(asked) == last_state(whole)).all()
    assert np.abs(asked.position[2] - whole.position[2]).max() < 0.1
    half = run(interaction(), t_span=(0, 0.25))
    again = ph.resume_system(half, 0.5)
    assert (again.position == whole.position).all()
    assert (again.t == whole.t).all()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("rotor", [False, True])
def test_a_tolerance_states_an_error_that_holds(rotor: bool) -> None:
    system, end = three_bodies(rotor=rotor), 0.6
    truth = ph.simulate_system(system, interaction(), t_span=(0, end), step=0.02, method="G8", every=30)
    s = ph.simulate_system(system, interaction(), t_span=(0, end), rtol=1e-6, t_eval=[0.3, end])
    assert s.error_estimate is not None
    assert s.error_estimate <= 1e-6
    assert np.abs(last_state(s) - last_state(truth)).max() < 5e-6  # sizes of the state are up to 5
    with pytest.raises(ValueError, match="give output times as t_eval, not every"):
        ph.simulate_system(system, t_span=(0, 1), rtol=1e-6, every=2)


def test_round_off_is_not_taken_for_an_error_of_high_order() -> None:
    assert share_of(1e-6, 16.0) == pytest.approx(0.145, rel=0.01)
    assert share_of(3e-12, 16.0) == 1.0
    assert share_of(1e-6, 6.0) == 1.0


def test_a_run_of_order_two_is_nearer_to_its_companion_than_to_the_truth() -> None:
    """Errors e and e / 0.64 are 0.56 e apart."""
    assert share_of(0.5625e-3, 2.0) * 0.5625e-3 == pytest.approx(1.5e-3, rel=1e-9)


@pytest.mark.usefixtures("plain")
def test_runs_backward() -> None:
    there = run(interaction())
    system = three_bodies()
    back = ph.simulate_system(
        system.replace(
            position=there.position[-1], velocity=there.velocity[-1], attitude=there.quaternion[-1],
            omega=there.omega[-1],
        ),
        interaction(), t_span=(0.2, 0), step=0.05,
    )  # fmt: skip
    assert np.abs(back.position[-1] - system.position).max() < 1e-14


@pytest.mark.usefixtures("plain")
def test_files(tmp_path: Path) -> None:
    import xarray

    forces = interaction()
    s = run(forces, events=[ph.systems.closest_approach(0, 1), ph.systems.contact(0, 2, 0.5)], t_span=(0, 0.4))
    s.save(tmp_path / "system.nc")
    with pytest.raises(FileExistsError, match="exists already"):
        s.save(tmp_path / "system.nc")
    again = ph.load(tmp_path / "system.nc", forces=forces)
    assert (again.position == s.position).all()
    assert (again.quaternion == s.quaternion).all()
    assert again.energy == pytest.approx(s.energy, rel=1e-15)
    assert [e.t.tolist() for e in again.events] == [e.t.tolist() for e in s.events]
    assert (ph.resume_system(again, 0.6).position[-1] == ph.resume_system(s, 0.6).position[-1]).all()
    with pytest.raises(ValueError, match="a file does not keep forces"):
        ph.resume_system(ph.load(tmp_path / "system.nc"), 0.6)
    with xarray.open_dataset(tmp_path / "system.nc") as seen:
        assert seen.position.dims == ("time", "body", "component")
    table = s.to_xarray()
    assert table.energy_error.attrs["units"] == "1"
    assert table.sizes["body"] == 3


@pytest.mark.usefixtures("plain")
def test_xyz(tmp_path: Path) -> None:
    s = run(interaction())
    s.to_xyz(tmp_path / "a.xyz", species=["Ar", "Kr", "Xe"], box=(9, 9, 9))
    lines = (tmp_path / "a.xyz").read_text().splitlines()
    assert len(lines) == 5 * s.t.size
    assert lines[1].startswith('Lattice="9.0 0.0 0.0 0.0 9.0 0.0 0.0 0.0 9.0" Properties=species:S:1:pos:R:3')
    first = lines[2].split()
    assert first[0] == "Ar"
    assert [float(x) for x in first[1:4]] == s.position[0, 0].tolist()
    assert [float(x) for x in first[7:11]] == np.roll(s.quaternion[0, 0], -1).tolist()  # the scalar last
    s.to_xyz(tmp_path / "b.xyz", sites=SITES, species=["O", "H"], extended=False)
    lines = (tmp_path / "b.xyz").read_text().splitlines()
    assert len(lines) == 8 * s.t.size
    place = s.position[0, 0] + s.attitude(0)[0].apply(SITES[0].position)
    assert [float(x) for x in lines[2].split()[1:]] == pytest.approx(place.tolist())
    with pytest.raises(ValueError, match="species has 4 names, but there are 3 particles"):
        s.to_xyz(tmp_path / "c.xyz", species=["A"] * 4)
    assert not (tmp_path / "c.xyz").exists()


@pytest.mark.usefixtures("plain")
def test_events() -> None:
    body = ph.Body([1.0, 1.0, 1.0])
    system = ph.System(body, mass=1.0, position=[[0, 0, 0], [-2, 0.5, 0]], velocity=[[0, 0, 0], [1, 0, 0]])
    s = ph.simulate_system(system, t_span=(0, 3), step=0.3, events=[ph.systems.closest_approach(0, 1)])
    assert s.events[0].t.tolist() == pytest.approx([2.0], abs=1e-14)
    with pytest.raises(IndexError, match=r"contact of 0 and 5: .*; there are bodies 0 to 1"):
        ph.simulate_system(system, t_span=(0, 3), step=0.3, events=ph.systems.contact(0, 5, 1.0))
    touch = ph.simulate_system(system, t_span=(0, 3), step=0.3, events=ph.systems.contact(0, 1, math.sqrt(1.25)))
    assert touch.t_last == pytest.approx(1.0, abs=1e-14)
    assert touch.t[-1] == touch.t_last
    assert touch.position[-1, 1] == pytest.approx([-1.0, 0.5, 0.0])


@pytest.mark.usefixtures("plain")
def test_zeros_between_looks_and_those_that_are_touched_are_found() -> None:
    """The finder of one body: a sign that changes twice within a step, and a function that only touches zero."""
    system = ph.System(ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=[[0, 0, 0]], velocity=[[1.0, 0, 0]])

    def twice(t: float, x: Any, q: Any, v: Any, w: Any) -> Any:
        return (x[0, 0] - 1.03) * (x[0, 0] - 1.17)

    def touches(t: float, x: Any, q: Any, v: Any, w: Any) -> Any:
        return (x[0, 0] - 2.05) ** 2

    s = ph.simulate_system(system, t_span=(0, 3), step=0.3, events=[twice, touches])
    assert s.events[0].t == pytest.approx([1.03, 1.17], abs=1e-13)
    assert s.events[1].t == pytest.approx([2.05], abs=1e-7)


@pytest.mark.usefixtures("plain")
def test_an_event_that_ended_a_run_does_not_end_it_again() -> None:
    system = ph.System(
        ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=[[0, 0, 0], [-2, 0.5, 0]], velocity=[[0, 0, 0], [1, 0, 0]]
    )
    touch = ph.systems.contact(0, 1, 1.1)
    first = ph.simulate_system(system, t_span=(0, 3), step=0.3, events=touch)
    whole = ph.resume_system(first, 3.0, events=touch)
    assert whole.t_last == 3.0
    assert [e.t.tolist() for e in whole.events] == [first.events[0].t.tolist()]


# --- heat


def test_random_numbers_are_those_of_the_paper() -> None:
    """The known answers that come with Random123, the code of the authors of Philox."""
    assert philox(0, 0, 0, 0, 0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 0xFFFFFFFF
    assert philox(ones, ones, ones, ones, ones, ones) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    counter, key = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
    assert philox(*counter, *key) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


@pytest.mark.usefixtures("plain")
def test_heat_depends_on_seed_body_and_step_only() -> None:
    bath = ph.Langevin(0.7, 2.0, seed=3)
    whole = run(None, heat=bath)
    cut = ph.resume_system(run(None, heat=bath, t_span=(0, 0.1)), 0.2)
    assert (cut.momentum == whole.momentum).all()
    one = three_bodies()
    fewer = ph.System(
        one.bodies[:2], mass=one.mass[:2], position=one.position[:2], velocity=one.velocity[:2],
        attitude=one.quaternion[:2], omega=one.omega[:2],
    )  # fmt: skip
    assert (run(None, fewer, heat=bath).momentum == whole.momentum[:, :2]).all()
    other = run(None, heat=ph.Langevin(0.7, 2.0, seed=4))
    assert np.abs(other.momentum[-1] - whole.momentum[-1]).max() > 1e-3


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("kind", [{}, {"tilted": True}, {"rotor": True}], ids=str)
def test_a_resistance_drags_by_its_matrix(kind: dict[str, bool], tmp_path: Path) -> None:
    """Without noise the momenta of every body fall by exp(-R M^-1 h), in body axes, also if those are not principal."""
    one, h = three_bodies(**kind), 1e-7
    a = np.random.default_rng(3).normal(size=(3, 6, 6))
    resistance = 1e6 * (a @ np.swapaxes(a, 1, 2) + np.eye(6))
    bath = ph.Langevin(0.0, resistance=resistance)
    assert bath == ph.Langevin(0.0, resistance=resistance)
    s = run(None, one, heat=bath, t_span=(0, h), step=h)
    for i, body in enumerate(one.bodies):
        R = Rotation.from_quat(one.quaternion[i], scalar_first=True)
        M = np.block([[one.mass[i] * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), body.tensor]])
        before = np.concatenate([one.mass[i] * R.inv().apply(one.velocity[i]), one.momentum[i] - body.rotor])
        after = expm(-resistance[i] @ np.linalg.inv(M) * h) @ before
        found = np.concatenate([one.mass[i] * R.inv().apply(s.velocity[-1, i]), s.momentum[-1, i] - body.rotor])
        np.testing.assert_allclose(found, after, rtol=0, atol=1e-5)
        assert np.abs(after - before).max() > 1e-2
    s.save(tmp_path / "dragged.nc")
    assert ph.load(tmp_path / "dragged.nc", forces=ph.systems.UniformGravity((0, 0, 0))).heat == bath
    if not kind:
        frictions = [
            np.diag([2.0 * m] * 3 + [3.0 * x for x in b.moments]) for b, m in zip(one.bodies, one.mass, strict=True)
        ]
        alike = run(None, one, heat=ph.Langevin(0.0, resistance=frictions))
        np.testing.assert_allclose(alike.momentum, run(None, one, heat=ph.Langevin(0.0, 2.0, 3.0)).momentum, atol=1e-13)


def test_resistances_that_are_none_are_refused() -> None:
    one = np.eye(6)
    for wrong, says in (
        (one[:3], r"of the shape \(3, 6\)"),
        (one + np.eye(6, k=1), "must be symmetric, but differs from its transpose by 1"),
        (one + 1.5 * (np.eye(6, k=3) + np.eye(6, k=-3)), "eigenvalue of -0.5"),
    ):
        with pytest.raises(ValueError, match=says):
            ph.Langevin(1.0, resistance=wrong)
    with pytest.raises(ValueError, match="frictions or a resistance"):
        ph.Langevin(1.0, 2.0, resistance=one)
    with pytest.raises(ValueError, match="needs a friction, or a resistance"):
        ph.Langevin(1.0)
    with pytest.raises(ValueError, match="2 matrices: give one, or one for each of 3 bodies"):
        run(None, heat=ph.Langevin(1.0, resistance=np.array([one, one])))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("ended", ["by a shorter last step", "by an event"])
def test_a_heated_run_that_goes_on_has_new_random_numbers(ended: str, tmp_path: Path) -> None:
    """Where the friction is so strong that every step forgets, velocities are the random numbers of their steps."""
    bath = ph.Langevin(0.7, 1e4, seed=3)
    late = ph.systems.SystemEvent(lambda t, x, q, v, w: t - 0.13, terminal=True)
    first = run(None, heat=bath, t_span=(0, 0.13)) if "step" in ended else run(None, heat=bath, events=late)
    first.save(tmp_path / "warm.nc")
    loaded = ph.load(tmp_path / "warm.nc", forces=ph.systems.UniformGravity((0, 0, 0)))
    assert loaded.heat == bath
    whole = ph.resume_system(first, 0.43)
    assert whole.t == pytest.approx([0, 0.05, 0.1, 0.13, 0.18, 0.23, 0.28, 0.33, 0.38, 0.43], abs=1e-14)
    v = whole.velocity[1:].reshape(len(whole.t) - 1, -1)
    apart = np.abs(v[:, None] - v[None]).max(axis=2) + np.eye(len(v))
    assert apart.min() > 1e-3


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", [None, "ABA104"])
def test_a_tolerance_below_the_last_digit_is_named_and_ends_soon(method: str | None) -> None:
    """No search goes on after steps that double precision cannot tell apart."""
    with pytest.warns(ph.ToleranceNotReached, match="rtol=1e-20 is taken as 1e-17: floats have 16 digits") as said:
        made = run(interaction(), step=None, rtol=1e-20, method=method)
    assert len(said) == 1
    assert made.error_estimate < 1e-11
    assert made.stats.steps < 100_000


# --- jumps


@ph.torque(breakpoints=[0.13, 0.31])
def burns(t: float, q: Any, w: Any, p: Any) -> Any:
    return (0.3 if t < 0.13 else -0.2 if t < 0.31 else 0.5, 0.1 * q[1], 0.0)


JUMPS = (0.0, 0.13, 0.31, 0.4)
TURNING: dict[str, Any] = {"omega": [0.3, 0.2, 0.4], "t_span": (0.0, 0.4)}


def pair_of(body: ph.Body) -> ph.System:
    return ph.System(body, mass=1.0, position=[[0, 0, 0], [5.0, 0, 0]], omega=TURNING["omega"])


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("output", [{}, {"every": 3}, {"t_eval": [0.1, 0.13, 0.2, 0.4]}], ids=str)
def test_steps_end_where_a_torque_jumps(output: dict[str, Any]) -> None:
    """As those of a single body do, to the bit; and back to the start, within the error of the steps."""
    body = ph.Body([1.0, 1.7, 2.2])
    s = ph.simulate_system(pair_of(body), burns, t_span=(0.0, 0.4), step=0.05, **output)
    alone = ph.simulate(body, burns, step=0.05, method="Strang", **TURNING, **output)
    np.testing.assert_array_equal(s.t, alone.t)
    np.testing.assert_array_equal(s.omega[:, 1], alone.omega)
    assert s.stats.steps == alone.stats.steps
    end = pair_of(body).replace(position=s.position[-1], attitude=s.quaternion[-1], omega=s.omega[-1])
    back = ph.simulate_system(end, burns, t_span=(0.4, 0.0), step=0.05)
    np.testing.assert_allclose(back.omega[-1, 0], TURNING["omega"], atol=1e-8)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("method", [None, "KL8(of=Strang)"])
def test_a_tolerance_over_jumps(method: str | None) -> None:
    body = ph.Body([1.0, 1.7, 2.2])
    y = np.array([1.0, 0.0, 0.0, 0.0, *TURNING["omega"]])
    for a, b in pairwise(JUMPS):

        def slope(t: float, y: Any, a: float = a, b: float = b) -> Any:
            n = burns.torque_kernel(0.5 * (a + b), tuple(y[:4]), tuple(y[4:]), ())
            dq = 0.5 * np.array(ph.quaternion_product(tuple(y[:4]), (0.0, *y[4:])))
            return np.concatenate([dq, (n - np.cross(y[4:], body.moments * y[4:])) / body.moments])

        y = solve_ivp(slope, (a, b), y, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    s: Any = ph.simulate_system(pair_of(body), burns, t_span=(0.0, 0.4), rtol=1e-10, method=method)
    np.testing.assert_allclose(s.omega[-1, 0], y[4:], atol=1e-12)
    assert s.error_estimate < 1e-10
    assert s.t.size == 101


@pytest.mark.usefixtures("plain")
def test_a_run_over_jumps_goes_on_stops_and_is_kept() -> None:
    system = pair_of(ph.Body([1.0, 1.7, 2.2]))
    whole = ph.simulate_system(system, burns, t_span=(0.0, 0.4), step=0.05)
    half = ph.simulate_system(system, burns, t_span=(0.0, 0.13), step=0.05)
    np.testing.assert_array_equal(ph.resume_system(half, 0.4).omega, whole.omega)

    def later(t: float, x: Any, q: Any, v: Any, w: Any) -> float:
        return t - 0.22

    seen = ph.simulate_system(system, burns, t_span=(0.0, 0.4), step=0.05, events=later)
    np.testing.assert_allclose(seen.events[0].t, [0.22], rtol=1e-15)
    np.testing.assert_array_equal(seen.omega, whole.omega)
    ended = ph.systems.SystemEvent(later, terminal=True)
    s = ph.simulate_system(system, burns, t_span=(0.0, 0.4), rtol=1e-9, events=ended)
    assert s.t_last == pytest.approx(0.22, rel=1e-15)

    def impatient(done: int, steps: int) -> None:
        assert steps == 9
        if done > 6:
            raise KeyboardInterrupt

    with pytest.raises(ph.SimulationInterrupted) as stopped:
        ph.simulate_system(system, burns, t_span=(0.0, 0.4), step=0.05, progress=impatient)
    found: Any = stopped.value.solution
    np.testing.assert_array_equal(found.omega, whole.omega[: found.t.size])
    assert found.t[-1] > 0.13
    assert found.t_span == s.t_span == (0.0, 0.4)
    bath = ph.Langevin(kT=0.0, friction=0.0)
    cold = ph.simulate_system(system, burns, t_span=(0.0, 0.4), step=0.05, heat=bath)
    np.testing.assert_allclose(cold.omega, whole.omega, atol=1e-14)
    warm = ph.Langevin(kT=1.0, friction=0.5, seed=1)
    first = ph.simulate_system(system, burns, t_span=(0.0, 0.13), step=0.05, heat=warm)
    gone_on = ph.resume_system(first, 0.4)
    np.testing.assert_allclose(
        gone_on.omega, ph.simulate_system(system, burns, t_span=(0.0, 0.4), step=0.05, heat=warm).omega, atol=1e-13
    )
    np.testing.assert_array_equal(ph.resume_system(found, 0.4).omega[-1], whole.omega[-1])
