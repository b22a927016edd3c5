"""From tensors to memrefs: callers pass the buffers that kernels write, loops keep their state in buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64

from ...dialects.support.kernel import DONATED, Kernel, entry_name, is_kernel, kernels_of
from ...dialects.support.shared_names import UNTOUCHED
from ...hlo_dialect.donation import placed_donations
from ...hlo_dialect.hlo_pass import HloPass
from .constant_parameters import mark_constant_parameters
from .host import ConstantPool, HostBufferizer
from .in_place import KernelFacts
from .kernel import KernelBufferizer


@dataclass(frozen=True)
class BufferizePass(HloPass):
    """
    Turn tensors into memrefs and the results of kernels into output parameters.

    Before: `func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> {.. linalg.generic ..}` and
            `%r = func.call @k(%x)`
    After:  `func.func private @k(%a: memref<4xf32>, %out: memref<4xf32>) {.. linalg.generic ..}` and
            `%r = memref.alloc() : memref<4xf32>` `func.call @k(%x, %r)`
    Assumes: static shapes; kernels (attribute hlo.kernel) of one block of linalg and tensor operations; host functions
            of calls, constants, reshapes and scf.while/if/index_switch.
    With in-place=true kernels may write a result over an argument that nothing reads later, `xhlo.shared_buffers` then
    names both parameters. With donate=true results of the entry are put into its donated arguments where that saves a
    copy (hlo_dialect/donation.py), and the attribute `xhlo.donated` says which: their own parameters are not written.
    Leaves: no tensors. Buffers are memref.alloc without dealloc; plan-buffers places them.
    """

    name = "bufferize"
    takes_buffers = False
    takes_unknown_sizes = False
    illegal = ("tensor.*",)

    in_place: bool = False
    donate: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
        kernels = {each.sym_name.data: KernelFacts.of(each, self.in_place) for each in kernels_of(module)}
        entry = entry_name(module) if self.donate else None
        constants = ConstantPool(module)
        for function in functions:
            if is_kernel(function):
                KernelBufferizer(function, kernels[function.sym_name.data].kernel.tied).run()
            elif function.sym_name.data != entry:
                HostBufferizer(function, constants, kernels).run()
            else:
                places = HostBufferizer(function, constants, kernels, placed_donations(function)).run()
                if any(place != UNTOUCHED for place in places):
                    module.attributes[DONATED] = DenseArrayBase.from_list(i64, places)
        if joining := [op for op in kernels_of(module) if Kernel(op).kind == "concatenate" and Kernel(op).shared]:
            from .unchanged_parts import erase_unchanged_parts  # few programs have such kernels

            erase_unchanged_parts(module, joining)
        mark_constant_parameters(module)
