"""
The memory layout of complex numbers: real and imaginary part interleaved, in a last dimension of size 2.

Two functions convert from and to that form; fusion sees through the operations they emit: `deinterleave` reads every
other number of a buffer, in the kernels that use the parts; `interleave` selects a part by the last index, in the
kernel that computes them.

* The arguments and results of a function: `tensor<4xcomplex<f32>>` becomes `tensor<4x2xf32>`, marked by the attribute
  `xhlo.complex` of the argument or result, so that the executable takes and returns complex arrays.
* Custom calls: their complex operands and results become tensors with a last dimension of two, layouts included; the
  discardable attributes `xhlo.complex_operands` and `xhlo.complex_results`, arrays of booleans, mark them. The lowering
  of a call then passes pointers to C's `float complex` or `double complex`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.kernel import COMPLEX, COMPLEX_OPERANDS, COMPLEX_RESULTS
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.types import HloTensor, i32, make_tensor, shape_of, tensor_type
from .arithmetic import Parts


def is_complex_type(type_: Attribute) -> bool:
    """Whether the type is a tensor of complex numbers."""
    return isinstance(type_, TensorType) and isinstance(cast(HloTensor, type_).element_type, ComplexType)


def part_type(type_: Attribute) -> HloTensor:
    """The type of each part of a complex tensor."""
    tensor = cast(HloTensor, type_)
    return make_tensor(tensor.get_shape(), cast("Any", tensor.element_type).element_type)


def pairs_type(type_: Attribute) -> Attribute:
    """`tensor<4xcomplex<f32>>` as `tensor<4x2xf32>`; other types are unchanged."""
    if not is_complex_type(type_):
        return type_
    part = part_type(type_)
    return make_tensor((*part.get_shape(), 2), part.element_type)


def interleave(z: Complex) -> Tensor:
    """
    Interleave two tensors of shape (..) into one of shape (.., 2), the memory layout of complex numbers.

    This is a select by the last index, not a concatenation: one loop computes both parts and writes whole pairs. Parts
    that were deinterleaved from one tensor give that tensor; if both were moved in the same way since, it is moved so.
    Parts that are put together of others are put together of their pairs, which are moved once and not part by part.
    """
    return _Search().pairs(z)


def whole_of(z: Complex) -> Tensor | None:
    """The tensor of pairs whose parts two values are, with the movements that both made; None if there is none."""
    return _Search().whole(z)


def as_pairs(value: SSAValue, parts: dict[SSAValue, Parts], op: Operation) -> SSAValue:
    """A complex value interleaved before its user `op`; any other value unchanged."""
    return interleave(Complex(*Builder.before(op).tensors(parts[value]))).value if value in parts else value


def deinterleave(pairs: Tensor) -> Complex:
    """The real and the imaginary parts, of shape (..), of a tensor (.., 2)."""
    last = len(pairs.shape) - 1
    return Complex(pairs.take(last, 0), pairs.take(last, 1))


_MOVEMENTS = (
    *(BroadcastInDimOp, ConcatenateOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp),
    *(PadOp, DynamicSliceOp, GatherOp),
)

_SHARED = (PadOp, DynamicSliceOp, GatherOp)
"""Movements whose first operand alone is moved: the others are the same for both parts."""


_LONGEST = 64
"""The movements in a row that are followed."""


class _Search:
    """
    The search for tensors of pairs at one place, each of which is found and made once: values that are moved twice and
    joined again and again, as by rotations, would be looked at as often as there are ways to them.
    """

    def __init__(self) -> None:
        self._wholes: dict[tuple[SSAValue, SSAValue], Tensor | None] = {}
        self._pairs: dict[tuple[SSAValue, SSAValue], Tensor] = {}
        self._depth = 0

    def pairs(self, z: Complex) -> Tensor:
        """See `interleave`."""
        key = z.re.value, z.im.value
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = self.whole(z) or self._joined(z) or _selected(z)
        return found

    def whole(self, z: Complex) -> Tensor | None:
        """See `whole_of`."""
        key = z.re.value, z.im.value
        if key not in self._wholes:
            pairs = _deinterleaved(z)
            self._wholes[key] = self._movement(z, self.whole) if pairs is None else Tensor(z.re.builder, pairs)
        return self._wholes[key]

    def _joined(self, z: Complex) -> Tensor | None:
        """The tensor of pairs of two values that are both padded or joined in the same way, or reshaped after that."""
        joint = z.re.value.owner
        while isinstance(joint, ReshapeOp):
            joint = joint.operands[0].owner
        return self._movement(z, self.pairs) if isinstance(joint, PadOp | ConcatenateOp) else None

    def _movement(self, z: Complex, pairs_of: Callable[[Complex], Tensor | None]) -> Tensor | None:
        """The movement that both parts make, of the pairs of its operands; None if there is none or they have none."""
        re, im = z.re.value.owner, z.im.value.owner
        if not isinstance(re, _MOVEMENTS) or not isinstance(im, _MOVEMENTS) or self._depth == _LONGEST:
            return None
        if type(re) is not type(im) or re.properties != im.properties or len(re.operands) != len(im.operands):
            return None
        operands = list(zip(re.operands, im.operands, strict=True))
        if isinstance(re, _SHARED):
            operands, others = operands[:1], operands[1:]
            if not all(is_same(*other) for other in others):
                return None
        if any(first.type != second.type for first, second in operands):
            return None
        pairs: list[Tensor] = []
        self._depth += 1
        for first, second in operands:
            found = pairs_of(Complex(Tensor(z.re.builder, first), Tensor(z.re.builder, second)))
            if found is None:
                break
            pairs.append(found)
        self._depth -= 1
        return _moved(re, pairs, z.re.shape) if len(pairs) == len(operands) else None


def _selected(z: Complex) -> Tensor:
    """The pairs of any two parts."""
    shape, rank = (*z.re.shape, 2), len(z.re.shape)
    re, im = (part.broadcast(shape, range(rank)) for part in z)
    index = z.re.builder.iota(make_tensor(shape, i32), rank)
    return index.equals(0).select(re, im)


def is_same(first: SSAValue, second: SSAValue) -> bool:
    """Whether two values are one, or equal constants to the bit."""
    one, other = first.owner, second.owner
    if isinstance(one, ConstantOp) and isinstance(other, ConstantOp):
        return one.value == other.value
    return first is second


def _moved(op: Operation, pairs: Sequence[Tensor], shape: Sequence[int]) -> Tensor | None:
    """The movement that an operation makes, of tensors of pairs; `shape`: of its result."""
    rank, x = len(shape), pairs[0]
    match op:
        case BroadcastInDimOp():
            return x.broadcast((*shape, 2), (*op.dims, rank))
        case ConcatenateOp():
            return concatenate(pairs, op.dim)
        case PadOp():
            low, high, interior = ((*amounts, 0) for amounts in (op.low, op.high, op.interior))
            return x.pad(Tensor(x.builder, op.operands[1]), low, high, interior)
        case DynamicSliceOp():
            type_ = tensor_type(op.start_indices[-1]) if rank else make_tensor((), i32)
            zero = x.builder.splat(0, type_)
            return x.dynamic_slice([*x.builder.tensors(op.start_indices), zero], (*op.sizes, 2))
        case GatherOp():
            dims = replace(op.dims, window=(*op.dims.window, rank))
            stated = {
                "dimension_numbers": GatherDimensionNumbersAttr.of(dims),
                "slice_sizes": int_array((*op.sizes, 2)),
            }
            type_ = make_tensor((*shape, 2), x.element)
            return x.builder.op(GatherOp, [x, op.start_indices], type_, **stated)
        case ReshapeOp():
            return x.reshape((*shape, 2))
        case ReverseOp():
            return x.reverse(op.dims)
        case SliceOp():
            return x.slice((*op.starts, 0), (*op.limits, 2), (*op.steps, 1))
        case TransposeOp():
            return x.transpose((*op.dims, rank))
        case _:
            return None


def _deinterleaved(z: Complex) -> SSAValue | None:
    """The tensor of which two values are all the parts, as `deinterleave` takes them; None if they are not."""
    sources: list[SSAValue] = []
    for number, part in enumerate(z):
        reshape = part.value.owner
        cut = reshape.operands[0].owner if isinstance(reshape, ReshapeOp) else None
        if not isinstance(cut, SliceOp):
            return None
        pairs = cut.operands[0]
        expected = [*((0, size, 1) for size in part.shape), (number, number + 1, 1)]
        if shape_of(pairs) != (*part.shape, 2) or list(zip(cut.starts, cut.limits, cut.steps, strict=True)) != expected:
            return None
        sources.append(pairs)
    return sources[0] if sources[0] is sources[1] else None


def split_signature(function: FuncOp) -> None:
    """Replace complex types in the function's signature by pairs, marking its arguments and results."""
    types = function.function_type
    for name, found in (("arg_attrs", types.inputs.data), ("res_attrs", types.outputs.data)):
        if any(map(is_complex_type, found)):
            function.properties[name] = _marked(function.properties.get(name), found)
    inputs, outputs = map(pairs_type, types.inputs), map(pairs_type, types.outputs)
    function.properties["function_type"] = FunctionType.from_lists(list(inputs), list(outputs))


