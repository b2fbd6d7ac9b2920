"""Runs with their derivatives: the Jacobian of a motion by its start, by numbers of the torque, and by the body."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from polhode.body import Body
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.free.jacobian_motion import PAIRS, Covariance, covariance_of, matrices, root_of
from polhode.kernels.algebra.quat import multiply
from polhode.kernels.steps.tangent import Columns
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Plan, Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress, SimulationFailed, SimulationInterrupted, solve
from polhode.run.step_warnings import levels_of_polhode
from polhode.solution import Solution
from polhode.support.arrays import Floats, to_space
from polhode.torques import CustomTorque, Torque
from polhode.torques._sums import SumTorque
from polhode.torques._tangent import BY_DIFFERENCES, GIVEN, TangentTorque, check_given, slopes_and_source

STARTS = {"omega": 3, "attitude": 3, "momentum": 3}
"""What a start is made of, and how many columns that has."""
PLACES = ("0]", "1]", "2]")
"""How the name of one of them ends, as in omega[2]."""
BODIES = {"moments": 3, "inertia": 6}
"""What is made of the tensor: principal moments, and the elements xx, yy, zz, xy, xz, yz in the user's axes."""
STEP = 1e-4
"""The relative change by which the numbers of models are differenced: nearly all are linear or quadratic."""


@dataclass(frozen=True, eq=False)
class Derivatives:
    """How a motion changes with what it was given, and how that was computed."""

    by: tuple[str, ...]
    """What the motion was differentiated by."""
    columns: tuple[str, ...]
    """A name for each column."""
    jacobian: Floats
    """Shape (rows, 6, columns): the rotation vector of the attitude in space axes, then the rate in body axes."""
    method: str
    """The map whose derivative it is."""
    torque: str
    """Where the derivatives of the torque come from."""
    error: float | None = None
    """The estimated error, relative to the largest element of each row; None: it was not estimated."""
    times: Floats | None = None
    """Of an event: how its times change, (rows, columns). The Jacobian is then that of the state at the event."""


class _Directions(NamedTuple):
    """The columns of a run: what each changes."""

    labels: tuple[str, ...]
    zeta: Floats
    """At the start: (3, columns), in space axes."""
    dm: Floats
    """At the start: (3, columns), in body axes."""
    p: Floats
    """(parameters, columns)."""
    tensor: Floats
    """(columns, 3, 3), in body axes."""
    state: Floats
    """At the start: (carried numbers, columns)."""


def names_of(derivatives: Any) -> tuple[str, ...]:
    """What a run is to be differentiated by, as a user gave it."""
    known = isinstance(derivatives, str | Sequence)
    asked = (derivatives,) if isinstance(derivatives, str) else tuple(derivatives) if known else ()
    if not asked or not all(isinstance(name, str) for name in asked):
        raise ValueError(
            f"derivatives names what to differentiate by, such as 'omega', 'attitude' or 'p', not {derivatives!r}"
        )
    if len(set(asked)) < len(asked):
        raise ValueError(f"derivatives must name each thing once, not {', '.join(asked)}")
    return asked


def numbers_of(torque: Torque, body: Body) -> dict[str, Floats]:
    """The numbers of a torque by name, each with the change of its parameters by it."""
    if isinstance(torque, CustomTorque):
        unit = np.eye(len(list(torque.parameters(body))))[torque.head_size :]
        placed = {place for place, _ in torque.tables}
        return {f"p[{k}]": unit[k] for k in range(len(torque.values)) if k not in placed}
    found: dict[str, Floats] = {}
    known: Any = torque
    for field in fields(known) if is_dataclass(known) else ():
        value: Any = getattr(torque, field.name)
        items: dict[str, Any] = {field.name: value}
        if isinstance(value, tuple):
            items = {f"{field.name}[{k}]": x for k, x in enumerate(value)}
        if not all(isinstance(x, float) for x in items.values()):
            continue
        for label, x in items.items():
            step = STEP * (abs(x) or max(map(abs, items.values())) or 1.0)
            with suppress(ValueError):
                ends = [_with_numbers(torque, {label: change}) for change in (step, -step)]
                found[label] = _difference(ends, [body, body]) / 2 / step
    return found


