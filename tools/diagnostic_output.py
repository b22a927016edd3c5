"""
`--diagnostics=text|json|sarif`: how a tool writes its diagnostics, to standard error or to a file.

* text: as MLIR prints them, with the line of the source;
* json: one object on each line, as they come;
* sarif: one SARIF 2.1.0 document at the end, also of a run without diagnostics, for editors and code review.

Columns count characters from one; the end column is the one after the last character.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..hlo_dialect.diagnostics import Diagnostic, file_location
from ..hlo_dialect.diagnostics.rendering import render
from ..hlo_dialect.diagnostics.source_text import line_of, token_length
from ..hlo_dialect.diagnostics.spelling import respelled
from .colours import coloured, has_colours
from .command_line import Arguments
from .streams import StreamError, write_text

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "remark": "note", "note": "note"}
_CONSTRAINT = re.compile(r"(?:'[\w.]+' op )?([a-z]\w*_[cio][0-9]+): ")


class DiagnosticOutput:
    """The diagnostics of one run of a tool."""

    def __init__(self) -> None:
        self.start("xhlo", "text", None)

    def start(self, tool: str, kind: str, file: str | None) -> None:
        """Begin anew, in the format `kind`; `file` None is standard error."""
        self.tool = tool
        self.kind = kind
        self.file = file
        self._lines: list[str] = []
        self._results: list[Mapping[str, Any]] = []

    def emit(self, diagnostic: Diagnostic, sources: Mapping[str, str]) -> None:
        """Write a diagnostic, or keep it for the end; as text a remark takes one line, without its source."""
        if self.kind == "text":
            self._write(render(diagnostic, {} if diagnostic.severity == "remark" else sources))
        elif self.kind == "json":
            self._write(json.dumps(as_json(diagnostic, sources)))
        else:
            self._results.append(_result(diagnostic, sources))

    def say(self, severity: str, message: str) -> None:
        """Write a message about the run as a whole: `hlo-opt: error: cannot read f.mlir`."""
        if self.kind == "text":
            self._write(f"{self.tool}: {severity}: {message}")
        else:
            level = "error" if "error" in severity else "note"
            text = f"internal error: {message}" if "internal" in severity else message
            self.emit(Diagnostic(level, text), {})

    def finish(self) -> None:
        """Write what was kept. Raises StreamError if the file cannot be written."""
        if self.kind == "sarif":
            self._write(json.dumps(self._document(), indent=2))
        if self.file is not None:
            write_text(self.file, "".join(f"{line}\n" for line in self._lines))

    def _write(self, text: str) -> None:
        if self.file is None:
            plain = self.kind != "text" or not has_colours(sys.stderr)
            print(text if plain else coloured(text), file=sys.stderr)
        else:
            self._lines.append(text)

    def _document(self) -> Mapping[str, Any]:
        from importlib.metadata import version

        names = dict.fromkeys(result["ruleId"] for result in self._results)
        driver = {"name": self.tool, "version": version("xhlo"), "rules": [_rule(name) for name in names]}
        run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": self._results}
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


OUTPUT = DiagnosticOutput()
"""The output of the running tool."""


def begin(tool: str, arguments: Arguments) -> None:
    """Prepare the output for a run of a tool."""
    OUTPUT.start(tool, arguments.value("diagnostics") or "text", arguments.value("diagnostics-file"))


def finished(status: int) -> int:
    """Write what is left and return the exit status of the run."""
    try:
        OUTPUT.finish()
    except StreamError as error:
        print(f"{OUTPUT.tool}: error: {error}", file=sys.stderr)
        return status or 1
    return status


def as_json(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    """A diagnostic as an object of JSON; null for what is not known."""
    message = respelled(diagnostic.message, diagnostic.location, sources)
    constraint = _CONSTRAINT.match(message)
    return {
        "severity": diagnostic.severity,
        "message": message,
        "constraint": None if constraint is None else constraint[1],
        **(_place(diagnostic, sources) or {"file": None, "line": None, "column": None, "endColumn": None}),
        "notes": [as_json(note, sources) for note in diagnostic.notes],
    }


def _place(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any] | None:
    found = file_location(diagnostic.location)
    if found is None:
        return None
    name, line, column = found.filename.data, found.line.data, found.column.data
    text = line_of(sources[name], line) if name in sources else None
    length = 1 if text is None else token_length(text, min(max(column - 1, 0), len(text)))
    return {"file": name, "line": line, "column": column, "endColumn": column + length}


# SARIF ---------------------------------------------------------------------------------------------------------------


def _result(diagnostic: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    found = as_json(diagnostic, sources)
    result: dict[str, Any] = {
        "ruleId": found["constraint"] or diagnostic.severity,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": found["message"]},
    }
    if found["file"] is not None:
        result["locations"] = [_location(found)]
    notes = [note for note in found["notes"] if note["file"] is not None]
    if notes:
        result["relatedLocations"] = [{**_location(note), "message": {"text": note["message"]}} for note in notes]
    said = [note["message"] for note in found["notes"] if note["file"] is None]
    if said:
        result["message"]["text"] = "\n".join([found["message"], *said])
    return result


def _location(found: Mapping[str, Any]) -> dict[str, Any]:
    line, column = max(found["line"], 1), max(found["column"], 1)
    region = {"startLine": line, "startColumn": column, "endColumn": max(found["endColumn"], column + 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(found["file"])}, "region": region}}


def _rule(name: str) -> dict[str, Any]:
    from ..hlo_dialect.explanations import explanation_of

    found = explanation_of(name)
    texts = {"error": "An error in the program", "warning": "A warning", "remark": "A remark", "note": "A note"}
    return {"id": name, "shortDescription": {"text": texts.get(name, name) if found is None else found.text}}
