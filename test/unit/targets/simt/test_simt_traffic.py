"""The SIMT interpreter's counts of sectors and bank conflicts; kernels move no more memory than needed."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from simt_programs import SHARED, gpu_level, kernel_text, parse_program
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.kernel import Kernel
from xhlo.targets.simt.memory import undefined
from xhlo.targets.simt.traffic import SECTOR, KernelTraffic


def counted(body: str, parameters: str, *, threads: int = 64, shared: str = "") -> KernelTraffic:
    """The traffic of one block whose only argument is %a."""
    text = kernel_text(body, parameters, threads=threads, shared=shared)
    host = f"""
    func.func @main({parameters}) {{
      %n = arith.constant {threads} : index
      %one = arith.constant 1 : index
      gpu.launch_func @kernels::@k blocks in (%one, %one, %one) threads in (%n, %one, %one) args({parameters.replace(": ", " : ")})
      func.return
    }}
    """
    program = HostProgram(parse_program(text + host))
    (traffic,) = program.count_traffic()
    (kernel,) = program.kernels.values()
    assert isinstance(kernel, Kernel)
    shape, dtype = kernel.function.function_type.inputs.data[0].get_shape(), np.float32  # pyright: ignore
    program.run([], [np.zeros(shape, dtype)])
    return traffic


@pytest.mark.parametrize(("stride", "moved"), [(1, 8), (2, 16), (8, 64), (0, 2)])
def test_sectors(stride: int, moved: int):
    """64 threads: two warps that access 128 bytes each."""
    body = f"""
    %stride = arith.constant {stride} : index
    %i = arith.muli %t, %stride : index
    %x = memref.load %a[%i] : memref<1024xf32>
    """
    traffic = counted(body, "%a: memref<1024xf32>")
    found = traffic.total(shared=False)
    assert (found.requests, found.moved) == (2, moved)
    assert found.least == (8 if stride else 2)
    assert traffic.touched == (moved if stride else 1)


def test_masked_threads_move_nothing():
    body = """
    %go = arith.cmpi ult, %t, %c32 : index
    scf.if %go {
      %x = memref.load %a[%t] : memref<1024xf32>
    }
    """
    found = counted(body, "%a: memref<1024xf32>").total(shared=False)
    assert (found.requests, found.moved) == (1, 4)


@pytest.mark.parametrize(("row", "times"), [(32, 32), (33, 1), (34, 2), (1, 1)])
def test_bank_conflicts(row: int, times: int):
    """A column of shared memory whose rows have `row` words."""
    body = f"""
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %s[%t, %c0] : memref<32x{row}xf32, {SHARED}>
    """
    found = counted(body, "%a: memref<1024xf32>", threads=32, shared=f"%s: 32x{row}xf32").total(shared=True)
    assert (found.requests, found.least, found.moved) == (1, 1, times)


def test_wide_accesses_of_shared_memory_go_in_groups():
    body = f"""
    %zero = arith.constant dense<0.0> : vector<4xf32>
    vector.store %zero, %s[%t, %c0] : memref<32x4xf32, {SHARED}>, vector<4xf32>
    """
    found = counted(body, "%a: memref<1024xf32>", threads=32, shared="%s: 32x4xf32").total(shared=True)
    assert (found.least, found.moved) == (4, 4)


ROWS = """
func.func @main(%x: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<16x4096xf32>
  %d = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<16x4096xf32>, tensor<f32>) -> tensor<16xf32>
  %b = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<16xf32>) -> tensor<16x4096xf32>
  %r = stablehlo.divide %e, %b : tensor<16x4096xf32>
  return %r : tensor<16x4096xf32>
}
"""

ELEMENTWISE = """
func.func @main(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<65536xf32>
  %1 = stablehlo.add %0, %y : tensor<65536xf32>
  return %1 : tensor<65536xf32>
}
"""

TRANSPOSE = """
func.func @main(%x: tensor<256x320xf32>) -> tensor<320x256xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<256x320xf32>) -> tensor<320x256xf32>
  return %r : tensor<320x256xf32>
}
"""


@pytest.mark.parametrize(("name", "text"), [("rows", ROWS), ("elementwise", ELEMENTWISE), ("transpose", TRANSPOSE)])
def test_memory_is_passed_over_once(name: str, text: str):
    """Memory-bound kernels read each input once and write each result once, in whole sectors."""
    module, (arguments, results) = gpu_level(text)
    program = HostProgram(module)
    traffic = program.count_traffic()
    inputs = [np.zeros(type_.shape, type_.dtype) for type_ in arguments]
    outputs = [undefined(type_.shape, type_.dtype) for type_ in results]
    program.run(inputs, outputs)
    moved = sum(kernel.total(shared=False).moved for kernel in traffic)
    needed = sum(type_.nbytes for type_ in (*arguments, *results)) // SECTOR
    assert moved == needed, (name, [kernel.wasteful() for kernel in traffic])
    conflicts = [kernel.total(shared=True) for kernel in traffic]
    assert all(shared.moved == shared.least for shared in conflicts), name


def reduction(shape: tuple[int, ...], dimension: int) -> str:
    def tensor(sizes: tuple[int, ...]) -> str:
        return f"tensor<{''.join(f'{size}x' for size in sizes)}f32>"

    result = tensor((*shape[:dimension], *shape[dimension + 1 :]))
    return f"""
    func.func @main(%x: {tensor(shape)}) -> {result} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %e = stablehlo.multiply %x, %x : {tensor(shape)}
      %r = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [{dimension}]
          : ({tensor(shape)}, tensor<f32>) -> {result}
      return %r : {result}
    }}
    """


@pytest.mark.parametrize(
    ("shape", "dimension"), [((262144,), 0), ((128, 4096), 1), ((1024, 1024), 0), ((32, 64, 512), 1), ((50000, 8), 0)]
)
def test_reductions_read_their_input_once(shape: tuple[int, ...], dimension: int):
    """Partial sums of blocks add at most 5 %."""
    module, (arguments, results) = gpu_level(reduction(shape, dimension))
    program = HostProgram(module)
    traffic = program.count_traffic()
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (out,) = [undefined(type_.shape, type_.dtype) for type_ in results]
    program.run([x], [out])
    np.testing.assert_allclose(out, (x.astype(np.float64) ** 2).sum(axis=dimension), rtol=1e-5)
    moved = sum(kernel.total(shared=False).moved for kernel in traffic)
    assert moved * SECTOR <= 1.05 * (arguments[0].nbytes + out.nbytes), [kernel.wasteful() for kernel in traffic]


def test_table():
    executable = xhlo.compile(TRANSPOSE, target="simt", profile=True)
    executable(np.zeros((256, 320), np.float32))
    lines = executable.traffic_table().splitlines()
    assert lines[0].split() == ["kernel", "launches", "touched", "MB", "moved", "MB", "coalesced", "conflicts"]
    assert lines[1].split()[1:] == ["1", "0.655", "0.655", "100.0", "%", "1.00x"]
    executable.reset_profile()
    assert len(executable.traffic_table().splitlines()) == 1
    assert xhlo.compile(TRANSPOSE, target="simt").traffic_table() == ""
