"""The tables: every case on xhlo, jitted and some operation by operation, against XLA:CPU in the same process."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from cases import Case, assert_same
from platforms import run

TABLES = sorted(path.stem for path in (Path(__file__).parent / "tables").glob("cases_*.py"))


def _cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for table in TABLES:
        for case in importlib.import_module(table).CASES:
            name = f"{table.removeprefix('cases_')}-{case.name}"
            assert name not in found, f"two cases are named {name}"
            found[name] = case
    return found


CASES = _cases()


@pytest.mark.long(140)
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_jitted(name: str) -> None:
    case = CASES[name]
    assert_same(run(case, "xhlo"), run(case, "cpu"), case)


@pytest.mark.long(4)
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.eager])
def test_operation_by_operation(name: str) -> None:
    case = CASES[name]
    assert_same(run(case, "xhlo", jit=False), run(case, "cpu", jit=False), case)
