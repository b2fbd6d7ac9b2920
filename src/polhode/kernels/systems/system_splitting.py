"""A splitting as steps of systems take it: a list of operations, and the flows of a body in a drift."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from polhode.kernels.steps.compose import Splitting
from polhode.kernels.steps.flows import free, is_prepared, kick
from polhode.kernels.systems.bodies import AHEAD, DRIFT, KICK


class Operation(NamedTuple):
    """A kick, a drift or the heat bath for a part of the step, and when in the step it begins."""

    kind: int
    part: float
    time: float


class SystemRecipe(NamedTuple):
    """A method as steps of systems take it."""

    operations: tuple[Operation, ...]
    flows: tuple[tuple[Callable[..., Any], float], ...]
    """The flows of a body in a drift of unit length, each with its part."""

    @property
    def evaluations(self) -> int:
        """Evaluations of the forces in a step; kicks at both ends share one."""
        kicks = sum(o.kind in (KICK, AHEAD) for o in self.operations)
        return kicks - (self.operations[0].kind == self.operations[-1].kind == KICK)

    @property
    def longest(self) -> float:
        """The longest drift."""
        return max(abs(o.part) for o in self.operations if o.kind == DRIFT)


@lru_cache(maxsize=128)
def operations_of(scheme: Splitting, gyrostat: bool) -> SystemRecipe | None:
    """The operations of a splitting; None if it has no kicks, or drifts that are not all alike."""
    used = scheme.used(is_free=False, gyrostat=gyrostat)
    operations: list[Operation] = []
    drifts: list[tuple[float, float, list[tuple[Any, float]]]] = []
    times = [*used.times(), 1.0]
    for k, stage in enumerate(used.stages):
        if is_prepared(stage.flow) and stage.flow is not free:
            return None
        if stage.flow is kick:
            if _is_ahead(operations):
                return None  # the forces ahead are of no use to another kick
            operations += [Operation(AHEAD, stage.ahead, times[k])] * (stage.ahead != 0.0)
            operations.append(Operation(KICK, stage.fraction, times[k]))
            continue
        if not operations or operations[-1].kind == KICK:
            operations.append(Operation(DRIFT, 0.0, times[k]))
            drifts.append((times[k], times[k + 1], []))
        begin, _, flows = drifts[-1]
        drifts[-1] = (begin, times[k + 1], [*flows, (stage.flow, stage.fraction)])
        operations[-1] = Operation(DRIFT, times[k + 1] - begin, begin)
    if _is_ahead(operations):
        return None  # nor to the next step
    shapes = [[(f, c / (end - begin)) for f, c in flows] for begin, end, flows in drifts if end != begin]
    if not shapes or len(shapes) < len(drifts) or all(o.kind == DRIFT for o in operations):
        return None
    for shape in shapes[1:]:
        if [f for f, _ in shape] != [f for f, _ in shapes[0]]:
            return None
        if max(abs(a - b) for (_, a), (_, b) in zip(shape, shapes[0], strict=True)) > 1e-12:
            return None
    nice = tuple((f, float(round(c)) if abs(c - round(c)) < 1e-12 else c) for f, c in shapes[0])
    return SystemRecipe(tuple(operations), nice)


def _is_ahead(operations: list[Operation]) -> bool:
    """Whether the last operation is a kick by forces ahead."""
    return [o.kind for o in operations[-2:]] == [AHEAD, KICK]
