"""
Move what surrounds a convolution's or a pooling's input into its kernel, which then reads the input itself.

Only a pad that is a kernel of its own moves: one that is computed together with what it pads writes that once.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, TypeGuard

from xdsl.ir import Block, Operation

from ...dialects.support.editing import erase_op
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.slicing import PadOp
from ...hlo_dialect.types import shape_of
from ...lowering.loop_nests.windows import takes_columns
from .decisions import Decision, Verdict
from .epilogues import merged
from .graph import bytes_of

if TYPE_CHECKING:
    from ...hlo_dialect.ops.window import ReduceWindowOp

LEAST_COLUMNS = 16
"""Columns of a pooling that fill the vectors of its innermost loop."""

HIDING = 3
"""Columns in which the check of one element of a window takes no time, beside writing and reading a padded one."""


def fuse_padding(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion in `block` that only pads with the poolings that read the padded tensor, and with convolutions if
    nothing else reads it.

    Fusions that the program was `given` with stay as they are. Returns a decision per pad.
    """
    for op in list(block.ops):
        pad = None if op in given or not isinstance(op, FusionOp) else _pad_in(op)
        if not isinstance(op, FusionOp) or pad is None:
            continue
        users = list(dict.fromkeys(use.operation for use in op.outs[0].uses))
        found = [each for user in users if user not in given and (each := _padded_by(user, op, pad)) is not None]
        whole = len(found) == len(users)
        taking = [each for each in found if whole or _is_pooling(each[1])]
        if not taking:
            continue
        last = taking[-1][1]
        saved = bytes_of(op.outs[0]) * (whole + len(taking))  # written, and read by each
        yield Decision(Verdict.FUSED, pad, last, "custom" if _is_pooling(last) else "dot", saved)
        for user, _ in taking:
            merged(op, user)
        if whole:
            erase_op(op)


def _pad_in(fusion: FusionOp) -> PadOp | None:
    """The operation of a fusion that surrounds its operand with one value and does nothing else."""
    ops = [op for op in fusion.body.block.ops if op.name not in ("hlo.constant", "hlo.return")]
    pad = ops[0] if len(ops) == 1 else None
    if fusion.kind.data == "loop" and isinstance(pad, PadOp) and pad.surrounds:
        return pad
    return None


def _padded_by(user: Operation, fusion: FusionOp, pad: PadOp) -> tuple[FusionOp, Operation] | None:
    """A fusion and its convolution or pooling that alone reads the padded tensor there, if it can pad by itself."""
    if not isinstance(user, FusionOp) or user.parent is not fusion.parent:
        return None
    if user.kind.data not in ("dot", "custom") or list(user.operands).count(fusion.outs[0]) != 1:
        return None
    (use, *others) = user.body.block.args[list(user.operands).index(fusion.outs[0])].uses
    if others:
        return None
    if _is_pooling(use.operation):
        suits = _pads_rows(pad, use.operation)
    else:
        suits = use.index == 0 and use.operation.name == "hlo.convolution" and pad.surrounds_with_zeros
    return (user, use.operation) if suits else None


def _is_pooling(op: Operation) -> TypeGuard[ReduceWindowOp]:
    return op.name == "hlo.reduce_window"  # most programs do not import its class


def _pads_rows(pad: PadOp, pooling: ReduceWindowOp) -> bool:
    """
    Whether nothing is padded in the last dimension, whose elements are pooled side by side, and these are enough: an
    element is checked for each window that it is in.
    """
    window, counts = pooling.window, shape_of(pooling.results[0])
    if not takes_columns(window.dimensions, window.strides, counts) or pad.low[-1] or pad.high[-1]:
        return False
    checks = HIDING * math.prod(window.dimensions)
    return counts[-1] >= LEAST_COLUMNS and counts[-1] * math.prod(window.strides) >= checks
