"""Gathers at places of long chains: on machines with short vectors a loop before computes them, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import run
from xhlo.lowering.loop_nests import places
from xhlo.targets.cpu import host

N = 4096
ROUNDS = 24
GATHER = """
func.func @main(%x: tensor<256xf32>, %at: tensor<SHAPExi32>) -> tensor<RESULTxf32> {
  %odd = stablehlo.constant dense<374761393> : tensor<SHAPExi32>
  %bits = stablehlo.constant dense<13> : tensor<SHAPExi32>
  %mask = stablehlo.constant dense<255> : tensor<SHAPExi32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
CHAIN
  %k = stablehlo.and %vLAST, %mask : tensor<SHAPExi32>
  %i = stablehlo.reshape %k : (tensor<SHAPExi32>) -> tensor<SHAPEx1xi32>
  %g = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = RANK>,
    slice_sizes = array<i64: 1>, indices_are_sorted = false
  }> : (tensor<256xf32>, tensor<SHAPEx1xi32>) -> tensor<SHAPExf32>
  REST
}
"""
ELEMENTS = "%r = stablehlo.negate %g : tensor<SHAPExf32>\n  return %r : tensor<SHAPExf32>"
SUMS = """%r = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<SHAPExf32>, tensor<f32>) -> tensor<RESULTxf32>
  return %r : tensor<RESULTxf32>"""

LOOP = """
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %steps:2 = stablehlo.while(%step = %zero, %state = %x) : tensor<i32>, tensor<1000xf32>
  cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.compare LT, %step, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %step, %one : tensor<i32>
    %at = stablehlo.iota dim = 0 : tensor<1000xi32>
    %found = func.call @step(%state, %at) : (tensor<1000xf32>, tensor<1000xi32>) -> tensor<1000xf32>
    stablehlo.return %next, %found : tensor<i32>, tensor<1000xf32>
  }
  return %steps#1 : tensor<1000xf32>
}
"""
GREATER = """%m = stablehlo.compare GT, %g, %x : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xi1>
  %r = stablehlo.select %m, %g, %x : tensor<1000xi1>, tensor<1000xf32>
  return %r : tensor<1000xf32>"""


def program(rest: str, shape: tuple[int, ...], result: tuple[int, ...], rounds: int = ROUNDS) -> str:
    chain: list[str] = []
    for k in range(rounds):
        before = "%at" if k == 0 else f"%v{k}"
        chain.append(f"  %m{k} = stablehlo.multiply {before}, %odd : tensor<SHAPExi32>")
        chain.append(f"  %s{k} = stablehlo.shift_right_logical %m{k}, %bits : tensor<SHAPExi32>")
        chain.append(f"  %v{k + 1} = stablehlo.xor %m{k}, %s{k} : tensor<SHAPExi32>")
    text = (
        GATHER.replace("REST", rest)
        .replace("CHAIN", "\n".join(chain))
        .replace("RANK", str(len(shape)))
        .replace("LAST", str(rounds))
    )
    return text.replace("SHAPE", "x".join(map(str, shape))).replace("RESULT", "x".join(map(str, result)))


def places_of(at: np.ndarray, rounds: int = ROUNDS) -> np.ndarray:
    v = at.astype(np.uint32)
    for _ in range(rounds):
        m = v * np.uint32(374761393)
        v = m ^ (m >> np.uint32(13))
    return v & 255


@pytest.mark.long(3)
@pytest.mark.parametrize("vector_bits", [512, 256])
@pytest.mark.parametrize("sums", [False, True])
def test_places(sums: bool, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements, and sums of rows of them, beside NumPy; the loops are divided where vectors are short."""
    divided: list[int] = []
    emit = places._emit
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    monkeypatch.setattr(places, "_emit", lambda *given: (divided.append(given[-1]), emit(*given)))
    rng = np.random.default_rng(1)
    shape, result = ((32, 128), (32,)) if sums else ((N,), (N,))
    x = rng.integers(-50, 50, 256).astype(np.float32)
    at = rng.integers(-(1 << 31), 1 << 31, shape).astype(np.int32)
    (found,) = run(program(SUMS if sums else ELEMENTS, shape, result), [x, at])
    values = x[places_of(at)]
    # Sums of small integers are exact in any order.
    assert np.array_equal(found, values.sum(1) if sums else -values)
    assert bool(divided) == (vector_bits == 256)


@pytest.mark.long
def test_chains_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a place lies follows from thousands of operations: they are not followed by recursion."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: 256)
    x, at = np.arange(256, dtype=np.float32), np.arange(64, dtype=np.int32)
    (found,) = run(program(ELEMENTS, (64,), (64,), 700), [x, at])
    assert np.array_equal(found, -x[places_of(at, 700)])


@pytest.mark.parametrize("vector_bits", [512, 256])
def test_state_of_a_loop(vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop whose state is gathered from, and kept where it is greater: the kernel has a load that nothing reads."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    rng = np.random.default_rng(2)
    x = rng.integers(-50, 50, 1000).astype(np.float32)
    step = program(GREATER, (1000,), (1000,)).replace("func.func @main", "func.func private @step")
    step = step.replace("tensor<256xf32>", "tensor<1000xf32>")
    (found,) = run(LOOP + step, [x])
    at = places_of(np.arange(1000))
    once = np.maximum(x, x[at])
    assert np.array_equal(found, np.maximum(once, once[at]))
