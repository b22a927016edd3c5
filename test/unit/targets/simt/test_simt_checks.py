"""
The SIMT interpreter reports undefined behaviour: planted races, accesses out of bounds, barriers that threads miss.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from simt_programs import SHARED, kernel_text, run_device_function
from xhlo.targets.simt.lanes import SimtError

REVERSE = f"""
    %x = memref.load %a[%t] : memref<64xf32>
    memref.store %x, %s[%t] : memref<64xf32, {SHARED}>
    BARRIER
    %c63 = arith.constant 63 : index
    %r = arith.subi %c63, %t : index
    %y = memref.load %s[%r] : memref<64xf32, {SHARED}>
    memref.store %y, %o[%t] : memref<64xf32>
"""


def reverse(barrier: str) -> np.ndarray:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    text = kernel_text(
        REVERSE.replace("BARRIER", barrier),
        "%a: memref<64xf32>, %o: memref<64xf32>",
        threads=64,
        shared="%s: 64xf32",
    )
    run_device_function(text, x, out)
    return out


def fails(text: str, *buffers: np.ndarray, match: str) -> str:
    with pytest.raises(SimtError) as caught:
        run_device_function(text, *buffers)
    message = str(caught.value)
    assert re.search(match, message), message
    assert "of kernel @k" in message and re.match(r"kernel\.mlir:\d+:\d+: error: '", message), message
    return message


def test_barrier_orders_shared_memory():
    np.testing.assert_array_equal(reverse("gpu.barrier"), np.arange(63, -1, -1))


def test_missing_barrier_is_found():
    with pytest.raises(SimtError, match=r"'memref.load' op reads what another thread writes without a barrier"):
        reverse("")


def test_missing_barrier_before_the_next_round_is_found():
    body = f"""
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {{
      %x = memref.load %a[%t] : memref<32xf32>
      memref.store %x, %s[%t] : memref<32xf32, {SHARED}>
      gpu.barrier
      %y = memref.load %s[%c0] : memref<32xf32, {SHARED}>
      memref.store %y, %a[%t] : memref<32xf32>
      AGAIN
    }}
    """
    parameters, x = "%a: memref<32xf32>", np.arange(32, dtype=np.float32)
    with_both = kernel_text(body.replace("AGAIN", "gpu.barrier"), parameters, threads=32, shared="%s: 32xf32")
    run_device_function(with_both, x)
    assert not x.any()
    without = kernel_text(body.replace("AGAIN", ""), parameters, threads=32, shared="%s: 32xf32")
    fails(without, np.arange(32, dtype=np.float32), match="'memref.store' op writes what another thread reads")


def test_barrier_in_a_branch_is_found():
    body = """
    %go = arith.cmpi ult, %t, %c32 : index
    scf.if %go {
      gpu.barrier
    }
    """
    message = fails(kernel_text(body, "%a: memref<1xf32>", threads=64), np.zeros(1, np.float32), match="barrier")
    assert "block (0, 0, 0), thread (32, 0, 0) does not" in message


def test_barrier_in_a_loop_of_different_length_is_found():
    body = "scf.for %i = %c0 to %t step %c1 {\n gpu.barrier\n}"
    fails(kernel_text(body, "%a: memref<1xf32>", threads=64), np.zeros(1, np.float32), match="barrier")


def test_barrier_in_a_branch_of_whole_blocks():
    """If all threads of a block take the same branch, its barriers are valid, whatever other blocks do."""
    body = f"""
    scf.for %i = %c0 to %block step %c1 {{
      %x = arith.index_cast %i : index to i32
      memref.store %x, %s[%t] : memref<32xi32, {SHARED}>
      gpu.barrier
      %c31 = arith.constant 31 : index
      %r = arith.subi %c31, %t : index
      %y = memref.load %s[%r] : memref<32xi32, {SHARED}>
      gpu.barrier
      memref.store %y, %o[%block, %t] : memref<5x32xi32>
    }}
    """
    out = np.full((5, 32), -1, np.int32)
    run_device_function(kernel_text(body, "%o: memref<5x32xi32>", threads=32, blocks=5, shared="%s: 32xi32"), out)
    np.testing.assert_array_equal(out, np.arange(5)[:, None] - np.ones((5, 32), int))


def test_store_out_of_bounds_is_found():
    body = """
    %n = arith.muli %block, %c32 : index
    %i = arith.addi %n, %t : index
    %x = arith.index_cast %i : index to i32
    memref.store %x, %o[%i] : memref<100xi32>
    """
    out = np.zeros(100, np.int32)
    text = kernel_text(body, "%o: memref<100xi32>", threads=32, blocks=4)
    message = fails(text, out, match="writes out of bounds: element 100 of dimension 0, which has 100")
    assert "in block (3, 0, 0), thread (4, 0, 0)" in message


def test_load_out_of_bounds_of_one_dimension_is_found():
    """Although the element is inside the buffer."""
    body = """
    %x = memref.load %o[%c0, %t] : memref<4x31xi32>
    memref.store %x, %o[%c1, %c0] : memref<4x31xi32>
    """
    text = kernel_text(body, "%o: memref<4x31xi32>", threads=32)
    fails(text, np.zeros((4, 31), np.int32), match="'memref.load' op reads out of bounds: element 31 of dimension 1")


def test_neighbours_in_the_same_memory_are_found():
    """A view of a buffer of the arena, of a block's or of a thread's memory ends where that buffer does."""
    cast = "memref.reinterpret_cast %v to offset: [0], sizes: [32], strides: [1]"
    reads = "%x = memref.load %r[%t] : memref<32xi32>\n memref.store %x, %o[%t] : memref<32xi32>"
    arena, out = np.zeros(512, np.int8), np.zeros(32, np.int32)
    slot = f"""
    %c256 = arith.constant 256 : index
    %v = memref.view %a[%c256][] : memref<512xi8> to memref<16xi32>
    %r = {cast} : memref<16xi32> to memref<32xi32>
    {reads}
    """
    match = r"'memref.load' op reads outside of the buffer that its memref is a view of, in .*thread \(16, 0, 0\)"
    text = kernel_text(slot, "%a: memref<512xi8>, %o: memref<32xi32>", threads=32)
    fails(text, arena, out, match=match)
    run_device_function(text.replace("memref<16xi32>", "memref<32xi32>"), arena, out)
    fails(text.replace("256", "448").replace("memref<16xi32>", "memref<32xi32>"), arena, out, match=match)
    private = f"""
    %v = memref.alloca() : memref<16xi32>
    %r = {cast} : memref<16xi32> to memref<32xi32>
    {reads}
    """
    fails(kernel_text(private, "%o: memref<32xi32>", threads=32), out, match=match)
    block = f"""
    %r = {cast.replace("%v", "%s")} : memref<16xi32, {SHARED}> to memref<32xi32, {SHARED}>
    memref.store %c0_i32, %r[%t] : memref<32xi32, {SHARED}>
    """
    text = kernel_text(
        f"%c0_i32 = arith.constant 0 : i32\n{block}", "%o: memref<32xi32>", threads=32, blocks=2, shared="%s: 16xi32"
    )
    fails(text, out, match=match.replace("load' op reads", "store' op writes"))


def test_masked_threads_do_not_count():
    body = """
    %n = arith.muli %block, %c32 : index
    %i = arith.addi %n, %t : index
    %c100 = arith.constant 100 : index
    %go = arith.cmpi ult, %i, %c100 : index
    scf.if %go {
      %x = memref.load %a[%i] : memref<100xi32>
      memref.store %x, %o[%i] : memref<100xi32>
    }
    """
    out, x = np.zeros(100, np.int32), np.arange(100, dtype=np.int32)
    text = kernel_text(body, "%a: memref<100xi32>, %o: memref<100xi32>", threads=32, blocks=4)
    run_device_function(text, x, out)
    np.testing.assert_array_equal(out, x)


def test_vector_access_out_of_bounds_and_not_aligned_are_found():
    body = """
    %c3 = arith.constant 3 : index
    %i = arith.muli %t, %c3 : index
    %x = vector.load %a[%i] {alignment = ALIGN : i64} : memref<96xf32>, vector<4xf32>
    vector.store %x, %o[%t, %c0] : memref<32x4xf32>, vector<4xf32>
    """
    parameters = "%a: memref<96xf32>, %o: memref<32x4xf32>"
    x, out = np.zeros(96, np.float32), np.zeros((32, 4), np.float32)
    loose = kernel_text(body.replace("ALIGN", "4"), parameters, threads=32)
    fails(loose, x, out, match="reads out of bounds: elements 93 to 96 of dimension 0, which has 96")
    tight = kernel_text(body.replace("ALIGN", "16"), parameters, threads=31)
    fails(tight, x, out, match=r"address that is no multiple of 16, in block \(0, 0, 0\), thread \(1, 0, 0\)")


def test_shared_memory_that_nothing_was_written_to_is_found():
    body = f"""
    %x = memref.load %s[%t] : memref<32xf32, {SHARED}>
    memref.store %x, %o[%t] : memref<32xf32>
    """
    text = kernel_text(body, "%o: memref<32xf32>", threads=32, shared="%s: 32xf32")
    fails(text, np.zeros(32, np.float32), match="reads memory that nothing was written to")


def test_write_of_different_values_is_found_and_of_equal_ones_is_none():
    body = """
    %x = arith.index_cast %VALUE : index to i32
    memref.store %x, %o[%c0] : memref<1xi32>
    """
    text = kernel_text(body, "%o: memref<1xi32>", threads=32, blocks=2)
    out = np.zeros(1, np.int32)
    run_device_function(text.replace("%VALUE", "%c32"), out)
    assert out[0] == 32
    for value in ("%t", "%block"):
        fails(text.replace("%VALUE", value), out, match="writes what another thread writes")


@pytest.mark.parametrize("blocks", [2, 2000])
def test_race_between_blocks_is_found(blocks: int):
    """A barrier orders the threads of a block, not blocks, even if blocks do not run at the same time."""
    body = f"""
    %x = arith.index_cast %block : index to i32
    memref.store %x, %o[%block] : memref<{blocks}xi32>
    gpu.barrier
    %n = arith.constant {blocks} : index
    %next = arith.addi %block, %c1 : index
    %i = arith.remui %next, %n : index
    %y = memref.load %o[%i] : memref<{blocks}xi32>
    memref.store %y, %p[%block] : memref<{blocks}xi32>
    """
    text = kernel_text(body, f"%o: memref<{blocks}xi32>, %p: memref<{blocks}xi32>", threads=64, blocks=blocks)
    arrays = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
    fails(text, *arrays, match="(reads|writes) what another thread (reads|writes)")


def test_shuffle_of_half_a_warp_is_found():
    body = """
    %c16 = arith.constant 16 : index
    %go = arith.cmpi ult, %t, %c16 : index
    %one = arith.constant 1 : i32
    %all = arith.constant 32 : i32
    scf.if %go {
      %x = arith.index_cast %t : index to i32
      %r, %v = gpu.shuffle xor %x, %one, %all : i32
      memref.store %r, %o[%t] : memref<32xi32>
    }
    """
    out = np.zeros(32, np.int32)
    text = kernel_text(body, "%o: memref<32xi32>", threads=32)
    message = fails(text, out, match="is a shuffle that not all threads of the warp reach")
    assert "thread (16, 0, 0)" in message
    # A warp whose threads all take the same branch may shuffle.
    run_device_function(kernel_text(body.replace("%t, %c16", "%t, %c32"), "%o: memref<32xi32>", threads=64), out)
    np.testing.assert_array_equal(out, np.arange(32) ^ 1)


def test_division_by_zero_is_found_in_threads_that_take_part():
    body = """
    %x = arith.divui %c32, %t : index
    %y = arith.index_cast %x : index to i32
    memref.store %y, %o[%t] : memref<32xi32>
    """
    fails(kernel_text(body, "%o: memref<32xi32>", threads=32), np.zeros(32, np.int32), match="divides by zero")


def test_write_to_an_argument_of_the_program_is_found():
    from xhlo.dialects.gpu.functions import GpuFuncOp
    from xhlo.hlo_dialect.dialect import make_context
    from xhlo.hlo_dialect.reading import parse_module
    from xhlo.targets.simt.host import HostProgram

    text = kernel_text(
        "%x = arith.constant 1 : i32\nmemref.store %x, %o[%t] : memref<32xi32>", "%o: memref<32xi32>", threads=32
    )
    host = """
    func.func @main(%in: memref<32xi32>, %out: memref<32xi32>) {
      %n = arith.constant 32 : index
      %one = arith.constant 1 : index
      gpu.launch_func @kernels::@k blocks in (%one, %one, %one) threads in (%n, %one, %one) args(%WHICH : memref<32xi32>)
      func.return
    }
    """
    for which in ("out", "in"):
        module = parse_module(text + host.replace("WHICH", which), "kernel.mlir", make_context())
        assert any(isinstance(op, GpuFuncOp) for op in module.walk())
        given, out = np.zeros(32, np.int32), np.zeros(32, np.int32)
        program = HostProgram(module)
        if which == "out":
            program.run([given], [out])
            assert out.all() and not given.any()
        else:
            with pytest.raises(SimtError, match="memory that is only read"):
                program.run([given], [out])


COPY = f"""
    %token = nvgpu.device_async_copy %a[%t], %s[%t], 1 : memref<64xf32> to memref<64xf32, {SHARED}>
    %group = nvgpu.device_async_create_group %token
    STEPS
    %c63 = arith.constant 63 : index
    %r = arith.subi %c63, %t : index
    %y = memref.load %s[%WHICH] : memref<64xf32, {SHARED}>
    memref.store %y, %o[%t] : memref<64xf32>
"""


@pytest.mark.parametrize(
    ("steps", "which", "wrong"),
    [
        ("nvgpu.device_async_wait %group {numGroups = 0 : i32}\ngpu.barrier", "r", None),
        ("nvgpu.device_async_wait %group {numGroups = 0 : i32}", "t", None),
        ("nvgpu.device_async_wait %group {numGroups = 0 : i32}", "r", "without a barrier"),
        ("gpu.barrier", "r", "an asynchronous copy writes that is not waited for"),
        ("nvgpu.device_async_wait %group {numGroups = 1 : i32}\ngpu.barrier", "t", "is not waited for"),
    ],
)
def test_asynchronous_copies(steps: str, which: str, wrong: str | None):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    text = kernel_text(
        COPY.replace("STEPS", steps).replace("WHICH", which),
        "%a: memref<64xf32>, %o: memref<64xf32>",
        threads=64,
        shared="%s: 64xf32",
    )
    if wrong:
        fails(text, x, out, match=wrong)
        return
    run_device_function(text, x, out)
    np.testing.assert_array_equal(out, x if which == "t" else x[::-1])
