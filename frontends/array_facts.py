"""The facts of arrays that follow from their shape and dtype."""

from __future__ import annotations

import math
from typing import Any


class ArrayFacts:
    """Base of a class of arrays with a `shape` and a `dtype`."""

    __slots__ = ()

    shape: Any
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]
