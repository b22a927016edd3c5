"""
The documentation is true: the commands on its pages are run here, and print what the pages show.

Each page is processed from top to bottom in a copy of the checkout; the chapters of the tutorial, in order, in one copy.

* A block whose first line is a comment with a file's name (`// mean.mlir`, `# my_ops/lowerings.py`) is that file.
* A `diff` block edits the file that it names; the lines around a change are found by their text.
* In a `console` block each `$ hlo-opt`, `$ hlo-run`, `$ hlo-aot`, `$ lit`, `$ pytest` and `$ python` is run, unless it
  needs jax and jax is not installed (a page that installs `xhlo[torch]` is skipped without torch); environment
  variables may precede it. Its status must be 0, or 1 if the page shows an error. Its output must be the text below it, where `...` stands for any text, and on a line of its own for any lines. The numbers
  of tools that measure may differ; assembly, which differs between machines, is not compared.
* A `python` block that is not a file is run if the modules that it imports are installed.
* `$ pip install` is emulated by writing the metadata that it would install; other commands are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from checkout import ROOT
from tool_client import TOOLS as SERVED
from tool_server import ToolServer

TUTORIAL = ROOT / "docs" / "tutorial"
PAGES = [
    [ROOT / "README.md"],
    sorted(TUTORIAL.glob("*.md")),
    *([page] for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != TUTORIAL),
]
"""The pages, in groups that share a copy of the checkout."""
CODE = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends", "tools", "xhlo")
LINKED = (*CODE, "test")
"""Folders that are links to the checkout until a page writes there; copies of a thousand files take time."""
TOOLS = {
    "hlo-aot": "-m xhlo.tools.hlo_aot",
    "hlo-opt": "-m xhlo.tools.hlo_opt",
    "hlo-run": "-m xhlo.tools.hlo_run",
    "hlo-fuzz": "-m xhlo.tools.hlo_fuzz",
    "lit": "-c 'from lit.main import main; main()'",
    "pytest": "-m pytest",
    "python": "",
}

NOT_RUN = {"make", "pip", "ls", "grep", "head", "cat", "mkdir", "cc", "build/softmax_test"}
"""The other commands on the pages: they install, look at files, or need a C compiler."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?://|#) ([\w./-]+\.(?:mlir|hlo|py|toml))\n")
_HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
_IMPORTS = re.compile(r"\b(jax|numpy|tensorflow|keras|torch)\b")
_SETTING = re.compile(r"[A-Z_]+=")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Step:
    """A fenced block: its language, its text, and where it begins."""

    language: str
    text: str
    line: int


def steps_of(page: Path) -> Iterator[Step]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Step(match[1], match[2], text.count("\n", 0, match.start()) + 1)


def changes_what_tools_load(step: Step) -> bool:
    """Whether it edits or writes a module of xhlo."""
    name = written_by(step)
    return name is not None and name.endswith(".py") and name.split("/")[0] in CODE


def written_by(step: Step) -> str | None:
    """The file that a step edits or writes."""
    name = re.match(r"--- (.*)\n", step.text) if step.language == "diff" else _FILE_NAME.match(step.text)
    return None if name is None or step.language == "console" else name[1]


