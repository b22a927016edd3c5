"""
The lit tests: run `lit test/lit` from any environment with the package's dependencies; they test this checkout.

`hlo-opt`, `hlo-run` and `filecheck` (also written `FileCheck`) in RUN lines are those of the Python that runs lit. They
run in forks of a process that lit starts (../prefork/tool_server.py); with XHLO_PLAIN_TOOLS=1 each starts anew.
"""

# lit reads this file with `config` and `lit_config` defined.
# pyright: reportUndefinedVariable=false
# ruff: noqa: F821

import os
import shutil
import sys
from pathlib import Path

import lit.formats
import lit.TestRunner

here = Path(__file__).resolve().parent
root = here.parent.parent
sys.path.insert(0, str(root / "test" / "prefork"))
from tool_popen import ask_servers  # noqa: E402
from tool_server import ToolServer  # noqa: E402

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
config.environment["XHLO_CACHE_SIZE"] = "0"  # programs are compiled each time
config.environment["LC_CTYPE"] = "C.UTF-8"  # Python sets it where there is no locale; so it is no other at the start

if shutil.which("ptxas"):
    config.available_features.add("ptxas")


server = ToolServer(config.environment)
# Half of all runs are of filecheck: their forks do not copy the tables of xhlo's memory.
checker = ToolServer(config.environment, ["filecheck"])
for name, tool, its_server in (
    ("hlo-opt", "hlo-opt", server),
    ("hlo-run", "hlo-run", server),
    ("(?:filecheck|FileCheck)", "filecheck", checker),
):
    # A whole word, not a part of a file name.
    command = " ".join(f'"{word}"' for word in its_server.command(tool))
    config.substitutions.append((rf"(?<![\w/.-]){name}(?![\w.-])", command))
# lit itself asks the servers; with a limit of time it needs the processes, which are the clients.
if not lit_config.maxIndividualTestTime:
    ask_servers(lit.TestRunner, (server, checker), config.environment)
