"""The device functions of a module of the llvm dialect as PTX and as machine code of a chip."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...lowering.device.chips import Chip
from ..gpu import emission
from .checks import check_device_functions
from .ptx import TRIPLE, compile_to_ptx

if TYPE_CHECKING:
    from .assembler import Cubin


def emit_llvm(module: ModuleOp) -> str:
    """The device functions as LLVM IR (see gpu/emission.py)."""
    return emission.emit_llvm(module, TRIPLE)


def emit_ptx(module: ModuleOp, chip: Chip, ptx: int) -> str:
    """
    The PTX of a module's device functions, of version `ptx` (78 is 7.8).

    Raises DiagnosticError for operations outside the llvm dialect or unsupported by the chip.
    """
    check_device_functions(module, chip, ptx)
    return _ptx(emit_llvm(module), chip, ptx)


def emit_cubin(module: ModuleOp, chip: Chip, ptx: int) -> Cubin:
    """
    The machine code of the device functions and their resource use. Raises DiagnosticError as well if there is no
    assembler.
    """
    return _cubin(emit_ptx(module, chip, ptx), chip)


# Cached, because the machine code and the table of its resources are requested one after the other.


@lru_cache(maxsize=1)
def _ptx(text: str, chip: Chip, ptx: int) -> str:
    return compile_to_ptx(text, chip, ptx)


@lru_cache(maxsize=1)
def _cubin(ptx: str, chip: Chip) -> Cubin:
    from .assembler import assemble

    return assemble(ptx, chip)
