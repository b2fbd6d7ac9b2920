"""`view` and `plot`: motions in a browser, a notebook or a figure, whatever they are given as."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.api.load import load
from polhode.api.simulate import simulate
from polhode.averages.result import Drift
from polhode.ensembles.result import Ensemble
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.kernels.types import Depends
from polhode.page.content import MOST_RUNS, FreeRun, Run, SolutionRun, Span, method_name, too_many
from polhode.page.display import made_page, shown
from polhode.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def view(
    *motions: Any, path: str | os.PathLike[str] | None = None, t_span: Span = None, names: Sequence[str] | None = None,
    title: str | None = None, mesh: Any = None, mesh_centre: Any = "volume", points: Any = None, pointing: Any = None,
) -> Any:  # fmt: skip
    """Shows motions on one page, in step: in a notebook as a widget, else in the browser.

    With several, each is compared with the first, as an angle in degrees along both true motions.

    Parameters
    ----------
    motions
        Solutions, free motions, or names of result files: up to 12. Of an ensemble take members: `ensemble[k]`.
    path
        A file to write the page to instead, ending in .html. It needs no network and no installation.
    t_span
        The times to be shown; by default all, or a few periods of a free motion.
    names
        What the motions are called; by default their methods.
    title
        The title of the page.
    mesh
        The shape of the body: an STL or OBJ file, in body axes. By default a box with the body's moments.
    mesh_centre
        The centre of mass in the mesh: "volume", that of a uniform solid; "origin"; or a point.
    points
        Points of the body whose trails are drawn, in body axes, in units of the largest half edge of the box.
    pointing
        A body axis and a direction in space, such as ("z", [0, 0, 1]), between which the angle is drawn.

    Returns a widget in a notebook, with the time as the trait `time`; else a `Page`.

    Examples
    --------
    >>> exact = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0])
    >>> rough = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 20), method="RK4", step=0.3)
    >>> ph.view(exact, rough, path="both.html").title
    'exact and RK4'
    """
    if len(motions) > MOST_RUNS:
        raise ValueError(too_many(len(motions)))
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a text, not {title!r}")
    called = _called(motions, names)
    given = [load(m) if isinstance(m, str | os.PathLike) else m for m in motions]
    runs = runs_of(given, t_span, called)
    page = made_page(runs, title=title, mesh=mesh, mesh_centre=mesh_centre, points=points, pointing=pointing)
    return shown(page, path)


def plot(
    *motions: Any, quantities: str | Sequence[str] = ("omega", "difference"), names: Sequence[str] | None = None,
    title: str | None = None, degrees: bool = False, path: str | os.PathLike[str] | None = None,
) -> Figure:  # fmt: skip
    """Draws several motions over time in one picture: a panel for each component, a colour for each motion.

    Parameters
    ----------
    motions
        Solutions, free motions, or names of result files: up to 7. A free motion has the span of the first solution.
    quantities
        What is drawn, as in `Solution.plot`, and "difference": the angle between each motion and the first one.
    names
        What the motions are called; by default their methods.
    title
        The title of the picture; by default the body and the torque of the first motion.
    degrees
        Whether angles and rates are in degrees.
    path
        A file to save the picture in, too, as PNG, SVG or PDF by the ending of its name.

    Returns a Matplotlib figure.

    Examples
    --------
    >>> exact = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0])
    >>> rough = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 20), method="RK4", step=0.3)
    >>> figure = ph.plot(exact, rough, path="both.png")
    """
    from polhode.plots.plot import finished, titled
    from polhode.plots.plot_several import ANGLE, COLOURS, draw

    if not 1 <= len(motions) <= len(COLOURS):
        raise ValueError(f"a picture takes 1 to {len(COLOURS)} motions, which can be told apart, not {len(motions)}")
    called = _called(motions, names)
    given = [load(m) if isinstance(m, str | os.PathLike) else m for m in motions]
    solutions = _solutions(given)
    what = [quantities] if isinstance(quantities, str) else list(quantities)
    if len(solutions) == 1:
        what = [name for name in what if name != ANGLE]
    if not what:
        raise ValueError("quantities must name at least one, such as 'omega', and 'difference' needs two motions")
    first = solutions[0]
    head = title or titled(first)
    return finished(draw(solutions, called, what, head, degrees=degrees), path)


def _solutions(motions: Sequence[Any]) -> list[Solution]:
    """The motions as solutions; a free motion has the span of the first solution, or that of a page."""
    spans = [(m.problem.t_start, m.t_last) for m in motions if isinstance(m, Solution)]
    found = []
    for motion in motions:
        if isinstance(motion, FreeMotion):
            span = spans[0] if spans else FreeRun(motion).span
            at_start = motion.at(span[0])
            motion = simulate(
                motion._bodies[0], omega=at_start.omega, attitude=at_start.quaternion, t_span=span, rtol=1e-12
            )
        elif not isinstance(motion, Solution):
            raise TypeError(_not_shown(motion, "picture"))
        found.append(motion)
    return found


def _called(motions: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    if names is not None and (
        isinstance(names, str) or len(names) != len(motions) or not all(isinstance(n, str) for n in names)
    ):
        raise ValueError(f"names must be {len(motions)} texts, one for each motion, not {names!r}")
    return list(names) if names is not None else [_name(m) for m in motions]


def runs_of(motions: Sequence[Any], t_span: Span, names: Sequence[str]) -> list[Run]:
    """The motions as a page takes them; a free motion beside solutions has their span."""
    spans = [(m.problem.t_start, m.t_last) for m in motions if isinstance(m, Solution)]
    of_free = t_span if t_span is not None or not spans else spans[0]
    runs: list[Run] = []
    for name, motion in zip(names, motions, strict=True):
        if isinstance(motion, Solution):
            runs.append(SolutionRun(motion, t_span, name))
        elif isinstance(motion, FreeMotion):
            runs.append(FreeRun(motion, of_free, name))
        else:
            raise TypeError(_not_shown(motion))
    return runs


def motions_in(
    file: str | os.PathLike[str], members: Sequence[int] | None, note: Callable[[str], None]
) -> list[tuple[str, Solution]]:  # fmt: skip
    """The motion in a result file, or those of some members of an ensemble, with their names."""
    found, name = load(file), _name(file)
    if isinstance(found, Ensemble):
        if members is None:
            members = range(min(FIRST_MEMBERS, len(found)))
            if len(found) > FIRST_MEMBERS:
                note(f"{os.fspath(file)} holds {len(found):,} bodies, and the first {FIRST_MEMBERS} are shown: "
                     "--member chooses others")  # fmt: skip
        return [(f"{name}[{k}]", found[k]) for k in members]
    if members is not None:
        raise ValueError(f"{os.fspath(file)} holds a single motion, which has no members: leave --member out")
    return [(name, found)]


def exact_of(solution: Solution) -> FreeMotion:
    """The exact motion from the start of a solution; raises an error if there is none in closed form."""
    problem = solution.problem
    if problem.torque.depends is not Depends.NOTHING or solution.torque_changed:
        raise ValueError(f"there is no exact motion under the torque {problem.torque.name}: leave --exact out")
    if not has_closed_form(problem.body):
        raise ValueError(f"the motion of {problem.body!r} has no closed form: leave --exact out")
    return FreeMotion(problem.body, problem.omega_start, problem.quaternion_start, problem.t_start)


FIRST_MEMBERS = 4
"""The bodies of an ensemble that are shown if none were chosen."""


def _name(motion: Any) -> str:
    """What a motion is called on the page: its file, or its method."""
    if isinstance(motion, str | os.PathLike):
        return Path(motion).stem
    return method_name(motion) if isinstance(motion, Solution) else "exact"


def _not_shown(motion: Any, where: str = "page") -> str:
    if isinstance(motion, Ensemble):
        return (
            f"a {where} shows single motions, and this is an ensemble of {len(motion):,}: take members, as ensemble[0]"
        )
    if isinstance(motion, Drift):
        return f"a {where} shows motions with phases, and a drift has none: d.plot() draws it, or take d.motion(t)"
    return f"a {where} shows solutions and free motions, not {motion!r}"
