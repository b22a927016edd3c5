"""
Recognizes matrix products among linalg generics and canonicalizes them.

Every contraction is `C[b, m, n] += A[b, m, k] * B[b, k, n]` with any strides. After collapsing, one loop of each kind
is the matrix dimension; the others are loops around the product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...hlo_dialect.limits import MAX_RANK
from ..loop_nests.loop_builder import buffer_of
from ..loop_nests.nest import Access, Nest, nest_of_generic
from .epilogue import joined, separated
from .factors.computed import NONE, Computed, ComputedFactor

Element: TypeAlias = Float32Type | Float64Type | IntegerType[Any, Any]

i32 = IntegerType(32)


LONG_ROWS = 14
"""Rows that make full panels."""

OVERLAP = 2
"""Least ratio of the elements of all windows to those that they are read from, if windows overlap."""

LONG = 24
"""Steps along k that make up for a block of C that is read and written."""


@dataclass(frozen=True)
class Loop:
    """One loop of the contraction: its size and its stride, in elements, in each operand."""

    size: int
    a: int
    b: int
    c: int


@dataclass(frozen=True)
class Contraction:
    """A matrix product in canonical form."""

    a: Access
    b: Access
    c: Access
    m: Loop
    n: Loop
    k: Loop
    outer: tuple[Loop, ...]
    """Loops around the product that move the output: batches, and loops of M and N that do not collapse."""
    outer_k: tuple[Loop, ...]
    """The remaining contracted loops."""
    element: Element
    """The accumulator type, which is also the output's."""
    epilogue: Nest | None = None
    """An elementwise operation after the product, over the loops of `outer`, m and n."""
    sums: tuple[Nest, ...] = ()
    """Combinations of the rows of C, or of the epilogue's results, over the same loops."""
    computed_a: ComputedFactor | None = None
    """The computation of A while it is packed, over the loops of `outer`, `outer_k`, m, k; `a` says how A would lie."""
    computed_b: ComputedFactor | None = None
    """The same of B, with n instead of m."""
    a_paired: bool = False
    """Whether each element of A has the next one along k beside it, as pairs of bf16 are read."""

    def loops_around(self, inside: int) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
        """The contracted loops around k: those outside of the micro-kernel, and the last ones, `inside` it."""
        first = len(self.outer_k) - inside
        return self.outer_k[:first], self.outer_k[first:]

    def transposed(self) -> Contraction:
        """The same product as `C^T = B^T A^T`."""

        def swap(loop: Loop) -> Loop:
            return Loop(loop.size, loop.b, loop.a, loop.c)

        outer, outer_k = tuple(map(swap, self.outer)), tuple(map(swap, self.outer_k))
        order = [*range(len(outer)), len(outer) + 1, len(outer)]
        epilogue = None if self.epilogue is None else self.epilogue.permuted(order)
        sums = tuple(nest.permuted(order) for nest in self.sums)
        m, n = swap(self.n), swap(self.m)
        computed = self.computed_b, self.computed_a
        element = self.element
        return Contraction(
            self.b, self.a, self.c, m, n, swap(self.k), outer, outer_k, element, epilogue, sums, *computed
        )

    @property
    def computes(self) -> bool:
        """Whether a factor is computed while it is packed."""
        return self.computed_a is not None or self.computed_b is not None

    @property
    def factors(self) -> tuple[Attribute, Attribute]:
        """The element types of A and B in memory."""
        return buffer_of(self.a.root).element_type, buffer_of(self.b.root).element_type

    @property
    def depth(self) -> int:
        """The number of products summed into each element of C."""
        return math.prod(loop.size for loop in (self.k, *self.outer_k))

    @property
    def rows(self) -> int:
        """Rows of C that one matrix of B is multiplied by."""
        return self.m.size * math.prod(loop.size for loop in self.outer if not loop.b)

    @property
    def multiplications(self) -> int:
        total = self.m.size * self.n.size * self.k.size
        for loop in (*self.outer, *self.outer_k):
            total *= loop.size
        return total


def contraction_of(
    op: GenericOp,
    epilogue: GenericOp | None = None,
    sums: Sequence[tuple[GenericOp, Sequence[int]]] = (),
    computed: Computed = NONE,
) -> Contraction | None:
    """
    The contraction that a generic computes, with its epilogue, with generics that combine rows of what both write, each
    with its loops for the dimensions of that, and with those that compute its factors; None if it is no matrix product
    in f32, f64 or i32.
    """
    found = sums_of_products(op, epilogue)
    return None if found is None else contraction_in(found, sums, computed)


