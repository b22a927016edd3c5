"""Several errors of a file at once: which are reported, which are omitted as consequences, and what they cite."""

from __future__ import annotations

import random

import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError, file_location
from xhlo.hlo_dialect.diagnostics.rendering import render
from xhlo.hlo_dialect.diagnostics.specification import ADDRESS, OPERATIONS
from xhlo.hlo_dialect.dialect import hlo_operations
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reading.recovery import MAX_ERRORS, statement_end

HEAD = "func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {\n"
TAIL = "  return %x : tensor<4xf32>\n}\n"
GOOD = (
    "  %G = stablehlo.abs %x : tensor<4xf32>\n",
    '  %G = "stablehlo.if"(%p) ({\n    %u = stablehlo.negate %x : tensor<4xf32>\n    stablehlo.return %u : tensor<4xf32>\n'
    "  }, {\n    stablehlo.return %x : tensor<4xf32>\n  }) : (tensor<i1>) -> tensor<4xf32>\n",
    "  %G:2 = stablehlo.optimization_barrier %x, %x : tensor<4xf32>, tensor<4xf32>\n",
)
BAD = (
    ("  %B = stablehlo.add %x %x : tensor<4xf32>\n", 1),
    ("  %B = stablehlo.nothing %x : tensor<4xf32>\n", 1),
    ("  %B = stablehlo.abs %x : tensor<4xf33>\n", 1),
    ("  %B = stablehlo.abs $ : tensor<4xf32>\n", 1),
    ("  %B = stablehlo.transpose %x, dims = [0 : (tensor<4xf32>) -> tensor<4xf32>\n", 1),
    ('  %B = "stablehlo.if"(%p) ({\n    %u = stablehlo.nothing %x : tensor<4xf32>\n    stablehlo.return %u : tensor<4xf32>\n'
     "  }, {\n    stablehlo.return %gone : tensor<4xf32>\n  }) : (tensor<i1>) -> tensor<4xf32>\n", 2),
    ("  %B = stablehlo.constant dense<[1.0, 2.0> : tensor<2xf32>\n", 1),
)  # fmt: skip


def errors(text: str, fast: bool = True) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "bad.mlir", fast=fast)
    places: list[tuple[int, int]] = []
    for diagnostic in caught.value.diagnostics:
        place = file_location(diagnostic.location)
        assert place is not None
        places.append((place.line.data, place.column.data))
    assert places == sorted(places)
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


@pytest.mark.long(3)
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_each_statement_has_its_own_errors(seed: int, fast: bool) -> None:
    """Random valid and invalid statements; every value is used, also those of invalid statements."""
    numbers = random.Random(seed)
    functions: list[str] = []
    count = 0
    for index in range(3):
        lines: list[str] = []
        for number in range(numbers.randrange(2, 8)):
            if numbers.random() < 0.5 or (index == 2 and not count):
                text, found = numbers.choice(BAD)
                lines.append(text.replace("%B", f"%v{number}").replace("%gone", f"%gone{number}"))
                lines.append(f"  %w{number} = stablehlo.negate %v{number} : tensor<4xf32>\n")
                count += found
            else:
                lines.append(numbers.choice(GOOD).replace("%G", f"%v{number}"))
        functions.append(HEAD.replace("@main", f"@f{index}") + "".join(lines) + TAIL)
    assert len(errors("".join(functions), fast)) == count


def test_a_function_that_does_not_close_takes_itself_only() -> None:
    broken = HEAD + '  %0 = "stablehlo.abs"(%x) {a = 1 : i32 : (tensor<4xf32>) -> tensor<4xf32>\n' + TAIL
    other = HEAD.replace("@main", "@other") + "  %0 = stablehlo.nothing\n" + TAIL
    first, second = errors(broken + other)
    assert "expected" in first and "nothing" in second
    assert len(errors("module {\n" + broken + other + "}\n")) == 2


def test_values_used_before_a_bad_definition_are_not_undefined() -> None:
    text = "module {\n  %0 = stablehlo.negate %1 : tensor<4xf32>\n  %1 = stablehlo.nothing\n}\n"
    (only,) = errors(text)
    assert "unknown operation" in only


def test_errors_end_after_a_hundred() -> None:
    text = HEAD + "  stablehlo.nothing\n" * 1000 + TAIL
    assert len(errors(text)) == MAX_ERRORS


def test_where_statements_end() -> None:
    for text in (
        "%0 = a.b %x\n",
        '%0 = a.b "}\\"" {x = [1,\n 2]}\n',
        "%0 = a.b(%x)\n  cond {\n c.d\n } do {\n }\n",
        "a.b // }\n  : i32\n",
        "%0 = a.b (%x\n",
    ):
        assert statement_end(text + "  %1 = c.d\n", 0) == len(text)
    assert statement_end("a.b }\n", 0) == 4
    assert statement_end("a.b {\n c.d\n", 0) is None


def test_errors_of_the_verifier_cite_the_specification() -> None:
    text = HEAD + "  %0 = stablehlo.transpose %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>\n" + TAIL
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "bad.mlir")
    assert render(caught.value.diagnostics[0], {"bad.mlir": text}).splitlines() == [
        "bad.mlir:2:8: error: 'stablehlo.transpose' op transpose_c2: permutation (1,) is not a permutation of the 1 dimensions",
        "  %0 = stablehlo.transpose %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>",
        "       ^~~~~~~~~~~~~~~~~~~",
        "note: StableHLO spec, transpose (C2): https://openxla.org/stablehlo/spec#transpose",
        "bad.mlir:1:17: note: '%x' is defined here, with type tensor<4xf32>",
        HEAD.rstrip(),
        "                ^~",
    ]


def test_operations_of_the_specification_are_known_and_link_it() -> None:
    classes = {op.name.removeprefix("hlo."): op for op in hlo_operations()}
    assert sorted(OPERATIONS - set(classes)) == []
    for name, op in classes.items():
        if f"{ADDRESS}#" in (op.__doc__ or ""):
            assert name in OPERATIONS or name == "return", name
