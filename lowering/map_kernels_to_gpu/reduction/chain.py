"""
Chains: operations of one launch over common rows, and the values passed between them.

A chain is a sequence of nests over common *row* loops. Inside a row an operation is *wide*, over the row's own loops,
or *scalar*, one value per row. Reductions are wide and yield scalars. A softmax is a chain of four: the maximum, the
exponentials, their sum, the quotients. A reduction over any dimensions and the operations on its result form a chain
too: the kept dimensions are rows.

A value that one operation writes and another reads at the same index is *linked*: it stays in a register. Buffers that
only the launch uses need not be written at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from ....dialects.support.views import uses_through_views
from ...convert_linalg_to_scf.conversion import initial_values
from ...loop_nests.combination import Combination, Joint, independent_outputs, restricted, taken_apart
from ...loop_nests.combiners import known_combiners
from ...loop_nests.fills import is_reduction
from ...loop_nests.nest import Access, Nest
from ..threads.phases import Phase
from ..threads.vectors import element_bytes, multiple_of

Inits = tuple[SSAValue | None, ...]


MOST_POSITIONS = 2**31 - 1
"""The number of elements whose positions fit into i32."""


@dataclass(frozen=True)
class Link:
    """An output of an earlier step of the chain."""

    step: int
    output: int


@dataclass(frozen=True)
class Step:
    """One operation. The loops of its nest are the rows, followed by the loops inside a row if it is wide."""

    nest: Nest
    wide: bool
    reduces: bool
    inits: Inits = ()
    combination: Combination | None = None
    """Set for a reduction, whose body then yields the elements alone; None if it is not known to be associative."""
    sources: dict[int, Link] = field(default_factory=dict[int, Link])
    """Per input: the source if it is linked. The others are read from memory."""
    level: int = 0
    """The number of reductions, one after the other, that must be finished before it."""
    stored: tuple[bool, ...] = ()
    """Per output: whether it must be written to memory."""


@dataclass(frozen=True)
class Chain:
    rows: tuple[int, ...]
    space: tuple[int, ...]
    """Sizes of the loops inside a row."""
    steps: tuple[Step, ...]

    @property
    def reductions(self) -> list[int]:
        return [s for s, step in enumerate(self.steps) if step.reduces]

    @property
    def levels(self) -> int:
        """Number of passes over a row that end with a reduction."""
        return 1 + max((self.steps[s].level for s in self.reductions), default=-1)

    @property
    def wide_outputs(self) -> list[int]:
        """Wide steps, other than reductions, with results that must be written to memory."""
        return [s for s, step in enumerate(self.steps) if step.wide and not step.reduces and any(step.stored)]

    @property
    def joint(self) -> Joint:
        """The combination of the partial results of all reductions."""
        return joint_of([self.steps[s] for s in self.reductions])

    @property
    def loops(self) -> range:
        """The loops inside a row, for a wide step."""
        return range(len(self.rows), len(self.rows) + len(self.space))

    def wide_accesses(self) -> list[Access]:
        """The memory accesses of the wide steps inside a row, without duplicates."""
        found: dict[tuple[SSAValue, int, tuple[int, ...]], Access] = {}
        for step in self.steps:
            if not step.wide:
                continue
            outside = [x for k, x in enumerate(step.nest.inputs) if k not in step.sources and isinstance(x, Access)]
            if not step.reduces:
                outside += [x for x, stored in zip(step.nest.outputs, step.stored, strict=True) if stored]
            for access in outside:
                if any(access.strides[l] for l in self.loops):
                    found.setdefault((access.root, access.offset, access.strides), access)
        return list(found.values())

    def permuted(self, row_order: Sequence[int], order: Sequence[int]) -> Chain:
        """The chain with its rows, and the loops inside a row, in other orders."""
        count = len(self.rows)
        whole = [*row_order, *(count + l for l in order)]
        return replace(
            self,
            rows=tuple(self.rows[l] for l in row_order),
            space=tuple(self.space[l] for l in order),
            steps=tuple(
                replace(step, nest=step.nest.permuted(whole if step.wide else row_order)) for step in self.steps
            ),
        )


def joint_of(reductions: Sequence[Step]) -> Joint:
    """The combination of the partial results of several reductions."""
    return Joint(tuple(step.combination for step in reductions if step.combination is not None))


def only_used_by(value: SSAValue, ops: Collection[Operation]) -> bool:
    """Whether only `ops` use a buffer, also through views."""
    return all(use.operation in ops for use in uses_through_views(value))


def temporaries_of(ops: Sequence[Operation], nests: Sequence[Nest]) -> set[SSAValue]:
    """The kernel's own buffers that only these operations use."""
    roots = {access.root for nest in nests for access in nest.outputs}
    all_ops = set(ops)
    return {root for root in roots if isinstance(root.owner, memref.AllocOp) and only_used_by(root, all_ops)}


