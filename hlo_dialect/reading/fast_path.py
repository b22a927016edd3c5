"""
The fast path: an operation on one line is read with what was learned from an earlier line of the same form.

A line is reduced to its *form*: the text without value names, and without the sizes of the types after the last colon.
The general parser reads the first line of a form; its result (class, properties, attributes, how the types follow from
the signature) is kept, and later lines of the form become `create` calls with the same attributes. Both readers
therefore build the same operations by construction. A line that fits no known form, or does not quite fit one, goes to
the general parser, which also reports all errors. Constants differ in each line and are read here directly.

    %3 = stablehlo.add %1, %2 : tensor<4x8xf32>      form: "stablehlo.add %, %" over "tensor<_x_xf32>"
"""

# The reader extends xDSL's parser, whose building blocks are private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ...dialects.support.creation import append
from ..diagnostics import file_location, placed
from ..regular_expressions import compile_pattern
from .attributes import tensor_of_text
from .lexer import BLANK, SUFFIX
from .literals import LiteralError, decode_literal
from .locations import SourcePositions, make_file_location
from .names import give_name
from .parser import HloParser

_LINE = re.compile(
    rf"[ \t\r\n]*+(?:%({SUFFIX})(?::([0-9]{{1,6}}))? = )?"
    r'("?[a-zA-Z_][\w$.]*"?)([^\n]*+)(?:\n|\Z)(?!\s*loc\b)',
    re.ASCII,
)
_NAME = re.compile(rf"%({SUFFIX}(?:#[0-9]{{1,6}})?)")
_SIZES = re.compile(r"(?<![0-9])[0-9]++x")
_BLANK = compile_pattern(BLANK)
_CONSTANTS = frozenset(("stablehlo.constant", "hlo.constant", "mhlo.constant"))
_ABSTRACT_DIALECTS = frozenset(("hlo", "chlo", "func"))
_MAX_LEARNED_LENGTH = 2000
_PLAIN_DICTIONARY = compile_pattern(r'\{(?:[\w.$ =:,+-]|"[^"\\\n]*+")*+\}', re.ASCII)
"""Attributes that are numbers, strings and names, in braces: no aliases, no types of dialects, nothing nested."""
_MOST_DICTIONARIES = 4096
_plain_dictionaries: dict[str, dict[str, Attribute]] = {}
"""Dictionaries that the general parser read, by text: most functions and modules of a frontend repeat a few."""

Types = tuple[Attribute, ...]


@dataclass(frozen=True)
class Signature:
    """The types after a line's last colon: `(ins) -> outs`, or the one type of `: t`, and their form."""

    form: str
    functional: bool
    inputs: Types
    outputs: Types


class Line(NamedTuple):
    """One line of the text that may be an operation, taken apart."""

    end: int
    op_start: int
    name: str | None
    result_count: int
    op_name: str
    head: str
    values: tuple[str, ...]
    signature_text: str
    location_text: str | None


@dataclass(frozen=True)
class Learned:
    """The facts shared by all lines of one form; `inputs` and `outputs` are fixed, or follow from the signature."""

    op_type: type[Operation]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    inputs: Types | None
    outputs: Types | None


_MOST_FORMS = 4096
_forms: dict[tuple[str, str], Learned] = {}
"""Forms that other programs of the process had and that mean the same in each; programs of a frontend repeat many."""

_OF_ONE_PROGRAM = re.compile(r"!|#(?!stablehlo[.<])|dense_resource")
"""Perhaps an alias or a resource: the program says what it is."""


