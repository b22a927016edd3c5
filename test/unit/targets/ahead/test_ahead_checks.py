"""Checks of programs compiled ahead of time: error codes with messages, and the same verdicts as the JIT's."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i64

from hlo_programs import Program
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.expressions.tensor import Builder, Tensor
from xhlo.hlo_dialect.ops.check_calls import run_check
from xhlo.hlo_dialect.reference import evaluate
from xhlo.passes.extract_checks.verdicts import is_apart, is_far
from xhlo.targets.ahead.header import c_string, messages
from xhlo.targets.ahead.library import compile_ahead
from xhlo.tools import hlo_aot

PROGRAM = r"""
func.func @main(%x: tensor<3xf32>, %X: tensor<3xf32>, %z: tensor<2xcomplex<f64>>, %n: tensor<2xi32>, %p: tensor<i1>)
    -> tensor<3xf32> {
  %0 = stablehlo.add %x, %X : tensor<3xf32>
  stablehlo.custom_call @check.expect_close(%x, %X) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
  check.expect_almost_eq_const %z, dense<(1.0, 2.0)> : tensor<2xcomplex<f64>>
  check.expect_eq_const %n, dense<[3, 4]> : tensor<2xi32>
  stablehlo.custom_call @shape_assertion(%p, %n) {error_message = "\"{0}\" \\ ??/ é\0A", has_side_effect = true} : (tensor<i1>, tensor<2xi32>) -> ()
  return %0 : tensor<3xf32>
}
func.func public @second(%n: tensor<2xi32>) {
  check.expect_eq_const %n, dense<[3, 4]> : tensor<2xi32>
  return
}
"""
ASSERTION = '"{0}" \\ ??/ é\n (model.mlir:8:3)'


def arguments(**changed: Any) -> dict[str, np.ndarray]:
    given = {
        "x": np.array([1.0, -2.0, np.inf], np.float32),
        "X": np.array([1.0, -2.0, np.inf], np.float32),
        "z": np.array([1 + 2j, 1 + 2.0009j]),
        "n": np.array([3, 4], np.int32),
        "p": np.array(True),
    }
    return given | {name: np.asarray(value, given[name].dtype) for name, value in changed.items()}


CASES: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({}, None),
    ({"X": np.nextafter(arguments()["X"], np.float32(0))}, "expect_close failed (model.mlir:5:3)"),
    ({"X": [1.0, 2.0, np.inf]}, "check.expect_close failed (model.mlir:5:3)"),
    ({"X": [np.nan, -2.0, np.inf], "x": [np.nan, -2.0, np.inf]}, None),
    ({"z": [1 + 2j, 1 + 2.0011j], "n": [0, 0]}, "check.expect_almost_eq failed (model.mlir:6:3)"),
    ({"n": [3, 5], "p": False}, "check.expect_eq failed (model.mlir:7:3)"),
    ({"p": False}, ASSERTION),
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's files."""
    if shutil.which("ld") is None and shutil.which("ld.lld") is None:
        pytest.skip("no linker is installed")
    folder = tmp_path_factory.mktemp("checks")
    (folder / "model.mlir").write_text(PROGRAM)
    assert hlo_aot.main([str(folder / "model.mlir"), "-o", str(folder / "model"), "--python", "--rust"]) == 0
    return folder


