"""The LLVM IR writer: LLVM reads what it writes, constants are exact, and the text depends on the module alone."""

from __future__ import annotations

import ctypes
import io
import os
import struct
import subprocess
import sys
from collections.abc import Mapping

import llvmlite.binding as llvmlite
import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from own_process import importing
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_loops_to_cf import ConvertLoopsToCfPass
from xhlo.lowering.convert_to_llvm.conversion import ConvertToLlvmPass
from xhlo.targets.cpu import host, jit
from xhlo.targets.llvm_text.literals import float_literal, symbol
from xhlo.targets.llvm_text.module import emit_llvm_ir, emit_units

PROGRAM = """
  "memref.global"() <{sym_name = "table", sym_visibility = "private", constant, type = memref<4xf32>,
    initial_value = dense<[1.0, -0.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>}> : () -> ()
  func.func private @kernel(%x: memref<4x8xf32>, %out: memref<4x8xf32>) attributes {hlo.kernel = "loop"} {
    cpu.parallel_for @body(%x, %out : memref<4x8xf32>, memref<4x8xf32>) {count = 4 : i64}
    func.return
  }
  func.func private @square(%a: f32) -> f32 attributes {xhlo.inline} {
    %r = arith.mulf %a, %a fastmath<contract> : f32
    func.return %r : f32
  }
  func.func private @body(%x: memref<4x8xf32>, %out: memref<4x8xf32>, %i: index, %slot: index)
      attributes {xhlo.parallel_body} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %table = memref.get_global @table : memref<4xf32>
    %t = memref.load %table[%i] : memref<4xf32>
    scf.for %j = %c0 to %c8 step %c1 {
      %a = memref.load %x[%i, %j] : memref<4x8xf32>
      %s = func.call @square(%a) : (f32) -> f32
      %m = arith.maximumf %s, %t fastmath<nsz> : f32
      %p = arith.cmpf ogt, %m, %a : f32
      %r = arith.select %p, %m, %a : f32
      memref.store %r, %out[%i, %j] : memref<4x8xf32>
    } {xhlo.parallel, xhlo.vectorize = true, xhlo.unroll = 2 : i64}
    %v = vector.load %x[%i, %c0] : memref<4x8xf32>, vector<8xf32>
    %w = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -0.0]> : vector<8xf32>
    %z = arith.addf %v, %w : vector<8xf32>
    vector.store %z, %out[%i, %c0] : memref<4x8xf32>, vector<8xf32>
    func.return
  }
  func.func @main(%x: memref<4x8xf32>, %out: memref<4x8xf32>) {
    func.call @kernel(%x, %out) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
    func.return
  }"""


def lowered(text: str) -> ModuleOp:
    ctx = make_context()
    module = Parser(ctx, text).parse_module()
    for one in (ConvertLoopsToCfPass(), ConvertToLlvmPass()):
        one.apply(ctx, module)
    module.verify()
    return module


def llvm_module(text: str) -> ModuleOp:
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def accepted(text: str) -> str:
    """The text as LLVM parses and prints it."""
    module = llvmlite.parse_assembly(text)
    module.verify()
    return str(module)


def test_llvm_takes_the_text_with_and_without_a_target() -> None:
    module = lowered(PROGRAM)
    plain = emit_llvm_ir(module)
    assert "target-cpu" not in plain and "target triple" not in plain
    accepted(plain)
    aimed = emit_llvm_ir(module, triple=host.host_triple(), cpu=host.host_cpu(), features=host.host_features())
    assert f'target triple = "{host.host_triple()}"' in aimed
    assert f'"target-cpu"="{host.host_cpu()}"' in aimed
    accepted(aimed)


def test_facts_reach_llvm() -> None:
    text = accepted(emit_llvm_ir(lowered(PROGRAM)))
    assert "define internal void @kernel(ptr noalias %v0, ptr noalias %v1)" in text
    assert "alwaysinline" in text and "noinline" in text
    assert "fmul contract float" in text
    assert "call nsz float @llvm.maximum.f32" in text
    for fact in (
        "llvm.loop.parallel_accesses",
        '"llvm.loop.vectorize.enable", i1 true',
        '"llvm.loop.unroll.count", i32 2',
    ):
        assert fact in text
    assert "!llvm.access.group" in text
    never = PROGRAM.replace("xhlo.vectorize = true", "xhlo.vectorize = false")
    assert '"llvm.loop.vectorize.enable", i1 false' in accepted(emit_llvm_ir(lowered(never)))


