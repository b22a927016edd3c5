"""Operations on memory: memref, and the loads, stores and rearrangements of vector."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.buffers import row_major
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.numbers.narrow_integers import narrow_width, with_sign, without_sign
from ...hlo_dialect.numbers.scalar_operations import PLAIN, element_dtype, plain_function
from ...hlo_dialect.types import Array, constant_array
from .evaluator import Evaluator, Maker, Step, Symbols
from .lanes import Frame
from .memory import PRIVATE, Memory, View, load, load_run, scalar, store, store_run

PRIVATE_REDUCTIONS = {
    "add": "arith.addf",
    "mul": "arith.mulf",
    "maximumf": "arith.maximumf",
    "minimumf": "arith.minimumf",
    "maxnumf": "arith.maxnumf",
    "minnumf": "arith.minnumf",
    "maxsi": "arith.maxsi",
    "minsi": "arith.minsi",
    "maxui": "arith.maxui",
    "minui": "arith.minui",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
}
"""The combiner of each kind of vector.reduction."""


def layout_of(op: Operation, type_: Attribute) -> tuple[tuple[int, ...], tuple[int, ...], np.dtype[Any]]:
    """Shape, strides and dtype of a memref of identity layout."""
    assert isinstance(type_, MemRefType)
    shape = type_.get_shape()
    if any(size < 0 for size in shape):
        fail(op, "has a memref of unknown size; the SIMT interpreter needs static shapes")
    return shape, row_major(shape), element_dtype(op, cast(Attribute, type_))


def symbols_of(ops: Iterable[Operation]) -> Symbols:
    """The functions and constants among the operations of a module."""
    found = Symbols()
    for op in ops:
        if isinstance(op, func.FuncOp):
            found.functions[op.sym_name.data] = op
        elif isinstance(op, memref.GlobalOp):
            found.constants[op.sym_name.data] = _constant(op)
    return found


def _constant(op: memref.GlobalOp) -> View:
    type_ = op.type
    assert isinstance(type_, MemRefType)
    shape, strides, dtype = layout_of(op, type_)
    if not isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        return View(Memory.fresh(int(np.prod(shape)) * dtype.itemsize), dtype, 0, shape, strides)
    array = np.ascontiguousarray(np.broadcast_to(constant_array(op.initial_value), shape))
    return View(Memory.of(array, constant=True), dtype, 0, shape, strides)


def _get_global(evaluator: Evaluator, op: memref.GetGlobalOp) -> Step:
    name, result = op.name_.string_value(), op.memref

    def step(frame: Frame) -> None:
        frame.env[result] = evaluator.symbols.constants[name]

    return step


def _load(evaluator: Evaluator, op: memref.LoadOp) -> Step:
    source, indices, result = op.memref, tuple(op.indices), op.res
    width = narrow_width(result.type)

    def step(frame: Frame) -> None:
        env = frame.env
        value = load(frame, op, env[source], [env[index] for index in indices])
        env[result] = value if width is None else with_sign(value, width)

    return step


def _store(evaluator: Evaluator, op: memref.StoreOp) -> Step:
    value, target, indices = op.value, op.memref, tuple(op.indices)
    width = narrow_width(value.type)

    def step(frame: Frame) -> None:
        env = frame.env
        stored = env[value] if width is None else without_sign(env[value], width)
        store(frame, op, env[target], [env[index] for index in indices], stored)

    return step


def _vector_load(evaluator: Evaluator, op: vector.LoadOp) -> Step:
    source, indices, result = op.base, tuple(op.indices), op.result
    (rows, count), aligned = _shape(op, result.type), _alignment(op)
    width = narrow_width(result.type)

    def step(frame: Frame) -> None:
        env = frame.env
        places = [env[index] for index in indices]
        if rows:
            found = [load_run(frame, op, env[source], _row(places, row), count, aligned) for row in range(rows)]
            env[result] = np.stack(np.broadcast_arrays(*found))
            return
        value = load_run(frame, op, env[source], places, count, aligned)
        env[result] = value if width is None else with_sign(value, width)

    return step


def _vector_store(evaluator: Evaluator, op: vector.StoreOp) -> Step:
    value, target, indices = op.vector, op.base, tuple(op.indices)
    rows, _ = _shape(op, value.type)
    aligned, width = _alignment(op), narrow_width(value.type)

    def step(frame: Frame) -> None:
        env = frame.env
        for row in range(rows):
            places = _row([env[index] for index in indices], row)
            store_run(frame, op, env[target], places, env[value][row], aligned)
        if rows:
            return
        stored = env[value] if width is None else without_sign(env[value], width)
        store_run(frame, op, env[target], [env[index] for index in indices], stored, aligned)

    return step


def _alignment(op: Operation) -> int:
    """The stated alignment of a vector's address, in bytes."""
    stated = op.attributes.get("alignment")
    return cast("IntegerAttr[Any]", stated).value.data if isinstance(stated, IntegerAttr) else 1


