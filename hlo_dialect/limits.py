"""
The limits of what can be computed: NumPy's rank, 64-bit indices, and memory.

`XHLO_MAX_MEMORY`, or `--max-memory` of the tools, is the memory that a program may take: bytes, or `512M`, `8G`. By
default it is what the machine has, or less where a control group or `ulimit -v` says so. A run that would need
more is refused before it allocates, with the operation's location.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, VectorType
from xdsl.ir import Attribute, Operation

from .diagnostics import Diagnostic, DiagnosticError, op_error, op_message
from .errors import MemoryLimitError
from .machine_memory import MAX_BYTES as MAX_BYTES
from .machine_memory import max_memory as max_memory
from .types import HloTensor, numpy_dtype
from .walking import Survey, TypeFact, types_at

MAX_RANK = 64
"""The greatest rank of NumPy's arrays."""


def shown(nbytes: int) -> str:
    """`1.5 GiB`"""
    for unit, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.4g} {unit}" if nbytes < 1 << 60 else f"2^{nbytes.bit_length() - 1} bytes"
    return f"{nbytes} bytes"


def too_much(nbytes: int) -> str | None:
    """The message for something that takes more than the limit on memory; None if it does not."""
    limit = max_memory()
    if nbytes <= limit:
        return None
    return f"needs {shown(nbytes)} of memory, more than the limit of {shown(limit)} (XHLO_MAX_MEMORY sets it)"


def static_bytes(types: Sequence[Attribute]) -> int:
    """The bytes of values of these types, an unknown dimension counted as one; types that are no tensors take none."""
    return sum(_bytes(cast(HloTensor, type_)) for type_ in types if isinstance(type_, TensorType))


def _bytes(type_: HloTensor) -> int:
    dtype = numpy_dtype(type_.element_type)
    return math.prod(size for size in type_.get_shape() if size >= 0) * (8 if dtype is None else dtype.itemsize)


def check_limits(module: ModuleOp, survey: Survey | None = None) -> None:
    """
    Refuse values of more dimensions than NumPy's arrays have, or whose size is no 64-bit number. DiagnosticError.

    `survey`: that of the module, if there is one already.
    """
    survey = survey or Survey.of(module)
    if not any(map(_why_refused, survey.types)):
        return
    errors: list[Diagnostic] = []
    for op in survey.ops:
        for type_ in types_at(op):
            if (why := _why_refused(type_)) is not None:
                errors.append(Diagnostic("error", op_message(op, why), op.location))
                break
        if len(errors) >= 10:
            break
    raise DiagnosticError(errors)


@TypeFact
def _why_refused(type_: Attribute) -> str | None:
    if not isinstance(type_, (TensorType, MemRefType, VectorType)):
        return None
    shape = cast(HloTensor, type_).get_shape()
    if len(shape) > MAX_RANK:
        return f"has a value of rank {len(shape)}, but arrays have at most {MAX_RANK} dimensions"
    dtype = numpy_dtype(cast(HloTensor, type_).element_type)
    if math.prod(size for size in shape if size > 0) * (8 if dtype is None else dtype.itemsize) > MAX_BYTES:
        return f"has a value of type {type_}, whose bytes are not counted by 64 bits"
    return None


def check_memory(op: Operation, nbytes: int) -> None:
    """Refuse `op` if its values take more than the limit on memory. MemoryLimitError."""
    why = too_much(nbytes)
    if why is not None:
        refuse_size(op, why)


def refuse_size(op: Operation, why: str) -> NoReturn:
    """Refuse `op` for what `too_much` said. Raises MemoryLimitError."""
    raise MemoryLimitError(op_error(op, why).diagnostics)
