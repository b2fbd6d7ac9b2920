"""Scenario files: a run written down in TOML.

The classes below are its tables, and their fields its keys: [body], [initial], [torque], [run], [[event]], [output],
[ensemble] and [drift]. `polhode new` writes one to begin with, examples/ has many, and docs/reference/scenario.md
lists every key. Unknown keys are errors everywhere. Messages begin with the path of the key they are about.

A scenario can name a Python file of your own, "file.py:function". To load the scenario executes that file, like any
script: run only scenarios that you trust. The file is executed last, when everything else has been checked, and only
if it lies in the folder of the scenario or below, unless `trust=True` (on the command line `--trust`) allows any
place.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial, reduce
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from polhode.api.simulate import checked_arguments, is_auto, simulate
from polhode.attitudes import NAMES, check_sequence, quaternion_from_mrp
from polhode.body import Body
from polhode.environment.field import Field as MagneticField
from polhode.events.find import Event
from polhode.files.epochs import Instant
from polhode.files.netcdf import LARGEST_BYTES
from polhode.files.tables import FORMATS, check_format
from polhode.kernels.algebra.quat import multiply, to_space, turn
from polhode.kernels.types import Quat
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.run.integration import Progress, SimulationInterrupted
from polhode.solution import Solution, read_quantities
from polhode.support.extras import missing
from polhode.support.interrupts import keeping
from polhode.text.terminal import one_line, shortened
from polhode.torques import CustomTorque, SumTorque, Torque, torque
from polhode.torques import find as find_torque
from polhode.torques.no_torque import Free
from polhode.torques.table import Table, columns_of

try:
    from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
except ModuleNotFoundError as problem:
    raise missing(problem, "scenarios need") from None

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polhode.api.plan import EnsemblePlan
    from polhode.averages.result import Drift
    from polhode.ensembles.reduce import Quantity, Reduced
    from polhode.ensembles.result import Ensemble

MOST_BYTES = 1_000_000
"""A longer file is refused before it is parsed: no scenario is that long."""
MOST_ROWS = 50_000_000
"""More output than this (about 3 GB) is more likely a mistake than intended."""
MOST_PROBLEMS = 20
"""Problems listed for one file; more are only counted."""
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){20}""")
"""Matches a dotted key of more than twenty parts. The parser's memory grows with the square of their number."""


class ScenarioError(ValueError):
    """A scenario file cannot be used. The message names the file, the key and the remedy."""


# --- the tables of a file ------------------------------------------------------------------------------------------

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    exactly_one: ClassVar[tuple[str, ...]] = ()
    """Keys of which a file has exactly one."""
    at_most_one: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _alternatives(self) -> Self:
        for names, least in ((self.exactly_one, 1), (self.at_most_one, 0)):
            found = self.given(*names)
            if names and not least <= len(found) <= 1:
                number = "exactly" if least else "at most"
                raise ValueError(
                    f"give {number} one of {', '.join(names)}; found {' and '.join(found) or 'none of them'}"
                )
        return self

    def given(self, *names: str) -> list[str]:
        """Those of these keys that the file has."""
        return [name for name in names if name in self.model_fields_set]


class _Body(_Table):
    """A rigid body, by exactly one of `moments`, `tensor`, `name`, and of `moments_at`, `tensors_at` if it changes."""

    exactly_one = ("moments", "tensor", "name", "moments_at", "tensors_at")
    moments: Vector | None = None
    """Principal moments of inertia, kg m^2, in body axes."""
    tensor: Matrix | None = None
    """Inertia tensor in body axes, kg m^2."""
    name: str | None = None
    """A named body of the literature; `polhode bodies` lists them."""
    allow_unphysical: bool = False
    """Accepts moments that no real body has, of which one exceeds the sum of the others."""
    rotor: Vector | None = None
    """A constant internal angular momentum in body axes, kg m^2/s."""
    times: tuple[float, ...] | None = None
    """Times in s at which `moments_at` or `tensors_at` are given; a time that is there twice is a jump."""
    moments_at: tuple[Vector, ...] | None = None
    """The moments of a body that changes, about axes that stay, at each of the times, kg m^2."""
    tensors_at: tuple[Matrix, ...] | None = None
    """The tensors of a body that changes, at each of the times, kg m^2."""
    kind: Literal["linear", "cubic"] = "linear"
    """What is between the times: straight lines or a cubic spline."""
    wheels_locked: bool = False
    """Says that the inertia contains the spin inertias of the wheels and rings of [torque]."""

    @model_validator(mode="after")
    def _dated(self) -> _Body:
        if (self.times is None) != (self.moments_at is None and self.tensors_at is None):
            raise ValueError("times belong to moments_at or tensors_at: give both")
        return self

    def body(self) -> Body:
        if self.name is not None:
            return Body.named(self.name).with_rotor(self.rotor)
        if self.times is not None:
            return Body(
                self.moments_at or self.tensors_at, times=self.times, kind=self.kind, rotor=self.rotor,
                allow_unphysical=self.allow_unphysical,
            )  # fmt: skip
        return Body(self.moments or self.tensor, allow_unphysical=self.allow_unphysical, rotor=self.rotor)


class _Euler(_Table):
    """Euler angles."""

    sequence: str
    """One to three of XYZ (turning axes) or of xyz (axes fixed in space), such as ZYX."""
    angles: tuple[float, ...]
    """An angle for each axis of the sequence."""

    @model_validator(mode="after")
    def _valid(self) -> _Euler:
        axes = self.sequence
        check_sequence(axes, whole=False)
        if len(self.angles) != len(axes):
            raise ValueError(f"sequence {axes!r} needs {len(axes)} angles, not {len(self.angles)}")
        return self

    def quaternion(self, *, degrees: bool) -> Quat:
        """Multiplies the turns: intrinsic ones from left to right, extrinsic ones from right to left."""
        angles = _radians(self.angles) if degrees else self.angles
        turns = [_about(axis, angle) for axis, angle in zip(self.sequence, angles, strict=True)]
        return reduce(multiply, turns if self.sequence.isupper() else turns[::-1])


