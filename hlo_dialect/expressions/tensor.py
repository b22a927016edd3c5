"""
The notation in which hlo is built: a `Builder` inserts operations, a `Tensor` is a value to compute with.

`a * 2.0 + b` builds the constant, the product and the sum; `x.reshape((2, 3)).sum([1])` a reshape and a reduce. Every
method builds the operation of its name, with the type that the operation's class infers; `reshape`, `transpose`,
`convert` and `part` return the tensor itself if nothing would change. Both operands of an operator have the same type;
numbers become splats of the other operand's type, built once per builder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, final

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.rewriter import InsertPoint

from ...dialects.support.creation import append
from ...dialects.support.editing import insert_before
from ...dialects.support.kernel import MAY_FUSE
from ..attributes import DotDimensionNumbersAttr, int_array, int_attr
from ..numbers.number_semantics import round_to
from ..op import HloOp, replace_op
from ..ops import elementwise_binary as binary
from ..ops import elementwise_unary as unary
from ..ops.comparison import CompareOp, SelectOp, comparison_direction, comparison_type
from ..ops.contraction import DotGeneralOp
from ..ops.conversion import BitcastConvertOp, ConvertOp
from ..ops.creation import ConstantOp, IotaOp, splat_of
from ..ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ..ops.reduction import ReduceOp, combiner_region
from ..ops.slicing import ConcatenateOp, PadOp, SliceOp
from ..shapes import is_static
from ..types import (
    Array,
    HloTensor,
    element_of,
    i1,
    is_float,
    make_tensor,
    numpy_dtype,
    shape_of,
    tensor_type,
)
from .real import Real


class Builder:
    """
    Inserts operations in order, with one location.

    `at` is an insertion point; without one the operations are only collected, until `replace` substitutes them for
    another operation. `ops` lists the new operations; a list passed in is appended to.
    """

    def __init__(
        self,
        at: InsertPoint | None = None,
        location: LocationAttr = UNKNOWN_LOC,
        ops: list[Operation] | None = None,
    ):
        self.at = at
        self.location = location
        self.ops: list[Operation] = [] if ops is None else ops
        self._splats: dict[tuple[float, float, HloTensor], Tensor] = {}
        """Constants that are used again, by their number, its sign and the type."""

    @staticmethod
    def before(op: Operation) -> Builder:
        """A builder that inserts before `op`, with its location."""
        return Builder(InsertPoint.before(op), op.location)

    def insert(self, op: Operation) -> None:
        """Insert one operation; it takes the builder's location unless it has its own."""
        if op.location is UNKNOWN_LOC or op.location == UNKNOWN_LOC:
            op.location = self.location
        self.ops.append(op)
        if self.at is None:
            return
        if self.at.insert_before is None:
            append(self.at.block, op)
        else:
            insert_before(op, self.at.insert_before)

    def place(self) -> LocationAttr:
        """The location of the operations in regions that a method makes."""
        return self.location

    def truth(self) -> bool:
        """The truth of a tensor in Python: that of any object."""
        return True

    def add(self, op: Operation) -> Tensor:
        """Insert an operation with one result, and return the result."""
        self.insert(op)
        (result,) = op.results
        return Tensor(self, result)

    def op(
        self,
        cls: type[Operation],
        operands: Sequence[Tensor | SSAValue] = (),
        type_: Attribute | None = None,
        regions: Sequence[Region] = (),
        /,
        **properties: Attribute,
    ) -> Tensor:
        """
        Build an operation of any class, its properties given by name. Its result has `type_`, if given, else the type
        that `cls.infer_types` returns, which raises VerifyException if the operands do not fit.
        """
        values = [one.value if isinstance(one, Tensor) else one for one in operands]
        if type_ is None:
            return self.add(cast("type[HloOp]", cls).infer(values, properties, regions))
        return self.add(cls.create(operands=values, result_types=[type_], properties=properties, regions=regions))

    def tensors(self, values: Sequence[SSAValue]) -> list[Tensor]:
        """Existing values as tensors to compute with."""
        return [Tensor(self, value) for value in values]

    def constant(self, array: Array, type_: HloTensor | None = None) -> Tensor:
        """The constant of an array; one element fills a larger `type_`."""
        return self.add(ConstantOp.of(array, type_))

    def splat(self, number: float, type_: HloTensor) -> Tensor:
        """A constant whose elements are all `number`, rounded to the element type."""
        key = (number, math.copysign(1.0, number), type_)  # Python considers 0.0 and -0.0 equal
        found = self._splats.get(key)
        if found is None:
            dtype: Any = numpy_dtype(type_.element_type)
            element = round_to(np.float64(number), dtype) if isinstance(number, float) else np.asarray(number, dtype)
            found = self._splats[key] = self.constant(element.reshape(1), type_)
        return found

    def iota(self, type_: HloTensor, dim: int) -> Tensor:
        """Each element's index along a dimension."""
        return self.op(IotaOp, (), type_, iota_dimension=int_attr(dim))

    def replace(self, op: Operation, *values: Tensor | SSAValue) -> Sequence[Operation]:
        """
        Replace an operation's results by `values` and erase it; returns the new operations.

        Collected operations are inserted in its place. The values take the name hints of the results (see
        `replace_op`).
        """
        results = [value.value if isinstance(value, Tensor) else value for value in values]
        replace_op(op, self.ops if self.at is None else (), results)
        return self.ops


