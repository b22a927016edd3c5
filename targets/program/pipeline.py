"""The pipeline of a target, stage by stage, and running passes on a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from ...passes.manager.pipelines import DEFAULT_OPT_LEVEL, FRONT, FUSE, FUSE_NONE, OPT_LEVELS, build_passes, specs_at
from ...passes.manager.places import Placement, Places, Spec, package_places, pass_name, read_places
from ...passes.manager.timing import Timing

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from ...hlo_dialect.walking import Survey
    from ...passes.manager.contents import Contents
    from ...passes.manager.nesting import AnyPass
    from .source import Source

DUMP_VARIABLE = "XHLO_DUMP_TO"
"""The environment variable with the folder for the files of every stage (dump.py)."""


ITSELF = "ITSELF"
"""A pass of `Pipeline.guards`: the one that is replaced."""


class Pipeline:
    """The passes of a target, from any program to its last stage."""

    lowering: Mapping[str, tuple[str, ...]]
    """The pass specs of each stage of `--lower`, in order, starting from hlo with fusions."""
    profiler: Mapping[str, str] = {}
    """Passes that add timing to kernels, by the name of the pass that each follows; run only when profiling."""

    guards: Mapping[str, tuple[str, ...]] = {}
    """
    In guard mode: the passes that replace a pass, by its name, with SIDE for the side and `ITSELF` for the replaced one
    with its options. Empty if the target has no guard mode.
    """

    places: Places = Places()
    """The passes that a compilation asks for in addition to the pipeline's; see `with_passes`."""

    opt_level: int = DEFAULT_OPT_LEVEL
    """The level of optimization; see `at_level`."""

    def at_level(self, level: int) -> Self:
        """The same pipeline at a level of optimization, of `OPT_LEVELS`. Raises ValueError for any other."""
        if level not in OPT_LEVELS:
            raise ValueError(f"no level of optimization is {level!r}; there are {', '.join(map(str, OPT_LEVELS))}")
        if level == self.opt_level:
            return self
        changed = copy(self)
        object.__setattr__(changed, "opt_level", level)  # it may be frozen
        return changed

    def with_passes(self, given: Placement) -> Self:
        """
        The same with passes at named places (passes/manager/places.py). Raises PipelineError for places that the
        pipeline does not have and unknown passes, TypeError for what is no pass.
        """
        names = dict.fromkeys(map(pass_name, self.passes_to(self.last_stage)))
        changed = copy(self)
        object.__setattr__(changed, "places", self.places.and_then(read_places(given, names)))  # it may be frozen
        return changed

    def placed(self, specs: Sequence[Spec]) -> tuple[Spec, ...]:
        """The passes as they run: with those at named places, of installed packages first."""
        return self.places.around(package_places().around(specs))

    @property
    def is_as_written(self) -> bool:
        """Whether no passes are placed among the pipeline's own."""
        own = specs_at(self.opt_level, self._written_to(self.last_stage, True))
        return self.placed(own) == own

    def require_guard(self) -> None:
        """Check that the target has a guard mode. Raises DiagnosticError."""
        if not self.guards:
            from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError

            raise DiagnosticError(Diagnostic("error", "guard mode is for the targets cpu and simt"))

    def tune(self, spec: str) -> str:
        """Add the options for this machine to a pass spec."""
        return spec

    @property
    def last_stage(self) -> str:
        return tuple(self.lowering)[-1]

    @property
    def front(self) -> tuple[str, ...]:
        """The passes from any program to the operations that fusion supports."""
        return self._leveled(FRONT)

    def fusion(self, fuse: bool = True) -> tuple[str, ...]:
        """The passes from there to fusions; without `fuse`, one fusion per operation."""
        return self._leveled(FUSE if fuse else FUSE_NONE)

    def _leveled(self, specs: Sequence[str]) -> tuple[str, ...]:
        """The passes of the pipeline that run at its level of optimization, with options for this machine."""
        return tuple(map(self.tune, specs_at(self.opt_level, specs)))

    def passes_between(self, done: str | None, wanted: str) -> tuple[str, ...]:
        """The passes from the end of stage `done` (None: from fusions) to the end of `wanted`."""
        return self._leveled(self._written_between(done, wanted))

    def passes_after(self, done: str, wanted: str | None, fuse: bool = True) -> tuple[str, ...]:
        """
        The passes that follow `done`, up to the end of `wanted` (None: to fusions); all of them if it is empty. `done`
        is the name of one of this target's passes, as `level_of` finds it.
        """
        if not done:
            return self.passes_to(wanted, fuse)
        # The program may have been through passes that do not run at this level.
        specs = self._written_to(wanted, fuse)
        names = list(map(pass_name, specs))
        if done in names:
            return self._leveled(specs[names.index(done) + 1 :])
        return ()

    def level_of(self, module: ModuleOp) -> str:
        """
        The name of the last pass that the module has been through; empty at the level of hlo. Raises DiagnosticError
        if it is none of this target's passes.
        """
        from ...hlo_dialect.diagnostics import fail
        from .level import level_of

        done = level_of(module)
        if done and done not in map(pass_name, self._written_to(self.last_stage, True)):
            fail(module, f"was lowered for another target: its last pass, '{done}', is none of this target's")
        return done

    def passes_to(self, wanted: str | None, fuse: bool = True) -> tuple[str, ...]:
        """The passes from a parsed program to the end of `wanted` (None: to fusions)."""
        return self._leveled(self._written_to(wanted, fuse))

    def _written_to(self, wanted: str | None, fuse: bool) -> tuple[str, ...]:
        """`passes_to` as the lists of the pipeline have it, whatever the level."""
        return (*FRONT, *(FUSE if fuse else FUSE_NONE), *self._written_between(None, wanted))

    def _written_between(self, done: str | None, wanted: str | None) -> tuple[str, ...]:
        if wanted is None:
            return ()
        stages = list(self.lowering)
        first = 0 if done is None else stages.index(done) + 1
        return tuple(spec for stage in stages[first : stages.index(wanted) + 1] for spec in self.lowering[stage])


