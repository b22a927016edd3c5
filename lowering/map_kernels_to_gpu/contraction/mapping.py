"""Contractions: matrix products and convolutions, with elementwise operations after them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects.gpu.nvgpu import bytes_of
from ....dialects.gpu.plans import RegisterTile, TensorTile
from ...device.chips import MAX_REGISTERS
from ...device.gpu import GpuChip
from ...loop_nests.indices import delinearized
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.ranges import THREADS, blocks_over, over_threads
from .block import scratch_of
from .epilogue import FusedProduct, ResultWriter, fused_product_of, local_product, private_buffers
from .form import split_depth
from .fragments import HALF_BYTES
from .loader import copies_asynchronously, lanes_of, tile_shapes
from .matrix_cores import matrix_kernel
from .registers import register_kernel, vector_of
from .tensor_cores import takes_tensor_cores, tensor_kernel


def map_contraction(mapper: KernelMapper, phase: Phase) -> None:
    """Map a contraction, alone or followed by elementwise operations."""
    fused, plan = fused_product_of(phase), phase.plans[0]
    assert isinstance(plan, (RegisterTile, TensorTile))
    if fused is None:
        return phase.require(False, "the operations are no contraction with elementwise ones over its result")
    _check(phase, fused, plan, mapper.chip)
    private = private_buffers(phase, fused)
    launch = Launch(mapper, phase)
    scratch = scratch_of(launch, fused.product, plan)
    inside = None if scratch is None else launch.parameter(scratch)
    if isinstance(plan, TensorTile):
        emit = matrix_kernel if mapper.chip.matrix_depth(fused.product.factors()[0].element) else tensor_kernel
        emit(launch, local_product(launch, private), plan, inside)
    else:
        register_kernel(launch, local_product(launch, private), plan, inside)
    if scratch is not None:
        _add_splits(mapper, phase, private, plan.splits, scratch)


def _check(phase: Phase, fused: FusedProduct, plan: RegisterTile | TensorTile, chip: GpuChip) -> None:
    """Raises DiagnosticError if a tile's shape does not fit its accesses, or the chip lacks the instructions."""
    product, shapes = fused.product, tile_shapes(fused.product, plan)
    depth = split_depth(plan, product.depth)
    empty = (plan.splits - 1) * depth >= product.depth
    phase.require(not empty, f"{plan.splits} splits of {depth} products are more than the {product.depth} there are")
    for factor, shape in zip(product.factors(), shapes, strict=True):
        line, lanes = shape.depth if factor.along_depth else shape.outer, lanes_of(factor, shape)
        phase.require(lanes <= line, f"lines of {line} elements are shorter than a vector of {lanes}")
    words = max(1, bytes_of(product.total) // 4)
    sums = plan.share_m * plan.share_n * words * plan.units // plan.block
    phase.require(sums < MAX_REGISTERS, f"{sums} registers of a thread for its sums; the limit is {MAX_REGISTERS}")
    if isinstance(plan, RegisterTile):
        least = vector_of(product.total)
        phase.require(min(plan.share_m, plan.share_n) >= least, f"a thread has {least} rows and columns at least")
        return
    possible = takes_tensor_cores(product, chip)
    phase.require(possible, f"{chip.name} has no tensor cores for these types, or the program does not allow tf32")
    phase.require(plan.lanes == chip.warp, f"a warp of {chip.name} has {chip.warp} threads, not {plan.lanes}")
    step = 2 * HALF_BYTES // bytes_of(product.factors()[0].element)
    phase.require(plan.k % step == 0, f"a multiplication takes {step} products of each sum, k is {plan.k}")
    if plan.copies:
        phase.require(chip.has_async_copies, f"{chip.name} has no asynchronous copies")
        whole = all(copies_asynchronously(*pair) for pair in zip(product.factors(), shapes, strict=True))
        phase.require(whole, "a factor is not aligned to 4 bytes, or has another layout than ldmatrix reads")


def _add_splits(mapper: KernelMapper, phase: Phase, private: list[bool], splits: int, scratch: SSAValue) -> None:
    """Add a second launch: a thread per element of C adds the splits' partial sums in order and writes the result."""
    launch = Launch(mapper, phase)
    parts = launch.parameter(scratch)
    fused = local_product(launch, private)
    product, builder = fused.product, launch.builder
    writer = ResultWriter(launch, fused)
    batches = [digit.size for digit in product.batch]
    sizes = (product.batches, product.rows, product.columns)
    with over_threads(builder, sizes) as (batch, m, n):
        first = builder.load(parts, [0, batch, m, n])
        with builder.loop(1, splits, carry=[first]) as (number, totals):
            part = builder.load(parts, [number, batch, m, n])
            made = type(product.add).create(
                operands=[totals[0], part], result_types=[part.type], properties=product.add.properties
            )
            builder.yield_(builder.insert(made).results[0])
        writer.write(delinearized(batch, batches), m, n, totals[0])
    launch.finish(blocks_over(sizes), THREADS)
