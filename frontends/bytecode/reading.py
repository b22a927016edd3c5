"""Bytecode as MLIR text in generic form, which the reader of text reads."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from . import MAGIC
from .encoding import NEWEST_VERSION, Code, Cursor, Parts, Section, UnknownEncodingError

_T = TypeVar("_T")

_MAX_DEPTH = 200
"""Regions within regions: each takes some of Python's stack, here and when the text is read."""

_VERSIONED = 1
_ISOLATED_IN_SECTIONS = 2
_USE_ORDERS = 3
_ELIDED_LOCATIONS = 4
_PROPERTIES = 5
"""The versions since which the format has these."""


def text_of(data: bytes) -> str:
    """
    The module as text with its locations.

    Raises BytecodeError for bytes that are no valid bytecode, UnknownEncodingError for attributes, types or properties
    in an encoding of a dialect's own.
    """
    return _Reader(data).text()


def producer_of(data: bytes) -> str:
    """The name of the program that wrote the bytes. Raises BytecodeError."""
    cursor = Cursor(data, len(MAGIC))
    cursor.varint()
    return cursor.c_string()


@dataclass
class _Entry:
    """An attribute or type: its bytes, whether a dialect encoded them, and its text once it was asked for."""

    cursor: Cursor
    encoded: bool
    dialect: str
    text: str | None = None
    is_read: bool = False


@dataclass(eq=False)
class _Value:
    """A value of a scope; in the text that is made it stands for its type, which may be known only later."""

    name: str
    type: str | None = None


