"""
Transforms of rows as complex transforms of smooth lengths, which divide each row among vectors.

Lengths with a large prime factor are convolutions of a smooth length (Bluestein):

    sum_j x_j w^(j k) is w^(k k / 2) sum_j (x_j w^(j j / 2)) w^(-(k - j)^2 / 2)

Real rows have imaginary parts of zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.algorithms.fourier import FftOp, FftType, fft_type, half, unit_circle
from ...hlo_dialect.types import Array, make_tensor, numpy_dtype, shape_of


def transform_rows(op: FftOp, size: int | None) -> Sequence[Operation]:
    """
    Before: `fft %x, type = RFFT, length = [n]`
    After:  a complex `fft`, of whose rows the first half are taken, if `size` is None; or
            a product with w^(k k / 2); `fft`, a product with constants, `ifft` of `size` elements; that product again
    """
    builder, shape = Builder(), shape_of(op.operand)
    rows = Tensor(builder, op.operand).reshape((math.prod(shape[:-1]), shape[-1]))
    rule = _Rows(op.lengths[-1], size, op.kind in (FftType.IFFT, FftType.IRFFT))
    match op.kind:
        case FftType.RFFT:
            made = rule.spectra(rows).joined()
        case FftType.IRFFT:
            made = rule.signals(Complex.of(rows))
        case _:
            made = rule.transformed(Complex.of(rows)).joined()
    return builder.replace(op, made.reshape(shape_of(op.result)))


@dataclass(frozen=True)
class _Rows:
    """Transforms of rows of n elements, as convolutions of `size` elements if that is not None."""

    n: int
    size: int | None
    inverse: bool

    def transformed(self, z: Complex) -> Complex:
        if self.size is None:
            return _transform("IFFT" if self.inverse else "FFT", z)
        return self._convolved(z, self.size)

    def _convolved(self, z: Complex, size: int) -> Complex:
        n, builder = self.n, z.re.builder
        sign = 1 if self.inverse else -1
        numbers = np.arange(n, dtype=np.int64)
        chirp = unit_circle(numbers * numbers, 2 * n, sign)
        around = np.zeros(size, np.complex128)
        around[:n] = chirp[0] - 1j * chirp[1]
        around[size - n + 1 :] = around[1:n][::-1]
        spectrum = np.fft.fft(around)
        zero = builder.splat(0.0, make_tensor((), z.re.element))
        start = (z * _spread(z.re, *chirp)).each(lambda part: part.pad(zero, [0, 0], [0, size - n]))
        between = _transform("FFT", start)
        found = _transform("IFFT", between * _spread(between.re, spectrum.real, spectrum.imag))
        scale = 1 / n if self.inverse else 1.0
        return found.each(lambda part: part.part(1, 0, n)) * _spread(z.re, chirp[0] * scale, chirp[1] * scale)

    def spectra(self, rows: Tensor) -> Complex:
        """
        The half spectra of real rows, whose first element, and one in the middle, have no imaginary part.

        Two rows as the parts of one would share errors, infinities and NaN.
        """
        zero, width = rows.builder.splat(0.0, make_tensor((), rows.element)), half(self.n)
        z = self.transformed(Complex(rows, rows.builder.splat(0.0, rows.type)))
        middle = (self.n + 1) // 2
        im = z.im.part(1, 1, middle).pad(zero, [0, 1], [0, width - middle])
        return Complex(z.re.part(1, 0, width), im)

    def signals(self, spectra: Complex) -> Tensor:
        """The real rows of half spectra, which are completed."""
        (re, im), width = spectra, spectra.re.shape[1]
        middle = (self.n + 1) // 2
        inside = spectra.each(lambda part: part.part(1, 1, middle))
        # The imaginary parts of the first element, and of one in the middle, mean nothing.
        nothing = im.builder.splat(0.0, im.type)

        def whole(first: Tensor, inside: Tensor, turned: Tensor) -> Tensor:
            alone = [] if middle == width else [first.part(1, middle, width)]
            return concatenate([first.part(1, 0, 1), inside, *alone, turned.reverse([1])], 1)

        return self.transformed(Complex(whole(re, inside.re, inside.re), whole(nothing, inside.im, -inside.im))).re


def _transform(kind: str, z: Complex) -> Complex:
    lengths = int_array([z.re.shape[-1]])
    return Complex.of(z.re.builder.op(FftOp, [z.joined()], fft_type=fft_type(kind), fft_length=lengths))


def _spread(like: Tensor, re: Array, im: Array) -> Complex:
    """Constants along the rows of another tensor."""
    dtype: Any = numpy_dtype(like.element)
    return Complex(*(like.builder.constant(part.astype(dtype)).broadcast(like.shape, (1,)) for part in (re, im)))
