"""The start of the plugin: it loads no compiler, and its machine code is kept on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

START = """
import sys, warnings
warnings.simplefilter("error")
import xhlo.targets.cpu.jit as jit
compile_to_object, compiled = jit.compile_to_object, []
jit.compile_to_object = lambda text, *rest, **options: compiled.append(text) or compile_to_object(text, *rest, **options)
import jax
assert jax.devices()[0].platform == "xhlo"
print(len(compiled), *(name for name in ("xdsl", "xhlo.frontends.jax.executables") if name in sys.modules))
"""


def start(**environment: str) -> str:
    given = {**os.environ, "JAX_PLATFORMS": "xhlo", **environment}
    done = subprocess.run([sys.executable, "-c", START], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_start_compiles_nothing(tmp_path: Path) -> None:
    assert start(XDG_CACHE_HOME=str(tmp_path)) == "2"
    kept = sorted((tmp_path / "xhlo").iterdir())
    assert len(kept) == 2
    assert start(XDG_CACHE_HOME=str(tmp_path)) == "0"
    assert start(XHLO_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path)) == "2"  # keep nothing
    assert sorted((tmp_path / "xhlo").iterdir()) == kept
