"""Results read from files, whatever they hold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from polhode.ensembles.record import FORMAT as OF_MANY
from polhode.ensembles.result import ENSEMBLE_ARRAYS, ensemble_of
from polhode.io import netcdf
from polhode.solution import SOLUTION_ARRAYS, solution_of

if TYPE_CHECKING:
    from polhode.torques import Torque


def load(path: str | os.PathLike[str], *, torque: Torque | None = None) -> Any:
    """Reads a `Solution` or an `Ensemble` from a file that its `save` wrote.

    The contents are compared with the checksum in the file, and must make sense also where there is none: damaged
    files raise a ValueError. A file keeps the name and the numbers of a torque function of your own, but not the
    function: give it as `torque` if `at` or `resume` are to be used. `Solution.load` and `Ensemble.load` do the same,
    and refuse a file that holds the other.
    """
    contents = netcdf.read(path, {*SOLUTION_ARRAYS, *ENSEMBLE_ARRAYS})
    made = ensemble_of if contents.attributes.get("format") == OF_MANY else solution_of
    return made(path, contents, torque)
