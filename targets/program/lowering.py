"""
The front half of every compilation: run a target's pipeline stage by stage, and collect facts.

A fact is read after the pass that makes it explicit in the module, whatever the stage of that pass:

    lowering = Lowering(ctx, module, target)
    lowering.to("loops")              # the module is at that stage now
    lowering.facts.arena_bytes        # plan-buffers has run
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...passes.manager.timing import Timing
from .entry import entry_types
from .facts import Facts, arena_bytes, checks_of, host_calls_of, result_count
from .kernels import describe_kernels
from .pipeline import Pipeline, run_passes

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp


class Lowering:
    """A module being lowered, in place, and the facts read so far."""

    def __init__(
        self,
        ctx: Context,
        module: ModuleOp,
        pipeline: Pipeline,
        timing: Timing | None = None,
        *,
        profile: bool = False,
        fuse: bool = True,
        verify: bool = False,
    ):
        """Without `fuse` each operation is a separate kernel; `verify` verifies the module after each pass."""
        self.module = module
        self.timing = timing or Timing()
        self.facts = Facts(profiled=profile, stages=self.timing.seconds)
        self._ctx = ctx
        self._pipeline = pipeline
        self._fuse = fuse
        self._verify = verify
        self._stage: str | None = None

    def to(self, stage: str) -> None:
        """Run the passes up to the end of `stage`, which must be after the current stage. Raises DiagnosticError."""
        if self._stage is None:
            self._run(self._pipeline.front)
            _read_entry(self.module, self.facts)
            self._run(self._pipeline.fusion(self._fuse))
        self._run(self._pipeline.passes_between(self._stage, stage))
        self._stage = stage

    def to_the_end(self) -> None:
        """Run the passes up to the end of the last stage. Raises DiagnosticError."""
        self.to(self._pipeline.last_stage)

    def _run(self, specs: Sequence[str]) -> None:
        start = 0
        specs = tuple(self._profiled(specs))
        for end, spec in enumerate(specs, 1):
            read = _FACTS.get(_name_of(spec))
            if read is not None or end == len(specs):
                run_passes(self._ctx, self.module, specs[start:end], self.timing, self._verify)
                start = end
            if read is not None:
                read(self.module, self.facts)

    def _profiled(self, specs: Sequence[str]) -> Iterator[str]:
        for spec in specs:
            yield spec
            follower = self._pipeline.profiler.get(_name_of(spec))
            if follower is not None and self.facts.profiled:
                yield follower


def _name_of(spec: str) -> str:
    return spec.partition("{")[0]


def _read_entry(module: ModuleOp, facts: Facts) -> None:
    facts.inputs, facts.outputs = entry_types(module)
    facts.checks, facts.result_count = checks_of(module), result_count(module, len(facts.outputs))


def _read_kernels(module: ModuleOp, facts: Facts) -> None:
    facts.kernels = describe_kernels(module)


def _read_memory(module: ModuleOp, facts: Facts) -> None:
    facts.host_calls, facts.arena_bytes = host_calls_of(module), arena_bytes(module)


_FACTS: Mapping[str, Callable[[ModuleOp, Facts], None]] = {
    "outline-kernels": _read_kernels,
    "plan-buffers": _read_memory,
}
"""The functions that read facts, by the name of the pass that they follow."""
