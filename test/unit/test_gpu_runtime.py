"""Programs on a simulated GPU: host programs, graphs, the arena, streams, checks, host calls, errors, threads."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import xhlo
from simulated_gpu import as_text, compile_simulated, simulated_device
from xhlo.targets import compile as compiling
from xhlo.targets.nvptx import build as nvptx_build
from xhlo.targets.nvptx.runtime import runner
from xhlo.targets.nvptx.runtime.device import use_device
from xhlo.targets.nvptx.runtime.driver import CudaError, GpuUnavailableError
from xhlo.targets.nvptx.runtime.host_program import CopyStep, LaunchStep, ReadStep, SwitchStep, WhileStep

CHAIN = """
func.func @main(%x: tensor<5x33xf32>, %y: tensor<33xf32>) -> (tensor<5x33xf32>, tensor<33xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.broadcast_in_dim %y, dims = [1] : (tensor<33xf32>) -> tensor<5x33xf32>
  %1 = hlo.add %x, %0 : tensor<5x33xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0]
      : (tensor<5x33xf32>, tensor<f32>) -> tensor<33xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<33xf32>) -> tensor<5x33xf32>
  %4 = hlo.multiply %1, %3 : tensor<5x33xf32>
  func.return %4, %2 : tensor<5x33xf32>, tensor<33xf32>
}
"""


def chain(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = (x + y).sum(0)
    return (x + y) * total, total


def chain_inputs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((5, 33), np.float32), rng.random(33, np.float32)


COUNT = """
func.func @main(%n: tensor<i32>, %x: tensor<7xf32>) -> tensor<7xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %half = hlo.constant dense<0.5> : tensor<7xf32>
  %r:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<7xf32>
    cond {
      %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %c : tensor<i1>
    } do {
      %j = hlo.add %i, %one : tensor<i32>
      %w = hlo.multiply %v, %half : tensor<7xf32>
      hlo.return %j, %w : tensor<i32>, tensor<7xf32>
    }
  func.return %r#1 : tensor<7xf32>
}
"""

CASES = """
func.func @main(%k: tensor<i32>, %x: tensor<7xf32>) -> tensor<7xf32> {
  %r = "hlo.case"(%k) ({
    %0 = hlo.negate %x : tensor<7xf32>
    hlo.return %0 : tensor<7xf32>
  }, {
    hlo.return %x : tensor<7xf32>
  }, {
    %0 = hlo.add %x, %x : tensor<7xf32>
    hlo.return %0 : tensor<7xf32>
  }) : (tensor<i32>) -> tensor<7xf32>
  func.return %r : tensor<7xf32>
}
"""


def test_the_host_program_is_read_once_into_steps() -> None:
    executable = compile_simulated(CHAIN, fuse=False)
    steps = executable.image.host.steps
    launches = [step for step in steps if isinstance(step, LaunchStep)]
    assert len(launches) == len(steps) >= 3
    assert {launch.kernel for launch in launches} <= {kernel.name for kernel in executable.kernels}
    # Arguments, results and the arena; nothing else is allocated by name.
    slots = {place.slot for launch in launches for place in launch.arguments}
    assert slots == set(range(executable.image.host.parameters))
    arena = executable.image.host.parameters - 1
    assert all(place.offset == 0 or place.slot == arena for launch in launches for place in launch.arguments)


def test_numpy_in_and_out_several_times() -> None:
    executable = compile_simulated(CHAIN, fuse=False)
    for seed in range(4):
        inputs = chain_inputs(seed)
        for actual, wanted in zip(executable(*inputs), chain(*inputs), strict=True):
            assert type(actual) is np.ndarray
            np.testing.assert_allclose(actual, wanted, rtol=1e-5)


def test_a_segment_becomes_a_graph_the_second_time() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    inputs = chain_inputs()
    count = len(executable.image.host.steps)
    log = device.driver.log
    first = executable(*inputs)
    assert sum(entry.startswith("launch") for entry in log) == count
    del log[:]
    second = executable(*inputs)
    assert log.count(f"graph of {count}") == 1 and log.count("graph") == 1
    assert not any(entry.startswith("launch") for entry in log)
    del log[:]
    third = executable(*inputs)
    assert f"graph of {count}" not in log and log.count("graph") == 1
    for results in (second, third):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(first, results, strict=True))


def test_graphs_follow_the_addresses_of_arguments_and_results() -> None:
    """Other arrays in each call, all kept: the first few sets of addresses get graphs, later ones update the oldest."""
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    kept = []
    for seed in range(runner.MAX_GRAPHS + 4):
        inputs = chain_inputs(seed)
        placed = executable.place(inputs)
        kept.append((inputs, placed, executable(*placed)))
    assert device.driver.counts["make_graph"] == runner.MAX_GRAPHS
    assert device.driver.counts["update_graph"] == 3
    for inputs, placed, results in kept:
        for actual, wanted in zip(results, chain(*inputs), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)
        for array, wanted in zip(placed, inputs, strict=True):
            np.testing.assert_array_equal(array.numpy(), wanted)
    # Only commands that use an argument or a result are updated.
    steps = executable.image.host.steps
    arena = executable.image.host.parameters - 1
    users = [
        number
        for number, step in enumerate(steps)
        if isinstance(step, LaunchStep) and any(place.slot != arena for place in step.arguments)
    ]
    assert f"update of {users}" in device.driver.log


def test_graphs_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(runner.GRAPHS, "0")
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    for _ in range(3):
        executable(*chain_inputs())
    assert not device.driver.counts["make_graph"]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_loop_reads_its_condition_from_the_gpu(count: int) -> None:
    device = simulated_device()
    executable = compile_simulated(COUNT, device)
    loop = next(step for step in executable.image.host.steps if isinstance(step, WhileStep))
    assert isinstance(loop.first[-1], ReadStep) and loop.again[-len(loop.first) :] == loop.first
    x = np.arange(7, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(executable(np.int32(count), x), x * 0.5**count)
    assert sum(entry == "read 1" for entry in device.driver.log) <= 2 * (count + 1)


def test_a_loop_of_many_turns_replays_one_graph() -> None:
    device = simulated_device()
    executable = compile_simulated(COUNT, device)
    executable(np.int32(20), np.ones(7, np.float32))
    assert device.driver.counts["make_graph"] == 1
    assert device.driver.counts["launch_graph"] == 19


@pytest.mark.parametrize(("key", "factor"), [(0, -1), (1, 1), (2, 2), (7, 2), (-1, 2)])
def test_branches(key: int, factor: int) -> None:
    executable = compile_simulated(CASES)
    assert any(isinstance(step, SwitchStep) for step in executable.image.host.steps)
    x = np.arange(7, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(executable(np.int32(key), x), x * factor)


def test_constants_are_uploaded_once() -> None:
    values = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    text = f"""
func.func @main(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {{
  %0 = hlo.constant dense<"0x{values.tobytes().hex()}"> : tensor<16x16xf32>
  %1 = hlo.add %x, %0 : tensor<16x16xf32>
  func.return %1, %0 : tensor<16x16xf32>, tensor<16x16xf32>
}}
"""
    device = simulated_device()
    executable = compile_simulated(text, device)
    assert values.tobytes() in executable.image.host.constants
    assert any(isinstance(step, CopyStep) for step in executable.image.host.steps)
    x = np.ones((16, 16), np.float32)
    for uploads in (2, 3, 4):
        total, constant = executable(x)
        np.testing.assert_array_equal(total, x + values)
        np.testing.assert_array_equal(constant, values)
        assert device.driver.counts["copy_to_device"] == uploads


def test_empty_arrays_and_no_arguments() -> None:
    text = """
func.func @main(%x: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<3xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.add %x, %x : tensor<0x3xf32>
  %1 = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0]
      : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %0, %1 : tensor<0x3xf32>, tensor<3xf32>
}
"""
    executable = compile_simulated(text)
    empty, zeros = executable(np.empty((0, 3), np.float32))
    assert empty.shape == (0, 3)
    np.testing.assert_array_equal(zeros, np.zeros(3))
    none = compile_simulated("func.func @main() { func.return }")
    assert none() == ()


# Checks and host functions.

CHECKED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = hlo.add %x, %x : tensor<3xf32>
  %1 = hlo.constant dense<2.0> : tensor<3xf32>
  check.expect_eq %0, %1 : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""


def test_checks_run_on_the_host() -> None:
    executable = compile_simulated(CHECKED)
    np.testing.assert_array_equal(executable(np.ones(3, np.float32)), [2, 2, 2])
    with pytest.raises(xhlo.CheckFailure, match="expect_eq failed"):
        executable(np.zeros(3, np.float32))


CALLING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.negate %x : tensor<4xf32>
  %1 = hlo.custom_call @gpu_test.rank(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = hlo.add %1, %x : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def test_functions_of_the_host_program_get_copies() -> None:
    seen: list[np.ndarray] = []

    @xhlo.custom_call("gpu_test.rank")
    def rank(call: xhlo.CustomCall, x: np.ndarray) -> np.ndarray:
        seen.append(x)
        if not np.isfinite(x).all():
            raise ValueError("no order")
        return np.argsort(np.argsort(x)).astype(np.float32)

    executable = compile_simulated(CALLING, profile=True)
    x = np.array([3, 1, 4, 1.5], np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(executable(x), np.argsort(np.argsort(-x)) + x)
    np.testing.assert_array_equal(seen[0], -x)
    call = next(kernel for kernel in executable.kernels if kernel.kind == "callback")
    assert call.calls == 2 and call.nanoseconds > 0
    with pytest.raises(xhlo.CustomCallError, match="no order"):
        executable(np.full(4, np.nan, np.float32))
    np.testing.assert_array_equal(executable(x), np.argsort(np.argsort(-x)) + x)


# Profiles.


def test_a_profile_counts_the_calls_of_each_kernel() -> None:
    device = simulated_device()
    executable = compile_simulated(COUNT, device, profile=True)
    executable(np.int32(5), np.ones(7, np.float32))
    by_kind = {kernel.name: kernel for kernel in executable.kernels}
    assert sum(kernel.calls for kernel in by_kind.values()) >= 5 + 6
    # The simulated clock ticks once in each launch.
    assert all(kernel.nanoseconds >= 1000 * kernel.calls for kernel in by_kind.values())
    executable.reset_profile()
    assert not any(kernel.calls or kernel.nanoseconds for kernel in executable.kernels)


def test_a_profile_times_kernels_of_several_launches_as_one() -> None:
    executable = compile_simulated(CHAIN, profile=True)
    executable(*chain_inputs())
    assert [kernel.calls for kernel in executable.kernels] == [kernel.sites for kernel in executable.kernels]


def test_hlo_run(run_hlo_run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Timed runs use GPU arrays; the table has the CPU's form."""
    device = simulated_device()

    def build(*arguments, **options):
        return original(*arguments, **options, emission=as_text)

    original = nvptx_build.build_image
    monkeypatch.setattr(nvptx_build, "build_image", build)
    # Other tests must not find what this one compiles.
    monkeypatch.setattr(compiling, "_CACHE", compiling._Cache(0))
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_90")
    use_device(device)
    try:
        done = run_hlo_run(CHAIN, "--target=gpu", "--compare=cpu", "--profile", "--repeat=3")
        assert done.status == 0, done.err
        assert "gpu against cpu:" in done.out and "WRONG" not in done.out
        assert re.search(r"^3 runs: median \d", done.out, re.MULTILINE)
        table = done.out[done.out.index("kernel ") :].splitlines()
        assert table[0].split() == ["kernel", "calls", "ms", "%", "GB/s", "GFLOP/s"]
        assert all(line.split()[1] == "3" for line in table[1:-1]) and table[-1].startswith("total")
        # The arguments of the first run, and then those of the timed ones, once.
        assert device.driver.counts["copy_to_device"] == 4
        name = table[1].split()[0]
        device.driver.refuse[f"launch @{name}"] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
        done = run_hlo_run(CHAIN, "--target=gpu")
        assert done.status == 1 and "Traceback" not in done.err
        assert done.err.startswith(f"hlo-run: error: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: kernel @{name}: ")
    finally:
        use_device(None)


# Memory.


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
    assert one[0].stream == mine and two[0].stream == device.stream
    expected = chain(*chain(*inputs))
    np.testing.assert_allclose(two[0].numpy(), expected[0], rtol=1e-4)
    with pytest.raises(TypeError, match="expected a CUDA stream"):
        executable(*placed, stream="fast")


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


# Errors.


def test_a_refused_launch_names_the_kernel() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    name = next(iter(executable.image.host.functions))
    device.driver.refuse[f"launch @{name}"] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: kernel @{name}: ") as caught:
        executable(*chain_inputs())
    assert caught.value.name == "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" and caught.value.kernel == name
    np.testing.assert_allclose(executable(*chain_inputs())[0], chain(*chain_inputs())[0], rtol=1e-5)


def test_a_fault_surfaces_where_somebody_waits_and_names_who_may_be_the_cause(monkeypatch) -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    guilty = list(executable.image.host.functions)[1]
    placed = executable.place(chain_inputs())
    device.driver.faults[guilty] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    results = executable(*placed)
    with pytest.raises(CudaError, match=rf"CUDA_ERROR_ILLEGAL_ADDRESS: .*@{guilty}.*XHLO_GPU_CHECK=1"):
        results[0].numpy()

    monkeypatch.setenv("XHLO_GPU_CHECK", "1")
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    device.driver.faults[guilty] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_ILLEGAL_ADDRESS: kernel @{guilty}: ") as caught:
        executable(*chain_inputs())
    assert caught.value.kernel == guilty