class FastReader:
    """Reads the lines of a block as long as it knows their form."""

    def __init__(self, parser: HloParser):
        self.parser = parser
        self.text = parser.lexer.input.content
        self.learned: dict[tuple[str, str], Learned] = {}
        self.signatures: dict[str, Signature | None] = {}
        self.locations: dict[str, LocationAttr] = {}
        self.without_place = set[str]()
        self.constants: dict[tuple[str, str], DenseIntOrFPElementsAttr[Any]] = {}
        self.constant_type: type[Operation] | None = None
        self.crowded_until = 0
        """The end of the last line that turned out to hold more than one operation."""

    # Lines -----------------------------------------------------------------------------------------------------

    def line_at(self, offset: int) -> Line | None:
        """The line that begins at `offset`, if it can be one operation."""
        if offset < self.crowded_until:
            return None
        match = _LINE.match(self.text, offset)
        if match is None:
            return None
        name, count, op_name, rest = match.groups()
        rest = rest.rstrip(" \t\r")
        location_text = None
        if rest.endswith(")") and (at := rest.rfind(" loc(")) >= 0:
            location_text = rest[at + 5 : -1]
            rest = rest[:at]
        if op_name in _CONSTANTS or len(rest) > _MAX_LEARNED_LENGTH:
            head, values = rest, ()
        elif rest.endswith(("{", "(")) or "//" in rest or "^" in rest:
            return None
        else:
            pieces = _NAME.split(rest)
            head, values = "%".join(pieces[::2]), tuple(pieces[1::2])
        head, colon, signature_text = head.rpartition(" : ")
        if not colon:
            head, signature_text = signature_text, ""
        count = 1 if count is None else int(count)
        return Line(match.end(), match.start(3), name, count, op_name, head, values, signature_text, location_text)

    def read(self, block: Block) -> None:
        """Append the operations of the lines from here on, as far as their forms are known."""
        parser = self.parser
        start = offset = parser.pos
        while (line := self.line_at(offset)) is not None:
            op = self._operation(line)
            if op is None:
                break
            append(block, op)
            offset = line.end
        if offset != start:
            parser._resume_from(offset)

    def _operation(self, line: Line) -> Operation | None:
        name = line.name
        parser = self.parser
        if name is not None and (name in parser.ssa_values or name in parser.forward_ssa_references):
            return None
        location = self._location(line)
        if location is None:
            return None
        op = self._constant(line, location) if line.op_name in _CONSTANTS else self._known(line, location)
        if op is None:
            return None
        if name is not None:
            self._bind(name, op)
        return op

    def _bind(self, name: str, op: Operation) -> None:
        results = op.results
        self.parser.ssa_values[name] = results
        self.parser._scope.append(name)
        if not name[0].isdigit():
            for value in results:
                give_name(value, name)

    def _location(self, line: Line) -> LocationAttr | None:
        text = line.location_text
        if text is None:
            positions = self.parser.positions
            number, column = positions.line_and_column(line.op_start)
            return make_file_location(positions.filename, number, column)
        found = self.locations.get(text)
        if found is None:
            if text[0] != "#" or not isinstance(alias := self._alias(text), LocationAttr):
                return None
            found = self.locations[text] = alias
            if file_location(alias) is None:
                self.without_place.add(text)
        if text in self.without_place:
            return placed(found, self.parser.positions.location(line.op_start))
        return found

    def _alias(self, name: str) -> Attribute | None:
        aliases = self.parser.attribute_aliases
        if name not in aliases:
            self.parser._resolve_location_alias(name)
        return aliases.get(name)

    # Forms -----------------------------------------------------------------------------------------------------

    def _signature(self, text: str) -> Signature | None:
        try:
            return self.signatures[text]
        except KeyError:
            found = self.signatures[text] = _read_signature(text)
            return found

    def _context(self, op_name: str) -> str:
        """The meaning of a name without a dialect depends on the surrounding dialect."""
        return op_name if "." in op_name else f"{self.parser._parser_state.dialect_stack[-1]}:{op_name}"

    def _known(self, line: Line, location: LocationAttr) -> Operation | None:
        """The operation of a line whose form was learned."""
        form = self._context(line.op_name) + line.head
        signature = self._signature(line.signature_text)
        learned = None if signature is None else self._learned(form, signature.form, line)
        if learned is None:
            learned = self._learned(form, line.signature_text, line)
            if learned is None:
                return None
        operands = self._operands(line.values)
        if operands is None:
            return None
        inputs, outputs = learned.inputs, learned.outputs
        if inputs is None or outputs is None:
            assert signature is not None
            inputs = signature.inputs if signature.functional else signature.inputs * len(operands)
            outputs = signature.outputs
        if len(inputs) != len(operands):
            return None
        for operand, wanted in zip(operands, inputs, strict=True):
            if operand.type is not wanted and operand.type != wanted:
                return None
        if line.name is not None and len(outputs) != line.result_count:
            return None
        return learned.op_type.create(
            operands=operands,
            result_types=outputs,
            properties=learned.properties,
            attributes=learned.attributes,
            location=location,
        )

    def _learned(self, form: str, signature: str, line: Line) -> Learned | None:
        """The meaning of a form over a signature, if it is known from this program or another."""
        key = (form, signature)
        learned = self.learned.get(key)
        if learned is None and (learned := _forms.get(key)) is not None:
            # This program's context may have another operation of the name; asking loads it there.
            stack = self.parser._parser_state.dialect_stack
            if self.parser.ctx.get_optional_op(line.op_name.strip('"'), dialect_stack=stack) is not learned.op_type:
                return None
            self.learned[key] = learned
        return learned

    def _keep(self, key: tuple[str, str], learned: Learned) -> None:
        self.learned[key] = learned
        if len(_forms) < _MOST_FORMS and not any(map(_OF_ONE_PROGRAM.search, key)):
            _forms[key] = learned

    def _operands(self, names: Sequence[str]) -> list[SSAValue] | None:
        values = self.parser.ssa_values
        operands: list[SSAValue] = []
        for name in names:
            found = values.get(name)
            if found is not None:
                operands.append(found[0])
                continue
            base, number, index = name.partition("#")
            found = values.get(base)
            if not number or found is None or int(index) >= len(found):
                return None
            operands.append(found[int(index)])
        return operands

    def learn(self, line: Line, op: Operation) -> None:
        """Keep the form of a line that the general parser has just read as `op`."""
        parser = self.parser
        if parser.pos < line.end:
            self.crowded_until = line.end
            return
        if op.regions or op.successors or (not line.values and not line.signature_text):
            return
        if len(line.head) > _MAX_LEARNED_LENGTH or line.op_name in _CONSTANTS:
            return
        if not _BLANK.fullmatch(self.text, line.end, parser.pos):
            return
        operands = self._operands(line.values)
        if operands is None or operands != list(op.operands) or len(set(operands)) != len(operands):
            return
        form = self._context(line.op_name) + line.head
        signature = self._signature(line.signature_text)
        inputs, outputs = tuple(op.operand_types), tuple(op.result_types)
        if signature is not None and op.dialect_name() in _ABSTRACT_DIALECTS:
            wanted = signature.inputs if signature.functional else signature.inputs * len(operands)
            if wanted == inputs and signature.outputs == outputs:
                key = (form, signature.form)
                self._keep(key, Learned(type(op), dict(op.properties), dict(op.attributes), None, None))
                return
        key = (form, line.signature_text)
        self._keep(key, Learned(type(op), dict(op.properties), dict(op.attributes), inputs, outputs))

    # Constants -------------------------------------------------------------------------------------------------

    def _constant(self, line: Line, location: LocationAttr) -> Operation | None:
        """`stablehlo.constant dense<..> : tensor<..>`"""
        head = line.head
        if line.name is None or not head.startswith(" dense<") or head[-1] != ">" or head.find(">") != len(head) - 1:
            return None
        if line.result_count != 1:
            return None
        type_ = tensor_of_text(line.signature_text)
        if type_ is None:
            return None
        key = (head, line.signature_text)
        value = self.constants.get(key)
        if value is None:
            try:
                value = decode_literal(head[7:-1], type_)
            except LiteralError:
                return None
            if len(head) < 200:
                self.constants[key] = value
        if self.constant_type is None:
            self.constant_type = self.parser._op_type(line.op_name, self.parser._current_token.span)
        return self.constant_type.create(result_types=(type_,), properties={"value": value}, location=location)


