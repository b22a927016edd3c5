"""
The front half of every compilation: run a target's pipeline stage by stage, and collect facts.

A fact is read after the pass that makes it explicit in the module, whatever the stage of that pass:

    lowering = Lowering(ctx, module, target)
    lowering.to("loops")              # the module is at that stage now
    lowering.facts.arena_bytes        # plan-buffers has run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ...dialects.support.editing import erased_freed, take_apart
from ...dialects.support.kernel import PROGRAM, entry_name
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.entry import ENTRY, find_entry
from ...passes.manager.pipelines import DEFAULT_OPT_LEVEL, FRONT, LOWERING
from ...passes.manager.places import Spec, pass_name
from ...passes.manager.timing import Timing
from .entry import entry_names, entry_of, entry_types, result_names
from .facts import Facts
from .guard_side import guard_side
from .module_facts import (
    arena_bytes,
    checks_of,
    donated_arguments,
    has_branches,
    has_loops,
    has_safepoints,
    host_calls_of,
    kernels_of,
    result_count,
)
from .pipeline import ITSELF, Pipeline, run_passes
from .stated import admit

if TYPE_CHECKING:
    from xdsl.context import Context


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
        guard: bool | str | None = None,
    ):
        """
        Without `fuse` each operation is a separate kernel; `verify` verifies the module after each pass; `guard`: see
        `guard_side`. Raises DiagnosticError if the target has no guard mode.
        """
        self.module = module
        self.timing = timing or Timing()
        self.facts = Facts(profiled=profile, stages=self.timing.seconds)
        side = guard_side(guard)
        if side:
            pipeline.require_guard()
            from .guard import GuardFacts

            self.facts.guard = GuardFacts(side=side)
        self._ctx = ctx
        self._pipeline = pipeline
        self._fuse = fuse
        self._verify = verify
        self._done: str | None = None
        """The name of the last pass that ran."""

    @property
    def opt_level(self) -> int:
        """The level of optimization."""
        return self._pipeline.opt_level

    @property
    def is_plain(self) -> bool:
        """Whether the target's own passes run and no others, at the default level, without guards and profile."""
        plain = self.facts.guard is None and not self.facts.profiled and self.opt_level == DEFAULT_OPT_LEVEL
        return plain and self._pipeline.is_as_written

    def to(self, stage: str) -> None:
        """Run the passes up to the end of `stage`, which must be after the current stage. Raises DiagnosticError."""
        if self._done is None:
            admit(self._ctx, self.module)
            self._start(self._pipeline.level_of(self.module))
        specs = self._pipeline.passes_after(self._done or "", stage, self._fuse)
        self._run(specs)
        if specs:
            self._done = pass_name(specs[-1])

    def _start(self, done: str) -> None:
        """Go on after the pass `done`, empty for a program at the level of hlo."""
        self.facts.name, names = entry_names(self.module)
        results = result_names(self.module)
        if not done:
            entry_of(self.module).sym_name = StringAttr(ENTRY)
            self._run(self._pipeline.front)
            self._done = pass_name(FRONT[-1])
        else:
            self._resume(done)
        _read_entry(self.module, self.facts)
        # Passes of the front may split arguments.
        self.facts.names = names if len(names) == len(self.facts.inputs) else ()
        self.facts.result_names = results if len(results) == self.facts.result_count else ()

    def _resume(self, done: str) -> None:
        """Read the facts that passes up to `done` make explicit. Raises DiagnosticError if it is too late for some."""
        names = [pass_name(spec) for spec in self._pipeline.passes_to(self._pipeline.last_stage)]
        earlier = set(names[: names.index(done) + 1]) if done in names else set[str]()
        if self.facts.guard is not None and not earlier.isdisjoint(_FACTS):
            fail(self.module, f"is past '{done}': guard mode takes programs of hlo operations")
        if self.facts.profiled and not earlier.isdisjoint(self._pipeline.profiler):
            fail(self.module, f"is past '{done}': it is too late to instrument its kernels for a profile")
        entry = find_entry(self.module)
        if done in LOWERING and entry is not None and entry.sym_name.data != entry_name(self.module):
            fail(entry, f"is the only function to run, but no attribute {PROGRAM} names it after '{done}'")
        self._done = done
        for name, read in _FACTS.items():
            if name in earlier:
                read(self.module, self.facts)

    def to_the_end(self) -> None:
        """Run the passes up to the end of the last stage. Raises DiagnosticError."""
        self.to(self._pipeline.last_stage)

    def then(self, spec: str) -> None:
        """Run one more pass after the last stage. Raises DiagnosticError."""
        self._run((spec,))

    def drop_module(self) -> None:
        """Take the module apart, of which only the facts are needed from now on."""
        take_apart(self.module)
        self.module = ModuleOp([])

    def _run(self, specs: Sequence[str]) -> None:
        start, survey = 0, None
        placed = self._pipeline.placed(specs)
        if self.facts.guard is not None or self.facts.profiled:
            placed = tuple(self._profiled(self._guarded(placed)))
        for end, spec in enumerate(placed, 1):
            read = _FACTS.get(pass_name(spec))
            if read is not None or end == len(placed):
                with erased_freed():
                    due, seen, survey = placed[start:end], survey, None
                    survey = run_passes(self._ctx, self.module, due, self.timing, self._verify, seen)
                start = end
            if read is not None:
                read(self.module, self.facts)

    def _guarded(self, specs: Sequence[Spec]) -> Iterator[Spec]:
        guard, replaced = self.facts.guard, self._pipeline.guards
        for spec in specs:
            if guard is None or not isinstance(spec, str) or pass_name(spec) not in replaced:
                yield spec
            else:
                for each in replaced[pass_name(spec)]:
                    yield spec if each == ITSELF else each.replace("SIDE", guard.side)

    def _profiled(self, specs: Iterable[Spec]) -> Iterator[Spec]:
        for spec in specs:
            yield spec
            follower = self._pipeline.profiler.get(pass_name(spec))
            if follower is not None and self.facts.profiled:
                yield follower


