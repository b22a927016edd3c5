"""The chirps of Fourier transforms, as tables."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.ir import Attribute

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.algorithms.fourier import unit_circle
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp
from ...hlo_dialect.types import Array, f64, make_tensor

Table: TypeAlias = Array | Tensor
"""A constant array, or a tensor that the program computes."""


def chirp_of(builder: Builder, part: Attribute, n: int, sign: int, computed: bool) -> tuple[Table, Table]:
    """cos and sin of `sign * pi * j * j / n` for j up to n, as arrays or `computed` by the program, of type `part`."""
    if computed:
        return _computed_chirp(builder, part, n, sign)
    numbers = np.arange(n, dtype=np.int64)
    return unit_circle(numbers * numbers, 2 * n, sign)


def mirrored(values: Tensor, size: int) -> Tensor:
    """An array of `size` elements with the values at j and at size - j, zeros in the middle."""
    (n,) = values.shape
    middle = values.builder.splat(0.0, make_tensor((size - 2 * n + 1,), values.element))
    return concatenate([values, middle, values.part(0, 1, n).reverse([0])], 0)


def _computed_chirp(builder: Builder, part: Attribute, n: int, sign: int) -> tuple[Tensor, Tensor]:
    """
    Compute a chirp at run time. Squares modulo 2 n are exact in f64 up to n = 2**26; an offset of one period is
    harmless.

    The barrier keeps fusion from recomputing the sines at every use.
    """
    places = builder.iota(make_tensor((n,), f64), 0)
    square = places * places
    turns = (square * (0.5 / n)).floor()
    angle = (square - turns * (2.0 * n)) * (np.pi / n)
    values = [table.value for table in (angle.cosine().convert(part), (angle.sine() * float(sign)).convert(part))]
    barrier = OptimizationBarrierOp.create(operands=values, result_types=[value.type for value in values])
    builder.insert(barrier)
    cos, sin = builder.tensors(barrier.results)
    return cos, sin
