"""How round-off grows in long runs of the free body, on the test of vilmart2008: `python -m benchmarks.round_off`.

The water molecule, I = (0.345, 0.653, 1), from momenta of norm 1 near (0.5, 0.2, sqrt(0.71)), with a step of 0.01. The
energy H, |m|^2 / 2 and the components of the angular momentum in space should not change. How much they do after N
steps is measured in extended precision from the last state, in units of eps sqrt(N): a random walk of roundings has a
standard deviation that stays the same in these units, and a mean that is zero; a bias shows as a mean that grows.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polhode.papers.vilmart2008 import _common
from polhode.papers.vilmart2008._common import H, Walk, walk

__all__ = ["Walk", "measure", "starts", "walk"]

METHODS = (
    "Exact", "ExactPolished", "PDMV10", "PDMV10(compensated=true)", "Jacobi41", "Jacobi31x", "Jacobi31", "JE", "JE0",
)  # fmt: skip
DOCS = Path(__file__).parents[1] / "docs"


def starts(count: int) -> NDArray[np.float64]:
    """Returns momenta of norm 1 near the paper's; the first is the paper's own."""
    return _common.starts(count)


def measure(method: str, momenta: NDArray[np.float64], steps: int, rows: int = 1) -> NDArray[np.float64]:
    """Returns the errors of many runs in units of eps: start, row, quantity."""
    return _common.errors(method, momenta, steps, rows, attitude=(0.5, -0.5, 0.5, 0.5))


def markdown(walks: dict[str, Walk]) -> str:
    """Returns deviation and mean of every quantity, a row for each method."""
    lines = [
        "| method | H: deviation | mean | s.e. | C: deviation | mean | s.e. | R m: deviation | mean, worst | s.e. |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, w in walks.items():
        cells = []
        for k in (0, 1):
            cells += [f"{w.deviation[k]:.2g}", f"{w.mean[k]:+.2g}", f"{w.scores[k]:+.1f}"]
        worst = 2 + int(np.abs(w.scores[2:]).argmax())
        low, high = w.deviation[2:].min(), w.deviation[2:].max()
        cells += [f"{low:.2g} to {high:.2g}", f"{w.mean[worst]:+.2g}", f"{w.scores[worst]:+.1f}"]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(found: dict[str, NDArray[np.float64]], steps: int, path: Path) -> None:
    """Draws the energy error of every run, with mean and deviation, as in figure 1 of the paper."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, -(-len(found) // 2), sharex=True, squeeze=False).ravel()
    for ax in axes[len(found) :]:
        ax.set_visible(False)
    for ax, (name, x) in zip(axes, found.items(), strict=False):
        t = np.linspace(0.0, steps * H, x.shape[1])
        energy = x[:, :, 0]
        ax.plot(t, energy.T, color="0.75", linewidth=0.4)
        ax.plot(t, energy.mean(axis=0), color="C3", linewidth=2, label="mean")
        for sign in (-1, 1):
            ax.plot(t, sign * energy.std(axis=0), color="C0", linewidth=2, label="deviation" if sign > 0 else None)
        ax.set_title(name)
        ax.set_xlabel("t")
        ax.set_ylabel("H(t) - H(0), eps")
    axes[0].legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints and draws."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="METHOD")
    parser.add_argument("--write", action="store_true", help="write figure and table into docs/")
    asked = parser.parse_args(arguments)
    momenta, rows = starts(asked.starts), 100
    found: dict[str, NDArray[np.float64]] = {}
    walks: dict[str, Walk] = {}
    for name in asked.methods:
        clock = time.perf_counter()
        found[name] = measure(name, momenta, asked.steps, rows)
        walks[name] = walk(found[name][:, -1], asked.steps)
        spent = (time.perf_counter() - clock) / (asked.starts * asked.steps)
        print(f"{markdown({name: walks[name]}).splitlines()[-1]}  {spent * 1e9:.0f} ns a step", flush=True)
    if asked.write:
        draw(found, asked.steps, DOCS / "figures" / "round_off.png")
        page = DOCS / "decisions" / "notes" / "round_off.md"
        page.write_text(replaced(page.read_text(), markdown(walks)))


def replaced(page: str, table: str) -> str:
    """Returns the page with another table."""
    head, rest = page.split("<!-- table -->")
    return f"{head}<!-- table -->\n\n{table}\n\n<!-- end table -->{rest.split('<!-- end table -->')[1]}"


if __name__ == "__main__":
    main()
