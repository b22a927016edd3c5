"""Arrays in files: .npz, .npy, directories of .npy files, standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from ..hlo_dialect.arrays import Array
from .streams import STDIN, StreamError, write_file, write_text

ARRAYS = "FILE.npz|FILE.npy|DIR"
"""The places that hold arrays, for descriptions of options."""


_MAGIC = (b"PK", b"\x93NUMPY")
"""How .npz files, which are ZIP archives, and .npy files begin."""


def load_arrays(path: str) -> dict[str, Array]:
    """
    The arrays of a .npz file, in its order; the one of a .npy file; those of a directory's .npy files, by name without
    the suffix, numbers in their order; `-`: of standard input, in either format. Raises StreamError.
    """
    place = Path(path)
    try:
        if path == "-":
            return _read(BytesIO(sys.stdin.buffer.read()), "in_0")
        if place.is_dir():
            files = sorted(place.glob("*.npy"), key=_natural)
            if not files:
                raise StreamError(f"the directory {path} has no .npy files")
            return {file.stem: array for file in files for array in load_arrays(str(file)).values()}
        with place.open("rb") as stream:
            return _read(stream, place.stem)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        shown = STDIN if path == "-" else path
        raise StreamError(f"cannot read arrays from {shown}: {reason}") from None


def _read(stream: BinaryIO, name: str) -> dict[str, Array]:
    """The arrays of a file of either format; `name` is that of a single one. Raises ValueError and OSError."""
    if not stream.read(8).startswith(_MAGIC):
        raise ValueError("it is neither a .npz nor a .npy file")
    stream.seek(0)
    try:
        stored: Any = np.load(stream, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            return {name: cast(Array, stored)}
        with stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # NumPy lets through what its parts raise where a file is damaged: errors of zipfile, zlib, struct, tokenize, ..
        if "allow_pickle" in str(error):
            raise ValueError("it holds Python objects, which are not loaded") from None
        raise ValueError(str(error) or type(error).__name__) from None


def _natural(file: Path) -> list[tuple[int, str]]:
    """A key that sorts `in_2` before `in_10`."""
    parts = re.split(r"(\d+)", file.stem)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def save_results(path: str, arrays: Sequence[Array], text: Callable[[], str]) -> None:
    """
    Write results: to a .npz file or a directory as `out_0, out_1, ..`, to a .npy file the only one; to any other file
    `text`, which is only then made, because millions of values take seconds. Raises StreamError.
    """
    if path == "-" or not (is_directory(path) or path.endswith((".npz", ".npy"))):
        write_text(path, text())
    elif path.endswith(".npy") and len(arrays) != 1:
        raise StreamError(
            f"{path} holds one array, but there are {len(arrays)} results: give a .npz file or a directory"
        )
    else:
        save_arrays(path, {f"out_{i}": array for i, array in enumerate(arrays)})


def is_directory(path: str) -> bool:
    """Whether a path is that of a directory, which may not exist yet if it ends with a slash."""
    return path.endswith("/") or Path(path).is_dir()


def save_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """
    Write arrays by name to a directory or a .npz file, or one array to a .npy file; element types that NumPy lacks are
    stored as raw bytes. Raises StreamError.
    """
    if is_directory(path):
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StreamError(f"cannot make the directory {path}: {error.strerror or error}") from None
        for name, array in arrays.items():
            write_file(str(Path(path, f"{name}.npy")), _npy(array))
    elif path.endswith(".npy"):
        (array,) = arrays.values()
        write_file(path, _npy(array))
    else:
        named: dict[str, Any] = {name: _storable(array) for name, array in arrays.items()}
        data = BytesIO()
        np.savez(data, **named)
        write_file(path, data.getvalue())


def _npy(array: Array) -> bytes:
    data = BytesIO()
    np.save(data, _storable(array), allow_pickle=False)
    return data.getvalue()


def is_builtin(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is NumPy's own, which files store by name; those of ml_dtypes are stored as raw bytes."""
    return dtype.isbuiltin == 1


def _storable(array: Array) -> Array:
    if is_builtin(array.dtype):
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
