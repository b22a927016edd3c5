"""Lower large matrix products to packed, register-blocked loops of vector multiply-adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation

from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import CONTRACTION, Kernel, kernels_of
from ...hlo_dialect.hlo_pass import HloPass
from ..convert_linalg_to_scf.conversion import Absorbed, initial_values
from ..device.cpu import CPU, Machine
from ..loop_nests.fills import absorbed_fills, is_zero
from ..loop_nests.loop_builder import LoopBuilder
from .blocking import Blocking, block, has_few_columns, is_worth_blocking
from .constants import ConstantFactors, KernelConstants, constants_of
from .contraction import Contraction, Sums, contraction_in, contraction_of, sums_of_products
from .direct import DirectProductEmitter
from .edges import edges_of
from .epilogue import epilogue_of
from .factors.computed import NONE, Computed, computed_factors
from .factors.invariant import InvariantFactors
from .factors.rearranged import alternates, with_matrices_apart
from .images import convert_images
from .in_place import (
    block_rows,
    in_place_blocking,
    least_rows,
    oriented,
    reads_in_place,
    reads_pairs,
    reads_rows_in_pairs,
    shares_columns,
    streams,
    sums_along,
    with_near_steps,
    with_pairs,
    with_wide_rows,
)
from .kernel import ProductEmitter
from .known_kernels import KnownKernels
from .lanes.emission import emit_lane_product, is_in_parts
from .lanes.pairs_along import emit_pairs_along, in_pairs_along
from .lanes.products import LaneProduct, factors_in, lane_product_of
from .lanes.row_sums import row_sums_of
from .padding import PaddedProductEmitter, Padding, Rows, by_groups, compute_padded, padding_of, rows_of
from .rows.products import convert_row_products
from .small import emit_small, is_small
from .split import add_chunks, block_packed, cut_of, in_chunks, packs_the_larger
from .sums.factor_columns import column_sum_of
from .sums.result_columns import combines_columns, sums_after
from .tiling import Tiling, tilings
from .together import Columns, columns_of, with_columns


def convert_contractions(kernel: func.FuncOp, machine: Machine, constants: KernelConstants) -> None:
    """Lower the marked products of one kernel if they are large enough."""
    structured = _structured(kernel)
    if not any(CONTRACTION in op.attributes for op in structured):
        return
    rows, absorbed = Kernel(kernel).rows, absorbed_fills(structured)
    if rows and convert_row_products(kernel, structured, absorbed, rows, machine, constants):
        return
    if not rows and convert_images(kernel, structured, absorbed, machine, constants):
        return
    builder = LoopBuilder(kernel)
    for op, fill, epilogue, product, columns, emit, computed in _products(kernel, structured, absorbed, machine):
        last = epilogue or op
        overwrite = fill is not None and is_zero(fill.inputs[0])
        builder.insert_at(last)
        if isinstance(product, LaneProduct):
            padding = emit_lane_product(builder, kernel, op, product, machine)
        elif emit is not None:
            emit(builder, kernel, product, machine)
            padding = ()
        else:
            if columns is not None:
                product = with_columns(builder, product, columns)
            product = oriented(product, machine)
            if not product.computes and alternates(product, constants_of(kernel)):
                product = with_matrices_apart(builder, product, machine)
            # Other sums stay, as loops of their own.
            product = replace(product, sums=tuple(filter(combines_columns, product.sums)))
            fills = absorbed_fills(_structured(kernel))
            summed = column_sum_of(product, last, fills)
            done = emit_product(builder, kernel, constants, op, product, machine, overwrite, fills, summed)
            begun = [fill for each in done if isinstance(each, GenericOp) for fill in fills.get(each, ())]
            padding = (*done, *filter(None, begun))
        unread, target = [value.owner for value in op.inputs[2:]], op.outputs[0]
        makers = [each for each in computed if each is not None]
        unread += [each.outputs[0].owner for each in makers]
        for dead in dict.fromkeys((last, op, fill if overwrite else None, *makers, *unread, *padding)):
            if isinstance(dead, Operation):
                erase_op(dead)
        if isinstance(target.owner, memref.AllocOp) and target.first_use is None:
            erase_op(target.owner)  # Tasks keep tiles of it.


def _structured(kernel: func.FuncOp) -> list[FillOp | GenericOp | memref.CopyOp]:
    return [op for op in kernel.body.block.ops if isinstance(op, (FillOp, GenericOp, memref.CopyOp))]


class _Product(NamedTuple):
    """A product of a kernel: its generic, the fill of its output, its epilogue, and what these compute."""

    op: GenericOp
    fill: FillOp | None
    epilogue: GenericOp | None
    product: Contraction | LaneProduct
    columns: Columns | None
    """The columns of C that it is a part of; see together.py."""
    emit: Callable[[LoopBuilder, func.FuncOp, Contraction, Machine], None] | None = None
    """The emitter of calls of a function that multiplies it in place, if it is not blocked."""
    computed: Computed = NONE
    """The generics that compute its factors while they are packed."""


def _is_in_plain_loops(kernel: func.FuncOp, product: Contraction, machine: Machine) -> bool:
    """Whether plain loops are faster than blocks, for which a constant would be packed when compiling."""
    if not sums_along(product, machine):
        return False
    return not any(each.root in constants_of(kernel) for each in (product.a, product.b))


def _products(
    kernel: func.FuncOp,
    structured: Sequence[FillOp | GenericOp | memref.CopyOp],
    absorbed: Absorbed,
    machine: Machine,
) -> Iterator[_Product]:
    """The products of a kernel that are blocked, each as it is when its turn comes."""
    rows = Kernel(kernel).rows
    shared = {kernel.body.block.args[number] for number in Kernel(kernel).shared}
    for op in [op for op in structured if isinstance(op, GenericOp) and CONTRACTION in op.attributes]:
        sums = sums_of_products(op)
        if sums is None:
            continue
        factors = factors_in(sums)
        lanes = None if factors is None else lane_product_of(factors, machine) or row_sums_of(factors, machine)
        fill = None if lanes is None else absorbed[op][0]
        if lanes is not None and fill is not None and is_zero(fill.inputs[0]):
            epilogue = None if lanes.adds_lanes or is_in_parts(lanes) else epilogue_of(op, fill, shared)
            together = None if epilogue is None else _lanes_of(op, machine, epilogue)
            if epilogue is not None:
                # Without the epilogue in its tasks, too, the product may write to the epilogue's output now.
                lanes = together or _lanes_of(op, machine) or lanes
            yield _Product(op, fill, None if together is None else epilogue, lanes, None)
            continue
        product = contraction_in(sums) or _row_by_matrix(sums, machine)
        if product is None:
            continue
        fill = absorbed[op][0]
        if not rows and fill is not None and is_zero(fill.inputs[0]):
            if is_small(product, machine):
                yield _Product(op, fill, None, product, None, emit_small)
                continue
            is_constant = any(each.root in constants_of(kernel) for each in (product.a, product.b))
            along = in_pairs_along(product, machine, is_constant)
            if along is not None:
                yield _Product(op, fill, None, along, None, emit_pairs_along)
                continue
        columns = columns_of(product, machine)
        is_blocked = is_worth_blocking(product, least_rows(product, machine)) and not has_few_columns(product, machine)
        if columns is None and (not is_blocked or _is_in_plain_loops(kernel, product, machine)):
            continue
        # No tile of a sum in chunks is complete before the chunks are added.
        whole = columns is None and cut_of(oriented(product, machine)) is None and not shares_columns(product, machine)
        epilogue = epilogue_of(op, fill, shared) if whole else None
        computed = computed_factors(op, shared) if columns is None and not rows else NONE
        after = sums_after(op, epilogue or op) if whole else []
        together = contraction_of(op, epilogue, after, computed) if epilogue is not None or after else None
        if together is None:
            as_before = epilogue is None and not any(computed)
            alone = product if as_before else contraction_of(op, computed=computed)
            yield _Product(op, fill, None, alone or product, columns, computed=computed if alone else NONE)
        else:
            yield _Product(op, fill, epilogue, together, columns, computed=computed)


def _row_by_matrix(sums: Sums, machine: Machine) -> Contraction | None:
    """The product of one row by a matrix that is read in pairs of rows; plain loops multiply others as fast."""
    product = contraction_in(sums, row=True)
    return product if product is not None and reads_rows_in_pairs(product, machine) else None


def _lanes_of(op: GenericOp, machine: Machine, epilogue: GenericOp | None = None) -> LaneProduct | None:
    """The product of lanes that a generic computes, with its epilogue, as it is now."""
    found = sums_of_products(op, epilogue)
    factors = None if found is None else factors_in(found)
    return None if factors is None else lane_product_of(factors, machine)


def emit_product(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    constants: KernelConstants,
    op: GenericOp,
    product: Contraction,
    machine: Machine,
    overwrite: bool,
    absorbed: Absorbed,
    summed: GenericOp | None = None,
) -> Sequence[Operation]:
    """
    Emit the product of a generic at the builder's insertion point, in chunks of its sum where that is better. `summed`:
    the generic that sums the columns of B, which are summed while they are packed, if they are. `absorbed`: what the
    kernel's sums begin with.

    Returns the operations that would pad its input, if it does that itself, and the sums that the product includes.
    """
    cut = cut_of(product)
    if cut is None:
        padding = padding_of(op, kernel)
        product = _with_copies(builder, kernel, product, machine, padding)
        emitter = emitter_of(builder, kernel, constants, op, product, machine, overwrite, padding)
        done = _padded(builder, padding, emitter)
        sums = None if summed is None else emitter.sum_columns()
        emitter.emit()
        if summed is not None and sums is not None:
            builder.insert_at(summed)
            sums.finish(product, summed)
            done.append(summed)
        for each in emitter.sums:
            builder.insert_at(each.nest.op)
            assert isinstance(each.nest.op, GenericOp)
            each.finish(initial_values(each.nest.op, absorbed))
            done.append(each.nest.op)
        return done
    padding = padding_of(op, kernel)
    if padding is None and packs_the_larger(product, machine):
        product = product.transposed()
        cut = cut_of(product)
        assert cut is not None
    parts = _with_copies(builder, kernel, in_chunks(builder, product, cut), machine, padding)
    emitter = emitter_of(builder, kernel, constants, op, parts, machine, True, padding)
    done = _padded(builder, padding, emitter)
    emitter.emit()
    add_chunks(builder, product, parts, overwrite)
    return done


def _with_copies(
    builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine, padding: Padding | None
) -> Contraction:
    """
    The product that reads a copy of A where that is better read in place, along near steps. `padding`: that of the left
    factor, which cannot be copied where it is computed later.
    """
    if padding is None or padding.maker is None:
        product = with_pairs(builder, kernel, product, machine)
    if padding is None and product.b.root not in constants_of(kernel):
        product = with_wide_rows(builder, kernel, product, machine)
    return with_near_steps(product, machine)


def _padded(builder: LoopBuilder, padding: Padding | None, emitter: ProductEmitter) -> list[Operation]:
    """
    Write the padded tensor of a product whose emitter reads it, if it is computed. Returns the operations that would
    have made what the emitter, or this, pads.
    """
    if isinstance(emitter, PaddedProductEmitter):
        return list(emitter.rows.padding.operations)
    if padding is None or padding.maker is None:
        return []
    compute_padded(builder, padding)
    return [padding.generic, *padding.making]


@dataclass(frozen=True)
class _Plan:
    """How a contraction is multiplied: its blocks, and which factors are packed."""

    blocking: Blocking
    a_packed: bool
    b_packed: bool
    b_streams: bool = False
    """Whether passes go along a few rows of B; see direct.py."""


def _plan(product: Contraction, machine: Machine, kernel: func.FuncOp) -> _Plan:
    if product.computes:
        return _Plan(block_packed(product, machine), a_packed=True, b_packed=True)
    inside = None if product.b.root in constants_of(kernel) else in_place_blocking(product, machine)
    blocking, b_packed = inside or block(product, machine), inside is None
    if b_packed and not reads_in_place(product, machine):
        return _Plan(block_packed(product, machine), a_packed=True, b_packed=True)
    b_streams = not b_packed and streams(product, machine)
    if b_packed and reads_pairs(product, machine):
        blocking = block(product, machine, packed=True)
    blocking = block_rows(product, blocking, machine, b_streams)
    return _Plan(blocking, a_packed=False, b_packed=b_packed, b_streams=b_streams)


def _plan_of(
    op: GenericOp, product: Contraction, machine: Machine, kernel: func.FuncOp, padding: Padding | None
) -> tuple[_Plan, Rows | None]:
    """The plan, with a tiling that the generic states, and the rows that tasks pad, if they do."""
    plan, tiling = _plan(product, machine, kernel), Tiling.of(op)
    if tiling is not None:
        plan = replace(plan, blocking=tiling.apply(op, product, plan.blocking, machine, not plan.a_packed))
    return plan, None if padding is None or plan.a_packed else rows_of(padding, product, plan.blocking)


def emitter_of(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    constants: KernelConstants,
    op: GenericOp,
    product: Contraction,
    machine: Machine,
    overwrite: bool,
    padding: Padding | None,
) -> ProductEmitter:
    """
    The emitter for a contraction, depending on which factors are packed, and on a tiling that the generic states.
    `padding`: that of the generic's left factor.
    """
    padding = padding if product.a.root is op.inputs[0] else None
    plan, rows = _plan_of(op, product, machine, kernel, padding)
    grouped = None if padding is None else by_groups(padding, product)
    if grouped is not None:
        of_groups, rows_of_group = _plan_of(op, grouped[1], machine, kernel, grouped[0])
        if rows_of_group is not None:
            plan, rows, (padding, product) = of_groups, rows_of_group, grouped
    blocking = plan.blocking
    if plan.a_packed:
        return ProductEmitter(builder, kernel, constants, product, blocking, overwrite)
    edges = () if padding is None else edges_of(product, blocking, padding.low, padding.shape, padding.padded)
    if rows is not None:
        return PaddedProductEmitter(
            builder, kernel, constants, product, blocking, overwrite, rows, plan.b_packed, edges
        )
    return DirectProductEmitter(
        builder, kernel, constants, product, blocking, overwrite, plan.b_packed, plan.b_streams, edges
    )


def tilings_of(kernel: func.FuncOp, machine: Machine) -> dict[GenericOp, list[Tiling]]:
    """
    The tilings to measure for each product of a kernel, the cost model's own first; none for a row kernel with
    products, which is tiled by rows, or for a product whose sum is cut into chunks.
    """
    structured = _structured(kernel)
    if Kernel(kernel).rows or not any(CONTRACTION in op.attributes for op in structured):
        return {}
    found: dict[GenericOp, list[Tiling]] = {}
    for op, _, _, product, columns, emit, _ in _products(kernel, structured, absorbed_fills(structured), machine):
        if isinstance(product, LaneProduct) or columns is not None or emit is not None:
            continue
        product = oriented(product, machine)
        if cut_of(product) is None:
            plan = _plan(product, machine, kernel)
            found[op] = tilings(product, plan.blocking, machine, not plan.a_packed)
    return found


@dataclass(frozen=True)
class ConvertContractionsToVectorPass(HloPass):
    """
    Lower large matrix products to packed, register-blocked vector loops.

    Before: `linalg.generic {..} attrs = {xhlo.contraction} {.. mulf, addf ..}` on memrefs, in a kernel; or muli, addi
    After:  loops that pack both factors into panels, and an scf.parallel over tiles of the output around calls of a
            micro-kernel, a function of vector.fma
    Assumes: the level after bufferize. Transposed, batched and strided operands are handled by packing; a factor with
             overlapping windows (a convolution's input), or in a product with few columns, is read in place. A row
             kernel with products is lowered as a whole, by tiles of rows. An elementwise generic that alone reads a
             product is applied to each of its tiles, and a sum over the rows of both adds up each tile. Where few
             columns follow others in C, but not in B, B is copied. A convolution's tasks pad the rows of its input that
             they read, if each is in few windows, and compute what an elementwise generic makes for it alone;
             products with padding are left out where that pays (edges.py). Where no factor is shared by the columns, as
             in depthwise convolutions, vectors of both are multiplied (lanes/); so are the rows along which gradients
             of their filters are summed.
    A factor that an elementwise generic computes for the product alone is computed piece by piece, as it is packed.
    Factors are widened when they are packed, or read: f16, bf16, i8 and i16 to the product's type. Where the machine
    multiplies and adds groups of integers (byte-dots: four i8, pair-dots: two i16), neighbours along k are packed
    together instead; so are pairs of bf16 (bfloat-dots), whose panels state their least number (panel.py).
    Parameters that get constants from all calls (`xhlo.constants`) and need no widening are packed here; the calls pass
    the panels instead. Those that no iteration of the loops around all calls changes are packed before the loop, by a
    kernel of their own (factors/invariant.py).
    A convolution of small images with steps before or after it that read at other indices is lowered with them, as a
    loop over images (images.py).
    Small products call one function for matrices of all sizes, which multiplies them in place.
    Leaves: products of other integers, small ones of types to widen or with transposed factors, and those of few
            columns, to convert-linalg-to-scf.
    """

    name = "convert-contractions-to-vector"
    only_for = ("@xhlo.contraction",)
    takes_tensors = False

    vector_bits: int = CPU.vector_bits
    l1_bytes: int = CPU.l1_bytes
    l2_bytes: int = CPU.l2_bytes
    byte_dots: bool = CPU.byte_dots
    pair_dots: bool = CPU.pair_dots
    bfloat_dots: bool = CPU.bfloat_dots
    registers: int = CPU.vector_registers
    tiles: int = CPU.tiles

    @property
    def machine(self) -> Machine:
        """The machine that the options describe."""
        return Machine(
            self.vector_bits,
            self.byte_dots,
            self.pair_dots,
            self.bfloat_dots,
            self.l1_bytes,
            self.l2_bytes,
            tiles=self.tiles,
            vector_registers=self.registers,
        )

    def run(self, ctx: Context, module: ModuleOp) -> None:
        factors, invariants = ConstantFactors(module), InvariantFactors(module)
        kernels = KnownKernels.of(module, self.machine)
        for kernel in list(kernels_of(module)):
            if kernels.leave_out(kernel):
                continue
            constants = factors.of(kernel, invariants)
            convert_contractions(kernel, self.machine, constants)
            constants.pass_panels()
        factors.drop_unread()
        invariants.describe()
