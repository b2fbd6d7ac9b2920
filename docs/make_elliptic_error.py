"""Measure the error of `polhode.elliptic`, and of SciPy beside it: writes the tables and the picture of elliptic.md.

python -m docs.make_elliptic_error [points per function, 101,000 if not given]
"""

import math
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.special
from tests.kernels import elliptic_truth as truth

from polhode import elliptic

HERE = Path(__file__).parent
SEED = 1
REGIONS = {
    "m to -inf": "-1e300 < m < -10",
    "m < 0": "-100 < m < -0.01",
    "m to 0": "3e-16 < abs(m) < 0.1",
    "0 < m < 1": "0 < m < 1, uniform",
    "m near 1": "1e-18 < 1 - m < 0.01",
    "m to 1": "1e-307 < 1 - m < 0.5",
    "m to 1 from above": "1e-307 < m - 1 < 0.001",
    "m > 1": "0.001 < m - 1 < 1000",
    "m to inf": "1000 < m < 1e300",
    "edges": "edges",
}


SHARE = 2500
"""Points in one task."""


def part(task: tuple[str, int]) -> tuple[str, dict[str, truth.Floats]]:
    """Returns the errors of one function, for one seed."""
    name, seed = task
    return name, truth.measured(name, seed, SHARE // truth.REGIONS[name])


def collected(count: int) -> dict[str, dict[str, truth.Floats]]:
    """Returns the errors by function and region."""
    tasks = [(name, SEED + k) for name in truth.REGIONS for k in range(math.ceil(count / SHARE))]
    found: dict[str, dict[str, list[truth.Floats]]] = {name: {} for name in truth.REGIONS}
    with ProcessPoolExecutor(2) as pool:
        for name, by_region in pool.map(part, tasks):
            for region, off in by_region.items():
                found[name].setdefault(region, []).append(off)
    return {name: {r: np.concatenate(parts) for r, parts in regions.items()} for name, regions in found.items()}


def summary(found: dict[str, dict[str, truth.Floats]]) -> str:
    """Returns one row for each function."""
    lines = ["| function | points | median | 99.9 % | worst | where |", "|---|---|---|---|---|---|"]
    for name, regions in found.items():
        every = np.concatenate(list(regions.values()))
        where = max(regions, key=lambda r: regions[r].max())
        points = every.size // (3 if name == "jacobi" else 1)
        numbers = f"{np.median(every):.3f} | {np.quantile(every, 0.999):.1f} | {every.max():.1f}"
        lines.append(f"| `{name}` | {points:,} | {numbers} | {where} |")
    return "\n".join(lines)


def by_region(found: dict[str, dict[str, truth.Floats]]) -> str:
    """Returns the worst error of each function in each region."""
    lines = ["| m | " + " | ".join(f"`{n}`" for n in found) + " |", "|---|" + "---|" * len(found)]
    for region, label in REGIONS.items():
        worst = []
        for regions in found.values():
            here = [off.max() for r, off in regions.items() if r.partition(",")[0] == region]
            worst.append(f"{max(here):.1f}" if here else "")
        lines.append(f"| {label} | " + " | ".join(worst) + " |")
    return "\n".join(lines)


def beside_scipy(count: int) -> tuple[str, truth.Floats, truth.Floats, truth.Floats]:
    """Returns errors of the two libraries as 1 - m falls, at |u| < 4 K."""
    rng = np.random.default_rng(SEED)
    lines = ["| 1 - m | polhode, median | worst | SciPy, median | worst |", "|---|---|---|---|---|"]
    middles = 10.0 ** np.arange(-16, 0, 1)
    ours, theirs = np.empty((2, middles.size, 2))
    for i, middle in enumerate(middles):
        mc = middle * 10 ** rng.uniform(-0.5, 0.5, count)
        mc = 1 - (1 - mc)  # an m that SciPy can be given
        mc = np.where(mc == 0, 2.0**-53, mc)
        u = 4 * truth.period(mc) * rng.uniform(-1, 1, count)
        for row, found in ((ours, elliptic.jacobi(u, mc)), (theirs, scipy.special.ellipj(u, 1 - mc)[:3])):
            off = truth.errors("jacobi", np.array(found), [u, mc])
            row[i] = np.median(off), off.max()
        lines.append(
            f"| {middle:.0e} | {ours[i, 0]:.2f} | {ours[i, 1]:.1f} | {shown(theirs[i, 0])} | {shown(theirs[i, 1])} |"
        )
    return "\n".join(lines), middles, ours, theirs


def shown(x: float) -> str:
    """Returns two digits, or powers of ten."""
    return f"{x:.2g}" if x < 1000 else f"{x:.0e}"


def picture(
    found: dict[str, dict[str, truth.Floats]], middles: truth.Floats, ours: truth.Floats, theirs: truth.Floats
) -> None:
    """Draws, to the left, the fraction of points with a larger error; to the right, the two libraries near m = 1."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, regions in found.items():
        off = np.sort(np.concatenate(list(regions.values())))
        left.semilogy(off, 1 - np.arange(off.size) / off.size, label=name, drawstyle="steps-post")
    left.set(xlabel="error, units", ylabel="fraction of points with a larger error", xlim=(0, 8))
    left.legend()
    for label, row, color in (("polhode", ours, "C0"), ("scipy.special.ellipj", theirs, "C3")):
        right.loglog(middles, row[:, 1], "o-", color=color, label=f"{label}, worst")
        right.loglog(middles, row[:, 0], ".--", color=color, label=f"{label}, median")
    right.axhline(1, color="0.7", zorder=0)
    right.set(xlabel="1 - m", ylabel="error of sn, cn, dn, units")
    right.legend()
    (HERE / "figures").mkdir(exist_ok=True)
    figure.savefig(HERE / "figures" / "elliptic_error.png", dpi=130)


def insert(page: Path, **tables: str) -> None:
    """Puts each table between its marks."""
    text = page.read_text()
    for name, table in tables.items():
        mark = rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)"
        text, count = re.subn(mark, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.DOTALL)
        assert count == 1, name
    page.write_text(text)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 101_000
    found = collected(count)
    near_one, *rows = beside_scipy(min(count // 100, 1000))
    insert(HERE / "understand" / "elliptic.md", summary=summary(found), regions=by_region(found), scipy=near_one)
    picture(found, *rows)
    print(summary(found), by_region(found), near_one, sep="\n\n")
