"""Reductions that choose, such as argmax, in the lanes of vectors on the CPU: NumPy's places, and bits for any threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from test_gpu_reductions import argmax
from xhlo import compile as compile_
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu import threads
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

CASES = [((40, 128), "f32", "GT"), ((40, 1001), "f32", "LT"), ((7, 191), "i32", "GT"), ((1, 70_000), "f32", "GT")]


def rows_of(shape: tuple[int, ...], type_: str) -> Any:
    """Rows with ties; of some, all elements are alike; of floats, some have NaN, in the first places or the last."""
    rng = np.random.default_rng(shape[1])
    x = rng.integers(-9, 9, shape).astype({"f32": np.float32, "i32": np.int32}[type_])
    x[1::5] = 3
    if type_ == "f32":
        x[0, rng.integers(0, shape[1], 3)] = np.nan
        x[2::7, -1], x[3::7, [5, 69]], x[4::7] = np.nan, np.nan, -np.inf
        x[5::7] = np.inf
    return x


@pytest.mark.parametrize(("shape", "type_", "order"), CASES)
def test_places(shape: tuple[int, ...], type_: str, order: str) -> None:
    x = rows_of(shape, type_)
    executable, before = compile_(argmax(shape, 1, type_, order)), threads.thread_count()
    try:
        for count in (1, 3):
            threads.set_thread_count(count)
            value, place = executable(x)
            np.testing.assert_array_equal(place, (np.argmax if order == "GT" else np.argmin)(x, 1))
            np.testing.assert_array_equal(value, np.take_along_axis(x, place[:, None], 1)[:, 0])
    finally:
        threads.set_thread_count(before)


def lowered(text: str) -> str:
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "argmax.mlir", ctx), CPU)
    lowering.to("loops")
    return str(lowering.module)


def test_what_is_made_in_lanes() -> None:
    """Long rows are; short ones are not, and neither is a body that is no order: each element counts from what is left."""
    text = argmax((40, 128), 1)
    no_order = re.sub(r"%first = stablehlo.or %wins, %tie", "%first = stablehlo.and %wins, %lt", text)
    assert no_order != text
    found = ["memref.alloca() : memref<64xi32>" in lowered(t) for t in (text, argmax((40, 100), 1), no_order)]
    assert found == [True, False, False]
