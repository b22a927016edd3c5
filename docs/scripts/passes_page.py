"""The page of all passes: each with its documentation, its options, and an example from its own tests."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.registry import get_pass, list_passes
from xhlo.targets.program.pipeline import run_passes

ROOT = Path(__file__).resolve().parents[2]
TESTS = [ROOT / "test" / "lit" / "passes", ROOT / "test" / "lit" / "lowering"]
FITTING = range(8, 41)
"""The lines that an example has before and after together, if a test has one of that length."""

HEADER = """# Passes

The passes of xhlo, in alphabetical order; [the architecture](../architecture.md#the-passes-in-order) lists them in the
order in which a program meets them. `hlo-opt --NAME` runs one, `hlo-opt --NAME=option=value` with options. Each example
is from the pass's own tests, and what it becomes was made by running the pass when this page was built.

"""


def own_passes() -> list[str]:
    return sorted(entry.name for entry in list_passes() if entry.origin == "xhlo")


def page() -> str:
    """The page, as Markdown."""
    return HEADER + "\n".join(map(section, own_passes()))


def section(name: str) -> str:
    cls: Any = get_pass(name)
    first, _, rest = (inspect.getdoc(cls) or "").partition("\n\n")
    parts = [f"## {name}", " ".join(first.split())]
    if rest:
        parts.append(f"```text\n{rest.rstrip()}\n```")
    table = options(cls)
    if table:
        parts.append("| option | type | default |\n| --- | --- | --- |\n" + table)
    before, after = example(name)
    parts += [f"Before:\n\n```mlir\n{before}\n```", f"After:\n\n```mlir\n{after}\n```"]
    return "\n\n".join(parts) + "\n"


def options(cls: Any) -> str:
    """Rows of a table: the fields of the pass's dataclass."""
    rows: list[str] = []
    for field in fields(cls):
        default = "" if field.default is MISSING else f"`{field.default}`"
        rows.append(f"| `{field.name.replace('_', '-')}` | `{str(field.type).replace('|', '&#124;')}` | {default} |")
    return "\n".join(rows)


@cache
def example(name: str) -> tuple[str, str]:
    """
    The first program of the pass's tests that it changes, before and after, that is not too short nor too long to be
    read; if there is none, the shortest one. Raises LookupError.
    """
    shortest: tuple[str, str] | None = None
    for text in test_programs(name):
        changed = run(name, text)
        if changed is None:
            continue
        if shortest is None or length(*changed) < length(*shortest):
            shortest = changed
        if length(*changed) in FITTING:
            return changed
    if shortest is None:
        raise LookupError(f"no test of the pass {name} has a program that it changes")
    return shortest


def length(before: str, after: str) -> int:
    return before.count("\n") + after.count("\n")


def run(name: str, text: str) -> tuple[str, str] | None:
    """The program before and after the pass; None if the program is invalid, refused or not changed."""
    ctx = make_context()
    try:
        module = parse_module(text, "example.mlir", ctx)
        before = shown(module)
        run_passes(ctx, module, (name,))
    except DiagnosticError:
        return None
    after = shown(module)
    return None if after == before else (before, after)


def shown(module: ModuleOp) -> str:
    """The text, without the enclosing module if that has no attributes."""
    text = print_module(module).strip()
    lines = text.splitlines()
    if lines[0] != "builtin.module {":
        return text
    return "\n".join(line.removeprefix("  ") for line in lines[1:-1])


def test_programs(name: str) -> Iterator[str]:
    """The programs of the tests that run only this pass: each part of a file, and each function that stands alone."""
    alone = re.compile(rf"^// RUN: hlo-opt %s (?:--split-input-file )?--{name}(?:=\S+)?(?: (?!--[a-z-]+-to-)|$)", re.M)
    for folder in TESTS:
        for path in sorted(folder.rglob("*.mlir")):
            text = path.read_text(encoding="utf-8")
            if alone.search(text) is None:
                continue
            for part in re.split(r"^// -----.*$", text, flags=re.M):
                plain = re.sub(r"^\s*//.*\n", "", part, flags=re.M).strip()
                functions = re.split(r"^(?=func\.func )", plain, flags=re.M)
                if len(functions) > 2 and not functions[0].strip():
                    yield from functions[1:]
                yield plain
