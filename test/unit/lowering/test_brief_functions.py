"""Kernels of few operations are marked, and LLVM leaves them as they are (lowering/loop_nests/brevity.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects import func

import xhlo
from xhlo.dialects.support.kernel import BRIEF
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.loop_nests import brevity
from xhlo.lowering.loop_nests.brevity import mark_brief_functions
from xhlo.targets.cpu import jit
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source


def kernel(name: str, count: str, body: str = "%e = arith.addi %v, %v : i32", type_: str = "i32") -> str:
    """A kernel that replaces `count` elements."""
    return f"""
  func.func private @{name}(%x: memref<999x{type_}>, %n: index) attributes {{hlo.kernel = "loop"}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %end = {count}
    scf.for %i = %c0 to %end step %c1 {{
      %v = memref.load %x[%i] : memref<999x{type_}>
      {body}
      memref.store %e, %x[%i] : memref<999x{type_}>
    }}
    func.return
  }}
"""


def marked(functions: str, calls: str, types: str = "i32") -> list[str]:
    """The functions that are marked in a program that makes these calls."""
    text = f"""{functions}
  func.func @main(%x: memref<999x{types}>, %n: index) {{
    %z = arith.constant 0 : index
    %s = arith.constant 1 : index
    %m = arith.constant 900 : index
    {calls}
    func.return
  }}"""
    module = parse_source(Source(text, "<test>"), make_context())
    mark_brief_functions(module)
    return [op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp) and BRIEF in op.attributes]


def call(name: str, type_: str = "i32") -> str:
    return f"func.call @{name}(%x, %n) : (memref<999x{type_}>, index) -> ()\n"


def constant(number: int) -> str:
    return f"arith.constant {number} : index"


def test_short_loops_are_brief_and_long_ones_are_not() -> None:
    kernels = (
        kernel("short", constant(9)) + kernel("long", constant(900)) + kernel("unknown", "arith.addi %n, %n : index")
    )
    assert marked(kernels, call("short") + call("long") + call("unknown")) == ["short"]


def test_every_call_counts() -> None:
    one = kernel("one", constant(100))
    assert marked(one, call("one")) == ["one"]
    assert marked(one, call("one") * 2) == []
    assert marked(one, f"scf.for %i = %z to %m step %s {{\n{call('one')}}}") == []
    assert marked(one, f"scf.for %i = %z to %n step %s {{\n{call('one')}}}") == []


def test_those_of_least_work_are_first() -> None:
    kernels = kernel("more", constant(120)) + kernel("less", constant(60))
    assert marked(kernels, call("more") + call("less")) == ["less"]


SCALAR = """
  func.func private @scalar(%x: memref<999xi32>, %n: index) attributes {hlo.kernel = "loop"} {
    %v = memref.load %x[%n] : memref<999xi32>
    %e = arith.addi %v, %v : i32
    memref.store %e, %x[%n] : memref<999xi32>
    func.return
  }
"""


def test_host_programs_of_long_iterations_are_brief_with_their_short_kernels() -> None:
    kernels = SCALAR + kernel("long", constant(900)) + kernel("short", constant(200))

    def loop(inside: str, index: str = "i") -> str:
        return f"scf.for %{index} = %z to %n step %s {{\n{inside}}}\n"

    long, scalar = call("long"), call("scalar")
    assert marked(kernels, loop(long + scalar)) == ["scalar", "main"]
    assert marked(kernels, loop(loop(long, "j") + scalar)) == ["scalar", "main"]
    assert marked(kernels, loop(call("short") + scalar)) == []
    assert marked(kernels, loop(long + loop(scalar, "j"))) == []
    assert marked(kernels, loop(long) + loop(scalar)) == []
    once = "%first = arith.cmpi eq, %i, %z : index\n"
    assert marked(kernels, loop(f"{once}scf.if %first {{\n{long}}}\n{scalar}")) == []


@pytest.mark.long
def test_a_brief_host_program_computes_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of iterations and what an iteration multiplies by follow from earlier ones."""
    text = """func.func @main(%x: tensor<64x64xf32>, %n: tensor<i32>) -> (tensor<64x64xf32>, tensor<i32>) {
      %zero = hlo.constant dense<0> : tensor<i32>
      %r:2 = hlo.while(%y = %x, %i = %zero) : tensor<64x64xf32>, tensor<i32>
        cond {
          %more = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          hlo.return %more : tensor<i1>
        } do {
          %f = hlo.convert %i : (tensor<i32>) -> tensor<f32>
          %g = hlo.sine %f : tensor<f32>
          %gs = hlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
          %z = hlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
          %w = hlo.multiply %z, %gs : tensor<64x64xf32>
          %t = hlo.tanh %w : tensor<64x64xf32>
          %one = hlo.constant dense<1> : tensor<i32>
          %j = hlo.add %i, %one : tensor<i32>
          hlo.return %t, %j : tensor<64x64xf32>, tensor<i32>
        }
      return %r#0, %r#1 : tensor<64x64xf32>, tensor<i32>
    }"""
    x = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    results: list[list[bytes]] = []
    texts: list[list[str]] = []
    original = jit.compile_to_objects

    def noted(each: Sequence[str], timings: jit.Timings, levels: Sequence[int]) -> list[bytes]:
        texts.append([text for text, level in zip(each, levels, strict=True) if level == jit.QUICK])
        return original(each, timings, levels)

    monkeypatch.setattr(jit, "compile_to_objects", noted)
    for least in (brevity.LONG, float("inf")):
        monkeypatch.setattr(brevity, "LONG", least)
        executable = xhlo.compile(f"{text}// {least}")
        assert isinstance(executable, CpuExecutable)
        results.append([np.asarray(each).tobytes() for each in executable(x, np.int32(5))])
    assert results[0] == results[1]
    assert any("@xhlo_entry(" in text for text in texts[0])


