"""Integers as bits: hashes and checksums."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("codes")
program = PROGRAMS.add

Words = tuple[Array, ...]


def _rotated(x: Array, places: int) -> Array:
    return (x >> places) | (x << (32 - places))


@program(
    lambda d: (
        d.integers(0, 1 << 31, 256, 16, dtype="uint32"),
        d.integers(0, 1 << 31, 64, dtype="uint32"),
        d.integers(0, 1 << 31, 8, dtype="uint32"),
    )
)
def secure_hash(blocks: Array, constants: Array, start: Array) -> Array:
    """One block of SHA-256 for 256 messages; the constants are drawn."""

    def schedule(words: Array, _: None) -> tuple[Array, Array]:
        a, b = words[:, 1], words[:, 14]
        low = _rotated(a, 7) ^ _rotated(a, 18) ^ (a >> 3)
        high = _rotated(b, 17) ^ _rotated(b, 19) ^ (b >> 10)
        new = words[:, 0] + low + words[:, 9] + high
        return jnp.concatenate([words[:, 1:], new[:, None]], 1), words[:, 0]

    def mix(state: Words, given: tuple[Array, Array]) -> tuple[Words, None]:
        (a, b, c, d, e, f, g, h), (constant, word) = state, given
        one = h + (_rotated(e, 6) ^ _rotated(e, 11) ^ _rotated(e, 25)) + ((e & f) ^ (~e & g)) + constant + word
        two = (_rotated(a, 2) ^ _rotated(a, 13) ^ _rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        return (one + two, a, b, c, d + one, e, f, g), None

    words = lax.scan(schedule, blocks, None, 64)[1]
    before = tuple(jnp.broadcast_to(word, len(blocks)) for word in start)
    after = lax.scan(mix, before, (constants, words))[0]
    return jnp.stack([x + y for x, y in zip(before, after, strict=True)], -1)


@program(lambda d: (d.integers(0, 256, 64, 512, dtype="uint8"),))
def checksum(rows: Array) -> Array:
    """CRC-32 of rows of bytes, through a table."""
    table = jnp.arange(256, dtype=jnp.uint32)
    for _ in range(8):
        table = jnp.where(table & 1, (table >> 1) ^ jnp.uint32(0xEDB88320), table >> 1)

    def step(sums: Array, byte: Array) -> tuple[Array, None]:
        return table[((sums ^ byte) & 0xFF).astype(jnp.int32)] ^ (sums >> 8), None

    start = jnp.full(len(rows), 0xFFFFFFFF, jnp.uint32)
    return ~lax.scan(step, start, rows.T.astype(jnp.uint32))[0]
