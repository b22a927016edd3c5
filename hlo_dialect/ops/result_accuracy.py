"""
The accuracy that a transcendental operation must have: the `result_accuracy` attribute.

Every function that xhlo generates meets the accuracy it documents, so that the attribute is preserved but has no
effect.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..types import f64, i64


class ResultAccuracyMode(StrEnum):
    """The implementation's default, its highest accuracy, or a stated tolerance."""

    DEFAULT = "DEFAULT"
    HIGHEST = "HIGHEST"
    TOLERANCE = "TOLERANCE"


@irdl_attr_definition
class ResultAccuracyModeAttr(EnumAttribute[ResultAccuracyMode]):
    """`#hlo.result_accuracy_mode<HIGHEST>`"""

    name = "hlo.result_accuracy_mode"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracyMode:
        with parser.in_angle_brackets():
            return super().parse_parameter(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameter(printer)


@irdl_attr_definition
class ResultAccuracyAttr(ParametrizedAttribute):
    """
    `#hlo.result_accuracy<atol = 0.1, rtol = 0.2, ulps = 3, mode = #hlo.result_accuracy_mode<TOLERANCE>>`

    The tolerances are 0, and may be left out, unless the mode is TOLERANCE.
    """

    name = "hlo.result_accuracy"
    atol: FloatAttr[Float64Type]
    rtol: FloatAttr[Float64Type]
    ulps: IntegerAttr[IntegerType]
    mode: ResultAccuracyModeAttr

    def verify(self) -> None:
        tolerances = (self.atol.value.data, self.rtol.value.data, self.ulps.value.data)
        if any(tolerance < 0 for tolerance in tolerances):
            raise VerifyException(f"result_accuracy: negative tolerance in (atol, rtol, ulps) = {tolerances}")
        if any(tolerances) and self.mode.data != ResultAccuracyMode.TOLERANCE:
            raise VerifyException(f"result_accuracy: tolerances with the mode {self.mode.data.value}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        tolerances: dict[str, float] = {}
        mode = ResultAccuracyModeAttr(ResultAccuracyMode.DEFAULT)
        with parser.in_angle_brackets():
            while (name := parser.parse_optional_keyword_in(("atol", "rtol", "ulps"))) is not None:
                parser.parse_punctuation("=")
                tolerances[name] = parser.parse_number()
                parser.parse_punctuation(",")
            parser.parse_keyword("mode")
            parser.parse_punctuation("=")
            attribute = parser.parse_attribute()
            if not isinstance(attribute, ResultAccuracyModeAttr):
                parser.raise_error(f"expected a result_accuracy_mode, got {attribute}")
            mode = attribute
        atol, rtol = (FloatAttr(float(tolerances.get(name, 0)), f64) for name in ("atol", "rtol"))
        return [atol, rtol, IntegerAttr(int(tolerances.get("ulps", 0)), i64), mode]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.mode.data == ResultAccuracyMode.TOLERANCE:
                printer.print_string("atol = ")
                printer.print_float(self.atol.value.data, f64)
                printer.print_string(", rtol = ")
                printer.print_float(self.rtol.value.data, f64)
                printer.print_string(f", ulps = {self.ulps.value.data}, ")
            printer.print_string("mode = ")
            printer.print_attribute(self.mode)
