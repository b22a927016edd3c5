"""
Attributes of the hlo dialect beyond MLIR's own: dimension numbers of dots, precisions, aliases of custom calls.

They carry StableHLO's names and syntax; `#stablehlo.dot<..>` and `#hlo.dot<..>` read as the same attribute.
Lists of dimensions and sizes are `DenseArrayBase` of i64 everywhere: `int_array` builds them, `ints` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..dialects.support.buffers import i64_array
from .types import i1, i64

A = TypeVar("A", bound=Attribute)
IntArray = DenseArrayBase[IntegerType]


XLA_SHAPE = "mhlo.xla_shape"
"""The attribute of operations, arguments and results whose layout is not row-major: their shape in HLO's spelling."""

ENTRY_LAYOUTS = ("mhlo.xla_entry_computation_parameter_layouts", "mhlo.xla_entry_computation_result_layout")
"""The attributes of a module: the order of dimensions (`order_attribute`) of each argument and result of its entry."""


def int_array(values: Sequence[int]) -> IntArray:
    """`array<i64: ...>` from a cache: dimension lists repeat over and over in a program."""
    return i64_array(tuple(values))


def ints(array: IntArray) -> tuple[int, ...]:
    """The values of an i64 array."""
    facts: dict[str, tuple[int, ...]] = vars(array)
    found = facts.get("_ints")
    if found is None:
        # As functools.cached_property keeps what it computes.
        found = facts["_ints"] = array.get_values()
    return found


def function_type(inputs: Iterable[Attribute], outputs: Iterable[Attribute]) -> FunctionType:
    """`FunctionType(..)` without the checks of its constructors, which take longer than those of the whole function."""
    return _unchecked(FunctionType, inputs=_array(inputs), outputs=_array(outputs))


def symbol(name: str) -> SymbolRefAttr:
    """`SymbolRefAttr(name)` without its constructor's checks."""
    return _unchecked(SymbolRefAttr, root_reference=_unchecked(StringAttr, data=name), nested_references=_array(()))


def _array(attributes: Iterable[Attribute]) -> ArrayAttr[Any]:
    return cast("ArrayAttr[Any]", _unchecked(cast(type[Attribute], ArrayAttr), data=tuple(attributes)))


def _unchecked(cls: type[A], **fields: Any) -> A:
    attribute = cls.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(attribute, name, value)
    return attribute


@lru_cache(maxsize=1024)
def int_attr(value: int, type_: IntegerType = i64) -> IntegerAttr[IntegerType]:
    """`value : i64` (or of another integer type) from a cache."""
    return IntegerAttr(value, type_)


def order_attribute(order: Sequence[int]) -> DenseIntOrFPElementsAttr[IndexType]:
    """A layout's dimensions from minor to major, `dense<[1, 0]> : tensor<2xindex>`."""
    return DenseIntOrFPElementsAttr.from_list(TensorType(IndexType(), [len(order)]), order)


@cache
def bool_attr(value: bool) -> IntegerAttr[IntegerType]:
    """`true` or `false` from a cache."""
    return BoolAttr.from_bool(value)


def parse_int_list(parser: AttrParser) -> tuple[int, ...]:
    """`[1, -2, 3]`, or `[]`: integers of 64 bits."""

    def parse_int() -> int:
        start = parser.pos
        number = parser.parse_integer()
        if not -(1 << 63) <= number < 1 << 63:
            parser.raise_error("expected an integer of 64 bits", start, parser.pos)
        return number

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_int))


def parse_struct(parser: AttrParser, fields: Mapping[str, Callable[[], Attribute]]) -> dict[str, Attribute]:
    """`<name = value, ..>`: fields in any order, each at most once; a comma may follow the last one."""
    found: dict[str, Attribute] = {}
    parser.parse_punctuation("<")
    while parser.parse_optional_punctuation(">") is None:
        name = parser.parse_keyword_in(tuple(fields))
        if name in found:
            parser.raise_error(f"{name} is given twice")
        parser.parse_punctuation("=")
        found[name] = fields[name]()
        if parser.parse_optional_punctuation(",") is None:
            parser.parse_punctuation(">")
            break
    return found


