"""Arrays whose columns several nests write alternately, inside loops around their rows (interleaving.py)."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import run


def stacked(images: int, rows: int, columns: int, count: int) -> str:
    """Sums of x and multiples of a factor for each image, side by side for each element of x."""
    x, w = f"tensor<{images}x{rows}x{columns}xf32>", f"tensor<{images}xf32>"
    one, whole = f"tensor<{images}x{rows}x{columns}x1xf32>", f"tensor<{images}x{rows}x{columns}x{count}xf32>"
    lines = [f"%f = stablehlo.broadcast_in_dim %w, dims = [0] : ({w}) -> {x}", f"%a0 = stablehlo.multiply %x, %f : {x}"]
    for k in range(1, count):
        lines.append(f"%a{k} = stablehlo.add %a{k - 1}, %f : {x}")
    lines += [f"%p{k} = stablehlo.reshape %a{k} : ({x}) -> {one}" for k in range(count)]
    parts, types = ", ".join(f"%p{k}" for k in range(count)), ", ".join([one] * count)
    lines.append(f"%y = stablehlo.concatenate {parts}, dim = 3 : ({types}) -> {whole}")
    return f"func.func @main(%x: {x}, %w: {w}) -> {whole} {{\n" + "\n".join(lines) + f"\nreturn %y : {whole}\n}}"


@pytest.mark.parametrize("count", (2, 3, 4))
@pytest.mark.parametrize("sizes", ((3, 1, 9), (5, 7, 28), (40, 61, 57), (2, 1, 90001)))
def test_columns_that_alternate(sizes: tuple[int, int, int], count: int) -> None:
    rng = np.random.default_rng(sum(sizes))
    x, w = rng.standard_normal(sizes).astype(np.float32), rng.standard_normal(sizes[0]).astype(np.float32)
    factor = np.broadcast_to(w[:, None, None], sizes)
    parts = [x * factor]
    for _ in range(1, count):
        parts.append(parts[-1] + factor)
    np.testing.assert_array_equal(run(stacked(*sizes, count), (x, w), "cpu")[0], np.stack(parts, -1))
