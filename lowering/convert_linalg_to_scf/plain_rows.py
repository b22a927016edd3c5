"""
Copies and fills of rows that are contiguous in memory: a function for all sizes, which programs share.

    out[i, j] = in[i, j]        out[i, j] = value

LLVM makes memcpy of a loop that copies elements. That of the C library copies rows of a page and more with one
instruction, which takes up to thirty times as long on some processors if the target begins up to 15 bytes after the
source within a page, as after `jnp.roll(x, 1)`. Loops over vectors copy such rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import BFloat16Type, FloatAttr, IntegerAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.kernel import Kernel, is_kernel
from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.clearing import fill_rows
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..device.cpu import CPU
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import PARALLEL, Index, IndexValue, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from .transposition import ROWS_BEYOND_CACHES, can_transpose

LONG = 256
"""Bytes of a row from which it is worth a call of memcpy; shorter ones are a few vectors, which LLVM writes out."""

LONGER = 2048
"""Bytes of a row from which the C library may use that instruction."""

TOGETHER = 4
"""Vectors that are loaded before they are stored."""

WORTH = 256
"""
Elements from which LLVM would optimize the loops themselves, which takes it longer than all else that they need; it
leaves kernels of fewer as they are (brevity.py).
"""


@dataclass(frozen=True)
class PlainRows:
    """A nest that writes such rows; the source is a value for a fill."""

    outer: tuple[int, ...]
    row: int | None
    inner: int
    source: Access | SSAValue


def plain_rows_of(builder: LoopBuilder, nest: Nest) -> PlainRows | None:
    """The copy or fill that a canonical nest of a kernel is; None if it is none, short, or of one buffer."""
    free, kernel = list(nest.free), builder.top.parent_op()
    if not free or len(nest.outputs) != 1 or not isinstance(kernel, func.FuncOp) or not is_kernel(kernel):
        return None
    source, (output,), inner = _source_of(nest), nest.outputs, free[-1]
    element = buffer_of(output.root).element_type
    if source is None or not can_transpose(element) or output.strides[inner] != 1 or nest.size_of(free) < WORTH:
        return None
    if nest.sizes[inner] * (width_of(element) // 8) < LONG:
        return None
    roots = [output.root]
    if isinstance(source, Access):
        if source.strides[inner] != 1:
            return None
        roots.append(source.root)
    elif isinstance(element, BFloat16Type):
        return None  # the function would take bits, which it only moves, and its kernel might pass a number
    # The function's buffers are apart.
    shared = Kernel(kernel).shared
    if len({*roots}) < len(roots) or any(isinstance(x, BlockArgument) and x.index in shared for x in roots):
        return None
    return PlainRows(tuple(free[:-2]), free[-2] if len(free) > 1 else None, inner, source)


def _source_of(nest: Nest) -> Access | SSAValue | None:
    """The operand that each element is; None for what is computed."""
    if nest.body is None:
        return nest.inputs[0]
    *ops, last = nest.body.ops
    if not isinstance(last, YieldOp) or not all(type(op) is arith.ConstantOp for op in ops):
        return None
    (value,) = last.operands
    if not isinstance(value, BlockArgument) or value.block is not nest.body:
        return value
    return nest.inputs[value.index] if value.index < len(nest.inputs) else None


def emit_plain_rows(emitter: NestEmitter, found: PlainRows, bounds: Bounds) -> None:
    """Emit the free loops within `bounds`."""
    builder, nest, source = emitter.builder, emitter.nest, found.source
    (output,) = nest.outputs

    def range_of(loop: int | None) -> tuple[Index, Index]:
        return (0, 1) if loop is None else bounds.get(loop, (0, nest.sizes[loop]))

    (first, end), (lower, upper) = range_of(found.row), range_of(found.inner)

    def place(access: Access) -> tuple[SSAValue, Index, Index]:
        """The buffer of an operand, where the first row begins, and the elements between two rows."""
        with emitter.scope():
            emitter.indices[found.inner] = lower
            if found.row is not None:
                emitter.indices[found.row] = first
            offset = emitter.offset(access)
        apart = 0 if found.row is None else access.strides[found.row]
        return emitter.roots.get(access.root, access.root), offset, apart

    with emitter.loops(found.outer, bounds, innermost=False):
        numbers = (*place(output), end - first, upper - lower)
        kernel = builder.kernel
        if isinstance(source, Access):
            arguments = (*numbers, *place(source))
            size = nest.sizes[found.inner] * (width_of(buffer_of(output.root).element_type) // 8)
            if _leaves_caches(builder, nest):
                from .tiles_past_caches import emit_copied_rows

                call_known(builder, kernel, "far", arguments, builder.vector_bits, emit_copied_rows)
            elif LONGER <= size < CPU.l2_bytes:
                call_known(builder, kernel, "copy", arguments, builder.vector_bits, _emit_vectors)
            else:
                call_known(builder, kernel, "copy", arguments, (), _emit_copy)
        else:
            constant = source.owner.value if type(source.owner) is arith.ConstantOp else None
            value = builder.scalar(constant) if isinstance(constant, IntegerAttr | FloatAttr) else source
            fill_rows(builder, kernel, value, numbers)


def call_copy(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    source: tuple[SSAValue, Index],
    target: tuple[SSAValue, Index],
    count: Index,
) -> None:
    """Copy a row of `count` elements from one place in memory to another, as the C library does."""
    arguments = (*target, 0, 1, count, *source, 0)
    call_known(builder, kernel, "copy", arguments, (), _emit_copy)


def _leaves_caches(builder: LoopBuilder, nest: Nest) -> bool:
    """Whether the rows are better copied past the caches."""
    if byte_size(buffer_of(nest.outputs[0].root)) < ROWS_BEYOND_CACHES:
        return False
    from .tiles_past_caches import leaves_caches  # few programs have results of that size

    return leaves_caches(builder, nest)


def fill_columns(
    emitter: NestEmitter, column: int, columns: tuple[Index, Index], values: Sequence[SSAValue | None]
) -> bool:
    """
    Fill columns of the outputs with the values that are not None, where the other loops that move an output are bound;
    return whether all outputs are of a kernel, contiguous, and of types that it may pass.
    """
    kernel, outputs, (lower, upper) = emitter.builder.top.parent_op(), emitter.nest.outputs, columns
    types = [buffer_of(output.root).element_type for output in outputs]
    if not isinstance(kernel, func.FuncOp) or not is_kernel(kernel) or any(x.strides[column] != 1 for x in outputs):
        return False
    if any(isinstance(type_, BFloat16Type) or not can_transpose(type_) for type_ in types):
        return False
    for output, value in zip(outputs, values, strict=True):
        if value is not None:
            with emitter.scope():
                emitter.indices[column] = lower
                begin = emitter.offset(output)
            buffer = emitter.roots.get(output.root, output.root)
            fill_rows(emitter.builder, kernel, value, (buffer, begin, 0, 1, upper - lower))
    return True


@writes(0)
def _emit_vectors(builder: LoopBuilder, parameters: Sequence[SSAValue], vector_bits: int) -> None:
    # Most programs copy no such rows, and need no vector dialect.
    from ..convert_contractions_to_vector.row_vectors import copy_row
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    target, to, apart, rows, columns, source, at, source_apart = parameters
    number, vectors = builder.index, VectorBuilder(builder)
    lanes = vector_bits // width_of(buffer_of(target).element_type)
    count, block = number(columns), TOGETHER * lanes

    def places(i: IndexValue) -> tuple[Index, Index]:
        return number(at) + i * number(source_apart), number(to) + i * number(apart)

    with builder.when(count >= block), builder.loop(0, number(rows)) as i:
        begins, target_begins = places(i)
        with builder.loop(0, count, step=block) as column:
            # The last vectors overlap those before them.
            first = builder.min(column, count - block)
            parts = [first + k * lanes for k in range(TOGETHER)]
            views = [builder.strided_view(source, begins + part, (lanes,), (1,)) for part in parts]
            loaded = [vectors.load(view, [0], lanes) for view in views]
            for part, value in zip(parts, loaded, strict=True):
                vectors.store(value, builder.strided_view(target, target_begins + part, (lanes,), (1,)), [0])
    with builder.otherwise(), builder.loop(0, number(rows)) as i:
        begins, target_begins = places(i)
        copy_row(builder, (source, begins), (target, target_begins), count, lanes)


@writes(0)
def _emit_copy(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[()]) -> None:
    target, to, apart, rows, columns, source, at, source_apart = parameters
    number = builder.index
    with builder.loop(0, number(rows)) as i:
        begins, target_begins = number(at) + i * number(source_apart), number(to) + i * number(apart)
        with builder.loop(0, number(columns), attributes=PARALLEL) as j:
            value = builder.load(builder.strided_view(source, begins + j, (1,), (1,)), [0])
            builder.store(value, builder.strided_view(target, target_begins + j, (1,), (1,)), [0])
