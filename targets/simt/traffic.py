"""
The memory traffic of a kernel: sectors of global memory, wavefronts of shared memory.

A warp's access of global memory moves sectors of 32 bytes, each once, however many of its threads access a part of it;
an access is *coalesced* if it moves no more sectors than contain the accessed bytes. Shared memory has 32 banks of 4
bytes: a wavefront serves one word of each bank, so threads of a warp that access different words of a bank wait for
each other. Threads that access 8 or 16 bytes each go in two or four groups.

Operations are counted as written: if LLVM merges a thread's neighbouring accesses, the GPU moves less.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ...hlo_dialect.types import Array
from ...lowering.device.chips import WARP

SECTOR = 32
BANKS = 32
BANK_BYTES = 4
NOTHING = np.int64(2**62)

WORST = 3
"""The most accesses of a kernel that a table lists."""


@dataclass
class Counts:
    """Counts of accesses over all launches."""

    requests: int = 0
    """Accesses of a warp."""
    least: int = 0
    """The fewest sectors or wavefronts that they need."""
    moved: int = 0
    """Sectors or wavefronts that they take."""

    def add(self, other: Counts) -> None:
        self.requests += other.requests
        self.least += other.least
        self.moved += other.moved


@dataclass
class Access:
    """The traffic of one operation's accesses."""

    op: Operation
    shared: bool
    counts: Counts = field(default_factory=Counts)


@dataclass
class KernelTraffic:
    """The accesses of one function of the device."""

    name: str
    launches: int = 0
    accesses: dict[Operation, Access] = field(default_factory=dict[Operation, Access])
    touched: int = 0
    """Sectors of global memory that were accessed at all, in each launch."""
    warp: int = WARP
    """The threads of a warp of the chip."""
    _sectors: dict[int, Array] = field(default_factory=dict[int, Array], repr=False)

    def begin(self) -> None:
        self.launches += 1
        self._sectors = {}

    def end(self) -> None:
        self.touched += sum(int(found.sum()) for found in self._sectors.values())
        self._sectors = {}

    def total(self, shared: bool) -> Counts:
        """The sum of all accesses of global, or of shared memory."""
        whole = Counts()
        for access in self.accesses.values():
            if access.shared == shared:
                whole.add(access.counts)
        return whole

    def wasteful(self) -> list[Access]:
        """The accesses that take a quarter more than they need, the worst first."""
        found = [access for access in self.accesses.values() if 4 * access.counts.moved > 5 * access.counts.least]
        return sorted(found, key=lambda access: access.counts.least - access.counts.moved)

    def note(
        self,
        shape: tuple[int, int],
        op: Operation,
        memory: Array,
        shared: bool,
        start: Array,
        nbytes: int,
        mask: Array | None,
    ) -> None:
        """
        Note that the threads in `mask` (of a `shape`: blocks, threads) access `nbytes` each, from the byte `start` on.
        """
        if op not in self.accesses:
            self.accesses[op] = Access(op, shared)
        found = self.accesses[op].counts
        at = _by_warp(shape, start, mask, self.warp)
        some = (at != NOTHING).any(axis=-1)
        found.requests += int(some.sum())
        at = at[some]
        if shared:
            found.least += _ideal_wavefronts(at, nbytes)
            found.moved += _wavefronts(at, nbytes)
            return
        first = np.where(at == NOTHING, at, at // SECTOR)
        last = np.where(at == NOTHING, at, (at + nbytes - 1) // SECTOR)
        sectors = np.concatenate([first, last], axis=-1)
        found.moved += int(_distinct(sectors).sum())
        found.least += int((-(-_distinct(at) * nbytes // SECTOR)).sum())
        seen = self._sectors.setdefault(id(memory), np.zeros(memory.size // SECTOR + 1, np.bool_))
        seen[sectors[sectors != NOTHING]] = True


def _by_warp(shape: tuple[int, int], start: Array, mask: Array | None, warp: int) -> Array:
    """(warps, threads): the first byte of each thread; NOTHING for inactive threads."""
    whole = np.broadcast_to(start, shape)
    if mask is not None:
        whole = np.where(mask, whole, NOTHING)
    missing = -shape[1] % warp
    if missing:
        whole = np.pad(whole, ((0, 0), (0, missing)), constant_values=NOTHING)
    return whole.reshape(-1, warp)


def _distinct(values: Array) -> Array:
    """The number of distinct values in each row, not counting NOTHING."""
    ordered = np.sort(values, axis=-1)
    new = np.diff(ordered, axis=-1) != 0
    return 1 + new.sum(axis=-1) - (ordered[:, -1] == NOTHING)


def _groups(nbytes: int) -> int:
    """The number of groups in which a warp's threads access shared memory."""
    return max(1, min(4, nbytes // BANK_BYTES))


def _ideal_wavefronts(at: Array, nbytes: int) -> int:
    groups = at.reshape(-1, at.shape[-1] // _groups(nbytes))
    return int((groups != NOTHING).any(axis=-1).sum())


def _wavefronts(at: Array, nbytes: int) -> int:
    """For each group of threads, the number of words that the busiest bank serves."""
    groups = at.reshape(-1, at.shape[-1] // _groups(nbytes))
    words = max(1, nbytes // BANK_BYTES)
    parts = [np.where(groups == NOTHING, NOTHING, groups // BANK_BYTES + i) for i in range(words)]
    wanted = np.sort(np.concatenate(parts, axis=-1), axis=-1)
    new = np.ones(wanted.shape, np.bool_)
    new[:, 1:] = np.diff(wanted, axis=-1) != 0
    new &= wanted != NOTHING
    rows = np.broadcast_to(np.arange(len(wanted))[:, None], wanted.shape)[new]
    counts = np.zeros((len(wanted), BANKS), np.int64)
    np.add.at(counts, (rows, wanted[new] % BANKS), 1)
    return int(counts.max(axis=-1, initial=0).sum())


def _described(access: Access) -> str:
    what = "wavefronts of shared memory" if access.shared else "sectors"
    of = next((str(type_) for type_ in access.op.operand_types if type_.name == MemRefType.name), "")
    return f"  {access.op.name} {of}: {access.counts.moved} {what} where {access.counts.least} would do"


def table(kernels: list[KernelTraffic]) -> str:
    """One line per kernel: the bytes it moves, and the share of them that its threads requested."""
    width = max([len("kernel"), *(len(kernel.name) for kernel in kernels)])
    head = f"{'kernel':<{width}}{'launches':>10}{'touched MB':>12}{'moved MB':>10}{'coalesced':>11}{'conflicts':>11}"
    lines = [head]
    for kernel in kernels:
        if not kernel.accesses:
            continue
        memory, shared = kernel.total(False), kernel.total(True)
        coalesced = f"{100 * memory.least / memory.moved:.1f} %" if memory.moved else "-"
        conflicts = f"{shared.moved / shared.least:.2f}x" if shared.least else "-"
        megabytes = f"{kernel.touched * SECTOR / 1e6:>12.3f}{memory.moved * SECTOR / 1e6:>10.3f}"
        lines.append(f"{kernel.name:<{width}}{kernel.launches:>10}{megabytes}{coalesced:>11}{conflicts:>11}")
        lines += [_described(access) for access in kernel.wasteful()[:WORST]]
    return "\n".join(lines) + "\n"
