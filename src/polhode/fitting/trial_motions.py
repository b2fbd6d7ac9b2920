"""The motions of many trials at the times of the data, in one call: exact where bodies are free, else in steps."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from polhode.api.prepare import Prepared, prepare
from polhode.api.simulate import simulate
from polhode.body import Body
from polhode.fitting.parameters import Change, Parameters, Trial
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.free.jacobian_motion import derivatives_along
from polhode.methods import Method
from polhode.run.integration import SimulationFailed
from polhode.solution import Solution
from polhode.support.arrays import Floats

Motion = tuple[Floats, Floats]
"""Attitudes (trials, times, 4) and rates (trials, times, 3); NaN for a trial that has no motion."""


def is_exact(origin: Trial, parameters: Parameters) -> bool:
    """Whether the motion has a closed form for all parameters."""
    free = origin.torque is None or not origin.torque.depends
    return free and not parameters.has("rotor") and has_closed_form(origin.body)


class ExactMotions:
    """Motions of free bodies in closed form."""

    def prepare(self, trial: Trial, t: Floats) -> None:
        """Does nothing: every time costs the same."""

    def __call__(self, trials: Sequence[Trial], t: Floats) -> Motion:
        """The motions of these trials, which begin at the first time."""
        bodies = [trial.body for trial in trials]
        start = [trial.omega for trial in trials], [trial.quaternion for trial in trials]
        try:
            found = FreeMotion(bodies, np.array(start[0]), np.array(start[1]), t0=float(t[0])).at_checked(t)
        except ValueError:  # moments or rates beyond the range of floats
            return _nowhere(len(trials), t)
        return found.quaternion, found.omega

    def derivatives(self, trial: Trial, change: Change, t: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Attitudes and rates, and how they change, attitudes by vectors in space axes: (times, 6, parameters)."""
        try:
            motion = FreeMotion(trial.body, trial.omega, trial.quaternion, t0=float(t[0]))
            state = motion.at_checked(t)
            return state.quaternion, state.omega, derivatives_along(motion, t, **change)
        except ValueError:  # moments or rates beyond the range of floats
            return None


class SteppedMotions:
    """Motions under a torque, all with the method and the step that one of them needs for a tolerance."""

    def __init__(self, rtol: float, state: Any) -> None:
        self.rtol, self.state = rtol, state
        self._plan: tuple[Method, float] | None = None

    def prepare(self, trial: Trial, t: Floats) -> None:
        """Chooses the method and the step for motions like this one up to the last of the times."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tolerance that is not reached is reported of the answer, at the end
            try:
                plan = self.solution(trial, t[[0, -1]] if len(t) > 1 else t).plan
            except SimulationFailed:
                if self._plan is None:
                    raise
                return  # a trial far from the answer: the steps that served so far serve on
        self._plan = plan.method, plan.step

    def solution(self, trial: Trial, t: Floats) -> Solution:
        """One motion within the tolerance."""
        return simulate(
            trial.body, trial.torque, omega=trial.omega, attitude=trial.quaternion, t_span=_span(t), t_eval=t,
            rtol=self.rtol, state=self.state,
        )  # fmt: skip

    def __call__(self, trials: Sequence[Trial], t: Floats) -> Motion:
        """The motions of these trials, which begin at the first time."""
        q, w = _nowhere(len(trials), t)
        ready: dict[Body, Prepared] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trials may be far from the answer
            for k, trial in enumerate(trials):
                try:
                    if trial.body not in ready:
                        ready[trial.body] = self._prepared(trial, t)
                    found = self._run(ready[trial.body], trial, t)
                except (ValueError, SimulationFailed):
                    continue  # no torque or no body has such numbers, or no step can be made
                q[k], w[k] = found.quaternion, found.omega
        return q, w

    def _prepared(self, trial: Trial, t: Floats) -> Prepared:
        assert self._plan is not None
        method, step = self._plan
        first, last = _span(t)
        return prepare(
            trial.body, trial.torque, method=method, step=min(step, last - first), t_span=(first, last), t_eval=t
        )

    def _run(self, ready: Prepared, trial: Trial, t: Floats) -> Solution:
        """The motion of a trial; another program is prepared if that of another trial cannot serve."""
        try:
            return ready(trial.omega, trial.quaternion, torque=trial.torque, state=self.state)
        except ValueError:
            return self._prepared(trial, t)(trial.omega, trial.quaternion, state=self.state)


def _span(t: Floats) -> tuple[float, float]:
    """The span of a run; one time alone is followed by a moment."""
    first, last = float(t[0]), float(t[-1])
    return (first, last) if last > first else (first, first + max(1.0, abs(first)) * 1e-6)


def _nowhere(count: int, t: Floats) -> Motion:
    return np.full((count, t.size, 4), np.nan), np.full((count, t.size, 3), np.nan)
