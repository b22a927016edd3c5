"""Executables as bytes: a loaded executable computes the same, and other bytes are refused."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu import serialization
from xhlo.targets.program import container

SOFT = """
func.func @main(%x: tensor<4x8xf32>, %n: tensor<i32>) -> (tensor<4x8xf32>, tensor<i32>, tensor<3xbf16>) {
  %0 = hlo.exponential %x : tensor<4x8xf32>
  %1 = hlo.add %n, %n : tensor<i32>
  %2 = hlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>
  func.return %0, %1, %2 : tensor<4x8xf32>, tensor<i32>, tensor<3xbf16>
}
"""
X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)


def test_a_loaded_executable_computes_the_same() -> None:
    executable = xhlo.compile(SOFT)
    loaded = xhlo.deserialize(executable.serialize())
    for got, want in zip(loaded(X, np.int32(4)), executable(X, np.int32(4)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert loaded.output_types == executable.output_types
    assert loaded.output_types[2].dtype == ml_dtypes.bfloat16
    assert loaded.input_types == executable.input_types
    assert [kernel.name for kernel in loaded.kernels] == [kernel.name for kernel in executable.kernels]


def test_the_text_is_kept() -> None:
    executable = xhlo.compile(SOFT)
    loaded = xhlo.deserialize(executable.serialize())
    for stage in ("hlo", "fused", "llvm"):
        assert loaded.as_text(stage) == executable.as_text(stage)
    with pytest.raises(ValueError, match="no stage 'mid'"):
        loaded.as_text("mid")


def test_what_was_loaded_can_be_serialized() -> None:
    data = xhlo.compile(SOFT).serialize()
    assert xhlo.deserialize(data).serialize() == data


def test_a_profile_of_a_loaded_executable_starts_at_zero() -> None:
    executable = xhlo.compile(SOFT, profile=True)
    executable(X, np.int32(0))
    loaded = xhlo.deserialize(executable.serialize())
    assert [kernel.calls for kernel in loaded.kernels] == [0] * len(loaded.kernels)
    loaded(X, np.int32(0))
    assert loaded.kernels[0].calls == 1


def test_other_processes_load_it(tmp_path: Path) -> None:
    path = tmp_path / "program.xhlo"
    path.write_bytes(xhlo.compile(SOFT).serialize())
    program = f"""
import sys, numpy as np, xhlo
executable = xhlo.deserialize(open({str(path)!r}, "rb").read())
assert "xhlo.passes.manager.pass_manager" not in sys.modules, "loading runs no pass"
print(executable(np.zeros((4, 8), np.float32), np.int32(21)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "array(42, dtype=int32)" in done.stdout


CHECKED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = hlo.add %x, %x : tensor<3xf32>
  %1 = hlo.constant dense<[2.0, 4.0, 6.0]> : tensor<3xf32>
  hlo.custom_call @check.expect_almost_eq(%0, %1) {tolerance = 0.5 : f32} : (tensor<3xf32>, tensor<3xf32>) -> ()
  func.return %0 : tensor<3xf32>
}
"""


def test_checks_are_kept() -> None:
    loaded = xhlo.deserialize(xhlo.compile(CHECKED).serialize())
    good = np.array([1.2, 2, 3], np.float32)
    np.testing.assert_array_equal(loaded(good), 2 * good)
    with pytest.raises(xhlo.CheckFailure, match=r"<text>:5:3: error: check.expect_almost_eq failed: 1 of 3"):
        loaded(np.array([1.3, 2, 3], np.float32))


CALLING = """
func.func @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xf8E4M3FN>) -> tensor<2xcomplex<f32>> {
  %0 = hlo.custom_call @serialized_scale(%x, %y) {mhlo.backend_config = {factor = 0.1 : f64, names = ["a", "b"]}}
    : (tensor<2xcomplex<f32>>, tensor<2xf8E4M3FN>) -> tensor<2xcomplex<f32>>
  func.return %0 : tensor<2xcomplex<f32>>
}
"""


def test_host_functions_are_found_by_name() -> None:
    def scale(call, x, y):
        assert call.attributes == {"factor": 0.1, "names": ("a", "b")}
        assert y.dtype == ml_dtypes.float8_e4m3fn
        return (x * call.attributes["factor"]).astype(x.dtype)

    arguments = np.array([1 + 2j, 3], np.complex64), np.ones(2, ml_dtypes.float8_e4m3fn)
    xhlo.register_custom_call("serialized_scale", scale)
    try:
        data = xhlo.compile(CALLING).serialize()
        np.testing.assert_allclose(xhlo.deserialize(data)(*arguments), arguments[0] * 0.1, rtol=1e-6)
    finally:
        from xhlo.hlo_dialect.custom_calls.registry import REGISTRY

        REGISTRY.remove("serialized_scale")
    with pytest.raises(xhlo.DiagnosticError, match="calls the target 'serialized_scale', which is not registered"):
        xhlo.deserialize(data)


def test_damaged_bytes_are_refused() -> None:
    data = xhlo.compile(SOFT).serialize()
    for size in (0, 5, 20, 60, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="cut off|no serialized"):
            xhlo.deserialize(data[:size])
    for at in (0, 9, 30, 45, 60, len(data) // 2, len(data) - 1):
        wrong = bytearray(data)
        wrong[at] ^= 1
        with pytest.raises(ValueError, match="damaged|no serialized|has format"):
            xhlo.deserialize(bytes(wrong))
    with pytest.raises(ValueError, match="damaged"):
        xhlo.deserialize(data + b"x")
    with pytest.raises(ValueError, match="no serialized"):
        xhlo.deserialize(b"func.func @main() { return }")


def test_another_format_is_refused() -> None:
    data = bytearray(xhlo.compile(SOFT).serialize())
    data[8:12] = struct.pack("<I", container.FORMAT + 1)
    with pytest.raises(ValueError, match=f"has format {container.FORMAT + 1}"):
        xhlo.deserialize(bytes(data))


@pytest.mark.parametrize("what", ["xhlo", "LLVM", "target triple", "CPU", "CPU features"])
def test_another_machine_is_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = xhlo.compile(SOFT).serialize()
    other = serialization.environment() | {what: "other"}
    monkeypatch.setattr(serialization, "environment", lambda: other)
    with pytest.raises(ValueError, match=f"compiled for another {what}: .*; here it is other"):
        xhlo.deserialize(data)


def test_large_constants_are_kept_as_bytes() -> None:
    values = np.random.default_rng(0).standard_normal((64, 100)).astype(np.float32)
    more = np.arange(3000, dtype=np.int16)
    text = f"""
func.func @main(%i: tensor<i32>, %x: tensor<64x100xf32>) -> (tensor<64x100xf32>, tensor<3000xi16>) {{
  %0 = hlo.constant dense<"0x{values.tobytes().hex()}"> : tensor<64x100xf32>
  %1 = hlo.constant dense<"0x{more.tobytes().hex()}"> : tensor<3000xi16>
  %2 = hlo.add %0, %x : tensor<64x100xf32>
  func.return %2, %1 : tensor<64x100xf32>, tensor<3000xi16>
}}
"""
    executable = xhlo.compile(text)
    data = executable.serialize()
    assert values.tobytes() in data
    for each in (executable, xhlo.deserialize(data)):
        sums, numbers = each(np.int32(0), np.ones((64, 100), np.float32))
        np.testing.assert_array_equal(sums, values + 1)
        np.testing.assert_array_equal(numbers, more)
