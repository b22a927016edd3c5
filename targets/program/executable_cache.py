"""Executables that are kept: a bounded number, each compiled once also if threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .executable import Executable


class ExecutableCache:
    """The executables used last, by key; concurrent equal requests share one compilation."""

    def __init__(self, size: int):
        self._size = size
        self._done: OrderedDict[object, Executable] = OrderedDict()
        self._locks: dict[object, threading.Lock] = {}
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._done)

    def get_or_make(self, key: object, make: Callable[[], Executable]) -> Executable:
        """The executable of `key`, made by `make` if it is not kept."""
        with self._lock(key):
            executable = self._get(key)
            if executable is None:
                try:
                    executable = make()
                except BaseException:
                    self._forget(key)
                    raise
                self._put(key, executable)
        return executable

    def values(self) -> list[Executable]:
        """The executables, the one used last at the end."""
        with self._guard:
            return list(self._done.values())

    def clear(self) -> None:
        with self._guard:
            self._done.clear()

    def _lock(self, key: object) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())

    def _forget(self, key: object) -> None:
        """Keep no lock of a request that failed: requests that fail may be of any number."""
        with self._guard:
            self._locks.pop(key, None)

    def _get(self, key: object) -> Executable | None:
        with self._guard:
            found = self._done.get(key)
            if found is not None:
                self._done.move_to_end(key)
            return found

    def _put(self, key: object, executable: Executable) -> None:
        with self._guard:
            self._done[key] = executable
            while len(self._done) > self._size:
                self._locks.pop(self._done.popitem(last=False)[0], None)