class _Initial(_Table):
    """The state at the start: exactly one of `omega`, `omega_deg`, `momentum`, and at most one attitude."""

    exactly_one = ("omega", "omega_deg", "momentum")
    at_most_one = ("quaternion", "matrix", "rotation_vector", "rotation_vector_deg", "mrp", "euler", "euler_deg")
    omega: Vector | None = None
    """Angular velocity in body axes, rad/s."""
    omega_deg: Vector | None = None
    """The same in degrees a second."""
    momentum: Vector | None = None
    """Angular momentum in body axes, kg m^2/s, with that of a rotor."""
    quaternion: tuple[float, float, float, float] | None = None
    """Attitude from body to space, scalar first."""
    matrix: Matrix | None = None
    """Attitude as a rotation matrix from body to space."""
    rotation_vector: Vector | None = None
    """Attitude as axis times angle, rad."""
    rotation_vector_deg: Vector | None = None
    """The same in degrees."""
    mrp: Vector | None = None
    """Attitude as modified Rodrigues parameters."""
    euler: _Euler | None = None
    """Attitude as Euler angles in radians."""
    euler_deg: _Euler | None = None
    """The same in degrees."""
    state: tuple[float, ...] | dict[str, float] | None = None
    """The numbers that torques carry: a list, or a table by their names."""

    def rate(self, body: Body, t: float) -> Sequence[float]:
        import numpy as np

        if self.momentum is not None:
            return body.rate(np.array(self.momentum), t).tolist()  # type: ignore[no-any-return]
        return self.omega or _radians(self.omega_deg or ())

    def attitude(self) -> Quat | Matrix | None:
        """The attitude for `simulate`, without SciPy, whose rotations take most of a second to import."""
        if self.euler_deg:
            return self.euler_deg.quaternion(degrees=True)
        if self.euler:
            return self.euler.quaternion(degrees=False)
        if self.mrp is not None:
            w, x, y, z = quaternion_from_mrp(self.mrp).tolist()
            return (w, x, y, z)
        if vector := self.rotation_vector or _radians(self.rotation_vector_deg or ()):
            x, y, z = vector
            return turn((1.0, 0.0, 0.0, 0.0), (x, y, z))
        return self.quaternion or self.matrix


class _Torque(_Table):
    """A torque model and its fields; several [[torque]] tables are a sum."""

    model_config = ConfigDict(extra="allow")  # the model's own fields, which the model checks

    model: str
    """A model of the list below, or a function of your own in a Python file, as "file.py:function"."""
    scale: float | None = None
    """The torque is multiplied by this number."""
    during: tuple[float, float] | None = None
    """The torque acts only between these times, s."""

    @property
    def is_file(self) -> bool:
        """Whether the model is a function in a Python file."""
        return ":" in self.model or self.model.endswith(".py")


class _Run(_Table):
    """How long and how accurately: exactly one of `step` and `rtol`, at most one of `every`, `t_eval`, `samples`."""

    exactly_one, at_most_one = ("step", "rtol"), ("every", "t_eval", "samples")
    t_span: tuple[float, float]
    """First and last time, s; the last may lie before the first."""
    step: float | None = None
    """Length of a step, s, negative where time runs backward; needs a method."""
    rtol: float | None = Field(default=None, gt=0, lt=1)
    """The error of the answer, from which method and steps are chosen."""
    method: str | None = None
    """A method of `polhode methods`; may be left out with `rtol`."""
    every: int | None = Field(default=None, ge=1)
    """A row of output after this number of steps."""
    t_eval: tuple[float, ...] | None = None
    """The times of the rows, s."""
    samples: int | None = Field(default=None, ge=2, le=MOST_ROWS)
    """The number of rows, at equal distances from the first time to the last."""

    @model_validator(mode="after")
    def _one(self) -> _Run:
        if self.step is not None and (self.method is None or is_auto(self.method)):
            raise ValueError("a step needs a method: name one of `polhode methods`, or give rtol instead of step")
        return self


class _Drift(_Table):
    """Averages over long times, for `polhode drift`; [run] has the span, the tolerance and the rows."""

    over: tuple[str | float, ...] = ("rotation",)
    """What is averaged over: "rotation", and "orbit" or the period of an orbit in s."""
    beyond: Literal["stop", "both"] = "stop"
    """What to do at the separatrix: stop, or follow both ways on."""


class _Event(_Table):
    """Looks for the times at which a quantity passes a value, or a function is zero; any number of [[event]] tables."""

    exactly_one = ("quantity", "function")
    quantity: str | None = None
    """time, rate, omega, spatial_omega, "state(NAME)", "pointing_angle_deg(z, [0, 0, 1])" or "euler_deg(ZYX)"."""
    function: str | None = None
    """A function g(t, q, w) of your own, or g(t, q, w, z), as "file.py:g"."""
    component: str | int | None = None
    """"x", "y" or "z" of omega and spatial_omega; 2 of Euler angles."""
    value: float = 0.0
    """The value that the quantity passes."""
    direction: Literal[-1, 0, 1] = 0
    """1: rising, -1: falling, 0: both."""
    terminal: bool = False
    """Ends the run at the first event."""
    name: str | None = None
    """The name of the event in results; by default the quantity and its value, or the name of the function."""

    @model_validator(mode="after")
    def _one(self) -> _Event:
        if self.function is not None and (unused := self.given("value", "component")):
            raise ValueError(f"{unused[0]} goes with a quantity: a function must be zero at its events")
        if self.name is not None and not (self.name and self.name.isprintable()):
            raise ValueError(f"name must be a name that can be printed, not {self.name!r}")
        if self.quantity is not None:
            watched(self.quantity, self.component)
        return self


class _Output(_Table):
    """Where the result goes, and in which formats."""

    file: str | None = None
    """A relative path that ends in .nc, .csv or .parquet; by default the name of the scenario, with .nc."""
    formats: tuple[str, ...] = ()
    """Formats in which the result is saved besides, under the same name: "nc", "csv", "parquet"."""
    plot: bool = False
    """Draws a PNG beside the result."""
    quantities: tuple[str, ...] = ()
    """Quantities of attitudes, such as euler_deg(ZYX): each a panel of the plot and columns of tables."""

    @model_validator(mode="after")
    def _below(self) -> _Output:
        if self.file is not None:
            path = PurePath(self.file)
            if path.is_absolute() or ".." in path.parts or path.suffix.removeprefix(".") not in FORMATS:
                raise ValueError(
                    f"file must be a path such as 'results/top.nc', ending in .nc, .csv or .parquet and without '..', "
                    f"not {self.file!r}; it starts from the current directory, or from the one given with --out"
                )
            if not self.file.isprintable():
                raise ValueError(f"file must be a name that can be printed, not {self.file!r}")
        if odd := [ending for ending in self.formats if ending not in FORMATS]:
            raise ValueError(f"formats are {', '.join(FORMATS)}, not {odd[0]!r}")
        for name in filter(None, [self.file, *(f"result.{ending}" for ending in self.formats)]):
            try:
                check_format(name)
            except ModuleNotFoundError as problem:
                raise ValueError(str(problem)) from None
        read_quantities(self.quantities)
        return self


