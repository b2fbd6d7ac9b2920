"""Co-simulation units of scenarios, after FMI 2.0: `polhode fmu scenario.toml`.

A unit is a file for other simulators, such as OpenModelica, Simulink or FMPy: they give it a torque, ask it to go on by
a time, and read attitude and rate. It is made with pythonfmu, which brings the binary that runs Python inside the other
program; nothing is compiled. That Python must have polhode installed (docs/howto/stepper.md).

    inputs      torque_x, torque_y, torque_z            N m, in body axes, held over each step, beside its torque
    outputs     quaternion_w, ..._x, ..._y, ..._z       body to space, scalar first
                omega_x, omega_y, omega_z               rad/s, in body axes
                t                                       s
    parameters  moment_x, moment_y, moment_z            kg m^2, if the scenario's body has principal axes for its own
                omega_start_x, omega_start_y, omega_start_z

The steps of the scenario are fitted into those that the other program asks for: a communication step is divided into
as many equal ones as are needed for none to be longer than `run.step`. With `run.rtol` instead of a step the method is
DOP853 with that tolerance for each of its steps.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import math
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.api.stepper import Stepper
from polhode.body import Body
from polhode.files.atomic import whole_file
from polhode.methods import find as find_method
from polhode.run.integration import SimulationFailed, reason_of
from polhode.scenario import Scenario, check_scenario, load_scenario
from polhode.support.extras import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = ("x", "y", "z")
SAMPLES = 100
"""The communication steps in the span of a scenario that names none."""
NEARLY_WHOLE = 1e-9
"""A communication step that is longer than a whole number of steps by no more than this, in steps, is that number."""

SCRIPT = '''"""A co-simulation unit, written by `polhode fmu`."""

from polhode.fmu import unit_of

{name} = unit_of("{name}", "{name}.toml", globals())
'''

_namespaces: list[dict[str, Any]] = []
"""The global names in scripts of units. pythonfmu 0.7 executes the script for each instance of a unit, and releases its
globals once too often: one more reference is kept here."""


class UnitError(ValueError):
    """A scenario cannot become a co-simulation unit. The message says why, and what to do."""


def write_unit(scenario: str | Path, path: str | Path, *, overwrite: bool = False) -> Path:
    """Writes the co-simulation unit of a scenario file; returns where it is.

    Raises ScenarioError for a file that cannot be used, UnitError for one that cannot become a unit, and
    ModuleNotFoundError without pythonfmu.
    """
    source, target = Path(scenario), Path(path)
    builder = _pythonfmu("builder")
    draft = check_scenario(source)  # a Python file outside the folder of the scenario is refused
    _check_suitable(draft.scenario())
    name = identifier(target.stem)
    files = {f"{name}.toml": source.read_bytes()}
    files |= {file: (source.parent / file).read_bytes() for file in draft.files}
    # A program may run several units in one Python, where modules of one name would be one module.
    module = f"polhode_unit_{hashlib.sha256(repr((name, files)).encode()).hexdigest()[:16]}"
    with tempfile.TemporaryDirectory(prefix="polhode-fmu-") as folder, _imports_undone(module):
        stage = Path(folder)
        script, made = stage / f"{module}.py", stage / f"{name}.fmu"
        script.write_text(SCRIPT.format(name=name), "utf-8")
        for file, content in files.items():
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            (stage / file).write_bytes(content)
        parts = [part for part in stage.iterdir() if part != script]
        builder.FmuBuilder.build_FMU(script, made, parts, canGetAndSetFMUstate=True)
        with whole_file(target, overwrite=overwrite) as out:
            out.write(made.read_bytes())
    return target


def identifier(name: str) -> str:
    """A name for the unit that is one in C and in Python."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() else f"unit_{plain}"


@contextmanager
def _imports_undone(name: str) -> Iterator[None]:
    """Restores sys.path, and removes the script of this name from sys.modules, once the builder has imported it."""
    paths = sys.path.copy()
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = paths
        sys.modules.pop(name, None)


