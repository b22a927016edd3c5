"""The options of hlo-opt that show what passes do, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..passes.manager.registry import list_passes
from .command_line import Arguments, Option, UsageError

if TYPE_CHECKING:
    from ..passes.manager.ir_dumps import PrintIR

DEBUGGING = "Debugging"

DEBUG_OPTIONS = (
    Option("verify-roundtrip", "Print the input in every form, read that, and fail where it differs", DEBUGGING),
    Option("verify-numerics", "Run the program on random inputs after each pass, and fail where results change",
           DEBUGGING),
    Option("verify-each", "Verify after each pass; default for up to 8 passes without --fuse, --lower", DEBUGGING,
           "optional", "true|false", choices=("true", "false")),
    Option("print-ir-before", "Print what these passes get", DEBUGGING, "optional", "PASS,..",
           aliases=("mlir-print-ir-before",)),
    Option("print-ir-after", "Print what these passes leave", DEBUGGING, "optional", "PASS,..",
           aliases=("mlir-print-ir-after",)),
    Option("print-ir-before-all", "Print before every pass", DEBUGGING, aliases=("mlir-print-ir-before-all",)),
    Option("print-ir-after-all", "Print after every pass", DEBUGGING, aliases=("mlir-print-ir-after-all",)),
    Option("print-ir-after-change", "Print after passes that changed something", DEBUGGING,
           aliases=("mlir-print-ir-after-change",)),
    Option("print-ir-after-failure", "Print what a failing pass leaves", DEBUGGING,
           aliases=("mlir-print-ir-after-failure",)),
    Option("print-ir-module-scope", "Print the whole module around nested passes", DEBUGGING,
           aliases=("mlir-print-ir-module-scope",)),
    Option("print-ir-tree-dir", "Write the printed IR to files there; alone: after every pass", DEBUGGING, "required",
           "DIR", aliases=("mlir-print-ir-tree-dir",)),
    Option("timing", "Print the time of each stage on standard error", DEBUGGING, aliases=("mlir-timing",)),
    Option("pass-statistics", "Print how many operations each pass got and left, on standard error", DEBUGGING,
           aliases=("mlir-pass-statistics",)),
    Option("dump-pass-pipeline", "Print the pipeline on standard error before it runs", DEBUGGING),
    Option("debug-only", "Say on standard error what these passes decide and do", DEBUGGING, "required", "PASS,.."),
    Option("disable-threading", "Accepted for mlir-opt's sake: passes run on one thread", DEBUGGING,
           aliases=("mlir-disable-threading",)),
    Option("reproducer", "Write the reproducer of a failing or refusing pass there", DEBUGGING, "required", "FILE",
           aliases=("mlir-pass-pipeline-crash-reproducer",)),
    Option("run-reproducer", "Run the passes that the reproducer given as input names", DEBUGGING),
)  # fmt: skip


@dataclass(frozen=True)
class DebugSettings:
    """The options for watching passes."""

    before: frozenset[str]
    after: frozenset[str]
    changes: bool
    failures: bool
    whole_module: bool
    tree: Path | None
    timing: bool
    statistics: bool
    dump_pipeline: bool
    debugged: frozenset[str]
    verify_roundtrip: bool
    verify_numerics: bool
    verify_each: bool | None
    """Whether to verify after each pass; None where it depends on the passes."""
    reproducer: Path | None
    run_reproducer: bool

    def print_ir(self) -> PrintIR:
        """The dumps between passes; one for all modules of a run, because it numbers files."""
        from ..passes.manager.ir_dumps import DumpTree, PrintIR

        tree = DumpTree(self.tree) if self.tree is not None else None
        return PrintIR(self.before, self.after, self.changes, self.failures, self.whole_module, tree)


def understand_debugging(arguments: Arguments) -> DebugSettings:
    """Settings from flags. Raises UsageError."""
    before, after = _pass_names(arguments, "print-ir-before"), _pass_names(arguments, "print-ir-after")
    changes, failures = (arguments.has(f"print-ir-after-{what}") for what in ("change", "failure"))
    tree, reproducer = arguments.value("print-ir-tree-dir"), arguments.value("reproducer")
    if tree is not None and not (before or after or changes or failures):
        after = frozenset("*")
    return DebugSettings(
        before=before,
        after=after,
        changes=changes,
        failures=failures,
        whole_module=arguments.has("print-ir-module-scope"),
        tree=None if tree is None else Path(tree),
        timing=arguments.has("timing"),
        statistics=arguments.has("pass-statistics"),
        dump_pipeline=arguments.has("dump-pass-pipeline"),
        debugged=_pass_names(arguments, "debug-only"),
        verify_roundtrip=arguments.has("verify-roundtrip"),
        verify_numerics=arguments.has("verify-numerics"),
        verify_each=arguments.value("verify-each", "true") == "true" if arguments.has("verify-each") else None,
        reproducer=None if reproducer is None else Path(reproducer),
        run_reproducer=arguments.has("run-reproducer"),
    )


def _pass_names(arguments: Arguments, flag: str) -> frozenset[str]:
    """The passes that `--print-ir-after=a,b` names; `*` for all of them."""
    names: set[str] = {"*"} if arguments.has(f"{flag}-all") else set()
    for name, value in arguments.flags:
        if name == flag:
            names.update({"*"} if value is None else (part.strip() for part in value.split(",")))
    known = {entry.name for entry in list_passes()} | {"*"}
    unknown = sorted(names - known)
    if unknown:
        from difflib import get_close_matches

        close = get_close_matches(unknown[0], known, n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise UsageError(f"--{flag}: no pass is named '{unknown[0]}'{hint}")
    return frozenset(names)
