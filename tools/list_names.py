"""
Writes the types of `xhlo.numpy` for editors and type checkers, `xhlo/numpy/*.pyi`: `python -m xhlo.tools.list_names`.

The names, and the parameters of the functions, are those of the namespace. Many are NumPy's, found at run time.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..frontends.array_api.array import Array
from ..frontends.array_api.namespace import EXTENSIONS, NAMES

FOLDER = Path(__file__).resolve().parent.parent / "xhlo" / "numpy"

_HEADER = "# Written by `python -m xhlo.tools.list_names`.\n\nfrom typing import Any\n"


def stubs() -> dict[str, str]:
    """The texts of the files by their names."""
    extensions = "".join(f"from . import {name} as {name}\n" for name in EXTENSIONS)
    array = "from ..frontends.array_api.array import Array as Array\n"
    return {
        "__init__.pyi": f"{_HEADER}\nimport numpy as np\n\n{extensions}{array}\n{_text(NAMES, tuple(EXTENSIONS))}",
        **{f"{name}.pyi": f"{_HEADER}\n{_text(names)}" for name, names in EXTENSIONS.items()},
    }


def _text(names: Mapping[str, Any], more: tuple[str, ...] = ()) -> str:
    every = "".join(f'    "{name}",\n' for name in sorted((*names, *more)))
    return f"__all__ = [\n{every}]\n\n" + "\n".join(_declared(names)) + "\n"


def _declared(names: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sorted(names.items()):
        if value is Array:
            continue
        if isinstance(value, type):
            yield f"{name}: type[np.{value.__name__}]"
        elif callable(value):
            yield f"def {name}{_parameters(value)} -> Any: ..."
        else:
            yield f"{name}: {type(value).__name__ if value is not None else None}"


def _parameters(function: Any) -> str:
    found = [
        each.replace(annotation=Any, default=each.empty if each.default is each.empty else ...)
        for each in inspect.signature(function).parameters.values()
    ]
    return str(inspect.Signature(found)).replace("typing.Any", "Any").replace("Ellipsis", "...")


if __name__ == "__main__":
    for file, text in stubs().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