# Analysis ---------------------------------------------------------------------------------------------------------

Shape = tuple[tuple[int, ...], tuple[int, ...]]


def make_chain(
    nests: Sequence[Nest],
    inits: Sequence[Inits],
    row_dims: int,
    temporaries: Collection[SSAValue],
) -> Chain | None:
    """
    The chain of these nests; None if they do not form one.

    `row_dims`: the number of leading loops of every nest that are rows; 0: the rows are the loops that the first
    reduction keeps.
    """
    if any(0 in nest.sizes for nest in nests) or not any(any(nest.reduction) for nest in nests):
        return None
    nests, inits = _split(nests, inits)
    parts = _by_row_dims(nests, row_dims) if row_dims else _by_first_reduction(nests)
    if parts is None:
        return None
    (rows, space), steps = parts
    steps = [_with_combination(step, init) for step, init in zip(steps, inits, strict=True)]
    linked = _linked(steps, len(rows), temporaries)
    if linked is None:
        return None
    return _collapsed(_in_order_of_memory(Chain(rows, space, tuple(linked))))


def _split(nests: Sequence[Nest], inits: Sequence[Inits]) -> tuple[list[Nest], list[Inits]]:
    """Split each reduction into its independent reductions, unless every output has a known operation."""
    found: list[tuple[Nest, Inits]] = []
    for nest, init in zip(nests, inits, strict=True):
        groups = independent_outputs(nest) if any(nest.reduction) and known_combiners(nest) is None else []
        if len(groups) > 1:
            found += [(restricted(nest, group), tuple(init[k] for k in group)) for group in groups]
        else:
            found.append((nest, init))
    return [nest for nest, _ in found], [init for _, init in found]


def _with_combination(step: Step, inits: Inits) -> Step:
    if not step.reduces:
        return step
    apart = taken_apart(step.nest, inits)
    if apart is None or (apart[1].positioned and math.prod(step.nest.sizes) > MOST_POSITIONS):
        return replace(step, inits=inits)
    return replace(step, nest=apart[0], inits=inits, combination=apart[1])


def _by_row_dims(nests: Sequence[Nest], row_dims: int) -> tuple[Shape, list[Step]] | None:
    """Rows are the leading loops of all nests."""
    rows = nests[0].sizes[:row_dims]
    space: tuple[int, ...] | None = None
    steps: list[Step] = []
    for nest in nests:
        if nest.sizes[:row_dims] != rows or any(nest.reduction[:row_dims]):
            return None
        reduces = any(nest.reduction)
        inner = [l for l in range(row_dims, len(nest.sizes)) if nest.sizes[l] != 1]
        if reduces and not all(nest.reduction[l] for l in inner):
            return None
        inside = tuple(nest.sizes[l] for l in inner)
        space = space or inside
        if inside and inside != space:
            return None
        steps.append(Step(nest.without_unit_loops(), bool(inside) or reduces, reduces))
    shape = tuple(n for n in rows if n != 1), space or ()
    # In a row that has loops, a reduction over none of them belongs to another row.
    if any(step.wide and len(step.nest.sizes) != len(shape[0]) + len(shape[1]) for step in steps):
        return None
    return shape, steps


