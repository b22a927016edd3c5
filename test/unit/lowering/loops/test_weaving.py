"""Rows of few elements that are copied, repeated, joined and padded: permutations of lanes, and what is left of blocks."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, on_threads, type_of
from xhlo.targets.cpu import host


def program(x: np.ndarray, y: np.ndarray) -> tuple[str, list[np.ndarray]]:
    """A program of pads, concatenations and repeated rows, and its results."""
    rows, width = x.shape
    ones = np.ones((rows, 1), x.dtype)
    one = "1.0" if x.dtype.kind == "f" else "1"
    # Each is an array, how it is made, and its operands.
    results = [
        (np.pad(x, [(0, 0), (0, 1)], constant_values=1), "stablehlo.pad %x, %one, low = [0, 0], high = [0, 1], interior = [0, 0]", [x, ones[0, 0]]),
        (np.pad(x, [(0, 0), (2, 3)], constant_values=1), "stablehlo.pad %x, %one, low = [0, 2], high = [0, 3], interior = [0, 0]", [x, ones[0, 0]]),
        (np.hstack([x, ones]), "stablehlo.concatenate %x, %ones, dim = 1", [x, ones]),
        (np.hstack([ones, x, y]), "stablehlo.concatenate %ones, %x, %y, dim = 1", [ones, x, y]),
        (np.hstack([y, x[::-1]]), "stablehlo.concatenate %y, %back, dim = 1", [y, x]),
        (np.hstack([x[:, 1:], y]), "stablehlo.concatenate %cut, %y, dim = 1", [x[:, 1:], y]),
        (np.repeat(x[:, None], 2, 1), "stablehlo.broadcast_in_dim %x, dims = [0, 2]", [x]),
        (np.repeat(x[:, :, None], 2, 2), "stablehlo.broadcast_in_dim %x, dims = [0, 1]", [x]),
        (np.repeat(np.repeat(x[:, None], 3, 1)[:, :, None], 2, 2)[None].repeat(2, 0), "stablehlo.broadcast_in_dim %x, dims = [1, 4]", [x]),
    ]  # fmt: skip
    arrays = [result for result, _, _ in results]
    lines = [
        f"%{i} = {text} : ({', '.join(map(type_of, operands))}) -> {type_of(result)}"
        for i, (result, text, operands) in enumerate(results)
    ]
    return (
        f"""func.func @main(%x: {type_of(x)}, %y: {type_of(y)}) -> ({", ".join(map(type_of, arrays))}) {{
      %one = stablehlo.constant dense<{one}> : {type_of(ones[0, 0])}
      %ones = stablehlo.constant dense<{one}> : {type_of(ones)}
      %back = stablehlo.reverse %x, dims = [0] : {type_of(x)}
      %cut = stablehlo.slice %x [0:{rows}, 1:{width}] : ({type_of(x)}) -> {type_of(x[:, 1:])}
      {" ".join(lines)}
      return {", ".join(f"%{i}" for i in range(len(lines)))} : {", ".join(map(type_of, arrays))} }}""",
        arrays,
    )


@pytest.mark.long(45)
@pytest.mark.parametrize("vector_bits", [512, 256, 128])
@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
@pytest.mark.parametrize(("rows", "width"), [(9, 3), (70, 2), (131, 3), (67, 5)])
def test_rows(rows: int, width: int, element: str, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing outside of buffers is read or written, wherever their ends are."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    numbers = np.random.default_rng(0).integers(0, 100, (rows, width + 2)).astype(DTYPES[element])
    x, y = numbers[:, :width].copy(), numbers[:, width:].copy()
    text, expected = program(x, y)
    for guard in ("start", "end"):
        found = xhlo.compile(text, guard=guard)(x, y)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(one, other, err_msg=str(number))


def test_threads() -> None:
    x = np.arange(90003, dtype=np.float32).reshape(-1, 3)
    y = x[:, :2] + 1
    text, expected = program(x, y)
    for one, other in zip(on_threads(text, x, y), expected, strict=True):
        np.testing.assert_array_equal(one, other)
