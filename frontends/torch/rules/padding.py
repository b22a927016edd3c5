"""Padding with elements of the tensor itself, mirrored at its ends or repeated, and its gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ...builder.builder import Value
from ..dtypes import converted, dtype_of, working_dtype
from ..registry import lowers
from ..step import Step, broadcast


@dataclass(frozen=True)
class _Border(ABC):
    """`amount` elements before those of a dimension, or after them."""

    step: Step
    dim: int
    amount: int
    after: bool

    @abstractmethod
    def of(self, x: Value) -> Value:
        """The border of a tensor."""

    @abstractmethod
    def folded(self, border: Value, size: int) -> Value:
        """The sums of a border's elements, at the elements of a tensor of `size` that they are equal to."""

    def _at(self, x: Value, low: int, high: int) -> Value:
        """Zeros around a tensor along the dimension."""
        rank, zero = len(x.shape), self.step.full(0, dtype_of(x))
        return x.pad(zero, *([amount if one == self.dim else 0 for one in range(rank)] for amount in (low, high)))


class _Mirrored(_Border):
    """The elements next to the first or the last one, in reverse order."""

    def of(self, x: Value) -> Value:
        start = x.shape[self.dim] - 1 - self.amount if self.after else 1
        return x.part(self.dim, start, start + self.amount).reverse([self.dim])

    def folded(self, border: Value, size: int) -> Value:
        far = size - 1 - self.amount
        return self._at(border.reverse([self.dim]), *((far, 1) if self.after else (1, far)))


class _Repeated(_Border):
    """The first or the last element."""

    def of(self, x: Value) -> Value:
        start = x.shape[self.dim] - 1 if self.after else 0
        shape = [self.amount if dim == self.dim else size for dim, size in enumerate(x.shape)]
        return broadcast(x.part(self.dim, start, start + 1), shape)

    def folded(self, border: Value, size: int) -> Value:
        total = self.step.builder.reduce(border, 0, dimensions=[self.dim], body=self.step.builder.add)
        shape = [1 if dim == self.dim else one for dim, one in enumerate(border.shape)]
        return self._at(total.reshape(shape), *((size - 1, 0) if self.after else (0, size - 1)))


def _dims(rank: int, padding: Sequence[int]) -> list[tuple[int, int, int]]:
    """The last dimensions with their padding, which begins with that of the last one."""
    pairs = zip(padding[::2], padding[1::2], strict=True)
    return [(rank - 1 - number, low, high) for number, (low, high) in enumerate(pairs)]


def _padded(step: Step, x: Value, padding: Sequence[int], kind: type[_Border]) -> Value:
    """Elements are dropped, by negative padding, after the others are added."""
    for dim, low, high in _dims(len(x.shape), padding):
        parts = [x]
        if low > 0:
            parts.insert(0, kind(step, dim, low, False).of(x))
        if high > 0:
            parts.append(kind(step, dim, high, True).of(x))
        x = step.builder.concatenate(parts, dimension=dim) if len(parts) > 1 else x
        x = x.part(dim, max(0, -low), x.shape[dim] - max(0, -high))
    return x


def _gradient(step: Step, gradient: Value, x: Value, padding: Sequence[int], kind: type[_Border]) -> Value:
    """Each border is added to the elements that it was made of."""
    found = converted(gradient, working_dtype(dtype_of(gradient)))
    zero, rank = step.full(0, dtype_of(found)), len(x.shape)
    for dim, low, high in _dims(rank, padding):
        size = x.shape[dim]
        dropped = [[max(0, -amount) if one == dim else 0 for one in range(rank)] for amount in (low, high)]
        whole = found.pad(zero, *dropped)
        end = whole.shape[dim]
        found = whole.part(dim, max(0, low), max(0, low) + size)
        if low > 0:
            found = found + kind(step, dim, low, False).folded(whole.part(dim, 0, low), size)
        if high > 0:
            found = found + kind(step, dim, high, True).folded(whole.part(dim, end - high, end), size)
    return converted(found, dtype_of(gradient))


@lowers("aten.reflection_pad1d aten.reflection_pad2d aten.reflection_pad3d")
def reflection_pad(step: Step, x: Value, padding: Sequence[int]) -> Value:
    return _padded(step, x, padding, _Mirrored)


@lowers("aten.reflection_pad1d_backward aten.reflection_pad2d_backward aten.reflection_pad3d_backward")
def reflection_pad_backward(step: Step, gradient: Value, x: Value, padding: Sequence[int]) -> Value:
    return _gradient(step, gradient, x, padding, _Mirrored)


@lowers("aten.replication_pad1d aten.replication_pad2d aten.replication_pad3d")
def replication_pad(step: Step, x: Value, padding: Sequence[int]) -> Value:
    return _padded(step, x, padding, _Repeated)


@lowers("aten.replication_pad1d_backward aten.replication_pad2d_backward aten.replication_pad3d_backward")
def replication_pad_backward(step: Step, gradient: Value, x: Value, padding: Sequence[int]) -> Value:
    return _gradient(step, gradient, x, padding, _Repeated)
