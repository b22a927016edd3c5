"""
Quantized element types, uniform_quantize and uniform_dequantize, and other operations on quantized tensors.

A quantized number denotes `(stored - zero_point) * scale`, in the expressed type. In the reference interpreter a
quantized tensor is the array of its stored integers. Operations that only move elements move these; any other operation
runs on the expressed type, its operands dequantized and its results quantized (`on_expressed_types`).

Spec: https://openxla.org/stablehlo/spec, Quantized types, Quantized computations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Self, cast

import numpy as np
from xdsl.dialects.builtin import (
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Block
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...op import HloOp, reject
from ...shapes import shapes_agree
from ...syntax.elementwise import parse_same_type_op, print_same_type_op
from ...types import Array, element_of, is_float, make_tensor, numpy_dtype, shape_of
from ..elementwise import ElementwiseOp
from .types import UniformQuantizedType

MOVES = frozenset(
    """broadcast_in_dim concatenate dynamic_broadcast_in_dim dynamic_gather dynamic_reshape dynamic_slice
    dynamic_update_slice gather get_dimension_size pad real_dynamic_slice reshape reverse select slice
    transpose""".split()
)
"""Operations on stored integers, which do not compute elements."""


_AS_THEY_ARE = frozenset(
    """case composite constant custom_call get_tuple_element if optimization_barrier return tuple uniform_dequantize
    uniform_quantize while""".split()
)
"""Operations that move quantized tensors, or define them."""


def quantized_element(type_: Attribute) -> UniformQuantizedType | None:
    """The element type of a quantized tensor type; None for any other type."""
    if not isinstance(type_, TensorType):
        return None
    element = element_of(cast(Attribute, type_))
    return element if isinstance(element, UniformQuantizedType) else None


def expressed_type(type_: Attribute) -> Attribute:
    """The type with quantized elements replaced by the expressed type."""
    element = quantized_element(type_)
    return type_ if element is None else make_tensor(shape_of(type_), element.expressed)


def on_expressed_types(op: HloOp) -> HloOp:
    """
    The operation on the expressed values of quantized tensors; it is verified, and computed, instead of the original.
    """
    arguments = Block(arg_types=[expressed_type(type_) for type_ in op.operand_types]).args
    return type(op).create(
        operands=arguments,
        result_types=[expressed_type(type_) for type_ in op.result_types],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )


def verify_quantized(op: HloOp) -> None:
    """
    Verify an operation with quantized tensors as the operation on the expressed types. For operations that only move
    elements, operand and result must have the same element type.
    """
    mnemonic = op.name.partition(".")[2]
    if mnemonic in _AS_THEY_ARE:
        op.verify_()
        return
    if op.regions:
        raise VerifyException("does not take quantized tensors in this version: uniform_dequantize them before")
    if mnemonic in MOVES and op.results and mnemonic != "get_dimension_size":
        first = op.operands[1 if mnemonic == "select" else 0]
        source, result = element_of(first), element_of(op.results[0])
        one_scale = all(isinstance(t, UniformQuantizedType) and t.axis.data < 0 for t in (source, result))
        if source != result and one_scale:
            reject(f"{mnemonic}_c1: operand and result have different element types {source} and {result}")
    for type_ in (*op.operand_types, *op.result_types):
        _check_axis(op, type_)
    on_expressed_types(op).verify_()


def _check_axis(op: HloOp, type_: Attribute) -> None:
    element = quantized_element(type_)
    if element is None or element.axis.data < 0:
        return
    shape, axis, count = shape_of(type_), element.axis.data, len(element.scales)
    if not (axis < len(shape) and shapes_agree((shape[axis],), (count,))):
        reject(
            f"{op.name} has a tensor of type {type_}, without an index in dimension {axis} for each of {count} scales"
        )


@cache
def storage_dtype(element: UniformQuantizedType) -> np.dtype[Any]:
    width = next(bits for bits in (8, 16, 32) if element.storage.width.data <= bits)
    unsigned = element.storage.signedness.data is Signedness.UNSIGNED
    return np.dtype(f"{'u' if unsigned else ''}int{width}")


def _along(element: UniformQuantizedType, values: Sequence[float | int], rank: int) -> Array:
    """The scales or zero points, shaped to broadcast against a tensor."""
    axis = element.axis.data
    array = np.asarray(values)
    return array.reshape(()) if axis < 0 else array.reshape((-1,) + (1,) * (rank - axis - 1))


def dequantize(stored: Array, element: UniformQuantizedType, dtype: np.dtype[Any] | None = None) -> Array:
    """The values of stored integers, in the expressed type, or in `dtype` to compute more exactly."""
    dtype = dtype or cast("np.dtype[Any]", numpy_dtype(element.expressed))
    zeros = _along(element, [zero.data for zero in element.zero_points], stored.ndim)
    scales = _along(element, [scale.data for scale in element.scales], stored.ndim)
    return (stored.astype(np.int64) - zeros).astype(dtype) * scales.astype(dtype)


def quantize(values: Array, element: UniformQuantizedType) -> Array:
    """The stored integers nearest to real numbers, halves to even, within the storage range; NaN is stored as 0."""
    scales = _along(element, [scale.data for scale in element.scales], values.ndim)
    zeros = _along(element, [zero.data for zero in element.zero_points], values.ndim)
    with np.errstate(all="ignore"):
        wide = np.rint(values / scales.astype(values.dtype)).astype(np.float64) + zeros
        clamped = np.clip(np.where(np.isnan(wide), 0, wide), *element.limits)
    return clamped.astype(storage_dtype(element))


def compute_quantized(op: HloOp, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """The reference of an operation with quantized operands or results, on stored integers."""
    if isinstance(op, (UniformQuantizeOp, UniformDequantizeOp)):
        return (op.reference(*operands),)
    plain = on_expressed_types(op)
    if op.name.partition(".")[2] in MOVES:
        moved = plain.reference(*operands)
        return moved if isinstance(moved, tuple) else (moved,)
    elements = [quantized_element(type_) for type_ in op.operand_types]
    exact = None if isinstance(op, ElementwiseOp) else np.dtype(np.float64)
    real = [
        array if element is None else dequantize(array, element, exact)
        for array, element in zip(operands, elements, strict=True)
    ]
    results = plain.reference(*real)
    results = results if isinstance(results, tuple) else (results,)
    targets = [quantized_element(type_) for type_ in op.result_types]
    return tuple(r if t is None else quantize(r, t) for r, t in zip(results, targets, strict=True))


class _QuantizationOp(HloOp):
    """An operation of one operand between quantized and real tensors."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_same_type_op(cls, parser, 1)

    def print(self, printer: Printer) -> None:
        print_same_type_op(printer, self)

    def check_shapes(self, constraint: str) -> None:
        operand, result = self.operands[0].type, self.results[0].type
        if not shapes_agree(shape_of(operand), shape_of(result)):
            reject(f"{constraint}: operand and result have different shapes: {operand} and {result}")
        _check_axis(self, operand)
        _check_axis(self, result)