def _read_entry(module: ModuleOp, facts: Facts) -> None:
    facts.inputs, facts.outputs = entry_types(module)
    facts.checks, facts.result_count = checks_of(module), result_count(module, len(facts.outputs))


def _read_described(module: ModuleOp, facts: Facts) -> None:
    facts.kernels = kernels_of(module)


def _read_kernels(module: ModuleOp, facts: Facts) -> None:
    _read_described(module, facts)
    if facts.guard is not None:
        from .guard import read_ports

        read_ports(module, facts.guard)


def _read_memory(module: ModuleOp, facts: Facts) -> None:
    facts.host_calls, facts.arena_bytes = host_calls_of(module), arena_bytes(module)
    facts.loops, facts.branches = has_loops(module), has_branches(module)
    facts.safepoints = has_safepoints(module)
    if facts.guard is not None:
        from .guard import read_slots

        read_slots(module, facts.guard)


def _read_loops(module: ModuleOp, facts: Facts) -> None:
    """The loops that became kernels, and what their threads need of the arena."""
    _read_kernels(module, facts)
    facts.arena_bytes, facts.safepoints = arena_bytes(module), has_safepoints(module)


def _read_arena(module: ModuleOp, facts: Facts) -> None:
    """A run that safepoints may stop has an arena, whose address names it."""
    facts.arena_bytes = arena_bytes(module)


def _read_donations(module: ModuleOp, facts: Facts) -> None:
    facts.donated = donated_arguments(module)


def _read_accesses(module: ModuleOp, facts: Facts) -> None:
    from .guard import read_accesses

    assert facts.guard is not None
    read_accesses(module, facts.guard)


_FACTS: Mapping[str, Callable[[ModuleOp, Facts], None]] = {
    "outline-kernels": _read_kernels,
    "bufferize": _read_donations,
    "convert-contractions-to-vector": _read_described,
    "outline-block-loops": _read_kernels,
    "plan-buffers": _read_memory,
    "outline-loops": _read_loops,
    "guard-kernels": _read_accesses,
    "place-safepoints": _read_arena,
}
"""The functions that read facts, by the name of the pass that they follow."""