def commands_of(step: Step) -> Iterator[tuple[str, str]]:
    """Pairs (command, text that the page shows below it)."""
    for part in re.split(r"^\$ ", step.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more
        yield re.sub(r"\s+#.*", "", command), shown


UNCHANGED = {**os.environ, "PYTHONPATH": str(ROOT)}


class Workplace:
    """
    A copy of the checkout, made as far as pages write to it, in which their steps are done. Tools run in the server,
    which has loaded the same code from the checkout, until a step changes what they load; from then on they start from
    scratch in the copy. Projects that are installed change the path of modules only, which the server follows.
    """

    def __init__(self, folder: Path, server: ToolServer):
        self.root = folder / "checkout"
        self.packages = folder / "packages"
        self.packages.mkdir()
        self.root.mkdir()
        for name in LINKED:
            (self.root / name).symlink_to(ROOT / name)
        self.copy("examples")
        for name in ("pyproject.toml", "README.md", "__init__.py"):
            if (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.root / name)
        self.commands = folder / "bin"
        self.commands.mkdir()
        path = os.pathsep.join((str(self.commands), os.environ["PATH"]))
        folders = os.pathsep.join((str(ROOT), str(self.packages)))
        self.environment = {**UNCHANGED, "PYTHONPATH": folders, "PATH": path, "COLUMNS": "100"}
        self.is_changed = False
        self.make_commands(server)

    def make_commands(self, server: ToolServer | None) -> None:
        for tool, arguments in TOOLS.items():
            command = f'"{sys.executable}" {arguments}'
            if server is not None and tool in SERVED:
                command = shlex.join(server.command(tool))
            script = self.commands / tool
            script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            script.chmod(0o755)

    def copy(self, *names: str) -> None:
        # A third of the processor time that shutil takes for a thousand files.
        subprocess.run(["cp", "-RPp", *(ROOT / name for name in names), self.root], check=True)

    def make_writable(self, path: str) -> None:
        """Copy the folder of a file that a page writes: the folders of code are links to one place."""
        top = path.split("/")[0]
        if top in LINKED and (self.root / top).is_symlink():
            names = CODE if top in CODE else (top,)
            for name in names:
                (self.root / name).unlink()
            self.copy(*names)

    def leave_the_server(self) -> None:
        self.is_changed = True
        self.environment["XHLO_PLAIN_TOOLS"] = "1"  # lit would start a server for a test or two
        self.environment["PYTHONPATH"] = self.environment["PYTHONPATH"].replace(str(ROOT), str(self.root), 1)
        self.make_commands(None)

    def do(self, step: Step) -> None:
        if (written := written_by(step)) is not None:
            self.make_writable(written)
        if not self.is_changed and changes_what_tools_load(step):
            self.leave_the_server()
        if step.language == "console":
            for command, shown in commands_of(step):
                self.type(command, shown)
        elif step.language == "diff":
            self.edit(step.text)
        elif match := _FILE_NAME.match(step.text):
            path = self.root / match[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        elif step.language == "python" and all(map(find_spec, _IMPORTS.findall(step.text))):
            self.run(f"python - <<'END'\n{step.text}END", "", compared=False)

    def edit(self, diff: str) -> None:
        """Replace the old lines of each hunk, which must occur in the file once, by the new ones."""
        header, *hunks = _HUNK.split(diff)
        path = self.root / header.splitlines()[1].removeprefix("+++ ")
        text = path.read_text()
        for hunk in hunks:
            lines = [line if line else " " for line in hunk.splitlines()]
            old = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
            new = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
            assert text.count(old) == 1, f"{path.name} does not hold once:\n{old}"
            text = text.replace(old, new)
        path.write_text(text)

    def type(self, command: str, shown: str) -> None:
        name = next(word for word in command.split() if not _SETTING.match(word))
        if re.match(r"pip install .*\w$", command) and (self.root / command.split()[-1]).is_dir():
            self.install(self.root / command.split()[-1])
        if "JAX_PLATFORMS=" in command and find_spec("jax") is None:
            return
        if name in TOOLS:
            self.run(command, shown, compared=shown != "" and "--emit=asm" not in command)

    def run(self, command: str, shown: str, compared: bool) -> None:
        """Run a shell command: its status must be 0, or 1 if the page shows an error, and its output the text shown."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != int("error:" in shown):
            raise AssertionError(f"$ {command}\nexits with {done.returncode} and prints\n{done.stdout}")
        if compared and not agrees(done.stdout, shown, measures=not command.startswith("hlo-opt")):
            raise AssertionError(f"$ {command}\nprints\n{done.stdout}\nand not\n{shown}")

    def install(self, project: Path) -> None:
        """Do what `pip install --editable` does: write the project's metadata and put its modules on the path."""
        described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
        metadata = self.packages / f"{described['name']}-{described['version']}.dist-info"
        metadata.mkdir(exist_ok=True)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
        )
        lines: list[str] = []
        for group, points in described["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
        self.environment["PYTHONPATH"] += os.pathsep + str(project)


def agrees(printed: str, shown: str, measures: bool) -> bool:
    """Whether the page shows what was printed, except for `...` and the numbers of measurements."""
    if measures:
        printed, shown = (_NUMBER.sub("N", re.sub(r"[ =]+", " ", text)) for text in (printed, shown))
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else ".*?".join(map(re.escape, line.rstrip().split("..."))) + r"[ ]*\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.long
@pytest.mark.skipif(shutil.which("bash") is None, reason="the pages' commands are written for a shell")
@pytest.mark.parametrize("pages", PAGES, ids=lambda pages: "-".join(pages[0].relative_to(ROOT).parts))
def test_page(pages: list[Path], tmp_path: Path, tool_server: ToolServer):
    if find_spec("torch") is None and any("pip install 'xhlo[torch]'" in page.read_text() for page in pages):
        pytest.skip("PyTorch is not installed")
    if shutil.which("cc") is None and any("needs a C compiler, cc" in page.read_text() for page in pages):
        pytest.skip("there is no C compiler, cc")
    workplace = Workplace(tmp_path, tool_server)
    for page in pages:
        for step in steps_of(page):
            try:
                workplace.do(step)
            except AssertionError as error:
                failure = f"{page.name}:{step.line}: {error}"
            else:
                continue
            pytest.fail(failure, pytrace=False)


def test_no_command_is_only_for_show():
    steps = [step for pages in PAGES for page in pages for step in steps_of(page) if step.language == "console"]
    names = {
        next(word for word in command.split() if not _SETTING.match(word))
        for step in steps
        for command, _ in commands_of(step)
    }
    assert names - TOOLS.keys() == NOT_RUN


def test_shortened_output_is_compared():
    printed = "a {\n  b = 1\n  c = 2\n}\n"
    assert agrees(printed, "a {\n  ...\n}\n", measures=False)
    assert agrees(printed, "a {\n  b = ...\n  c = 2\n}\n", measures=False)
    assert not agrees(printed, "a {\n  b = 1\n", measures=False)
    assert not agrees(printed, "a {\n  b = 2\n  ...\n}\n", measures=False)
    assert agrees("1 run: 3.5 ms\n", "1 run:  2.25 ms\n", measures=True)
