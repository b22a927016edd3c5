"""Depthwise convolutions of small images: which loop is divided into tasks."""

from __future__ import annotations

import re

import pytest

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering


@pytest.mark.parametrize("batch, size, features", [(8, 14, 128), (2, 28, 96), (40, 7, 64)])
def test_depthwise_convolutions_of_small_images_are_divided(batch: int, size: int, features: int) -> None:
    """No loop has as many iterations as tasks are wanted but that over columns, too short to be divided."""
    shape, kernel = f"{batch}x{size}x{size}x{features}xf32", f"3x3x1x{features}xf32"
    text = f"""
    func.func @main(%x: tensor<{shape}>, %w: tensor<{kernel}>) -> tensor<{shape}> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = {features} : i64}}
        : (tensor<{shape}>, tensor<{kernel}>) -> tensor<{shape}>
      return %0 : tensor<{shape}>
    }}"""
    lowering = Lowering(make_context(), parse_module(text, "depthwise.mlir", make_context()), CPU)
    lowering.to("loops")
    counts = [int(count) for count in re.findall(r"cpu.parallel_for @\w+\(.*count = (\d+)", str(lowering.module))]
    assert len(counts) == 1 and counts[0] >= 4
