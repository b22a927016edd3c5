"""The base class of all plans of kernels on a GPU, and checks of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

WARP, MOST_WARP = 32, 64
"""Threads of a warp, depending on the chip."""
MAX_BLOCK_THREADS = 1024
MAX_VECTOR = 16
"""Maximum elements of a vector: one access moves 16 bytes."""

HEAD = {"head": True}
"""Marks the field that is printed first and without its name, `128x64x32`."""


@dataclass(frozen=True)
class Plan:
    """How one operation, or several in one launch, are mapped to a GPU."""

    name: ClassVar[str]
    """The attribute's name without the hash, such as `gpu.rows`."""

    def check(self) -> None:
        """Raises VerifyException if the numbers contradict each other or exceed a limit of all chips."""

    @property
    def block(self) -> int:
        """Threads of a block."""
        return getattr(self, "threads", 1)


def require(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyException(message)


def check_whole_warps(threads: int) -> None:
    require(threads % WARP == 0, f"a block of {threads} threads is not a multiple of {WARP}")


def check_powers_of_two(**numbers: int) -> None:
    for name, number in numbers.items():
        require(number > 0 and number & (number - 1) == 0, f"{name} is {number}, not a power of two")


def check_width(width: int) -> None:
    check_powers_of_two(width=width)
    require(width <= MAX_VECTOR, f"width is {width}: one access moves {MAX_VECTOR} elements at most")
