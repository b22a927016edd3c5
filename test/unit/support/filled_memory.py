"""Processes in which freed memory is filled, so that what reads it reads no old values."""

from __future__ import annotations

import os
import subprocess
import sys

FILLED = {"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"}
"""Variables with which the C library fills freed memory, as far as it can."""


def run_alone(code: str, **variables: str) -> tuple[int, str, str]:
    """The status of a process of its own that runs the code, and what it writes to its two outputs."""
    environment, command = os.environ | variables, [sys.executable, "-c", code]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    return run.returncode, run.stdout, run.stderr


def run_filled(code: str, **variables: str) -> tuple[int, str, str]:
    """As `run_alone`, with freed memory filled."""
    return run_alone(code, **FILLED, **variables)