def _by_first_reduction(nests: Sequence[Nest]) -> tuple[Shape, list[Step]] | None:
    """Rows are the loops that the first reduction keeps; other nests have its loops, or only those that it keeps."""
    first = next(nest for nest in nests if any(nest.reduction)).without_unit_loops()
    kept, reduced = first.parallel_loops, first.reduction_loops
    order = [*kept, *reduced]
    rows, space = tuple(first.sizes[l] for l in kept), tuple(first.sizes[l] for l in reduced)
    steps: list[Step] = []
    for nest in nests:
        reduces = any(nest.reduction)
        nest = nest.without_unit_loops()
        if reduces:
            if nest.sizes != first.sizes or nest.reduction != first.reduction:
                return None
            steps.append(Step(nest.permuted(order), True, True))
        elif nest.sizes == rows:
            steps.append(Step(nest, False, False))
        elif nest.sizes == first.sizes:
            steps.append(Step(nest.permuted(order), True, False))
        else:
            return None
    return (rows, space), steps


def _linked(steps: Sequence[Step], rows: int, temporaries: Collection[SSAValue]) -> list[Step] | None:
    """The steps with their links and levels; None if one needs a value of another row or index."""
    writers: dict[SSAValue, Link] = {}
    done: list[Step] = []
    read: set[SSAValue] = set()
    for number, step in enumerate(steps):
        if not _writes_each_once(step, rows):
            return None
        sources: dict[int, Link] = {}
        level = 0
        for k, access in enumerate(step.nest.inputs):
            if not isinstance(access, Access):
                continue
            link = writers.get(access.root)
            if link is None:
                read.add(access.root)
                continue
            writer = done[link.step]
            if not _is_same_place(access, step, writer.nest.outputs[link.output], writer, rows):
                return None
            # Only one thread knows the result of a reduction that accumulates into a buffer.
            if writer.reduces and writer.inits[link.output] is None:
                return None
            sources[k] = link
            level = max(level, writer.level + writer.reduces)
        for k, access in enumerate(step.nest.outputs):
            if access.root in writers or access.root in read:
                return None
            writers[access.root] = Link(number, k)
        stored = tuple(access.root not in temporaries for access in step.nest.outputs)
        done.append(replace(step, sources=sources, level=level, stored=stored))
    return done


def _writes_each_once(step: Step, rows: int) -> bool:
    """Whether each iteration (each row, for reductions and scalar steps) writes its own element."""
    nest = step.nest
    body = nest.body
    count = len(nest.inputs)
    if not step.reduces and body is not None and any(x.first_use is not None for x in body.args[count:]):
        return False
    for access in nest.outputs:
        inside = access.strides[rows:]
        if any(inside) if step.reduces else not all(inside):
            return False
        if not all(access.strides[:rows]):
            return False
    return True


def _is_same_place(access: Access, reader: Step, written: Access, writer: Step, rows: int) -> bool:
    """Whether a step reads the element that the writer wrote, in each row and at each index of it."""
    if access.offset != written.offset or access.dynamic or written.dynamic:
        return False
    if access.strides[:rows] != written.strides[:rows]:
        return False
    if writer.wide and not writer.reduces:
        return reader.wide and access.strides[rows:] == written.strides[rows:]
    return not any(access.strides[rows:])


def _in_order_of_memory(chain: Chain) -> Chain:
    """Order the loops inside a row as its largest operand lies in memory, if the reductions may be in any order."""
    if len(chain.space) < 2 or any(_depends_on_order(chain.steps[s]) for s in chain.reductions):
        return chain
    inside = chain.loops
    main = max(chain.wide_accesses(), key=lambda x: elements_of(chain, x) * element_bytes(x), default=None)
    if main is None:
        return chain
    order = sorted(range(len(chain.space)), key=lambda l: -abs(main.strides[inside[l]]))
    return chain.permuted(range(len(chain.rows)), order)


