"""Memory, streams and threads of a simulated GPU: the arena, results that outlive their stream, calls from threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from gpu_runtime_programs import CHAIN, chain, chain_inputs
from simulated_gpu import PER_THREAD, compile_simulated, simulated_device


def test_programs_share_one_arena_of_a_stream() -> None:
    device = simulated_device()
    large = compile_simulated(CHAIN.replace("5x33", "64x33"), device, fuse=False)
    small = compile_simulated(CHAIN, device, fuse=False)
    x, y = chain_inputs()
    assert large.facts.arena_bytes > small.facts.arena_bytes > 0
    wide = np.ones((64, 33), np.float32)
    large(wide, y)
    allocated = device.driver.counts["allocate"]
    for _ in range(3):
        np.testing.assert_allclose(small(x, y)[1], chain(x, y)[1], rtol=1e-5)
        np.testing.assert_allclose(large(wide, y)[1], chain(wide, y)[1], rtol=1e-5)
    # Blocks of the first call serve the others.
    assert device.driver.counts["allocate"] <= allocated + 4


def test_memory_goes_back_when_arrays_are_dropped() -> None:
    device = simulated_device(pool_limit=0)
    executable = compile_simulated(CHAIN, device)
    results = executable(*executable.place(chain_inputs()))
    [array.numpy() for array in results]
    arena = device.on(device.stream).arena(executable.facts.arena_bytes)
    del results
    device.pool.collect()
    held = device.driver.allocated
    assert device.pool.kept == 0 and device.pool.in_use == held
    assert held <= (512 if arena else 0) + len(executable.image.host.constants)


def test_out_of_memory_gives_back_what_is_kept_and_then_says_so() -> None:
    device = simulated_device(memory_bytes=6 << 20)
    block = device.allocate(3 << 20, device.stream)
    del block
    # 4 MiB are kept, 2 are left: this takes freeing them.
    device.allocate(5 << 20, device.stream)
    assert device.driver.counts["free"] == 1
    held = device.allocate(5 << 20, device.stream)
    with pytest.raises(MemoryError, match="CUDA_ERROR_OUT_OF_MEMORY: cannot allocate 3145728 bytes on Simulated GPU"):
        device.allocate(3 << 20, device.stream)
    del held


def test_a_program_that_cannot_fit_is_refused_before_anything_runs() -> None:
    text = """func.func @main(%x: tensor<600x400xf32>) -> tensor<400xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<600x400xf32>) -> tensor<400x600xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<400x600xf32>, tensor<600x400xf32>) -> tensor<400x400xf32>
  %2 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [0] : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<400x400xf32>, tensor<f32>) -> tensor<400xf32>
  return %3 : tensor<400xf32>
}"""
    device = simulated_device(memory_bytes=1 << 20)
    with pytest.raises(
        MemoryError,
        match=r"needs at least [\d.]+ MiB of GPU memory \(960000 bytes for its largest argument, 1600 bytes for its "
        r"results, [\d.]+ MiB for intermediate values.*\); Simulated GPU has 1 MiB",
    ):
        compile_simulated(text, device)(np.zeros((600, 400), np.float32))
    assert device.driver.allocated == 0 and not device.driver.counts["launch"]


def test_long_arrays_go_through_page_locked_memory_in_pieces() -> None:
    device = simulated_device()
    device._up._piece = device._down._piece = 100
    executable = compile_simulated(CHAIN, device)
    inputs = chain_inputs()
    np.testing.assert_allclose(executable(*inputs)[0], chain(*inputs)[0], rtol=1e-5)
    assert device.driver.counts["copy_to_device"] == -(-inputs[0].nbytes // 100) + -(-inputs[1].nbytes // 100)
    assert device.driver.counts["allocate_host"] == 4


# Streams and threads.


def test_a_call_in_a_stream_of_the_caller() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    with device.driver.entered():
        mine = device.driver.new_stream()

    class Stream:
        cuda_stream = mine

    inputs = chain_inputs()
    placed = executable.place(inputs)
    one = executable(*placed, stream=Stream())
    # The results of a call in one stream are the arguments of one in another.
    two = executable(one[0], one[1])
    assert one[0].stream == mine and two[0].stream == device.stream.handle
    expected = chain(*chain(*inputs))
    np.testing.assert_allclose(two[0].numpy(), expected[0], rtol=1e-4)
    with pytest.raises(TypeError, match="expected a CUDA stream"):
        executable(*placed, stream="fast")


def test_results_outlive_the_stream_that_computed_them() -> None:
    """The next stream has the same handle; its work does not wait for that of the old one."""
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    driver = device.driver
    with driver.entered():
        mine = driver.new_stream()
    inputs = chain_inputs()
    old = executable(*executable.place(inputs), stream=mine)
    driver.destroy_stream(mine)
    with driver.entered():
        assert driver.new_stream() == mine
    other = chain_inputs(1)
    new = executable(*executable.place(other), stream=mine)
    # Only the new stream's work runs; the old one's arena and blocks are not its own.
    with driver.entered():
        driver.synchronize(mine)
    for results, values in ((new, other), (old, inputs)):
        for actual, wanted in zip(results, chain(*values), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)
    old[0].block_until_ready()


def test_the_default_stream_of_each_thread_is_another_one() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    found: list[Any] = []

    def work(seed: int) -> None:
        found.append((seed, executable(*executable.place(chain_inputs(seed)), stream=PER_THREAD)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    arenas = {state.arena(executable.facts.arena_bytes) for state in device._streams.values()}
    assert len(arenas) == 3
    for seed, results in found:
        for actual, wanted in zip(results, chain(*chain_inputs(seed)), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)
    again = executable(*executable.place(chain_inputs(7)), stream=PER_THREAD)
    np.testing.assert_allclose(executable(*again)[0].numpy(), chain(*chain(*chain_inputs(7)))[0], rtol=1e-4)


def test_threads() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    wrong: list[object] = []

    def work(seed: int) -> None:
        inputs = chain_inputs(seed)
        for _ in range(5):
            for actual, wanted in zip(executable(*inputs), chain(*inputs), strict=True):
                if not np.allclose(actual, wanted, rtol=1e-5):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