def contraction_in(
    found: Sums,
    sums: Sequence[tuple[GenericOp, Sequence[int]]] = (),
    computed: Computed = NONE,
    row: bool = False,
) -> Contraction | None:
    """`contraction_of` for the nest of a generic and its epilogue; `row`: also of one row by a matrix."""
    nest, element, own = found
    after: list[Nest] = []
    for each, order in sums:
        accesses, _, nest_of_sum = joined(nest, each, order)
        nest = replace(nest, inputs=(*nest.inputs, *accesses))
        after.append(nest_of_sum)
    makers: list[_Maker | None] = []
    for number, generic in enumerate(computed):
        makers.append(None if generic is None else _Maker(len(nest.inputs), (number + 1) * MAX_RANK, generic))
        if generic is not None:
            accesses, dims, _ = joined(nest, generic, operand=number)
            asked = {dim + (number + 1) * MAX_RANK: loop for dim, loop in dims.items()}
            nest = replace(nest, inputs=(*nest.inputs, *accesses), dims=nest.dims | asked)
    return canonical_contraction(nest, element, own, after, makers, row)


@dataclass(frozen=True)
class _Maker:
    """A generic that computes a factor, as a part of the product's nest."""

    first: int
    """The number of its first input among the nest's."""
    dims: int
    """The number added to its dimensions, so that those that it asks for are apart from others'."""
    generic: GenericOp

    def computed(self, nest: Nest, order: Sequence[int]) -> ComputedFactor:
        """The factor over loops `order` of the product's nest."""
        found = separated(nest, self.first, nest_of_generic(self.generic), order)
        asked = {dim - self.dims: loop for dim, loop in found.dims.items() if 0 <= dim - self.dims < MAX_RANK}
        return ComputedFactor(replace(found, dims=asked))


Sums: TypeAlias = "tuple[Nest, Element, Nest | None]"
"""See `sums_of_products`."""


def sums_of_products(op: GenericOp, epilogue: GenericOp | None = None) -> Sums | None:
    """
    The nest of a generic that adds products of two inputs to its output, in f32, f64 or i32, with what its epilogue
    reads besides; that type; and the epilogue over the same loops.
    """
    if len(op.inputs) < 2 or len(op.outputs) != 1:
        return None
    if any(argument.uses.get_length() for argument in op.body.block.args[2:-1]):
        return None  # Without the operands that only determine loop sizes.
    element = buffer_of(op.outputs[0]).element_type
    if not isinstance(element, (Float32Type, Float64Type)) and element != i32:
        return None
    if not _sums_products(op.body.block):
        return None
    nest = nest_of_generic(op)
    inputs = nest.inputs[:2]
    if 0 in nest.sizes or not all(isinstance(x, Access) for x in inputs):
        return None
    nest, own = replace(nest, inputs=inputs), None
    if epilogue is not None:
        accesses, dims, own = joined(nest, epilogue)
        nest = replace(nest, inputs=(*nest.inputs, *accesses), dims=dims)
    return nest, cast(Element, element), own


def _sums_products(block: Block) -> bool:
    """Whether the body is `yield(out + lhs * rhs)`, the factors possibly extended first."""
    terminator = block.last_op
    if not isinstance(terminator, YieldOp) or len(terminator.operands) != 1:
        return False
    total = terminator.operands[0].owner
    if not isinstance(total, (arith.AddfOp, arith.AddiOp)):
        return False
    product_type = arith.MulfOp if isinstance(total, arith.AddfOp) else arith.MuliOp
    for accumulated, product in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        if accumulated is block.args[-1] and isinstance(product.owner, product_type):
            return {_source(product.owner.lhs), _source(product.owner.rhs)} == {0, 1}
    return False


def _source(value: SSAValue) -> int | None:
    while isinstance(value.owner, (arith.ExtFOp, arith.ExtSIOp, arith.SIToFPOp)):
        value = value.owner.input
    return value.index if isinstance(value, BlockArgument) else None


