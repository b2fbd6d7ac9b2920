"""Thrusters that fire in pulses: on for whole ticks of a clock, and not for less than a minimum."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from polhode.kernels.codegen import function
from polhode.kernels.ops import derivatives, lane, nearest_whole, section, where
from polhode.support import checks
from polhode.torques._driven import axes_of, law_of
from polhode.torques._sampled import Sampled
from polhode.torques._torque import carried_numbers, names_read

WHOLE = 1e-6
"""A period that misses a whole number of ticks by less than this part of a tick is meant to be one."""
MOST_THRUSTERS = 32
"""More than spacecraft have: each is some lines of the program."""
OWN = 3
"""The numbers in front of the torques in p: ticks in a period, seconds in a tick, least on-time."""


def thrusters(
    torques: Any,
    law: Callable[..., Any],
    *,
    period: float,
    tick: float,
    minimum_on: float = 0.0,
    parameters: Sequence[Any] = (),
    state: Mapping[str, float] | Sequence[str] = (),
    reads: Sequence[str] = (),
    phase: float = 0.0,
) -> Sampled:
    """The torque of thrusters that fire in pulses, one in a period at most, which begins with the period.

    At the start of each period the law is called as `law(t, q, w, p)`, or `law(t, q, w, p, z)` with `state` or `reads`
    as for `Sampled`, and returns for each thruster how long it shall fire, in s. That is rounded to whole ticks,
    bounded by the period, and none where it is below the minimum. Steps end at the ticks, so that the impulse of a
    pulse is exact, with every method. Carried numbers are the ticks that are `left` to each thruster, those until the
    next `call`, and the seconds `fired` by all thrusters together.

    Parameters
    ----------
    torques: array_like
        The torque of each thruster while it fires, in body axes, N m: r x F of a thruster at r.
    law: function
        Returns the on-times, in s.
    period: float
        The time from call to call of the law, in s: a whole number of ticks.
    tick: float
        The resolution of on-times, in s.
    minimum_on: float
        The least on-time, in s.
    parameters: sequence
        The numbers and tables that the law finds in p.
    state: mapping or sequence of str
        Numbers that the law remembers, as for `Sampled`.
    reads: sequence of str
        The names of numbers that other parts of a sum carry, as for `Sampled`.
    phase: float
        The time of a tick, in s.

    Examples
    --------
    >>> def brake(t, q, w, p):
    ...     wanted = -p[0] * w[2]  # the impulse that stops the body, over the torque of a thruster
    ...     return wanted, -wanted
    ...
    >>> jets = ph.thrusters(
    ...     [[0, 0, 0.5], [0, 0, -0.5]], brake, period=1.0, tick=0.01, minimum_on=0.05, parameters=[2 / 0.5]
    ... )
    >>> run = ph.simulate(ph.Body([1, 1, 2]), jets, omega=[0, 0, -0.1], t_span=(0, 3), method="RK4", step=0.1)
    >>> bool(abs(run.omega[-1, 2]) < 1e-15), round(float(run.state[-1, run.state_names.index("fired")]), 12)
    (True, 0.4)
    """
    rows = axes_of("torques", torques, "thruster", MOST_THRUSTERS)
    n, others = len(rows), names_read(reads)
    seconds, length = (checks.number(name, x, positive=True) for name, x in (("tick", tick), ("period", period)))
    least = checks.number("minimum_on", minimum_on)
    if least < 0.0:
        raise ValueError(f"minimum_on must be positive or zero, not {least:g}")
    ticks = round(length / seconds)
    if ticks < 1 or abs(length / seconds - ticks) > WHOLE:
        raise ValueError(
            f"period must be a whole number of ticks, but {length:g} s are {length / seconds:g} of {tick:g} s"
        )
    if least > length:
        raise ValueError(f"minimum_on is {least:g} s, longer than the period of {length:g} s: nothing would ever fire")
    own = carried_numbers(tuple(state) if isinstance(state, Mapping) else state)[0]
    law_of(f"the on-times of {n} thrusters", law, n, parameters, ()) if not own and not others else None
    pulses = _pulses(getattr(law, "py_func", law), n, len(parameters), len(own), len(others))
    counted = {**{f"left_{i + 1}": 0.0 for i in range(n)}, "call": 0.0, "fired": 0.0}
    remembered = dict(state) if isinstance(state, Mapping) else dict.fromkeys(own, 0.0)
    numbers = [float(ticks), seconds, least, *(x for row in rows for x in row), *parameters]
    return Sampled(seconds, pulses, counted | remembered, parameters=numbers, phase=phase, reads=others)


@lru_cache(maxsize=64)
def _pulses(law: Callable[..., Any], count: int, numbers: int, own: int, reads: int) -> Any:
    """The law of a tick: it asks for on-times where a period begins, and counts what is left of them."""
    places, call, fired = range(count), count, count + 1
    mine = "".join(f"z[{count + 2 + i}], " for i in range(own + reads))
    asked = f"law(t, q, w, section(p, {OWN + 3 * count}, {numbers}){f', ({mine})' if own or reads else ''})"
    names = {
        "law": law, "section": section, "derivatives": derivatives, "lane": lane, "where": where,
        "nearest": nearest_whole,
    }  # fmt: skip
    lines = [*(f"n{i} = z[{i}]" for i in places), f"wait = z[{call}]"]
    lines += [f"y{i} = z[{count + 2 + i}]" for i in range(own)]
    lines += ["if lane(wait, 0) < 0.5:", f"    both = {asked}"]
    lines.append(f"    on = derivatives({'both[0]' if own else 'both'}, {count})")
    if own:
        lines.append(f"    new = derivatives(both[1], {own})")
        lines += [f"    y{i} = new[{i}]" for i in range(own)]
    for i in places:
        lines.append(f"    n{i} = nearest(min(max(on[{i}] / p[1], 0.0), p[0]))")
        lines.append(f"    n{i} = where(n{i} * p[1] < p[2] * {1.0 - 1e-9!r}, 0.0 * n{i}, n{i})")
    lines.append("    wait = wait + p[0]")
    for i in places:
        lines.append(f"f{i} = min(n{i}, 1.0)")
    total = [" + ".join(f"p[{OWN + 3 * i + k}] * f{i}" for i in places) for k in range(3)]
    left = "".join(f"n{i} - f{i}, " for i in places)
    burnt = f"z[{fired}] + p[1] * ({' + '.join(f'f{i}' for i in places)})"
    kept = "".join(f"y{i}, " for i in range(own))
    lines.append(f"return ({', '.join(total)}), ({left}wait - 1.0, {burnt}, {kept})")
    return function("thrusters(t, q, w, p, z)", lines, names)
