"""The second map: what users have, as they call it: `python -m benchmarks users`.

Ten kinds of torque, of the attitude, the rate and the time, each of which a grammar draws anew as a text
(`benchmarks/grammar.py`); bodies, starts and strengths drawn by the same seed; four lengths of the motion and three
tolerances. polhode compiles the text as a user's own function, heyoka has it as symbols. polhode is the whole call,
`simulate(rtol=, t_eval=8 times)`, warm, with its search and its estimate of the error; and the same answer by what
`prepare(rtol=)` made beforehand. heyoka has hindsight: its integrator is built beforehand, its tolerance is the
cheapest that meets the error, and it says nothing of its error. They take turns, and each call has another start, so
that no answer can be one that was kept.
"""

import argparse
import math
import secrets
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.budget import UNLIMITED, Clock
from benchmarks.contenders import imported
from benchmarks.grammar import FAMILIES, PARAMETERS, Grammar, for_polhode, torque_of
from benchmarks.harness import rounds_of
from benchmarks.motions import Floats, error
from polhode.torques import Torque

ANGLES = (10.0, 100.0, 1000.0, 10_000.0)
"""|w| T, in radians, with |w| at the start."""
TARGETS = (1e-4, 1e-7, 1e-10)
ROUNDS = 9
OUTPUTS = 8
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(6, 32))
"""heyoka's tolerances, each of which has its own order and program."""
KNOWN = 0.1
"""A motion is left out where a last digit of the start changes it by more than this part of the target."""
LEAST_SECONDS = 2e-3
"""A round has as many calls as take this long."""

Record = dict[str, Any]


KINDS = tuple(FAMILIES)


@dataclass(frozen=True)
class Drawn:
    """A torque that the grammar has drawn."""

    texts: tuple[str, str, str]

    @cached_property
    def torque(self) -> Any:
        """The torque as a user writes it."""
        return ph.torque(for_polhode(self.texts), parameters=[0.0] * PARAMETERS_OF_ALL)


PARAMETERS_OF_ALL = 3 + PARAMETERS


def torque_drawn(kind: str, rng: np.random.Generator) -> Drawn:
    """Draws a torque of a kind."""
    grammar, component = Grammar(rng), FAMILIES[kind][0]
    one, two, three = (component(grammar, k) for k in range(3))
    return Drawn((one, two, three))


@dataclass(frozen=True, eq=False)
class Asked:
    """A motion that a user asks for."""

    kind: str
    drawn: Drawn
    angle: float
    body: ph.Body
    omega: Floats
    attitude: Floats
    values: tuple[float, ...]
    """The numbers of the torque."""

    @property
    def torque(self) -> Torque:
        """The torque, as polhode has it."""
        made: Torque = self.drawn.torque.with_parameters(self.values)
        return made

    @property
    def span(self) -> float:
        """The time in which the body would turn that far at its first rate."""
        return self.angle / float(np.linalg.norm(self.omega))

    @property
    def times(self) -> Floats:
        """The output times."""
        return self.span * np.arange(1, OUTPUTS + 1) / OUTPUTS

    def start(self, factor: float = 1.0) -> Floats:
        """Returns quaternion and rate at the start."""
        return np.concatenate([self.attitude, factor * self.omega])


def motion_drawn(kind: str, drawn: Drawn, angle: float, rng: np.random.Generator) -> Asked:
    """Draws a body, its start and the numbers of its torque."""
    x, y, z = rng.uniform(0.1, 1.0, size=3)
    if rng.random() < 0.25:
        y = x
    moments = np.array([y + z, z + x, x + y])
    omega, q = rng.normal(size=3), rng.normal(size=4)
    rate = 10 ** rng.uniform(-0.5, 0.5)
    omega *= rate / np.linalg.norm(omega)
    strength = 10 ** rng.uniform(*FAMILIES[kind][1]) * float(moments @ omega**2) / 3.0
    numbers = rng.choice([-1.0, 1.0], PARAMETERS) * 2.0 ** rng.uniform(-1.0, 1.0, PARAMETERS)
    values = (strength, 1.0 / rate, rate, *numbers.tolist())
    return Asked(kind, drawn, angle, ph.Body(moments), omega, q / np.linalg.norm(q), values)


# --- heyoka ----------------------------------------------------------------------------------------------------------


@cache
def _system(drawn: Drawn) -> list[tuple[Any, Any]]:
    """The equations of quaternion and rate; moments and the torque's numbers are parameters."""
    heyoka = imported("heyoka")
    a, b, c, d, x, y, z = state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
    par = heyoka.par
    n = torque_of(drawn.texts, (a, b, c, d), (x, y, z), [par[6 + k] for k in range(PARAMETERS_OF_ALL)])
    slopes = (
        -0.5 * (b * x + c * y + d * z), 0.5 * (a * x + c * z - d * y),
        0.5 * (a * y + d * x - b * z), 0.5 * (a * z + b * y - c * x),
        par[0] * (y * z) + par[3] * n[0], par[1] * (z * x) + par[4] * n[1], par[2] * (x * y) + par[5] * n[2],
    )  # fmt: skip
    return list(zip(state, slopes, strict=True))


