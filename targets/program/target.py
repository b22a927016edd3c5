"""
The interface of a target. Each target of this package is described in `targets/<name>/target.py`, another package's
anywhere:

    class Toy(Target):
        name = "toy"
        summary = "a machine that .."
        lowering = {"linalg": LOWER_LINALG}

        def build(self, lowering, text_at):
            lowering.to("linalg")
            return ToyExecutable(lowering.facts, text_at, lowering.module)

The description imports nothing heavy: methods import their dependencies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ...hlo_dialect.garbage_collector import paused_gc
from ...passes.manager.places import pass_name
from .pipeline import Pipeline, parse_source, run_passes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...hlo_dialect.diagnostics import Diagnostic
    from .container import Serialized
    from .executable import Executable
    from .fusions import Fusion, Remark
    from .lowering import Lowering
    from .source import Source

Emitter = Callable[["ModuleOp"], "str | bytes"]

TextAt = Callable[[str], str]
"""The program as text at a stage; see `Target.text_at`."""


class TargetOptionError(ValueError):
    """An unknown option, or an invalid value."""


class Target(Pipeline, ABC):
    """A machine to compile for."""

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    """The options of `hlo-opt` that configure it; see `configured`."""
    binary: ClassVar[frozenset[str]] = frozenset()
    """The emitters whose output is bytes, not text."""
    reports_resources: ClassVar[bool] = False
    """Whether the target implements `resources`."""

    @property
    def machine(self) -> str:
        """The machine among several of this kind, and its configuration. Executables are specific to it."""
        return ""

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        """The kinds of output that `--emit` can produce from a module of the last stage."""
        return {}

    @abstractmethod
    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        """Compile a module into an executable. Raises DiagnosticError."""

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        """The serialized executable. Raises ValueError if it cannot be loaded."""
        raise ValueError(f"executables of the target {self.name} are not serialized")

    def environment(self) -> Mapping[str, str] | None:
        """
        The properties in which the compiling and the loading process must agree; None if executables cannot be
        serialized.
        """
        return None

    def configured(self, options: Mapping[str, str]) -> Target:
        """This target with other `options`, values by name. Raises TargetOptionError."""
        if options:
            raise TargetOptionError(f"the target {self.name} has no option '{next(iter(options))}'")
        return self

    def present(self) -> Target:
        """The target for the machine at hand, if there are several; programs that run here are compiled for it."""
        return self

    def require(self) -> None:
        """Check that its programs can run here. Raises DiagnosticError that names the missing part."""

    def resources(self, module: ModuleOp) -> str:
        """A table of the machine resources that the kernels of a module of the last stage use."""
        raise NotImplementedError(f"the target {self.name} reports no resources")

    def text_at(self, source: Source, stage: str) -> str:
        """
        The program as text at a stage: "hlo" as it was read, "fused" with its kernels, a stage of the lowering, a text
        emission of the target ("llvm" is LLVM IR then), or with its kernels in another format ("hlo-text").

        Raises ValueError for an unknown stage, or one that the program was past when it was given.
        """
        from ...hlo_dialect.formats import formats
        from ...hlo_dialect.printing import print_module

        emitters = {name: emit for name, emit in self.emitters.items() if name not in self.binary}
        emitters |= {each.name: each.write for each in formats() if each.write is not None}
        stages = {"hlo": None, "fused": None, **dict(zip(self.lowering, self.lowering, strict=True))}
        stages |= {name: self.last_stage if name in self.emitters else None for name in emitters}
        if stage not in stages:
            raise ValueError(f"no stage {stage!r}: there are {', '.join(stages)}")
        with paused_gc():
            module, _ = self._module_at(source, stage, stages[stage])
            return str(emitters.get(stage, print_module)(module))

    def explain(self, source: Source) -> tuple[Sequence[Fusion], Sequence[Remark]]:
        """The fusions of a program, and the remarks on them. Raises ValueError if the program was past fusion."""
        from .fusions import fusions_in, remark_of

        with paused_gc():
            module, diagnostics = self._module_at(source, "fused", None)
            return fusions_in(module), tuple(map(remark_of, diagnostics))

    def _module_at(self, source: Source, stage: str, wanted: str | None) -> tuple[ModuleOp, Sequence[Diagnostic]]:
        """
        The module after the last pass of the lowering's stage `wanted`, None for fusions, or as it was read if `stage`
        is "hlo"; and the diagnostics of the passes. Raises ValueError if the program was past it.
        """
        from ...hlo_dialect.dialect import make_context
        from .stated import admit

        ctx = make_context()
        module = parse_source(source, ctx)
        if stage != "hlo":
            admit(ctx, module)
            done = self.level_of(module)
            specs = self.passes_after(done, wanted)
            if done and not specs and pass_name(self.passes_to(wanted)[-1]) != done:
                raise ValueError(f"no stage {stage!r}: the program was given after the pass {done!r}")
            run_passes(ctx, module, self.placed(specs))
        return module, ctx.diagnostics.emitted
