"""`--diagnostics=json|sarif` of the tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xhlo.tools import hlo_opt, hlo_run

WRONG = """\
func.func @main(%abc: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%abc, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return %abc : tensor<4xf32>
}
"""


def outputs(tool: Any, path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert tool.main([f"--diagnostics={kind}", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize("tool", [hlo_opt, hlo_run])
def test_diagnostics_as_json(tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(WRONG)
    (line,) = outputs(tool, path, "json", capsys).splitlines()
    found = json.loads(line)
    notes = found.pop("notes")
    assert found == {
        "severity": "error",
        "message": "'stablehlo.add' op add_c1: lhs and rhs have different shapes: tensor<4xf32> and tensor<5xf32>",
        "constraint": "add_c1",
        "file": str(path),
        "line": 2,
        "column": 8,
        "endColumn": 23,
    }
    assert [(note["line"], note["column"], note["endColumn"]) for note in notes] == [
        (None, None, None), (1, 17, 21), (1, 38, 40),
    ]  # fmt: skip


@pytest.mark.parametrize("tool", [hlo_opt, hlo_run])
def test_diagnostics_as_sarif(tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f g.mlir"
    path.write_text(WRONG)
    document = json.loads(outputs(tool, path, "sarif", capsys))
    check_sarif(document)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "add_c1" and result["level"] == "error"
    assert run["tool"]["driver"]["rules"] == [
        {"id": "add_c1", "shortDescription": {"text": "Operands and result have the same type."}}
    ]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("/f%20g.mlir")
    assert place["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 8, "endColumn": 23}
    assert len(result["relatedLocations"]) == 2


def check_sarif(document: dict[str, Any]) -> None:
    """Check the requirements of SARIF 2.1.0 for the parts that the document has."""
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-2.1.0.json")
    for run in document["runs"]:
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str) and run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        rules = [rule["id"] for rule in driver["rules"]]
        assert len(set(rules)) == len(rules)
        for result in run["results"]:
            assert result["level"] in ("none", "note", "warning", "error") and result["ruleId"] in rules
            for place in [*result.get("locations", []), *result.get("relatedLocations", [])]:
                region = place["physicalLocation"]["region"]
                assert " " not in place["physicalLocation"]["artifactLocation"]["uri"]
                assert region["startLine"] >= 1 and 1 <= region["startColumn"] < region["endColumn"]
            for part in [result, *result.get("relatedLocations", [])]:
                assert isinstance(part["message"]["text"], str) and part["message"]["text"]


def test_diagnostics_go_to_a_file_and_cover_every_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, report = tmp_path / "good.mlir", tmp_path / "report.sarif"
    good.write_text(WRONG.replace("5xf32", "4xf32"))
    assert hlo_opt.main(["--diagnostics=sarif", f"--diagnostics-file={report}", "--fuse", "-o", "-", str(good)]) == 0
    assert capsys.readouterr().err == ""
    check_sarif(json.loads(report.read_text()))
    assert json.loads(report.read_text())["runs"][0]["results"] == []
    assert hlo_run.main(["--diagnostics=json", str(tmp_path / "missing.mlir")]) == 1
    found = json.loads(capsys.readouterr().err)
    assert found["severity"] == "error" and "cannot read" in found["message"] and found["file"] is None
    assert hlo_opt.main(["--diagnostics=xml", str(good)]) == 2
    assert hlo_opt.main([f"--diagnostics-file={tmp_path}", "--diagnostics=json", str(good)]) == 1
    assert "it is a directory" in capsys.readouterr().err
