"""Compiled kernels, mutated one operation at a time: the SIMT interpreter reports every mutation that matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation

from simt_programs import gpu_level
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.lanes import SimtError
from xhlo.targets.simt.memory import undefined

SOFTMAX = """
func.func @main(%x: tensor<5x3001xf32>) -> tensor<5x3001xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<5x3001xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x3001xf32>
  %s = stablehlo.subtract %x, %mb : tensor<5x3001xf32>
  %e = stablehlo.exponential %s : tensor<5x3001xf32>
  %d = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<5x3001xf32>, tensor<f32>) -> tensor<5xf32>
  %db = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<5xf32>) -> tensor<5x3001xf32>
  %r = stablehlo.divide %e, %db : tensor<5x3001xf32>
  return %r : tensor<5x3001xf32>
}
"""

COLUMNS = """
func.func @main(%x: tensor<3001x70xf32>) -> tensor<70xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3001x70xf32>, tensor<f32>) -> tensor<70xf32>
  return %r : tensor<70xf32>
}
"""

TRANSPOSE = """
func.func @main(%x: tensor<131x257xf32>) -> tensor<257x131xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<131x257xf32>) -> tensor<257x131xf32>
  return %r : tensor<257x131xf32>
}
"""

DOT = """
func.func @main(%x: tensor<200x130xTYPE>, %y: tensor<130x72xTYPE>) -> tensor<200x72xTYPE> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<200x130xTYPE>, tensor<130x72xTYPE>) -> tensor<200x72xTYPE>
  return %r : tensor<200x72xTYPE>
}
"""

ADD = """
func.func @main(%x: tensor<1021xf32>) -> tensor<1021xf32> {
  %r = stablehlo.add %x, %x : tensor<1021xf32>
  return %r : tensor<1021xf32>
}
"""


def without(module: Any, name: str, number: int) -> Any:
    """A copy of the module without one of the operations of a name."""
    copy = module.clone()
    op = [op for op in copy.walk() if op.name == name][number]
    op.detach()
    op.erase()
    return copy


@pytest.mark.long(4)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("softmax", SOFTMAX),
        ("columns", COLUMNS),
        ("transpose", TRANSPOSE),
        ("f32", DOT.replace("TYPE", "f32")),
        ("f16", DOT.replace("TYPE", "f16")),
    ],
)
def test_missing_barriers_and_waits(name: str, text: str):
    """Each removal is reported unless the results do not need the operation: of two in a row, one is redundant."""
    module, (arguments, results) = gpu_level(text)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=type_.shape).astype(type_.dtype) for type_ in arguments]

    def run(spoiled: Any) -> list[np.ndarray]:
        outputs = [undefined(type_.shape, type_.dtype) for type_ in results]
        HostProgram(spoiled).run(inputs, outputs)
        return outputs

    want = run(module)
    found = total = 0
    for kind in ("gpu.barrier", "nvgpu.device_async_wait"):
        for number in range(sum(op.name == kind for op in module.walk())):
            total += 1
            try:
                got = run(without(module, kind, number))
            except SimtError:
                found += 1
            else:
                assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True)), (kind, number)
    assert 2 * found > total >= 1, (name, found, total)


def test_missing_guards():
    """Each `scf.if` that keeps excess threads of the last block from memory is needed."""
    module, (arguments, results) = gpu_level(ADD)
    inputs = [np.zeros(type_.shape, type_.dtype) for type_ in arguments]

    def is_guard(op: Operation) -> bool:
        return isinstance(op, scf.IfOp) and isinstance(op.cond.owner, arith.CmpiOp) and not op.results

    guards = sum(map(is_guard, module.walk()))
    assert guards
    for number in range(guards):
        spoiled = module.clone()
        guard: Any = [op for op in spoiled.walk() if is_guard(op)][number]
        always = arith.ConstantOp(BoolAttr.from_bool(True))
        guard.parent.insert_op_before(always, guard)
        guard.operands[0] = always.result
        outputs = [undefined(type_.shape, type_.dtype) for type_ in results]
        with pytest.raises(SimtError, match="out of bounds|another thread"):
            HostProgram(spoiled).run(inputs, outputs)
