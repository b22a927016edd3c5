"""
Who accessed each cell of memory last: finds data races, and reads of what was never written.

Two accesses of one cell by different threads, one of them a write, are in order only if both threads are of one block
and a barrier stands between them. Two writes of the same value are no race.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.types import Array
from .lanes import Frame

NOBODY = -1


@dataclass(frozen=True)
class Access:
    """An access to memory: cells and the threads at them, flat and of one length."""

    frame: Frame
    op: Operation
    cells: Array
    threads: Array
    epochs: Array
    """Of each thread: how many barriers its block has passed."""


class Shadow:
    """The last accesses to each cell of a piece of memory. A cell is of `unit` bytes; the first is at byte `start`."""

    def __init__(self, start: int, nbytes: int, unit: int, *, reads: bool, initialized: bool):
        count = nbytes // unit
        self.start = start
        self.unit = unit
        self.reads = reads
        """Whether anything reads the memory: otherwise only writes need to be compared."""
        self.initialized = initialized
        """Whether the memory holds something at first."""
        self.writer = np.full(count, NOBODY, np.int32)
        self.write_epoch = np.zeros(count, np.int32)
        if reads:
            self.reader = np.full(count, NOBODY, np.int32)
            self.read_epoch = np.zeros(count, np.int32)
            self.many_threads = np.zeros(count, np.bool_)
            """Whether several threads of the reader's block read the cell since the last barrier."""
            self.many_blocks = np.zeros(count, np.bool_)
        self.copied: Array | None = None
        """Whether an asynchronous copy is writing the cell; None before the first."""

    def read(self, access: Access) -> None:
        """Note a read. Raises SimtError where it races with a write."""
        self._check_copies(access, "reads")
        cells, me = access.cells, access.threads
        writer = self.writer[cells]
        if not self.initialized and (writer == NOBODY).any():
            self._fail(access, writer == NOBODY, "reads memory that nothing was written to")
        foreign = (writer != me) & (writer != NOBODY)
        if foreign.any():
            foreign &= self._unordered(access, writer, self.write_epoch[cells])
            if foreign.any():
                self._fail(access, foreign, "reads what another thread writes without a barrier in between", writer)
        before = self.reader[cells]
        stale = (before == NOBODY) | (self.read_epoch[cells] != access.epochs)
        size = access.frame.lanes.threads
        other_block = (before != NOBODY) & (before // size != me // size)
        self.reader[cells] = me
        self.read_epoch[cells] = access.epochs
        now = self.reader[cells]
        self.many_threads[cells[stale]] = False
        self.many_threads[cells[(~stale & (before != me)) | (now != me)]] = True
        self.many_blocks[cells[other_block | (now // size != me // size)]] = True

    def write(self, access: Access, same: Array) -> Array:
        """
        Note a write; `same` tells where it does not change what the memory holds.

        Returns where another thread of the same access wrote after it. Raises SimtError for a race with an earlier one.
        """
        self._check_copies(access, "writes")
        cells, me = access.cells, access.threads
        writer = self.writer[cells]
        foreign = (writer != me) & (writer != NOBODY)
        if foreign.any():
            foreign &= self._unordered(access, writer, self.write_epoch[cells]) & ~same
            if foreign.any():
                what = "writes what another thread writes, another value, without a barrier in between"
                self._fail(access, foreign, what, writer)
        if self.reads:
            self._check_readers(access)
        self.writer[cells] = me
        self.write_epoch[cells] = access.epochs
        return self.writer[cells] != me

    def _check_readers(self, access: Access) -> None:
        cells, me = access.cells, access.threads
        reader = self.reader[cells]
        many = self.many_threads[cells] | self.many_blocks[cells]
        foreign = (reader != NOBODY) & ((reader != me) | many)
        if foreign.any():
            foreign &= self._unordered(access, reader, self.read_epoch[cells]) | self.many_blocks[cells]
            if foreign.any():
                self._fail(access, foreign, "writes what another thread reads without a barrier in between", reader)

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

    def _unordered(self, access: Access, other: Array, epochs: Array) -> Array:
        """Whether nothing orders the accesses after those of the `other` threads."""
        size = access.frame.lanes.threads
        return (other // size != access.threads // size) | (epochs == access.epochs)

    def _fail(self, access: Access, bad: Array, what: str, others: Array | None = None) -> None:
        at = int(np.flatnonzero(bad)[0])
        lanes = access.frame.lanes
        thread = int(access.threads[at])
        if others is not None and int(others[at]) != thread:
            what += f" (the other: {lanes.named(int(others[at]))})"
        access.frame.fail_at(
            access.op, f"{what}, at byte {self.start + int(access.cells[at]) * self.unit}", lanes.named(thread)
        )