class _Distribution(_Table):
    """A distribution of `polhode.samples` and its fields."""

    model_config = ConfigDict(extra="allow")  # the fields of the distribution, which checks them

    kind: str
    """One of the distributions listed below."""


class _ParameterDistribution(_Distribution):
    """The same for the parameters of a torque function."""

    part: str | None = None
    """The part of a sum of torques whose parameters are drawn."""


class _Ensemble(_Table):
    """Many bodies around the nominal one of the other tables; at least one distribution."""

    count: int = Field(ge=1)
    """The number of bodies."""
    seed: int = Field(ge=0)
    """The sample of body k depends on the seed and on k, not on the count."""
    moments: _Distribution | None = None
    """Principal moments, kg m^2; with the kind Inertia, whole tensors about that of the body."""
    rotor: _Distribution | None = None
    """Internal angular momentum, kg m^2/s."""
    omega: _Distribution | None = None
    """Angular velocity at the start, rad/s."""
    attitude: _Distribution | None = None
    """Attitude at the start."""
    parameters: _ParameterDistribution | None = None
    """Parameters of a torque function of your own."""
    state: _Distribution | None = None
    """What the torque carries, at the start."""
    reduce: dict[str, str] = {}
    """Reductions to keep instead of the motions, by names of your own, such as omega.mean(body)."""

    @model_validator(mode="after")
    def _some(self) -> _Ensemble:
        if not self.given(*_DRAWN):
            raise ValueError(f"all bodies would be the same: give a distribution of {', '.join(_DRAWN)}")
        return self


_DRAWN = ("moments", "rotor", "omega", "attitude", "parameters", "state")


class _File(_Table):
    """The tables of a file."""

    title: str = ""
    """A title for pictures and results."""
    epoch: str | None = None
    """The instant of t = 0, as in "2026-01-31T12:00:00"; it is kept in the result."""
    time_system: str = "UTC"
    """The time system of the epoch: UTC, TAI, TT, TDB or GPS."""
    body: _Body
    """The body."""
    initial: _Initial
    """The state at the start."""
    torque: _Torque = _Torque(model="Free")
    """The torque; none: the body is free."""
    run: _Run
    """The span of time, and how it is computed."""
    event: tuple[_Event, ...] = ()
    """Events that are looked for."""
    output: _Output = _Output()
    """Files."""
    ensemble: _Ensemble | None = None
    """Many bodies."""
    drift: _Drift | None = None
    """Averages over long times."""

    @property
    def torques(self) -> dict[str, _Torque]:
        """The tables of torques, by the names that they have in messages."""
        return {"torque": self.torque}


class _FileOfSum(_File):
    """A file with several torques, as [[torque]] tables."""

    torque: tuple[_Torque, ...]  # type: ignore[assignment]

    @property
    def torques(self) -> dict[str, _Torque]:
        """The tables of torques, by the names that they have in messages."""
        return {f"torque[{k}]": table for k, table in enumerate(self.torque)}


_KEYS: dict[tuple[str, ...], type[_Table]] = {
    (): _File, ("body",): _Body, ("initial",): _Initial, ("initial", "euler"): _Euler,
    ("initial", "euler_deg"): _Euler, ("run",): _Run, ("event",): _Event, ("output",): _Output,
    ("ensemble",): _Ensemble, ("drift",): _Drift,
}  # fmt: skip


def _about(axis: str, angle: float) -> Quat:
    x, y, z = (angle * (axis.lower() == a) for a in "xyz")
    return turn((1.0, 0.0, 0.0, 0.0), (x, y, z))


def _radians(degrees: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(math.radians, degrees))


# --- a scenario ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Many:
    """Describes the bodies of an ensemble."""

    count: int
    seed: int
    drawn: dict[str, Any]
    """The arguments of `polhode.ensemble` that are distributions."""
    reduce: dict[str, Quantity]