def _unary(cls: type[Operation]) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return self.apply(cls)

    return method


def _binary(cls: type[Operation]) -> Callable[[Tensor, Tensor | float], Tensor]:
    def method(self: Tensor, other: Tensor | float) -> Tensor:
        return self.apply(cls, other)

    return method


def _reflected(cls: type[Operation]) -> Callable[[Tensor, float], Tensor]:
    def method(self: Tensor, other: float) -> Tensor:
        return self.like(other).apply(cls, self)

    return method


def _comparison(direction: str) -> Callable[[Tensor, Tensor | float], Tensor]:
    def method(self: Tensor, other: Tensor | float) -> Tensor:
        return self.compare(direction, other)

    return method


@final
@dataclass(eq=False, slots=True)
class Tensor(Real):
    """A value to compute with; its builder inserts the operations."""

    builder: Builder
    value: SSAValue

    def __bool__(self) -> bool:
        return self.builder.truth()

    @property
    def type(self) -> HloTensor:
        return tensor_type(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def element(self) -> Attribute:
        """The element type."""
        return element_of(self.value)

    def like(self, number: float) -> Tensor:
        """A splat of this tensor's type."""
        return self.builder.splat(number, self.type)

    @property
    def known(self) -> float | None:
        """The number of a splat, as it is or converted: any float type has whole ones."""
        value = self.value
        while isinstance(value.owner, ConvertOp | BroadcastInDimOp):
            value = value.owner.operands[0]
        return splat_of(value)

    def apply(self, cls: type[Operation], *others: Tensor | float) -> Tensor:
        """An operation on this tensor and others, without properties, whose result has this tensor's type."""
        value = self.value
        values = [one.value if isinstance(one, Tensor) else self.like(one).value for one in others]
        return self.builder.add(cls.create(operands=(value, *values), result_types=(value.type,)))

    def _typed(self, shape: Sequence[int] | HloTensor) -> HloTensor:
        return shape if isinstance(shape, TensorType) else make_tensor(tuple(shape), self.element)

    # Arithmetic, element by element.

    __add__ = _binary(binary.AddOp)
    __radd__ = _reflected(binary.AddOp)
    __sub__ = _binary(binary.SubtractOp)
    __rsub__ = _reflected(binary.SubtractOp)
    __mul__ = _binary(binary.MultiplyOp)
    __rmul__ = _reflected(binary.MultiplyOp)
    __truediv__ = _binary(binary.DivideOp)
    __rtruediv__ = _reflected(binary.DivideOp)
    __mod__ = _binary(binary.RemainderOp)
    """The remainder has the dividend's sign, as in C."""
    __pow__ = _binary(binary.PowerOp)
    __neg__ = _unary(unary.NegateOp)
    __abs__ = _unary(unary.AbsOp)

    __and__ = _binary(binary.AndOp)
    __or__ = _binary(binary.OrOp)
    __xor__ = _binary(binary.XorOp)
    __invert__ = _unary(unary.NotOp)
    __lshift__ = _binary(binary.ShiftLeftOp)
    __rshift__ = _binary(binary.ShiftRightLogicalOp)
    """Logical: zeros are shifted in from the left, whatever the sign."""
    shift_right_arithmetic = _binary(binary.ShiftRightArithmeticOp)

    maximum = _binary(binary.MaximumOp)
    """A NaN in either operand is propagated, as in `minimum`."""
    minimum = _binary(binary.MinimumOp)
    atan2 = _binary(binary.Atan2Op)
    """The angle of the point (x, self)."""
    cbrt = _unary(unary.CbrtOp)
    cosine = _unary(unary.CosineOp)
    exponential = _unary(unary.ExponentialOp)
    exponential_minus_one = _unary(unary.ExponentialMinusOneOp)
    floor = _unary(unary.FloorOp)
    log = _unary(unary.LogOp)
    log_plus_one = _unary(unary.LogPlusOneOp)
    round = _unary(unary.RoundNearestEvenOp)
    """Round to the nearest integer, halves to even."""
    sine = _unary(unary.SineOp)
    sqrt = _unary(unary.SqrtOp)
    tan = _unary(unary.TanOp)

    def exponential_of_negative(self) -> Tensor:
        """e^-x of an x that is not below zero, which convert-hlo-to-linalg finds by itself."""
        return (-self).exponential()

    def multiply_add(self, factor: Tensor | float, addend: Tensor | float) -> Tensor:
        """self * factor + addend, rounded twice or, where the machine has such an instruction, once."""
        product = self * factor
        total = product + addend
        for each in (product, total):
            if isinstance(each.value, OpResult):
                each.value.op.attributes[MAY_FUSE] = UnitAttr()
        return total

    # Comparison: i1 tensors, false if either element is NaN, except for `is_nan`.

    __lt__ = _comparison("LT")
    __le__ = _comparison("LE")
    __gt__ = _comparison("GT")
    __ge__ = _comparison("GE")
    equals = _comparison("EQ")
    """Element-wise equality; `==` compares the notation's own objects."""

    def is_nan(self) -> Tensor:
        return self.compare("NE", self)

    def compare(self, direction: str, other: Tensor | float, type_: str | None = None) -> Tensor:
        """Test the relation EQ, NE, LT, LE, GT or GE, as a comparison of `type_` (FLOAT, TOTALORDER, ..) if given."""
        right = other if isinstance(other, Tensor) else self.like(other)
        stated: dict[str, Attribute] = {"comparison_direction": comparison_direction(direction)}
        if type_ is not None:
            stated["compare_type"] = comparison_type(type_)
        mask = make_tensor(self.shape, i1)
        operands = [self.value, right.value]
        return self.builder.add(CompareOp.create(operands=operands, result_types=[mask], properties=stated))

    def precedes(self, other: Tensor) -> Tensor:
        """Whether a number comes before another in ascending order, where both zeros are equal and NaN is the last."""
        if not is_float(self.element):
            return self < other
        return self.in_total_order().compare("LT", other.in_total_order(), "TOTALORDER")

    def in_total_order(self) -> Tensor:
        """Floats whose total order is that of `precedes`: 0 for -0, and one NaN for all."""
        return self.is_nan().select(math.nan, self.equals(0.0).select(0.0, self))

    def select(self, on_true: Tensor | float, on_false: Tensor | float) -> Tensor:
        """Select by this i1 tensor; one of the two values may be a number."""
        model = on_true if isinstance(on_true, Tensor) else on_false
        assert isinstance(model, Tensor), "select of two numbers has no type"
        chosen = [one if isinstance(one, Tensor) else model.like(one) for one in (on_true, on_false)]
        return self.builder.op(SelectOp, [self, *chosen], model.type)

    # Element types.

    def convert(self, element: Attribute) -> Tensor:
        """Convert to another element type."""
        if self.element == element:
            return self
        return self.builder.op(ConvertOp, [self], make_tensor(self.shape, element))

    def bits_as(self, element: Attribute) -> Tensor:
        """The same bits as another element type of the same width."""
        return self.builder.op(BitcastConvertOp, [self], make_tensor(self.shape, element))

    # Movement. A shape may be given as a tensor type.

    def broadcast(self, shape: Sequence[int] | HloTensor, dims: Sequence[int] = ()) -> Tensor:
        """Broadcast to `shape`; dimension i becomes dimension `dims[i]`."""
        return self.builder.op(BroadcastInDimOp, [self], self._typed(shape), broadcast_dimensions=int_array(dims))

    def reshape(self, shape: Sequence[int] | HloTensor) -> Tensor:
        """The same elements in row-major order."""
        type_ = self._typed(shape)
        return self if self.value.type == type_ else self.builder.op(ReshapeOp, [self], type_)

    def transpose(self, permutation: Sequence[int]) -> Tensor:
        """Transpose: dimension i of the result is dimension `permutation[i]`."""
        if list(permutation) == list(range(len(permutation))):
            return self
        return self.builder.op(TransposeOp, [self], permutation=int_array(permutation))

    def reverse(self, dims: Sequence[int]) -> Tensor:
        """Reverse the elements along `dims`."""
        return self.builder.op(ReverseOp, [self], dimensions=int_array(dims))

    def slice(self, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> Tensor:
        """
        A box of elements, from `starts` up to `limits`, exclusively, in each dimension.

        The limit of an unknown dimension may be the dimension itself, for its whole extent: the result's is unknown
        then.
        """
        steps = [1] * len(starts) if strides is None else strides
        type_ = None
        if not is_static(self.shape):
            sizes = (-(-(limit - start) // step) for start, limit, step in zip(starts, limits, steps, strict=True))
            type_ = make_tensor(tuple(sizes), self.element)
        return self.builder.op(
            SliceOp,
            [self],
            type_,
            start_indices=int_array(starts),
            limit_indices=int_array(limits),
            strides=int_array(steps),
        )

    def first(self, sizes: Sequence[int]) -> Tensor:
        """The first elements along each dimension."""
        return self.slice([0] * len(sizes), sizes)

    def part(self, dim: int, start: int, limit: int) -> Tensor:
        """The elements from `start` up to `limit` along one dimension."""
        if (start, limit) == (0, self.shape[dim]):
            return self
        starts, limits = [0] * len(self.shape), list(self.shape)
        starts[dim], limits[dim] = start, limit
        return self.slice(starts, limits)

    def take(self, dim: int, index: int) -> Tensor:
        """One element along a dimension, without that dimension."""
        before, after = self.shape[:dim], self.shape[dim + 1 :]
        starts = (*(0 for _ in before), index, *(0 for _ in after))
        return self.slice(starts, (*before, index + 1, *after)).reshape((*before, *after))

    def pad(
        self, value: Tensor, low: Sequence[int], high: Sequence[int], interior: Sequence[int] | None = None
    ) -> Tensor:
        """Pad with `low` and `high` elements of the scalar `value`, and `interior` ones between neighbours."""
        return self.builder.op(
            PadOp,
            [self, value],
            edge_padding_low=int_array(low),
            edge_padding_high=int_array(high),
            interior_padding=int_array([0] * len(low) if interior is None else interior),
        )

    def dynamic_slice(self, starts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
        """A box of `sizes` at scalar starts, which are clamped so that it lies inside."""
        return self.builder.op(DynamicSliceOp, [self, *starts], slice_sizes=int_array(sizes))

    def dynamic_update_slice(self, update: Tensor, starts: Sequence[Tensor]) -> Tensor:
        """This tensor with `update` written to the box at scalar starts, clamped so that it lies inside."""
        return self.builder.op(DynamicUpdateSliceOp, [self, update, *starts])

    # Sums.

    def reduce(self, combiner: type[Operation], init: Tensor, dims: Sequence[int]) -> Tensor:
        """
        Fold the elements along `dims` with an elementwise operation of two operands, beginning with the scalar `init`.
        """
        region = combiner_region(combiner, self.element, self.builder.place())
        return self.builder.op(ReduceOp, [self, init], None, [region], dimensions=int_array(dims))

    def sum(self, dims: Sequence[int]) -> Tensor:
        """The sum along `dims`; the tensor itself if there are none."""
        if not dims:
            return self
        zero = self.builder.splat(0.0 if is_float(self.element) else 0, make_tensor((), self.element))
        return self.reduce(binary.AddOp, zero, dims)

    def dot(
        self, other: Tensor, numbers: DotDimensionNumbersAttr, element: Attribute | None = None, **stated: Attribute
    ) -> Tensor:
        """
        hlo.dot_general, accumulated in `element`, by default the operands' type; `stated` are its other properties.
        """
        result = make_tensor((), element or self.element)
        stated["dot_dimension_numbers"] = numbers
        op = DotGeneralOp.create(operands=[self.value, other.value], result_types=[result], properties=stated)
        op.results = SSAValues([OpResult(op.infer_types()[0], op, 0)])
        return self.builder.add(op)


def concatenate(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Concatenate tensors along a dimension."""
    return tensors[0].builder.op(ConcatenateOp, tensors, dimension=int_attr(dim))


Decomposition: TypeAlias = Callable[[Any], Sequence[Operation]]
"""Replaces an operation (see `Builder.replace`); returns the new operations, none if it is kept."""