def _difference(torques: Sequence[Torque], bodies: Sequence[Body]) -> Floats:
    """The difference of the parameters of two torques, each for its body."""
    high, low = (np.array(list(t.parameters(b))) for t, b in zip(torques, bodies, strict=True))
    return np.asarray(high - low)


def _matching(name: str, known: dict[str, Floats], torque: Torque) -> list[str]:
    """The columns that a name of the torque's stands for."""
    if name == "p" and known:
        return list(known)
    if name in known:
        return [name]
    if found := [key for key in known if key.startswith(f"{name}[")]:
        return found
    own = f"; {torque.name} has no parameters"
    if known:
        own = f"; of {torque.name}: {', '.join(['p', *known])}"
    elif isinstance(torque, SumTorque):
        own = f"; numbers of sums and multiples, as of {torque.name}, have no names: write one function with ph.torque"
    starts = ", ".join([*STARTS, *BODIES, *torque.state_names])
    raise ValueError(f"derivatives can be by {starts}{own}; not by {name!r}")


def _directions(problem: Problem, by: tuple[str, ...]) -> _Directions:
    body, torque = problem.body.at(problem.t_start), problem.torque
    count = len(list(torque.parameters(body)))
    carried, unit_state = torque.state_names, np.eye(problem.state_start.size)
    parts = (f"{name}[{place}" for name in STARTS for place in PLACES)
    others = {*by} - {*STARTS, *parts, *BODIES, *carried}
    known = numbers_of(torque, body) if others else {}
    labels, columns = [], []
    nothing, nothing_carried = np.zeros(3), np.zeros(problem.state_start.size)
    for given in by:
        name, _, place = given.partition("[")
        if name in STARTS and (not place or place in PLACES):
            for k in range(3) if not place else [PLACES.index(place)]:
                unit = np.eye(3)[k]
                labels.append(f"{name}[{k}]")
                change = body.tensor @ unit if name == "omega" else unit
                column = (unit, nothing) if name == "attitude" else (nothing, change)
                columns.append((*column, np.zeros(count), np.zeros((3, 3)), nothing_carried))
        elif given in BODIES:
            for k in range(BODIES[name]):
                labels.append(f"{name}[{k}]")
                if name == "moments":
                    E = np.outer(body.axes[:, k], body.axes[:, k])
                else:
                    E = np.zeros((3, 3))
                    E[PAIRS[k]] = E[PAIRS[k][::-1]] = 1.0
                changed = _by_tensor(torque, body, E, count)
                columns.append((nothing, E @ problem.omega_start, changed, E, nothing_carried))
        elif given in carried:
            labels.append(name)
            columns.append((nothing, nothing, np.zeros(count), np.zeros((3, 3)), unit_state[carried.index(name)]))
        else:
            for label in _matching(given, known, torque):
                labels.append(label)
                columns.append((nothing, nothing, known[label], np.zeros((3, 3)), nothing_carried))
    zeta, dm, p, tensor, state = (np.array(x) for x in zip(*columns, strict=True))
    return _Directions(tuple(labels), zeta.T, dm.T, p.T, tensor, state.T)


def _by_tensor(torque: Torque, body: Body, E: Floats, count: int) -> Floats:
    """The change of the torque's parameters with the tensor, along E."""
    if not torque.reads_body:
        return np.zeros(count)
    step = STEP * float(body.moments.min())
    ends = [Body(body.tensor + s * step * E, allow_unphysical=True, rotor=body.rotor) for s in (1.0, -1.0)]
    return _difference([torque, torque], ends) / (2.0 * step)


def check_names(problem: Problem, by: tuple[str, ...]) -> None:
    """Raises ValueError where a name stands for nothing that a motion can be differentiated by."""
    if problem.body.changes and (body := [name for name in by if name in BODIES]):
        raise ValueError(f"the tensor changes with time, and has no derivatives by {' and '.join(body)}")
    _directions(problem, by)


