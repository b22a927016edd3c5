"""The site of the documentation: its links, its generated pages, and that it leaves nothing out."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import api_pages
import build_site
import notebooks
import ops_pages
import passes_page
import picture
import xhlo
from checkout import ROOT

GENERATED = {ROOT / "docs" / "reference" / f"{name}.md" for name in ("passes", "python", "numpy", "commands")}
SETTINGS = (ROOT / "docs" / "scripts" / "mkdocs.yml").read_text(encoding="utf-8")
CODE = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends", "tools", "test")

_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_VARIABLE = re.compile(r"\bXHLO_[A-Z_]+[A-Z]\b")


def pages() -> Iterator[tuple[Path, str]]:
    """Each page and its text, without code."""
    for path in build_site.sources():
        yield ROOT / path, _FENCED.sub("", (ROOT / path).read_text(encoding="utf-8"))
    for path in notebooks.NOTEBOOKS.glob("*.ipynb"):
        cells = notebooks.read(path)["cells"]
        yield path, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as mkdocs and GitHub make them."""
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading) for heading in _HEADING.findall(text))
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in plain}


def test_no_link_is_dead():
    texts = dict(pages())
    dead: list[str] = []
    for page, text in texts.items():
        for link in _LINK.findall(text):
            path, _, anchor = link.partition("#")
            if path.startswith(("http://", "https://")):
                continue
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors(texts[target])):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert not dead


def test_the_navigation_names_pages_that_exist():
    named = [ROOT / name for name in re.findall(r"- (\S+\.md)$", SETTINGS, re.MULTILINE)]
    assert len(named) == len(set(named))
    assert [path for path in named if not path.exists() and path not in GENERATED] == []


def test_pages_that_the_navigation_does_not_name_are_added():
    nav = [{"Home": ["README.md"]}, {"Reference": []}, {"More": []}]
    sections = {title: pages for entry in build_site.complete(nav, [], []) for title, pages in entry.items()}
    assert {"docs/gpu.md", "CHANGELOG.md"} <= set(sections["More"])
    assert "README.md" not in sections["More"]


@pytest.mark.long
def test_the_table_of_environment_variables_is_complete():
    read: set[str] = set()
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            read |= set(_VARIABLE.findall(path.read_text(encoding="utf-8")))
    table = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(XHLO_\w+)`", table, re.MULTILINE)) == read


def test_the_page_of_remarks_explains_every_reason():
    page = (ROOT / "docs" / "how-to" / "remarks.md").read_text(encoding="utf-8")
    unexplained: list[str] = []
    for name in ("producers", "decisions", "rows"):
        source = (ROOT / "passes" / "fuse_hlo" / f"{name}.py").read_text(encoding="utf-8")
        for reason in re.findall(r'return f?"([^"]+)"', source):
            words = r"\S+".join(map(re.escape, re.split(r"\{[^}]*\}", reason)))
            if len(re.findall(r"\b[a-z]+ [a-z]+ ", reason)) > 0 and re.search(words, page) is None:
                unexplained.append(reason)
    assert not unexplained


def public_members(value: Any) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a public class of ours defines or inherits."""
    for base in value.__mro__:
        if base.__module__.startswith("xhlo."):
            for name, member in vars(base).items():
                routine = inspect.isroutine(member) or isinstance(member, property | classmethod | staticmethod)
                if routine and not name.startswith("_"):
                    yield name, inspect.getattr_static(value, name)


def test_every_public_name_has_a_docstring():
    missing: list[str] = []
    for name, value in api_pages.public_names().items():
        generated = dataclasses.is_dataclass(value) and (value.__doc__ or "").startswith(f"{name}(")
        if not inspect.getdoc(value) or generated:
            missing.append(name)
        if inspect.isclass(value):
            missing += [f"{name}.{key}" for key, member in public_members(value) if not inspect.getdoc(member)]
    assert not missing


def test_every_public_name_is_on_the_reference_page():
    page = api_pages.python_page()
    assert [name for name in {*xhlo.__all__} - {"numpy"} if f"xhlo.{name}\n" not in page] == []
    assert all(row.split("|")[2].strip() for row in re.findall(r"^\| `.*$", api_pages.numpy_page(), re.MULTILINE))


def test_the_help_of_each_tool_is_on_the_page_of_commands():
    page = api_pages.commands_page()
    assert [tool for tool in api_pages.tools() if f"usage: {tool}" not in page] == []


@pytest.mark.long(9)
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", passes_page.own_passes())
def test_a_pass_is_shown_with_an_example(name: str):
    section = passes_page.section(name)
    before, after = passes_page.example(name)
    assert before != after
    assert section.startswith(f"## {name}\n")
    assert f"```mlir\n{after}\n```" in section


@pytest.mark.long
def test_each_operation_has_an_example_or_a_sentence():
    names = [cls.name for cls in ops_pages.operations() if cls.name not in ops_pages.DEPENDENT]
    assert [name for name in names if next(ops_pages.found(name), None) is None] == []


@pytest.mark.long(5)
@pytest.mark.sample(8)
@pytest.mark.parametrize("family", ops_pages.families())
def test_an_operation_is_shown_before_and_after(family: str):
    for cls in ops_pages.families()[family]:
        section = ops_pages.section(cls)
        assert section.startswith(f"## {cls.name}\n")
        assert cls.name in ops_pages.DEPENDENT or section.count("```mlir") + section.count("After: refused") >= 2


def test_the_picture_shows_what_the_compiler_prints():
    drawn = picture.PICTURE.read_text(encoding="utf-8")
    executable = xhlo.compile(picture.PROGRAM)
    for panel in (picture.program_panel(), picture.fusions_panel(executable)):
        assert all(line in drawn for line in panel.drawn_lines()), "run docs/scripts/picture.py on an x86-64"


@pytest.mark.parametrize("name", ["numpy-jit", "look-at-fusions"])
def test_a_notebook_prints_what_it_shows(name: str):
    notebook = notebooks.read(notebooks.NOTEBOOKS / f"{name}.ipynb")
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebooks.run_cells(notebook) == shown


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs: pip install '.[docs]'")
def test_the_site_builds_without_a_warning():
    subprocess.run([sys.executable, ROOT / "docs" / "scripts" / "build_site.py"], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", build_site.BUILD / "mkdocs.yml"],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
