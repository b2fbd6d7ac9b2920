"""How cutoffs end potentials: shifted forces, charges, bodies that are cut as a whole, and water."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.systems import CutoffJump, Site
from tests.systems._problems import SITES, charged, last_state, three_bodies

COULOMB = 138.935458
"""The energy of two charges of one electron at a distance of 1 nm, in kJ/mol."""
BOLTZMANN = 0.00831446
"""kJ/mol/K."""


def charges(r: float, a: Any, b: Any) -> Any:
    return a[0] * b[0] / r


def lennard_jones(r: float, a: Any, b: Any) -> Any:
    x = (a[1] / r) ** 6
    return a[0] * (x * x - x)


def dipoles(d: Any, u: Any, w: Any, a: Any, b: Any) -> Any:
    r = math.sqrt(ph.dot(d, d))
    return ph.dot(u, w) / r**3 - 3.0 * ph.dot(u, d) * ph.dot(w, d) / r**5


def two(distance: float, *, speed: float = 0.0, shift: Any = (0.0, 0.0, 0.0)) -> ph.System:
    x = np.array([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]]) + np.array([[0.0, 0.0, 0.0], shift])
    return ph.System(ph.Body([1.0, 1.2, 1.5]), mass=1.0, position=x, velocity=[[speed, 0, 0], [-speed, 0, 0]])


def energy(system: ph.System, forces: Any) -> float:
    return ph.simulate_system(system, forces, t_span=(0, 1e-9), step=1e-9).potential_at_start


# --- which cut


def test_charges_have_a_shifted_force_and_others_are_switched_off() -> None:
    free, cut = ph.pairs(charges, SITES), ph.pairs(charges, SITES, cutoff=3.0)
    assert (free.cut, cut.cut) == (None, "shifted force")
    assert cut.damping == pytest.approx(0.8)
    soft = ph.pairs(charged, SITES, cutoff=3.0)  # charges with a core: shifted, but damping would change the core
    assert (soft.cut, soft.damping) == ("shifted force", 0.0)
    assert ph.pairs(lennard_jones, [Site((0, 0, 0), 1.0, 1.0)], cutoff=3.0).cut == "sites"
    assert ph.pairs(lambda r, a, b: math.exp(-r) / r, SITES, cutoff=3.0).cut == "sites"
    assert ph.pairs(dipoles, [Site(axis=(0, 0, 1))], cutoff=3.0).cut == "sites"
    nothing = [Site((0, 0, 0), 0.0)]
    assert ph.pairs(charges, nothing, cutoff=3.0).cut == "sites"


def test_cuts_that_make_no_sense_say_so() -> None:
    with pytest.raises(ValueError, match=r"cut must be 'shifted force', 'sites' or 'bodies', not 'molecule'"):
        ph.pairs(charges, SITES, cutoff=3.0, cut="molecule")
    with pytest.raises(ValueError, match="give cutoff, too"):
        ph.pairs(charges, SITES, cut="bodies")
    with pytest.raises(ValueError, match="sites with axes need another cut"):
        ph.pairs(dipoles, [Site(axis=(0, 0, 1))], cutoff=3.0, cut="shifted force")
    with pytest.raises(ValueError, match=r"damping is for charges.*pairs\(charged\) with cut='shifted force'"):
        ph.pairs(charged, SITES, cutoff=3.0, damping=0.5)
    with pytest.raises(ValueError, match="damping must not be negative, not -1"):
        ph.pairs(charges, SITES, cutoff=3.0, damping=-1.0)
    with pytest.raises(ValueError, match="less than twice the cutoff 3"):
        ph.pairs(charges, SITES, cutoff=3.0, box=5.0, cut="bodies")


# --- energies against formulas


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("damping", [None, 0.0, 0.5])
def test_damped_charges_have_the_energy_of_fennell_and_gezelter(damping: float | None) -> None:
    """Their equation 18, and for each body the energy of its own sites by it, less that of whole charges."""
    system, cutoff, box = three_bodies(), 2.4, np.array([5.0, 5.5, 6.0])
    forces = ph.pairs(charges, SITES, cutoff=cutoff, box=box, damping=damping)
    k = 2.4 / cutoff if damping is None else damping

    def slope(r: Any) -> Any:
        return -special.erfc(k * r) / r**2 - 2.0 * k / math.sqrt(math.pi) * np.exp(-((k * r) ** 2)) / r

    def pair(r: float) -> float:
        at = special.erfc(k * cutoff) / cutoff
        return float(special.erfc(k * r) / r - at - slope(cutoff) * (r - cutoff)) if r < cutoff else 0.0

    turns = Rotation.from_quat(system.quaternion, scalar_first=True)
    sites = [(i, s, system.position[i] + turns[i].apply(s.position)) for i in range(3) for s in SITES]
    total, tiny = 0.0, 1e-7
    for n, (i, s, x) in enumerate(sites):
        total += 0.5 * s.numbers[0] ** 2 * (pair(tiny) - 1.0 / tiny)
        for j, other, y in sites[:n]:
            d = y - x
            r = float(np.linalg.norm(d - box * np.round(d / box)))
            total += s.numbers[0] * other.numbers[0] * (pair(r) - (1.0 / r if i == j else 0.0))
    assert energy(system, forces) == pytest.approx(total, abs=1e-7)


@pytest.mark.usefixtures("plain")
def test_a_shifted_force_reaches_the_cutoff_without_a_step() -> None:
    forces = ph.pairs(lennard_jones, [Site((0, 0, 0), 4.0, 1.0)], cutoff=2.5, cut="shifted force")
    a, e = np.array([4.0, 1.0]), 1e-4
    slope = (lennard_jones(2.5 + e, a, a) - lennard_jones(2.5 - e, a, a)) / (2 * e)
    for r in (1.1, 2.0, 2.4):
        expected = lennard_jones(r, a, a) - lennard_jones(2.5, a, a) - (r - 2.5) * slope
        assert energy(two(r), forces) == pytest.approx(expected, abs=1e-9)
    near = energy(two(2.5 - 1e-3), forces)
    assert 0 < abs(near) < 1e-6  # it leaves the cutoff with the square of the distance from it
    assert energy(two(2.5 + 1e-3), forces) == 0.0


@pytest.mark.usefixtures("plain")
def test_bodies_are_cut_as_a_whole_with_the_image_of_their_centre() -> None:
    """The energy is that of all sites of the nearest image, times the switch at the distance of the centres."""
    sites, side = [Site((0.6, 0.1, 0.0), 1.0), Site((-0.6, 0.0, 0.2), -1.0)], 7.0
    forces = ph.pairs(charges, sites, cutoff=3.0, box=side, cut="bodies")
    for distance, factor in ((2.5, 1.0), (2.85, 0.5), (3.05, 0.0)):
        expected = factor * sum(
            s.numbers[0] * z.numbers[0] / np.linalg.norm(np.array(z.position) - s.position + [distance, 0, 0])
            for s in sites
            for z in sites
        )
        with pytest.warns(CutoffJump):
            assert energy(two(distance), forces) == pytest.approx(expected, abs=1e-13)
        for shift in ((-side, 0, 0), (2 * side, -side, 3 * side)):
            with pytest.warns(CutoffJump):
                assert energy(two(distance, shift=shift), forces) == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("plain")
@pytest.mark.filterwarnings("ignore::polhode.systems.forces.CutoffJump")
@pytest.mark.parametrize("cut", ["shifted force", "sites", "bodies"])
def test_energy_is_conserved_through_the_cutoff(cut: str) -> None:
    """Bodies cross the cutoff in a box twice; half the step leaves a quarter of the error."""
    forces = ph.pairs(charged, SITES, cutoff=2.4, box=5.0, cut=cut)
    system = two(2.8, speed=0.8).replace(omega=[[0.5, 0.2, 1.0], [-0.3, 0.6, 0.1]])
    errors = []
    for h in (0.02, 0.01):
        s = ph.simulate_system(system, forces, t_span=(0, 2.0), step=h)
        assert np.ptp(s.potential_energy) > 0.05  # the bodies have met
        errors.append(np.abs(s.energy - s.energy[0]).max())
        assert s.invariant_errors["momentum"].max() < 1e-14
    assert errors[1] < 0.4 * errors[0]
    assert errors[1] < 5e-3


@pytest.mark.usefixtures("plain")
def test_where_no_cutoff_is_reached_bodies_move_as_without_one() -> None:
    system = three_bodies()
    free = ph.simulate_system(system, ph.pairs(charged, SITES), t_span=(0, 0.2), step=0.05)
    whole = ph.pairs(charged, SITES, cutoff=50.0, cut="bodies")
    cut = ph.simulate_system(system, whole, t_span=(0, 0.2), step=0.05)
    assert np.abs(last_state(cut) - last_state(free)).max() < 1e-14


# --- warnings


@pytest.mark.usefixtures("plain")
def test_a_jump_is_told_with_the_temperature_that_it_is_compared_with() -> None:
    def go(forces: Any, system: ph.System, **kind: Any) -> None:
        ph.simulate_system(system, forces, t_span=(0, 0.01), step=0.01, **kind)

    forces = ph.pairs(charges, SITES, cutoff=4.0, cut="sites")  # 0.8 * 0.8 / 4
    moving = two(2.0, speed=1.0)  # a kinetic energy of 1: kT is 1 / 6
    with pytest.warns(CutoffJump, match=r"two sites is up to 0\.16: .* kT = 0\.167, that of the motion at the start"):
        go(forces, moving)
    with pytest.warns(CutoffJump, match=r"kT = 0\.5, that of the heat bath.*take cut='shifted force'"):
        go(forces, moving, heat=ph.Langevin(0.5, 1.0))
    with pytest.warns(CutoffJump, match=r"kT = 4\.14e-21, that of 300 K in J, as the bodies are at rest"):
        go(forces, two(2.0))
    go(forces, moving, heat=ph.Langevin(16.1, 1.0))  # the energy at the cutoff is less than a hundredth of kT
    go(ph.pairs(charges, SITES, cutoff=4.0), moving)
    go(ph.pairs(lambda r, a, b: 1.0 / r**12, [Site()], cutoff=4.0), moving)
    turned = ph.pairs(dipoles, [Site(axis=(0.0, 0.0, 1.0))], cutoff=2.5)
    with pytest.warns(CutoffJump, match=r"two sites is up to 0\.1.*a wall: take a longer cutoff"):
        go(turned, moving)


# --- water


def spce_water(n: int, cutoff: float) -> tuple[ph.System, Any, float, Any]:
    """Returns n molecules of SPC/E on a lattice, their forces, the side of their box and the place of the oxygen.

    Lengths are in nm, times in ps, masses in u, energies in kJ/mol. [berendsen1987]
    """
    mass, half = np.array([15.9994, 1.008, 1.008]), math.radians(109.47) / 2
    x = 0.1 * np.array([[0, 0, 0], [math.sin(half), math.cos(half), 0], [-math.sin(half), math.cos(half), 0]])
    x -= mass @ x / mass.sum()
    moments = np.diag(sum(m * (y @ y * np.eye(3) - np.outer(y, y)) for m, y in zip(mass, x, strict=True)))
    side, k = (n * mass.sum() / (0.998 * 602.214)) ** (1 / 3), round(n ** (1 / 3))
    grid = side / k * np.stack(np.meshgrid(*3 * [np.arange(k)], indexing="ij"), axis=-1).reshape(-1, 3)
    charge = math.sqrt(COULOMB) * np.array([-0.8476, 0.4238, 0.4238])
    oxygen = ph.pairs(lennard_jones, [Site(x[0], 4 * 0.650, 0.3166)], cutoff=cutoff, box=side)
    electric = ph.pairs(charges, [Site(y, q) for y, q in zip(x, charge, strict=True)], cutoff=cutoff, box=side)
    attitude = Rotation.random(n, rng=np.random.default_rng(1))
    system = ph.System(ph.Body(moments), mass=mass.sum(), position=grid, attitude=attitude)
    return system, oxygen + electric, side, x[0]


@pytest.mark.evidence
def test_water_has_the_energy_and_the_structure_that_are_published() -> None:
    """216 molecules of SPC/E at 298 K, with nothing chosen but a cutoff of 0.9 nm.

    Published with Ewald sums: -46.4 kJ/mol a molecule [wang2009], which is -41.2 after the correction for polarisation
    of +5.22 kJ/mol that belongs to the model [berendsen1987]; a first peak of g_OO at 0.275 nm of a height of 3.
    """
    n, kT = 216, BOLTZMANN * 298.15
    system, forces, _, oxygen = spce_water(n, 0.9)
    first = ph.simulate_system(system, forces, t_span=(0, 4), step=0.002, every=2000, heat=ph.Langevin(kT, 5.0, seed=1))
    warm = ph.resume_system(first, 10.0, heat=ph.Langevin(kT, 5.0, seed=2), every=20)
    assert warm.temperature.mean() == pytest.approx(kT, rel=0.03)  # velocities in the rows are a little too cold
    assert warm.potential_energy.mean() / n == pytest.approx(-46.4, rel=0.01)
    r, g = warm.radial_distribution(oxygen, bins=180)
    assert 0.27 <= r[g.argmax()] <= 0.28
    assert g.max() == pytest.approx(3.05, abs=0.2)
    assert g[r < 0.23].max() == 0.0
    assert g[r > 0.8].mean() == pytest.approx(1.0, abs=0.03)
    alone = ph.resume_system(warm, 13.0, heat=None, every=10)
    assert alone.t[0] == 10.0
    energies = alone.energy / n
    trend = np.polyfit(alone.t, energies, 1)
    assert abs(trend[0]) < 1e-3 * kT  # in a picosecond
    assert (energies - np.polyval(trend, alone.t)).std() < 2e-3 * kT
    half = len(alone.t) // 2
    assert alone.temperature[:half].mean() == pytest.approx(alone.temperature[half:].mean(), rel=0.04)