def _parameters(asked: Asked, wanted: int) -> list[float]:
    i1, i2, i3 = asked.body.moments.tolist()
    numbers = [(i2 - i3) / i1, (i3 - i1) / i2, (i1 - i2) / i3, 1 / i1, 1 / i2, 1 / i3, *asked.values]
    return numbers[:wanted]


@cache
def integrator(drawn: Drawn, tolerance: float) -> Any:
    """Returns heyoka's integrator in double precision, compiled without compact mode."""
    heyoka = imported("heyoka")
    return heyoka.taylor_adaptive(_system(drawn), [1.0] + [0.0] * 6, tol=tolerance, compact_mode=False)


@cache
def true_integrator(drawn: Drawn) -> Any:
    """Returns one in extended precision, at its round-off."""
    heyoka = imported("heyoka")
    start = [np.longdouble(x) for x in (1, 0, 0, 0, 0, 0, 0)]
    return heyoka.taylor_adaptive(_system(drawn), start, fp_type=np.longdouble, compact_mode=True)


def by_heyoka(asked: Asked, tolerance: float) -> Callable[[float], Floats]:
    """Returns a run whose rate at the start is multiplied by a factor."""
    made, times = integrator(asked.drawn, tolerance), [0.0, *asked.times.tolist()]
    parameters = _parameters(asked, len(made.pars))

    def run(factor: float) -> Floats:
        made.time = 0.0
        made.pars[:] = parameters
        made.state[:] = asked.start(factor)
        return np.asarray(made.propagate_grid(times)[-1][1:])

    return run


def truth(asked: Asked, factor: float = 1.0) -> Floats:
    """Returns quaternion and rate at the start and at the output times."""
    made, wide = true_integrator(asked.drawn), np.longdouble
    made.time = wide(0)
    made.pars[:] = [wide(x) for x in _parameters(asked, len(made.pars))]
    made.state[:] = [wide(x) for x in asked.start(factor)]
    rows = [asked.start(factor)]
    for t in asked.times.tolist():
        made.propagate_until(wide(t))
        rows.append(np.array([float(x) for x in made.state]))
    return np.array(rows)


def far(found: Floats, true: Floats) -> float:
    """Returns the error; the start is among the rows, so that a body that comes to rest has a scale."""
    return error(np.concatenate([true[:1], found]), true)


# --- polhode ---------------------------------------------------------------------------------------------------------


def by_polhode(asked: Asked, target: float) -> Callable[[float], ph.Solution]:
    """Returns the whole call, as a user makes it."""
    torque, body, span, times, q = asked.torque, asked.body, (0.0, asked.span), asked.times, asked.attitude

    def call(factor: float) -> ph.Solution:
        return ph.simulate(body, torque, omega=factor * asked.omega, attitude=q, t_span=span, t_eval=times, rtol=target)

    return call


def by_prepared(asked: Asked, target: float) -> Callable[[float], ph.Solution]:
    """Returns the call of what was prepared for the body, the torque and the times."""
    made = ph.prepare(asked.body, asked.torque, t_span=(0.0, asked.span), t_eval=asked.times, rtol=target)
    return lambda factor: made(factor * asked.omega, asked.attitude)


def rows(solution: ph.Solution) -> Floats:
    """Returns quaternion and rate at the output times."""
    return np.hstack([solution.quaternion, solution.omega])


# --- the measurement -------------------------------------------------------------------------------------------------


def cheapest(asked: Asked, target: float, true: Floats) -> tuple[float, float] | None:
    """Returns heyoka's cheapest tolerance that meets the target, with its error."""
    for tolerance in TOLERANCES:
        found = far(by_heyoka(asked, tolerance)(1.0), true)
        if found <= target:
            return tolerance, found
    return None


def _in_turn(call: Callable[[float], Any], seconds: float) -> tuple[Callable[[], None], int]:
    """Returns a function that makes enough calls to be timed, each with another start."""
    count = max(1, min(100, math.ceil(LEAST_SECONDS / max(seconds, 1e-6))))
    factors = _factors()

    def several() -> None:
        for _ in range(count):
            call(next(factors))

    return several, count


def _factors() -> Iterator[float]:
    k = 0
    while True:
        k += 1
        yield 1.0 + 1e-12 * k


