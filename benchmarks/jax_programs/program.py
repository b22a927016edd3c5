"""One program, its arguments drawn by a seed, and the decorator that lists it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class JaxProgram:
    """A function without static arguments, and its arguments: trees of NumPy arrays."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    x64: bool = False
    """Whether JAX is to keep types of 64 bits."""
    tolerance: float = 1e-3
    """The largest difference from XLA's result, beside the result's own size and root mean square."""


class Draw:
    """Arrays of a seed that follows from the program's name: f32 unless said."""

    def __init__(self, name: str) -> None:
        self._random = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, *shape: int, scale: float = 1.0, dtype: Any = np.float32) -> np.ndarray:
        return (scale * self._random.standard_normal(shape, dtype=np.float32)).astype(dtype)

    def bf16(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return self.normal(*shape, scale=scale, dtype=ml_dtypes.bfloat16)

    def f64(self, *shape: int) -> np.ndarray:
        return self._random.standard_normal(shape)

    def complex(self, *shape: int) -> np.ndarray:
        return (self.normal(*shape) + 1j * self.normal(*shape)).astype(np.complex64)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        return self._random.uniform(low, high, shape).astype(np.float32)

    def integers(self, low: int, high: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
        """Integers from low up to high, which is left out."""
        return self._random.integers(low, high, shape).astype(dtype)

    def key(self) -> np.ndarray:
        """A key of jax.random, as its two words."""
        return self.integers(0, 1 << 31, 2, dtype=np.uint32)

    def dense(self, inputs: int, outputs: int) -> np.ndarray:
        """The weights of a layer, which keeps the size of what goes through it."""
        return self.normal(inputs, outputs, scale=inputs**-0.5)

    def kernel(self, *shape: int) -> np.ndarray:
        """The kernel of a convolution, its last dimension the outputs."""
        return self.normal(*shape, scale=float(np.prod(shape[:-1])) ** -0.5)

    def definite(self, batch: int, n: int) -> np.ndarray:
        """Symmetric positive definite matrices."""
        a = self.normal(batch, n, n)
        return a @ a.transpose(0, 2, 1) / n + np.eye(n, dtype=np.float32)


@dataclass(frozen=True)
class Entry:
    """A program whose arguments are drawn when it is made."""

    name: str
    function: Callable[..., Any]
    draw: Callable[[Draw], tuple[Any, ...]]
    options: dict[str, Any]

    def make(self) -> JaxProgram:
        return JaxProgram(self.name, self.function, self.draw(Draw(self.name)), **self.options)


@dataclass
class Programs:
    """The programs of one class, in the order of its file."""

    kind: str
    entries: list[Entry] = field(default_factory=list[Entry])

    def add(self, draw: Callable[[Draw], tuple[Any, ...]], **options: Any) -> Callable[[Function], Function]:
        """List the decorated function, with what draws its arguments; options are fields of JaxProgram."""

        def listed(function: Function) -> Function:
            self.entries.append(Entry(f"{self.kind}.{function.__name__}", function, draw, options))
            return function

        return listed
