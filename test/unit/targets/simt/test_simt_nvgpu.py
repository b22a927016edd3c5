"""
Tensor cores and asynchronous copies on the SIMT interpreter, against the fragment layouts that the PTX ISA states.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simt_programs import SHARED, kernel_text, run_device_function
from xhlo.targets.simt.lanes import SimtError

BF16 = np.dtype(ml_dtypes.bfloat16)
LANES = range(32)

Places = list[list[tuple[int, int]]]
"""Row and column of each lane's elements, in the order of its registers."""


def a_places(width: int, registers: int) -> Places:
    """PTX ISA, "Matrix Fragments for mma.m16n8k..": register i of A; `width` elements in each."""
    found: Places = []
    for lane in LANES:
        group, member = lane >> 2, lane % 4
        found.append(
            [
                (group if i % 2 == 0 else group + 8, member * width + j + (4 * width if i >= 2 else 0))
                for i in range(registers)
                for j in range(width)
            ]
        )
    return found


def b_places(width: int, registers: int) -> Places:
    return [
        [(lane % 4 * width + j + 4 * width * i, lane >> 2) for i in range(registers) for j in range(width)]
        for lane in LANES
    ]


C_PLACES: Places = [[((lane >> 2) + (0 if i < 2 else 8), lane % 4 * 2 + (i & 1)) for i in range(4)] for lane in LANES]


def fragments(matrix: np.ndarray, places: Places) -> np.ndarray:
    return np.array([[matrix[at] for at in of_lane] for of_lane in places], matrix.dtype)


