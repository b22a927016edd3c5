"""Sums of the columns of all rows in a row kernel: the gradients of a normalization's gain and bias."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run, type_of
from xhlo.dialects.support.kernel import kernels_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

SHAPES = [(512, 768), (3, 37, 45), (33, 1030), (1000, 33), (2, 3, 40, 100), (1, 70, 64)]

BOUNDS: dict[Any, float] = {np.float32: 2e-6, np.float64: 1e-14, ml_dtypes.bfloat16: 1e-2}
"""The errors of results near 1, by type; those of the sums grow with the root of their rows."""


def norm_gradient(shape: tuple[int, ...], element: Any = np.float32, in_place: bool = False) -> str:
    """Subtract from %d its part along each row of %x, and from %g and %b the sums of %d over all rows, with and without %x."""
    whole, rows, row, e = (type_of(np.zeros(each, element)) for each in (shape, shape[:-1], shape[-1:], ()))
    last, dims = len(shape) - 1, list(range(len(shape) - 1))
    over = [f" {{tf.aliasing_output = {number} : i32}}" if in_place else "" for number in range(3)]
    return f"""func.func @main(%d: {whole}{over[0]}, %g: {row}{over[1]}, %b: {row}{over[2]}, %x: {whole}) -> ({whole}, {row}, {row}) {{
  %zero = hlo.constant dense<0.0> : {e}
  %gains = hlo.broadcast_in_dim %g, dims = [{last}] : ({row}) -> {whole}
  %0 = hlo.multiply %d, %gains : {whole}
  %1 = hlo.multiply %x, %0 : {whole}
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [{last}] : ({whole}, {e}) -> {rows}
  %3 = hlo.broadcast_in_dim %2, dims = {dims} : ({rows}) -> {whole}
  %4 = hlo.multiply %x, %3 : {whole}
  %5 = hlo.subtract %0, %4 : {whole}
  %6 = hlo.multiply %x, %d : {whole}
  %7 = hlo.reduce(%6 init: %zero) applies hlo.add across dimensions = {dims} : ({whole}, {e}) -> {row}
  %8 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = {dims} : ({whole}, {e}) -> {row}
  %9 = hlo.subtract %g, %7 : {row}
  %10 = hlo.subtract %b, %8 : {row}
  return %5, %9, %10 : {whole}, {row}, {row}
}}"""


def arrays_for(shape: tuple[int, ...], element: Any = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = (shape, shape[-1:], shape[-1:], shape)
    return [(rng.standard_normal(each) / 8).astype(element) for each in shapes]


def parallel_loops(source: str) -> int:
    """The parallel loops of the program's only kernel."""
    context = make_context()
    module = parse_module(source, "norm.mlir", context)
    specs = CPU.passes_to("loops")
    last = next(i for i, spec in enumerate(specs) if spec.startswith("convert-linalg-to-scf"))
    run_passes(context, module, specs[: last + 1])
    (kernel,) = kernels_of(module)
    return str(kernel).count("scf.parallel")


