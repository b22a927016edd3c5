"""Rows of two to four elements, each computed by many operations: interleaved, or as columns."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads, type_of


@pytest.mark.parametrize("count", [63, 301, 5000])
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("steps", [16, 40, 90])
def test_many_operations_on_short_rows(count: int, width: int, steps: int) -> None:
    random = np.random.default_rng(steps + width)
    x, c = (random.integers(-1000, 1000, shape, np.int32) for shape in ((count, width), (width,)))
    rows = type_of(x)
    lines, wanted = [f"%c0 = stablehlo.broadcast_in_dim %c, dims = [1] : ({type_of(c)}) -> {rows}"], x + c
    lines.append(f"%y0 = stablehlo.add %x, %c0 : {rows}")
    for i in range(steps):
        lines.append(f"%m{i} = stablehlo.multiply %y{i}, %x : {rows}")
        lines.append(f"%y{i + 1} = stablehlo.add %m{i}, %c0 : {rows}")
        wanted = wanted * x + c
    body = "\n".join(lines)
    (found,) = on_threads(
        f"func.func @main(%x: {rows}, %c: {type_of(c)}) -> {rows} {{\n{body}\nreturn %y{steps} : {rows} }}", x, c
    )
    np.testing.assert_array_equal(found, wanted)
