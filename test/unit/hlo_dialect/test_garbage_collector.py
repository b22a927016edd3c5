"""Python's garbage collector where IR is built: see garbage_collector_checks.py."""

from __future__ import annotations

import pytest

import garbage_collector_checks
from own_process import outcomes


@pytest.fixture(scope="module")
def failures() -> dict[str, str]:
    return outcomes(garbage_collector_checks)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", garbage_collector_checks.check)
def test_garbage_collector(failures: dict[str, str], name: str) -> None:
    assert not failures[name], failures[name]
