"""
Packing the factors of a matrix product into panels.

A panel holds `width` neighbouring rows of A (columns of B), interleaved along k: `panel[k * width + i]`, with zeros
beyond the matrix's edge, so that the micro-kernel reads memory sequentially and needs no edge checks. Where the
micro-kernel multiplies groups of g elements along k, these are together: `panel[(k / g * width + i) * g + k % g]`. The
parts of all panels that one pass multiplies may be together, too, one panel's after the other's.

A function copies one panel; like the micro-kernel it takes sizes as parameters. Whole blocks pass through registers: a
source that is contiguous along k is transposed there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import SSAValue

from ...dialects.support.buffers import Buffer, memref_type
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from .blocking import ENOUGH_TASKS, ROWS_AT_ONCE, Blocking
from .factors.computed import STEPS
from .operand import Operand, panels_in_run
from .panel import MAGNITUDE, Packed, Panel, emit_least
from .parts import tasks
from .shared_function import call_known, writes
from .sums.factor_columns import ColumnSums

WORK_OF_PACKING = 3
"""The cost of packing one element, in operations of dialects/cost.py."""

RUN = 2048
"""Bytes of a row that are packed together, if the matrix is not in the caches nearby."""

LOCAL_RUN = 512
"""The same for a factor that is packed one pass at a time, whose panels share the L2 cache with the other factor."""

MOST_LOCAL = 4
"""Most panels of one pass in a task's memory."""

ROWS = 16
"""Rows of a run that are read at the same time: a multiple of all groups."""

PART = 512
"""Rows of a run that one task packs: a multiple of `ROWS`."""


class Prepacked(Protocol):
    """The factors that are packed before the kernel runs, see constants.py and factors/invariant.py."""

    def panels(self, operand: Operand, blocking: Blocking, element: Packed, bias: int) -> SSAValue | None:
        """The buffer with all panels of an operand that is packed before; None for others."""
        ...


