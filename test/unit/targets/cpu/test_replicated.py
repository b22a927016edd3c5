"""Runs on several devices of the CPU: threads that meet in collectives, fail, or would deadlock."""

from __future__ import annotations

import threading
import time

import ml_dtypes
import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.custom_calls.registry import REGISTRY
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference.replicas import evaluate_replicas
from xhlo.targets.cpu import threads
from xhlo.targets.cpu.replicated import compile_replicated, has_collectives, run_on_devices

ALL = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"


def reduction(element: str, body: str = "%s = stablehlo.add %x, %y : tensor<E>") -> str:
    scalar = f"""({{
    ^bb0(%x: tensor<E>, %y: tensor<E>):
      {body}
      stablehlo.return %s : tensor<E>
    }}) {{{ALL}}} : (tensor<8xE>) -> tensor<8xE>"""
    return f"""func.func @main(%a: tensor<8xE>) -> tensor<8xE> {{
    %r = "stablehlo.all_reduce"(%a) {scalar}
    return %r : tensor<8xE>
    }}""".replace("xE>", f"x{element}>").replace("<E>", f"<{element}>")


DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "i64": np.int64,
    "ui32": np.uint32,
    "i4": ml_dtypes.int4,
    "i1": np.bool_,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum"])
def test_reductions_of_all_element_types(element: str, op: str) -> None:
    text = reduction(element, f"%s = stablehlo.{op} %x, %y : tensor<E>")
    numbers = np.random.default_rng(1)
    given = [[numbers.integers(0, 3, 8).astype(DTYPES[element])] for _ in range(4)]
    expected = evaluate_replicas(parse_module(text), given)
    for (wanted,), (actual,) in zip(expected, compile_replicated(text, 4, 1)(given), strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)


def test_a_computation_of_several_operations() -> None:
    body = "%m = stablehlo.multiply %x, %y : tensor<E>\n %s = stablehlo.subtract %m, %y : tensor<E>"
    text = reduction("f32", body)
    given = [[np.random.default_rng(n).normal(size=8).astype(np.float32)] for n in range(4)]
    expected = evaluate_replicas(parse_module(text), given)
    for (wanted,), (actual,) in zip(expected, compile_replicated(text, 4, 1)(given), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "%s = stablehlo.add %x, %y : tensor<E>",
        "%m = stablehlo.negate %y : tensor<E>\n %s = stablehlo.add %x, %m : tensor<E>",
    ],
)
@pytest.mark.parametrize(
    "groups", ["dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>", "dense<[[3, 1, 0, 2]]> : tensor<1x4xi64>"]
)
def test_only_the_first_of_a_group_gets_a_collective_reduction(body: str, groups: str) -> None:
    text = reduction("i32", body).replace("all_reduce", "collective_reduce")
    text = text.replace("dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>", groups)
    given = [[np.arange(8, dtype=np.int32) * (n + 1)] for n in range(4)]
    expected = evaluate_replicas(parse_module(text), given)
    for (wanted,), (actual,) in zip(expected, compile_replicated(text, 4, 1)(given), strict=True):
        np.testing.assert_array_equal(actual, wanted)


LOOP = f"""
func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %scale = stablehlo.constant dense<1.0e-3> : tensor<512x512xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<512x512xf32>
  cond {{
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %p = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %m = stablehlo.multiply %p, %scale : tensor<512x512xf32>
    %s = "stablehlo.all_reduce"(%m) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }}) {{{ALL}}} : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %s : tensor<i32>, tensor<512x512xf32>
  }}
  return %r#1 : tensor<512x512xf32>
}}
"""


