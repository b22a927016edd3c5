"""Device functions as LLVM IR, run on the CPU with a thread for each GPU thread, against the reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from checkout import EXAMPLES
from conformance import difference
from emulated_gpu import EmulatedKernels, run_emulated
from hlo_programs import Program
from simt_programs import kernel_text
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.pipelines import LOWER_NVVM, LOWER_NVVM_TO_LLVM
from xhlo.targets.program.pipeline import run_passes

NUMPY: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i4": ml_dtypes.int4,
    "ui8": np.uint8,
    "i1": np.bool_,
}


def check(text: str, *inputs: np.ndarray, rtol: float | None = None, chip: str = "sm_90") -> None:
    want = Program(text).results(*inputs)
    got = run_emulated(text, inputs, chip=chip)
    wrong: dict[int, str] = {}
    for i, (actual, expected) in enumerate(zip(got, map(np.asarray, want), strict=True)):
        if expected.dtype.itemsize == 1 and expected.dtype.kind == "V":
            np.testing.assert_array_equal(actual.astype(np.float32), expected.astype(np.float32), str(expected.dtype))
        elif message := difference(actual, expected, rtol, False):
            wrong[i] = message
    assert not wrong, wrong


def numbers(type_: str, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = NUMPY[type_]
    if type_ == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if type_.startswith(("i", "ui")):
        return rng.integers(0 if type_ == "ui8" else -7, 8, shape).astype(dtype)
    return (4 * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.long(12)
@pytest.mark.parametrize(
    ("type_", "size"),
    [
        ("f32", 1),
        ("f32", 31),
        ("f32", 257),
        ("bf16", 33),
        ("f64", 257),
        ("f16", 255),
        ("i64", 33),
        ("i8", 257),
        ("ui8", 31),
    ],
)
def test_arithmetic(type_: str, size: int) -> None:
    array = f"tensor<{size}x{type_}>"
    text = f"""
    func.func @main(%x: {array}, %y: {array}) -> ({array}, {array}, {array}) {{
      %0 = hlo.add %x, %y : {array}
      %1 = hlo.multiply %0, %y : {array}
      %2 = hlo.maximum %1, %x : {array}
      %3 = hlo.minimum %0, %y : {array}
      %4 = hlo.divide %x, %y : {array}
      func.return %2, %3, %4 : {array}, {array}, {array}
    }}"""
    check(text, numbers(type_, size), numbers(type_, size, seed=1))


@pytest.mark.long(5)
@pytest.mark.parametrize(("source", "targets"), [
    ("f32", ["f64", "f16", "bf16", "f8E4M3FN", "i64", "i8", "i4", "ui8", "i1"]),
    ("bf16", ["f64", "f32", "f16", "f8E4M3FN", "i32", "i1"]),
    ("f64", ["f32", "f16", "bf16", "i64"]),
    ("f8E4M3FN", ["f32", "bf16", "i8"]),
    ("i4", ["f32", "i64", "i8", "ui8", "i1"]),
    ("i1", ["f32", "bf16", "i32", "i4"]),
])  # fmt: skip
def test_conversions(source: str, targets: list[str]) -> None:
    size = 255
    types = ", ".join(f"tensor<{size}x{target}>" for target in targets)
    lines = "\n".join(
        f"%{i} = hlo.convert %x : (tensor<{size}x{source}>) -> tensor<{size}x{target}>"
        for i, target in enumerate(targets)
    )
    values = ", ".join(f"%{i}" for i in range(len(targets)))
    x = numbers(source, size)
    if source in ("f32", "f64", "bf16"):
        x[:12] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-41, 1e5, -1e5, 0.5, 65519.0, 3e38]
    check(
        f"func.func @main(%x: tensor<{size}x{source}>) -> ({types}) {{ {lines}\n func.return {values} : {types} }}", x
    )


@pytest.mark.long
def test_functions_of_f32_and_f64() -> None:
    for type_, size in (("f32", 33), ("f64", 65)):
        array = f"tensor<{size}x{type_}>"
        ops = ("exponential", "log", "sine", "cosine", "tan", "tanh", "rsqrt", "cbrt", "logistic", "log_plus_one")
        lines = "\n".join(f"%{i} = hlo.{op} %x : {array}" for i, op in enumerate(ops))
        binary = ("power", "atan2", "remainder", "divide")
        more = "\n".join(f"%b{i} = hlo.{op} %x, %y : {array}" for i, op in enumerate(binary))
        values = ", ".join([f"%{i}" for i in range(len(ops))] + [f"%b{i}" for i in range(len(binary))])
        types = ", ".join([array] * (len(ops) + len(binary)))
        x = np.abs(numbers(type_, size)) + np.asarray(0.01, NUMPY[type_])
        x[:3] = [1e30, 3e7, 12345.678]
        check(
            f"func.func @main(%x: {array}, %y: {array}) -> ({types}) {{\n{lines}\n{more}\nfunc.return {values} : {types} }}",
            x.astype(NUMPY[type_]),
            numbers(type_, size, seed=2),
        )


def test_approximations() -> None:
    """The expansions of `math=fast`, with exact instructions in place of the chip's approximate ones."""
    array = "tensor<65xf32>"
    ops = ("exponential", "log", "sine", "cosine", "tan", "tanh", "rsqrt", "sqrt", "cbrt", "logistic")
    lines = "\n".join(f"%{i} = hlo.{op} %x : {array}" for i, op in enumerate(ops))
    count = len(ops) + 2
    values, types = ", ".join(f"%{i}" for i in range(count)), ", ".join([array] * count)
    text = f"""
    func.func @main(%x: {array}, %y: {array}) -> ({types}) {{
      {lines}
      %{count - 2} = hlo.power %x, %y : {array}
      %{count - 1} = hlo.divide %x, %y : {array}
      func.return {values} : {types}
    }}"""
    x = np.concatenate([np.linspace(0.05, 9, 60), [1000.0, 1e-3, np.inf, 0.0, 1.0]]).astype(np.float32)
    y = np.concatenate([np.linspace(-3, 3, 60), [0.5, -0.5, 2.0, -2.0, np.inf]]).astype(np.float32)
    want = Program(text).results(x, y)
    got = run_emulated(text, [x, y], math="fast")
    for op, actual, expected in zip((*ops, "power", "divide"), got, want, strict=True):
        np.testing.assert_allclose(actual, np.asarray(expected), rtol=1e-4, atol=3e-6, err_msg=op)


