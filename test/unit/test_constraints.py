"""Every numbered constraint that a verifier names has a test with an invalid program that fails with that name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"\b([a-z]\w*?_[ci]\d+)\b")


def _names(texts: list[str]) -> set[str]:
    return {name for text in texts for name in _NAME.findall(text)}


def test_every_named_constraint_fails_in_some_test() -> None:
    sources = [path.read_text() for folder in ("hlo_dialect", "dialects") for path in (ROOT / folder).rglob("*.py")]
    tests = [path.read_text() for path in (ROOT / "test").rglob("*.mlir")]
    tests += [path.read_text() for path in (ROOT / "test" / "unit").glob("*.py") if path != Path(__file__)]
    code = [re.sub(r'"""[\s\S]*?"""', "", source) for source in sources]
    assert sorted(_names(code) - _names(tests)) == []