@dataclass(frozen=True, eq=False)
class Scenario:
    """Describes a run that is ready to start."""

    path: Path
    title: str
    body: Body
    torque: Torque
    omega: Sequence[float]
    attitude: Any
    t_span: tuple[float, float]
    step: float | None
    rtol: float | None
    method: Method | None
    """The method, or None if it is to be chosen."""
    every: int | None
    t_eval: Sequence[float] | None
    file: PurePath
    """The name of the result file."""
    plot: bool
    quantities: tuple[str, ...] = ()
    """The quantities of attitudes that the picture shows besides."""
    many: Many | None = None
    """The bodies of the [ensemble] table, if there is one."""
    state: Any = None
    """The numbers that the torque carries at the start; None: it carries none, or knows them."""
    epoch: Instant | None = None
    """The instant of t = 0, if it is given."""
    formats: tuple[str, ...] = ()
    """The endings of further files for the result, besides that of `file`."""
    events: tuple[Event, ...] = ()
    """The events that are looked for."""
    averages: tuple[tuple[str | float, ...], str] = (("rotation",), "stop")
    """What a drift averages over, and what it does at the separatrix."""

    @property
    def files(self) -> list[PurePath]:
        """The names of all files for the result; the first is `file`."""
        return list(dict.fromkeys([self.file, *(self.file.with_suffix(f".{ending}") for ending in self.formats)]))

    def ensemble(
        self, progress: Progress | None = None, on_compile: Callable[[], None] | None = None
    ) -> Ensemble | Reduced:  # fmt: skip
        """Runs all bodies of an [ensemble]; the arguments, and what is raised, are those of `polhode.ensemble`."""
        from polhode.api.ensemble import ensemble

        return ensemble(**self._of_many(), progress=progress, on_compile=on_compile)  # type: ignore[no-any-return]

    def drift(self, on_compile: Callable[[], None] | None = None) -> Drift:
        """Follows the mean motion; the arguments, and what is raised, are those of `polhode.drift`."""
        from polhode.api.drift import drift

        if self.rtol is None:
            raise ValueError("a drift needs a tolerance: give run.rtol, such as 1e-6, in place of step and method")
        names = ("body", "torque", "omega", "attitude", "t_span", "rtol", "t_eval")
        given = {name: getattr(self, name) for name in names}
        over, beyond = self.averages
        found: Drift = drift(**given, over=over, beyond=beyond, on_compile=on_compile)
        return found

    def plan(self, store: str, executor: Executor | None = None) -> EnsemblePlan:
        """Plans an [ensemble] in parts; what is raised is what `polhode.plan_ensemble` raises."""
        from polhode.api.plan import plan_ensemble

        return plan_ensemble(**self._of_many(), store=store, executor=executor)

    def _of_many(self) -> dict[str, Any]:
        """The arguments that `ensemble` and `plan_ensemble` have in common."""
        assert self.many is not None
        drawn = {"count": self.many.count, "seed": self.many.seed, **self.many.drawn}
        more = {"events": self.events or None, "reduce": self.many.reduce or None}
        return {**self.arguments(), **drawn, **more}

    def simulate(
        self, progress: Progress | None = None, on_compile: Callable[[], None] | None = None
    ) -> Solution:  # fmt: skip
        """Runs the scenario; the arguments, and what is raised, are those of `polhode.simulate`."""
        given = {**self.arguments(), "events": self.events or None}

        def kept(raised: BaseException) -> Solution | None:
            return self._labelled(part) if isinstance(part := getattr(raised, "solution", None), Solution) else None

        with keeping(SimulationInterrupted, kept):
            return self._labelled(simulate(**given, progress=progress, on_compile=on_compile))

    def arguments(self) -> dict[str, Any]:
        """The arguments for `polhode.simulate`."""
        names = ("body", "torque", "omega", "attitude", "t_span", "step", "rtol", "method", "every", "t_eval", "state")
        return {name: getattr(self, name) for name in names}

    def _labelled(self, solution: Solution) -> Solution:
        named = replace(solution, metadata={**solution.metadata, "title": self.title, "scenario": self.path.name})
        return named if self.epoch is None else named.with_epoch(self.epoch, self.epoch.system)


def load_scenario(path: str | Path, *, trust: bool = False) -> Scenario:
    """Reads a scenario file and checks all of it.

    A torque of the user's own, in a Python file, is executed when everything else is known to be right. The file must
    lie in the folder of the scenario or below it; with `trust=True` it may lie anywhere.

    Raises ScenarioError, whose message has one line for each problem.
    """
    return check_scenario(path, trust=trust).scenario()


def check_scenario(path: str | Path, *, trust: bool = False, in_parts: bool = False) -> Draft:
    """Reads a scenario file and checks everything in it that can be checked before a Python file is executed.

    Raises ScenarioError, as `load_scenario` does. An ensemble that is run in parts may be larger than a file can be.
    """
    path = Path(path)
    with _problems_of(path):
        tree = _tree(_text(path))
        if isinstance(tree.get("event"), dict):  # a single one may be an [event]
            tree["event"] = [tree["event"]]
        file = _validated(_FileOfSum if isinstance(tree.get("torque"), list) else _File, tree)
        return Draft(_scenario(path, file, trust, in_parts, None), file, trust, in_parts)


@dataclass(frozen=True, eq=False)
class Draft:
    """Describes a run whose torque may still have to be loaded from a Python file."""

    checked: Scenario
    """The scenario, with no torque in the place of one from a Python file."""
    tables: _File
    trust: bool
    in_parts: bool

    @property
    def python_files(self) -> list[str]:
        """The Python files that the scenario names, relative to its folder."""
        named = [table.model for table in self.tables.torques.values() if table.is_file]
        named += [table.function for table in self.tables.event if table.function is not None]
        return list(dict.fromkeys(name.rpartition(":")[0] for name in named))

    @property
    def files(self) -> list[str]:
        """All files that the scenario names, relative to its folder: Python files, and those of tables."""
        settings = [table.model_extra or {} for table in self.tables.torques.values()]
        tables = [x for one in settings for x in (one, *_listed_tables(one.get("parameters", ())))]
        return [*self.python_files, *dict.fromkeys(str(x["file"]) for x in tables if "file" in x)]

    def scenario(self) -> Scenario:
        """The scenario with its torque; executes the Python file that it may name."""
        if not self.python_files:
            return self.checked
        with _problems_of(self.checked.path):
            return _scenario(self.checked.path, self.tables, self.trust, self.in_parts, {})


class _Problems(Exception):
    """Carries the problems of a file, one in each argument."""


@contextmanager
def _problems_of(path: Path) -> Iterator[None]:
    """Turns problems into a ScenarioError about this file."""
    try:
        yield
    except _Problems as problems:
        lines = (f"{one_line(str(path))}: {one_line(problem)}" for problem in problems.args)
        raise ScenarioError("\n".join(lines)) from None


