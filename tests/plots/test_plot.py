"""Pictures of solutions: the true motion, chosen quantities, events, axes of the user's."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import polhode as ph

BODY = ph.Body([1.0, 2.0, 3.0])
OMEGA = [0.01, 1.0, 0.01]
FLIP = ph.FreeMotion(BODY, OMEGA)


@pytest.fixture(scope="module")
def coarse() -> ph.Solution:
    """A flip in 21 rows, between which lines would be visibly wrong."""
    return ph.simulate(BODY, omega=OMEGA, t_span=(0, 40), rtol=1e-9, t_eval=np.linspace(0, 40, 21))


def flip(t, q, w):  # type: ignore[no-untyped-def]
    return w[1]


@pytest.fixture(scope="module")
def watched() -> ph.Solution:
    return ph.simulate(BODY, omega=OMEGA, t_span=(0, 40), method="rk4", step=0.2, events=[flip])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    plt.switch_backend("agg")
    plt.close("all")  # what tests of other files have left
    yield
    plt.close("all")


def test_pictures_are_known_to_pyplot(watched: ph.Solution, tmp_path: Path) -> None:
    figure = watched.plot("omega")
    assert plt.gcf() is figure
    watched.plot(tmp_path / "a.png", "omega")  # a file was wanted, not a window
    with pytest.raises(ValueError, match="no quantity"):
        watched.plot("omaga")
    of_thread = threading.Thread(target=watched.plot, args=("omega",))
    of_thread.start()
    of_thread.join()
    assert plt.get_fignums() == [figure.number]


def test_loops_leave_few_pictures_and_all_of_the_users(watched: ph.Solution) -> None:
    with plt.rc_context({"figure.max_open_warning": 4}):
        own = plt.figure()
        made = [watched.plot("omega") for _ in range(6)]  # a warning would be an error
        assert [plt.figure(n) for n in plt.get_fignums()] == [own, *made[-3:]]
    assert made[0]._repr_png_()[1:4] == b"PNG"  # type: ignore[attr-defined]


def test_curves_are_the_true_motion(coarse: ph.Solution) -> None:
    rates = coarse.plot().axes[0]
    for k, line in enumerate(rates.get_lines()[:3]):
        t, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert t.size > 200
        between = np.linspace(0, 40, 3001)
        true = FLIP.at(between).omega[:, k]
        assert np.abs(np.interp(between, t, y) - true).max() < 2e-3  # a width of a line
        assert np.abs(np.interp(between, coarse.t, coarse.omega[:, k]) - true).max() > 0.05
    for k, dots in enumerate(rates.get_lines()[3:6]):  # the rows that there are
        assert np.asarray(dots.get_xdata()).tolist() == coarse.t.tolist()
        assert np.asarray(dots.get_ydata()) == pytest.approx(coarse.omega[:, k], abs=1e-14)
    assert [text.get_text() for text in rates.get_legend().get_texts()] == ["x", "y", "z"]  # type: ignore[union-attr]


def test_backward_runs_have_their_rows() -> None:
    s = ph.simulate(BODY, omega=OMEGA, t_span=(40, 0), method="rk4", step=-0.05, t_eval=np.linspace(40, 0, 21))
    lines = s.plot("omega").axes[0].get_lines()
    assert np.asarray(lines[3].get_ydata()) == pytest.approx(s.omega[:, 0], abs=1e-14)


def test_quantities_are_chosen(watched: ph.Solution) -> None:
    figure = watched.plot(
        "omega", "euler", "energy_error", "spatial_momentum", "kinetic_energy", "pointing_angle_deg(z, x)"
    )
    labels = [panel.get_ylabel() for panel in figure.axes]
    assert labels == ["angular rate (rad/s)", "Euler angle (rad)", "relative error", "angular momentum (kg m²/s)",
                      "kinetic energy (J)", "angle (°)"]  # fmt: skip
    assert np.asarray(figure.axes[4].get_lines()[0].get_ydata()) == pytest.approx(watched.kinetic_energy)
    in_degrees = watched.plot("omega", "euler", degrees=True).axes
    assert [panel.get_ylabel() for panel in in_degrees] == ["angular rate (°/s)", "Euler angle (°)"]
    assert np.asarray(in_degrees[0].get_lines()[1].get_ydata()) == pytest.approx(np.degrees(watched.omega[:, 1]))


def test_events_are_marked(watched: ph.Solution) -> None:
    for panel in watched.plot().axes:
        marks = [np.asarray(line.get_xdata())[0] for line in panel.get_lines() if line.get_linestyle() == "--"]
        assert marks == watched.events[0].t.tolist()
        assert "flip" in [text.get_text() for text in panel.get_legend().get_texts()]  # type: ignore[union-attr]


def test_a_picture_has_the_title_of_its_scenario(watched: ph.Solution) -> None:
    titled = watched.having(metadata={"title": "Flips"})
    assert titled.plot()._suptitle.get_text() == "Flips"  # type: ignore[attr-defined]
    figure = watched.plot()
    assert figure._suptitle.get_text() == "Body with moments 1, 2, 3 kg m², no torque"  # type: ignore[attr-defined]
    assert [text.get_text() for text in figure.texts][1:] == ["RK4, step 0.2 s"]


def test_moments_keep_the_order_of_the_axes() -> None:
    tensor = [[3.0, 1e-3, 0.0], [1e-3, 1.0, 0.0], [0.0, 0.0, 2.5]]
    s = ph.simulate(ph.Body(tensor), omega=[0, 0, 1], t_span=(0, 1), method="RK4", step=0.1)
    assert s.plot()._suptitle.get_text().startswith("Body with moments 3, 1, 2.5 kg m²")  # type: ignore[attr-defined]


def test_angles_that_begin_anew_leave_gaps(watched: ph.Solution) -> None:
    jumps = np.abs(np.diff(watched.euler("ZYX"), axis=0)) > np.pi
    assert jumps.any()
    for line in watched.plot("euler").axes[0].get_lines()[:3]:
        steps = np.abs(np.diff(np.asarray(line.get_ydata(), dtype=float)))
        assert np.nanmax(steps) < np.pi


def test_an_axis_that_moves_is_drawn() -> None:
    s = ph.simulate(ph.Body([1.0, 2.0, 3.0]), omega=[0, 0, 1], t_span=(0, 6), method="RK4", step=0.1)
    assert s.plot("attitude").axes[0].get_ylabel() == "direction of body axis x"


def test_of_a_sampled_law_the_torque_is_drawn() -> None:
    law = ph.Sampled(0.5, lambda t, q, w, p: (-w[0], -w[1], -w[2]))
    s = ph.simulate(BODY, law, omega=OMEGA, t_span=(0, 2), method="RK4", step=0.05)
    last = s.plot().axes[-1]
    assert last.get_ylabel() == "torque (N m)"
    assert [text.get_text() for text in last.get_legend().get_texts()] == ["x", "y", "z"]  # type: ignore[union-attr]


def test_axes_of_the_users_take_several_motions(watched: ph.Solution, coarse: ph.Solution) -> None:
    ax = Figure().subplots()
    assert watched.plot("energy_error", ax=ax) is ax.figure
    coarse.plot("energy_error", ax=ax)
    names = [line.get_label() for line in ax.get_lines() if line.get_label() != "machine epsilon"]
    assert names == ["RK4 energy", "Exact energy"]
    other = Figure().subplots()
    for s in (coarse, watched):  # the second has the larger errors, and widens the axis
        s.plot("energy_error", ax=other)
    assert (
        other.get_ylim()[1] > watched.invariant_errors["energy"].max() > 1e3 * coarse.invariant_errors["energy"].max()
    )
    colours = {line.get_color() for line in ax.get_lines() if line.get_label() in names}
    assert len(colours) == 2
    with pytest.raises(ValueError, match="axes take one quantity"):
        watched.plot(ax=ax)


def test_a_path_may_come_first_or_by_name(watched: ph.Solution, tmp_path: Path) -> None:
    watched.plot(tmp_path / "a.png", "omega")
    watched.plot(str(tmp_path / "b.svg"))
    watched.plot("omega", path=tmp_path / "c.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.svg", "c.pdf"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("omaga", "there is no quantity 'omaga' to draw: known are omega, spatial_omega"),
        ("euler(ABC)", "sequence must be"),
        ("state", "Free carries no numbers"),
    ],
)
def test_what_does_not_exist_is_not_drawn(watched: ph.Solution, name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        watched.plot(name)


def test_invariants_that_do_not_exist(plain: Any) -> None:
    s = ph.simulate(BODY, ph.ConstantBodyTorque((0.1, 0.0, 0.0)), omega=OMEGA, t_span=(0, 2), method="rk4", step=0.2)
    assert [panel.get_ylabel() for panel in s.plot().axes][:2] == ["angular rate (rad/s)", "direction of body axis y"]
    with pytest.raises(ValueError, match="there is no energy_error to draw: under ConstantBodyTorque conserved are"):
        s.plot("energy_error")
    with pytest.raises(ValueError, match="has no potential"):
        s.plot("energy")
    assert s.plot("torque").axes[0].get_ylabel() == "torque (N m)"


def test_small_components_can_be_seen() -> None:
    body = ph.Body([1.0, 1.0, 1.5])
    s = ph.simulate(body, omega=[0.1, 0.0, 50.0], t_span=(0, 1), rtol=1e-9)
    (small,) = s.plot("omega").axes  # what is constant has no panel, and the legend has its value
    assert [line.get_label() for line in small.get_lines() if line.get_label() != "_rows"] == ["x", "y", "z: 50 rad/s"]
    assert max(np.abs(small.get_ylim())) < 0.2
    tilted = ph.simulate(ph.Body([1.0, 1.2, 1.5]), omega=[1.0, 0.0, 50.0], t_span=(0, 1), rtol=1e-9)
    large, small = tilted.plot("omega").axes
    assert [line.get_label() for line in large.get_lines() if line.get_label() != "_rows"] == ["z"]
    assert small.get_ylabel() == "angular rate (rad/s)\nsmall components"
    steady = ph.simulate(body, omega=[0.0, 0.0, 50.0], t_span=(0, 1), rtol=1e-9)
    assert len(steady.plot("omega").axes) == 1  # what is zero has no panel


@pytest.mark.parametrize(
    ("body", "omega", "words"),
    [
        ([1.0, 1.99, 2.0], [1e-9, 5.0, 0.0], "16 turns around the flip at"),
        ([2.0, 3.0, 4.5], [0.3, 0.4, 1.0], "the first 16 turns"),
        ([2.0, 3.0, 4.5], [0.0, 0.0, 1.0], "invariable plane"),
    ],
)
def test_a_herpolhode_can_be_read(body: list[float], omega: list[float], words: str) -> None:
    motion = ph.FreeMotion(ph.Body(body), omega=omega)
    plane = motion.plot().axes[1]
    assert plane.get_title().endswith(words) or words in plane.get_title()
    x, y = (np.asarray(data) for data in plane.get_lines()[0].get_data())
    moves = np.hypot(x, y) > 1e-9
    turned = np.abs(np.unwrap(np.arctan2(y[moves], x[moves])))
    assert np.ptp(turned) / (2 * np.pi) < 20 if moves.any() else words == "invariable plane"
    if "flip" in words:  # from the inner bound to the outer one and back
        r = np.hypot(x, y)
        assert r.max() > 0.99 * np.hypot(*plane.get_lines()[2].get_data()).max()
        assert r.min() < 0.5 * r.max()


def test_several_motions_in_one_picture(watched: ph.Solution, tmp_path: Path) -> None:
    figure = ph.plot(FLIP, watched, path=tmp_path / "a.png")
    x, *_, angle = figure.axes
    assert [line.get_label() for line in x.get_lines()] == ["exact", "RK4"]
    assert angle.get_ylabel() == "angle from\nexact (rad)"
    (line,) = angle.get_lines()
    k = int(np.argmin(np.abs(np.asarray(line.get_xdata()) - watched.t[-1])))
    turn = FLIP.at(watched.t[-1]).attitude.inv() * watched.attitude[-1]
    assert np.asarray(line.get_ydata())[k] == pytest.approx(turn.magnitude(), rel=1e-4)
    both = ph.plot(watched, watched, quantities="energy_error", names=["a", "b"]).axes
    assert len(both) == 1
    wrong: list[tuple[list[Any], dict[str, Any], str]] = [
        ([], {}, "1 to 7 motions"),
        ([watched], {"names": ["a", "b"]}, "names must be 1 texts"),
        ([watched], {"quantities": "difference"}, "needs two motions"),
    ]
    for motions, arguments, words in wrong:
        with pytest.raises(ValueError, match=words):
            ph.plot(*motions, **arguments)
    with pytest.raises(TypeError, match="a picture shows solutions"):
        ph.plot(3)


def test_moving_pictures(watched: ph.Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    for motion, name in ((watched, "a.gif"), (FLIP, "b.gif")):
        assert motion.animate(tmp_path / name, seconds=0.4, fps=10) == tmp_path / name
        with Image.open(tmp_path / name) as made:
            assert (made.n_frames, made.size) == (4, (640, 640))  # type: ignore[attr-defined]
    with pytest.raises(FileExistsError):
        FLIP.animate(tmp_path / "b.gif", seconds=0.4, fps=10)
    for arguments, words in (
        ({"path": "c.avi"}, r"saved as \.gif or \.mp4"),
        ({"path": "c.gif", "seconds": 0.0}, "2 to 3000 frames"),
        ({"path": "c.gif", "seconds": float("nan")}, "2 to 3000 frames"),
    ):
        with pytest.raises(ValueError, match=words):
            FLIP.animate(**arguments)
    monkeypatch.setattr("matplotlib.animation.FFMpegWriter.isAvailable", lambda: False)
    with pytest.raises(RuntimeError, match=r"ffmpeg, which is not found: install it, or save a \.gif"):
        FLIP.animate("c.mp4")


def test_a_film_has_few_colours_on_white_and_lasts_as_long_as_asked(tmp_path: Path) -> None:
    from PIL import Image, ImageSequence

    from polhode.plots.plot_moving import PAINTS

    still = ph.FreeMotion(BODY, [0.0, 0.0, 0.0])
    for motion, name in ((FLIP, "a.gif"), (still, "b.gif")):
        with Image.open(motion.animate(tmp_path / name, t_span=(0, 1e-6), seconds=0.5, fps=10)) as made:
            frames = [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(made)]
        assert sum(lasts for _, lasts in frames) == 500
        for frame, _ in frames:
            assert len(frame.getcolors() or ()) <= PAINTS
            assert frame.getpixel((3, 3)) == (255, 255, 255)


def test_a_fast_body_does_not_seem_to_jump(watched: ph.Solution) -> None:
    from polhode.page.content import FreeRun
    from polhode.plots.plot_moving import _times

    run = FreeRun(ph.FreeMotion(BODY, [0.0, 0.0, 100.0]), (0.0, 50.0))
    assert 100.0 * np.diff(_times(run, 30, is_span_given=False)).max() == pytest.approx(0.35)
    assert _times(run, 30, is_span_given=True)[-1] > 48.0  # what was asked for is shown


def test_long_times_are_shown_in_hours_and_days(plain: None) -> None:
    for hours, label in ((1, "time (s)"), (30, "time (h)"), (24 * 30, "time (days)")):
        t = np.linspace(0.0, 3600.0 * hours, 5)
        run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0, 0, 1e-4], t_span=(0, t[-1]), t_eval=t, rtol=1e-6)
        figure = run.plot("omega", "kinetic_energy")
        figure.canvas.draw()
        axis = figure.axes[-1].xaxis
        assert axis.label.get_text() == label
        assert max(np.max(line.get_xdata()) for line in figure.axes[0].lines) == t[-1]  # what is drawn stays in s
        texts = [text.get_text().replace("\N{MINUS SIGN}", "-") for text in axis.get_ticklabels()]
        unit = {"time (s)": 1.0, "time (h)": 3600.0, "time (days)": 86400.0}[label]
        assert np.allclose(np.array([float(text) for text in texts]) * unit, axis.get_ticklocs())
