"""fit(...) -> Fit: the body, start and torque that measured rates and attitudes show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.body import Body
from polhode.compiler import announced_once
from polhode.fitting.data import Missing, measurements
from polhode.fitting.determined import undetermined
from polhode.fitting.fit_result import Fit
from polhode.fitting.least_squares import BestFit, ParameterSearch, anywhere, other_bodies, starts_of
from polhode.fitting.parameters import NaturalSizes, Parameters, Trial, parameters
from polhode.fitting.residuals import Observe, check_observed, observed
from polhode.fitting.start import attitude_at_start, largest_rate, rates_at_start
from polhode.fitting.trial_motions import ExactMotions, SteppedMotions, is_exact
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.torques import Torque, checked

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")

RTOL = 1e-9
"""The tolerance of motions under a torque: below the noise of all sensors, above the round-off of differences."""


@announced_once
def fit(
    body: Body,
    data: Any,
    *,
    free: str | Sequence[str] = ("moments", "omega"),
    torque: Torque | None = None,
    omega: Any = None,
    attitude: Any = None,
    state: Any = None,
    sigma_omega: Any = None,
    sigma_attitude: Any = None,
    observe: Observe | None = None,
    p: Any = (),
    prior: Mapping[str, tuple[float, float]] | None = None,
    missing: Missing = "raise",
    columns: Mapping[str, Any] | None = None,
    loss: str = "linear",
    loss_scale: float = 1.345,
    grow: bool = True,
    search: tuple[float, float] | None = None,
    draws: int = 20_000,
    seed: int = 0,
    rtol: float = RTOL,
) -> Fit:
    """Finds the body, the start and the torque whose motion is nearest to measured rates, attitudes, or anything else.

    The sum of squares of residuals, in standard deviations, is made least over the free parameters: on the exact
    motion of a free body, else on motions in steps with the tolerance `rtol`. What the data do not determine is said in
    `Fit.undetermined` and kept as in the guess.

    Parameters
    ----------
    body
        A guess of the body. Moments may be 30 % off.
    data
        A dictionary with `t` and `omega` (rows, 3), `attitude` (Rotations, quaternions or matrices), or both, with
        `sigma_omega` and `sigma_attitude` if they are known, and with `observe` `y` and `sigma_y`; a DataFrame or a CSV
        file with columns `time`, `omega_x`, ..., `quaternion_w`, ...; a `Solution`, or a file of one; what `read_aem`
        returns, or a file that it reads; or a list of these, for sensors with times of their own.
    free
        What is fitted: "moments", or "ratios" of them with the last one as in the guess, or "inertia", the whole
        tensor; "axes", the directions of principal axes; "rotor"; "omega" and "attitude" at the first time of the data;
        and numbers of the torque: "torque.coefficient", in a sum "torque.MagneticDipole.moment", in a function of your
        own "torque.p" or "torque.p[0]". Of what measures: "gyro.bias" in rad/s and "gyro.scale", of which the gyro
        shows `omega * (1 + scale) + bias`; "p" or "p[0]", the numbers of `observe`.
    torque
        The torque, with a guess of its numbers; without it the body is free.
    omega, attitude
        A guess of the start, or the start itself where it is not free. By default they are taken from the data.
    state
        The numbers that the torque carries, at the start, as in `simulate`.
    sigma_omega, sigma_attitude
        Standard deviations in rad/s and rad: one number, three, one for each row, or (rows, 3). By default they are
        estimated from the residuals.
    observe
        A function `f(t, attitude, omega, p)` of times, SciPy Rotations from body to space, rates in body axes (rows, 3)
        and its numbers, which returns what `y` of the data should be: (rows,) or (rows, numbers).
    p
        A guess of its numbers, which are free as "p".
    prior
        What is known besides the data: for names of parameters, a value and its standard deviation.
    missing
        "drop" fits what is there and leaves out NaN; "raise" refuses it.
    columns
        The columns of a table by what they hold, as in {"t": "seconds", "omega": ["p", "q", "r"]}.
    loss, loss_scale
        "soft_l1", "huber", "cauchy" or "arctan" let outliers count less, from this number of standard deviations on.
    grow
        Whether the fit begins with a short span, in which there is one minimum, and extends it.
    search
        The least and the greatest rate, in rad/s, if nothing is known of the start: it is sought among `draws` motions
        that are drawn by `seed`, with rates and attitudes in all directions. Where none of them leads to residuals of
        the size of noise, others are drawn, twice at most.
    draws, seed
        How many are drawn, and by what.
    rtol
        The tolerance of motions under a torque.

    Examples
    --------
    >>> t = np.linspace(0, 10, 60)
    >>> gyro = {"t": t, "omega": ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.3, 2, 0.1]).at(t).omega}
    >>> found = ph.fit(ph.Body([1, 1.9, 2.9]), gyro, free=["ratios", "omega"])
    >>> found.omega.round(6)
    array([0.3, 2. , 0.1])
    """
    if not isinstance(body, Body):
        raise TypeError(f"body must be a polhode.Body, a guess of it, such as Body([1, 2, 2.5]), not {body!r}")
    body.check_constant("a fit")
    acting = None if torque is None else checked(torque)
    checks.choice("loss", loss, LOSSES)
    scale = checks.number("loss_scale", loss_scale)
    if not scale > 0.0:
        raise ValueError(f"loss_scale must be positive, not {scale:g}")
    numbers = np.array(checks.row("p", p)) if np.size(p) else np.empty(0)
    wanted = parameters(free, body, acting, numbers)
    known_before = _prior(prior, wanted)
    known = measurements(
        data, sigma_omega=sigma_omega, sigma_attitude=sigma_attitude, missing=missing, columns=columns
    )  # fmt: skip
    if (observe is None) == bool(known.has_y.any()):
        raise ValueError("observe and y belong together: give the function that y should be, and y in the data")
    if known.numbers + len(known_before) < wanted.count:
        raise ValueError(
            f"{known.numbers} measured numbers cannot determine {wanted.count} parameters ({', '.join(wanted.names)}): "
            "free fewer, or measure longer"
        )
    given = None if omega is None else np.array(checks.vector("omega", omega))
    rate = largest_rate(known, given)
    omegas = rates_at_start(known, rate)
    if search is not None:
        least, greatest = checks.numbers("search", search, 2)
        if not 0.0 < least <= greatest:
            raise ValueError(f"search is the least and the greatest rate, both positive, not {search!r}")
        rate = math.sqrt(least * greatest)
        omegas = omegas or [np.array([0.0, 0.0, rate])]
    if given is None and not omegas:
        raise ValueError("these data show no rate: give omega=, a guess of it")
    q = attitude_at_start(known) if attitude is None else checks.quaternion("attitude", attitude)
    first = Trial(
        body, omegas[0] if given is None else given, np.array([1.0, 0.0, 0.0, 0.0]) if q is None else q, acting,
        p=numbers,
    )  # fmt: skip
    if observe is not None:
        observed(observe, known.t[:1], first.quaternion[None], first.omega[None], numbers, known.y.shape[1])
    span = float(known.t[-1] - known.t[0])
    natural = rate or (1.0 / span if span > 0.0 else 1.0)  # of a body at rest: a radian in all the time
    sizes = NaturalSizes(natural, natural * float(body.moments.max()))
    exact = is_exact(first, wanted)
    if acting is not None:
        acting.check_span(float(known.t[0]), float(known.t[-1]))
        acting.check_body(body)
    motions = ExactMotions() if exact else SteppedMotions(checks.number("rtol", rtol), state)
    looking = ParameterSearch(known, wanted, sizes, motions, loss, scale, grow, observe, known_before)
    if given is None and not wanted.has("omega"):
        raise ValueError("omega is not free, so it must be given: pass omega=, or free it")
    if attitude is None and known.has_attitude.any() and not wanted.has("attitude"):
        raise ValueError(
            "attitudes were measured, but attitude is not free, so that at the start must be given: pass attitude=, or "
            "free it (the first one that was measured has an error like all others)"
        )
    starts = starts_of(
        first, omegas, wanted, omega_given=given is not None, attitude_known=q is not None, observes=observe is not None
    )
    is_free = acting is None or not acting.depends
    others = other_bodies(known, first, wanted, is_free=is_free)
    if attitude is not None and wanted.has("attitude") and (seen := attitude_at_start(known)) is not None:
        starts += [replace(one, quaternion=seen) for one in starts]
    if search is not None:
        rng, count = np.random.default_rng(seed), checks.count("draws", draws)
        found = looking.from_anywhere(lambda: anywhere(first, wanted, (least, greatest), count, rng))
    else:
        found = looking(starts, others)
    check_observed(found.residuals, found.places["y"])
    return _result(found, looking, state=state, rtol=rtol, is_free=is_free)


def _prior(prior: Any, wanted: Parameters) -> list[tuple[int, float, float]]:
    """What is known before: the number of a parameter, its value and its standard deviation."""
    made = []
    for name, given in dict(prior or {}).items():
        names = [one for one in wanted.names if not one.startswith("attitude_")]
        k = wanted.names.index(checks.choice("free parameter", name, names))
        mean, sd = checks.numbers(f"prior[{name!r}]", given, 2)
        if not sd > 0.0:
            raise ValueError(f"prior[{name!r}] needs a positive standard deviation, not {sd:g}")
        made.append((k, mean, sd))
    return made


def _result(found: BestFit, search: ParameterSearch, *, state: Any, rtol: float, is_free: bool) -> Fit:
    """What was found in the units of the user, with its covariance."""
    wanted, trial, directions = search.parameters, found.trial, found.directions
    basis, slopes = directions.basis, wanted.slopes(trial)
    covariance = slopes @ basis @ _covariance(found, search, basis) @ basis.T @ slopes.T
    shadow = np.sqrt(np.sum(directions.null**2, axis=1))
    measured = {"omega": search.data.has_omega.any(), "attitude": search.data.has_attitude.any()}
    unknown = {"omega": search.data.sigma_omega is None, "attitude": search.data.sigma_attitude is None}
    return Fit(
        body=trial.body, omega=trial.omega, quaternion=trial.quaternion / np.linalg.norm(trial.quaternion),
        torque=trial.torque, t0=float(search.data.t[0]), names=wanted.names, units=wanted.units,
        values=wanted.values(trial), covariance=(covariance + covariance.T) / 2.0,
        undetermined=tuple(undetermined(directions, wanted, trial, is_free=is_free)), data=found.data,
        residuals=_in_units(found), chi2=float(found.residuals @ found.residuals),
        degrees_of_freedom=found.residuals.size - basis.shape[1],
        sigma_estimated=tuple(what for what in measured if measured[what] and unknown[what]), loss=search.loss,
        converged=found.converged, message=found.message, evaluations=found.evaluations, spans=tuple(found.spans),
        state=state, rtol=rtol, p=trial.p, _shadow=shadow,
        _null=slopes @ (directions.scales[:, None] * directions.null),
    )  # fmt: skip


def _covariance(found: BestFit, search: ParameterSearch, basis: Floats) -> Floats:
    """The covariance along the directions of the basis: (J^T J)^-1, or that of an M-estimate [huber1981]."""
    J, r = found.jacobian @ basis, found.residuals
    if basis.shape[1] == 0:
        return np.zeros((0, 0))
    size = np.linalg.norm(J, axis=0)
    J = J / size
    if search.loss == "linear":
        inner = np.linalg.inv(J.T @ J)
    else:
        slope, curvature = _loss_derivatives(r, search.loss, search.loss_scale)
        bread = np.linalg.inv((J.T * curvature) @ J)
        inner = bread @ ((J.T * slope**2) @ J) @ bread * r.size / max(1, r.size - J.shape[1])
    return np.asarray(inner / np.outer(size, size))


def _loss_derivatives(r: Floats, loss: str, scale: float) -> tuple[Floats, Floats]:
    """The first and second derivative, by r, of half the loss of each residual."""
    z = (r / scale) ** 2
    far = np.maximum(z, 1.0)
    one, two = {  # rho' and rho'' by z
        "soft_l1": ((1.0 + z) ** -0.5, -0.5 * (1.0 + z) ** -1.5),
        "huber": (far**-0.5, np.where(z <= 1.0, 0.0, -0.5 * far**-1.5)),
        "cauchy": (1.0 / (1.0 + z), -((1.0 + z) ** -2.0)),
        "arctan": (1.0 / (1.0 + z * z), -2.0 * z / (1.0 + z * z) ** 2),
    }[loss]  # fmt: skip
    return one * r, one + 2.0 * z * two


def _in_units(found: BestFit) -> dict[str, Floats]:
    """Data minus fit, with rows like the data and NaN where nothing was measured."""
    data, place = found.data, found.places
    assert data.sigma_omega is not None
    assert data.sigma_attitude is not None
    rates, turns = np.full(data.omega.shape, np.nan), np.full(data.omega.shape, np.nan)
    rates[data.has_omega] = -found.residuals[place["omega"]] * data.sigma_omega[data.has_omega]
    seen = data.has_attitude
    turns[seen] = -found.residuals[place["attitude"]].reshape(-1, 3) * data.sigma_attitude[seen]
    y = np.full(data.y.shape, np.nan)
    y[data.has_y] = -found.residuals[place["y"]] * data.sigma_y[data.has_y]
    return {"omega": rates, "attitude": turns, "y": y}
