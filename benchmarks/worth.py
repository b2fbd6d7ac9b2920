"""Torque evaluations at equal errors: `python -m benchmarks.worth [METHOD ...]`.

Which method is worth having where a torque is dear, such as one that calls other people's code. Every method gets the
setting that needs the fewest evaluations, by hindsight. docs/decisions/0010-less.md has the table.
"""

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from tests.authorities.random_problems import RandomRecipe, random_recipe

import polhode as ph
from benchmarks.contenders import Polhode, rows
from benchmarks.motions import Floats, Motion, error
from polhode.methods import find
from polhode.torques import Torque

METHODS = (
    "Adams(order=8)", "Adams(order=10)", "Adams(order=12)", "G8", "G8(compensated=true)", "DOP853", "RK4", "KL6",
    "Strang", "SABA(stages=4)", "SABA", "ABA1064", "Strang(corrector=17)", "TakahashiImada",
)  # fmt: skip
TARGETS = (1e-4, 1e-7, 1e-10)
CASES = (
    ("weight", 1e-6, 1, 300.0), ("drag", 1e-3, 5, 200.0), ("drag", 0.1, 6, 40.0), ("stir", 1e-2, 7, 40.0),
    ("stir", 0.5, 8, 20.0), ("weight", 1.0, 9, 20.0), ("swing", 1e-2, 4, 100.0),
)  # fmt: skip
"""Kind of torque, its size over twice the kinetic energy, a seed, and the most radians through which the body turns."""
FINER = 1.12
"""Ratio of the steps of two runs that follow each other."""
ENOUGH = 5
"""Runs in a row that meet a target, after which no finer one will need fewer evaluations."""
MOST_EVALUATIONS = 500_000
ITERATED = (1.0, 10.0, 100.0)
"""What iterations may leave, in units of what `simulate(rtol=...)` allows."""


@dataclass(frozen=True)
class Drawn(Motion):
    """A random motion in the form that competitors are given."""

    drawn: RandomRecipe | None = field(default=None, compare=False)

    @property
    def angle(self) -> float:
        """Through which the body turns, also backward in time."""
        assert self.drawn is not None
        return self.drawn.turn

    @cached_property
    def body(self) -> ph.Body:
        """From the tensor."""
        assert self.drawn is not None
        return self.drawn.body

    @cached_property
    def torque(self) -> Torque:
        """One of the random kinds."""
        assert self.drawn is not None
        return self.drawn.torque

    @cached_property
    def truth(self) -> Floats:
        """By collocation with steps of a third of a radian."""
        steps = self.outputs * math.ceil(3.0 * self.angle / self.outputs)
        fine = Polhode(find("G8(compensated=true)"))
        return rows(fine.bound(self, steps, 1e-16)())


def drawn(kind: str, eps: float, seed: int, angle: float) -> Drawn:
    """The first draw of a body with three moments and a torque of about this size."""
    draw = np.random.default_rng(seed)
    least = 0.8 * min(angle, 20.0 if eps > 0.1 else 40.0 if eps > 3e-3 else angle)
    while True:
        p = random_recipe(draw, longest=1.05 * angle, kinds=(kind,))
        if eps / 3 < p.torque_ratio < 3 * eps and p.turn > least and p.shape == "triaxial":
            break
    a, b, c = p.omega.tolist()
    q0, q1, q2, q3 = p.quaternion.tolist()
    name = f"{kind}, {p.torque_ratio:.1g}, {p.turn:.0f} rad"
    return Drawn(name, "top", (1.0, 1.0, 1.0), (a, b, c), p.span, attitude=(q0, q1, q2, q3), outputs=4, drawn=p)


def fewest(motion: Drawn, method: str, target: float) -> int | None:
    """Evaluations, or None where the method does not get there."""
    base = Polhode(find(method))
    allowances = ITERATED if base.depends_on_target else (1.0,)
    found = [n for looser in allowances for n in _tried(motion, base, looser, target)]
    return min(found, default=None)


def _tried(motion: Drawn, base: Polhode, looser: float, target: float) -> Iterator[int]:
    """The evaluations of runs that meet the target."""
    contender = Polhode(base.method, looser)
    limits = contender.settings(motion)
    setting, met = limits.coarsest, 0
    ratio = FINER if not base.method.variable_steps else limits.ratio**0.5
    while setting <= limits.finest and met < ENOUGH:
        try:
            solution = contender.bound(motion, setting, target)()
        except ArithmeticError:  # steps that are too long
            setting *= ratio
            continue
        good = error(rows(solution), motion.truth) <= target
        met = met + 1 if good else 0
        if good:
            yield int(solution.nfev)
        if solution.nfev > MOST_EVALUATIONS:
            return
        setting *= ratio


def main(arguments: Sequence[str] | None = None) -> None:
    """A line for each motion, target and method."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worth", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", default=METHODS)
    parser.add_argument("--kinds", nargs="+", choices=sorted({case[0] for case in CASES}), help="of torques")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for case in CASES:
        if asked.kinds and case[0] not in asked.kinds:
            continue
        motion = drawn(*case)
        for target in TARGETS:
            for name in asked.methods:
                if not find(name).refuses(motion.torque.depends):
                    print(f"{motion.name:28} {target:.0e}  {name:24} {fewest(motion, name, target)}", flush=True)


if __name__ == "__main__":
    main()
