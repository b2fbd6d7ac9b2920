"""Write docs/evidence/reliability.md from the counts of `make faults`: `python -m docs.make_reliability`."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COUNTS, PAGE = HERE / "evidence" / "reliability.json", HERE / "evidence" / "reliability.md"

INTRODUCTION = """\
# What it survives

<!-- Made by docs/make_reliability.py from reliability.json: `make faults` counts anew, and writes both. -->

`make faults` does to polhode what goes wrong on real machines, at random moments and in random places, and counts. An
attempt is lost if what stands beside it does not hold. `make test` makes a few attempts of each kind, with the same
chance every time; `make faults` makes all of them, with another chance every time.
"""

HOW = """\
## How it is done

- **Ctrl-C and other signals.** Numba is imported and works in a thread of its own, and the main thread waits. What a
  handler raises (`KeyboardInterrupt`, or whatever the handler of your own alarm raises) ends the waiting at once; the
  compilation goes on by itself and is kept, so that the next call finds it. If the process ends meanwhile, the
  compilation is given up between two passes of the compiler. A run looks for signals twenty times a second, and the
  exception has what was computed, as its `solution` or its `ensemble`.
- **Forks.** A fork waits until nothing is being imported or compiled, because a child inherits locks, but not the
  threads that would release them.
- **Failures that pass.** Only what the compiler itself says of a program is kept as "cannot be compiled". Out of
  memory, an interrupt or a deep stack is not: the next call tries again.
- **The cache** is used only if nobody else can write to it: its folder and its files must belong to you (or to root)
  and be writable for you alone. Otherwise a warning says so once, and programs are compiled for the process.
- **Files** appear whole or not at all.

## What it does not survive

A torque that never returns, such as one with a `while True` that is not left, cannot be stopped from within: compiled
code does not look for signals inside a torque, so that Ctrl-C waits for ever. (A torque that hangs at the very start is
stopped: it is tried in plain Python first.) Ctrl-\\ or `kill -9` ends the process. If you do not trust a torque, bound
its loops (`for _ in range(50)` in place of `while`), or run it in a process of its own, which can be ended:

```python
import multiprocessing

import polhode as ph

def run(queue):
    queue.put(ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(20), omega=[0.1, 0, 50], t_span=(0, 10), rtol=1e-9))

queue = multiprocessing.Queue()
process = multiprocessing.Process(target=run, args=(queue,))
process.start()
try:
    solution = queue.get(timeout=60)   # raises queue.Empty after a minute
finally:
    process.kill()
```
"""


def kept() -> dict[str, Any]:
    """Returns the counts that the documentation keeps."""
    found: dict[str, Any] = json.loads(COUNTS.read_text("utf-8"))
    return found


def page() -> str:
    """Returns the whole page."""
    found = kept()
    rows = [f"| {row['fault']} | {row['promise']} | {row['tried']:,} | {row['lost']:,} |" for row in found["trials"]]
    tried, lost = (sum(row[name] for row in found["trials"]) for name in ("tried", "lost"))
    counted = (
        f"Counted on {found['date']} with version {found['polhode']}: {tried:,} attempts, {lost or 'nothing'} lost."
    )
    table = ["| what was done | what must hold | attempts | lost |", "|---|---|--:|--:|", *rows]
    return "\n".join([INTRODUCTION, counted, "", *table, "", HOW])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
