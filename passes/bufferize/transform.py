"""From tensors to memrefs: callers pass the buffers that kernels write, loops keep their state in buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...dialects.support.kernel import Kernel, is_kernel, kernels_of
from ...hlo_dialect.hlo_pass import HloPass
from .host import ConstantPool, HostBufferizer
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
    Leaves: no tensors. Buffers are memref.alloc without dealloc; plan-buffers places them.
    """

    name = "bufferize"
    takes_buffers = False
    illegal = ("tensor.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        tied = {kernel.sym_name.data: Kernel(kernel).tied for kernel in kernels_of(module)}
        constants = ConstantPool(module)
        for function in functions:
            if function.is_declaration:
                continue
            if is_kernel(function):
                KernelBufferizer(function, tied[function.sym_name.data]).run()
            else:
                HostBufferizer(function, constants, tied).run()