def parse_source(source: Source, ctx: Context) -> ModuleOp:
    """The verified module of a source. Raises DiagnosticError."""
    from ...hlo_dialect.reading import parse_module

    return parse_module(source.text, source.filename, ctx)


def run_passes(
    ctx: Context,
    module: ModuleOp,
    specs: Sequence[Spec],
    timing: Timing | None = None,
    verify: bool = False,
    survey: Survey | None = None,
) -> Survey | None:
    """
    Run the passes in order, but those that are for programs of another kind (`HloPass.only_for`); `verify` the module
    after each. `survey`: that of the module, if there is one; returns that of what the last pass leaves, if it looked.

    Raises DiagnosticError for errors in the program, PassFailure for bugs in a pass.
    """
    from ...hlo_dialect.walking import Survey
    from ...passes.manager.pass_manager import PassManager

    timing = timing or Timing()
    waiting = list(specs)
    while waiting:
        survey = survey or Survey.of(module)
        due = cached_passes(_due(waiting, survey))
        if due:
            manager = PassManager(ctx, due, verify_each=verify, verify_end=False, timing=timing, survey=survey)
            survey = None  # it would keep what a pass erases
            manager.run(module)
            survey = manager.survey
    return survey


def _due(waiting: list[Spec], survey: Survey) -> tuple[Spec, ...]:
    """Take the specs to run next from the front: up to one that depends on what the module contains by then."""
    due: list[Spec] = []
    contents: Contents | None = None
    while waiting:
        only_for = _only_for(waiting[0]) if isinstance(waiting[0], str) else ()
        if only_for and due:
            break
        spec = waiting.pop(0)
        if only_for:
            if contents is None:
                from ...passes.manager.contents import Contents

                contents = Contents(survey)
            if not contents.has_any(only_for):
                continue
        due.append(spec)
    return tuple(due)


def _only_for(spec: str) -> tuple[str, ...]:
    """The names that the pass of a spec is only for."""
    own = _own_only_for(spec)
    if own is not None:
        return own
    from ...passes.manager.registry import find_pass

    entry = find_pass(pass_name(spec))
    return () if entry is None else entry.only_for


@lru_cache(maxsize=512)
def _own_only_for(spec: str) -> tuple[str, ...] | None:
    """The same for a pass of ours; None for another, which may be loaded later."""
    from ...passes.manager.registry import builtin_registry

    entry = builtin_registry().get(pass_name(spec))
    return None if entry is None else entry.only_for


def cached_passes(specs: tuple[Spec, ...]) -> tuple[AnyPass, ...]:
    """
    The passes of a list of specs, cached, because building them takes longer than running them on small programs.

    Raises PipelineError.
    """
    return tuple(one for spec in specs for one in (_cached(spec) if isinstance(spec, str) else (spec,)))


@lru_cache(maxsize=512)
def _cached(spec: str) -> tuple[AnyPass, ...]:
    return tuple(build_passes(spec))
