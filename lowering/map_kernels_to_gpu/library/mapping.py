"""
Contractions as library calls: those that a BLAS can express.

A BLAS takes matrices with dense rows or columns at a constant stride, and one batch dimension with a constant stride. A
contraction with further batch dimensions becomes a call per index of these, up to `MOST_CALLS`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.library import SUMS, WITH_EPILOGUE, Matmul, MatmulOp, Matrix, major
from ...convert_linalg_to_scf.conversion import initial_values
from ...device.gpu import GpuChip
from ...loop_nests.loop_builder import buffer_of
from ..contraction.epilogue import FusedProduct, fused_product_of, is_zero, private_buffers
from ..contraction.form import Digit, Product, is_fused
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from .epilogue import Epilogue, epilogue_of

MOST_CALLS = 16
"""Maximum number of calls for one contraction."""

INTEGER_MULTIPLE = 4
"""Sizes and strides of i8 matrices must be multiples of this for the library."""


@dataclass(frozen=True)
class Calls:
    """The calls that compute a contraction with its epilogue, and their buffers."""

    problems: Sequence[Matmul]
    lhs: SSAValue
    rhs: SSAValue
    bias: SSAValue | None
    out: SSAValue


def map_library(mapper: KernelMapper, phase: Phase) -> None:
    """Map a contraction, followed by a bias, an activation or a conversion, to calls of cuBLASLt."""
    calls = calls_of(phase, mapper.chip)
    phase.require(calls is not None, "the library has no call for this contraction and what follows it")
    assert calls is not None
    for problem in calls.problems:
        call = MatmulOp(problem, calls.lhs, calls.rhs, calls.bias, calls.out)
        call.location = phase.structured[0].location
        mapper.kernel.body.block.insert_op_before(call, mapper.end)


def calls_of(phase: Phase, chip: GpuChip, rounded: Attribute | None = None) -> Calls | None:
    """
    The calls for a contraction with the operations after it; None if the library cannot compute it.

    `rounded`: the type of the results, if it differs from the accumulator type.
    """
    fused = fused_product_of(phase) if chip.has_library else None
    if fused is None:
        return None
    (init,) = initial_values(phase.structured[0], phase.absorbed)
    if init is None or not is_zero(init):
        return None  # The sum starts from the buffer's contents.
    epilogue = epilogue_of(fused, private_buffers(phase, fused))
    if epilogue is None:
        return None
    product, bias = fused.product, epilogue.bias
    out = product.c.root if epilogue.target is None else epilogue.target
    roots = [product.a.root, product.b.root, out, *([] if bias is None else [bias])]
    if not all(_is_plain(root) for root in roots):
        return None
    if bias is not None and buffer_of(bias).element_type != buffer_of(out).element_type:
        return None
    problems = problems_of(fused, epilogue, str(rounded or buffer_of(out).element_type), chip)
    return Calls(problems, product.a.root, product.b.root, bias, out) if problems else None


def _is_plain(root: SSAValue) -> bool:
    """Whether the host knows the buffer's address, and the buffer is whole."""
    if not isinstance(buffer_of(root).layout, NoneAttr):
        return False
    return not isinstance(root.owner, memref.ViewOp)


def problems_of(fused: FusedProduct, epilogue: Epilogue, result: str, chip: GpuChip) -> list[Matmul]:
    """The calls that compute a contraction with the operations after it; none if the library cannot."""
    product = fused.product
    element = _element(product)
    if element is None or (element, result) not in SUMS or SUMS[element, result] != str(product.total):
        return []
    if (element == "bf16" or product.tf32) and not chip.has_bf16_tensor_cores:
        return []
    if (epilogue.bias is not None or epilogue.activation) and result not in WITH_EPILOGUE:
        return []
    batches = _batches(product)
    matrices = _matrices(product)
    if batches is None or matrices is None or product.c.dynamic:
        return []
    inner, outer = batches
    lhs, rhs, out = (
        replace(matrix, batch_stride=stride)
        for matrix, stride in zip(matrices, (inner.a, inner.b, inner.c), strict=True)
    )
    problem = Matmul(
        lhs,
        rhs,
        out,
        inner.size,
        element,
        result,
        epilogue.bias is not None,
        epilogue.activation,
        product.tf32,
    )
    if element == "i8" and not _suits_integers(problem, outer):
        return []
    return [_moved(problem, outer, indices) for indices in itertools.product(*(range(one.size) for one in outer))]


