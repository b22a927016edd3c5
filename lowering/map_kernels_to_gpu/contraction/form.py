"""
Contractions as the tiled kernels see them: `C[b, m, n] += A[b, m, k] * B[b, k, n]`, each index of several digits.

An index such as m represents one or more loops of the generic, its *digits*, the last varying fastest; an operand's
address is linear in the digits. A dot_general usually has one digit per index; in a convolution m runs over images and
windows, and k over the elements of a window and the channels: its input is never unfolded in memory (implicit GEMM).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....dialects.gpu.plans import RegisterTile, TensorTile
from ....dialects.support.kernel import CONTRACTION
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest, nest_of_generic
from ..threads.ranges import ceil_div

CONVERSIONS = (
    arith.ExtFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.TruncFOp,
    arith.TruncIOp,
)
"""Conversions allowed between a factor and the product."""


@dataclass(frozen=True)
class Digit:
    """One loop: its size, and the stride of A, B and C along it, in elements."""

    size: int
    a: int
    b: int
    c: int

    def swapped(self) -> Digit:
        return Digit(self.size, self.b, self.a, self.c)


Digits = tuple[Digit, ...]


def size_of(digits: Digits) -> int:
    return math.prod(digit.size for digit in digits)


def dot(digits: Sequence[Index], strides: Sequence[int]) -> Index:
    """`sum(digit * stride)`"""
    total: Index = 0
    for digit, stride in zip(digits, strides, strict=True):
        total += digit * stride
    return total


@dataclass(frozen=True)
class Factor:
    """One of the factors, as seen by its loader. `outer` is m for A, n for B."""

    access: Access
    batch: tuple[tuple[int, int], ...]
    """(size, stride) of each digit; likewise for the other fields."""
    outer: tuple[tuple[int, int], ...]
    depth: tuple[tuple[int, int], ...]
    conversions: tuple[Operation, ...]
    """From the element in memory to the factor of the multiplication, in order."""

    @property
    def element(self) -> Attribute:
        """The element type in memory."""
        return buffer_of(self.access.root).element_type

    @property
    def along_depth(self) -> bool:
        """Whether neighbouring elements in memory differ in k rather than in the outer index."""
        return self._contiguous(self.depth) > self._contiguous(self.outer)

    @staticmethod
    def _contiguous(digits: tuple[tuple[int, int], ...]) -> int:
        """The number of consecutive indices that address consecutive elements."""
        return digits[-1][0] if digits and digits[-1][1] == 1 else 1

    def vector(self, most: int) -> int:
        """Elements per access, at most `most`: contiguous, aligned to their size, and in or out of bounds together."""
        along, across = (self.depth, self.outer) if self.along_depth else (self.outer, self.depth)
        if self._contiguous(along) == 1:
            return 1
        others = [stride for _, stride in (*self.batch, *across, *along[:-1])]
        multiples = [along[-1][0], self.access.offset, *others, *(factor for _, factor in self.access.dynamic)]
        return math.gcd(most, *multiples)


@dataclass(frozen=True)
class Product:
    """A contraction. The digits of m and n are in the order of C's memory, whose neighbouring elements differ in n."""

    a: Access
    b: Access
    c: Access
    batch: Digits
    m: Digits
    n: Digits
    k: Digits
    conversions: tuple[tuple[Operation, ...], tuple[Operation, ...]]
    """Those of A and of B."""
    total: Attribute
    """The accumulator type, which is that of C."""
    multiply: Operation
    add: Operation
    tf32: bool = False
    """Whether the program allows the mantissas of f32 to be truncated to those of tf32."""

    @property
    def rows(self) -> int:
        return size_of(self.m)

    @property
    def columns(self) -> int:
        return size_of(self.n)

    @property
    def depth(self) -> int:
        return size_of(self.k)

    @property
    def batches(self) -> int:
        return size_of(self.batch)

    def transposed(self) -> Product:
        """The same sums as `C^T = B^T A^T`."""

        def swap(digits: Digits) -> Digits:
            return tuple(digit.swapped() for digit in digits)

        return replace(
            self,
            a=self.b,
            b=self.a,
            batch=swap(self.batch),
            m=swap(self.n),
            n=swap(self.m),
            k=swap(self.k),
            conversions=(self.conversions[1], self.conversions[0]),
        )

    def factors(self) -> tuple[Factor, Factor]:
        def digits(group: Digits, which: str) -> tuple[tuple[int, int], ...]:
            return tuple((digit.size, int(getattr(digit, which))) for digit in group)

        lhs = Factor(self.a, digits(self.batch, "a"), digits(self.m, "a"), digits(self.k, "a"), self.conversions[0])
        rhs = Factor(self.b, digits(self.batch, "b"), digits(self.n, "b"), digits(self.k, "b"), self.conversions[1])
        return lhs, rhs