def _scenario(path: Path, file: _File, trust: bool, in_parts: bool, modules: dict[Path, Any] | None) -> Scenario:
    """The scenario. Python files are executed and kept in `modules`; None: torques and events in them are left out.

    Raises what `simulate` would raise; the messages name the keys.
    """
    whole = _checked("body", file.body.body)
    named = None if file.run.method is None or is_auto(file.run.method) else file.run.method
    method = None if named is None else _checked("run.method", lambda: find_method(named))
    run, t0, t1 = file.run, *file.run.t_span
    t_eval: Sequence[float] | None = run.t_eval
    if run.samples is not None:
        import numpy as np

        t_eval = np.linspace(t0, t1, run.samples).tolist()
    rows = abs((t1 - t0) / run.step) / (run.every or 1) if t_eval is None and run.step else 0
    if rows > MOST_ROWS:
        raise _Problems(
            f"run: {rows:.3g} rows of output are more than the {MOST_ROWS:.0e} allowed: set run.every or run.samples"
        )
    from_file = modules is None and any(table.is_file for table in file.torques.values())
    acting = _sum(file.torques, path.parent, trust, modules)
    body = whole if from_file else _simulated(file, whole, acting)
    scenario = Scenario(
        path=path,
        title=file.title,
        body=body,
        torque=Free() if from_file else acting,
        omega=file.initial.rate(whole, t0),
        attitude=file.initial.attitude(),
        t_span=run.t_span,
        step=run.step,
        rtol=run.rtol,
        method=method,
        every=run.every,
        t_eval=t_eval,
        file=PurePath(file.output.file or f"{path.stem}.nc"),
        plot=file.output.plot,
        quantities=file.output.quantities,
        state=None if from_file else file.initial.state,
        formats=file.output.formats,
        epoch=None if file.epoch is None else _checked("epoch", lambda: Instant.given(file.epoch, file.time_system)),
        averages=(("rotation",), "stop") if file.drift is None else (file.drift.over, file.drift.beyond),
    )
    _checked("", lambda: checked_arguments(**scenario.arguments()))
    watched = [(k, table) for k, table in enumerate(file.event) if table.function is not None or not from_file]
    found = [_event(f"event[{k}]", table, scenario, trust, modules) for k, table in watched]
    if not from_file:
        scenario = replace(scenario, events=tuple(event for event in found if event is not None))
    if file.ensemble is None:
        return scenario
    tables = [name for name in scenario.files if name.suffix != ".nc"]
    if tables and file.ensemble.reduce:
        raise _Problems(
            f"output: {tables[0]} would be a table of motions, but ensemble.reduce keeps none: save reductions as .nc"
        )
    if file.output.quantities and not tables:
        raise _Problems(
            "output.quantities: these are for tables and for the picture of one body; of many, reduce them, as in "
            f"reduce.some = {json.dumps(file.output.quantities[0] + '.quantile([0.05, 0.5, 0.95], body)')}"
        )
    listed = len(t_eval) if t_eval is not None else 2 + int(rows) * (run.every is not None)
    size = file.ensemble.count * listed * 32  # a quaternion in each row
    if size > LARGEST_BYTES and not file.ensemble.reduce and not in_parts:
        raise _Problems(
            f"ensemble: {file.ensemble.count} bodies with {listed} rows each take {size / 2**30:.3g} GiB an array, and "
            "a file can hold no more than 4: take fewer bodies or rows, reduce them (ensemble.reduce), or run them in "
            "parts (polhode ensemble)"
        )
    later = {"parameters": None, "state": None}  # those of a torque that is not known yet
    known = file.ensemble.model_copy(update=later) if from_file else file.ensemble
    return replace(scenario, many=_many(known, scenario))


def _simulated(file: _File, body: Body, acting: Torque) -> Body:
    """The body for `simulate`: without the spin inertias of what spins in it, if the file has it with them."""
    return _checked("body.wheels_locked", lambda: acting.carrier(body)) if file.body.wheels_locked else body


# --- an ensemble ---------------------------------------------------------------------------------------------------


def _many(table: _Ensemble, nominal: Scenario) -> Many:
    """Reads an [ensemble] table. Distributions without a centre are centred on the nominal body."""
    centres: dict[str, Any] = {
        "moments": nominal.body.moments, "rotor": nominal.body.rotor, "omega": nominal.omega,
        "attitude": nominal.attitude,
    }  # fmt: skip
    if table.moments is not None and table.moments.kind == "Inertia":
        centres["moments"] = nominal.body
    elif table.moments is not None and not nominal.body.aligned:
        raise _Problems(
            "ensemble.moments: these are drawn for principal axes, but the body has a tensor in other axes: "
            "give body.moments instead of body.tensor, or kind = 'Inertia'"
        )
    part = None
    if table.parameters is not None:
        part = table.parameters.part
        acting = nominal.torque if part is None else nominal.torque.parts.get(part)
        if part is not None and isinstance(nominal.torque, SumTorque) and acting is not None:
            acting = nominal.torque.terms[list(nominal.torque.parts).index(part)].torque
        if not isinstance(acting, CustomTorque):
            hint = ": name one of its parts, as in part = 'name'" if isinstance(nominal.torque, SumTorque) else ""
            raise _Problems(
                "ensemble.parameters: only a torque function of your own has parameters, not "
                f"{part or nominal.torque.name}{hint if part is None else ''}"
            )
        centres["parameters"] = acting.values
    if table.state is not None:
        centres["state"] = _checked("ensemble.state", lambda: _state_at_start(nominal))
    drawn = {
        "body" if name == "moments" else name: _distribution(f"ensemble.{name}", getattr(table, name), centres[name])
        for name in _DRAWN
        if getattr(table, name) is not None
    }
    if nominal.body.has_rotor and ("rotor" in drawn or "body" in drawn):
        drawn.setdefault("rotor", nominal.body.rotor)  # which drawn bodies have, too
        drawn.setdefault("body", nominal.body.with_rotor(None))
    if part is not None:
        drawn["parameters"] = {part: drawn["parameters"]}
    kept = {name: _checked(f"ensemble.reduce.{name}", partial(_quantity, text)) for name, text in table.reduce.items()}
    return Many(table.count, table.seed, drawn, kept)


def _state_at_start(nominal: Scenario) -> list[float]:
    """The numbers that the torque carries at the start of the nominal body."""
    import numpy as np

    from polhode.problem import checked_state

    return checked_state(nominal.torque, nominal.state, np.array(nominal.omega)).tolist()  # type: ignore[no-any-return]


def _distribution(key: str, table: _Distribution, centre: Any) -> Any:
    from polhode import samples
    from polhode.support import checks

    kind = getattr(samples, _checked(f"{key}.kind", lambda: checks.choice("distribution", table.kind, samples.__all__)))
    given, names = dict(table.model_extra or {}), [f.name for f in fields(kind)]
    if unknown := given.keys() - set(names):
        raise _Problems(*(f"{key}.{k}: {_unknown(k, names)}" for k in sorted(unknown)))
    if kind is samples.Normal:
        given.setdefault("mean", centre)
    if kind is samples.Inertia:
        given.setdefault("body", centre)
    if kind is samples.Attitude and "sd" in given:
        given.setdefault("around", centre)
    if missing := [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]:
        raise _Problems(*(f"{key}.{name}: missing" for name in missing))
    return _checked(key, lambda: kind(**given))


