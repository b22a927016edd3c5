"""The package `xhlo` as Python shows it: its names, their types, their documentation, the cost of importing it."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import xhlo
import xhlo.numpy as xp
from checkout import ROOT
from xhlo.frontends.clusters.report import clear_clusters
from xhlo.tools.list_names import stubs

STUB = ROOT / "xhlo" / "__init__.pyi"


def test_dir_is_the_public_interface() -> None:
    assert dir(xhlo) == sorted(xhlo.__all__) == sorted(set(xhlo.__all__))
    for name in xhlo.__all__:
        assert getattr(xhlo, name) is getattr(xhlo, name)
    with pytest.raises(AttributeError, match="module 'xhlo' has no attribute 'compil'"):
        xhlo.compil  # noqa: B018
    assert re.match(r"\d+[.+]", xhlo.__version__)


def test_the_stub_names_what_the_package_has() -> None:
    tree = ast.parse(STUB.read_text())
    imported = {
        alias.asname: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (stated,) = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert stated == sorted(xhlo.__all__)
    assert {*imported, "__version__"} == set(stated)
    for name, (module, attribute) in imported.items():
        home, origin = xhlo._HOMES[name]
        assert (home.lstrip("."), origin) == ((module, attribute) if module else (attribute, "")), name


def test_the_stubs_of_the_array_api_are_up_to_date() -> None:
    for name, text in stubs().items():
        assert (ROOT / "xhlo" / "numpy" / name).read_text() == text, "python -m xhlo.tools.list_names writes it"
    assert set(ast.literal_eval(stubs()["__init__.pyi"].partition("__all__ = ")[2].partition("]")[0] + "]")) == set(
        xp.__all__
    )


ELSEWHERE = ("__version__", "executable_of", "from_torch")
"""Names whose examples need another process, or PyTorch (test/torch)."""


@pytest.mark.long(3)
@pytest.mark.parametrize("name", [name for name in xhlo.__all__ if name not in ELSEWHERE])
def test_every_name_has_an_example_that_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getdoc(getattr(xhlo, name)) or ""
    assert ">>>" in text, f"the docstring of xhlo.{name} has no example"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if name == "explain_clusters":
        clear_clusters()
    test = doctest.DocTestParser().get_doctest(text, {}, f"xhlo.{name}", None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    assert not runner.run(test, out=said.append).failed, "".join(said)


def test_jax_example() -> None:
    """It needs a process of its own, where JAX runs on xhlo."""
    pytest.importorskip("jax")
    assert ">>>" in (xhlo.executable_of.__doc__ or "")
    program = (
        "import doctest, xhlo; doctest.run_docstring_examples(xhlo.executable_of, {}, optionflags=doctest.ELLIPSIS)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


TYPED = """
import numpy as np
import xhlo
from typing import Any

reveal_type(xhlo.__version__)
exe = xhlo.compile("f.mlir", target="gpu", math="fast", guard="start")
reveal_type(exe)
reveal_type(exe.profile(np.ones(3)).to_json())
reveal_type(exe.fusions)
reveal_type(xhlo.numpy.pi)
call: Any = exe(np.ones(3), out=None, name=3)

@xhlo.jit
def scaled(x: list[float], by: float = 2.0) -> str: return ""

class Model:
    @xhlo.jit(static_argnames="n")
    def run(self, x: np.floating, n: int) -> bytes: return b""

reveal_type(scaled([1.0], by=3.0))
reveal_type(Model().run(np.float32(1), 2))
reveal_type(scaled.cache_info())
scaled("x")
scaled([1.0], of=3.0)
xhlo.compile("f.mlir", target="gup")
xhlo.compile("f.mlir", math="quick")
xhlo.compil("f.mlir")
xhlo.targets
xhlo.numpy.arctan
xhlo.compile("f.mlir", pipeline={"before:fuse-hlo": 3})
"""


@pytest.mark.long
def test_type_checkers_see_the_same(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TYPED)
    pyright = Path(sys.executable).parent / "pyright"
    if not pyright.exists():
        pytest.skip("pyright is not installed")
    settings = {"include": ["program.py"], "extraPaths": [str(ROOT)], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [str(pyright), "--outputjson", "--pythonpath", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = TYPED.splitlines()
    errors = {lines[each["range"]["start"]["line"]].split("  #")[0] for each in found if each["severity"] == "error"}
    assert errors == set(lines[lines.index('scaled("x")') :]), found
    types = [each["message"].partition(" is ")[2] for each in found if each["severity"] == "information"]
    assert types == [
        '"str"',
        '"Executable"',
        '"str"',
        '"tuple[Fusion, ...]"',
        '"float"',
        '"str"',
        '"bytes"',
        '"CacheInfo"',
    ]


def test_importing_the_package_is_cheap() -> None:
    """The time is in benchmarks; here, what is loaded: a few modules of Python's own."""
    program = "import sys; before = set(sys.modules); import xhlo; dir(xhlo); print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["xhlo"]
