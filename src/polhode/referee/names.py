"""The quantities in the columns of a table, from their names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

KINDS = {"quaternion": 4, "matrix": 9, "euler": 3, "mrp": 3}
"""The forms of attitudes, with the number of their components."""
_TIMES = {1.0: "s sec secs second seconds", 1e-3: "ms msec millisecond milliseconds", 1e-9: "ns nano nanoseconds",
          1e-6: "us \u00b5s \u03bcs microsecond microseconds", 60.0: "min mins minute minutes",
          3600.0: "h hr hrs hour hours", 86400.0: "d day days"}  # fmt: skip
TIME_UNITS = {word: seconds for seconds, words in _TIMES.items() for word in words.split()}
"""Units of time, in seconds."""
TIME_SYSTEMS = {"utc", "tai", "tt", "tdb", "gps", "elapsed"}
"""What may stand in brackets behind a time, and is no unit."""
ANGLE_WORDS = {"deg": "deg", "degs": "deg", "degree": "deg", "degrees": "deg", "dps": "deg", "degps": "deg",
               "rad": "rad", "rads": "rad", "radian": "rad", "radians": "rad", "radps": "rad", "rps": "rad",
               "\u00b0": "deg", "rpm": "rpm"}  # fmt: skip
"""How units of angles and rates are written."""
_TIME = {"t", "time", "times", "simtime", "elapsed", "elapsedtime", "timestamp", "tspan", "timesec", "missiontime"}
_RATE = re.compile(r"(omega|qvel|angvel|angularvelocit(y|ies)|angularrates?|gyro|avel|bodyrates?|rates?)")
ENERGY = re.compile(r"(total|kinetic|rotational)*energy")
MOMENTUM = re.compile(r"(body|space|spatial)?ang(ular)?mom(entum)?(body|space|spatial)?")
"""Names, in lower case and without anything but letters, of the energy and of the angular momentum."""
_SPACE_WORDS = ("spatial", "space", "inertial", "world", "global", "omegan", "omegabnn", "eci")
_QUATERNION = re.compile(r"(.*quat.*|.*orientation.*|q|q[a-z]{1,4}|.*attitude)")
_MATRIX = re.compile(r"(.*dcm|.*rotmat|.*matrix|.*rotation|r|c|a|m|bn|nb|cbn|cnb|rbn|rnb|.*tmat)")
_COMPONENT = re.compile(r"(.*?)([wxyzsijkc]|roll|pitch|yaw|scalar|\d\d?)")
_EULER = {"yaw": "Z", "heading": "Z", "psi": "psi", "pitch": "Y", "theta": "theta", "roll": "X", "bank": "X",
          "phi": "phi"}  # fmt: skip
_THREES = (("x", "y", "z"), ("roll", "pitch", "yaw"), ("0", "1", "2"), ("1", "2", "3"))
_FOURS = {
    ("w", "x", "y", "z"): "first", ("s", "x", "y", "z"): "first", ("scalar", "x", "y", "z"): "first",
    ("s", "i", "j", "k"): "first", ("w", "i", "j", "k"): "first", ("c", "1", "2", "3"): "first",
    ("s", "1", "2", "3"): "first", ("w", "1", "2", "3"): "first", ("0", "1", "2", "3"): "",
    ("1", "2", "3", "4"): "",
}  # fmt: skip
"""Components of quaternions; "first": the name says which of them is the scalar, and it is put first."""


class ColumnGroup(NamedTuple):
    """The columns that hold one thing."""

    kind: str
    """quaternion, matrix, euler, mrp, omega, or time."""
    columns: tuple[int, ...]
    unit: str = ""
    """deg, rad, rpm or as deg/h; of time the seconds of a unit; empty: the names do not say."""
    hint: str = ""
    """Further facts from the names: "first" of a quaternion, "space" of rates, a sequence of Euler angles."""


class ColumnLayout(NamedTuple):
    """The columns of a table that a motion is read from."""

    time: ColumnGroup
    attitude: ColumnGroup | None
    omega: ColumnGroup | None
    place: tuple[int, int] | None = None
    """The columns of latitude and longitude in degrees, if the table has them."""
    conserved: tuple[ColumnGroup, ...] = ()
    """The columns of the energy and of the angular momentum, if the table has them."""

    @property
    def columns(self) -> set[int]:
        """The numbers of all these columns."""
        parts = (self.time, self.attitude, self.omega, *self.conserved)
        found = {c for part in parts if part is not None for c in part.columns}
        return found | set(self.place or ())


class _Name(NamedTuple):
    """A name without its unit: its letters and digits, in lower case."""

    plain: str
    unit: str
    """deg, rad or rpm, or as deg/h; empty: none is known."""
    seconds: float
    """The unit of a time in seconds; 0: none is known."""
    unknown: str
    """What stands in brackets, if it is no unit that is known."""


def taken_apart(name: str) -> _Name:
    """A name without its unit, and the unit."""
    bracket = re.search(r"[\[(]([^\])]*)[\])]\s*$", name)
    unit_words: list[str] = []
    if bracket and not bracket[1].strip().isdigit() and not re.fullmatch(r"[XYZxyz]{3}", bracket[1].strip()):
        unit_words = re.findall(r"[^\W\d_]+|\u00b0", bracket[1].lower())
        name = name[: bracket.start()]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = [w for w in re.split(r"[^a-z0-9\u00b5\u03bc]+", spaced.lower()) if w]
    kept: list[str] = []
    for k, word in enumerate(words):
        before = words[k - 1] if k else ""
        of_rate = before in ANGLE_WORDS or before == "per"  # deg_s, deg_per_h
        of_time = of_rate or (k > 0 and words[0] in _TIME)
        if (word in ANGLE_WORDS and len(words) > 1) or (word in TIME_UNITS and of_time):
            unit_words.append(word)
        elif not (word == "per" and of_rate):
            kept.append(word)
    unit = next((ANGLE_WORDS[word] for word in unit_words if word in ANGLE_WORDS), "")
    seconds = next((TIME_UNITS[word] for word in unit_words if word in TIME_UNITS), 0.0)
    if unit in ("deg", "rad") and seconds not in (0.0, 1.0):
        unit += "/" + _TIMES[seconds].split()[0]
    known = bool(unit or seconds or TIME_SYSTEMS.intersection(unit_words))
    known &= bool(unit) or not bracket or not re.search(r"[^\W\d_]\s*/", bracket[1])  # as in mrad/s
    return _Name("".join(kept), unit, seconds, "" if known or not bracket or not unit_words else bracket[1])


def _seconds(where: str, heading: str) -> float:
    """The unit of a column of times, in seconds."""
    name = taken_apart(heading)
    if name.unknown:
        raise ValueError(
            f"{where}: the times {heading!r} are in a unit that is not known: use s, ms, us, ns, min, h or days, or "
            f"say it, as in --columns t_s={heading!r} (in Python: columns={{'t_s': {heading!r}}})"
        )
    return name.seconds or 1.0


def recognised(names: Sequence[str], where: str, mapping: Mapping[str, Any] | None = None) -> ColumnLayout:
    """Which columns hold time, attitude and rate: those that the mapping names, others by their names."""
    plain = [taken_apart(name) for name in names]
    given = {} if mapping is None else _given(names, mapping, where)
    time = given.get("time") or _time(names, plain, where)
    if time is None:
        raise ValueError(
            f"{where}: no column is the time; there are {_listed(names)}: name it, as in --columns t=NAME "
            "(in Python: columns={'t': 'NAME'})"
        )
    taken = {c for found in given.values() for c in found.columns} | set(time.columns)
    free = [k for k in range(len(names)) if k not in taken]
    omega = given.get("omega")
    if omega is None and (mapping is None or not any(k.startswith("omega") for k in mapping)):
        omega = _rates(plain, free)
    if omega is not None and not omega.unit and (heading := _unknown_rate(names, plain, omega.columns)):
        raise ValueError(
            f"{where}: the rates {heading!r} have no common unit that is known: use rad/s, deg/s, deg/h or rpm, or say "
            "it, as in --columns omega_deg=wx,wy,wz (in Python: columns={'omega_deg': ['wx', ...]})"
        )
    attitude = next((given[kind] for kind in KINDS if kind in given), None)
    if attitude is None:
        attitude = _attitude(names, plain, [k for k in free if omega is None or k not in omega.columns])
    if mapping is None:
        _check_complete(names, plain, free, where, has_attitude=attitude is not None, has_rates=omega is not None)
    if attitude is None and omega is None:
        raise ValueError(
            f"{where}: no columns are an attitude or a rate; there are {_listed(names)}: name them, as in "
            "--columns omega=wx,wy,wz --columns quaternion=q0,q1,q2,q3 (in Python: columns={'omega': ['wx', ...]})"
        )
    return ColumnLayout(time, attitude, omega, _place(plain), _conserved(plain, free))


def _unknown_rate(names: Sequence[str], plain: Sequence[_Name], columns: Sequence[int]) -> str:
    """The first of the headings that states an angle in a time, of which the angle is not known."""
    return next((names[c] for c in columns if "/" in plain[c].unknown), "")


def _check_complete(
    names: Sequence[str], plain: Sequence[_Name], free: Sequence[int], where: str, *, has_attitude: bool,
    has_rates: bool,
) -> None:  # fmt: skip
    """Raises an error if one column of a quaternion or of a rate is missing, which would otherwise be ignored."""
    for stem, parts in _groups(plain, free).items():
        wanted: Iterable[Sequence[str]] = ()
        if not has_rates and (_RATE.search(stem) or stem == "w") and "euler" not in stem and "momentum" not in stem:
            what, example, wanted = "rate", "omega=wx,wy,wz", _THREES
        elif not has_attitude and _QUATERNION.fullmatch(stem):
            what, example, wanted = "quaternion", "quaternion=q0,q1,q2,q3", _FOURS
        for listed in wanted:
            there = [names[parts[n]] for n in listed if n in parts]
            if len(there) == len(listed) - 1:
                shown = ", ".join(repr(n) for n in there)
                raise ValueError(
                    f"{where}: of a {what} there are only the columns {shown}: add the missing one, or name all, as in "
                    f"--columns {example} (in Python: columns=)"
                )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


def _given(names: Sequence[str], mapping: Mapping[str, Any], where: str) -> dict[str, ColumnGroup]:
    """The columns that the user named: t, omega, quaternion, matrix, mrp or euler(ZYX), with their units."""
    made: dict[str, ColumnGroup] = {}
    for key, value in mapping.items():
        matched = re.fullmatch(r"(t|time|omega|quaternion|matrix|mrp|euler)(?:_([a-z/]+))?(?:\(([XYZxyz]{3})\))?", key)
        said = taken_apart(f"{matched[1]} ({matched[2]})") if matched and matched[2] else None
        kind = "" if matched is None else "time" if matched[1] == "t" else matched[1]
        if matched is None or (said and not (said.seconds if kind == "time" else said.unit)):
            raise ValueError(
                f"columns: {key!r} must be t, omega, quaternion, matrix, mrp or euler(ZYX), maybe with a unit as in "
                "omega_deg, omega_deg/h, euler_deg(ZYX), t_ms or t_days"
            )
        listed: list[Any] = [value] if isinstance(value, str | int) else [*value]
        if len(listed) == 1 and isinstance(listed[0], str) and "," in listed[0]:
            listed = [*listed[0].split(",")]
        wanted = 1 if kind == "time" else KINDS.get(kind, 3)
        if len(listed) != wanted:
            raise ValueError(f"columns: {key} needs {wanted} columns, not {len(listed)}: {listed!r}")
        if kind == "euler" and matched[3] is None:
            raise ValueError(f"columns: {key!r} must name the sequence of the angles, as in 'euler(ZYX)'")
        found = tuple(_index(names, one) for one in listed)
        if kind == "time":
            unit = repr(said.seconds if said else _seconds(where, names[found[0]]))
        else:
            unit = said.unit if said else _common(taken_apart(names[c]).unit for c in found)
        made[kind] = ColumnGroup(kind, found, unit, matched[3] or "")
    return made


def _index(names: Sequence[str], wanted: Any) -> int:
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        if not 0 <= wanted < len(names):
            raise ValueError(f"columns: {wanted} is not a column: they are counted from 0 to {len(names) - 1}")
        return wanted
    text = str(wanted).strip()
    if text not in names and text.isdigit() and int(text) < len(names):
        return int(text)
    if text not in names:
        raise ValueError(f"columns: there is no column {text!r}; there are {_listed(names)}")
    return list(names).index(text)


def _common(units: Iterable[str]) -> str:
    found = set(units)
    return found.pop() if len(found) == 1 else ""


def _time(names: Sequence[str], plain: Sequence[_Name], where: str) -> ColumnGroup | None:
    found = next((k for k, name in enumerate(plain) if name.plain in _TIME), None)
    return None if found is None else ColumnGroup("time", (found,), repr(_seconds(where, names[found])))


def _groups(plain: Sequence[_Name], free: Sequence[int]) -> dict[str, dict[str, int]]:
    """Columns whose names differ in their last letters: {stem: {component: column}}."""
    found: dict[str, dict[str, int]] = {}
    for k in free:
        matched = _COMPONENT.fullmatch(plain[k].plain)
        if matched:
            found.setdefault(matched[1], {}).setdefault(matched[2], k)
    return found


def _complete(parts: Mapping[str, int], choices: Iterable[Sequence[str]]) -> tuple[int, ...] | None:
    """The columns of the first choice of names of which all are there."""
    return next((tuple(parts[n] for n in names) for names in choices if all(n in parts for n in names)), None)


def _measured(kind: str, plain: Sequence[_Name], columns: tuple[int, ...], hint: str = "") -> ColumnGroup:
    """Columns with the unit that the names of all of them state."""
    return ColumnGroup(kind, columns, _common(plain[c].unit for c in columns), hint)


_JOINT = {"qvel": [str(k) for k in range(6)], "qpos": [str(k) for k in range(7)]}
"""The components of a free joint of MuJoCo: velocity before rate, position before attitude."""


def _rates(plain: Sequence[_Name], free: Sequence[int]) -> ColumnGroup | None:
    choices: list[tuple[bool, ColumnGroup]] = []
    groups = _groups(plain, free)
    if joint := _complete(groups.get("qvel", {}), [_JOINT["qvel"]]):
        return ColumnGroup("omega", joint[3:])
    for stem, parts in groups.items():
        if not (_RATE.search(stem) or stem == "w") or "euler" in stem or "momentum" in stem:
            continue
        if columns := _complete(parts, _THREES):
            space = any(word in stem for word in _SPACE_WORDS)
            choices.append((space, _measured("omega", plain, columns, "space" if space else "")))
    by_name = {plain[k].plain: k for k in free}
    aircraft = (_complete(by_name, [names]) for names in (("p", "q", "r"), ("rollrate", "pitchrate", "yawrate")))
    choices += [(False, _measured("omega", plain, columns)) for columns in aircraft if columns]
    return min(choices, key=lambda c: c[0])[1] if choices else None


def _attitude(names: Sequence[str], plain: Sequence[_Name], free: Sequence[int]) -> ColumnGroup | None:
    groups = _groups(plain, free)
    if joint := _complete(groups.get("qpos", {}), [_JOINT["qpos"]]):
        return ColumnGroup("quaternion", joint[3:])
    for stem, parts in groups.items():
        for four, hint in _FOURS.items() if _QUATERNION.fullmatch(stem) else ():
            if columns := _complete(parts, [four]):
                return ColumnGroup("quaternion", columns, "", hint)
    if (found := _matrix(plain, free)) is not None:
        return found
    for stem, parts in groups.items():
        if ("sigma" in stem or "mrp" in stem) and (columns := _complete(parts, _THREES)):
            return ColumnGroup("mrp", columns)
    return _euler(names, plain, free)


_NINES = [[f"{i}{j}" for i in d for j in d] for d in ("123", "012")] + [[str(k + b) for k in range(9)] for b in (0, 1)]
"""The ways to number the elements of a matrix."""


def _matrix(plain: Sequence[_Name], free: Sequence[int]) -> ColumnGroup | None:
    grids: dict[str, dict[str, int]] = {}
    for k in free:
        matched = re.fullmatch(r"([a-z]\w*?)(\d\d?)", plain[k].plain)
        if matched and _MATRIX.fullmatch(matched[1]):
            grids.setdefault(matched[1], {})[matched[2]] = k
    whole = (columns for parts in grids.values() if (columns := _complete(parts, _NINES)))
    return next((ColumnGroup("matrix", columns) for columns in whole), None)


def _euler(names: Sequence[str], plain: Sequence[_Name], free: Sequence[int]) -> ColumnGroup | None:
    own: dict[tuple[str, str], dict[str, int]] = {}
    letters: dict[str, int] = {}
    numbered: dict[str, int] = {}
    for k in free:
        if matched := re.fullmatch(r"euler(_deg)?\(([XYZxyz]{3})\)_([123])(?: \(\w+\))?", names[k].strip()):
            own.setdefault(("deg" if matched[1] else "rad", matched[2]), {})[matched[3]] = k
        name = plain[k].plain
        if "rate" in name or "dot" in name or "vel" in name:
            continue
        for word, letter in _EULER.items():
            if name == word or (name.endswith(word) and ("euler" in name or "angle" in name or "attitude" in name)):
                letters.setdefault(letter, k)
        if matched := re.fullmatch(r"(?:euler|eulerangles?|angles?)([xyz123012])", name):
            numbered.setdefault(matched[1], k)
    for (unit, sequence), parts in own.items():
        if columns := _complete(parts, ["123"]):
            return ColumnGroup("euler", columns, unit, sequence)
    for keys, hint in (("ZYX", "ZYX"), (("psi", "theta", "phi"), "ZYX or ZXZ")):
        if columns := _complete(letters, [keys]):
            return _measured("euler", plain, columns, hint)
    columns = _complete(numbered, _THREES)
    return None if columns is None else _measured("euler", plain, columns, "any")


def _conserved(plain: Sequence[_Name], free: Sequence[int]) -> tuple[ColumnGroup, ...]:
    energy = [ColumnGroup("energy", (k,)) for k in free if ENERGY.fullmatch(plain[k].plain)]
    groups = [parts for stem, parts in _groups(plain, free).items() if MOMENTUM.fullmatch(stem)]
    threes = [columns for parts in groups if (columns := _complete(parts, _THREES))]
    return (*energy[:1], *(ColumnGroup("momentum", columns) for columns in threes[:1]))


def _place(plain: Sequence[_Name]) -> tuple[int, int] | None:
    by_name = {name.plain: k for k, name in enumerate(plain) if name.unit in ("deg", "")}
    found = _complete(by_name, (("latitude", "longitude"), ("lat", "lon"), ("lat", "long")))
    return None if found is None else (found[0], found[1])