@irdl_op_definition
class UniformQuantizeOp(_QuantizationOp):
    """
    The nearest numbers of a quantized type; a quantized operand is requantized.

    Shapes: any; the result has the operand's.
    Raises: VerifyException naming uniform_quantize_i1, o1, c1 or c2.
    Spec:   https://openxla.org/stablehlo/spec#uniform_quantize
    """

    name = "hlo.uniform_quantize"

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        source, target = element_of(self.operands[0]), element_of(self.results[0])
        if not (is_float(source) or isinstance(source, UniformQuantizedType)):
            reject(f"uniform_quantize_i1: operand has element type {source}, expected float or a quantized type")
        if not isinstance(target, UniformQuantizedType):
            reject(f"uniform_quantize_o1: result has element type {target}, expected a quantized type")
        self.check_shapes("uniform_quantize_c1")
        real = source.expressed if isinstance(source, UniformQuantizedType) else source
        wanted = target.expressed
        if real != wanted:
            reject(f"uniform_quantize_c2: operand stands for {real}, the result for {wanted}")

    def reference(self, *operands: Array) -> Array:
        source, target = element_of(self.operands[0]), cast(UniformQuantizedType, element_of(self.results[0]))
        values = dequantize(operands[0], source) if isinstance(source, UniformQuantizedType) else operands[0]
        return quantize(values, target)


@irdl_op_definition
class UniformDequantizeOp(_QuantizationOp):
    """
    The real values of quantized numbers.

    Shapes: any; the result has the operand's.
    Raises: VerifyException naming uniform_dequantize_i1, c1 or c2.
    Spec:   https://openxla.org/stablehlo/spec#uniform_dequantize
    """

    name = "hlo.uniform_dequantize"

    def infer_types(self) -> tuple[Attribute, ...]:
        return (expressed_type(self.operands[0].type),)

    def verify_(self) -> None:
        source, target = element_of(self.operands[0]), element_of(self.results[0])
        if not isinstance(source, UniformQuantizedType):
            reject(f"uniform_dequantize_i1: operand has element type {source}, expected a quantized type")
        self.check_shapes("uniform_dequantize_c1")
        wanted = source.expressed
        if target != wanted:
            reject(f"uniform_dequantize_c2: result has element type {target}, expected {wanted}")

    def reference(self, *operands: Array) -> Array:
        return dequantize(operands[0], cast(UniformQuantizedType, element_of(self.operands[0])))


OPS = (UniformDequantizeOp, UniformQuantizeOp)
