"""Values that are kept by key, each made once also if threads ask for it at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class _Making(threading.local):
    """Whether this thread makes a value."""

    now = False


_making = _Making()


class MadeOnce(Generic[K, T]):
    """
    Values by key, none of them None: the `size` used last, or all.

    Threads that ask for the same one wait for the first. But a thread that is making a value waits for none, be it its
    own or another thread's: a value whose making asks for others, as recursive functions do, or a signal's handler or a
    finalizer that comes in between. It makes the value itself; the first that is ready is kept.
    """

    def __init__(self, size: int | None = None):
        self._size = size
        self._done: OrderedDict[K, T] = OrderedDict()
        self._locks: dict[K, threading.Lock] = {}
        self._guard = threading.RLock()

    def __len__(self) -> int:
        return len(self._done)

    def find(self, key: K) -> T | None:
        """The value of a key if it is kept; that is no use of it."""
        return self._done.get(key)

    def get_or_make(self, key: K, make: Callable[[], T]) -> T:
        """The value of `key`, made by `make` if it is not kept."""
        found = self._used(key)
        if found is not None:
            return found
        before = _making.now
        try:
            _making.now = True
            with nullcontext() if before else self._lock(key):
                found = self._used(key)
                return self._keep(key, make()) if found is None else found
        finally:
            _making.now = before
            if not before:
                with self._guard:
                    self._locks.pop(key, None)

    def values(self) -> list[T]:
        """The values, the one used last at the end."""
        with self._guard:
            return list(self._done.values())

    def clear(self) -> None:
        with self._guard:
            self._done.clear()

    def _lock(self, key: K) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())

    def _used(self, key: K) -> T | None:
        with self._guard:
            try:
                self._done.move_to_end(key)
            except KeyError:
                return None
            return self._done.get(key)

    def _keep(self, key: K, value: T) -> T:
        with self._guard:
            value = self._done.setdefault(key, value)
            while self._size is not None and len(self._done) > self._size:
                self._done.popitem(last=False)
            return value
