"""Indexing maps of linalg: linear expressions in the loop's dimensions, and the parts of operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...hlo_dialect.diagnostics import fail


def part_of(dim: int, size: int) -> AffineExpr:
    """
    Index `d` into an operand that extends beyond the loop, as for a prefix slice; `size` is the operand's.

    A plain dimension would determine the loop's size from the operand; `d mod size`, which is d, does not.
    """
    return AffineExpr.dimension(dim) % size


def without_part(expr: AffineExpr) -> AffineExpr:
    """`d` for `d mod size`; other expressions are returned as they are."""
    if type(expr) is AffineBinaryOpExpr and expr.kind is AffineBinaryOpKind.Mod:
        return expr.lhs
    return expr


def _uses_dims_below(expr: AffineExpr, limit: int) -> bool:
    return any(isinstance(x, AffineDimExpr) and x.position < limit for x in expr.dfs())


def is_row_access(map_: AffineMap, rows: int) -> bool:
    """Whether the map's first results are the row dimensions themselves and no other result uses them."""
    leading, rest = map_.results[:rows], map_.results[rows:]
    return (
        len(leading) == rows
        and all(isinstance(x, AffineDimExpr) and x.position == d for d, x in enumerate(leading))
        and not any(_uses_dims_below(x, rows) for x in rest)
    )


def check_index_map(
    op: Operation, places: Iterable[AffineExpr], shape: Sequence[int], loop_sizes: Sequence[int]
) -> None:
    """Raise DiagnosticError for what is neither linear nor `d mod size` in a loop of at most `size` iterations."""
    for expr, size in zip(places, shape, strict=True):
        if type(expr) is AffineDimExpr:
            continue  # as most are
        match expr:
            case AffineBinaryOpExpr(
                kind=AffineBinaryOpKind.Mod, lhs=AffineDimExpr() as dim, rhs=AffineConstantExpr() as divisor
            ) if divisor.value == size and loop_sizes[dim.position] <= size:
                continue
            case _:
                if not _is_linear(expr):
                    fail(op, f"has the indexing expression {expr}, which is not linear")


def _is_linear(expr: AffineExpr) -> bool:
    if not isinstance(expr, AffineBinaryOpExpr):
        return isinstance(expr, (AffineDimExpr, AffineConstantExpr))
    sides = _is_linear(expr.lhs) and _is_linear(expr.rhs)
    if expr.kind is AffineBinaryOpKind.Mul:
        return sides and not (_has_dims(expr.lhs) and _has_dims(expr.rhs))
    return sides and expr.kind is AffineBinaryOpKind.Add


def _has_dims(expr: AffineExpr) -> bool:
    return any(isinstance(part, AffineDimExpr) for part in expr.dfs())
