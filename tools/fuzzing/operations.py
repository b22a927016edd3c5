"""
Random programs, and the table of their writers: each takes a builder, and writes an operation unless no operands fit.
"""

from __future__ import annotations

import random
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
from .programs import SMALL, Builder, Profile, Program, Value
from .recurrences import write_recurrence
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
    (write_recurrence, 0),
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
    """Write about `count` operations at the current insertion point."""
    writers = [writer for writer, _ in WRITERS]
    weights = [weight for _, weight in WRITERS]
    if b.profile.favoured:
        weights = [sum(weights) if w.__name__ in b.profile.favoured else weight for w, weight in WRITERS]
    control_flow = (write_while, write_recurrence, write_if, write_case)
    before = len(b.lines)
    attempts = 0
    while len(b.lines) - before < count and attempts < 4 * count:
        attempts += 1
        writer = b.random.choices(writers, weights)[0]
        if writer in control_flow and b.depth >= b.profile.depth:
            continue
        writer(b)


def random_program(random_: random.Random, profile: Profile = SMALL) -> Program:
    """Generate a program from the random numbers."""
    builder = Builder(random_, profile, write_operations)
    builder.budget = random_.randint(*profile.operations)
    for _ in range(random_.randint(1, 3)):
        builder.leaf(random_.choice(profile.dtypes), builder.shape())
    write_operations(builder, builder.budget)
    results = _results(builder)
    arguments = ", ".join(f"{a.name}: {a.type}" for a in builder.arguments)
    types = ", ".join(r.type for r in results)
    lines = [f"func.func @main({arguments}) -> ({types}) {{", *builder.lines]
    lines.append(f'"func.return"({", ".join(r.name for r in results)}) : ({types}) -> ()')
    return Program("\n".join([*lines, "}\n"]), builder.inputs, results)


def _results(builder: Builder) -> list[Value]:
    """
    The program's results: most unused values, so that little is dead; sometimes others too, an argument, or one value
    twice.
    """
    unread = [value for value in builder.scope if value.name not in builder.read]
    kept = 0.95 if builder.chance(0.7) else 0.5
    results = [value for value in unread if builder.chance(kept)]
    for _ in range(builder.random.randint(0 if results else 1, 2)):
        results.append(builder.random.choice(builder.scope))
    if builder.chance(0.1):
        results.append(results[0])
    return results
