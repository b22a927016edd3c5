"""What the decomposition of Fourier transforms builds tensors with, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import CosineOp, FloorOp, NegateOp, SineOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.types import Array, f64, make_tensor, numpy_dtype, shape_of


class TensorBuilder:
    """Builds operations on tensors of one real element type."""

    def __init__(self, part: Attribute):
        self.builder = Builder()
        self.part = part

    def op(
        self, cls: type[Operation], operands: Sequence[SSAValue], shape: Sequence[int], **properties: Attribute
    ) -> SSAValue:
        type_ = make_tensor(tuple(shape), self.part)
        return self.builder.add(cls.create(operands=operands, result_types=[type_], properties=properties)).value

    def constant(self, array: Array) -> SSAValue:
        dtype: Any = numpy_dtype(self.part)
        return self.builder.add(ConstantOp.of(np.ascontiguousarray(array.astype(dtype)))).value

    def zeros(self, shape: Sequence[int]) -> SSAValue:
        return self.builder.constant(0.0, make_tensor(tuple(shape), self.part))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if shape_of(value) == tuple(shape) else self.op(ReshapeOp, [value], shape)

    def broadcast(self, value: SSAValue, shape: Sequence[int], dims: Sequence[int]) -> SSAValue:
        return self.op(BroadcastInDimOp, [value], shape, broadcast_dimensions=int_array(dims))

    def add(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.op(AddOp, [first, second], shape_of(first))

    def subtract(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.op(SubtractOp, [first, second], shape_of(first))

    def multiply(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.op(MultiplyOp, [first, second], shape_of(first))

    def negate(self, value: SSAValue) -> SSAValue:
        return self.op(NegateOp, [value], shape_of(value))

    def slice(self, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
        shape = shape_of(value)
        if (start, limit) == (0, shape[dim]):
            return value
        starts, limits = [0] * len(shape), list(shape)
        starts[dim], limits[dim] = start, limit
        return self.op(
            SliceOp,
            [value],
            [limit - start for start, limit in zip(starts, limits, strict=True)],
            start_indices=int_array(starts),
            limit_indices=int_array(limits),
            strides=int_array([1] * len(shape)),
        )

    def concatenate(self, values: Sequence[SSAValue], dim: int) -> SSAValue:
        shape = list(shape_of(values[0]))
        shape[dim] = sum(shape_of(value)[dim] for value in values)
        return self.op(ConcatenateOp, values, shape, dimension=int_attr(dim))

    def reverse(self, value: SSAValue, dim: int) -> SSAValue:
        return self.op(ReverseOp, [value], shape_of(value), dimensions=int_array([dim]))

    def padded(self, value: SSAValue, dim: int, size: int) -> SSAValue:
        """Zeros behind, up to so many elements of a dimension."""
        shape = list(shape_of(value))
        high = [0] * len(shape)
        high[dim] = size - shape[dim]
        shape[dim] = size
        none = int_array([0] * len(high))
        return self.op(
            PadOp,
            [value, self.zeros(())],
            shape,
            edge_padding_low=none,
            edge_padding_high=int_array(high),
            interior_padding=none,
        )

    def join(self, re: SSAValue, im: SSAValue) -> SSAValue:
        """The parts as one tensor, along a new first dimension."""
        shape = (1, *shape_of(re))
        return self.concatenate([self.reshape(re, shape), self.reshape(im, shape)], 0)

    def parted(self, value: SSAValue, dim: int, number: int) -> SSAValue:
        """One of the parts along a dimension, without it."""
        shape = shape_of(value)
        return self.reshape(self.slice(value, dim, number, number + 1), (*shape[:dim], *shape[dim + 1 :]))


def roots(numerators: Array, n: int, sign: int) -> tuple[Array, Array]:
    """cos and sin of `sign * 2 pi * numerators / n`."""
    angle = (2 * np.pi / n) * (numerators % n)
    return np.cos(angle), sign * np.sin(angle)


def chirp_of(builder: TensorBuilder, n: int, sign: int, computed: bool) -> tuple[Array | SSAValue, Array | SSAValue]:
    """cos and sin of `sign * pi * j * j / n` for j up to n, as arrays or `computed` by the program."""
    if computed:
        return _computed_chirp(builder, n, sign)
    numbers = np.arange(n, dtype=np.int64)
    return roots(numbers * numbers, 2 * n, sign)


def mirrored(builder: TensorBuilder, values: SSAValue, size: int) -> SSAValue:
    """The values at j and at size - j, of `size` elements, zeros in the middle."""
    n = shape_of(values)[0]
    middle = builder.zeros((size - 2 * n + 1,))
    return builder.concatenate([values, middle, builder.reverse(builder.slice(values, 0, 1, n), 0)], 0)


def _indices(builder: TensorBuilder, n: int) -> Tensor:
    properties = {"iota_dimension": int_attr(0)}
    return builder.builder.add(IotaOp.create(result_types=[make_tensor((n,), f64)], properties=properties))


def _computed_chirp(builder: TensorBuilder, n: int, sign: int) -> tuple[SSAValue, SSAValue]:
    """
    Squares modulo 2 n are exact in f64 up to n = 2**26; what is one period off is as good.

    The barrier keeps fusion from computing the sines wherever they are read.
    """
    places = _indices(builder, n)
    square = places * places
    turns = (square * (0.5 / n)).apply(FloorOp)
    angle = (square - turns * (2.0 * n)) * (np.pi / n)
    parts = [angle.apply(CosineOp).convert(builder.part), (angle.apply(SineOp) * float(sign)).convert(builder.part)]
    values = [part.value for part in parts]
    barrier = OptimizationBarrierOp.create(operands=values, result_types=[value.type for value in values])
    builder.builder.ops.append(barrier)
    return barrier.results[0], barrier.results[1]
