"""Lowered programs compute what NumPy says: every operation that the conversion to llvm takes, run on this machine."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.parser import Parser

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_loops_to_cf import ConvertLoopsToCfPass
from xhlo.lowering.convert_to_llvm.conversion import ConvertToLlvmPass
from xhlo.targets.cpu import jit, openmp
from xhlo.targets.llvm_ir import emit_llvm_ir

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def llvm_text(text: str) -> str:
    """Lower a module of the level after outline-parallel-loops to LLVM IR."""
    ctx = make_context()
    module = Parser(ctx, text).parse_module()
    module.verify()
    for one in (ConvertLoopsToCfPass(), ConvertToLlvmPass()):
        one.apply(ctx, module)
        module.verify()
    return emit_llvm_ir(module)


def run(text: str, *arrays: np.ndarray) -> None:
    """Compile a module and run @main, through @xhlo_entry, on the arrays' memory."""
    loaded = jit.load(llvm_text(text))
    pointers = (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))
    jit.call(loaded, "xhlo_entry", np.frombuffer(pointers, np.uint8))


def elementwise(body: str, inputs: list[np.ndarray], types: list[str], result: str, vector: bool = False) -> np.ndarray:
    """Run `body`, which defines %r of type `result` from %a, %b, .., over arrays; in vectors of 8 when asked to."""
    count = len(inputs[0])
    names = "abc"[: len(inputs)]
    out = np.zeros(count, DTYPES[result])
    params = ", ".join(f"%m{n}: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    if vector:
        assert count % 8 == 0
        step = 8
        loads = "\n".join(
            f"%{n} = vector.load %m{n}[%i] : memref<{count}x{t}>, vector<8x{t}>"
            for n, t in zip(names, types, strict=True)
        )
        store = f"vector.store %r, %out[%i] : memref<{count}x{result}>, vector<8x{result}>"
    else:
        step = 1
        loads = "\n".join(
            f"%{n} = memref.load %m{n}[%i] : memref<{count}x{t}>" for n, t in zip(names, types, strict=True)
        )
        store = f"memref.store %r, %out[%i] : memref<{count}x{result}>"
    run(
        f"""
        func.func @main({params}, %out: memref<{count}x{result}>) {{
          %c0 = arith.constant 0 : index
          %step = arith.constant {step} : index
          %n = arith.constant {count} : index
          scf.for %i = %c0 to %n step %step {{
            {loads}
            {body}
            {store}
          }} {{xhlo.parallel}}
          func.return
        }}
        """,
        *inputs,
        out,
    )
    return out


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal bit for bit, but for the payload of NaNs."""
    assert got.dtype == expected.dtype
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    wide, other = got.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(wide, other)
    numbers = ~np.isnan(wide)
    np.testing.assert_array_equal(np.signbit(wide[numbers]), np.signbit(other[numbers]))


def integers(type_: str, seed: int = 0) -> np.ndarray:
    """Random integers and the extremes."""
    dtype = np.dtype(DTYPES[type_])
    if type_ == "i1":
        return np.array([0, 1, 0, 1, 1, 0, 1, 0] * 4, np.bool_)
    info = np.iinfo(dtype)
    edges = np.array([0, 1, -1, 2, -2, info.max, info.min, info.min + 1], dtype)
    rng = np.random.default_rng(seed)
    rest = rng.integers(info.min, info.max, 24, dtype=dtype, endpoint=True)
    return rng.permutation(np.concatenate([edges, rest]))


def floats(type_: str, seed: int = 0) -> np.ndarray:
    """Random floats, infinities, NaN, zeros of both signs and denormals."""
    dtype = np.dtype(DTYPES[type_])
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    largest = ml_dtypes.finfo(dtype).max
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2.5, -2.5, 1.5, -0.5], dtype)
    rng = np.random.default_rng(seed)
    rest = rng.normal(0, 10, 17).astype(dtype)
    return rng.permutation(np.concatenate([edges, np.array([tiny, -tiny, largest], dtype), rest]))


def unsigned(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


INTEGER_BINARY = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
}


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_binary(name: str, type_: str, vector: bool) -> None:
    a, b = integers(type_), integers(type_, 1)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], [type_, type_], type_, vector)
    same(got, INTEGER_BINARY[name](a, b))


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"])
def test_division(name: str, type_: str) -> None:
    a, b = integers(type_), integers(type_, 1)
    info = np.iinfo(a.dtype)
    b[b == 0] = 3
    b[(a == info.min) & (b == -1)] = 5
    got = elementwise(f"%r = arith.{name} %a, %b : {type_}", [a, b], [type_, type_], type_)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    mask = (1 << WIDTHS[type_]) - 1

    def exact(x: int, y: int) -> int:
        ux, uy = x & mask, y & mask
        sign = -1 if (x < 0) != (y < 0) else 1
        return {
            "divsi": sign * (abs(x) // abs(y)),
            "remsi": x - y * sign * (abs(x) // abs(y)),
            "floordivsi": x // y,
            "ceildivsi": -(-x // y),
            "divui": ux // uy,
            "remui": ux % uy,
            "ceildivui": -(-ux // uy),
        }[name]

    expected = np.array([exact(x, y) & mask for x, y in pairs], f"u{a.dtype.itemsize}").view(a.dtype)
    same(got, expected)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", ["shli", "shrui", "shrsi"])
def test_shift(name: str, vector: bool) -> None:
    a = integers("i32")
    b = (integers("i32", 1) & 31).astype(np.int32)
    shown = "vector<8xi32>" if vector else "i32"
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], ["i32", "i32"], "i32", vector)
    expected = {"shli": a << b, "shrsi": a >> b, "shrui": (a.view("u4") >> b.view("u4")).view("i4")}[name]
    same(got, expected)


def test_extended_results() -> None:
    a, b = integers("i32"), integers("i32", 1)
    got = elementwise("%low, %r = arith.mulsi_extended %a, %b : i32", [a, b], ["i32", "i32"], "i32")
    same(got, ((a.astype(np.int64) * b) >> 32).astype(np.int32))
    got = elementwise("%low, %r = arith.mului_extended %a, %b : i32", [a, b], ["i32", "i32"], "i32")
    same(got, ((a.view("u4").astype(np.uint64) * b.view("u4")) >> 32).astype("u4").view("i4"))
    got = elementwise("%sum, %r = arith.addui_extended %a, %b : i32, i1", [a, b], ["i32", "i32"], "i1")
    same(got, (a.view("u4").astype(np.uint64) + b.view("u4")) >> 32 != 0)


FLOAT_BINARY = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["bf16", "f16", "f32", "f64"])
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_binary(name: str, type_: str, vector: bool) -> None:
    a, b = floats(type_), floats(type_, 1)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = arith.{name} %a, %b : {shown}", [a, b], [type_, type_], type_, vector)
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](a, b).astype(a.dtype)
    zeros = (a == 0) & (b == 0)
    if name in ("maximumf", "minimumf"):
        # IEEE 754-2019: -0 is less than +0; NumPy returns either.
        signs = np.signbit(a) & np.signbit(b) if name == "maximumf" else np.signbit(a) | np.signbit(b)
        expected = np.where(zeros, np.where(signs, -0.0, 0.0).astype(a.dtype), expected)
    elif name in ("maxnumf", "minnumf"):
        got, expected = np.where(zeros, a, got), np.where(zeros, a, expected)
    same(got, expected)


def test_negation_and_remainder() -> None:
    a, b = floats("f32"), floats("f32", 1)
    same(elementwise("%r = arith.negf %a : f32", [a], ["f32"], "f32"), -a)
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    text = '%r = "arith.remf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32'
    same(elementwise(text, [a, b], ["f32", "f32"], "f32"), expected)


INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("predicate", INTEGER_PREDICATES)
def test_compare_integers(predicate: str) -> None:
    a, b = integers("i32"), integers("i32", 1)
    b[::3] = a[::3]
    got = elementwise(f"%r = arith.cmpi {predicate}, %a, %b : i32", [a, b], ["i32", "i32"], "i1")
    operands = (a, b) if predicate[0] != "u" else (unsigned(a), unsigned(b))
    same(got, COMPARE[predicate[-2:]](*operands))


@pytest.mark.parametrize(
    "predicate",
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split(),
)
def test_compare_floats(predicate: str) -> None:
    a, b = floats("f32"), floats("f32", 1)
    b[::3] = a[::3]
    got = elementwise(f"%r = arith.cmpf {predicate}, %a, %b : f32", [a, b], ["f32", "f32"], "i1")
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("true", "false", "ord", "uno"):
        expected = {
            "true": np.ones_like(unordered),
            "false": np.zeros_like(unordered),
            "ord": ~unordered,
            "uno": unordered,
        }[predicate]
    else:
        holds = COMPARE[predicate[1:]](a, b)
        expected = holds | unordered if predicate[0] == "u" else holds & ~unordered
    same(got, expected)


def test_select() -> None:
    c, a, b = integers("i1"), floats("f32"), floats("f32", 1)
    got = elementwise("%r = arith.select %a, %b, %c : f32", [c, a, b], ["i1", "f32", "f32"], "f32")
    same(got, np.where(c, a, b))


CASTS = [
    ("extsi", "i8", "i32"),
    ("extui", "i8", "i32"),
    ("extui", "i1", "i32"),
    ("extsi", "i1", "i64"),
    ("trunci", "i64", "i8"),
    ("trunci", "i32", "i1"),
    ("sitofp", "i32", "f32"),
    ("sitofp", "i64", "f64"),
    ("sitofp", "i8", "f16"),
    ("uitofp", "i32", "f32"),
    ("uitofp", "i64", "f64"),
    ("uitofp", "i1", "f32"),
    ("extf", "f32", "f64"),
    ("extf", "f16", "f32"),
    ("extf", "bf16", "f32"),
    ("truncf", "f64", "f32"),
    ("truncf", "f32", "f16"),
    ("truncf", "f32", "bf16"),
    ("bitcast", "f32", "i32"),
    ("bitcast", "i64", "f64"),
    ("bitcast", "bf16", "i16"),
]


@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_cast(name: str, source: str, target: str) -> None:
    a = integers(source) if source[0] == "i" else floats(source)
    got = elementwise(f"%r = arith.{name} %a : {source} to {target}", [a], [source], target)
    dtype = np.dtype(DTYPES[target])
    with np.errstate(all="ignore"):
        if name == "bitcast":
            expected = a.view(dtype)
        elif name in ("extui", "uitofp"):
            expected = unsigned(a).astype(dtype) if source != "i1" else a.astype(dtype)
        elif source == "i1":
            expected = -a.astype(dtype)
        elif target == "i1":
            expected = (a & 1).astype(np.bool_)
        else:
            expected = a.astype(dtype)
    same(got, expected)


@pytest.mark.parametrize(("name", "target"), [("fptosi", "i32"), ("fptosi", "i8"), ("fptoui", "i32")])
def test_float_to_integer(name: str, target: str) -> None:
    a = np.array([0.0, 0.9, 1.5, 100.99, -0.5, 3.0, 77.7, 1.0], np.float32)
    got = elementwise(f"%r = arith.{name} %a : f32 to {target}", [a], ["f32"], target)
    same(got, np.trunc(a).astype(DTYPES[target]))


def test_denormals_survive_conversion_to_bfloat() -> None:
    a = np.array([1e-40, -3e-39, 9.2e-41, 4.6e-41, 4.5e-41, 1e-38, 1.0, -0.0], np.float32)
    got = elementwise("%r = arith.truncf %a : f32 to bf16", [a], ["f32"], "bf16")
    np.testing.assert_array_equal(got.view("u2"), a.astype(ml_dtypes.bfloat16).view("u2"))


def test_index_cast() -> None:
    a = integers("i32")
    text = """%x = arith.index_cast %a : i32 to index
              %y = arith.addi %x, %x : index
              %r = arith.index_cast %y : index to i64"""
    same(elementwise(text, [a], ["i32"], "i64"), a.astype(np.int64) * 2)


def test_product_and_sum_are_not_fused() -> None:
    """No contraction without the flag; with it, the machine's fused multiply-add."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=64).astype(np.float32) for _ in range(3))
    types = ["f32"] * 3
    text = "%p = arith.mulf %a, %b : f32\n%r = arith.addf %p, %c : f32"
    same(elementwise(text, [a, b, c], types, "f32"), a * b + c)
    fused = (a.astype(np.float64) * b + c).astype(np.float32)
    same(elementwise("%r = math.fma %a, %b, %c : f32", [a, b, c], types, "f32"), fused)


MATH_UNARY = {
    "sqrt": np.sqrt,
    "absf": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a),
}


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("type_", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("name", MATH_UNARY)
def test_math_intrinsic(name: str, type_: str, vector: bool) -> None:
    a = floats(type_)
    shown = f"vector<8x{type_}>" if vector else type_
    got = elementwise(f"%r = math.{name} %a : {shown}", [a], [type_], type_, vector)
    with np.errstate(all="ignore"):
        expected = MATH_UNARY[name](a.astype(np.float64) if type_ != "f64" else a).astype(a.dtype)
    same(got, expected)


def test_copysign_and_rsqrt() -> None:
    a, b = floats("f32"), floats("f32", 1)
    same(elementwise("%r = math.copysign %a, %b : f32", [a, b], ["f32", "f32"], "f32"), np.copysign(a, b))
    with np.errstate(all="ignore"):
        expected = (np.float32(1) / np.sqrt(a)).astype(np.float32)
    same(elementwise("%r = math.rsqrt %a : f32", [a], ["f32"], "f32"), expected)


def test_math_integers() -> None:
    a = integers("i32")
    bits = [f"{value & 0xFFFFFFFF:032b}" for value in a.tolist()]
    expected = {
        "ctpop": [text.count("1") for text in bits],
        "ctlz": [len(text) - len(text.lstrip("0")) for text in bits],
        "cttz": [len(text) - len(text.rstrip("0")) for text in bits],
    }
    for name, counts in expected.items():
        got = elementwise(f"%r = math.{name} %a : i32", [a], ["i32"], "i32")
        same(got, np.array(counts, np.int32))
    same(elementwise("%r = math.absi %a : i32", [a], ["i32"], "i32"), np.abs(a))


LIBRARY = "acos acosh asin asinh atan atanh cbrt cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh".split()
NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
}  # fmt: skip


