"""Kernels without reductions on the SIMT interpreter: odd sizes, ranks, element types; vectors, tails, tiles."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simt_programs import check_on_simt, gpu_level
from xhlo.lowering.plan_gpu_kernels import elementwise
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.memory import undefined
from xhlo.targets.simt.traffic import SECTOR

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "ui8": np.uint8,
    "i1": np.bool_,
}


@pytest.fixture
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide vectors, several per thread, also for small arrays."""
    monkeypatch.setattr(elementwise, "WAVES", 0)
    monkeypatch.setattr(elementwise, "THREADS", 4)


def array(shape: tuple[int, ...], type_: str = "f32", seed: int = 0) -> np.ndarray:
    values = np.random.default_rng([seed, *shape]).uniform(-100, 100, shape)
    if type_ == "i1":
        return values > 0
    return (np.abs(values) if type_ == "ui8" else values).astype(TYPES[type_])


def tensor(shape: tuple[int, ...], type_: str = "f32") -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{type_}>"


SHAPES = [
    (),
    (0,),
    (1,),
    (31,),
    (33,),
    (255,),
    (257,),
    (4099,),
    (3, 0, 5),
    (1, 1),
    (31, 33),
    (7, 257),
    (64, 128),
    (5, 130, 2),
    (2, 3, 5, 7, 4),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("type_", ["f32", "bf16", "i8"])
def test_chain(small_shares: None, shape: tuple[int, ...], type_: str) -> None:
    t = tensor(shape, type_)
    text = f"""
    func.func @main(%x: {t}, %y: {t}) -> ({t}, {t}) {{
      %0 = stablehlo.multiply %x, %y : {t}
      %1 = stablehlo.add %0, %x : {t}
      %2 = stablehlo.maximum %1, %y : {t}
      return %1, %2 : {t}, {t}
    }}"""
    check_on_simt(text, [array(shape, type_), array(shape, type_, 1)])


@pytest.mark.parametrize("shape", [(4099,), (31, 33), (16, 64)], ids=str)
def test_shares_of_the_real_chip(shape: tuple[int, ...]) -> None:
    t = tensor(shape)
    text = f"func.func @main(%x: {t}) -> {t} {{ %0 = stablehlo.exponential %x : {t} return %0 : {t} }}"
    check_on_simt(text, [array(shape) / 10])


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_convert(small_shares: None, source: str, target: str) -> None:
    shape = (3, 344)
    s, t = tensor(shape, source), tensor(shape, target)
    text = f"func.func @main(%x: {s}) -> {t} {{ %0 = stablehlo.convert %x : ({s}) -> {t} return %0 : {t} }}"
    check_on_simt(text, [array(shape, source)])


@pytest.mark.sample(3)
@pytest.mark.parametrize("rows", [1, 3, 16, 17])
@pytest.mark.parametrize("columns", [4, 31, 33, 64, 255, 256, 257])
def test_broadcasts(small_shares: None, rows: int, columns: int) -> None:
    """Broadcasts of a row, a column and a scalar; rows that vectors divide, and rows that vectors cross."""
    t = tensor((rows, columns))
    text = f"""
    func.func @main(%x: {t}, %r: tensor<{columns}xf32>, %c: tensor<{rows}xf32>, %s: tensor<f32>) -> {t} {{
      %0 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<{columns}xf32>) -> {t}
      %1 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<{rows}xf32>) -> {t}
      %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {t}
      %3 = stablehlo.add %x, %0 : {t}
      %4 = stablehlo.multiply %3, %1 : {t}
      %5 = stablehlo.subtract %4, %2 : {t}
      return %5 : {t}
    }}"""
    check_on_simt(text, [array((rows, columns)), array((columns,)), array((rows,)), array(())])


MOVEMENT = {
    "iota": ("(%x: tensor<5x132xf32>) -> tensor<5x132xf32>", "stablehlo.iota dim = 1 : tensor<5x132xf32>"),
    "iota_rows": ("(%x: tensor<5x131xi32>) -> tensor<5x131xi32>", "stablehlo.iota dim = 0 : tensor<5x131xi32>"),
    "concatenate": (
        "(%x: tensor<7x12xf32>, %y: tensor<7x4xf32>, %z: tensor<7x16xf32>) -> tensor<7x32xf32>",
        "stablehlo.concatenate %x, %y, %z, dim = 1 : "
        "(tensor<7x12xf32>, tensor<7x4xf32>, tensor<7x16xf32>) -> tensor<7x32xf32>",
    ),
    "concatenate_odd": (
        "(%x: tensor<3x33xbf16>, %y: tensor<5x33xbf16>) -> tensor<8x33xbf16>",
        "stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x33xbf16>, tensor<5x33xbf16>) -> tensor<8x33xbf16>",
    ),
    "pad": (
        "(%x: tensor<7x29xf32>, %v: tensor<f32>) -> tensor<12x32xf32>",
        "stablehlo.pad %x, %v, low = [2, 1], high = [3, 2], interior = [0, 0] : "
        "(tensor<7x29xf32>, tensor<f32>) -> tensor<12x32xf32>",
    ),
    "pad_interior": (
        "(%x: tensor<7x9xi8>, %v: tensor<i8>) -> tensor<15x24xi8>",
        "stablehlo.pad %x, %v, low = [1, -1], high = [1, 0], interior = [1, 2] : "
        "(tensor<7x9xi8>, tensor<i8>) -> tensor<15x24xi8>",
    ),
    "slice": (
        "(%x: tensor<20x40xf32>) -> tensor<6x32xf32>",
        "stablehlo.slice %x [2:20:3, 4:36] : (tensor<20x40xf32>) -> tensor<6x32xf32>",
    ),
    "slice_odd": (
        "(%x: tensor<20x40xf16>) -> tensor<20x13xf16>",
        "stablehlo.slice %x [0:20, 1:40:3] : (tensor<20x40xf16>) -> tensor<20x13xf16>",
    ),
    "reverse": (
        "(%x: tensor<9x64xf32>) -> tensor<9x64xf32>",
        "stablehlo.reverse %x, dims = [0, 1] : tensor<9x64xf32>",
    ),
    "reverse_odd": (
        "(%x: tensor<4097xi16>) -> tensor<4097xi16>",
        "stablehlo.reverse %x, dims = [0] : tensor<4097xi16>",
    ),
    "gather": (
        "(%x: tensor<11x32xbf16>, %i: tensor<37x1xi32>) -> tensor<37x32xbf16>",
        '"stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims=[1], '
        "collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1>, slice_sizes = array<i64: 1, 32>}> : "
        "(tensor<11x32xbf16>, tensor<37x1xi32>) -> tensor<37x32xbf16>",
    ),
    "dynamic_slice": (
        "(%x: tensor<50x64xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<9x32xf32>",
        "stablehlo.dynamic_slice %x, %i, %j, sizes = [9, 32] : "
        "(tensor<50x64xf32>, tensor<i32>, tensor<i32>) -> tensor<9x32xf32>",
    ),
    "dynamic_update_slice": (
        "(%x: tensor<50x64xf32>, %y: tensor<9x64xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<50x64xf32>",
        "stablehlo.dynamic_update_slice %x, %y, %i, %j : "
        "(tensor<50x64xf32>, tensor<9x64xf32>, tensor<i32>, tensor<i32>) -> tensor<50x64xf32>",
    ),
    "dynamic_update_slice_odd": (
        "(%x: tensor<50x64xf32>, %y: tensor<9x31xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<50x64xf32>",
        "stablehlo.dynamic_update_slice %x, %y, %i, %j : "
        "(tensor<50x64xf32>, tensor<9x31xf32>, tensor<i32>, tensor<i32>) -> tensor<50x64xf32>",
    ),
    "select": (
        "(%p: tensor<7x65xi1>, %x: tensor<7x65xf64>, %y: tensor<7x65xf64>) -> tensor<7x65xf64>",
        "stablehlo.select %p, %x, %y : tensor<7x65xi1>, tensor<7x65xf64>",
    ),
    "fill": ("(%x: tensor<3x4099xf32>) -> tensor<3x4099xf32>", "stablehlo.constant dense<2.5> : tensor<3x4099xf32>"),
}


def _of(spelled: str) -> np.ndarray:
    *dims, type_ = spelled.split("x")
    return array(tuple(map(int, dims)), type_)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", MOVEMENT)
def test_movement(small_shares: None, name: str) -> None:
    signature, op = MOVEMENT[name]
    parameters = signature[1 : signature.index(")")].split(", ")
    inputs = [_of(one.split("tensor<")[1][:-1]) for one in parameters]
    inputs = [np.array(x, x.dtype) % 13 if x.dtype == np.int32 else x for x in inputs]
    result = signature.split("-> ")[1]
    check_on_simt(f"func.func @main{signature} {{ %0 = {op} return %0 : {result} }}", inputs)


TRANSPOSES = [
    ((32, 32), (1, 0), "f32"),
    ((64, 64), (1, 0), "f32"),
    ((65, 33), (1, 0), "f32"),
    ((31, 257), (1, 0), "f32"),
    ((1, 257), (1, 0), "f32"),
    ((128, 64), (1, 0), "bf16"),
    ((70, 134), (1, 0), "f16"),
    ((67, 131), (1, 0), "bf16"),
    ((64, 192), (1, 0), "i8"),
    ((68, 132), (1, 0), "i8"),
    ((67, 101), (1, 0), "i1"),
    ((48, 40), (1, 0), "f64"),
    ((3, 33, 65), (0, 2, 1), "f32"),
    ((17, 5, 40), (2, 1, 0), "f32"),
    ((17, 5, 40), (2, 0, 1), "f32"),
    ((17, 5, 40), (1, 2, 0), "bf16"),
    ((17, 5, 40), (1, 0, 2), "f32"),
    ((2, 3, 20, 18), (3, 1, 2, 0), "f32"),
    ((2, 40, 3, 18), (0, 3, 2, 1), "i16"),
    ((300, 8), (1, 0), "f32"),
    ((5, 301), (1, 0), "f32"),
    ((301, 5), (1, 0), "bf16"),
    ((2, 9, 17, 12), (0, 3, 1, 2), "i8"),
    ((1024, 16), (1, 0), "i8"),
    ((16, 1028), (1, 0), "i8"),
    ((256, 4), (1, 0), "bf16"),
    ((20, 60), (1, 0), "f64"),
    ((600, 2), (1, 0), "i8"),
    ((600, 3), (1, 0), "bf16"),
    ((520, 2), (1, 0), "f32"),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("shape", "order", "type_"), TRANSPOSES, ids=str)
def test_transpose(small_shares: None, shape: tuple[int, ...], order: tuple[int, ...], type_: str) -> None:
    s, t = tensor(shape, type_), tensor(tuple(shape[d] for d in order), type_)
    text = f"""
    func.func @main(%x: {s}) -> {t} {{
      %0 = stablehlo.transpose %x, dims = {list(order)} : ({s}) -> {t}
      return %0 : {t}
    }}"""
    check_on_simt(text, [array(shape, type_)])


@pytest.mark.parametrize("shape", [(64, 64), (67, 130), (257, 31)], ids=str)
@pytest.mark.parametrize("type_", ["f32", "bf16"])
def test_fused_transposes(small_shares: None, shape: tuple[int, int], type_: str) -> None:
    """Two transposed inputs, one plain, one row; arithmetic, and an output type of another width."""
    s, t, u = tensor(shape, type_), tensor(shape[::-1], type_), tensor(shape[::-1])
    text = f"""
    func.func @main(%x: {s}, %y: {s}, %z: {t}, %r: tensor<{shape[0]}x{type_}>) -> ({t}, {u}) {{
      %0 = stablehlo.multiply %x, %y : {s}
      %1 = stablehlo.subtract %0, %x : {s}
      %2 = stablehlo.transpose %1, dims = [1, 0] : ({s}) -> {t}
      %3 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<{shape[0]}x{type_}>) -> {t}
      %4 = stablehlo.add %2, %z : {t}
      %5 = stablehlo.add %4, %3 : {t}
      %6 = stablehlo.convert %5 : ({t}) -> {u}
      return %5, %6 : {t}, {u}
    }}"""
    inputs = [array(shape, type_), array(shape, type_, 1), array(shape[::-1], type_), array(shape[:1], type_)]
    check_on_simt(text, inputs)


# Memory traffic.

TRAFFIC = {
    "along": ("(%x: tensor<1000003xbf16>) -> tensor<1000003xbf16>", "stablehlo.negate %x : tensor<1000003xbf16>", 1.01),
    "reverse": (
        "(%x: tensor<262144xf32>) -> tensor<262144xf32>",
        "stablehlo.reverse %x, dims = [0] : tensor<262144xf32>",
        1.0,
    ),
    "slice": (
        "(%x: tensor<300x1003xf32>) -> tensor<300x1000xf32>",
        "stablehlo.slice %x [0:300, 3:1003] : (tensor<300x1003xf32>) -> tensor<300x1000xf32>",
        1.2,
    ),
    "pad": (
        "(%x: tensor<300x1000xf32>, %v: tensor<f32>) -> tensor<308x1008xf32>",
        "stablehlo.pad %x, %v, low = [4, 4], high = [4, 4], interior = [0, 0] : "
        "(tensor<300x1000xf32>, tensor<f32>) -> tensor<308x1008xf32>",
        1.4,
    ),
    "concatenate": (
        "(%x: tensor<300x777xf32>, %y: tensor<300x333xf32>) -> tensor<300x1110xf32>",
        "stablehlo.concatenate %x, %y, dim = 1 : (tensor<300x777xf32>, tensor<300x333xf32>) -> tensor<300x1110xf32>",
        1.2,
    ),
    "transpose": (
        "(%x: tensor<512x640xf32>) -> tensor<640x512xf32>",
        "stablehlo.transpose %x, dims = [1, 0] : (tensor<512x640xf32>) -> tensor<640x512xf32>",
        1.0,
    ),
    "transpose_narrow": (
        "(%x: tensor<512x640xbf16>) -> tensor<640x512xbf16>",
        "stablehlo.transpose %x, dims = [1, 0] : (tensor<512x640xbf16>) -> tensor<640x512xbf16>",
        1.0,
    ),
    "transpose_channels": (
        "(%x: tensor<8x3136x3xf32>) -> tensor<8x3x3136xf32>",
        "stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<8x3136x3xf32>) -> tensor<8x3x3136xf32>",
        1.05,
    ),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("name", TRAFFIC)
def test_sectors(name: str) -> None:
    """The sectors moved are at most a small multiple of those that hold the arrays."""
    signature, op, most = TRAFFIC[name]
    text = f"func.func @main{signature} {{ %0 = {op} return %0 : {signature.split('-> ')[1]} }}"
    module, (arguments, results) = gpu_level(text)
    program = HostProgram(module)
    traffic = program.count_traffic()
    inputs: list[Any] = [np.zeros(t.shape, t.dtype) for t in arguments]
    program.run(inputs, [undefined(t.shape, t.dtype) for t in results])
    moved = sum(kernel.total(shared=False).moved for kernel in traffic)
    assert moved * SECTOR <= most * sum(t.nbytes for t in (*arguments, *results)) + SECTOR
    assert all(kernel.total(shared=True).moved <= 2 * kernel.total(shared=True).least for kernel in traffic)
