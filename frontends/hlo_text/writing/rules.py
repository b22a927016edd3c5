"""How each operation is written: a rule `(Lines, operation)` for its class, in the files of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....hlo_dialect.rules import Rules

Write = Callable[[Any, Any], None]
"""From the `Lines` of a computation and an operation: adds the instructions that compute its results."""

writers = Rules[Write]("hlo-text", __package__)