def _quantity(text: str) -> Quantity:
    """The quantity written as `omega.quantile([0.1, 0.9], body)`: as in Python, without the quotes."""
    from polhode.ensembles.reduce import quantity

    name, *calls = re.split(r"\.(?=[a-z])", text.replace(" ", ""))
    found = quantity(name)
    for call in calls:
        parts = re.fullmatch(r"(\w+)\((.*)\)", call)
        if parts is None or parts[1] not in REDUCTIONS:
            raise ValueError(
                f"{call!r} in {text!r} must be one of {', '.join(REDUCTIONS)}, such as 'omega.mean(body)' or "
                "'energy_error.max(time).quantile(0.99, body)'"
            )
        try:
            quoted = re.sub(r"\b[a-z]+", lambda word: json.dumps(word[0]), parts[2])  # but not the e of 1e-3
            found = getattr(found, parts[1])(*json.loads(f"[{quoted}]"))
        except (json.JSONDecodeError, TypeError):
            raise ValueError(
                f"{call!r} in {text!r} must be like 'mean(body)' or 'quantile([0.1, 0.9], time)'"
            ) from None
    return found


REDUCTIONS = ("mean", "std", "cov", "min", "max", "quantile", "histogram", "last")


def _checked(key: str, make: Callable[[], Any]) -> Any:
    """What `make` returns; its errors become problems of this key."""
    try:
        return make()
    except (ValueError, TypeError) as problem:
        raise _Problems(f"{key}: {problem}".removeprefix(": ")) from None


# --- the torque ----------------------------------------------------------------------------------------------------


def _sum(tables: dict[str, _Torque], directory: Path, trust: bool, modules: dict[Path, Any] | None) -> Torque:
    """The sum of the torques in these tables; without `modules` those in Python files are checked and left out."""
    total: Torque = Free()
    for key, table in tables.items():
        if table.is_file:
            acting = _torque_from_file(key, table, directory, trust, modules)
        else:
            acting = _torque(key, table, directory, trust)
        total = total + _limited(key, table, acting)
    return total


def _limited(key: str, table: _Torque, acting: Torque) -> Torque:
    """The torque times its scale, for the time during which it acts."""
    if table.scale is not None:
        acting = table.scale * acting
    if (during := table.during) is not None:
        acting = _checked(f"{key}.during", lambda: acting.during(*during))
    return acting


def _torque(key: str, table: _Torque, directory: Path, trust: bool) -> Torque:
    model = _checked(f"{key}.model", lambda: find_torque(table.model))
    settings = dict(table.model_extra or {})
    if model is Table:
        settings = _with_columns(key, settings, directory, trust)
    return _checked(key, lambda: _validated(model, settings, key))  # type: ignore[no-any-return]


def _with_columns(key: str, settings: dict[str, Any], directory: Path, trust: bool) -> dict[str, Any]:
    """The settings of a table with times and values in place of the file that has them."""
    if "file" not in settings:
        return settings
    if both := settings.keys() & {"t", "values"}:
        raise _Problems(f"{key}: give either file or {' and '.join(sorted(both))}, not both")
    rest = {name: value for name, value in settings.items() if name != "file"}
    return rest | _columns(key, settings["file"], directory, trust)


def _columns(key: str, name: Any, directory: Path, trust: bool) -> dict[str, Any]:
    """Times and values from a text file, which lies beside the scenario or below."""
    if not isinstance(name, str) or not name.isprintable():
        raise _Problems(f"{key}.file: {name!r} must be the name of a file, such as 'torque.csv'")
    path = directory / name
    try:
        if not (trust or path.resolve().is_relative_to(directory.resolve())):
            raise _Problems(
                f"{key}.file: {path.resolve()} lies outside the folder of the scenario: if it is meant, allow it with "
                "--trust (in Python: trust=True)"
            )
        rows = _checked(f"{key}.file", lambda: columns_of(path))
    except OSError as problem:
        raise _Problems(f"{key}.file: {path} cannot be read: {problem.strerror}") from None
    return {"t": rows[:, 0].tolist(), "values": rows[:, 1:].tolist()}


def _checked_python(key: str, text: str, directory: Path, trust: bool) -> tuple[Path, str]:
    """A Python file and the name of a function in it, checked as far as possible without executing it."""
    file, _, name = text.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier() or "\0" in file:
        raise _Problems(f"{key}: {text!r} must be like 'magnetic.py:torque_function'")
    path = directory / file
    try:
        real, folder, exists = path.resolve(), directory.resolve(), path.is_file()
    except OSError as problem:
        raise _Problems(f"{key}: {path} cannot be read: {problem.strerror}") from None
    if not exists:
        raise _Problems(f"{key}: there is no file {path}; it is looked for beside the scenario")
    if not (trust or real.is_relative_to(folder)):
        raise _Problems(
            f"{key}: {real} lies outside the folder of the scenario, and to run the scenario would execute it: "
            "if you trust that file, allow it with --trust (in Python: trust=True)"
        )
    return path, name


def _parameters(key: str, settings: dict[str, Any], directory: Path, trust: bool) -> tuple[Any, ...]:
    """The parameters of a function: numbers, and the tables and fields that are written among them."""
    given = settings.get("parameters", ())
    tables = _listed_tables(given)
    plain = [0.0 if isinstance(x, dict) else x for x in given] if tables else given
    numbers: tuple[float, ...] = _validated(tuple[float, ...], plain, key, "parameters")
    if not tables:
        return numbers
    return tuple(
        _table_or_field(f"{key}.parameters[{k}]", x, directory, trust) if isinstance(x, dict) else numbers[k]
        for k, x in enumerate(given)
    )


def _listed_tables(given: Any) -> list[dict[str, Any]]:
    """The tables of the file that stand among parameters."""
    return [x for x in given if isinstance(x, dict)] if isinstance(given, list | tuple) else []


def _table_or_field(key: str, settings: dict[str, Any], directory: Path, trust: bool) -> Table | MagneticField:
    """The table of vectors, or the field of `polhode.environment`, that a table of the file describes."""
    if str(settings.get("model", "Table")).lower() != "table":
        return _checked(key, lambda: MagneticField.given(key, settings))  # type: ignore[no-any-return]
    rest = _with_columns(key, {k: v for k, v in settings.items() if k != "model"}, directory, trust)
    return _checked(key, lambda: _validated(Table, rest, key))  # type: ignore[no-any-return]