def _shape(op: Operation, type_: Attribute) -> tuple[int, int]:
    """The rows of a fragment, each a vector in memory, or 0 for a plain vector; and the elements of a row."""
    assert isinstance(type_, VectorType)
    *rows, count = type_.get_shape()
    if len(rows) > 1 or (rows and len(cast("Any", op).indices) < 2):
        fail(op, f"accesses memory as {type_}; the SIMT interpreter does so by vectors, or rows of fragments")
    return rows[0] if rows else 0, count


def _row(places: Sequence[Array], row: int) -> list[Array]:
    """The indices of a row of the fragment that begins at `places`."""
    return [*places[:-2], places[-2] + row, places[-1]]


def _mixed(static: Iterable[int], dynamic: Sequence[SSAValue]) -> list[int | SSAValue]:
    left = iter(dynamic)
    return [next(left) if number == DYNAMIC_INDEX else number for number in static]


def _numbers(frame: Frame, mixed: Sequence[int | SSAValue]) -> list[Any]:
    """Numbers that may differ between threads: ints if they do not."""
    values = [number if isinstance(number, int) else frame.env[number] for number in mixed]
    return [value if isinstance(value, int) or value.size > 1 else scalar(value) for value in values]


def _known(op: Operation, numbers: Sequence[Any]) -> list[int]:
    if not all(isinstance(number, int) for number in numbers):
        fail(op, "has sizes or strides that differ between threads")
    return list(numbers)


def _box(op: memref.ReinterpretCastOp | memref.SubviewOp) -> tuple[list[int | SSAValue], ...]:
    """The offsets, sizes and strides of a view, numbers or values."""
    return (
        _mixed(op.static_offsets.get_values(), op.offsets),
        _mixed(op.static_sizes.get_values(), op.sizes),
        _mixed(op.static_strides.get_values(), op.strides),
    )


def _reinterpret_cast(evaluator: Evaluator, op: memref.ReinterpretCastOp) -> Step:
    offsets, sizes, strides = _box(op)
    source, result = op.source, op.result

    def step(frame: Frame) -> None:
        view: View = frame.env[source]
        # The offset counts from the start of the allocation.
        (offset,) = _numbers(frame, offsets)
        shape, steps = _known(op, _numbers(frame, sizes)), _known(op, _numbers(frame, strides))
        frame.env[result] = view.moved(view.base + offset, shape, steps)

    return step


def _subview(evaluator: Evaluator, op: memref.SubviewOp) -> Step:
    offsets, sizes, strides = _box(op)
    source, result = op.source, op.result

    def step(frame: Frame) -> None:
        view: View = frame.env[source]
        shape, steps = _known(op, _numbers(frame, sizes)), _known(op, _numbers(frame, strides))
        offset = view.offset
        for number, stride in zip(_numbers(frame, offsets), view.strides, strict=True):
            offset = offset + number * stride
        steps = [step * stride for step, stride in zip(steps, view.strides, strict=True)]
        type_ = result.type
        assert isinstance(type_, MemRefType)
        kept = _kept_dimensions(shape, type_.get_shape())
        frame.env[result] = view.moved(offset, [shape[d] for d in kept], [steps[d] for d in kept])

    return step


