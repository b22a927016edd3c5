"""From the bytes of a program to an executable; the first call loads its code onto a GPU."""

from __future__ import annotations

from collections.abc import Callable

from ..program.container import Serialized
from .executable import GpuExecutable
from .serialization import read_image


def load(serialized: Serialized, text_at: Callable[[str], str]) -> GpuExecutable:
    """The executable that `serialize` wrote. Raises ValueError for another version."""
    return GpuExecutable(read_image(serialized), text_at)
