"""
The attribute and type part of the reader: the parts that xDSL's parser reads wrongly, slowly or not at all.

Dense constants, resources, locations and their aliases, tensor types from a cache, limits on nesting and sizes.
"""

# The reader extends xDSL's parser, whose building blocks are private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import (
    CallSiteLoc,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FileLineColLoc,
    FloatAttr,
    FusedLoc,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NameLoc,
    NoneAttr,
    RankedStructure,
    ShapedType,
    Signedness,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnregisteredAttr,
    VectorType,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.ir.affine import AffineBinaryOpExpr, AffineMap
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ...dialects.support.aliases import AliasExtents
from ..diagnostics import file_location
from ..types import make_tensor
from .literals import LiteralError, decode_literal, literal_dtype
from .locations import (
    DistinctAttr,
    SourcePositions,
    end_of_definitions,
    location_alias_positions,
    make_file_location,
    parts_of,
    plain_location,
    referred_aliases,
)
from .suggesting import SuggestingParser

MAX_NESTING = 64
"""The greatest nesting depth of attributes, types and locations, and of regions."""

MAX_LOCATION_DEPTH = 200
"""
The greatest depth of a location: a traced program has a level for each frame of Python's stack. Deeper parts
keep only their places in files.
"""

MAX_ALIASED_PARTS = 5_000_000, 20
"""
The number of attributes that all uses of aliases in a text may stand for: so many, and so many for each character.

Aliases that stand for more than a few thousand attributes are kept as aliases and count as one.
"""

MAX_AFFINE_DEPTH = 200
"""The greatest depth of an affine expression: a sum of as many terms has as many levels."""

MAX_INTEGER_WIDTH = 1 << 24
MAX_DIMENSION = (1 << 63) - 1

_SPACES = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
_SIMPLE_TENSOR = re.compile(r"tensor<((?:[0-9]{1,18}x)*)([a-z]+[0-9]{1,3})>")
_INTEGER_TYPE = re.compile(r"([su]?)i([0-9]+)")
_METADATA = re.compile(r"^\{-#", re.MULTILINE)
_ALIGNMENT_BYTES = 4
"""A resource's data begins with its alignment as a 32-bit integer."""

_LOCATIONS = (UnknownLoc, FileLineColLoc, NameLoc, CallSiteLoc, FusedLoc)

TENSORS: dict[str, Attribute] = {}
"""Tensor types by their text, because programs repeat a few types thousands of times."""


def tensor_of_text(text: str) -> Attribute | None:
    """The tensor type of a text such as `tensor<2x3xf32>`; None for a more complex type, or an error."""
    found = TENSORS.get(text)
    if found is None:
        match = _SIMPLE_TENSOR.fullmatch(text)
        element_type = None if match is None else _simple_element(match[2])
        if match is None or element_type is None:
            return None
        found = make_tensor(tuple(int(size) for size in match[1].split("x")[:-1]), element_type)
        if len(TENSORS) > 1 << 16:
            TENSORS.clear()
        TENSORS[text] = found
    return found


def _simple_element(text: str) -> Attribute | None:
    match = _INTEGER_TYPE.fullmatch(text)
    if match is None:
        return Parser._builtin_float_types.get(text)
    signedness = {"s": Signedness.SIGNED, "u": Signedness.UNSIGNED, "": Signedness.SIGNLESS}[match[1]]
    return IntegerType(int(match[2]), signedness) if int(match[2]) > 0 else None