class FastParser(HloParser):
    """The parser of one text with both ways to read a line; `fast=False` leaves the general one."""

    def __init__(self, ctx: Context, text: str, filename: str, positions: SourcePositions, *, fast: bool = True):
        super().__init__(ctx, text, filename, positions)
        self._fast = self.fast_reader() if fast else None

    def fast_reader(self) -> FastReader:
        return FastReader(self)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        token = self._current_token
        if self._fast is None or token.kind is not MLIRTokenKind.L_BRACE:
            return super().parse_optional_dictionary_attr_dict()
        match = _PLAIN_DICTIONARY.match(self.lexer.input.content, token.span.start)
        if match is None:
            return super().parse_optional_dictionary_attr_dict()
        known = _plain_dictionaries.get(match[0])
        if known is not None:
            self._resume_from(match.end())
            return dict(known)
        found = super().parse_optional_dictionary_attr_dict()
        if len(match[0]) <= _MAX_LEARNED_LENGTH and len(_plain_dictionaries) < _MOST_DICTIONARIES:
            _plain_dictionaries[match[0]] = dict(found)
        return found

    def _parse_block_body(self, block: Block) -> None:
        fast = self._fast
        if fast is None:
            super()._parse_block_body(block)
            return
        while True:
            fast.read(block)
            line = fast.line_at(self.pos)
            op = self.parse_optional_operation()
            if op is None:
                return
            block.add_op(op)
            if line is not None:
                fast.learn(line, op)


def _read_signature(text: str) -> Signature | None:
    """A signature of plain tensor types; None for any other."""
    form = _SIZES.sub("_x", text)  # a form is no type: `?x` would be the text of a dynamic one
    if not text.startswith("("):
        type_ = tensor_of_text(text)
        return None if type_ is None else Signature(form, False, (type_,), (type_,))
    inputs_text, arrow, outputs_text = text[1:].partition(") -> ")
    if not arrow:
        return None
    if outputs_text.startswith("(") and outputs_text.endswith(")"):
        outputs_text = outputs_text[1:-1]
    inputs, outputs = _read_types(inputs_text), _read_types(outputs_text)
    return None if inputs is None or outputs is None else Signature(form, True, inputs, outputs)


def _read_types(text: str) -> Types | None:
    types: list[Attribute] = []
    for piece in text.split(", ") if text else ():
        type_ = tensor_of_text(piece)
        if type_ is None:
            return None
        types.append(type_)
    return tuple(types)
