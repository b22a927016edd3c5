"""
Let row fusions with products read slices where they lie, and write results where and as their only user wants them.

The merged projection of attention's queries, keys and values is then not cut into three tensors, the transpose of what
attention returns is not a kernel of its own, and the gradients are written side by side. Kernels that multiply rows
read and write through any strides: see fuse-linalg.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects.support.creation import create_op, new_block
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .graph import bytes_of


def fuse_row_views(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge fusions in `block` that only slice with the row fusions whose products alone read the slices, and row fusions
    with the transposes and concatenations that alone read the results of their products.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        if isinstance(op, FusionOp) and op not in given and (slices := _slices_in(op)):
            yield from _read_slices(op, slices, given)
    for op in list(block.ops):
        while isinstance(op, FusionOp) and op not in given and _has_products(op):
            user = next((user for value in op.outs if (user := _writer_of(value, op, given))), None)
            if user is None:
                break
            saved = sum(2 * bytes_of(value) for value in user.operands)  # written and read
            *_, last, _ = user.body.block.ops
            dot = _made(user.operands[0], op).owner
            assert isinstance(dot, Operation)
            yield Decision(Verdict.FUSED, dot, last, "row", saved)
            op = _with_user(op, user)


def _has_products(fusion: FusionOp) -> bool:
    return fusion.kind.data == "row" and any(isinstance(op, DotGeneralOp) for op in fusion.body.block.ops)


# Slices before.


def _slices_in(fusion: FusionOp) -> list[SliceOp]:
    """The operations of a fusion that does nothing but return slices of one value; else none."""
    if fusion.kind.data != "loop" or len(fusion.operands) != 1:
        return []
    *ops, last = fusion.body.block.ops
    slices = [op for op in ops if isinstance(op, SliceOp) and op.operand is fusion.body.block.args[0]]
    whole = len(slices) == len(ops) and [op.result for op in slices] == list(last.operands)
    return slices if whole and all(set(op.steps) == {1} for op in slices) else []


def _read_slices(fusion: FusionOp, slices: Sequence[SliceOp], given: Container[Operation]) -> Iterator[Decision]:
    found: list[tuple[SSAValue, View]] = []
    for value, op in zip(fusion.outs, slices, strict=True):
        reshape = value.get_user_of_unique_use()
        read = reshape.result if isinstance(reshape, ReshapeOp) else value
        view = _view(op, shape_of(read))
        if view is None or not all(_reads_as_factor(use.operation, read, fusion, given) for use in read.uses):
            return
        found.append((read, view))
    sources: dict[tuple[int, ...], SSAValue] = {}
    for (read, (shape, starts, limits)), op in zip(found, slices, strict=True):
        users = list(dict.fromkeys(use.operation for use in read.uses))
        if shape not in sources:
            sources[shape] = _reshaped(fusion.operands[0], shape, fusion)
        for user in users:
            assert isinstance(user, FusionOp)
            dot = user.body.block.args[list(user.operands).index(read)].first_use
            assert dot is not None
            yield Decision(Verdict.FUSED, op, dot.operation, "row", 2 * bytes_of(read))
            _slice_inside(user, read, sources[shape], (shape, starts, limits))
    for read, _ in found:
        if isinstance(read.owner, ReshapeOp):
            erase_op(read.owner)
    erase_op(fusion)


def _reads_as_factor(user: Operation, value: SSAValue, fusion: FusionOp, given: Container[Operation]) -> bool:
    """Whether an operation is a row fusion of the same block whose products alone read the value."""
    if not isinstance(user, FusionOp) or user in given or user.parent is not fusion.parent or not _has_products(user):
        return False
    if list(user.operands).count(value) != 1:
        return False
    uses = user.body.block.args[list(user.operands).index(value)].uses
    return all(isinstance(use.operation, DotGeneralOp) for use in uses)


View = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The shape to bring the source to, and where a slice of that begins and ends."""