def _only_by_runs(problem: Problem) -> str:
    """Why the motion has no variational equations, so that runs that begin nearby are to make its Jacobian."""
    torque = problem.torque
    if torque.sample_kernel is not None:
        return f"{torque.name} is sampled"
    if torque.state_names:
        return f"{torque.name} carries {', '.join(torque.state_names)}"
    return "the tensor changes with time" if problem.body.changes else ""


def _check_method(method: Method, by: tuple[str, ...]) -> bool:
    """Whether the method is a splitting, or raises ValueError where it has no derivatives."""
    splits = bool(getattr(method.scheme, "has_tangent", False))
    if not (splits or method.takes_state):
        raise ValueError(
            f"{method.name} has no derivatives: take a splitting such as SABA, ABA1064, Strang or MR4 without options, "
            "RK4, DOP853 or G8 without compensation, or rtol"
        )
    if splits and (body := [name for name in by if name in BODIES]):
        raise ValueError(f"{method.name} has no derivatives by {' and '.join(body)}: take RK4, DOP853, G8 or rtol")
    return splits


def solve_with_derivatives(
    problem: Problem, plan: Plan, by: tuple[str, ...], progress: Progress | None = None, on_compile: OnCompile = None
) -> Solution:  # fmt: skip
    """A run with its Jacobian: the derivative of the discrete map, in the variables of the method."""
    torque, body, method = problem.torque, problem.body, plan.method
    if _only_by_runs(problem):
        return by_runs(solve(problem, plan, None, progress, on_compile), by)
    splits, to = _check_method(method, by), _directions(problem, by)
    by_tensor = bool(to.tensor.any())
    count, K = to.p.shape[0], len(to.labels)
    used = tuple(np.flatnonzero(to.p.any(axis=1)).tolist())
    by_rate = bool(torque.depends & Depends.RATE)
    slopes, source, why = slopes_and_source(torque, count, used, by_rate=by_rate)
    if source == GIVEN:
        at = (problem.t_start, *(tuple(x.tolist()) for x in (problem.quaternion_start, problem.omega_start)))
        check_given(torque, slopes, used, (*at, np.array(list(torque.parameters(body)))), by_rate=by_rate)
    if source == BY_DIFFERENCES and torque.may_bend:
        warnings.warn(
            f"{torque.name} is differentiated by differences, since {why}. Where it jumps between branches the "
            "Jacobian is wrong; where it only bends, it is right. With rtol it is right in both cases",
            UserWarning, stacklevel=levels_of_polhode(),
        )  # fmt: skip
    columns = Columns(K, count, len(used), by_rate, by_tensor)
    axes, inverse = body.axes, 1.0 / body.moments
    tensor = np.einsum("ai,kab,bj->kij", axes, to.tensor, axes)
    elements = np.stack([tensor[:, i, j] for i, j in PAIRS]) if by_tensor else np.empty((0, K))
    values = (*to.p[list(used)].reshape(-1).tolist(), *elements.reshape(-1).tolist())
    acting = TangentTorque(torque, columns, values, slopes, splits=splits, iterates=method.collocation)
    q, m = problem.quaternion_start, problem.momentum_start
    if splits:
        R = matrices(q[None])[0]
        z = np.concatenate([to.zeta, np.cross(to.zeta, (R @ m)[:, None], axis=0) + R @ to.dm])
    else:
        zeta = np.concatenate([np.zeros((1, K)), to.zeta])
        z = np.concatenate([0.5 * np.stack(_products(zeta, _principal(q[None], body)[0][:, None])), axes.T @ to.dm])
    given: dict[str, Any] = {"problem": problem, "last_state": problem.state_start, "memory": ()}
    try:
        run = solve(problem.replace(torque=acting, state_start=z.reshape(-1)), plan, None, progress, on_compile)
    except (SimulationFailed, SimulationInterrupted) as stopped:
        stopped.solution = replace(stopped.solution, **given, state=np.empty((stopped.solution.t.size, 0)))
        raise
    rows = run.state.reshape(run.t.size, -1, K)
    if splits:
        zeta = rows[:, :3]
        L = to_space(run.quaternion, run.momentum)
        dl = rows[:, 3:] - np.cross(zeta, L[:, :, None], axis=1)
        dm = np.swapaxes(matrices(run.quaternion), 1, 2) @ dl
    else:
        back = _principal(run.quaternion, body)[..., None] * np.array([1.0, -1.0, -1.0, -1.0])[:, None]
        zeta = 2.0 * np.stack(_products(rows[:, :4], back)[1:], axis=1)
        dm = axes @ rows[:, 4:]
    dw = np.einsum("ab,b,cb,rck->rak", axes, inverse, axes, dm - np.einsum("kab,rb->rak", to.tensor, run.omega))
    what = "the derivative of the discrete map of" if splits else "variational equations, by"
    found = Derivatives(by, to.labels, np.concatenate([zeta, dw], axis=1), f"{what} {method.name}", source)
    return replace(run, **given, state=np.empty((run.t.size, 0)), derivatives=found)


