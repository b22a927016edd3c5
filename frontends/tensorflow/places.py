"""The user's lines of a program's instructions: TensorFlow's text names lines of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..hlo_text.locations import is_library

_NAMED = re.compile(
    r'metadata=\{(?P<type>op_type="[^"\\]*" )?op_name="(?P<name>[^"\\]+)"'
    r'(?: source_file="[^"\\]*" source_line=[0-9]+)?(?P<rest> [^{}"]*)?\}'
)
_OURS = (str(Path(__file__).parent), str(Path(__file__).resolve().parent))
_GENERATED = "__autograph_generated_file"


def with_places(text: str, graph: Any) -> str:
    """HLO text whose metadata states the user's frame of the TensorFlow operation that an instruction is made of."""
    operations = {op.name: op for each in _graphs(graph) for op in each.get_operations()}
    known: dict[str, str] = {}

    def stated(match: re.Match[str]) -> str:
        name = match["name"]
        place = known.get(name)
        if place is None:
            place = known[name] = _place(operations, name)
        if not place:
            return match[0]
        return f'metadata={{{match["type"] or ""}op_name="{name}" {place}{match["rest"] or ""}}}'

    return _NAMED.sub(stated, text)


def _graphs(graph: Any) -> Iterator[Any]:
    """A function's graph, and those of the functions that it calls: bodies of loops, branches."""
    seen: set[str] = set()
    waiting = [graph]
    while waiting:
        each = waiting.pop()
        yield each
        for name in getattr(each, "_functions", ()):
            if name not in seen:
                seen.add(name)
                inner = getattr(each._get_function(name), "graph", None)
                if inner is not None:
                    waiting.append(inner)


def _place(operations: dict[str, Any], name: str) -> str:
    """`source_file=".." source_line=3` of an operation, which TensorFlow may name with the call before it."""
    op = operations.get(name)
    while op is None and "/" in name:
        name = name.partition("/")[2]
        op = operations.get(name)
    for frame in reversed(op.traceback) if op is not None else ():
        file = frame.filename
        if not (is_library(file) or file.startswith(_OURS) or _GENERATED in file or '"' in file or "\\" in file):
            return f'source_file="{file}" source_line={frame.lineno}'
    return ""
