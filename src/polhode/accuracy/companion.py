"""A second run beside the first, on a thread of its own: compiled loops do not hold the interpreter's lock."""

import _thread
import os

from polhode.run.integration import Integration, SimulationInterrupted
from polhode.solution import Solution
from polhode.support.interrupts import keeping


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def both(first: Integration, second: Integration) -> tuple[Solution, Solution | BaseException]:
    """Attempts two runs at the same time; what the second raises takes the place of its solution.

    A thread is made for each call: one that waits for more would be missing after a fork. It is a bare one, because
    `threading.Thread` waits until it has begun, which takes longer than to make it. Compilations are done before.
    """
    for one in (first, second):
        one.compiled()
    second.progress = None  # which shows one of them
    made: list[Solution | BaseException] = []
    running = _thread.allocate_lock()
    running.acquire()

    def run() -> None:
        try:
            made.append(second.attempt())
        except BaseException as problem:  # raised again where it can be caught
            made.append(problem)
        finally:
            running.release()

    _thread.start_new_thread(run, ())
    try:
        solution = first.attempt()
        with keeping(SimulationInterrupted, lambda _: solution), running:  # waits for the second run
            pass
    except BaseException:
        second.cancelled = True
        with running:
            pass
        raise
    return solution, made[0]