COARSER_STEP, COARSER_TOLERANCE = 1.25, 30.0
"""A companion run, whose Jacobian is compared, has steps that are longer by the first, or a tolerance by the second."""
LEAST_TOLERANCE = 1e-14
FIRST_TURN = 2.0
"""The turn, in radians, of the first step that is tried."""
CLOSED_FORM_ERROR = 5e-14
"""The largest error of the closed form in any regime (docs/understand/derivatives.md), relative to the largest
element."""


def with_derivatives(found: Solution, by: tuple[str, ...], rtol: float, on_compile: OnCompile = None) -> Solution:
    """A solution within a tolerance with its Jacobian, and an estimate of the error of that.

    The Jacobian comes from a run of its own, and the estimate from its distance to that of a coarser one.
    """
    problem = found.problem.replace(times=found.t, every=None)
    body, torque = problem.body, problem.torque
    own = set(by) <= {*STARTS, *BODIES} and torque.depends is Depends.NOTHING
    if own and not body.has_rotor and has_closed_form(body):
        omega = problem.omega_start if problem.omega_given is None else problem.omega_given
        motion = FreeMotion(body, omega, problem.quaternion_start, problem.t_start)
        labels = _directions(problem, by).labels
        exact = motion.jacobian(found.t, by)
        return found.having(
            derivatives=Derivatives(by, labels, exact, "the closed form", "there is none", CLOSED_FORM_ERROR)
        )
    if torque.may_bend or _only_by_runs(problem):
        finer = max(LEAST_TOLERANCE, min(FINEST_OF_RUNS, 0.1 * rtol))
        return by_runs(found, by, _accurate_plan(found, finer))
    splits = getattr(found.plan.method.scheme, "has_tangent", False) and not set(by) & set(BODIES)
    tolerance = max(LEAST_TOLERANCE, 0.1 * min(rtol, found.error_estimate or rtol))
    if splits:
        plans = [found.plan.replace(step=k * found.plan.step, first_stop=None) for k in (1.0, COARSER_STEP)]
    else:
        plans = [_accurate_plan(found, k * tolerance) for k in (1.0, COARSER_TOLERANCE)]
    made, coarse = (solve_with_derivatives(problem, plan, by, None, on_compile).derivatives for plan in plans)
    assert made is not None
    assert coarse is not None
    size = np.abs(made.jacobian).max(axis=(1, 2))
    gap = np.abs(made.jacobian - coarse.jacobian).max(axis=(1, 2))
    # Between many jumps or kinks both may have made the same steps, and then their distance shows nothing.
    error = float((gap / np.where(size > 0.0, size, 1.0)).max(initial=tolerance))
    return found.having(derivatives=replace(made, error=error))


def _accurate_plan(found: Solution, tolerance: float) -> Plan:
    """Steps of DOP853, or of Radau where the torque is stiff, within a tolerance."""
    method = find_method("Radau" if found.plan.method.bare_name == "Radau" else "DOP853")
    rate, span = float(np.linalg.norm(found.omega, axis=1).max()), found.problem.span
    step = math.copysign(min(abs(span), FIRST_TURN / rate if rate > 0.0 else math.inf), span)
    return Plan(method.replace(rtol=tolerance), step)


