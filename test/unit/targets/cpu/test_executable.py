"""The Python API: arrays in and out, errors, caching, threads."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from subprocess import run
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from checkout import EXAMPLES
from xhlo.targets.cpu import memory
from xhlo.targets.cpu.memory import POOL, SMALL, BufferPool

AXPY = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = hlo.add %x, %x : tensor<4x8xf32>
  %1 = hlo.add %0, %y : tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
"""
X = np.arange(32, dtype=np.float32).reshape(4, 8)


def test_arrays_in_and_out() -> None:
    result = xhlo.compile(AXPY)(X, X)
    np.testing.assert_array_equal(result, 3 * X)


def test_strided_and_foreign_arrays_are_converted() -> None:
    executable = xhlo.compile(AXPY)
    wide = np.arange(64, dtype=np.float32).reshape(4, 16)
    np.testing.assert_array_equal(executable(wide[:, ::2], X), 2 * wide[:, ::2] + X)
    jax = pytest.importorskip("jax")
    np.testing.assert_array_equal(executable(jax.numpy.asarray(X), X), 3 * X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X,), "expected 2 arguments, got 1"),
        ((X, X, X), "expected 2 arguments, got 3"),
        ((X, X.astype(np.float64)), "argument 1: expected dtype float32"),
        ((X[0], X), r"argument 0: expected shape \(4, 8\)"),
        ((X, 1.0), "argument 1: expected an array of type tensor<4x8xf32>, got float"),
        ((X, None), "argument 1: expected an array of type tensor<4x8xf32>, got NoneType"),
        ((X, X.T), r"argument 1: expected shape \(4, 8\)"),
    ],
)
def test_wrong_arguments_are_type_errors(arguments: tuple[object, ...], message: str) -> None:
    executable = xhlo.compile(AXPY)
    with pytest.raises(TypeError, match=message):
        executable(*arguments)


def test_results_of_every_count_and_type() -> None:
    text = """
    func.func @main(%x: tensor<3xbf16>, %i: tensor<ui8>, %p: tensor<2xi1>) -> (tensor<3xbf16>, tensor<ui8>, tensor<2xi1>) {
      %0 = hlo.add %x, %x : tensor<3xbf16>
      %1 = hlo.add %i, %i : tensor<ui8>
      %2 = hlo.not %p : tensor<2xi1>
      func.return %0, %1, %2 : tensor<3xbf16>, tensor<ui8>, tensor<2xi1>
    }
    """
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    a, b, c = xhlo.compile(text)(x, np.array(200, np.uint8), np.array([True, False]))
    assert a.dtype == x.dtype
    assert a.tolist() == [2, 4, 6]
    assert b.dtype == np.uint8
    assert b.shape == ()
    assert b == 144
    assert c.dtype == np.bool_
    assert c.tolist() == [False, True]


def test_inputs_are_never_written_and_outputs_never_shared() -> None:
    executable = xhlo.compile(AXPY)
    x = X.copy()
    first = executable(x, x)
    second = executable(x, x)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(x, X)


def test_returned_arguments_are_copies() -> None:
    executable = xhlo.compile(
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  func.return %x, %x : tensor<4xf32>, tensor<4xf32>\n}"
    )
    x = np.ones(4, np.float32)
    a, b = executable(x)
    a[0] = 2
    assert x[0] == b[0] == 1


def test_stages_as_text() -> None:
    executable = xhlo.compile(AXPY)
    assert "hlo.add" in executable.as_text("hlo")
    assert "hlo.fusion" in executable.as_text("fused")
    assert "linalg.generic" in executable.as_text("linalg")
    assert "define" in executable.as_text("llvm")
    assert "ret" in executable.as_text("asm")
    with pytest.raises(ValueError, match="no stage 'wasm'"):
        executable.as_text("wasm")


def test_kernels() -> None:
    (kernel,) = xhlo.compile(AXPY).kernels
    assert (kernel.kind, kernel.ops, kernel.bytes, kernel.flops, kernel.sites) == ("loop", 2, 3 * 128, 64, 1)


def test_profile_counts_calls() -> None:
    executable = xhlo.compile(AXPY, profile=True)
    for _ in range(3):
        executable(X, X)
    (kernel,) = executable.kernels
    assert kernel.calls == 3
    assert kernel.nanoseconds > 0


def test_equal_programs_are_compiled_once() -> None:
    assert xhlo.compile(AXPY) is xhlo.compile(AXPY)
    assert xhlo.compile(AXPY) is not xhlo.compile(AXPY, profile=True)


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "axpy.mlir"
    path.write_text(AXPY)
    for source in (path, str(path)):
        np.testing.assert_array_equal(xhlo.compile(source)(X, X), 3 * X)
    with pytest.raises(xhlo.DiagnosticError, match="cannot read"):
        xhlo.compile(tmp_path / "absent.mlir")
    with pytest.raises(xhlo.DiagnosticError, match=r"cannot read 'a\\x00b': embedded null"):
        xhlo.compile("a\0b")
    with pytest.raises(TypeError, match="got int"):
        xhlo.compile(3)


