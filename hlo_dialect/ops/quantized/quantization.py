"""
The operations uniform_quantize and uniform_dequantize.

Spec: https://openxla.org/stablehlo/spec, Quantized types, Quantized computations.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ...op import reject
from ...shapes import shaped_like, shapes_agree
from ...syntax.elementwise import SameTypeOp
from ...types import Array, element_of, is_float, shape_of
from .arithmetic import dequantize, expressed_type, quantize
from .types import UniformQuantizedType


class _QuantizationOp(SameTypeOp):
    """An operation of one operand between quantized and real tensors."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def check_shapes(self, constraint: str) -> None:
        operand, result = self.operands[0].type, self.results[0].type
        if not shapes_agree(shape_of(operand), shape_of(result)):
            reject(f"{constraint}: operand and result have different shapes: {operand} and {result}")


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
        return (shaped_like(shape_of(self.operands[0]), self.results[0]),)

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
