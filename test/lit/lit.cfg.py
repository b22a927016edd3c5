"""
The lit tests: `lit test/lit` from any environment with the package's dependencies, on the checkout that holds this file.

`hlo-opt`, `hlo-run` and `filecheck` (also written `FileCheck`) in RUN lines are those of the Python that runs lit.
"""

# lit reads this file with `config` and `lit_config` defined.
# pyright: reportUndefinedVariable=false
# ruff: noqa: F821

import os
import shutil
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
root = here.parent.parent
tools = Path(sys.executable).parent

config.name = "xhlo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "Output"]
config.test_source_root = str(here)
config.test_exec_root = str(root / "build" / "lit")

config.environment["PYTHONPATH"] = str(root)
config.environment["PATH"] = os.pathsep.join((str(tools), os.environ.get("PATH", "")))
config.environment["PYTHONHASHSEED"] = "0"

if shutil.which("ptxas"):
    config.available_features.add("ptxas")


def tool(script: str, module: str) -> str:
    """The installed command, or the module of the checkout where none is installed."""
    installed = tools / script
    return f'"{installed}"' if installed.exists() else f'"{sys.executable}" -m {module}'


for name, command in (
    ("hlo-opt", tool("hlo-opt", "xhlo.tools.hlo_opt")),
    ("hlo-run", tool("hlo-run", "xhlo.tools.hlo_run")),
    ("(?:filecheck|FileCheck)", tool("filecheck", "filecheck")),
):
    # A word of its own: not a part of a file's name.
    config.substitutions.append((rf"(?<![\w/.-]){name}(?![\w.-])", command))
