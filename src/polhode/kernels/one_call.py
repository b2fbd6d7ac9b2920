"""A whole answer in one call of compiled code: samples of the torque, a run beside its companion, and what they show.

The run is one of `GBS` (`kernels/steps/extrapolation.py`), in four lanes of a vector register; the other four have its
companion, of lower order and a looser tolerance, with steps of its own. They cost little more than the run alone. Where
rows of output are due, both make a step aside, as every run does. Whatever is out of the ordinary is left to the
package `accuracy`, by the status `ELSEWHERE`: then nothing that was computed here is used.

One program serves all torques, which are compiled apart and called by their address, in lanes.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from polhode.kernels.algebra.dd import two_sum
from polhode.kernels.algebra.vec import combine, dot, times
from polhode.kernels.judge import (
    CLOSE,
    FACTOR_WHERE_ERRORS_GROW,
    FIRST_TURN,
    LEAST_POWER,
    NUDGE,
    ROUND_NUMBERS,
    SECOND_TURN,
    angle,
    apart2,
    estimate,
    floor,
    nears_separatrix,
    turned,
)
from polhode.kernels.loop.drive import SETTING, loader
from polhode.kernels.ops import all_of, beginning_at, from_lanes, lane, largest_in, rows_of, sum_of_row, view, where
from polhode.kernels.states import STATE, chosen, in_lane, load_state, store_state
from polhode.kernels.status import OK
from polhode.kernels.steps.despun import WORTH, WORTH_WITH_TURNS, Frame, View, left, view_of
from polhode.kernels.steps.extrapolation import (
    ACCEPTED,
    COMPANION,
    LEAST_RATE2,
    RUN,
    factor_of,
    first_length,
    fitted,
    in_lanes,
    rate2,
    tables,
)
from polhode.kernels.types import Inertia, Params, Pull, State

ELSEWHERE = 100
"""The status of a problem that has to be solved in another way."""

LANES = 8
SAMPLES = 128
"""The number of times, each with an attitude, at which a torque that depends on time is sampled."""
FEW_SAMPLES = 32
"""The number of attitudes at which a torque that does not depend on the time is sampled."""


class At(NamedTuple):
    """The place of each number in the one array of a call: first what is given, then what is found."""

    setting: int = 0
    inverse: int = SETTING
    """The inverse moments of the companion."""
    start: int = SETTING + 3
    t0: int = SETTING + 3 + STATE
    t1: int = SETTING + 4 + STATE
    rtol: int = SETTING + 5 + STATE
    unequal: int = SETTING + 6 + STATE
    """The greatest moment over the least one, if the principal axes had to be found; else 0."""
    error: int = SETTING + 7 + STATE
    steps: int = SETTING + 8 + STATE
    tolerance: int = SETTING + 9 + STATE
    evaluations: int = SETTING + 10 + STATE
    tries: int = SETTING + 11 + STATE
    despun: int = SETTING + 12 + STATE
    """1.0 if steps were made in the frame that does not spin."""
    memory: int = SETTING + 13 + STATE
    """Of the run, at its end, as `ExtrapolationScheme.bind` has it, but for the evaluations."""
    end: int = SETTING + 17 + STATE
    """The state at the end."""
    values: int = SETTING + 17 + 2 * STATE
    """The parameters of the torque. Then there follow times, rows, and room."""


AT = At()
SAVED = 4 + STATE
"""The numbers from which a step aside begins: time since the start and its low half, its length, what the torque sees
of the spin, the state there."""


class Rules(NamedTuple):
    """What decides on tolerances and on the estimate: numbers of the package `accuracy`."""

    rounding: float
    """The factor of round-off in the estimate."""
    target: float
    """The part of the tolerance that a further try aims at."""
    uneven: float
    out_of_reach: float
    stiff_radians: float
    difference: float
    most_turn: float
    """Longer motions, in radians, are left to others."""
    checks: int
    """The number of rows up to which all are compared where there is output at steps."""
    tries: int


LOOSER, CHECKING_LOOSER = 30.0, 10.0
"""The tolerance of a companion over that of its run, and that of a second one, which is asked where errors grow: the
first may be near by chance."""
TRUNCATION = 2.0
"""The estimate over the distance to the companion, as measured (docs/decisions/0023)."""
GROWN = 30.0
"""Where the distance is this many times the local errors of the companion and more, the motion makes errors grow: then
it may be small by chance, and the factor is greater."""
ROUGH = 50.0
"""After the first step, an attempt whose error is more than this many tolerances shows a jump of the torque, as of a
switch. Earlier steps of both the run and its companion may have passed over the jump, so a second companion is run."""
FIRST_SHARE, POWER = 1e-3, 13.0 / 15.0
"""The first tolerance for a step is (this part of the tolerance asked for, for each radian)^POWER."""
FEWEST_RADIANS = 10.0
LARGEST_CHANGE = 0.3
"""A next try has at most this part of the tolerance of the one before."""
LEAST_TOLERANCE = 2e-14
"""Smaller tolerances for a step are round-off."""
ROUNDING = 3e-15
"""What round-off adds in a step: a run and its companion may have the same of it."""
NEAR_ROUND_OFF, MORE_NEAR_ROUND_OFF = 3e-14, 3.0
"""Near this tolerance for a step the distance shows round-off as well: the factor is then greater by up to 3 times."""
HOPELESS = 2.0
"""A try ends where its error would become this many tolerances, if it went on to grow with the time."""
STEPS_AT_LEAST, STEPS_A_RADIAN = 40.0, 6.0
"""A run that needs more steps than this is stiff, or has another reason to be solved elsewhere."""


def both(a: float, b: float) -> Any:
    """Puts a number of the run and one of its companion into lanes."""
    return from_lanes((a, a, a, a, b, b, b, b))


def both_states(a: State, b: State) -> State:
    """Puts a state of the run and one of its companion into lanes."""
    q, m, c, n = a.q, a.m, b.q, b.m
    return State(
        (both(q[0], c[0]), both(q[1], c[1]), both(q[2], c[2]), both(q[3], c[3])),
        (both(m[0], n[0]), both(m[1], n[1]), both(m[2], n[2])),
    )


def half(s: State, i: int) -> State:
    """The state in lane i."""
    return State(in_lane(s.q, i), in_lane(s.m, i))  # type: ignore[arg-type]


def answerer(rules: Rules, pull: Pull, *, despun: bool) -> Callable[..., int]:
    """The function that answers, maybe for symmetric bodies in the frame that does not spin.

    Its arguments: the array of the call; tables (`TABLES`); the number of parameters of the torque, that of listed
    times (0: there is output at steps), and that of the rows for which there is room.
    """
    r, seen_from = rules, view_of(pull, despun=despun)
    sample, first_of = _sampling(rules, pull, seen_from), _round_down
    begun, slope, ask, by_asking = seen_from.begun, seen_from.slope, seen_from.asked, 2.0 * seen_from.evaluations
    attempt, roots = in_lanes(seen_from, RUN, COMPANION), tables(RUN, COMPANION).root
    root_run, root_companion = roots[0], roots[-1]
    cost, load = 2.0 + RUN.evaluations + COMPANION.evaluations, loader(gyrostat=False, changing=0)

    def answer(x: Any, constants: Any, parameters: int, rows: int, room: int, timed: int) -> int:
        body, p = load(x, view(beginning_at(x, AT.values), parameters))
        listed = beginning_at(x, AT.values + parameters)
        out = beginning_at(listed, room)
        saved = beginning_at(out, STATE * room)
        others = beginning_at(saved, SAVED * room)
        start, t0, t1, rtol = load_state(x, AT.start), x[AT.t0], x[AT.t1], x[AT.rtol]
        span = t1 - t0
        k = AT.inverse
        i = body.inverse
        pair = Inertia(body.inertia, (both(i[0], x[k]), both(i[1], x[k + 1]), both(i[2], x[k + 2])))
        fit, rate, seen_rate, used = sample(body, pair, p, start, constants, saved, t0, span, timed)
        turn, seen_turn = rate * abs(span), seen_rate * abs(span)
        if not (fit and seen_turn <= r.most_turn):
            return ELSEWHERE
        most_steps = STEPS_AT_LEAST + STEPS_A_RADIAN * seen_turn
        asked = math.pow(FIRST_SHARE * rtol / max(turn, FEWEST_RADIANS), POWER)
        tried, root, zero = 0, both(root_run, root_companion), both(0.0, 0.0)
        spent = LANES + (float(SAMPLES) if timed != 0 else float(FEW_SAMPLES))
        tau, checking, before = 0.0, 0.0, 0.0
        while tried < r.tries:
            if checking == 0.0:
                tried += 1
                tau = first_of(constants, asked)
            if tau < LEAST_TOLERANCE:
                return ELSEWHERE
            looser = CHECKING_LOOSER if checking > 0.0 else LOOSER
            tolerance2 = both(tau * tau, looser * looser * tau * tau)
            other = _nudged(start, body, checking, x[AT.unequal])
            s, t, low, longest, largest, summed = both_states(start, other), zero, zero, zero, zero, zero
            going, steps, made, ended = zero + 1.0, 0, 0.0, False  # lanes that are under way, and what was done
            blind, failed, rough = zero, zero, zero
            row = row_other = row_seen = 0
            compared, stride, place = rows, 1, 0
            attitude, change2, fastest2, near = 0.0, 0.0, rate2(body, start.m), _near(body, start)
            projected = 0.0
            if rows > 0 and listed[0] == t0:
                store_state(out, 0, start)
                row = row_other = row_seen = 1
            if rows == 0:
                listed[0] = t0
                store_state(out, 0, start)
                row = 1
            while True:
                aside = row_seen < min(row, row_other) if rows > 0 else ended and row_seen < compared
                shown = row_seen
                if aside:
                    place = shown if rows > 0 else place
                    first = beginning_at(saved, SAVED * place)
                    if rows == 0:
                        shown = min((row_seen + 1) * stride, row - 1)
                        ahead = saved[shown]
                        while place + 1 < row_other and abs(others[SAVED * (place + 1)]) <= abs(ahead):
                            place += 1
                        first = beginning_at(others, SAVED * place)
                        first[2] = (ahead - first[0]) - first[1]
                    second = beginning_at(others, SAVED * place)
                    base = both_states(load_state(first, 4), load_state(second, 4))
                    seen = both(first[3], second[3])
                    when, rest = t0 + both(first[0], second[0]), both(first[2], second[2])
                elif ended:
                    break
                else:
                    base, when, rest = s, t0 + t, (span - t) - low
                    known = (blind > 0.0) | (blind < 0.0)
                    if not all_of(known):
                        blind, spent = where(known, blind, ask(pair, p, when, s)), spent + by_asking
                    seen = blind
                frame = begun(pair, base, seen)
                frame = Frame(used * frame.spin, frame.axis, used * frame.sees)
                slopes = slope(pair, p, when, base, frame, zero, 0.0)
                largest = max(largest, max(rate2(pair, s.m), LEAST_RATE2))
                if made == 0.0:
                    longest = first_length(pair, slopes, both(span, span))
                parts = fitted(rest, longest)
                length = rest if aside else rest / parts
                new, attitude2, rates2 = attempt(pair, p, when, base, length, slopes, frame)
                made += 1.0
                if aside:
                    there = chosen(rest == 0.0, base, new)
                    mine = half(there, 0)
                    if rows > 0:
                        store_state(out, STATE * shown, mine)
                    else:
                        mine = load_state(out, STATE * shown)
                    theirs = half(there, 4)
                    attitude = _larger(attitude, angle(apart2(mine.q, theirs.q)))
                    w = times((mine.m[0] - theirs.m[0], mine.m[1] - theirs.m[1], mine.m[2] - theirs.m[2]), body.inverse)
                    change2 = _larger(change2, dot(w, w))
                    fastest2 = max(fastest2, rate2(body, mine.m))
                    near = near or _near(body, mine)
                    row_seen += 1
                    if rows > 0:
                        d = TRUNCATION * max(attitude, math.sqrt(change2 / max(lane(largest, 0), LEAST_RATE2)))
                        d = d * abs(span) / abs(listed[shown] - t0)
                        if not d < HOPELESS * rtol:
                            projected = d
                            break
                    continue
                error2 = attitude2 + rates2 / largest
                under_way = (going > 0.5) & (t * t > 0.0)
                rough = max(rough, where(under_way, error2 / tolerance2, zero))
                longest = where(going > 0.5, factor_of(tolerance2, error2, root) * length, longest)
                good = (error2 <= (ACCEPTED * ACCEPTED) * tolerance2) & (going > 0.5)
                last = parts < 1.5
                is_good, is_last = where(good, 1.0, zero), where(last, 1.0, zero)
                at, rest_of = two_sum(t, length + low)
                for side in range(0, LANES, LANES // 2):  # the run, then its companion
                    if lane(is_good, side) < 0.5:
                        continue
                    ends, its = lane(is_last, side) > 0.5, others if side > 0 else saved
                    k = row_other if side > 0 else row
                    if rows > 0:
                        k = _passed(
                            its, listed, k, rows, t0, lane(t, side), lane(low, side), lane(length, side), ends, s, new,
                            lane(blind, side), side,
                        )  # fmt: skip
                    elif k >= room:
                        return ELSEWHERE
                    elif side > 0:
                        _save(its, k, lane(t, side), lane(low, side), 0.0, lane(blind, side), half(s, side))
                        k += 1
                    else:
                        its[k] = span if ends else lane(at, side)
                        listed[k] = t0 + its[k]
                        store_state(out, STATE * k, half(new, side))
                        k += 1
                    if side > 0:
                        row_other = k
                    else:
                        row, steps, x[AT.memory] = k, steps + 1, lane(length, side)
                s = chosen(good, new, s)
                blind, failed = where(good, left(blind, failed > 0.5), blind), where(good, 0.0, zero + 1.0)
                t, low = where(good, at, t), where(good, rest_of, low)
                summed = summed + where(good, math.sqrt(error2), 0.0)
                going = where(good & last, 0.0, going)
                if lane(going, 0) + lane(going, 4) < 0.5:
                    ended = True
                    if rows == 0:
                        stride = (row - 2) // r.checks + 1
                        compared = (row - 2) // stride + 1
                elif not made < most_steps:
                    return ELSEWHERE
            spent += made * cost
            error = projected
            if projected == 0.0:
                fastest2 = max(fastest2, LEAST_RATE2)
                d = max(max(attitude, math.sqrt(change2 / fastest2)), lane(summed, 0))
                # A first try fails where errors grow unforeseen.
                grows = near or tried > 1 or d > GROWN * lane(summed, 4)
                factor = max(TRUNCATION, FACTOR_WHERE_ERRORS_GROW) if grows else TRUNCATION
                factor = factor * (1.0 + MORE_NEAR_ROUND_OFF * min(1.0, NEAR_ROUND_OFF / tau))
                least = floor(t0, t1, math.sqrt(fastest2), x[AT.unequal])
                error = estimate(factor, max(r.rounding, factor), d, least, ROUNDING * math.sqrt(float(steps)))
                error = max(error, before)
                close = tried > 1 or error > CLOSE * rtol
                surprised = largest_in(rough) > ROUGH * ROUGH
                if error <= rtol and checking == 0.0 and (near or surprised or (grows and close)):
                    checking, before = 1.0, error
                    continue
                if error <= rtol:
                    x[AT.error], x[AT.steps], x[AT.tolerance] = error, float(steps), tau
                    x[AT.evaluations], x[AT.tries] = spent, float(tried)
                    x[AT.memory + 1], x[AT.memory + 2] = lane(longest, 0), lane(largest, 0)
                    x[AT.memory + 3], x[AT.despun] = lane(blind, 0) if used > 0.0 else -1.0, used
                    store_state(x, AT.end, half(s, 0))
                    return OK
            if not error < math.inf:
                return ELSEWHERE
            checking, before = 0.0, 0.0
            asked = tau * min(LARGEST_CHANGE, math.pow(r.target * rtol / error, POWER))
        return ELSEWHERE

    return answer


def _larger(a: float, b: float) -> float:
    """The larger of two numbers, NaN if one is."""
    return b if a == a and not b <= a else a


def _save(saved: Any, k: int, t: float, low: float, offset: float, blind: float, s: State) -> None:
    """Writes from where a step aside begins."""
    saved[SAVED * k], saved[SAVED * k + 1], saved[SAVED * k + 2], saved[SAVED * k + 3] = t, low, offset, blind
    store_state(saved, SAVED * k + 4, s)


def _passed(
    saved: Any, listed: Any, k: int, rows: int, t0: float, t: float, low: float, length: float, last: bool, s: State,
    new: State, blind: float, i: int,
) -> int:  # fmt: skip
    """Saves from where listed times in a step are reached, as in `drive.variable_driver`; returns the next one."""
    while k < rows:
        offset = ((listed[k] - t0) - t) - low
        if not (last or abs(offset) <= abs(length)):
            break
        if abs(offset) < abs(length):
            _save(saved, k, t, low, offset, blind, half(s, i))
        else:
            _save(saved, k, t, low, 0.0, blind, half(new, i))
        k += 1
    return k


def _round_down(constants: Any, x: float) -> float:
    """The largest number with the one digit 1 or 3 that is not above x; 0.0 if x is too small."""
    power = math.floor(math.log10(max(x, 1e-300)))
    if power < LEAST_POWER:
        return 0.0
    k = POWERS + 2 * (min(power, 0) - LEAST_POWER)
    found: float = constants[k + 1] if x >= constants[k + 1] else constants[k]
    return found


def _nudged(s: State, body: Inertia, second: float, unequal: float) -> State:
    """The start of a companion, which differs in the last digits: `accuracy.estimate` says how and why."""
    i, m = body.inertia, s.m
    size = math.sqrt(rate2(body, m) / 3.0) if unequal > 0.0 else 0.0
    largest = max(i[0], i[1], i[2])
    moved = (
        m[0] + NUDGE * _at_least(i[0] * size, -m[0] if i[0] == largest else m[0]),
        m[1] + NUDGE * _at_least(i[1] * size, -m[1] if i[1] == largest else m[1]),
        m[2] + NUDGE * _at_least(i[2] * size, -m[2] if i[2] == largest else m[2]),
    )
    return State(turned(s.q, SECOND_TURN if second > 0.0 else FIRST_TURN, NUDGE), moved)


def _at_least(least: float, x: float) -> float:
    """Returns x, or `least` with the sign of x if that is larger in size."""
    return x if abs(x) >= least else (least if x >= 0.0 else -least)


def _near(body: Inertia, s: State) -> bool:
    """Whether the free motion through a state passes near the middle axis."""
    i, m = body.inertia, s.m
    low = 0 if i[0] <= i[1] and i[0] <= i[2] else 1 if i[1] <= i[2] else 2
    high = 2 if i[2] >= i[1] and i[2] >= i[0] else 1 if i[1] >= i[0] else 0
    mid = 3 - low - high
    near: bool = nears_separatrix(i[low], i[mid], i[high], m[low], m[mid], m[high])
    return near


# --- samples of the torque --------------------------------------------------------------------------------------------

POWERS = 4 * SAMPLES
TABLES = POWERS + len(ROUND_NUMBERS)
"""The tables have the attitudes, in rows over the lanes, and numbers with the digits 1 and 3 from 1e-17 on."""


def _sampling(rules: Rules, pull: Pull, seen_from: View) -> Callable[..., tuple[bool, float, float, float]]:
    """The function that samples the torque: `accuracy.character`, as far as it is needed."""
    r, begun, ask = rules, seen_from.begun, seen_from.asked

    def sample(
        body: Inertia, pair: Inertia, p: Params, s: State, constants: Any, room: Any, t0: float, span: float, timed: int
    ) -> tuple[bool, float, float, float]:  # fmt: skip
        """Returns whether the problem can be solved here, the rate of the body with what the torque may add to
        it, that rate in the frame of the steps, and 1.0 if this frame does not spin with the body."""
        i, m = body.inertia, s.m
        w = times(m, body.inverse)
        twice_kinetic, rate = dot(m, w), math.sqrt(dot(w, w))
        least = min(i[0], i[1], i[2])
        turns, sizes = rows_of(constants, 0, 8), rows_of(room, 0, 8)
        lanes = from_lanes((0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5))
        # first at the start itself, and in three lanes at other rates there: how it damps
        small = r.difference * max(rate, 1.0 / abs(span))
        samples = SAMPLES if timed != 0 else FEW_SAMPLES
        peak, here, damping, sound = 0.0, 0.0, 0.0, 0.0
        for k in range(samples // LANES + 1):
            j = 4 * max(k - 1, 0)
            q = (turns[j], turns[j + 1], turns[j + 2], turns[j + 3])
            t = t0 + (lanes + (LANES * (k - 1.0))) * (span / samples)
            n0, n1, n2 = both(m[0], m[0]), both(m[1], m[1]), both(m[2], m[2])
            if k == 0:
                t = both(t0, t0)
                q = (both(s.q[0], s.q[0]), both(s.q[1], s.q[1]), both(s.q[2], s.q[2]), both(s.q[3], s.q[3]))
                n0 = n0 + small * i[0] * from_lanes((0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
                n1 = n1 + small * i[1] * from_lanes((0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
                n2 = n2 + small * i[2] * from_lanes((0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
            n = pull(pair, p, t, State(q, (n0, n1, n2)))
            size2 = dot(n, n)
            sound = sound + sum_of_row(0.0 * size2)
            if k == 0:
                here = math.sqrt(lane(size2, 0))
                x, y, z = n[0] - lane(n[0], 0), n[1] - lane(n[1], 0), n[2] - lane(n[2], 0)
                damping = math.sqrt(sum_of_row(x * x + y * y + z * z))
            else:
                sizes[k - 1] = size2
                peak = max(peak, largest_in(size2))
        low = 0.0
        for k in range(samples // LANES):
            low += sum_of_row(where(sizes[k] * (r.uneven * r.uneven) < peak, 1.0, lanes * 0.0))
        peak = math.sqrt(peak)
        few = 0.25 * samples if 2.0 * peak > r.out_of_reach * twice_kinetic else 0.5 * samples
        most = max(here, peak)
        fit = sound == 0.0 and not (peak > r.uneven * here and low > few)
        fit = fit and damping / small * abs(span) <= r.stiff_radians * least
        frame = begun(body, s, 0.0)
        v = combine(w, -frame.spin, frame.axis)
        own, seen, used = math.sqrt(dot(w, w) + most / least), math.sqrt(dot(v, v) + most / least), 1.0
        sees = lane(0.0 * t + ask(pair, p, both(t0, t0), both_states(s, s)), 0) < 0.0
        if own < (WORTH_WITH_TURNS if sees else WORTH) * seen:
            used, seen = 0.0, own
        return fit and own < math.inf, own, seen, used

    return sample
