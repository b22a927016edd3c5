"""
Gathers of whole rows at places that follow from no argument, such as those of an image enlarged to its nearest pixels.

    y = x[:, [0, 0, 1, 1, 2, 2]]     # broadcast and reshape
    y = x[:, [1, 3, 5]]              # slice
    y = x[:, [0, 2, 5, 7, 10, 12]]   # slice of blocks of five
    y = x[:, [4, 5, 6, 0, 1, 2, 3]]  # concatenate, as of a tensor that is rotated

Movements fuse with what computes and reads them, and their loops read no indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Tensor, concatenate
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import shape_of
from .chains import gather, takes_rows
from .constants import known_value
from .rewrite import Rewrite, by, simplifications, start

MOST_ROWS = 1 << 14
"""Rows whose places are computed."""

MOST_RUNS = 8
"""Parts of which rows at known places are put together."""

LEAST_RUN = 3
"""Rows that a part has on average."""

SHORT = 16
"""Elements of the last dimension up to which rows are read by longer loops."""

Digit = tuple[int, int]
"""How far a digit of a row's number counts, and how far apart the places are that it tells apart."""

Run = tuple[int, int, int]
"""The first place of a run, how far apart its places are, and how many there are."""


@simplifications.on(GatherOp)
def gather_of_known_rows(op: Operation) -> Rewrite | None:
    """
    Rows at known places are movements.

    Those of one distance, one by one, each repeated or all of them, are a slice and a broadcast, and the same rows of
    equal blocks a slice of these; a few other runs of places are put together.
    """
    assert isinstance(op, GatherOp)
    dims, shape, result, indices = op.dims, shape_of(op.operand), shape_of(op.result), shape_of(op.start_indices)
    if not all(is_static(each) and 0 not in each for each in (shape, result, indices)) or not takes_rows(op):
        return None
    (along,), batch = dims.index_map, dims.batch_shape(indices)
    value = known_value(op.start_indices, MOST_ROWS) if math.prod(batch) <= MOST_ROWS else None
    if value is None:
        return None
    last = shape[along] - 1
    places = [min(max(int(place), 0), last) for place in value.reshape(-1)]
    digits, x = digits_of(places), start(op.operand)
    if sum(step != 0 for _, step in digits) == 1:
        rows = _repeated(x, along, places, digits)
    elif (blocks := _blocks(x, along, places, digits)) is not None:
        rows = blocks
    elif runs := runs_of(places):
        rows = concatenate([_run(x, along, *run) for run in runs], along)
    else:
        return None
    rows = rows.reshape([*shape[:along], *batch, *shape[along + 1 :]])
    # The dimensions of batches are where the rows were, and those of the result wherever the gather puts them.
    batches = iter(range(along, along + len(batch)))
    others = iter(dim for dim in range(len(result)) if not along <= dim < along + len(batch))
    return by(rows.transpose([next(others if dim in dims.window else batches) for dim in range(len(result))]))


def _repeated(x: Tensor, along: int, places: Sequence[int], digits: Sequence[Digit]) -> Tensor:
    """Rows at places with one digit that moves, the digits as dimensions."""
    ((moving, count, step),) = [(at, count, step) for at, (count, step) in enumerate(digits) if step]
    rows = _run(x, along, places[0], step, count)
    before, after, sizes = x.shape[:along], x.shape[along + 1 :], [count for count, _ in digits]
    kept = [*range(along), along + moving, *range(along + len(sizes), len(before) + len(sizes) + len(after))]
    return rows.broadcast([*before, *sizes, *after], kept)


def _blocks(x: Tensor, along: int, places: Sequence[int], digits: Sequence[Digit]) -> Tensor | None:
    """Rows of which the same ones are taken of each block, as 0, 3, 6 of each 8; None if there are no such blocks."""
    if len(digits) != 2:
        return None
    (count, size), (taken, step) = digits
    reach = (taken - 1) * step
    # The last block is whole if the first one begins before its first row.
    first = min(places[0], x.shape[along] - count * size)
    inside = places[0] - first
    if step < 1 or first < 0 or inside + reach >= size:
        return None
    before, after = x.shape[:along], x.shape[along + 1 :]
    blocks = x.part(along, first, first + count * size).reshape([*before, count, size, *after])
    return _run(blocks, along + 1, inside, step, taken).reshape([*before, count * taken, *after])


def _run(x: Tensor, along: int, first: int, step: int, count: int) -> Tensor:
    """Rows from one on, each a step from the one before."""
    steps, low, high = [1] * len(x.shape), [0] * len(x.shape), list(x.shape)
    last = first + step * (count - 1)
    low[along], high[along], steps[along] = min(first, last), max(first, last) + 1, max(1, abs(step))
    rows = x.slice(low, high, steps)
    if step == 0:
        high[along] = count
        kept = [dim for dim in range(len(high)) if dim != along]
        return rows.reshape([high[dim] for dim in kept]).broadcast(high, kept)
    return rows.reverse([along]) if step < 0 else rows


def runs_of(places: Sequence[int]) -> list[Run]:
    """Places as runs of one distance each; none if they are many for so few places."""
    found, at = list[Run](), 0
    while at < len(places):
        apart = np.diff(places[at:])
        step = int(apart[0]) if len(apart) else 1
        others = np.flatnonzero(apart != step)
        count = int(others[0]) + 1 if len(others) else len(apart) + 1
        found.append((places[at], step if count > 1 else 1, count))
        at += count
        if len(found) > MOST_RUNS or LEAST_RUN * len(found) > len(places):
            return []
    return found


def digits_of(places: Sequence[int]) -> list[Digit]:
    """
    Digits of the numbers of places, the last one counted first, so that a place is the first one and the sum of what
    they tell apart; none if there are no such digits. One of them moves if they are all the same.
    """
    rest, digits = np.asarray(places), list[Digit]()
    while len(rest) > 1:
        apart = np.diff(rest)
        step = int(apart[0])
        others = np.flatnonzero(apart != step)
        count = len(rest) if len(others) == 0 else int(others[0]) + 1
        if len(rest) % count:
            return []
        table = rest.reshape(-1, count)
        rest = table[:, 0]
        if (table != rest[:, np.newaxis] + step * np.arange(count)).any():
            return []
        digits.insert(0, (count, step))
    return digits if any(step for _, step in digits) else [(1, 1), *digits]


@simplifications.on(GatherOp)
def gather_of_long_rows(op: Operation) -> Rewrite | None:
    """Rows of several dimensions, the last of few elements, have one: loops along them are long."""
    assert isinstance(op, GatherOp)
    shape, result, dims = shape_of(op.operand), shape_of(op.result), op.dims
    if not (is_static(shape) and is_static(result)) or 0 in shape or 0 in result or not takes_rows(op):
        return None
    (along,) = dims.index_map
    count, kept = len(shape) - along - 1, len(result) - (len(shape) - along - 1)
    if count < 2 or shape[-1] >= SHORT or dims.window[len(dims.window) - count :] != tuple(range(kept, len(result))):
        return None
    length = math.prod(shape[along + 1 :])
    x = start(op.operand).reshape([*shape[: along + 1], length])
    window = dims.window[: len(dims.window) - count + 1]
    sizes = (*op.sizes[: along + 1], length)
    indices = Tensor(x.builder, op.start_indices)
    rows = gather(x.builder, x.value, indices, replace(dims, window=window), sizes, [*result[:kept], length])
    return by(rows.reshape(result))
