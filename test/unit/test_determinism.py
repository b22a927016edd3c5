"""The same input gives the same bytes, whatever the hash seed and the thread count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared" / "conformance" / "jax"
PROGRAMS = [
    ROOT / "examples" / "mlp_training_step.mlir",
    ROOT / "examples" / "softmax.mlir",
    CONFORMANCE / "model_lstm.mlir",
    CONFORMANCE / "hmm_viterbi.mlir",
]
SETTINGS = [("0", "1"), ("1", "2"), ("2", "1"), ("3", "2"), ("4", "1")]
"""PYTHONHASHSEED and OMP_NUM_THREADS."""


def output_of(command: list[str], seed: str, threads: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, "-m", *command], env=environment, capture_output=True, check=True, cwd=ROOT)
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_lowered_module(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"not there: {path}")
    command = ["xhlo.tools.hlo_opt", "--fuse", "--fuse-remarks", "--lower", str(path)]
    settings = SETTINGS if path is PROGRAMS[0] else SETTINGS[:2]
    assert len({output_of(command, *setting) for setting in settings}) == 1


def test_assembly() -> None:
    command = ["xhlo.tools.hlo_opt", "--fuse", "--lower", "--emit=asm", str(PROGRAMS[1])]
    assert len({output_of(command, *setting) for setting in SETTINGS[:3]}) == 1


def test_results_do_not_depend_on_the_thread_count(tmp_path: Path) -> None:
    """Sums are split by shape, not by thread."""
    program = ROOT / "examples" / "mlp_training_step.mlir"
    found: list[dict[str, np.ndarray]] = []
    for threads in ("1", "2", "3"):
        path = tmp_path / f"{threads}.npz"
        output_of(["xhlo.tools.hlo_run", str(program), "--outputs", str(path)], "0", threads)
        with np.load(path) as stored:
            found.append(dict(stored))
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        for name, array in found[0].items():
            assert array.tobytes() == other[name].tobytes(), name
