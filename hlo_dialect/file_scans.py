"""
Facts that source files state, found in their text without importing them, and remembered while it stays the same.

Operations, rules and passes are found by the text of their files, so that a program imports only those that it needs.
Reading hundreds of files takes a twentieth of a first compilation; asking for their sizes and times does not.
"""

from __future__ import annotations

import os
from functools import cache
from types import CodeType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Scan(Protocol[T_co]):
    """A function at the top of a module."""

    __module__: str
    __qualname__: str
    __code__: CodeType

    def __call__(self, contents: bytes, /) -> T_co: ...


class Memory(Protocol):
    """Values by key, both of the types that `marshal` writes."""

    def get(self, key: str, /) -> Any: ...
    def add(self, key: str, value: Any, /) -> None: ...


_memory: Memory | None = None


def remember_in(memory: Memory) -> None:
    """Take what is found from a memory, and add it there, from now on."""
    global _memory
    _memory = memory


def scanned(path: str, status: os.stat_result, scan: Scan[T]) -> T:
    """
    `scan` of the file's contents, a value that `marshal` writes. `status` is the file's.

    It is found again if the file changes, or that which defines the function: it should ask nothing of others.
    """
    key = f"{scan.__module__}.{scan.__qualname__} {path}"
    version = (status.st_size, status.st_mtime_ns, *_version(scan.__code__.co_filename))
    known = None if _memory is None else _memory.get(key)
    if known is not None and known[0] == version:
        return known[1]
    found = scan(_contents(path))
    if _memory is not None:
        _memory.add(key, (version, found))
    return found


def _contents(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


@cache
def _version(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
