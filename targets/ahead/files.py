"""Files that belong together: all of them are written, or none."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path


def write_together(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """
    Write files, by their paths from a folder, which is made if need be; return the paths. Raises OSError.

    All are written beside their places before the first takes its place, so that a full disk, say, leaves those of
    before as they were.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undone:
        staged = [_staged((folder / name).resolve(), content, undone) for name, content in contents.items()]
        for temporary, place in staged:
            os.replace(temporary, place)
    return [folder / name for name in contents]


def _staged(place: Path, content: bytes, undone: ExitStack) -> tuple[Path, Path]:
    """A file with the content beside the place, removed at the end if it is still there; and the place."""
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    temporary = place.with_name(f".{place.name}.{os.getpid()}.new")
    undone.callback(_remove, temporary)
    try:
        temporary.write_bytes(content)
        if place.exists():
            shutil.copymode(place, temporary)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from None
    return temporary, place


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
