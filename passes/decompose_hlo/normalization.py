"""Batch normalization becomes per-feature sums and elementwise arithmetic, which fuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.numbers.number_semantics import is_short_float
from ...hlo_dialect.ops.algorithms.normalization import (
    BatchNormGradOp,
    BatchNormInferenceOp,
    BatchNormOp,
    BatchNormTrainingOp,
    count_of,
)
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, f32, numpy_dtype, shape_of
from .transform import decompositions


@dataclass
class _Terms:
    """The operands of one operation in the computation type, and the terms that all three operations share."""

    op: BatchNormOp
    builder: Builder

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.op.operands[0])

    @property
    def others(self) -> list[int]:
        return [dim for dim in range(len(self.shape)) if dim != self.op.feature]

    @property
    def count(self) -> float:
        """The number of elements per feature."""
        return float(count_of(self.shape, self.op.feature))

    def tensor(self, value: SSAValue) -> Tensor:
        dtype = numpy_dtype(element_of(value))
        found = Tensor(self.builder, value)
        return found.convert(f32) if dtype is not None and is_short_float(dtype) else found

    def operands(self) -> list[Tensor]:
        return [self.tensor(value) for value in self.op.operands]

    def spread(self, x: Tensor) -> Tensor:
        """Broadcast a vector of features to the operand's shape."""
        return x.broadcast(self.shape, [self.op.feature])

    def widened(self, variance: Tensor) -> Tensor:
        return variance + float(self.op.epsilon.value.data)

    def normalized(self, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        factor = scale / self.widened(variance).sqrt()
        return (x - self.spread(mean)) * self.spread(factor) + self.spread(offset)

    def finish(self, *results: Tensor) -> Sequence[Operation]:
        element = element_of(self.op.operands[0])
        return self.builder.replace(self.op, *(result.convert(element) for result in results))


@decompositions.on(BatchNormInferenceOp)
def _inference(op: BatchNormInferenceOp) -> Sequence[Operation]:
    """`(x - mean) * (scale / sqrt(variance + epsilon)) + offset`, the vectors broadcast."""
    if not is_static(shape_of(op.operand)):
        return ()
    terms = _Terms(op, Builder())
    x, scale, offset, mean, variance = terms.operands()
    return terms.finish(terms.normalized(x, scale, offset, mean, variance))


@decompositions.on(BatchNormTrainingOp)
def _training(op: BatchNormTrainingOp) -> Sequence[Operation]:
    """The mean and the variance (squares of the differences from the mean) are sums; the rest is as in inference."""
    if not is_static(shape_of(op.operand)):
        return ()
    terms = _Terms(op, Builder())
    x, scale, offset = terms.operands()
    mean = x.sum(terms.others) / terms.count
    centered = x - terms.spread(mean)
    variance = (centered * centered).sum(terms.others) / terms.count
    return terms.finish(terms.normalized(x, scale, offset, mean, variance), mean, variance)


@decompositions.on(BatchNormGradOp)
def _grad(op: BatchNormGradOp) -> Sequence[Operation]:
    """Two sums per feature, broadcast into elementwise arithmetic."""
    if not is_static(shape_of(op.operand)):
        return ()
    terms = _Terms(op, Builder())
    x, scale, mean, variance, grad = terms.operands()
    widened = terms.widened(variance)
    deviation = widened.sqrt()
    centered = x - terms.spread(mean)
    grad_sum = grad.sum(terms.others)
    product_sum = (grad * centered).sum(terms.others)
    inner = grad * terms.count - terms.spread(grad_sum) - centered * terms.spread(product_sum / widened)
    grad_operand = inner * terms.spread(scale / deviation / terms.count)
    return terms.finish(grad_operand, product_sum / deviation, grad_sum)