def _pythonfmu(module: str) -> Any:
    return needed(f"pythonfmu.{module}", "co-simulation units need")


def _check_suitable(scenario: Scenario) -> None:
    """Raises UnitError for an ensemble, for a span that runs backward, and for a method that takes no torque."""
    where = scenario.path
    if scenario.many is not None:
        raise UnitError(f"{where}: a unit is one body, but there is an [ensemble]: remove that table")
    if scenario.t_span[1] < scenario.t_span[0]:
        raise UnitError(f"{where}: a unit goes forward in time, but run.t_span goes back: exchange its ends")
    try:
        stepper = stepper_of(scenario)
        stepper.prepare(torque=(0.0, 0.0, 0.0))
    except ValueError as problem:
        raise UnitError(f"{where}: {problem}") from None


def stepper_of(scenario: Scenario, moments: Any = None, omega: Any = None, t: float | None = None) -> Stepper:
    """The stepper of a scenario; `moments`, `omega` and `t` replace its own."""
    method, step = scenario.method, scenario.step
    if scenario.rtol is not None:
        if method is not None and not method.adaptive:
            raise UnitError(
                f"run.rtol chooses the steps of {method.name} from the whole motion, which a unit does not know: "
                "give run.step"
            )
        step = communication_step(scenario)
        method = (method or find_method("DOP853")).replace(rtol=scenario.rtol)
    assert method is not None
    assert step is not None
    return Stepper(
        scenario.body if moments is None else Body(moments, allow_unphysical=True, rotor=scenario.body.rotor),
        scenario.torque,
        omega=scenario.omega if omega is None else omega, attitude=scenario.attitude, method=method, step=step,
        t=scenario.t_span[0] if t is None else t, state=scenario.arguments().get("state"),
    )  # fmt: skip


def communication_step(scenario: Scenario) -> float:
    """The length of the steps that a unit proposes to other programs."""
    return scenario.step or (scenario.t_span[1] - scenario.t_span[0]) / SAMPLES


class BodyUnit:
    """One body as other programs see it. `unit_of` joins it with the class of pythonfmu that speaks with them."""

    scenario: Scenario

    def begin(self, scenario: Scenario) -> None:
        """Begins with the numbers of the scenario."""
        self.scenario = scenario
        self.torque = [0.0, 0.0, 0.0]
        self.omega_start = [float(x) for x in scenario.omega]
        self.moments = [float(x) for x in scenario.body.moments] if scenario.body.aligned else None
        self.t_start = scenario.t_span[0]
        self.stepper: Stepper | None = None

    @property
    def now(self) -> Stepper:
        """The stepper; it is made when it is first wanted, with the parameters that were set until then."""
        if self.stepper is None:
            moments = self.moments
            if moments is not None and moments == self.scenario.body.moments.tolist():
                moments = None
            self.stepper = stepper_of(self.scenario, moments, self.omega_start, self.t_start)
            self.stepper.prepare(torque=(0.0, 0.0, 0.0))
        return self.stepper

    def advance(self, length: float) -> None:
        """Goes on by a communication step."""
        stepper = self.now
        n, h = 1, length
        if self.scenario.step is not None:
            n = max(1, math.ceil(length / self.scenario.step - NEARLY_WHOLE))
            if abs(length - n * self.scenario.step) <= NEARLY_WHOLE * self.scenario.step:
                h = self.scenario.step
            else:
                h = length / n
        # Without a torque at the inputs the bits are those of the scenario.
        stepper.step(n, torque=tuple(self.torque) if any(self.torque) else None, h=h)


