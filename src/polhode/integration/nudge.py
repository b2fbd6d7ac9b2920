"""What a companion run begins with."""

from typing import NamedTuple

from polhode._arrays import Floats


class Nudged(NamedTuple):
    """What a companion begins with, of one body or of many."""

    momentum: Floats
    inverses: Floats
    """Of the principal moments."""
