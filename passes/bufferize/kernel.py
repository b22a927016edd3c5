"""
Bufferization of one kernel function: results become output parameters.

Every tensor value gets a destination before anything is rewritten: the output parameter if it is returned, the slice
that it is inserted into, the destination of the operation that updates it, else a new buffer. A `tensor.empty` has no
buffer; the operation that writes it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.support.attributes import function_type, return_op
from ...dialects.support.buffer_ops import (
    alloc,
    buffer_type,
    copy,
    index_constant,
    is_tensor,
    load,
    neighbours,
    reshape,
    subview,
)
from ...dialects.support.buffers import Buffer, row_major
from ...dialects.support.classes import one_of
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.linalg_ops import fill_op
from ...dialects.support.rewriting import like, set_type
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp, ExtractSliceOp, InsertSliceOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in, operations_of


def slice_offsets(op: tensor.InsertSliceOp) -> list[SSAValue | int]:
    """The offsets of an insert_slice, each a number or a value."""
    dynamic = iter(op.offsets)
    static = op.static_offsets.get_values()
    return [next(dynamic) if offset == DYNAMIC_INDEX else offset for offset in static]


class KernelBufferizer:
    """Rewrites one kernel in place. Assumes a single block, ended by func.return, of linalg and tensor ops."""

    def __init__(self, function: func.FuncOp, tied: Sequence[int]):
        self.function = function
        self.block: Block = function.body.block
        self.tied = tuple(tied)
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.parts: dict[SSAValue, SSAValue] = {}
        """The buffers of which `destination` has made windows, by window."""
        self.returned: list[SSAValue] = []
        self.outputs: list[SSAValue] = []

    def run(self) -> None:
        terminator = self.block.last_op
        if not isinstance(terminator, func.ReturnOp):
            fail(self.function, "kernel does not end with func.return")
        self.returned = list(terminator.operands)
        self._make_parameters()
        ops = list(self.block.ops)
        for op in ops:
            rewrite = _rewrite_of(op)
            if rewrite is not None:
                rewrite(self, op)
            elif any(is_tensor(v) for v in (*op.operands, *op.results)) and op is not terminator:
                fail(op, "is not supported by bufferize inside a kernel")
        self._finish(terminator)
        for op in reversed(ops):
            if _rewrite_of(op) is not None:
                erase_op(op)

    def _make_parameters(self) -> None:
        for argument in self.block.args:
            if is_tensor(argument):
                set_type(argument, buffer_type(argument.type))
                self.buffers[argument] = argument
        for index, value in enumerate(self.returned):
            if index < len(self.tied):
                self.outputs.append(self.block.args[self.tied[index]])
            else:
                type_ = buffer_type(value.type) if is_tensor(value) else value.type
                self.outputs.append(self.block.insert_arg(type_, len(self.block.args)))

    def _finish(self, terminator: Operation) -> None:
        copies: list[Operation] = []
        for value, output in zip(self.returned, self.outputs, strict=True):
            source = self.buffers.get(value)
            if source is None and not isinstance(value.owner, tensor.EmptyOp):
                fail(terminator, "returns a value that nothing computes")
            if source is not None and source is not output:
                copies.append(copy(source, output))
        self.block.insert_ops_before([*copies, return_op()], terminator)
        erase_op(terminator)
        inputs = [argument.type for argument in self.block.args]
        self.function.properties["function_type"] = function_type(inputs, ())
        if len(self.tied) == 0 and self.function.properties.get("res_attrs") is not None:
            del self.function.properties["res_attrs"]

    def destination(self, value: SSAValue, at: Operation) -> SSAValue:
        """The buffer to which `at` will write `value`."""
        for index, returned in enumerate(self.returned):
            if returned is value:
                return self.outputs[index]
        use = value.get_user_of_unique_use()
        if isinstance(use, tensor.InsertSliceOp) and use.source is value and not use.offsets and self._has_begun(use):
            whole = self.destination_of_slice(use, at)
            sizes = use.static_sizes.get_values()
            strides = use.static_strides.get_values()
            view = subview(whole, slice_offsets(use), sizes, strides)
            insert_before(view, at)
            self.parts[view.result] = whole
            return view.result
        if isinstance(use, tensor.InsertSliceOp) and use.dest is value:
            return self.destination(use.result, at)
        if isinstance(use, (GenericOp, FillOp, DestinationOp)) and value in use.outputs:
            return self.destination(use.results[list(use.outputs).index(value)], at)
        fresh = alloc(buffer_type(value.type))
        insert_before(fresh, at)
        return fresh.memref

    def _has_begun(self, insert: tensor.InsertSliceOp) -> bool:
        """Whether the tensor that a slice goes into is computed already, or begins empty: its parts may be written."""
        while insert.result not in self.buffers:
            dest = insert.dest
            if dest in self.buffers or isinstance(dest.owner, tensor.EmptyOp):
                return True
            if not isinstance(dest.owner, tensor.InsertSliceOp):
                return False
            insert = dest.owner
        return True

    def destination_of_slice(self, insert: tensor.InsertSliceOp, at: Operation) -> SSAValue:
        """The buffer of the tensor that `insert` updates, shared by a chain of inserts into one tensor."""
        root = insert
        chain: list[SSAValue] = [insert.result]
        # All of a chain are in `buffers` from its first one on: longer chains would take quadratic time.
        while root.result not in self.buffers:
            if not isinstance(root.dest.owner, tensor.InsertSliceOp) or not root.dest.has_one_use():
                break
            root = root.dest.owner
            chain.append(root.result)
        else:
            return self.buffers[root.result]
        last = insert
        while isinstance(user := last.result.get_user_of_unique_use(), tensor.InsertSliceOp):
            if user.dest is not last.result:
                break
            last = user
            chain.append(last.result)
        for value in chain:
            if value in self.buffers:
                return self.buffers[value]
        if root.dest in self.buffers and self.buffers[root.dest] in self.outputs:
            whole = self.buffers[root.dest]
        else:
            whole = self.destination(last.result, at)
            if root.dest in self.buffers:
                insert_before(copy(self.buffers[root.dest], whole), at)
        for value in chain:
            self.buffers[value] = whole
        return whole

    def written(self, outs: Sequence[SSAValue], results: Sequence[SSAValue], op: Operation) -> list[SSAValue]:
        """A buffer per result, initialized with the value of `outs` unless that is a tensor.empty."""
        found: list[SSAValue] = []
        for out, result in zip(outs, results, strict=True):
            if isinstance(out.owner, tensor.EmptyOp):
                buffer = self.destination(result, op)
            else:
                buffer = self.buffers[out]
                if not out.has_one_use() or (out.owner is self.block and out not in self.outputs):
                    buffer = self.destination(result, op)
                    insert_before(copy(self.buffers[out], buffer), op)
            self.buffers[result] = buffer
            found.append(buffer)
        return found


def _empty(self: KernelBufferizer, op: tensor.EmptyOp) -> None:
    """A tensor.empty has no buffer: see `destination`."""


def _fill(self: KernelBufferizer, op: FillOp) -> None:
    (output,) = self.written(list(op.outputs), list(op.results), op)
    new = fill_op(op.inputs[0], output)
    new.location = op.location
    insert_before(new, op)


def _extracts_to_loads(self: KernelBufferizer, block: Block) -> None:
    found = [each for op in operations_of(block) for each in operations_in(op)]
    extracts = [inner for inner in found if type(inner) is tensor.ExtractOp]
    for inner in extracts:
        _extract(self, inner)
    for inner in extracts:
        erase_op(inner)


def _generic(self: KernelBufferizer, op: GenericOp) -> None:
    outputs = self.written(list(op.outputs), list(op.results), op)
    for value in op.inputs:
        if isinstance(value.owner, tensor.EmptyOp) and value not in self.buffers:
            unread = alloc(buffer_type(value.type))
            insert_before(unread, op)
            self.buffers[value] = unread.memref
    inputs = [self.buffers.get(value, value) for value in op.inputs]
    _extracts_to_loads(self, op.body.block)
    insert_before(like(op, [*inputs, *outputs], ()), op)


def _structured(self: KernelBufferizer, op: DestinationOp) -> None:
    outputs = self.written(list(op.outputs), list(op.results), op)
    inputs = [self.buffers.get(value, value) for value in op.inputs]
    for region in op.regions:
        _extracts_to_loads(self, region.block)
    insert_before(op.with_operands(inputs, outputs), op)


def _extract(self: KernelBufferizer, op: tensor.ExtractOp) -> None:
    new = load(self.buffers[op.tensor], list(op.indices))
    new.location = op.location
    insert_before(new, op)
    replace_uses(op.result, new.res)


def _insert_slice(self: KernelBufferizer, op: InsertSliceOp) -> None:
    whole = self.destination_of_slice(op, op)
    self.buffers[op.result] = whole
    source = self.buffers.get(op.source)
    if source is not None and self.parts.get(source) is whole:
        return
    if source is None:
        fail(op, "inserts a value without a buffer")
    sizes = op.static_sizes.get_values()
    strides = op.static_strides.get_values()
    if op.sizes or op.strides or buffer_type(op.source.type).get_shape() != tuple(sizes):
        fail(op, "is not supported: bufferize takes slices of known sizes and strides, and of all dimensions")
    view = subview(whole, slice_offsets(op), sizes, strides)
    self.block.insert_ops_before([view, copy(source, view.result)], op)


def _extract_slice(self: KernelBufferizer, op: ExtractSliceOp) -> None:
    """Neighbouring elements from the place of the first on."""
    source = self.buffers[op.source]
    place: list[Operation] = []
    whole = cast(Buffer, source.type).get_shape()
    steps = row_major(whole)
    if len(op.offsets) != len(whole) or not _are_neighbours(op, whole):
        fail(op, "is not supported: bufferize takes slices of neighbouring elements, at places that are computed")
    at: SSAValue | None = None
    for start, step in zip(op.offsets, steps, strict=True):
        by = index_constant(step)
        moved = arith.MuliOp(start, by.result)
        place += [by, moved]
        if at is not None:
            place.append(arith.AddiOp(at, moved.result))
        at = place[-1].results[0]
    assert at is not None
    shape = buffer_type(op.result.type).get_shape()
    view = neighbours(source, at, shape)
    self.block.insert_ops_before([*place, view], op)
    self.buffers[op.result] = view.result


def _are_neighbours(op: ExtractSliceOp, whole: Sequence[int]) -> bool:
    """Whether the elements of a slice are one after the other: of one place, then of a range, then of all places."""
    sizes = op.static_sizes.get_values()
    first = next((dim for dim, size in enumerate(sizes) if size != 1), len(sizes))
    known = not op.sizes and not op.strides and all(stride == 1 for stride in op.static_strides.get_values())
    return known and list(sizes[first + 1 :]) == list(whole[first + 1 :])


def _reshape(self: KernelBufferizer, op: CollapseShapeOp | ExpandShapeOp) -> None:
    new = reshape(self.buffers[op.src], buffer_type(op.result.type))
    insert_before(new, op)
    self.buffers[op.result] = new.result


_REWRITES: dict[type[Operation], Callable[[KernelBufferizer, Any], None]] = {
    tensor.EmptyOp: _empty,
    FillOp: _fill,
    GenericOp: _generic,
    tensor.ExtractOp: _extract,
    ExtractSliceOp: _extract_slice,
    InsertSliceOp: _insert_slice,
    CollapseShapeOp: _reshape,
    ExpandShapeOp: _reshape,
}


_is_structured = one_of(DestinationOp)


def _rewrite_of(op: Operation) -> Callable[[KernelBufferizer, Any], None] | None:
    return _structured if _is_structured(op) else _REWRITES.get(type(op))
