"""Work against precision on the papers' problems: celledoni2006's three, krysl2004's tops and soft wall, vilmart2008's.

As on the map, every competitor meets the error at its cheapest setting, and all take turns. All peers are tried; a peer
that cannot follow a motion is listed with the reason.
"""

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import map as cells
from benchmarks.budget import UNLIMITED, Clock
from benchmarks.contenders import PEERS, Contender
from benchmarks.motions import papers

TARGETS = (1e-3, 1e-6, 1e-9, 1e-11)
ROUNDS = 7
LONGEST = 0.5
"""Seconds of a run beyond which a competitor is not refined further."""


def measured(
    quick: bool = False, names: Sequence[str] = tuple(PEERS), log: Callable[[str], None] = print,
    clock: Clock = UNLIMITED,
) -> dict[str, Any]:  # fmt: skip
    """Returns records as on the map, and the failures: motion, competitor, reason."""
    peers: list[Contender] = [PEERS[name]() for name in names]
    failures: list[tuple[str, str, str]] = []
    records: list[cells.Record] = []
    targets = TARGETS[1::2] if quick else TARGETS
    longest = 0.3 if quick else LONGEST
    with cells.kept_on_interrupt(log):
        for motion in clock.within(papers(), "papers", lambda motion: motion.name):

            def failed(name: str, reason: str, motion: str = motion.name) -> None:
                if (motion, name, reason) not in failures:
                    failures.append((motion, name, reason))
                    log(f"  {name}: {reason}")

            for record in cells.measured(motion, targets, peers, (), 3 if quick else ROUNDS, failed, longest):
                records.append(record)
                log(cells.line(record))
    return {"records": records, "failures": failures, "longest": LONGEST}
