"""What a simplification rule hands back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Rewrite:
    """The operation's results become `values`, `new_ops` take its place. Without values it was changed in place."""

    new_ops: Sequence[Operation] = ()
    values: Sequence[SSAValue] | None = None
    touched: Sequence[object] = ()
    """Operations that are worth another visit beside the users and the operands' owners."""


def by(op: Operation) -> Rewrite:
    """The rewrite to another operation with the same results."""
    return Rewrite((op,), tuple(op.results))


def to(*values: SSAValue) -> Rewrite:
    """The rewrite to values that exist."""
    return Rewrite((), values)
