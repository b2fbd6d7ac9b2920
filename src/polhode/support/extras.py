"""Packages that polhode can use and does not require: an error says how to install a missing one."""

from __future__ import annotations

from typing import Any

from polhode.support.interrupts import imported

_PACKAGES = {
    "plot": "matplotlib mpl_toolkits", "data": "pandas xarray", "cli": "pydantic pydantic_core rich typer",
    "notebook": "anywidget", "cluster": "dask distributed zarr", "proof": "flint",
    "environment": "ppigrf pymsis", "tables": "pyarrow", "fmu": "pythonfmu", "spice": "spiceypy",
    "mujoco": "mujoco", "jax": "jax", "torch": "torch",
}  # fmt: skip
EXTRA_OF = {package: extra for extra, packages in _PACKAGES.items() for package in packages.split()}
"""The extra that installs each package, by the name under which the package is imported."""


class MissingExtra(ModuleNotFoundError):
    """An optional package is not installed. The message has the command that installs it."""


def needed(module: str, purpose: str) -> Any:
    """A module of an optional package; raises MissingExtra without it.

    `purpose` begins the message: "pictures need".
    """
    try:
        return imported(module)
    except ModuleNotFoundError as problem:
        raise missing(problem, purpose) from None


def missing(problem: ModuleNotFoundError, purpose: str) -> ModuleNotFoundError:
    """The error of a failed import with the remedy, if it is about an optional package, else the error."""
    package = (problem.name or "").partition(".")[0]
    if isinstance(problem, MissingExtra) or package not in EXTRA_OF:
        return problem
    remedy = f"pip install 'polhode[{EXTRA_OF[package]}]'"
    return MissingExtra(f"{purpose} {package}, which is not installed: {remedy}", name=package)
