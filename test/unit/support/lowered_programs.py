"""Compile programs of the loops level through cf and llvm to machine code, and run them on NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.parser import Parser

from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_loops_to_cf import ConvertLoopsToCfPass
from xhlo.lowering.convert_to_llvm.conversion import ConvertToLlvmPass
from xhlo.targets.cpu import jit
from xhlo.targets.llvm_text.module import emit_llvm_ir

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
    """
    Run `body`, which defines %r of type `result` from %a, %b, .., over arrays, element by element or in vectors of 8.
    """
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
    """Assert equality bit for bit, except for the payload of NaNs."""
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
