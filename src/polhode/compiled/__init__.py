"""Compiles the mathematics to machine code and keeps that code in files. Numba is imported on a cache miss only."""

from polhode.compiled.announce import announced_once
from polhode.compiled.arithmetic import all_rows_at_once
from polhode.compiled.bends import Locatable, locatable
from polhode.compiled.digest import named
from polhode.compiled.native import CompilationFailed, KernelRaised, compiles, on_arrays, program
from polhode.compiled.smoothness import may_bend

__all__ = [
    "CompilationFailed",
    "KernelRaised",
    "Locatable",
    "all_rows_at_once",
    "announced_once",
    "compiles",
    "locatable",
    "may_bend",
    "named",
    "on_arrays",
    "program",
]
