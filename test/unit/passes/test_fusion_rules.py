"""Rules and costs of other packages in fuse-hlo: what is kept apart, and that results stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import xhlo
from xhlo.hlo_dialect.ops.contraction import DotGeneralOp
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, SubtractOp
from xhlo.hlo_dialect.ops.elementwise_unary import ExponentialOp
from xhlo.hlo_dialect.rules import Rules
from xhlo.passes.fuse_hlo import packages
from xhlo.targets.nvptx.target import NVPTX
from xhlo.targets.program.source import Source
from xhlo.targets.registry import get_target

SOFTMAX = """
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %0 = hlo.reduce(%x init: %low) applies hlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %2 = hlo.subtract %x, %1 : tensor<64x128xf32>
  %3 = hlo.exponential %2 : tensor<64x128xf32>
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %5 = hlo.broadcast_in_dim %4, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %6 = hlo.divide %3, %5 : tensor<64x128xf32>
  return %6 : tensor<64x128xf32>
}
"""
PRODUCT = """
func.func @main(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = hlo.add %0, %x : tensor<64x64xf16>
  return %1 : tensor<64x64xf16>
}
"""
TWICE = """
func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<f32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.subtract %x, %y : tensor<4096xf32>
  %1 = hlo.reverse %0, dims = [0] : tensor<4096xf32>
  %2 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<4096xf32>, tensor<f32>
}
"""


def keep_apart(monkeypatch: pytest.MonkeyPatch, *classes: type[Operation], reason: str = "they are strangers") -> None:
    table = Rules[packages.Apart]("test", several=True)
    table.on(*classes)(lambda producer, user: reason if isinstance(producer, classes) else None)
    monkeypatch.setattr(packages, "fusion_rules", table)


def fused(text: str, target: Any = "cpu") -> tuple[list[tuple[str, list[str]]], str]:
    """The fusions by kind with their operations, and the remarks."""
    fusions, remarks = get_target(target).explain(Source(text, "f.mlir"))
    return [(fusion.kind, list(fusion.operations)) for fusion in fusions], "\n".join(map(str, remarks))


def test_a_row_fusion_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [kind for kind, _ in fused(SOFTMAX)[0]] == ["row"]
    keep_apart(monkeypatch, ExponentialOp)
    fusions, remarks = fused(SOFTMAX)
    (before,) = [operations for _, operations in fusions if "hlo.exponential" in operations]
    assert before.count("hlo.reduce") == 1 and before[-1] == "hlo.exponential", "it ends with the maximum's row"
    assert sum(operations.count("hlo.reduce") for _, operations in fusions) == 2
    assert "not fused hlo.exponential with hlo.divide: they are strangers" in remarks
    x = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)
    expected = np.exp(x - x.max(1, keepdims=True))
    found = xhlo.compile(SOFTMAX + "// cut")(x)
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), rtol=1e-5)


def test_an_epilogue_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NVPTX.explain(Source(PRODUCT, "f.mlir"))[0][0].operations == ("hlo.dot_general", "hlo.add")
    keep_apart(monkeypatch, DotGeneralOp)
    fusions, remarks = fused(PRODUCT, "nvptx")
    assert fusions == [("dot", ["hlo.dot_general"]), ("loop", ["hlo.add"])]
    assert "not fused hlo.dot_general with hlo.add: they are strangers" in remarks


def test_an_expensive_operation_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def places() -> int:
        return sum("hlo.subtract" in operations for _, operations in fused(TWICE)[0])

    assert places() == 2
    table = Rules[int]("test")
    table.add({SubtractOp: 20})
    monkeypatch.setattr(packages, "costs", table)
    assert places() == 1


def test_without_rules_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_apart(monkeypatch)
    assert not packages.fusion_rules
    assert packages.reason_apart(None, None) is None
    assert packages.cost_of(AddOp.create()) == AddOp.COST
