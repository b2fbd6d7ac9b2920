"""Calls that share a process, and the same calls in processes of their own: prints what differs, as JSON.

A process of its own is a fork of this one, in which nothing was computed yet: it costs milliseconds.
"""

import gc
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba  # noqa: F401  (what is imported here need not be imported by every process)
import numpy as np

import polhode as ph
from polhode.methods import find
from polhode.torques import Torque

find("MR2"), ph.simulate, ph.prepare, ph.ensemble, ph.Stepper  # these are imported when they are wanted
Call = Callable[[], Any]
Found = dict[str, str]

A, EQUAL, OTHER = ph.Body([1, 1.1, 2]), ph.Body([1, 1.1, 2]), ph.Body([1, 1.2, 2])
TILTED = ph.Body([[1.2, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 2.0]])
GYROSTAT, SYMMETRIC = ph.Body([1, 1.1, 2], rotor=[0.1, 0.0, 0.2]), ph.Body([2, 2, 1])
TOP = ph.HeavyTop(2)
START = {"omega": [0.1, 2.0, 0.3], "t_span": (0.0, 4.0)}
FACTOR = 1.0


def reads_global(t: float, q: Any, w: Any, p: Any) -> Any:
    return (FACTOR * p[0] * q[1], 0.0, p[1])


def reading(factor: float) -> Torque:
    def torque(t: float, q: Any, w: Any, p: Any) -> Any:
        return (factor * p[0] * q[1], 0.0, p[1])

    return ph.torque(torque, parameters=[0.3, 0.1])