class _Reader:
    """The tables of a file, and the state of reading its operations."""

    def __init__(self, data: bytes) -> None:
        # Attributes repeated by number are repeated in the text; a file that would make an endless one is refused.
        self._allowed = 64 * len(data) + (64 << 20)
        head = Cursor(data, len(MAGIC))
        self._version = head.varint()
        if self._version > NEWEST_VERSION:
            raise head.wrong(
                f"bytecode of version {self._version} is newer than version {NEWEST_VERSION}, the newest known"
            )
        head.c_string()
        sections: dict[int, Cursor] = {}
        while head.left:
            kind, content = head.section()
            if kind in sections or kind > max(Section):
                raise head.wrong(f"section {kind} is {'repeated' if kind in sections else 'unknown'}")
            sections[kind] = content
        needed = (Section.STRING, Section.DIALECT, Section.ATTRIBUTES, Section.ATTRIBUTE_OFFSETS, Section.IR)
        for kind in needed:
            if kind not in sections:
                raise head.wrong(f"the section {kind.name.lower()} is missing")
        if sections.get(Section.RESOURCES, head).left:
            raise UnknownEncodingError("resources")
        self._strings = _read_strings(sections[Section.STRING])
        self._dialects, self._names = self._read_dialects(sections[Section.DIALECT])
        offsets = sections[Section.ATTRIBUTE_OFFSETS]
        counts = offsets.count(), offsets.count()
        contents = sections[Section.ATTRIBUTES]
        self._attributes, self._types = (self._read_entries(offsets, contents, count) for count in counts)
        self._ir = sections[Section.IR]
        # The definitions `#loc1 = loc(..)`, in an order that reads back.
        self._locations: list[str] = []
        self._values: list[_Value] = []
        self._text: list[str | _Value] = []
        # The place in `_values` of the region's next definition.
        self._next = 0
        self._made = 0
        self._named = 0
        self._depth = 0

    def text(self) -> str:
        """The text of the whole file."""
        for entry in (*self._attributes, *self._types):
            self._entry(entry, entry.cursor)
        count, has_arguments = self._ir.flagged()
        if has_arguments:
            raise self._ir.wrong("the block of the file has arguments")
        for _ in range(self._ir.counted(count)):
            self._operation(self._ir, ())
        if self._ir.left:
            raise self._ir.wrong(f"{self._ir.left} bytes follow the last operation")
        return "".join(self._locations) + "".join(map(self._resolved, self._text))

    def _resolved(self, part: str | _Value) -> str:
        if isinstance(part, str):
            return part
        if part.type is None:
            raise self._ir.wrong("a value that is used is not defined")
        return part.type

    def _grow(self, text: str, cursor: Cursor) -> str:
        self._made += len(text)
        if self._made > self._allowed:
            raise cursor.wrong("the text of the module is too long for the size of its bytecode")
        return text

    # Tables ----------------------------------------------------------------------------------------------------

    def _string(self, number: int, cursor: Cursor) -> str:
        if number >= len(self._strings):
            raise cursor.wrong(f"string {number} of {len(self._strings)}")
        return cursor.text(self._strings[number])

    def _read_dialects(self, cursor: Cursor) -> tuple[list[str], list[tuple[str, bool]]]:
        dialects: list[str] = []
        for _ in range(cursor.count()):
            number, versioned = (cursor.varint(), False) if self._version < _VERSIONED else cursor.flagged()
            dialects.append(self._string(number, cursor))
            if versioned:
                cursor.section()
        names: list[tuple[str, bool]] = []
        if self._version >= _ELIDED_LOCATIONS:
            cursor.varint()
        while cursor.left:
            dialect = _listed(dialects, cursor, "dialect")
            for _ in range(cursor.count()):
                number, registered = (cursor.varint(), False) if self._version < _PROPERTIES else cursor.flagged()
                name = self._string(number, cursor)
                names.append((f"{dialect}.{name}" if name else dialect, registered))
        return dialects, names

    def _read_entries(self, offsets: Cursor, contents: Cursor, count: int) -> list[_Entry]:
        entries: list[_Entry] = []
        while len(entries) < count:
            dialect = _listed(self._dialects, offsets, "dialect")
            group = offsets.count()
            if not 0 < group <= count - len(entries):
                raise offsets.wrong(f"a group of {group} attributes or types")
            for _ in range(group):
                size, encoded = offsets.flagged()
                start = contents.position
                contents.take(size)
                entries.append(_Entry(Cursor(contents.data, start, start + size), encoded, dialect))
        return entries

    def _attribute(self, cursor: Cursor) -> str:
        return self._entry(_listed(self._attributes, cursor, "attribute"), cursor)

    def _value(self, cursor: Cursor) -> str:
        """The text of an attribute within another, where a location is `loc(#loc7)`."""
        text = self._attribute(cursor)
        return f"loc({text})" if text.startswith("#loc") or text == "unknown" else text

    def _type(self, cursor: Cursor) -> str:
        return self._entry(_listed(self._types, cursor, "type"), cursor)

    def _entry(self, entry: _Entry, user: Cursor) -> str:
        """The text of an attribute or type; a location is a name, or `unknown`."""
        if entry.text is None:
            if entry.is_read:
                raise entry.cursor.wrong("an attribute contains itself")
            entry.is_read = True
            with self._deeper(entry.cursor):
                entry.text = self._decoded(entry) if entry.encoded else entry.cursor.c_string()
            if entry.cursor.left:
                raise entry.cursor.wrong(f"an attribute or type ends {entry.cursor.left} bytes too early")
        return self._grow(entry.text, user)

    def _decoded(self, entry: _Entry) -> str:
        cursor = entry.cursor
        if entry.dialect != "builtin":
            raise UnknownEncodingError(f"the dialect {entry.dialect}'s own attributes and types")
        match cursor.varint():
            case Code.STRING:
                return _quoted(self._string(cursor.varint(), cursor))
            case Code.ARRAY:
                return f"[{', '.join([self._value(cursor) for _ in range(cursor.count())])}]"
            case Code.DICTIONARY:
                entries = [f"{self._attribute(cursor)} = {self._value(cursor)}" for _ in range(cursor.count())]
                return f"{{{', '.join(entries)}}}"
            case Code.UNKNOWN:
                return "unknown"
            case Code.FILE_LINE_COLUMN:
                return self._location(f"{self._attribute(cursor)}:{cursor.varint()}:{cursor.varint()}")
            case Code.CALL_SITE:
                return self._location(f"callsite({self._attribute(cursor)} at {self._attribute(cursor)})")
            case Code.NAME:
                name, inner = self._attribute(cursor), self._attribute(cursor)
                return self._location(name if inner == "unknown" else f"{name}({inner})")
            case Code.FUSED:
                return self._location(f"fused[{self._listed_attributes(cursor)}]")
            case Code.FUSED_WITH_METADATA:
                listed = self._listed_attributes(cursor)
                return self._location(f"fused<{self._value(cursor)}>[{listed}]")
            case code:
                raise UnknownEncodingError(f"encoding {code} of the builtin dialect")

    def _listed_attributes(self, cursor: Cursor) -> str:
        return ", ".join([self._attribute(cursor) for _ in range(cursor.count())])

    def _location(self, text: str) -> str:
        name = f"#loc{len(self._locations) + 1}"
        self._locations.append(f"{name} = loc({text})\n")
        return name

    @contextmanager
    def _deeper(self, cursor: Cursor) -> Generator[None]:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise cursor.wrong(f"regions or attributes are nested more than {_MAX_DEPTH} deep")
        yield
        self._depth -= 1

    # Operations ------------------------------------------------------------------------------------------------

    def _operation(self, cursor: Cursor, blocks: Sequence[str]) -> None:
        """Write an operation of a region with these blocks."""
        name, registered = _listed(self._names, cursor, "operation")
        parts = Parts(cursor.byte() & 0x7F)
        location = self._attribute(cursor)
        attributes = f" {self._attribute(cursor)}" if parts & Parts.ATTRIBUTES else ""
        properties = ""
        if parts & Parts.PROPERTIES:
            if registered:
                raise UnknownEncodingError(f"the properties of {name}")
            properties = f" <{self._attribute(cursor)}>"
        types = [self._type(cursor) for _ in range(cursor.count())] if parts & Parts.RESULTS else []
        count = cursor.count() if parts & Parts.OPERANDS else 0
        operands = [_listed(self._values, cursor, "value") for _ in range(count)]
        count = cursor.count() if parts & Parts.SUCCESSORS else 0
        successors = [_listed(blocks, cursor, "block") for _ in range(count)]
        if parts & Parts.USE_ORDERS and self._version >= _USE_ORDERS:
            _skip_use_orders(cursor, len(types))
        regions, isolated = cursor.flagged() if parts & Parts.REGIONS else (0, False)
        results = self._define(types, cursor)
        self._write(f"{', '.join(results)} = " if results else "", cursor)
        self._write(f"{_quoted(name)}({', '.join(value.name for value in operands)})", cursor)
        self._write(f"[{', '.join(successors)}]" if successors else "", cursor)
        self._write(properties, cursor)
        if regions:
            self._regions(cursor, regions, isolated)
        self._write(f"{attributes} : (", cursor)
        for place, value in enumerate(operands):
            self._text += [", "[: 2 * bool(place)], value]
        location = location[4:-1] if location.startswith("loc(") else location
        self._write(f") -> ({', '.join(types)}) loc({location})\n", cursor)

    def _write(self, text: str, cursor: Cursor) -> None:
        self._text.append(self._grow(text, cursor))

    def _define(self, types: Sequence[str], cursor: Cursor) -> list[str]:
        """The names of the next values of the region, which have these types."""
        if not types:
            return []
        start, self._next = self._next, self._next + len(types)
        if self._next > len(self._values):
            raise cursor.wrong("a region defines more values than it announces")
        for value, type_ in zip(self._values[start : self._next], types, strict=True):
            value.type = type_
        return [value.name for value in self._values[start : self._next]]

    def _regions(self, cursor: Cursor, count: int, isolated: bool) -> None:
        cursor.counted(count)
        outer, place = self._values, self._next
        if isolated:
            self._values = []
            if self._version >= _ISOLATED_IN_SECTIONS:
                kind, cursor = cursor.section()
                if kind != Section.IR:
                    raise cursor.wrong("an isolated region is in no section of operations")
        with self._deeper(cursor):
            for number in range(count):
                self._write(", {" if number else " ({", cursor)
                self._region(cursor)
                self._write("}", cursor)
        self._write(")", cursor)
        self._values, self._next = outer, place

    def _region(self, cursor: Cursor) -> None:
        count = cursor.count()
        if count == 0:
            return
        defined, start = cursor.count(), len(self._values)
        self._values += [_Value(f"%{number}") for number in range(self._named, self._named + defined)]
        blocks = [f"^bb{number}" for number in range(self._named, self._named + count)]
        self._named += max(defined, count)
        self._next = start
        for block in blocks:
            self._block(cursor, block, blocks)
        del self._values[start:]

    def _block(self, cursor: Cursor, name: str, blocks: Sequence[str]) -> None:
        count, has_arguments = cursor.flagged()
        arguments: list[str] = []
        if has_arguments:
            types = [self._argument(cursor) for _ in range(cursor.count())]
            pairs = zip(self._define(types, cursor), types, strict=True)
            arguments = [f"{value}: {type_}" for value, type_ in pairs]
            if self._version >= _USE_ORDERS and cursor.byte():
                _skip_use_orders(cursor, len(types))
        self._write(f"{name}({', '.join(arguments)}):\n", cursor)
        for _ in range(cursor.counted(count)):
            self._operation(cursor, blocks)

    def _argument(self, cursor: Cursor) -> str:
        """The type of an argument of a block; its location is skipped."""
        if self._version < _ELIDED_LOCATIONS:
            type_ = self._type(cursor)
            self._attribute(cursor)
            return type_
        number, located = cursor.flagged()
        if number >= len(self._types):
            raise cursor.wrong(f"type {number} of {len(self._types)}")
        type_ = self._entry(self._types[number], cursor)
        if located:
            self._attribute(cursor)
        return type_


def _read_strings(cursor: Cursor) -> list[memoryview]:
    count = cursor.count()
    sizes = [cursor.varint() for _ in range(count)]
    strings: list[memoryview] = []
    for size in reversed(sizes):
        if size == 0:
            raise cursor.wrong("a string lacks its end")
        strings.append(cursor.take(size)[:-1])
    return strings


def _skip_use_orders(cursor: Cursor, values: int) -> None:
    """Skip the orders of uses, which have no meaning in text."""
    for _ in range(cursor.count() if values > 1 else 1):
        if values > 1:
            cursor.varint()
        for _ in range(cursor.counted(cursor.flagged()[0])):
            cursor.varint()


def _listed(entries: Sequence[_T], cursor: Cursor, kind: str) -> _T:
    """The entry whose number is next."""
    number = cursor.varint()
    if number >= len(entries):
        raise cursor.wrong(f"{kind} {number} of {len(entries)}")
    return entries[number]


def _quoted(text: str) -> str:
    """A string literal of MLIR's."""
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode()
    )
    return f'"{escaped}"'
