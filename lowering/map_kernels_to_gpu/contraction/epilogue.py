"""
The epilogue of a contraction: the initial value of the sums, elementwise operations on them, and the stores.

Elementwise generics that read the product at their own element (bias, activation, residual, conversions) are applied to
each sum as it is written. A product with no other readers is then never stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ....dialects.gpu.nvgpu import bytes_of
from ....dialects.support.buffers import row_major
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest, nest_of_generic
from ..threads.builder import GpuBuilder
from ..threads.launch import Launch
from ..threads.phases import Phase
from .form import Digit, Product, dot, product_of
from .loader import flat


@dataclass(frozen=True)
class Part:
    """The index of one loop of an elementwise operation: `digit / divisor % size` of a digit of the product."""

    digit: int
    """The number of the product's digit; -1: the linear index of the element in the product's memory."""
    divisor: int
    size: int


@dataclass(frozen=True)
class EpilogueStep:
    """One elementwise operation on the product."""

    nest: Nest
    parts: tuple[Part, ...]
    """One per loop."""
    linked: dict[int, SSAValue]
    """Per input: the buffer whose value at this element is already in a register."""


@dataclass(frozen=True)
class FusedProduct:
    """A contraction and the elementwise operations fused into it."""

    product: Product
    steps: tuple[EpilogueStep, ...]
    private: frozenset[SSAValue] = field(default_factory=frozenset[SSAValue])
    """Buffers that only the fused operations read; they need not be written."""


Place = tuple[int, tuple[tuple[Part, int], ...]]
"""An access in terms of the product's digits: offset, and the stride of each part."""


def fused_product_of(phase: Phase) -> FusedProduct | None:
    """The phase as a contraction followed by elementwise operations; None if it does not have this form."""
    if not phase.is_structured:
        return None
    first, *others = phase.structured
    product = product_of(first)
    if product is None:
        return None
    digits = (*product.batch, *product.m, *product.n)
    read = {product.a.root, product.b.root}
    if product.c.dynamic or product.c.root in read:
        return None if others or product.c.root in read else FusedProduct(product, ())
    here: dict[SSAValue, Place] = {product.c.root: _own_place(product, digits)}
    steps: list[EpilogueStep] = []
    for op in others:
        step = _step_of(op, digits, product, here, read)
        if step is None:
            return None
        steps.append(step)
    return FusedProduct(product, tuple(steps))


def _own_place(product: Product, digits: Sequence[Digit]) -> Place:
    return product.c.offset, tuple(
        (Part(number, 1, digit.size), digit.c) for number, digit in enumerate(digits) if digit.size > 1
    )


def _step_of(
    op: Operation, digits: Sequence[Digit], product: Product, here: dict[SSAValue, Place], read: set[SSAValue]
) -> EpilogueStep | None:
    """An elementwise operation as a step; adds its outputs to `here`."""
    if not isinstance(op, GenericOp):
        return None
    nest = nest_of_generic(op).without_unit_loops()
    if any(nest.reduction) or 0 in nest.sizes:
        return None
    own = next((x for x in nest.inputs if isinstance(x, Access) and x.root is product.c.root), None)
    if own is None:
        own = next((x for x in nest.inputs if isinstance(x, Access) and x.root in here), None)
    if own is None or own.dynamic:
        return None
    parts = _parts_of(nest, own, digits, product)
    if parts is None:
        return None
    linked: dict[int, SSAValue] = {}
    for number, access in enumerate(nest.inputs):
        if isinstance(access, Access) and access.root in here:
            if access.dynamic or not _same(_place(access, parts), here[access.root]):
                return None
            linked[number] = access.root
    for access in nest.outputs:
        if access.root in read or access.root in here or access.dynamic:
            return None
        here[access.root] = _place(access, parts)
    # The body would read the previous contents of its outputs.
    body = nest.body
    assert body is not None
    if any(argument.uses.get_length() for argument in body.args[len(nest.inputs) :]):
        return None
    return EpilogueStep(nest, parts, linked)