def _marked(attributes: Attribute | None, types: Sequence[Attribute]) -> Attribute:
    given = cast("ArrayAttr[DictionaryAttr]", attributes).data if isinstance(attributes, ArrayAttr) else None
    stated: list[dict[str, Attribute]] = [dict(one.data) for one in given] if given else [{} for _ in types]
    for entry, type_ in zip(stated, types, strict=True):
        if is_complex_type(type_):
            entry[COMPLEX] = UnitAttr()
    return ArrayAttr([DictionaryAttr(entry) for entry in stated])


def split_custom_call(op: CustomCallOp, parts: dict[SSAValue, Parts]) -> list[Complex | Tensor]:
    """The call on pairs; returns each result's value, or its parts if it is complex."""

    builder = Builder.before(op)
    new = CustomCallOp.create(
        operands=[as_pairs(value, parts, op) for value in op.operands],
        result_types=[pairs_type(type_) for type_ in op.result_types],
        properties={**op.properties, **_layouts(op)},
        attributes={
            **op.attributes,
            COMPLEX_OPERANDS: _flags(op.operand_types),
            COMPLEX_RESULTS: _flags(op.result_types),
        },
    )
    builder.insert(new)
    return [
        deinterleave(result) if is_complex_type(old.type) else result
        for old, result in zip(op.results, builder.tensors(new.results), strict=True)
    ]


def _flags(types: Sequence[Attribute]) -> Attribute:
    return ArrayAttr([BoolAttr.from_bool(is_complex_type(type_)) for type_ in types])


def _layouts(op: CustomCallOp) -> dict[str, Attribute]:
    """The layouts, minor to major, with the dimension of the parts as the minormost."""
    changed: dict[str, Attribute] = {}
    for name, types in (("operand_layouts", op.operand_types), ("result_layouts", op.result_types)):
        layouts = op.properties.get(name)
        if not isinstance(layouts, ArrayAttr):
            continue
        changed[name] = ArrayAttr(
            [
                _with_pairs(layout) if is_complex_type(type_) else layout
                for layout, type_ in zip(cast("ArrayAttr[Attribute]", layouts).data, types, strict=True)
            ]
        )
    return changed


def _with_pairs(layout: Attribute) -> Attribute:
    dense = cast("DenseIntOrFPElementsAttr[Any]", layout)
    order: list[int] = [] if dense.get_shape() == (0,) else np.frombuffer(dense.data.data, np.int64).tolist()
    type_ = TensorType(dense.get_element_type(), [len(order) + 1])
    data = np.array([len(order), *order], np.int64).tobytes()
    return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(data))
