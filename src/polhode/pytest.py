"""A plug-in of pytest: free motions that a simulator has to reproduce, and the assertion that its log does.

pytest finds it by its entry point; `-p polhode.pytest` loads it by hand. Since every run of pytest imports this file,
it imports nothing of polhode before a test asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polhode.body import Body
    from polhode.support.arrays import Floats


@dataclass(frozen=True)
class CheckCase:
    """A motion to be reproduced: a free body, its start, and the time over which it is followed."""

    name: str
    moments: tuple[float, float, float]
    """Principal moments of inertia, in kg m²."""
    omega: tuple[float, float, float]
    """The rate at the start in body axes, in rad/s."""
    attitude: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """The attitude at the start, from body to space, scalar first."""
    duration: float = 20.0
    """In s."""

    @property
    def body(self) -> Body:
        """The body."""
        from polhode.body import Body

        return Body(self.moments)

    @property
    def t(self) -> Floats:
        """Times for 201 rows, in s."""
        import numpy as np

        return np.linspace(0.0, self.duration, 201)


CASES = (
    CheckCase("tumbling", (1.0, 2.0, 2.6), (0.5, 0.7, 0.6), (0.5, -0.5, 0.5, 0.5)),
    CheckCase("symmetric", (1.0, 1.0, 1.7), (0.4, 0.2, 0.9)),
    CheckCase("flipping", (1.0, 2.0, 3.0), (0.01, 1.0, 0.01)),  # about the middle axis, which turns over
    CheckCase("spinning", (2.0, 3.0, 4.0), (0.0, 0.0, 1.0)),
)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def free_motion_case(request: pytest.FixtureRequest) -> CheckCase:
    """A free motion to be reproduced; a test that takes it runs once for each of them."""
    case: CheckCase = request.param
    return case


def agrees(log: Any, case: CheckCase, **options: Any) -> bool:
    """Returns whether a log, in any form that `polhode.check` takes, reproduces a case; prints the verdict.

    The options are those of `polhode.check`, such as `tolerance`.
    """
    import numpy as np

    from polhode.api.check import check
    from polhode.referee.conventions import quaternions_of, rates
    from polhode.referee.reading import read_log
    from polhode.referee.verdict import ATTITUDE_TOLERANCE, RATE_TOLERANCE
    from polhode.support.arrays import angles

    source = read_log(log, options.get("columns"))
    verdict = check(source, body=case.body, **options)
    print(verdict)
    meaning = verdict.convention.meaning
    q = quaternions_of(source, meaning)
    w = None if source.omega is None else rates(source.omega, meaning, q)
    limits = verdict.error.attitude_limit[0], verdict.error.rate_limit[0]
    size = float(np.linalg.norm(case.omega))
    start = float(angles(q[:1], np.array([case.attitude]))[0]) if q is not None else 0.0
    rate = float(np.linalg.norm(w[0] - case.omega)) / size if w is not None else 0.0
    span = float(source.t[-1] - source.t[0])
    if start > ATTITUDE_TOLERANCE + limits[0] or rate > RATE_TOLERANCE + limits[1] or span < 0.99 * case.duration:
        print(
            f"But it is not the case {case.name!r}: it begins {np.degrees(start):.3g} degrees and {100 * rate:.3g} % "
            f"of the rate off, and has {span:.6g} s of {case.duration:.6g} s."
        )
        return False
    return verdict.agrees
