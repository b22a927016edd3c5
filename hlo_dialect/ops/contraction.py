"""
dot_general: products of slices summed over contracted dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import (
    DotAlgorithmAttr,
    DotDimensionNumbersAttr,
    Precision,
    PrecisionAttr,
    int_list_text,
    parse_int_list,
)
from ..numbers.number_semantics import convert, working
from ..op import HloOp, Role, reject
from ..shapes import dims_agree, repeated, verify_results_agree
from ..syntax.structural import (
    Attributes,
    finish_functional,
    print_attributes,
    print_functional,
    print_operands,
)
from ..types import Array, element_of, is_float, make_tensor, numpy_dtype, shape_of
from .constraints import check_range

_IN_ORDER = 1 << 20
"""The number of multiplications up to which the reference sums a dot in index order."""


def _parse_pair(parser: Parser) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """`= [0, 1] x [1, 2]`"""
    parser.parse_punctuation("=")
    lhs = parse_int_list(parser)
    parser.parse_keyword("x")
    return lhs, parse_int_list(parser)


def parse_precision(parser: Parser) -> ArrayAttr[PrecisionAttr]:
    """`[DEFAULT, HIGHEST]`"""
    levels = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_str_enum(Precision))
    return ArrayAttr([PrecisionAttr(level) for level in levels])


def precision_text(config: ArrayAttr[PrecisionAttr]) -> str:
    return f"[{', '.join(level.data.value for level in config.data)}]"


def summable(*elements: Attribute) -> bool:
    """Whether elements of these types can be multiplied: equal types, and any floats."""
    return all(map(is_float, elements)) or all(element == elements[0] for element in elements)


@irdl_op_definition
class DotGeneralOp(HloOp):
    """
    Products of lhs and rhs summed over the contracting dimensions, for each index of the batching dimensions.

    `precision_config` and `algorithm` request accuracy on machines that have a choice; both are preserved. Operands may
    have different float types, as JAX writes them.

    Shapes: result is batching dimensions, then the rest of lhs, then the rest of rhs, in their orders.
    Raises: VerifyException naming dot_general_c1..c24, of which c14..c20 are on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#dot_general
    """

    name = "hlo.dot_general"
    ROLE: ClassVar[Role | None] = "dot"
    COMPUTES: ClassVar[bool] = True
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    dot_dimension_numbers = prop_def(DotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    algorithm = opt_prop_def(DotAlgorithmAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def lhs_free(self) -> tuple[int, ...]:
        """The dimensions of lhs that are neither batching nor contracting."""
        numbers = self.dot_dimension_numbers
        taken = numbers.lhs_batching + numbers.lhs_contracting
        return tuple(dim for dim in range(len(shape_of(self.operands[0]))) if dim not in taken)

    @property
    def rhs_free(self) -> tuple[int, ...]:
        """The dimensions of rhs that are neither batching nor contracting."""
        numbers = self.dot_dimension_numbers
        taken = numbers.rhs_batching + numbers.rhs_contracting
        return tuple(dim for dim in range(len(shape_of(self.operands[1]))) if dim not in taken)

    @classmethod
    def parse(cls, parser: Parser) -> DotGeneralOp:
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        batching: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        if parser.parse_optional_keyword("batching_dims") is not None:
            batching = _parse_pair(parser)
            parser.parse_punctuation(",")
        parser.parse_keyword("contracting_dims")
        contracting = _parse_pair(parser)
        parsed: Attributes = {"dot_dimension_numbers": DotDimensionNumbersAttr.of(*batching, *contracting)}
        while parser.parse_optional_punctuation(",") is not None:
            keyword = parser.parse_keyword_in(("precision", "algorithm"))
            parser.parse_punctuation("=")
            if keyword == "precision":
                parsed["precision_config"] = parse_precision(parser)
            else:
                parsed["algorithm"] = DotAlgorithmAttr.new(DotAlgorithmAttr.parse_parameters(parser))
        return finish_functional(cls, parser, [lhs, rhs], parsed)

    def print(self, printer: Printer) -> None:
        numbers = self.dot_dimension_numbers
        print_operands(printer, self)
        if numbers.lhs_batching or numbers.rhs_batching:
            printer.print_string(
                f", batching_dims = {int_list_text(numbers.lhs_batching)} x {int_list_text(numbers.rhs_batching)}"
            )
        printer.print_string(
            f", contracting_dims = {int_list_text(numbers.lhs_contracting)} x {int_list_text(numbers.rhs_contracting)}"
        )
        if self.precision_config is not None:
            printer.print_string(f", precision = {precision_text(self.precision_config)}")
        if self.algorithm is not None:
            printer.print_string(", algorithm = ")
            self.algorithm.print_parameters(printer)
        print_attributes(printer, self, ("dot_dimension_numbers", "precision_config", "algorithm"))
        print_functional(printer, self)

    def flops(self) -> int:
        lhs = shape_of(self.lhs)
        contracted = math.prod(lhs[dim] for dim in self.dot_dimension_numbers.lhs_contracting)
        return 2 * math.prod(shape_of(self.result)) * contracted

    def infer_types(self) -> tuple[Attribute, ...]:
        self._verify_dimension_numbers()
        lhs, rhs = shape_of(self.operands[0]), shape_of(self.operands[1])
        shape = (
            *(lhs[dim] for dim in self.dot_dimension_numbers.lhs_batching),
            *(lhs[dim] for dim in self.lhs_free),
            *(rhs[dim] for dim in self.rhs_free),
        )
        # The program may choose the element type (a wider accumulator); the default is the operands'.
        element = element_of(self.results[0] if self.results else self.operands[0])
        return (make_tensor(shape, element),)

    def _verify_dimension_numbers(self) -> None:
        numbers = self.dot_dimension_numbers
        lhs, rhs = shape_of(self.operands[0]), shape_of(self.operands[1])
        lhs_batching, rhs_batching = numbers.lhs_batching, numbers.rhs_batching
        lhs_contracting, rhs_contracting = numbers.lhs_contracting, numbers.rhs_contracting
        for constraint, what, left, right in (
            ("c1", "batching", lhs_batching, rhs_batching),
            ("c2", "contracting", lhs_contracting, rhs_contracting),
        ):
            if len(left) != len(right):
                reject(f"dot_general_{constraint}: lhs has {len(left)} {what} dimensions, rhs {len(right)}")
        for constraint, side, dims in (
            ("c3", "lhs", lhs_batching + lhs_contracting),
            ("c4", "rhs", rhs_batching + rhs_contracting),
        ):
            if repeated(dims):
                reject(f"dot_general_{constraint}: batching and contracting dimensions {dims} of {side} are not unique")
        for constraint, name, dims, rank in (
            ("c5", "lhs_batching_dimensions", lhs_batching, len(lhs)),
            ("c6", "lhs_contracting_dimensions", lhs_contracting, len(lhs)),
            ("c7", "rhs_batching_dimensions", rhs_batching, len(rhs)),
            ("c8", "rhs_contracting_dimensions", rhs_contracting, len(rhs)),
        ):
            check_range(f"dot_general_{constraint}", name, dims, rank)
        for constraint, what, left, right in (
            ("c9", "batching", lhs_batching, rhs_batching),
            ("c10", "contracting", lhs_contracting, rhs_contracting),
        ):
            for first, second in zip(left, right, strict=True):
                if not dims_agree(lhs[first], rhs[second]):
                    reject(
                        "dot_general_"
                        f"{constraint}: {what} dimension {first} of lhs has size {lhs[first]}, dimension {second} "
                        f"of rhs {rhs[second]}"
                    )

    def verify_(self) -> None:
        if not summable(*map(element_of, self.operands)):
            reject(
                "dot_general_c13: lhs and rhs have different element types "
                f"{element_of(self.operands[0])} and {element_of(self.operands[1])}"
            )
        config = self.precision_config
        if config is not None and len(config.data) not in (0, 2):
            reject(f"dot_general_c11: precision_config has {len(config.data) if config else 0} entries, expected 2")
        self._verify_algorithm()
        verify_results_agree(self, "dot_general_c12")

    def _verify_algorithm(self) -> None:
        algorithm = self.algorithm
        if algorithm is None:
            return
        levels = () if self.precision_config is None else self.precision_config.data
        if not all(level.data is Precision.DEFAULT for level in levels):
            reject("dot_general_c21: an algorithm is given, so precision_config must be DEFAULT")

    def reference(self, *operands: Array) -> Array:
        """
        One matrix product per batch index. Narrow floats are summed in float32 and rounded once; otherwise the sum is
        in the wider of the result's and the operands' type.
        """
        lhs, rhs = (working(operand, wide=False) for operand in operands)
        numbers = self.dot_dimension_numbers
        result = numpy_dtype(element_of(self.results[0]))
        assert result is not None, "the element type was checked by the reader"
        compute = accumulator_of((lhs.dtype, rhs.dtype), result)
        batch = tuple(lhs.shape[dim] for dim in numbers.lhs_batching)
        rows = tuple(lhs.shape[dim] for dim in self.lhs_free)
        columns = tuple(rhs.shape[dim] for dim in self.rhs_free)
        depth = math.prod(lhs.shape[dim] for dim in numbers.lhs_contracting)
        left = lhs.transpose(numbers.lhs_batching + self.lhs_free + numbers.lhs_contracting)
        right = rhs.transpose(numbers.rhs_batching + numbers.rhs_contracting + self.rhs_free)
        product = _matrix_products(
            left.reshape(*batch, math.prod(rows), depth).astype(compute),
            right.reshape(*batch, depth, math.prod(columns)).astype(compute),
        )
        return convert(product.reshape((*batch, *rows, *columns)), result)


def _matrix_products(left: Array, right: Array) -> Array:
    """
    `left @ right` for each batch index. Small products are summed in the order of the contracted indices, so that their
    rounding is that of the spec's formula; large ones in BLAS's order.
    """
    depth = left.shape[-1]
    if left.dtype.kind not in "fc" or left.size * right.shape[-1] > _IN_ORDER:
        return np.matmul(left, right)
    total = np.zeros((*left.shape[:-1], right.shape[-1]), dtype=left.dtype)
    for k in range(depth):
        total += left[..., :, k : k + 1] * right[..., k : k + 1, :]
    return total


def accumulator_of(operands: Sequence[np.dtype[Any]], result: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which products of elements of these types are summed."""
    widened = [working(np.empty(0, dtype), wide=False).dtype for dtype in (*operands, result)]
    if all(dtype.kind in "iub" for dtype in widened):
        # Integers wrap around, and wrapping commutes with narrowing: the wider type, with the result's signedness.
        return widened[0] if widened[0].itemsize > widened[-1].itemsize else widened[-1]
    return np.result_type(*widened)


OPS = (DotGeneralOp,)
