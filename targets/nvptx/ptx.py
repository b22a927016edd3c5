"""Compile LLVM IR of device functions to PTX."""

from __future__ import annotations

from ...lowering.device.chips import Chip, PtxVersionError, ptx_text
from ..gpu.codegen import Backend

TRIPLE = "nvptx64-nvidia-cuda"


def _backend(chip: Chip, ptx: int) -> Backend:
    return Backend(TRIPLE, chip.name, f"+ptx{ptx}")


def compile_to_ptx(text: str, chip: Chip, ptx: int) -> str:
    """
    The PTX of a module of LLVM IR, of version `ptx` (78 is 7.8), see `chips.ptx_version`.

    Products and sums are not contracted to fma unless the LLVM IR allows it: they stay `mul.rn` and `add.rn`.
    Raises PtxVersionError for a version without the chip, RuntimeError with LLVM's message for invalid text. The module
    must have passed `checks.check_device_functions`, because LLVM aborts the process for code that it cannot select.
    """
    if ptx < chip.oldest_ptx:
        raise PtxVersionError(f"PTX {ptx_text(ptx)} does not know {chip.name}")
    return _backend(chip, ptx).assembly(text)


def optimize(text: str, chip: Chip, ptx: int) -> str:
    """The LLVM IR after the optimizer, as text."""
    return _backend(chip, ptx).optimized(text)