def lags(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    return (-z[0], 0.0, 0.0), (p[0] * (w[0] - z[0]),)


def jumps(t: float, q: Any, w: Any, p: Any) -> Any:
    return (p[0] if t < p[1] else 0.0, 0.0, 0.0)


def jumping_at(time: float) -> Torque:
    return ph.torque(jumps, parameters=[0.2, time], breakpoints=[time])


def simulated(**given: Any) -> Call:
    return lambda: ph.simulate(given["body"], **{k: v for k, v in given.items() if k != "body"})


def with_factor(factor: float, **given: Any) -> Call:
    """The same function reads another value of the same global variable."""

    def call() -> Any:
        global FACTOR
        FACTOR = factor
        return simulated(**given, torque=OWN)()

    return call


def pulse(height: float, width: float) -> Call:
    """A table that is freed after its run, so that the next one may get its memory."""

    def call() -> Any:
        t = np.linspace(0.0, 10.0, 41)
        rows = np.stack([height * np.exp(-(((t - 5.0) / width) ** 2)), 0.01 + 0.0 * t, 0.0 * t], axis=1)
        return ph.simulate(A, ph.Table(t, rows), omega=[0.1, 2, 0.3], t_span=(0, 10), rtol=1e-6, t_eval=[10.0])

    return call


def prepared(omega: Any, parameters: Any = None, **given: Any) -> Call:
    def call() -> Any:
        body, torque = given["body"], given.get("torque")
        rest = {k: v for k, v in given.items() if k not in ("body", "torque", "omega")}
        first = ph.prepare(body, torque, **rest)
        first([0.2, 0.1, 1.0])
        return first(omega, parameters=parameters)

    return call


def several(omegas: Any, **given: Any) -> Call:
    rest = {k: v for k, v in given.items() if k not in ("body", "omega")}
    return lambda: ph.ensemble(given["body"], omega=omegas, threads=1, **rest)


def resumed(t_end: float, **given: Any) -> Call:
    return lambda: ph.resume(simulated(**given)(), t_end=t_end)


def stepped(n: int, **given: Any) -> Call:
    def call() -> Any:
        stepper = ph.Stepper(given["body"], given["torque"], omega=given["omega"], method=given["method"], step=0.05)
        stepper.step(n)
        return {"quaternion": stepper.quaternion, "momentum": stepper.momentum, "t": stepper.t}

    return call


def option(value: Any) -> Call:
    return lambda: {"name": find("G8").replace(compensated=value).name}


def varied(base: dict[str, Any], **others: list[Any]) -> dict[str, Call]:
    """Returns the call with these arguments, and those that differ from it in one."""
    found = {"as it is": simulated(**base)}
    for name, values in others.items():
        found |= {f"{name} {k}: {value!r}": simulated(**(base | {name: value})) for k, value in enumerate(values)}
    return found


OWN = ph.torque(reads_global, parameters=[0.3, 0.1])
LAG = ph.torque(lags, parameters=[0.5], state=["lag"])
SS: dict[str, Any] = {"body": A, **START, "method": "SS", "step": 0.05}
MR2: dict[str, Any] = {"body": A, "torque": TOP, **START, "method": "MR2", "step": 0.05}
STRANG: dict[str, Any] = {"body": A, "torque": TOP, **START, "method": "Strang", "step": 0.05}
RTOL: dict[str, Any] = {"body": A, "torque": TOP, **START, "rtol": 1e-6}

GROUPS: dict[str, Callable[[], dict[str, Call]]] = {
    "methods of one program": lambda: varied(SS, method=["SSh", "LS"], torque=[TOP], step=[0.1], t_eval=[[1.0, 2.05]])
    | {f"SSh under {torque}": simulated(**SS | {"method": "SSh"}, torque=torque) for torque in (TOP, ph.HeavyTop(3))},
    "steps": lambda: varied(
        MR2, body=[EQUAL, OTHER, TILTED, GYROSTAT], torque=[ph.HeavyTop(3), ph.HeavyTop(2, down=(0.0, 1.0, 0.0)), None],
        omega=[[0.1, 2.1, 0.3], [9.0, 20.0, 3.0]], attitude=[[0.6, 0.8, 0, 0], [0.8, 0.6, 0, 0]],
        t_span=[(0.0, 5.0), (1.0, 5.0), (0.0, -4.0), (-4.0, 0.0), (-4.0, -0.0)], step=[0.1, 0.0501], every=[2, 3],
        t_eval=[[1.0, 2.0], [1.0, 3.0]], method=["MR2(axes=231)"],
    ),
    "sizes": lambda: varied(
        STRANG, body=[EQUAL, OTHER, SYMMETRIC], omega=[[0.1, 2.1, 0.3], [9.0, 20.0, 3.0]], step=[0.1, 0.5],
        torque=[ph.HeavyTop(50)],
    ),
    "torques of one's own": lambda: varied(
        MR2 | {"torque": OWN}, torque=[
            ph.torque(reads_global, parameters=[0.4, 0.1]), ph.torque(reads_global, parameters=[0.3, -0.0]),
            reading(1.0), reading(2.0), jumping_at(1.0), jumping_at(2.01),
        ],
    ) | {
        "a global of 2": with_factor(2.0, **{k: v for k, v in MR2.items() if k != "torque"}),
        "a global of 1": with_factor(1.0, **{k: v for k, v in MR2.items() if k != "torque"}),
        "rtol": simulated(**RTOL | {"torque": OWN}),
        "rtol, a global of 2": with_factor(2.0, **{k: v for k, v in RTOL.items() if k != "torque"}),
        "rtol, other values": simulated(**RTOL | {"torque": ph.torque(reads_global, parameters=[0.4, 0.1])}),
    },
    "states": lambda: varied(
        {"body": A, "torque": LAG, **START, "method": "RK4", "step": 0.05, "state": [0.1]}, state=[[0.2], [-0.1]],
        torque=[ph.torque(lags, parameters=[0.6], state=["lag"]), ph.torque(lags, parameters=[0.5], state=["other"])],
    ),
    "tolerances": lambda: varied(
        RTOL, body=[EQUAL, OTHER, SYMMETRIC], torque=[ph.HeavyTop(3), None], rtol=[1e-5, 1e-8], t_span=[(0.0, 5.0)],
        omega=[[0.1, 2.1, 0.3]], t_eval=[[1.0, 4.0], [2.0, 4.0]], every=[2], method=["Strang"],
    ) | {"low pulse": pulse(0.01, 1.0), "high pulse": pulse(5.0, 0.3), "broad pulse": pulse(0.5, 3.0)},
    "ways to run": lambda: {
        "simulate": simulated(**MR2), "simulate own": simulated(**MR2 | {"torque": OWN}),
        "prepare": prepared(**MR2), "prepare, other start": prepared(**MR2 | {"omega": [0.1, 2.1, 0.3]}),
        "prepare Strang": prepared(**STRANG), "prepare Strang, fast": prepared(**STRANG | {"omega": [9.0, 20.0, 3.0]}),
        "prepare own": prepared(**MR2 | {"torque": OWN}),
        "prepare own, other values": prepared(**MR2 | {"torque": OWN}, parameters=[0.4, 0.1]),
        "prepare SSh": prepared(**SS | {"method": "SSh"}), "prepare SS": prepared(**SS), "SS": simulated(**SS),
        "ensemble": several([[0.1, 2.0, 0.3], [0.1, 2.1, 0.3]], **MR2),
        "ensemble, rtol": several([[0.1, 2.0, 0.3], [0.1, 2.1, 0.3]], **RTOL),
        "ensemble, other torque": several([[0.1, 2.0, 0.3]] * 2, **MR2 | {"torque": ph.HeavyTop(3)}),
        "resume": resumed(6.0, **MR2), "resume SSh": resumed(6.0, **SS | {"method": "SSh"}),
        "resume SS": resumed(6.0, **SS), "resume rtol": resumed(6.0, **RTOL),
        "Stepper": stepped(80, **MR2), "Stepper own": stepped(80, **MR2 | {"torque": OWN}),
        "true": option(True), "one": option(1),
    },
}  # fmt: skip


def bits(x: Any) -> str:
    """Returns a text that no other value has."""
    if isinstance(x, np.ndarray | float | int) and not isinstance(x, bool):
        x = (np.shape(x), np.asarray(x).dtype.str, np.asarray(x).tobytes())
    return hashlib.sha256(repr(x).encode()).hexdigest()


def told(call: Call) -> Found:
    """Returns all that a call says, except how long it took."""
    global FACTOR
    FACTOR = 1.0
    try:
        found = call()
    except Exception as raised:
        return {"raised": f"{type(raised).__name__}: {raised}"}
    if isinstance(found, dict):
        return {name: bits(value) for name, value in found.items()}
    names = ["t", "quaternion", "momentum", "state", "last_quaternion", "last_momentum", "last_state", "memory"]
    names += ["t_last", "message", "messages", "error_estimate", "status"]
    seen = {name: bits(getattr(found, name)) for name in names if hasattr(found, name)}
    if isinstance(found, ph.Solution):
        seen |= {"method": found.plan.method.name, "step": bits(found.plan.step)}
        seen |= {"steps": str(found.stats.steps), "nfev": str(found.stats.nfev)}
    return seen


def apart(calls: list[Call]) -> list[Found]:
    """Makes calls, one after the other, in a process in which nothing was computed before."""
    reading_end, writing_end = os.pipe()
    if (child := os.fork()) == 0:
        try:
            found = []
            for call in calls:
                found.append(told(call))
                gc.collect()  # memory of what is gone may be used again
            with os.fdopen(writing_end, "w") as pipe:
                json.dump(found, pipe)
        finally:
            os._exit(0)
    os.close(writing_end)
    with os.fdopen(reading_end) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found = json.loads(text)
    assert len(found) == len(calls)
    return found  # type: ignore[no-any-return]


def differences(calls: dict[str, Call]) -> Iterator[str]:
    """Yields which calls differ from the same ones in processes of their own, and in what.

    Of two calls each follows the other in one of two rows.
    """
    alone = {name: apart([call])[0] for name, call in calls.items()}
    for row in ([*calls], [*reversed(calls)]):
        for k, (name, found) in enumerate(zip(row, apart([calls[name] for name in row]), strict=True)):
            if wrong := [key for key in {**found, **alone[name]} if found.get(key) != alone[name].get(key)]:
                yield f"{name} after {', '.join(row[:k])}: {', '.join(wrong)}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    gc.freeze()  # processes made from this one need not look through what it has imported
    told_of = {}
    for group in sys.argv[1:]:
        wanted = GROUPS[group]()
        told_of[group] = {"calls": len(wanted), "differences": list(differences(wanted))}
    print(json.dumps(told_of))
