"""Kernels without reductions as PTX: wide accesses, few registers, nothing in local memory, on several chips."""

from __future__ import annotations

import re

import pytest

from test_gpu_ext import ROWS, scan_program, scatter_program, sort_program
from test_gpu_reductions import ptx_of
from xhlo.lowering.device.chips import get_chip
from xhlo.targets.nvptx.assembler import assemble, assemblers

MEMORY_BOUND = """
func.func @main(%x: tensor<67108864xf32>, %y: tensor<67108864xf32>, %t: tensor<16384x16384xf32>,
    %h: tensor<8192x4096xbf16>, %r: tensor<4096xbf16>, %u: tensor<1024x16384xf32>, %i: tensor<i32>,
    %w: tensor<32000x1024xbf16>, %k: tensor<16384x1xi32>)
    -> (tensor<67108864xf32>, tensor<16384x16384xf32>, tensor<8192x4096xbf16>, tensor<4096x8192xbf16>,
        tensor<16384x16384xf32>, tensor<16384x1024xbf16>, tensor<134217728xf32>, tensor<67108864xf16>) {
  %c = stablehlo.constant dense<1.5> : tensor<67108864xf32>
  %0 = stablehlo.multiply %x, %y : tensor<67108864xf32>
  %1 = stablehlo.add %0, %c : tensor<67108864xf32>
  %2 = stablehlo.maximum %1, %y : tensor<67108864xf32>
  %3 = stablehlo.subtract %2, %x : tensor<67108864xf32>
  %4 = stablehlo.abs %3 : tensor<67108864xf32>
  %5 = stablehlo.sqrt %4 : tensor<67108864xf32>
  %6 = stablehlo.negate %5 : tensor<67108864xf32>
  %7 = stablehlo.transpose %t, dims = [1, 0] : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %8 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<4096xbf16>) -> tensor<8192x4096xbf16>
  %9 = stablehlo.add %h, %8 : tensor<8192x4096xbf16>
  %10 = stablehlo.transpose %h, dims = [1, 0] : (tensor<8192x4096xbf16>) -> tensor<4096x8192xbf16>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %11 = stablehlo.dynamic_update_slice %t, %u, %i, %z
      : (tensor<16384x16384xf32>, tensor<1024x16384xf32>, tensor<i32>, tensor<i32>) -> tensor<16384x16384xf32>
  %12 = "stablehlo.gather"(%w, %k) <{dimension_numbers = #stablehlo.gather<offset_dims=[1],
      collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1>, slice_sizes = array<i64: 1, 1024>}>
      : (tensor<32000x1024xbf16>, tensor<16384x1xi32>) -> tensor<16384x1024xbf16>
  %13 = stablehlo.concatenate %x, %y, dim = 0
      : (tensor<67108864xf32>, tensor<67108864xf32>) -> tensor<134217728xf32>
  %14 = stablehlo.convert %y : (tensor<67108864xf32>) -> tensor<67108864xf16>
  return %6, %7, %9, %10, %11, %12, %13, %14 : tensor<67108864xf32>, tensor<16384x16384xf32>,
      tensor<8192x4096xbf16>, tensor<4096x8192xbf16>, tensor<16384x16384xf32>, tensor<16384x1024xbf16>,
      tensor<134217728xf32>, tensor<67108864xf16>
}
"""

MOST_REGISTERS = 40
"""With 32, a multiprocessor can run as many threads as it holds; ptxas uses a few more where that does no harm."""


@pytest.mark.long(3)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_100"])
def test_memory_bound_kernels(chip: str) -> None:
    ptx = ptx_of(MEMORY_BOUND, chip)
    assert ".local" not in ptx
    kernels = ptx.split(".visible .entry ")[1:]
    assert len(kernels) == 7
    for kernel in kernels:
        if ".shared" in kernel:
            continue
        accesses = re.findall(r"(?:ld\.global\.nc|st\.global)\.\S+", kernel)
        # A gather has indices of 4 bytes, a slice a start; f16 beside f32 moves 8 bytes.
        wide = [access for access in accesses if access.endswith((".v4.b32", ".v2.b64", ".v2.b32"))]
        assert len(wide) >= len(accesses) - 4, accesses
    if next(assemblers(), None) is not None:
        for resources in assemble(ptx, get_chip(chip)).kernels:
            assert not resources.stack and not resources.spills, resources
            assert resources.registers <= MOST_REGISTERS, resources


@pytest.mark.long(3)
@pytest.mark.spread(3)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", ["sort", "scan", "scatter"])
def test_what_waits_for_other_threads(name: str, chip: str) -> None:
    text = {
        "sort": sort_program(
            (5000,), 0, "%s = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>"
        ),
        "scan": scan_program((3, 1000000), 1, False, "f32", "%m = stablehlo.add %a, %b : tensor<f32>", "0.0"),
        "scatter": scatter_program("50x64xf32", "3000x1xi32", "3000x64xf32", ROWS),
    }[name]
    ptx = ptx_of(text, chip)
    assert ".local" not in ptx
    if next(assemblers(), None) is not None:
        assert not any(resources.stack for resources in assemble(ptx, get_chip(chip)).kernels)
