"""JAX on 8 devices of xhlo: see device_checks.py."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("jax")
import device_checks


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """The failure of each check."""
    run = subprocess.run(
        [sys.executable, device_checks.__file__], capture_output=True, text=True, timeout=900, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", device_checks.CHECKS)
def test_devices(outcomes: dict[str, str], name: str) -> None:
    assert not outcomes[name], outcomes[name]
