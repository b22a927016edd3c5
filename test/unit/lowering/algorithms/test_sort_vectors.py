"""Sorting of keys in vectors: the network, and rows of one array against a stable sort of their keys."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, Batch, type_of
from test_sort import compare, sort_text
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.convert_linalg_ext_to_scf.sorting.vectors import ROWS, KeySort, network
from xhlo.targets.cpu import host, threads
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering


def test_the_network_sorts() -> None:
    """It does if it sorts every row of zeros and ones."""
    rows = (np.arange(1 << ROWS)[:, None] >> np.arange(ROWS) & 1).astype(np.int8)
    wanted = np.sort(rows, axis=1)
    for first, second in network(ROWS):
        pair = rows[:, first], rows[:, second]
        rows[:, first], rows[:, second] = np.minimum(*pair), np.maximum(*pair)
    np.testing.assert_array_equal(rows, wanted)


def test_parts() -> None:
    assert [KeySort.parts_of(length, 1) for length in (1000, 65535, 65536, 1 << 20, 1 << 24)] == [1, 1, 2, 16, 16]
    assert [KeySort.parts_of(1 << 20, rows) for rows in (2, 15, 16)] == [16, 16, 1]
    assert [KeySort.parts_of(100_000, rows) for rows in (3, 8)] == [2, 1]


def bits_of(x: Any) -> Any:
    return x.view(np.uint32 if x.itemsize == 4 else np.uint64)


def sorted_by_key(x: Any, kind: str, direction: str) -> Any:
    """The bits of the rows in order: all bits of floats if the kind is TOTALORDER, equal zeros otherwise."""
    bits = bits_of(x)
    one = bits.dtype.type(1)
    sign = one << bits.dtype.type(8 * x.itemsize - 1)
    if x.dtype.kind == "f":
        plain = bits if kind else bits * (bits << one != 0)
        key = plain ^ (sign | (plain >> bits.dtype.type(8 * x.itemsize - 1)) * (sign - one))
    else:
        key = bits ^ sign
    order = (~key if direction == "GT" else key).argsort(axis=-1, kind="stable")
    return np.take_along_axis(bits, order, axis=-1)


def rows_of(type_: str, shape: tuple[int, ...], rare: bool) -> Any:
    """Random numbers with many equal ones; `rare`: among them such as are not found from their keys."""
    rng = np.random.default_rng(len(shape))
    x = (rng.standard_normal(shape) * 300).astype(DTYPES[type_])
    flat = x.reshape(-1)
    if x.dtype.kind == "f":
        flat[::7], flat[5::13], flat[6::29] = 0.0, np.inf, -np.inf
        if rare:
            flat[3::11] = -0.0
        return x
    info = np.iinfo(x.dtype)
    flat[::7], flat[3::11], flat[5::13] = info.min, info.max, 0
    return x


CASES = [
    ("f32", (256,), "LT", "", False),
    ("f32", (3, 511), "GT", ", TOTALORDER", True),
    ("i32", (40, 257), "LT", "", False),
    ("i64", (3, 270), "GT", "", False),
    ("f32", (65537,), "LT", ", TOTALORDER", False),
    ("f32", (70000,), "GT", "", True),
    ("i64", (2, 66000), "LT", "", False),
]


@pytest.mark.long
@pytest.mark.parametrize("vector_bits", [512, 256])
def test_rows(vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one part and of several, by every width of vectors and number of threads."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    batch = Batch()
    for type_, shape, direction, kind, rare in CASES:
        x = rows_of(type_, shape, rare)
        if kind:
            x.reshape(-1)[::31], x.reshape(-1)[1::31] = np.nan, -np.nan
        body = compare(type_, direction, kind=kind)
        batch.add(sort_text([x], len(shape) - 1, body), type_of(x), operands=[x])
    arrays = list(batch.inputs.values())
    wanted = [sorted_by_key(x, kind, direction) for x, (_, _, direction, kind, _) in zip(arrays, CASES, strict=True)]
    ctx, before = make_context(), threads.thread_count()
    lowering = Lowering(ctx, parse_module(batch.text(), "sorts.mlir", ctx), CPU)
    lowering.to("loops")
    assert f"vector<{vector_bits // 32}xi32>" in str(lowering.module)
    executable = CPU.build(lowering, lambda _: "")
    try:
        for count in (1, 2, 3):
            threads.set_thread_count(count)
            for want, got in zip(wanted, executable(*arrays), strict=True):
                np.testing.assert_array_equal(bits_of(got), want)
    finally:
        threads.set_thread_count(before)


def test_nan_of_other_bits_by_a_comparator_that_makes_all_alike() -> None:
    """JAX's comparator replaces NaN and zeros; equal ones keep their order, and each its own bits."""
    n = 600
    x = np.random.default_rng(3).standard_normal(n).astype(np.float32)
    bits = bits_of(x)
    bits[::9] = 0x7FC00000 + np.arange(len(bits[::9]), dtype=np.uint32)
    bits[4::9] = [sign << 31 for sign in itertools.islice(itertools.cycle((0, 1, 1)), len(bits[4::9]))]
    lines = ["%z = hlo.constant dense<0.0> : tensor<f32>", "%n = hlo.constant dense<0x7FC00000> : tensor<f32>"]
    for side in "ab":
        kinds = "(tensor<f32>, tensor<f32>) -> tensor<i1>"
        lines += [
            f"%e{side} = hlo.compare EQ, %{side}0, %z : {kinds}",
            f"%y{side} = hlo.select %e{side}, %z, %{side}0 : tensor<i1>, tensor<f32>",
            f"%u{side} = hlo.compare NE, %{side}0, %{side}0 : {kinds}",
            f"%x{side} = hlo.select %u{side}, %n, %y{side} : tensor<i1>, tensor<f32>",
        ]
    body = "\n".join([*lines, compare("f32", "LT", "%xa", "%xb", ", TOTALORDER")])
    for data in (x, np.where(np.isnan(x), np.float32(1), np.abs(x))):
        batch = Batch()
        batch.add(sort_text([data], 0, body), type_of(data), operands=[data])
        order = np.argsort(np.where(data == 0, np.float32(0), data), kind="stable")
        got = xhlo.compile(batch.text())(data)
        np.testing.assert_array_equal(bits_of(got), bits_of(data)[order])
