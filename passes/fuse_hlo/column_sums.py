"""
Let a row fusion sum the columns of all its rows: the gradients of a normalization's gain and bias beside that of its
input.

The kernel adds each row to partial sums while it is in the cache (`lowering/convert_linalg_to_scf/column_sums.py`); the
sums have no kernel of their own that reads the rows again.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.creation import new_block
from ...dialects.support.editing import detach_op, erase_op
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.types import shape_of
from .clusters import MAX_INPUTS, MAX_OPS, MAX_RESULTS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .factor_sums import delay
from .graph import bytes_of
from .result_sums import LEAST_COLUMNS, LEAST_ROWS, sums_columns


def fuse_column_sums(block: Block, given: Container[FusionOp]) -> Iterator[Decision]:
    """
    Merge each row fusion in `block` with the fusions that sum nothing but columns of what it reads or returns.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        row = op
        while isinstance(row, FusionOp) and row not in given:
            domain = _domain_of(row)
            user = None if domain is None else _sums_beside(row, domain, given)
            if user is None:
                break
            total = next(op for op in user.body.block.ops if isinstance(op, ReduceOp))
            saved = sum(bytes_of(value) for value in _shared(row, user))
            node = next(op for op in row.body.block.ops if isinstance(op, ReduceOp))
            yield Decision(Verdict.FUSED, total, node, "row", saved)
            row = _merged(row, user)


def _domain_of(row: FusionOp) -> tuple[int, ...] | None:
    """The shape of a fusion's rows, if these are long and many, and none of them is a product's."""
    if row.kind.data != "row":
        return None
    count, ops = row.row_count, list(row.body.block.ops)
    sums = [op for op in ops if isinstance(op, ReduceOp) and min(op.dims) >= count]
    if not sums or any(isinstance(op, DotGeneralOp) for op in ops):
        return None
    shape = shape_of(sums[0].inputs[0])
    large = shape[-1] >= LEAST_COLUMNS and math.prod(shape[:-1]) >= LEAST_ROWS
    return shape if len(shape) == count + 1 and large else None


def _sums_beside(row: FusionOp, shape: tuple[int, ...], given: Container[FusionOp]) -> FusionOp | None:
    """The first fusion of sums that reads values of the rows' shape which a row fusion reads or returns."""
    made = row.body.block.last_op
    assert made is not None
    after = {result for op in _after_sums(row.body.block, row.row_count) for result in op.results}
    late = {out for out, value in zip(row.outs, made.operands, strict=True) if value in after}
    for value in dict.fromkeys([*row.operands, *row.outs]):
        if shape_of(value) != shape:
            continue
        for use in list(value.uses):
            user = use.operation
            if not isinstance(user, FusionOp) or user in given or user.parent is not row.parent or user is row:
                continue
            if not _sums_only(user, shape) or any(out in row.operands for out in user.outs):
                continue
            inputs = dict.fromkeys([*row.operands, *user.operands])
            few = len(inputs) <= MAX_INPUTS and len(row.outs) + len(user.outs) <= MAX_RESULTS
            ops = sum(len(list(each.body.block.ops)) for each in (row, user))
            # A sum that reads another of the kernel's sums would wait until all rows are complete.
            waits = late.intersection(user.operands)
            if few and ops <= MAX_OPS and not waits and delay(user, row):
                return user
    return None


def _shared(row: FusionOp, sums: FusionOp) -> list[SSAValue]:
    return [value for value in dict.fromkeys(sums.operands) if value in row.operands or value in row.outs]


def _sums_only(fusion: FusionOp, shape: tuple[int, ...]) -> bool:
    """Whether a fusion sums values of this shape over all dimensions but the last; what follows the sums is smaller."""
    if fusion.kind.data != "reduce":
        return False
    after: set[SSAValue] = set()
    for op in fusion.body.block.ops:
        if isinstance(op, ReduceOp):
            if not sums_columns(op, shape, len(shape) - 1) or after.intersection(op.operands):
                return False
        elif not is_elementwise(op) and not isinstance(op, (BroadcastInDimOp, ReshapeOp, ConstantOp)):
            return isinstance(op, ReturnOp)
        elif not after.intersection(op.operands):
            continue
        elif any(shape_of(result) == shape for result in op.results):
            return False
        after.update(op.results)
    return False


def _merged(row: FusionOp, sums: FusionOp) -> FusionOp:
    """
    Replace both fusions by a row fusion of both, in the place of the first: sums, rows, and what follows from the sums.
    """
    inputs = [value for value in dict.fromkeys([*row.operands, *sums.operands]) if value not in row.outs]
    block = new_block([value.type for value in inputs])
    local: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in local.items():
        argument.name_hint = value.name_hint
    if any(value in row.outs for value in sums.operands):
        made = taken_into(block, row, local)
        local.update(zip(row.outs, made, strict=True))
        made += taken_into(block, sums, local)
    else:
        # The rows may then be written over what the sums read.
        summed = taken_into(block, sums, local)
        made = taken_into(block, row, local) + summed
    _put_last(block, row.row_count)
    results: list[SSAValue] = [*row.outs, *sums.outs]
    read = [any(use.operation is not sums for use in value.uses) for value in results]
    results, made = ([x for x, kept in zip(values, read, strict=True) if kept] for values in (results, made))
    fusion = replace_results(results, row, inputs, block, made, dict(row.properties))
    erase_op(sums)
    erase_op(row)
    return fusion


def _put_last(block: Block, rows: int) -> None:
    """Move what follows from the sums of columns to the end of the block."""
    for op in _after_sums(block, rows):
        if not _sums_rows(op, rows):
            detach_op(op)
            block.add_op(op)


def _after_sums(block: Block, rows: int) -> list[Operation]:
    """The sums of columns, and what follows from them."""
    found: list[Operation] = []
    after: set[SSAValue] = set()
    for op in block.ops:
        if not isinstance(op, ReturnOp) and (_sums_rows(op, rows) or after.intersection(op.operands)):
            found.append(op)
            after.update(op.results)
    return found


def _sums_rows(op: Operation, rows: int) -> bool:
    return isinstance(op, ReduceOp) and min(op.dims) < rows
