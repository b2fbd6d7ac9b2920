"""A run that tests vary."""

from typing import Any

import polhode as ph

BODY = ph.Body([2, 3, 4])


START: dict[str, Any] = {"omega": [1.0, 0.5, -0.3], "t_span": (0, 2), "step": 0.1, "method": "MR2"}


TOP = ph.HeavyTop(weight=3)


def run(**changes: Any) -> ph.Solution:
    return ph.simulate(BODY, changes.pop("torque", TOP), **{**START, **changes})
