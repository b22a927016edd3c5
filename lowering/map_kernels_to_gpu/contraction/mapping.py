"""
Contractions: matrix products, batched and transposed ones, convolutions, with what follows them elementwise.

Which kernel a product gets, by its shape, its types and the chip; `contraction_tiles.py` has the sizes of tiles.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...loop_nests.loop_builder import Index
from ..threads.launch import KernelMapper, Launch, Phase
from ..threads.ranges import THREADS, over_threads
from .block import bytes_of, scratch_of
from .epilogue import Chain, ResultWriter, chain_of, local_chain, private_buffers
from .form import split
from .registers import register_kernel
from .tensor_cores import takes_tensor_cores, tensor_kernel, tensor_tilings
from .tiles import REGISTER_TILES, WIDE_REGISTER_TILES, Tiling, choose

LEAST_PRODUCTS = 4096
"""Products of a contraction, in all, below which a thread for each result does as well."""


THIN = 4
"""Rows, or columns, below which a tile's loads are hardly used more than once."""


def map_contraction(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a contraction, alone or with elementwise operations after it; whether the phase is one."""
    chain = chain_of(phase)
    if chain is None or not _is_worth_tiles(chain):
        return False
    private = private_buffers(phase, chain)
    tiling = _tiling(mapper, chain)
    launch = Launch(mapper, phase)
    scratch = scratch_of(launch, chain.product, tiling)
    inside = None if scratch is None else launch.parameter(scratch)
    kernel = tensor_kernel if takes_tensor_cores(chain.product, mapper.chip) else register_kernel
    kernel(launch, local_chain(launch, private), tiling, inside)
    if scratch is not None:
        _add_splits(mapper, phase, private, tiling, scratch)
    return True


def _is_worth_tiles(chain: Chain) -> bool:
    """
    Inner products are reductions; outer ones, and small ones, have nothing to keep in shared memory.

    Nor have depthwise convolutions, batches of products with a vector: where neighbours in memory are of different
    batches, threads side by side are to compute those.
    """
    product = chain.product
    if product.rows == product.columns == 1 or product.depth == 1:
        return False
    thin = min(product.rows, product.columns) < THIN
    if thin and any(digit.c == 1 and digit.size > 1 for digit in product.batch):
        return False
    return product.batches * product.rows * product.columns * product.depth >= LEAST_PRODUCTS


def _tiling(mapper: KernelMapper, chain: Chain) -> Tiling:
    product = chain.product
    shape = (product.batches, product.rows, product.columns, product.depth)
    if takes_tensor_cores(product, mapper.chip):
        table = tensor_tilings(product, mapper.chip)
    else:
        table = WIDE_REGISTER_TILES if bytes_of(product.total) > 4 else REGISTER_TILES
    return choose(table, shape, mapper.chip)


def _add_splits(mapper: KernelMapper, phase: Phase, private: list[bool], tiling: Tiling, scratch: SSAValue) -> None:
    """A second launch: a thread for each element of C adds the sums of the splits in order, and writes the result."""
    launch = Launch(mapper, phase)
    parts = launch.parameter(scratch)
    chain = local_chain(launch, private)
    product, builder = chain.product, launch.builder
    writer = ResultWriter(launch, chain)
    batches = [digit.size for digit in product.batch]
    sizes = (product.batches, product.rows, product.columns)

    def element(indices: list[Index]) -> None:
        batch, m, n = indices
        total = builder.load(parts, [0, batch, m, n])

        def add(number: SSAValue, sums: list[SSAValue]) -> list[SSAValue]:
            part = builder.load(parts, [number, batch, m, n])
            made = type(product.add).create(
                operands=[sums[0], part], result_types=[part.type], properties=product.add.properties
            )
            return [builder.insert(made).results[0]]

        (total,) = builder.loop(1, tiling.splits, add, inits=[total])
        writer.write(split(builder, batch if batches else 0, batches), m, n, total)

    launch.finish(over_threads(builder, sizes, element), (THREADS, 1, 1))
