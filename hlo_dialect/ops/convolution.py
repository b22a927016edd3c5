"""
Convolutions: dot products of a kernel with the windows that slide over an input.

Padding, dilation and strides are those of the windows of reduce_window; see window.py for their arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import IntArray, PrecisionAttr, ints
from ..numbers.number_semantics import convert, working
from ..op import HloOp, Role, reject
from ..shapes import DYNAMIC, dims_agree, is_static, repeated, shape_text, shapes_agree, verify_results_agree
from ..syntax.convolution import (
    WINDOW_KEYWORDS,
    ConvDimensionNumbersAttr,
    dimension_numbers_text,
    parse_dimension_numbers,
    parse_window,
    window_text,
)
from ..syntax.structural import (
    Attributes,
    finish_functional,
    parse_operand_list,
    print_attributes,
    print_functional,
    print_values,
)
from ..types import Array, dense_constant, element_of, is_integer, make_tensor, numpy_dtype, shape_of
from .contraction import accumulator_of
from .dynamism.dynamic_shapes import constant_of
from .slicing import padded
from .window_geometry import Window, padding_array

_COUNT = IntegerAttr[IntegerType]


class ConvolutionBase(HloOp):
    """
    The base of convolution and dynamic_conv, which differ only in the source of the padding.

    Constraints have the same numbers in both; `label` begins their names.
    """

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    window_strides = opt_prop_def(IntArray)
    lhs_dilation = opt_prop_def(IntArray)
    rhs_dilation = opt_prop_def(IntArray)
    window_reversal = opt_prop_def(DenseArrayBase)
    dimension_numbers = prop_def(ConvDimensionNumbersAttr)
    feature_group_count = prop_def(_COUNT)
    batch_group_count = prop_def(_COUNT)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def feature_groups(self) -> int:
        return self.feature_group_count.value.data

    @property
    def batch_groups(self) -> int:
        return self.batch_group_count.value.data

    @property
    def reversal(self) -> tuple[bool, ...]:
        """Whether the window is reversed, per spatial dimension."""
        flags = self.window_reversal
        if flags is None:
            return (False,) * len(self.dimension_numbers.lhs.spatial)
        return tuple(bool(flag) for flag in cast(Any, flags).get_values())

    def window_of(self, padding: Array) -> Window:
        """The window over the spatial dimensions. Assumes a verified operation."""
        rank = len(self.dimension_numbers.lhs.spatial)
        kernel = shape_of(self.operands[1])

        def values(attribute: IntArray | None) -> tuple[int, ...]:
            return (1,) * rank if attribute is None else ints(attribute)

        return Window(
            tuple(kernel[dim] for dim in self.dimension_numbers.kernel.spatial),
            values(self.window_strides),
            values(self.lhs_dilation),
            values(self.rhs_dilation),
            tuple(int(low) for low in padding[:, 0]),
            tuple(int(high) for high in padding[:, 1]),
        )

    def window_counts(self, padding: Array) -> tuple[int, ...]:
        """The number of windows along each spatial dimension."""
        lhs = shape_of(self.operands[0])
        return window_counts(self.window_of(padding), [lhs[dim] for dim in self.dimension_numbers.lhs.spatial])

    def reject_numbered(self, number: int, message: str) -> NoReturn:
        """Raise VerifyException for constraint `number`."""
        reject(f"{self.mnemonic}_c{number}: {message}")

    # -- verification ------------------------------------------------------------------------------

    def _verify_operands(self) -> None:
        lhs, rhs = shape_of(self.operands[0]), shape_of(self.operands[1])
        if len(lhs) != len(rhs):
            self.reject_numbered(1, f"lhs has rank {len(lhs)}, rhs {len(rhs)}")
        self._verify_window(len(lhs) - 2)
        self._verify_dimension_numbers(len(lhs))
        self._verify_groups(lhs, rhs)
        levels = self.precision_config
        if levels is not None and len(levels.data) not in (0, 2):
            self.reject_numbered(24, f"precision_config has {len(levels.data)} entries, expected 2")

    def _verify_window(self, rank: int) -> None:
        """Check constraints c2, c3 and c5 to c9; `rank` is the number of spatial dimensions."""
        for name, size, least in (("window_strides", 2, 3), ("lhs_dilation", 5, 6), ("rhs_dilation", 7, 8)):
            attribute = cast("IntArray | None", getattr(self, name))
            if attribute is None:
                continue
            values = ints(attribute)
            self._check_count(size, name, len(values), rank)
            if not all(value > 0 for value in values):
                self.reject_numbered(least, f"{name} {values} are not all positive")
        if self.window_reversal is not None:
            self._check_count(9, "window_reversal", len(self.reversal), rank)

    def _check_count(self, number: int, name: str, count: int, rank: int) -> None:
        if count != rank:
            self.reject_numbered(number, f"{name} has {count} entries for {max(rank, 0)} spatial dimensions")

    def _verify_dimension_numbers(self, rank: int) -> None:
        numbers = self.dimension_numbers
        for name, dims, count, range_ in (
            ("input", numbers.lhs, 12, 13),
            ("kernel", numbers.kernel, 17, 18),
            ("output", numbers.output, 19, 20),
        ):
            self._check_count(count, f"{name}_spatial_dimensions", len(dims.spatial), rank - 2)
            if not (not repeated(dims.all) and all(0 <= dim < rank for dim in dims.all)):
                self.reject_numbered(range_, f"{name} dimensions {dims.all} are not unique and all in [0, {rank})")

    def _verify_groups(self, lhs: Sequence[int], rhs: Sequence[int]) -> None:
        numbers, features, batches = self.dimension_numbers, self.feature_groups, self.batch_groups
        if features <= 0:
            self.reject_numbered(21, f"feature_group_count {features} is not positive")
        if batches <= 0:
            self.reject_numbered(22, f"batch_group_count {batches} is not positive")
        if features != 1 and batches != 1:
            self.reject_numbered(
                23, f"feature_group_count {features} and batch_group_count {batches} are both greater than 1"
            )
        for number, what, size, name, count in (
            (10, "batch of lhs", lhs[numbers.lhs.batch], "batch_group_count", batches),
            (11, "features of lhs", lhs[numbers.lhs.feature], "feature_group_count", features),
            (15, "output features of rhs", rhs[numbers.kernel.feature], "batch_group_count", batches),
            (16, "output features of rhs", rhs[numbers.kernel.feature], "feature_group_count", features),
        ):
            if size != DYNAMIC and size % count != 0:
                self.reject_numbered(number, f"the {what} ({size}) are not divisible by {name} {count}")
        given, wanted = rhs[numbers.kernel.batch], lhs[numbers.lhs.feature]
        wanted = wanted if wanted == DYNAMIC else wanted // features
        if not dims_agree(given, wanted):
            self.reject_numbered(
                14, f"rhs has {given} input features, expected {wanted}: those of lhs / feature_group_count"
            )

    def _verify_result(self, inferred: Sequence[Attribute]) -> None:
        """
        Check constraints c25 to c27, given the types that `infer_types` found. The result's element type may differ:
        products are summed in it.
        """
        lhs, rhs = element_of(self.operands[0]), element_of(self.operands[1])
        if lhs != rhs:
            self.reject_numbered(27, f"lhs and rhs have different element types {lhs} and {rhs}")
        rank, found = len(shape_of(self.operands[0])), len(shape_of(self.results[0]))
        if rank != found:
            self.reject_numbered(26, f"result has rank {found}, expected {rank}")
        verify_results_agree(self, f"{self.mnemonic}_c25", inferred)

    def _inferred(self, counts: Sequence[int]) -> tuple[Attribute, ...]:
        """The result's type, given the number of windows along each spatial dimension."""
        numbers = self.dimension_numbers
        lhs, rhs = shape_of(self.operands[0]), shape_of(self.operands[1])
        batch = lhs[numbers.lhs.batch]
        shape = [0] * len(lhs)
        shape[numbers.output.batch] = batch if batch == DYNAMIC else batch // self.batch_groups
        shape[numbers.output.feature] = rhs[numbers.kernel.feature]
        for dim, count in zip(numbers.output.spatial, counts, strict=True):
            shape[dim] = count
        element = element_of(self.results[0] if self.results else self.operands[0])
        return (make_tensor(tuple(shape), element),)


