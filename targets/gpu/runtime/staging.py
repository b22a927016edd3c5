"""
Copies between host and GPU memory through page-locked memory.

The GPU reads and writes page-locked memory itself, at the full speed of the bus. An array is copied through two
alternating blocks, so that the CPU copies one piece while the GPU copies the other.
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass

from .driver import CopyToHost, Driver

PIECE = 4 << 20
"""Bytes of a block."""


@dataclass
class _Block:
    """Page-locked memory, and the event after its last use by the GPU."""

    address: int
    event: int


class Staging:
    """The blocks of one direction. The methods are thread-safe and run one at a time; the device is entered."""

    def __init__(self, driver: Driver, piece: int = PIECE):
        self._driver = driver
        self._piece = piece
        self._blocks: list[_Block] = []
        self._lock = threading.Lock()

    def _block(self, number: int) -> _Block:
        while len(self._blocks) < 2:
            self._blocks.append(_Block(self._driver.allocate_host(self._piece), self._driver.new_event()))
        return self._blocks[number % 2]

    def upload(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy host memory to the device; the source may change when this returns. Raises GpuError."""
        driver = self._driver
        with self._lock:
            for number, at in enumerate(range(0, nbytes, self._piece)):
                block, count = self._block(number), min(self._piece, nbytes - at)
                driver.synchronize_event(block.event)
                ctypes.memmove(block.address, source + at, count)
                driver.copy_to_device(target + at, block.address, count, stream)
                driver.record(block.event, stream)

    def download(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """
        Copy device memory to the host after all work enqueued in the stream, and wait for the copy.

        Raises GpuError for failures in the stream.
        """
        driver = self._driver
        with self._lock:
            before: tuple[_Block, int, int] | None = None
            for number, at in enumerate(range(0, nbytes, self._piece)):
                block, count = self._block(number), min(self._piece, nbytes - at)
                driver.enqueue(CopyToHost(block.address, source + at, count), stream)
                driver.record(block.event, stream)
                if before is not None:
                    self._take_out(target, *before)
                before = block, at, count
            if before is not None:
                self._take_out(target, *before)

    def _take_out(self, target: int, block: _Block, at: int, count: int) -> None:
        self._driver.synchronize_event(block.event)
        ctypes.memmove(target + at, block.address, count)
