"""Ten thousand tops against heyoka's batch mode, on one core, at equal errors.

heyoka integrates as many tops at a time as the vector registers hold, each with steps of its own; its integrator is
compiled before. polhode is the whole call of `ensemble` on one thread. For both the cheapest setting that meets the
error is found beforehand; the error is the largest over all judged tops at the end, against heyoka in extended
precision (64 bits).
"""

import inspect
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.budget import UNLIMITED, Clock
from benchmarks.contenders import Polhode, Unable, candidates, imported
from benchmarks.harness import rounds_of
from benchmarks.motions import Floats, Motion, Vector, error, papers
from polhode.accuracy.choice import model_of

COUNT, JUDGED = 10_000, 1_000
SPAN = 5.0
TARGETS = (1e-9, 1e-6, 1e-11)
ROUNDS = 7
METHODS = ("SABA8", "ABA1064", "G8(comoving=true)", "Strang(corrector=17)", "TakahashiImada")
QUICK = METHODS[:3]
"""One for weak torques, one for stronger ones, and one for symmetric bodies."""
SLOWER = 3.0
"""Methods that take this multiple of the best time so far are not refined further."""
LONGEST, LONGEST_IN_MOTION = 5.0, 25.0
"""Radians in the longest step tried, and in that of a method that takes part in the free motion of a symmetric body."""
RATIO, REFINEMENTS = 1.25, 2
"""The ratio between the numbers of steps that are tried first, and how often it is halved, on a logarithmic scale."""
FINER = 0.25
"""Powers of ten between the tolerances of heyoka that are tried."""


@dataclass
class Tops:
    """Describes one body and one weight, with many starts about those of a paper."""

    name: str
    moments: Vector
    weight: float
    rates: Floats
    attitudes: Floats
    span: float = SPAN
    _truths: dict[int, Floats] = field(default_factory=dict)

    @property
    def angle(self) -> float:
        """Returns |w| T, on average."""
        return float(np.linalg.norm(self.rates, axis=1).mean()) * self.span

    def system(self, heyoka: Any) -> list[Any]:
        """Returns the equations, for heyoka."""
        state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
        one = Motion(self.name, "top", self.moments, (0.0, 0.0, 0.0), self.span, self.weight)
        return list(zip(state, one.slope()(*state), strict=True))

    def truth(self, count: int) -> Floats:
        """Returns the states of the first tops at the end, in extended precision."""
        if count not in self._truths:
            heyoka = imported("heyoka")
            wide = np.longdouble
            made = heyoka.taylor_adaptive(self.system(heyoka), [wide(0)] * 7, fp_type=wide, compact_mode=True)
            rows = []
            for q, w in zip(self.attitudes[:count], self.rates[:count], strict=True):
                made.time = wide(0)
                made.state[:] = np.concatenate([q, w]).astype(wide)
                made.propagate_until(wide(self.span))
                rows.append(np.asarray(made.state, dtype=float))
            self._truths[count] = np.array(rows)
        return self._truths[count]

    def error(self, found: Floats) -> float:
        """Returns the largest error of these tops, each relative to its own rate."""
        true = self.truth(found.shape[0])
        return max(error(a[None, :], b[None, :]) for a, b in zip(found, true, strict=True))


def fleets(count: int = COUNT) -> list[Tops]:
    """Returns starts about celledoni2006's heavy top (a weak torque) and krysl2004's fast top (a stronger one)."""
    known = {motion.name: motion for motion in papers()}
    draw = np.random.default_rng(2006)
    out = []
    for name in ("celledoni2006, heavy top", "krysl2004, fast top"):
        motion = known[name]
        size = math.hypot(*motion.omega)
        rates = np.array(motion.omega) + 0.1 * size * draw.normal(size=(count, 3))
        attitudes = np.array(motion.attitude) + 0.1 * draw.normal(size=(count, 4))
        attitudes /= np.linalg.norm(attitudes, axis=1)[:, None]
        out.append(Tops(name, motion.moments, motion.strength, rates, attitudes))
    return out


def heyoka_batch(tops: Tops, tolerance: float, batch: int) -> Callable[[int], Floats]:
    """Runs the first tops, a batch at a time."""
    heyoka = imported("heyoka")
    made = heyoka.taylor_adaptive_batch(tops.system(heyoka), np.zeros((7, batch)), tol=tolerance, compact_mode=False)
    start = np.hstack([tops.attitudes, tops.rates])

    def run(count: int) -> Floats:
        end = np.empty((count, 7))
        for first in range(0, count, batch):
            block = start[np.arange(first, first + batch) % count].T
            made.set_time(0.0)
            made.state[:] = block
            made.propagate_until(tops.span)
            some = min(batch, count - first)
            end[first : first + some] = made.state.T[:some]
        return end

    return run


