"""Lower large matrix products to packed, register-blocked loops of vector multiply-adds."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation

from ...dialects.support.kernel import CONTRACTION, Kernel, kernels_of
from ...hlo_dialect.hlo_pass import HloPass
from ..device.cpu import CPU, Machine
from ..loop_nests.fills import absorbed_fills
from ..loop_nests.loop_builder import LoopBuilder
from .blocking import block, is_worth_blocking
from .contraction import Contraction, contraction_of
from .direct import DirectProductEmitter, block_rows, oriented, reads_both_in_place, reads_in_place
from .epilogue import epilogue_of
from .kernel import ProductEmitter
from .row_products import convert_row_products, is_zero
from .split import add_chunks, chunks_of, in_chunks
from .together import columns_of, with_columns


def convert_contractions(kernel: func.FuncOp, machine: Machine) -> None:
    """Lower the marked products of one kernel if they are large enough."""
    structured = [op for op in kernel.body.block.ops if isinstance(op, (FillOp, GenericOp, memref.CopyOp))]
    marked = [op for op in structured if isinstance(op, GenericOp) and CONTRACTION in op.attributes]
    if not marked:
        return
    absorbed = absorbed_fills(structured)
    rows = Kernel(kernel).rows
    shared = {kernel.body.block.args[number] for number in Kernel(kernel).shared}
    if rows and convert_row_products(kernel, structured, absorbed, rows, machine):
        return
    builder = LoopBuilder(kernel)
    for op in marked:
        product = contraction_of(op)
        columns = None if product is None else columns_of(product, machine)
        if product is None or (columns is None and not is_worth_blocking(product)):
            continue
        fill = absorbed[op][0]
        # No tile of a sum in chunks is complete before the chunks are added.
        whole = columns is None and chunks_of(oriented(product, machine)) == 1
        epilogue = epilogue_of(op, fill, shared) if whole else None
        together = None if epilogue is None else contraction_of(op, epilogue)
        product, last = (product, op) if together is None or epilogue is None else (together, epilogue)
        overwrite = fill is not None and is_zero(fill.inputs[0])
        builder.insert_at(last)
        if columns is not None:
            product = with_columns(builder, product, columns)
        emit_product(builder, kernel, oriented(product, machine), machine, overwrite)
        unread = [value.owner for value in op.inputs[2:]]
        for dead in dict.fromkeys((last, op, fill if overwrite else None, *unread)):
            if isinstance(dead, Operation):
                dead.detach()
                dead.erase()


def emit_product(
    builder: LoopBuilder, kernel: func.FuncOp, product: Contraction, machine: Machine, overwrite: bool
) -> None:
    """Emit a product at the builder's insertion point, in chunks of its sum where that is better."""
    count = chunks_of(product)
    if count == 1:
        emitter_of(builder, kernel, product, machine, overwrite).emit()
        return
    parts = in_chunks(builder, product, count)
    emitter_of(builder, kernel, parts, machine, overwrite=True).emit()
    add_chunks(builder, product, parts, overwrite)


def emitter_of(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    product: Contraction,
    machine: Machine,
    overwrite: bool,
) -> ProductEmitter:
    """The emitter for a contraction, depending on which factors are packed."""
    blocking = block(product, machine)
    b_packed = True
    if product.n.size >= blocking.lanes:
        inside = block(product, machine, most_vectors=product.n.size // blocking.lanes)
        if reads_both_in_place(product, inside):
            blocking, b_packed = inside, False
    if b_packed and not reads_in_place(product):
        return ProductEmitter(builder, kernel, product, blocking, overwrite)
    return DirectProductEmitter(builder, kernel, product, block_rows(product, blocking, machine), overwrite, b_packed)


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
             product is applied to each of its tiles. Where few columns follow others in C, but not in B, B is copied.
    Factors are widened when they are packed: f16 and bf16 to f32, i8 and i16 to i32. Where the machine multiplies and
    adds groups of integers (byte-dots: four i8, pair-dots: two i16), neighbours along k are packed together instead.
    Leaves: small products, products of other integers and of few rows or columns to convert-linalg-to-scf.
    """

    name = "convert-contractions-to-vector"
    only_for = ("@xhlo.contraction",)
    takes_tensors = False

    vector_bits: int = CPU.vector_bits
    l1_bytes: int = CPU.l1_bytes
    l2_bytes: int = CPU.l2_bytes
    byte_dots: bool = CPU.byte_dots
    pair_dots: bool = CPU.pair_dots
    registers: int = CPU.vector_registers

    def run(self, ctx: Context, module: ModuleOp) -> None:
        machine = Machine(
            self.vector_bits,
            self.byte_dots,
            self.pair_dots,
            self.l1_bytes,
            self.l2_bytes,
            vector_registers=self.registers,
        )
        for kernel in list(kernels_of(module)):
            convert_contractions(kernel, machine)
