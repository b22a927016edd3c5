"""Copies of rows that are contiguous in memory, at lengths and places around those that choose another loop."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import DTYPES, TYPES, TYPICAL, on_threads, random_values, type_of


@pytest.mark.long(5)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("shift", [1, -2])
def test_rolled_rows(type_: str, shift: int) -> None:
    """The target begins some bytes after the source or before it, and the last vectors overlap those before them."""
    size = DTYPES[type_].itemsize
    for rows, count in ((1, 4096 // size), (1, 4102 // size + 1), (3, 2048 // size + 5), (1, 70_001)):
        x = random_values(type_, rows * count, 3).reshape(rows, count)
        at, whole = -shift % count, type_of(x)
        left, right = (type_of(x[:, part]) for part in (slice(at, None), slice(at)))
        text = f"""func.func @main(%x: {whole}) -> {whole} {{
          %first = hlo.slice %x [0:{rows}, {at}:{count}] : ({whole}) -> {left}
          %last = hlo.slice %x [0:{rows}, 0:{at}] : ({whole}) -> {right}
          %all = hlo.concatenate %first, %last, dim = 1 : ({left}, {right}) -> {whole}
          func.return %all : {whole}
        }}"""
        (got,) = on_threads(text, x)
        assert got.tobytes() == np.roll(x, shift, 1).tobytes()
