"""Matrix products of every type, layout and odd size on this machine's CPU, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from xhlo.targets.cpu import host

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
}
TOLERANCE = {"f32": 1e-6, "f64": 1e-14}

SIZES = [(0, 5, 3), (1, 300, 70), (16, 33, 24), (131, 65, 17), (66, 1024, 20)]
"""m, k, n: empty and single rows, sizes around vectors and panels, a sum that is cut into chunks."""


def _tensor(shape: tuple[int, ...], type_: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


def _random(shape: tuple[int, ...], type_: str, rng: np.random.Generator) -> np.ndarray:
    dtype = DTYPES[type_]
    if type_.startswith("i"):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.long(4)
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "type_, batch",
    [("f32", 0), ("f32", 3), ("f64", 0), ("f16", 3), ("bf16", 0), ("i8", 0), ("i8", 3), ("i16", 0), ("i32", 3)],
)
def test_products(type_: str, batch: int) -> None:
    """All sizes with one layout of the factors each, in one program."""
    out = "i32" if type_.startswith("i") else type_ if type_ in TOLERANCE else "f32"
    rng = np.random.default_rng(batch)
    around = (batch,) if batch else ()
    arguments: list[np.ndarray] = []
    parameters, lines, types, results = [], [], [], []
    for number, (m, k, n) in enumerate(SIZES):
        left = (k, m) if number % 2 else (m, k)
        right = (n, k) if number // 2 % 2 else (k, n)
        shapes = [_tensor((*around, *shape), type_) for shape in (left, right)]
        result = _tensor((*around, m, n), out)
        dims = [len(around) + at for at in (0 if number % 2 else 1, 1 if number // 2 % 2 else 0)]
        batching = "batching_dims = [0] x [0], " if batch else ""
        parameters += [f"%a{number}: {shapes[0]}", f"%b{number}: {shapes[1]}"]
        lines.append(
            f"  %r{number} = stablehlo.dot_general %a{number}, %b{number}, {batching}"
            f"contracting_dims = [{dims[0]}] x [{dims[1]}] : ({shapes[0]}, {shapes[1]}) -> {result}"
        )
        types.append(result)
        results.append(f"%r{number}")
        arguments += [_random((*around, *shape), type_, rng) for shape in (left, right)]
    text = "\n".join(
        [
            f"func.func @main({', '.join(parameters)}) -> ({', '.join(types)}) {{",
            *lines,
            f"  return {', '.join(results)} : {', '.join(types)}",
            "}",
        ]
    )
    found = xhlo.compile(text)(*arguments)
    wide = np.int64 if out == "i32" else np.float64
    for number, got in enumerate(found):
        a, b = (x.astype(wide) for x in arguments[2 * number : 2 * number + 2])
        a = np.swapaxes(a, -1, -2) if number % 2 else a
        b = np.swapaxes(b, -1, -2) if number // 2 % 2 else b
        expected = a @ b
        if out == "i32":
            np.testing.assert_array_equal(got, expected.astype(np.int32))
        else:
            bound = TOLERANCE[out] * np.max(np.abs(a) @ np.abs(b), initial=0)
            np.testing.assert_allclose(np.asarray(got, np.float64), expected, rtol=0, atol=bound)


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", ["f32", "bf16"])
@pytest.mark.parametrize("transposed", [False, True])
def test_more_rows_than_the_cache_holds_by_a_larger_matrix(type_: str, transposed: bool) -> None:
    """Each task packs its columns of B, several panels at once or one, and multiplies all rows by them."""
    m, k, n = (330, 1024, 1061) if type_ == "f32" else (330, 2048, 1061)
    rng = np.random.default_rng(5)
    a, b = _random((m, k), type_, rng), _random((n, k) if transposed else (k, n), type_, rng)
    result, dim = _tensor((m, n), "f32"), 1 if transposed else 0
    types = _tensor(a.shape, type_), _tensor(b.shape, type_)
    exe = xhlo.compile(
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {result} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{dim}] : ({', '.join(types)}) -> {result}\n"
        f"  return %0 : {result}\n}}"
    )
    wide = [x.astype(np.float64) for x in (a, b.T if transposed else b)]
    expected, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    assert np.max(np.abs(exe(a, b) - expected) / size) < 1e-6


@pytest.mark.parametrize("type_, batch", [("f32", 0), ("f64", 0), ("bf16", 0), ("f32", 2)])
def test_tasks_of_other_rows_pack_the_same_columns(type_: str, batch: int) -> None:
    """Where registers are few, tiles of rows pack panels of B again; the last panels and passes are not whole."""
    m, k, n = 1031, 1040, 517
    rng = np.random.default_rng(6)
    lead, out = (batch,) * (batch > 0), "f64" if type_ == "f64" else "f32"
    a, b = _random((*lead, m, k), type_, rng), _random((*lead, k, n), type_, rng)
    dims = "batching_dims = [0] x [0], contracting_dims = [2] x [1]" if batch else "contracting_dims = [1] x [0]"
    types, result = (_tensor(a.shape, type_), _tensor(b.shape, type_)), _tensor((*lead, m, n), out)
    (found,) = on_threads(
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {result} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, {dims} : ({', '.join(types)}) -> {result}\n"
        f"  return %0 : {result}\n}}",
        a,
        b,
    )
    wide = a.astype(np.float64), b.astype(np.float64)
    expected, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    assert np.max(np.abs(found - expected) / size) < TOLERANCE[out]


@pytest.mark.long(3)
@pytest.mark.parametrize("type_, batch, k", [("f32", 0, 700), ("bf16", 0, 800), ("i8", 0, 1400), ("f32", 3, 90)])
def test_tasks_pack_the_rows_of_their_tiles(type_: str, batch: int, k: int) -> None:
    """Few panels of columns, in several passes along k or one: f32 whose rows are apart, and others that lie along k."""
    m, n, rng = 7300, 40, np.random.default_rng(8)
    around = (batch,) if batch else ()
    a = _random((*around, *((k, m) if type_ == "f32" else (m, k))), type_, rng)
    b = _random((*around, k, n), type_, rng)
    of_a, of_b = _tensor(a.shape, type_), _tensor(b.shape, type_)
    result = _tensor((*around, m, n), "i32" if type_ == "i8" else "f32")
    dims = len(around) + (type_ != "f32"), len(around)
    batching = "batching_dims = [0] x [0], " if batch else ""
    exe = xhlo.compile(
        f"func.func @main(%a: {of_a}, %b: {of_b}) -> {result} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, {batching}contracting_dims = [{dims[0]}] x [{dims[1]}]"
        f" : ({of_a}, {of_b}) -> {result}\n  return %0 : {result}\n}}"
    )
    wide = [(np.swapaxes(a, -1, -2) if type_ == "f32" else a).astype(np.float64), b.astype(np.float64)]
    size = np.abs(wide[0]) @ np.abs(wide[1])
    assert np.max(np.abs(exe(a, b) - wide[0] @ wide[1]) / size) < (1e-6 if type_ != "i8" else 1e-12)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_few_columns(type_: str) -> None:
    """Rows by two to six columns, stored by rows and by columns: in plain loops or in vectors of columns."""
    rng = np.random.default_rng(6)
    a = _random((70, 77), type_, rng)
    factors = [_random((77, n) if n % 2 else (n, 77), type_, rng) for n in (2, 3, 4, 5, 6, 7)]
    factors += [_random((77, 4), type_, rng), _random((77, 6), type_, rng)]
    of_a, lines, types = _tensor(a.shape, type_), [], []
    for number, b in enumerate(factors):
        dim = 0 if b.shape[0] == 77 else 1
        types.append(_tensor((70, b.shape[1 - dim]), type_))
        given = f"({of_a}, {_tensor(b.shape, type_)}) -> {types[-1]}"
        lines.append(f"%r{number} = stablehlo.dot_general %a, %b{number}, contracting_dims = [1] x [{dim}] : {given}")
    parameters = ", ".join(f"%b{number}: {_tensor(b.shape, type_)}" for number, b in enumerate(factors))
    results = ", ".join(f"%r{number}" for number in range(len(factors)))
    body = "\n".join([*lines, f"return {results} : {', '.join(types)}"])
    exe = xhlo.compile(f"func.func @main(%a: {of_a}, {parameters}) -> ({', '.join(types)}) {{\n{body}\n}}")
    for ours, b in zip(exe(a, *factors), factors, strict=True):
        wide = (b if b.shape[0] == 77 else b.T).astype(np.float64)
        size = np.abs(a.astype(np.float64)) @ np.abs(wide)
        assert np.max(np.abs(ours - a.astype(np.float64) @ wide) / size) < TOLERANCE[type_]


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("m, k, n", [(1, 2051, 1003), (1, 20001, 38), (2, 300, 1001), (3, 9001, 501), (4, 1100, 1003)])
def test_few_rows_by_the_rows_of_a_matrix(m: int, k: int, n: int, type_: str) -> None:
    """Some rows of the matrix at a time, with a rest, and long sums in blocks; the same bits on any number of threads."""
    rng = np.random.default_rng(7)
    a, b = _random((m, k), type_, rng), _random((n, k), type_, rng)
    types, result = (_tensor(a.shape, type_), _tensor(b.shape, type_)), _tensor((m, n), type_)
    (found,) = on_threads(
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {result} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : ({', '.join(types)}) -> {result}\n"
        f"  return %0 : {result}\n}}",
        a,
        b,
    )
    wide = [x.astype(np.longdouble) for x in (a, b.T)]
    assert np.max(np.abs(found - wide[0] @ wide[1]) / (np.abs(wide[0]) @ np.abs(wide[1]))) < TOLERANCE[type_]


@pytest.mark.parametrize("features", [2, 3, 4])
@pytest.mark.parametrize("channels", [5, 24])
def test_convolutions_with_few_features(channels: int, features: int) -> None:
    rng = np.random.default_rng(7)
    x, w = _random((2, 9, 10, channels), "f32", rng), _random((3, 3, channels, features), "f32", rng)
    types, result = [_tensor(each.shape, "f32") for each in (x, w)], _tensor((2, 7, 8, features), "f32")
    exe = xhlo.compile(
        f"func.func @main(%x: {types[0]}, %w: {types[1]}) -> {result} {{\n"
        "  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1],"
        " pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64,"
        f" feature_group_count = 1 : i64}} : ({', '.join(types)}) -> {result}\n"
        f"  return %0 : {result}\n}}"
    )
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (1, 2))
    expected = np.einsum("bijcyx,yxcf->bijf", windows, w.astype(np.float64))
    np.testing.assert_allclose(exe(x, w), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "m, k, n, constant",
    [(30, 2060, 33, False), (30, 2060, 33, True), (420, 20, 40, False), (420, 2060, 33, True), (40, 70, 4000, False)],
)
def test_bytes(m: int, k: int, n: int, constant: bool) -> None:
    """
    Sums start from what undoes the offset of unsigned factors: for one tile of rows or many, several passes along k,
    constants, and panels that tasks pack.
    """
    rng = np.random.default_rng(0)
    x, y = _random((m, k), "i8", rng), _random((k, n), "i8", rng)
    x[:2], y[:, :2] = -128, -128
    types = _tensor((m, k), "i8"), _tensor((k, n), "i8")
    given = f'%y = stablehlo.constant dense<"0x{y.tobytes().hex()}"> : {types[1]}' if constant else ""
    executable = xhlo.compile(
        f"""func.func @main(%x: {types[0]}{"" if constant else f", %y: {types[1]}"}) -> tensor<{m}x{n}xi32> {{
  {given}
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({types[0]}, {types[1]}) -> tensor<{m}x{n}xi32>
  return %0 : tensor<{m}x{n}xi32>
}}"""
    )
    found = executable(x) if constant else executable(x, y)
    np.testing.assert_array_equal(np.asarray(found), x.astype(np.int32) @ y.astype(np.int32))


def _chain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product by fused multiply-adds in f32, those of odd elements along k before their left neighbours."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    k = a.shape[1]
    for i in [j for first in range(0, k, 2) for j in (first + 1, first) if j < k]:
        exact = np.outer(a[:, i].astype(np.float64), b[i].astype(np.float64))
        total = (exact.astype(np.longdouble) + total).astype(np.float32)
    return total


@pytest.mark.parametrize("m, k, n, dims", [(33, 129, 512, (1, 0)), (130, 300, 70, (0, 1))])
def test_pairs_of_bf16_have_the_bits_of_f32_arithmetic(
    m: int, k: int, n: int, dims: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processor's instruction takes subnormal numbers for zeros: where there may be some, it is not used."""
    monkeypatch.setattr(host, "SLOW_BFLOAT_DOTS", frozenset[str]())
    if "bfloat-dots" not in host.host_dots() or np.finfo(np.longdouble).nmant < 63:
        pytest.skip("this machine does not multiply pairs of bf16, or long double has no 64 bits")
    shapes = [_tensor((m, k) if dims[0] else (k, m), "bf16"), _tensor((n, k) if dims[1] else (k, n), "bf16")]
    executable = xhlo.compile(
        f"""func.func @main(%x: {shapes[0]}, %y: {shapes[1]}) -> tensor<{m}x{n}xf32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [{dims[0]}] x [{dims[1]}] : ({shapes[0]}, {shapes[1]}) -> tensor<{m}x{n}xf32>
  return %0 : tensor<{m}x{n}xf32>
}}"""
    )
    rng = np.random.default_rng(0)
    # Usual numbers, products below the least normal number, and subnormal factors.
    for scales in ((1, 1), (1e-20, 1e-19), (1e-39, 1e18)):
        a, b = (
            scale * rng.standard_normal(shape, np.float32)
            for scale, shape in zip(scales, ((m, k), (k, n)), strict=True)
        )
        a[:14] *= np.where(rng.random((14, k)) < 0.01, np.float32(1e-38), np.float32(1))
        b[3:5] *= np.float32(1e18)
        a[20, 5], b[7, 9] = np.inf, np.nan
        x, y = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)
        found = executable(x if dims[0] else np.ascontiguousarray(x.T), np.ascontiguousarray(y.T) if dims[1] else y)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(np.asarray(found), _chain(x, y))