@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", LIBRARY)
def test_math_library(name: str, type_: str) -> None:
    a = np.linspace(-2.5, 2.5, 32).astype(DTYPES[type_])
    got = elementwise(f"%r = math.{name} %a : {type_}", [a], [type_], type_)
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY_NAMES.get(name, name))(a.astype(np.float64))
    tolerance = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-14}[type_]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def test_math_library_of_two_operands_and_vectors() -> None:
    a, b = np.linspace(0.1, 3, 16), np.linspace(-2, 2, 16)
    got = elementwise("%r = math.atan2 %a, %b : f64", [a, b], ["f64", "f64"], "f64")
    np.testing.assert_allclose(got, np.arctan2(a, b), rtol=1e-14)
    got = elementwise("%r = math.powf %a, %b : vector<8xf64>", [a, b], ["f64", "f64"], "f64", vector=True)
    np.testing.assert_allclose(got, np.power(a, b), rtol=1e-14)


# memref


def test_memref_of_bits() -> None:
    a = integers("i1")
    same(elementwise("%t = arith.constant true\n%r = arith.xori %a, %t : i1", [a], ["i1"], "i1"), ~a)
    text = "%t = arith.constant dense<true> : vector<8xi1>\n%r = arith.xori %a, %t : vector<8xi1>"
    same(elementwise(text, [a], ["i1"], "i1", vector=True), ~a)


