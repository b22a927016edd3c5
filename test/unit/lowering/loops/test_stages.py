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


@pytest.mark.long
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


def test_a_body_in_stages_reads_buffers_from_outside() -> None:
    """A kernel that reads where an index of its own says, as for interior padding, names the buffer in its body."""
    text = """
    func.func @main(%x: tensor<300xf64>, %m: tensor<599xi1>) -> tensor<599xf64> {
      %zero = hlo.constant dense<0.0> : tensor<f64>
      %a = hlo.pad %x, %zero, low = [0], high = [0], interior = [1] : (tensor<300xf64>, tensor<f64>) -> tensor<599xf64>
      %b = hlo.pad %x, %zero, low = [1], high = [-1], interior = [1] : (tensor<300xf64>, tensor<f64>) -> tensor<599xf64>
      %c = hlo.select %m, %a, %b : tensor<599xi1>, tensor<599xf64>
      return %c : tensor<599xf64>
    }
    """
    x, mask = np.random.default_rng(2).normal(size=300), np.arange(599) % 3 == 0
    even, odd = np.zeros(599), np.zeros(599)
    even[::2], odd[1::2] = x, x[:299]
    np.testing.assert_array_equal(xhlo.compile(text)(x, mask), np.where(mask, even, odd))
