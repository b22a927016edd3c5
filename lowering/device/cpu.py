"""The target CPU: its vectors, caches and rates, as far as decisions depend on them."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.cost import Cost

NATIVE_EXTREMES = 128
"""Bits of vectors up to which machines have IEEE's maximum and minimum as instructions: NEON, but not AVX."""


@dataclass(frozen=True)
class Machine:
    """A CPU; rates and caches are per thread."""

    vector_bits: int = 512
    byte_dots: bool = False
    """Whether it adds four products of bytes to an i32 in one instruction: VNNI."""
    pair_dots: bool = False
    """Whether it multiplies 16-bit integers and adds neighbouring products in one instruction: x86."""
    bfloat_dots: bool = False
    """
    Whether it multiplies bf16 and adds neighbouring products to an f32 in one instruction, AVX512_BF16, faster than two
    multiply-adds of f32.
    """
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 1024 * 1024
    operations_per_ns: int = 8
    """Operations, as counted in dialects/cost.py, in a loop over many elements."""
    vector_operations_per_ns: int = 64
    """Operations on f32 in full vectors, whose elements are in the caches of the thread."""
    products_per_ns: int = 32
    """Multiply-adds in the micro-kernel of a matrix product."""
    bytes_per_ns: int = 4
    """Memory bandwidth while the other threads use it too."""
    cached_bytes_per_ns: int = 96
    """Bytes that vectors move to and from the caches of the thread."""
    launch_ns: int = 512
    """The cost of one more kernel."""
    fork_ns: int = 1024
    """The cost of starting the threads of a parallel loop and waiting for them."""
    tiles: int = 64
    """The tiles of a product to aim for, so that many cores have work; they decide nothing about results."""
    vector_registers: int = 0
    """Where x86 does not say how many: see `registers`."""

    @property
    def registers(self) -> int:
        """Vector registers: where none are stated, those of x86, of which AVX-512 has 32, AVX2 and SSE 16."""
        return self.vector_registers or (32 if self.vector_bits >= 512 else 16)

    def operations_in(self, ns: int) -> int:
        """The operations of one thread in `ns` nanoseconds."""
        return ns * self.operations_per_ns

    def hides(self, cost: Cost) -> bool:
        """Whether the operations take no longer than the memory traffic, so that they are free."""
        return cost.operations * self.bytes_per_ns <= cost.bytes * self.operations_per_ns


CPU = Machine()
"""A typical server CPU of today, also used for decisions made for GPUs or before the target is known."""
