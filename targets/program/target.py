"""
What a target is. Each one describes itself in `targets/<name>/target.py`, another package's anywhere:

    class Toy(Target):
        name = "toy"
        summary = "a machine that .."
        lowering = {"linalg": LOWER_LINALG}

        def build(self, lowering, text_at):
            lowering.to("linalg")
            return ToyExecutable(lowering.facts, text_at, lowering.module)

Describing a target imports nothing heavy: methods import what they need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from ...hlo_dialect.garbage_collector import paused_gc
from .pipeline import Pipeline, parse_source, run_passes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .container import Serialized
    from .executable import Executable
    from .lowering import Lowering
    from .source import Source

Emitter = Callable[["ModuleOp"], "str | bytes"]

TextAt = Callable[[str], str]
"""The program as text at a stage; see `Target.text_at`."""


class TargetOptionError(ValueError):
    """An option that the target does not have, or a value that it does not take."""


class Target(Pipeline, ABC):
    """A machine to compile for."""

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()
    """The options of `hlo-opt` that configure it; see `configured`."""
    binary: ClassVar[frozenset[str]] = frozenset()
    """The emitters whose output is bytes, not text."""
    reports_resources: ClassVar[bool] = False
    """Whether `resources` can be called."""

    @property
    def machine(self) -> str:
        """Which of several machines of this kind, and how it is configured. Executables of another one are others."""
        return ""

    @property
    def emitters(self) -> Mapping[str, Emitter]:
        """What `--emit` can make of a module of the last stage."""
        return {}

    @abstractmethod
    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        """Compile a module into something that runs. Raises DiagnosticError."""

    def load(self, serialized: Serialized, text_at: TextAt) -> Executable:
        """The executable that was serialized. Raises ValueError where that is not possible."""
        raise ValueError(f"executables of the target {self.name} are not serialized")

    def environment(self) -> Mapping[str, str] | None:
        """What has to agree between who compiles and who loads; None where executables are not serialized."""
        return None

    def configured(self, options: Mapping[str, str]) -> Target:
        """The same target with other `options`, values by name. Raises TargetOptionError."""
        if options:
            raise TargetOptionError(f"the target {self.name} has no option '{next(iter(options))}'")
        return self

    def present(self) -> Target:
        """The target of the machine at hand, where there are several: programs that are to run are compiled for it."""
        return self

    def require(self) -> None:
        """Raises DiagnosticError where its programs cannot run here, and says what is missing."""

    def resources(self, module: ModuleOp) -> str:
        """A table of the machine resources that the kernels of a module of the last stage use."""
        raise NotImplementedError(f"the target {self.name} reports no resources")

    def text_at(self, source: Source, stage: str) -> str:
        """
        The program as text at a stage: "hlo" as it was read, "fused" with its kernels, a stage of the lowering, or what
        the target emits as text ("llvm" is the LLVM IR then). Raises ValueError for an unknown stage.
        """
        from ...hlo_dialect.dialect import make_context
        from ...hlo_dialect.printing import print_module

        stages = {"hlo": (), "fused": self.passes_to(None)}
        stages |= {name: self.passes_to(name) for name in self.lowering}
        emitters = {name: emit for name, emit in self.emitters.items() if name not in self.binary}
        stages |= dict.fromkeys(emitters, stages[self.last_stage])
        if stage not in stages:
            raise ValueError(f"no stage {stage!r}: there are {', '.join(stages)}")
        ctx = make_context()
        with paused_gc():
            module = parse_source(source, ctx)
            run_passes(ctx, module, stages[stage])
            return str(emitters.get(stage, print_module)(module))