def measured(
    asked: Asked, target: float, true: Floats, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> Record:
    """Returns the seconds of both in every round, with what they achieve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = by_polhode(asked, target)
        solution = mine(1.0)
        found = cheapest(asked, target, true)
        achieved = far(rows(solution), true)
        record: Record = {
            "kind": asked.kind, "angle": asked.angle, "target": target, "method": solution.plan.method.name,
            "steps": solution.stats.steps, "nfev": solution.nfev, "estimate": solution.error_estimate,
            "error": achieved, "peer": None if found is None else {"tolerance": found[0], "error": found[1]},
        }  # fmt: skip
        runs: dict[str, tuple[Callable[[], None], int]] = {}
        calls: dict[str, Callable[[float], Any]] = {"polhode": mine, "prepared": by_prepared(asked, target)}
        if found is not None:
            calls["heyoka"] = by_heyoka(asked, found[0])
        for name, call in calls.items():
            start = time.perf_counter()
            call(1.0)
            runs[name] = _in_turn(call, time.perf_counter() - start)
        times = rounds_of({name: run for name, (run, _) in runs.items()}, rounds, clock)
    for name, seconds in times.items():
        record[name] = [s / runs[name][1] for s in seconds]
    return record


def ratio(record: Record, to: str = "polhode") -> float:
    """Returns the median over the rounds of heyoka's time over polhode's; infinite where heyoka misses the target."""
    if "heyoka" not in record:
        return math.inf
    return float(statistics.median(a / b for a, b in zip(record["heyoka"], record[to], strict=True)))


def line(record: Record) -> str:
    """Returns one cell as text for whoever waits."""
    peer = record["peer"]
    theirs = f"heyoka {1e3 * min(record['heyoka']):.3g} ms at {peer['tolerance']:.0e}" if peer else "heyoka misses it"
    return (
        f"{record['kind']:36} {record['angle']:6.0f} {record['target']:.0e} | {ratio(record):5.2f}, prepared "
        f"{ratio(record, 'prepared'):5.2f} | {theirs} | "
        f"polhode {1e3 * min(record['polhode']):.3g} ms, {record['method']}, {record['steps']} steps, error "
        f"{record['error'] / record['target']:.1e}, estimate {record['estimate'] / record['target']:.1e} of the target"
    )


def parts_of(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Returns all cells, then those of each length of the motion, each tolerance and each kind, with their names."""
    parts = [("all", list(records))]
    parts += [(f"{angle:,.0f} radians", [r for r in records if r["angle"] == angle]) for angle in ANGLES]
    parts += [(f"{target:.0e}", [r for r in records if r["target"] == target]) for target in TARGETS]
    parts += [(kind, [r for r in records if r["kind"] == kind]) for kind in KINDS]
    return [(name, some) for name, some in parts if some]


def judged(some: Sequence[Record], to: str = "polhode") -> tuple[float, float, str]:
    """Returns the median and the least ratio of some cells, and in how many of them polhode is slower."""
    found = [ratio(r, to) for r in some]
    return statistics.median(found), min(found), f"{sum(x < 1.0 for x in found)} of {len(found)}"


def summary(records: Sequence[Record]) -> str:
    """Returns medians and least ratios, by length of the motion, tolerance and kind."""

    def told(name: str, some: Sequence[Record], to: str) -> str:
        middle, least, slower = judged(some, to)
        return f"{name:36} {to:8} median {middle:5.2f}, least {least:5.2f}, slower in {slower}"

    return "\n".join(told(name, some, to) for name, some in parts_of(records) for to in ("polhode", "prepared"))


def run(
    seed: int, *, draws: int = 1, kinds: Sequence[str] = tuple(KINDS), angles: Sequence[float] = ANGLES,
    targets: Sequence[float] = TARGETS, rounds: int = ROUNDS, clock: Callable[[], float] = time.perf_counter,
    log: Callable[[str], None] = print, limit: Clock = UNLIMITED,
) -> Record:  # fmt: skip
    """Measures all cells; what nobody can follow to the target is named and left out."""
    records: list[Record] = []
    left_out = []
    for number in range(draws):
        torques = {kind: torque_drawn(kind, np.random.default_rng([seed, number, k])) for k, kind in enumerate(kinds)}
        for angle in angles:
            for place, kind in limit.within(list(enumerate(kinds)), f"users, {angle:g} radians"):
                rng = np.random.default_rng([seed, number, place, int(angle)])
                asked = motion_drawn(kind, torques[kind], angle, rng)
                true = truth(asked)
                apart = far(truth(asked, 1.0 + 2.0**-52)[1:], true)
                for target in targets:
                    if apart > KNOWN * target:
                        left_out.append((kind, angle, target))
                        log(f"{kind:36} {angle:6.0f} {target:.0e} | left out: a last digit makes {apart:.0e}")
                        continue
                    records.append(measured(asked, target, true, rounds, clock))
                    log(line(records[-1]))
    log(f"seed {seed}")
    log(summary(records))
    return {"seed": seed, "records": records, "left_out": left_out, "rounds": rounds}


def main(arguments: Sequence[str] | None = None, limit: Clock = UNLIMITED) -> Record:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks users", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two lengths and five rounds")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    parser.add_argument("--draws", type=int, default=1, help="problems for each kind and length")
    parser.add_argument("--angles", type=float, nargs="+")
    parser.add_argument("--targets", type=float, nargs="+", default=TARGETS)
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="processor time counts both threads"
    )
    asked = parser.parse_args(arguments)
    return run(
        secrets.randbits(32) if asked.seed is None else asked.seed,
        draws=asked.draws,
        angles=asked.angles or ((100.0, 1000.0) if asked.quick else ANGLES),
        targets=asked.targets,
        rounds=asked.rounds or (5 if asked.quick else ROUNDS),
        clock=time.perf_counter if asked.clock == "wall" else time.process_time,
        log=lambda text: print(text, flush=True),
        limit=limit,
    )


if __name__ == "__main__":
    main()