def test_jax_lowered() -> None:
    jax = pytest.importorskip("jax")
    executable = xhlo.compile(jax.jit(lambda x: jax.numpy.tanh(x).sum(0)).lower(X))
    np.testing.assert_allclose(executable(X), np.tanh(X).sum(0), rtol=1e-6)


def test_unknown_target() -> None:
    with pytest.raises(ValueError, match="no target is named 'abacus'.*cpu"):
        xhlo.compile(AXPY, target="abacus")


def test_failed_check() -> None:
    text = """
    func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %0 = hlo.constant dense<1> : tensor<2xi32>
      hlo.custom_call @check.expect_eq(%x, %0) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
      func.return %x : tensor<2xi32>
    }
    """
    executable = xhlo.compile(text)
    ones = np.ones(2, np.int32)
    np.testing.assert_array_equal(executable(ones), ones)
    with pytest.raises(xhlo.CheckFailure):
        executable(ones * 2)


def test_calls_from_several_threads() -> None:
    """Each call has its own arena and outputs."""
    text = """
    func.func @main(%x: tensor<256x256xf32>) -> tensor<256xf32> {
      %zero = hlo.constant dense<0.0> : tensor<f32>
      %0 = hlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %1 = hlo.reduce(%0 init: %zero) applies hlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
      func.return %1 : tensor<256xf32>
    }
    """
    executable = xhlo.compile(text)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.full((256, 256), number, np.float32)
        for _ in range(20):
            if not (executable(x) == 256 * 256 * number * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_large_outputs_come_from_the_pool_and_go_back() -> None:
    text = (
        f"func.func @main(%x: tensor<{SMALL}xf32>) -> tensor<{SMALL}xf32> {{\n"
        f"  %0 = hlo.negate %x : tensor<{SMALL}xf32>\n  func.return %0 : tensor<{SMALL}xf32>\n}}"
    )
    executable = xhlo.compile(text)
    x = np.ones(SMALL, np.float32)
    first = executable(x)
    address = first.ctypes.data
    view = first[10:]
    del first
    gc.collect()
    assert executable(x).ctypes.data != address, "a view keeps the memory"
    del view
    gc.collect()
    assert executable(x).ctypes.data == address


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX, if another test has loaded it
@pytest.mark.parametrize("size", [SMALL, memory.HUGE_PAGE])
def test_a_child_of_a_fork_has_pages_of_its_own(size: int) -> None:
    """Its calls take blocks that are in use here, once it has dropped the arrays."""
    array = memory.new_array((size,), np.dtype(np.uint8), size)
    array[:] = 1
    child = os.fork()
    if not child:
        array[:] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (array == 1).all()


def test_pool_keeps_no_more_than_its_limit() -> None:
    pool = BufferPool(limit=1 << 20)
    blocks = [pool.take(1 << 19) for _ in range(4)]
    for block in blocks:
        pool.give_back(block)
    assert sum(pool.take(1 << 19) in blocks for _ in range(4)) == 2
    assert POOL.take(1).address % 64 == 0


def test_an_interrupt_before_the_owner_of_memory_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt between the two leaves an owner of nothing."""
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    block = POOL.take(4096)
    owner = memory._lent_bytes(4096).from_address(block.address)  # pyright: ignore[reportPrivateUsage]
    del owner
    assert not ignored


def test_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, xhlo; print(sorted({'xdsl', 'numpy', 'llvmlite', 'lit', 'cuda', 'filecheck'} & set(sys.modules)))"
    )
    done = run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_compiling_replaces_no_method_of_operations(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """xDSL's ImplicitBuilder replaces `Operation.__post_init__` for all threads, those of other compilations too."""

    def replaced(*_: object) -> None:
        raise AssertionError("ImplicitBuilder is used")

    monkeypatch.setattr("xdsl.builder._override_operation_post_init", replaced)
    for name in ("softmax", "mlp_training_step"):
        xhlo.compile(EXAMPLES / f"{name}.mlir", target=target)


def test_threads_compile_at_the_same_time() -> None:
    """Matrix products of many shapes share their micro-kernels, which the first thread compiles."""
    results: dict[int, bool] = {}

    def compile_and_run(number: int) -> None:
        rows, columns = 16 + number % 3, 32 + 16 * (number % 4)
        executable = xhlo.compile(f"""
func.func @main(%x: tensor<{rows}x40xf32>, %y: tensor<40x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<{rows}x40xf32>, tensor<40x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  func.return %0 : tensor<{rows}x{columns}xf32>
}}
""")
        x = np.random.default_rng(number).standard_normal((rows, 40)).astype(np.float32)
        y = np.random.default_rng(number).standard_normal((40, columns)).astype(np.float32)
        results[number] = np.allclose(executable(x, y), x @ y, atol=1e-4)

    threads = [threading.Thread(target=compile_and_run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(12), True)
