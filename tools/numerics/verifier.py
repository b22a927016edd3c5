"""
Results of a program before and after every pass, on the same inputs.

The reference interpreter runs the module while it consists of hlo; below, the rest of the pipeline compiles it, so that
any stage runs. The first pass whose results differ from those before by more than `compare` accepts is named, and the
operation where both modules have one of the same location that gives other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute

from ...dialects.support.kernel import COMPLEX
from ...hlo_dialect.diagnostics import DiagnosticError, fail
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.entry import find_entry
from ...hlo_dialect.reference.programs import Recorded, evaluate
from ...hlo_dialect.types import Array
from ...passes.manager.pass_manager import PassManager, describe_operation
from ...passes.manager.pipelines import DEFAULT_OPT_LEVEL
from ...targets.cpu.target import CPU
from ...targets.program.entry import entry_types
from ...targets.program.level import level_of
from ...targets.program.lowering import Lowering
from ...targets.program.pipeline import cached_passes
from ..arrays import compare, random_arrays
from . import NumericsError

Results = tuple[Array, ...]


class NumericsVerifier:
    """Follows one module through its passes; `after` is to be called after each of them."""

    def __init__(self, module: ModuleOp, inputs: Sequence[Array] | None = None, seed: int = 0):
        """
        `inputs`: those of the program; without them random ones by seed. Raises DiagnosticError if the program cannot
        run, or takes sizes that are not known.
        """
        types = entry_types(module)[0]
        self.inputs = random_arrays(types, seed) if inputs is None else list(inputs)
        self._seen = module.body.clone()
        """The module after the last pass that changed it."""
        self._recorded: Recorded | None = None
        self._results = self._run(module)

    def after(self, name: str, module: ModuleOp) -> None:
        """Raises NumericsError if the pass `name` has changed the results, DiagnosticError if the module cannot run."""
        if module.body.is_structurally_equivalent(self._seen):
            return
        self._seen = module.body.clone()
        earlier, recorded = self._results, self._recorded
        found = self._run(module)
        if len(found) < len(earlier):
            raise NumericsError(f"pass '{name}' leaves {len(found)} results of {len(earlier)}")
        for number, (old, new) in enumerate(zip(earlier, found, strict=False)):
            problem = compare(new, old).problem
            if problem is not None:
                raise NumericsError(f"pass '{name}' changes result {number}: {problem}{self._place(recorded)}")
        self._results = (*found[: len(earlier)],)

    # Running -----------------------------------------------------------------------------------------------------

    def _run(self, module: ModuleOp) -> Results:
        """The results of a module at any level, complex ones as pairs."""
        self._recorded = None
        copies = [array.copy() for array in self.inputs]
        if not level_of(module):
            recorded: Recorded = []
            try:
                results = evaluate(module, self._entered(module, copies), recorded=recorded)
            except DiagnosticError as error:
                if not _may_compile(module):
                    raise error
            else:
                self._recorded = recorded
                return tuple(map(_pairs, results))
        lowering = Lowering(make_context(), module.clone(), CPU)
        executable = CPU.build(lowering, partial(_no_text, module))
        found: Array | Results = executable(*copies)
        return tuple(map(_pairs, found if isinstance(found, tuple) else (found,)))

    @staticmethod
    def _entered(module: ModuleOp, arrays: Sequence[Array]) -> list[Array]:
        """The inputs as the entry takes them: complex ones as pairs after split-complex."""
        entry = find_entry(module)
        marks = None if entry is None or entry.arg_attrs is None else entry.arg_attrs.data
        if marks is None or len(marks) != len(arrays):
            return list(arrays)
        return [_pairs(array) if COMPLEX in mark.data else array for array, mark in zip(arrays, marks, strict=True)]

    # Narrowing down ----------------------------------------------------------------------------------------------

    def _place(self, recorded: Recorded | None) -> str:
        """The first operation after the pass whose values no operation of its location had before it."""
        if recorded is None or self._recorded is None:
            return ""
        known: dict[Attribute, list[Array]] = {}
        for op, values in recorded:
            known.setdefault(op.location, []).extend(values)
        for op, values in self._recorded:
            if isinstance(op.location, UnknownLoc):
                continue
            for value in values:
                alike = [
                    old for old in known.get(op.location, ()) if (old.dtype, old.shape) == (value.dtype, value.shape)
                ]
                if alike and all(compare(value, old).problem is not None for old in alike):
                    return f"\nat {describe_operation(op)}"
        return ""


def verify_lowering(module: ModuleOp, inputs: Sequence[Array], opt_level: int = DEFAULT_OPT_LEVEL) -> None:
    """
    Run all passes of the CPU at a level of optimization on a copy of a module, from where it is on. Raises
    NumericsError, and DiagnosticError as a compilation does.
    """
    ctx, copy, cpu = make_context(), module.clone(), CPU.at_level(opt_level)
    verifier = NumericsVerifier(copy, inputs)
    passes = cached_passes(cpu.placed(cpu.passes_after(cpu.level_of(copy), cpu.last_stage)))
    PassManager(ctx, passes, watch=verifier.after).run(copy)


def _pairs(array: Array) -> Array:
    """A complex array as one of pairs; others as they are."""
    if array.dtype.kind != "c":
        return array
    part = np.dtype(f"f{array.dtype.itemsize // 2}")
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(part)


def _may_compile(module: ModuleOp) -> bool:
    """Whether a module is past the dialects that only the reference interpreter runs."""
    return any(op.name.startswith(("linalg.", "scf.", "memref.", "llvm.")) for op in module.walk())


def _no_text(module: ModuleOp, stage: str) -> str:
    fail(module, f"has no text at the stage {stage}: it was compiled to be compared")
