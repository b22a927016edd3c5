"""Files and standard streams of the tools: read text, write files atomically."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

STDIN = "<stdin>"


class StreamError(Exception):
    """Reading or writing a file or stream failed; the message is one line."""


def read_text(name: str) -> tuple[str, str]:
    """(file name for diagnostics, text) of a file; `-` is standard input. Raises StreamError."""
    shown = STDIN if name == "-" else name
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise StreamError(f"cannot read {shown}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the file name
        raise StreamError(f"cannot read {shown!r}: {error}") from None
    return shown, decode(data, shown)


def decode(data: bytes, shown: str) -> str:
    """
    The text of UTF-8, or of a program in a binary format, such as MLIR's bytecode.

    Raises StreamError that says what the data is instead.
    """
    if (decoded := _decoded(data, shown)) is not None:
        return decoded
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StreamError(f"{shown} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}") from None
    if "\0" in text:
        raise StreamError(f"{shown} is not text: byte {data.index(0)} is zero")
    from ..hlo_dialect.formats import binary_problem

    if problem := binary_problem(data):
        raise StreamError(f"{shown} {problem}")
    return text


def _decoded(data: bytes, shown: str) -> str | None:
    if data[:4].isascii():
        # Text, for which the formats need not be loaded.
        return None
    from ..hlo_dialect.errors import DiagnosticError
    from ..hlo_dialect.formats import text_of_binary

    try:
        return text_of_binary(data, shown)
    except DiagnosticError as error:
        raise StreamError(error.diagnostics[0].message) from None


def write_text(name: str | None, text: str) -> None:
    """Write text to a file, atomically; to standard output for None or `-`. Raises StreamError."""
    if name is None or name == "-":
        _write_stdout(text)
    else:
        write_file(name, text.encode("utf-8"))


def write_bytes(name: str | None, data: bytes) -> None:
    """Write binary data likewise, but never to a terminal."""
    if name is not None and name != "-":
        write_file(name, data)
        return
    if sys.stdout.isatty():
        raise StreamError("this output is binary: give a file with -o")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        _give_up_stdout(error)


def _write_stdout(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _give_up_stdout(error)


def _give_up_stdout(error: OSError) -> None:
    """
    Replace stdout by a stream that accepts everything, because Python would report the error again when it closes
    stdout at exit.
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        raise StreamError("standard output was closed before everything was written") from None
    raise StreamError(f"cannot write standard output: {error.strerror or error}") from None


def write_file(name: str, data: bytes) -> None:
    """Write a temporary file and rename it. Devices and pipes are written directly. Raises StreamError."""
    path = Path(name)
    try:
        if path.is_dir():
            raise StreamError(f"cannot write {name}: it is a directory")
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        _replace(path.resolve(), data)
    except OSError as error:
        raise StreamError(f"cannot write {name}: {error.strerror or error}") from None


def _replace(path: Path, data: bytes) -> None:
    from tempfile import mkstemp

    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, temporary = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