def unit_of(name: str, scenario: str, names: dict[str, Any]) -> Any:
    """The class of the unit of a scenario, which lies beside the script of the unit; for that script alone."""
    _namespaces.append(names)
    fmu = _pythonfmu("fmi2slave")
    enums, variables = _pythonfmu("enums"), _pythonfmu("variables")
    experiment = _pythonfmu("default_experiment").DefaultExperiment
    causality, variability, real = enums.Fmi2Causality, enums.Fmi2Variability, variables.Real

    class Unit(BodyUnit, fmu.Fmi2Slave):  # type: ignore[misc, name-defined]
        """The unit, as pythonfmu calls it."""

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            read = load_scenario(Path(self.resources) / scenario)
            self.begin(read)
            self.description = read.title or f"the scenario {scenario}"
            self.default_experiment = experiment(*read.t_span, communication_step(read), read.rtol)
            self._register()

        def _register(self) -> None:
            def add(named: str, what: str, cause: Any, get: Any, put: Any = None, vary: Any = None) -> None:
                self.register_variable(
                    real(named, causality=cause, description=what, variability=vary, getter=get, setter=put)
                )

            for k, axis in enumerate(AXES):
                add(f"torque_{axis}", "torque in body axes, N m", causality.input, *_entry(lambda: self.torque, k))
            for k, part in enumerate("wxyz"):
                add(
                    f"quaternion_{part}", "attitude from body to space, scalar first", causality.output,
                    lambda k=k: self.now.quaternion[k],
                )  # fmt: skip
            for k, axis in enumerate(AXES):
                add(
                    f"omega_{axis}", "angular velocity in body axes, rad/s", causality.output,
                    lambda k=k: self.now.omega[k],
                )  # fmt: skip
            add("t", "time, s", causality.output, lambda: self.now.t)
            rows: list[tuple[str, str, Any]] = [
                ("omega_start", "angular velocity at the start, rad/s", lambda: self.omega_start)
            ]
            if self.moments is not None:
                rows.append(("moment", "moment of inertia about a body axis, kg m^2", lambda: self.moments))
            for named, what, of in rows:
                for k, axis in enumerate(AXES):
                    get, put = _entry(of, k, self._forget_stepper)
                    add(f"{named}_{axis}", what, causality.parameter, get, put, variability.fixed)

        def to_xml(self, model_options: Any = None) -> Any:
            """Adds what pythonfmu leaves out: the outputs are known only when the parameters are."""
            root = super().to_xml(model_options or {})
            structure = root.find("ModelStructure")
            unknown = copy.deepcopy(structure.find("Outputs"))
            unknown.tag = "InitialUnknowns"
            structure.append(unknown)
            return root

        def _forget_stepper(self) -> None:
            self.stepper = None

        def setup_experiment(
            self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
        ) -> None:
            """Begins at the time of the other program."""
            if start_time != self.t_start:
                self.t_start, self.stepper = start_time, None

        def do_step(self, current_time: float, step_size: float) -> bool:
            """Goes on by a communication step; False if that cannot be done."""
            try:
                self.advance(step_size)
            except Exception as problem:  # a Python torque may raise anything, and out of here that would be fatal
                kind = "" if isinstance(problem, SimulationFailed | ValueError) else f"{type(problem).__name__}: "
                self.log(f"{kind}{reason_of(problem)}", enums.Fmi2Status.error)
                return False
            return True

        def _get_fmu_state(self) -> dict[str, Any]:
            """A copy of all that changes, so that another program can go back."""
            return {"stepper": self.now.copy(), "torque": list(self.torque)}

        def _set_fmu_state(self, state: dict[str, Any]) -> None:
            self.stepper, self.torque = state["stepper"].copy(), list(state["torque"])

    Unit.__name__ = Unit.__qualname__ = name
    return Unit


def _entry(row: Any, k: int, on_change: Any = None) -> tuple[Any, Any]:
    """The functions that read and write a number of a row."""

    def put(value: float) -> None:
        row()[k] = float(value)
        if on_change is not None:
            on_change()

    return lambda: row()[k], put


__all__ = ["UnitError", "identifier", "stepper_of", "unit_of", "write_unit"]
