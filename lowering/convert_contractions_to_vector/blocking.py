"""The block sizes of a matrix product, from its shape and the machine's vector width and caches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Float64Type

from ..device.cpu import Machine
from .contraction import Contraction

MIN_MULTIPLICATIONS = 8192
"""Smaller products, in multiply-adds, are plain loops: packing would cost more than it saves."""

MIN_ROWS = 4
"""With fewer rows or columns, the product reads its matrices hardly more than once; plain loops stream them."""

TASKS = 64
"""The number of output tiles to aim for, so that many cores have work."""


@dataclass(frozen=True)
class Blocking:
    """The block sizes of a product. A panel is `mr` rows of A or `nr` columns of B, stored contiguously by k."""

    lanes: int
    mr: int
    nr: int
    kc: int
    """Contracted elements (k) of one pass of the micro-kernel."""
    m_panels: int
    n_panels: int
    tile_m: int
    """Panels of A per output tile."""
    tile_n: int

    @property
    def tiles(self) -> int:
        return -(-self.m_panels // self.tile_m) * -(-self.n_panels // self.tile_n)


def is_worth_blocking(product: Contraction) -> bool:
    return (
        product.multiplications >= MIN_MULTIPLICATIONS
        and product.m.size >= MIN_ROWS
        and product.n.size >= MIN_ROWS
        and product.depth >= MIN_ROWS
    )


def block(product: Contraction, machine: Machine) -> Blocking:
    """Choose the micro-kernel's shape and the tiles."""
    bytes_each = 8 if isinstance(product.element, Float64Type) else 4
    lanes = machine.vector_bits // 8 // bytes_each
    m, n, k = product.m.size, product.n.size, product.k.size
    vectors = 1 if n <= lanes else 2
    nr = lanes * vectors
    # Accumulators, one register per vector of B, one for the broadcast element of A, one spare.
    most = min((machine.registers - vectors - 2) // vectors, 14)
    mr = min(range(min(most, 4), most + 1), key=lambda r: -(-m // r) * (r + 0.7))
    # Panels stream well through the L1 cache; longer passes write C less often, shorter ones round less.
    passes = max(1, -(-k * nr * bytes_each // (2 * machine.l1_bytes)))
    kc = -(-k // passes)
    m_panels, n_panels = -(-m // mr), -(-n // nr)
    tile_m = min(m_panels, max(1, machine.l2_bytes // 4 // (kc * mr * bytes_each)), 8)
    tile_n = min(n_panels, 16)
    around = 1
    for loop in product.outer:
        around *= loop.size
    # Narrow tiles first: while a tile is as high as C, no other tile needs its panels of B.
    while tile_m * tile_n > 4 and around * -(-m_panels // tile_m) * -(-n_panels // tile_n) < TASKS:
        if tile_n > 2:
            tile_n = -(-tile_n // 2)
        else:
            tile_m = -(-tile_m // 2)
    return Blocking(lanes, mr, nr, kc, m_panels, n_panels, tile_m, tile_n)