def _place(access: Access, parts: Sequence[Part]) -> Place:
    return access.offset, tuple(zip(parts, access.strides, strict=True))


def _same(first: Place, second: Place) -> bool:
    def key(one: tuple[Part, int]) -> tuple[int, int, int]:
        return one[0].digit, one[0].divisor, one[1]

    return first[0] == second[0] and sorted(_joined(first[1]), key=key) == sorted(_joined(second[1]), key=key)


def _joined(terms: Sequence[tuple[Part, int]]) -> list[tuple[Part, int]]:
    """Merge consecutive parts of one digit with matching strides into one part."""
    found: list[tuple[Part, int]] = []
    for part, stride in sorted(terms, key=lambda term: (term[0].digit, term[0].divisor)):
        if found:
            last, inner = found[-1]
            if last.digit == part.digit and last.divisor * last.size == part.divisor and inner * last.size == stride:
                found[-1] = (Part(last.digit, last.divisor, last.size * part.size), inner)
                continue
        found.append((part, stride))
    return found


def _parts_of(nest: Nest, own: Access, digits: Sequence[Digit], product: Product) -> tuple[Part, ...] | None:
    """Each loop's index in terms of the product's digits; None if the loops do not cover exactly its elements."""
    if math.prod(nest.sizes) != math.prod(digit.size for digit in digits):
        return None
    parts: list[Part] = []
    for size, stride in zip(nest.sizes, own.strides, strict=True):
        found = next((part for part in _candidates(size, stride, digits)), None)
        if found is None:
            return _flat_parts(nest, own, digits, product)
        parts.append(found)
    covered = _joined([(part, stride) for part, stride in zip(parts, own.strides, strict=True)])
    whole = [(Part(number, 1, digit.size), digit.c) for number, digit in enumerate(digits) if digit.size > 1]
    same = covered == whole and own.offset == product.c.offset
    return tuple(parts) if same else _flat_parts(nest, own, digits, product)


def _candidates(size: int, stride: int, digits: Sequence[Digit]) -> list[Part]:
    """The parts of digits that could produce a loop of that size and stride."""
    found: list[Part] = []
    for number, digit in enumerate(digits):
        if digit.c > 0 and stride % digit.c == 0:
            divisor = stride // digit.c
            if divisor > 0 and digit.size % (divisor * size) == 0:
                found.append(Part(number, divisor, size))
    return found


def _flat_parts(nest: Nest, own: Access, digits: Sequence[Digit], product: Product) -> tuple[Part, ...] | None:
    """In terms of the element's linear index in memory, if product and loops both cover one contiguous range of it."""
    order = sorted(range(len(nest.sizes)), key=lambda l: -own.strides[l])
    even = [own.strides[l] for l in order] == list(row_major(tuple(nest.sizes[l] for l in order)))
    ranked = sorted((digit for digit in digits if digit.size > 1), key=lambda digit: -digit.c)
    dense = [digit.c for digit in ranked] == list(row_major(tuple(digit.size for digit in ranked)))
    if not even or not dense or own.offset != product.c.offset or own.offset:
        return None
    return tuple(Part(-1, own.strides[l], nest.sizes[l]) for l in range(len(nest.sizes)))


def private_buffers(phase: Phase, fused: FusedProduct) -> list[bool]:
    """
    For the product and each step's outputs: whether only the phase uses the buffer, and every read of it is linked.
    """
    ops = set(phase.ops)
    roots = [fused.product.c.root, *(access.root for step in fused.steps for access in step.nest.outputs)]
    return [
        isinstance(root.owner, memref.AllocOp) and all(use.operation in ops for use in root.uses) and bool(fused.steps)
        for root in roots
    ]


