"""linalg_ext operations on windows: scan, and select_and_scatter."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, ShapedType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .base import DestinationOp


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor or memref."""
    return cast("ShapedType", cast(Any, value.type)).get_shape()


@irdl_op_definition
class ScanOp(DestinationOp):
    """
    All prefixes (suffixes with `reverse`) of one dimension, folded: `y[i] = f(y[i - 1], x[i])`.

    ins: N shaped inputs, then the N initial scalars of the folds. outs: N of the inputs' shape, only written.
    The region takes N left and N right values and yields N; it is associative: the order of evaluation is free.
    """

    name = "linalg_ext.scan"
    dimension = prop_def(IntegerAttr)
    reverse = prop_def(BoolAttr)

    def verify_(self) -> None:
        super().verify_()
        count = len(self.outputs)
        if len(self.inputs) != 2 * count or len(self.regions) != 1:
            raise VerifyException("expected an input and an initial value for each output, and one region")
        if len(self.regions[0].block.args) != 2 * count:
            raise VerifyException(f"expected {2 * count} region arguments")
        for source, target in zip(self.inputs, self.outputs, strict=False):
            if shape_of(source) != shape_of(target):
                raise VerifyException("expected inputs of the outputs' shapes")
        if not 0 <= self.dimension.value.data < len(shape_of(self.outputs[0])):
            raise VerifyException("expected a dimension of the outputs")


@irdl_op_definition
class SelectAndScatterOp(DestinationOp):
    """
    For each window of the first input, in row-major order, combine the second's element into the selected element.

    ins: operand, source (an element per window). outs: of the operand's shape, with its initial contents.
    Regions: select (kept, candidate) -> i1, scatter (present, update) -> new.
    Window i covers the elements `i * strides + j - low` of the operand, for j below `sizes`.
    """

    name = "linalg_ext.select_and_scatter"
    sizes = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    low = prop_def(DenseArrayBase)

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 2 or len(self.outputs) != 1 or len(self.regions) != 2:
            raise VerifyException("expected two inputs, one output and two regions")
        rank = len(shape_of(self.outputs[0]))
        lists: tuple[Any, ...] = (self.sizes, self.strides, self.low)
        if any(len(values.get_values()) != rank for values in lists):
            raise VerifyException("expected an entry of sizes, strides and low for each dimension")
        if any(len(shape_of(value)) != rank for value in self.inputs):
            raise VerifyException("expected operands of one rank")


OPS = (ScanOp, SelectAndScatterOp)
