"""
The last accesses to each memory cell, from which data races and uninitialized reads are found.

Two accesses of one cell by different threads, one of them a write, are in order only if both threads are of one block
and a barrier separates them. Two writes of the same value are no race.

A cell stores one number for an access, its *key*: the number of barriers that the thread's block had passed, then the
thread. Within a block keys grow with time, so that accesses since the last barrier are those with keys from the *base*
of the running thread on, which is the key of thread 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.types import Array
from .lanes import SEVERAL_THREADS, Frame

NOBODY = -1
SEVERAL_BLOCKS = -2


@dataclass(frozen=True)
class Access:
    """An access to memory: cells and the threads at them, flat and of one length."""

    frame: Frame
    op: Operation
    cells: Array
    keys: Array
    blocks: Array | None
    """Per thread; None if the cells belong to one block."""

    @property
    def bases(self) -> Array:
        return self.keys & ~SEVERAL_THREADS


class Shadow:
    """The last accesses to each cell of a piece of memory. A cell is of `unit` bytes; the first is at byte `start`."""

    def __init__(self, start: int, nbytes: int, unit: int, *, reads: bool = True, shared: bool = False):
        """
        `reads`: whether anything reads the memory. `shared`: whether it belongs to one block and is uninitialized at
        first.
        """
        count = nbytes // unit
        self.start = start
        self.unit = unit
        self.reads = reads
        self.shared = shared
        self.writer = np.full(count, NOBODY, np.int64)
        """The key of the last write."""
        self.reader = np.full(count if reads else 0, NOBODY, np.int64)
        """The key of the last read; of thread SEVERAL_THREADS if several have read since a barrier."""
        blocks = 0 if shared else count
        self.writer_block = np.full(blocks, NOBODY, np.int32)
        self.reader_block = np.full(blocks if reads else 0, NOBODY, np.int32)
        self.copied: Array | None = None
        """Whether an asynchronous copy is writing the cell; None before the first."""

    def read(self, access: Access) -> None:
        """Note a read. Raises SimtError if it races with a write."""
        self._check_copies(access, "reads")
        cells, keys, bases = access.cells, access.keys, access.bases
        writer = self.writer[cells]
        if self.shared and writer.size and writer.min() == NOBODY:
            self._fail(access, writer == NOBODY, "reads memory that nothing was written to")
        bad = (writer >= bases) & (writer != keys)
        if access.blocks is not None:
            block = self.writer_block[cells]
            bad |= (block != NOBODY) & (block != access.blocks)
        if bad.any():
            self._fail(access, bad, "reads what another thread writes without a barrier in between", writer)
        before = self.reader[cells]
        self.reader[cells] = keys
        several = (self.reader[cells] != keys) | ((before >= bases) & (before != keys))
        if several.any():
            self.reader[cells[several]] = bases[several] | SEVERAL_THREADS
        if access.blocks is not None:
            block = self.reader_block[cells]
            self.reader_block[cells] = access.blocks
            several = ((block != NOBODY) & (block != access.blocks)) | (self.reader_block[cells] != access.blocks)
            self.reader_block[cells[several]] = SEVERAL_BLOCKS

    def write(self, access: Access, same: Array) -> Array:
        """
        Note a write; `same` marks the cells that it leaves unchanged. Returns a mask of the writes that another thread
        of the same access overwrote. Raises SimtError for a race with an earlier one.
        """
        self._check_copies(access, "writes")
        cells, keys, bases = access.cells, access.keys, access.bases
        writer = self.writer[cells]
        bad = (writer >= bases) & (writer != keys)
        if access.blocks is not None:
            block = self.writer_block[cells]
            bad |= (block != NOBODY) & (block != access.blocks)
            self.writer_block[cells] = access.blocks
        if (bad & ~same).any():
            what = "writes what another thread writes, another value, without a barrier in between"
            self._fail(access, bad & ~same, what, writer)
        if self.reads:
            self._check_readers(access, cells, keys, bases)
        self.writer[cells] = keys
        return self.writer[cells] != keys

    def _check_readers(self, access: Access, cells: Array, keys: Array, bases: Array) -> None:
        reader = self.reader[cells]
        bad = (reader >= bases) & (reader != keys)
        if access.blocks is not None:
            block = self.reader_block[cells]
            bad |= (block != NOBODY) & (block != access.blocks)
        if bad.any():
            self._fail(access, bad, "writes what another thread reads without a barrier in between", reader)

    def start_copy(self, access: Access) -> None:
        """An asynchronous copy writes the cells from now on, until `end_copy`: nothing else may access them."""
        if self.copied is None:
            self.copied = np.zeros(self.writer.size, np.bool_)
        self.copied[access.cells] = True

    def end_copy(self, access: Access) -> None:
        assert self.copied is not None
        self.copied[access.cells] = False

    def _check_copies(self, access: Access, what: str) -> None:
        if self.copied is not None:
            bad = self.copied[access.cells]
            if bad.any():
                self._fail(access, bad, f"{what} what an asynchronous copy writes that is not waited for")

    def _fail(self, access: Access, bad: Array, what: str, others: Array | None = None) -> NoReturn:
        at = int(np.flatnonzero(bad)[0])
        lanes = access.frame.lanes
        thread = int(access.keys[at]) & SEVERAL_THREADS
        if others is not None:
            other = int(others[at]) & SEVERAL_THREADS
            if other not in (thread, SEVERAL_THREADS):
                what += f" (the other: {lanes.named(other)})"
        place = self.start + int(access.cells[at]) * self.unit
        access.frame.fail_at(access.op, f"{what}, at byte {place}", lanes.named(thread))
