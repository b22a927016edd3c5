"""
What xDSL's gpu dialect lacks: functions with workgroup memory, launches, shuffles, the address space of workgroups.

The operations are MLIR's (mlir/include/mlir/Dialect/GPU/IR/GPUOps.td); those that xDSL has in part stand here whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from .buffers import i32_array

INDEX = IndexType()
I32 = IntegerType(32)
I64 = IntegerType(64)

SHUFFLES = ("xor", "up", "down", "idx")
"""Which lane a shuffle reads: the own number xor, minus, plus the offset; or the offset itself."""


@irdl_attr_definition
class AddressSpaceAttr(ParametrizedAttribute):
    """`#gpu.address_space<workgroup>`: the memory that the threads of one block share."""

    name = "gpu.address_space"
    space: StringAttr


WORKGROUP = AddressSpaceAttr(StringAttr("workgroup"))


@irdl_op_definition
class GpuModuleOp(IRDLOperation):
    """Functions of the device: `gpu.module @kernels { .. }`."""

    name = "gpu.module"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block())])


@irdl_op_definition
class GpuFuncOp(IRDLOperation):
    """
    A function of the device; `kernel` ones are launched.

    `gpu.func @k(%x: memref<8xf32>) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel`: the last
    `workgroup_attributions` arguments of the entry block are memory of the block, not parameters. `known_block_size`
    and `known_grid_size` (x, y, z) are what every launch of it uses.
    Raises: VerifyException.
    """

    name = "gpu.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    kernel = opt_prop_def(UnitAttr)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, inputs: Sequence[Attribute], block: Sequence[int], grid: Sequence[int]):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(list(inputs), []),
                "kernel": UnitAttr(),
                "workgroup_attributions": IntegerAttr(0, I64),
                "known_block_size": i32_array(tuple(block)),
                "known_grid_size": i32_array(tuple(grid)),
            },
            regions=[Region(Block(arg_types=inputs))],
        )

    @property
    def workgroup_count(self) -> int:
        return 0 if self.workgroup_attributions is None else self.workgroup_attributions.value.data

    @property
    def workgroup_buffers(self) -> tuple[SSAValue, ...]:
        """The entry block's arguments that are memory of the block."""
        return tuple(self.body.blocks[0].args[len(self.function_type.inputs) :])

    def add_workgroup_buffer(self, type_: MemRefType[Any]) -> SSAValue:
        """A new buffer that the threads of a block share; its type is to be in the workgroup address space."""
        block = self.body.block
        buffer = block.insert_arg(type_, len(block.args))
        self.properties["workgroup_attributions"] = IntegerAttr(self.workgroup_count + 1, I64)
        return buffer

    def verify_(self) -> None:
        inputs = self.function_type.inputs.data
        types = tuple(argument.type for argument in self.body.blocks[0].args)
        if types[: len(inputs)] != inputs or len(types) != len(inputs) + self.workgroup_count:
            raise VerifyException("the entry block does not take the function's inputs and its workgroup buffers")
        for type_ in types[len(inputs) :]:
            if not isinstance(type_, MemRefType) or type_.memory_space != WORKGROUP:
                raise VerifyException(f"a workgroup buffer is of type {type_}, not a memref of the workgroup")
        if self.kernel is not None and self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")


@irdl_op_definition
class GpuReturnOp(IRDLOperation):
    """The end of a gpu.func."""

    name = "gpu.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def __init__(self) -> None:
        super().__init__(operands=[[]])


@irdl_op_definition
class GpuLaunchFuncOp(IRDLOperation):
    """`gpu.launch_func @kernels::@k blocks in (%gx, %gy, %gz) threads in (%bx, %by, %bz) args(%x : memref<8xf32>)`."""

    name = "gpu.launch_func"
    kernel = prop_def(SymbolRefAttr)
    grid = var_operand_def(INDEX)
    threads = var_operand_def(INDEX)
    arguments = var_operand_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        module: str,
        function: str,
        grid: Sequence[SSAValue],
        threads: Sequence[SSAValue],
        arguments: Sequence[Any],
    ):
        super().__init__(
            operands=[grid, threads, arguments],
            properties={"kernel": SymbolRefAttr(module, [function])},
        )

    def verify_(self) -> None:
        if len(self.grid) != 3 or len(self.threads) != 3:
            raise VerifyException("expected three numbers of blocks and three of threads")


@irdl_op_definition
class GpuShuffleOp(IRDLOperation):
    """
    The value that another lane of the warp holds: `%r, %valid = gpu.shuffle xor %x, %offset, %width : f32`.

    All 32 lanes take part. `width` is the number of neighbouring lanes that exchange values, a power of two up to 32;
    `valid` says whether the lane that is asked lies among them (otherwise the result is the own value).
    """

    name = "gpu.shuffle"
    mode = prop_def(StringAttr)
    value = operand_def()
    offset = operand_def(I32)
    width = operand_def(I32)
    result = result_def()
    valid = result_def(IntegerType(1))

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            result_types=[value.type, IntegerType(1)],
            properties={"mode": StringAttr(mode)},
        )

    def verify_(self) -> None:
        if self.mode.data not in SHUFFLES:
            raise VerifyException(f"no shuffle is called '{self.mode.data}'; there are {', '.join(SHUFFLES)}")
        if self.value.type != self.result.type:
            raise VerifyException("the result is not of the value's type")


OPS = (GpuFuncOp, GpuLaunchFuncOp, GpuModuleOp, GpuReturnOp, GpuShuffleOp)
ATTRIBUTES = (AddressSpaceAttr,)
