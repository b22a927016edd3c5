"""Products and convolutions with epilogues on the CPU: each way in which a product is emitted, and each kind of edge."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run, type_of

FLOAT, BFLOAT = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)


def array(*shape: int, dtype: np.dtype[Any] = FLOAT, seed: int = 0) -> np.ndarray:
    """Numbers, small for seed 1, with which weights are made."""
    return (np.random.default_rng(seed).standard_normal(shape) / (16 if seed == 1 else 1)).astype(dtype)


def program(product: str, result: str, epilogue: str, inputs: dict[str, np.ndarray], results: str = "") -> str:
    """@main of `%0 = product`, of type `result`, and an epilogue that ends with `%r`."""
    parameters = ", ".join(f"%{name}: {type_of(x)}" for name, x in inputs.items())
    return f"""func.func @main({parameters}) -> {results or result} {{
  %0 = {product} -> {result}
  {epilogue}
}}"""


def bias_and_residual(result: str, dim: int, element: str = "f32") -> str:
    """tanh(product + bias) * residual, with the bias along one dimension."""
    size = result.removeprefix("tensor<").split("x")[dim]
    return f"""%1 = hlo.broadcast_in_dim %b, dims = [{dim}] : (tensor<{size}x{element}>) -> {result}
  %2 = hlo.add %0, %1 : {result}
  %3 = hlo.tanh %2 : {result}
  %r = hlo.multiply %3, %c : {result}
  func.return %r : {result}"""


def dot(lhs: np.ndarray, rhs: np.ndarray, batching: str, contracting: str) -> str:
    batch = f"batching_dims = {batching}, " if batching else ""
    return f"hlo.dot_general %x, %w, {batch}contracting_dims = {contracting} : ({type_of(lhs)}, {type_of(rhs)})"


Case = tuple[str, dict[str, np.ndarray]]


def case(x: np.ndarray, w: np.ndarray, batching: str, contracting: str, shape: tuple[int, ...], dim: int) -> Case:
    """The program and its inputs: a product of type `shape` with a bias along dimension `dim`."""
    result = f"tensor<{'x'.join(map(str, shape))}x{'bf16' if x.dtype == BFLOAT else 'f32'}>"
    element = "bf16" if x.dtype == BFLOAT else "f32"
    inputs = {"x": x, "w": w, "b": array(shape[dim], dtype=x.dtype, seed=2), "c": array(*shape, dtype=x.dtype, seed=3)}
    return program(dot(x, w, batching, contracting), result, bias_and_residual(result, dim, element), inputs), inputs


CASES = {
    # Both factors packed, in one pass and in several.
    "packed": case(array(70, 40), array(40, 700, seed=1), "", "[1] x [0]", (70, 700), 1),
    "several passes": case(array(21, 5000), array(5000, 37, seed=1), "", "[1] x [0]", (21, 37), 1),
    "bias of rows": case(array(70, 40), array(40, 700, seed=1), "", "[1] x [0]", (70, 700), 0),
    # The left factor in place.
    "narrow": case(array(1100, 65), array(65, 24, seed=1), "", "[1] x [0]", (1100, 24), 1),
    "rows of two dimensions": case(array(30, 50, 65), array(65, 24, seed=1), "", "[2] x [0]", (30, 50, 24), 2),
    "bias between rows": case(array(30, 50, 65), array(65, 24, seed=1), "", "[2] x [0]", (30, 50, 24), 1),
    # Both in place.
    "small": case(array(33, 40), array(40, 64, seed=1), "", "[1] x [0]", (33, 64), 1),
    "batches": case(array(3, 37, 45), array(3, 45, 41, seed=1), "[0] x [0]", "[2] x [1]", (3, 37, 41), 0),
    "transposed": case(array(40, 70), array(300, 40, seed=1), "", "[0] x [1]", (70, 300), 1),
    "bf16": case(array(70, 40, dtype=BFLOAT), array(40, 96, dtype=BFLOAT, seed=1), "", "[1] x [0]", (70, 96), 1),
    "bf16, several passes": case(
        array(70, 2100, dtype=BFLOAT), array(2100, 300, dtype=BFLOAT, seed=1) / 4, "", "[1] x [0]", (70, 300), 0
    ),
    "bf16, batches": case(
        array(3, 37, 45, dtype=BFLOAT), array(3, 45, 41, dtype=BFLOAT, seed=1), "[0] x [0]", "[2] x [1]", (3, 37, 41), 2
    ),
    "bf16, transposed": case(
        array(40, 70, dtype=BFLOAT), array(300, 40, dtype=BFLOAT, seed=1), "", "[0] x [1]", (70, 300), 1
    ),
    # No product that is blocked.
    "no rows": case(array(0, 40), array(40, 96, seed=1), "", "[1] x [0]", (0, 96), 1),
    "few rows": case(array(2, 40), array(40, 96, seed=1), "", "[1] x [0]", (2, 96), 1),
}


def check(text: str, inputs: dict[str, np.ndarray], tolerance: float = 1e-5) -> None:
    executable = xhlo.compile(text)
    assert [each.kind for each in executable.kernels] == ["dot"]
    got = executable.compute(list(inputs.values()), None)
    want = run(text, list(inputs.values()), "reference")
    for result, expected in zip(got, want, strict=True):
        assert result.shape == expected.shape
        error = 0 if not result.size else np.abs(result.astype(np.float64) - expected.astype(np.float64)).max()
        assert error <= tolerance * max(1, np.abs(expected.astype(np.float64)).max(initial=0))


@pytest.mark.long(4)
@pytest.mark.parametrize("name", CASES)
def test_bias_activation_and_residual(name: str) -> None:
    text, inputs = CASES[name]
    check(text, inputs, 1e-2 if name == "bf16" else 1e-5)


@pytest.mark.parametrize("features", [24, 64])
def test_convolutions(features: int) -> None:
    x, w = array(2, 20, 19, 16), array(3, 3, 16, features, seed=1)
    result = f"tensor<2x18x17x{features}xf32>"
    product = (
        "hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
        f"{{feature_group_count = 1 : i64, batch_group_count = 1 : i64}} : ({type_of(x)}, {type_of(w)})"
    )
    inputs = {"x": x, "w": w, "b": array(features, seed=2), "c": array(2, 18, 17, features, seed=3)}
    check(program(product, result, bias_and_residual(result, 3), inputs), inputs)


def test_two_results_of_other_types_and_an_index() -> None:
    x, w = array(70, 40), array(40, 96, seed=1)
    result, integers = "tensor<70x96xf32>", "tensor<70x96xi32>"
    epilogue = f"""%i = hlo.iota dim = 0 : {integers}
  %j = hlo.iota dim = 1 : {integers}
  %m = hlo.compare GE, %i, %j, SIGNED : ({integers}, {integers}) -> tensor<70x96xi1>
  %z = hlo.constant dense<0.0> : {result}
  %s = hlo.select %m, %0, %z : tensor<70x96xi1>, {result}
  %p = hlo.compare GT, %0, %z, FLOAT : ({result}, {result}) -> tensor<70x96xi1>
  func.return %s, %p : {result}, tensor<70x96xi1>"""
    inputs = {"x": x, "w": w}
    results = f"({result}, tensor<70x96xi1>)"
    check(program(dot(x, w, "", "[1] x [0]"), result, epilogue, inputs, results), inputs)


def test_residual_before_a_normalization() -> None:
    """The product writes the sum with the residual, which a row fusion reads and divides by the sums of its rows."""
    x, w, b, r = array(301, 768), array(768, 768, seed=1), array(768, seed=2), array(301, 768, seed=3)
    source = f"""func.func @main(%x: {type_of(x)}, %w: {type_of(w)}, %b: {type_of(b)}, %c: {type_of(r)}) -> ({type_of(r)}, {type_of(r)}) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = {dot(x, w, "", "[1] x [0]")} -> {type_of(r)}
  %1 = hlo.add %c, %0 : {type_of(r)}
  %2 = hlo.broadcast_in_dim %b, dims = [1] : (tensor<768xf32>) -> {type_of(r)}
  %3 = hlo.add %1, %2 : {type_of(r)}
  %4 = hlo.multiply %3, %3 : {type_of(r)}
  %5 = hlo.reduce(%4 init: %zero) applies hlo.add across dimensions = [1] : ({type_of(r)}, tensor<f32>) -> tensor<301xf32>
  %6 = hlo.broadcast_in_dim %5, dims = [0] : (tensor<301xf32>) -> {type_of(r)}
  %7 = hlo.divide %3, %6 : {type_of(r)}
  func.return %3, %7 : {type_of(r)}, {type_of(r)}
}}"""
    executable = xhlo.compile(source)
    total, rows = on_threads(source, x, w, b, r)
    want = x.astype(np.float64) @ w + b + r
    np.testing.assert_allclose(total, want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rows, want / (want**2).sum(1, keepdims=True), rtol=1e-4, atol=1e-5)
    assert [kernel.kind for kernel in executable.kernels] == ["dot", "row"]
    moved = x.size + w.size + b.size + 2 * r.size + 2 * r.size
    assert sum(kernel.bytes for kernel in executable.kernels) == 4 * moved