FINEST_OF_RUNS = 1e-12
"""The largest tolerance of runs whose differences are taken."""
PROBE, REACH = 1e-6, 5e-3
"""The part of its scale by which a column is changed at first, and the change of the motion, in radians, that the steps
of the differences are to make: their errors of order 6 and round-off are then about equal."""
LONGEST_STEP = 0.01
"""The largest step, as a part of that scale."""
DIFFERENCES = np.array([[0.75, -0.15, 1.0 / 60.0], [2.0 / 3.0, -1.0 / 12.0, 0.0]])
"""Weights of central differences over one, two and three steps: of order 6, and of order 4, which tells their error."""


def by_runs(found: Solution, by: tuple[str, ...], plan: Plan | None = None) -> Solution:
    """A solution with its Jacobian by central differences of runs that begin nearby: seven for each column.

    Runs whose steps end where the torque jumps have what a jump does: the time of a branch changes with the start.
    """
    problem, torque = found.problem.replace(times=found.t, every=None), found.torque
    to, plan = _directions(problem, by), found.plan if plan is None else plan
    rate = float(np.linalg.norm(found.omega, axis=1).max()) or 1.0
    base = solve(problem, plan)

    def change(step: Floats) -> Floats:
        moved = solve(_moved(problem, by, step), plan)
        turn = (moved.attitude * base.attitude.inv()).as_rotvec()
        return np.concatenate([turn, moved.omega - base.omega], axis=1)

    columns, error = [], 0.0
    for unit, scale in zip(np.eye(len(to.labels)), _scales(found, to, rate), strict=True):
        answer = np.abs(change(PROBE * scale * unit) / np.repeat([1.0, rate], 3)).max(initial=1e-300)
        h = scale * min(LONGEST_STEP, PROBE * REACH / float(answer))
        odd = np.array([change(n * h * unit) - change(-n * h * unit) for n in (1, 2, 3)])
        best, rough = np.tensordot(DIFFERENCES, odd, 1) / h
        columns.append(best)
        error = max(error, float((np.abs(best - rough).max(axis=1) / np.maximum(np.abs(best).max(axis=1), 1.0)).max()))
    what, why = f"differences of runs by {plan.method.name}", _only_by_runs(problem) or f"{torque.name} has branches"
    return found.having(
        derivatives=Derivatives(by, to.labels, np.stack(columns, axis=2), what, f"not needed: {why}", error)
    )


def _scales(found: Solution, to: _Directions, rate: float) -> list[float]:
    """For each column the size of what it changes."""
    torque, body = found.torque, found.body.at(found.problem.t_start)
    numbers = np.abs(np.array(list(torque.parameters(body))))
    sizes = {"attitude": 1.0, "omega": rate, "momentum": rate * float(body.moments.max())}
    sizes |= dict.fromkeys(BODIES, float(body.moments.min()))
    sizes |= {x: float(np.abs(found.state[:, k]).max()) or 1.0 for k, x in enumerate(torque.state_names)}
    made = []
    for k, label in enumerate(to.labels):
        known, slopes = sizes.get(label.partition("[")[0]), np.abs(to.p[:, k])
        if known is None:
            known = float(numbers[slopes != 0.0].max(initial=0.0)) / (float(slopes.max(initial=0.0)) or 1.0) or 1.0
        made.append(known)
    return made


# --- what people do with it ------------------------------------------------------------------------------------------


def covariance(run: Solution, P0: Any) -> Covariance:
    """See `Solution.covariance`."""
    J = run.jacobian
    assert run.derivatives is not None
    root = root_of(P0, J.shape[2])
    J = J @ root
    _, deviations, directions = np.linalg.svd(J[:, :3])
    bend = np.zeros(run.t.size)
    problem = run.problem.replace(times=run.t, every=None)
    largest = deviations[:, 0]
    for direction in directions[int(np.argmax(largest)), :2]:
        for side in (1.0, -1.0):
            step = side * direction
            moved = solve(_moved(problem, run.derivatives.by, root @ step), run.plan)
            gap = (moved.attitude * run.attitude.inv()).as_rotvec() - J[:, :3] @ step
            bend = np.maximum(bend, np.linalg.norm(gap, axis=1) / np.where(largest > 0.0, largest, math.inf))
    return covariance_of(run.t, run.t, J, bend)


