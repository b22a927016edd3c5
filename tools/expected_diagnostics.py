"""
`--verify-diagnostics`: check the diagnostics of a run against the expectations in its input's comments.

    // expected-error@+1 {{part of the message}}     one line below; @-2, @above, @below, @unknown; none: this line
    // expected-note@above 2 {{..}}                  two of them
    // expected-error-re@below {{size {{[0-9]+}}}}   regular expressions inside double braces

Spaces may stand before `@`, as upstream takes them. `@above` and `@below` skip lines that only contain expectations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from ..hlo_dialect.diagnostics import Diagnostic, file_location
from ..hlo_dialect.diagnostics.spelling import respelled

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?"
    r"[ \t]*(?:@(?P<where>[+-]\d+|above|below|unknown))?[ \t]*(?P<count>\d+)?[ \t]*\{\{(?P<text>.*)\}\}[ \t]*$"
)
MOST_DIGITS = 8
"""Characters of a number of lines, with its sign."""
MOST_EXPECTED = 1000
"""The most diagnostics that one comment expects."""

_INNER = re.compile(r"\{\{(.*?)\}\}")


@dataclass
class Expectation:
    """An expected diagnostic."""

    severity: str
    text: str
    pattern: re.Pattern[str] | None
    """The regular expression of `-re`; otherwise the message must contain the plain text."""
    line: int | None
    """The line of the diagnostic; None for one without a location in the file."""
    comment_line: int
    column: int
    problem: str = ""
    """The fault of the comment, which no diagnostic can meet then."""
    met: bool = False

    def fits(self, diagnostic: Diagnostic, line: int | None) -> bool:
        if self.met or self.problem or self.severity != diagnostic.severity or self.line != line:
            return False
        if self.pattern is not None:
            return self.pattern.search(diagnostic.message) is not None
        return self.text in diagnostic.message


def expectations(text: str) -> list[Expectation]:
    """The expectations of a file's comments, in order."""
    found: list[Expectation] = []
    lines = text.split("\n")
    if "expected-" not in text:
        return found
    for number, line in enumerate(lines, start=1):
        match = _EXPECTED.search(line.rstrip("\r")) if "expected-" in line else None
        if match is None:
            continue
        wanted, problem = match["text"], _problem(match)
        if problem:
            found.append(Expectation(match["severity"], wanted, None, None, number, match.start() + 1, problem))
            continue
        pattern = re.compile(_regex(wanted)) if match["regex"] else None
        target = _target_line(match["where"], number, lines)
        for _ in range(int(match["count"] or 1)):
            found.append(Expectation(match["severity"], wanted, pattern, target, number, match.start() + 1))
    return found


def _problem(match: re.Match[str]) -> str:
    """In words, why a comment cannot be read; empty if it can."""
    count = match["count"] or "1"
    if len(match["where"] or "") > MOST_DIGITS or len(count) > MOST_DIGITS or int(count) > MOST_EXPECTED:
        return "the expectation has too large a number"
    try:
        re.compile(_regex(match["text"]) if match["regex"] else "")
    except re.error as error:
        return f"the expectation has a wrong regular expression: {error}"
    return ""


def _regex(text: str) -> str:
    """One regular expression for plain text with regular expressions in double braces."""
    parts = _INNER.split(text)
    return "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts))


def _target_line(where: str | None, number: int, lines: Sequence[str]) -> int | None:
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if where == "below" else -1
            line = number + step
            while 1 <= line <= len(lines) and _only_expects(lines[line - 1]):
                line += step
            return line
        case _:
            return number + int(where)


def _only_expects(line: str) -> bool:
    return line.lstrip().startswith("//") and _EXPECTED.search(line) is not None


def check_diagnostics(text: str, filename: str, emitted: Sequence[Diagnostic], strict: bool) -> list[Diagnostic]:
    """
    The mismatches: diagnostics emitted but not expected (only if `strict`), or expected but not emitted.

    Notes are separate diagnostics; optional ones need not be expected. Messages may be expected in the file's spelling
    (`'stablehlo.add' op`) or in the compiler's (`'hlo.add' op`).
    """
    wanted = expectations(text)
    wrong: list[Diagnostic] = []
    flat = [one for diagnostic in emitted for one in (diagnostic, *diagnostic.notes)]
    for diagnostic in flat:
        line = _line_in(diagnostic.location, filename)
        spelled = replace(diagnostic, message=respelled(diagnostic.message, diagnostic.location, {filename: text}))
        match = next((one for one in wanted if one.fits(diagnostic, line) or one.fits(spelled, line)), None)
        if match is not None:
            match.met = True
        elif strict and not diagnostic.optional:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            wrong.append(Diagnostic("error", message, diagnostic.location))
    for expected in wanted:
        if not expected.met:
            message = expected.problem or f'expected {expected.severity} "{expected.text}" was not produced'
            place = FileLineColLoc(StringAttr(filename), IntAttr(expected.comment_line), IntAttr(expected.column))
            wrong.append(Diagnostic("error", message, place))
    return wrong


def _line_in(location: LocationAttr, filename: str) -> int | None:
    """The line of a location in the file; None if it is not in the file."""
    found = None if location == UNKNOWN_LOC else file_location(location)
    return found.line.data if found is not None and found.filename.data == filename else None
