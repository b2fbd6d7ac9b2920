"""Every measurement beside the peers: `python -m benchmarks`, or one of its parts.

    python -m benchmarks                  # all parts, a process each, in 40 minutes; results in bench/
    python -m benchmarks --quick          # a glance at what is beside the peers, in five minutes
    python -m benchmarks map --eps 1e-6 --bodies asymmetric --peers heyoka --candidates
    python -m benchmarks report --write   # tables and plots again, from bench/results.json, into the documentation

Each part prints as it goes and leaves `bench/PART.json`; the report puts them together. A part leaves out what does not
fit into its share of the time (`budget.py`), and names it; by itself, without --minutes, it takes what it needs.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.budget import QUICK, Clock, minutes_of

OUT = Path("bench")


def say(text: str) -> None:
    """Prints at once, so that whoever waits sees it."""
    print(text, flush=True)


def _map(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import map as cells

    return cells.main([*rest, *(["--quick"] if quick else [])], clock)


def _users(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import users

    return users.main([*rest, *(["--quick"] if quick else [])], clock)


def _papers(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import work_precision
    from benchmarks.contenders import PEERS

    return work_precision.measured(
        quick, rest or (("heyoka", "rebound") if quick else tuple(PEERS)), log=say, clock=clock
    )


def _tops(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import tops

    return tops.measured(quick, rest or (tops.QUICK if quick else tops.METHODS), log=say, clock=clock)


def _scaling(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import scaling

    return scaling.measured(quick, log=say, clock=clock)


def _bound(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import bound
    from benchmarks.contenders import Unable

    try:
        found = bound.measured(quick, clock)
    except Unable as reason:
        say(str(reason))
        return {"unable": str(reason)}
    for r in found:
        say(f"{r['method']}, {r['torque']}: {r['step_best'] * 1e9:.1f} ns, {100 * r['fraction']:.0f} % of the bound")
    return found


def _long(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks import long_runs

    return long_runs.measured(quick, log=say, clock=clock)


def _reference(rest: Sequence[str], quick: bool, clock: Clock) -> Any:
    from benchmarks.motions import cell, papers
    from benchmarks.reference import checked, growth

    found = []
    motions = (cell("asymmetric", 1.0), cell("symmetric", 1.0), *(() if quick else papers()))
    for motion in clock.within(motions, "reference", lambda motion: motion.name):
        distance, grown = checked(motion), growth(motion)
        found.append({"problem": motion.name, "angle": motion.angle, "distance": distance, "growth": grown})
        say(f"{motion.name}: {distance:.1e} from 40 digits; changes of the start grow by {grown:.1e}")
    return found


PARTS: dict[str, Callable[[Sequence[str], bool, Clock], Any]] = {
    "reference": _reference, "users": _users, "map": _map, "papers": _papers, "tops": _tops, "scaling": _scaling,
    "bound": _bound, "long": _long,
}  # fmt: skip
OTHERS = {
    "fresh memory": ["benchmarks.peers", "--table", "fresh memory"],
    "memory kept": ["benchmarks.peers", "--table", "memory kept"],
    "far": ["benchmarks.peers", "--table", "far"],
    "flow": ["benchmarks.flow"],
    "lanes": ["benchmarks.ensemble"],
    "foundation": ["benchmarks.foundation"],
}
"""Measurements that print their own table, by the name of its place in docs/evidence/benchmarks*.md."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all parts, or one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="?", default="all", choices=("all", "report", *PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT, help="where results go")
    parser.add_argument("--minutes", type=float, help="what does not begin within this time is left out")
    asked, rest = parser.parse_known_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.part == "report":
        from benchmarks import report

        return report.main([*rest, "--out", str(asked.out)])
    if asked.part == "all":
        return _all(asked.quick, asked.out)
    from benchmarks.page import machine

    begun, clock = time.perf_counter(), Clock() if asked.minutes is None else Clock(asked.minutes)
    before = machine()
    found = PARTS[asked.part](rest, asked.quick, clock)
    result = {
        "part": asked.part, "quick": asked.quick, "options": rest, "machine": before,
        "seconds": time.perf_counter() - begun, "left_out": clock.left_out, "found": found,
    }  # fmt: skip
    if clock.left_out:
        say(f"left out for lack of time: {len(clock.left_out)}, such as {clock.left_out[0]}")
    say(f"{asked.part} took {result['seconds'] / 60:.1f} minutes")
    _write(asked.out / f"{asked.part}.json", result)
    return 0


def _all(quick: bool, out: Path) -> int:
    """Runs each part in its own process, so that one that fails does not stop the others."""
    broken, saved = [], 0.0
    for part in QUICK if quick else PARTS:
        say(f"--- {part}")
        minutes, begun = minutes_of(part, quick=quick) + saved, time.monotonic()
        command = [sys.executable, "-m", "benchmarks", part, "--out", str(out), "--minutes", f"{minutes:.2f}"]
        if subprocess.run([*command, *(["--quick"] if quick else [])]).returncode:
            broken.append(part)
        saved = minutes - (time.monotonic() - begun) / 60  # the next part has what is left, or what is missing
    for name, module in ({} if quick else OTHERS).items():
        say(f"--- {name}")
        done = subprocess.run([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True)
        say(done.stdout)
        if done.returncode:
            broken.append(name)
        else:
            _write(out / f"{name.replace(' ', '_')}.json", {"part": name, "text": done.stdout.strip()})
    from benchmarks import report

    report.main(["--out", str(out)])
    if broken:
        say(f"these parts failed: {', '.join(broken)}")
    return 1 if broken else 0


def _write(path: Path, result: Any) -> None:
    path.write_text(json.dumps(result, indent=1, default=float) + "\n")


if __name__ == "__main__":
    sys.exit(main())
