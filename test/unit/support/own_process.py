"""
Checks in a process of their own.

A module of checks is also a script: `check = Checks()` collects the functions that it decorates, and `check.main()` runs
all and prints the failure of each as JSON. `outcomes` runs the script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from checkout import SUPPORT

Check = Callable[[], None]


class Checks(dict[str, Check]):
    """Checks by name, in their order."""

    def __call__(self, function: Check) -> Check:
        self[function.__name__] = function
        return function

    def main(self) -> None:
        found: dict[str, str] = {}
        for name, function in self.items():
            try:
                function()
                found[name] = ""
            except Exception:
                found[name] = traceback.format_exc()
        print(json.dumps(found))


def outcomes(module: ModuleType) -> dict[str, str]:
    """The failures of a module's checks, by name; empty for those that passed."""
    run = subprocess.run(
        [sys.executable, str(module.__file__)], capture_output=True, text=True, timeout=900, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def importing(file: str) -> dict[str, str]:
    """The environment in which a process imports a test file, and those that it shares with others, by plain names."""
    folders = [str(Path(file).parent), str(SUPPORT), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