def test_the_only_kernel_is_named() -> None:
    device = simulated_device()
    executable = compile_simulated(CHECKED.replace("  check.expect_eq %0, %1 : tensor<3xf32>\n", ""), device)
    (name,) = executable.image.host.functions
    device.driver.faults[name] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_ILLEGAL_ADDRESS: kernel @{name}: "):
        executable(np.ones(3, np.float32))


def test_arguments_that_do_not_fit() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    x, y = chain_inputs()
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        executable(x)
    with pytest.raises(TypeError, match="argument 1: expected dtype float32"):
        executable(x, y.astype(np.float64))
    with pytest.raises(TypeError, match=r"argument 0: expected shape \(5, 33\)"):
        executable(x[:4], y)
    with pytest.raises(TypeError, match="argument 0: expected an array of type"):
        executable("x", y)
    assert not device.driver.ran


def test_code_of_another_chip() -> None:
    """Machine code for sm_80 runs on 8.6, its PTX on all later chips; that for sm_90a only on 9.0."""
    x, y = chain_inputs()
    later = compile_simulated(CHAIN, simulated_device(capability=(12, 0)), chip="sm_80")
    np.testing.assert_allclose(later(x, y)[0], chain(x, y)[0], rtol=1e-5)
    for chip, capability in (("sm_90a", (10, 0)), ("sm_90", (8, 0))):
        with pytest.raises(GpuUnavailableError, match=f"compiled for {chip}; the Simulated GPU is sm_"):
            compile_simulated(CHAIN, simulated_device(capability=capability), chip=chip)(x, y)


def test_a_driver_that_is_older_than_the_assembler_compiles_the_ptx() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    # The simulated driver can run what it loads as "PTX".
    executable.image.cubin = b"machine code"
    device.driver.refuse["load"] = "CUDA_ERROR_INVALID_IMAGE"
    np.testing.assert_allclose(executable(*chain_inputs())[0], chain(*chain_inputs())[0], rtol=1e-5)
    assert device.driver.counts["load"] == 2


def test_what_the_host_cannot_do_is_refused_at_its_place() -> None:
    from xdsl.dialects import test as test_dialect

    from xhlo.hlo_dialect.diagnostics import DiagnosticError
    from xhlo.hlo_dialect.dialect import make_context
    from xhlo.hlo_dialect.reading import parse_module
    from xhlo.targets.nvptx.runtime.host_program import read_host_program

    ctx = make_context()
    text = """
func.func @main(%x: memref<4xf32>, %y: memref<f32>) {
  %v = memref.load %y[] : memref<f32>
  func.return
}
"""
    with pytest.raises(DiagnosticError, match="here:3:8: error: 'memref.load' op reads a value of type f32; the host"):
        read_host_program(parse_module(text, "here", ctx))
    module = parse_module("func.func @main() {\n  func.return\n}", "here", ctx)
    block = next(iter(module.ops)).body.block
    block.insert_op_before(test_dialect.TestOp(), block.last_op)
    with pytest.raises(DiagnosticError, match="'test.op' op is not supported in the host's part of a GPU program"):
        read_host_program(module)


def test_without_a_gpu_programs_compile_and_say_that_they_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.targets.nvptx.runtime import device as devices

    def absent(ordinal: int | None = None) -> None:
        raise GpuUnavailableError("the CUDA driver finds no GPU")

    monkeypatch.setattr(devices, "open_device", absent)
    monkeypatch.setattr("xhlo.targets.nvptx.executable.open_device", absent)
    executable = xhlo.compile(CHAIN, target="gpu")
    assert ".target sm_90" in executable.as_text("ptx")
    with pytest.raises(GpuUnavailableError, match="the gpu target cannot run here: the CUDA driver finds no GPU"):
        executable(*chain_inputs())