def test_loops_with_parallel_kernels_between_collectives_from_several_threads() -> None:
    program = compile_replicated(LOOP, 4, 1)
    given = [[np.random.default_rng(n).normal(size=(512, 512)).astype(np.float32)] for n in range(4)]
    expected = [x for (x,) in given]
    for _ in range(5):
        expected = [sum(((v @ v) * np.float32(1e-3) for v in expected), np.float32(0))] * 4

    def check() -> None:
        for (actual,) in program(given):
            np.testing.assert_allclose(actual, expected[0], rtol=2e-3, atol=1e-3 * np.abs(expected[0]).max())

    threads = [threading.Thread(target=check) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check()


CALLS = f"""
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @test.may_fail(%x) {{has_side_effect = true}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.all_gather"(%0) {{all_gather_dim = 0 : i64, {ALL}}} : (tensor<4xf32>) -> tensor<16xf32>
  %2 = stablehlo.slice %1 [0:4] : (tensor<16xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}}
"""


def test_a_device_that_fails_releases_the_others() -> None:
    def may_fail(call, x):
        if x[0] == 2:
            time.sleep(0.05)  # until the others wait
            raise ValueError("device 2 does not work")
        return x + 1

    xhlo.register_custom_call("test.may_fail", may_fail)
    try:
        program = compile_replicated(CALLS, 4, 1)
        given = [[np.full(4, number, np.float32)] for number in range(4)]
        with pytest.raises(DiagnosticError, match="device 2 does not work"):
            program(given)
        given[2] = given[1]
        assert program(given)[3][0].tolist() == [1, 1, 1, 1]
    finally:
        REGISTRY.remove("test.may_fail")


DIVERGING = f"""
func.func @main(%x: tensor<i1>) -> tensor<4xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %0 = "stablehlo.if"(%x) ({{
    %1 = "stablehlo.all_gather"(%zero) {{all_gather_dim = 0 : i64, {ALL}}} : (tensor<1xf32>) -> tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }}, {{
    OTHER
    stablehlo.return %1 : tensor<4xf32>
  }}) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""
OTHERS = {
    "have ended": "%1 = stablehlo.constant dense<0.0> : tensor<4xf32>",
    "number 1": f'%1 = "stablehlo.all_gather"(%zero) {{all_gather_dim = 0 : i64, {ALL}}} '
    ": (tensor<1xf32>) -> tensor<4xf32>",
}


@pytest.mark.parametrize("message", OTHERS)
def test_devices_that_wait_for_ever_are_found(message: str) -> None:
    program = compile_replicated(DIVERGING.replace("OTHER", OTHERS[message]), 4, 1)
    assert program([[np.array(True)]] * 4)[0][0].tolist() == [0, 0, 0, 0]
    with pytest.raises(DiagnosticError, match=rf"never ends: .*{message}"):
        program([[np.array(number < 2)] for number in range(4)])


def test_a_program_of_several_devices_does_not_run_on_one() -> None:
    program = compile_replicated(reduction("f32"), 4, 1)
    with pytest.raises(DiagnosticError, match="the program is for several devices"):
        program.executable(np.zeros(8, np.float32))
    with pytest.raises(TypeError, match="the arguments of 4 devices, got those of 1"):
        program([[np.zeros(8, np.float32)]])


def test_runs_nest_and_failures_without_collectives_are_raised() -> None:
    program = compile_replicated(reduction("f32"), 4, 1)

    def run(number: int) -> float:
        return float(program([[np.full(8, number, np.float32)]] * 4)[0][0][0])

    assert run_on_devices(run, 1, 3) == [0.0, 4.0, 8.0]

    def fail(number: int) -> None:
        raise KeyError(number)

    with pytest.raises(KeyError):
        run_on_devices(fail, 2, 1)


def test_devices_without_collectives_take_turns_on_the_callers_thread() -> None:
    text = "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.partition_id : tensor<ui32>\n  return %0 : tensor<ui32>\n}"
    program = compile_replicated(text, 1, 3)
    assert not has_collectives(program.executable)
    assert has_collectives(compile_replicated(reduction("f32"), 4, 1).executable)
    assert [int(result) for (result,) in program([[]] * 3)] == [0, 1, 2]
    threads = run_on_devices(lambda number: threading.get_ident(), 1, 3, independent=True)
    assert threads == [threading.get_ident()] * 3
    assert threading.get_ident() not in run_on_devices(lambda number: threading.get_ident(), 1, 3)


def test_asynchronous_collectives() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<8xf32> {
      %0 = "stablehlo.async_start"(%x) ({
      ^bb0(%a: tensor<2xf32>):
        %1 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, GROUPS} : (tensor<2xf32>) -> tensor<8xf32>
        stablehlo.return %1 : tensor<8xf32>
      }) : (tensor<2xf32>) -> !stablehlo.future<tensor<8xf32>>
      %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }""".replace("GROUPS", ALL)
    results = compile_replicated(text, 4, 1)([[np.full(2, number, np.float32)] for number in range(4)])
    assert [result.tolist() for (result,) in results] == [[0, 0, 1, 1, 2, 2, 3, 3]] * 4


def test_devices_share_the_threads_of_the_machine() -> None:
    before = threads.thread_count()
    threads.set_thread_count(6)
    try:
        assert run_on_devices(lambda number: threads.thread_count(), 1, 2) == [3, 3]
        assert run_on_devices(lambda number: threads.thread_count(), 1, 8) == [1] * 8
        assert threads.thread_count() == 6
    finally:
        threads.set_thread_count(before)
