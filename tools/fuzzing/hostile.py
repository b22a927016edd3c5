"""
The modes of hlo-fuzz that feed the tools what no program should hold: each case must end, in bounded time and memory,
with the right result or a located diagnostic.
"""

from __future__ import annotations

import gc
import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.reading import parse_module
from ...passes.manager.pipelines import FUSE, FUSE_NONE, PipelineError, build_passes
from ...passes.manager.registry import list_passes
from ...targets.program.lowering import Lowering
from ...targets.registry import get_target
from .checks import reference_results
from .grammar import grammatical_program
from .isolation import Limits, Outcome, isolated
from .mutations import mutated
from .operations import random_program
from .programs import PROFILES

_LOCATED = re.compile(r"^\S[^\n]*:[0-9]+:[0-9]+: error: ", re.MULTILINE)
_TOOL_ERROR = re.compile(
    r"^hlo-(?:opt|run): error: .*"
    r"(?:is not UTF-8 text|is not text|is binary|is no valid MLIR bytecode|is bytecode|nothing to|needs .* of memory)",
    re.MULTILINE,
)
_MAX_SOURCE = 200_000
"""Characters of the longest file that is mutated."""

_READ = (("hlo-opt", "--verify-roundtrip"),)
_COMMANDS = (
    *_READ, *_READ, *_READ, ("hlo-opt", "--no-fast-reader"), ("hlo-opt", "--fuse"), ("hlo-opt", "--fuse", "--lower"),
    ("hlo-opt", "--lower"), ("hlo-opt", "--target=nvptx", "--fuse", "--lower"), ("hlo-run", "--target=reference"),
    ("hlo-run",),
)  # fmt: skip
_NOT_PASSES = frozenset(("mlir-opt", "test-deprecation"))
"""Passes of xDSL: one runs another program, one tests warnings."""


@dataclass(frozen=True)
class Case:
    """A text, and the command line that is to take it."""

    command: tuple[str, ...]
    text: bytes


def grammar_case(numbers: random.Random, sources: Sequence[str]) -> Case:
    """A program by the grammar of the dialects."""
    return Case(numbers.choice(_COMMANDS), grammatical_program(numbers).encode())


def mutated_case(numbers: random.Random, sources: Sequence[str]) -> Case:
    """A program of `sources`, or a random one, with one or two changes."""
    text = numbers.choice(sources) if sources else random_program(numbers).text
    return Case(numbers.choice(_COMMANDS), mutated(numbers, text))


def pipeline_case(numbers: random.Random, sources: Sequence[str]) -> Case:
    """A program lowered to some level, then one to three passes that need not fit it."""
    profile = PROFILES[numbers.choice(("small", "shared", "reductions", "dots", "types"))]
    text = numbers.choice(sources) if sources else random_program(numbers, profile).text
    target = get_target(numbers.choice(("cpu", "cpu", "nvptx")))
    lowering = target.passes_between(None, target.last_stage)
    way = (*target.front, *numbers.choice((FUSE, FUSE_NONE)), *lowering)
    specs = [
        *way[: numbers.randint(0, len(way))],
        *(numbers.choice(_passes()) for _ in range(numbers.choice((1, 1, 2, 3)))),
    ]
    return Case(("hlo-opt", f"--pass-pipeline={','.join(specs)}"), text.encode())


@cache
def _passes() -> tuple[str, ...]:
    """All passes by name, this project's so often that they are three of four."""
    entries = [entry for entry in list_passes() if entry.name not in _NOT_PASSES and _needs_no_options(entry.name)]
    own = [entry.name for entry in entries if entry.origin == "xhlo"]
    return (*[entry.name for entry in entries], *own * 12)


def _needs_no_options(name: str) -> bool:
    try:
        build_passes(name)
    except PipelineError:
        return False
    return True


MODES: Mapping[str, Callable[[random.Random, Sequence[str]], Case]] = {
    "grammar": grammar_case,
    "mutate": mutated_case,
    "pipelines": pipeline_case,
}
"""The modes by their names in hlo-fuzz, each with what makes its cases."""


def sources_of(names: Sequence[str]) -> list[str]:
    """The texts of files, and of all `.mlir` and `.hlo` files in folders, without very long ones. Raises OSError."""
    found: list[str] = []
    for path in map(Path, names):
        files = sorted((*path.rglob("*.mlir"), *path.rglob("*.hlo"))) if path.is_dir() else [path]
        texts = (file.read_bytes().decode(errors="replace") for file in files if file.stat().st_size <= _MAX_SOURCE)
        found += texts
    return found


@cache
def _tools() -> Mapping[str, Callable[[Sequence[str]], int]]:
    """
    The tools by name. The modules that their runs need are imported here, once, and not by each child.
    """
    from .. import hlo_opt, hlo_run, opt_driver, run_driver

    del opt_driver, run_driver
    program = random_program(random.Random(0))
    for target in (get_target("cpu"), get_target("nvptx")):
        Lowering(ctx := make_context(), parse_module(program.text, "warm-up.mlir", ctx), target).to_the_end()
    reference_results(program.text, program.inputs)
    for entry in list_passes():
        if entry.origin == "xhlo":
            entry.load()
    gc.freeze()
    return {"hlo-opt": hlo_opt.main, "hlo-run": hlo_run.main}


def problem(case: Case, limits: Limits) -> str | None:
    """The fault in the way the tool takes the case; None if there is none."""
    tools = _tools()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.mlir")
        path.write_bytes(case.text)
        reproducer = (f"--reproducer={folder}/reproducer.mlir",) if case.command[0] == "hlo-opt" else ()
        outcome = isolated(lambda: tools[case.command[0]]([*case.command[1:], *reproducer, str(path)]), limits)
    return _judged(outcome, limits)


def _judged(outcome: Outcome, limits: Limits) -> str | None:
    lines = outcome.output.strip().splitlines()
    if outcome.out_of_time:
        return f"takes more than {limits.seconds:g} s"
    if outcome.signal is not None:
        return f"dies of signal {outcome.signal}"
    if outcome.status == 0:
        return None
    if outcome.status != 1:
        wrong = next((line for line in reversed(lines) if "error: " in line or "Error" in line), "no message")
        return f"exit status {outcome.status}: {wrong}"
    if not _LOCATED.search(outcome.output) and not _TOOL_ERROR.search(outcome.output):
        return f"no located error: {lines[0] if lines else 'no message'}"
    return None