def parse_int_lists(parser: AttrParser, names: Sequence[str]) -> list[IntArray]:
    """`<name = [1, 2], ..>`: the list of each name; empty where it is left out."""
    found = parse_struct(parser, dict.fromkeys(names, lambda: int_array(parse_int_list(parser))))
    return [cast(IntArray, found.get(name, int_array(()))) for name in names]


def int_list_text(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


class Precision(StrEnum):
    """The precision that a dot or convolution must have; each step may be slower."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """`#hlo<precision DEFAULT>`: one operand's entry of a `precision_config`."""

    name = "hlo.precision"


@irdl_attr_definition
class DotDimensionNumbersAttr(ParametrizedAttribute):
    """
    Which dimensions of a dot_general's operands are batching and which are contracted.

    `#hlo.dot<lhs_batching_dimensions = [0], .., rhs_contracting_dimensions = [1]>`; empty lists may be left out.
    """

    name = "hlo.dot"
    lhs_batching_dimensions: IntArray
    rhs_batching_dimensions: IntArray
    lhs_contracting_dimensions: IntArray
    rhs_contracting_dimensions: IntArray

    @staticmethod
    def of(
        lhs_batching: Sequence[int] = (),
        rhs_batching: Sequence[int] = (),
        lhs_contracting: Sequence[int] = (),
        rhs_contracting: Sequence[int] = (),
    ) -> DotDimensionNumbersAttr:
        return _dot_numbers(*map(tuple, (lhs_batching, rhs_batching, lhs_contracting, rhs_contracting)))

    @property
    def lhs_batching(self) -> tuple[int, ...]:
        return ints(self.lhs_batching_dimensions)

    @property
    def rhs_batching(self) -> tuple[int, ...]:
        return ints(self.rhs_batching_dimensions)

    @property
    def lhs_contracting(self) -> tuple[int, ...]:
        return ints(self.lhs_contracting_dimensions)

    @property
    def rhs_contracting(self) -> tuple[int, ...]:
        return ints(self.rhs_contracting_dimensions)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        names = (
            "lhs_batching_dimensions",
            "rhs_batching_dimensions",
            "lhs_contracting_dimensions",
            "rhs_contracting_dimensions",
        )
        return parse_int_lists(parser, names)

    def print_parameters(self, printer: Printer) -> None:
        fields = {
            "lhs_batching_dimensions": self.lhs_batching,
            "rhs_batching_dimensions": self.rhs_batching,
            "lhs_contracting_dimensions": self.lhs_contracting,
            "rhs_contracting_dimensions": self.rhs_contracting,
        }
        text = ", ".join(f"{name} = {int_list_text(values)}" for name, values in fields.items() if values)
        printer.print_string(f"<{text}>")


@lru_cache(maxsize=1024)
def _dot_numbers(*lists: tuple[int, ...]) -> DotDimensionNumbersAttr:
    """Dimension numbers from a cache, as `int_array`."""
    return DotDimensionNumbersAttr(*map(int_array, lists))


_DOT_ALGORITHMS = {
    "f16 f16 f16": (1,),
    "f16 f16 f32": (1,),
    "bf16 bf16 bf16": (1,),
    "bf16 bf16 f32": (1, 3, 6, 9),
    "tf32 tf32 f32": (1, 3),
    "f32 f32 f32": (1,),
    "f64 f64 f64": (1,),
}
"""
The types of lhs, rhs and accumulator, and numbers of operations, that hardware has; any two 8-bit floats are added in
f32. Source: openxla/stablehlo, Base.cpp, and openxla/xla, PrecisionConfig.Algorithm.
"""


@irdl_attr_definition
class DotAlgorithmAttr(ParametrizedAttribute):
    """
    The algorithm that a dot_general asks for: types of operands and accumulator, components, primitive operations.

    `#hlo.dot_algorithm<lhs_precision_type = tf32, .., allow_imprecise_accumulation = false>`
    """

    name = "hlo.dot_algorithm"
    lhs_precision_type: Attribute
    rhs_precision_type: Attribute
    accumulation_type: Attribute
    lhs_component_count: IntegerAttr[IntegerType]
    rhs_component_count: IntegerAttr[IntegerType]
    num_primitive_operations: IntegerAttr[IntegerType]
    allow_imprecise_accumulation: IntegerAttr[IntegerType]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parameters: list[Attribute] = []
        position = parser.pos

        def field(name: str) -> None:
            if parameters:
                parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")

        with parser.in_angle_brackets():
            for name in ("lhs_precision_type", "rhs_precision_type", "accumulation_type"):
                field(name)
                parameters.append(parser.parse_type())
            for name in ("lhs_component_count", "rhs_component_count", "num_primitive_operations"):
                field(name)
                parameters.append(int_attr(parser.parse_integer()))
            field("allow_imprecise_accumulation")
            parameters.append(int_attr(int(parser.parse_boolean()), i1))
        try:
            cls.new(parameters)
        except VerifyException as error:
            parser.raise_error(str(error), position)
        return parameters

    def verify(self) -> None:
        """Raise VerifyException, naming dot_general_c22..c24 or i8, unless some machine may have the algorithm."""
        counts = self.lhs_component_count, self.rhs_component_count, self.num_primitive_operations
        names = ("lhs_component_count", "rhs_component_count", "num_primitive_operations")
        lhs, rhs, operations = (count.value.data for count in counts)
        for number, (name, count) in enumerate(zip(names, (lhs, rhs, operations), strict=True), start=22):
            if count <= 0:
                raise VerifyException(f"dot_general_c{number}: {name} {count} is not positive")
        types = [str(type_) for type_ in (self.lhs_precision_type, self.rhs_precision_type, self.accumulation_type)]
        if types[0].startswith("f8") and types[1].startswith("f8"):
            known = types[2] == "f32" and operations == 1
        else:
            known = operations in _DOT_ALGORITHMS.get(" ".join(types), ()) and not self.is_imprecise
        if not (known and lhs == rhs == 1):
            raise VerifyException(
                f"dot_general_i8: no machine is known to multiply {lhs} x {types[0]} by {rhs} x {types[1]} in "
                f"{operations} operations{' imprecisely' if self.is_imprecise else ''} and to add in {types[2]}"
            )

    @property
    def is_imprecise(self) -> bool:
        return bool(self.allow_imprecise_accumulation.value.data)

    def print_parameters(self, printer: Printer) -> None:
        fields: tuple[tuple[str, Attribute], ...] = (
            ("lhs_precision_type", self.lhs_precision_type),
            ("rhs_precision_type", self.rhs_precision_type),
            ("accumulation_type", self.accumulation_type),
        )
        printer.print_string("<")
        for name, type_ in fields:
            printer.print_string(f"{name} = ")
            printer.print_attribute(type_)
            printer.print_string(", ")
        imprecise = "true" if self.is_imprecise else "false"
        printer.print_string(
            f"lhs_component_count = {self.lhs_component_count.value.data}, "
            f"rhs_component_count = {self.rhs_component_count.value.data}, "
            f"num_primitive_operations = {self.num_primitive_operations.value.data}, "
            f"allow_imprecise_accumulation = {imprecise}>"
        )


@irdl_attr_definition
class OutputOperandAliasAttr(ParametrizedAttribute):
    """
    One output of a custom call that shares the buffer of an operand.

    `#hlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>`
    """

    name = "hlo.output_operand_alias"
    output_tuple_indices: IntArray
    operand_index: IntegerAttr[IntegerType]
    operand_tuple_indices: IntArray

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("output_tuple_indices")
            parser.parse_punctuation("=")
            outputs = int_array(parse_int_list(parser))
            parser.parse_punctuation(",")
            parser.parse_keyword("operand_index")
            parser.parse_punctuation("=")
            operand = int_attr(parser.parse_integer())
            parser.parse_punctuation(",")
            parser.parse_keyword("operand_tuple_indices")
            parser.parse_punctuation("=")
            operands = int_array(parse_int_list(parser))
        return [outputs, operand, operands]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(
            f"<output_tuple_indices = {int_list_text(ints(self.output_tuple_indices))}, "
            f"operand_index = {self.operand_index.value.data}, "
            f"operand_tuple_indices = {int_list_text(ints(self.operand_tuple_indices))}>"
        )


ATTRIBUTES = (PrecisionAttr, DotDimensionNumbersAttr, DotAlgorithmAttr, OutputOperandAliasAttr)