def polhode_fleet(tops: Tops, mine: Polhode, steps: int, target: float, threads: int = 1) -> Callable[[int], Floats]:
    """Runs the first tops."""
    body, torque = ph.Body(tops.moments), ph.HeavyTop(tops.weight)
    method = mine.method
    if mine.depends_on_target:
        allowed = 10.0 ** math.floor(math.log10(0.1 * target / steps))
        method = method.replace(tolerance=allowed if allowed > 1e-15 else 0.0)

    def run(count: int) -> Floats:
        found = ph.ensemble(
            body, torque, omega=tops.rates[:count], attitude=tops.attitudes[:count], t_span=(0.0, tops.span),
            step=tops.span / steps, method=method, t_eval=[tops.span], threads=threads,
        )  # fmt: skip
        return np.hstack([found.quaternion[:, -1], found.omega[:, -1]])

    return run


def cheapest_tolerance(tops: Tops, target: float, judged: int, batch: int) -> tuple[float, float] | None:
    """Returns the largest tolerance of heyoka that meets the target, and its error."""
    for exponent in np.arange(math.log10(target) + 1, -15.7, -FINER):
        tolerance = max(10.0**exponent, 2.0**-52)
        found = tops.error(heyoka_batch(tops, tolerance, batch)(judged))
        if found <= target:
            return tolerance, found
    return None


def cheapest_steps(tops: Tops, mine: Polhode, target: float, judged: int, longest: float) -> tuple[int, float] | None:
    """Returns the fewest steps that meet the target; None if the judged tops take longer than `longest` seconds."""
    symmetric = ph.Body(tops.moments).symmetry_axis > 0
    model = model_of(mine.method, symmetric=symmetric)
    longest_turn = LONGEST_IN_MOTION if model and model.is_comoving else LONGEST
    if model and model.longest_flow:  # flows go in one piece
        longest_turn = min(longest_turn, 2.0 / model.longest_flow)
    steps, failed = max(1, round(tops.angle / longest_turn)), 0
    while True:
        found, spent = _judged_steps(tops, mine, steps, target, judged)
        if found <= target:
            break
        if spent > longest:
            return None
        failed, steps = steps, max(steps + 1, round(RATIO * steps))
    for _ in range(REFINEMENTS if failed else 0):
        middle = round(math.sqrt(failed * steps))
        if not failed < middle < steps:
            break
        other, _ = _judged_steps(tops, mine, middle, target, judged)
        if other <= target:
            steps, found = middle, other
        else:
            failed = middle
    return steps, found


def _judged_steps(tops: Tops, mine: Polhode, steps: int, target: float, judged: int) -> tuple[float, float]:
    """Returns the error of these steps, and the seconds that the judged tops take."""
    try:
        run = polhode_fleet(tops, mine, steps, target)
        found = tops.error(run(judged))  # compiles, for the fastest of these
        return found, _seconds(run, judged)
    except ArithmeticError:
        return math.inf, 0.0


