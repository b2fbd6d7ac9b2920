"""Pictures of systems, their radial distribution and their temperature, by the numbers that they show."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from tests.systems._problems import interaction, three_bodies


@pytest.fixture(name="s")
def _solution(plain: Any) -> Any:
    return ph.simulate_system(
        three_bodies(), interaction(), t_span=(0, 0.4), step=0.05, events=[ph.systems.closest_approach(0, 1)]
    )


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


def test_a_plot_shows_energies_temperature_and_errors(s: Any, tmp_path: Path) -> None:
    figure = s.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    energies, temperature, errors = (lines(ax) for ax in figure.axes)
    assert (energies["total"] == s.energy).all()
    assert energies["flight"] + energies["rotation"] + energies["potential"] == pytest.approx(s.energy)
    assert temperature["temperature"] == pytest.approx(s.kinetic_energy / 9.0)
    assert (errors["energy"] == np.maximum(s.energy_error, errors["energy"].min())).all()
    assert {"momentum", "angular momentum"} < errors.keys()


def test_quantities_of_bodies_are_drawn_by_name(s: Any) -> None:
    figure = s.plot("position", "temperature")
    assert lines(figure.axes[0])["x"] == pytest.approx(np.median(s.position[:, :, 0], axis=1))
    with pytest.raises(ValueError, match=r"no quantity 'speed' of a system.*energies, temperature, errors.*velocity"):
        s.plot("speed")


def test_a_film_of_all_bodies(s: Any, tmp_path: Path) -> None:
    from PIL import Image

    assert s.animate(tmp_path / "a.gif", seconds=1, fps=4) == tmp_path / "a.gif"
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 4  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"saved as \.gif or \.mp4"):
        s.animate(tmp_path / "a.avi")


def test_a_page_shows_bodies_side_by_side(s: Any, tmp_path: Path) -> None:
    page = s.view(tmp_path / "a.html", bodies=[0, 2])
    runs = page.data["runs"]
    assert [run["name"] for run in runs] == ["body 0", "body 2"]
    q = np.frombuffer(base64.b64decode(runs[1]["q"]), "<f4").reshape(-1, 4)
    assert np.abs(q[-1] @ s.quaternion[-1, 2]) == pytest.approx(1.0, abs=1e-6)
    assert re.search(r"one of 3 bodies; pairs\(charged\)", " ".join(runs[0]["caption"]))
    with pytest.raises(IndexError, match="7 is no body; there are bodies 0 to 2"):
        s.view(tmp_path / "b.html", bodies=7)


@pytest.mark.usefixtures("plain")
def test_a_radial_distribution_counts_images_and_points() -> None:
    """A cubic lattice has neighbours at its constant and at its diagonals, and an ideal gas everywhere alike."""
    n, side = 4, 4.0
    grid = np.stack(np.meshgrid(*3 * [np.arange(n)], indexing="ij"), axis=-1).reshape(-1, 3).astype(float)
    lattice = ph.System(ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=grid + np.array([9.0, -5.0, 0.3]))
    s = ph.simulate_system(lattice, t_span=(0, 1), step=1.0)
    r, g = s.radial_distribution(box=side, bins=200)
    shells = 4.0 / 3.0 * np.pi * ((r + 0.005) ** 3 - (r - 0.005) ** 3)
    neighbours = g * shells * (n**3 - 1) / side**3
    for distance, count in ((1.0, 6), (2**0.5, 12), (3**0.5, 8)):
        assert neighbours[np.abs(r - distance) < 0.02].sum() == pytest.approx(count)
    _, apart = s.radial_distribution((0.25, 0.0, 0.0), (-0.25, 0.0, 0.0), box=side, bins=200)
    there = apart * shells * (n**3 - 1) / side**3
    assert there[np.abs(r - 0.5) < 0.02].sum() == pytest.approx(1.0)  # of the neighbour that the point looks at
    assert there[np.abs(r - 1.5) < 0.02].sum() == pytest.approx(10.0)  # 2 in line, 8 at (1/2, 1, 1)
    with pytest.raises(ValueError, match="needs a density, and so a box"):
        s.radial_distribution()
    with pytest.raises(ValueError, match="at most half the least side of the box, 2, not 3"):
        s.radial_distribution(box=side, r_max=3.0)
    with pytest.raises(ValueError, match="two or more of the numbers 0 to 63"):
        s.radial_distribution(box=side, bodies=[0])


@pytest.mark.usefixtures("plain")
def test_a_bath_can_be_taken_away_and_errors_begin_there() -> None:
    bath = ph.Langevin(0.7, 2.0, seed=3)
    warm = ph.simulate_system(three_bodies(), interaction(), t_span=(0, 0.2), step=0.05, heat=bath)
    alone = ph.resume_system(warm, 0.4, heat=None)
    assert alone.heat is None
    assert alone.t == pytest.approx([0.2, 0.25, 0.3, 0.35, 0.4])
    assert (alone.position[0] == warm.position[-1]).all()
    assert alone.energy_error.max() < 1e-2
    assert alone.energy_error[0] < 1e-15
    assert ph.resume_system(warm, 0.4).heat == bath
    again = ph.resume_system(alone, 0.6, heat=ph.Langevin(0.1, 2.0, seed=4))
    assert again.heat is not None
    assert again.t[0] == pytest.approx(0.4)
    assert ph.resume_system(alone, 0.6).t[0] == pytest.approx(0.2)
    with pytest.raises(TypeError, match=r"heat must be a polhode\.Langevin, or None, not 300"):
        ph.resume_system(warm, 0.4, heat=300)  # type: ignore[arg-type]
