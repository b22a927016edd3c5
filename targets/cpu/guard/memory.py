"""Memory in which each buffer is between inaccessible pages, and is itself accessible only while it is opened."""

from __future__ import annotations

import ctypes
import weakref
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ....dialects.support.guard_zones import PAGE, POISON, RED_ZONE, guarded_places, pages

CLOSED, READ, WRITE = 0, 1, 3
"""Protections of pages, as mprotect takes them."""

_MAP = 0x2 | 0x20 | 0x4000
"""MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

_MARGIN = 1 << 26
"""Bytes of the gaps at both ends of an area."""

_SLACK = bytes([RED_ZONE]) * PAGE


def unmap(address: int, size: int) -> None:
    _libc.munmap(address, size)


@dataclass(eq=False)
class Buffer:
    """A buffer and the pages that it takes."""

    name: str
    start: int
    size: int
    mode: int = CLOSED
    constant: bool = False
    """Whether it is only read, and never closed."""
    live: bool = True
    """Whether the program may use it now: false for the buffers of the arena before and after their lives."""

    @property
    def pages(self) -> tuple[int, int]:
        """The address and the size of its pages."""
        first = self.start // PAGE * PAGE
        return first, pages(self.start + self.size - first)

    def protect(self, mode: int) -> None:
        if self.mode != mode:
            first, size = self.pages
            _protect(first, size, mode)
            self.mode = mode

    def fill(self) -> None:
        """Poison the buffer and write the pattern into the slack; the buffer must be opened."""
        first, size = self.pages
        ctypes.memset(first, RED_ZONE, size)
        ctypes.memset(self.start, POISON, self.size)

    def changed_slack(self) -> int | None:
        """The address of a byte of the slack that was written to; the buffer must be opened."""
        first, size = self.pages
        for start, end in ((first, self.start), (self.start + self.size, first + size)):
            found = ctypes.string_at(start, end - start)
            if found != _SLACK[: end - start]:
                return next(start + i for i, byte in enumerate(found) if byte != RED_ZONE)
        return None


def _protect(address: int, size: int, mode: int) -> None:
    if _libc.mprotect(address, size, mode) != 0:
        raise MemoryError("the system cannot protect more memory: guard mode needs a larger vm.max_map_count")


class Area:
    """Buffers at their places in one piece of memory, all closed at first. Unmapped when it is dropped."""

    def __init__(self, names: Iterable[str], places: Sequence[int], sizes: Sequence[int], total: int):
        """`places`: offsets from the start, which is that of a page. Raises MemoryError."""
        self.total = total + 2 * _MARGIN
        found = _libc.mmap(None, self.total, CLOSED, _MAP, -1, 0)
        if found is None or found == ctypes.c_void_p(-1).value:
            raise MemoryError(f"cannot reserve {total} bytes for guarded buffers")
        self.whole: int = found
        # The process's end unmaps it too.
        weakref.finalize(self, unmap, found, self.total).atexit = False
        self.start = found + _MARGIN
        """The address from which places count."""
        self.buffers = [
            Buffer(name, self.start + place, size) for name, place, size in zip(names, places, sizes, strict=True)
        ]

    @property
    def region(self) -> tuple[int, int]:
        """The first byte, and the one after the last."""
        return self.whole, self.whole + self.total

    def close(self) -> None:
        """Make all of it inaccessible again."""
        _protect(self.whole, self.total, CLOSED)
        for buffer in self.buffers:
            buffer.mode = CLOSED


class Constants:
    """The constants of a program in guarded memory, which is only read."""

    def __init__(self, data: Mapping[str, bytes | memoryview], side: str):
        names, sizes = [f"constant {name}" for name in data], [len(content) for content in data.values()]
        places, total = guarded_places(sizes, side)
        self.area = Area(names, places, sizes, total)
        self.addresses = {name: buffer.start for name, buffer in zip(data, self.area.buffers, strict=True)}
        self._data = data
        self.place()

    def place(self) -> None:
        """Write the constants, and protect them; again after an access that was outside of a buffer."""
        self.area.close()
        for buffer, content in zip(self.area.buffers, self._data.values(), strict=True):
            buffer.constant = True
            if buffer.size:
                buffer.protect(WRITE)
                buffer.fill()
                ctypes.memmove(buffer.start, bytes(content), buffer.size)
                buffer.protect(READ)


class Buffers:
    """The buffers of several areas, found by address."""

    def __init__(self, areas: Iterable[Area]):
        areas = list(areas)
        self._regions = [area.region for area in areas]
        found = [buffer for area in areas for buffer in area.buffers if buffer.size]
        self._all = sorted(found, key=lambda buffer: buffer.start)
        self._starts = [buffer.start for buffer in self._all]

    def holding(self, address: int) -> Buffer | None:
        """The buffer that holds the byte."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._all[place].start + self._all[place].size:
            return self._all[place]
        return None

    def beside(self, address: int) -> Buffer | None:
        """The buffer with the least distance from an address in the slack or the gap of one."""
        if not any(start <= address < end for start, end in self._regions):
            return None
        return min(
            self._all,
            key=lambda buffer: max(buffer.start - address, address - (buffer.start + buffer.size - 1)),
            default=None,
        )
