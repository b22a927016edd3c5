"""Writes the sums of a mixture: through shared memory, so that neighbouring threads write neighbouring elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.gpu.nvgpu import bits_of
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ..contraction.block import UNROLL_WHOLLY
from ..contraction.form import dot
from ..contraction.loader import flat
from ..reduction.chain import Link, is_aligned
from ..threads.builder import GpuBuilder
from .form import Mixture, ResultStep, StreamedForm

ACCESS_BYTES = 16


class MixtureWriter:
    """Writes the sums of one mixture from shared memory."""

    def __init__(self, builder: GpuBuilder, form: StreamedForm, mixture: Mixture, threads: int):
        self.builder = builder
        self.form = form
        self.mixture = mixture
        self.threads = threads
        self.per_row: dict[Link, SSAValue] = {}
        """Buffers of the block with the rows' values that the steps read."""

    def links(self) -> list[Link]:
        """The rows' values that the steps read."""
        return list(
            dict.fromkeys(x for step in self.mixture.steps for x in step.linked.values() if isinstance(x, Link))
        )

    def _width(self) -> int:
        """Neighbouring elements of a row that a thread writes: as many as fit into one access of each buffer."""
        width = ACCESS_BYTES
        columns, rows = self.mixture.columns, len(self.form.shape)
        for step in self.mixture.steps:
            for access in step.nest.outputs:
                if access.root in self.form.written:
                    inner = next(l for l in range(rows, len(step.nest.sizes)) if step.nest.sizes[l] != 1)
                    width = min(width, ACCESS_BYTES * 8 // max(8, bits_of(buffer_of(access.root).element_type)))
                    while width > 1 and not (access.strides[inner] == 1 and is_aligned(access, inner, width)):
                        width //= 2
        while width > 1 and columns % width:
            width //= 2
        return width if self.mixture.steps else 1

    def write(self, sums: SSAValue, batch: Sequence[Index], first: Index, rows: int) -> None:
        """Write `rows` rows from `first` on, whose sums are in a buffer of the block."""
        builder, columns, last = self.builder, self.mixture.columns, math.prod(self.form.rows)
        width = self._width()
        vectors = rows * columns // width
        with builder.loop(0, -(-vectors // self.threads)) as round_:
            number = round_ * self.threads + builder.thread_id()
            row, column = number // (columns // width), number % (columns // width) * width
            inside = builder.index(number).below(vectors) if vectors % self.threads else None
            with (
                builder.guarded(inside),
                builder.when_below(first + row, last, last % rows != 0),
                builder.loop(0, width, attributes=UNROLL_WHOLLY) as lane,
            ):
                total = builder.load(sums, [row, column + lane])
                at = [*batch, *delinearized(first + row, self.form.rows)]
                self._element(at, row, column + lane, total)

    def _element(self, at: Sequence[Index], row: Index, column: Index, total: SSAValue) -> None:
        product = self.mixture.product
        if self.mixture.stored:
            self.builder.store(total, flat(self.builder, product.root), [dot([*at, column], product.place)])
        values = {product.root: total}
        for step in self.mixture.steps:
            self._step(step, at, row, column, values)

    def _step(
        self, step: ResultStep, at: Sequence[Index], row: Index, column: Index, values: dict[SSAValue, SSAValue]
    ) -> None:
        builder, nest = self.builder, step.nest
        emitter = NestEmitter(builder, nest)
        for k, source in step.linked.items():
            per_row = isinstance(source, Link)
            emitter.loaded[k] = builder.load(self.per_row[source], [row]) if per_row else values[source]  # pyright: ignore
        inner = [column if size != 1 else 0 for size in nest.sizes[len(at) :]]
        emitter.indices = [*at, *inner]
        emitter.load_ready()
        for k, value in enumerate(emitter.body()):
            root = nest.outputs[k].root
            values[root] = value
            if root in self.form.written:
                emitter.store_output(k, value)
