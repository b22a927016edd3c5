"""Executables as bytes: a loaded executable computes the same, and other bytes are refused."""

from __future__ import annotations

import contextlib
import json
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu import jit, serialization
from xhlo.targets.program import container
from xhlo.tools.fuzzing.mutations import changed_bytes

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


def test_what_is_not_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match="expected the bytes that Executable.serialize returned, got str"):
        xhlo.deserialize("softmax.bin")  # pyright: ignore[reportArgumentType]
    data = xhlo.compile(SOFT).serialize()
    assert xhlo.deserialize(memoryview(data)).serialize() == data  # pyright: ignore[reportArgumentType]


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


def test_mutated_bytes_are_refused() -> None:
    """Bytes changed, inserted, removed and cut off: the checksum decides before anything else is read."""
    data = xhlo.compile(SOFT).serialize()
    numbers = random.Random(0)
    for _ in range(2000):
        wrong = changed_bytes(numbers, data)
        if wrong != data:
            with pytest.raises(ValueError, match="serialized"):
                xhlo.deserialize(wrong)


def forged(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The bytes with another header, and a checksum that fits."""
    magic, number, _, length = container._FIXED.unpack_from(data)
    payload = data[container._FIXED.size :]
    header = json.loads(payload[:length])
    change(header)
    encoded = json.dumps(header).encode()
    payload = encoded + payload[length:]
    return container._FIXED.pack(magic, number, container._digest(len(encoded), payload), len(encoded)) + payload


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a header."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _leaves(value[key])


def test_forged_headers_are_errors_or_harmless() -> None:
    """With a checksum that fits, each field replaced in turn by values of other types, or left out."""
    data = xhlo.compile(CHECKED).serialize()
    length = container._FIXED.unpack_from(data)[3]
    count = len(list(_leaves(json.loads(data[container._FIXED.size :][:length]))))
    others: tuple[Any, ...] = (None, -1, "os", [], {}, [[[]]], 1e300)
    for index in range(count):

        def change(header: dict[str, Any], index: int = index) -> None:
            where, key = list(_leaves(header))[index]
            where[key] = others[index % len(others)]

        with contextlib.suppress(ValueError, xhlo.DiagnosticError):
            xhlo.deserialize(forged(data, change))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target", "os"),
        ("target", "../../evil"),
        ("inputs", [[[3], "object", "tensor<3xf32>"]]),
        ("inputs", [[[3], "O", "tensor<3xf32>"]]),
        ("inputs", [[[-3], "float32", "tensor<3xf32>"]]),
    ],
)
def test_names_in_a_header_are_from_closed_lists(field: str, value: Any) -> None:
    data = xhlo.compile(CHECKED).serialize()
    with pytest.raises(ValueError):
        xhlo.deserialize(forged(data, lambda header: header.update({field: value})))


def test_code_names_only_the_functions_of_the_runtime() -> None:
    data = xhlo.compile(SOFT).serialize()
    image = serialization.read_image(container.unpack(data))
    call = "define void @xhlo_entry(ptr %p) {\n  %r = call i32 @system(ptr %p)\n  ret void\n}\ndeclare i32 @system(ptr)"
    image.code = (jit.compile_to_object(call),)
    with pytest.raises(ValueError, match="names the function 'system'"):
        xhlo.deserialize(serialization.serialize(image, None))
    image.code = (jit.compile_to_object("define void @xhlo_entry(ptr %p) {\n  ret void\n}"),)
    image.data = {"memcpy": bytes(64)}
    with pytest.raises(ValueError, match="defines 'memcpy' anew"):
        xhlo.deserialize(serialization.serialize(image, None))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other formats of object files are not read")
def test_damaged_object_files_are_refused() -> None:
    image = serialization.read_image(container.unpack(xhlo.compile(SOFT).serialize()))
    code = image.code[0]
    for size in (10, 64, len(code) // 2, len(code) - 70):
        image.code = (code[:size],)
        with pytest.raises(ValueError):
            xhlo.deserialize(serialization.serialize(image, None))


def test_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    formats = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ours, theirs = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))

    def private(key: Any) -> bytes:
        pem, form = formats.Encoding.PEM, formats.PrivateFormat.PKCS8
        return key.private_bytes(pem, form, formats.NoEncryption())

    trusted = tmp_path / "trusted.pem"
    form = formats.PublicFormat.SubjectPublicKeyInfo
    trusted.write_bytes(ours.public_key().public_bytes(formats.Encoding.PEM, form))
    data = xhlo.compile(SOFT).serialize()
    signed = xhlo.sign_executable(data, private(ours))
    assert xhlo.deserialize(signed)(X, np.int32(4))[1] == 8  # a signature that nobody asks for
    monkeypatch.setenv("XHLO_TRUSTED_KEYS", str(trusted))
    assert xhlo.deserialize(signed)(X, np.int32(4))[1] == 8
    with pytest.raises(ValueError, match="not signed"):
        xhlo.deserialize(data)
    with pytest.raises(ValueError, match="not among those"):
        xhlo.deserialize(xhlo.sign_executable(data, private(theirs)))
    for at in (50, 100, 110, len(signed) - 1):
        wrong = bytearray(signed)
        wrong[at] ^= 1
        with pytest.raises(ValueError, match="signature is wrong"):
            xhlo.deserialize(bytes(wrong))
    monkeypatch.setenv("XHLO_TRUSTED_KEYS", str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="cannot be read"):
        xhlo.deserialize(signed)


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
