"""Simplification rules and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.rules import Rules


@dataclass(frozen=True)
class Rewrite:
    """Replace the operation by `new_ops` and its results by `values`. Without values it was changed in place."""

    new_ops: Sequence[Operation] = ()
    values: Sequence[SSAValue] | None = None
    touched: Sequence[object] = ()
    """Operations to revisit, besides the users and the operands' owners."""


Rule = Callable[[Operation], Rewrite | None]
simplifications = Rules[Rule]("simplify-hlo", __package__, several=True)


def start(value: SSAValue) -> Tensor:
    """A handle to compute with; `by` makes a rewrite of the result."""
    return Tensor(Builder(), value)


def by(*results: Tensor) -> Rewrite:
    """The rewrite to the operations that one builder collected."""
    return Rewrite(results[0].builder.ops, [result.value for result in results])


def to(*values: SSAValue) -> Rewrite:
    """The rewrite to values that exist."""
    return Rewrite((), values)
