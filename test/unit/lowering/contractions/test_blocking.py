"""The tiles of matrix products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.utils.test_value import create_ssa_value

from xhlo.dialects.support.buffers import memref_type
from xhlo.lowering.convert_contractions_to_vector.blocking import LOW, Blocking, block
from xhlo.lowering.convert_contractions_to_vector.contraction import Contraction, Loop
from xhlo.lowering.device.cpu import CPU
from xhlo.lowering.loop_nests.nest import Access


def product_of(m: int, n: int, k: int, factor: Any = f32, element: Any = f32) -> Contraction:
    a, b = (Access(create_ssa_value(memref_type((size,), factor)), 0, (), ()) for size in (m * k, k * n))
    loops = (Loop(m, k, 0, n), Loop(n, 0, 1, 1), Loop(k, 1, n, 0))
    return Contraction(a, b, cast(Any, None), *loops, (), (), element)


def blocking_of(m: int, n: int, k: int) -> Blocking:
    return block(product_of(m, n, k), CPU)


@pytest.mark.parametrize("shape", [(32, 1536, 384), (32, 384, 1536), (64, 1024, 1024)])
def test_few_rows_are_one_tile(shape: tuple[int, int, int]):
    """Each panel of B is then packed by the task that reads it, not beforehand."""
    found = blocking_of(*shape)
    assert found.tile_m == found.m_panels
    assert found.tiles >= 8


def test_few_columns_are_divided_by_rows():
    """With few panels of B, tiles as high as C would be too few tasks."""
    found = blocking_of(112, 64, 512)
    assert found.tile_m < found.m_panels


@pytest.mark.parametrize("k, low", [(128, True), (8192, False)])
def test_short_sums_of_bytes_have_low_blocks(k: int, low: bool) -> None:
    """Writing C takes a part of the time then, and longer where the lines of many rows share a set of the L1 cache."""
    found = block(product_of(1001, 1024, k, i8, i32), replace(CPU, byte_dots=True))
    assert (found.mr <= LOW) == low
    assert found.group == 4
