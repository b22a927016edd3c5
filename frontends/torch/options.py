"""`torch.compile(options={..})`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ...passes.manager.pipelines import MATH_MODES


@dataclass(frozen=True)
class Options:
    """How graphs are compiled."""

    target: str = "cpu"
    """The target's name, as that of `xhlo.compile`."""
    math: str = "default"
    strict: bool = False
    """Whether an operation that is not lowered is an error; else torch runs it, with a warning."""
    dump: str | None = None
    """The folder to which every stage of each program is written."""
    autotune: bool | str | os.PathLike[str] = False
    """Whether to measure how products are tiled, or the file for the choices, as for `xhlo.compile`."""
    tuning: str | os.PathLike[str] | None = None
    """The file of choices to use without measuring."""

    @staticmethod
    def of(given: Mapping[str, Any] | None) -> Options:
        """From the mapping that a user gave. Raises ValueError, TypeError."""
        stated = dict(given or {})
        names = [one.name for one in fields(Options)]
        for name in stated:
            if name not in names:
                raise ValueError(f"options: there is no option '{name}'; there are {', '.join(names)}")
        found = Options(**stated)
        if found.math not in MATH_MODES:
            raise ValueError(f"options: no mode of math is named '{found.math}'; there are {', '.join(MATH_MODES)}")
        if not isinstance(found.strict, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("options: 'strict' is True or False")
        return found
