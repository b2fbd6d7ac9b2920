"""A plug-in of pytest: check cases that a simulator has to reproduce, and the assertion that its log does.

A test that asks for `free_motion_case` runs once for each of a few free motions, one that asks for `rotation_case` once
for each check case of at most 2,000 rad. pytest finds the plug-in by its entry point; `-p polhode.pytest` loads it by
hand. Since every run of pytest imports this file, it imports nothing of polhode before a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from polhode.cases import Case

FREE = ("free-generic-1", "free-oblate-1", "free-prolate-1", "free-wing-nut", "free-on-axis-1")
"""The cases of `free_motion_case`."""
MOST_RADIANS = 2000.0
"""Longer motions are no cases of `rotation_case`: most simulators would take long for them."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives tests their cases."""
    wanted = {"free_motion_case", "rotation_case"} & set(metafunc.fixturenames)
    if not wanted:
        return
    import numpy as np

    from polhode.cases import all_cases, case

    chosen = {
        "free_motion_case": lambda: [case(name) for name in FREE],
        "rotation_case": lambda: [c for c in all_cases() if c.duration * np.abs(c.rate).max() <= MOST_RADIANS],
    }
    for name in wanted:
        metafunc.parametrize(name, chosen[name](), ids=lambda c: c.name)


def agrees(log: Any, case: Case, **options: Any) -> bool:
    """Whether a log, in any form that `polhode.check` takes, reproduces a case; prints the verdict.

    The options are those of `polhode.check`, such as `tolerance`. Of a body that changes, whose motions `check` does
    not judge, the rows at the times of the case must be within its tolerance, in the usual convention or the one given.
    """
    import numpy as np

    from polhode.api.check import check
    from polhode.referee.conventions import quaternions_of, rates
    from polhode.referee.reading import read_log
    from polhode.referee.verdict import ATTITUDE_TOLERANCE, RATE_TOLERANCE
    from polhode.support.arrays import angles

    source = read_log(log, options.get("columns"))
    if case.body.changes:
        return _within_tolerance(source, case, options.get("convention"))
    verdict = check(source, body=case.body, torque=case.torque, **options)
    print(verdict)
    meaning = verdict.convention.meaning
    q = quaternions_of(source, meaning)
    w = None if source.omega is None else rates(source.omega, meaning, q)
    limits = verdict.error.attitude_limit[0], verdict.error.rate_limit[0]
    size = float(np.linalg.norm(case.rate, axis=1).max())
    start = float(angles(q[:1], case.quaternion[:1])[0]) if q is not None else 0.0
    rate = float(np.linalg.norm(w[0] - case.omega)) / size if w is not None else 0.0
    span = float(source.t[-1] - source.t[0])
    if start > ATTITUDE_TOLERANCE + limits[0] or rate > RATE_TOLERANCE + limits[1] or span < 0.99 * case.duration:
        print(
            f"But it is not the case {case.name!r}: it begins {np.degrees(start):.3g} degrees and {100 * rate:.3g} % "
            f"of the rate off, and has {span:.6g} s of {case.duration:.6g} s."
        )
        return False
    return verdict.agrees


def _within_tolerance(source: Any, case: Case, convention: str | None) -> bool:
    """Compares the rows of a log at the times of a case with it, and prints the errors."""
    import numpy as np

    from polhode.referee.conventions import candidates, quaternions_of, rates

    meaning = candidates(source, convention)[0]
    q = quaternions_of(source, meaning)
    if q is None or source.omega is None:
        raise ValueError(f"the log must have attitudes and rates: {case.name!r} is compared row by row")
    rows = np.abs(source.t[:, None] - source.t[0] - case.t).argmin(axis=0)
    if np.abs(source.t[rows] - source.t[0] - case.t).max() > 1e-9 * case.duration:
        print(f"The log has no rows at the times of the case {case.name!r}: every {case.t[1]:g} s.")
        return False
    errors = case.error_of(q[rows], rates(source.omega, meaning, q)[rows])
    print(f"{case.name}: errors {errors[0]:.2g} rad and {errors[1]:.2g} of the rate; allowed are {case.tolerance}.")
    return errors[0] <= case.tolerance[0] and errors[1] <= case.tolerance[1]
