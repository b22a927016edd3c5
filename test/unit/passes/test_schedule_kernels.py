"""Programs whose kernels run in another order, and again, and whose buffers are in the memory of results."""

from __future__ import annotations

import random

import numpy as np
import pytest

import xhlo
from xhlo.passes.plan_buffers import offsets
from xhlo.passes.schedule_kernels import rematerialize, transform
from xhlo.tools.fuzzing.checks import CHECKS
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import PROFILES

STEP = """
func.func @main(%x: tensor<96x96xf32>, %w: tensor<96x96xf32>) -> (tensor<96x96xf32>, tensor<96xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<96x96xf32>
  %early = stablehlo.reverse %x, dims = [0] : tensor<96x96xf32>
  %a = stablehlo.dot_general %early, %w, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %b = stablehlo.dot_general %w, %a, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %d = stablehlo.dot_general %c, %early, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %s = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<96x96xf32>, tensor<f32>) -> tensor<96xf32>
  return %d, %s : tensor<96x96xf32>, tensor<96xf32>
}
"""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes the passes act on small programs; counts the kernels that run again in each block."""
    found: list[int] = []
    run = rematerialize.Rematerialization.run

    def counted(self: rematerialize.Rematerialization) -> list[rematerialize.Decision]:
        self.worth = 0
        decisions = run(self)
        found.append(sum(len(each.repeats) for each in decisions if each.pays))
        return decisions

    monkeypatch.setattr(rematerialize.Rematerialization, "run", counted)
    monkeypatch.setattr(transform, "SMALL", 0)
    monkeypatch.setattr(transform, "LEAST_GAIN", 1 << 40)
    monkeypatch.setattr(offsets, "SMALL", 0)
    return found


def arrays() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.standard_normal((96, 96)).astype(np.float32) / 10 for _ in range(2)]


def test_results_keep_their_bits(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    changed = xhlo.compile(STEP)
    assert sum(eager) == 1
    for module, name in ((transform, "SMALL"), (offsets, "SMALL")):
        monkeypatch.setattr(module, name, 1 << 40)
    plain = xhlo.compile(STEP)
    assert len(eager) == 1
    for mine, other in zip(changed(*arrays()), plain(*arrays()), strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.long(3)
@pytest.mark.parametrize("seed", range(3))
def test_random_programs(eager: list[int], seed: int) -> None:
    CHECKS["fuse"](random_program(random.Random(81000 + seed), PROFILES["loops"]))
    assert eager
