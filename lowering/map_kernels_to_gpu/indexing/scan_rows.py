"""Scans of many short rows: a block loads consecutive rows into shared memory, where each thread scans one."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ....dialects.linalg_ext.window import ScanOp, shape_of
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.unrolling import UNROLL
from ..threads.builder import GpuBuilder
from ..threads.items import I64
from ..threads.launch import KernelMapper
from ..threads.ranges import ceil_div
from .launch import ExtLaunch

SEVERAL_AT_ONCE = {UNROLL: IntegerAttr(4, I64)}


class ShortRows:
    """Rows of one length, `rows` per block; their pitch in shared memory is odd, to avoid bank conflicts."""

    def __init__(self, launch: ExtLaunch[ScanOp], length: int, rows: int):
        self.launch = launch
        self.builder: GpuBuilder = launch.builder
        self.length = length
        self.rows = rows
        self.pitch = length | 1
        outputs = launch.op.outputs
        self.total = math.prod(shape_of(outputs[0]))
        self.tiles = [self.builder.shared((rows * self.pitch,), buffer_of(x).element_type) for x in outputs]

    def emit(self) -> None:
        op, count = self.launch.op, len(self.launch.op.outputs)
        sources = [self.launch.flat(x, (self.total, 1)) for x in op.inputs[:count]]
        targets = [self.launch.flat(x, (self.total, 1)) for x in op.outputs]
        builder = self.builder
        with self._elements() as (number, place):
            at = builder.min(number, self.total - 1)
            for source, tile in zip(sources, self.tiles, strict=True):
                builder.store(builder.load(source, [at, 0]), tile, [place])
        builder.barrier()
        self._scan(list(op.inputs[count:]))
        builder.barrier()
        with self._elements() as (number, place), builder.when(builder.index(number).below(self.total)):
            for target, tile in zip(targets, self.tiles, strict=True):
                builder.store(builder.load(tile, [place]), target, [number, 0])

    @contextmanager
    def _elements(self) -> Generator[tuple[Index, Index]]:
        """Element numbers and their positions in shared memory: neighbouring threads take neighbouring elements."""
        builder = self.builder
        first = builder.block_id() * (self.rows * self.length)
        with builder.loop(0, self.rows * self.length, step=self.rows, attributes=SEVERAL_AT_ONCE) as offset:
            own = offset + builder.thread_id()
            row, column = own // self.length, own % self.length
            yield first + own, row * self.pitch + column

    def _scan(self, inits: list[SSAValue]) -> None:
        """Scan the thread's row, in place."""
        builder, op = self.builder, self.launch.op
        reverse = bool(cast(Any, op.reverse).value.data)
        begin = builder.thread_id() * self.pitch
        with builder.loop(0, self.length, carry=inits, attributes=SEVERAL_AT_ONCE) as (step, state):
            place = [begin + (self.length - 1 - step if reverse else step)]
            element = [builder.load(tile, place) for tile in self.tiles]
            pair = (*element, *state) if reverse else (*state, *element)
            following = builder.inline(op.regions[0].block, pair)
            for value, tile in zip(following, self.tiles, strict=True):
                builder.store(value, tile, place)
            builder.yield_(*following)


def map_short_rows(mapper: KernelMapper, op: ScanOp, rows: int) -> None:
    """Scan short rows of the last dimension, `rows` of them per block."""
    *outer, length = shape_of(op.outputs[0])
    launch = ExtLaunch(mapper, op)
    ShortRows(launch, length, rows).emit()
    launch.finish(ceil_div(math.prod(outer), rows), rows)
