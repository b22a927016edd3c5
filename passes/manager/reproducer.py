"""
Reproducers: a module and the passes still to run, in one file for `hlo-opt --run-reproducer`.

The file is MLIR text; its first lines are comments that hold the pipeline.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

_PIPELINE = re.compile(r"^// xhlo-pipeline: (.*)$", re.MULTILINE)


def reproducer_text(module_text: str, pipeline: str, reason: str) -> str:
    """The contents of a reproducer file; `reason` is one line for the reader."""
    return f"// xhlo-reproducer: {' '.join(reason.split())}\n// xhlo-pipeline: {pipeline}\n{module_text.rstrip()}\n"


def pipeline_of(text: str) -> str | None:
    """The pipeline in a reproducer's text; None for any other text."""
    found = _PIPELINE.search(text)
    return found[1] if found else None


def write_reproducer(text: str, path: Path | None = None) -> Path | None:
    """
    Write to `path`, else to `xhlo-reproducer-<hash of the text>.mlir` in the working directory, else in the directory
    for temporary files. Returns the path, or None if no path is writable.
    """
    name = f"xhlo-reproducer-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"
    candidates = [path] if path is not None else [Path(name), Path(tempfile.gettempdir()) / name]
    for candidate in candidates:
        try:
            candidate.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return candidate
    return None


def repeat_command(path: Path) -> str:
    return f"hlo-opt --run-reproducer {path}"
