"""A compiled program as HLO text, the form in which XLA shows compiled programs: after partitioning and fusion."""

from __future__ import annotations

from ...hlo_dialect.dialect import make_context
from ...targets.cpu.target import CPU
from ...targets.program.pipeline import parse_source, run_passes
from ...targets.program.source import Source
from ..hlo_text.writing.module import write_module


def hlo_text(source: Source) -> str:
    """The program after fusion as HLO text. Raises DiagnosticError for an operation that HLO lacks."""
    ctx = make_context()
    module = parse_source(source, ctx)
    run_passes(ctx, module, CPU.passes_to(None))
    return write_module(module)