def test_views_and_globals() -> None:
    """Subview with a dynamic offset, view of bytes, reinterpretation, reshapes, a global, and the stack."""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    arena, out = np.zeros(256, np.uint8), np.zeros((3, 2), np.float32)
    run(
        """
        "memref.global"() <{sym_name = "table", sym_visibility = "private", constant, type = memref<6xf32>,
          initial_value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>}> : () -> ()
        func.func @main(%x: memref<4x6xf32>, %arena: memref<256xi8>, %out: memref<3x2xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %c3 = arith.constant 3 : index
          %c64 = arith.constant 64 : index
          %part = memref.subview %x[%c1, %c2] [3, 2] [1, 1]
            : memref<4x6xf32> to memref<3x2xf32, strided<[6, 1], offset: ?>>
          %temp = memref.view %arena[%c64][] : memref<256xi8> to memref<3x2xf32>
          %flat = memref.collapse_shape %temp [[0, 1]] : memref<3x2xf32> into memref<6xf32>
          %back = memref.reinterpret_cast %flat to offset: [0], sizes: [3, 2], strides: [2, 1]
            : memref<6xf32> to memref<3x2xf32>
          %table = memref.get_global @table : memref<6xf32>
          %square = memref.expand_shape %table [[0, 1]] output_shape [3, 2] : memref<6xf32> into memref<3x2xf32>
          "memref.copy"(%part, %temp) : (memref<3x2xf32, strided<[6, 1], offset: ?>>, memref<3x2xf32>) -> ()
          scf.for %i = %c0 to %c3 step %c1 {
            %slot = memref.alloca() : memref<2xf32>
            scf.for %j = %c0 to %c2 step %c1 {
              %a = memref.load %back[%i, %j] : memref<3x2xf32>
              memref.store %a, %slot[%j] : memref<2xf32>
            }
            scf.for %j = %c0 to %c2 step %c1 {
              %a = memref.load %slot[%j] : memref<2xf32>
              %b = memref.load %square[%i, %j] : memref<3x2xf32>
              %c = arith.addf %a, %b : f32
              memref.store %c, %out[%i, %j] : memref<3x2xf32>
            }
          }
          func.return
        }
        """,
        x,
        arena,
        out,
    )
    np.testing.assert_array_equal(out, x[1:, 2:4] + np.arange(1, 7, dtype=np.float32).reshape(3, 2))


