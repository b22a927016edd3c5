"""
Nests that write the parts of one array alternately, such as a concatenation of narrow matrices, as one loop.

    out[i, 0] = x[i]; out[i, 1] = y[i]; out[i, 2] = z[i]

also inside loops that they share, as where rows of images alternate.

Each nest by itself would write all lines of the array, with gaps. LLVM interleaves vectors of what one loop writes;
copies are permutations of lanes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..loop_nests.cost import nest_work, task_count, task_size
from ..loop_nests.emission import NestEmitter
from ..loop_nests.indices import chunk, delinearized
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder
from ..loop_nests.nest import Access, Nest
from .elementwise import LINE, store_element
from .loop_order import MOST_OPERATIONS, MOST_UNROLLED, canonical
from .weaving import Part as WovenPart
from .weaving import block_of, emit_weave, weave_of


@dataclass(frozen=True)
class Part:
    """A nest that writes `size` neighbours in each of the array's rows."""

    nest: Nest
    row: int
    """The loop over rows."""
    column: int | None
    """The loop over neighbours; None if it is one element."""
    outer: tuple[int, ...] = ()
    """The loops around the rows, in the array's order."""

    @property
    def output(self) -> Access:
        return self.nest.outputs[0]

    @property
    def short(self) -> tuple[int, ...]:
        return () if self.column is None else (self.column,)

    @property
    def size(self) -> int:
        return 1 if self.column is None else self.nest.sizes[self.column]

    @property
    def work(self) -> int:
        return nest_work(self.nest)

    @property
    def around(self) -> list[tuple[int, int]]:
        """The sizes of the loops around the rows, and their strides in the array."""
        return [(self.nest.sizes[loop], self.output.strides[loop]) for loop in self.outer]

    def follows(self, parts: Sequence[Part]) -> bool:
        """Whether it writes the neighbours of what the parts write, in the same rows."""
        first, written = parts[0], sum(part.size for part in parts)
        mine, theirs = self.output, first.output
        same = mine.root is theirs.root and mine.dynamic == theirs.dynamic and mine.offset == theirs.offset + written
        return (
            same
            and self.around == first.around
            and self.nest.sizes[self.row] == first.nest.sizes[first.row]
            and mine.strides[self.row] == theirs.strides[first.row]
        )


def part_of(nest: Nest) -> Part | None:
    """The part that a nest without reductions writes; None if it writes whole rows, or too long ones."""
    if len(nest.outputs) != 1 or 0 in nest.sizes or nest.bound:
        return None
    nest = canonical(nest)
    output, body = nest.outputs[0], nest.body
    if any(x.root is output.root for x in nest.inputs if isinstance(x, Access)):
        return None
    loops = {output.strides[loop]: loop for loop in nest.free}
    step = min((stride for stride in loops if stride > 1), default=0)
    row, column = loops.get(step), loops.get(1)
    if row is None or len(loops) != len(nest.free) or not 1 < step <= MOST_UNROLLED:
        return None
    outer = tuple(loops[stride] for stride in sorted(loops, reverse=True) if stride > step)
    if outer and any(abs(x.strides[row]) > MOST_UNROLLED for x in nest.inputs if isinstance(x, Access)):
        return None  # Another order of the loops reads neighbours.
    if body is not None and any(op.regions for op in body.ops):
        return None
    part = Part(nest, row, column, outer)
    operations = 1 if body is None else len(list(body.ops))
    small = part.size < step and operations * part.size <= MOST_OPERATIONS and nest.sizes[row] > MOST_UNROLLED
    return part if small else None


def parts_from(nests: Sequence[Nest]) -> list[Part]:
    """The parts of one array that the first nests write alternately, in its order; none if they leave gaps there."""
    parts: list[Part] = []
    for nest in nests:
        part = None if any(nest.reduction) else part_of(nest)
        if part is None or (parts and part.output.root is not parts[0].output.root):
            return []
        parts.append(part)
        written, step = sum(each.size for each in parts), parts[0].output.strides[parts[0].row]
        if written >= step:
            parts.sort(key=lambda each: each.output.offset)
            reads = {x.root for each in parts for x in each.nest.inputs if isinstance(x, Access)}
            whole = written == step and all(each.follows(parts[:at]) for at, each in enumerate(parts) if at)
            return parts if whole and parts[0].output.root not in reads else []
    return []


def emit_interleaved(builder: LoopBuilder, parts: Sequence[Part]) -> None:
    """Emit the parts as one loop over rows, inside those around them, cut into tasks if there is enough work."""
    rows, around = parts[0].nest.sizes[parts[0].row], [size for size, _ in parts[0].around]
    work, count = sum(part.work for part in parts), math.prod(around)
    wanted = task_count(count * rows, work, count * rows)
    size = task_size(rows, -(-wanted // count), LINE)
    cuts = -(-rows // size)
    together = task_size(count, min(count, wanted)) if cuts == 1 else 1
    with builder.parallel(-(-count // together) * cuts) as task:
        if not around:
            _emit_rows(builder, parts, (), *chunk(builder, task, size, rows))
            return
        lower, upper = chunk(builder, task % cuts if cuts > 1 else 0, size, rows)
        with builder.loop(*chunk(builder, task // cuts if cuts > 1 else task, together, count)) as number:
            _emit_rows(builder, parts, delinearized(number, around), lower, upper)


def _emit_rows(
    builder: LoopBuilder, parts: Sequence[Part], around: Sequence[Index], lower: Index, upper: Index
) -> None:
    emitters = [NestEmitter(builder, part.nest) for part in parts]
    for part, emitter in zip(parts, emitters, strict=True):
        for loop, index in zip(part.outer, around, strict=True):
            emitter.bind(loop, index)
    rows = [WovenPart(emitter, part.row, part.short) for part, emitter in zip(parts, emitters, strict=True)]
    weave = None if around else weave_of(rows)
    block = None if weave is None else block_of(weave, parts[0].nest.sizes[parts[0].row], builder.vector_bits)
    if weave is not None and block is not None:
        emit_weave(builder, weave, block, lower, upper)
        return
    for emitter in emitters:
        emitter.make_views()
    with builder.loop(lower, upper, attributes=PARALLEL) as row:
        for part, emitter in zip(parts, emitters, strict=True):
            emitter.bind(part.row, row)
            _emit_columns(emitter, part)


def _emit_columns(emitter: NestEmitter, part: Part) -> None:
    for column in range(part.size):
        with emitter.scope():
            if part.column is not None:
                emitter.bind(part.column, column)
            store_element(emitter)
