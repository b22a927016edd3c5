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


@program(
    lambda d: (
        d.integers(0, 256, 200, 20, dtype="uint8"),
        d.integers(0, 256, 20, 32, dtype="uint8"),
    )
)
def finite_field_product(a: Array, b: Array) -> Array:
    """A product of matrices over the field of 256 elements, by tables of powers and logarithms (Reed-Solomon codes)."""

    def double(x: Array, _: None) -> tuple[Array, Array]:
        return jnp.where(x >= 128, (x << 1) ^ 0x11D, x << 1), x

    powers = lax.scan(double, jnp.int32(1), None, 255)[1]
    logarithms = jnp.zeros(256, jnp.int32).at[powers].set(jnp.arange(255, dtype=jnp.int32))
    x, y = a.astype(jnp.int32)[:, :, None], b.astype(jnp.int32)[None]
    products = powers[(logarithms[x] + logarithms[y]) % 255]
    terms = jnp.where((x == 0) | (y == 0), 0, products)
    return lax.reduce(terms, jnp.int32(0), lax.bitwise_xor, (1,)).astype(jnp.uint8)


@program(lambda d: (d.integers(0, 2, 1, dtype="int32"),))
def prime_sieve(first: Array) -> Array:
    """The primes below 5,000: multiples of each number are crossed out where they are."""
    numbers = jnp.arange(5000) + first * 0

    def cross_out(i: Array, prime: Array) -> Array:
        return prime & ((numbers < i * i) | (numbers % i != 0))

    return lax.fori_loop(2, 71, cross_out, numbers >= 2)