def test_copies() -> None:
    """Contiguous, with contiguous rows, and element by element."""
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    whole, rows, columns = np.zeros((4, 6), np.int32), np.zeros((2, 3), np.int32), np.zeros((4, 1), np.int32)
    run(
        """
        func.func @main(%x: memref<4x6xi32>, %whole: memref<4x6xi32>, %rows: memref<2x3xi32>, %cols: memref<4x1xi32>) {
          "memref.copy"(%x, %whole) : (memref<4x6xi32>, memref<4x6xi32>) -> ()
          %r = memref.subview %x[1, 2] [2, 3] [1, 1] : memref<4x6xi32> to memref<2x3xi32, strided<[6, 1], offset: 8>>
          "memref.copy"(%r, %rows) : (memref<2x3xi32, strided<[6, 1], offset: 8>>, memref<2x3xi32>) -> ()
          %c = memref.subview %x[0, 5] [4, 1] [1, 1] : memref<4x6xi32> to memref<4x1xi32, strided<[6, 1], offset: 5>>
          "memref.copy"(%c, %cols) : (memref<4x1xi32, strided<[6, 1], offset: 5>>, memref<4x1xi32>) -> ()
          func.return
        }
        """,
        x,
        whole,
        rows,
        columns,
    )
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(rows, x[1:3, 2:5])
    np.testing.assert_array_equal(columns, x[:, 5:])


