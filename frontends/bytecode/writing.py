"""Modules as bytecode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from ...dialects.llvm_loops import AccessGroupAttr
from ...dialects.support.aliases import AliasedAttr, AliasedType
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.printing import HloPrinter
from ...hlo_dialect.printing.locations import parts_of
from ...hlo_dialect.printing.printer import Spelling
from . import MAGIC
from .encoding import WRITTEN_VERSION, Code, Parts, Section, section, varint

_OP_NAME = "op_name__"
"""The attribute in which xDSL keeps the name of an unregistered operation."""


def write_bytecode(module: ModuleOp, spelling: Spelling = "hlo") -> bytes:
    """
    The module as MLIR's bytecode, of version 4. The spelling "stablehlo" makes a program that StableHLO's tools read.

    Names of values are not part of bytecode. Raises DiagnosticError for attributes that are kept by their alias because
    their text would be huge.
    """
    writer = _Writer(spelling)
    body = varint(1 << 1) + writer.operation(module)
    return (
        MAGIC
        + varint(WRITTEN_VERSION)
        + b"xhlo\0"
        # The tables are complete after the operations are written, and stand before them.
        + section(Section.DIALECT, writer.dialects())
        + writer.attributes()
        + section(Section.IR, body)
        + section(Section.STRING, writer.strings.table())
    )


class _Strings:
    """The texts that are referred to by number."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text.encode(), len(self._numbers))

    def table(self) -> bytes:
        texts = list(self._numbers)
        sizes = b"".join(varint(len(text) + 1) for text in reversed(texts))
        return varint(len(texts)) + sizes + b"".join(text + b"\0" for text in texts)


