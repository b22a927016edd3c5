"""Quantized tensors become tensors of their stored integers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from ...dialects.support.rewriting import like, set_type
from ...hlo_dialect.collectives.asynchronous import FutureType
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.comparison import SelectOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.quantized.arithmetic import quantized_element, storage_type
from ...hlo_dialect.ops.quantized.semantics import STORED, accumulators
from ...hlo_dialect.ops.quantized.types import UniformQuantizedType
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import make_tensor, shape_of
from ...hlo_dialect.walking import operations_in
from .numbers import dequantize, quantize, requantize

Elements: TypeAlias = dict[SSAValue, UniformQuantizedType]
"""The quantized element type of each value that the program declares as quantized."""


class Conversion:
    """One operation on quantized tensors, to be replaced by operations on the stored integers."""

    def __init__(self, op: HloOp, elements: Elements):
        self.op = op
        self.elements = elements
        self.builder = Builder.before(op)
        self.operands = self.builder.tensors(op.operands)
        self.sources = [elements.get(operand) for operand in op.operands]
        self.targets = [elements.get(result) for result in op.results]

    def real(self, index: int) -> Tensor:
        """An operand's values: of a quantized one, in the expressed type."""
        operand, element = self.operands[index], self.sources[index]
        return operand if element is None else dequantize(operand, element)

    def replace(self, *results: Tensor) -> None:
        """Replace the operation by stored integers, or by the values themselves where a result is not quantized."""
        for tensor, target in zip(results, self.targets, strict=True):
            if target is not None:
                self.elements[tensor.value] = target
        self.builder.replace(self.op, *results)


Rule: TypeAlias = Callable[[Any, Conversion], bool]
"""Replaces an operation; False if it leaves it to the float formula."""

integer_rules = Rules[Rule]("convert-quantized-to-integer", __package__)


class ConvertQuantizedToIntegerPass(HloPass):
    """
    Compute with quantized tensors in the integers that they store.

    Before: `%0 = hlo.dot_general %x, %w, .. : (tensor<4x8x!quant.uniform<i8:f32, 0.5:3>>, tensor<8x2x!quant..>) -> ..`
    After:  `%0 = hlo.dot_general %x, %w, .. : (tensor<4x8xi8>, tensor<8x2xi8>) -> tensor<4x2xi32>`, the terms of the
            zero points, and the scaling to the result's integers
    Promises the stored integers of the specification's formulas, as the reference computes them:
    * Movement, control flow and regions act on the stored integers.
    * Sums of products are exact integers (i8 x i8 in i32 where they fit, else f64 up to 2^53), scaled once in f64.
    * Additions, subtractions, comparisons, choices and changes of type between equal scales are integer operations.
    * Everything else dequantizes, computes in the expressed type and quantizes, step by step as the specification does:
      exact for operations that IEEE 754 rounds correctly; elementary functions have the accuracy that they have on
      floats.
    Arguments and results of functions become tensors of the storage type.
    Assumes: static shapes where quantized tensors are computed with.    Leaves: no quantized types.
    """

    name = "convert-quantized-to-integer"
    only_for = ("!quant.uniform",)
    illegal: ClassVar[Collection[str]] = ("hlo.uniform_quantize", "hlo.uniform_dequantize")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        elements = _store_integers(module)
        if not elements:
            return
        for op in operations_in(module):
            if any(value in elements for value in (*op.operands, *op.results)):
                self._convert(op, elements)

    def _convert(self, op: Operation, elements: Elements) -> None:
        if isinstance(op, ConstantOp):
            op.properties["value"] = DenseIntOrFPElementsAttr(cast(Any, op.result.type), op.dense.data)
        elif isinstance(op, HloOp) and not _moves_stored(op, elements):
            if op.regions:
                raise self.unsupported(op)
            if not all(is_static(shape_of(value)) for value in (*op.operands, *op.results)):
                fail(op, "has quantized tensors of unknown shape: give its operands static shapes")
            rule, conversion = integer_rules.get(type(op)), Conversion(op, elements)
            if rule is None or not rule(op, conversion):
                _on_values(conversion)
        elif op.regions and isinstance(op, HloOp):
            _promote(op, elements)


def _store_integers(module: ModuleOp) -> Elements:
    """Give all quantized values the type of their stored integers; the quantized types that they had."""
    elements: Elements = {}
    for op in operations_in(module):
        for value in (
            *op.results,
            *(argument for region in op.regions for block in region.blocks for argument in block.args),
        ):
            element = quantized_element(value.type)
            if element is not None:
                elements[value] = element
            set_type(value, _stored(value.type))
        if isinstance(op, func.FuncOp):
            types = op.function_type
            op.properties["function_type"] = FunctionType.from_lists(
                list(map(_stored, types.inputs)), list(map(_stored, types.outputs))
            )
    return elements


def _stored(type_: Attribute) -> Attribute:
    if isinstance(type_, TupleType):
        return TupleType(tuple(cast(TypeAttribute, _stored(part)) for part in type_.types))
    if isinstance(type_, FutureType):
        return FutureType(ArrayAttr(map(_stored, type_.contents)))
    return storage_type(type_)


def _moves_stored(op: HloOp, elements: Elements) -> bool:
    """Whether the operation is that on the stored integers; a select only between values of the result's type."""
    if isinstance(op, SelectOp):
        return all(elements.get(operand) == elements[op.results[0]] for operand in op.operands[1:])
    return op.name in STORED


def _on_values(conversion: Conversion) -> None:
    """The operation on the expressed values."""
    op = conversion.op
    types = [
        result.type if target is None else make_tensor(shape_of(result), target.expressed)
        for result, target in zip(op.results, conversion.targets, strict=True)
    ]
    new = like(op, [conversion.real(index).value for index in range(len(op.operands))], types)
    conversion.builder.insert(new)
    values = zip(conversion.builder.tensors(new.results), conversion.targets, strict=True)
    conversion.replace(*(value if target is None else quantize(value, target) for value, target in values))


def _promote(op: HloOp, elements: Elements) -> None:
    """Convert the operands to the quantized types in which the operation's region accumulates."""
    builder = Builder.before(op)
    for index, argument in enumerate(accumulators(op)):
        source = elements.get(op.operands[index])
        target = None if argument is None else elements.get(argument)
        if source is not None and target is not None and source != target:
            promoted = requantize(Tensor(builder, op.operands[index]), source, target).value
            op.operands[index] = promoted
            elements[promoted] = target
