"""The reference of the Python API and of the command lines."""

from __future__ import annotations

import inspect
import io
import tomllib
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import xhlo
import xhlo.numpy

ROOT = Path(__file__).resolve().parents[2]

PYTHON = """# Python

The names that `import xhlo` offers. The [NumPy](../numpy.md), [JAX](../jax.md) and [builder](../builder.md) pages
explain how to use them; `xhlo.numpy` has [a page of its own](numpy.md).

"""

NUMPY = """# xhlo.numpy

The array API standard 2024.12, `import xhlo.numpy as xp`; see [array-api.md](../array-api.md).

"""

COMMANDS = """# Command lines

The text that `--help` of each tool prints; [the command line](../command-line.md) explains it.

"""


def public_names() -> dict[str, Any]:
    """The public API by name: what `xhlo.__all__` lists, and what needs JAX."""
    names = sorted({*xhlo.__all__, "executable_of"} - {"numpy"}, key=str.lower)
    return {name: getattr(xhlo, name) for name in names}


def home(value: Any) -> str:
    """Where it is defined, as mkdocstrings looks for it."""
    return f"{value.__module__}.{value.__qualname__}"


def python_page() -> str:
    return PYTHON + "\n".join(_entry(name, value) for name, value in public_names().items())


def _entry(name: str, value: Any) -> str:
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return f"## xhlo.{name}\n\n{inspect.getdoc(value) if isinstance(value, ModuleType) else repr(value)}\n"
    return f"::: {home(value)}\n    options:\n      heading: xhlo.{name}\n      toc_label: xhlo.{name}\n"


def numpy_page() -> str:
    """A table for each namespace: names, with the first lines of their docstrings."""
    parts = [NUMPY]
    for module in (xhlo.numpy, xhlo.numpy.linalg, xhlo.numpy.fft):
        names = [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)]
        rows = (f"| `{name}` | {_first_line(getattr(module, name))} |" for name in sorted(names, key=str.lower))
        parts.append(f"## {module.__name__}\n\n| name | |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _first_line(value: Any) -> str:
    if not callable(value):
        return f"`{value}`"
    return (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def tools() -> dict[str, str]:
    """The commands that the package installs, and their functions as `module:name`."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]


def commands_page() -> str:
    parts = [COMMANDS]
    for name, place in tools().items():
        module, _, function = place.partition(":")
        printed = io.StringIO()
        with redirect_stdout(printed):
            getattr(import_module(module), function)(["--help"])
        parts.append(f"## {name}\n\n```text\n{printed.getvalue().rstrip()}\n```\n")
    return "\n".join(parts)
