"""
The plan of a row kernel with products: its loops over rows, and the buffers that hold one tile of rows at a time.

Every operation of the kernel is a nest whose first loops are the rows, in one order. Operations may have their rows in
other orders, as a product does whose result is transposed. They agree with the others on the buffers that pass rows
between them: loops over rows are those that move such a buffer with the same stride.

A product may also sum over the rows of a matrix, as the gradients of attention's keys and values do. Its output then
gets a part from each tile, and holds no rows. Values computed from it, such as narrower floats, wait for the last tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from ....dialects.support.kernel import CONTRACTION
from ...convert_linalg_to_scf.conversion import Structured, nest_of
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest

Strides = tuple[int, ...]


@dataclass(frozen=True)
class Temporary:
    """A buffer of the kernel that holds rows: only one tile, or one row, of it is ever in memory."""

    rows: Strides
    """The buffer's stride, in elements, along each loop over rows; 0 for loops of size 1."""
    size: int
    """Elements of one row."""
    tiled: bool
    """Whether it passes rows to another loop over them, so that a whole tile is kept."""


@dataclass(frozen=True)
class RowProductPlan:
    """The operations of a row kernel in order, as nests that begin with the loops over rows."""

    shape: tuple[int, ...]
    """The sizes of the loops over rows; tiles are of the last."""
    nests: tuple[Nest, ...]
    temporaries: Mapping[SSAValue, Temporary]
    homes: Mapping[SSAValue, SSAValue]
    """For each temporary the one in whose memory it is: its own, or of one that nothing reads any more."""
    after: frozenset[int]
    """The nests of what follows from sums over rows: they begin with the loops around a matrix."""


def is_product(nest: Nest) -> bool:
    return CONTRACTION in nest.op.attributes


def sums_rows(nest: Nest, rows: int) -> bool:
    """Whether a nest of a plan is a product that contracts the last loop over rows."""
    return is_product(nest) and nest.reduction[rows - 1]


def plan_row_products(ops: Sequence[Structured], rows: int) -> RowProductPlan | None:
    """The plan; `ops` are the kernel's operations that run, in order. None if they do not share loops over rows."""
    nests = [nest_of(op) for op in ops]
    shape = next((nest.sizes[:rows] for nest in nests if any(nest.reduction) and not is_product(nest)), ())
    if len(shape) < rows or any(0 in nest.sizes for nest in nests):
        return None
    found = _aligned(nests, shape)
    aligned = {**found, **_after_sums(nests, found, shape)}
    if len(aligned) < len(nests):
        return None
    ordered = tuple(aligned[number] for number in range(len(nests)))
    temporaries = _temporaries(ordered, rows)
    if temporaries is None:
        return None
    after = frozenset(aligned.keys() - found.keys())
    return RowProductPlan(shape, ordered, temporaries, _homes(ordered, temporaries), after)


# The order of loops.


def _aligned(nests: Sequence[Nest], shape: tuple[int, ...]) -> dict[int, Nest]:
    """The nests with the loops over rows first, without those that have no such loops; none if they disagree."""
    rows = len(shape)
    found: dict[int, Nest] = {}
    known: dict[SSAValue, Strides] = {}
    read: dict[SSAValue, Strides] = {}
    """The strides of arguments, which operations may read in other ways too."""
    inputs = {x.root for nest in nests for x in nest.inputs if isinstance(x, Access)}
    # A buffer that is only written passes no rows, and may be several parts of one result.
    written = {access.root for nest in nests for access in nest.outputs}
    passed = written & inputs

    def settle(number: int, nest: Nest) -> None:
        found[number] = nest
        for access in nest.accesses:
            if access.root in passed or access.root not in written:
                (known if access.root in passed else read).setdefault(access.root, _row_strides(access, shape))

    for number, nest in enumerate(nests):
        if not is_product(nest) and nest.sizes[:rows] == shape and not any(nest.reduction[:rows]):
            settle(number, nest)
            break
    while len(found) < len(nests):
        settled = len(found)
        for number, nest in enumerate(nests):
            loops = None if number in found else _shared_loops(nest, known, shape)
            if loops is not None:
                settle(number, _rows_first(nest, loops))
        if len(found) == settled and not _settle_by_arguments(nests, found, read, shape, settle):
            break
    for nest in found.values():
        for access in nest.accesses:
            if access.root in known and known[access.root] != _row_strides(access, shape):
                return {}
    return found


