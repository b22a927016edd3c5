"""Sorting of many rows at once, in the lanes of vectors, against NumPy's stable sort of keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import Batch, type_of
from test_sort import compare, sort_text
from test_sort_vectors import bits_of, rows_of, sorted_by_key
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.convert_linalg_ext_to_scf.sorting.lanes import MOST_OF_COLUMNS
from xhlo.targets.cpu import host, threads
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

KEYS = [
    ("f32", (19, 100), 1, "LT", "", False),
    ("f32", (33, 17), 1, "GT", ", TOTALORDER", True),
    ("i32", (2, 50, 21), 1, "LT", "", False),
    ("f64", (129, 18), 0, "GT", "", False),
]
"""The type, shape, dimension, direction and order of keys, and whether some are not found from their keys."""

PLACES = [
    ("i32", (18, 33), 1, "LT"),
    ("i32", (100, 9), 0, "GT"),
    ("f32", (3, 6, 5), 1, "LT"),
]
"""Keys whose elements are sorted with those of another array."""


def order_of(x: Any, direction: str, dim: int) -> Any:
    return np.argsort(-x.astype(np.float64) if direction == "GT" else x, axis=dim, kind="stable")


@pytest.mark.long
@pytest.mark.parametrize("vector_bits", [512, 256])
def test_rows(vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and columns that fill the last vectors in part, by every width of vectors and number of threads."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    batch, wanted = Batch(), list[Any]()
    for type_, shape, dim, direction, kind, rare in KEYS:
        x = rows_of(type_, shape, rare)
        batch.add(sort_text([x], dim, compare(type_, direction, kind=kind)), type_of(x), operands=[x])
        moved = np.moveaxis(x, dim, -1)
        wanted.append(np.moveaxis(sorted_by_key(np.ascontiguousarray(moved), kind, direction), -1, dim))
    for type_, shape, dim, direction in PLACES:
        x = (
            np.random.default_rng(1)
            .integers(-3, 3, shape)
            .astype({"i": type_.replace("i", "int"), "f": "f4"}[type_[0]])
        )
        values = np.arange(x.size, dtype=np.float64).reshape(shape)
        batch.add(
            sort_text([x, values], dim, compare(type_, direction)), type_of(x), type_of(values), operands=[x, values]
        )
        order = order_of(x, direction, dim)
        wanted += [np.take_along_axis(array, order, dim) for array in (x, values)]
    ctx, before = make_context(), threads.thread_count()
    lowering = Lowering(ctx, parse_module(batch.text(), "sorts.mlir", ctx), CPU)
    lowering.to("loops")
    text = str(lowering.module)
    assert "_sort_rows" in text and "_sort_columns" in text and f"vector<{vector_bits // 32}xi32>" in text
    executable = CPU.build(lowering, lambda _: "")
    try:
        for count in (1, 3):
            threads.set_thread_count(count)
            for want, got in zip(wanted, executable(*batch.inputs.values()), strict=True):
                got = bits_of(got) if want.dtype.kind == "u" else got
                np.testing.assert_array_equal(got, want)
    finally:
        threads.set_thread_count(before)


@pytest.mark.parametrize("length", [3, 16, 47, 64, 65, 257, MOST_OF_COLUMNS])
def test_lengths(length: int) -> None:
    """Runs that are missing or short in each merge: rows of zeros and ones, which a network must sort."""
    x = (np.random.default_rng(length).random((length, 16)) < np.linspace(0, 1, 16)).astype(np.int32)
    batch = Batch()
    batch.add(sort_text([x], 0, compare("i32")), type_of(x), operands=[x])
    np.testing.assert_array_equal(xhlo.compile(batch.text())(x), np.sort(x, axis=0))


def test_few_rows_and_wide_keys_are_sorted_row_by_row() -> None:
    """Fewer rows than lanes, and keys of 64 bits beside other arrays, for whose places there is no room."""
    batch = Batch()
    few, wide = np.zeros((3, 100), np.float32), np.zeros((64, 100), np.int64)
    batch.add(sort_text([few], 1, compare("f32")), type_of(few), operands=[few])
    batch.add(sort_text([wide, wide], 1, compare("i64")), *[type_of(wide)] * 2, operands=[wide, wide])
    lowering = Lowering(make_context(), parse_module(batch.text(), "sorts.mlir", make_context()), CPU)
    lowering.to("loops")
    assert "_sort_rows" not in str(lowering.module)
