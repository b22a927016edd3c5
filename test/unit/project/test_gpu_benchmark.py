"""benchmarks/gpu.py without a GPU: its programs and checks at small sizes, its dry run, its report."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gpu
from checkout import ROOT
from program_lists import gpu as programs
from simulated_gpu import as_text, simulated_device

BENCHMARKS = ROOT / "benchmarks"

SMALL = [
    programs.mean(1 << 12),
    programs.sum_of_product(1 << 12),
    programs.chain(5000),
    programs.softmax(5, 100),
    programs.layernorm(5, 100),
    programs.transpose(70),
    programs.reduction(0, 70, 33),
    programs.reduction(1, 70, 33),
    programs.matmul(64, programs.BF16),
    programs.matmul(64, programs.F32),
    programs.attention(2, 64, 16, programs.BF16),
    programs.attention(1, 40, 16, programs.F32, causal=True),
]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark's functions on a simulated GPU."""

    def build(*arguments: Any, **options: Any) -> Any:
        return original(*arguments, **options, emission=as_text)

    original = gpu.build_image
    monkeypatch.setattr(gpu, "build_image", build)
    monkeypatch.setattr(gpu, "find_library", lambda: None)
    monkeypatch.setattr(gpu, "MAX_SETS", 2)
    monkeypatch.setattr(gpu, "REPLAYS", 2)
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_90")
    return simulated_device()


@pytest.mark.long(4)
@pytest.mark.parametrize("program", SMALL, ids=lambda program: program.name)
def test_programs_are_checked_and_timed(program: Any, simulated: Any) -> None:
    row = gpu.measure(program, simulated, 3, [])
    assert row.launches >= 1 and row.xhlo > 0 and row.jax is None
    # The check can fail.
    (shape, _), arrays = program.inputs[0], program.arguments(1)
    wrong = np.full(simulated_result(program, simulated), 7.0, np.float32)
    assert shape == arrays[0].shape
    with pytest.raises(AssertionError):
        program.check(arrays, wrong)


def simulated_result(program: Any, device: Any) -> tuple[int, ...]:
    return gpu.CudaExecutable(gpu.compile_image(program.text, "sm_90"), str, device).output_types[0].shape


@pytest.mark.parametrize("program", SMALL, ids=lambda program: program.name)
def test_jax_computes_the_same(program: Any) -> None:
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    arrays = program.arguments(0)
    program.check(arrays, np.asarray(jax.jit(lambda *values: program.in_jax(jax, jnp, *values))(*arrays)))


def test_replay_and_report(simulated: Any) -> None:
    replay = gpu.measure_replay(simulated)
    bandwidth = gpu.copy_bandwidth(simulated, 1 << 16)
    rows = [gpu.measure(SMALL[3], simulated, 3, [])]
    rows[0].jax = rows[0].xhlo / 2
    text = gpu.report(simulated, bandwidth, rows, replay, [])
    assert "Simulated GPU, 4 multiprocessors" in text and "neither JAX nor torch" in text
    assert "| softmax 5x100 | 1 |" in text and "(2.00)" in text
    found = gpu.shortfalls(1e30, rows, gpu.Replay(99.0, 1.0, 1.0))
    assert [line.split(":")[0] for line in found] == ["softmax 5x100", "softmax 5x100", "replay"]


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "gpu.py"), *flags], capture_output=True, text=True, check=False
    )


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no ptxas on PATH")
def test_a_dry_run_compiles_to_machine_code() -> None:
    done = run("--dry-run", "--only=reduce", "--chip=sm_100")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("program, sm_100")
    assert [line.split(",")[0] for line in lines[1:3]] == ["reduce axis 0", "reduce axis 1"]
    assert lines[-1].split()[:6] == ["graph", "of", "30", "kernels", lines[-1].split()[4], "30"]


@pytest.mark.long
def test_no_gpu_is_said_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = BENCHMARKS / "GPU.md"
    before = written.read_bytes() if written.exists() else None
    monkeypatch.setenv("XHLO_GPU_DEVICE", "99")
    done = run()
    assert done.returncode == 1 and "the gpu target cannot run here" in done.stderr
    assert (written.read_bytes() if written.exists() else None) == before
    assert "no chip is named 'sm_1'" in run("--dry-run", "--chip=sm_1").stderr
