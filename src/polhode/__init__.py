"""polhode: the rotation of rigid bodies.

Exact when a body is free, structure-preserving when it is torqued. Public names are brought in when first asked for,
so that importing polhode costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from polhode._simulate import SimulationFailed as SimulationFailed
    from polhode._simulate import SimulationInterrupted as SimulationInterrupted
    from polhode._simulate import resume as resume
    from polhode._simulate import simulate as simulate
    from polhode.body import Body as Body
    from polhode.core.quat import to_body as to_body
    from polhode.core.quat import to_space as to_space
    from polhode.solution import Solution as Solution
    from polhode.torques import torque as torque
    from polhode.torques.free import Free as Free
    from polhode.torques.heavy_top import HeavyTop as HeavyTop

_HOME = {
    "Body": "body",
    "Free": "torques.free",
    "HeavyTop": "torques.heavy_top",
    "SimulationFailed": "_simulate",
    "SimulationInterrupted": "_simulate",
    "Solution": "solution",
    "resume": "_simulate",
    "simulate": "_simulate",
    "to_body": "core.quat",
    "to_space": "core.quat",
    "torque": "torques",
}
__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