def test_private_stack_slot_in_a_parallel_loop() -> None:
    """Iterations that share nothing but a slot made anew in each must not be taken apart by the vectorizer."""
    x = np.arange(64, dtype=np.float32)
    text = """
      %c0_ = arith.constant 0 : index
      %slot = memref.alloca() : memref<2xf32>
      memref.store %a, %slot[%c0_] : memref<2xf32>
      %b = memref.load %slot[%c0_] : memref<2xf32>
      %r = arith.addf %b, %b : f32"""
    same(elementwise(text, [x], ["f32"], "f32"), x + x)


# vector


def test_vector_broadcast_insert_extract_shuffle() -> None:
    a = np.arange(16, dtype=np.float32)
    text = """
      %lane = arith.constant 2 : index
      %e = vector.extract %a[3] : f32 from vector<8xf32>
      %d = vector.extract %a[%lane] : f32 from vector<8xf32>
      %s = arith.addf %e, %d : f32
      %bc = vector.broadcast %s : f32 to vector<8xf32>
      %in = vector.insert %e, %bc [0] : f32 into vector<8xf32>
      %r = vector.shuffle %in, %a [0, 1, 15, 14, 13, 12, 11, 10] : vector<8xf32>, vector<8xf32>"""
    got = elementwise(text, [a], ["f32"], "f32", vector=True)
    rows = a.reshape(2, 8)
    total = rows[:, 3] + rows[:, 2]
    expected = np.stack([rows[:, 3], total, *(rows[:, lane] for lane in (7, 6, 5, 4, 3, 2))], axis=1)
    same(got, expected.reshape(-1))


def test_vector_fma_and_bitcast() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=16).astype(np.float32) for _ in range(3))
    types = ["f32"] * 3
    got = elementwise("%r = vector.fma %a, %b, %c : vector<8xf32>", [a, b, c], types, "f32", vector=True)
    same(got, (a.astype(np.float64) * b + c).astype(np.float32))
    got = elementwise("%r = vector.bitcast %a : vector<8xf32> to vector<8xi32>", [a], ["f32"], "i32", vector=True)
    same(got, a.view(np.int32))