class Packer:
    """Packs one operand; `buffer` holds all its panels, or one panel of one pass if packed when needed."""

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        operand: Operand,
        blocking: Blocking,
        element: Packed,
        bias: int,
        constants: Prepacked,
        by_tasks: bool = False,
        into: SSAValue | None = None,
    ):
        """
        `element`: the type of packed elements. `bias` is added to each, modulo the type's range. `by_tasks`: each task
        packs all panels of its matrices, in memory of its own. `into`: the buffer for all panels, if there is one.
        """
        self.builder = builder
        self.kernel = kernel
        self.element = element
        self.bias = bias
        self.lanes = blocking.lanes
        self.kc = blocking.kc * operand.group
        self.rows = ROWS_AT_ONCE if operand.local and blocking.run and not blocking.broad else ROWS
        """Rows of a run that are read at the same time."""
        self.by_tasks = by_tasks
        self._all = None if by_tasks else constants.panels(operand, blocking, element, bias)
        self.is_packed = self._all is not None
        """Whether its panels are a parameter of the kernel."""
        self.operand = replace(operand, local=False) if self.is_packed else operand
        if not self.is_packed and not operand.local and not by_tasks:
            self._all = into or builder.alloc(self._every_panel)
        self.sums: ColumnSums | None = None
        """Adds up the columns of the operand, which is B, while they are packed."""
        self._local: SSAValue | None = None
        self._least: SSAValue | None = None
        """The least number of each panel of bf16, or of the panel of a task; see panel.py."""
        if self._states_least and not self.operand.local and not by_tasks:
            self._least = builder.alloc(self._every_least)

    @property
    def _states_least(self) -> bool:
        return isinstance(self.element, BFloat16Type) and not self.is_packed

    @property
    def _every_panel(self) -> Buffer:
        """The type of a buffer with all panels."""
        operand = self.operand
        return memref_type((operand.matrices * operand.panels * operand.panel_size,), self.element)

    @property
    def _every_least(self) -> Buffer:
        """The type of a buffer with the least numbers of all panels."""
        return memref_type((self.operand.matrices * self.operand.panels,), MAGNITUDE)

    @property
    def buffer(self) -> SSAValue:
        found = self._local if self.operand.local else self._all
        assert found is not None, "begin_task comes first"
        return found

    def begin_task(self) -> None:
        """Called in each task before the operand is used."""
        if self.by_tasks:
            self._all = self.builder.alloca(self._every_panel)
            if self._states_least:
                self._least = self.builder.alloca(self._every_least)
        if self.operand.local:
            self._local = self.builder.alloca(
                memref_type((self.operand.run * self.kc * self.operand.width,), self.element)
            )
            if self._states_least:
                self._least = self.builder.alloca(memref_type((self.operand.run,), MAGNITUDE))

    def pack_beforehand(self) -> None:
        """Pack all panels, unless tasks pack them, or they are packed."""
        if self.count:
            with tasks(self.builder, self.runs, self.count * self.operand.panel_size * WORK_OF_PACKING) as run:
                self.pack_run(run)

    @property
    def packs_runs(self) -> bool:
        """Whether each task packs several panels at once, for itself."""
        return self.operand.local and self.operand.run > 1

    @property
    def count(self) -> int:
        """The number of panels to pack beforehand."""
        return 0 if self.operand.local or self.is_packed else self.operand.matrices * self.operand.panels

    @property
    def run(self) -> int:
        """Panels that are packed beforehand together."""
        operand = self.operand
        found = 1 if operand.local else panels_in_run(operand, RUN)
        # A task finds the least numbers of whole panels; others are cut into parts.
        return min(found, -(-operand.matrices * operand.panels // ENOUGH_TASKS)) if self._states_least else found

    @property
    def runs(self) -> int:
        """The number of runs, or of parts of them along k, to pack beforehand."""
        return self.count // self.operand.panels * -(-self.operand.panels // self.run) * self._parts

    @property
    def pieces(self) -> int:
        """The pieces of each panel along k that are packed at once."""
        return -(-self.operand.k_size // self.kc) if self.operand.local else self._parts

    @property
    def _parts(self) -> int:
        """Parts along k of a run that is packed beforehand."""
        if self.operand.by_passes:
            return -(-self.operand.k_size // self.operand.by_passes)
        return 1 if self.run == 1 or self._states_least else -(-self.operand.k_size // PART)

    @property
    def _part(self) -> int:
        """Elements along k of such a part."""
        return self.operand.by_passes or PART

    def pack_run(self, number: IndexValue) -> None:
        """Pack a run of panels of all, or a part of it, beforehand."""
        operand, run, parts = self.operand, self.run, self._parts
        if run == parts == 1:
            self.pack_panel(number)
            return
        matrix, which = self._matrix_of(number // parts, -(-operand.panels // run))
        panels = which * run, self.builder.min(which * run + run, operand.panels)
        begin = matrix * operand.panels
        lower: Index = 0 if parts == 1 else number % parts * self._part
        depth = lower, operand.k_size if parts == 1 else self.builder.min(operand.k_size - lower, self._part)

        def place(panel: Index) -> Index:
            return operand.place(begin, panel, *depth)

        self._fill_run(self._position(matrix), panels, depth, place)
        if self._least is not None:
            with self.builder.loop(*panels) as panel:
                self._note_least(begin + panel, (begin + panel) * operand.panel_size, operand.k_size)

    def _matrix_of(self, number: Index, each: int) -> tuple[Index, Index]:
        """The matrix of which part `number` of all is one, and the number among the `each` parts of that."""
        return (0, number) if self.operand.matrices == 1 else (number // each, number % each)

    def _position(self, matrix: Index) -> list[Index]:
        """The indices of the loops around the product at a packed matrix."""
        position: list[Index] = []
        for loop in self.operand.around:
            moves = loop.stride and self.operand.matrices > 1
            position.append(matrix // loop.matrices % loop.size if moves else 0)
        return position

    def pack_panel(self, number: IndexValue, count: Index | None = None) -> None:
        """Pack panel `number` of all panels, beforehand; only the first `count` elements along k if given."""
        operand = self.operand
        matrix, which = self._matrix_of(number, operand.panels)
        rows = operand.k_size if count is None else count
        self._fill(self._position(matrix), which, 0, rows, number * operand.panel_size, operand.k_size)
        if self.sums is not None:
            self.sums.add(self.buffer, number * operand.panel_size, rows, 0, which, first=True)
        self._note_least(number, number * operand.panel_size, rows)

    def pack_pass(self, position: Sequence[Index], panels: tuple[Index, Index], lower: Index, upper: Index) -> None:
        """Pack one pass, groups in [lower, upper), of some panels: at most `operand.run`, which are local."""
        operand, group = self.operand, self.operand.group
        count = self.builder.min(upper * group, operand.k_size) - lower * group
        self._fill_run(position, panels, (lower * group, count), self._place)
        if self._least is not None:
            with self.builder.loop(*panels) as panel:
                self._note_least(panel % operand.run, self._place(panel), count)

    def _place(self, which: Index) -> Index:
        """The offset of a local panel."""
        return which % self.operand.run * (self.kc * self.operand.width)

    def panel(self, position: Sequence[Index], which: Index, lower: Index, upper: Index) -> Index:
        """
        The offset in `buffer` of the packed panel `which` for groups in [lower, upper).

        A local one that is no part of a run is packed now. `position`: the indices of the loops around the product.
        """
        operand, group = self.operand, self.operand.group
        if operand.local and operand.run == 1:
            self.pack_pass(position, (which, which + 1), lower, upper)
        if operand.local:
            return self._place(which)
        if operand.by_passes:
            return operand.place(self.number(position, 0), which, lower, upper - lower)
        return self.number(position, which) * operand.panel_size + lower * (operand.width * group)

    @property
    def least_numbers(self) -> SSAValue | None:
        """The buffer of the least numbers of all panels that are packed; None for those of constants, as below."""
        return self._least

    def least(self, position: Sequence[Index], which: Index) -> tuple[SSAValue, Index] | None:
        """
        The place of the least number of the packed panel `which`; None for constants, none of which is below
        `LEAST_CONSTANT`.
        """
        if self._least is None:
            return None
        return self._least, which % self.operand.run if self.operand.local else self.number(position, which)

    def number(self, position: Sequence[Index], which: Index) -> Index:
        """The number of a panel among all."""
        number: Index = 0
        for loop, index in zip(self.operand.around, position, strict=True):
            number += index * loop.matrices
        return number * self.operand.panels + which

    def _note_least(self, number: Index, at: Index, count: Index) -> None:
        """
        If it is of bf16, store the least number of panel `number`, which begins at `buffer[at]` and has `count`
        elements along k.
        """
        if self._least is None:
            return
        operand, group = self.operand, self.operand.group
        elements = (count + (group - 1)) // group * (group * operand.width)
        arguments = (self.buffer, at, elements, self._least, number)
        call_known(self.builder, self.kernel, "least", arguments, self.lanes * group, emit_least)

    def _fill_run(
        self,
        position: Sequence[Index],
        panels: tuple[Index, Index],
        depth: tuple[Index, Index],
        place: Callable[[Index], Index],
    ) -> None:
        """
        Copy `depth`, the first of some elements along k and their number, of some panels to `buffer`, where each begins
        at its `place`: a few rows of all, then the next ones, so that these are read in long runs.
        """
        builder, operand = self.builder, self.operand
        lower, total = depth
        rows = self.kc if operand.local else operand.k_size
        piece = lower // (self.kc if operand.local else self._part)
        if (operand.run if operand.local else self.run) == 1:
            self._fill(position, panels[0], lower, total, place(panels[0]), rows)
            if self.sums is not None:
                self.sums.add(self.buffer, place(panels[0]), total, piece, panels[0], first=True)
            return
        if operand.local and panels_in_run(operand, LOCAL_RUN) == 1:
            # Rows of A, which lie along k or are nearby: nothing is gained by reading a few steps of all panels.
            with builder.loop(*panels) as panel:
                self._fill(position, panel, lower, total, place(panel), rows)
            return
        if self.sums is not None:
            with builder.loop(*panels) as panel:
                self.sums.clear(piece, panel)
        together = self.operand.run if operand.local else self.run
        with builder.loop(0, total, step=self.rows) as done:
            count = builder.min(total - done, self.rows)
            piece_of_run = self._computed_run(position, panels, (lower + done, count), together)
            with builder.loop(*panels) as panel:
                at = place(panel) + done * operand.width
                if piece_of_run is None:
                    self._fill(position, panel, lower + done, count, at, rows)
                else:
                    begin = (panel - panels[0]) * operand.width
                    self._copy((piece_of_run, begin), panel, together * operand.width, count, at, None)
                if self.sums is not None:
                    self.sums.add(self.buffer, at, count, piece, panel, first=False)

    def _fill(
        self, position: Sequence[Index], which: Index, lower: Index, count: Index, target_at: Index, rows: int
    ) -> None:
        """Copy `count` elements along k, at most `rows`, from `lower`, of panel `which` to `buffer[target_at..]`."""
        builder, operand = self.builder, self.operand
        if operand.computed is not None:
            self._fill_computed(position, which, (lower, count), target_at, rows)
            return
        source = operand.access.offset_at(builder)
        for loop, index in zip(operand.around, position, strict=True):
            source += index * loop.stride
        first = which * operand.width
        source += first * operand.stride
        source += lower * operand.k_stride
        along_k = operand.stride != 1
        moving = operand.stride if along_k else operand.k_stride
        steps = (rows, operand.k_stride) if along_k else None
        self._copy((operand.access.root, source), which, moving, count, target_at, steps)

    def _filled(self, which: Index) -> Index:
        """The rows or columns of panel `which` that are inside the matrix."""
        operand = self.operand
        if operand.size % operand.width == 0:
            return operand.width
        return self.builder.min(operand.size - which * operand.width, operand.width)

    def _copy(
        self,
        source: tuple[SSAValue, Index],
        which: Index,
        moving: Index,
        count: Index,
        target_at: Index,
        along_k: tuple[int, int] | None,
    ) -> None:
        """Copy `count` elements along k of panel `which`, from `source`; the rest as in `_Facts` and `Panel`."""
        operand = self.operand
        arguments = (*source, self.buffer, target_at, moving, count, self._filled(which))
        facts = _Facts(
            width=operand.width,
            group=operand.group,
            lanes=self.lanes,
            bias=self.bias,
            even=operand.size % operand.width == 0,
            along_k=along_k,
        )
        call_known(self.builder, self.kernel, "pack", arguments, facts, _emit)

    def _fill_computed(
        self, position: Sequence[Index], which: Index, depth: tuple[Index, Index], target_at: Index, rows: int
    ) -> None:
        """As `_fill`, for a factor that is computed: a few steps along k after the other."""
        builder, operand, (lower, count) = self.builder, self.operand, depth
        assert operand.computed is not None
        steps, by_steps = min(STEPS, -(-rows // operand.group) * operand.group), operand.stride == 1
        sides = (steps, operand.width) if by_steps else (operand.width, steps)
        scratch = operand.computed.scratch(*sides, builder)
        across = which * operand.width, self._filled(which)
        with builder.loop(0, count, step=steps) as done:
            size = builder.min(count - done, steps)
            operand.computed.compute(builder, position, across, (lower + done, size), scratch, by_steps)
            at = target_at + done * operand.width
            self._copy((scratch, 0), which, sides[1], size, at, None if by_steps else (steps, 1))

    def _computed_run(
        self, position: Sequence[Index], panels: tuple[Index, Index], depth: tuple[Index, Index], together: int
    ) -> SSAValue | None:
        """A few rows of some panels, at most `together`, of a factor that is computed, as `[k, columns]`."""
        builder, operand = self.builder, self.operand
        if operand.computed is None:
            return None
        scratch = operand.computed.scratch(ROWS, together * operand.width, builder)
        first, end = panels[0] * operand.width, builder.min(panels[1] * operand.width, operand.size)
        operand.computed.compute(builder, position, (first, end - first), depth, scratch, by_steps=True)
        return scratch


@dataclass(frozen=True)
class _Facts:
    """The facts on which a function that packs a panel depends."""

    width: int
    group: int
    lanes: int
    bias: int
    even: bool
    """Whether every panel is full."""
    along_k: tuple[int, int] | None
    """The most elements along k and their stride, of a source that is copied along k."""


@writes(2)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    source, source_at, target, *numbers = parameters
    at, moved, steps, filled = map(builder.index, numbers)
    panel = Panel(
        builder=builder,
        source=source,
        source_at=builder.index(source_at),
        target=target,
        target_at=at,
        moving=moved,
        count=steps,
        filled=facts.width if facts.even else filled,
        width=facts.width,
        group=facts.group,
        lanes=facts.lanes,
        bias=facts.bias,
    )
    if facts.along_k is not None:
        panel.copy_along_k(*facts.along_k)
    else:
        panel.copy_across()