def test_what_is_inlined_counts_where_it_is_called() -> None:
    body = "%e = func.call @steps(%v) : (i32) -> i32"
    steps = "\n".join(f"%{i + 1} = arith.muli %{i}, %{i} : i32" for i in range(30))
    inlined = (
        f"func.func private @steps(%0: i32) -> i32 attributes {{xhlo.inline}} {{\n{steps}\nfunc.return %30 : i32\n}}"
    )
    assert marked(kernel("few", constant(20), body) + inlined, call("few")) == ["few"]
    assert marked(kernel("many", constant(40), body) + inlined, call("many")) == []


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("f32", "%e = arith.addf %v, %v fastmath<reassoc> : f32"),
        ("f32", "%e = arith.mulf %v, %v fastmath<contract> : f32"),
        ("bf16", "%e = arith.addf %v, %v : bf16"),
        ("i128", "%e = arith.addi %v, %v : i128"),
    ],
)
def test_what_the_optimizer_would_change_is_not_brief(type_: str, body: str) -> None:
    assert marked(kernel("one", constant(4), body, type_), call("one", type_), type_) == []


def test_plain_floats_are_brief() -> None:
    body = "%e = arith.addf %v, %v : f32"
    assert marked(kernel("one", constant(4), body, "f32"), call("one", "f32"), "f32") == ["one"]


PROGRAM = """func.func @main(%x: tensor<8xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>, tensor<8xf64>) {
  %0 = hlo.exponential %x : tensor<8xf32>
  %1 = hlo.tanh %0 : tensor<8xf32>
  %2 = hlo.divide %i, %i : tensor<8xi32>
  %3 = hlo.convert %x : (tensor<8xf32>) -> tensor<8xf64>
  %4 = hlo.sine %3 : tensor<8xf64>
  return %1, %2, %4 : tensor<8xf32>, tensor<8xi32>, tensor<8xf64>
}"""


def test_brief_code_computes_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0, -0.0, 1e-40, np.inf, -np.inf, 3.25, -80, 7e10], np.float32)
    i = np.array([0, 1, -1, -(1 << 31), 5, 6, 7, 8], np.int32)
    results: list[list[bytes]] = []
    levels: list[Sequence[int]] = []
    monkeypatch.setenv("XHLO_CACHE_DIR", "")  # no function is found that an earlier test or run has compiled
    jit._shared.clear()  # pyright: ignore[reportPrivateUsage]
    original = jit.compile_to_objects

    def noted(texts: Sequence[str], timings: jit.Timings, each: Sequence[int]) -> list[bytes]:
        levels.append(each)
        return original(texts, timings, each)

    monkeypatch.setattr(jit, "compile_to_objects", noted)
    for most in (0, 10**6):
        monkeypatch.setattr(brevity, "MOST", most)
        executable = xhlo.compile(PROGRAM + f"// {most}")
        assert isinstance(executable, CpuExecutable)
        results.append([np.asarray(each).tobytes() for each in executable(x, i)])
    assert results[0] == results[1]
    assert jit.LEVEL in levels[0] and set(levels[1]) == {jit.QUICK}