_SETTINGS = ["parameters", "compiled"]
"""What a scenario can say of a torque in a Python file."""


def _torque_from_file(
    key: str, table: _Torque, directory: Path, trust: bool, modules: dict[Path, Any] | None
) -> Torque:  # fmt: skip
    """The torque of a function in a Python file, which is executed once for all: `modules` has those that were."""
    settings = table.model_extra or {}
    path, name = _checked_python(f"{key}.model", table.model, directory, trust)
    if unknown := settings.keys() - set(_SETTINGS):
        raise _Problems(*(f"{key}.{k}: {_unknown(k, _SETTINGS)}" for k in sorted(unknown)))
    values = _parameters(key, settings, directory, trust)
    compiled = _validated(bool, settings.get("compiled", True), key, "compiled")
    if modules is None:
        return Free()
    found = _found(f"{key}.model", path, name, modules)
    if isinstance(found, Torque) and "compiled" in settings:
        raise _Problems(f"{key}.compiled: {name} is a torque already: say it there, as in @torque(compiled=False)")
    if isinstance(found, CustomTorque):
        return found.with_parameters(values) if "parameters" in settings else found
    if isinstance(found, Torque) and not settings:
        return found
    return _checked(f"{key}.model", lambda: torque(found, parameters=values, compiled=compiled))  # type: ignore[no-any-return]


def _found(key: str, path: Path, name: str, modules: dict[Path, Any]) -> Any:
    """What has this name in a Python file, which is executed if it was not before."""
    if path not in modules:
        modules[path] = _module(key, path)
    found = getattr(modules[path], name, None)
    if found is None:
        raise _Problems(f"{key}: {path} has no {name}")
    return found


def _module(key: str, path: Path) -> Any:
    """Executes the file and returns it as a module, under a name that no package has."""
    name = f"polhode-scenario:{path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # the user's code may raise anything
        line = problem.lineno if isinstance(problem, SyntaxError) else _last_line(problem, path)
        where = f", line {line}" if line else ""
        raise _Problems(f"{key}: {path}{where} raised {type(problem).__name__}: {problem}") from None
    return module


def _last_line(problem: BaseException, path: Path) -> int | None:
    """The line of the file at which an exception passed through it."""
    line, trace = None, problem.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


# --- events --------------------------------------------------------------------------------------------------------


def watched(text: str, component: str | int | None) -> WatchedQuantity:
    """The quantity that an event watches; raises ValueError, which says how they are written."""
    name = text.split("(")[0].strip()
    if name in _WATCHED and text.strip() == name:
        parts = _WATCHED[name]
        if parts and component not in parts:
            raise ValueError(f"component of {name} must be {_or(parts)}, not {component!r}")
        if not parts and component is not None:
            raise ValueError(f"{name} is one number: leave component out")
        return WatchedQuantity(name, name, parts.index(str(component)) if parts else None)
    if carried := re.fullmatch(r"\s*state\(\s*(\S+?)\s*\)\s*", text):
        if component is not None:
            raise ValueError(f"{text} is one number: leave component out")
        return WatchedQuantity("state", carried[1], None)
    known = [*_WATCHED, "state(NAME)", "pointing_angle(z, [0, 0, 1])", "pointing_angle_deg(z, [0, 0, 1])", "euler(ZYX)"]
    if name not in NAMES:
        raise ValueError(f"quantity must be one of {', '.join(known)} or euler_deg(ZYX), not {text!r}")
    (asked,) = read_quantities(text)
    if asked.kind == "mrp":
        raise ValueError("mrp jumps at 180 degrees, which would count as an event: give a function instead")
    if asked.kind == "euler" and component != 2:
        raise ValueError(
            f"of Euler angles an event can watch the second (component = 2), not {component!r}: the others jump at "
            "180 degrees, which would count as an event. Give a function instead"
        )
    if asked.kind != "euler" and component is not None:
        raise ValueError(f"{text} is one number: leave component out")
    return WatchedQuantity("attitude", asked, 1 if asked.kind == "euler" else None)


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"


_WATCHED: dict[str, tuple[str, ...]] = {
    "time": (), "rate": (), "omega": ("x", "y", "z"), "spatial_omega": ("x", "y", "z"),
}  # fmt: skip
"""The quantities that events can watch besides those of attitudes, with their components."""


@dataclass(frozen=True)
class WatchedQuantity:
    """A number along the motion, whose values an event watches."""

    kind: str
    what: Any
    """The quantity of attitudes, or the name of a number that the torque carries."""
    component: int | None

    def function(self, value: float, state_names: Sequence[str]) -> Callable[..., Any]:
        """G(t, q, w), or g(t, q, w, z), which is zero where the number has this value."""
        import numpy as np

        if self.kind == "state":
            if self.what not in state_names:
                carried = ", ".join(state_names) or "nothing"
                raise ValueError(f"quantity: the torque does not carry {self.what!r}; it carries {carried}")
            place = list(state_names).index(self.what)
            return lambda t, q, w, z: z[place] - value
        part = self.component

        def of_motion(t: Any, q: Any, w: Any) -> Any:
            if self.kind == "time":
                return t - value
            if self.kind == "rate":
                return (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) ** 0.5 - value
            if self.kind == "attitude":
                found = self.what.of(np.stack(np.broadcast_arrays(*q), axis=-1))
                return (found if part is None else found[..., part]) - value
            assert part is not None
            return (w if self.kind == "omega" else to_space(q, w))[part] - value

        return of_motion

    def __str__(self) -> str:
        if self.kind == "attitude":
            return f"{self.what}{'' if self.component is None else f'[{self.component + 1}]'}"
        return f"{self.what}{'' if self.component is None else f'_{_WATCHED[self.kind][self.component]}'}"


def _event(
    key: str, table: _Event, scenario: Scenario, trust: bool, modules: dict[Path, Any] | None
) -> Event | None:  # fmt: skip
    """The event of a table: of a quantity, or of a function in a Python file, which is left out without `modules`."""
    if table.function is not None:
        path, name = _checked_python(f"{key}.function", table.function, scenario.path.parent, trust)
        return (
            None if modules is None else _event_of_function(key, table, _found(f"{key}.function", path, name, modules))
        )
    assert table.quantity is not None
    seen = watched(table.quantity, table.component)
    function = _checked(key, lambda: seen.function(table.value, scenario.torque.state_names))
    function.__name__ = table.name or f"{seen} = {table.value:g}"
    return Event(function, table.direction, table.terminal)


