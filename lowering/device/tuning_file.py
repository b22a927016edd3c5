"""
Tuning files: choices that were measured, by machine and kernel, as JSON.

    {"format": 1, "machines": {"znver4, 512 bits": {"<key>": {"kernel": "dot_0", "tilings": [{"rows": 8, ..}], ..}}}}

The key of a kernel is a hash of its operations and types, without names: equal kernels of other programs have it too.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr

from ...hlo_dialect.printing import print_operation

FORMAT = 1

Sizes = Mapping[str, int]
"""The sizes of a tiling by name."""


class TuningFileError(ValueError):
    """A tuning file that cannot be read, or is none; the message names it."""


@dataclass(frozen=True)
class Choice:
    """The choice for one kernel."""

    kernel: str
    """Its name in the program in which it was measured."""
    tilings: Sequence[Sizes]
    """The choices for its products, in their order."""
    default_ns: int
    """The time of a call with the sizes that the cost model chooses."""
    ns: int
    """The time of a call with the tilings."""


@dataclass
class TuningFile:
    """The choices of a file, by machine and key."""

    machines: dict[str, dict[str, Choice]] = field(default_factory=dict[str, dict[str, Choice]])

    def of(self, machine: str) -> Mapping[str, Choice]:
        """The choices for a machine."""
        return self.machines.get(machine, {})

    def add(self, machine: str, key: str, choice: Choice) -> None:
        self.machines.setdefault(machine, {})[key] = choice

    def text(self) -> str:
        """The same choices make the same text."""
        machines = {
            machine: {key: vars(choice) | {"tilings": list(map(dict, choice.tilings))} for key, choice in found.items()}
            for machine, found in self.machines.items()
        }
        return json.dumps({"format": FORMAT, "machines": machines}, indent=1, sort_keys=True) + "\n"

    def write(self, path: Path) -> None:
        """Write the file at once: readers see all of it or what was there before. Raises TuningFileError."""
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            with os.fdopen(handle, "w") as file:
                file.write(self.text())
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None and os.path.exists(temporary):
                os.unlink(temporary)
            raise TuningFileError(f"{path} cannot be written: {error.strerror}") from None


def digest_of(text: str) -> str:
    """A hash of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_text(path: Path) -> str:
    """The text of a tuning file. Raises TuningFileError."""
    try:
        return path.read_text()
    except OSError as error:
        raise TuningFileError(f"the tuning file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TuningFileError(f"{path} is no tuning file: it is no text") from None


def parse(text: str, path: Path) -> TuningFile:
    """The choices that a file's text states. Raises TuningFileError."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise TuningFileError(f"{path} is a tuning file of format {data['format']}, expected {FORMAT}")
        machines = cast("dict[str, dict[str, dict[str, Any]]]", data["machines"])
        return TuningFile(
            {machine: {key: _choice(each) for key, each in found.items()} for machine, found in machines.items()}
        )
    except TuningFileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TuningFileError(f"{path} is no tuning file; xhlo.compile(.., autotune=..) writes one") from None


def _choice(data: Mapping[str, Any]) -> Choice:
    tilings = [{str(name): _number(size) for name, size in each.items()} for each in data["tilings"]]
    return Choice(str(data["kernel"]), tilings, _number(data["default_ns"]), _number(data["ns"]))


def _number(value: object) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:  # JSON has larger ones, and infinity
        raise ValueError(f"{value} is no number of 64 bits")
    return value


def key_of(kernel: func.FuncOp) -> str:
    """The key of a kernel: a hash of its text without names of functions and values."""
    copy = kernel.clone()
    copy.sym_name = StringAttr("kernel")
    for op in copy.walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            value.name_hint = None
    return hashlib.sha256(print_operation(copy).encode()).hexdigest()[:32]
