"""The same input gives the same bytes, whatever the hash seed and the thread count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xhlo
from checkout import SUPPORT
from seed_outputs import FORMS, PROGRAMS, ROOT, SEEDS
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu import threads
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

SETTINGS = [("0", "1"), ("1", "2"), ("2", "3")]
"""PYTHONHASHSEED and XHLO_NUM_THREADS."""


def output_of(command: list[str], seed: str, threads: str, **more: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "XHLO_NUM_THREADS": threads, **more}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, cwd=ROOT, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def of_settings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """For each of the settings a folder of what one process makes of programs (`seed_outputs.py`)."""
    folders = [tmp_path_factory.mktemp("setting") for _ in SETTINGS]
    for folder, setting in zip(folders, SETTINGS, strict=True):
        output_of([str(SUPPORT / "seed_outputs.py"), str(folder)], *setting)
    return folders


@pytest.mark.long
def test_lowered_modules_and_assembly(of_settings: list[Path]) -> None:
    first, *others = [(folder / "lowered").read_text() for folder in of_settings]
    assert first.count("llvm.func @xhlo_entry") == len(PROGRAMS)
    assert others == [first] * len(others)


@pytest.mark.long
def test_text_and_results_of_random_programs(of_settings: list[Path]) -> None:
    first, *others = [(folder / "random").read_text() for folder in of_settings]
    assert first.count("\n") == len(SEEDS)
    assert others == [first] * len(others)


needs_ptxas = pytest.mark.skipif("cubin" not in FORMS, reason="there is no ptxas on PATH")


@pytest.mark.long
@pytest.mark.parametrize("emit", ["mlir", "ptx", pytest.param("cubin", marks=needs_ptxas)])
def test_programs_for_gpus(of_settings: list[Path], emit: str) -> None:
    found = {(folder / emit).read_bytes() for folder in of_settings}
    assert len(found) == 1 and found != {b""}


RESULTS = """func.func @main(%x: tensor<512x600xf32>, %y: tensor<600x300xf32>, %i: tensor<4096x1xi32>, %u: tensor<4096xf32>,
    %k: tensor<3x3x4x8xf32>, %z: tensor<2x64x64x4xf32>, %s: tensor<2xui64>)
    -> (tensor<512xf32>, tensor<600xf32>, tensor<f32>, tensor<512x300xf32>, tensor<2x62x62x8xf32>, tensor<512x600xf32>,
        tensor<1000xf32>, tensor<4096xf32>, tensor<70000xui32>, tensor<512x600xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x600xf32>, tensor<f32>) -> tensor<512xf32>
  %columns = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x600xf32>, tensor<f32>) -> tensor<600xf32>
  %all = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x600xf32>, tensor<f32>) -> tensor<f32>
  %dot = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<512x600xf32>, tensor<600x300xf32>) -> tensor<512x300xf32>
  %conv = stablehlo.convolution(%z, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x64x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x62x62x8xf32>
  %sorted = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<512x600xf32>) -> tensor<512x600xf32>
  %none = stablehlo.constant dense<0.0> : tensor<1000xf32>
  %scattered = "stablehlo.scatter"(%none, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<1000xf32>, tensor<4096x1xi32>, tensor<4096xf32>) -> tensor<1000xf32>
  %sums = "stablehlo.reduce_window"(%u, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) {window_dimensions = array<i64: 4096>, padding = dense<[[4095, 0]]> : tensor<1x2xi64>} : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %next, %bits = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<70000xui32>)
  %e = stablehlo.exponential %x : tensor<512x600xf32>
  %t = stablehlo.tanh %e : tensor<512x600xf32>
  %chain = stablehlo.multiply %t, %x : tensor<512x600xf32>
  return %rows, %columns, %all, %dot, %conv, %sorted, %scattered, %sums, %bits, %chain : tensor<512xf32>, tensor<600xf32>,
    tensor<f32>, tensor<512x300xf32>, tensor<2x62x62x8xf32>, tensor<512x600xf32>, tensor<1000xf32>, tensor<4096xf32>,
    tensor<70000xui32>, tensor<512x600xf32>
}
"""
"""Sums by rows, by columns and of all, product, convolution, sort, scatter-add, running sum, random bits, a chain."""


def stored(path: Path) -> dict[str, bytes]:
    with np.load(path) as arrays:
        return {name: array.tobytes() for name, array in arrays.items()}


def test_results_do_not_depend_on_threads_seeds_or_caches(tmp_path: Path) -> None:
    """Work is split by shape, not by thread. The last run loads the executable that the one before stored."""
    program, cache = tmp_path / "results.mlir", {"XHLO_CACHE_DIR": str(tmp_path / "cache"), "XHLO_CACHE_SIZE": "64M"}
    program.write_text(RESULTS)
    runs: list[tuple[str, str, dict[str, str]]] = [("0", "1", {}), ("1", "2", {}), ("2", "8", cache), ("3", "5", cache)]
    found: list[dict[str, bytes]] = []
    for seed, count, more in runs:
        path = tmp_path / f"{seed}.npz"
        output_of(["-m", "xhlo.tools.hlo_run", str(program), "--outputs", str(path)], seed, count, **more)
        found.append(stored(path))
    assert any((tmp_path / "cache").iterdir())
    for other in found[1:]:
        assert [name for name in found[0] if other[name] != found[0][name]] == []


@pytest.mark.long
def test_fusion_changes_no_bit_outside_of_sums() -> None:
    """Nor in the sums of this program, whose operands are its arguments."""
    rng = np.random.default_rng(0)
    shapes = [(512, 600), (600, 300), (4096, 1), (4096,), (3, 3, 4, 8), (2, 64, 64, 4)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    arrays[2] = rng.integers(0, 1000, (4096, 1)).astype(np.int32)
    arrays.append(np.array([1, 2], np.uint64))
    results: list[list[bytes]] = []
    for fuse in (True, False):
        ctx = make_context()
        executable = CPU.build(Lowering(ctx, parse_module(RESULTS, "results.mlir", ctx), CPU, fuse=fuse), lambda _: "")
        results.append([array.tobytes() for array in executable(*arrays)])
    assert results[0] == results[1]


def test_results_do_not_depend_on_the_thread_count() -> None:
    """Sums are split by shape, not by thread."""
    text = (ROOT / "examples" / "mlp_training_step.mlir").read_text()
    executable, before = xhlo.compile(text), threads.thread_count()
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(each.shape).astype(each.dtype) for each in executable.input_types]
    found: list[list[bytes]] = []
    try:
        for count in (1, 2, 3, 8):
            threads.set_thread_count(count)
            found.append([array.tobytes() for array in executable(*arrays)])
    finally:
        threads.set_thread_count(before)
    assert all(each == found[0] for each in found)
