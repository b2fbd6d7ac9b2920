"""Tries everything, and writes the counts for docs/evidence/reliability.md: `python -m tests.faults [SHARE] [NAME...]`.

A share below one makes fewer attempts of each kind. With names only those trials are run, and nothing is written.
"""

import json
import secrets
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import polhode
from docs import make_reliability
from tests.faults import crowds, disk, fuzz, properties, signals
from tests.faults.trial import TRIALS, attempt

PARTS = (signals, disk, crowds, fuzz, properties)


def main(share: float, names: list[str]) -> int:
    rows, lost = [], 0
    for wanted in TRIALS.values():
        if names and wanted.name not in names:
            continue
        seed, clock = secrets.randbits(32), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            tally = attempt(wanted, max(1, round(share * wanted.full)), seed, Path(folder))
        lost += tally.lost
        row = {"name": wanted.name, "fault": wanted.fault, "promise": wanted.promise}
        rows.append({**row, "tried": tally.tried, "lost": tally.lost})
        spent = f"{time.monotonic() - clock:6.0f} s"
        print(f"{wanted.name:32}{tally.tried:8,} tried{tally.lost:6} lost {spent}", flush=True)
        for note in tally.notes:
            print(f"    seed {seed}: {note}", flush=True)
    if not names:
        made = {"date": datetime.now(UTC).date().isoformat(), "polhode": polhode.__version__, "trials": rows}
        make_reliability.COUNTS.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
        make_reliability.PAGE.write_text(make_reliability.page(), "utf-8")
    return 1 if lost else 0


if __name__ == "__main__":
    shares = [float(given) for given in sys.argv[1:] if given[0].isdigit()]
    sys.exit(main(shares[0] if shares else 1.0, [given for given in sys.argv[1:] if not given[0].isdigit()]))