def test_modes_of_math_have_names() -> None:
    with pytest.raises(ValueError, match="no mode of math is named 'quick'; there are strict, default, fast"):
        xhlo.compile("func.func @main() { func.return }", math="quick")
    # A CPU has no approximate instructions.
    text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = hlo.exponential %x : tensor<3xf32> return %0 : tensor<3xf32> }"
    x = np.array([0.1, 1.0, 10.0], np.float32)
    np.testing.assert_array_equal(xhlo.compile(text, math="fast")(x), xhlo.compile(text)(x))


REDUCTIONS = {"minor": (9, 257, [1]), "major": (257, 37, [0]), "all": (7, 1031, [0, 1])}


@pytest.mark.long(6)
@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize(
    ("type_", "op"), [("f32", "add"), ("f32", "maximum"), ("f64", "add"), ("i8", "add"), ("bf16", "maximum")]
)
def test_reductions(type_: str, op: str, kind: str) -> None:
    rows, columns, dims = REDUCTIONS[kind]
    kept = [size for dim, size in enumerate((rows, columns)) if dim not in dims]
    result = "x".join([*map(str, kept), type_])
    start = {"add": "0", "maximum": "0xFF80" if type_ == "bf16" else "0xFF800000"}[op]
    start = start if type_.startswith("i") or op == "maximum" else "0.0"
    text = f"""
    func.func @main(%x: tensor<{rows}x{columns}x{type_}>) -> tensor<{result}> {{
      %z = hlo.constant dense<{start}> : tensor<{type_}>
      %0 = hlo.reduce(%x init: %z) applies hlo.{op} across dimensions = {dims} : (tensor<{rows}x{columns}x{type_}>, tensor<{type_}>) -> tensor<{result}>
      func.return %0 : tensor<{result}>
    }}"""
    x = numbers(type_, rows, columns)
    if op == "maximum":
        x[3, 5] = np.nan
    check(text, x)