def _view(op: SliceOp, shape: tuple[int, ...]) -> View | None:
    """
    The reshape of a slice to `shape` as the slice of a reshape; None if it is none, or cuts along several dimensions.

    `x[:, 768:1536]` of 2304 columns as n x 12 x 64 is `x.reshape(n, 36, 64)[:, 12:24]`.
    """
    source = shape_of(op.operand)
    if shape == shape_of(op.result):
        return source, op.starts, op.limits
    cut = [dim for dim, size in enumerate(source) if shape_of(op.result)[dim] != size]
    if len(cut) != 1 or 0 in shape:
        return None
    before, after = math.prod(source[: cut[0]]), math.prod(source[cut[0] + 1 :])
    places = [dim for dim in range(len(shape)) if math.prod(shape[:dim]) == before]
    if not places:
        return None
    place = places[-1]
    inner = math.prod(shape[place + 1 :])
    ends = [size * after for size in (op.starts[cut[0]], op.limits[cut[0]], source[cut[0]])]
    if any(end % inner for end in ends):
        return None
    start, limit, size = (end // inner for end in ends)
    whole = (*shape[:place], size, *shape[place + 1 :])
    return whole, _with(place, start, (0,) * len(shape)), _with(place, limit, whole)


def _with(place: int, number: int, numbers: Sequence[int]) -> tuple[int, ...]:
    return (*numbers[:place], number, *numbers[place + 1 :])


def _reshaped(value: SSAValue, shape: tuple[int, ...], before: Operation) -> SSAValue:
    if shape_of(value) == shape:
        return value
    type_ = make_tensor(shape, element_of(value))
    op = create_op(ReshapeOp, operands=[value], result_types=[type_], location=before.location)
    insert_before(op, before)
    return op.results[0]


def _slice_inside(user: FusionOp, read: SSAValue, source: SSAValue, view: View) -> None:
    """Let a fusion read its operand `read` as a slice of `source`."""
    _, starts, limits = view
    block, operands = user.body.block, list(user.operands)
    number = operands.index(read)
    argument = block.args[number]
    inputs = [value for value in operands if value is not read]
    if source in inputs:
        whole = block.args[operands.index(source)]
    else:
        whole = block.insert_arg(source.type, len(block.args))
        whole.name_hint = source.name_hint
        inputs.append(source)
    first = block.first_op
    assert first is not None
    op = create_op(
        SliceOp,
        operands=[whole],
        result_types=[argument.type],
        properties={
            "start_indices": int_array(starts),
            "limit_indices": int_array(limits),
            "strides": int_array((1,) * len(starts)),
        },
        location=read.owner.location if isinstance(read.owner, Operation) else user.location,
    )
    insert_before(op, first)
    op.results[0].name_hint = argument.name_hint
    replace_uses(argument, op.results[0])
    block.erase_arg(argument)
    user.operands = inputs


# Transposes and concatenations after.


def _writer_of(value: SSAValue, rows: FusionOp, given: Container[Operation]) -> FusionOp | None:
    """The fusion that does nothing but transpose or join results of products of `rows`, which nothing else reads."""
    user = value.get_user_of_unique_use()
    if not isinstance(user, FusionOp) or user in given or user.kind.data not in ("loop", "concatenate"):
        return None
    if user.parent is not rows.parent or not all(_is_product(each, rows) for each in user.operands):
        return None
    *ops, _ = user.body.block.ops
    moves = all(isinstance(op, ConcatenateOp) or _keeps_columns(op) for op in ops)
    inner = [result for op in ops for result in op.results]
    alone = all(each.has_one_use() for each in (*user.body.block.args, *inner))
    return user if moves and alone and len(user.outs) == 1 else None


def _keeps_columns(op: Operation) -> bool:
    return isinstance(op, TransposeOp) and op.dims[-1] == len(op.dims) - 1


def _is_product(value: SSAValue, rows: FusionOp) -> bool:
    """Whether a value is the result of a product of the fusion, perhaps converted, and has one user."""
    if value.owner is not rows or not value.has_one_use() or not _made(value, rows).has_one_use():
        return False
    owner = _made(value, rows).owner
    if isinstance(owner, ConvertOp) and owner.operands[0].has_one_use():
        owner = owner.operands[0].owner
    return isinstance(owner, DotGeneralOp)


def _made(value: SSAValue, fusion: FusionOp) -> SSAValue:
    """The value inside a fusion that it returns as its result `value`."""
    last = fusion.body.block.last_op
    assert isinstance(value, OpResult) and last is not None
    return last.operands[value.index]


def _with_user(rows: FusionOp, user: FusionOp) -> FusionOp:
    """Replace a row fusion and the fusion that alone reads some of its results by one."""
    block = new_block([argument.type for argument in rows.body.block.args])
    local: dict[SSAValue, SSAValue] = dict(zip(rows.operands, block.args, strict=True))
    for old, new in zip(rows.body.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    made: dict[SSAValue, SSAValue] = dict(zip(rows.outs, taken_into(block, rows, local), strict=True))
    kept = [value for value in rows.outs if value not in user.operands]
    inner = taken_into(block, user, {value: made[value] for value in user.operands})
    returned = [*(made[value] for value in kept), *inner]
    fusion = replace_results([*kept, *user.outs], rows, rows.operands, block, returned, dict(rows.properties))
    for op in (user, rows):
        erase_op(op)
    return fusion
