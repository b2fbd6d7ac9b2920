"""Compiles the mathematics to machine code and keeps that code in files.

Kernels and users' functions are translated (`translate.py`). Numba is imported on a cache miss only, for a user's
function with something that the translation does not know (`numba_door.py`).

Of Numba and llvmlite no private name is used, and nothing of theirs is replaced. docs/decisions/0001 lists the names
that their manuals do not have.
"""

from polhode.compiler.announce import announced_once
from polhode.compiler.arithmetic import all_rows_at_once
from polhode.compiler.callbacks import (
    Trampoline,
    forces_callback,
    is_from_callback,
    potential_callback,
    torque_callback,
)
from polhode.compiler.digest import name_now, named
from polhode.compiler.programs import (
    CompilationFailed,
    KernelRaised,
    address_of,
    address_of_bytes,
    address_of_program,
    at_addresses,
    compiles,
    floats_in_register,
    kept_program,
    on_arrays,
    program,
    repaid_program,
)
from polhode.compiler.rewrite_branches import Locatable, locatable
from polhode.compiler.smoothness import is_smooth, may_bend

__all__ = [
    "CompilationFailed",
    "KernelRaised",
    "Locatable",
    "Trampoline",
    "address_of",
    "address_of_bytes",
    "address_of_program",
    "all_rows_at_once",
    "announced_once",
    "at_addresses",
    "compiles",
    "floats_in_register",
    "forces_callback",
    "is_from_callback",
    "is_smooth",
    "kept_program",
    "locatable",
    "may_bend",
    "name_now",
    "named",
    "on_arrays",
    "potential_callback",
    "program",
    "repaid_program",
    "torque_callback",
]
