"""The tiles of matrix products."""

from __future__ import annotations

from typing import Any, cast

import pytest
from xdsl.dialects.builtin import f32

from xhlo.lowering.convert_contractions_to_vector.blocking import Blocking, block
from xhlo.lowering.convert_contractions_to_vector.contraction import Contraction, Loop
from xhlo.lowering.device.cpu import CPU


def blocking_of(m: int, n: int, k: int) -> Blocking:
    buffer = cast(Any, None)
    loops = (Loop(m, k, 0, n), Loop(n, 0, 1, 1), Loop(k, 1, n, 0))
    return block(Contraction(buffer, buffer, buffer, *loops, (), (), f32), CPU)


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
