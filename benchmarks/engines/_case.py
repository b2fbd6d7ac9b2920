"""What every script of an engine shares: a case from standard input, its states to standard output.

Scripts run in an environment of the engine's own, without polhode. Each has `VARIANTS`: settings by name, and
`run(case, setting)`, which returns attitudes (body to space, scalar first) and rates in body axes at the case's times.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A free body: principal moments, the rate and the attitude at the start, and the times of rows, evenly spaced.

    Steps are `finer` times as short as the usual ones: the order of a method is seen from two runs.
    """

    moments: list[float]
    omega: list[float]
    attitude: list[float]
    t: list[float]
    finer: int = 1

    def steps(self, usual: float) -> tuple[int, float]:
        """The number of steps between two rows, and their length, nearest to the usual one."""
        gap = self.t[1] - self.t[0]
        count = max(1, round(gap / usual)) * self.finer
        return count, gap / count


def seen_from_body(q: Any, v: Any) -> list[float]:
    """A vector of space in body axes."""
    w, (x, y, z) = q[0], q[1:]
    cross = [v[1] * z - v[2] * y, v[2] * x - v[0] * z, v[0] * y - v[1] * x]
    along = 2 * (x * v[0] + y * v[1] + z * v[2])
    k = w * w - x * x - y * y - z * z
    return [k * a + along * b + 2 * w * c for a, b, c in zip(v, (x, y, z), cross, strict=True)]


def seen_from_space(q: Any, v: Any) -> list[float]:
    """A vector of the body in axes of space."""
    return seen_from_body([q[0], -q[1], -q[2], -q[3]], v)


def quaternion(r: Any) -> list[float]:
    """The quaternion of a matrix that takes the body to space."""
    import numpy as np

    k = np.array(
        [
            [r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [0, r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [0, 0, r[1, 1] - r[0, 0] - r[2, 2], r[1, 2] + r[2, 1]],
            [0, 0, 0, r[2, 2] - r[0, 0] - r[1, 1]],
        ]
    )
    found: list[float] = np.linalg.eigh(k, UPLO="U")[1][:, -1].tolist()
    return found


def main(run: Callable[[Case, Any], tuple[list[Any], list[Any]]], variants: dict[str, Any]) -> None:
    """Reads cases, writes the states of every variant, or why there are none."""
    cases = [Case(**c) for c in json.load(sys.stdin)]
    found: list[dict[str, Any]] = []
    for case in cases:
        made: dict[str, Any] = {}
        for name, setting in variants.items():
            try:
                q, w = run(case, setting)
                made[name] = {"quaternion": [list(map(float, x)) for x in q], "omega": [list(map(float, x)) for x in w]}
            except Exception as problem:  # whatever an engine raises is its answer
                made[name] = {"refused": str(problem).splitlines()[0][:200]}
        found.append(made)
    json.dump(found, sys.stdout)
