"""The constraints of collective operations that depend on the number of processes."""

from __future__ import annotations

import pytest

from xhlo.hlo_dialect.collectives.base import CollectiveOp
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.verification import verify_module

_GROUPS = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
_SUM = """({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })"""
_SAME = "(tensor<4xf32>) -> tensor<4xf32>"
_PROGRAMS = {
    "all_gather_c3": f'"stablehlo.all_gather"(%x) {{all_gather_dim = 0 : i64, {_GROUPS}}} '
    ": (tensor<4xf32>) -> tensor<8xf32>",
    "all_reduce_c2": f'"stablehlo.all_reduce"(%x) {_SUM} {{{_GROUPS}}} : {_SAME}',
    "all_to_all_c6": '"stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, '
    f"split_count = 2 : i64, {_GROUPS}}} : {_SAME}",
    "collective_broadcast_c2": f'"stablehlo.collective_broadcast"(%x) {{{_GROUPS}}} : {_SAME}',
    "collective_reduce_c2": f'"stablehlo.collective_reduce"(%x) {_SUM} {{{_GROUPS}}} : {_SAME}',
    "collective_permute_c4": '"stablehlo.collective_permute"(%x) '
    f"{{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}} : {_SAME}",
    "cross_replica_sum_c2": f'"stablehlo.cross-replica-sum"(%x) {{{_GROUPS}}} : {_SAME}',
    "reduce_scatter_c4": f'"stablehlo.reduce_scatter"(%x) {_SUM} {{scatter_dimension = 0 : i64, {_GROUPS}}} '
    ": (tensor<4xf32>) -> tensor<2xf32>",
}


def _collective(text: str) -> CollectiveOp:
    module = parse_module(f"func.func @main(%x: tensor<4xf32>) {{\n  %0 = {text}\n  return\n}}")
    verify_module(module)
    (found,) = (op for op in module.walk() if isinstance(op, CollectiveOp))
    return found


@pytest.mark.parametrize("constraint", _PROGRAMS)
def test_processes_that_the_grid_has_not(constraint: str) -> None:
    op = _collective(_PROGRAMS[constraint])
    op.check_grid(2, 1)
    with pytest.raises(DiagnosticError, match=f"{constraint}: it names processes"):
        op.check_grid(1, 2)
