"""MLIR's bytecode among the formats that programs are given in."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.formats import Format
from . import MAGIC


def recognizes(text: str) -> bool:
    """No text is bytecode."""
    return False


def read(text: str, filename: str, ctx: Context) -> ModuleOp:
    """Raises DiagnosticError: `decode` makes MLIR text of bytecode."""
    raise DiagnosticError(Diagnostic("error", f"{filename}: bytecode is no text"))


def decode(data: bytes, name: str) -> str:
    """The bytecode as MLIR text. Raises DiagnosticError."""
    from .encoding import BytecodeError, UnknownEncodingError
    from .reading import producer_of, text_of

    try:
        return text_of(data)
    except BytecodeError as error:
        raise DiagnosticError(Diagnostic("error", f"{name} is no valid MLIR bytecode: {error}")) from None
    except UnknownEncodingError as error:
        from .foreign import foreign_text

        return foreign_text(data, name, producer_of(data), str(error))


def write(module: ModuleOp) -> bytes:
    """The module as bytecode. Raises DiagnosticError for attributes that it has no form for."""
    from .writing import write_bytecode

    return write_bytecode(module)


FORMAT = Format("bytecode", recognizes, read, write, magic=MAGIC, decode=decode)
