"""`--verify-diagnostics`: the comments that expect diagnostics, and where they expect them."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr

from xhlo.hlo_dialect.diagnostics import Diagnostic
from xhlo.tools.expected_diagnostics import check_diagnostics, expectations


def at(line: int, message: str = "wrong size", severity="error", **options) -> Diagnostic:
    return Diagnostic(severity, message, FileLineColLoc(StringAttr("f.mlir"), IntAttr(line), IntAttr(3)), **options)


def problems(text: str, *emitted: Diagnostic, strict: bool = True) -> list[str]:
    return [diagnostic.message for diagnostic in check_diagnostics(text, "f.mlir", emitted, strict)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{size}}", 1),
        ("// expected-error@+1 {{size}}\nop", 2),
        ("// expected-error@+2 {{size}}\n\nop", 3),
        ("op\n// expected-error@-1 {{size}}", 1),
        ("op\n// expected-error@above {{size}}", 1),
        ("// expected-error@below {{size}}\nop", 2),
        ("// expected-error@below {{size}}\n// expected-note@below {{x}}\nop", 3),
        ("op\n// expected-note@above {{x}}\n// expected-error@above {{size}}", 1),
        ("// expected-error-re@below {{w{{.}}ong (size}}\nop", 2),
    ],
)
def test_places(text: str, line: int):
    (wanted,) = (one for one in expectations(text) if one.severity == "error")
    assert wanted.line == line


def test_a_match_is_of_severity_line_and_part_of_the_message():
    text = "// expected-error@+1 {{size}}\nop"
    assert problems(text, at(2)) == []
    assert problems(text, at(3)) == ["unexpected error: wrong size", 'expected error "size" was not produced']
    assert problems(text, at(2, "other"))[0] == "unexpected error: other"
    assert problems(text, at(2, severity="warning"))[0] == "unexpected warning: wrong size"
    assert problems("op", at(1), strict=False) == []


def test_counts_and_several_on_a_line():
    text = "// expected-error@+1 2 {{size}}\nop"
    assert problems(text, at(2), at(2)) == []
    assert problems(text, at(2)) == ['expected error "size" was not produced']
    assert problems(text, at(2), at(2), at(2)) == ["unexpected error: wrong size"]


def test_notes_and_remarks_count():
    text = "// expected-error@+2 {{size}}\n// expected-note@+2 {{declared here}}\nop\nop"
    assert problems(text, at(3, notes=(at(4, "declared here", "note"),))) == []
    assert problems(text, at(3))[0] == 'expected note "declared here" was not produced'
    assert problems("// expected-remark@+1 {{fused}}\nop", at(2, "fused 1", "remark")) == []


def test_unknown_place():
    text = "// expected-error@unknown {{size}}"
    assert problems(text, Diagnostic("error", "wrong size", UNKNOWN_LOC)) == []
    assert len(problems(text, at(1))) == 2


def test_regular_expressions_quote_the_rest():
    text = "// expected-error-re@+1 {{size (a+b) is {{[0-9]+}}, not {{[a-z]}}}}\nop"
    assert problems(text, at(2, "size (a+b) is 17, not x")) == []
    assert len(problems(text, at(2, "size aab is 17, not x"))) == 2


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (f"expected-error@+{'9' * 5000} {{{{a}}}}", "too large a number"),
        ("expected-error@+1 100000000 {{a}}", "too large a number"),
        ("expected-error-re {{a{{(}}b}}", "wrong regular expression"),
    ],
)
def test_comments_that_cannot_be_read_are_errors_where_they_are(comment: str, message: str):
    (wrong,) = check_diagnostics(f"// {comment}", "f.mlir", [], strict=True)
    assert message in wrong.message
    assert wrong.location == FileLineColLoc(StringAttr("f.mlir"), IntAttr(1), IntAttr(4))