def load_fragment(name: str, element: str, rows: int, width: int) -> str:
    """%name of type vector<rows x width>, from a memref %m_name of 32 lanes."""
    count, type_ = rows * width, f"vector<{rows}x{width}x{element}>"
    zero = "0.0" if element[0] in "bf" else "0"
    lines = [f"%{name}0 = arith.constant dense<{zero}> : {type_}"]
    for i in range(rows):
        lines += [
            f"%{name}at{i} = arith.constant {i * width} : index",
            f"%{name}part{i} = vector.load %m_{name}[%t, %{name}at{i}] : memref<32x{count}x{element}>, "
            f"vector<{width}x{element}>",
            f"%{name}{i + 1} = vector.insert %{name}part{i}, %{name}{i}[{i}] : vector<{width}x{element}> into {type_}",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("element", "dtype", "depth", "total"),
    [
        ("bf16", BF16, 16, "f32"),
        ("f16", np.dtype(np.float16), 16, "f32"),
        ("f16", np.dtype(np.float16), 8, "f16"),
        ("f32", np.dtype(np.float32), 8, "f32"),
        ("i8", np.dtype(np.int8), 32, "i32"),
    ],
)
def test_mma(element: str, dtype: np.dtype[Any], depth: int, total: str):
    width = 4 // dtype.itemsize
    a_rows, b_rows = depth // (2 * width), depth // (4 * width)
    sums = np.dtype({"f32": np.float32, "f16": np.float16, "i32": np.int32}[total])
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (16, depth)).astype(dtype)
    b = rng.integers(-8, 8, (depth, 8)).astype(dtype)
    c = rng.integers(-8, 8, (16, 8)).astype(sums)
    types = [f"vector<{a_rows}x{width}x{element}>", f"vector<{b_rows}x{width}x{element}>", f"vector<2x2x{total}>"]
    tf32 = ", tf32Enabled" if element == "f32" else ""
    body = f"""
    {load_fragment("a", element, a_rows, width)}
    {load_fragment("b", element, b_rows, width)}
    {load_fragment("sum", total, 2, 2)}
    %d = nvgpu.mma.sync(%a{a_rows}, %b{b_rows}, %sum2) {{mmaShape = [16, 8, {depth}]{tf32}}} :
        ({", ".join(types)}) -> {types[2]}
    %d0 = vector.extract %d[0] : vector<2x{total}> from {types[2]}
    %d1 = vector.extract %d[1] : vector<2x{total}> from {types[2]}
    vector.store %d0, %out[%t, %c0] : memref<32x4x{total}>, vector<2x{total}>
    vector.store %d1, %out[%t, %sumat1] : memref<32x4x{total}>, vector<2x{total}>
    """
    parameters = (
        f"%m_a: memref<32x{a_rows * width}x{element}>, %m_b: memref<32x{b_rows * width}x{element}>, "
        f"%m_sum: memref<32x4x{total}>, %out: memref<32x4x{total}>"
    )
    out = np.zeros((32, 4), sums)
    # PTX numbers the registers of A for 4-byte elements as for narrower ones: rows first, then columns.
    given = [fragments(a, a_places(width, a_rows)), fragments(b, b_places(width, b_rows)), fragments(c, C_PLACES)]
    run_device_function(kernel_text(body, parameters, threads=32), *given, out)
    wide = np.int64 if element == "i8" else np.float64
    want = (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(sums)
    np.testing.assert_array_equal(out, fragments(want, C_PLACES))


def test_tf32_drops_the_low_bits():
    """1 + 2^-10 is exact in tf32, 1 + 2^-11 is not."""
    x = np.zeros((16, 8), np.float32)
    x[0, 0] = 1 + 2.0**-10 + 2.0**-11
    ones = np.eye(8, dtype=np.float32)
    body = f"""
    {load_fragment("a", "f32", 4, 1)}
    {load_fragment("b", "f32", 2, 1)}
    %zero = arith.constant dense<0.0> : vector<2x2xf32>
    %d = nvgpu.mma.sync(%a4, %b2, %zero) {{mmaShape = [16, 8, 8], tf32Enabled}} :
        (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    %d0 = vector.extract %d[0, 0] : f32 from vector<2x2xf32>
    memref.store %d0, %out[%t] : memref<32xf32>
    """
    out = np.zeros(32, np.float32)
    text = kernel_text(body, "%m_a: memref<32x4xf32>, %m_b: memref<32x2xf32>, %out: memref<32xf32>", threads=32)
    run_device_function(text, fragments(x, a_places(1, 4)), fragments(ones, b_places(1, 2)), out)
    assert out[0] == 1 + 2.0**-10


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("tiles", [1, 2, 4])
def test_ldmatrix(tiles: int, transposed: bool):
    """Rows of 8 elements in padded shared memory; lanes 8i to 8i + 7 hold the addresses of tile i."""
    body = f"""
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {{
      %x = memref.load %a[%t, %i] : memref<32x8xf16>
      memref.store %x, %s[%t, %i] : memref<32x24xf16, {SHARED}>
    }}
    gpu.barrier
    %f = nvgpu.ldmatrix %s[%t, %c0] {{numTiles = {tiles} : i32, transpose = {str(transposed).lower()}}} :
        memref<32x24xf16, {SHARED}> -> vector<{tiles}x2xf16>
    """
    for i in range(tiles):
        body += f"""
        %f{i} = vector.extract %f[{i}] : vector<2xf16> from vector<{tiles}x2xf16>
        %at{i} = arith.constant {i} : index
        vector.store %f{i}, %out[%t, %at{i}, %c0] : memref<32x{tiles}x2xf16>, vector<2xf16>
        """
    x = np.arange(256, dtype=np.float16).reshape(32, 8)
    out = np.zeros((32, tiles, 2), np.float16)
    parameters = f"%a: memref<32x8xf16>, %out: memref<32x{tiles}x2xf16>"
    run_device_function(kernel_text(body, parameters, threads=32, shared="%s: 32x24xf16"), x, out)
    for lane in LANES:
        for i in range(tiles):
            tile = x[8 * i : 8 * i + 8].T if transposed else x[8 * i : 8 * i + 8]
            row, column = lane // 4, 2 * (lane % 4)
            np.testing.assert_array_equal(out[lane, i], tile[row, column : column + 2])


def test_copies_of_several_stages():
    """Two groups in flight: each wait leaves the newer one pending, whose data may not be read yet."""
    body = f"""
    %tok0 = nvgpu.device_async_copy %a[%c0, %t], %s[%c0, %t], 1 : memref<4x32xf32> to memref<2x32xf32, {SHARED}>
    %g0 = nvgpu.device_async_create_group %tok0
    %four = arith.constant 4 : index
    %two = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %four step %c1 iter_args(%acc = %zero) -> (f32) {{
      %next = arith.addi %i, %c1 : index
      %more = arith.cmpi ult, %next, %four : index
      %place = arith.remui %next, %two : index
      scf.if %more {{
        %tok = nvgpu.device_async_copy %a[%next, %t], %s[%place, %t], 1 : memref<4x32xf32> to memref<2x32xf32, {SHARED}>
      }}
      %g = nvgpu.device_async_create_group
      nvgpu.device_async_wait %g {{numGroups = PENDING : i32}}
      gpu.barrier
      %this = arith.remui %i, %two : index
      %k = arith.constant 31 : index
      %r = arith.subi %k, %t : index
      %x = memref.load %s[%this, %r] : memref<2x32xf32, {SHARED}>
      %n = arith.addf %acc, %x : f32
      gpu.barrier
      scf.yield %n : f32
    }}
    memref.store %sum, %o[%t] : memref<32xf32>
    """
    x, out = np.arange(128, dtype=np.float32).reshape(4, 32), np.zeros(32, np.float32)
    parameters = "%a: memref<4x32xf32>, %o: memref<32xf32>"
    good = kernel_text(body.replace("PENDING", "1"), parameters, threads=32, shared="%s: 2x32xf32")
    run_device_function(good, x, out)
    np.testing.assert_array_equal(out, x.sum(axis=0)[::-1])
    early = kernel_text(body.replace("PENDING", "2"), parameters, threads=32, shared="%s: 2x32xf32")
    with pytest.raises(SimtError, match="an asynchronous copy writes that is not waited for"):
        run_device_function(early, x, out)


def test_copies_of_fewer_elements_fill_with_zeros():
    body = f"""
    %n = arith.constant 3 : index
    %four = arith.constant 4 : index
    %i = arith.muli %t, %four : index
    %tok = nvgpu.device_async_copy %a[%i], %s[%i], 4, %n : memref<128xf32> to memref<128xf32, {SHARED}>
    %g = nvgpu.device_async_create_group %tok
    nvgpu.device_async_wait %g {{numGroups = 0 : i32}}
    gpu.barrier
    %v = vector.load %s[%i] : memref<128xf32, {SHARED}>, vector<4xf32>
    vector.store %v, %o[%i] : memref<128xf32>, vector<4xf32>
    """
    x, out = np.arange(1, 129, dtype=np.float32), np.zeros(128, np.float32)
    parameters = "%a: memref<128xf32>, %o: memref<128xf32>"
    run_device_function(kernel_text(body, parameters, threads=32, shared="%s: 128xf32"), x, out)
    want = x.reshape(32, 4).copy()
    want[:, 3] = 0
    np.testing.assert_array_equal(out, want.reshape(-1))


def test_a_copy_that_is_not_aligned_is_found():
    body = f"""
    %tok = nvgpu.device_async_copy %a[%t], %s[%t], 4 : memref<128xf32> to memref<128xf32, {SHARED}>
    """
    text = kernel_text(body, "%a: memref<128xf32>", threads=32, shared="%s: 128xf32")
    with pytest.raises(SimtError, match="no multiple of 16"):
        run_device_function(text, np.zeros(128, np.float32))
