"""Systems in files: NetCDF that can be read again, tables, and XYZ for other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.body import Body
from polhode.files import netcdf
from polhode.files.atomic import AnyPath, whole_file
from polhode.files.netcdf import Contents, Variable, write
from polhode.kernels.status import Status
from polhode.problem import Stats
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.systems.forces import Forces, NoForces
from polhode.systems.solution import SystemSolution
from polhode.systems.steps import Langevin
from polhode.systems.system import System

if TYPE_CHECKING:
    from xarray import Dataset

FORMAT, FORMAT_VERSION = "polhode system", 1
"""The name and the version of the file format."""

_VECTOR = ("time", "body", "component")
_NAMES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "time": (("time",), "time", "s"),
    "position": (_VECTOR, "position of the centre of mass in space axes", "m"),
    "velocity": (_VECTOR, "velocity of the centre of mass in space axes", "m s-1"),
    "quaternion": (("time", "body", "quaternion_component"), "attitude, from body to space axes", "1"),
    "momentum": (_VECTOR, "angular momentum about the centre of mass in body axes", "kg m2 s-1"),
    "omega": (_VECTOR, "angular velocity in body axes", "rad s-1"),
    "translational_energy": (("time",), "kinetic energy of flight", "J"),
    "rotational_energy": (("time",), "kinetic energy of rotation", "J"),
    "potential_energy": (("time",), "potential energy", "J"),
    "total_momentum": (("time", "component"), "momentum of the system in space axes", "kg m s-1"),
    "total_angular_momentum": (("time", "component"), "angular momentum of the system in space axes", "kg m2 s-1"),
}
_START = {
    "mass": ("body",), "inertia": ("body", "tensor"), "rotor": ("body", "component"),
    "position_start": ("body", "component"), "velocity_start": ("body", "component"),
    "quaternion_start": ("body", "quaternion_component"), "omega_start": ("body", "component"),
}  # fmt: skip
SYSTEM_ARRAYS = (
    "time", "position", "velocity", "quaternion", "momentum", "potential_energy", "last", "body_name", *_START,
    "event_number", "event_time", "event_position", "event_velocity", "event_quaternion", "event_momentum",
)  # fmt: skip
"""The arrays that a solution is made of again."""
_ROWS = ("position", "velocity", "quaternion", "momentum")


_LABELS = {"component": "xyz", "quaternion_component": "wxyz"}
_ESTIMATES = ("error_estimate", "rtol", "step_error")


def table_of(s: SystemSolution) -> dict[str, Variable]:
    """Everything that has a row for each time."""
    out = {name: Variable((name,), np.array([*letters])) for name, letters in _LABELS.items()}
    for name, (dimensions, long_name, units) in _NAMES.items():
        if name != "potential_energy" or s.has_potential:
            data = s.t if name == "time" else getattr(s, name)
            out[name] = Variable(dimensions, np.asarray(data), {"long_name": long_name, "units": units})
    return out


def dataset(s: SystemSolution) -> Dataset:
    """A solution as an xarray Dataset."""
    arrays = table_of(s)
    for name, errors in s.invariant_errors.items():
        note = {"long_name": f"relative change of the {name} since the start", "units": "1"}
        arrays[f"{name.replace(' ', '_')}_error"] = Variable(("time",), errors, note)
    arrays["body"] = Variable(("body",), np.arange(len(s.system)), {"long_name": "number of the body"})
    arrays["mass"] = Variable(("body",), s.system.mass, {"long_name": "mass", "units": "kg"})
    made: Dataset = netcdf.dataset(arrays, _attributes(s), "mass")
    return made


def _attributes(s: SystemSolution) -> dict[str, Any]:
    optional: dict[str, Any] = {name: getattr(s, name) for name in _ESTIMATES}
    if s.heat is not None:
        optional |= {"heat_kT": s.heat.kT, "heat_friction": s.heat.friction}
        optional |= {"heat_rotational_friction": s.heat.rotational_friction, "heat_seed": str(s.heat.seed)}
        optional["heat_resistance"] = None if s.heat.resistance is None else json.dumps(s.heat.resistance)
    return {
        "forces": s.forces.name, "method": s.method, "step": s.step, "steps": s.stats.steps, "nfev": s.stats.nfev,
        "seconds": s.stats.seconds, "status": int(s.status), "message": s.message, "t_start": s.t_span[0],
        "t_end": s.t_span[1], "t_last": s.t_last, "grid_start": s.grid[0], "grid_step": float(s.grid[1]),
        **{k: v for k, v in optional.items() if v is not None},
    }  # fmt: skip


def save(s: SystemSolution, path: AnyPath, *, overwrite: bool) -> None:
    """Writes a solution to a file that appears whole or not at all."""
    system, n = s.system, len(s.system)
    arrays = table_of(s)
    start = {
        "mass": system.mass, "inertia": np.array([b.tensor.ravel() for b in system.bodies]),
        "rotor": np.array([b.rotor for b in system.bodies]), "position_start": system.position,
        "velocity_start": system.velocity, "quaternion_start": system.quaternion, "omega_start": system.omega,
    }  # fmt: skip
    arrays |= {name: Variable(dimensions, np.array(start[name])) for name, dimensions in _START.items()}
    arrays["last"] = Variable(("state",), s.last)
    arrays["body_name"] = Variable(("body",), np.array([b.name or "" for b in system.bodies]))
    attributes = {"format": FORMAT, "format_version": FORMAT_VERSION, "bodies": n, **_attributes(s)}
    attributes["metadata"] = netcdf.metadata_text(s.metadata)
    if s.has_potential:
        attributes["potential_start"] = s.potential_at_start
    attributes["events"] = json.dumps([e.metadata.get("event", "event") for e in s.events])
    if sum(e.t.size for e in s.events):
        number = np.repeat(np.arange(float(len(s.events))), [e.t.size for e in s.events])
        arrays["event_number"] = Variable(("event",), number)
        arrays["event_time"] = Variable(("event",), np.concatenate([e.t for e in s.events]))
        for name in _ROWS:
            dimensions = ("event", *_NAMES[name][0][1:])
            arrays[f"event_{name}"] = Variable(dimensions, np.concatenate([getattr(e, name) for e in s.events]))
    empty = {name for name, v in arrays.items() if np.asarray(v.data).size == 0 and name != "time"}
    write(path, {k: v for k, v in arrays.items() if k not in empty}, attributes, overwrite=overwrite)


def system_of(path: AnyPath, contents: Contents, forces: Forces | None = None) -> SystemSolution:
    """Makes a solution of the contents of a file."""
    with contents.checked(path, FORMAT, FORMAT_VERSION):
        return _rebuilt(contents, forces)


class UnknownForces(NoForces):
    """Forces of a solution from a file, of which only the name is known."""

    keeps_momentum = keeps_angular_momentum = False

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def has_potential(self) -> bool:
        """No energies but those in the file."""
        return False


def _rebuilt(contents: Contents, forces: Forces | None) -> SystemSolution:
    a: dict[str, Any] = contents.attributes
    data = {name: v.data for name, v in contents.variables.items()}
    n = int(a["bodies"])
    names = [str(x) for x in data["body_name"]]
    tensors, rotors = checks.array("inertia", data["inertia"], (n, 9)), checks.array("rotor", data["rotor"], (n, 3))
    bodies = [
        Body(i.reshape(3, 3), name=name or None, allow_unphysical=True, rotor=g if g.any() else None)
        for i, g, name in zip(tensors, rotors, names, strict=True)
    ]
    system = System(
        bodies, mass=data["mass"], position=data["position_start"], velocity=data["velocity_start"],
        attitude=data["quaternion_start"], omega=data["omega_start"],
    )  # fmt: skip
    t = checks.row("time", data["time"]) if data["time"].size else np.zeros(0)
    shapes = {"position": (n, 3), "velocity": (n, 3), "quaternion": (n, 4), "momentum": (n, 3)}
    rows: dict[str, Any] = {k: checks.array(k, data.get(k, np.zeros((0, *w))), (t.size, *w)) for k, w in shapes.items()}
    estimates: dict[str, Any] = {name: float(a[name]) for name in _ESTIMATES if name in a}
    potential = None
    if "potential_start" in a:
        potential = np.concatenate([[float(a["potential_start"])], data.get("potential_energy", np.zeros(0))])
    heat = None
    if "heat_kT" in a:
        seed = int(str(a["heat_seed"]))
        own, other = (float(a[name]) if name in a else None for name in ("heat_friction", "heat_rotational_friction"))
        resistance = json.loads(str(a["heat_resistance"])) if "heat_resistance" in a else None
        heat = Langevin(float(a["heat_kT"]), own, other, seed, resistance)
    whole = SystemSolution(
        system, forces or UnknownForces(str(a["forces"])), str(a["method"]), float(a["step"]),
        Stats(int(a["steps"]), int(a["nfev"]), float(a["seconds"])), t, **rows, status=Status(int(a["status"])),
        message=str(a["message"]), t_span=(float(a["t_start"]), float(a["t_end"])), t_last=float(a["t_last"]),
        last=checks.array("last", data["last"], (13 * n,)), grid=(float(a["grid_start"]), int(a["grid_step"])),
        heat=heat, metadata=dict(json.loads(str(a["metadata"]))), saved_potential=potential,
        **estimates,
    )  # fmt: skip
    events = []
    for k, name in enumerate(json.loads(str(a["events"]))):
        here = data["event_number"] == k if "event_number" in data else np.zeros(0, dtype=bool)
        at = {"t": data["event_time"][here] if here.size else np.zeros(0)}
        for field, width in shapes.items():
            at[field] = data[f"event_{field}"][here] if here.size else np.zeros((0, *width))
        events.append(whole.having(**at, saved_potential=None, metadata={"event": name}))
    return whole.having(events=tuple(events))


# --- XYZ


def write_xyz(
    s: SystemSolution, path: AnyPath, *, sites: Any, species: Any, extended: bool, box: Any, scale: float,
    overwrite: bool,
) -> None:  # fmt: skip
    """Writes an XYZ file: see `SystemSolution.to_xyz`."""
    factor = checks.number("scale", scale, positive=True)
    n = len(s.system)
    places = _site_positions(sites, n)
    count = sum(map(len, places)) if places is not None else n
    names = _species(species, [1] * n if places is None else [len(p) for p in places])
    cell = None if box is None else np.broadcast_to(checks.floats("box", box, "be one side or three"), (3,)) * factor
    with whole_file(path, overwrite=overwrite) as file:
        for k, t in enumerate(s.t.tolist()):
            x, q, v, w = s.position[k], s.quaternion[k], s.velocity[k], s.omega[k]
            columns = [x * factor]
            kinds = "species:S:1:pos:R:3"
            if places is not None:
                columns, owner = [_in_space(x, q, places) * factor], np.repeat(np.arange(n), [len(p) for p in places])
                if extended:
                    columns.append(owner[:, None])
                    kinds += ":body:I:1"
            elif extended:  # OVITO takes orientations with the scalar last
                columns += [v * factor, np.roll(q, -1, axis=1), w]
                kinds += ":velo:R:3:orientation:R:4:angular_velocity:R:3"
            if extended:
                lattice = ""
                if cell is not None:
                    lattice = 'Lattice="{!r} 0.0 0.0 0.0 {!r} 0.0 0.0 0.0 {!r}" '.format(*cell.tolist())
                periodic = "F F F" if cell is None else "T T T"
                title = f'{lattice}Properties={kinds} Time={t!r} pbc="{periodic}"'
            else:
                title = f"t = {t!r} s"
            lines = [str(count), title]
            for i, name in enumerate(names):
                numbers = " ".join(repr(y) for c in columns for y in np.atleast_1d(c[i]).tolist())
                lines.append(f"{name} {numbers}")
            file.write(("\n".join(lines) + "\n").encode())


def _site_positions(sites: Any, n: int) -> list[Floats] | None:
    """The positions of sites in the axes of each body."""
    if sites is None:
        return None

    def points(own: Any) -> Floats:
        given = np.array([getattr(p, "position", p) for p in own], dtype=np.float64).reshape(-1, 3)
        return checks.array("sites", given, given.shape)

    listed = list(sites)
    first: Any = listed[0] if listed else ()
    alike = hasattr(first, "position") or (np.ndim(first) == 1 and np.size(first) == 3)
    if alike:
        return [points(listed)] * n
    if len(listed) != n:
        raise ValueError(f"there are {n} bodies, but sites of {len(listed)}: give a list for each, or one for all")
    return [points(own) for own in listed]


def _species(species: Any, counts: list[int]) -> list[str]:
    if species is None:
        return ["X"] * sum(counts)
    if isinstance(species, str):
        return [species] * sum(counts)
    listed = [str(x) for x in species]
    if all(c == len(listed) for c in counts):
        return listed * len(counts)
    if len(listed) == sum(counts):
        return listed
    raise ValueError(f"species has {len(listed)} names, but there are {sum(counts)} particles: give one for each")


def _in_space(x: Floats, q: Floats, places: list[Floats]) -> Floats:
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_quat(q, scalar_first=True)
    return np.concatenate([x[i] + turns[i].apply(p) for i, p in enumerate(places) if len(p)])