def product_of(op: Operation) -> Product | None:
    """The contraction that a marked generic computes; None for any other operation, or one over no elements."""
    if not isinstance(op, GenericOp) or CONTRACTION not in op.attributes:
        return None
    if len(op.inputs) < 2 or len(op.outputs) != 1:
        return None
    if any(argument.uses.get_length() for argument in op.body.block.args[2:-1]):
        return None  # Operands other than those that only give the loop sizes.
    found = sum_of_products(op.body.block)
    if found is None:
        return None
    nest = nest_of_generic(op)
    nest = replace(nest, inputs=nest.inputs[:2])
    lhs, rhs = nest.inputs
    if 0 in nest.sizes or not isinstance(lhs, Access) or not isinstance(rhs, Access):
        return None
    multiply, add, conversions = found
    total = buffer_of(op.outputs[0]).element_type
    return _canonical(nest, total, multiply, add, conversions, "xhlo.tf32" in op.attributes)


def sum_of_products(
    block: Block,
) -> tuple[Operation, Operation, tuple[tuple[Operation, ...], tuple[Operation, ...]]] | None:
    """The multiplication, the addition and the conversions of the factors in `yield(out + lhs * rhs)`."""
    terminator = block.last_op
    if not isinstance(terminator, YieldOp) or len(terminator.operands) != 1:
        return None
    total = terminator.operands[0].owner
    if not isinstance(total, (arith.AddfOp, arith.AddiOp, arith.OrIOp)):
        return None
    for accumulated, product in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        owner = product.owner
        if accumulated is block.args[-1] and isinstance(owner, (arith.MulfOp, arith.MuliOp, arith.AndIOp)):
            chains = [_conversions(owner.lhs), _conversions(owner.rhs)]
            by_input = {chain[0]: chain[1] for chain in chains if chain is not None}
            if set(by_input) == {0, 1}:
                return owner, total, (by_input[0], by_input[1])
    return None


def _conversions(value: SSAValue) -> tuple[int, tuple[Operation, ...]] | None:
    """The input that a factor comes from, and the conversions between the two."""
    found: list[Operation] = []
    while isinstance(value.owner, CONVERSIONS):
        found.append(value.owner)
        value = value.owner.operands[0]
    return (value.index, tuple(reversed(found))) if isinstance(value, BlockArgument) else None


def _canonical(
    nest: Nest,
    total: Attribute,
    multiply: Operation,
    add: Operation,
    conversions: tuple[tuple[Operation, ...], tuple[Operation, ...]],
    tf32: bool,
) -> Product | None:
    nest = nest.without_unit_loops()
    kinds = [_kind(nest, loop) for loop in range(len(nest.sizes))]
    if "?" in kinds:
        return None
    lhs, rhs, out = (access.strides for access in nest.accesses)

    def order(loop: int) -> tuple[int, int, int]:
        kind = kinds[loop]
        if kind == "k":
            # Use A's order unless only B is contiguous along k.
            main, other = (rhs, lhs) if _only_second(lhs, rhs, kinds) else (lhs, rhs)
            return 3, -abs(main[loop]), -abs(other[loop])
        return "bmn".index(kind), -abs(out[loop]), 0

    nest = nest.permuted(sorted(range(len(nest.sizes)), key=order)).collapsed()
    a, b, c = nest.accesses
    if any(stride < 0 for access in nest.accesses for stride in access.strides):
        return None  # Index arithmetic works on non-negative numbers.
    found: dict[str, list[Digit]] = {"b": [], "m": [], "n": [], "k": []}
    for loop, size in enumerate(nest.sizes):
        found[_kind(nest, loop)].append(Digit(size, a.strides[loop], b.strides[loop], c.strides[loop]))
    digits = {kind: tuple(of_kind) for kind, of_kind in found.items()}
    product = Product(
        a, b, c, digits["b"], digits["m"], digits["n"], digits["k"], conversions, total, multiply, add, tf32
    )
    last_m, last_n = (group[-1].c if group else 0 for group in (product.m, product.n))
    return product.transposed() if last_m == 1 and last_n != 1 else product


def _only_second(lhs: tuple[int, ...], rhs: tuple[int, ...], kinds: list[str]) -> bool:
    """Whether B is contiguous along k and A is not."""
    depth = [loop for loop, kind in enumerate(kinds) if kind == "k"]
    return any(rhs[l] == 1 for l in depth) and not any(lhs[l] == 1 for l in depth)


def _kind(nest: Nest, loop: int) -> str:
    """b(atch), m, n or k, by the operands that the loop moves; ? for a reduced loop that moves the output."""
    lhs, rhs, out = (x.strides[loop] != 0 for x in nest.accesses)
    if nest.reduction[loop]:
        return "?" if out else "k"
    if not out:
        return "?"
    return "b" if lhs and rhs else "m" if lhs else "n"


def is_fused(product: Product) -> bool:
    """Whether the program allows a product to be added to its sum without rounding (fma)."""
    flags = getattr(product.add, "fastmath", None)
    contracts = isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.ALLOW_CONTRACT in flags.data
    return contracts and AnyFloatConstr.verifies(product.total)


def split_depth(tile: RegisterTile | TensorTile, k: int) -> int:
    """The depth (k) that one split computes: a multiple of the tile's k."""
    return ceil_div(ceil_div(k, tile.splits), tile.k) * tile.k
