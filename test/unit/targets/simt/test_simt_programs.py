"""Whole programs mapped to the GPU, run by the SIMT interpreter: the target simt."""

from __future__ import annotations

import numpy as np
import pytest

import conformance
import xhlo
from checkout import EXAMPLES
from hlo_programs import Program
from simt_programs import check_on_simt, gpu_level
from xhlo.hlo_dialect.dialect import make_context
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.memory import undefined
from xhlo.tools import hlo_fuzz, hlo_run

SIZES = (1, 31, 33, 255, 257)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", ["gelu_mlp", "layernorm", "softmax"])
def test_example(name: str, capsys: pytest.CaptureFixture[str]):
    assert hlo_run.main([str(EXAMPLES / f"{name}.mlir"), "--target=simt", "--compare=cpu"]) == 0
    assert "simt against cpu" in capsys.readouterr().out


@pytest.mark.parametrize("size", SIZES)
def test_odd_sizes(size: int):
    rng = np.random.default_rng(size)
    x, y = (rng.normal(size=(size, 7)).astype(np.float32) for _ in range(2))
    check_on_simt(
        f"""
        func.func @main(%x: tensor<{size}x7xf32>, %y: tensor<{size}x7xf32>)
            -> (tensor<7x{size}xf32>, tensor<7xf32>, tensor<{size}xf32>, tensor<f32>, tensor<7x7xf32>) {{
          %0 = stablehlo.multiply %x, %y : tensor<{size}x7xf32>
          %1 = stablehlo.exponential %0 : tensor<{size}x7xf32>
          %t = stablehlo.transpose %1, dims = [1, 0] : (tensor<{size}x7xf32>) -> tensor<7x{size}xf32>
          %z = stablehlo.constant dense<0.0> : tensor<f32>
          %c = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0]
              : (tensor<{size}x7xf32>, tensor<f32>) -> tensor<7xf32>
          %r = stablehlo.reduce(%1 init: %z) applies stablehlo.maximum across dimensions = [1]
              : (tensor<{size}x7xf32>, tensor<f32>) -> tensor<{size}xf32>
          %a = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1]
              : (tensor<{size}x7xf32>, tensor<f32>) -> tensor<f32>
          %d = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
              : (tensor<{size}x7xf32>, tensor<{size}x7xf32>) -> tensor<7x7xf32>
          return %t, %c, %r, %a, %d
              : tensor<7x{size}xf32>, tensor<7xf32>, tensor<{size}xf32>, tensor<f32>, tensor<7x7xf32>
        }}
        """,
        [x, y],
    )


def test_loops_of_the_host():
    check_on_simt(
        """
        func.func @main(%x: tensor<33xf32>, %n: tensor<i32>) -> (tensor<33xf32>, tensor<i32>) {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %0:2 = stablehlo.while(%v = %x, %i = %zero) : tensor<33xf32>, tensor<i32>
          cond {
            %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %go : tensor<i1>
          } do {
            %two = stablehlo.constant dense<2> : tensor<i32>
            %r = stablehlo.remainder %i, %two : tensor<i32>
            %next = "stablehlo.case"(%r) ({
              %a = stablehlo.sine %v : tensor<33xf32>
              stablehlo.return %a : tensor<33xf32>
            }, {
              %b = stablehlo.add %v, %v : tensor<33xf32>
              stablehlo.return %b : tensor<33xf32>
            }) : (tensor<i32>) -> tensor<33xf32>
            %j = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %next, %j : tensor<33xf32>, tensor<i32>
          }
          return %0#0, %0#1 : tensor<33xf32>, tensor<i32>
        }
        """,
        [np.linspace(-3, 3, 33, dtype=np.float32), np.int32(5)],
    )


def test_executable():
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %y : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """
    executable = xhlo.compile(text, target="simt")
    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(executable(x, x), x + x)
    assert [kernel.calls for kernel in executable.kernels] == [2]
    assert "gpu.launch_func" in executable.as_text("loops")
    with pytest.raises(TypeError, match="expected 2 arguments"):
        executable(x)
    with pytest.raises(TypeError, match=r"argument 1: expected dtype float32 \(tensor<4xf32>\), got int32"):
        executable(x, x.astype(np.int32))
    with pytest.raises(ValueError, match="not serialized"):
        executable.serialize()


def test_profile(capsys: pytest.CaptureFixture[str]):
    assert hlo_run.main([str(EXAMPLES / "softmax.mlir"), "--target=simt", "--profile", "--repeat=1"]) == 0
    assert "row_fusion_0" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # from JAX, which other tests load into this process
def test_random_programs(capfd: pytest.CaptureFixture[str]):
    assert hlo_fuzz.main(["--check=simt", "--count=8", "--profile=types"]) == 0
    assert "8 programs, 0 failed" in capfd.readouterr().err


PROGRAMS = (
    "casts", "cf_cond_switch", "cf_fori_scan", "ew_int_division_edges", "fft_kinds", "hmm_viterbi", "index_take",
    "k_means", "la_cholesky_cpu", "mandelbrot", "model_mlp", "model_transformer_block", "model_lstm", "sort_stable",
    "sort", "reduce_variants", "random_bits", "scatter", "conv_nhwc_same",
)  # fmt: skip


@pytest.mark.long(3)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.parametrize("name", [name for name in conformance.jax_programs() if name in PROGRAMS])
def test_jax_program(name: str):
    program = conformance.jax_program(name)
    results = xhlo.compile(program.text, target="simt", guard=True)(*program.inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert not conformance.wrong_outputs(program, results)


STATIC = [program.name for program in conformance.stablehlo_programs() if program.static]


@pytest.mark.sample(16)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.parametrize("name", STATIC)
def test_stablehlo_program(name: str):
    """The program checks itself: a wrong result raises CheckFailure."""
    xhlo.compile(conformance.stablehlo_text(name), target="simt", guard=True)()


def test_functions_that_expand_math_makes():
    """The arithmetic that replaces elementary functions is in the device's module, including tables of constants."""
    ops = ("exponential", "log", "log_plus_one", "exponential_minus_one", "sine", "cosine", "tanh", "cbrt", "rsqrt")
    lines = "\n".join(f"%r{i} = stablehlo.{op} %x : tensor<257xf32>" for i, op in enumerate(ops))
    results, types = ", ".join(f"%r{i}" for i in range(len(ops))), ", ".join(["tensor<257xf32>"] * len(ops))
    text = f"func.func @main(%x: tensor<257xf32>) -> ({types}) {{\n{lines}\nreturn {results} : {types}\n}}"
    x = np.geomspace(1e-30, 80, 257, dtype=np.float32)
    module, (_, outputs) = gpu_level(text)
    run_passes(make_context(), module, ("expand-math",), verify=True)
    assert any(op.name == "func.call" for device in module.walk() if device.name == "gpu.func" for op in device.walk())
    got = [undefined(type_.shape, type_.dtype) for type_ in outputs]
    HostProgram(module).run([x], got)
    for op, actual, want in zip(ops, got, Program(text).results(x), strict=True):
        np.testing.assert_allclose(actual, want, rtol=1e-6, err_msg=op)
