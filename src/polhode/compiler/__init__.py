"""Compiles the mathematics to machine code and keeps that code in files.

Kernels and users' functions are translated (`translate.py`). Numba is imported on a cache miss only, for a user's
function with something that the translation does not know (`numba_door.py`).

Of Numba and llvmlite no private name is used, and nothing of theirs is replaced. docs/decisions/0001 lists the names
that their manuals do not have.
"""

from polhode.compiler.announce import announced_once as announced_once
from polhode.compiler.arithmetic import all_rows_at_once as all_rows_at_once
from polhode.compiler.callbacks import Trampoline as Trampoline
from polhode.compiler.callbacks import forces_callback as forces_callback
from polhode.compiler.callbacks import is_from_callback as is_from_callback
from polhode.compiler.callbacks import potential_callback as potential_callback
from polhode.compiler.callbacks import torque_callback as torque_callback
from polhode.compiler.digest import name_now as name_now
from polhode.compiler.digest import named as named
from polhode.compiler.programs import CompilationFailed as CompilationFailed
from polhode.compiler.programs import KernelRaised as KernelRaised
from polhode.compiler.programs import address_of as address_of
from polhode.compiler.programs import address_of_bytes as address_of_bytes
from polhode.compiler.programs import address_of_program as address_of_program
from polhode.compiler.programs import at_addresses as at_addresses
from polhode.compiler.programs import compiles as compiles
from polhode.compiler.programs import floats_in_register as floats_in_register
from polhode.compiler.programs import kept_program as kept_program
from polhode.compiler.programs import on_arrays as on_arrays
from polhode.compiler.programs import program as program
from polhode.compiler.programs import repaid_program as repaid_program
from polhode.compiler.rewrite_branches import Locatable as Locatable
from polhode.compiler.rewrite_branches import locatable as locatable
from polhode.compiler.smoothness import is_smooth as is_smooth
from polhode.compiler.smoothness import may_bend as may_bend