def _depends_on_order(step: Step) -> bool:
    return step.combination is None or step.combination.positioned


def _collapsed(chain: Chain) -> Chain:
    """Collapse neighbouring loops that every access moves through with matching strides."""
    rows = len(chain.rows)
    sizes = [*chain.rows, *chain.space]
    keep: list[int] = []
    merged = list(sizes)
    for loop in range(len(sizes)):
        if keep and (keep[-1] < rows) == (loop < rows) and _can_collapse(chain, keep[-1], loop, sizes[loop]):
            merged[loop] = merged[keep[-1]] * sizes[loop]
            keep[-1] = loop
        else:
            keep.append(loop)
    if len(keep) == len(sizes):
        return chain
    kept_rows = [l for l in keep if l < rows]

    def collapse(step: Step) -> Step:
        count = len(step.nest.sizes)
        nest = replace(step.nest, sizes=tuple(merged[:count]))
        return replace(step, nest=nest.permuted([l for l in keep if l < count]))

    return Chain(
        tuple(merged[l] for l in kept_rows),
        tuple(merged[l] for l in keep if l >= rows),
        tuple(collapse(step) for step in chain.steps),
    )


def _can_collapse(chain: Chain, outer: int, inner: int, inner_size: int) -> bool:
    for step in chain.steps:
        nest = step.nest
        if inner >= len(nest.sizes):
            continue
        if outer in nest.dims.values() or inner in nest.dims.values():
            return False
        if any(x.strides[outer] != x.strides[inner] * inner_size for x in nest.accesses):
            return False
    return True


# Memory layout ---------------------------------------------------------------------------------------------------


def elements_of(chain: Chain, access: Access) -> int:
    """The number of elements of a wide operand that the chain touches."""
    sizes = (*chain.rows, *chain.space)
    return math.prod(size for size, stride in zip(sizes, access.strides, strict=True) if stride)


def is_aligned(access: Access, loop: int, width: int) -> bool:
    """Whether vectors of `width` of an access that is contiguous along `loop` are aligned to their size."""
    others = (stride for l, stride in enumerate(access.strides) if l != loop)
    if access.offset % width or any(stride % width for stride in others):
        return False
    return all(multiple_of(value) * multiple_of(factor) % width == 0 for value, factor in access.dynamic)


def contiguous_bytes(chain: Chain) -> dict[int, int]:
    """Per loop of the chain, the bytes of the operands that are contiguous along it."""
    found: dict[int, int] = {}
    for access in chain.wide_accesses():
        for loop, stride in enumerate(access.strides):
            if abs(stride) == 1:
                found[loop] = found.get(loop, 0) + elements_of(chain, access) * element_bytes(access)
    return found


def column_loop(chain: Chain) -> int | None:
    """The row loop along which the operands are contiguous; None if they are inside rows, or nowhere."""
    found = contiguous_bytes(chain)
    # Windows are contiguous along both; the longer loop offers more neighbouring threads.
    best = max(found, key=lambda l: (found[l], (*chain.rows, *chain.space)[l], l), default=None)
    return best if best is not None and best < len(chain.rows) else None


def with_column_last(chain: Chain, loop: int) -> Chain:
    """The chain with that row loop moved to the end."""
    others = [l for l in range(len(chain.rows)) if l != loop]
    return chain.permuted([*others, loop], range(len(chain.space)))


def chain_of_phase(phase: Phase, temporaries: Collection[SSAValue]) -> Chain | None:
    """The chain of a phase's operations, columns last; None if they do not form one."""
    if not phase.is_structured or not any(is_reduction(op) for op in phase.structured):
        return None
    inits = [initial_values(op, phase.absorbed) for op in phase.structured]
    chain = make_chain(phase.nests(), inits, phase.rows, temporaries)
    if chain is None or any(chain.steps[s].combination is None for s in chain.reductions):
        return None
    loop = column_loop(chain)
    return chain if loop is None else with_column_last(chain, loop)
