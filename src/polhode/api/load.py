"""Results read from files, whatever they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polhode.averages.result import DRIFT_ARRAYS, drift_of
from polhode.averages.result import FORMAT as OF_DRIFTS
from polhode.ensembles.record import FORMAT as OF_MANY
from polhode.ensembles.result import ENSEMBLE_ARRAYS, ensemble_of
from polhode.files import netcdf
from polhode.solution import SOLUTION_ARRAYS, solution_of
from polhode.systems.files import FORMAT as OF_SYSTEMS
from polhode.systems.files import SYSTEM_ARRAYS, system_of

if TYPE_CHECKING:
    from polhode.systems.forces import Forces
    from polhode.torques import Torque


def load(
    path: str | os.PathLike[str],
    *,
    torque: Torque | None = None,
    forces: Forces | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """Reads a `Solution`, an `Ensemble`, a `Drift` or a `SystemSolution`, or opens the store of `plan_ensemble`.

    The contents are compared with the checksum in the file, and must make sense also where there is none: damaged
    files raise a ValueError. A file keeps the name and the numbers of a torque function of your own, but not the
    function: give it as `torque` if `at` or `resume` are to be used. `Solution.load` and `Ensemble.load` do the same,
    and refuse a file that holds the other. Of systems, files keep the name of the `forces`: give them to go on.

    A finished store, a directory or a path such as s3://bucket/x.zarr, is opened as an xarray Dataset, whose arrays are
    read when they are needed; `storage_options` tells fsspec about a remote one.

    Examples
    --------
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    >>> run.save("run.nc")
    >>> bool((ph.load("run.nc").omega == run.omega).all())
    True
    """
    if storage_options is not None or os.path.isdir(path) or "://" in os.fspath(path):
        from polhode.api.plan import load_store

        return load_store(path, storage_options)
    contents = netcdf.read(path, {*SOLUTION_ARRAYS, *ENSEMBLE_ARRAYS, *SYSTEM_ARRAYS, *DRIFT_ARRAYS})
    if contents.attributes.get("format") == OF_SYSTEMS:
        return system_of(path, contents, forces)
    if contents.attributes.get("format") == OF_DRIFTS:
        return drift_of(path, contents, torque)
    made = ensemble_of if contents.attributes.get("format") == OF_MANY else solution_of
    return made(path, contents, torque)
