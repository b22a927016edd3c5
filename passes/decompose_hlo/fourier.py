"""
Fourier transforms as matrix products.

Numbers are kept as one real tensor that has both parts along one dimension. A transform of n = r * m elements is
Cooley and Tukey's: the dimension becomes (r, m), a product with the (2, r) x (2, r) matrix of a DFT of r elements turns
the digit r of time into one of frequency, a twiddle factor multiplies each element, and m is transformed in its turn.
Where the products put a new digit depends on the batch: in front of the older ones, so that frequencies come out in
order (Stockham), or behind all the rest, which leaves a permutation of each batch element to the end. Lengths with a
large prime factor are convolutions of a power of two (Bluestein).

Tables are computed in double precision; a long table of twiddles is the product of two short ones, and long chirps
are computed by the program itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor, decomposed
from ...hlo_dialect.ops.algorithms.fourier import FftOp, FftType, half
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import ComplexOp, ImagOp, RealOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.movement import TransposeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import Array, element_of, is_complex, numpy_dtype, shape_of, tensor_type
from .fourier_tables import TensorBuilder, chirp_of, mirrored, roots

MAX_RADIX = 32
"""Elements of the largest DFT that several digits share."""

MAX_PRIME = 64
"""The largest prime factor that is a DFT of its own; lengths with a larger one are convolved."""

MAX_TABLE = 1 << 14
"""Twiddle factors that are written out; more are products of two tables."""

MAX_CHIRP = 1 << 14
"""Elements of a chirp that are written out; longer ones are computed."""

MAX_PERMUTED = 1 << 15
"""Elements of a batch element that is permuted at the end: about what the second-level cache holds."""

Label: TypeAlias = tuple[int, int]
"""What a dimension of a tensor under transformation is: (axis, 0) one of time, (axis, d) digit d of frequency."""

PART: Label = (-1, 0)
TIME_DIGIT = -1
"""The digit of time that the next product takes."""


def radices(n: int) -> tuple[int, ...] | None:
    """Factors of n, none above MAX_RADIX unless it is a prime up to MAX_PRIME; None where a prime factor is larger."""
    primes: list[int] = []
    rest, prime = n, 2
    while rest > 1:
        while rest % prime == 0:
            primes.append(prime)
            rest //= prime
        prime += 1
        if prime > MAX_PRIME and rest > 1:
            return None
    least = max(1, math.ceil(sum(math.log(p) for p in primes) / math.log(MAX_RADIX) - 1e-9))
    for count in range(least, len(primes) + 1):
        groups = [1] * count
        for prime in reversed(primes):
            smallest = min(range(count), key=lambda index: groups[index])
            groups[smallest] *= prime
        if all(group <= MAX_RADIX or group in primes for group in groups):
            return tuple(sorted(groups, reverse=True))
    return tuple(primes) or (1,)


@dataclass(frozen=True)
class _Labelled:
    """A tensor and what its dimensions are."""

    value: SSAValue
    labels: tuple[Label, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    def dim(self, label: Label) -> int:
        return self.labels.index(label)

    def size(self, label: Label) -> int:
        return self.shape[self.dim(label)]


class _Transformer(TensorBuilder):
    """Builds transforms of labelled tensors."""

    def __init__(self, part: Attribute, sign: int, in_front: bool):
        super().__init__(part)
        self.sign = sign
        """-1 of forward transforms."""
        self.in_front = in_front
        """Whether new digits go in front of everything, or behind."""

    def scaled(self, x: _Labelled, cos: SSAValue, sin: SSAValue) -> _Labelled:
        """The complex product with `cos + i sin`, tensors of x's shape."""
        dim = x.dim(PART)
        signs = self.broadcast(self.constant(np.array([-1.0, 1.0])), x.shape, (dim,))
        turned = self.multiply(self.reverse(x.value, dim), self.multiply(sin, signs))
        return _Labelled(self.add(self.multiply(x.value, cos), turned), x.labels)

    def along(self, x: _Labelled, table: Array | SSAValue, *labels: Label) -> SSAValue:
        """A table whose dimensions are these of x, in every element of x's shape."""
        dims = [x.dim(label) for label in labels]
        if not isinstance(table, SSAValue):
            table = self.constant(np.transpose(table, np.argsort(dims)))
            dims.sort()
        return self.broadcast(table, x.shape, dims)

    def split(self, x: _Labelled, label: Label, sizes: Sequence[int], labels: Sequence[Label]) -> _Labelled:
        dim = x.dim(label)
        value = self.reshape(x.value, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))
        return _Labelled(value, (*x.labels[:dim], *labels, *x.labels[dim + 1 :]))

    def permuted(self, x: _Labelled, labels: Sequence[Label]) -> _Labelled:
        order = [x.dim(label) for label in labels]
        if order == list(range(len(order))):
            return x
        shape = [x.shape[dim] for dim in order]
        return _Labelled(self.op(TransposeOp, [x.value], shape, permutation=int_array(order)), tuple(labels))

    def merged(self, x: _Labelled, axis: int) -> _Labelled:
        """The digits of frequency as one dimension, (axis, 0)."""
        digits = sorted((label for label in x.labels if label[0] == axis and label != PART), reverse=True)
        first = min(map(x.dim, digits))
        others = [label for label in x.labels if label not in digits]
        before = sum(x.dim(label) < first for label in others)
        x = self.permuted(x, (*others[:before], *digits, *others[before:]))
        size = math.prod(map(x.size, digits))
        value = self.reshape(x.value, (*x.shape[:before], size, *x.shape[before + len(digits) :]))
        return _Labelled(value, (*others[:before], (axis, 0), *others[before:]))

    # One axis.

    def transform(self, x: _Labelled, axis: int, scale: float = 1.0) -> _Labelled:
        """The transform of an axis, whose dimension becomes digits of frequency; a real `x` has one part."""
        factors = radices(x.size((axis, 0)))
        return self.bluestein(x, axis, scale) if factors is None else self.cooley_tukey(x, axis, factors, scale)

    def cooley_tukey(self, x: _Labelled, axis: int, factors: Sequence[int], scale: float) -> _Labelled:
        time, length = (axis, 0), x.size((axis, 0))
        for digit, radix in enumerate(factors, 1):
            rest = length // radix
            x = self.split(x, time, (radix, rest), ((axis, TIME_DIGIT), time))
            x = self.product(x, axis, digit, scale if rest == 1 else 1.0)
            if rest > 1:
                x = self.twiddle(x, (axis, digit), time, length)
            length = rest
        return self.split(x, time, (), ())

    def product(self, x: _Labelled, axis: int, digit: int, scale: float) -> _Labelled:
        """The DFT of a digit of time, which becomes one of frequency."""
        taken = (PART, (axis, TIME_DIGIT))
        dims = [x.dim(label) for label in taken]
        radix, parts = x.shape[dims[1]], x.shape[dims[0]]
        numbers = np.arange(radix)
        cos, sin = roots(np.outer(numbers, numbers), radix, self.sign)
        matrix = np.stack((np.stack((cos, -sin), axis=1), np.stack((sin, cos), axis=1))) * scale
        table = self.constant(matrix[:, :, :parts])
        others = tuple(label for label in x.labels if label not in taken)
        rest = [x.size(label) for label in others]
        made = (PART, (axis, digit))
        if self.in_front:
            numbering = DotDimensionNumbersAttr.of(lhs_contracting=(2, 3), rhs_contracting=dims)
            operands, shape, labels = [table, x.value], (2, radix, *rest), (*made, *others)
        else:
            numbering = DotDimensionNumbersAttr.of(lhs_contracting=dims, rhs_contracting=(2, 3))
            operands, shape, labels = [x.value, table], (*rest, 2, radix), (*others, *made)
        return _Labelled(self.op(DotGeneralOp, operands, shape, dot_dimension_numbers=numbering), labels)

    def twiddle(self, x: _Labelled, made: Label, time: Label, length: int) -> _Labelled:
        """Element (k, j) of two dimensions times the root of unity of k * j / length."""
        ks, rest = np.arange(x.size(made)), x.size(time)
        if length <= MAX_TABLE:
            cos, sin = roots(np.outer(ks, np.arange(rest)), length, self.sign)
            return self.scaled(x, self.along(x, cos, made, time), self.along(x, sin, made, time))
        coarse = max(d for d in range(1, math.isqrt(rest) + 1) if rest % d == 0)
        fine, axis = rest // coarse, time[0]
        high, low = (axis, TIME_DIGIT), time
        x = self.split(x, time, (coarse, fine), (high, low))
        c1, s1 = (
            self.along(x, table, made, high)
            for table in roots(np.outer(ks, np.arange(coarse) * fine), length, self.sign)
        )
        c2, s2 = (self.along(x, table, made, low) for table in roots(np.outer(ks, np.arange(fine)), length, self.sign))
        cos = self.subtract(self.multiply(c1, c2), self.multiply(s1, s2))
        sin = self.add(self.multiply(s1, c2), self.multiply(c1, s2))
        x = self.scaled(x, cos, sin)
        dim = x.dim(high)
        value = self.reshape(x.value, (*x.shape[:dim], rest, *x.shape[dim + 2 :]))
        return _Labelled(value, (*x.labels[:dim], *x.labels[dim + 1 :]))

    def bluestein(self, x: _Labelled, axis: int, scale: float) -> _Labelled:
        """
        sum_j x_j w^(j k) is w^(k k / 2) sum_j (x_j w^(j j / 2)) w^(-(k - j)^2 / 2): a convolution, by transforms of a
        power of two elements.
        """
        time = (axis, 0)
        n = x.size(time)
        size = 1 << (2 * n - 2).bit_length()
        factors = cast("tuple[int, ...]", radices(size))
        chirp = chirp_of(self, n, self.sign, n > MAX_CHIRP)
        if x.size(PART) == 1:
            x = _Labelled(self.concatenate([x.value, self.zeros(x.shape)], x.dim(PART)), x.labels)
        x = self.scaled(x, *(self.along(x, table, time) for table in chirp))
        x = _Labelled(self.padded(x.value, x.dim(time), size), x.labels)
        x = self.merged(self.cooley_tukey(x, axis, factors, 1.0), axis)
        x = self.scaled(x, *(self.along(x, table, time) for table in self.kernel(chirp, size, factors)))
        back = _Transformer(self.part, -self.sign, self.in_front)
        back.builder = self.builder
        x = self.merged(back.cooley_tukey(x, axis, factors, scale / size), axis)
        x = _Labelled(self.slice(x.value, x.dim(time), 0, n), x.labels)
        x = self.scaled(x, *(self.along(x, table, time) for table in chirp))
        return _Labelled(x.value, tuple((axis, 1) if label == time else label for label in x.labels))

    def kernel(
        self, chirp: tuple[Array | SSAValue, Array | SSAValue], size: int, factors: Sequence[int]
    ) -> tuple[Array | SSAValue, Array | SSAValue]:
        """The transform of the chirp that Bluestein's convolution is with: the conjugate of the factors."""
        re, im = chirp
        if isinstance(re, SSAValue) or isinstance(im, SSAValue):
            forward = _Transformer(self.part, self.sign, True)
            forward.builder = self.builder
            parts = [mirrored(self, cast(SSAValue, re), size), mirrored(self, self.negate(cast(SSAValue, im)), size)]
            start = _Labelled(self.join(*parts), (PART, (0, 0)))
            found = forward.merged(forward.cooley_tukey(start, 0, factors, 1.0), 0)
            return self.parted(found.value, 0, 0), self.parted(found.value, 0, 1)
        n = len(re)
        whole = np.zeros(size, np.complex128)
        whole[:n] = re - 1j * im
        whole[size - n + 1 :] = whole[1:n][::-1]
        spectrum = np.fft.fft(whole) if self.sign < 0 else np.fft.ifft(whole) * size
        return spectrum.real, spectrum.imag

    def hermitian(self, x: _Labelled, axis: int, n: int) -> _Labelled:
        """The whole spectrum of real numbers, in one dimension, of which the first half is given."""
        dim, parts = x.dim((axis, 0)), x.dim(PART)
        mirrored = n - x.shape[dim]
        if mirrored == 0:
            return x
        tail = self.reverse(self.slice(x.value, dim, 1, 1 + mirrored), dim)
        re, im = self.slice(tail, parts, 0, 1), self.slice(tail, parts, 1, 2)
        conjugate = self.concatenate([re, self.negate(im)], parts)
        return _Labelled(self.concatenate([x.value, conjugate], dim), x.labels)