def _kept_dimensions(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The dimensions of a subview that its type keeps: it may drop some of size 1."""
    kept: list[int] = []
    for dim, size in enumerate(shape):
        left = len(shape) - dim
        missing = len(wanted) - len(kept)
        if missing and (left == missing or (wanted[len(kept)] in (size, DYNAMIC_INDEX) and (size != 1 or missing))):
            kept.append(dim)
    return kept


def _cast(evaluator: Evaluator, op: Operation) -> Step:
    source, result = op.operands[0], op.results[0]

    def step(frame: Frame) -> None:
        frame.env[result] = frame.env[source]

    return step


def _reshape(evaluator: Evaluator, op: Operation) -> Step:
    shape, strides, _ = layout_of(op, op.results[0].type)
    source, result = op.operands[0], op.results[0]

    def step(frame: Frame) -> None:
        view: View = frame.env[source]
        if view.strides != row_major(view.shape):
            fail(op, "reshapes a memref that is not of identity layout; the SIMT interpreter does not")
        frame.env[result] = view.moved(view.offset, shape, strides)

    return step


def _view(evaluator: Evaluator, op: memref.ViewOp) -> Step:
    shape, strides, dtype = layout_of(op, op.results[0].type)
    source, shift = op.operands[0], op.operands[1]

    def step(frame: Frame) -> None:
        view: View = frame.env[source]
        at = (view.offset + frame.env[shift]) * view.dtype.itemsize
        if (at % dtype.itemsize != 0).any():
            frame.fail(op, f"is not aligned to elements of {dtype.itemsize} bytes", frame.active())
        at = at // dtype.itemsize
        left = int(np.min((view.base + view.extent) * view.dtype.itemsize - at * dtype.itemsize)) // dtype.itemsize
        extent = max(0, min(math.prod(shape), left))
        frame.env[op.results[0]] = View(view.memory, dtype, at, shape, strides, view.shadow, at, extent)

    return step


def _alloca(evaluator: Evaluator, op: memref.AllocaOp) -> Step:
    result = op.memref
    shape, strides, dtype = layout_of(op, result.type)
    count = max(1, math.prod(shape))

    def step(frame: Frame) -> None:
        lanes = frame.lanes
        memory = Memory.fresh(count * dtype.itemsize, lanes.blocks * lanes.threads, PRIVATE)
        start = (lanes.rows * lanes.threads + lanes.columns) * count
        # Undefined values may be read, like undefined registers: threads whose results are dropped do so.
        frame.env[result] = View(memory, dtype, start, shape, strides, base=start)

    return step


def _dim(evaluator: Evaluator, op: memref.DimOp) -> Step:
    def step(frame: Frame) -> None:
        size = frame.env[op.source].shape[scalar(frame.env[op.index])]
        frame.env[op.result] = np.full((1, 1), size, np.int64)

    return step


# -- vectors --------------------------------------------------------------------------------------------------------


def _broadcast(evaluator: Evaluator, op: vector.BroadcastOp) -> Step:
    type_ = op.vector.type
    assert isinstance(type_, VectorType)
    shape, scalars, vectors = type_.get_shape(), op.source, op.vector

    def step(frame: Frame) -> None:
        source: Array = frame.env[scalars]
        frame.env[vectors] = np.broadcast_to(source, (*shape, *source.shape[-2:]))

    return step


def _positions(frame: Frame, mixed: Sequence[int | SSAValue], op: Operation) -> list[int]:
    return _known(op, _numbers(frame, mixed))


def _extract(evaluator: Evaluator, op: vector.ExtractOp) -> Step:
    mixed = _mixed(op.static_position.get_values(), op.dynamic_position)
    source, result = op.vector, op.result

    def step(frame: Frame) -> None:
        frame.env[result] = frame.env[source][tuple(_positions(frame, mixed, op))]

    return step


def _insert(evaluator: Evaluator, op: vector.InsertOp) -> Step:
    mixed = _mixed(op.static_position.get_values(), op.dynamic_position)
    inserted, into, inserted_into = op.source, op.dest, op.result

    def step(frame: Frame) -> None:
        source, dest = frame.env[inserted], frame.env[into]
        lanes = np.broadcast_shapes(source.shape[-2:], dest.shape[-2:])
        result = np.broadcast_to(dest, (*dest.shape[:-2], *lanes)).copy()
        result[tuple(_positions(frame, mixed, op))] = source
        frame.env[inserted_into] = result

    return step


def _shuffle(evaluator: Evaluator, op: vector.ShuffleOp) -> Step:
    chosen = [int(place) for place in op.mask.get_values()]
    first, second, result = op.v1, op.v2, op.result

    def step(frame: Frame) -> None:
        left, right = frame.env[first], frame.env[second]
        lanes = np.broadcast_shapes(left.shape[-2:], right.shape[-2:])
        both = [np.broadcast_to(x, (*x.shape[:-2], *lanes)) for x in (left, right)]
        frame.env[result] = np.concatenate(both)[chosen]

    return step


def _fma(evaluator: Evaluator, op: vector.FMAOp) -> Step:
    left, right, acc, result = op.lhs, op.rhs, op.acc, op.res
    compute = PLAIN["math.fma"]

    def step(frame: Frame) -> None:
        env = frame.env
        env[result] = compute(env[left], env[right], env[acc])

    return step


def _reduction(evaluator: Evaluator, op: vector.ReductionOp) -> Step:
    kind: str = op.kind.data.value
    combine = plain_function(PRIVATE_REDUCTIONS[kind], op.vector.type)
    assert combine is not None
    vector_, acc, dest = op.vector, op.acc, op.dest

    def step(frame: Frame) -> None:
        values: Array = frame.env[vector_]
        result = values[0] if acc is None else combine(frame.env[acc], values[0])
        for value in values[1:]:
            result = combine(result, value)
        frame.env[dest] = result

    return step


def _bitcast(evaluator: Evaluator, op: vector.BitcastOp) -> Step:
    dtype = element_dtype(op, op.results[0].type)
    source, result = op.operands[0], op.results[0]

    def step(frame: Frame) -> None:
        inner = np.moveaxis(frame.env[source], -3, -1)
        frame.env[result] = np.moveaxis(np.ascontiguousarray(inner).view(dtype), -1, -3)

    return step


MAKERS: dict[str, Maker] = {
    "memref.get_global": _get_global,
    "memref.load": _load,
    "memref.store": _store,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.subview": _subview,
    "memref.cast": _cast,
    "memref.memory_space_cast": _cast,
    "memref.assume_alignment": _cast,
    "memref.collapse_shape": _reshape,
    "memref.expand_shape": _reshape,
    "memref.view": _view,
    "memref.alloca": _alloca,
    "memref.dim": _dim,
    "vector.load": _vector_load,
    "vector.store": _vector_store,
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.fma": _fma,
    "vector.reduction": _reduction,
    "vector.bitcast": _bitcast,
}
