"""The warning of Python's loops that fill a program: one that adds the same operation at one place again and again."""

from __future__ import annotations

import ast
import linecache
import warnings

from xdsl.ir import Operation

from ...hlo_dialect.diagnostics import file_location

UNROLLED = 512
"""The number of operations of one kind at one place from which there is a warning."""


class UnrollingWarning(UserWarning):
    """A loop of Python is unrolled into a large program."""


class Repetitions:
    """Counts the operations of each kind at each place of the function while it is traced."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, type[Operation]], int] = {}
        self._warned: set[tuple[str, int]] = set()

    def __call__(self, op: Operation) -> None:
        # Locations are shared and kept: see `callers_location`.
        key = id(op.location), type(op)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count == UNROLLED:
            self._warn(op)

    def _warn(self, op: Operation) -> None:
        place = file_location(op.location)
        if place is None:
            return
        file, line = place.filename.data, place.line.data
        loop = enclosing_loop(file, line) or line
        if (file, loop) in self._warned:
            return
        self._warned.add((file, loop))
        source = linecache.getline(file, loop).strip()
        warnings.warn_explicit(
            f"a loop is unrolled, with {UNROLLED} times {op.name} so far, and takes long to compile: {source}\n"
            "  instead: xhlo.fori_loop(0, n, body, value), xhlo.scan, or one operation on an array",
            UnrollingWarning,
            file,
            loop,
        )


def enclosing_loop(file: str, line: int) -> int | None:
    """The line of the innermost `for` or `while` around a line of a file; None without one."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    loops = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, loops) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(lines, default=None)