PROGRAMS: dict[str, tuple[str, Sequence[np.ndarray]]] = {
    "transpose": (
        "func.func @main(%x: tensor<33x67xf32>) -> tensor<67x33xf32> {\n"
        "  %0 = hlo.transpose %x, dims = [1, 0] : (tensor<33x67xf32>) -> tensor<67x33xf32>\n"
        "  func.return %0 : tensor<67x33xf32>\n}",
        [numbers("f32", 33, 67)],
    ),
    "product": (
        "func.func @main(%x: tensor<33x65xf32>, %y: tensor<65x47xf32>) -> tensor<33x47xf32> {\n"
        "  %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<33x65xf32>, tensor<65x47xf32>)"
        " -> tensor<33x47xf32>\n"
        "  func.return %0 : tensor<33x47xf32>\n}",
        [numbers("f32", 33, 65), numbers("f32", 65, 47, seed=1)],
    ),
    "dynamic slice": (
        "func.func @main(%x: tensor<40x9xf32>, %i: tensor<i64>, %j: tensor<i32>) -> tensor<7x9xf32> {\n"
        "  %0 = hlo.convert %j : (tensor<i32>) -> tensor<i64>\n"
        "  %1 = hlo.dynamic_slice %x, %i, %0, sizes = [7, 9]"
        " : (tensor<40x9xf32>, tensor<i64>, tensor<i64>) -> tensor<7x9xf32>\n"
        "  func.return %1 : tensor<7x9xf32>\n}",
        # Beyond 32 bits: clamped, not truncated.
        [numbers("f32", 40, 9), np.asarray(2**32 + 1), np.asarray(-5, np.int32)],
    ),
    "pad": (
        "func.func @main(%x: tensor<5x7xf32>) -> tensor<12x19xf32> {\n"
        "  %z = hlo.constant dense<2.0> : tensor<f32>\n"
        "  %0 = hlo.pad %x, %z, low = [-1, 2], high = [5, 4], interior = [1, 1]"
        " : (tensor<5x7xf32>, tensor<f32>) -> tensor<13x19xf32>\n"
        "  %1 = hlo.slice %0 [1:13, 0:19] : (tensor<13x19xf32>) -> tensor<12x19xf32>\n"
        "  func.return %1 : tensor<12x19xf32>\n}",
        [numbers("f32", 5, 7)],
    ),
    "sort": (
        "func.func @main(%x: tensor<3x101xf32>) -> tensor<3x101xf32> {\n"
        '  %0 = "hlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({\n'
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %1 = hlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    hlo.return %1 : tensor<i1>\n"
        "  }) : (tensor<3x101xf32>) -> tensor<3x101xf32>\n"
        "  func.return %0 : tensor<3x101xf32>\n}",
        [numbers("f32", 3, 101)],
    ),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text, inputs = PROGRAMS[name]
    check(text, *inputs)


@pytest.mark.long(2)
@pytest.mark.parametrize("name", ["softmax", "layernorm"])
def test_row_kernels(name: str) -> None:
    text = (EXAMPLES / f"{name}.mlir").read_text()
    shapes = [[int(size) for size in found.split("x")] for found in re.findall(r"%arg\d+: tensor<([\dx]+)xf32>", text)]
    rows = shapes[0][0]
    # Few rows: each block is 256 threads of the process.
    inputs = [numbers("f32", *(3 if size == rows else size for size in shape)) for shape in shapes]
    check(text.replace(f"<{rows}x", "<3x"), *inputs)


def run_kernel(text: str, *arrays: np.ndarray, threads: int) -> None:
    ctx = make_context()
    module = parse_module(text, "kernel.mlir", ctx)
    run_passes(ctx, module, (*LOWER_NVVM, *LOWER_NVVM_TO_LLVM), verify=True)
    EmulatedKernels(module).launch("k", (1, 1, 1), (threads, 1, 1), arrays)


SHUFFLED = {
    "i1": (np.arange(64) % 3 == 0, "i1"),
    "i8": (np.arange(64).astype(np.int8), "i8"),
    "bf16": (np.arange(64).astype(ml_dtypes.bfloat16), "bf16"),
    "f16": (np.arange(64).astype(np.float16), "f16"),
    "i32": (np.arange(64).astype(np.int32), "i32"),
    "f32": (np.arange(64).astype(np.float32), "f32"),
    "i64": (np.arange(64) * 0x100000001, "i64"),
    "f64": (np.arange(64) * 1.1, "f64"),
}


def asked_lane(mode: str, lane: int, offset: int, width: int) -> tuple[int, bool]:
    first = lane // width * width
    other = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": first + offset % width}[mode]
    valid = other >= first if mode == "up" else other < first + width
    return (other if valid else lane), valid


SHUFFLES = [(m, *how) for m in ("xor", "up", "down", "idx") for how in ((1, 32), (5, 16), (3, 8))]


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", SHUFFLED)
def test_shuffles(type_: str) -> None:
    values, element = SHUFFLED[type_]
    count = len(SHUFFLES)
    lines = [f"%x = memref.load %in[%t] : memref<64x{element}>"]
    for n, (mode, offset, width) in enumerate(SHUFFLES):
        lines += [
            f"%n{n} = arith.constant {n} : index",
            f"%o{n} = arith.constant {offset} : i32",
            f"%w{n} = arith.constant {width} : i32",
            f"%y{n}, %v{n} = gpu.shuffle {mode} %x, %o{n}, %w{n} : {element}",
            f"memref.store %y{n}, %out[%n{n}, %t] : memref<{count}x64x{element}>",
            f"memref.store %v{n}, %flags[%n{n}, %t] : memref<{count}x64xi1>",
        ]
    parameters = f"%in: memref<64x{element}>, %out: memref<{count}x64x{element}>, %flags: memref<{count}x64xi1>"
    out, flags = np.zeros((count, 64), values.dtype), np.zeros((count, 64), bool)
    run_kernel(kernel_text("\n".join(lines), parameters, threads=64), values, out, flags, threads=64)
    for n, how in enumerate(SHUFFLES):
        lanes = [asked_lane(how[0], t % 32, *how[1:]) for t in range(64)]
        np.testing.assert_array_equal(out[n], [values[t // 32 * 32 + lane] for t, (lane, _) in enumerate(lanes)])
        np.testing.assert_array_equal(flags[n], [valid for _, valid in lanes])


@pytest.mark.parametrize("size", [64, 13000])
def test_shared_memory(size: int) -> None:
    """A reversal through shared memory: a static buffer, and one of more than 48 KB beside another."""
    shared = "memref<{}, #gpu.address_space<workgroup>>"
    first, second = shared.format("3xf64"), shared.format(f"{size}xf32")
    text = f"""
    gpu.module @kernels {{
      gpu.func @k(%in: memref<64xf32>, %out: memref<64xf32>) workgroup(%a: {first}, %b: {second}) kernel
          attributes {{known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
        %t = gpu.thread_id x
        %last = arith.constant 63 : index
        %zero = arith.constant 0 : index
        %d = arith.constant 7.0 : f64
        %x = memref.load %in[%t] : memref<64xf32>
        memref.store %d, %a[%zero] : {first}
        memref.store %x, %b[%t] : {second}
        gpu.barrier
        %other = arith.subi %last, %t : index
        %y = memref.load %b[%other] : {second}
        memref.store %y, %out[%t] : memref<64xf32>
        gpu.return
      }}
    }}"""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run_kernel(text, x, y, threads=64)
    np.testing.assert_array_equal(y, x[::-1])
