"""The text of CCSDS attitude messages: KVN ("KEY = value" lines) and XML, as blocks of fields with their lines.

This reader is polhode's own for three reasons: versions 1.0 and 2.0 of the standard are both in use, and it reads both;
it reads KVN and XML into one form, so that all checks are made once; and every error names its line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from polhode.files.atomic import AnyPath
from polhode.files.netcdf import BadFile

KINDS = ("AEM", "APM", "ACM")
"""The attitude messages: ephemeris, parameters, comprehensive."""
VERSIONS = ("1.0", "2.0")


@dataclass(frozen=True)
class KeywordLine:
    """A keyword with its value, its unit if there is one, and the line where it stands."""

    key: str
    value: str
    unit: str
    line: int


@dataclass
class DataLine:
    """A line of numbers: as words, or by keyword where the file is XML."""

    line: int
    words: list[str]
    fields: dict[str, KeywordLine] | None = None


@dataclass
class MessageBlock:
    """Fields, rows and comments between START and STOP, or in an XML element."""

    name: str
    line: int
    fields: dict[str, KeywordLine] = field(default_factory=dict)
    rows: list[DataLine] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    end: int = 0


@dataclass
class Message:
    """A file: its kind, version, header and blocks, in their order."""

    path: str
    kind: str
    version: str
    is_xml: bool
    head: MessageBlock
    """Fields outside of blocks: the header, and in an APM nearly everything."""
    blocks: list[MessageBlock]
    repeated: list[tuple[str, KeywordLine]] = field(default_factory=list)
    """Fields of maneuvers outside of blocks, which may be repeated."""

    def bad(self, line: int, what: str) -> BadFile:
        """An error that names the file and the line."""
        return BadFile(f"{self.path}, line {line}: {what}")

    def need(self, block: MessageBlock, key: str, what: str = "") -> KeywordLine:
        """A field that must be there."""
        if key not in block.fields:
            raise self.bad(
                block.end or block.line, f"{key} is missing in {block.name}{what}: add it, or ask for the whole file"
            )
        return block.fields[key]

    def number(self, found: KeywordLine, unit: str) -> float:
        """The number of a field, whose unit must be the one of the standard if it is named."""
        if found.unit and found.unit.replace(" ", "").lower() != unit.lower():
            raise self.bad(found.line, f"{found.key} is in {found.unit!r}: the standard has it in {unit}, convert it")
        value = as_number(found.value)
        if value is None:
            raise self.bad(found.line, f"{found.key} = {found.value!r} is not a finite number")
        return value

    def check_keys(self, block: MessageBlock, known: Collection[str]) -> None:
        """Refuses keywords that the version of the standard does not have."""
        for key, found in block.fields.items():
            if key not in known:
                raise self.bad(
                    found.line,
                    f"{key} is no keyword of {block.name} in version {self.version} of the {self.kind}: remove the "
                    "line, or correct the keyword or the version",
                )


def as_number(text: str) -> float | None:
    """A finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") and "_" not in text else None


