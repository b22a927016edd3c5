"""The rules of simplify-hlo as a list, their counts, and what happens when two undo each other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from xdsl.ir import Operation

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp
from xhlo.hlo_dialect.rules import Rules
from xhlo.passes.manager.pipelines import PipelineError, build_passes
from xhlo.passes.simplify_hlo import transform
from xhlo.passes.simplify_hlo.rewrite import EXACT, Rewrite, Rule, by, rules_of_simplify_hlo, start
from xhlo.tools.hlo_opt import rules_text

SUM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}"""

RESHAPES = """func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %0 = hlo.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>
  %1 = hlo.reshape %0 : (tensor<4x1xf32>) -> tensor<1x4xf32>
  %2 = hlo.reshape %1 : (tensor<1x4xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}"""


def test_every_rule_says_what_it_does() -> None:
    rules = rules_of_simplify_hlo()
    assert "swap-factors" in {rule.name for rule in rules}
    assert [rule.name for rule in rules if not rule.summary] == []
    exact = [rule for rule in rules if rule.floats == EXACT]
    assert rules_text().count(f"floats: {EXACT}") == len(exact) > 20 and len(rules) > len(exact) + 15


def test_applications_are_counted() -> None:
    applied: Counter[str] = Counter()
    transform.Simplifier(Program(RESHAPES).module, applied).run()
    assert applied == {"simplify-reshape": 2, "erase-dead": 2}


def test_rules_that_undo_each_other_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cyclic = Rules[Rule]("cyclic", several=True)

    @cyclic.on(AddOp)
    def to_product(op: Operation) -> Rewrite | None:
        x = start(op.operands[0])
        return by(x * x)

    @cyclic.on(MultiplyOp)
    def to_sum(op: Operation) -> Rewrite | None:
        x = start(op.operands[0])
        return by(x + x)

    assert to_product is not to_sum
    monkeypatch.setattr(transform, "simplifications", cyclic)
    with pytest.raises(RuntimeError, match="the rules (to-product, to-sum|to-sum, to-product) repeat"):
        transform.Simplifier(Program(SUM).module, Counter()).run()


FAST = """func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %three = hlo.constant dense<3.0> : tensor<64xf32>
  %0 = hlo.power %x, %three : tensor<64xf32>
  %1 = hlo.divide %0, %three : tensor<64xf32>
  %2 = hlo.sqrt %y : tensor<64xf32>
  %3 = hlo.divide %1, %2 : tensor<64xf32>
  %4 = hlo.multiply %3, %x : tensor<64xf32>
  %5 = hlo.multiply %3, %y : tensor<64xf32>
  %6 = hlo.add %4, %5 : tensor<64xf32>
  func.return %6 : tensor<64xf32>
}"""


def test_fast_math_is_asked_for_and_close() -> None:
    draw = np.random.default_rng(0)
    x, y = (draw.uniform(0.5, 2, 64).astype(np.float32) for _ in range(2))
    quotient = x.astype(np.float64) ** 3 / 3 / np.sqrt(y)
    wanted = quotient * x + quotient * y
    exact, fast = xhlo.compile(FAST), xhlo.compile(FAST, math="fast")
    assert "rsqrt" in str(fast.fusions[0]) and "rsqrt" not in str(exact.fusions[0])
    np.testing.assert_allclose(exact(x, y), wanted, rtol=1e-6)
    np.testing.assert_allclose(fast(x, y), wanted, rtol=3e-6)


def test_rules_are_asked_for_by_their_names() -> None:
    with pytest.raises(PipelineError, match="no rule is named 'divide-by-pi' that may change results of floats"):
        build_passes("simplify-hlo{also=divide-by-pi}")
