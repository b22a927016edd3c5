"""Every stage of a program as files, for programs compiled with XHLO_DUMP_TO set."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

from ...hlo_dialect.errors import Diagnostic, DiagnosticError
from ...passes.manager.places import pass_name
from .pipeline import DUMP_VARIABLE, parse_source, run_passes
from .source import Source
from .target import Target

PASSES_VARIABLE = "XHLO_DUMP_PASS_RE"
_SUFFIXES = {"asm": "s", "ptx": "ptx"}

_dumped = itertools.count()


def dump(name: str, source: Source, target: Target, folder: str | None = None, passes: str | None = None) -> None:
    """
    Write the program at every stage into the folder XHLO_DUMP_TO, and after every pass whose name XHLO_DUMP_PASS_RE
    matches: `module_0003.jit_f.fused.mlir`, `module_0003.jit_f.after_07_cse.mlir`. `folder` and `passes` go before the
    variables; without a folder nothing is written.

    The output of a failing stage is left out. Raises DiagnosticError for a folder that cannot be written, or an invalid
    regular expression.
    """
    folder = folder or os.environ.get(DUMP_VARIABLE)
    pattern = passes or os.environ.get(PASSES_VARIABLE)
    if not folder:
        return
    stem = f"module_{next(_dumped):04}.{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
    try:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{stem}.input.mlir").write_text(source.text)
        if pattern:
            _dump_passes(place, stem, source, target, pattern)
        _dump_stages(place, stem, source, target)
    except OSError as error:
        raise DiagnosticError(Diagnostic("error", f"the folder {folder} for dumps: {error}")) from None


def _dump_stages(place: Path, stem: str, source: Source, target: Target) -> None:
    stages = dict.fromkeys(("hlo", "fused", *target.lowering), "mlir")
    # The text of the emission "llvm" is LLVM IR, in place of the dialect of that name.
    stages |= {name: _SUFFIXES.get(name, "ll") for name in target.emitters if name not in target.binary}
    for stage, suffix in stages.items():
        try:
            text = target.text_at(source, stage)
        except DiagnosticError:
            return
        except ValueError:  # the program was given after this stage
            continue
        (place / f"{stem}.{stage}.{suffix}").write_text(text)


def _dump_passes(place: Path, stem: str, source: Source, target: Target, pattern: str) -> None:
    from ...hlo_dialect.dialect import make_context
    from ...hlo_dialect.printing import print_module
    from .stated import admit

    try:
        wanted = re.compile(pattern)
    except re.error as error:
        message = f"the regular expression {pattern} of passes to dump: {error}"
        raise DiagnosticError(Diagnostic("error", message)) from None
    ctx = make_context()
    try:
        module = parse_source(source, ctx)
        admit(ctx, module)
        for number, spec in enumerate(target.placed(target.passes_after(target.level_of(module), target.last_stage))):
            run_passes(ctx, module, (spec,))
            text = spec if isinstance(spec, str) else pass_name(spec)
            if wanted.search(text):
                name = re.sub(r"[^A-Za-z0-9-]+", "_", text).strip("_")
                (place / f"{stem}.after_{number:02}_{name}.mlir").write_text(print_module(module))
    except DiagnosticError:
        return
