"""Ensembles on many machines: a plan that decides everything, parts that any process can run, and their store.

Its names are brought in when first asked for: they need much that most people never do.

Examples
--------
>>> def finished(plan):
...     try:
...         return plan.run()
...     except ph.cluster.PlanInterrupted:  # Ctrl-C
...         raise SystemExit("what is finished stays in the store: run it again to go on") from None
...
"""

from typing import TYPE_CHECKING

from polhode.support.interrupts import on_demand

if TYPE_CHECKING:
    from polhode.api.plan import PlanInterrupted as PlanInterrupted
    from polhode.cluster.crew import PartsFailed as PartsFailed
    from polhode.cluster.crew import WorkersLost as WorkersLost
    from polhode.cluster.manifest import PlanError as PlanError
    from polhode.cluster.worker import WorkerRefused as WorkerRefused

__getattr__, __dir__, __all__ = on_demand(__name__)
