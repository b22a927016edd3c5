"""docs/ops.md is what `make docs` writes."""

from __future__ import annotations

from checkout import ROOT
from xhlo.tools.list_ops import page


def test_the_table_of_operations_is_current() -> None:
    written = ROOT / "docs" / "ops.md"
    assert written.read_text(encoding="utf-8") == page(), "run make docs"
