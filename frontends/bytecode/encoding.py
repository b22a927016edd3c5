"""The primitives of MLIR's bytecode: variable-width integers, sections, and the numbers that stand for things."""

from __future__ import annotations

from enum import IntEnum, IntFlag

NEWEST_VERSION = 6
"""The newest version that is read."""
WRITTEN_VERSION = 4
"""The last version in which properties are attributes, which any version of an operation reads."""

PADDING = 0xCB


class Section(IntEnum):
    """The sections of a file."""

    STRING = 0
    DIALECT = 1
    ATTRIBUTES = 2
    ATTRIBUTE_OFFSETS = 3
    IR = 4
    RESOURCES = 5
    RESOURCE_OFFSETS = 6
    DIALECT_VERSIONS = 7
    PROPERTIES = 8


class Parts(IntFlag):
    """The parts of an operation that follow its location."""

    ATTRIBUTES = 1
    RESULTS = 2
    OPERANDS = 4
    SUCCESSORS = 8
    REGIONS = 16
    USE_ORDERS = 32
    PROPERTIES = 64


class Code(IntEnum):
    """The builtin dialect's encodings that are read and written."""

    ARRAY = 0
    DICTIONARY = 1
    STRING = 2
    CALL_SITE = 10
    FILE_LINE_COLUMN = 11
    FUSED = 12
    FUSED_WITH_METADATA = 13
    NAME = 14
    UNKNOWN = 15


class BytecodeError(Exception):
    """Bytes that are no valid bytecode; the message ends with the place."""


class UnknownEncodingError(Exception):
    """An encoding that only the dialect that wrote it reads."""


def varint(value: int) -> bytes:
    """An unsigned number of at most 64 bits: the count of trailing zeros of the first byte is that of further bytes."""
    size = max(1, -(-value.bit_length() // 7))
    if size > 8:
        return b"\0" + value.to_bytes(8, "little")
    return (((value << 1) | 1) << (size - 1)).to_bytes(size, "little")


def section(kind: Section, data: bytes) -> bytes:
    """A section without alignment."""
    return bytes([kind]) + varint(len(data)) + data


class Cursor:
    """A position in bytes, from which values are read. Everything that would pass the end raises BytecodeError."""

    def __init__(self, data: bytes | memoryview, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = start
        self.end = len(data) if end is None else end

    def wrong(self, message: str) -> BytecodeError:
        """The error of what is read here."""
        return BytecodeError(f"{message} at byte {self.position}")

    @property
    def left(self) -> int:
        """The bytes that follow."""
        return self.end - self.position

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        if count > self.left:
            raise self.wrong(f"{count} bytes are expected and {self.left} are left")
        self.position += count
        return memoryview(self.data)[self.position - count : self.position]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """The next number."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return (first | int.from_bytes(self.take(more), "little") << 8) >> (more + 1)

    def flagged(self) -> tuple[int, bool]:
        """The next number and the flag in its lowest bit."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def count(self) -> int:
        """A number of things that follow, each of at least a byte."""
        return self.counted(self.varint())

    def counted(self, count: int) -> int:
        """`count`, if that many things of at least a byte can follow."""
        if count > self.left:
            raise self.wrong(f"{count} parts are announced and {self.left} bytes are left")
        return count

    def c_string(self) -> str:
        """The text before the next zero byte."""
        end = bytes(self.data[self.position : self.end]).find(b"\0")
        if end < 0:
            raise self.wrong("a string has no end")
        text = bytes(self.take(end))
        self.position += 1
        return self.text(text)

    def text(self, data: bytes | memoryview) -> str:
        """Bytes as UTF-8."""
        try:
            return bytes(data).decode()
        except UnicodeDecodeError:
            raise self.wrong("a string is not UTF-8") from None

    def section(self) -> tuple[int, Cursor]:
        """The next section: its number and content."""
        head = self.byte()
        size = self.varint()
        if head & 0x80:
            alignment = self.varint()
            if alignment == 0 or alignment & (alignment - 1):
                raise self.wrong(f"the alignment {alignment} is no power of two")
            while self.position % alignment:
                if self.byte() != PADDING:
                    raise self.wrong("a byte of padding is missing")
        start = self.position
        self.take(size)
        return head & 0x7F, Cursor(self.data, start, start + size)
