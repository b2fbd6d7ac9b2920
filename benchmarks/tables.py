"""What the knots of a table cost: `python -m benchmarks.tables`.

The pieces of a linear table of 6,000 nodes are gone through in one compiled loop, and by a call for each, as where
there are few; beside them runs a cubic table, at whose knots steps need not end, with steps of the same length.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.harness import interleave
from polhode.run import grid

NODES = 6000
TIMES = np.linspace(0.0, 600.0, NODES)
ROWS = 0.01 * np.column_stack([np.sin(TIMES), 0.3 * np.cos(2.0 * TIMES), 0.1 * np.sin(0.3 * TIMES)])
BODY = ph.Body([2.0, 3.0, 4.0])
LINEAR, CUBIC = ph.Table(TIMES, ROWS, kind="linear"), ph.Table(TIMES, ROWS)
STEP = 600.0 / (NODES - 1) / 2.0
"""Two steps in every piece."""


def run(torque: ph.Table, many: int = grid.MANY_BREAKPOINTS, **how: Any) -> Callable[[], object]:
    """Returns a run in which more than `many` breakpoints have their pieces in one loop."""

    def timed() -> object:
        before, grid.MANY_BREAKPOINTS = grid.MANY_BREAKPOINTS, many
        try:
            return ph.simulate(BODY, torque, omega=[0.1, 0.2, 0.3], t_span=(0.0, 600.0), t_eval=[600.0], **how)
        finally:
            grid.MANY_BREAKPOINTS = before

    return timed


def main() -> None:
    """Prints times and their ratios to the loop over pieces."""
    for method in ("RK4", "Strang", "G8", "DOP853"):
        fixed: dict[str, Any] = {"method": method, "step": STEP}
        runs = {"loop": run(LINEAR, **fixed), "calls": run(LINEAR, NODES, **fixed), "no knots": run(CUBIC, **fixed)}
        print(method, *(f"{x.name} {x.best * 1e3:.1f} ms ({x.ratio:.2f})" for x in interleave(runs, 5)), sep="   ")
    timing = interleave({"rtol=1e-8": run(LINEAR, rtol=1e-8)}, 5)[0]
    print(f"{timing.name}   {timing.best * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
