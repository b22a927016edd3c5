"""Tests that change how products are lowered neither find code that others keep, nor keep theirs."""

from __future__ import annotations

import pytest

from xhlo.lowering.convert_contractions_to_vector import known_kernels, shared_function


@pytest.fixture(autouse=True)
def _own_code(request: pytest.FixtureRequest) -> None:
    """The keys of kept code state what it depends on, but for what is patched."""
    if "monkeypatch" in request.fixturenames:
        patch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        for module in (known_kernels, shared_function):
            patch.setattr(module, "known_functions", lambda: None)