class _Writer:
    """The tables of a file, which grow while its operations are written."""

    def __init__(self, spelling: Spelling) -> None:
        self.strings = _Strings()
        self._printer = _InlinePrinter(spelling=spelling)
        self._names: dict[str, int] = {}
        # The bytes of each attribute, and whether they are an encoding of the builtin dialect's rather than text.
        self._attributes: dict[tuple[bytes, bool], int] = {}
        self._types: dict[bytes, int] = {}
        self._locations: dict[int, tuple[int, LocationAttr]] = {}
        self._known: dict[int, tuple[int, Attribute]] = {}
        self._known_types: dict[int, tuple[int, Attribute]] = {}
        self._values: dict[SSAValue, int] = {}

    # Tables ----------------------------------------------------------------------------------------------------

    def _name(self, op: Operation) -> int:
        name = op.op_name.data if isinstance(op, UnregisteredOp) else self._printer.spell(type(op).name)
        return self._names.setdefault(name, len(self._names))

    def dialects(self) -> bytes:
        """The dialects, then the operations' names in the order of their numbers, each in a group of its own."""
        split = [name.partition(".")[::2] for name in self._names]
        names = list(dict.fromkeys(["builtin", *(dialect for dialect, _ in split)]))
        table = [varint(len(names)), *(varint(self.strings.number(name) << 1) for name in names), varint(len(split))]
        table += [
            varint(names.index(dialect)) + varint(1) + varint(self.strings.number(name)) for dialect, name in split
        ]
        return b"".join(table)

    def attributes(self) -> bytes:
        """The section of attributes and types, and that of their sizes."""
        types = [(data, False) for data in self._types]
        data = b"".join(each for each, _ in (*self._attributes, *types))
        offsets = [varint(len(self._attributes)), varint(len(types))]
        for group in (list(self._attributes), types):
            # All are in one group: the name of a text's dialect is in the text.
            if group:
                offsets += [varint(0), varint(len(group))]
                offsets += [varint((len(each) << 1) | encoded) for each, encoded in group]
        return section(Section.ATTRIBUTES, data) + section(Section.ATTRIBUTE_OFFSETS, b"".join(offsets))

    def _text(self, attribute: Attribute, op: Operation) -> bytes:
        """The text of an attribute. Raises _LocationWithinError for collections, whose parts can be written instead."""
        try:
            return self._printer.text_of(attribute).encode() + b"\0"
        except _NoTextError as error:
            if isinstance(error, _LocationWithinError) and isinstance(attribute, (ArrayAttr, DictionaryAttr)):
                raise
            fail(op, f"has {error}, which xhlo does not write as bytecode: write text")

    def _new_attribute(self, attribute: Attribute, op: Operation) -> int:
        """The number of an attribute: as text, but collections with a location within in parts."""
        try:
            return self._attributes.setdefault((self._text(attribute, op), False), len(self._attributes))
        except _LocationWithinError:
            if isinstance(attribute, DictionaryAttr):
                return self._dictionary(attribute.data, op)
            parts = cast("Sequence[Attribute]", attribute.data)  # pyright: ignore
            numbers = [self._attribute(part, op) for part in parts]
            return self._encoded(Code.ARRAY, len(numbers), *numbers)

    def _encoded(self, code: Code, *parts: int) -> int:
        data = varint(code) + b"".join(map(varint, parts))
        return self._attributes.setdefault((data, True), len(self._attributes))

    def _attribute(self, attribute: Attribute, op: Operation) -> int:
        if isinstance(attribute, LocationAttr):
            return self._location(attribute, op)
        known = self._known.get(id(attribute))
        if known is None:
            known = self._known[id(attribute)] = self._new_attribute(attribute, op), attribute
        return known[0]

    def _type(self, type_: Attribute, op: Operation) -> int:
        known = self._known_types.get(id(type_))
        if known is None:
            number = self._types.setdefault(self._text(type_, op), len(self._types))
            known = self._known_types[id(type_)] = number, type_
        return known[0]

    def _string(self, text: str) -> int:
        return self._encoded(Code.STRING, self.strings.number(text))

    def _dictionary(self, entries: Mapping[str, Attribute], op: Operation) -> int:
        numbers: list[int] = []
        for name, value in entries.items():
            numbers += (self._string(name), self._attribute(value, op))
        return self._encoded(Code.DICTIONARY, len(entries), *numbers)

    def _location(self, location: LocationAttr, op: Operation) -> int:
        """The number of a location; those that it is made of come first. Chains of call sites may be long."""
        waiting: list[LocationAttr] = [location]
        while waiting:
            inner = waiting[-1]
            unnumbered = [part for part in parts_of(inner) if id(part) not in self._locations]
            if unnumbered:
                waiting += unnumbered
                continue
            waiting.pop()
            numbers = [self._locations[id(part)][0] for part in parts_of(inner)]
            self._locations[id(inner)] = self._new_location(inner, numbers, op), inner
        return self._locations[id(location)][0]

    def _new_location(self, location: LocationAttr, parts: Sequence[int], op: Operation) -> int:
        match location:
            case FileLineColLoc():
                place = self._string(location.filename.data), location.line.data, location.column.data
                return self._encoded(Code.FILE_LINE_COLUMN, *place)
            case NameLoc():
                inner = parts[0] if parts else self._encoded(Code.UNKNOWN)
                return self._encoded(Code.NAME, self._string(location.desc.data), inner)
            case CallSiteLoc():
                return self._encoded(Code.CALL_SITE, *parts)
            case FusedLoc():
                if isinstance(location.metadata, NoneAttr):
                    return self._encoded(Code.FUSED, len(parts), *parts)
                metadata = self._attribute(location.metadata, op)
                return self._encoded(Code.FUSED_WITH_METADATA, len(parts), *parts, metadata)
            case _:
                return self._encoded(Code.UNKNOWN)

    # Operations ------------------------------------------------------------------------------------------------

    def operation(self, op: Operation) -> bytes:
        """An operation with its regions, none of which is written as isolated: one scope of values serves all."""
        attributes = {name: value for name, value in op.attributes.items() if name != _OP_NAME}
        parts, data = Parts(0), [b"", varint(self._location(op.location, op))]
        if attributes or op.properties:
            parts |= Parts.ATTRIBUTES
            data.append(varint(self._dictionary({**op.properties, **attributes}, op)))
        if op.results:
            parts |= Parts.RESULTS
            data.append(_numbers(self._type(result.type, op) for result in op.results))
        if op.operands:
            parts |= Parts.OPERANDS
            data.append(_numbers(self._values[operand] for operand in op.operands))
        if op.successors:
            parts |= Parts.SUCCESSORS
            blocks = {id(block): number for number, block in enumerate(op.successors[0].parent.blocks)}  # pyright: ignore
            data.append(_numbers(blocks[id(block)] for block in op.successors))
        if op.regions:
            parts |= Parts.REGIONS
            data.append(varint(len(op.regions) << 1))
            data += [self._region(region) for region in op.regions]
        data[0] = varint(self._name(op)) + bytes([parts])
        return b"".join(data)

    def _region(self, region: Region) -> bytes:
        blocks = list(region.blocks)
        if not blocks:
            return varint(0)
        values = [value for block in blocks for value in _values_of(block)]
        first = len(self._values)
        self._values.update((value, first + place) for place, value in enumerate(values))
        data = varint(len(blocks)) + varint(len(values)) + b"".join(map(self._block, blocks))
        for value in values:
            del self._values[value]
        return data

    def _block(self, block: Block) -> bytes:
        ops = list(block.ops)
        data = [varint((len(ops) << 1) | bool(block.args))]
        if block.args:
            owner = block.parent_op()
            assert owner is not None
            data.append(_numbers(self._type(argument.type, owner) << 1 for argument in block.args))
            # Uses are in the order of the text.
            data.append(b"\0")
        data += map(self.operation, ops)
        return b"".join(data)


def _numbers(numbers: Iterable[int]) -> bytes:
    listed = list(numbers)
    return varint(len(listed)) + b"".join(map(varint, listed))


def _values_of(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


class _NoTextError(Exception):
    """An attribute whose text needs definitions before the module."""


class _LocationWithinError(_NoTextError):
    """An attribute within which is a location, which bytecode keeps as an attribute of its own."""


class _InlinePrinter(HloPrinter):
    """Prints attributes without aliases."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, (AliasedAttr, AliasedType)):
            raise _NoTextError("an attribute or type of so many parts that it is kept by its alias")
        if isinstance(attribute, LocationAttr):
            raise _LocationWithinError("a location within an attribute")
        if isinstance(attribute, AccessGroupAttr):
            Printer.print_attribute(self, attribute)
        else:
            super().print_attribute(attribute)
