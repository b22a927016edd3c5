"""Loops around loops of single reads and writes, which end when something is found: tables, trees, copies of text."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("searches")
program = PROGRAMS.add


@program(lambda d: (d.integers(0, 1 << 30, 700),))
def hash_table_of_keys(keys: Array) -> tuple[Array, Array]:
    """700 keys into a table of 1024 places, each into the first free one from where its hash is, and those places."""

    def insert(table: Array, key: Array) -> tuple[Array, Array]:
        first = ((key.astype(jnp.uint32) * jnp.uint32(2654435761)) >> 22).astype(jnp.int32)
        at = lax.while_loop(lambda at: (table[at] != -1) & (table[at] != key), lambda at: (at + 1) & 1023, first)
        return table.at[at].set(key), at

    return lax.scan(insert, jnp.full(1024, -1, jnp.int32), keys)


@program(lambda d: (np.sort(d.integers(0, 100_000, 4096)), d.integers(0, 100_000, 300)))
def bisections(sorted_numbers: Array, wanted: Array) -> tuple[Array, Array]:
    """300 searches by halves, one after the other, and the sum of the places that they find."""

    def search(total: Array, number: Array) -> tuple[Array, Array]:
        def halve(between: tuple[Array, Array]) -> tuple[Array, Array]:
            first, end = between
            middle = (first + end) // 2
            less = sorted_numbers[middle] < number
            return jnp.where(less, middle + 1, first), jnp.where(less, end, middle)

        begin = jnp.int32(0), jnp.int32(sorted_numbers.shape[0])
        at, _ = lax.while_loop(lambda between: between[0] < between[1], halve, begin)
        return total + at, at

    return lax.scan(search, jnp.int32(0), wanted)


@program(lambda d: (d.integers(0, 1_000_000, 400),))
def search_tree_of_keys(keys: Array) -> tuple[Array, Array, Array]:
    """A binary tree after 400 insertions of leaves: the left and the right child of each node, and its depth."""
    nodes = keys.shape[0]

    def insert(
        tree: tuple[Array, Array, Array], inserted: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array, Array], None]:
        left, right, depths = tree
        node, key = inserted

        def down(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            _, at, depth, _ = state
            is_less = key < keys[at]
            return at, jnp.where(is_less, left[at], right[at]), depth + 1, is_less

        begin = jnp.int32(nodes), jnp.where(node > 0, 0, -1), jnp.int32(0), jnp.array(False)
        parent, _, depth, is_less = lax.while_loop(lambda state: state[1] >= 0, down, begin)
        left = left.at[jnp.where(is_less, parent, nodes)].set(node, mode="drop")
        right = right.at[jnp.where(is_less, nodes, parent)].set(node, mode="drop")
        return (left, right, depths.at[node].set(depth)), None

    none = jnp.full(nodes, -1, jnp.int32)
    return lax.scan(insert, (none, none, jnp.zeros(nodes, jnp.int32)), (jnp.arange(nodes), keys))[0]


@program(lambda d: (d.integers(0, 8, 1000), d.integers(1, 50, 1000), d.integers(0, 256, 1000)))
def unpacked_text(lengths: Array, distances: Array, letters: Array) -> tuple[Array, Array]:
    """A text of Lempel and Ziv's: 1000 times a copy of some letters at a distance, and a letter."""

    def unpack(state: tuple[Array, Array], packed: tuple[Array, Array, Array]) -> tuple[tuple[Array, Array], None]:
        text, end = state
        length, distance, letter = packed
        length, distance = jnp.where(end > 0, length, 0), jnp.minimum(distance, jnp.maximum(end, 1))
        text = lax.fori_loop(0, length, lambda i, x: x.at[end + i].set(x[end - distance + i]), text)
        return (text.at[end + length].set(letter), end + length + 1), None

    return lax.scan(unpack, (jnp.zeros(9000, jnp.int32), jnp.int32(0)), (lengths, distances, letters))[0]
