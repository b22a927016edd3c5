"""Programs that take arrays of unknown sizes compile at the call, once for each combination of sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.program import unknown_sizes
from xhlo.tools.hlo_run import main

SOFTMAX = """
func.func @main(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.exponential %0 : tensor<?x?xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %w, dim = 1 : (tensor<4x?xf32>) -> tensor<i32>
  %3 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %4 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %6 = stablehlo.dynamic_broadcast_in_dim %2, %5, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %7 = stablehlo.divide %1, %6 : tensor<?x?xf32>
  return %7 : tensor<?x?xf32>
}
"""

BOUNDED = """
func.func @main(%x: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<?xf32, #stablehlo.bounds<4>> {
  %0 = stablehlo.add %x, %x : tensor<?xf32, #stablehlo.bounds<4>>
  return %0 : tensor<?xf32, #stablehlo.bounds<4>>
}
"""

ASSERTED = """
func.func @main(%x: tensor<?xf32>) -> tensor<2x?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %rest = stablehlo.remainder %n, %two : tensor<i32>
  %even = stablehlo.compare EQ, %rest, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%even, %n) {error_message = "{0} is odd", has_side_effect = true}
    : (tensor<i1>, tensor<i32>) -> ()
  %half = stablehlo.divide %n, %two : tensor<i32>
  %0 = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.reshape %half : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %3 = stablehlo.dynamic_reshape %x, %2 : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x?xf32>
  return %3 : tensor<2x?xf32>
}
"""


def softmax(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    powers = np.exp(x @ w)
    return powers / powers.sum(axis=1, keepdims=True)


def test_each_combination_of_sizes_compiles_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    specialized = unknown_sizes.specialized
    monkeypatch.setattr(unknown_sizes, "specialized", lambda *given: made.append(given[1]) or specialized(*given))
    executable = xhlo.compile(SOFTMAX)
    assert [one.text for one in executable.input_types] == ["tensor<?x4xf32>", "tensor<4x?xf32>"]
    assert executable.input_types[0].shape == (-1, 4) and not executable.kernels
    rng = np.random.default_rng(0)
    for n, m in [(3, 5), (1, 1), (3, 5), (0, 2), (1, 1)]:
        x, w = rng.random((n, 4), np.float32), rng.random((4, m), np.float32)
        np.testing.assert_allclose(executable(x, w), softmax(x, w), rtol=1e-5)
    assert made == [((3, 4), (4, 5)), ((1, 4), (4, 1)), ((0, 4), (4, 2))]
    assert executable.kernels


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_sizes, "KEPT", 2)
    executable = xhlo.compile(BOUNDED.replace("bounds<4>", "bounds<6>"))
    first = executable.specialize(np.zeros(1, np.float32))
    assert executable.specialize(np.zeros(1, np.float32)) is first
    for size in (2, 3, 4):
        executable.specialize(np.zeros(size, np.float32))
    assert len(executable._kept) == 2


def test_a_specialized_program_is_static() -> None:
    executable = xhlo.compile(SOFTMAX)
    static = executable.specialize(np.zeros((2, 4), np.float32), np.zeros((4, 3), np.float32))
    assert [one.text for one in static.output_types] == ["tensor<2x3xf32>"]
    assert "?" not in static.as_text() and "tensor<2x3xf32>" in static.as_text("fused")
    again = xhlo.deserialize(static.serialize())
    assert again(np.zeros((2, 4), np.float32), np.zeros((4, 3), np.float32)).shape == (2, 3)
    assert "tensor<?x4xf32>" in executable.as_text()
    with pytest.raises(ValueError, match="no stage 'llvm' before the sizes are known"):
        executable.as_text("llvm")
    with pytest.raises(ValueError, match=r"serialize exe\.specialize"):
        executable.serialize()


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_targets(target: str) -> None:
    x, w = np.ones((2, 4), np.float32), np.eye(4, 3, dtype=np.float32)
    np.testing.assert_allclose(xhlo.compile(SOFTMAX, target=target)(x, w), softmax(x, w), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([np.zeros((2, 4), np.float32)], "expected 2 arguments, got 1"),
        ([np.zeros((2, 5), np.float32), np.zeros((4, 2), np.float32)], r"argument 0: expected shape \(\?, 4\)"),
        ([np.zeros(4, np.float32), np.zeros((4, 2), np.float32)], r"argument 0: expected shape \(\?, 4\)"),
        ([np.zeros((2, 4), np.float32), np.zeros((4, 2), np.int32)], "argument 1: expected dtype float32"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[np.ndarray], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        xhlo.compile(SOFTMAX)(*arguments)


def test_bounds_are_checked() -> None:
    executable = xhlo.compile(BOUNDED)
    np.testing.assert_array_equal(executable(np.ones(4, np.float32)), np.full(4, 2, np.float32))
    with pytest.raises(TypeError, match="argument 0 has dimension 0 of size 5, at most 4 are allowed"):
        executable(np.ones(5, np.float32))


def test_assertions_on_shapes_come_before_what_follows_from_them() -> None:
    executable = xhlo.compile(ASSERTED)
    assert executable(np.arange(6, dtype=np.float32)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(xhlo.CustomCallError, match="5 is odd"):
        executable(np.zeros(5, np.float32))


def test_sizes_that_contradict_each_other() -> None:
    text = """
      func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
        %0 = stablehlo.add %x, %y : tensor<?xf32>
        return %0 : tensor<?xf32>
      }"""
    with pytest.raises(DiagnosticError, match="tensor<2xf32>"):
        xhlo.compile(text)(np.zeros(2, np.float32), np.zeros(3, np.float32))


def test_hlo_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "softmax.mlir"
    path.write_text(SOFTMAX)
    assert main([str(path), "--shape", "x=2,4", "--shape=in_1=4,3", "--compare"]) == 0
    assert "ok" in capsys.readouterr().out
    arrays = tmp_path / "arrays.npz"
    np.savez(arrays, x=np.ones((5, 4), np.float32), w=np.ones((4, 2), np.float32))
    for target in ("cpu", "reference"):
        assert main([str(path), "-i", str(arrays), f"--target={target}"]) == 0
        assert "float32[5, 2]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "status", "message"),
    [
        ([], 1, "argument x has type tensor<?x4xf32>: give its sizes, --shape x=N,4, or --inputs"),
        (["--shape", "x=2,5"], 1, "argument x has type tensor<?x4xf32>, not shape (2, 5)"),
        (["--shape", "z=2,5"], 1, "no argument is named z; there are x, w"),
        (["--shape", "x:2"], 2, "--shape takes a name and sizes, such as --shape x=4,8, not 'x:2'"),
        (["--shape", "x=-2,4"], 2, "--shape takes a name and sizes"),
        (["--shape", "x=1000000000000000,4", "--shape", "w=4,1"], 1, "memory"),
    ],
)
def test_hlo_run_says_what_is_missing(
    flags: list[str], status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "softmax.mlir"
    path.write_text(SOFTMAX)
    assert main([str(path), *flags]) == status
    assert message in capsys.readouterr().err
