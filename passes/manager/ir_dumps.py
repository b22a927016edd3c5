"""The IR between passes, as `--print-ir-after` and its relatives print it, or in a tree of files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from xdsl.dialects.builtin import UNKNOWN_LOC, StringAttr
from xdsl.ir import Operation

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError

ALL = "*"
"""Selects every pass in `PrintIR`."""


class DumpTree:
    """
    A directory of dumps: `builtin_module_NAME/func_func_main/1_0_cse.mlir`, a directory for each operation that passes
    run on. The numbers count the passes that ran on the operation, after those that had run on each around it.
    """

    def __init__(self, root: Path):
        self.root = root
        self._counts: Counter[Path] = Counter()

    def write(self, path: Sequence[Operation], name: str, text: str) -> None:
        """Write a dump of the last operation of `path`, which begins at the module. Raises DiagnosticError."""
        folder, numbers = self.root, list[int]()
        for op in path:
            folder /= _folder_name(op)
            numbers.append(self._counts[folder])
        self._counts[folder] += 1
        file = folder / f"{'_'.join(map(str, numbers))}_{name}.mlir"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            message = f"cannot write {file}: {error.strerror or error}"
            raise DiagnosticError(Diagnostic("error", message, UNKNOWN_LOC)) from None


def symbol_of(op: Operation) -> str | None:
    """The name of an operation that defines a symbol."""
    name = op.properties.get("sym_name", op.attributes.get("sym_name"))
    return name.data if isinstance(name, StringAttr) else None


def _folder_name(op: Operation) -> str:
    symbol = symbol_of(op) or "no-symbol-name"
    kept = "".join(character if character.isalnum() or character in "-_." else "_" for character in symbol)
    return f"{op.name.replace('.', '_')}_{kept}"


@dataclass(frozen=True)
class PrintIR:
    """The passes whose input and output to print: names, or ALL."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    only_changes: bool = False
    """Print after every pass that changed what it ran on."""
    failures: bool = False
    """Print what a failing pass leaves."""
    whole_module: bool = False
    """Print the module around the operation that a nested pass runs on."""
    tree: DumpTree | None = None
    """Write files instead of printing."""

    def wants(self, names: frozenset[str], name: str) -> bool:
        return ALL in names or name in names


NOTHING = PrintIR()
"""Prints nothing, and is not asked."""


@dataclass
class Dumps:
    """Prints the IR around one pass, of the operation that it runs on."""

    show: PrintIR
    to_text: Callable[[Operation], str]
    output: TextIO | None
    """The stream to print to; standard error if None."""
    _before: dict[str, str] = field(default_factory=dict[str, str])

    def before(self, name: str, op: Operation) -> None:
        """Before a pass on an operation: the module, or one inside it."""
        if self.show.wants(self.show.before, name):
            self._dump(f"Before {name}", f"{name}-before", op)
        if self.show.only_changes:
            self._before[name] = self.to_text(op)

    def after(self, name: str, op: Operation) -> None:
        changed = self.show.only_changes and self.to_text(op) != self._before.pop(name)
        if changed or self.show.wants(self.show.after, name):
            self._dump(f"After {name}", name, op)

    def after_failure(self, name: str, op: Operation) -> None:
        if self.show.failures:
            self._dump(f"After {name} Failed", f"{name}-failed", op)

    def _dump(self, title: str, file: str, op: Operation) -> None:
        path = _path_to(op)
        if op is not path[0]:
            symbol = symbol_of(op)
            title += f" ('{op.name}' operation{f': @{symbol}' if symbol else ''})"
        text = self.to_text(path[0] if self.show.whole_module else op).rstrip("\n")
        if self.show.tree is not None:
            self.show.tree.write(path, file, f"// -----// IR Dump {title} //----- //\n{text}\n")
            return
        print(f"// -----// IR Dump {title} //----- //\n{text}\n", file=self.output or sys.stderr)


def _path_to(op: Operation) -> list[Operation]:
    """The operations around one, from the outermost on, and itself."""
    found = [op]
    while (parent := found[-1].parent_op()) is not None:
        found.append(parent)
    return found[::-1]


@dataclass
class Statistics:
    """The number of operations before and after each pass, and which of them came and went."""

    rows: list[tuple[str, int, int, dict[str, int]]] = field(default_factory=list[tuple[str, int, int, dict[str, int]]])
    rules: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    """For each row how often the pass applied its rules, by name."""

    def record(self, name: str, before: Mapping[str, int], after: Mapping[str, int], rules: Mapping[str, int]) -> None:
        """Add a pass; the mappings count operations by name, and applications of rules."""
        self.rows.append((name, sum(before.values()), sum(after.values()), difference(before, after)))
        self.rules.append(dict(rules))

    def table(self) -> str:
        """A line for each pass: operations before and after, name, difference by operation; then one for each rule."""
        lines = [f"{'before':>8}{'after':>8}  pass"]
        for (name, before, after, changes), rules in zip(self.rows, self.rules, strict=True):
            shown = "".join(f" {count:+} {op}" for op, count in changes.items())
            lines.append(f"{before:>8}{after:>8}  {name}{':' if shown else ''}{shown}")
            lines += [f"{count:>16}  - {rule}" for rule, count in sorted(rules.items())]
        return "\n".join(lines)


def count_operations(op: Operation) -> Counter[str]:
    """The operations inside of one, by name."""
    return Counter(inner.name for inner in op.walk() if inner is not op)


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """How many more there are after than before, by name, without zeros."""
    changes = {name: after.get(name, 0) - before.get(name, 0) for name in sorted({*before, *after})}
    return {name: change for name, change in changes.items() if change}
