"""Sums of the columns of a product's or convolution's result, added up while its tiles are in the cache."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run, type_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

PRODUCTS = {
    # shape of the left factor, columns
    "both packed": ((256, 192), 640),
    "read in place": ((2, 14, 14, 64), 64),
    "odd sizes": ((301, 123), 131),
    "rows that panels do not divide": ((3, 13, 17, 96), 160),
    "long rows": ((96, 64), 4500),
}

CONVOLUTIONS = {
    # shape of the images, side of the filters, stride, low and high padding, features
    "padded": ((2, 14, 14, 32), 3, 1, (1, 1), 64),
    "strides": ((3, 21, 23, 16), 3, 2, (0, 1), 48),
    "deep": ((1, 7, 7, 320), 3, 1, (1, 1), 512),
    "windows of one element": ((2, 15, 13, 64), 1, 2, (0, 0), 128),
    "padded before": ((2, 20, 20, 8), 7, 1, (3, 3), 64),
}

CASES = [*PRODUCTS, *CONVOLUTIONS]


def layer(case: str, dtype: Any = np.float32) -> tuple[str, tuple[np.ndarray, ...], tuple[int, ...]]:
    """The text of a product or convolution %c of %a and %b, those, and the result's shape."""
    rng = np.random.default_rng(0)
    if case in PRODUCTS:
        (*rows, k), n = PRODUCTS[case]
        a, b, shape = rng.standard_normal((*rows, k)), rng.standard_normal((k, n)), (*rows, n)
        op = f"hlo.dot_general %a, %b, contracting_dims = [{len(rows)}] x [0]"
    else:
        (count, height, width, k), side, stride, pad, n = CONVOLUTIONS[case]
        sides = [(size + sum(pad) - side) // stride + 1 for size in (height, width)]
        a, b = rng.standard_normal((count, height, width, k)), rng.standard_normal((side, side, k, n))
        shape = (count, *sides, n)
        window = f"stride = [{stride}, {stride}], pad = [{list(pad)}, {list(pad)}]"
        numbers = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
        groups = "batch_group_count = 1 : i64, feature_group_count = 1 : i64"
        op = f"hlo.convolution(%a, %b) {numbers}, window = {{{window}}} {{{groups}}}"
    arrays = a.astype(dtype), b.astype(dtype)
    types = type_of(arrays[0]), type_of(arrays[1])
    return f"%c = {op} : ({types[0]}, {types[1]}) -> {array_type(shape, dtype)}", arrays, shape


def array_type(shape: tuple[int, ...], dtype: Any) -> str:
    return type_of(np.zeros(shape, dtype))


def text(case: str, dtype: Any = np.float32, gradient: bool = False) -> str:
    """
    The layer's result and its means; with `gradient` what is left of it where %x is positive, the sums of that, and of
    its products with the distances of %x from %m.
    """
    op, arrays, shape = layer(case, dtype)
    whole, row, e = array_type(shape, dtype), array_type(shape[-1:], dtype), type_of(np.zeros((), dtype))
    dims, last = list(range(len(shape) - 1)), len(shape) - 1

    def total(name: str, of: str) -> str:
        return (
            f"%{name} = hlo.reduce(%{of} init: %z) applies hlo.add across dimensions = {dims} : ({whole}, {e}) -> {row}"
        )

    lines = [f"%z = hlo.constant dense<0.0> : {e}", op]
    if gradient:
        lines += [
            f"%zeros = hlo.constant dense<0.0> : {whole}",
            f"%kept = hlo.compare GT, %x, %zeros : ({whole}, {whole}) -> {whole.replace(e[7:-1] + '>', 'i1>')}",
            f"%d = hlo.select %kept, %c, %zeros : {whole.replace(e[7:-1] + '>', 'i1>')}, {whole}",
            total("s", "d"),
            f"%mean = hlo.broadcast_in_dim %m, dims = [{last}] : ({row}) -> {whole}",
            f"%far = hlo.subtract %x, %mean : {whole}",
            f"%p = hlo.multiply %d, %far : {whole}",
            total("t", "p"),
        ]
        results, types = "%d, %s, %t", f"{whole}, {row}, {row}"
    else:
        rows = float(np.prod(shape[:-1]))
        lines += [total("s", "c"), f"%n = hlo.constant dense<{rows}> : {row}", f"%r = hlo.divide %s, %n : {row}"]
        results, types = "%c, %r", f"{whole}, {row}"
    operands = f"%a: {type_of(arrays[0])}, %b: {type_of(arrays[1])}, %x: {whole}, %m: {row}"
    body = "\n  ".join(lines)
    return f"func.func @main({operands}) -> ({types}) {{\n  {body}\n  func.return {results} : {types}\n}}"


def inputs(case: str, dtype: Any = np.float32) -> tuple[np.ndarray, ...]:
    _, arrays, shape = layer(case, dtype)
    rng = np.random.default_rng(1)
    return (*arrays, rng.standard_normal(shape).astype(dtype), rng.standard_normal(shape[-1]).astype(dtype))


def sums_left(source: str) -> int:
    """The reductions that are loops of their own after the products have been lowered."""
    context = make_context()
    module = parse_module(source, "sums.mlir", context)
    specs = CPU.passes_to("loops")
    last = next(i for i, spec in enumerate(specs) if spec.startswith("convert-contractions-to-vector"))
    run_passes(context, module, specs[: last + 1])
    return str(module).count("#linalg.iterator_type<reduction>") + str(module).count('"reduction"')


@pytest.mark.long(9)
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_one_kernel(case: str, gradient: bool) -> None:
    arrays, source = inputs(case), text(case, gradient=gradient)
    executable = xhlo.compile(source)
    assert [kernel.kind for kernel in executable.kernels] == ["dot"]
    assert sums_left(source) == 0
    whole, *sums = executable.compute(arrays, None)
    want = run(source, arrays, "reference")[0]
    np.testing.assert_allclose(whole, want, rtol=1e-4, atol=1e-3)
    exact = whole.astype(np.float64).reshape(-1, whole.shape[-1])
    far = (arrays[2] - arrays[3]).reshape(exact.shape)
    expected = [exact.sum(0), (exact * far).sum(0)] if gradient else [exact.mean(0)]
    for got, total in zip(sums, expected, strict=True):
        np.testing.assert_allclose(got, total, rtol=1e-5, atol=2e-6 * np.abs(exact).sum(0).max() / len(exact) ** 0.5)


def test_features_first() -> None:
    """Both moments of a result whose features are then the second dimension."""
    op, arrays, shape = layer("read in place")
    whole, turned, row = (array_type(each, np.float32) for each in (shape, (2, 64, 14, 14), (64,)))
    total = f"applies hlo.add across dimensions = [0, 2, 3] : ({turned}, tensor<f32>) -> {row}"
    source = f"""func.func @main(%a: {type_of(arrays[0])}, %b: {type_of(arrays[1])}) -> ({whole}, {row}, {row}) {{
  %z = hlo.constant dense<0.0> : tensor<f32>
  {op}
  %t = hlo.transpose %c, dims = [0, 3, 1, 2] : ({whole}) -> {turned}
  %q = hlo.multiply %t, %t : {turned}
  %s = hlo.reduce(%t init: %z) {total}
  %r = hlo.reduce(%q init: %z) {total}
  func.return %c, %s, %r : {whole}, {row}, {row}
}}"""
    assert [kernel.kind for kernel in xhlo.compile(source).kernels] == ["dot"]
    assert sums_left(source) == 0
    got, first, second = on_threads(source, *arrays)
    exact = got.astype(np.float64)
    np.testing.assert_allclose(first, exact.sum((0, 1, 2)), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(second, (exact**2).sum((0, 1, 2)), rtol=1e-5)


@pytest.mark.parametrize("case", ["odd sizes", "padded"])
def test_doubles(case: str) -> None:
    arrays = inputs(case, np.float64)
    whole, mean = xhlo.compile(text(case, np.float64)).compute(arrays, None)
    np.testing.assert_allclose(mean, whole.reshape(-1, whole.shape[-1]).mean(0), rtol=1e-10, atol=1e-13)


def test_short_floats_are_summed_apart() -> None:
    """The sum of bf16 is carried in f32, of what was rounded."""
    arrays = inputs("odd sizes", ml_dtypes.bfloat16)
    got = xhlo.compile(text("odd sizes", ml_dtypes.bfloat16)).compute(arrays, None)
    want = got[0].astype(np.float32).mean(0)
    np.testing.assert_allclose(got[1].astype(np.float32), want, rtol=1e-2, atol=1e-2)


@pytest.mark.long(4)
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("case", ["rows that panels do not divide", "both packed", "padded", "strides"])
def test_any_number_of_threads(case: str, gradient: bool) -> None:
    on_threads(text(case, gradient=gradient), *inputs(case))


@pytest.mark.parametrize("case", ["odd sizes", "rows that panels do not divide", "strides"])
def test_guarded(case: str) -> None:
    arrays = inputs(case)
    plain = xhlo.compile(text(case, gradient=True)).compute(arrays, None)
    guarded = xhlo.compile(text(case, gradient=True), guard=True).compute(arrays, None)
    for got, want in zip(guarded, plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_level(level: Any) -> None:
    arrays = inputs("odd sizes")
    whole, mean = xhlo.compile(text("odd sizes"), opt_level=level).compute(arrays, None)
    np.testing.assert_allclose(mean, whole.mean(0, dtype=np.float64), rtol=1e-4, atol=1e-5)


def test_signs_of_zeros_and_extremes() -> None:
    a, b, x, m = inputs("odd sizes")
    b[:, :4] = 0.0
    a[3, 0], b[0, 1] = np.inf, 1.0
    b[1, 2], b[:, 3] = np.nan, -0.0
    mean = xhlo.compile(text("odd sizes")).compute((a, b, x, m), None)[1]
    assert np.isnan(mean[[0, 2]]).all()  # inf * 0
    assert np.isposinf(mean[1])
    assert np.isnan(mean[3])


def test_means_of_zeros_are_positive() -> None:
    a, b, x, m = inputs("read in place")
    mean = xhlo.compile(text("read in place")).compute((a, np.full_like(b, -0.0), x, m), None)[1]
    assert not np.signbit(mean).any()
