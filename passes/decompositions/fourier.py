"""
Fourier transforms as matrix products.

Numbers are kept as one real tensor with the parts in front: (2, .., n, ..). A transform of n = r * m elements is
Cooley and Tukey's: the dimension becomes (r, m), a product with the (2, r) x (2, r) matrix of a DFT of r elements takes
the r to the front, a twiddle factor multiplies each element, and m is transformed in its turn. Since every product puts
its new digit in front of the older ones, frequencies come out in order (Stockham), and the dimensions of a
transform of several in theirs. Lengths with a large prime factor are convolutions of a power of two (Bluestein).

Tables are computed in double precision; a long table of twiddles is the product of two short ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, int_array, int_attr
from ...hlo_dialect.contraction import DotGeneralOp
from ...hlo_dialect.conversion import ComplexOp, ImagOp, RealOp
from ...hlo_dialect.creation import ConstantOp
from ...hlo_dialect.elementwise_binary import AddOp, MultiplyOp
from ...hlo_dialect.elementwise_unary import NegateOp
from ...hlo_dialect.expressions import Builder, Tensor, decomposed
from ...hlo_dialect.fourier import FftOp, FftType
from ...hlo_dialect.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.types import Array, element_of, is_complex, make_tensor, numpy_dtype, shape_of

MAX_RADIX = 32
"""Elements of the largest DFT that several digits share."""

MAX_PRIME = 64
"""The largest prime factor that is a DFT of its own; lengths with a larger one are convolved."""

MAX_TABLE = 1 << 14
"""Twiddle factors that are written out; more are products of two tables."""


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


def _roots(numerators: Array, n: int, sign: int) -> tuple[Array, Array]:
    """cos and sin of `sign * 2 pi * numerators / n`."""
    angle = (2 * np.pi / n) * (numerators % n)
    return np.cos(angle), sign * np.sin(angle)


class _Transformer:
    """Builds transforms of real tensors with the two parts in dimension 0."""

    def __init__(self, part: Attribute, sign: int):
        self.builder = Builder()
        self.part = part
        self.sign = sign
        """-1 of forward transforms."""

    def op(
        self, cls: type[Operation], operands: Sequence[SSAValue], shape: Sequence[int], **properties: Attribute
    ) -> SSAValue:
        type_ = make_tensor(tuple(shape), self.part)
        return self.builder.add(cls.create(operands=operands, result_types=[type_], properties=properties)).value

    def constant(self, array: Array) -> SSAValue:
        dtype: Any = numpy_dtype(self.part)
        return self.builder.add(ConstantOp.of(np.ascontiguousarray(array.astype(dtype)))).value

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return value if shape_of(value) == tuple(shape) else self.op(ReshapeOp, [value], shape)

    def broadcast(self, value: SSAValue, shape: Sequence[int], dims: Sequence[int]) -> SSAValue:
        return self.op(BroadcastInDimOp, [value], shape, broadcast_dimensions=int_array(dims))

    def add(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.op(AddOp, [first, second], shape_of(first))

    def multiply(self, first: SSAValue, second: SSAValue) -> SSAValue:
        return self.op(MultiplyOp, [first, second], shape_of(first))

    def slice(self, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
        shape = shape_of(value)
        if (start, limit) == (0, shape[dim]):
            return value
        starts, limits = [0] * len(shape), list(shape)
        starts[dim], limits[dim] = start, limit
        sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
        return self.op(
            SliceOp,
            [value],
            sizes,
            start_indices=int_array(starts),
            limit_indices=int_array(limits),
            strides=int_array([1] * len(shape)),
        )

    def concatenate(self, values: Sequence[SSAValue], dim: int) -> SSAValue:
        shape = list(shape_of(values[0]))
        shape[dim] = sum(shape_of(value)[dim] for value in values)
        return self.op(ConcatenateOp, values, shape, dimension=int_attr(dim))

    def reverse(self, value: SSAValue, dim: int) -> SSAValue:
        return self.op(ReverseOp, [value], shape_of(value), dimensions=int_array([dim]))

    def join(self, re: SSAValue, im: SSAValue) -> SSAValue:
        """The parts as one tensor."""
        shape = (1, *shape_of(re))
        return self.concatenate([self.reshape(re, shape), self.reshape(im, shape)], 0)

    def parted(self, value: SSAValue, part: int) -> SSAValue:
        """One of the two parts."""
        return self.reshape(self.slice(value, 0, part, part + 1), shape_of(value)[1:])

    def scaled(self, value: SSAValue, cos: SSAValue, sin: SSAValue) -> SSAValue:
        """The complex product with `cos + i sin`, tensors of the value's shape; the sign is negative in part 0."""
        return self.add(self.multiply(value, cos), self.multiply(self.reverse(value, 0), sin))

    def factors(self, value: SSAValue, table: tuple[Array, Array], dims: Sequence[int]) -> tuple[SSAValue, SSAValue]:
        """Complex factors, given along `dims`, as `scaled` takes them."""
        cos, sin = table
        shape = shape_of(value)
        signed = self.constant(np.stack((-sin, sin)))
        return self.broadcast(self.constant(cos), shape, dims), self.broadcast(signed, shape, (0, *dims))

    # One dimension.

    def transform(self, value: SSAValue, dim: int, scale: float = 1.0) -> SSAValue:
        """The transform of a dimension, which moves to the front, behind the parts; a real `value` has one part."""
        n = shape_of(value)[dim]
        found = radices(n)
        return self.bluestein(value, dim, scale) if found is None else self.cooley_tukey(value, dim, found, scale)

    def cooley_tukey(self, value: SSAValue, dim: int, factors: Sequence[int], scale: float) -> SSAValue:
        outer = shape_of(value)[1:dim]
        inner = shape_of(value)[dim + 1 :]
        length, digits = shape_of(value)[dim], 0
        for radix in factors:
            rest = length // radix
            shape = shape_of(value)
            split = self.reshape(value, (*shape[:dim], radix, rest, *shape[dim + 1 :]))
            value = self.product(split, dim, radix, scale if rest == 1 else 1.0)
            digits, dim = digits + 1, dim + 1
            if rest > 1:
                value = self.twiddle(value, dim, radix, length)
            length = rest
        return self.reshape(value, (2, math.prod(factors), *outer, *inner))

    def product(self, value: SSAValue, dim: int, radix: int, scale: float) -> SSAValue:
        """The DFT of dimension `dim`, of the next digit of time; its digit of frequency goes to the front."""
        numbers = np.arange(radix)
        cos, sin = _roots(np.outer(numbers, numbers), radix, self.sign)
        matrix = np.stack((np.stack((cos, -sin), axis=1), np.stack((sin, cos), axis=1))) * scale
        shape = shape_of(value)
        matrix = matrix[:, :, : shape[0]]
        rest = [size for index, size in enumerate(shape) if index not in (0, dim)]
        numbering = DotDimensionNumbersAttr.of(lhs_contracting=(2, 3), rhs_contracting=(0, dim))
        table = self.constant(matrix)
        return self.op(DotGeneralOp, [table, value], (2, radix, *rest), dot_dimension_numbers=numbering)

    def twiddle(self, value: SSAValue, dim: int, radix: int, length: int) -> SSAValue:
        """Element (k, j), of dimensions 1 and `dim`, times the root of unity of k * j / length."""
        shape = shape_of(value)
        rest = length // radix
        ks = np.arange(radix)
        if length <= MAX_TABLE:
            table = _roots(np.outer(ks, np.arange(rest)), length, self.sign)
            return self.scaled(value, *self.factors(value, table, (1, dim)))
        low = max(d for d in range(1, math.isqrt(rest) + 1) if rest % d == 0)
        low = rest // low
        split = self.reshape(value, (*shape[:dim], rest // low, low, *shape[dim + 1 :]))
        coarse = _roots(np.outer(ks, np.arange(rest // low) * low), length, self.sign)
        fine = _roots(np.outer(ks, np.arange(low)), length, self.sign)
        cos, sin = self.both(split, coarse, fine, dim)
        return self.reshape(self.scaled(split, cos, sin), shape)

    def both(
        self, value: SSAValue, coarse: tuple[Array, Array], fine: tuple[Array, Array], dim: int
    ) -> tuple[SSAValue, SSAValue]:
        """The products of factors along dimensions (1, dim) and (1, dim + 1), as `scaled` takes them."""
        shape = shape_of(value)
        (cos1, sin1), (cos2, sin2) = coarse, fine

        def along(array: Array, *dims: int) -> SSAValue:
            return self.broadcast(self.constant(array), shape, dims)

        signs = np.array([-1.0, 1.0])[:, None, None]
        c1, s1 = along(cos1, 1, dim), along(sin1, 1, dim)
        c2, minus_s2 = along(cos2, 1, dim + 1), along(-sin2, 1, dim + 1)
        cos = self.add(self.multiply(c1, c2), self.multiply(s1, minus_s2))
        signed_s1, signed_c1 = along(signs * sin1, 0, 1, dim), along(signs * cos1, 0, 1, dim)
        s2 = along(sin2, 1, dim + 1)
        return cos, self.add(self.multiply(signed_s1, c2), self.multiply(signed_c1, s2))

    def bluestein(self, value: SSAValue, dim: int, scale: float) -> SSAValue:
        """
        sum_j x_j w^(j k) is w^(k k / 2) sum_j (x_j w^(j j / 2)) w^(-(k - j)^2 / 2): a convolution, by transforms of a
        power of two elements.
        """
        n = shape_of(value)[dim]
        size = 1 << (2 * n - 2).bit_length()
        squares = np.array([j * j % (2 * n) for j in range(n)], np.int64)
        chirp = _roots(squares, 2 * n, self.sign)
        if shape_of(value)[0] == 1:
            value = self.concatenate([value, self.zeros(value)], 0)
        value = self.scaled(value, *self.factors(value, chirp, (dim,)))
        value = self.padded(value, dim, size)
        kernel = np.zeros(size, np.complex128)
        kernel[:n] = chirp[0] - 1j * chirp[1]
        kernel[size - n + 1 :] = kernel[1:n][::-1]
        spectrum = np.fft.fft(kernel) if self.sign < 0 else np.fft.ifft(kernel) * size
        forward = cast("tuple[int, ...]", radices(size))
        value = self.cooley_tukey(value, dim, forward, 1.0)
        value = self.scaled(value, *self.factors(value, (spectrum.real, spectrum.imag), (1,)))
        back = _Transformer(self.part, -self.sign)
        back.builder = self.builder
        value = self.slice(back.cooley_tukey(value, 1, forward, 1.0 / size), 1, 0, n)
        final = (chirp[0] * scale, chirp[1] * scale)
        return self.scaled(value, *self.factors(value, final, (1,)))

    def zeros(self, like: SSAValue) -> SSAValue:
        return self.builder.constant(0.0, make_tensor(shape_of(like), self.part))

    def padded(self, value: SSAValue, dim: int, size: int) -> SSAValue:
        shape = list(shape_of(value))
        high = [0] * len(shape)
        high[dim] = size - shape[dim]
        shape[dim] = size
        zero = self.builder.constant(0.0, make_tensor((), self.part))
        none = int_array([0] * len(high))
        return self.op(
            PadOp, [value, zero], shape, edge_padding_low=none, edge_padding_high=int_array(high), interior_padding=none
        )

    def hermitian(self, value: SSAValue, n: int) -> SSAValue:
        """The whole spectrum, in the last dimension, of real numbers of which the first half is given."""
        dim = len(shape_of(value)) - 1
        mirrored = n - shape_of(value)[dim]
        if mirrored == 0:
            return value
        tail = self.reverse(self.slice(value, dim, 1, 1 + mirrored), dim)
        re, im = self.slice(tail, 0, 0, 1), self.slice(tail, 0, 1, 2)
        return self.concatenate([value, self.concatenate([re, self.op(NegateOp, [im], shape_of(im))], 0)], dim)


def _fft(op: FftOp) -> Sequence[Operation]:
    """
    Before: `fft %x, type = FFT, length = [64]`
    After:  reshape to (8, 8), dot_general, multiplication by constants, dot_general on the real and imaginary parts
    """
    shape = shape_of(op.operand)
    if not is_static(shape) or 0 in shape or 0 in shape_of(op.result):
        return ()
    element = element_of(op.operand)
    part: Attribute = cast(Any, element).element_type if is_complex(element) else element
    transformer = _Transformer(part, -1 if op.kind in (FftType.FFT, FftType.RFFT) else 1)
    rank, count = len(shape), len(op.lengths)
    if op.kind is FftType.RFFT:
        value = transformer.reshape(op.operand, (1, *shape))
    else:
        parts = [transformer.op(cls, [op.operand], shape) for cls in (RealOp, ImagOp)]
        value = transformer.join(*parts)
    inverse = op.kind in (FftType.IFFT, FftType.IRFFT)
    sizes = op.lengths if op.kind in (FftType.RFFT, FftType.IRFFT) else shape[rank - count :]
    scale = 1.0 / math.prod(sizes) if inverse else 1.0
    if op.kind is FftType.IRFFT:
        for _ in range(count - 1):
            value = transformer.transform(value, rank - 1)
        value = transformer.transform(transformer.hermitian(value, sizes[-1]), rank, scale)
        # (2, last, other transformed dimensions.., batch..)
        order = (*range(count, rank), *range(1, count), 0)
    else:
        for index in range(count):
            value = transformer.transform(value, rank, scale if index == count - 1 else 1.0)
            if index == 0 and op.kind is FftType.RFFT:
                value = transformer.slice(value, 1, 0, sizes[-1] // 2 + 1)
        order = (*range(count, rank), *range(count))
    return decomposed(op, transformer.builder, _result(transformer, op, value, order))


def _result(transformer: _Transformer, op: FftOp, value: SSAValue, order: Sequence[int]) -> Tensor:
    """The operation's result of the parts of (frequencies.., batch..)."""
    shape = shape_of(op.result)
    parts: list[SSAValue] = []
    for number in range(1 if op.kind is FftType.IRFFT else 2):
        part = transformer.parted(value, number)
        if tuple(order) != tuple(range(len(order))):
            part = transformer.op(TransposeOp, [part], shape, permutation=int_array(order))
        parts.append(part)
    if len(parts) == 1:
        return Tensor(transformer.builder, parts[0])
    return transformer.builder.add(ComplexOp.create(operands=parts, result_types=[op.result.type]))


DECOMPOSITIONS = ((FftOp, _fft),)