def _fft(op: FftOp) -> Sequence[Operation]:
    """
    Before: `fft %x, type = FFT, length = [64]`
    After:  reshape to (8, 8), dot_general, multiplication by constants, dot_general on the real and imaginary parts
    """
    shape = shape_of(op.operand)
    if not is_static(shape):
        return ()
    if 0 in shape:
        builder = Builder()
        zero: Any = np.zeros(1, numpy_dtype(element_of(op.result)))
        return decomposed(op, builder, builder.add(ConstantOp.of(zero, tensor_type(op.result))))
    element = element_of(op.operand)
    part: Attribute = cast(Any, element).element_type if is_complex(element) else element
    rank, count = len(shape), len(op.lengths)
    batch, whole = math.prod(shape[: rank - count]), math.prod(shape[rank - count :])
    sign = -1 if op.kind in (FftType.FFT, FftType.RFFT) else 1
    transformer = _Transformer(part, sign, batch == 1 or whole > MAX_PERMUTED)
    if op.kind is FftType.RFFT:
        value = transformer.reshape(op.operand, (1, *shape))
    else:
        value = transformer.join(*(transformer.op(cls, [op.operand], shape) for cls in (RealOp, ImagOp)))
    x = _transformed(transformer, op, _Labelled(value, (PART, *((axis, 0) for axis in range(rank)))))
    return decomposed(op, transformer.builder, _result(transformer, op, x))


