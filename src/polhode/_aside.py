"""A second run beside the first, on a thread of its own: compiled loops do not hold the interpreter's lock."""

import os
import threading

from polhode._integration import Integration, SimulationInterrupted
from polhode.solution import Solution


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Stopped(Exception):
    """The first run has no use for the second any more."""


def both(first: Integration, second: Integration) -> tuple[Solution, Solution | BaseException]:
    """Attempt two runs at the same time; what the second raises takes the place of its solution.

    A thread is made for each call: one that waits for more would be missing after a fork. Compilations are done, and
    announced, before.
    """
    for one in (first, second):
        one.compiled()
    stop = threading.Event()
    made: list[Solution | BaseException] = []

    def look(done: int, total: int) -> None:
        if stop.is_set():
            raise _Stopped

    def run() -> None:
        try:
            made.append(second.attempt())
        except BaseException as problem:  # raised again where it can be caught
            made.append(problem)

    second.progress = look
    thread = threading.Thread(target=run, name="polhode: companion", daemon=True)
    thread.start()
    try:
        solution = first.attempt()
        try:
            thread.join()
        except KeyboardInterrupt:
            raise SimulationInterrupted(solution) from None
    finally:
        stop.set()
        thread.join()
    return solution, made[0]
