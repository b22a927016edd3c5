"""Long bodies of elementary functions, which run as several loops over a tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.lowering.convert_linalg_to_scf import elementwise, stages

PROGRAM = """
func.func @main(%x: tensor<NxT>, %c: tensor<T>) -> (tensor<NxT>, tensor<NxT>) {
  %a = hlo.tanh %x : tensor<NxT>
  %b = hlo.exponential %a : tensor<NxT>
  %d = hlo.add %b, %x : tensor<NxT>
  %e = hlo.multiply %d, %d : tensor<NxT>
  %f = hlo.log_plus_one %e : tensor<NxT>
  %s = hlo.broadcast_in_dim %c, dims = [] : (tensor<T>) -> tensor<NxT>
  %g = hlo.multiply %f, %s : tensor<NxT>
  %h = hlo.tanh %g : tensor<NxT>
  %p = hlo.compare GT, %x, %h : (tensor<NxT>, tensor<NxT>) -> tensor<Nxi1>
  %i = hlo.negate %h : tensor<NxT>
  %j = hlo.exponential %i : tensor<NxT>
  %k = hlo.select %p, %j, %a : tensor<Nxi1>, tensor<NxT>
  return %k, %f : tensor<NxT>, tensor<NxT>
}
"""


@pytest.mark.parametrize(("size", "type_"), [("5000", "f32"), ("2048", "f64"), ("3x700", "f32")])
def test_stages_compute_the_bits_of_the_whole_body(size: str, type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.replace("<N", f"<{size}").replace("xT>", f"x{type_}>").replace("<T>", f"<{type_}>")
    dtype = np.float32 if type_ == "f32" else np.float64
    shape = tuple(map(int, size.split("x")))
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    divided: list[bool] = []

    def counting(*arguments: Any) -> None:
        divided.append(True)
        stages.emit_stages(*arguments)

    monkeypatch.setattr(elementwise, "emit_stages", counting)
    found = xhlo.compile(text)(x, dtype(0.5))
    assert divided.pop() and not divided
    monkeypatch.setattr(stages, "LONG", 1 << 30)
    whole = xhlo.compile(text + "\n")(x, dtype(0.5))
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not divided
