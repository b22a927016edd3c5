"""Levels of optimization: every level computes the same, and is compiled and kept by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest

import conformance
import xhlo
from xhlo.hlo_dialect.types import Array
from xhlo.passes.manager.pipelines import FRONT, FUSE, OPT_LEVELS
from xhlo.targets.compile import OptLevel
from xhlo.targets.cpu.target import CPU
from xhlo.tools.fuzzing.checks import check_levels
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import LOOPS

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  %1 = hlo.multiply %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


@pytest.mark.long(4)
@pytest.mark.parametrize("seed", range(4))
def test_random_loops_at_every_level(seed: int) -> None:
    check_levels(random_program(random.Random(seed), LOOPS))


@pytest.mark.long(12)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.sample(9)
@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("name", conformance.jax_programs())
def test_jax_programs_at_other_levels(name: str, level: OptLevel) -> None:
    program = conformance.jax_program(name)
    results: Array | tuple[Array, ...] = xhlo.compile(program.text, opt_level=level)(*program.inputs)
    assert not conformance.wrong_outputs(program, results if isinstance(results, tuple) else (results,))


def test_a_level_has_its_own_executable_and_texts() -> None:
    plain, fused = xhlo.compile(TEXT, opt_level=0), xhlo.compile(TEXT)
    assert [len(executable.kernels) for executable in (plain, fused)] == [2, 1]
    assert [text.count("hlo.fusion") for text in (plain.as_text("fused"), fused.as_text("fused"))] == [2, 1]
    x = np.arange(4, dtype=np.float32)
    assert plain(x).tobytes() == fused(x).tobytes()


def test_a_program_of_a_stage_goes_on_at_any_level() -> None:
    """It may have been through passes that the level leaves out."""
    fused = xhlo.compile(TEXT).as_text("fused")
    assert len(xhlo.compile(fused, opt_level=0).kernels) == 1
    specs = CPU.at_level(0).passes_after("hoist-loop-invariants", None)
    assert specs == ("fuse-hlo{strategy=none}",)


def test_levels_are_those_of_the_pipeline() -> None:
    names = [len(CPU.at_level(level).passes_to(None)) for level in OPT_LEVELS]
    assert names == [len(FRONT) - 4 + 1, len(FRONT) - 3 + 1, len(FRONT) + len(FUSE), len(FRONT) + len(FUSE)]
    for level in (-1, 4):
        with pytest.raises(ValueError, match="no level of optimization"):
            CPU.at_level(level)
