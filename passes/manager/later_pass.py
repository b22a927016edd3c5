"""A pass that is imported when a program has what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import Survey
from .contents import Contents
from .pipelines import build_passes
from .places import pass_name
from .registry import find_pass


class LaterPass(HloPass):
    """
    Stands for a pass of a target's own pipeline, which is right, so that building it is no check of the spec.

    The text of its class states the programs that it is for (`HloPass.only_for`): any other program is left as it
    is, and the pass is not imported.
    """

    def __init__(self, spec: str, only_for: Sequence[str]):
        vars(self).update(name=pass_name(spec), spec=spec, only_for=only_for)

    def __eq__(self, other: object) -> bool:
        return self is other  # not by the fields, which the pass itself has

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def itself(self) -> ModulePass:
        """The pass. Raises PipelineError."""
        (found,) = build_passes(vars(self)["spec"])
        assert isinstance(found, ModulePass)
        return found

    def apply_after(
        self, previous: ModulePass | None, ctx: Context, module: ModuleOp, survey: Survey | None = None
    ) -> Survey | None:
        survey = survey or Survey.of(module)
        if not Contents(survey).has_any(self.only_for):
            return survey
        if isinstance(self.itself, HloPass):
            return self.itself.apply_after(None, ctx, module, survey)
        self.itself.apply(ctx, module)
        return None

    def pipeline_pass_spec(self, **options: Any) -> ArgSpec:
        return self.itself.pipeline_pass_spec(**options)


def later_pass(spec: str) -> LaterPass | None:
    """The pass, if it is for some programs only."""
    entry = find_pass(pass_name(spec))
    return LaterPass(spec, entry.only_for) if entry is not None and entry.only_for else None
