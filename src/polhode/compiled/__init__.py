"""Compiles the mathematics to machine code and keeps that code in files. Numba is imported on a cache miss only."""

from polhode.compiled.digest import named
from polhode.compiled.native import CompilationFailed, KernelRaised, compiles, program
from polhode.compiled.smoothness import may_bend

__all__ = ["CompilationFailed", "KernelRaised", "compiles", "may_bend", "named", "program"]
