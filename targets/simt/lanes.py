"""
The threads that run at once: all threads of several blocks of a grid.

A value of the program is an array whose last two axes are blocks and threads, each of full length or of length 1: a
value that all threads of a block share has length 1 on the last axis, one that does not depend on the block on the axis
before it. NumPy's broadcasting does the rest. The axes of a vector come before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.types import Array
from ...lowering.device.chips import WARP
from .traffic import KernelTraffic

THREAD_BITS = 32
SEVERAL_THREADS = (1 << THREAD_BITS) - 1
"""Above the numbers of all threads of a launch."""

Dims = tuple[int, int, int]


class SimtError(DiagnosticError):
    """Undefined behaviour of a kernel: a race, an access out of bounds, a barrier that some threads miss."""


@dataclass
class Lanes:
    """The threads of some blocks of a launch. All numbers count x first."""

    kernel: str
    grid: Dims
    block: Dims
    first: int
    """The first of the blocks that run."""
    blocks: int
    traffic: KernelTraffic | None = None
    warp: int = WARP
    """The threads of a warp of the chip."""

    def __post_init__(self) -> None:
        self.threads = math.prod(self.block)
        self.rows: Array = np.arange(self.blocks, dtype=np.int64)[:, None]
        """The position of each block among those that run."""
        self.columns: Array = np.arange(self.threads, dtype=np.int64)[None, :]
        self.shape = (self.blocks, self.threads)
        self.block_numbers: Array = (self.rows + self.first).astype(np.int32)
        self.keys: Array = (self.rows + self.first) * self.threads + self.columns
        """
        The key of each thread: its number in the launch, and in the higher bits the barriers its block has passed.
        """
        self.copies: list[Any] = []
        """The asynchronous copies that threads have begun and not waited for."""
        self.copy_groups: Array = np.zeros(self.shape, np.int32)
        """The number of groups of copies that each thread has committed."""

    def pass_barrier(self, blocks: Array | None = None) -> None:
        """The threads of a block (of all, without `blocks`) have met."""
        one = np.int64(1) << THREAD_BITS
        self.keys = self.keys + (one if blocks is None else blocks * one)

    def thread_id(self, dimension: int) -> Array:
        return self.columns // math.prod(self.block[:dimension]) % self.block[dimension]

    def block_id(self, dimension: int) -> Array:
        return (self.rows + self.first) // math.prod(self.grid[:dimension]) % self.grid[dimension]

    def place(self, row: int, column: int) -> str:
        """`block (0, 0, 0), thread (1, 0, 0)`"""
        return self.named((self.first + row) * self.threads + column)

    def named(self, number: int) -> str:
        """The thread of that number in the launch."""
        block, thread = divmod(int(number), self.threads)
        return f"block {_position(block, self.grid)}, thread {_position(thread, self.block)}"


def _position(number: int, sizes: Dims) -> Dims:
    x, y, _ = sizes
    return number % x, number // x % y, number // (x * y)


@dataclass
class Frame:
    """A run of a function: its values, and which threads take part."""

    lanes: Lanes
    env: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    mask: Array | None = None
    """None if all take part."""

    def active(self) -> Array:
        """Whether each thread takes part."""
        if self.mask is None:
            return np.ones(self.lanes.shape, np.bool_)
        return np.broadcast_to(self.mask, self.lanes.shape)

    def only_active(self, condition: Array) -> Array:
        return condition if self.mask is None else condition & self.mask

    def fail(self, op: Operation, what: str, bad: Array) -> NoReturn:
        """Report the error of the first of the threads `bad`."""
        row, column = np.argwhere(np.broadcast_to(bad, self.lanes.shape))[0]
        self.fail_at(op, what, self.lanes.place(int(row), int(column)))

    def fail_at(self, op: Operation, what: str, where: str) -> NoReturn:
        message = f"'{op.name}' op {what}, in {where} of kernel @{self.lanes.kernel}"
        raise SimtError(Diagnostic("error", message, op.location))


def element(array: Array, row: int, column: int) -> Any:
    """A thread's element of a value, which many threads may share."""
    return array[..., min(row, array.shape[-2] - 1), min(column, array.shape[-1] - 1)]
