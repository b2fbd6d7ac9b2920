"""Packages that can be called: `polhode.methods()` lists the methods, `polhode.torques()` the torques.

A function of the same name would be replaced by the package as soon as that is imported, so that what `polhode.methods`
is would depend on what was imported before. Python lets a module have a class of its own for such a case: the package
stays what it is, and can be called as well.
"""

import sys
from types import ModuleType
from typing import Any


class ListedPackage(ModuleType):
    """A package whose call returns the list of what is in it."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """The list that `text/listing.py` has under the name of the package."""
        from polhode.text import listing  # upward: the contract names it

        return getattr(listing, self.__name__.rpartition(".")[2])(*arguments, **options)


def let_be_called(package: str) -> None:
    """Lets a package that is being imported be called."""
    sys.modules[package].__class__ = ListedPackage