class HloAttributeParser(SuggestingParser):
    """xDSL's parser with the attributes and types of StableHLO programs read as MLIR reads them."""

    positions: SourcePositions
    nesting: int

    def _prepare(self, positions: SourcePositions) -> None:
        self.positions, self.nesting = positions, 0
        self._alias_positions: dict[str, int] | None = None
        self._alias_ends: dict[int, int] = {}
        self._resolving: set[str] = set()
        self._resources: dict[str, str] | None = None
        self._location_depths: dict[int, tuple[int, Attribute]] = {}
        self._extents = AliasExtents()
        self._aliased_parts = 0

    # Nesting ---------------------------------------------------------------------------------------------------

    def too_deep(self, what: str) -> NoReturn:
        self.raise_error(f"{what} are nested more than {MAX_NESTING} deep")

    def parse_optional_attribute(self) -> Attribute | None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.too_deep("attributes")
        try:
            return super().parse_optional_attribute()
        finally:
            self.nesting -= 1

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT:
            match = _SIMPLE_TENSOR.match(self.lexer.input.content, token.span.start)
            if match is not None and (found := tensor_of_text(match[0])) is not None:
                self._resume_from(match.end())
                return cast(TypeAttribute, found)
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.too_deep("types")
        try:
            return super().parse_optional_type()
        finally:
            self.nesting -= 1

    # Types -----------------------------------------------------------------------------------------------------

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT and (match := _INTEGER_TYPE.fullmatch(token.text)):
            digits = match[2]
            if len(digits) > 9 or not 0 < int(digits) <= MAX_INTEGER_WIDTH:
                self.raise_error(f"an integer type has 1 to {MAX_INTEGER_WIDTH} bits")
        return super()._parse_optional_integer_or_float_type()

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        position = self.pos
        size = super().parse_shape_dimension(allow_dynamic)
        if size > MAX_DIMENSION:
            self.raise_error(f"the dimension {size} is larger than {MAX_DIMENSION}", position)
        return size

    def _parse_tensor_attrs(self) -> Any:
        position = self.pos
        found: Any = super()._parse_tensor_attrs()
        if isinstance(found, TensorType) and found.encoding.name == "hlo.bounds":
            try:
                cast(Any, found.encoding).verify_shape(found.get_shape())
            except VerifyException as error:
                self.raise_error(str(error), position)
        return cast(Any, found)

    def _parse_complex_attrs(self) -> ComplexType[Any]:
        position = self.pos
        element_type = self.parse_type()
        if not isinstance(element_type, IntegerType) and element_type not in self._builtin_float_types.values():
            self.raise_error(f"a complex type has an integer or float element type, not {element_type}", position)
        return ComplexType(cast(Any, element_type))

    def parse_affine_map(self) -> AffineMap:
        position = self.pos
        found = super().parse_affine_map()
        waiting = [(expression, 1) for expression in found.results]
        while waiting:
            expression, depth = waiting.pop()
            if depth > MAX_AFFINE_DEPTH:
                self.raise_error(f"an affine expression is nested more than {MAX_AFFINE_DEPTH} deep", position)
            if isinstance(expression, AffineBinaryOpExpr):
                waiting += [(expression.lhs, depth + 1), (expression.rhs, depth + 1)]
        return found

    # Numbers ---------------------------------------------------------------------------------------------------

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr[Any] | FloatAttr[Any] | None:
        position = self.pos
        text = self._current_token.text
        try:
            return super().parse_optional_builtin_int_or_float_attr()
        except OverflowError:
            self.raise_error(f"{text} is not the bit pattern of its type", position)

    # Dense constants -------------------------------------------------------------------------------------------

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[Any] | None) -> DenseIntOrFPElementsAttr[Any]:
        """`<literal> : type`, or `<literal>` for a known type."""
        if self._current_token.kind is not MLIRTokenKind.LESS:
            self.raise_error("expected '<' in dense attribute")
        text = self.lexer.input.content
        start = self._current_token.span.end
        end = text.find(">", start)
        if end < 0:
            self.raise_error("expected '>' to end the dense attribute", start)
        self._resume_from(end + 1)
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            position = self.pos
            type = self._dense_type(position)
        try:
            return decode_literal(text[start:end], cast(Attribute, type))
        except LiteralError as error:
            self.raise_error(error.message, start + error.offset)

    def _dense_type(self, position: int) -> RankedStructure[Any]:
        found = self.parse_type()
        if not isinstance(found, (TensorType, VectorType, MemRefType)):
            self.raise_error(f"a dense attribute has a tensor, vector or memref type, not {found}", position)
        ranked = cast("RankedStructure[Any]", found)
        if literal_dtype(ranked.get_element_type()) is None:
            self.raise_error(f"constants of element type {ranked.get_element_type()} are not supported", position)
        if any(size < 0 for size in ranked.get_shape()):
            self.raise_error(f"a dense attribute has a static shape, not {ranked}", position)
        return ranked

    # Resources -------------------------------------------------------------------------------------------------

    def _parse_builtin_dense_resource_attr(self) -> Any:
        """
        `<name> : type`: the constant that the file's resources define under that name. If the file has no such resource
        (it was elided), the reference itself.
        """
        self.parse_punctuation("<", " in dense_resource attribute")
        position = self.pos
        name = self.parse_identifier_or_str_literal(" for resource name")
        self.parse_punctuation(">", " in dense_resource attribute")
        self.parse_punctuation(":", " in dense_resource attribute")
        type_position = self.pos
        type_ = self.parse_type()
        if not isinstance(type_, ShapedType):
            self.raise_error(f"a resource has a shaped type, not {type_}", type_position)
        blob = self._resource(name)
        if blob is None:
            return DenseResourceAttr.from_params(name, cast(Any, type_))
        digits = blob.removeprefix("0x")
        if len(digits) < 2 * _ALIGNMENT_BYTES or digits == blob:
            self.raise_error(f"the resource '{name}' is no hexadecimal string with an alignment", position)
        try:
            return decode_literal(f'"0x{digits[2 * _ALIGNMENT_BYTES :]}"', cast(Attribute, type_))
        except LiteralError as error:
            self.raise_error(f"resource '{name}': {error.message}", position)

    def _resource(self, name: str) -> str | None:
        """The hexadecimal text of one of the file's resources, read at the first request."""
        if self._resources is None:
            self._resources = {}
            begin = _METADATA.search(self.lexer.input.content)
            if begin is not None:
                back = self._current_token.span.start
                self._resume_from(begin.start())
                self._parse_file_metadata_dictionary()
                self._resume_from(back)
        return self._resources.get(name)

    def _parse_file_metadata_dictionary(self) -> None:
        """`{-# dialect_resources: {dialect: {name: "0x.."}}, external_resources: {..} #-}`"""
        resources: dict[str, str] = {}

        def section() -> None:
            kind = self.parse_identifier_or_str_literal(" for a section of file metadata")
            self.parse_punctuation(":")
            if kind not in ("dialect_resources", "external_resources"):
                self.raise_error(f"unknown section '{kind}' of file metadata")
            self.parse_comma_separated_list(self.Delimiter.BRACES, owner)

        def owner() -> None:
            self.parse_identifier_or_str_literal(" for the owner of resources")
            self.parse_punctuation(":")
            self.parse_comma_separated_list(self.Delimiter.BRACES, entry)

        def entry() -> None:
            name = self.parse_identifier_or_str_literal(" for resource name")
            self.parse_punctuation(":")
            value = self.parse_optional_str_literal()
            if value is not None:
                resources[name] = value
            elif self.parse_optional_boolean() is None:
                self.raise_error("expected a string or a boolean as the resource's value")

        self.parse_comma_separated_list(self.Delimiter.METADATA_TOKEN, section)
        self._resources = resources

    # Locations -------------------------------------------------------------------------------------------------

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        alias = f"{'!' if is_type else '#'}{attr_or_dialect_name}"
        if not is_type and alias not in self.attribute_aliases:
            self._resolve_location_alias(alias)
        position = self.pos
        found = super()._parse_extended_type_or_attribute(attr_or_dialect_name, cast(Any, is_type))
        if "." not in attr_or_dialect_name and not isinstance(found, _LOCATIONS):
            self._aliased_parts += self._extents.parts(found)
            least, more = MAX_ALIASED_PARTS
            if self._aliased_parts > least + more * len(self.lexer.input.content):
                self.raise_error(f"the aliases up to '{alias}' stand for more than {least} attributes", position)
        return found

    def _resolve_location_alias(self, name: str) -> None:
        """Define the alias if the text does so further down, after the location aliases that it refers to."""
        if self._alias_positions is None:
            self._alias_positions = location_alias_positions(self.lexer.input.content)
        # Not by recursion, because a chain of call sites may be longer than Python's stack is deep.
        waiting, begun = [name], set[str]()
        while waiting:
            alias = waiting[-1]
            position = self._alias_positions.get(alias)
            if position is None or alias in self.attribute_aliases:
                waiting.pop()
            elif alias not in begun:
                begun.add(alias)
                used = referred_aliases(self.lexer.input.content, position)
                waiting.extend(each for each in used if each not in begun and each not in self.attribute_aliases)
            else:
                waiting.pop()
                self._define_location_alias(alias, position)

    def _define_location_alias(self, name: str, position: int) -> None:
        if name in self._resolving:
            self.raise_error(f"the location alias '{name}' refers to itself")
        plain = plain_location(self.lexer.input.content, position, self.attribute_aliases, self._shortened)
        if plain is not None:
            self.attribute_aliases[name], self._alias_ends[position] = plain
            return
        back, nesting = self._current_token.span.start, self.nesting
        self._resolving.add(name)
        self._resume_from(position)
        self.nesting = 0
        self.attribute_aliases[name] = self.parse_attribute()
        self._alias_ends[position] = self._current_token.span.start
        self._resolving.discard(name)
        self._resume_from(back)
        self.nesting = nesting

    def _parse_alias_def(self) -> None:
        token = self._current_token
        name = token.text
        if token.kind is MLIRTokenKind.HASH_IDENT and name in self.attribute_aliases:
            self._consume_token()
            self.parse_punctuation("=", " after attribute alias name")
            if self._alias_positions is None or self._alias_positions.get(token.text) != self.pos:
                self.raise_error(f"redefinition of the alias '{token.text}'", token.span)
            self._resume_from(end_of_definitions(self.lexer.input.content, self.pos, self._alias_ends))
            return
        super()._parse_alias_def()
        value = self.attribute_aliases[name]
        if not isinstance(value, _LOCATIONS):
            self.attribute_aliases[name] = self._extents.value(name, value)

    def _parse_location(self) -> LocationAttr:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.too_deep("locations")
        found = self._location()
        self.nesting -= 1
        return found

    def _shortened(self, part: LocationAttr) -> LocationAttr:
        """A part of a location: itself, or its place in a file if the location would become too deep with it."""
        if self._location_depth(part) < MAX_LOCATION_DEPTH:
            return part
        return file_location(part) or UnknownLoc()

    def _location_depth(self, location: LocationAttr) -> int:
        if isinstance(location, (FileLineColLoc, UnknownLoc)):
            return 0
        found = self._location_depths.get(id(location))
        if found is None:
            depth = 1 + max((self._location_depth(part) for part in parts_of(location)), default=0)
            found = self._location_depths[id(location)] = (depth, location)
        return found[0]

    def _location(self) -> LocationAttr:
        if (text := self.parse_optional_str_literal()) is not None:
            if self.parse_optional_punctuation(":") is not None:
                return self._file_location(text)
            child: Attribute = NoneAttr()
            if self.parse_optional_punctuation("(") is not None:
                child = self._shortened(self._parse_location())
                self.parse_punctuation(")")
            return NameLoc(StringAttr(text), child)
        if self._current_token.kind is MLIRTokenKind.HASH_IDENT:
            position = self.pos
            found = self.parse_attribute()
            if not isinstance(found, LocationAttr):
                self.raise_error("expected the alias of a location", position)
            return found
        position = self.pos
        match self.parse_optional_identifier():
            case "unknown":
                return UnknownLoc()
            case "callsite":
                return self._call_site()
            case "fused":
                metadata = self._fused_metadata()
                found = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
                return FusedLoc(tuple(map(self._shortened, found)), metadata)
            case _:
                self.raise_error("expected a location: a string, unknown, callsite, fused or an alias", position)

    def _call_site(self) -> LocationAttr:
        """`(callee at caller)`. The caller may be a call site in turn, any number of times."""
        callees: list[LocationAttr] = []
        while True:
            self.parse_punctuation("(", " in a call site")
            callees.append(self._parse_location())
            self.parse_keyword("at")
            if self.parse_optional_keyword("callsite") is None:
                break
        found = self._parse_location()
        for callee in reversed(callees):
            found = CallSiteLoc(self._shortened(callee), self._shortened(found))
            self.parse_punctuation(")", " in a call site")
        return found

    def _file_location(self, filename: str) -> LocationAttr:
        """`line:column`, after the file's name; for a range (`to line:column`), its beginning."""
        line = self.parse_integer(False, False)
        self.parse_punctuation(":")
        column = self.parse_integer(False, False)
        if self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(False, False)
            self.parse_punctuation(":")
            self.parse_integer(False, False)
        return make_file_location(StringAttr(filename), line, column)

    def _fused_metadata(self) -> Attribute:
        if self.parse_optional_punctuation("<") is None:
            return NoneAttr()
        metadata = self._metadata_attribute()
        self.parse_punctuation(">")
        return metadata

    def _metadata_attribute(self) -> Attribute:
        """An attribute of a fused location; debug information of unknown dialects is kept as text."""
        token = self._current_token
        name = token.text[1:]
        if token.kind is MLIRTokenKind.HASH_IDENT and "." in name and self.ctx.get_optional_attr(name) is None:
            self._consume_token()
            less = self._current_token.kind is MLIRTokenKind.LESS
            body = self._parse_dialect_symbol_body() if less else ""
            return UnregisteredAttr.with_name_and_type(name, False)(name, False, False, body)
        return self.parse_attribute()

    def _parse_dialect_symbol_body(self) -> str:
        """The text of an unknown attribute, with one space for any others, so that it does not depend on its place."""
        return _SPACES.sub(lambda found: found[1] or " ", super()._parse_dialect_symbol_body()).strip()

    def _parse_optional_builtin_parametrized_attr(self) -> Attribute | None:
        if self._current_token.text == "distinct":
            self._consume_token()
            with self.in_square_brackets():
                identity = self.parse_integer(False, False)
            with self.in_angle_brackets():
                return DistinctAttr(IntAttr(identity), self._metadata_attribute())
        return super()._parse_optional_builtin_parametrized_attr()
