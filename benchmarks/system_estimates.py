"""Do the errors of systems stay below their estimates? `python -m benchmarks.system_estimates [draws] [first seed]`.

Draws pairs of dipoles, three bodies with charges that meet closely, and tumbling satellites on eccentric orbits, with
tolerances from 1e-4 to 1e-14. The truth is heyoka's, in numbers of 80 bits. Motions whose error is above a hundredth
are chaos, and are left out.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import heyoka as hy
import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph
from benchmarks import taylor_systems as taylor
from benchmarks.systems import AXIS, dipole_potential, dipoles
from polhode.systems.tolerance import centre_of

Long = np.longdouble
SITES = [ph.systems.Site((0.4, 0.0, 0.1), 0.8), ph.systems.Site((-0.3, 0.2, 0.0), -0.5)]
CHAOS = 1e-2
KINDS = ("dipoles", "charges", "satellite")


def charged(r: float, a: Any, b: Any) -> Any:
    """Charges with a hard core."""
    return 0.1 / r**9 + a[0] * b[0] / r


def charged_potential(x: Any, q: Any) -> Any:
    """The same for heyoka."""
    places = [[[x[i][k] + taylor.rotated(q[i], s.position)[k] for k in range(3)] for s in SITES] for i in range(len(x))]
    total: Any = 0.0
    for i in range(len(x)):
        for j in range(i):
            for a, s in zip(places[i], SITES, strict=True):
                for b, o in zip(places[j], SITES, strict=True):
                    d = [a[k] - b[k] for k in range(3)]
                    r = hy.sqrt(taylor.dot(d, d))
                    total = total + 0.1 / r**9.0 + s.numbers[0] * o.numbers[0] / r
    return total


def satellite_potential(x: Any, q: Any) -> Any:
    """A body about a unit mass, to second order; its moments are parameters."""
    i, j, k = hy.par[4], hy.par[5], hy.par[6]
    a, b, c, d = q[0]
    e, r2 = taylor.rotated((a, -b, -c, -d), x[0]), taylor.dot(x[0], x[0])
    along = (i * e[0] * e[0] + j * e[1] * e[1] + k * e[2] * e[2]) / r2
    return -1.0 / hy.sqrt(r2) - 0.5 * (i + j + k - 3.0 * along) / r2**1.5


class Truth:
    """heyoka's integrator of one kind of problem, with masses and moments as parameters: it is compiled once."""

    def __init__(self, bodies: int, potential: Callable[[Any, Any], Any], extra: int = 0) -> None:
        used = iter(range(4 * bodies))
        system = ph.System(ph.Body([1.0, 1.0, 1.0]), mass=1.0, position=np.arange(3.0 * bodies).reshape(bodies, 3))
        equations = taylor.equations(system, potential, lambda y: hy.par[next(used)])
        self.bodies = bodies
        self.integrator = hy.taylor_adaptive(
            equations, np.zeros(13 * bodies, dtype=Long), fp_type=Long, tol=Long(1e-18), compact_mode=True,
            pars=np.zeros(4 * bodies + extra, dtype=Long),
        )  # fmt: skip

    def rows(self, system: ph.System, times: Any, extra: Sequence[float] = ()) -> Any:
        """Returns the states of all bodies at these times."""
        pars = [x for m, b in zip(system.mass, system.bodies, strict=True) for x in (m, *b.moments)]
        self.integrator.pars[:] = np.array([*pars, *extra], dtype=Long)
        self.integrator.time = Long(0)
        self.integrator.state[:] = np.array(taylor.state_of(system), dtype=Long)
        out = self.integrator.propagate_grid(np.array([0.0, *times], dtype=Long))[-1]
        return np.array(out)[1:].reshape(len(times), self.bodies, 13)


def drawn_body(draw: Any) -> ph.Body:
    """Returns a body of any shape."""
    a, b = draw.uniform(0.3, 2.0, 2)
    return ph.Body([a, b, draw.uniform(abs(a - b) * 1.05 + 0.02, a + b)])


