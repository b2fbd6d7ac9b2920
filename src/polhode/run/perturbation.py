"""The slightly different numbers that a companion run begins with."""

from typing import NamedTuple

from polhode.support.arrays import Floats


class PerturbedStart(NamedTuple):
    """The start of a companion, of one body or of many."""

    quaternion: Floats
    momentum: Floats
    inverses: Floats
    """The inverse principal moments."""