def _transformed(transformer: _Transformer, op: FftOp, x: _Labelled) -> _Labelled:
    """All axes transformed, from the last on; the halved one of IRFFT at the end."""
    rank, count = len(shape_of(op.operand)), len(op.lengths)
    axes = list(range(rank - count, rank))
    if op.kind is FftType.IRFFT:
        for axis in reversed(axes[:-1]):
            x = transformer.transform(x, axis)
        x = transformer.hermitian(x, axes[-1], op.lengths[-1])
        return transformer.transform(x, axes[-1], 1.0 / math.prod(op.lengths))
    scale = 1.0 / math.prod(shape_of(op.operand)[rank - count :]) if op.kind is FftType.IFFT else 1.0
    for axis in reversed(axes):
        x = transformer.transform(x, axis, scale if axis == axes[0] else 1.0)
        if axis == axes[-1] and op.kind is FftType.RFFT:
            x = transformer.merged(x, axis)
            value = transformer.slice(x.value, x.dim((axis, 0)), 0, half(op.lengths[-1]))
            x = _Labelled(value, x.labels)
    return x


def _result(transformer: _Transformer, op: FftOp, x: _Labelled) -> Tensor:
    """The operation's result: each part with its digits in order."""
    dim = x.dim(PART)
    labels = tuple(label for label in x.labels if label != PART)
    order = sorted(labels, key=lambda label: (label[0], -label[1]))
    parts: list[SSAValue] = []
    for number in range(1 if op.kind is FftType.IRFFT else 2):
        part = _Labelled(transformer.parted(x.value, dim, number), labels)
        parts.append(transformer.reshape(transformer.permuted(part, order).value, shape_of(op.result)))
    if len(parts) == 1:
        return Tensor(transformer.builder, parts[0])
    return transformer.builder.add(ComplexOp.create(operands=parts, result_types=[op.result.type]))


DECOMPOSITIONS = ((FftOp, _fft),)
