"""Matrix products of every type, layout and odd size on this machine's CPU, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo

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

SIZES = [(0, 5, 3), (1, 300, 70), (16, 33, 24), (131, 65, 17), (33, 1024, 20)]
"""m, k, n: empty and single rows, sizes around vectors and panels, a sum that is cut into chunks."""


def _tensor(shape: tuple[int, ...], type_: str) -> str:
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


def _random(shape: tuple[int, ...], type_: str, rng: np.random.Generator) -> np.ndarray:
    dtype = DTYPES[type_]
    if type_.startswith("i"):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


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
