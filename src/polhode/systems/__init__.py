"""Systems: bodies that fly, turn and act on each other.

Its names are brought in when first asked for: they need much that most people never do.

Examples
--------
>>> falling = ph.System(ph.Body([1, 2, 2.8]), mass=1, position=[[0, 0, 0]])
>>> run = ph.simulate_system(falling, ph.systems.UniformGravity((0, 0, -9.81)), t_span=(0, 1), step=0.1)
>>> run.velocity[-1].round(6) + 0.0
array([[ 0.  ,  0.  , -9.81]])
"""

from typing import TYPE_CHECKING

from polhode.support.interrupts import on_demand

if TYPE_CHECKING:
    from polhode.systems.events import SystemEvent as SystemEvent
    from polhode.systems.events import closest_approach as closest_approach
    from polhode.systems.events import contact as contact
    from polhode.systems.forces import CentralBody as CentralBody
    from polhode.systems.forces import CutoffJump as CutoffJump
    from polhode.systems.forces import Site as Site
    from polhode.systems.forces import Spring as Spring
    from polhode.systems.forces import Springs as Springs
    from polhode.systems.forces import UniformGravity as UniformGravity
    from polhode.systems.forces import forces_from_pointer as forces_from_pointer

__getattr__, __dir__, __all__ = on_demand(__name__)
