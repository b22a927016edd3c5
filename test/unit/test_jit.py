"""Control flow, threads and the interface of the JIT, run on this machine."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

from lowered_programs import elementwise, floats, llvm_text, run, same
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_to_llvm.conversion import ConvertToLlvmPass
from xhlo.targets.cpu import jit, openmp

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
    """If no library is found, the loop runs on the calling thread."""
    code = """
import warnings, numpy as np
from xhlo.targets.cpu import openmp
openmp._candidates = lambda: iter(())
import test_jit as t
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    t.run(t.PARALLEL.replace("COUNT", "1000"), x, out)
assert (out == x).all()
print(sum("OpenMP" in str(w.message) for w in caught), openmp.thread_count())
"""
    here = Path(__file__).parent
    shown = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
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
