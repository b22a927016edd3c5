"""
Bytecode in the encodings of dialects, as MLIR's and JAX's tools write it, by MLIR's own reader in jaxlib.

Properties of operations and attributes of StableHLO are written in forms that only the code of their dialects reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError


def foreign_text(data: bytes, name: str, producer: str, cause: str) -> str:
    """The module's text with its locations. Raises DiagnosticError where jaxlib is not installed or cannot read it."""
    try:
        import jaxlib.mlir.ir as mlir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError:
        message = f"{name} is bytecode with {cause}, which jaxlib reads: install it (pip install jaxlib), or pass text"
        raise DiagnosticError(Diagnostic("error", message)) from None
    ir: Any = mlir
    registry = ir.DialectRegistry()
    cast("Any", _jax_mlir_ext).register_dialects(registry)
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.allow_unregistered_dialects = True
        for dialect in (stablehlo, chlo, sdy):
            cast("Any", dialect).register_dialect(context)
        is_artifact = producer.startswith("StableHLO")
        read: Callable[..., Any] = stablehlo.deserialize_portable_artifact if is_artifact else ir.Module.parse
        try:
            module = read(context, data) if is_artifact else read(data, context)
        except (ir.MLIRError, ValueError) as error:
            message = f"{name} is bytecode that MLIR cannot read: {' '.join(str(error).split())}"
            raise DiagnosticError(Diagnostic("error", message)) from None
        return str(module.operation.get_asm(enable_debug_info=True))