def local_product(launch: Launch, private: Sequence[bool]) -> FusedProduct:
    """The product in terms of the launch's own values."""
    fused = fused_product_of(launch.phase)
    assert fused is not None
    roots = [fused.product.c.root, *(access.root for step in fused.steps for access in step.nest.outputs)]
    hidden = frozenset(root for root, is_private in zip(roots, private, strict=True) if is_private)
    return replace(fused, private=hidden)


class ResultWriter:
    """Writes sums: adds the initial value, applies the steps, stores."""

    def __init__(self, launch: Launch, fused: FusedProduct):
        self.builder: GpuBuilder = launch.builder
        self.fused = fused
        self.product = fused.product
        (self.init,) = launch.inits(launch.phase.structured[0])
        self.target = flat(self.builder, self.product.c.root)

    def write(self, batch: Sequence[Index], m: Index, n: Index, total: SSAValue) -> None:
        """Write the sum of C[batch, m, n]."""
        builder, product = self.builder, self.product
        digits = [
            *batch,
            *delinearized(m, [digit.size for digit in product.m]),
            *delinearized(n, [digit.size for digit in product.n]),
        ]
        strides = [digit.c for digit in (*product.batch, *product.m, *product.n)]
        position = product.c.offset_at(builder) + dot(digits, strides)
        value = self._with_start(total, position)
        if product.c.root not in self.fused.private:
            builder.store(value, self.target, [position])
        values: dict[SSAValue, SSAValue] = {product.c.root: value}
        for step in self.fused.steps:
            self._apply(step, [*digits, position], values)

    def _with_start(self, total: SSAValue, position: Index) -> SSAValue:
        if self.init is not None and is_zero(self.init):
            return total
        start = self.builder.load(self.target, [position]) if self.init is None else self.init
        add = self.product.add
        made = type(add).create(operands=[start, total], result_types=[total.type], properties=add.properties)
        return self.builder.insert(made).results[0]

    def _apply(self, step: EpilogueStep, digits: Sequence[Index], values: dict[SSAValue, SSAValue]) -> None:
        builder = self.builder
        emitter = NestEmitter(builder, step.nest)
        with emitter.scope():
            for number, root in step.linked.items():
                emitter.loaded[number] = values[root]
            for loop, part in enumerate(step.parts):
                index = digits[part.digit] // part.divisor
                whole = part.digit >= 0 and self._digit_size(part.digit) == part.divisor * part.size
                emitter.indices[loop] = index if whole else index % part.size
            emitter.load_ready()
            for number, value in enumerate(emitter.body()):
                root = step.nest.outputs[number].root
                values[root] = value
                if root not in self.fused.private:
                    emitter.store_output(number, value)

    def _digit_size(self, number: int) -> int:
        product = self.product
        return (*product.batch, *product.m, *product.n)[number].size


def is_zero(value: SSAValue) -> bool:
    if not isinstance(value.owner, arith.ConstantOp):
        return False
    attr = value.owner.value
    if isinstance(attr, FloatAttr):
        number = float(attr.value.data)
        return number == 0.0
    return isinstance(attr, IntegerAttr) and attr.value.data == 0


def _written(fused: FusedProduct) -> list[SSAValue]:
    """The buffers that the fused product writes."""
    written = [fused.product.c.root, *(access.root for step in fused.steps for access in step.nest.outputs)]
    return [root for root in written if root not in fused.private]


def vector_of_results(fused: FusedProduct) -> int:
    """The number of neighbouring elements of a row of C that one thread writes: 16 bytes of the widest buffer."""
    last = fused.product.n[-1] if fused.product.n else None
    if last is None or last.c != 1:
        return 1
    widest = max(bytes_of(buffer_of(root).element_type) for root in _written(fused))
    others = [digit.c for digit in (*fused.product.batch, *fused.product.m, *fused.product.n[:-1])]
    return math.gcd(max(1, 16 // widest), last.size, fused.product.c.offset, *others)
