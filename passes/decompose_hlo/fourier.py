"""
Fourier transforms as matrix products.

Complex numbers are kept as one real tensor with both parts along one dimension. A transform of n = r * m elements is
Cooley and Tukey's: the dimension becomes (r, m), a product with the (2, r) x (2, r) matrix of a DFT of r elements turns
the time digit r into a frequency digit, each element is multiplied by a twiddle factor, and m is transformed
recursively. The position of the new digit depends on the batch: in front of the older ones, so that frequencies come
out in order (Stockham), or after all other dimensions, which needs a permutation of each batch element at the end.
Lengths with a large prime factor become convolutions of power-of-two length (Bluestein).

Tables are computed in double precision. A long twiddle table is the product of two short ones; long chirps are computed
at run time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.algorithms.fourier import FftOp, FftType, half, unit_circle
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import Array, element_of, make_tensor, numpy_dtype, shape_of, tensor_type
from .fourier_tables import Table, chirp_of, mirrored
from .transform import decompositions

MAX_RADIX = 32
"""The largest radix that is a product of several prime factors."""

MAX_PRIME = 64
"""The largest prime radix; lengths with a larger prime factor use Bluestein's convolution."""

MAX_TABLE = 1 << 14
"""Most twiddle factors in a constant table; longer tables are products of two."""

MAX_CHIRP = 1 << 14
"""Most elements of a chirp that is a constant; longer ones are computed at run time."""

MAX_PERMUTED = 1 << 15
"""Most elements per batch element for the permutation at the end: about the size of the L2 cache."""

Label: TypeAlias = tuple[int, int]
"""The label of a dimension during a transform: (axis, 0) is time, (axis, d) is digit d of frequency."""

PART: Label = (-1, 0)
TIME_DIGIT = -1
"""The time digit that the next product transforms."""


