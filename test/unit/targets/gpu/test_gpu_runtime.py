"""Programs on a simulated GPU: host programs, graphs, checks, host calls, profiles."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xhlo
from gpu_runtime_programs import CALLING, CASES, CHAIN, CHECKED, COUNT, chain, chain_inputs
from simulated_gpu import as_text, compile_simulated, simulated_device
from xhlo.hlo_dialect.made_once import MadeOnce
from xhlo.targets import compile as compiling
from xhlo.targets.gpu.runtime import runner
from xhlo.targets.gpu.runtime.host_program import CopyStep, LaunchStep, ReadStep, SwitchStep, WhileStep
from xhlo.targets.nvptx import build as nvptx_build
from xhlo.targets.nvptx.runtime.device import use_device


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


def test_checks_run_on_the_host() -> None:
    executable = compile_simulated(CHECKED)
    np.testing.assert_array_equal(executable(np.ones(3, np.float32)), [2, 2, 2])
    with pytest.raises(xhlo.CheckFailure, match="expect_eq failed"):
        executable(np.zeros(3, np.float32))


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
    monkeypatch.setattr(compiling, "_CACHE", MadeOnce(0))
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