def _after_sums(nests: Sequence[Nest], found: Mapping[int, Nest], shape: tuple[int, ...]) -> dict[int, Nest]:
    """The nests that read only sums over rows, with the loops around a matrix first."""
    rows = len(shape)
    sums = {x.root: _row_strides(x, shape) for nest in found.values() if sums_rows(nest, rows) for x in nest.outputs}
    after: dict[int, Nest] = {}
    for number, nest in enumerate(nests):
        known = [x for x in nest.inputs if isinstance(x, Access) and x.root in sums]
        reads_more = len(known) < len(nest.inputs) or any(_is_local(x.root) for x in nest.outputs)
        if number in found or not known or reads_more or any(nest.reduction):
            continue
        loops = _loops_over_rows(nest, known[0], sums[known[0].root][:-1], shape[:-1])
        if loops is not None:
            after[number] = _rows_first(nest, loops)
    return after


def _settle_by_arguments(
    nests: Sequence[Nest],
    found: Mapping[int, Nest],
    read: Mapping[SSAValue, Strides],
    shape: tuple[int, ...],
    settle: Callable[[int, Nest], None],
) -> bool:
    """Settle a nest that reads rows of an argument as others do: a product only if it sums over them."""
    moving = {
        root: each
        for root, each in read.items()
        if all(stride or size == 1 for stride, size in zip(each, shape, strict=True))
    }
    for number, nest in enumerate(nests):
        loops = None if number in found else _shared_loops(nest, moving, shape)
        if loops is None:
            continue
        if not is_product(nest) or (loops[-1] is not None and nest.reduction[loops[-1]]):
            settle(number, _rows_first(nest, loops))
            return True
    return False


def _shared_loops(nest: Nest, known: Mapping[SSAValue, Strides], shape: tuple[int, ...]) -> list[int | None] | None:
    """The nest's loops over rows by the first buffer of known strides that it reads or writes."""
    shared = next((x for x in nest.accesses if x.root in known), None)
    return None if shared is None else _loops_over_rows(nest, shared, known[shared.root], shape)


def _rows_first(nest: Nest, loops: Sequence[int | None]) -> Nest:
    """The nest with these loops first."""
    rest = [loop for loop in range(len(nest.sizes)) if loop not in loops]
    return _with_unit_loops(nest, loops).permuted(_order(nest, loops, rest))


def _is_local(root: SSAValue) -> bool:
    return isinstance(root.owner, memref.AllocOp)


def _row_strides(access: Access, shape: tuple[int, ...]) -> Strides:
    return tuple(0 if size == 1 else stride for size, stride in zip(shape, access.strides, strict=False))


def _loops_over_rows(nest: Nest, shared: Access, strides: Strides, shape: tuple[int, ...]) -> list[int | None] | None:
    """For each loop over rows the nest's loop, None for one of size 1; None if the nest has no such loops."""
    loops: list[int | None] = []
    for position, (size, stride) in enumerate(zip(shape, strides, strict=True), 1):
        may_sum = position == len(strides) and is_product(nest)
        if size == 1:
            loops.append(None)
            continue
        matching = [
            loop
            for loop, (n, s, reduced) in enumerate(zip(nest.sizes, shared.strides, nest.reduction, strict=True))
            if n == size and s == stride and stride and (may_sum or not reduced) and loop not in loops
        ]
        if not matching:
            return None
        loops.append(matching[0])
    return loops


