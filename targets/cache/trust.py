"""
Folders and files that only this user can have written.

A cache holds machine code that is run as it is found, so files that another user owns, or may write, are not read;
neither are files in folders where another user may put one in place of another.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .eviction import mark_used

_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
SUPPORTED = hasattr(os, "geteuid")
"""Only POSIX systems have owners and modes."""


class NotTrustedError(Exception):
    """Another user may have written a file."""


def _check(path: Path, status: os.stat_result) -> None:
    """Check that only this user can write a file or a folder."""
    user = os.geteuid()
    if status.st_uid != user:
        raise NotTrustedError(f"{path} belongs to the user {status.st_uid}, not to {user}")
    _check_mode(path, status, _WRITABLE)


def _check_mode(path: Path, status: os.stat_result, bits: int) -> None:
    if status.st_mode & bits:
        mode = stat.S_IMODE(status.st_mode)
        raise NotTrustedError(f"other users may write {path} (its mode is {mode:o}; chmod go-w)")


def make_folder(folder: Path) -> None:
    """Create a folder and the missing ones above it, for this user alone. Raises OSError."""
    missing: list[Path] = []
    at = folder
    while not os.path.exists(at):
        missing.append(at)
        at = at.parent
    for each in reversed(missing):
        each.mkdir(0o700, exist_ok=True)


@contextmanager
def open_folder(folder: Path) -> Generator[int]:
    """
    A descriptor of a folder that no other user can write, nor replace.

    Raises NotTrustedError for another folder, OSError for one that cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        below = os.fstat(descriptor)
        _check(folder, below)
        # The folders above are those of the one that was opened, so that no link is looked at again.
        above = os.pardir
        while not os.path.samestat(below, status := os.stat(above, dir_fd=descriptor)):
            # Another user's folder in its place would be that user's: only folders for everyone are refused.
            if not status.st_mode & stat.S_ISVTX and status.st_mode & stat.S_IWOTH:
                _check_mode((folder / above).resolve(), status, stat.S_IWOTH)
            below, above = status, f"{above}/{os.pardir}"
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_file(folder: int, path: Path) -> Generator[BinaryIO]:
    """
    A file in an opened folder.

    Raises NotTrustedError unless it is a regular file that only this user can write, OSError if it cannot be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path.name, flags, dir_fd=folder)
    except OSError:
        if path.is_symlink():
            raise NotTrustedError(f"{path} is a symbolic link") from None
        raise
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotTrustedError(f"{path} is no regular file")
        _check(path, status)
        mark_used(descriptor, status)
        yield file


def write_file(folder: int, name: str, contents: bytes) -> None:
    """
    Write a file of this user alone into an opened folder. Readers see a whole file or none. Raises OSError.
    """
    temporary = f".{name}.{os.getpid()}.{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(contents)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):  # an interrupt may come when it has its name already
            os.unlink(temporary, dir_fd=folder)
        raise