def window_counts(window: Window, sizes: Sequence[int]) -> tuple[int, ...]:
    """The number of windows along each spatial dimension; unknown if the input's or the kernel's size is."""
    counts: list[int] = []
    for dim, (size, taps) in enumerate(zip(sizes, window.dimensions, strict=True)):
        if DYNAMIC in (size, taps):
            counts.append(DYNAMIC)
            continue
        base = (size - 1) * window.base_dilations[dim] + 1 if size else 0
        whole = base + window.low[dim] + window.high[dim]
        extent = (taps - 1) * window.dilations[dim] + 1 if taps else 0
        counts.append(0 if whole <= 0 or extent > whole else (whole - extent) // window.strides[dim] + 1)
    return tuple(counts)


@irdl_op_definition
class ConvolutionOp(ConvolutionBase):
    """
    Dot products of windows of `lhs`, padded and dilated, with the kernel `rhs`.

    With feature groups each group of output features uses only its group of input features; with batch groups, only its
    group of the batch. `padding` may be negative. `precision_config` is preserved.

    Shapes: as in `dimension_numbers`; the result has one spatial index per window.
    Raises: VerifyException naming convolution_c1..c27. The result's element type is free (c27 is that of the operands):
    products are summed in the wider of the types, as in dot_general. c28..c34 are on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#convolution
    """

    name = "hlo.convolution"
    ROLE: ClassVar[Role | None] = "custom"
    COMPUTES: ClassVar[bool] = True
    padding = opt_prop_def(DenseIntOrFPElementsAttr)

    @property
    def window(self) -> Window:
        """The window over the spatial dimensions, of a verified operation."""
        return self.window_of(padding_array(self.padding, len(self.dimension_numbers.lhs.spatial)))

    @property
    def lhs_padding(self) -> tuple[list[int], list[int], list[int]]:
        """The window's padding per dimension of lhs: low, high and interior, as hlo.pad takes them."""
        window, rank = self.window, len(shape_of(self.operands[0]))
        found = ([0] * rank, [0] * rank, [0] * rank)
        for amounts, values in zip(found, (window.low, window.high, window.interior), strict=True):
            for dim, value in zip(self.dimension_numbers.lhs.spatial, values, strict=True):
                amounts[dim] = value
        return found

    @classmethod
    def parse(cls, parser: Parser) -> ConvolutionOp:
        with parser.in_parens():
            operands = parse_operand_list(parser)
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        stated: Attributes = {"dimension_numbers": parse_dimension_numbers(parser)}
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        stated |= parse_window(parser)
        return finish_functional(cls, parser, operands, stated)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        print_values(printer, self.operands)
        numbers = dimension_numbers_text(self.dimension_numbers) or str(self.dimension_numbers)
        printer.print_string(f") dim_numbers = {numbers}, window = {window_text(self)}")
        print_attributes(printer, self, ("dimension_numbers", *WINDOW_KEYWORDS.values()))
        print_functional(printer, self)

    def flops(self) -> int:
        kernel, outputs = shape_of(self.rhs), self.dimension_numbers.kernel.feature
        return 2 * math.prod(shape_of(self.result)) * math.prod(kernel[:outputs] + kernel[outputs + 1 :])

    def infer_types(self) -> tuple[Attribute, ...]:
        self._verify_operands()
        rank = len(shape_of(self.operands[0])) - 2
        if self.padding is not None:
            shape = shape_of(cast(Any, self.padding).type)
            if shape != (rank, 2):
                self.reject_numbered(4, f"padding has shape {shape_text(shape)}, expected ({rank}, 2)")
        return self._inferred(self.window_counts(padding_array(self.padding, rank)))

    def verify_(self) -> None:
        self._verify_result(self.infer_types())

    def reference(self, *operands: Array) -> Array:
        """Narrow floats are summed in f32, other elements in the wider of the operands' and the result's types."""
        return _convolve(self, operands[0], operands[1], self.window)


@irdl_op_definition
class DynamicConvOp(ConvolutionBase):
    """
    A convolution whose padding is an operand.

    Shapes: as in convolution; padding (spatial dimensions, 2), of integers.
    Raises: VerifyException naming dynamic_conv_c1..c34 or dynamic_conv_i3; c28..c34 are on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_conv
    """

    name = "hlo.dynamic_conv"
    COMPUTES: ClassVar[bool] = True
    READS_CONSTANTS: ClassVar[bool] = True
    lhs = operand_def(TensorType)  # declared again, because the operands of a subclass come first
    rhs = operand_def(TensorType)
    padding = operand_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        self._verify_operands()
        padding = self.operands[2]
        element, shape = element_of(padding), shape_of(padding)
        if not is_integer(element):
            reject(f"dynamic_conv_i3: padding has element type {element}, expected integer")
        rank = len(shape_of(self.operands[0])) - 2
        if not shapes_agree(shape, (rank, 2)):
            self.reject_numbered(4, f"padding has shape {shape_text(shape)}, expected ({rank}, 2)")
        known = constant_of(padding)
        if known is None:
            return self._inferred((DYNAMIC,) * rank)
        return self._inferred(self.window_counts(known))

    def verify_(self) -> None:
        self._verify_result(self.infer_types())

    def of_constant_padding(self) -> ConvolutionOp | None:
        """The same operation as a convolution; None if the padding is not constant, or the result's shape unknown."""
        padding = constant_of(self.padding)
        if padding is None or not is_static(shape_of(self.result)):
            return None
        return ConvolutionOp.create(
            operands=[self.lhs, self.rhs],
            result_types=self.result_types,
            properties={**self.properties, "padding": dense_constant(padding.astype(np.int64))},
            attributes=self.attributes,
        )

    def reference(self, *operands: Array) -> Array:
        return _convolve(self, operands[0], operands[1], self.window_of(operands[2]))


# -- reference -------------------------------------------------------------------------------------


def _convolve(op: ConvolutionBase, lhs: Array, rhs: Array, window: Window) -> Array:
    """
    The convolution as one matrix product per element of the window, or, if there are fewer windows than window
    elements, per window.
    """
    numbers = op.dimension_numbers
    left, right = (working(operand, wide=False) for operand in (lhs, rhs))
    result = numpy_dtype(element_of(op.results[0]))
    assert result is not None, "the element type was checked by the reader"
    total = accumulator_of((left.dtype, right.dtype), result)
    left, right = _grouped(op, left.astype(total), right.astype(total))
    right = np.flip(right, tuple(dim + 1 for dim, reverse in enumerate(op.reversal) if reverse))
    window = replace(window, dimensions=right.shape[1:-2])
    counts = window_counts(window, left.shape[2:-1])
    products = np.zeros((*left.shape[:2], *counts, right.shape[-1]), total)
    if products.size and window.size:
        pads = ((0, 0, *values, 0) for values in (window.low, window.high, window.interior))
        left = padded(left, np.zeros((), total), *pads)
        (_add_by_tap if window.size <= math.prod(counts) else _add_by_window)(products, left, right, window)
    # (groups, batch, spatial.., features) to (batch, spatial.., groups * features).
    ordered = np.moveaxis(products, 0, -2)
    ordered = ordered.reshape(*ordered.shape[:-2], ordered.shape[-2] * ordered.shape[-1])
    return convert(ordered.transpose(np.argsort(numbers.output.all)), result)


def _grouped(op: ConvolutionBase, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """The operands as (groups, batch, spatial.., features) and (groups, spatial.., input features, output features)."""
    numbers, features, batches = op.dimension_numbers, op.feature_groups, op.batch_groups
    left = lhs.transpose(numbers.lhs.all)
    right = rhs.transpose((*numbers.kernel.spatial, numbers.kernel.batch, numbers.kernel.feature))
    groups = features * batches
    right = np.moveaxis(_split(right, -1, groups), -2, 0)
    return (_split(left, 0, batches) if features == 1 else np.moveaxis(_split(left, -1, features), -2, 0)), right


def _split(array: Array, dim: int, groups: int) -> Array:
    """Split dimension `dim` into two: groups, and the elements of a group."""
    dim %= array.ndim
    shape = array.shape
    return array.reshape(*shape[:dim], groups, shape[dim] // groups, *shape[dim + 1 :])


def _add_by_tap(products: Array, lhs: Array, rhs: Array, window: Window) -> None:
    groups, batch, *counts, features = products.shape
    for tap in np.ndindex(window.dimensions):
        starts = [index * step for index, step in zip(tap, window.dilations, strict=True)]
        taken = tuple(
            slice(start, start + (count - 1) * stride + 1, stride)
            for start, count, stride in zip(starts, counts, window.strides, strict=True)
        )
        rows = lhs[(slice(None), slice(None), *taken)].reshape(groups, batch * math.prod(counts), lhs.shape[-1])
        products += np.matmul(rows, rhs[(slice(None), *tap)]).reshape(groups, batch, *counts, features)


def _add_by_window(products: Array, lhs: Array, rhs: Array, window: Window) -> None:
    groups, batch, *counts, features = products.shape
    depth = window.size * lhs.shape[-1]
    kernel = rhs.reshape(groups, depth, features)
    for place in np.ndindex(*counts):
        starts = [index * stride for index, stride in zip(place, window.strides, strict=True)]
        taken = tuple(
            slice(start, start + (size - 1) * step + 1, step)
            for start, size, step in zip(starts, window.dimensions, window.dilations, strict=True)
        )
        rows = lhs[(slice(None), slice(None), *taken)].reshape(groups, batch, depth)
        products[(slice(None), slice(None), *place)] = np.matmul(rows, kernel)


ATTRIBUTES = (ConvDimensionNumbersAttr,)
OPS = (ConvolutionOp, DynamicConvOp)
