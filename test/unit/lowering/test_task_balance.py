"""Tasks of parallel loops: two threads share them evenly, and gradients of filters have enough of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xhlo
from counting import calls
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.loop_nests.cost import MAX_TASKS, TASK_WORK, task_count, task_size
from xhlo.targets.cpu import host
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering


def share_of_two(total: int, work: int, multiple: int = 1) -> float:
    """The part of a loop's iterations that the busier of two threads has, each with half of the tasks."""
    size = task_size(total, task_count(total, work, total), multiple)
    tasks = -(-total // size)
    first = tasks // 2 * size
    return max(first, total - first) / total


def test_two_threads_share_loops_evenly() -> None:
    for total in (2, 4, 6, 8, *range(16, 130), 1000, 4097):
        for work in (TASK_WORK // 2, 2 * TASK_WORK, 3 * TASK_WORK, 5 * TASK_WORK, 11 * TASK_WORK, 500 * TASK_WORK):
            assert share_of_two(total, work) <= 0.55, (total, work)
    assert max(share_of_two(total, 3 * TASK_WORK, 8) for total in range(160, 400)) <= 0.55


def test_few_sizes_are_tried_for_long_loops() -> None:
    for total in (10**6 + 3, 10**9 + 7, 2**40):
        for tasks in (2, 3, 7, 255, MAX_TASKS):
            assert calls(lambda total=total, tasks=tasks: task_size(total, tasks, 16)) < 10 * MAX_TASKS


def gradient_of_filter(batch: int, size: int, inputs: int, outputs: int) -> str:
    x, y = f"tensor<{batch}x{size}x{size}x{inputs}xf32>", f"tensor<{batch}x{size}x{size}x{outputs}xf32>"
    result = f"tensor<3x3x{inputs}x{outputs}xf32>"
    return f"""
    func.func @main(%x: {x}, %y: {y}) -> {result} {{
      %0 = stablehlo.convolution(%x, %y) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
        window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
        : ({x}, {y}) -> {result}
      return %0 : {result}
    }}"""


@pytest.mark.long(3)
@pytest.mark.parametrize("batch, size, inputs, outputs", [(8, 28, 1, 32), (32, 28, 16, 32), (4, 30, 3, 80)])
def test_gradients_of_filters_are_cut_into_chunks(
    batch: int, size: int, inputs: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Few results are summed over many places: in chunks of the batch or of rows. The gradient of the results is read in
    place, so that the loops are those that pad the input, multiply, and add the chunks.
    """
    monkeypatch.setattr(host, "host_vector_bits", lambda: 512)  # others may pack the gradient first
    text = gradient_of_filter(batch, size, inputs, outputs)
    lowering = Lowering(make_context(), parse_module(text, "gradient.mlir", make_context()), CPU)
    lowering.to("loops")
    counts = [int(count) for count in re.findall(r"cpu.parallel_for @\w+\(.*count = (\d+)", str(lowering.module))]
    assert len(counts) <= 3 and max(counts) >= 8

    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, size, size, inputs), dtype=np.float32)
    y = rng.standard_normal((batch, size, size, outputs), dtype=np.float32)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float64)
    wanted = [
        [np.einsum("nhwi,nhwo->io", padded[:, i : i + size, j : j + size], y, optimize=True) for j in range(3)]
        for i in range(3)
    ]
    np.testing.assert_allclose(xhlo.compile(text)(x, y), np.array(wanted), rtol=1e-4, atol=2e-3)