def canonical_contraction(
    nest: Nest,
    element: Element,
    epilogue: Nest | None = None,
    sums: Sequence[Nest] = (),
    makers: Sequence[_Maker | None] = (None, None),
    row: bool = False,
) -> Contraction | None:
    """
    The contraction of a nest that adds products; None if it is no matrix product. The nest's inputs after the first
    two are those and the outputs of the epilogue, then of each of the sums, then of what computes the factors. `row`:
    one row or column by a matrix is a product, too.
    """
    nest = nest.without_unit_loops()
    kinds = [_kind(nest, loop) for loop in range(len(nest.sizes))]
    if "?" in kinds:
        return None
    c = nest.outputs[0].strides
    a = nest.accesses[0].strides

    def order(loop: int) -> tuple[int, int]:
        kind = "bmnk".index(kinds[loop])
        return kind, -abs(a[loop] if kinds[loop] == "k" else c[loop])

    nest = nest.permuted(sorted(range(len(nest.sizes)), key=order)).collapsed()
    lhs, rhs, out = _factors(nest)
    found: dict[str, list[Loop]] = {"b": [], "m": [], "n": [], "k": []}
    places: dict[int, int] = {}
    for place, size in enumerate(nest.sizes):
        loop = Loop(size, lhs.strides[place], rhs.strides[place], out.strides[place])
        found[_kind(nest, place)].append(loop)
        places[id(loop)] = place
    if row and not (found["m"] and found["n"]) and (found["m"] or found["n"]):
        one = Loop(1, 0, 0, 0)
        found["n" if found["m"] else "m"].append(one)
        places[id(one)] = -1
    if not found["m"] or not found["n"] or not found["k"]:
        return None
    if any(map(_turns_back, (*found["b"], *found["m"], *found["n"]))) or all(map(_turns_back, found["k"])):
        return None
    m = _along_m(found["m"])
    n = max(found["n"], key=lambda x: (x.c == 1, x.size))
    k = along_k(found["k"])
    outer = tuple(x for kind in "bmn" for x in found[kind] if x is not m and x is not n)
    outer_k = tuple(x for x in found["k"] if x is not k)
    loops, after, count = [places[id(loop)] for loop in (*outer, m, n)], list[Nest](), 2
    for own in sums if epilogue is None else (epilogue, *sums):
        after.append(separated(nest, count, own, loops))
        count += len(own.inputs) + len(own.outputs)
    first = None if epilogue is None else after.pop(0)
    orders = ([places[id(loop)] for loop in (*outer, *outer_k, side, k)] for side in (m, n))
    computed_a, computed_b = (
        None if x is None else x.computed(nest, order) for x, order in zip(makers, orders, strict=True)
    )
    product = Contraction(lhs, rhs, out, m, n, k, outer, outer_k, element, first, tuple(after), computed_a, computed_b)
    return product.transposed() if n.c != 1 and m.c == 1 and not _has_windows(product) else product


def _has_windows(product: Contraction) -> bool:
    """Whether the rows of A are overlapping windows whose features lie together: a convolution's input."""
    moving = [loop for loop in (product.m, product.k, *product.outer, *product.outer_k) if loop.a]
    together = any(loop.a == 1 for loop in (product.k, *product.outer_k))
    span = 1 + sum((loop.size - 1) * loop.a for loop in moving)
    return together and math.prod(loop.size for loop in moving) > OVERLAP * span


def _turns_back(loop: Loop) -> bool:
    """Whether a loop runs through an operand backwards, as through the window of a filter that is reversed."""
    return min(loop.a, loop.b, loop.c) < 0


def _along_m(loops: Sequence[Loop]) -> Loop:
    """
    The loop over the rows of a panel: of those that are long enough, the one whose rows are the nearest in C. The rows
    of several images would be far apart, and share few sets of the caches.
    """
    enough = min(LONG_ROWS, max(loop.size for loop in loops))
    return min((loop for loop in loops if loop.size >= enough), key=lambda loop: loop.c)


def chunks_of(product: Contraction) -> list[int]:
    """The sizes of the loops over chunks of the sum, which follow each other in both factors, see split.py."""
    k = product.k
    return [loop.size for loop in product.outer if (loop.a, loop.b) == (k.a * k.size, k.b * k.size)]


def along_k(loops: Sequence[Loop], long: int = LONG) -> Loop:
    """
    The contracted loop that panels lie along: of those that are long enough, the one whose steps are the nearest. None
    that runs backwards.
    """
    loops = [loop for loop in loops if not _turns_back(loop)]
    enough = min(long, max(loop.size for loop in loops))
    return min((loop for loop in loops if loop.size >= enough), key=lambda loop: (loop.a + loop.b, -loop.size))


def _factors(nest: Nest) -> tuple[Access, Access, Access]:
    """A, B and C."""
    lhs, rhs, *_ = nest.accesses
    return lhs, rhs, nest.outputs[0]


def _kind(nest: Nest, loop: int) -> str:
    """b(atch), m, n or k, by the operands that a loop moves; ? otherwise."""
    lhs, rhs, out = (x.strides[loop] != 0 for x in _factors(nest))
    if nest.reduction[loop]:
        return "k" if lhs and rhs and not out else "?"
    if not out:
        return "?"
    return "b" if lhs and rhs else "m" if lhs else "n" if rhs else "?"
