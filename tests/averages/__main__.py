"""Draws drifts, runs them in full beside, and writes what came of it: `python -m tests.averages [SECONDS] [COUNT]`.

It goes on where it was stopped: docs/evidence/ages.json has a row for each problem, and none is run twice.
"""

import json
import signal
import sys
import time
import warnings
from datetime import UTC, datetime
from typing import Any

import polhode
from docs import make_ages
from tests.averages.drawn import tried

LONGEST = 90
"""The processor time, s, after which a problem is given up, and counted as such."""


def main(seconds: float, count: int) -> int:
    warnings.simplefilter("ignore")

    def enough(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, enough)
    known = json.loads(make_ages.ROWS.read_text("utf-8")) if make_ages.ROWS.exists() else {}
    rows: list[Any] = known.get("rows", [])
    clock, seed = time.monotonic(), max((row["seed"] for row in rows), default=-1)
    while time.monotonic() - clock < seconds and len(make_ages.compared(rows)) < count:
        seed += 1
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            row = tried(seed)._asdict()
        except TimeoutError:
            row = {"seed": seed, "kind": "", "refused": f"given up after {LONGEST} s"}
        except Exception as why:  # whatever it is, it is counted
            row = {"seed": seed, "kind": "", "refused": f"failed: {type(why).__name__}: {why}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        rows.append(row)
        told = row["refused"] or f"stated {row['stated']:.1e}, true {row['true']:.1e}{row['ended'] and ', ended'}"
        print(f"{seed:5} {row['kind']:42} {told}", flush=True)
        made = {"date": datetime.now(UTC).date().isoformat(), "polhode": polhode.__version__, "rows": rows}
        make_ages.ROWS.write_text(json.dumps(made, indent=0) + "\n", "utf-8")
        make_ages.PAGE.write_text(make_ages.page(), "utf-8")
    above = [row for row in make_ages.compared(rows) if row["true"] > row["stated"]]
    print(f"{len(make_ages.compared(rows))} compared, above what was stated: {[row['seed'] for row in above]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else 600.0, int(sys.argv[2]) if sys.argv[2:] else 200))
