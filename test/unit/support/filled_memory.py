"""Processes in which freed memory is filled, so that what reads it reads no old values."""

from __future__ import annotations

import os
import subprocess
import sys

FILLED = {"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"}
"""Variables with which the C library fills freed memory, as far as it can."""


def run_filled(code: str, **variables: str) -> tuple[int, str, str]:
    """The status of a process of its own that runs the code, and what it writes to its two outputs."""
    environment = os.environ | FILLED | variables
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr
