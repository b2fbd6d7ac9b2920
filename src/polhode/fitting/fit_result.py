"""Fit: what a fit found, how well it is known, and what the data do not say."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.api.simulate import simulate
from polhode.body import Body
from polhode.fitting.data import Measurements
from polhode.fitting.determined import Undetermined
from polhode.free.free_motion import FreeMotion
from polhode.solution import Solution
from polhode.support.arrays import Floats
from polhode.support.extras import needed
from polhode.torques import Torque

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure
    from pandas import DataFrame
    from scipy.spatial.transform import Rotation

UNNOTICED = 0.02
"""A ratio that changes by more than this fraction along an undetermined direction is not determined itself."""
LARGE_CHI2 = 1.5
"""A reduced chi-square above this is remarked upon: the model or the standard deviations are not those of the data."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A body, its start and its torque, fitted to measurements. It prints as a table.

    Examples
    --------
    >>> t = np.linspace(0, 10, 60)
    >>> truth = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.3, 2, 0.1])
    >>> found = ph.fit(ph.Body([1, 1.9, 2.9]), {"t": t, "omega": truth.at(t).omega}, free=["ratios", "omega"])
    >>> found.names
    ('I_x/I_z', 'I_y/I_z', 'omega_x', 'omega_y', 'omega_z')
    >>> (found.body.moments / found.body.moments[0]).round(6)
    array([1. , 2. , 2.8])
    """

    body: Body
    """The body that fits best."""
    omega: Floats
    """The rate at `t0`, in body axes, rad/s."""
    quaternion: Floats
    """The attitude at `t0`, from body to space axes, scalar first."""
    torque: Torque | None
    """The torque that fits best; None: the body is free."""
    t0: float
    """The time of the start: that of the first data."""
    names: tuple[str, ...]
    """The names of the free parameters."""
    units: tuple[str, ...]
    """Their units; empty where they are not known."""
    values: Floats
    """Their values. Those of an attitude are zero: its errors are small turns from it about the space axes. Those of
    `axes` are the turn from the principal axes of the guess, about body axes."""
    covariance: Floats
    """Their covariance, in their units. What is undetermined is taken to be as in the guess."""
    undetermined: tuple[Undetermined, ...]
    """What the data do not determine; empty: they determine all."""
    data: Measurements
    """What was fitted, with the standard deviations that were used."""
    residuals: dict[str, Floats]
    """Data minus fit: "omega" in rad/s, "attitude" as small turns about body axes in rad, each (rows, 3), and "y" as
    observed, (rows, numbers); NaN where nothing was measured."""
    chi2: float
    """The sum of the squares of residuals in standard deviations."""
    degrees_of_freedom: int
    """The number of data minus the number of parameters that they determine."""
    sigma_estimated: tuple[str, ...]
    """Which standard deviations were estimated from the residuals: "omega", "attitude"."""
    loss: str
    converged: bool
    """Whether the search came to its end."""
    message: str
    """How the search ended."""
    evaluations: int
    """How many motions were computed."""
    spans: tuple[float, ...]
    """The ends of the spans that were fitted one after the other, in s."""
    state: Any = None
    """The numbers that the torque carries, at `t0`, if it carries any and they were given."""
    rtol: float = 1e-9
    p: Floats = field(default_factory=lambda: np.empty(0))
    """The numbers of the function that was observed."""
    _shadow: Floats = field(default_factory=lambda: np.empty(0))
    """How much of each parameter is undetermined, from 0 to 1."""
    _null: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Changes of the parameters that the data do not notice, of natural size and in their units: columns."""

    # --- numbers

    @property
    def reduced_chi2(self) -> float:
        """Chi-square for each degree of freedom: about one, if model and standard deviations are right."""
        return self.chi2 / self.degrees_of_freedom if self.degrees_of_freedom > 0 else float("nan")

    @property
    def standard_errors(self) -> Floats:
        """The standard errors of the parameters, in their units; NaN for one that is not determined at all."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.where(self._shadow > 0.99, np.nan, errors)

    @property
    def correlation(self) -> Floats:
        """The correlations of the parameters; NaN for one that is not determined at all."""
        errors = np.sqrt(np.diag(self.covariance))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.covariance / np.outer(errors, errors))

    def __getitem__(self, name: str) -> tuple[float, float]:
        """The value and the standard error of a parameter, by its name."""
        from polhode.support import checks

        k = self.names.index(checks.choice("parameter of this fit", name, self.names))
        return float(self.values[k]), float(self.standard_errors[k])

    @cached_property
    def ratios(self) -> dict[str, tuple[float, float]]:
        """Ratios of moments with their standard errors, if moments were fitted; they need no scale."""
        places = [k for k, name in enumerate(self.names) if name in ("I_x", "I_y", "I_z", "I_1", "I_2", "I_3")]
        if len(places) != 3:
            return {}
        third, made = places[2], {}
        for k in places[:2]:
            slope = np.zeros(len(self.names))
            ratio = self.values[k] / self.values[third]
            slope[k], slope[third] = ratio / self.values[k], -ratio / self.values[third]
            made[f"{self.names[k]}/{self.names[third]}"] = (float(ratio), self._error_of(slope, ratio))
        return made

    @cached_property
    def principal_moments(self) -> dict[str, tuple[float, float]]:
        """The principal moments with their standard errors, in kg m^2, if the whole tensor was fitted."""
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        names = [f"I_{'xyz'[i]}{'xyz'[j]}" for i, j in pairs]
        if not set(names) <= set(self.names):
            return {}
        places = [self.names.index(name) for name in names]
        moments, axes = np.linalg.eigh(self.body.tensor)
        made = {}
        for k in range(3):
            # A moment changes by a . dI a, with a its axis.
            slope = np.zeros(len(self.names))
            slope[places] = [axes[i, k] * axes[j, k] * (1.0 if i == j else 2.0) for i, j in pairs]
            made[f"I_{k + 1}"] = (float(moments[k]), math.sqrt(max(0.0, float(slope @ self.covariance @ slope))))
        return made

    def _error_of(self, slope: Floats, value: float) -> float:
        """The standard error of a number with this gradient; NaN if it moves with what is undetermined."""
        if np.abs(slope @ self._null).max(initial=0.0) > UNNOTICED * abs(value):
            return math.nan
        return math.sqrt(max(0.0, float(slope @ self.covariance @ slope)))

    # --- motions

    @cached_property
    def attitude(self) -> Rotation:
        """The attitude at `t0`, from body to space axes."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion, scalar_first=True)

    @cached_property
    def motion(self) -> FreeMotion:
        """The exact motion that was fitted, of a free body; under a torque there is `solution`."""
        if self.torque is not None and self.torque.depends:
            raise ValueError(
                f"{self.torque.name} acts on the body: take `solution`, the motion at the times of the data"
            )
        return FreeMotion(self.body, self.omega, self.quaternion, t0=self.t0)

    @cached_property
    def solution(self) -> Solution:
        """The motion that was fitted, with rows at the times of the data; `solution.at(t)` has other times."""
        return self._solution(np.unique(self.data.t))

    def _solution(self, t: Floats) -> Solution:
        return simulate(
            self.body, self.torque, omega=self.omega, attitude=self.quaternion, t_span=(float(t[0]), float(t[-1])),
            t_eval=t, rtol=self.rtol, state=self.state,
        )  # fmt: skip

    # --- views

    def to_dataframe(self) -> DataFrame:
        """A table with one row for each parameter: value, standard error and unit."""
        pandas = needed("pandas", "a DataFrame needs")
        made: DataFrame = pandas.DataFrame(
            {"value": self.values, "standard_error": self.standard_errors, "unit": self.units}, index=list(self.names)
        )
        return made

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws data and fit over time, with the residuals below; saves the picture if a path is given."""
        from polhode.plots.plot import finished
        from polhode.plots.plot_fit import draw

        return finished(draw(self), path)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _lines(self) -> list[str]:
        acting = "a free body" if self.torque is None or not self.torque.depends else f"a body under {self.torque.name}"
        lines = [f"Fit of {acting} to {self._counted()}, from t = {self.t0:.6g} to {self.data.t[-1]:.6g} s", ""]
        rows = [("parameter", "value", "standard error", "unit")]
        marked = False
        errors = self.standard_errors
        for k, name in enumerate(self.names):
            is_turn = name.startswith("attitude_")
            part = 1e-3 < self._shadow[k] <= 0.99
            marked |= part
            error = "not determined" if np.isnan(errors[k]) else f"{errors[k]:.2g}{' *' if part else ''}"
            rows.append((name, "" if is_turn else _rounded(self.values[k], errors[k]), error, self.units[k]))
        for name, (value, error_of_it) in (self.ratios | self.principal_moments).items():
            shown = "not determined" if np.isnan(error_of_it) else f"{error_of_it:.2g}"
            rows.append((name, _rounded(value, error_of_it), shown, "1" if "/" in name else "kg m2"))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines += [
            ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
            for row in rows
        ]
        if marked:
            lines.append("  * with what is not determined as in the guess")
        if any(name.startswith("attitude_") for name in self.names):
            q = ", ".join(f"{x:.9g}" for x in self.quaternion)
            lines += ["", f"  attitude: quaternion ({q}), scalar first; its errors are turns about space axes"]
        lines += ["", *self._quality()]
        if self.undetermined:
            lines += ["", "Not determined by these data:", *(f"  {one.text}" for one in self.undetermined)]
        return lines

    def _counted(self) -> str:
        rates = int(np.count_nonzero(self.data.has_omega.any(axis=1)))
        attitudes = int(np.count_nonzero(self.data.has_attitude))
        known = ((rates, "rates"), (attitudes, "attitudes"), (int(self.data.has_y.sum()), "numbers observed"))
        counted = [f"{n} {what}" for n, what in known if n]
        return " and ".join(counted)

    def _quality(self) -> list[str]:
        lines = []
        for what, sigma, unit in (
            ("omega", self.data.sigma_omega, "rad/s"), ("attitude", self.data.sigma_attitude, "rad"),
            ("y", self.data.sigma_y, ""),
        ):  # fmt: skip
            if np.isfinite(self.residuals[what]).any() and sigma is not None:
                how = "estimated from the residuals" if what in self.sigma_estimated else "given"
                lines.append(f"Standard deviation of {what}: {f'{np.nanmedian(sigma):.3g} {unit}'.strip()}, {how}.")
        if not self.sigma_estimated:
            reduced = "" if self.degrees_of_freedom < 1 else f", {self.reduced_chi2:.3g} each"
            lines.append(f"Chi-square {self.chi2:.4g} for {self.degrees_of_freedom} degrees of freedom{reduced}.")
            if self.reduced_chi2 > LARGE_CHI2 and self.loss == "linear":
                lines.append(
                    "The residuals are larger than the standard deviations say: the model lacks something, there are "
                    "outliers (loss='soft_l1'), or the search ended in a wrong minimum (give a better guess)."
                )
        moments = self.body.moments
        if not self.body.physical:
            lines.append(
                "No body has these moments, unless within their errors: the greatest exceeds the sum of the other two "
                f"by {2 * moments.max() / moments.sum() - 1:.2g} of all three."
            )
        if not self.converged:
            lines.append(f"The search did not come to its end: {self.message}.")
        return lines


def _rounded(value: float, error: float) -> str:
    """A number with the digits that its error leaves, and two more."""
    if not np.isfinite(error) or error <= 0.0 or value == 0.0:
        return f"{value:.8g}"
    digits = int(np.clip(np.ceil(np.log10(abs(value) / error)) + 2, 2, 16))
    return f"{value:.{digits}g}"
