"""What `view` costs: a page from a run of a million rows, in processor time, beside one pass over its rows.

    python -m benchmarks.view

The pass is the errors of what is conserved, which the page shows and which any picture of the run needs. Runs are a
slow one, of which all million rows are looked at; a long one, with too many turns for a page; and one under a torque.
"""

import time
from collections.abc import Callable
from typing import Any

import polhode as ph
from benchmarks.harness import rounds_of
from polhode.page.content import SolutionRun
from polhode.page.display import made_page

ROUNDS = 7
MOST_SECONDS = 0.3

BODY = ph.Body([1.0, 2.0, 3.0])
KEPT = ("invariant_errors", "omega", "kinetic_energy", "potential_energy", "energy", "spatial_momentum")


def fresh(s: ph.Solution) -> ph.Solution:
    """Forgets what a solution has computed from its states."""
    for name in KEPT:
        s.__dict__.pop(name, None)
    return s


def jobs(s: ph.Solution) -> dict[str, Callable[[], object]]:
    return {"one pass": lambda: fresh(s).invariant_errors, "view": lambda: made_page([SolutionRun(fresh(s))]).html}


def main() -> None:
    start: dict[str, Any] = {"omega": [0.01, 1.0, 0.01], "method": "RK4"}
    runs = {
        "slow": ph.simulate(BODY, t_span=(0, 1000), step=1e-3, **start),
        "long": ph.simulate(BODY, t_span=(0, 50_000), step=0.05, **start),
        "torqued": ph.simulate(BODY, ph.HeavyTop(1.0), t_span=(0, 1000), step=1e-3, **start),
    }
    print(f"{'run':10}{'rows':>12}{'view, s':>10}{'one pass, s':>14}{'ratio':>8}{'page, kB':>10}")
    for name, s in runs.items():
        times = rounds_of(jobs(s), ROUNDS, time.process_time)
        best = {job: min(each) for job, each in times.items()}
        size = len(made_page([SolutionRun(s)]).html.encode()) / 1000
        ratio = best["view"] / best["one pass"]
        print(f"{name:10}{s.t.size:12,}{best['view']:10.3f}{best['one pass']:14.3f}{ratio:8.2f}{size:10.0f}")
        if best["view"] > MOST_SECONDS:
            print(f"{name}: more than {MOST_SECONDS} s")


if __name__ == "__main__":
    main()
