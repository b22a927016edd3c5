"""Patterns with possessive quantifiers match the same in every version of Python."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from checkout import ROOT
from xhlo.frontends.hlo_text import blanks, locations, parsing, values
from xhlo.frontends.hlo_text import format as hlo_text_format
from xhlo.hlo_dialect.reading import brackets, fast_path, lexer, recovery
from xhlo.hlo_dialect.reading import literals as hlo_literals
from xhlo.hlo_dialect.regular_expressions import GROUPS_ARE_RIGHT, with_atomic_groups

FLOORS = ("dialects", "frontends", "hlo_dialect", "lowering", "passes", "targets", "tools")
MODULES = [
    *(hlo_text_format, blanks, locations, parsing, values),
    *(brackets, fast_path, lexer, recovery, hlo_literals),
]
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)[*+?]\+")
PIECES = [
    *("/", "*", "/*", "*/", "/* a */", "//", "\n", " ", '"', "\\", '"a"', '"\\"', "'", "{", "}", "{0}", "(", ")", "[", "]"),
    *("a", "x1", "%", "=", ", ", ",", ": ", "1", "-", ".", "e5", "f32[2,3]{1,0}", "ROOT ", "%a = f32[] add", "index=5", "loc"),
    *('metadata={op_name="a"}', "<", ">", "->", "inf"),
]  # fmt: skip


def test_groups_are_possessive_through_one_function_alone() -> None:
    """Before 3.11.5 Python takes them wrongly."""
    found: list[str] = []
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            text = path.read_text()
            if POSSESSIVE_GROUP.search(text):
                calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
                for call in calls:
                    if ast.unparse(call.func) == "re.compile" and POSSESSIVE_GROUP.search(ast.unparse(call)):
                        found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert found == []


def patterns() -> list[re.Pattern[str]]:
    """The modules' patterns with possessive groups."""
    values: list[Any] = [each for module in MODULES for each in vars(module).values()]
    found: list[re.Pattern[Any]] = [each for each in values if isinstance(each, re.Pattern)]
    return [each for each in found if isinstance(each.pattern, str) and POSSESSIVE_GROUP.search(each.pattern)]


@pytest.mark.skipif(not GROUPS_ARE_RIGHT, reason="this Python has no right ones to compare with")
def test_atomic_groups_match_the_same() -> None:
    import random

    draw = random.Random(0)
    texts = ["".join(draw.choices(PIECES, k=draw.randrange(12))) for _ in range(4000)]
    possessive = patterns()
    assert len(possessive) > 15
    for pattern in possessive:
        atomic = re.compile(with_atomic_groups(pattern.pattern), pattern.flags)
        assert not POSSESSIVE_GROUP.search(atomic.pattern)
        for text in texts:
            ours, theirs = pattern.search(text), atomic.search(text)
            assert (ours and ours.regs) == (theirs and theirs.regs), (pattern.pattern, text)


def test_comments_end_at_their_end() -> None:
    space = blanks.SPACE.match("/*index=5*/ /* a * b **/ // c\n x")
    comment = blanks.COMMENT.match("/*i0=0*/   1")
    assert space is not None and space.end() == 31
    assert comment is not None and comment[0] == "/*i0=0*/"
