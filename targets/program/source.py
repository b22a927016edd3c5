"""The programs that `xhlo.compile` takes: text, a path, a module, or a computation lowered by JAX."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...hlo_dialect.errors import Diagnostic, DiagnosticError


@dataclass(frozen=True)
class Source:
    """A program as text, and the file name for its diagnostics."""

    text: str
    filename: str


def read_source(program: Any) -> Source:
    """
    The text of a program given as

    * text: a str of several lines, or one that holds a `{`;
    * bytes: text in UTF-8, or MLIR's bytecode;
    * a path: os.PathLike, or any other str;
    * a module of the hlo dialect, or a Source;
    * a module of MLIR's or JAX's Python bindings (`ir.Module`);
    * what `jax.export.export(jax.jit(f))(..)` returns, or anything with `as_text()`, as `jax.jit(f).lower(..)` does;
    * an object that a format takes, such as what `torch.export.export` returns.

    Raises TypeError for anything else, DiagnosticError for a file that cannot be read.
    """
    if isinstance(program, Source):
        return program
    if isinstance(program, bytes):
        return _from_bytes(program, "<bytes>")
    if isinstance(program, str) and ("\n" in program or "{" in program or not program.strip()):
        return Source(program, "<text>")
    if isinstance(program, (str, os.PathLike)):
        return _read_file(Path(os.fspath(cast("str | os.PathLike[str]", program))))
    mlir_module = getattr(program, "mlir_module", None)
    if callable(mlir_module):
        return Source(str(mlir_module()), f"<{type(program).__name__}>")
    operation = getattr(program, "operation", None)
    if hasattr(operation, "get_asm"):
        return Source(str(cast(Any, operation).get_asm(enable_debug_info=True)), "<ir.Module>")
    as_text = getattr(program, "as_text", None)
    if callable(as_text):
        return Source(str(as_text()), f"<{type(program).__name__}>")
    from xdsl.dialects.builtin import ModuleOp

    from ...hlo_dialect.formats import module_of

    module = program if isinstance(program, ModuleOp) else module_of(program)
    if module is not None:
        from ...hlo_dialect.printing import print_module

        # With its locations, such as the lines of the Python that built it, which diagnostics name.
        return Source(print_module(module, locations=True), "<module>")
    raise TypeError(
        "expected StableHLO text, a path, a module, or what jax.jit(f).lower(..) or jax.export returns, got "
        f"{type(program).__name__}{_remedy(program)}"
    )


_REMEDIES = {
    "torch": "torch.export.export(model, arguments) gives a program, torch.compile(model, backend='xhlo') a function",
    "tensorflow": "see xhlo.tensorflow.jit",
    "keras": "see xhlo.tensorflow.jit",
    "onnx": "ONNX models are not read; export StableHLO from the framework that made it",
}
"""Advice about an object of another system, by the package of its class or of a base of it."""


def _remedy(program: object) -> str:
    for base in type(program).__mro__:
        found = _REMEDIES.get(base.__module__.partition(".")[0])
        if found is not None:
            return f": {found}"
    if hasattr(program, "lower"):
        return ": pass what its method `lower` returns"
    if callable(program):
        return ": xhlo.jit compiles NumPy code, and jax.jit(f).lower(*arguments) is a program of JAX"
    return ""


def _read_file(path: Path) -> Source:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DiagnosticError(Diagnostic("error", f"cannot read {path}: {error.strerror}")) from error
    except ValueError as error:  # a null character
        raise DiagnosticError(Diagnostic("error", f"cannot read {str(path)!r}: {error}")) from error
    return _from_bytes(data, str(path))


def _from_bytes(data: bytes, name: str) -> Source:
    from ...hlo_dialect.formats import binary_problem, text_of_binary

    text = text_of_binary(data, name)
    if text is None and (problem := binary_problem(data)):
        raise DiagnosticError(Diagnostic("error", f"{name} {problem}"))
    try:
        return Source(data.decode() if text is None else text, name)
    except UnicodeDecodeError as error:
        raise DiagnosticError(Diagnostic("error", f"{name} is not UTF-8 text: {error.reason}")) from error
