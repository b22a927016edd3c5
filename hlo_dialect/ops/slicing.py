"""
Operations that split and join tensors: slice, concatenate, pad.

Spec: https://openxla.org/stablehlo/spec (one section for each class here, by the name of the operation)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import IntArray, int_array, ints
from ..op import FREE, HloOp, Role, reject
from ..shapes import DYNAMIC, dims_agree, largest_sizes, merge_dim, shape_text, verify_results_agree
from ..syntax.keywords import KeywordOp, int_list, integer
from ..syntax.structural import finish_functional, print_attributes, print_functional
from ..types import Array, element_of, make_tensor, shape_of, tensor_type
from .constraints import check_element_types, check_size
from .creation import is_splat_of


@irdl_op_definition
class SliceOp(HloOp):
    """
    A strided box: `result[i] = operand[start + i * stride]`.

    Shapes: operand (d0, ..), result dimension k has ceil((limit[k] - start[k]) / stride[k]) elements.
    Raises: VerifyException naming slice_c1..c5.
    Spec:   https://openxla.org/stablehlo/spec#slice
    """

    name = "hlo.slice"
    ROLE: ClassVar[Role | None] = "movement"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    start_indices = prop_def(IntArray)
    limit_indices = prop_def(IntArray)
    strides = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def starts(self) -> tuple[int, ...]:
        return ints(self.start_indices)

    @property
    def limits(self) -> tuple[int, ...]:
        return ints(self.limit_indices)

    @property
    def steps(self) -> tuple[int, ...]:
        return ints(self.strides)

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        operand = parser.parse_unresolved_operand()

        def parse_range() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            return start, limit, parser.parse_integer() if parser.parse_optional_punctuation(":") else 1

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range)
        return finish_functional(
            cls,
            parser,
            [operand],
            {
                "start_indices": int_array([start for start, _, _ in ranges]),
                "limit_indices": int_array([limit for _, limit, _ in ranges]),
                "strides": int_array([stride for _, _, stride in ranges]),
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        ranges = (
            f"{start}:{limit}" if step == 1 else f"{start}:{limit}:{step}"
            for start, limit, step in zip(self.starts, self.limits, self.steps, strict=True)
        )
        printer.print_string(f" [{', '.join(ranges)}]")
        print_attributes(printer, self, ("start_indices", "limit_indices", "strides"))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        for name, values in (
            ("start_indices", self.starts),
            ("limit_indices", self.limits),
            ("strides", self.steps),
        ):
            check_size("slice_c2", name, values, len(shape))
        sizes: list[int] = []
        largest = largest_sizes(tensor_type(self.operands[0]))
        for dim, (size, start, limit, step) in enumerate(
            zip(largest, self.starts, self.limits, self.steps, strict=True)
        ):
            if not (0 <= start <= limit and (size == DYNAMIC or limit <= size)):
                reject(
                    f"slice_c3: range [{start}:{limit}] of "
                    f"dimension {dim} does not lie in [0:{'?' if size == DYNAMIC else size}]"
                )
            if step <= 0:
                reject(f"slice_c4: stride {step} of dimension {dim} is not positive")
            sizes.append(-(-(limit - start) // step))
        return (make_tensor(tuple(sizes), element_of(self.operands[0])),)

    def verify_(self) -> None:
        check_element_types(self, "slice_c1")
        verify_results_agree(self, "slice_c5")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.operands[0].type == self.results[0].type and DYNAMIC not in shape_of(self.results[0]):
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return operands[0][tuple(map(slice, self.starts, self.limits, self.steps))]


@irdl_op_definition
class ConcatenateOp(KeywordOp):
    """
    Concatenate tensors along one dimension.

    Shapes: inputs equal except in `dimension`, where the result has the sum.
    Raises: VerifyException naming concatenate_c1..c6.
    Spec:   https://openxla.org/stablehlo/spec#concatenate
    """

    name = "hlo.concatenate"
    ROLE: ClassVar[Role | None] = "concatenate"
    LINEAR: ClassVar[bool] = True
    inputs = var_operand_def(TensorType)
    dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (integer("dim", "dimension"),)

    @property
    def dim(self) -> int:
        return self.dimension.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        if len(self.operands) <= 0:
            reject("concatenate_c3: there are no inputs")
        elements = [element_of(value) for value in self.operands]
        if not all(element == elements[0] for element in elements):
            reject(f"concatenate_c1: inputs have different element types {', '.join(map(str, elements))}")
        shapes = [shape_of(value) for value in self.operands]
        rank, dim = len(shapes[0]), self.dim
        if not (0 <= dim < rank):
            reject(f"concatenate_c4: dimension {dim} is not in [0, {rank})")
        result = list(shapes[0])
        for index, shape in enumerate(shapes[1:], 1):
            if not (len(shape) == rank and all(d == dim or dims_agree(result[d], shape[d]) for d in range(rank))):
                reject(
                    f"concatenate_c2: input {index} of shape {shape_text(shape)} does "
                    f"not fit input 0 of shape {shape_text(shapes[0])} outside dimension {dim}"
                )
            result = [merge_dim(first, second) for first, second in zip(result, shape, strict=True)]
        sizes = [shape[dim] for shape in shapes]
        result[dim] = DYNAMIC if DYNAMIC in sizes else sum(sizes)
        return (make_tensor(tuple(result), elements[0]),)

    def verify_(self) -> None:
        (inferred,) = self.infer_types()
        if element_of(inferred) != element_of(self.results[0]):
            reject(
                f"concatenate_c5: result has element type {element_of(self.results[0])}, inputs have "
                f"{element_of(inferred)}"
            )
        verify_results_agree(self, "concatenate_c6")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if len(self.operands) == 1 and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.concatenate(operands, axis=self.dim)


@irdl_op_definition
class PadOp(KeywordOp):
    """
    Surround and interleave with a padding value: `result[low + j * (interior + 1)] = operand[j]`, else the value.

    Negative low and high padding removes elements, after interior padding.

    Shapes: dimension k has d + max(d - 1, 0) * interior[k] + low[k] + high[k] elements.
    Raises: VerifyException naming pad_c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#pad
    """

    name = "hlo.pad"
    ROLE: ClassVar[Role | None] = "gather"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    edge_padding_low = prop_def(IntArray)
    edge_padding_high = prop_def(IntArray)
    interior_padding = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (
        int_list("low", "edge_padding_low"),
        int_list("high", "edge_padding_high"),
        int_list("interior", "interior_padding"),
    )

    @property
    def low(self) -> tuple[int, ...]:
        return ints(self.edge_padding_low)

    @property
    def high(self) -> tuple[int, ...]:
        return ints(self.edge_padding_high)

    @property
    def interior(self) -> tuple[int, ...]:
        return ints(self.interior_padding)

    @property
    def surrounds(self) -> bool:
        """Whether it only adds elements, before and after the operand's."""
        return all(pad >= 0 for pad in (*self.low, *self.high)) and not any(self.interior)

    @property
    def surrounds_with_zeros(self) -> bool:
        return self.surrounds and is_splat_of(self.padding_value, 0.0)

    def infer_types(self) -> tuple[Attribute, ...]:
        operand, value = self.operands
        if element_of(operand) != element_of(value):
            reject(
                "pad_c1: operand and padding_value have different element types "
                f"{element_of(operand)} and {element_of(value)}"
            )
        if shape_of(value) != ():
            reject(f"pad_i2: padding_value of shape {shape_text(shape_of(value))} is no scalar")
        shape = shape_of(operand)
        check_size("pad_c2", "edge_padding_low", self.low, len(shape))
        check_size("pad_c2", "edge_padding_high", self.high, len(shape))
        check_size("pad_c2", "interior_padding", self.interior, len(shape))
        if not all(pad >= 0 for pad in self.interior):
            reject(f"pad_c3: interior_padding {self.interior} has a negative entry")
        sizes: list[int] = []
        for dim, size in enumerate(largest_sizes(tensor_type(operand))):
            padded = size + max(size - 1, 0) * self.interior[dim] + self.low[dim] + self.high[dim]
            if size != DYNAMIC and padded < 0:
                reject(f"pad_c4: result dimension {dim} would have {padded} elements")
            sizes.append(DYNAMIC if shape[dim] == DYNAMIC else padded)
        return (make_tensor(tuple(sizes), element_of(operand)),)

    def verify_(self) -> None:
        check_element_types(self, "pad_c1")
        verify_results_agree(self, "pad_c4")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        nothing = not any(self.low) and not any(self.high) and not any(self.interior)
        if nothing and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        operand, value = operands
        return padded(operand, value, self.low, self.high, self.interior)


def padded(operand: Array, value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Array:
    """The result of hlo.pad for an array and a scalar."""
    shape = tuple(
        size + max(size - 1, 0) * between + before + after
        for size, between, before, after in zip(operand.shape, interior, low, high, strict=True)
    )
    result = np.full(shape, value, dtype=operand.dtype)
    to: list[slice] = []
    taken: list[slice] = []
    for dim, size in enumerate(shape):
        step, start = interior[dim] + 1, low[dim]
        first = max(0, -(start // step))
        last = min(operand.shape[dim] - 1, (size - 1 - start) // step)
        if last < first:
            return result
        taken.append(slice(first, last + 1))
        to.append(slice(start + first * step, start + last * step + 1, step))
    result[tuple(to)] = operand[tuple(taken)]
    return result


OPS = (SliceOp, ConcatenateOp, PadOp)