def problem(kind: str, seed: int) -> tuple[ph.System, Any, float, float]:
    """Returns a system, its forces, the span and the tolerance."""
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    forces: Any
    if kind == "dipoles":
        system = ph.System(
            [drawn_body(draw), drawn_body(draw)], mass=draw.uniform(0.5, 2, 2),
            position=np.array([np.zeros(3), draw.normal(size=3) / 2 + [draw.uniform(1.6, 6), 0, 0]]),
            velocity=0.2 * draw.normal(size=(2, 3)), omega=10 ** draw.uniform(-1, 1) * draw.normal(size=(2, 3)),
            attitude=Rotation.random(2, rng=draw),
        )  # fmt: skip
        forces = ph.pairs(dipoles, [ph.systems.Site(axis=AXIS)])
    elif kind == "charges":
        corners = np.array([[0.0, 0.0, 0.0], [2.2, 0.0, 0.0], [0.5, 2.2, 0.0]])
        system = ph.System(
            [drawn_body(draw) for _ in range(3)], mass=draw.uniform(0.5, 2, 3),
            position=corners + 0.2 * draw.normal(size=(3, 3)), velocity=0.3 * draw.normal(size=(3, 3)),
            omega=10 ** draw.uniform(-1, 0.5) * draw.normal(size=(3, 3)), attitude=Rotation.random(3, rng=draw),
        )  # fmt: skip
        forces = ph.pairs(charged, SITES)
    else:
        e = draw.uniform(0, 0.85)
        system = ph.System(
            ph.Body(np.sort(draw.uniform(0.5, 1.0, 3)) * 10 ** draw.uniform(-4, -2)), mass=1.0,
            position=[[1 - e, 0, 0]], velocity=[[0, math.sqrt((1 + e) / (1 - e)), 0.02]],
            omega=draw.normal(size=(1, 3)), attitude=Rotation.random(1, rng=draw),
        )  # fmt: skip
        forces = ph.systems.CentralBody(1.0)
    rtol = 10 ** draw.uniform(-13.5, -4) if draw.random() < 0.85 else 1e-14
    return system, forces, float(10 ** draw.uniform(0.3, 1.7)), float(rtol)


def error_of(s: Any, truth: Any) -> float:
    """Returns the error as `simulate_system` states it."""
    system = s.system
    centre = centre_of(system, s.forces)
    moments = np.array([b.moments for b in system.bodies])
    x, q, v, w = truth[..., :3], truth[..., 3:7], truth[..., 7:10], truth[..., 10:] / moments
    p = s.quaternion * np.where((s.quaternion * q).sum(axis=-1) < 0, -1, 1)[..., None]
    return max(
        longest(s.position - x) / max(longest(x - centre), longest(system.position - centre)),
        longest(s.velocity - v) / max(longest(v), longest(system.velocity)),
        longest(s.omega - w) / max(longest(w), longest(system.omega)),
        2 * longest(p - q),
    )


def longest(v: Any) -> float:
    """Returns the length of the longest of these vectors."""
    return float(np.sqrt((v * v).sum(axis=-1)).max())


def main(arguments: Sequence[str]) -> None:
    """Draws problems of each kind and counts."""
    warnings.simplefilter("ignore", ph.ToleranceNotReached)
    draws, first = int(arguments[0]) if arguments else 100, int(arguments[1]) if len(arguments) > 1 else 0
    truths = {
        "dipoles": Truth(2, dipole_potential),
        "charges": Truth(3, charged_potential),
        "satellite": Truth(1, satellite_potential, 3),
    }
    for kind, truth in truths.items():
        ratios, low, evaluations = [], [], 0
        for seed in range(first, first + draws):
            system, forces, span, rtol = problem(kind, seed)
            times = np.linspace(0, span, 6)[1:]
            s = ph.simulate_system(system, forces, t_span=(0, span), rtol=rtol, t_eval=times)
            extra = system.bodies[0].moments.tolist() if kind == "satellite" else ()
            error, estimate = error_of(s, truth.rows(system, times, extra)), float(s.error_estimate or 0.0)
            if error > CHAOS:
                continue
            ratios.append(estimate / max(error, 1e-17))
            evaluations += s.nfev
            if error > estimate:
                low.append(f"seed {seed} rtol {rtol:.0e} error {error:.1e} estimate {estimate:.1e}")
        print(
            f"{kind}: {len(ratios) - len(low)} of {len(ratios)} estimates hold, median {np.median(ratios):.0f} times "
            f"the error, {evaluations:,} evaluations",
            *low, sep="\n  ", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