REDUCTIONS = {
    ("add", "f32"): np.add.reduce,
    ("mul", "f32"): np.multiply.reduce,
    ("maximumf", "f32"): np.maximum.reduce,
    ("minimumf", "f32"): np.minimum.reduce,
    ("maxnumf", "f32"): np.fmax.reduce,
    ("minnumf", "f32"): np.fmin.reduce,
    ("add", "i32"): np.add.reduce,
    ("mul", "i32"): np.multiply.reduce,
    ("maxsi", "i32"): np.maximum.reduce,
    ("minsi", "i32"): np.minimum.reduce,
    ("and", "i32"): np.bitwise_and.reduce,
    ("or", "i32"): np.bitwise_or.reduce,
    ("xor", "i32"): np.bitwise_xor.reduce,
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(("kind", "type_"), REDUCTIONS)
def test_vector_reduction(kind: str, type_: str, accumulate: bool) -> None:
    a = np.array([3, -1, 2, 5, -7, 4, 1, 6] * 2, DTYPES[type_])
    value = "%acc = arith.constant 2" + (".0 : f32" if type_ == "f32" else " : i32")
    operands = "%a, %acc" if accumulate else "%a"
    text = f"""{value}
      %x = vector.reduction <{kind}>, {operands} : vector<8x{type_}> into {type_}
      %r = vector.broadcast %x : {type_} to vector<8x{type_}>"""
    got = elementwise(text, [a], [type_], type_, vector=True)
    rows = a.reshape(2, 8)
    if accumulate:
        rows = np.concatenate([np.full((2, 1), 2, a.dtype), rows], axis=1)
    same(got, np.repeat(REDUCTIONS[kind, type_](rows, axis=1).astype(a.dtype), 8))


@pytest.mark.parametrize("count", [0, 1, 5, 8, 9])
@pytest.mark.parametrize("type_", ["f32", "i8"])
def test_masked_access(type_: str, count: int) -> None:
    x, out = np.arange(1, 9).astype(DTYPES[type_]), np.full(8, 100, DTYPES[type_])
    zero = "0.0" if type_ == "f32" else "0"
    run(
        f"""
        func.func @main(%x: memref<8x{type_}>, %out: memref<8x{type_}>) {{
          %c0 = arith.constant 0 : index
          %n = arith.constant {count} : index
          %n5 = arith.constant 5 : index
          %zero = arith.constant dense<{zero}> : vector<8x{type_}>
          %mask = vector.create_mask %n : vector<8xi1>
          %all = vector.create_mask %n5 : vector<8xi1>
          %v = vector.maskedload %x[%c0], %mask, %zero
            : memref<8x{type_}>, vector<8xi1>, vector<8x{type_}> into vector<8x{type_}>
          vector.maskedstore %out[%c0], %all, %v : memref<8x{type_}>, vector<8xi1>, vector<8x{type_}>
          func.return
        }}
        """,
        x,
        out,
    )
    read = np.where(np.arange(8) < count, x, 0)
    np.testing.assert_array_equal(out, np.where(np.arange(8) < 5, read, 100))


# control flow


def test_while_if_and_switch() -> None:
    """Collatz steps of each number, then a function of the count by cases."""
    x, out = np.arange(1, 33, dtype=np.int64), np.zeros(32, np.int64)
    run(
        """
        func.func @main(%x: memref<32xi64>, %out: memref<32xi64>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = arith.constant 32 : index
          %zero = arith.constant 0 : i64
          %one = arith.constant 1 : i64
          %two = arith.constant 2 : i64
          %three = arith.constant 3 : i64
          scf.for %i = %c0 to %n step %c1 {
            %start = memref.load %x[%i] : memref<32xi64>
            %end, %steps = scf.while (%v = %start, %s = %zero) : (i64, i64) -> (i64, i64) {
              %more = arith.cmpi ne, %v, %one : i64
              scf.condition(%more) %v, %s : i64, i64
            } do {
            ^bb0(%v: i64, %s: i64):
              %bit = arith.andi %v, %one : i64
              %odd = arith.cmpi eq, %bit, %one : i64
              %next = scf.if %odd -> (i64) {
                %t = arith.muli %v, %three : i64
                %u = arith.addi %t, %one : i64
                scf.yield %u : i64
              } else {
                %h = arith.divsi %v, %two : i64
                scf.yield %h : i64
              }
              %s1 = arith.addi %s, %one : i64
              scf.yield %next, %s1 : i64, i64
            }
            %index = arith.index_cast %steps : i64 to index
            %r = scf.index_switch %index -> i64
            case 0 {
              scf.yield %three : i64
            }
            case 1 {
              scf.yield %two : i64
            }
            default {
              scf.yield %steps : i64
            }
            memref.store %r, %out[%i] : memref<32xi64>
          }
          func.return
        }
        """,
        x,
        out,
    )

    def steps(value: int) -> int:
        count = 0
        while value != 1:
            value, count = (3 * value + 1 if value & 1 else value // 2), count + 1
        return {0: 3, 1: 2}.get(count, count)

    np.testing.assert_array_equal(out, [steps(value) for value in x.tolist()])


def test_serial_parallel_loop_with_reduction() -> None:
    x, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros(2, np.float32)
    run(
        """
        func.func @main(%x: memref<3x4xf32>, %out: memref<2xf32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c3 = arith.constant 3 : index
          %c4 = arith.constant 4 : index
          %zero = arith.constant 0.0 : f32
          %sum, %max = "scf.parallel"(%c0, %c0, %c3, %c4, %c1, %c1, %zero, %zero)
            <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
          ^bb0(%i: index, %j: index):
            %v = memref.load %x[%i, %j] : memref<3x4xf32>
            scf.reduce(%v, %v : f32, f32) {
            ^bb1(%a: f32, %b: f32):
              %s = arith.addf %a, %b : f32
              scf.reduce.return %s : f32
            } {
            ^bb2(%a: f32, %b: f32):
              %m = arith.maximumf %a, %b : f32
              scf.reduce.return %m : f32
            }
          }) : (index, index, index, index, index, index, f32, f32) -> (f32, f32)
          memref.store %sum, %out[%c0] : memref<2xf32>
          memref.store %max, %out[%c1] : memref<2xf32>
          func.return
        }
        """,
        x,
        out,
    )
    np.testing.assert_array_equal(out, [x.sum(), x.max()])


def test_a_block_reached_twice_by_one_branch() -> None:
    x, out = np.array([5, -5], np.int32), np.zeros(2, np.int32)
    run(
        """
        func.func @main(%x: memref<2xi32>, %out: memref<2xi32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %zero = arith.constant 0 : i32
          %a = memref.load %x[%c0] : memref<2xi32>
          %b = memref.load %x[%c1] : memref<2xi32>
          %p = arith.cmpi sgt, %a, %zero : i32
          %q = arith.cmpi sgt, %b, %zero : i32
          cf.cond_br %p, ^one(%a, %zero : i32, i32), ^one(%zero, %b : i32, i32)
        ^one(%c: i32, %d: i32):
          cf.cond_br %q, ^two(%c : i32), ^two(%d : i32)
        ^two(%e: i32):
          memref.store %c, %out[%c0] : memref<2xi32>
          memref.store %e, %out[%c1] : memref<2xi32>
          func.return
        }
        """,
        x,
        out,
    )
    np.testing.assert_array_equal(out, [5, 0])


def test_functions_with_results() -> None:
    a = floats("f32")
    function = """
      func.func private @both(%v: f32) -> (f32, f32) attributes {xhlo.inline} {
        %n = arith.negf %v : f32
        func.return %v, %n : f32, f32
      }"""
    text = llvm_text(
        function
        + """
      func.func @main(%x: memref<32xf32>, %out: memref<32xf32>) {
        %c0 = arith.constant 0 : index
        %v = memref.load %x[%c0] : memref<32xf32>
        %p, %n = func.call @both(%v) : (f32) -> (f32, f32)
        memref.store %n, %out[%c0] : memref<32xf32>
        func.return
      }"""
    )
    out = np.zeros(32, np.float32)
    pointers = (ctypes.c_void_p * 2)(a.ctypes.data, out.ctypes.data)
    jit.call(jit.load(text), "xhlo_entry", np.frombuffer(pointers, np.uint8))
    same(out[:1], -a[:1])


# threads

PARALLEL = """
  func.func private @kernel(%x: memref<1000xf32>, %out: memref<1000xf32>) attributes {hlo.kernel = "loop"} {
    cpu.parallel_for @body(%x, %out : memref<1000xf32>, memref<1000xf32>) {count = COUNT : i64}
    func.return
  }
  func.func private @body(%x: memref<1000xf32>, %out: memref<1000xf32>, %lo: index, %hi: index)
      attributes {xhlo.parallel_body} {
    %c1 = arith.constant 1 : index
    scf.for %i = %lo to %hi step %c1 {
      %a = memref.load %x[%i] : memref<1000xf32>
      %b = memref.load %out[%i] : memref<1000xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %out[%i] : memref<1000xf32>
    } {xhlo.parallel}
    func.return
  }
  func.func @main(%x: memref<1000xf32>, %out: memref<1000xf32>) {
    func.call @kernel(%x, %out) : (memref<1000xf32>, memref<1000xf32>) -> ()
    func.return
  }"""


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 1000])
def test_parallel_for_covers_the_range_once(count: int, threads: int) -> None:
    before = openmp.thread_count()
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    try:
        openmp.set_thread_count(threads)
        run(PARALLEL.replace("COUNT", str(count)), x, out)
    finally:
        openmp.set_thread_count(before)
    np.testing.assert_array_equal(out, np.where(np.arange(1000) < count, x, 0))


