"""Plans of row kernels with products, such as attention."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ...dialects.gpu.plans import StreamedRows
from ...dialects.gpu.product_plans import ROW_LANES, WARP_ROWS
from ..device.gpu import GpuChip
from ..map_kernels_to_gpu.contraction.loader import copies_asynchronously
from ..map_kernels_to_gpu.reduction.chain import temporaries_of
from ..map_kernels_to_gpu.streamed_rows.analysis import streamed_form
from ..map_kernels_to_gpu.streamed_rows.form import NotStreamedError, StreamedForm
from ..map_kernels_to_gpu.streamed_rows.mapping import misfit, takes_tensor_cores
from ..map_kernels_to_gpu.streamed_rows.tiles import Layout, factor_tile, row_tile
from ..map_kernels_to_gpu.threads.phases import Phase

TENSOR_TILES = ((64, 64), (64, 32), (64, 16), (32, 32), (16, 32), (16, 16))
"""Rows and their elements, on tensor cores: the first tile that fits is taken."""

REGISTER_TILES = ((64, 64), (64, 32), (32, 32), (16, 16))

ROWS_OF_A_THREAD = 4
"""Without tensor cores: each factor that a thread reads is used for this many rows."""

MOST_SUMS = 160
"""Registers of a thread for scores, what is computed of each, and sums; fragments and addresses take the rest."""


def streamed_plan(phase: Phase, chip: GpuChip) -> StreamedRows | str:
    """The plan of a row kernel with products, or why there is none."""
    if not phase.is_structured:
        return "the kernel has operations of other kinds"
    try:
        form = streamed_form(phase, temporaries_of(phase.ops, phase.nests()))
    except NotStreamedError as error:
        return str(error)
    first = _plan(form, chip)
    then = first if form.sums is None else _plan(form.sums, chip)
    if first is None or then is None:
        return f"no tile of them fits into the shared memory and the registers of {chip.name}"
    return first if form.sums is None else replace(first, then=then)


def _plan(form: StreamedForm, chip: GpuChip) -> StreamedRows | None:
    """The plan of one launch."""
    return next((plan for plan in _candidates(form, chip) if _fits(form, plan, chip)), None)


def _candidates(form: StreamedForm, chip: GpuChip) -> Iterator[StreamedRows]:
    """The plans to choose from, the best first: two stages before one, large tiles before small ones."""
    tensor = all(takes_tensor_cores(product, chip) for product in form.products)
    for m, n in TENSOR_TILES if tensor else REGISTER_TILES:
        if m > 2 * math.prod(form.rows) and m > WARP_ROWS:
            continue
        threads = m // WARP_ROWS * chip.warp if tensor else max(chip.warp, m * ROW_LANES // ROWS_OF_A_THREAD)
        for stages in (2, 1):
            plan = StreamedRows((m, n), threads, tensor, stages, copies=stages > 1)
            copies = chip.has_async_copies and _copies(form, plan)
            if copies or stages == 1:
                yield StreamedRows((m, n), threads, tensor, stages, copies)


def _copies(form: StreamedForm, plan: StreamedRows) -> bool:
    """Whether all factors can be copied asynchronously."""
    rows = [row_tile(product, plan) for product in form.scores]
    return all(copies_asynchronously(*tile) for tile in (*rows, *(factor_tile(each, plan) for each in form.products)))


def _fits(form: StreamedForm, plan: StreamedRows, chip: GpuChip) -> bool:
    """Whether tiles fit into shared memory twice, if there are two stages, and sums into registers."""
    room = chip.shared_per_block // (1 if plan.stages == 1 else 2)
    lanes = plan.m * plan.n // plan.threads
    columns = max(sum(each.columns for each in form.mixtures_of(at)) for at in range(form.passes))
    sums = 2 * len(form.scores) * lanes + plan.m * columns // plan.threads
    return misfit(form, plan, chip) is None and Layout.of(form, plan).size <= room and sums <= MOST_SUMS