def _with_unit_loops(nest: Nest, loops: Sequence[int | None]) -> Nest:
    """The nest with one more loop of size 1 at the end for each row loop that it does not have."""
    missing = sum(loop is None for loop in loops)

    def widen(access: Access) -> Access:
        return replace(access, strides=(*access.strides, *(0,) * missing))

    return replace(
        nest,
        sizes=(*nest.sizes, *(1,) * missing),
        reduction=(*nest.reduction, *(False,) * missing),
        inputs=tuple(widen(x) if isinstance(x, Access) else x for x in nest.inputs),
        outputs=tuple(map(widen, nest.outputs)),
    )


def _order(nest: Nest, loops: Sequence[int | None], rest: Sequence[int]) -> list[int]:
    added = iter(range(len(nest.sizes), len(nest.sizes) + len(loops)))
    return [*(next(added) if loop is None else loop for loop in loops), *rest]


# Buffers.


def _temporaries(nests: Sequence[Nest], rows: int) -> dict[SSAValue, Temporary] | None:
    """The kernel's buffers that hold rows; None if one of them is not laid out row by row."""
    segments: dict[SSAValue, set[int]] = {}
    accesses: dict[SSAValue, list[tuple[Nest, Access]]] = {}
    segment = 0
    sums = {access.root for nest in nests if sums_rows(nest, rows) for access in nest.outputs}
    for nest in nests:
        # Products stand between the loops over rows.
        segment += is_product(nest)
        for access in nest.accesses:
            if _is_local(access.root) and access.root not in sums:
                segments.setdefault(access.root, set()).add(-segment if is_product(nest) else segment)
                accesses.setdefault(access.root, []).append((nest, access))
    found: dict[SSAValue, Temporary] = {}
    for root, uses in accesses.items():
        if not used_only_by(root, {nest.op for nest in nests}):
            return None
        nest, access = uses[0]
        sizes, strides = nest.sizes[:rows], _row_strides(access, nest.sizes[:rows])
        size = math.prod(buffer_of(root).get_shape()) // math.prod(sizes)
        if any(stride % size for stride in strides) or any(not stays_within(n, x, rows, size) for n, x in uses):
            return None
        found[root] = Temporary(strides, size, len(segments[root]) > 1 or min(segments[root]) < 0)
    return found


def _homes(nests: Sequence[Nest], temporaries: Mapping[SSAValue, Temporary]) -> dict[SSAValue, SSAValue]:
    """Tiles take the memory of earlier ones of their type: rows that are written after the last step that reads it."""
    uses = {
        root: [k for k, nest in enumerate(nests) if any(x.root is root for x in nest.accesses)] for root in temporaries
    }
    homes = {root: root for root in temporaries}
    last = {root: max(steps) for root, steps in uses.items()}
    for root in sorted(temporaries, key=lambda root: min(uses[root])):
        for home in temporaries:
            alike = (
                temporaries[home] == temporaries[root] and buffer_of(home).element_type == buffer_of(root).element_type
            )
            if alike and temporaries[root].tiled and homes[home] is home and last[home] < min(uses[root]):
                homes[root], last[home] = home, last[root]
                break
    return homes


def used_only_by(root: SSAValue, ops: Container[Operation]) -> bool:
    """Whether these operations, and fills, are all that uses a buffer or a view of it."""
    pending = [root]
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if user in ops or user.name == "linalg.fill":
                continue
            if not user.results or len(user.results) != 1 or not user.name.startswith("memref."):
                return False
            pending.append(user.results[0])
    return True


def stays_within(nest: Nest, access: Access, rows: int, size: int) -> bool:
    """Whether the loops inside a row stay in that row's elements."""
    steps = [stride * (n - 1) for stride, n in zip(access.strides[rows:], nest.sizes[rows:], strict=True)]
    first = access.offset + sum(step for step in steps if step < 0)
    return not access.dynamic and first >= 0 and access.offset + sum(step for step in steps if step > 0) < size


def in_row(access: Access, rows: int, offset: Sequence[tuple[SSAValue, int]] = ()) -> Access:
    """The access to one row, which `offset` places in its buffer, instead of to all rows."""
    return replace(access, strides=(*(0,) * rows, *access.strides[rows:]), dynamic=(*access.dynamic, *offset))
