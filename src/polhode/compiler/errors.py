"""Says why something cannot be compiled: the line, and a reason in one sentence, also in place of Numba's."""

import dis
import linecache
import os
import re
import types
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from polhode.compiler.digest import DigestWalk, is_ours
from polhode.compiler.translate import Unsupported

_PLACE = re.compile(r'^File "(.+?)", line (\d+):|(?: at |Raised from )(\S.*?) \((\d+)\)', re.MULTILINE)
_SPECIFIC = re.compile(r"^\s*\w*(?:Error|Exception): (?!Failed in)(.+)$", re.MULTILINE)
_CALL = re.compile(r"^\s*>>> (.+)$", re.MULTILINE)
_CONTEXT = re.compile(r'^(?:During: |File ")', re.MULTILINE)
INTERPRETED = "print and objmode"
"""These call the Python interpreter. Numba would need an environment for that, which a bare program does not have."""

SMALLER = "beyond the 64 bits of compiled code: write floats, as in 2.0 ** 70"
"""What users are to do about an integer that is too large."""
WRITES = (
    "parameters, and arrays from outside the function, cannot be written to, because it is evaluated any number of "
    "times: write to a copy, as in own = p.copy()"
)
"""Why an array cannot be written to."""
TAKEN = "take numbers, tuples, NamedTuples or arrays from outside the function, or give numbers as parameters"
"""What users are to do about values that cannot be compiled."""
_PLAINER = (
    (r"Cannot modify readonly array.*|.*explicit output that is read-only.*", WRITES),
    (r"AttributeError, 'NoneType' object has no attribute 'args'", WRITES),  # Numba 0.68 says this of p += 1.0
    (r"Int value is too large: (\d+).*", rf"the integer \1 is {SMALLER}"),
    (
        r"Untyped \w+ name '(\w+)': Cannot determine Numba type of <class '(?:\w+\.)*(\w+)'>",
        rf"\1, of type \2, has no compiled form: {TAKEN}",
    ),
    (r"The use of a reflected list.*assigned to variable '(\w+)'.*", rf"\1 is a list, which may change: {TAKEN}"),
    (r"The use of yield in a closure.*", "generators have no compiled form: write [... for ...], or a loop"),
    (r"Use of unsupported opcode \(UNPACK_EX\).*", "a, *b = c has no compiled form: write a, b = c[0], c[1:]"),
    (
        r"Use of unsupported opcode \((?:STORE|DELETE)_GLOBAL\).*",
        "global variables cannot be written to, because the function is evaluated any number of times",
    ),
    (
        r"Cannot bind .* to signature '\((?:.*, )?\*, .*\)'.*",
        "arguments by keyword only have no compiled form: write the definition without the *",
    ),
    (
        r"Cannot bind 'args=\((.*)\) kws=.*' to signature '\((.*)\)'.*",
        r"the compiled form takes (\2), and is called with (\1)",
    ),
    (r"'@' arguments must all have the same dtype", "@ takes arrays of one type: write floats, as in 1.0 for 1"),
)
"""Reasons of Numba's that say too little, and better ones."""

_NOISE = (
    (r"type Module\(<module '(\S+)'.*?>\)", r"module \1"),
    (r"Literal\[(\w+)\]\([^)]*\)", r"\1"),
    (r"<iv=\w+>", ""),
    (r"(?:, defined|\.* Raised from None|\.)$", ""),
)


class Complaint(NamedTuple):
    """Why a function cannot be compiled. It names no file and no line: it is kept, and lines move."""

    function: str
    """The name, by its content, of the function that is to blame."""
    instruction: int
    """The index of the instruction in its code."""
    reason: str


def explained(problem: Exception, f: types.FunctionType, *, divided: bool = False) -> Complaint:
    """Explains why f, or something it calls, cannot be compiled: the place in the user's code, and the reason.

    If f is divided, this is said of all that is not compiled apart from it.
    """
    text = "\n".join(
        line
        for line in re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).splitlines()
        if line.strip() and not line.startswith("Failed in ")
    )
    walk = DigestWalk(divided=divided)
    walk.function(f)
    if isinstance(problem, Unsupported):
        theirs = [g for g in reversed(walk.known) if not is_ours(g)]
        blamed, line = problem.place or (f, 0)
        if theirs and is_ours(blamed):
            blamed, line = theirs[0], 0
        lines = _lines(blamed.__code__)
        nearest = max((n for n in lines if n <= line), default=lines[0])
        return Complaint(walk.function(blamed), lines.index(nearest), str(problem))
    everything = list(reversed(walk.known))  # callers first
    theirs = [g for g in everything if not (g.__module__ or "").startswith("polhode.")]
    blamed, instruction = _place(text, theirs or everything)
    if not type(problem).__module__.startswith(("numba.", "polhode.")):  # something that Numba did not foresee
        text = f"{type(problem).__name__}, {text}"
    return Complaint(walk.function(blamed), instruction, _reason(text))


@lru_cache(maxsize=128)
def message_of(complaint: Complaint, f: types.FunctionType) -> str:
    """The message of a complaint about f, with its line as it is now."""
    walks = [DigestWalk(), DigestWalk(divided=True)]
    names = {walk.function(f): f for walk in walks}
    names |= {named.name: g for walk in walks for g, named in walk.known.items()}
    code = names.get(complaint.function, f).__code__
    file, line = code.co_filename, _lines(code)[complaint.instruction]
    source = linecache.getline(file, line).strip()
    return "\n".join([f'File "{file}", line {line}', *([f"    {source}"] if source else []), complaint.reason])


def _reason(text: str) -> str:
    """The innermost error, which Numba puts first."""
    head = _CONTEXT.split(text, maxsplit=1)[0]
    if specific := _SPECIFIC.findall(head):
        reason = str(specific[-1])
    elif call := _CALL.search(head):
        reason = f"there is no compiled form of {call[1]}"
    else:
        reason = " ".join(_PLACE.sub("", head).split())
    for pattern, plainly in _PLAINER:
        if found := re.fullmatch(pattern, reason):
            return found.expand(plainly)
    for pattern, plainly in _NOISE:
        reason = re.sub(pattern, plainly, reason)
    return reason


def _place(text: str, functions: Sequence[types.FunctionType]) -> tuple[types.FunctionType, int]:
    """The function to blame and an instruction on the innermost line that Numba names; 0 if it names none."""
    wanted = re.findall(r"name '(\w+)' is not defined", text) or INTERPRETED.split(" and ") * (INTERPRETED in text)
    for g in functions:
        for k, instruction in enumerate(_instructions(g.__code__)):
            if instruction.argval in wanted:
                return g, k
    for found in _PLACE.finditer(text):
        file, line = _path(found[1] or found[3]), int(found[2] or found[4])
        here = [(g, _lines(g.__code__)) for g in functions if _path(g.__code__.co_filename) == file]
        if before := [(n, g, lines) for g, lines in here for n in lines if n <= line]:
            nearest, g, lines = max(before, key=lambda place: place[0])
            return g, lines.index(nearest)
    called = re.findall(r"<function (.+?)_[0-9a-f]{16} at ", text)  # with the linker's names, innermost first
    return min(functions, key=lambda g: called.index(g.__name__) if g.__name__ in called else len(called)), 0


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    """Yields the instructions of the code, and of code nested in it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


def _lines(code: types.CodeType) -> list[int]:
    """The line of each instruction."""
    places = (i.positions for i in _instructions(code))
    return [place.lineno if place and place.lineno else code.co_firstlineno for place in places]


def _path(file: str) -> str:
    return file if file.startswith("<") else os.path.abspath(file)