def _element(product: Product) -> str | None:
    """The type of both factors, if the library's widening is the program's: floats and signed integers."""
    elements = [factor.element for factor in product.factors()]
    if elements[0] != elements[1]:
        return None
    floats = isinstance(product.add, arith.AddfOp) and isinstance(product.multiply, arith.MulfOp)
    integers = isinstance(product.add, arith.AddiOp) and isinstance(product.multiply, arith.MuliOp)
    if not integers and not (floats and is_fused(product)):
        return None
    for conversions in product.conversions:
        if not conversions and elements[0] == product.total:
            continue
        widening = arith.ExtSIOp if integers else arith.ExtFOp
        if len(conversions) != 1 or not isinstance(conversions[0], widening):
            return None
        if conversions[0].results[0].type != product.total:
            return None
    return str(elements[0])


def _batches(product: Product) -> tuple[Digit, tuple[Digit, ...]] | None:
    """The batch dimension that a call takes (the largest), and those with a call per index."""
    ranked = sorted(product.batch, key=lambda digit: -digit.size)
    inner, *outer = ranked or [Digit(1, 0, 0, 0)]
    if math.prod(digit.size for digit in outer) > MOST_CALLS:
        return None
    if any(stride < 0 for digit in ranked for stride in (digit.a, digit.b, digit.c)):
        return None
    return inner, tuple(outer)


def _matrices(product: Product) -> tuple[Matrix, Matrix, Matrix] | None:
    """A, B and C as matrices of the library; None if they are not."""
    if any(len(digits) > 1 for digits in (product.m, product.n, product.k)):
        return None
    m, n, k = (digits[0] if digits else Digit(1, 0, 0, 0) for digits in (product.m, product.n, product.k))
    found: list[Matrix] = []
    for access, sizes, strides in (
        (product.a, (m.size, k.size), (m.a, k.a)),
        (product.b, (k.size, n.size), (k.b, n.b)),
        (product.c, (m.size, n.size), (m.c, n.c)),
    ):
        steps = major(sizes, strides)
        if steps is None or access.dynamic or access.offset < 0:
            return None
        found.append(Matrix(*sizes, *steps, offset=access.offset))
    lhs, rhs, out = found
    return (lhs, rhs, out) if out.row_major else None


def _suits_integers(problem: Matmul, outer: Sequence[Digit]) -> bool:
    """Whether the library supports these i8 matrices: both dense along k, all strides multiples of 4."""
    lhs, rhs, out = problem.lhs, problem.rhs, problem.out
    numbers = [lhs.columns, out.columns, lhs.leading, rhs.leading, out.leading]
    numbers += [step for one in (lhs, rhs, out) for step in (one.batch_stride, one.offset)]
    numbers += [step for digit in outer for step in (digit.a, digit.b, digit.c)]
    return lhs.row_major and rhs.column_major and all(number % INTEGER_MULTIPLE == 0 for number in numbers)


def _moved(problem: Matmul, outer: Sequence[Digit], indices: Sequence[int]) -> Matmul:
    """The call for given indices of the other batch dimensions."""

    def moved(matrix: Matrix, strides: Sequence[int]) -> Matrix:
        steps = zip(indices, strides, strict=True)
        return replace(matrix, offset=matrix.offset + sum(index * stride for index, stride in steps))

    return replace(
        problem,
        lhs=moved(problem.lhs, [digit.a for digit in outer]),
        rhs=moved(problem.rhs, [digit.b for digit in outer]),
        out=moved(problem.out, [digit.c for digit in outer]),
    )