def test_llvm_unrolls_the_marked_loops_and_no_others() -> None:
    """A loop of five calls: five of them, or one."""

    def calls(mark: str) -> int:
        text = emit_llvm_ir(
            lowered(f"""
  func.func private @seen(%i: index)
  func.func @main(%x: memref<1xf32>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    scf.for %i = %c0 to %c5 step %c1 {{
      func.call @seen(%i) : (index) -> ()
    }} {{xhlo.unroll = {mark} : i64}}
    func.return
  }}""")
        )
        return jit.optimize(text).count("call void @seen(")

    assert calls("0") == 5
    assert calls("1") == 1


def test_the_printed_module_means_the_same() -> None:
    """Writing the module, or the module read back from its text, gives the same bytes."""
    module = lowered(PROGRAM)
    stream = io.StringIO()
    Printer(stream=stream).print_op(module)
    again = llvm_module(stream.getvalue())
    assert emit_llvm_ir(again) == emit_llvm_ir(module)


@pytest.mark.long
def test_the_text_does_not_depend_on_hash_seeds() -> None:
    code = "import sys, test_llvm_ir as t; sys.stdout.write(t.emit_llvm_ir(t.lowered(t.PROGRAM)))"
    ours = emit_llvm_ir(lowered(PROGRAM))  # whose seed is random
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, **importing(__file__)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "12345")
    }
    assert texts == {ours}


FLOAT_TYPES = [
    (Float16Type(), np.float16, "half"),
    (BFloat16Type(), ml_dtypes.bfloat16, "bfloat"),
    (Float32Type(), np.float32, "float"),
    (Float64Type(), np.float64, "double"),
]


@pytest.mark.parametrize(("type_", "dtype", "name"), FLOAT_TYPES, ids=[name for _, _, name in FLOAT_TYPES])
def test_float_literals_are_exact(type_: object, dtype: type, name: str) -> None:
    """Each literal comes back bit for bit through LLVM: every special value, NaN payloads and random bits."""
    size = np.dtype(dtype).itemsize
    values = np.array([0.0, -0.0, 1.0, -1.5, 0.1, np.inf, -np.inf, np.nan], dtype)
    random = np.random.default_rng(0).integers(0, 256, 64 * size, dtype=np.uint8).view(dtype)
    tiny = ml_dtypes.finfo(dtype)
    edges = np.array([tiny.smallest_subnormal, -tiny.smallest_subnormal, tiny.max, tiny.tiny], dtype)
    data = np.concatenate([values, random, edges])
    items = ", ".join(f"{name} {float_literal(item.tobytes(), type_)}" for item in data)
    text = f"@data = constant [{len(data)} x {name}] [{items}]\n"
    got = _bytes_of_global(text, len(data) * size)
    np.testing.assert_array_equal(np.frombuffer(got, f"u{size}"), data.view(f"u{size}"))


def _bytes_of_global(text: str, size: int) -> bytes:
    address = jit.load(text, ["data"])
    return ctypes.string_at(address.address("data"), size)


def test_globals_hold_their_bytes() -> None:
    data = np.arange(256, dtype=np.uint8).tobytes()
    numbers = ", ".join(str(value) for value in np.frombuffer(data, np.int8))
    module = llvm_module(
        f"llvm.mlir.global external constant @data(dense<[{numbers}]> : tensor<256xi8>)"
        "{addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<256 x i8>"
    )
    text = emit_llvm_ir(module)
    assert text.count("\n") <= 4
    assert _bytes_of_global(text, 256) == data


@pytest.mark.parametrize(
    ("value", "expected"), [("dense<2.5> : tensor<3xf32>", [2.5] * 3), ("dense<0.0> : tensor<3xf32>", [0.0] * 3)]
)
def test_splat_globals(value: str, expected: list[float]) -> None:
    module = llvm_module(
        f"llvm.mlir.global external constant @data({value}) {{addr_space = 0 : i32}} : !llvm.array<3 x f32>"
    )
    assert _bytes_of_global(emit_llvm_ir(module), 12) == struct.pack("<3f", *expected)


