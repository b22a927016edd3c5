"""The table of constraints: wrong programs are refused with exactly their constraint, right ones are valid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from test_constraints import ROOT, constraints_in_code
from xhlo.hlo_dialect.collectives.base import CollectiveOp
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import hlo_operations, make_context
from xhlo.hlo_dialect.explanations import all_sections, explanation_of, explanations
from xhlo.hlo_dialect.explanations.table import Explanation
from xhlo.hlo_dialect.explanations.tensors import tensor_constraint
from xhlo.hlo_dialect.reading import parse_module
from xhlo.tools.hlo_opt import main
from xhlo.tools.list_ops import constraints_of


def problems_of(explanation: Explanation) -> Iterator[str]:
    """The messages of the wrong program that do not name the constraint."""
    try:
        module = parse_module(explanation.wrong)
        if explanation.replicas is not None:
            for op in module.walk():
                if isinstance(op, CollectiveOp):
                    op.check_grid(explanation.replicas, 1)
    except DiagnosticError as error:
        named = re.compile(rf"(?:'\S+' op )?{explanation.name}: ")
        yield from (f"{explanation.name}: {one.message}" for one in error.diagnostics if not named.match(one.message))
    else:
        yield f"{explanation.name} is accepted"


def test_right_programs_are_valid() -> None:
    for program in dict.fromkeys(section.program for section in all_sections()):
        parse_module(program)


@pytest.mark.long(4)
@pytest.mark.parametrize("part", range(4))
def test_wrong_programs_break_exactly_their_constraint(part: int) -> None:
    every = [one for section in all_sections() for one in section.constraints]
    assert len(every) > 800
    assert [problem for one in every[part::4] for problem in problems_of(one)] == []


def test_wrong_tensors_break_exactly_their_constraint() -> None:
    names = [f"{op.partition('.')[2].replace('-', '_')}_i1" for op in {section.op for section in all_sections()}]
    found = [one for name in sorted(names) if (one := tensor_constraint(name, all_sections())) is not None]
    assert len(found) > 100
    assert [problem for one in found[::4] for problem in problems_of(one)] == []
    assert tensor_constraint("add_i9", all_sections()) is None and tensor_constraint("nothing_i1", ()) is None


def test_every_constraint_of_the_verifiers_is_explained() -> None:
    ctx = make_context()
    ctx.load_registered_dialect("chlo")
    operations = [*hlo_operations(), *ctx.get_dialect("chlo").operations]
    names = constraints_in_code()
    for cls in operations:
        mnemonic = cls.name.partition(".")[2].replace("-", "_")
        names |= {f"{mnemonic}_{number}" for number in constraints_of(cls)}
    for path in sorted((ROOT / "test" / "lit").rglob("*.mlir")):
        for message in re.findall(r"expected-error[^{\n]*\{\{([^}\n]*)", path.read_text()):
            names |= set(re.findall(r"^(?:'[^']*' op )?([a-z]\w*_\w+): ", message))
    assert sorted(name for name in names if explanation_of(name) is None) == []
    assert sorted({cls.name for cls in operations} - {section.op for section in all_sections()}) == []


def test_texts_are_sentences() -> None:
    for one in explanations().values():
        assert one.text.endswith(".") and "  " not in one.text, one.name


def test_hlo_opt_explains_a_constraint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--explain", "dot_general_c3"]) == 0
    shown = capsys.readouterr().out
    assert "dot_general_c3: The batching and contracting dimensions of lhs are different ones." in shown
    assert "StableHLO spec, dot_general (C3)" in shown
    wrong, right = shown.partition("Wrong:")[2].split("Right:")
    for program, status in ((wrong, 1), (right, 0)):
        path = tmp_path / "program.mlir"
        path.write_text(program)
        assert main([str(path)]) == status
    assert "dot_general_c3: " in capsys.readouterr().err


@pytest.mark.parametrize("spelling", ["transpose", "stablehlo.transpose", "hlo.transpose"])
def test_hlo_opt_explains_an_operation(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--explain={spelling}"]) == 0
    assert re.findall(r"^transpose_\w+", capsys.readouterr().out, re.MULTILINE) == [
        "transpose_c1", "transpose_c2", "transpose_c3", "transpose_c4",
    ]  # fmt: skip


def test_hlo_opt_explains_no_other_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--explain", "dot_generl_c3"]) == 1
    assert "no constraint is named 'dot_generl_c3'; did you mean 'dot_general_c3'?" in capsys.readouterr().err
