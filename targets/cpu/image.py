"""
A program compiled for the CPU as data: its machine code and the facts about it.

Compiling makes an image, and loading makes an executable from it; an image can be stored as bytes (see
serialization.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..program.facts import Facts

CONSTANT_ALIGNMENT = 64
"""The largest alignment in bytes that the code assumes for a constant."""


@dataclass
class Image:
    """A whole compiled program; `targets.cpu.loading.load_image` makes an executable from it."""

    code: tuple[bytes, ...]
    """Relocatable object files; the first has `void xhlo_entry(void **buffers)`."""
    data: Mapping[str, bytes | memoryview]
    """Large constants, by the names that the code uses for them."""
    facts: Facts