def _event_of_function(key: str, table: _Event, found: Any) -> Event:
    """The event made of a function of the user's, under the name of the table if it has one."""
    if isinstance(found, Event):
        return found
    made: Event = _checked(f"{key}.function", lambda: Event(found, table.direction, table.terminal))
    if table.name is None:
        return made

    def named(*state: Any) -> Any:
        return found(*state)

    def named_with_state(t: Any, q: Any, w: Any, z: Any) -> Any:
        return found(t, q, w, z)

    function = named_with_state if made.takes_state else named
    function.__name__ = table.name
    return replace(made, function=function)


# --- from bytes to checked values ----------------------------------------------------------------------------------


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        siblings = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, n=1)
        hint = f"; did you mean {str(path.with_name(near[0]))!r}?" if near else ""
        raise _Problems(f"there is no such file{hint}") from None
    except IsADirectoryError:
        raise _Problems("this is a directory; give the scenario files in it") from None
    except OSError as problem:
        raise _Problems(f"cannot be read: {problem.strerror}") from None
    if len(content) > MOST_BYTES:
        raise _Problems(f"more than {MOST_BYTES / 1e6:g} MB: a scenario is a small file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise _Problems(f"not UTF-8 text at line {line} (byte {problem.start}); save it as UTF-8") from None


def _tree(text: str) -> dict[str, Any]:
    if _DEEP_KEY.search(text):
        raise _Problems("nested too deeply")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _Problems("nested too deeply") from None
    except tomllib.TOMLDecodeError as problem:
        raise _Problems(f"not valid TOML: {problem}") from None
    except ValueError:  # of int()
        raise _Problems("a whole number has thousands of digits: write it as 1e10") from None


def _validated(kind: Any, tree: Any, *where: str) -> Any:
    """Returns the tree as this type, or raises the problems in it.

    The tree goes through JSON, because pydantic's strict rules for JSON are the right ones here: a number is not
    accepted for a truth value or for text, nor the reverse; lists become tuples, tables become classes; and doubles
    pass unchanged.
    """
    try:
        return TypeAdapter(kind).validate_json(json.dumps(tree, default=str), strict=True)
    except RecursionError:
        raise _Problems("nested too deeply") from None
    except ValidationError as error:
        details = error.errors(include_url=False)
        if details[0]["type"] == "json_invalid":
            raise _Problems("nested too deeply") from None
        problems = _listed(kind, tree, details[:MOST_PROBLEMS], where)
        more = len(details) - MOST_PROBLEMS
        raise _Problems(*problems, *[f"and {more} more problems"] * (more > 0)) from None


def _listed(kind: Any, tree: Any, details: list[Any], where: tuple[str, ...]) -> list[str]:
    """Pydantic's errors as plain sentences. A misspelt key is one problem, not an unknown and a missing one."""
    found: dict[str, list[str]] = {}
    unknown = [e for e in details if e["type"] in ("extra_forbidden", "unexpected_keyword_argument")]
    others = [e for e in details if e not in unknown]
    meant = set[tuple[Any, ...]]()
    for e in unknown:
        *table, key = e["loc"]
        known = _known(kind, tuple(table))
        found[_dotted((*where, *e["loc"]))] = [_unknown(key, known)]
        meant |= {(*table, near) for near in _near(key, known)}
    for e in others:
        if e["loc"] not in meant:
            complaints = found.setdefault(_dotted((*where, *_real(e, tree))), [])
            if (complaint := _complaint(e)) not in complaints:
                complaints.append(complaint)
    # A value that may have several types, and fits none of them, has several complaints.
    return [f"{key}: {'; or '.join(complaints)}".removeprefix(": ") for key, complaints in found.items()]


def _real(e: Any, tree: Any) -> tuple[Any, ...]:
    """The part of an error's location that exists in the file; pydantic adds the alternatives of a union."""
    real: list[Any] = []
    for i, key in enumerate(e["loc"]):
        try:
            tree = tree[key]
        except (KeyError, IndexError, TypeError):
            if e["type"] == "missing" and isinstance(key, str) and i == len(e["loc"]) - 1:
                real.append(key)
        else:
            real.append(key)
    return tuple(real)


def _known(kind: Any, table: tuple[Any, ...]) -> list[str]:
    if kind in (_File, _FileOfSum):
        return list(_KEYS[tuple(key for key in table if isinstance(key, str))].model_fields)
    return [f.name for f in fields(kind)]


def _near(key: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(key, known, n=1, cutoff=0.5)


def _unknown(key: str, known: list[str]) -> str:
    near = _near(key, known)
    return f"unknown key; did you mean {near[0]!r}?" if near else f"unknown key; known are {', '.join(known) or 'none'}"


def _dotted(loc: Sequence[Any]) -> str:
    """('body', 'moments', 1) as body.moments[1]."""
    return "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in loc).removeprefix(".")


_WANTED = {
    "float_type": "a number", "int_type": "a whole number", "finite_number": "finite", "bool_type": "true or false",
    "string_type": "text in quotes", "tuple_type": "a list in brackets", "model_type": "a table",
    "dataclass_type": "a table",
}  # fmt: skip


def _complaint(e: Any) -> str:
    shown = _shortened(e["input"])
    if e["type"] == "missing":
        if e["loc"][-1] == "model":
            return 'missing: name one of `polhode torques`, or a function of your own as "file.py:function"'
        return f"too few entries in {shown}" if isinstance(e["loc"][-1], int) else "missing"
    if e["type"] == "too_long":
        return f"{e['ctx']['actual_length']} entries where {e['ctx']['max_length']} are wanted: {shown}"
    if e["type"] == "value_error":
        return str(e["ctx"]["error"])
    if e["type"] in _WANTED:
        return f"must be {_WANTED[e['type']]}, not {shown}"
    return f"{e['msg'][0].lower()}{e['msg'][1:]}, not {shown}"


def _shortened(value: Any) -> str:
    """The value as it might be written in the file."""
    return shortened(json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf"), 60)
