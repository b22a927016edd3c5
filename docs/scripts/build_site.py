"""
Prepares the site in build/site, for `mkdocs build`: `python docs/scripts/build_site.py` (`make docs` does both).

Copies the pages, at the places that they have in the repository so that their links stay right, with what they link
to; writes the generated pages into docs/reference; and completes the navigation of docs/scripts/mkdocs.yml by the pages
that it does not name.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api_pages
import ops_pages
import passes_page

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "site"
PAGES = BUILD / "pages"
SOURCES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/*/README.md")
LINK = re.compile(r"(\]\()(?!https?://|mailto:|#)([^)#\s]+)((?:#[^)\s]*)?\))")


def sources() -> list[Path]:
    """The pages in the repository, relative to its root."""
    return sorted(path.relative_to(ROOT) for pattern in SOURCES for path in ROOT.glob(pattern))


def copy_page(path: Path) -> None:
    """Copy a page and the files that it links to; links to folders lead to their README.md."""

    def follow(match: re.Match[str]) -> str:
        target = (ROOT / path.parent / match[2]).resolve()
        link = match[2]
        if target.is_dir():
            link = f"{link.rstrip('/')}/README.md"
        elif target.is_file() and target.suffix != ".md":
            copied = PAGES / target.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copied)
        return f"{match[1]}{link}{match[3]}"

    write(path, LINK.sub(follow, (ROOT / path).read_text(encoding="utf-8")))


def write(path: Path | str, text: str) -> None:
    target = PAGES / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def write_notebooks() -> Iterator[str]:
    """Each notebook as a page; yields the pages."""
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = f"docs/notebooks/{path.stem}.md"
        write(page, notebook_text(json.loads(path.read_text(encoding="utf-8"))))
        yield page


def notebook_text(notebook: Any) -> str:
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            text = "".join(output.get("text") or output["data"]["text/plain"])
            parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def write_reference() -> list[dict[str, str]]:
    """Write the generated pages. Returns the navigation of the operations: a page for each family."""
    write("docs/reference/passes.md", passes_page.page())
    write("docs/reference/python.md", api_pages.python_page())
    write("docs/reference/numpy.md", api_pages.numpy_page())
    write("docs/reference/commands.md", api_pages.commands_page())
    families: list[dict[str, str]] = []
    for name, title, text in ops_pages.pages():
        write(f"docs/reference/{name}", text)
        families.append({title: f"docs/reference/{name}"})
    return families


def named_in(nav: Any) -> set[str]:
    """The pages that a navigation names."""
    match nav:
        case str():
            return {nav}
        case dict():
            return set().union(*map(named_in, nav.values()))
        case _:
            return set().union(*map(named_in, nav))


def complete(nav: list[Any], families: list[dict[str, str]], notebooks: list[str]) -> list[Any]:
    """The navigation with the generated pages, and in its section "More" the pages that it does not name."""
    sections: dict[str, list[Any]] = {title: pages for entry in nav for title, pages in entry.items()}
    sections["Reference"].append({"Operations by family": families})
    sections["Notebooks"] = [*notebooks]
    named = named_in(nav) | named_in(notebooks)
    sections["More"] += [str(path) for path in sources() if str(path) not in named]
    return [{title: pages} for title, pages in sections.items()]


def main() -> None:
    import yaml  # comes with mkdocs

    shutil.rmtree(BUILD, ignore_errors=True)
    for path in sources():
        copy_page(path)
    shutil.copyfile(ROOT / "docs" / "pipeline.svg", PAGES / "docs" / "pipeline.svg")
    settings = yaml.safe_load((Path(__file__).parent / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["nav"] = complete(settings["nav"], write_reference(), list(write_notebooks()))
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
