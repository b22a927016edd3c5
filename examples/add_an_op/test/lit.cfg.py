"""The tests of myops: run `lit examples/add_an_op/test` with xhlo and myops installed."""

# lit reads this file with `config` defined.
# pyright: reportUndefinedVariable=false
# ruff: noqa: F821

import os
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent

config.name = "myops"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent / "build" / "lit")
config.environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")

for name, module in (("hlo-opt", "xhlo.tools.hlo_opt"), ("hlo-run", "xhlo.tools.hlo_run"), ("filecheck", "filecheck")):
    config.substitutions.append((rf"(?<![\w/.-]){name}(?![\w.-])", f'"{sys.executable}" -m {module}'))
