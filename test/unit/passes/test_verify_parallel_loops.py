"""Iterations of the parallel loops of whole programs write to places of their own."""

from __future__ import annotations

import pytest

import conformance
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.loop_nests import cost
from xhlo.passes.verify_parallel_loops import VerifyParallelLoopsPass
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source


@pytest.mark.long(2)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.sample(8)
@pytest.mark.parametrize("name", conformance.jax_programs())
def test_programs_of_jax(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops of small programs run on several threads, too."""
    monkeypatch.setattr(cost, "PARALLEL_WORK", 1)
    monkeypatch.setattr(cost, "TASK_WORK", 1)
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(conformance.jax_program(name).text, name), ctx), CPU)
    lowering.to("loops")
    VerifyParallelLoopsPass().apply(ctx, lowering.module)