def test_symbols_that_are_no_identifiers_are_quoted() -> None:
    assert symbol("a.b-c$1") == "a.b-c$1"
    assert symbol("1x") == '"1x"'
    assert symbol('say "é"') == '"say \\22\\C3\\A9\\22"'
    accepted(f"define void @{symbol('a b')}() {{ ret void }}")


SWITCH = """
llvm.func @pick(%x: i64, %out: !llvm.ptr) {
  %a = llvm.mlir.constant(10) : i64
  %b = llvm.mlir.constant(20) : i64
  %c = llvm.mlir.constant(30) : i64
  llvm.switch %x : i64, ^join(%a : i64) [0: ^join(%b : i64), 7: ^join(%c : i64), -1: ^end]
^join(%v: i64):
  llvm.store %v, %out : i64, !llvm.ptr
  llvm.return
^end:
  llvm.return
}
llvm.func @all(%xs: !llvm.ptr, %out: !llvm.ptr) {
  %one = llvm.mlir.constant(1) : i64
  %two = llvm.mlir.constant(2) : i64
  %x0 = llvm.load %xs : !llvm.ptr -> i64
  llvm.call @pick(%x0, %out) : (i64, !llvm.ptr) -> ()
  %p1 = llvm.getelementptr %xs[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %x1 = llvm.load %p1 : !llvm.ptr -> i64
  %o1 = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.call @pick(%x1, %o1) : (i64, !llvm.ptr) -> ()
  %p2 = llvm.getelementptr %xs[%two] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %x2 = llvm.load %p2 : !llvm.ptr -> i64
  %o2 = llvm.getelementptr %out[%two] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.call @pick(%x2, %o2) : (i64, !llvm.ptr) -> ()
  llvm.return
}"""


def test_a_switch_with_several_edges_to_one_block() -> None:
    text = emit_llvm_ir(llvm_module(SWITCH))
    accepted(text)
    xs, out = np.array([0, 7, 3], np.int64), np.zeros(3, np.int64)
    jit.call(jit.load(text, ["all"]), "all", xs, out)
    assert out.tolist() == [20, 30, 10]


def test_other_dialects_are_refused_by_name() -> None:
    with pytest.raises(DiagnosticError, match=r"'func\.func' op is no part of the llvm dialect"):
        emit_llvm_ir(llvm_module("func.func @f() { func.return }"))


SHARING = """
  func.func private @{name}(%x: memref<{size}xf32>, %i: index) attributes {{xhlo.shared}} {{
    %c0 = arith.constant {value} : f32
    memref.store %c0, %x[%i] : memref<{size}xf32>
    func.return
  }}
  func.func @main(%x: memref<{size}xf32>) {{
    %c1 = arith.constant 1 : index
    func.call @{name}(%x, %c1) : (memref<{size}xf32>, index) -> ()
    func.return
  }}"""


def test_shared_functions_have_texts_of_their_own() -> None:
    """Shared functions do not depend on names and shapes; different code gives different functions."""
    units: list[Mapping[str, str]] = []
    for name, size, value in (("one", 8, 1.0), ("two", 16, 1.0), ("two", 16, 2.0)):
        module = lowered(SHARING.format(name=name, size=size, value=value))
        parts = emit_units(module)
        (text,), apart = parts.texts, parts.shared
        (symbol,) = apart
        assert f"declare void @{symbol}(ptr, i64)" in text and f"call void @{symbol}(" in text
        accepted(text)
        assert f"define hidden void @{symbol}(" in accepted(apart[symbol])
        assert f"define internal void @{name}(" in accepted(emit_llvm_ir(module))
        units.append(apart)
    assert units[0] == units[1] != units[2]


def test_what_was_compiled_apart_is_linked() -> None:
    parts = emit_units(lowered(SHARING.format(name="set", size=4, value=3.0)))
    objects = jit.compile_units(parts.texts, parts.shared, {})
    assert jit.compile_units(parts.texts, parts.shared, {})[1] is objects[1]
    array = np.zeros(4, np.float32)
    pointers = np.array([array.ctypes.data])
    jit.call(jit.load(objects, ("xhlo_entry",)), "xhlo_entry", pointers)
    np.testing.assert_array_equal(array, [0, 3, 0, 0])
