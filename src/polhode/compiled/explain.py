"""What Numba complains about, in the user's terms: the line, and a reason in one sentence. Imported on failure only."""

import dis
import linecache
import os
import re
import types
from collections.abc import Sequence

from polhode.compiled.digest import Walk

_PLACE = re.compile(r'^File "(.+?)", line (\d+):|(?: at |Raised from )(\S.*?) \((\d+)\)', re.MULTILINE)
_SPECIFIC = re.compile(r"^\s*\w*(?:Error|Exception): (?!Failed in)(.+)$", re.MULTILINE)
_CALL = re.compile(r"^\s*>>> (.+)$", re.MULTILINE)
_CONTEXT = re.compile(r'^(?:During: |File ")', re.MULTILINE)
INTERPRETED = "print and objmode"
"""What calls the Python interpreter. Numba would need an environment for it, which a bare program has not."""

_NOISE = (
    (r"type Module\(<module '(\S+)'.*?>\)", r"module \1"),
    (r"Literal\[(\w+)\]\([^)]*\)", r"\1"),
    (r"<iv=\w+>", ""),
    (r"(?:, defined|\.* Raised from None|\.)$", ""),
)


def explained(problem: Exception, f: types.FunctionType) -> str:
    """Why f, or something it calls, cannot be compiled: the line of the user's code, and the reason."""
    text = "\n".join(
        line
        for line in re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).splitlines()
        if line.strip() and not line.startswith("Failed in ")
    )
    walk = Walk()
    walk.function(f)
    everything = list(reversed(walk.known))  # callers first
    theirs = [g for g in everything if not (g.__module__ or "").startswith("polhode.")]
    file, line = _place(text, theirs or everything)
    source = linecache.getline(file, line).strip()
    if not type(problem).__module__.startswith(("numba.", "polhode.")):  # something that Numba did not foresee
        text = f"{type(problem).__name__}, {text}"
    return "\n".join([f'File "{file}", line {line}', *([f"    {source}"] if source else []), _reason(text)])


def _reason(text: str) -> str:
    """The innermost complaint, which Numba puts first."""
    head = _CONTEXT.split(text, maxsplit=1)[0]
    if specific := _SPECIFIC.findall(head):
        reason = str(specific[-1])
    elif call := _CALL.search(head):
        reason = f"there is no compiled form of {call[1]}"
    else:
        reason = " ".join(_PLACE.sub("", head).split())
    for pattern, plainly in _NOISE:
        reason = re.sub(pattern, plainly, reason)
    return reason


def _place(text: str, functions: Sequence[types.FunctionType]) -> tuple[str, int]:
    """The innermost line in one of the functions; if none is named, where the function to blame begins."""
    if not functions:  # all of it was generated
        return "<generated>", 0
    wanted = re.findall(r"name '(\w+)' is not defined", text) or INTERPRETED.split(" and ") * (INTERPRETED in text)
    for g in functions:
        for instruction in dis.get_instructions(g.__code__):
            if instruction.argval in wanted and instruction.positions and instruction.positions.lineno:
                return g.__code__.co_filename, instruction.positions.lineno
    files = {_path(g.__code__.co_filename): g.__code__.co_filename for g in functions}
    for found in _PLACE.finditer(text):
        if (file := _path(found[1] or found[3])) in files:
            return files[file], int(found[2] or found[4])
    called = re.findall(r"<function (.+?)_[0-9a-f]{16} at ", text)  # as the linker named them, innermost first
    blamed = min(functions, key=lambda g: called.index(g.__name__) if g.__name__ in called else len(called))
    return blamed.__code__.co_filename, blamed.__code__.co_firstlineno


def _path(file: str) -> str:
    return file if file.startswith("<") else os.path.abspath(file)
