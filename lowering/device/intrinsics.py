"""Replaces a vendor's operations, most by calls of LLVM's intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...hlo_dialect.rules import Rules
from ...hlo_dialect.walking import operations_in
from .parts import device_modules

Pattern: TypeAlias = Callable[[Any], None]
"""Replaces an operation."""


def replace_operations(module: ModuleOp, patterns: Mapping[type[Operation], Pattern] | Rules[Pattern]) -> None:
    """Replace the operations of device functions that have a pattern."""
    for device in device_modules(module):
        for op in operations_in(device):
            pattern = patterns.get(type(op))
            if pattern is not None:
                pattern(op)


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
