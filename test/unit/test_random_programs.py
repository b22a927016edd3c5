"""
Random whole programs: compiled code agrees with the reference, with fusion and without, and is valid after every pass.

To look into a seed that fails: `hlo-fuzz --profile=small --seed=17 --count=1 --check=fuse --shrink`.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from subprocess import run

import pytest

from xhlo.tools.fuzzing.checks import check_compiled
from xhlo.tools.fuzzing.programs import PROFILES, random_program

BATCH = 10
COUNTS = {"small": 60, "shared": 30, "large": 40, "dots": 40, "reductions": 30}
BATCHES = [(name, first) for name, count in COUNTS.items() for first in range(0, count, BATCH)]


@pytest.mark.parametrize("fuse", [True, False], ids=["fuse", "none"])
@pytest.mark.parametrize(("name", "first"), BATCHES)
def test_compiled_programs_agree_with_the_reference(name: str, first: int, fuse: bool) -> None:
    for seed in range(first, first + BATCH):
        try:
            check_compiled(random_program(random.Random(seed), PROFILES[name]), fuse)
        except Exception as error:
            error.add_note(f"seed: {name} {seed} {'fuse' if fuse else 'none'}")
            raise


def test_text_and_results_depend_on_the_program_alone() -> None:
    """Not on the seed of Python's hashes, and not on the number of threads."""
    script = str(Path(__file__).parent / "random_digests.py")
    outputs: list[str] = []
    for hash_seed, threads in ((0, 1), (1, 2), (2, 3)):
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": str(threads)}
        done = run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == outputs[2]


def test_generator_is_deterministic() -> None:
    texts = [random_program(random.Random(7)).text for _ in range(2)]
    assert texts[0] == texts[1]
