"""Calls of LLVM's intrinsics in place of a vendor's operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter


def replace_by_intrinsic(
    op: Operation,
    intrinsic: str,
    operands: Sequence[SSAValue] | None = None,
    attributes: Mapping[str, Attribute] = {},
) -> None:
    """Replace an operation by a call of an intrinsic, with its own operands unless others are given."""
    types = [result.type for result in op.results]
    call = llvm.CallIntrinsicOp(intrinsic, list(op.operands if operands is None else operands), types)
    call.attributes.update(attributes)
    call.location = op.location
    Rewriter.replace_op(op, call)
