"""The bits of a fixed sample of answers, one line each: `python -m benchmarks.bits > before.txt`.

A change that must not change results (moved code, other names) is checked by running this before and after it and
comparing the two files. Only public names are used, so that the script runs on any version. Numbers that the search
for a tolerance chooses (`rtol`) have lines of their own, because a better search may change them.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import polhode as ph
from polhode.methods import catalogue

EXAMPLES = Path(__file__).parents[1] / "examples"
BODY = ph.Body([1.0, 1.75, 2.5])
TILTED = ph.Body(np.array([[2.0, 0.2, 0.1], [0.2, 2.5, -0.3], [0.1, -0.3, 3.0]]))
SYMMETRIC = ph.Body([5.0, 5.0, 1.0])
OMEGA, ATTITUDE = [0.7, -0.4, 1.1], [0.9, 0.1, -0.3, 0.2]


@ph.torque(parameters=[0.3, 0.2])
def driven(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is a torque that depends on time, attitude and rate."""
    x, y, z = ph.to_body(q, (0.0, 0.0, p[0]))
    return (x - p[1] * w[0], y + 0.1 * t, z - p[1] * w[2])


TORQUES: dict[str, Any] = {
    "free": None,
    "weight": ph.HeavyTop(0.4, point=(0.1, -0.2, 0.5)),
    "sinusoidal": ph.SinusoidalTorque(amplitude=(0.1, 0.2, 0.05), angular_frequency=2.0, phase=0.3),
    "driven": driven,
}
COMPILED = (
    "MR2", "Strang", "Exact", "ExactPolished", "RK4", "DOP853", "G4", "G8", "G8(comoving=true)", "HLR", "DMV4", "NMB",
    "KL6", "A10", "TakahashiImada", "Strang(corrector=17)", "ABA1064", "SABA8", "RKMK4", "LS", "IMR",
)  # fmt: skip
"""One method of each kind of scheme; the others run in plain Python, by the same kernels and the same loop."""
RTOL = {
    "weak": (BODY, ph.HeavyTop(1e-4, point=(0.1, -0.2, 0.5))),
    "medium": (BODY, ph.HeavyTop(2e-2)),
    "strong": (TILTED, ph.HeavyTop(3.0)),
    "symmetric": (SYMMETRIC, ph.HeavyTop(0.5)),
    "gradient": (BODY, ph.GravityGradient(strength=0.05, direction=(0, 0, 1))),
    "driven": (BODY, driven),
    "free": (BODY, None),
}


@contextmanager
def interpreted() -> Iterator[None]:
    """Runs kernels in plain Python."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    try:
        yield
    finally:
        del os.environ["NUMBA_DISABLE_JIT"]


def show(name: str, make: Callable[..., Any], *given: Any, **options: Any) -> None:
    """Prints one line: the name and the digest of every number that a user would see."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make(*given, **options)
    except (ArithmeticError, ValueError) as problem:
        print(f"{name:60} {type(problem).__name__}", flush=True)
        return
    parts = [np.ascontiguousarray(x).tobytes() for x in (made.t, made.quaternion, made.momentum)]
    for what in ("status", "t_last", "last_quaternion", "last_momentum", "error_estimate"):
        value = getattr(made, what, None)
        parts.append(b"None" if value is None else np.ascontiguousarray(value, dtype=float).tobytes())
    for event in getattr(made, "events", ()):
        parts += [event.t.tobytes(), event.quaternion.tobytes()]
    print(f"{name:60} {hashlib.sha256(b'|'.join(parts)).hexdigest()[:24]}", flush=True)


def main() -> None:
    """Prints all lines."""
    start: dict[str, Any] = {"omega": OMEGA, "attitude": ATTITUDE}
    for name, torque in TORQUES.items():
        for method in catalogue():
            with interpreted():
                show(
                    f"plain {method} {name}", ph.simulate, BODY, torque, **start, method=method, t_span=(0, 1), step=0.1
                )
    listed: dict[str, Any] = {"t_span": (0, 20), "step": 0.05, "t_eval": [0.0, 1.0, 7.77, 20.0]}
    for name, torque in TORQUES.items():
        for method in COMPILED:
            body = SYMMETRIC if "comoving" in method else TILTED if method in ("RK4", "DOP853", "MR2") else BODY
            show(f"compiled {method} {name}", ph.simulate, body, torque, **start, **listed, method=method)
    top, rates = ph.HeavyTop(0.4), np.random.default_rng(1).normal(size=(70, 3))
    for method in ("MR2", "Strang", "DOP853", "G8", "RK4"):
        listed = {"t_span": (0, 10), "step": 0.05, "t_eval": [0, 3.3, 10]}
        show(f"ensemble {method}", ph.ensemble, BODY, top, omega=rates, method=method, **listed)
    strang: dict[str, Any] = {"omega": OMEGA, "method": "Strang", "step": 0.05}
    whole = ph.simulate(BODY, top, t_span=(0, 5), **strang)
    show("resume", ph.resume, whole, 9.0)
    show("at", whole.at, [0.123, 4.9])
    show("events", ph.simulate, BODY, top, t_span=(0, 20), **strang, events=lambda t, q, w: w[0])
    show("free motion", ph.FreeMotion(BODY, omega=OMEGA).at, [1.0, 1e3, 1e9])
    listed = {"t_span": (0, 40), "t_eval": np.linspace(0, 40, 9)}
    for name, (body, torque) in RTOL.items():
        for rtol in (1e-4, 1e-7, 1e-10):
            show(f"rtol {rtol:g} {name}", ph.simulate, body, torque, omega=OMEGA, rtol=rtol, **listed)
            show(f"rtol ensemble {rtol:g} {name}", ph.ensemble, body, torque, omega=rates, rtol=rtol, **listed)
    for path in sorted(EXAMPLES.glob("*.toml")):
        with tempfile.TemporaryDirectory() as folder:
            command = [str(Path(sys.executable).with_name("polhode")), "run", str(path), "--out", folder]
            subprocess.run(command, check=True, capture_output=True)
            for made in sorted(Path(folder).glob("*.nc")):
                show(f"example {made.name}", ph.load, made)


if __name__ == "__main__":
    main()
