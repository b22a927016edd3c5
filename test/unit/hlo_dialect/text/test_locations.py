"""Definitions of locations: the ordinary forms, which are read by their lines, and what the parser reads."""

from __future__ import annotations

from typing import cast

import pytest
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Attribute

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.errors import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reading.locations import plain_location

PROGRAM = """func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = hlo.negate %x : tensor<f32> loc(#loc9)
  return %0 : tensor<f32>
}}
{}
"""


def _read(*definitions: str) -> LocationAttr:
    """The location of the operation, whose alias is `#loc9`."""
    module = parse_module(PROGRAM.format("\n".join(definitions)), "t.mlir", make_context())
    (negate,) = (op for op in module.walk() if op.name == "hlo.negate")
    return negate.location


def _place(filename: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


FILE, NAMED = '#loc1 = loc("a b.py":3:5)', '#loc2 = loc("f(x)"(#loc1))'


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('loc("a.py":3:5)', _place("a.py", 3, 5)),
        ('loc("":0:0)  ', _place("", 0, 0)),
        ('loc("a.py":3:5 to :9)', _place("a.py", 3, 5)),
        ('loc("a.py":3:5 to 4:9)\r', _place("a.py", 3, 5)),
        ('loc("é.py":3:5)', _place("é.py", 3, 5)),
        ('loc("name"(#loc1))', NameLoc(StringAttr("name"), _place("a b.py", 3, 5))),
        ("loc(callsite(#loc2 at #loc1))", None),
    ],
)
def test_ordinary_forms_are_read_by_the_line(value: str, found: Attribute | None) -> None:
    """As the parser reads them, which a space inside calls for."""
    place = _place("a b.py", 3, 5)
    named = NameLoc(StringAttr("f(x)"), place)
    assert plain_location(value, 0, {"#loc1": place, "#loc2": named}, lambda part: part) is not None
    read = _read(FILE, NAMED, f"#loc9 = {value}")
    assert read == (found or CallSiteLoc(named, place))
    spaced = value.replace("loc(", "loc( ", 1)
    assert plain_location(spaced, 0, {"#loc1": place, "#loc2": named}, lambda part: part) is None
    assert _read(FILE, NAMED, f"#loc9 = {spaced}") == read


@pytest.mark.parametrize(
    "value",
    [
        'loc("a\\22b.py":3:5)',
        'loc("a\x0cb.py":3:5)',
        'loc("a.py":3:5) // a comment',
        'loc("name")',
        'loc("name"("a.py":3:5))',
        'loc("a.py":3:1234567890123)',
        "loc(unknown)",
        "loc(fused[#loc1, #loc2])",
        "loc(callsite(#loc1 at callsite(#loc2 at #loc1)))",
        'loc("name"(#loc5))',
        'loc("name"(#loc.1))',
        "loc(callsite(#loc1 at #loc.1))",
    ],
)
def test_other_forms_are_left_to_the_parser(value: str) -> None:
    place = _place("a b.py", 3, 5)
    known = {"#loc1": place, "#loc2": NameLoc(StringAttr("f(x)"), place), "#loc.1": place}
    assert plain_location(value, 0, known, lambda part: part) is None


def test_a_definition_comes_before_or_after_those_that_it_refers_to() -> None:
    definitions = [FILE, NAMED, '#loc9 = loc("g"(#loc2))']
    expected = NameLoc(StringAttr("g"), NameLoc(StringAttr("f(x)"), _place("a b.py", 3, 5)))
    assert _read(*definitions) == _read(*reversed(definitions)) == expected


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (['#loc9 = loc("f"(#loc8))'], "undefined"),
        (['#loc9 = loc("f"(#loc9))'], "refers to itself"),
        (["#loc9 = loc(callsite(#loc8 at #loc8))", '#loc8 = loc("f"(#loc9))'], "refers to itself"),
        (["#loc8 = 3 : i32", '#loc9 = loc("f"(#loc8))'], "undefined"),
        ([FILE, '#loc9 = loc("f"(#loc1)) x'], "x"),
        ([FILE, FILE, "#loc9 = loc(#loc1)"], "redefinition"),
        (['#loc9 = loc("a\x0cb.py":3:5)'], "string literal"),
    ],
)
def test_wrong_definitions_are_refused(definitions: list[str], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        _read(*definitions)


def test_a_long_chain_keeps_the_places_of_its_end() -> None:
    names = [f'#loc{n + 10} = loc("n{n}"(#loc{n + 9 if n else 1}))' for n in range(400)]
    found = _read(FILE, *names, "#loc9 = loc(callsite(#loc409 at #loc1))")
    depth, place = 0, found
    while not isinstance(place, FileLineColLoc):
        assert isinstance(place, (CallSiteLoc, NameLoc))
        place = cast(LocationAttr, place.callee if isinstance(place, CallSiteLoc) else place.location)
        depth += 1
    assert place == _place("a b.py", 3, 5)
    assert depth <= 200
