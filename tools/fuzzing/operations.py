"""The table of writers: each takes a builder, and writes something or finds nothing to write it on."""

from __future__ import annotations

from collections.abc import Callable

from .complex_numbers import write_complex, write_complex_arithmetic, write_complex_product, write_complex_sum
from .control_flow import write_case, write_if, write_while
from .elementwise import (
    write_binary,
    write_bitcast,
    write_clamp,
    write_compare,
    write_convert,
    write_is_finite,
    write_reduce_precision,
    write_select,
    write_unary,
)
from .indexing import write_gather, write_map, write_scatter, write_sort
from .movement import (
    write_broadcast,
    write_concatenate,
    write_dynamic_slice,
    write_dynamic_update_slice,
    write_iota,
    write_pad,
    write_reshape,
    write_reverse,
    write_slice,
    write_transpose,
)
from .programs import Builder
from .reductions import write_dot_general, write_normalization, write_reduce, write_softmax
from .windows import write_convolution, write_reduce_window, write_select_and_scatter

Writer = Callable[[Builder], object]

WRITERS: tuple[tuple[Writer, int], ...] = (
    (write_unary, 5),
    (write_binary, 9),
    (write_compare, 2),
    (write_is_finite, 1),
    (write_select, 3),
    (write_clamp, 3),
    (write_convert, 3),
    (write_bitcast, 1),
    (write_reduce_precision, 1),
    (write_broadcast, 4),
    (write_reshape, 3),
    (write_transpose, 3),
    (write_reverse, 2),
    (write_slice, 3),
    (write_pad, 3),
    (write_concatenate, 3),
    (write_iota, 1),
    (write_dynamic_slice, 2),
    (write_dynamic_update_slice, 2),
    (write_reduce, 6),
    (write_dot_general, 3),
    (write_softmax, 1),
    (write_normalization, 2),
    (write_while, 2),
    (write_if, 1),
    (write_case, 1),
    (write_gather, 2),
    (write_scatter, 2),
    (write_sort, 2),
    (write_map, 1),
    (write_reduce_window, 2),
    (write_select_and_scatter, 1),
    (write_convolution, 2),
    (write_complex, 1),
    (write_complex_arithmetic, 1),
    (write_complex_sum, 1),
    (write_complex_product, 1),
)


def write_operations(b: Builder, count: int) -> None:
    """Write about `count` operations at the current place."""
    writers = [writer for writer, _ in WRITERS]
    weights = [weight for _, weight in WRITERS]
    if b.profile.favoured:
        weights = [sum(weights) if w.__name__ == b.profile.favoured else weight for w, weight in WRITERS]
    control_flow = (write_while, write_if, write_case)
    before = len(b.lines)
    attempts = 0
    while len(b.lines) - before < count and attempts < 4 * count:
        attempts += 1
        writer = b.random.choices(writers, weights)[0]
        if writer in control_flow and b.depth >= b.profile.depth:
            continue
        writer(b)
