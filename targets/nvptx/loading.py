"""From the bytes of a program to an executable; the first call loads its code onto a GPU."""

from __future__ import annotations

from collections.abc import Callable

from ..gpu.serialization import read_image
from ..program.container import Serialized
from .executable import CudaExecutable


def load(serialized: Serialized, text_at: Callable[[str], str]) -> CudaExecutable:
    """The executable that `serialize` wrote. Raises ValueError for another version."""
    return CudaExecutable(read_image(serialized), text_at)
