"""The rules of simplify-hlo as a list, their counts, and what happens when two undo each other."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.ir import Operation

from hlo_programs import Program
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp
from xhlo.hlo_dialect.rules import Rules
from xhlo.passes.simplify_hlo import transform
from xhlo.passes.simplify_hlo.rewrite import Rewrite, Rule, by, rules_of_simplify_hlo, start
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
    assert rules_text().count("floats: nothing: results keep their bits") == len(rules)


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