def measured(
    quick: bool = False, methods: Sequence[str] = METHODS, log: Callable[[str], None] = print,
    clock: Clock = UNLIMITED,
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns a record for each ensemble and target. Exact flows compile for long, once for each range of steps."""
    count, judged = (2_000, 200) if quick else (COUNT, JUDGED)
    records = []
    targets = TARGETS[:1] if quick else TARGETS
    points = [(tops, target) for target in targets for tops in fleets(count)]
    for tops, target in clock.within(points, "tops", lambda point: f"{point[0].name}, {point[1]:g}"):
        record = _target(tops, target, methods, count, judged, 5 if quick else ROUNDS)
        log(
            f"{tops.name}, {target:.0e}: heyoka / polhode {record.get('ratio', math.nan):.2f} "
            f"({record.get('told', '')}), heyoka / auto {record.get('ratio_auto', math.nan):.2f}"
        )
        records.append(record)
    return sorted(records, key=lambda r: (r["fleet"], -r["target"]))


def _target(tops: Tops, target: float, methods: Sequence[str], count: int, judged: int, rounds: int) -> dict[str, Any]:
    record: dict[str, Any] = {
        "fleet": tops.name, "target": target, "count": count, "judged": judged, "span": tops.span, "angle": tops.angle
    }  # fmt: skip
    mine = _mine(tops, target, methods, judged, record)
    try:
        peer = _heyoka(tops, target, judged, record)
    except Unable as reason:
        record["heyoka"], peer = {"unable": str(reason)}, None
    runs: dict[str, Callable[[], object]] = {}
    if (auto := _auto(tops, target, judged, record)) is not None:
        runs["auto"] = lambda: auto(count)
    if mine is not None:
        runs["polhode"] = lambda: mine(count)
    if peer is not None:
        runs["heyoka"] = lambda: peer(count)
    times = rounds_of(runs, rounds, time.process_time)  # all on one thread
    if mine is not None:  # among all of them there may be a faster one, for which the flows are made ready otherwise
        record["polhode"]["error"] = tops.error(mine(count)[:judged])
    for name, seconds in times.items():
        record[name] |= {"best": min(seconds), "median": statistics.median(seconds), "seconds": seconds}
    if auto is not None and peer is not None:
        pairs = zip(times["heyoka"], times["auto"], strict=True)
        record |= _judged("ratio_auto", [a / b for a, b in pairs])
    if mine is not None:
        record["told"] = record["polhode"]["told"]
        if peer is not None:
            record |= _judged("ratio", [a / b for a, b in zip(times["heyoka"], times["polhode"], strict=True)])
    return record


def _judged(name: str, ratios: Sequence[float]) -> dict[str, Any]:
    """Returns the median of the rounds and their quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {name: middle, f"{name}_quartiles": (low, high)}


def _heyoka(tops: Tops, target: float, judged: int, record: dict[str, Any]) -> Callable[[int], Floats] | None:
    """Runs heyoka with the batch that it recommends for this processor, or twice that if that is quicker."""
    recommended = int(imported("heyoka").recommended_simd_size())
    settled = cheapest_tolerance(tops, target, judged, recommended)
    if settled is None:
        record["heyoka"] = {"missed": True}
        return None
    tolerance, found = settled
    runs = {batch: heyoka_batch(tops, tolerance, batch) for batch in (recommended, 2 * recommended)}
    times = rounds_of({str(b): partial(run, judged) for b, run in runs.items()}, 3)
    batch = min(runs, key=lambda b: min(times[str(b)]))
    record["heyoka"] = {"tolerance": tolerance, "error": found, "batch": batch}
    return runs[batch]


def _mine(tops: Tops, target: float, methods: Sequence[str], judged: int, record: dict[str, Any]) -> Any:
    """Returns the quickest of the methods, each at its cheapest step."""
    tried: dict[str, Any] = {}
    best: tuple[float, str, Any] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mine in candidates(methods):
            if mine.method.comoves and not ph.Body(tops.moments).symmetry_axis:
                continue  # it would be the method without the option
            limit = SLOWER * best[0] if best else math.inf
            try:
                settled = cheapest_steps(tops, mine, target, judged, min(limit, 5.0))
            except Exception as reason:
                tried[mine.name] = f"{type(reason).__name__}: {str(reason)[:100]}"
                continue
            if settled is None:
                tried[mine.name] = "too slow"
                continue
            steps, found = settled
            run = polhode_fleet(tops, mine, steps, target)
            seconds = min(_seconds(run, judged) for _ in range(3))
            tried[mine.name] = {"steps": steps, "error": found, "seconds": seconds}
            if best is None or seconds < best[0]:
                best = (seconds, mine.name, run)
                told = f"{mine.name}, {tops.angle / steps:.3g} rad a step"
                record["polhode"] = {"told": told, "method": mine.name, "steps": steps, "error": found}
    record["tried"] = tried
    return best[2] if best else None


def _auto(tops: Tops, target: float, judged: int, record: dict[str, Any]) -> Callable[[int], Floats] | None:
    """Runs `ensemble(rtol=...)` on one thread, where it exists."""
    if "rtol" not in inspect.signature(ph.ensemble).parameters:
        return None

    def run(count: int) -> Floats:
        found = ph.ensemble(
            ph.Body(tops.moments), ph.HeavyTop(tops.weight), omega=tops.rates[:count], attitude=tops.attitudes[:count],
            t_span=(0.0, tops.span), rtol=target, t_eval=[tops.span], threads=1,
        )  # fmt: skip
        return np.hstack([found.quaternion[:, -1], found.omega[:, -1]])

    try:
        record["auto"] = {"error": tops.error(run(judged))}
    except Exception as reason:
        record["auto"] = {"unable": f"{type(reason).__name__}: {str(reason)[:100]}"}
        return None
    return run


def _seconds(run: Callable[[int], object], count: int) -> float:
    clock = time.perf_counter()
    run(count)
    return time.perf_counter() - clock


def share(records: Sequence[dict[str, Any]], name: str, target: float) -> float:
    """Returns the ratio of an ensemble at a target."""
    found = [r["ratio"] for r in records if r["fleet"] == name and r["target"] == target and "ratio" in r]
    return float(found[0]) if found else math.nan
