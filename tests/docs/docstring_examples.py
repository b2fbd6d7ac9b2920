"""Runs the example in the docstring of every public name: `python -m tests.docs.docstring_examples`.

It runs without compilation (NUMBA_DISABLE_JIT=1), because compiling all these torques and methods would take minutes.
"""

import doctest
import inspect
import os
import sys
import tempfile
import warnings

import numpy as np

import polhode as ph


def main() -> int:
    """Prints which names have no example, or one that is not true, and returns how many."""
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    without, wrong = [], []
    for name in sorted(set(ph.__all__) - {"__version__"}):
        thing = sys.modules.get(f"polhode.{name}") if inspect.ismodule(getattr(ph, name)) else getattr(ph, name)
        (test,) = finder.find(inspect.unwrap(thing), name, globs={"ph": ph, "np": np})  # type: ignore[arg-type]
        if not test.examples:
            without.append(name)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            os.chdir(folder)
            warnings.simplefilter("error")
            if runner.run(test).failed:
                wrong.append(name)
            os.chdir("/")
    print(f"without an example: {without or 'none'}; with one that is not true: {wrong or 'none'}")
    return len(without) + len(wrong)


if __name__ == "__main__":
    sys.exit(main())