def _moved(problem: Problem, by: tuple[str, ...], step: Floats) -> Problem:
    """The problem with everything changed by a step in the columns."""
    to = _directions(problem, by)
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_rotvec(to.zeta @ step) * Rotation.from_quat(problem.quaternion_start, scalar_first=True)
    body, torque = problem.body, problem.torque
    tensor = np.einsum("kab,k->ab", to.tensor, step)
    if tensor.any():
        body = Body(body.tensor + tensor, allow_unphysical=True, rotor=body.rotor)
    torque = _with_numbers(torque, dict(zip(to.labels, step.tolist(), strict=True)))
    return problem.replace(
        body=body, torque=torque, momentum_start=problem.momentum_start + to.dm @ step,
        quaternion_start=turn.as_quat(scalar_first=True), state_start=problem.state_start + to.state @ step,
    )  # fmt: skip


def _with_numbers(torque: Torque, change: dict[str, float]) -> Torque:
    """The torque with numbers changed by these."""
    if isinstance(torque, CustomTorque):
        values = list(torque.values)
        for name, x in change.items():
            if name.startswith("p["):
                values[int(name[2:-1])] += x
        return torque.with_parameters(values)
    known: Any = torque
    found: dict[str, Any] = {}
    for name, x in change.items():
        field, _, place = name.partition("[")
        if not hasattr(torque, field):
            continue
        value = found.get(field, getattr(torque, field))
        if place:
            k = int(place[:-1])
            found[field] = (*value[:k], value[k] + x, *value[k + 1 :])
        else:
            found[field] = value + x
    return replace(known, **found) if found else torque


FEWEST_ROWS = 100
"""The rows that `megno` needs."""


def _growth(run: Solution) -> tuple[Floats, Floats]:
    """Times since the start, and the logarithm of the size of one change of the start, in a direction that nothing
    prefers."""
    J = run.jacobian
    start = [k for k, name in enumerate(run.derivatives.columns) if name.partition("[")[0] in STARTS]  # type: ignore[union-attr]
    if not start:
        raise ValueError("how fast motions part follows from their start: ask for derivatives=('omega', 'attitude')")
    rate = float(np.linalg.norm(run.omega, axis=1).max()) or 1.0
    v = J[:, :, start] @ np.cos(1.0 + np.arange(len(start)))
    size = np.sqrt((v[:, :3] ** 2).sum(axis=1) + (v[:, 3:] ** 2).sum(axis=1) / rate**2)
    return np.abs(run.t - run.t[0]), np.log(size)


def lyapunov(run: Solution) -> float:
    """See `Solution.lyapunov`."""
    t, size = _growth(run)
    if t.size < 2:
        raise ValueError("a rate of growth needs two rows at least: list them in t_eval")
    return float((size[-1] - size[0]) / t[-1])


def megno(run: Solution) -> float:
    """See `Solution.megno`."""
    t, size = _growth(run)
    if t.size < FEWEST_ROWS:
        raise ValueError(f"megno is a mean over the rows, and needs {FEWEST_ROWS} at least, not {t.size}")
    weighted = np.cumsum(np.diff(size) * 0.5 * (t[1:] + t[:-1]))
    y = np.concatenate([[0.0], 2.0 * weighted / t[1:]])
    return float((0.5 * (y[1:] + y[:-1]) * np.diff(t)).sum() / t[-1])


def _products(a: Any, b: Any) -> tuple[Any, ...]:
    """The four numbers of products of quaternions, which are columns: (..., 4, columns)."""
    return multiply(tuple(np.moveaxis(a, -2, 0)), tuple(np.moveaxis(b, -2, 0)))


def _principal(q: Floats, body: Body) -> Floats:
    """Quaternions of the principal axes."""
    return np.stack(_products(q[..., None], body.axes_quaternion[:, None]), axis=-2)[..., 0]
