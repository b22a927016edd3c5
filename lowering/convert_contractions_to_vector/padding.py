"""
Convolutions that pad their input themselves: no padded copy of it is in memory.

A task copies the rows that the windows of a band of rows of the output need, with zeros around them, to a buffer of
its own, and multiplies them from there. Rows of the input that two bands need are copied for both, which is cheap
beside the products, and the copy is in the cache when it is read. An input that an elementwise generic makes for the
convolution alone is computed where it would be copied. A convolution of groups has a copy of one group's features at a
time, whose places are far apart in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Operation, SSAValue

from ...dialects.support.buffers import memref_type, row_major
from ...dialects.support.kernel import PADDING, Kernel
from ...dialects.support.scalar import Scalar, scalar_attr
from ..loop_nests.emission import NestEmitter
from ..loop_nests.fills import is_zero
from ..loop_nests.indices import delinearized, linearized
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest, nest_of_generic
from .blocking import Blocking
from .constants import KernelConstants
from .contraction import Contraction, Loop
from .direct import DirectProductEmitter
from .edges import Edge
from .factors.computed import maker_of
from .in_place import panels_of_row
from .parts import tasks
from .shared_function import call_known, writes

MOST_COPIED = 1 << 14
"""Elements of a task's copy, which is on the stack and shares the L1 cache with the panels."""

MOST_OF_BAND = 3 << 14
"""The same for a whole band: it shares the L2 cache with the panels."""

MOST_OF_B = 1 << 17
"""Elements of B that are read again for each row of the output, from the L2 cache."""

HIGHER = 4 / 3
"""Height of a tile beside what was planned, so that it is whole bands."""

MOST_COPIES = 3
"""Copies of each row of the input, on average."""

LEAST_PRODUCTS = 24
"""Multiplications for each element that is copied for a band."""