def read(path: AnyPath) -> Message:
    """Reads the text of a message."""
    shown = str(path)
    raw = Path(path).read_bytes()
    start = raw[:400].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return _read_xml(shown, raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise BadFile(
            f"{shown}, line {line}: the byte 0x{raw[problem.start]:02x} is not UTF-8: save the file with that encoding"
        ) from None
    return _read_kvn(shown, text)


# --- KVN -----------------------------------------------------------------------------------------------------------

_FIELD = re.compile(r"([A-Z][A-Z0-9_]*)\s*=\s*(.*?)\s*(?:\[([^\[\]]*)\])?")


def _read_kvn(path: str, text: str) -> Message:
    lines = text.splitlines()
    message = Message(path, "", "", False, MessageBlock("the header", 1, end=len(lines)), [])
    opened: list[MessageBlock] = []
    for number, whole in enumerate(lines, 1):
        line = whole.strip()
        if not line:
            continue
        here = opened[-1] if opened else message.head
        if not message.kind:
            _check_first(message, line, number)
        elif line[0] in "+-.0123456789" and opened and "=" not in line and "_" not in line:
            here.rows.append(DataLine(number, line.split()))
        elif line == "COMMENT" or line.startswith("COMMENT "):
            here.comments.append(line[7:].strip())
        elif line.endswith("_START") and "=" not in line:
            if opened and (here.name, line) != ("AD", "SENSOR_START"):
                raise message.bad(
                    number, f"{here.name}_STOP is missing before {line}: {here.name} began in line {here.line}"
                )
            opened.append(MessageBlock(line[:-6], number))
            message.blocks.append(opened[-1])
        elif line.endswith("_STOP") and "=" not in line:
            if not opened or opened[-1].name != line[:-5]:
                raise message.bad(number, f"{line} ends nothing: {line[:-5]}_START is missing before it")
            opened.pop().end = number
        elif (found := _FIELD.fullmatch(line)) is not None:
            _add(message, here, KeywordLine(found[1], found[2], found[3] or "", number))
        else:
            raise message.bad(number, f"{line[:60]!r} is neither 'KEYWORD = value' nor a row of numbers")
    if not message.kind:
        raise BadFile(
            f"{path} is empty: an attitude message begins with CCSDS_AEM_VERS, CCSDS_APM_VERS or CCSDS_ACM_VERS"
        )
    if opened:
        raise message.bad(
            len(lines),
            f"the file ends within the block {opened[-1].name} of line {opened[-1].line}: it is cut short, get the "
            "whole file",
        )
    return message


def _check_first(message: Message, line: str, number: int) -> None:
    """Takes kind and version from the first line."""
    found = re.fullmatch(r"CCSDS_([A-Z]+)_VERS\s*=\s*(\S+)", line)
    if found is None:
        raise message.bad(
            number, f"{line[:60]!r} is not the beginning of a CCSDS message, such as 'CCSDS_AEM_VERS = 2.0'"
        )
    _check_kind(message, found[1], found[2], number)


def _check_kind(message: Message, kind: str, version: str, number: int) -> None:
    if kind not in KINDS:
        raise message.bad(number, f"this is an {kind}, not an attitude message: {', '.join(KINDS)} are read")
    if version not in VERSIONS:
        raise message.bad(
            number, f"version {version} of the {kind} is not known: write the file as version {' or '.join(VERSIONS)}"
        )
    message.kind, message.version = kind, version


def _add(message: Message, block: MessageBlock, found: KeywordLine) -> None:
    if block.rows:
        raise message.bad(found.line, f"{found.key} stands between rows of numbers: move it before the first")
    if found.key.startswith("MAN_") and block is message.head:
        message.repeated.append((found.key, found))
    elif found.key in block.fields:
        first = block.fields[found.key].line
        raise message.bad(found.line, f"{found.key} stands there twice, first in line {first}: remove one of them")
    else:
        block.fields[found.key] = found


# --- XML -----------------------------------------------------------------------------------------------------------

BLOCK_OF = {
    "metadata": "META",
    "data": "DATA",
    "quaternionState": "QUAT",
    "eulerAngleState": "EULER",
    "eulerElementsThree": "EULER",
    "angularVelocity": "ANGVEL",
    "spin": "SPIN",
    "eulerElementsSpin": "SPIN",
    "inertia": "INERTIA",
    "spacecraftParameters": "INERTIA",
    "maneuverParameters": "MAN",
}
"""The names that XML elements have as blocks of KVN."""
DEEPEST = 32
"""Elements of messages are not within more others than this."""


@dataclass
class _Node:
    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[_Node] = field(default_factory=list)

    def fields(self) -> Iterator[KeywordLine]:
        """Yields what stands in the element and in the groups within it."""
        for child in self.children:
            named = child.attributes.get("angle") or child.attributes.get("rate")
            if child.children:
                yield from child.fields()
            elif child.tag != "COMMENT":
                yield KeywordLine(named or child.tag, child.text.strip(), child.attributes.get("units", ""), child.line)


def _read_xml(path: str, raw: bytes) -> Message:
    message = Message(path, "", "", True, MessageBlock("the header", 1), [])
    root = _parsed(message, raw)
    if root.tag == "ndm" and len(root.children) == 1:
        root = root.children[0]
    kind = root.tag.rpartition(":")[2].upper()
    _check_kind(message, kind, root.attributes.get("version", "none"), root.line)
    if kind == "ACM":
        raise message.bad(root.line, "an ACM is read as KVN only, not as XML: convert it")
    for part in root.children:
        if part.tag == "header":
            _fill(message, message.head, part)
        elif part.tag == "body":
            for segment in part.children:
                for child in segment.children:
                    _add_blocks(message, child)
        else:
            raise message.bad(part.line, f"<{part.tag}> is not known there: an {kind} has a header and a body")
    return message


def _add_blocks(message: Message, node: _Node) -> None:
    if node.tag not in BLOCK_OF:
        raise message.bad(node.line, f"<{node.tag}> is not known in a segment: it has metadata and data")
    block = MessageBlock(BLOCK_OF[node.tag], node.line, end=node.line)
    message.blocks.append(block)
    plain = _Node(node.tag, {}, node.line)
    for child in node.children:
        if child.tag == "attitudeState":
            found = {f.key: f for f in child.fields()}
            block.rows.append(DataLine(child.line, [], found))
        elif child.tag in BLOCK_OF:
            _add_blocks(message, child)
        else:
            plain.children.append(child)
    _fill(message, block, plain)


def _fill(message: Message, block: MessageBlock, node: _Node) -> None:
    block.comments += [child.text.strip() for child in node.children if child.tag == "COMMENT"]
    for found in node.fields():
        if found.key in block.fields:
            raise message.bad(found.line, f"{found.key} stands there twice: remove one of them")
        block.fields[found.key] = found


def _parsed(message: Message, raw: bytes) -> _Node:
    """The tree of elements, with the line of each."""
    parser = expat.ParserCreate()
    top = _Node("", {}, 1)
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise message.bad(parser.CurrentLineNumber, f"<{tag}> is within {DEEPEST} others: no message is so deep")
        node = _Node(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(node)
        stack.append(node)

    def end(_: str) -> None:
        stack.pop()

    def text(data: str) -> None:
        stack[-1].text += data

    def refuse(*_: Any) -> None:
        raise message.bad(parser.CurrentLineNumber, "messages have no <!DOCTYPE>: remove it")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as problem:
        why = expat.ErrorString(problem.code)
        raise message.bad(
            problem.lineno, f"this is not well-formed XML ({why}): the file is cut short or damaged, get the whole file"
        ) from None
    return top.children[0]
