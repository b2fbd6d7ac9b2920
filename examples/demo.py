"""What polhode does, in a minute: pictures and data in a folder, and a summary in plain words.

python demo.py [FOLDER]
"""

import sys
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import polhode as ph

plt.style.use("polhode.plots.polhode")


def main(folder: Path) -> None:
    """Makes everything, and says what it was."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    for k, part in enumerate((flip, top, tops, paper, page), start=1):
        clock = time.perf_counter()
        print(f"{k}. {(part.__doc__ or '').partition('.')[0]}", flush=True)
        for line in part(folder):
            print(f"   {line}")
        print(f"   ({time.perf_counter() - clock:.1f} s)\n", flush=True)
    print(f"Everything took {time.perf_counter() - began:.0f} s. What was compiled is kept: a second time is quicker.")
    print(f"What to look at is in {folder}. What to read: docs/start/ten_minutes.md.")


def flip(folder: Path) -> list[str]:
    """A body that nothing touches turns over. Its motion is known exactly, at any time."""
    motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0])
    t = np.linspace(0, 20, 1000)
    figure, panel = plt.subplots(figsize=(8, 4), layout="constrained")
    panel.plot(t, motion.at(t).omega, label=["x", "y", "z"])
    panel.set(xlabel="time (s)", ylabel="rate in body axes (rad/s)", title="Spun about the middle axis")
    panel.legend(title="body axis", loc="right")
    figure.savefig(folder / "flip.png", dpi=130)
    clock = time.perf_counter()
    later = motion.at(3.2e9)
    spent = time.perf_counter() - clock
    leans = np.degrees(np.arccos(later.attitude.as_matrix()[1, 1]))
    return [
        f"It turns over at t = {', '.join(f'{x:.2f}' for x in motion.flip_times(3))} s, and so on: flip.png.",
        f"After a hundred years its axis leans {leans:.1f} degrees: found in {1e3 * spent:.1f} ms, without steps.",
    ]


def top(folder: Path) -> list[str]:
    """A heavy top, to nine digits. Method and steps are chosen, and the error is stated."""
    s = ph.simulate(
        ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=[0.1, 0, 50], attitude=[0.96, 0.28, 0, 0],
        t_span=(0, 10), t_eval=np.linspace(0, 10, 1001), rtol=1e-9,
    )  # fmt: skip
    s.plot(folder / "heavy_top.png")
    s.save(folder / "heavy_top.nc", overwrite=True)
    lean = s.pointing_angle("z", "z", degrees=True)
    return [
        f"Its axis leans between {lean.min():.2f} and {lean.max():.2f} degrees while it goes round: heavy_top.png.",
        f"No attitude is off by more than {s.error_estimate:.0e} rad; asked for was 1e-9.",
        "Everything is in heavy_top.nc: polhode show heavy_top.nc",
    ]


def tops(folder: Path) -> list[str]:
    """A thousand tops, spun by a hand that is not quite steady. Every top has its own stated error."""
    many = ph.ensemble(
        ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=ph.samples.Normal([0.1, 0, 50], [0.1, 0.1, 2]),
        attitude=[0.96, 0.28, 0, 0], count=1000, seed=1, t_span=(0, 10), t_eval=np.linspace(0, 10, 201), rtol=1e-6,
    )  # fmt: skip
    lean = many.pointing_angle("z", "z", degrees=True)
    figure, panel = plt.subplots(figsize=(8, 4), layout="constrained")
    for low, high, shade in ((0.05, 0.95, 0.2), (0.25, 0.75, 0.4)):
        panel.fill_between(many.t, *np.quantile(lean, [low, high], axis=0), color="C0", alpha=shade, lw=0)
    panel.plot(many.t, np.median(lean, axis=0))
    panel.set(
        xlabel="time (s)", ylabel="lean of the axis (degrees)", title="A thousand tops: median, half, nine of ten"
    )
    figure.savefig(folder / "thousand_tops.png", dpi=130)
    return [
        f"After 10 s nine of ten lean between {np.quantile(lean[:, -1], 0.05):.1f} and "
        f"{np.quantile(lean[:, -1], 0.95):.1f} degrees: thousand_tops.png.",
        f"The largest stated error among them is {many.error_estimate.max():.0e}; asked for was 1e-6.",
    ]


def paper(folder: Path) -> list[str]:
    """A figure of a paper, rerun and judged. khlistunova2003, figure 3: how the rate of a satellite wanders."""
    from polhode.cli import app

    out = folder / "papers"
    app(["reproduce", "khlistunova2003/fig3", "--out", str(out)], standalone_mode=False)
    return [f"The verdict on each claim is in {out.name}/report.html; all claims: polhode reproduce"]


def page(folder: Path) -> list[str]:
    """A page to turn the body with your hands. It opens in any browser, without a network."""
    body, start = ph.Body([1, 2, 2.8]), [0.005, 5, 0]
    exact = ph.FreeMotion(body, omega=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.LongSteps)  # they are what this page is about
        by_steps = ph.simulate(body, omega=start, t_span=(0, 60), step=0.2, method="RK4")
    try:
        ph.view(
            exact,
            by_steps,
            path=folder / "flip.html",
            t_span=(0, 60),
            names=["exact", "RK4"],
            title="Exact, and by RK4",
        )
        ph.view(ph.load(folder / "heavy_top.nc"), path=folder / "heavy_top.html", title="A heavy top")
    except RuntimeError as problem:
        return [f"It cannot be written here: {problem}"]
    return [
        "Open flip.html: the same body exactly, and by RK4 with long steps, which goes astray. And heavy_top.html.",
        "Drag to look from elsewhere, press space to stop.",
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