def test_a_run_says_which_check_fails(made: Path) -> None:
    spec = importlib.util.spec_from_file_location("model_with_checks", made / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for changed, message in CASES:
        given = arguments(**changed)
        if message is None:
            assert module.run(*given.values()).tobytes() == (given["x"] + given["X"]).tobytes()
            continue
        with pytest.raises(RuntimeError) as raised:
            module.run(*given.values())
        assert str(raised.value).endswith(message)


C = r"""
#include <stdio.h>
#include <string.h>
#include "model.h"
int main(void)
{
    int code;
    MODEL_X_ELEMENT x = 0.5f;
    for (code = 99; code < 105; code++) puts(model_message(code));
    if (strcmp(MODEL_Z_TYPE, "tensor<2xcomplex<f64>>") || sizeof(MODEL_Z_ELEMENT) != 16 || x != 0.5f) return 1;
    return MODEL_CHECK == 100 && MODEL_X__ELEMENTS == 3 ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_header_has_the_messages(made: Path) -> None:
    (made / "use.c").write_text(C)
    flags = ["-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Wno-trigraphs", "-pedantic", "-Werror"]
    subprocess.run(["gcc", *flags, "use.c", "-o", "use"], cwd=made, check=True)
    shown = subprocess.run(["./use"], cwd=made, check=True, capture_output=True).stdout.decode()
    assert shown.splitlines() == [
        "unknown error",
        "check.expect_close failed (model.mlir:5:3)",
        "check.expect_almost_eq failed (model.mlir:6:3)",
        "check.expect_eq failed (model.mlir:7:3)",
        *ASSERTION.splitlines(),
        "unknown error",
    ]
    assert c_string("a") == '"a"'


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
def test_the_rust_module_has_the_messages(made: Path) -> None:
    (made / "main.rs").write_text(
        "mod model;\nfn main() {\n    let (x, mut r) = ([1f32; 3], [0f32; 3]);\n"
        "    let mut arena = model::Arena::new();\n"
        "    let mut run = |p| model::run(&x, &x, &[[1f64, 2.0]; 2], &[3, 4], &[p], &mut r, &mut arena);\n"
        '    print!("{:?} {}", run(1), run(0).unwrap_err());\n}\n'
    )
    subprocess.run(["rustc", "--edition=2024", "-D", "warnings", "-L", ".", "main.rs"], cwd=made, check=True)
    assert (
        subprocess.run(["./main"], cwd=made, check=True, capture_output=True).stdout.decode() == f"Ok(()) {ASSERTION}"
    )


def test_codes_of_several_functions_follow_each_other() -> None:
    library = compile_ahead(PROGRAM, entries="all", triple="aarch64-linux-gnu")
    assert [entry.first_check for entry in library.interface.entries] == [100, 104]
    assert messages(library.interface)[104] == "check.expect_eq failed (<text>:12:3)"
    assert library.interface.entries[1].results == ()


CPP = r"""
#include <cstdio>
#include "TO_NAME.hpp"
int main()
{
    TO_NAME::Program()(std::vector<int32_t>{3, 4});
    try {
        TO_NAME::Program()(std::vector<int32_t>(2));
    } catch (const std::runtime_error &error) {
        std::printf("%s", error.what());
    }
}
"""


@pytest.mark.long
def test_a_test_program_needs_inputs_for_which_the_checks_hold(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "model.mlir"
    source.write_text(PROGRAM)
    command = [str(source), "--entry=second", "-o", str(tmp_path / "TO_NAME")]
    assert hlo_aot.main([*command, "--emit-test"]) == 1
    shown = capfd.readouterr().err
    assert f"{source}:12:3: error: check.expect_eq failed: 2 of 2 elements differ" in shown
    assert "give it inputs for which the checks hold" in shown
    np.savez(tmp_path / "inputs.npz", n=np.array([3, 4], np.int32))
    assert hlo_aot.main([*command, f"--emit-test={tmp_path}/inputs.npz", "--benchmark"]) == 0
    # A program without results, whose benchmark measures runs on zeros, for which a check fails.
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
    for file in ("TO_NAME_test.c", "TO_NAME_bench.c"):
        if shutil.which("gcc") is not None:
            subprocess.run(["gcc", *flags, "-fsyntax-only", file], cwd=tmp_path, check=True)
    if shutil.which("g++") is not None:
        (tmp_path / "use.cpp").write_text(CPP)
        subprocess.run(["g++", *flags, "use.cpp", "TO_NAME.o", "-o", "use"], cwd=tmp_path, check=True)
        shown = subprocess.run(["./use"], cwd=tmp_path, capture_output=True).stdout
        assert shown == b"check.expect_eq failed (model.mlir:12:3)"
    if shutil.which("gcc") is not None:
        subprocess.run(["gcc", "TO_NAME_test.c", "TO_NAME.o", "-lm", "-o", "test"], cwd=tmp_path, check=True)
        assert subprocess.run(["./test"], cwd=tmp_path, capture_output=True).stdout == b"all results agree\n"


# Verdicts ------------------------------------------------------------------------------------------------------------

TYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
}


def pairs(dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Zeros, subnormals, ones and what is beside them, the greatest, infinities and NaN (as far as the type has them)."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    one = int(np.ones(1, dtype).view(unsigned)[0])
    most: Any = cast(Any, ml_dtypes).finfo(dtype).max
    greatest = int(np.array([most], dtype).view(unsigned)[0])
    sign = 1 << (8 * dtype.itemsize - 1)
    bits = [0, 1, one, one + 1, one + 4, greatest - 1, greatest, greatest + 1, sign - 1, sign, sign + 1, sign + one]
    values = np.array(bits, unsigned).view(dtype)
    count = len(values)
    return np.repeat(values, count), np.tile(values, count)


def masks(type_: str, x: np.ndarray, y: np.ndarray, makers: list[Callable[[Tensor, Tensor], Tensor]]) -> list[Any]:
    """The reference's results for masks of two arrays."""
    shape = f"tensor<{x.size}x{type_}>"
    masks = ", ".join([f"tensor<{x.size}xi1>"] * len(makers))
    text = f"func.func @main(%x: {shape}, %y: {shape}) -> ({masks}) {{\n  %0 = hlo.compare EQ, %x, %y : ({shape}, {shape}) -> tensor<{x.size}xi1>\n"
    text += f"  return {', '.join(['%0'] * len(makers))} : {masks}\n}}"
    module = Program(text).module
    block = next(iter(module.body.block.ops)).regions[0].block
    terminator = block.last_op
    assert terminator is not None
    given = Builder.before(terminator).tensors(block.args)
    terminator.operands = [make(*given).value for make in makers]
    return list(evaluate(module, (x, y)))


@pytest.mark.parametrize("type_", TYPES)
def test_verdicts_are_those_of_the_jit(type_: str) -> None:
    x, y = pairs(TYPES[type_])
    bounds = ((0, 3), (1, 4), (0, 2**62))
    found = masks(
        type_,
        x,
        y,
        [
            *(lambda a, b, low=low, high=high: is_far(a, b, low, high) for low, high in bounds),
            lambda a, b: is_apart(a, b, 1e-3),
        ],
    )
    for n in range(x.size):
        one, other = x[n : n + 1], y[n : n + 1]
        for (least, most), far in zip(bounds, found, strict=False):
            stated = {"min_ulp_difference": IntegerAttr(least, i64), "max_ulp_difference": IntegerAttr(most, i64)}
            assert bool(far[n]) == (run_check("expect_close", one, other, stated) is not None), (one, other, least)
        apart = run_check("expect_almost_eq", one, other, {"tolerance": FloatAttr(1e-3, f64)})
        assert bool(found[-1][n]) == (apart is not None), (one, other)


def test_a_check_of_floats_without_integers_of_their_size_is_refused() -> None:
    text = """func.func @main(%x: tensor<2xi32>) {
      check.expect_close %x, %x : tensor<2xi32>, tensor<2xi32>
      return
    }"""
    with pytest.raises(DiagnosticError, match="compares floats of 4, 8, 16, 32, 64 bits, not i32"):
        compile_ahead(text)
