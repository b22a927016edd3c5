"""fft: discrete Fourier transforms of the last one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from ...attributes import IntArray, ints
from ...op import reject
from ...shapes import DYNAMIC, shape_text, shapes_agree, verify_results_agree
from ...syntax.keywords import KeywordOp, enumeration, int_list
from ...types import Array, element_of, is_complex, is_float, make_tensor, numpy_dtype, shape_of


class FftType(StrEnum):
    """The kinds of transforms: complex forward and inverse, real to half a spectrum, and its inverse."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@irdl_attr_definition
class FftTypeAttr(EnumAttribute[FftType], SpacedOpaqueSyntaxAttribute):
    """`#hlo<fft_type FFT>`"""

    name = "hlo.fft_type"


@cache
def fft_type(name: str) -> FftTypeAttr:
    """The attribute of a kind, from a cache."""
    return FftTypeAttr(FftType(name))


def half(size: int) -> int:
    """The length of the half spectrum of `size` real numbers; these elements determine the others."""
    return DYNAMIC if size == DYNAMIC else 0 if size == 0 else size // 2 + 1


def unit_circle(numerators: Any, n: int, sign: int) -> tuple[Array, Array]:
    """
    cos and sin of `sign * 2 pi * numerators / n` in f64: exact at quarters of a turn, and no zero is negative.

    Integers reduce angles to eighths of a turn: the rounding error of a longer one would be many of its cosine's.
    """
    quarter, rest = np.divmod(4 * (np.asarray(numerators, np.int64) % n), n)
    mirrored = 2 * rest > n
    angle = np.where(mirrored, n - rest, rest) / n * (np.pi / 2)
    cos, sin = np.cos(angle), np.sin(angle)
    cos, sin = np.where(mirrored, sin, cos), np.where(mirrored, cos, sin)
    return np.choose(quarter, [cos, -sin, -cos, sin]) + 0.0, sign * np.choose(quarter, [sin, cos, -sin, -cos]) + 0.0


@irdl_op_definition
class FftOp(KeywordOp):
    """
    Discrete Fourier transforms of the last dimensions, one per entry of `fft_length`; inverse transforms divide by n.

    Shapes: operand and result agree, but for RFFT and IRFFT the last dimension of the complex side has n / 2 + 1
            elements if the real side has n, an entry of `fft_length`.
    Raises: VerifyException naming fft_c1..c5, fft_i1 or fft_i2.
    Spec:   https://openxla.org/stablehlo/spec#fft
    """

    name = "hlo.fft"
    COMPUTES: ClassVar[bool] = True
    operand = operand_def(TensorType)
    fft_type = prop_def(FftTypeAttr)
    fft_length = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (
        enumeration("type", "fft_type", FftTypeAttr),
        int_list("length", "fft_length"),
    )

    @property
    def lengths(self) -> tuple[int, ...]:
        return ints(self.fft_length)

    @property
    def kind(self) -> FftType:
        return self.fft_type.data

    def infer_types(self) -> tuple[Attribute, ...]:
        shape, element = shape_of(self.operands[0]), element_of(self.operands[0])
        lengths = self.lengths
        if len(lengths) > len(shape):
            reject(f"fft_c1: fft_length has {len(lengths)} entries, the operand {len(shape)} dimensions")
        if not (1 <= len(lengths) <= 3):
            reject(f"fft_c3: fft_length has {len(lengths)} entries, expected 1 to 3")
        if self.kind is FftType.RFFT:
            if not is_float(element):
                reject(f"fft_c2: RFFT takes floats, the operand has element type {element}")
            self._check_lengths("fft_c4", "operand", shape)
            return (make_tensor((*shape[:-1], half(shape[-1])), ComplexType(cast(Any, element))),)
        if not is_complex(element):
            reject(f"fft_c2: {self.kind.value} takes complex numbers, the operand has element type {element}")
        if self.kind is not FftType.IRFFT:
            return (make_tensor(shape, element),)
        real = (*shape[: len(shape) - len(lengths)], *lengths)
        if not shapes_agree(shape, (*real[:-1], half(real[-1]))):
            reject(
                f"fft_c5: IRFFT of lengths {lengths} takes ({', '.join(map(str, (*lengths[:-1], half(lengths[-1]))))})"
                f" elements, the operand has shape {shape_text(shape)}"
            )
        return (make_tensor(real, cast(Attribute, cast(Any, element).element_type)),)

    def _check_lengths(self, constraint: str, name: str, shape: Sequence[int]) -> None:
        """Check that the last dimensions, of the real side if there is one, are those of fft_length."""
        lengths = self.lengths
        if not shapes_agree(shape[len(shape) - len(lengths) :], lengths):
            reject(f"{constraint}: fft_length is {lengths}, the {name} has shape {shape_text(shape)}")

    def verify_(self) -> None:
        element = element_of(self.operands[0])
        part = cast(Any, element).element_type if is_complex(element) else element
        known = numpy_dtype(part)
        if known is None or known.kind != "f" or known.itemsize not in (4, 8):
            reject(f"fft_i1: operand has element type {element}, expected f32, f64 or complex numbers of these")
        inferred = self.infer_types()[0]
        wanted, given = element_of(inferred), element_of(self.results[0])
        if wanted != given:
            reject(f"fft_c2: {self.kind.value} of {element} gives {wanted}, the result has element type {given}")
        if self.kind is FftType.IRFFT and len(shape_of(self.results[0])) == len(shape_of(inferred)):
            self._check_lengths("fft_c4", "result", shape_of(self.results[0]))
        if is_complex(element) and self.kind is not FftType.IRFFT:
            self._check_lengths("fft_i2", "operand", shape_of(self.operands[0]))
        verify_results_agree(self, "fft_c5")

    def reference(self, *operands: Array) -> Array:
        dtype: Any = numpy_dtype(element_of(self.results[0]))
        return transform(self.kind, self.lengths, operands[0], shape_of(self.results[0]), dtype)


def transform(kind: FftType, lengths: Sequence[int], operand: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """The transforms of a kind of the last dimensions of an array, of the result's shape and dtype."""
    axes = tuple(range(operand.ndim - len(lengths), operand.ndim))
    if 0 in operand.shape or 0 in shape:
        return np.zeros(shape, dtype)
    match kind:
        case FftType.FFT:
            result = np.fft.fftn(operand, axes=axes)
        case FftType.IFFT:
            result = np.fft.ifftn(operand, axes=axes)
        case FftType.RFFT:
            result = np.fft.rfftn(operand, axes=axes)
        case FftType.IRFFT:
            result = np.fft.irfftn(operand, s=lengths, axes=axes)
    return result.astype(dtype, copy=False)


OPS = (FftOp,)
ATTRIBUTES = (FftTypeAttr,)
