"""The common parts of the dialects of GPU vendors: registers of a thread, and the chip of a gpu.module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, i32
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..support.buffers import i32_array


class ChipTargetAttr(ParametrizedAttribute):
    """`<chip = "sm_90">`: the parameter `chip`, which the vendor's attribute declares."""

    chip: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("chip")
            parser.parse_punctuation("=")
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f'<chip = "{self.chip.data}">')


class RegisterOp(IRDLOperation):
    """
    A number that the hardware keeps for a thread: `%t = NAME range <i32, 0, 256> : i32`.

    `range` states that the value is in [first, second), which every launch must guarantee.
    """

    PREFIX: ClassVar[str]
    """The beginning of the operations' names."""

    range = opt_prop_def(DenseArrayBase.constr(i32))
    result = result_def(IntegerType(32))
    traits = traits_def(Pure())

    @property
    def register(self) -> str:
        """The name without the prefix: `tid.x`."""
        return self.name.removeprefix(self.PREFIX)

    def __init__(self, bounds: tuple[int, int] | None = None):
        properties = {} if bounds is None else {"range": i32_array(bounds)}
        super().__init__(result_types=[IntegerType(32)], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> RegisterOp:
        bounds = None
        if parser.parse_optional_keyword("range"):
            with parser.in_angle_brackets():
                parser.parse_type()
                parser.parse_punctuation(",")
                low = parser.parse_integer()
                parser.parse_punctuation(",")
                bounds = (low, parser.parse_integer())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parser.parse_type()
        op = cls(bounds)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if self.range is not None:
            low, high = self.range.get_values()
            printer.print_string(f" range <i32, {low}, {high}>")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : i32")


Register = TypeVar("Register", bound=RegisterOp)


def register_class(base: type[Register], register: str, class_name: str, text: str, module: str) -> type[Register]:
    """The operation that reads one register; `text` documents it, `module` is the file that it belongs to."""
    members: dict[str, Any] = {"__doc__": text, "__module__": module, "name": f"{base.PREFIX}{register}"}
    made: type[Register] = irdl_op_definition(cast("type[Register]", type(class_name, (base,), members)))
    return made


def registers_by_axis(
    make: Callable[[str, str, str], type[Register]], register: str, class_name: str, what: str
) -> dict[str, type[Register]]:
    """The operations of the registers of three axes, which `make` makes of a name, a class's name and a text."""
    return {axis: make(f"{register}.{axis}", f"{class_name}{axis.upper()}Op", f"{what} along {axis}") for axis in "xyz"}
