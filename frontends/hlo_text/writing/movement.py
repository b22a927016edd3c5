"""Operations that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....hlo_dialect.attributes import ints
from ....hlo_dialect.ops.broadcast import BroadcastOp
from ....hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ....hlo_dialect.ops.dynamism.dimension_sizes import GetDimensionSizeOp, SetDimensionSizeOp
from ....hlo_dialect.ops.dynamism.dynamic_shapes import DynamicReshapeOp
from ....hlo_dialect.ops.gather import GatherOp
from ....hlo_dialect.ops.index_dimensions import IndexDimensions
from ....hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ....hlo_dialect.ops.scatter import ScatterOp
from ....hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ....hlo_dialect.types import element_of, make_tensor, shape_of
from ..opcodes.movement import GATHER_LISTS, SCATTER_LISTS
from ..shapes import type_text
from .lines import Lines
from .rules import writers
from .values import braced, opcode_of


def _shaped(lines: Lines, op: Any, shape: Sequence[int]) -> str:
    """The text of an array of another shape with the elements of the first operand."""
    type_ = make_tensor(tuple(shape), element_of(op.operands[0]))
    lines.type(type_, op)
    return type_text(type_) or ""


@writers.on(BroadcastInDimOp)
def _broadcast_in_dim(lines: Lines, op: Any) -> None:
    """HLO repeats no dimension of size 1 and takes them in order: both are done to the operand before."""
    dims, shape, result = list(ints(op.broadcast_dimensions)), shape_of(op.operands[0]), shape_of(op.results[0])
    name = lines.name(op.operands[0], op)
    kept = [axis for axis, dim in enumerate(dims) if shape[axis] == result[dim]]
    if len(kept) < len(dims):
        name = lines.add(op, _shaped(lines, op, [shape[axis] for axis in kept]), "reshape", [name])
        dims, shape = [dims[axis] for axis in kept], tuple(shape[axis] for axis in kept)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    if order != list(range(len(dims))):
        text = _shaped(lines, op, [shape[axis] for axis in order])
        name = lines.add(op, text, "transpose", [name], f"dimensions={braced(order)}")
    lines.define(op, "broadcast", f"dimensions={braced(sorted(dims))}", operands=[name])


@writers.on(BroadcastOp)
def _broadcast(lines: Lines, op: Any) -> None:
    rank, result = len(shape_of(op.operands[0])), len(shape_of(op.results[0]))
    lines.define(op, "broadcast", f"dimensions={braced(range(result - rank, result))}")


@writers.on(ReshapeOp, DynamicUpdateSliceOp)
def _plain(lines: Lines, op: Any) -> None:
    lines.define(op, opcode_of(op))


@writers.on(ConcatenateOp, GetDimensionSizeOp, SetDimensionSizeOp)
def _along(lines: Lines, op: Any) -> None:
    lines.define(op, opcode_of(op), f"dimensions={braced([op.dimension.value.data])}")


@writers.on(DynamicReshapeOp)
def _dynamic_reshape(lines: Lines, op: Any) -> None:
    """The vector of sizes as one scalar for each dimension."""
    array, sizes = lines.operands(op)
    element = element_of(op.operands[1])
    names: list[str] = []
    for dim in range(len(shape_of(op.results[0]))):
        one, scalar = make_tensor((1,), element), make_tensor((), element)
        lines.type(one, op)
        part = lines.add(op, type_text(one) or "", "slice", [sizes], f"slice={{[{dim}:{dim + 1}]}}")
        names.append(lines.add(op, type_text(scalar) or "", "reshape", [part]))
    lines.define(op, "dynamic-reshape", operands=[array, *names])


@writers.on(TransposeOp)
def _transpose(lines: Lines, op: Any) -> None:
    lines.define(op, "transpose", f"dimensions={braced(ints(op.permutation))}")


@writers.on(ReverseOp)
def _reverse(lines: Lines, op: Any) -> None:
    lines.define(op, "reverse", f"dimensions={braced(ints(op.dimensions))}")


@writers.on(SliceOp)
def _slice(lines: Lines, op: Any) -> None:
    entries = zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), strict=True)
    texts = [f"[{start}:{limit}{f':{stride}' if stride != 1 else ''}]" for start, limit, stride in entries]
    lines.define(op, "slice", f"slice={{{', '.join(texts)}}}")


@writers.on(PadOp)
def _pad(lines: Lines, op: Any) -> None:
    entries = zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True)
    text = "x".join(f"{low}_{high}{f'_{inner}' if inner else ''}" for low, high, inner in entries)
    if not text:
        # HLO text cannot state the padding of a scalar, which is the scalar itself.
        lines.names[op.results[0]] = lines.name(op.operands[0], op)
        return
    lines.define(op, "pad", f"padding={text}")


@writers.on(DynamicSliceOp)
def _dynamic_slice(lines: Lines, op: Any) -> None:
    lines.define(op, "dynamic-slice", f"dynamic_slice_sizes={braced(ints(op.slice_sizes))}")


def _numbers(dims: IndexDimensions, names: Sequence[str]) -> list[str]:
    lists = (dims.window, dims.collapsed, dims.batching, dims.index_batching, dims.index_map)
    found = [
        f"{name}={braced(values)}"
        for name, values in zip(names, lists, strict=True)
        if values or "batching" not in name
    ]
    return [*found, f"index_vector_dim={dims.vector_dim}"]


def _flag(op: Any, name: str) -> str:
    value = op.properties.get(name)
    return f"{name}=true" if value is not None and value.value.data else ""


@writers.on(GatherOp)
def _gather(lines: Lines, op: Any) -> None:
    numbers = _numbers(op.dimension_numbers.dimensions, GATHER_LISTS.split())
    sizes = f"slice_sizes={braced(ints(op.slice_sizes))}"
    lines.define(op, "gather", *numbers, sizes, _flag(op, "indices_are_sorted"))


@writers.on(ScatterOp)
def _scatter(lines: Lines, op: Any) -> None:
    numbers = _numbers(op.scatter_dimension_numbers.dimensions, SCATTER_LISTS.split())
    computation = f"to_apply=%{lines.region(op, op.regions[0], 'scatter_computation')}"
    lines.define(op, "scatter", *numbers, _flag(op, "indices_are_sorted"), _flag(op, "unique_indices"), computation)
