"""Rules of the code base that no other tool checks: files and folders, imports, and the cost of loading."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from checkout import ROOT

FLOORS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends", "tools")
SOURCES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MAX_LINES = 500
"""The most lines of a file; a longer one contains two things."""
MAX_FILES = 30
"""The most files of a folder; a larger one has files that belong into a folder of their own."""


@dataclass(frozen=True)
class Parsed:
    """The facts of a source file for which it must be parsed."""

    is_explained: bool
    """Whether it has a docstring."""
    imports: Sequence[ast.Import | ast.ImportFrom]
    """Its imports at any depth."""


@cache
def parsed(path: Path) -> Parsed:
    module = ast.parse(path.read_text(encoding="utf-8"))
    return Parsed(ast.get_docstring(module) is not None, list(imports_in(module)))


def imports_in(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports among the statements below a node; expressions, which are most nodes, have none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, ())
        for one in inner if isinstance(inner, list) else ():
            if isinstance(one, ast.Import | ast.ImportFrom):
                yield one
            else:
                yield from imports_in(one)


@pytest.mark.parametrize("floor", FLOORS)
def test_the_package_is_links_to_the_folders(floor: str):
    link = ROOT / "xhlo" / floor
    assert link.is_symlink()
    assert link.resolve() == ROOT / floor
    assert (ROOT / floor / "__init__.py").exists()


def test_files_are_short_and_explained():
    wrong: list[str] = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MAX_LINES:
            wrong.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_LINES}")
        if not parsed(path).is_explained:
            wrong.append(f"{path.relative_to(ROOT)}: no docstring")
        if path.stem in ("utils", "helpers", "misc", "common"):
            wrong.append(f"{path.relative_to(ROOT)}: a name that says nothing")
    assert not wrong, "\n".join(wrong)


def test_folders_are_small():
    tests = [*(ROOT / "test").rglob("*.py")]
    counts = Counter(path.parent.relative_to(ROOT) for path in [*SOURCES, *tests])
    assert not {str(folder): count for folder, count in counts.items() if count > MAX_FILES}


def imported_modules(path: Path, module: str, modules: Collection[str]) -> set[str]:
    """The modules among `modules` that a file imports anywhere: in functions and for type checkers too."""
    found: set[str] = set()
    parents = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in parsed(path).imports:
        if isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) + 1 - node.level] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            names = [f"{source}.{alias.name}" for alias in node.names]
            found.update(name if name in modules else source for name in names)
        else:
            found.update(alias.name for alias in node.names)
    return {name for name in found if name in modules and name != module}


def import_graph(root: Path, paths: Iterable[Path]) -> dict[str, set[str]]:
    """For each module, the others that it imports."""
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in paths}
    modules = {path: name.removesuffix(".__init__") for path, name in names.items()}
    return {name: imported_modules(path, name, set(modules.values())) for path, name in modules.items()}


def find_circle(graph: Mapping[str, Collection[str]]) -> list[str]:
    """A circle of imports, from a module back to itself; empty where there is none."""
    path: list[str] = []
    done: set[str] = set()

    def visit(module: str) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            path.append(module)
            for imported in sorted(graph[module]):
                if circle := visit(imported):
                    return circle
            done.add(path.pop())
        return []

    return next(filter(None, map(visit, graph)), [])


def test_no_files_import_each_other():
    circle = find_circle(import_graph(ROOT, SOURCES))
    assert not circle, " -> ".join(circle)


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a": "from .b import x", "b": "from . import c", "c": "import os"}, []),
        (
            {"a": "from . import b", "b": "def f():\n    from .c import x", "c": "from .a import y"},
            ["a", "b", "c", "a"],
        ),
        ({"a": "if TYPE_CHECKING:\n    from ..p.b import x", "b": "from .a import y"}, ["a", "b", "a"]),
        (
            {"a": "from .q import x", "q/__init__": "from .r import x", "q/r": "from ..a import y"},
            ["a", "q", "q.r", "a"],
        ),
    ],
)
def test_circles_are_found(tmp_path: Path, files: dict[str, str], circle: list[str]):
    for name, text in files.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = find_circle(import_graph(tmp_path, sorted(tmp_path.rglob("*.py"))))
    assert found == [f"p.{name}" for name in circle]


def test_imports_go_downwards():
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _loaded_by(code: str, *names: str) -> list[str]:
    """Those of the modules that are loaded after the code ran in a new process."""
    program = f"import sys\n{code}\nprint(*[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_xhlo_loads_nothing():
    assert not _loaded_by("import xhlo", "xdsl", "numpy", "llvmlite", "lit", "filecheck", "cuda", "jax")


def test_hlo_opt_loads_no_backend():
    code = (
        "import io; sys.stdin = io.TextIOWrapper(io.BytesIO(b'func.func @main() { return }'))\n"
        "from xhlo.tools.hlo_opt import main; main(['--cse'])"
    )
    assert not _loaded_by(code, "llvmlite", "lit", "filecheck", "cuda", "jax")
