"""Convolutions: which loop is divided into tasks, and into how many."""

from __future__ import annotations

import re

import pytest

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.cpu import CPU as machine
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering


def task_counts(batch: int, size: int, features: int, groups: int) -> list[int]:
    """The tasks of each parallel loop of a convolution by 3x3 windows."""
    shape, kernel = f"{batch}x{size}x{size}x{features}xf32", f"3x3x{features // groups}x{features}xf32"
    text = f"""
    func.func @main(%x: tensor<{shape}>, %w: tensor<{kernel}>) -> tensor<{shape}> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
        : (tensor<{shape}>, tensor<{kernel}>) -> tensor<{shape}>
      return %0 : tensor<{shape}>
    }}"""
    lowering = Lowering(make_context(), parse_module(text, "convolution.mlir", make_context()), CPU)
    lowering.to("loops")
    return [int(count) for count in re.findall(r"cpu.parallel_for @\w+\(.*count = (\d+)", str(lowering.module))]


@pytest.mark.parametrize("batch, size, features", [(8, 14, 128), (2, 28, 96), (40, 7, 64)])
def test_depthwise_convolutions_of_small_images_are_divided(batch: int, size: int, features: int) -> None:
    """No loop has as many iterations as tasks are wanted but that over columns, too short to be divided."""
    counts = task_counts(batch, size, features, groups=features)
    assert len(counts) == 1 and counts[0] >= 4


def test_the_rows_of_a_convolution_count_as_work() -> None:
    """
    The product of one row of the output is small, and there are hundreds of them: a row's work alone would make 3
    tasks. How many there are depends on the size of the L2 cache.
    """
    *_, product = task_counts(8, 56, 64, groups=1)
    assert product >= machine.tiles // 2