def radices(n: int) -> tuple[int, ...] | None:
    """Factors of n, none above MAX_RADIX unless it is a prime up to MAX_PRIME; None if a prime factor is larger."""
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
    """A tensor with labelled dimensions."""

    tensor: Tensor
    labels: tuple[Label, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    def dim(self, label: Label) -> int:
        return self.labels.index(label)

    def size(self, label: Label) -> int:
        return self.shape[self.dim(label)]

    def scaled(self, cos: Tensor, sin: Tensor) -> _Labelled:
        """The complex product with `cos + i sin`, which are tensors of the same shape."""
        signs = self.spread(np.array([-1.0, 1.0]), PART)
        turned = self.tensor.reverse([self.dim(PART)]) * (sin * signs)
        return _Labelled(self.tensor * cos + turned, self.labels)

    def spread(self, table: Table, *labels: Label) -> Tensor:
        """A table with these dimensions, broadcast to the tensor's shape."""
        dims = [self.dim(label) for label in labels]
        if not isinstance(table, Tensor):
            table = _constant(self.tensor, np.transpose(table, np.argsort(dims)))
            dims.sort()
        return table.broadcast(self.shape, dims)

    def split(self, label: Label, sizes: Sequence[int], labels: Sequence[Label]) -> _Labelled:
        """Split one dimension into several."""
        dim = self.dim(label)
        value = self.tensor.reshape((*self.shape[:dim], *sizes, *self.shape[dim + 1 :]))
        return _Labelled(value, (*self.labels[:dim], *labels, *self.labels[dim + 1 :]))

    def permuted(self, labels: Sequence[Label]) -> _Labelled:
        """Permute the dimensions."""
        return _Labelled(self.tensor.transpose([self.dim(label) for label in labels]), tuple(labels))

    def merged(self, axis: int) -> _Labelled:
        """Merge the frequency digits into one dimension, (axis, 0)."""
        digits = sorted((label for label in self.labels if label[0] == axis and label != PART), reverse=True)
        first = min(map(self.dim, digits))
        others = [label for label in self.labels if label not in digits]
        before = sum(self.dim(label) < first for label in others)
        x = self.permuted((*others[:before], *digits, *others[before:]))
        size = math.prod(map(x.size, digits))
        value = x.tensor.reshape((*x.shape[:before], size, *x.shape[before + len(digits) :]))
        return _Labelled(value, (*others[:before], (axis, 0), *others[before:]))


def _constant(like: Tensor, array: Array) -> Tensor:
    """A constant in another tensor's element type."""
    dtype: Any = numpy_dtype(like.element)
    return like.builder.constant(array.astype(dtype))


def _joined(re: Tensor, im: Tensor) -> Tensor:
    """Stack the parts along a new first dimension."""
    return concatenate([part.reshape((1, *part.shape)) for part in (re, im)], 0)


@dataclass(frozen=True)
class _Transformer:
    """Builds transforms of labelled tensors."""

    sign: int
    """-1 for forward transforms."""
    in_front: bool
    """Whether new digits go in front of all dimensions, or after them."""

    # One axis.

    def transform(self, x: _Labelled, axis: int, scale: float = 1.0) -> _Labelled:
        """The transform of an axis, whose dimension becomes frequency digits; a real `x` has one part."""
        factors = radices(x.size((axis, 0)))
        return self.bluestein(x, axis, scale) if factors is None else self.cooley_tukey(x, axis, factors, scale)

    def cooley_tukey(self, x: _Labelled, axis: int, factors: Sequence[int], scale: float) -> _Labelled:
        time, length = (axis, 0), x.size((axis, 0))
        for digit, radix in enumerate(factors, 1):
            rest = length // radix
            x = x.split(time, (radix, rest), ((axis, TIME_DIGIT), time))
            x = self.product(x, axis, digit, scale if rest == 1 else 1.0)
            if rest > 1:
                x = self.twiddle(x, (axis, digit), time, length)
            length = rest
        return x.split(time, (), ())

    def product(self, x: _Labelled, axis: int, digit: int, scale: float) -> _Labelled:
        """The DFT of a time digit, which becomes a frequency digit."""
        taken = (PART, (axis, TIME_DIGIT))
        dims = [x.dim(label) for label in taken]
        radix, parts = x.shape[dims[1]], x.shape[dims[0]]
        numbers = np.arange(radix)
        cos, sin = unit_circle(np.outer(numbers, numbers), radix, self.sign)
        matrix = np.stack((np.stack((cos, -sin), axis=1), np.stack((sin, cos), axis=1))) * scale
        table = _constant(x.tensor, matrix[:, :, :parts])
        others = tuple(label for label in x.labels if label not in taken)
        made = (PART, (axis, digit))
        if self.in_front:
            numbering = DotDimensionNumbersAttr.of(lhs_contracting=(2, 3), rhs_contracting=dims)
            return _Labelled(table.dot(x.tensor, numbering), (*made, *others))
        numbering = DotDimensionNumbersAttr.of(lhs_contracting=dims, rhs_contracting=(2, 3))
        return _Labelled(x.tensor.dot(table, numbering), (*others, *made))

    def twiddle(self, x: _Labelled, made: Label, time: Label, length: int) -> _Labelled:
        """Element (k, j) of two dimensions times the root of unity of k * j / length."""
        ks, rest = np.arange(x.size(made)), x.size(time)
        if length <= MAX_TABLE:
            cos, sin = unit_circle(np.outer(ks, np.arange(rest)), length, self.sign)
            return x.scaled(x.spread(cos, made, time), x.spread(sin, made, time))
        coarse = max(d for d in range(1, math.isqrt(rest) + 1) if rest % d == 0)
        fine, axis = rest // coarse, time[0]
        high, low = (axis, TIME_DIGIT), time
        x = x.split(time, (coarse, fine), (high, low))
        c1, s1 = (
            x.spread(table, made, high)
            for table in unit_circle(np.outer(ks, np.arange(coarse) * fine), length, self.sign)
        )
        c2, s2 = (x.spread(table, made, low) for table in unit_circle(np.outer(ks, np.arange(fine)), length, self.sign))
        cos = c1 * c2 - s1 * s2
        sin = s1 * c2 + c1 * s2
        x = x.scaled(cos, sin)
        dim = x.dim(high)
        value = x.tensor.reshape((*x.shape[:dim], rest, *x.shape[dim + 2 :]))
        return _Labelled(value, (*x.labels[:dim], *x.labels[dim + 1 :]))

    def bluestein(self, x: _Labelled, axis: int, scale: float) -> _Labelled:
        """
        sum_j x_j w^(j k) is w^(k k / 2) sum_j (x_j w^(j j / 2)) w^(-(k - j)^2 / 2): a convolution, computed by
        power-of-two transforms.
        """
        time = (axis, 0)
        n = x.size(time)
        size = 1 << (2 * n - 2).bit_length()
        factors = cast("tuple[int, ...]", radices(size))
        builder = x.tensor.builder
        chirp = chirp_of(builder, x.tensor.element, n, self.sign, n > MAX_CHIRP)
        if x.size(PART) == 1:
            zeros = builder.splat(0.0, x.tensor.type)
            x = _Labelled(concatenate([x.tensor, zeros], x.dim(PART)), x.labels)
        x = x.scaled(*(x.spread(table, time) for table in chirp))
        x = _Labelled(_lengthened(x.tensor, x.dim(time), size), x.labels)
        x = self.cooley_tukey(x, axis, factors, 1.0).merged(axis)
        x = x.scaled(*(x.spread(table, time) for table in self.kernel(chirp, size, factors)))
        x = replace(self, sign=-self.sign).cooley_tukey(x, axis, factors, scale / size).merged(axis)
        x = _Labelled(x.tensor.part(x.dim(time), 0, n), x.labels)
        x = x.scaled(*(x.spread(table, time) for table in chirp))
        return _Labelled(x.tensor, tuple((axis, 1) if label == time else label for label in x.labels))

    def kernel(self, chirp: tuple[Table, Table], size: int, factors: Sequence[int]) -> tuple[Table, Table]:
        """The transform of the chirp in Bluestein's convolution, the conjugate of the factors."""
        re, im = chirp
        if isinstance(re, Tensor) and isinstance(im, Tensor):
            start = _Labelled(_joined(mirrored(re, size), mirrored(-im, size)), (PART, (0, 0)))
            found = replace(self, in_front=True).cooley_tukey(start, 0, factors, 1.0).merged(0)
            return found.tensor.take(0, 0), found.tensor.take(0, 1)
        re, im = cast("tuple[Array, Array]", chirp)
        n = len(re)
        whole = np.zeros(size, np.complex128)
        whole[:n] = re - 1j * im
        whole[size - n + 1 :] = whole[1:n][::-1]
        spectrum = np.fft.fft(whole) if self.sign < 0 else np.fft.ifft(whole) * size
        return spectrum.real, spectrum.imag


def _lengthened(x: Tensor, dim: int, size: int) -> Tensor:
    """Pad a dimension with zeros at the end, to `size` elements."""
    high = [0] * len(x.shape)
    high[dim] = size - x.shape[dim]
    return x.pad(x.builder.splat(0.0, make_tensor((), x.element)), [0] * len(high), high)


def _hermitian(x: _Labelled, axis: int, n: int) -> _Labelled:
    """Complete the half spectrum of a real signal along one dimension."""
    dim, parts = x.dim((axis, 0)), x.dim(PART)
    mirrored = n - x.shape[dim]
    if mirrored == 0:
        return x
    tail = x.tensor.part(dim, 1, 1 + mirrored).reverse([dim])
    re, im = tail.part(parts, 0, 1), tail.part(parts, 1, 2)
    conjugate = concatenate([re, -im], parts)
    return _Labelled(concatenate([x.tensor, conjugate], dim), x.labels)


@decompositions.on(FftOp)
def _fft(op: FftOp) -> Sequence[Operation]:
    """
    Before: `fft %x, type = FFT, length = [64]`
    After:  reshape to (8, 8), dot_general, multiplication by constants, dot_general on the real and imaginary parts
    """
    shape = shape_of(op.operand)
    if not is_static(shape):
        return ()
    builder = Builder()
    if 0 in shape:
        zero = np.zeros(1, numpy_dtype(element_of(op.result)))
        return builder.replace(op, builder.constant(zero, tensor_type(op.result)))
    rank, count = len(shape), len(op.lengths)
    batch, whole = math.prod(shape[: rank - count]), math.prod(shape[rank - count :])
    sign = -1 if op.kind in (FftType.FFT, FftType.RFFT) else 1
    transformer = _Transformer(sign, batch == 1 or whole > MAX_PERMUTED)
    operand = Tensor(builder, op.operand)
    value = operand.reshape((1, *shape)) if op.kind is FftType.RFFT else _joined(*Complex.of(operand))
    x = _transformed(transformer, op, _Labelled(value, (PART, *((axis, 0) for axis in range(rank)))))
    return builder.replace(op, _result(op, x))


def _transformed(transformer: _Transformer, op: FftOp, x: _Labelled) -> _Labelled:
    """Transform all axes, starting with the last; the halved axis of IRFFT comes at the end."""
    rank, count = len(shape_of(op.operand)), len(op.lengths)
    axes = list(range(rank - count, rank))
    if op.kind is FftType.IRFFT:
        for axis in reversed(axes[:-1]):
            x = transformer.transform(x, axis)
        x = _hermitian(x, axes[-1], op.lengths[-1])
        return transformer.transform(x, axes[-1], 1.0 / math.prod(op.lengths))
    scale = 1.0 / math.prod(shape_of(op.operand)[rank - count :]) if op.kind is FftType.IFFT else 1.0
    for axis in reversed(axes):
        x = transformer.transform(x, axis, scale if axis == axes[0] else 1.0)
        if axis == axes[-1] and op.kind is FftType.RFFT:
            x = x.merged(axis)
            x = _Labelled(x.tensor.part(x.dim((axis, 0)), 0, half(op.lengths[-1])), x.labels)
    return x


def _result(op: FftOp, x: _Labelled) -> Tensor:
    """The operation's result, with each part's digits in order."""
    dim = x.dim(PART)
    labels = tuple(label for label in x.labels if label != PART)
    order = sorted(labels, key=lambda label: (label[0], -label[1]))

    def part(number: int) -> Tensor:
        return _Labelled(x.tensor.take(dim, number), labels).permuted(order).tensor.reshape(shape_of(op.result))

    return part(0) if op.kind is FftType.IRFFT else Complex(part(0), part(1)).joined()