@pytest.mark.parametrize("scale", [1.0, 1e-39])
def test_constant_pairs_of_bf16(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler packs constants, but for those whose products with others may be subnormal."""
    monkeypatch.setattr(host, "SLOW_BFLOAT_DOTS", frozenset[str]())
    rng = np.random.default_rng(0)
    x = (1e30 * rng.standard_normal((40, 66), np.float32)).astype(ml_dtypes.bfloat16)
    y = (np.float32(scale) * rng.standard_normal((66, 48), np.float32)).astype(ml_dtypes.bfloat16)
    types = f"(tensor<40x66xbf16>, tensor<66x48xbf16>) -> {(result := _tensor((40, 48), 'f32'))}"
    executable = xhlo.compile(
        f"""func.func @main(%x: tensor<40x66xbf16>) -> {result} {{
  %y = stablehlo.constant dense<"0x{y.tobytes().hex()}"> : tensor<66x48xbf16>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : {types}
  return %0 : {result}
}}"""
    )
    wanted = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(np.asarray(executable(x)), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("type_", ["f32", "f64", "i32", "bf16"])
@pytest.mark.parametrize("m, n", [(96, 33), (33, 96), (130, 65)])
def test_long_sums_of_columns(m: int, n: int, type_: str) -> None:
    """Tasks multiply chunks of them; the same bits for any number of threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, (5184, size)).astype(DTYPES[type_]) for size in (m, n))
    shapes = [_tensor(each.shape, type_) for each in (a, b)]
    text = f"""func.func @main(%a: {shapes[0]}, %b: {shapes[1]}) -> {_tensor((m, n), type_)} {{
      %r = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : ({shapes[0]}, {shapes[1]}) -> {_tensor((m, n), type_)}
      return %r : {_tensor((m, n), type_)}
    }}"""
    (found,) = on_threads(text, a, b)
    np.testing.assert_array_equal(found, (a.astype(np.float64).T @ b.astype(np.float64)).astype(a.dtype))