@dataclass(frozen=True)
class Padding:
    """A factor that is a tensor surrounded by zeros."""

    generic: GenericOp
    """The operation that would write the padded tensor."""
    source: SSAValue
    """The tensor: a parameter of the kernel, or what `maker` computes."""
    low: tuple[int, ...]
    """The zeros before it, per dimension."""
    maker: GenericOp | None = None
    """The elementwise generic that computes the tensor for the padded one alone."""
    groups: int = 1
    """Parts of the last dimension, each of which is padded by itself."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a group."""
        return self._of_group(self.source)

    @property
    def padded(self) -> tuple[int, ...]:
        return self._of_group(self.generic.outputs[0])

    def _of_group(self, buffer: SSAValue) -> tuple[int, ...]:
        *around, last = buffer_of(buffer).get_shape()
        return *around, last // self.groups

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that would make the padded tensor, the last first."""
        buffer = self.generic.outputs[0].owner
        assert isinstance(buffer, Operation)
        return self.generic, buffer, *self.making

    @property
    def making(self) -> tuple[Operation, ...]:
        """The operations that would compute the tensor, the last first."""
        buffer = self.source.owner
        return () if self.maker is None or not isinstance(buffer, Operation) else (self.maker, buffer)


def padding_of(op: GenericOp, kernel: func.FuncOp) -> Padding | None:
    """The padding of the left factor of a product, if the product alone reads the padded tensor."""
    made = op.inputs[0].owner
    if not isinstance(made, memref.AllocOp):
        return None
    writers = [use.operation for use in made.memref.uses if use.operation is not op]
    generic = writers[0] if len(writers) == 1 else None
    if not isinstance(generic, GenericOp) or list(op.operands).count(made.memref) != 1:
        return None
    low, chosen = generic.attributes.get(PADDING), cast(YieldOp, generic.body.block.last_op).operands[0].owner
    if not isinstance(chosen, arith.SelectOp) or not is_zero(chosen.rhs):
        return None
    reads = [inner for inner in generic.body.block.ops if isinstance(inner, memref.LoadOp)]
    if not isinstance(low, DenseArrayBase) or len(reads) != 1:
        return None
    source, maker = reads[0].memref, None
    if source not in kernel.body.block.args:
        shared = {kernel.body.block.args[number] for number in Kernel(kernel).shared}
        maker = maker_of(source, reads[0], op, shared)
        if maker is None or chosen.lhs is not reads[0].res:
            return None
    return Padding(generic, source, tuple(cast("DenseArrayBase[Any]", low).get_values()), maker)


def by_groups(padding: Padding, product: Contraction) -> tuple[Padding, Contraction] | None:
    """
    The padding of each group of a convolution's features by itself, and the product as if the padded tensor had its
    groups one after the other, so that the places of one are near each other. None if there are no groups.
    """
    batches, features = [loop for loop in product.outer if loop.b], padding.padded[-1]
    if len(batches) != 1 or padding.shape[-1] != features or _asks_for_indices(padding.maker):
        return None
    (batch,) = batches
    others = [loop for loop in (*product.outer, *product.outer_k, product.m, product.k) if loop is not batch]
    within = sum((loop.size - 1) * loop.a for loop in others if loop.a < features)
    stay = within < batch.a and all(loop.a >= 0 and (loop.a < features or loop.a % features == 0) for loop in others)
    if batch.a * batch.size != features or not stay:
        return None

    def moved(loop: Loop) -> Loop:
        if loop is batch:
            return replace(loop, a=math.prod(padding.padded) // batch.size)
        return replace(loop, a=loop.a // features * batch.a + loop.a % features)

    return replace(padding, groups=batch.size), replace(
        product,
        m=moved(product.m),
        k=moved(product.k),
        outer=tuple(map(moved, product.outer)),
        outer_k=tuple(map(moved, product.outer_k)),
    )


def _asks_for_indices(maker: GenericOp | None) -> bool:
    return maker is not None and any(isinstance(op, IndexOp) for op in maker.body.walk())


@dataclass(frozen=True)
class Rows:
    """
    The rows of a padded tensor that a band of rows of the output needs: `count` neighbours of its trailing dimensions.
    """

    padding: Padding
    dim: int
    """The first dimension of a row."""
    count: int
    band: int = 1
    """Rows of the output."""

    @property
    def size(self) -> int:
        """Elements of a row."""
        return math.prod(self.padding.padded[self.dim :])


def rows_of(padding: Padding, product: Contraction, blocking: Blocking) -> Rows | None:
    """The rows to copy at once; None if there are none such, or the whole tensor is better padded before."""
    row_loops = [loop for loop in product.outer if not loop.b]
    if (padding.groups == 1 and row_loops != [*product.outer]) or product.a.offset or product.a.dynamic:
        return None
    outer_k, inner = product.loops_around(blocking.loops_inside)
    moving = [loop.a for loop in (*row_loops, *outer_k)]
    span = 1 + sum((loop.size - 1) * loop.a for loop in (product.m, product.k, *inner))
    padded, shape = padding.padded, padding.shape
    last = max((dim for dim, size in enumerate(padded) if size != shape[dim]), default=0)
    for dim in range(max(last, 1), len(padded)):
        size = math.prod(padded[dim:])
        if any(stride % size for stride in moving):
            continue
        rows = Rows(padding, dim, -(-span // size))
        copied = rows.count * size
        band = rows if not row_loops or inner != product.outer_k else _in_band(rows, product, blocking, row_loops[-1])
        products = product.m.size * product.n.size * product.k.size * math.prod(loop.size for loop in inner)
        fits = copied <= MOST_COPIED and product.depth * product.n.size <= MOST_OF_B
        fits = fits and band.count * size <= MOST_COPIES * band.band * min(moving, default=0)
        return band if fits and products * band.band >= LEAST_PRODUCTS * band.count * size else None
    return None


def _in_band(rows: Rows, product: Contraction, blocking: Blocking, loop: Loop) -> Rows:
    """The rows of as many rows of the output, over which `loop` goes, as fit, where they share some of the input's."""
    step = loop.a // rows.size
    if not 0 < step < rows.count:
        return rows
    of_tile = -(-blocking.tile_m // panels_of_row(product, blocking))
    fitting = (MOST_OF_BAND // rows.size - rows.count) // step + 1
    most = max(1, min(fitting, int(of_tile * HIGHER)))
    band = max(n for n in range(1, most + 1) if loop.size % n == 0)
    return replace(rows, count=(band - 1) * step + rows.count, band=band)


class PaddedProductEmitter(DirectProductEmitter):
    """Emits one contraction that reads A from a copy of the rows that it needs, which each task pads."""

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        constants: KernelConstants,
        product: Contraction,
        blocking: Blocking,
        overwrite: bool,
        rows: Rows,
        b_packed: bool,
        edges: tuple[Edge, ...],
    ):
        super().__init__(builder, kernel, constants, product, blocking, overwrite, b_packed, edges=edges)
        self.rows = rows
        of_band = self.panels_of_row * rows.band
        self.blocking = replace(blocking, tile_m=max(1, round(blocking.tile_m / of_band)) * of_band)
        self._copy: SSAValue | None = None

    @property
    def source(self) -> SSAValue:
        return self.rows.padding.source

    def begin_task(self) -> None:
        super().begin_task()
        # A narrow factor is widened when it is read, as in place.
        element = buffer_of(self.rows.padding.source).element_type
        self._copy = self.builder.alloca(memref_type((self.rows.count * self.rows.size,), element))

    def emit_pass(
        self,
        output: Index,
        at: Sequence[Index],
        depth: tuple[Index, Index],
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        first: bool,
    ) -> None:
        builder, product, copy, each = self.builder, self.product, self._copy, self.panels_of_row
        assert copy is not None, "begin_task comes first"
        # The panels of a tile are those of whole bands of rows of the output, each in one image.
        band, (group, of_window) = self.rows.band, (at[0], at[1:]) if self.batches else (0, at)
        with builder.loop(rows[0] // (each * band), rows[1] // (each * band)) as number:
            rows_at = delinearized(number * band, [loop.size for loop in self.row_loops])
            start = self._moved(0, (*self.row_loops, *product.outer_k), [*rows_at, *of_window], of_a=True)
            copy_rows(builder, self.kernel, self.rows, copy, start // self.rows.size, group=group)
            of_band = self._moved(output, self.row_loops, rows_at, of_a=False)
            with builder.loop(0, band) as row, self.panels_of_b(output, at, depth, columns) as (step, j):
                inner = self.row_loops[-1:]
                of_row = self._moved(of_band, inner, [row] * len(inner), of_a=False)
                in_copy = self._moved(
                    step.lower * (product.k.a * self.blocking.group), inner, [row] * len(inner), of_a=True
                )
                in_band = [*rows_at[:-1], *(rows_at[-1] + row for _ in inner)]
                with builder.loop(0, each) as panel:
                    a_at = in_copy + self._row(panel) * product.m.a
                    self.multiply_inside((copy, a_at), step, of_row, (in_band, panel), j, first)


def copy_rows(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    rows: Rows,
    copy: SSAValue,
    first: Index,
    to: Index = 0,
    group: Index = 0,
) -> None:
    """Copy the rows of a group from `first` on, or compute them, to `copy` from the element `to` on."""
    padding = rows.padding
    facts = _Facts(padding.shape, padding.padded, padding.low, rows.dim, rows.count, padding.groups)
    of_group = () if padding.groups == 1 else (builder.index(group) * padding.shape[-1],)
    if padding.maker is None:
        call_known(builder, kernel, "pad", (padding.source, copy, first, to, *of_group), facts, _emit)
        return
    nest = nest_of_generic(padding.maker)
    for begin in of_group:
        nest = _part_of(nest, builder.index(begin), padding.shape[-1])
    compute = partial(_compute_row, builder, nest, copy, facts)
    with builder.loop(0, rows.count) as row:
        _pad_row(builder, copy, builder.index(first) + row, to + row * rows.size, facts, compute)


def _part_of(nest: Nest, begin: IndexValue, size: int) -> Nest:
    """The nest for a part of its last loop, from `begin` on."""

    def moved(access: Access) -> Access:
        step = access.strides[-1]
        return replace(access, dynamic=(*access.dynamic, (begin.value, step))) if step else access

    return replace(
        nest,
        sizes=(*nest.sizes[:-1], size),
        inputs=tuple(moved(x) if isinstance(x, Access) else x for x in nest.inputs),
        outputs=tuple(map(moved, nest.outputs)),
    )


def compute_padded(builder: LoopBuilder, padding: Padding) -> None:
    """Write the padded tensor as a whole, each row of it computed where it is to be."""
    assert padding.maker is not None
    shape, padded, target = padding.shape, padding.padded, padding.generic.outputs[0]
    dim = max(1, max((dim for dim, size in enumerate(padded) if size != shape[dim]), default=1))
    count, size = math.prod(padded[:dim]), math.prod(padded[dim:])
    facts = _Facts(shape, padded, padding.low, dim, 1)
    view = builder.strided_view(target, 0, (count * size,), (1,))
    compute = partial(_compute_row, builder, nest_of_generic(padding.maker), view, facts)
    with tasks(builder, count, count * size) as row:
        _pad_row(builder, view, row, row * size, facts, compute)


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function that pads rows depends."""

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    low: tuple[int, ...]
    dim: int
    """The first dimension of a row."""
    count: int
    groups: int = 1


@writes(1)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    source, target, number, to, *of_group = parameters
    first, dim = builder.index(number), facts.dim
    begin = builder.index(of_group[0]) if of_group else 0
    size = math.prod(facts.padded[dim:])
    with builder.loop(0, facts.count) as row:
        _pad_row(
            builder,
            target,
            first + row,
            builder.index(to) + row * size,
            facts,
            partial(_copy_row, builder, (source, begin), target, facts),
        )


def _pad_row(
    builder: LoopBuilder,
    target: SSAValue,
    number: Index,
    to: Index,
    facts: _Facts,
    write: Callable[[Sequence[Index], Index], None],
) -> None:
    """Write one row of the padded tensor; `write`: writes what is inside, of the row at some indices."""
    dim, size = facts.dim, math.prod(facts.padded[facts.dim :])
    at = [n - low for n, low in zip(delinearized(number, facts.padded[:dim]), facts.low, strict=False)]
    inside: Scalar | None = None
    for index, kept, whole in zip(at, facts.shape, facts.padded, strict=False):
        if kept != whole:
            here = builder.index(index).below(kept)
            inside = here if inside is None else inside & here
    with nullcontext() if inside is None else builder.when(inside):
        before, kept = facts.low[dim] * math.prod(facts.padded[dim + 1 :]), math.prod(facts.shape[dim:])
        _clear(builder, target, to, before)
        write(at, to + before)
        _clear(builder, target, to + (before + kept), size - before - kept)
    if inside is not None:
        with builder.otherwise():
            _clear(builder, target, to, size)


def _copy_row(
    builder: LoopBuilder,
    source: tuple[SSAValue, Index],
    target: SSAValue,
    facts: _Facts,
    at: Sequence[Index],
    to: Index,
) -> None:
    """Copy the row at the indices `at`; `source`: a tensor, and where its group begins in its last dimension."""
    kept, root, begin = math.prod(facts.shape[facts.dim :]), *source
    place = linearized(at, facts.shape[: facts.dim]) * (kept * facts.groups) + begin
    if facts.groups == 1:
        read, written = (builder.strided_view(x, i, (kept,), (1,)) for x, i in ((root, place), (target, to)))
        with builder.loop(0, kept, attributes=PARALLEL) as i:
            builder.store(builder.load(read, [i]), written, [i])
        return
    width = facts.shape[-1]
    sizes = kept // width, width
    read = builder.strided_view(root, place, sizes, (width * facts.groups, 1))
    written = builder.strided_view(target, to, sizes, (width, 1))
    with builder.loop(0, sizes[0]) as row, builder.loop(0, width, attributes=PARALLEL) as i:
        builder.store(builder.load(read, [row, i]), written, [row, i])


def _compute_row(
    builder: LoopBuilder, nest: Nest, target: SSAValue, facts: _Facts, at: Sequence[Index], to: Index
) -> None:
    """Compute the row at the indices `at`."""
    nest, inner = replace(nest, bound=facts.dim), facts.shape[facts.dim :]
    written = builder.strided_view(target, to, inner, row_major(inner))
    emitter = NestEmitter(builder, nest)
    with emitter.element(at, nest.free) as value:
        builder.store(value, written, [index for loop in nest.free if (index := emitter.indices[loop]) is not None])


def _clear(builder: LoopBuilder, target: SSAValue, at: Index, count: int) -> None:
    if count:
        zero = builder.scalar(scalar_attr(0, buffer_of(target).element_type))
        written = builder.strided_view(target, at, (count,), (1,))
        with builder.loop(0, count, attributes=PARALLEL) as i:
            builder.store(zero, written, [i])
