"""
Move the zeros around a convolution's input into the convolution's kernel, which then reads the input itself.

Only a pad that is a kernel of its own moves: one that is computed together with what it pads writes that once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.ir import Block, Operation

from ...dialects.support.editing import erase_op
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.slicing import PadOp
from .decisions import Decision, Verdict
from .epilogues import merged
from .graph import bytes_of


def fuse_padding(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge each fusion in `block` that only pads with the convolutions that alone read the padded tensor.

    Fusions that the program was `given` with stay as they are. Returns a decision per pad.
    """
    for op in list(block.ops):
        pad = None if op in given or not isinstance(op, FusionOp) else _pad_in(op)
        if not isinstance(op, FusionOp) or pad is None:
            continue
        users = list(dict.fromkeys(use.operation for use in op.outs[0].uses))
        convolutions = [_padded_by(user, op) for user in users if user not in given]
        if len(convolutions) != len(users) or None in convolutions:
            continue
        saved = bytes_of(op.outs[0]) * (1 + len(users))  # written, and read by each
        last = convolutions[-1]
        assert last is not None
        yield Decision(Verdict.FUSED, pad, last, "dot", saved)
        for user in users:
            assert isinstance(user, FusionOp)
            merged(op, user)
        erase_op(op)


def _pad_in(fusion: FusionOp) -> PadOp | None:
    """The operation of a fusion that surrounds its operand with zeros and does nothing else."""
    ops = [op for op in fusion.body.block.ops if op.name not in ("hlo.constant", "hlo.return")]
    pad = ops[0] if len(ops) == 1 else None
    if fusion.kind.data == "loop" and isinstance(pad, PadOp) and pad.surrounds_with_zeros:
        return pad
    return None


def _padded_by(user: Operation, pad: FusionOp) -> Operation | None:
    """The convolution of a fusion whose input is the padded tensor, and that alone reads it there."""
    if not isinstance(user, FusionOp) or user.parent is not pad.parent:
        return None
    if user.kind.data not in ("dot", "custom") or list(user.operands).count(pad.outs[0]) != 1:
        return None
    (use, *others) = user.body.block.args[list(user.operands).index(pad.outs[0])].uses
    if others or use.index != 0 or use.operation.name != "hlo.convolution":
        return None
    return use.operation
