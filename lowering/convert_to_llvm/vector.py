"""
vector to llvm: 1-D vectors.

A load or store is aligned only to the element because callers may align their buffers arbitrarily; the attribute
`alignment` states a larger alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.buffers import Buffer, i32_array, vector_type
from ...dialects.support.llvm_layout import Vector
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import int_values
from .builder import LlvmBuilder, flags_of, patterns
from .conventions import I32
from .fused import multiply_add
from .memref import from_memory, is_nontemporal, to_memory
from .narrow import EXTREMES, extreme, has_soft_extremes, in_single


def _length(type_: Attribute) -> int:
    return cast(Vector, type_).get_shape()[0]


def _vector_address(to: LlvmBuilder, base: SSAValue, indices: Sequence[SSAValue], inbounds: bool = True) -> SSAValue:
    """The address of consecutive elements from `base[indices]`. The last dimension must be dense."""
    strides = to.layout(base.type).strides
    if strides and strides[-1] != 1:
        fail(to.op, f"accesses elements {strides[-1]} apart: the last dimension of the memref must be dense")
    return to.address(base, indices, inbounds)


def _alignment(to: LlvmBuilder, itemsize: int) -> int:
    stated = to.op.attributes.get("alignment")
    return cast("IntegerAttr[Any]", stated).value.data if isinstance(stated, IntegerAttr) else itemsize


def _load_vector(to: LlvmBuilder, base: SSAValue, indices: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    layout = to.layout(base.type)
    pointer = _vector_address(to, base, indices)
    memory = to.like(to.type(type_), layout.element)
    return from_memory(to, to.load(pointer, memory, _alignment(to, layout.itemsize), to.tag(base)), layout)


def _store_vector(
    to: LlvmBuilder, value: SSAValue, base: SSAValue, indices: Sequence[SSAValue], nontemporal: bool = False
) -> None:
    layout = to.layout(base.type)
    stored = to_memory(to, to.operand(value), layout)
    pointer = _vector_address(to, base, indices)
    to.store(stored, pointer, _alignment(to, layout.itemsize), to.tag(base), nontemporal)


@patterns.on(vector.LoadOp)
def _load(op: vector.LoadOp, to: LlvmBuilder) -> None:
    to.define(op.result, _load_vector(to, op.base, op.indices, op.result.type))


@patterns.on(vector.StoreOp)
def _store(op: vector.StoreOp, to: LlvmBuilder) -> None:
    _store_vector(to, op.vector, op.base, op.indices, is_nontemporal(op))


@patterns.on(vector.MaskedLoadOp)
def _masked_load(op: vector.MaskedLoadOp, to: LlvmBuilder) -> None:
    """Lanes whose mask bit is clear are not read and take the pass-through value."""
    layout = to.layout(op.base.type)
    type_ = to.like(to.type(op.result.type), layout.element)
    operands = (
        _vector_address(to, op.base, op.indices, inbounds=False),
        to.constant(layout.itemsize, I32),
        to.operand(op.mask),
        to_memory(to, to.operand(op.pass_thru), layout),
    )
    value = to.intrinsic("masked.load", operands, type_, (type_, operands[0].type), tagged=to.tag(op.base))
    to.define(op.result, from_memory(to, value, layout))


@patterns.on(vector.MaskedStoreOp)
def _masked_store(op: vector.MaskedStoreOp, to: LlvmBuilder) -> None:
    layout = to.layout(op.base.type)
    value = to_memory(to, to.operand(op.value_to_store), layout)
    pointer = _vector_address(to, op.base, op.indices, inbounds=False)
    operands = (value, pointer, to.constant(layout.itemsize, I32), to.operand(op.mask))
    to.intrinsic("masked.store", operands, None, (value.type, pointer.type), tagged=to.tag(op.base))


def _plain_transfer(op: vector.TransferReadOp | vector.TransferWriteOp) -> None:
    """Refuse transfers that are not a plain vector.load or store: masks, permutations, lanes outside the memref."""
    source = op.source.type
    rank = len(cast(Buffer, source).get_shape()) if isinstance(source, MemRefType) else 0
    dims = [str(result) for result in op.permutation_map.data.results]
    in_bounds = all(cast("IntegerAttr[Any]", flag).value.data for flag in cast("ArrayAttr[Any]", op.in_bounds).data)
    if op.mask is not None or dims != [f"d{rank - 1}"] or not in_bounds:
        fail(op, "is no plain access: only unmasked, in-bounds transfers of the last dimension are supported")


@patterns.on(vector.TransferReadOp)
def _transfer_read(op: vector.TransferReadOp, to: LlvmBuilder) -> None:
    _plain_transfer(op)
    to.define(op.result, _load_vector(to, op.source, op.indices, op.result.type))


@patterns.on(vector.TransferWriteOp)
def _transfer_write(op: vector.TransferWriteOp, to: LlvmBuilder) -> None:
    _plain_transfer(op)
    _store_vector(to, op.vector, op.source, op.indices)


@patterns.on(vector.BroadcastOp)
def _broadcast(op: vector.BroadcastOp, to: LlvmBuilder) -> None:
    """Broadcast a scalar, or a vector of one element, to every lane."""
    source, length = to.operand(op.source), _length(to.type(op.vector.type))
    type_ = source.type
    if isinstance(type_, VectorType):
        have = _length(cast(Vector, type_))
        if have == length:
            to.define(op.vector, source)
            return
        if have != 1:
            fail(op, f"broadcasts {type_}: only scalars and vectors of one element are supported")
        source = to.extract_element(source, to.constant(0))
    to.define(op.vector, to.splat(source, length))


@patterns.on(vector.FMAOp)
def _fma(op: vector.FMAOp, to: LlvmBuilder) -> None:
    def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        if to.conventions.soft_fma:
            return multiply_add(to, operands, type_)
        return to.intrinsic("fma", operands, type_, (type_,))

    to.define(op.res, in_single(to, to.operands(op), to.type(op.res.type), compute))


def _position(op: vector.ExtractOp | vector.InsertOp, to: LlvmBuilder) -> SSAValue:
    """The lane of an extraction or insertion."""
    positions = op.static_position.get_values()
    if len(positions) != 1:
        fail(op, "takes or puts a whole vector: only single elements are supported")
    if positions[0] == DYNAMIC_INDEX:
        return to.operand(op.dynamic_position[0])
    return to.constant(int(positions[0]))


@patterns.on(vector.ExtractOp)
def _extract(op: vector.ExtractOp, to: LlvmBuilder) -> None:
    to.define(op.result, to.extract_element(to.operand(op.vector), _position(op, to)))


@patterns.on(vector.InsertOp)
def _insert(op: vector.InsertOp, to: LlvmBuilder) -> None:
    operands = (to.operand(op.dest), to.operand(op.source), _position(op, to))
    to.define(op.result, to.emit(llvm.InsertElementOp, operands, to.type(op.result.type)))


@patterns.on(vector.ShuffleOp)
def _shuffle(op: vector.ShuffleOp, to: LlvmBuilder) -> None:
    """
    Lanes of both vectors by number; the shorter one is lengthened first because llvm's operands have equal lengths.
    """
    first, second = to.operand(op.v1), to.operand(op.v2)
    lengths = _length(first.type), _length(second.type)
    longest = max(lengths)
    values = [_lengthened(to, value, longest) for value in (first, second)]
    moved = longest - lengths[0]
    mask = tuple([lane if lane < lengths[0] else lane + moved for lane in int_values(op.mask)])
    properties = {"mask": i32_array(mask)}
    to.define(op.result, to.emit(llvm.ShuffleVectorOp, values, to.type(op.result.type), properties))


def _lengthened(to: LlvmBuilder, value: SSAValue, length: int) -> SSAValue:
    """The vector extended with undefined lanes."""
    have = _length(value.type)
    if have == length:
        return value
    mask = i32_array((*range(have), *[-1] * (length - have)))
    type_ = vector_type(cast(Vector, value.type).element_type, length)
    return to.emit(llvm.ShuffleVectorOp, (value, to.poison(value.type)), type_, {"mask": mask})


@patterns.on(vector.BitcastOp)
def _bitcast(op: vector.BitcastOp, to: LlvmBuilder) -> None:
    source, type_ = to.operand(op.source), to.type(op.result.type)
    to.define(op.result, source if source.type == type_ else to.emit(llvm.BitcastOp, (source,), type_))


@patterns.on(vector.CreateMaskOp)
def _create_mask(op: vector.CreateMaskOp, to: LlvmBuilder) -> None:
    """Bit i is set if `i < n`: compares the lane numbers with n, clamped to their range."""
    length = _length(to.type(op.mask_vector.type))
    bound = to.operand(op.mask_dim_sizes[0])
    for name, limit in (("smax", 0), ("smin", length)):
        bound = to.intrinsic(name, (bound, to.constant(limit, bound.type)), bound.type, (bound.type,))
    narrow = bound if bound.type == I32 else to.emit(llvm.TruncOp, (bound,), I32)
    lanes = vector_type(I32, length)
    numbers = DenseIntOrFPElementsAttr.from_list(cast(Any, lanes), list(range(length)))
    to.define(op.mask_vector, to.compare("slt", to.attribute_constant(numbers, lanes), to.splat(narrow, length)))


_REDUCTIONS = {
    "add": ("add", "fadd", llvm.AddOp, llvm.FAddOp),
    "mul": ("mul", "fmul", llvm.MulOp, llvm.FMulOp),
    "and": ("and", None, llvm.AndOp, None),
    "or": ("or", None, llvm.OrOp, None),
    "xor": ("xor", None, llvm.XOrOp, None),
    "minsi": ("smin", None, "smin", None),
    "maxsi": ("smax", None, "smax", None),
    "minui": ("umin", None, "umin", None),
    "maxui": ("umax", None, "umax", None),
    "minnumf": (None, "fmin", None, "minnum"),
    "maxnumf": (None, "fmax", None, "maxnum"),
    "minimumf": (None, "fminimum", None, "minimum"),
    "maximumf": (None, "fmaximum", None, "maximum"),
}
"""By kind: the reductions of integers and of floats, and the operations that combine the result with an accumulator."""

_NEUTRAL = {"add": -0.0, "mul": 1.0}
"""The start value of an ordered float reduction."""


@patterns.on(vector.ReductionOp)
def _reduction(op: vector.ReductionOp, to: LlvmBuilder) -> None:
    """
    `vector.reduction <add>, %v, %acc` becomes `llvm.vector.reduce.fadd(%acc, %v)`: lane by lane from the accumulator,
    in any order if the operation is reassoc. The other kinds combine the accumulator afterwards.
    """
    kind = str(op.kind.data)
    integer_name, float_name, integer_combiner, float_combiner = _REDUCTIONS[kind]
    source = to.operand(op.vector)
    element = cast(Vector, source.type).element_type
    accumulator = to.operand(op.acc) if op.acc is not None else None
    is_float = not element.name.startswith("integer")
    name, combiner = (float_name, float_combiner) if is_float else (integer_name, integer_combiner)
    if name is None or combiner is None:
        fail(op, f"of kind {kind} does not take elements of type {element}")
    flags = flags_of(op) if is_float else None

    def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        vector_, *start = operands
        full = f"vector.reduce.{name}"
        if name in ("fadd", "fmul"):
            first = start[0] if start else to.float_constant(_NEUTRAL[kind], type_)
            return to.intrinsic(full, (first, vector_), type_, (vector_.type,), flags)
        if isinstance(combiner, str) and combiner in EXTREMES and has_soft_extremes(to, type_):
            lanes = [to.extract_element(vector_, to.constant(lane)) for lane in range(_length(vector_.type))]
            return reduce(partial(extreme, to, combiner), [*start, *lanes])
        result = to.intrinsic(full, (vector_,), type_, (vector_.type,), flags)
        if not start:
            return result
        if isinstance(combiner, str):
            return to.intrinsic(combiner, (start[0], result), type_, (type_,), flags)
        return to.emit(combiner, (start[0], result), type_)

    operands = [source] if accumulator is None else [source, accumulator]
    to.define(op.dest, in_single(to, operands, element, compute))
