"""
Random whole programs: compiled code agrees with the reference, with fusion and without, and the reference with XLA.

To investigate a seed that fails: `hlo-fuzz --profile=small --seed=17 --count=1 --check=fuse --shrink`.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from xhlo.lowering.loop_nests import cost
from xhlo.tools.fuzzing.checks import check_compiled, check_sharded, check_sizes, check_threads, check_xla
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import PROFILES

BATCH = 10
COUNTS = {"small": 140, "shared": 40, "large": 60, "types": 80, "dots": 40, "reductions": 40, "moves": 40}
"""440 programs, half with fusion, of which `make test` compiles a quarter. `hlo-fuzz` runs more."""

XLA_COUNTS = {"small": 100, "shared": 40, "large": 20, "dots": 20, "reductions": 20}

SHARDED_COUNTS = {"sharded": 40, "dots": 20, "reductions": 20}

SIZES_COUNTS = {"small": 20, "types": 20}

THREADS_COUNTS = {"large": 10, "loops": 10, "reductions": 10, "moves": 10}


def batches(counts: dict[str, int]) -> list[tuple[str, int]]:
    return [(name, first) for name, count in counts.items() for first in range(0, count, BATCH)]


@contextmanager
def noted(name: str, seed: int, check: str) -> Generator[None]:
    """Errors raised inside say how to repeat them."""
    try:
        yield
    except Exception as error:
        error.add_note(f"hlo-fuzz --profile={name} --seed={seed} --count=1 --check={check}")
        raise


@pytest.mark.long
@pytest.mark.sample(4)
@pytest.mark.parametrize(("name", "first"), batches(COUNTS))
def test_compiled_programs_agree_with_the_reference(name: str, first: int) -> None:
    """
    Every second program with fusion, the others with a kernel per operation; every fourth is verified after each pass,
    and half of all run in guard mode, with buffers at either side of their pages.
    """
    for seed in range(first, first + BATCH):
        fuse = seed % 2 == 0
        guard = ("", "end", "start", "")[seed // 2 % 4]
        with noted(name, seed, f"{'fuse' if fuse else 'none'} guard={guard}"):
            check_compiled(
                random_program(random.Random(seed), PROFILES[name]), fuse, verify_each=seed % 4 < 1, guard=guard
            )


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "first"), batches(XLA_COUNTS))
def test_the_reference_agrees_with_xla(name: str, first: int) -> None:
    pytest.importorskip("jax")
    for seed in range(first, first + BATCH):
        with noted(name, seed, "xla"):
            check_xla(random_program(random.Random(seed), replace(PROFILES[name], portable=True)))


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "first"), batches(SHARDED_COUNTS))
def test_sharded_programs_agree_with_the_reference(name: str, first: int) -> None:
    for seed in range(first, first + BATCH):
        with noted(name, seed, "sharded"):
            check_sharded(random_program(random.Random(seed), PROFILES[name]))


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "first"), batches(SIZES_COUNTS))
def test_unknown_and_contradictory_sizes_are_refused_or_right(name: str, first: int) -> None:
    for seed in range(first, first + BATCH):
        with noted(name, seed, "sizes"):
            check_sizes(random_program(random.Random(seed), PROFILES[name]))


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "first"), batches(THREADS_COUNTS))
def test_threads_compute_the_same_bits(name: str, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops of small programs run on several threads, too."""
    monkeypatch.setattr(cost, "PARALLEL_WORK", 1)
    monkeypatch.setattr(cost, "TASK_WORK", 1)
    for seed in range(first, first + BATCH):
        with noted(name, seed, "threads"):
            check_threads(random_program(random.Random(seed), PROFILES[name]))


def test_generator_is_deterministic() -> None:
    texts = [random_program(random.Random(7)).text for _ in range(2)]
    assert texts[0] == texts[1]