@pytest.mark.long(5)
@pytest.mark.parametrize("element", BOUNDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_kernel(shape: tuple[int, ...], element: Any) -> None:
    source, arrays = norm_gradient(shape, element), arrays_for(shape, element)
    assert [kernel.kind for kernel in xhlo.compile(source).kernels] == ["row"]
    got, want = on_threads(source, *arrays), run(source, arrays, "reference")
    exact = [np.asarray(each, np.float64) for each in arrays]
    flat = (exact[0].reshape(-1, shape[-1]), exact[3].reshape(-1, shape[-1]))
    sums = [exact[1] - (flat[0] * flat[1]).sum(0), exact[2] - flat[0].sum(0)]
    bound = BOUNDS[element]
    np.testing.assert_allclose(got[0].astype(np.float64), want[0].astype(np.float64), rtol=0, atol=bound)
    for each, total in zip(got[1:], sums, strict=True):
        np.testing.assert_allclose(each.astype(np.float64), total, rtol=0, atol=bound * len(flat[0]) ** 0.5)


def test_rows_are_read_in_one_loop() -> None:
    """The calling thread combines the partial sums, which are few."""
    assert parallel_loops(norm_gradient((512, 768))) == 1


def test_in_place() -> None:
    """The rows may be written over what the sums read, but the gains not while other rows read them."""
    shape = (64, 200)
    arrays = arrays_for(shape)
    want = run(norm_gradient(shape), arrays)
    got = run(norm_gradient(shape, in_place=True), arrays)
    for each, other in zip(got, want, strict=True):
        assert each.tobytes() == other.tobytes()


def test_rows_that_wait_for_the_sums() -> None:
    """Rows that are read after all sums are complete are in memory as a whole."""
    source = """func.func @main(%x: tensor<400x64xf32>) -> tensor<400x64xf32> {
  %0 = hlo.fusion row<1> (%a = %x : tensor<400x64xf32>) -> tensor<400x64xf32> {
    %z = hlo.constant dense<0.0> : tensor<f32>
    %t = hlo.reduce(%a init: %z) applies hlo.add across dimensions = [1] : (tensor<400x64xf32>, tensor<f32>) -> tensor<400xf32>
    %e = hlo.exponential %t : tensor<400xf32>
    %u = hlo.broadcast_in_dim %e, dims = [0] : (tensor<400xf32>) -> tensor<400x64xf32>
    %d = hlo.divide %a, %u : tensor<400x64xf32>
    %k = hlo.tanh %d : tensor<400x64xf32>
    %v = hlo.reduce(%k init: %z) applies hlo.maximum across dimensions = [1] : (tensor<400x64xf32>, tensor<f32>) -> tensor<400xf32>
    %s = hlo.reduce(%k init: %z) applies hlo.add across dimensions = [0] : (tensor<400x64xf32>, tensor<f32>) -> tensor<64xf32>
    %m = hlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<400x64xf32>
    %w = hlo.broadcast_in_dim %v, dims = [0] : (tensor<400xf32>) -> tensor<400x64xf32>
    %b = hlo.add %k, %m : tensor<400x64xf32>
    %r = hlo.add %b, %w : tensor<400x64xf32>
    hlo.return %r : tensor<400x64xf32>
  }
  return %0 : tensor<400x64xf32>
}"""
    x = np.random.default_rng(0).standard_normal((400, 64)).astype(np.float32) / 8
    (got,), (want,) = on_threads(source, x), run(source, [x], "reference")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_rows_after_the_sums() -> None:
    """A kernel that is given may read the sums in its rows: these run after, each operation in loops of its own."""
    source = """func.func @main(%x: tensor<40x64xf32>) -> (tensor<40x64xf32>, tensor<64xf32>) {
  %0:2 = hlo.fusion row<1> (%a = %x : tensor<40x64xf32>) -> (tensor<40x64xf32>, tensor<64xf32>) {
    %z = hlo.constant dense<0.0> : tensor<f32>
    %s = hlo.reduce(%a init: %z) applies hlo.add across dimensions = [0] : (tensor<40x64xf32>, tensor<f32>) -> tensor<64xf32>
    %m = hlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<40x64xf32>
    %d = hlo.subtract %a, %m : tensor<40x64xf32>
    %t = hlo.reduce(%d init: %z) applies hlo.add across dimensions = [1] : (tensor<40x64xf32>, tensor<f32>) -> tensor<40xf32>
    %u = hlo.broadcast_in_dim %t, dims = [0] : (tensor<40xf32>) -> tensor<40x64xf32>
    %r = hlo.add %d, %u : tensor<40x64xf32>
    hlo.return %r, %s : tensor<40x64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1 : tensor<40x64xf32>, tensor<64xf32>
}"""
    (x,) = (np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32),)
    for got, want in zip(on_threads(source, x), run(source, [x], "reference"), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)
    simt = xhlo.compile(source, "simt")(x)
    np.testing.assert_allclose(simt[0], on_threads(source, x)[0], rtol=1e-4, atol=1e-3)
