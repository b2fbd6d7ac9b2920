"""The slightly different numbers that a companion run begins with."""

from typing import NamedTuple

from polhode._arrays import Floats


class Nudged(NamedTuple):
    """The start of a companion, of one body or of many."""

    quaternion: Floats
    momentum: Floats
    inverses: Floats
    """The inverse principal moments."""