@pytest.mark.parametrize("kind", ["kmpc", "gomp", "serial"])
def test_the_wrapper_of_each_runtime_compiles(kind: openmp.Kind) -> None:
    assert jit.compile_to_object(openmp.parallel_for_ir(kind))


def test_thread_count_follows_the_environment() -> None:
    code = "from xhlo.targets.cpu import openmp; print(openmp.runtime().kind, openmp.thread_count())"
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    kind, count = shown.stdout.split()
    assert (kind, count) in {("kmpc", "3"), ("gomp", "3"), ("serial", "1")}
    with pytest.raises(ValueError, match="at least 1"):
        openmp.set_thread_count(0)


def test_a_process_without_runtime_warns_and_runs() -> None:
    """Where no library is found, the loop runs on the caller."""
    code = f"""
import warnings, numpy as np, importlib.util, sys
from xhlo.targets.cpu import openmp
openmp._candidates = lambda: iter(())
spec = importlib.util.spec_from_file_location("t", {__file__!r})
t = importlib.util.module_from_spec(spec)
sys.modules["t"] = t
spec.loader.exec_module(t)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    t.run(t.PARALLEL.replace("COUNT", "1000"), x, out)
assert (out == x).all()
print(sum("OpenMP" in str(w.message) for w in caught), openmp.thread_count())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["1", "1"]


def test_compiling_from_several_threads() -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            a, b = floats("f32", seed), floats("f32", seed + 100)
            with np.errstate(all="ignore"):
                same(elementwise("%r = arith.addf %a, %b : f32", [a, b], ["f32", "f32"], "f32"), a + b)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# the compiler's own interface


def test_assembly_is_vectorized_and_timed() -> None:
    timings: jit.Timings = {}
    text = llvm_text(PARALLEL.replace("COUNT", "1000"))
    assembly = jit.compile_to_assembly(text, timings)
    assert set(timings) == {"parse", "optimize", "codegen"}
    if "+avx512f" in jit.host_features():
        assert "%zmm" in assembly


def test_object_code_loads_without_text() -> None:
    code = jit.compile_to_object(llvm_text(PARALLEL.replace("COUNT", "8")))
    x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
    jit.call(jit.load(code), "xhlo_entry", np.frombuffer(pointers, np.uint8))
    assert out.sum() == 8


def test_the_runtime_has_a_clock() -> None:
    out = np.zeros(2, np.int64)
    run(
        """
        func.func private @xhlo_clock() -> i64
        func.func @main(%out: memref<2xi64>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %a = func.call @xhlo_clock() : () -> i64
          %b = func.call @xhlo_clock() : () -> i64
          memref.store %a, %out[%c0] : memref<2xi64>
          memref.store %b, %out[%c1] : memref<2xi64>
          func.return
        }
        """,
        out,
    )
    assert 0 < out[0] <= out[1] < out[0] + 10**9


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%a = memref.alloc() : memref<4xf32>", "run plan-buffers"),
        ("%a = memref.alloca(%n) : memref<?xf32>", "dynamic shape"),
        ('%a = "test.op"() : () -> i32', "no lowering"),
    ],
)
def test_what_has_no_lowering_is_refused_by_name(line: str, message: str) -> None:
    ctx = make_context(allow_unregistered=True)
    text = f"func.func @main() {{\n%n = arith.constant 3 : index\n{line}\nfunc.return }}"
    module = Parser(ctx, text).parse_module()
    with pytest.raises(DiagnosticError, match=message):
        ConvertToLlvmPass().apply(ctx, module)


def test_missing_symbols_and_bad_text_are_errors() -> None:
    with pytest.raises(RuntimeError):
        jit.load("define void @f() { ret i32 0 }", ["f"])
    with pytest.raises(RuntimeError):
        jit.load("define void @f() { ret void }", ["g"])
