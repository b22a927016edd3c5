"""numpy.fft on `hlo.fft`: any lengths, axes and normalizations; the precision is that of the elements."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import TracedArray, astype, axis_of, builder_of, constant_index, implements, lift
from .joining import roll
from .shapes import moveaxis
from .ufuncs import call_ufunc


def _given(a: Any, kind: str) -> TracedArray:
    """The array with floats ("f") or complex numbers ("c"), f32 kept. Raises TypeError as NumPy for complex ones."""
    array = lift(builder_of(a), a)
    double = np.promote_types(array.dtype, np.float32).itemsize // (1 + (array.dtype.kind == "c")) > 4
    if kind == "f" and array.dtype.kind == "c":
        raise TypeError("ufunc 'rfft_n_even' did not contain a loop with signature matching types: complex input")
    return astype(array, f"{kind}{(8 if double else 4) * (1 + (kind == 'c'))}")


def _sized(array: TracedArray, size: Any, axis: int) -> TracedArray:
    """The array with `size` elements along an axis: cropped, or filled with zeros."""
    wanted = array.shape[axis] if size is None else constant_index(size, "the length of a transform")
    if wanted < 1:
        raise ValueError(f"Invalid number of FFT data points ({wanted}) specified.")
    value = array.value.part(axis, 0, min(wanted, array.shape[axis]))
    missing = [wanted - array.shape[axis] if dim == axis else 0 for dim in range(array.ndim)]
    if missing[axis] > 0:
        zero = array.builder.constant(np.zeros((), array.dtype))
        value = value.pad(zero, [0] * array.ndim, missing)
    return array.like(value)


def _scale(norm: Any, size: int, inverse: bool) -> float:
    """The factor of a transform's sum."""
    factors = {"backward": (1.0, 1.0 / size), "forward": (1.0 / size, 1.0), "ortho": (1.0 / math.sqrt(size),) * 2}
    if norm not in (None, *factors):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return factors[norm or "backward"][inverse]


def _scaled(array: TracedArray, factor: float) -> TracedArray:
    return array if factor == 1.0 else array * factor


def _kind_of_operation(array: TracedArray, kind: str, sizes: list[int], axes: Sequence[int]) -> TracedArray:
    """`hlo.fft` along up to three axes."""
    places = list(range(-len(axes), 0))
    moved = moveaxis(array, tuple(axes), tuple(places))
    found = array.like(array.builder.fft(moved.value, fft_type=kind, fft_length=sizes))
    return moveaxis(found, tuple(places), tuple(axes))


def _complex(a: Any, lengths: Sequence[Any], axes: Sequence[int], norm: Any, inverse: bool) -> TracedArray:
    """Complex transforms along the axes, the last one first."""
    array = _given(a, "c")
    rest = list(zip(lengths, axes, strict=True))
    while rest:
        # An axis that is named twice is transformed twice.
        group = [rest.pop()]
        while rest and len(group) < 3 and rest[-1][1] not in [axis for _, axis in group]:
            group.insert(0, rest.pop())
        for size, axis in group:
            array = _sized(array, size, axis)
        sizes = [array.shape[axis] for _, axis in group]
        count = math.prod(sizes)
        found = _kind_of_operation(array, "IFFT" if inverse else "FFT", sizes, [axis for _, axis in group])
        # The operation's inverse divides by the number of elements.
        array = _scaled(found, _scale(norm, count, inverse) * (count if inverse else 1))
    return array


def _real(a: Any, size: Any, axis: int, norm: Any) -> TracedArray:
    array = _sized(_given(a, "f"), size, axis)
    count = array.shape[axis]
    return _scaled(_kind_of_operation(array, "RFFT", [count], [axis]), _scale(norm, count, inverse=False))


def _real_inverse(a: Any, size: Any, axis: int, norm: Any) -> TracedArray:
    array = _given(a, "c")
    count = 2 * (array.shape[axis] - 1) if size is None else constant_index(size, "the length of a transform")
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    array = _sized(array, count // 2 + 1, axis)
    found = _kind_of_operation(array, "IRFFT", [count], [axis])
    return _scaled(found, _scale(norm, count, inverse=True) * count)


def _returned(result: TracedArray, out: Any) -> TracedArray:
    return result if out is None else out.write(result)


def _along_one(function: Callable[[Any, Any, int, Any], TracedArray]) -> Callable[..., TracedArray]:
    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> TracedArray:
        return _returned(function(a, n, axis_of(axis, np.ndim(a)), norm), out)

    return transform


def _swapped(norm: Any) -> Any:
    """The normalization of the other direction."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


for _function, _compiled in (
    (np.fft.fft, lambda a, n, axis, norm: _complex(a, [n], [axis], norm, False)),
    (np.fft.ifft, lambda a, n, axis, norm: _complex(a, [n], [axis], norm, True)),
    (np.fft.rfft, _real),
    (np.fft.irfft, _real_inverse),
    (np.fft.hfft, lambda a, n, axis, norm: _real_inverse(call_ufunc(np.conjugate, a), n, axis, _swapped(norm))),
    (np.fft.ihfft, lambda a, n, axis, norm: call_ufunc(np.conjugate, _real(a, n, axis, _swapped(norm)))),
):
    implements(_function)(_along_one(_compiled))


def _lengths_and_axes(a: Any, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    rank = np.ndim(a)
    lengths = None if s is None else [None if n == -1 else n for n in s]
    if axes is None:
        axes = range(rank) if lengths is None else range(rank - len(lengths), rank)
    chosen = [axis_of(axis, rank) for axis in axes]
    if lengths is None:
        lengths = [None] * len(chosen)
    if len(lengths) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    return lengths, chosen


def _along_several(default: Any, kind: str, inverse: bool) -> Callable[..., TracedArray]:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> TracedArray:
        lengths, chosen = _lengths_and_axes(a, s, axes)
        if kind == "complex":
            result = _complex(a, lengths, chosen, norm, inverse)
        elif not chosen:
            raise IndexError("a real transform needs at least one axis")
        elif inverse:
            result = _complex(a, lengths[:-1], chosen[:-1], norm, inverse)
            result = _real_inverse(result, lengths[-1], chosen[-1], norm)
        else:
            result = _real(a, lengths[-1], chosen[-1], norm)
            result = _complex(result, lengths[:-1], chosen[:-1], norm, inverse)
        return _returned(result, out)

    return transform


for _functions, _kind, _inverse in (
    ((np.fft.fftn, np.fft.fft2), "complex", False),
    ((np.fft.ifftn, np.fft.ifft2), "complex", True),
    ((np.fft.rfftn, np.fft.rfft2), "real", False),
    ((np.fft.irfftn, np.fft.irfft2), "real", True),
):
    implements(_functions[0])(_along_several(None, _kind, _inverse))
    implements(_functions[1])(_along_several((-2, -1), _kind, _inverse))


def _shifted(direction: int) -> Callable[..., TracedArray]:
    def shift(x: Any, axes: Any = None) -> TracedArray:
        chosen = tuple(range(x.ndim)) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
        halves = [x.shape[axis_of(axis, x.ndim)] // 2 for axis in chosen]
        if direction < 0:
            halves = [-half for half in halves]
        return roll(x, tuple(halves), tuple(chosen))

    return shift


implements(np.fft.fftshift)(_shifted(1))
implements(np.fft.ifftshift)(_shifted(-1))
