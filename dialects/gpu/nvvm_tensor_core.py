"""
The operations of the nvvm dialect for tensor cores and asynchronous copies.

Names and operands are MLIR's (mlir/include/mlir/Dialect/LLVMIR/NVVMOps.td). A fragment is a list of 32-bit registers:
i32, `vector<2xf16>` for f16, f32 for sums of floats; dialects/gpu/nvgpu.py says which elements a lane's registers hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float16Type,
    Float32Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..support.buffers import i32_array, i64_array

MULTIPLICATIONS: dict[tuple[str, int], tuple[int, int]] = {
    ("f16", 8): (2, 1),
    ("f16", 16): (4, 2),
    ("bf16", 8): (2, 1),
    ("bf16", 16): (4, 2),
    ("tf32", 4): (2, 1),
    ("tf32", 8): (4, 2),
    ("s8", 16): (2, 1),
    ("s8", 32): (4, 2),
}
"""The number of registers of A and of B, by the type of the factors and the columns of A. C and D have four."""

CACHES = ("ca", "cg")
"""The caches that a copy uses: all of them, or the second-level one only."""


def register_of(kind: str) -> Attribute:
    """The register type of a factor, 32 bits: `vector<2xf16>` for f16, else i32."""
    return VectorType(Float16Type(), (2,)) if kind == "f16" else i32


@lru_cache(maxsize=64)
def structure_of(types: tuple[Attribute, ...]) -> llvm.LLVMStructType:
    """`!llvm.struct<(..)>`"""
    return llvm.LLVMStructType.from_type_list(list(types))


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """
    `%d = nvvm.mma.sync A[%a0, ..] B[%b0, ..] C[%c0, ..] {multiplicandPtxType = "bf16", shape = array<i64: 16, 8, 16>}`:
    D = A B + C of one warp, A by rows and B by columns. D is a structure of four registers.

    Raises: VerifyException.
    """

    name = "nvvm.mma.sync"

    operandA = var_operand_def()
    operandB = var_operand_def()
    operandC = var_operand_def()
    multiplicandPtxType = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase.constr(i64))
    res = result_def(llvm.LLVMStructType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "`A` `[` $operandA `]` `B` `[` $operandB `]` `C` `[` $operandC `]` attr-dict"
        " `:` `(` type($operandA) `)` `,` `(` type($operandB) `)` `,` `(` type($operandC) `)` `->` type($res)"
    )

    def __init__(
        self, a: Sequence[SSAValue], b: Sequence[SSAValue], c: Sequence[SSAValue], kind: str, shape: Sequence[int]
    ):
        Operation.__init__(
            self,
            operands=[*a, *b, *c],
            result_types=[structure_of(tuple(value.type for value in c))],
            properties={
                "multiplicandPtxType": StringAttr(kind),
                "shape": i64_array(tuple(shape)),
                "operandSegmentSizes": i32_array((len(a), len(b), len(c))),
            },
        )

    @property
    def kind(self) -> str:
        return self.multiplicandPtxType.data

    def verify_(self) -> None:
        m, n, k = self.shape.get_values()
        counts = MULTIPLICATIONS.get((self.kind, int(k)))
        if counts is None or (m, n) != (16, 8):
            raise VerifyException(f"there is no multiplication of {self.kind} of shape {m} x {n} x {k}")
        factor = register_of(self.kind)
        for name, values, count in (("A", self.operandA, counts[0]), ("B", self.operandB, counts[1])):
            if len(values) != count or any(value.type != factor for value in values):
                raise VerifyException(f"{name} is {count} registers of {factor}")
        total = i32 if self.kind == "s8" else Float32Type()
        if len(self.operandC) != 4 or any(value.type != total for value in self.operandC):
            raise VerifyException(f"C is four registers of {total}")


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """
    `%f = nvvm.ldmatrix %p {num = 4 : i32, layout = "row"} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>`: a
    register of each of `num` tiles of 8 rows of 16 bytes, or of their transposes with the layout "col".
    Raises: VerifyException.
    """

    name = "nvvm.ldmatrix"

    ptr = operand_def(llvm.LLVMPointerType)
    num = prop_def(IntegerAttr.constr(i32))
    layout = prop_def(StringAttr)
    res = result_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ptr attr-dict `:` functional-type(operands, results)"

    def __init__(self, pointer: SSAValue, tiles: int, transpose: bool):
        result: Attribute = i32 if tiles == 1 else structure_of((i32,) * tiles)
        super().__init__(
            operands=[pointer],
            result_types=[result],
            properties={"num": IntegerAttr(tiles, i32), "layout": StringAttr("col" if transpose else "row")},
        )

    def verify_(self) -> None:
        if self.num.value.data not in (1, 2, 4):
            raise VerifyException("loads 1, 2 or 4 tiles")
        if self.layout.data not in ("row", "col"):
            raise VerifyException(f'the layout is "row" or "col", not "{self.layout.data}"')


@irdl_op_definition
class CpAsyncOp(IRDLOperation):
    """
    `nvvm.cp.async.shared.global %dst, %src, %n {size = 16 : i32, modifier = "cg"} : !llvm.ptr<3>, !llvm.ptr<1>, i32`:
    start copying `size` bytes; with %n, bytes from the %n-th on are zeros.
    Raises: VerifyException.
    """

    name = "nvvm.cp.async.shared.global"

    dst = operand_def(llvm.LLVMPointerType)
    src = operand_def(llvm.LLVMPointerType)
    cpSize = opt_operand_def(IntegerType(32))
    size = prop_def(IntegerAttr.constr(i32))
    modifier = prop_def(StringAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$dst `,` $src (`,` $cpSize^)? attr-dict `:` type($dst) `,` type($src)"

    def __init__(self, target: SSAValue, source: SSAValue, size: int, cache: str, read: SSAValue | None = None):
        super().__init__(
            operands=[target, source, [] if read is None else [read]],
            properties={"size": IntegerAttr(size, i32), "modifier": StringAttr(cache)},
        )

    def verify_(self) -> None:
        if self.size.value.data not in (4, 8, 16):
            raise VerifyException("copies 4, 8 or 16 bytes")
        if self.modifier.data not in CACHES:
            raise VerifyException(f"there is no cache modifier '{self.modifier.data}'")
        if self.modifier.data == "cg" and self.size.value.data != 16:
            raise VerifyException("goes around the first-level cache with 16 bytes only")


@irdl_op_definition
class CpAsyncCommitGroupOp(IRDLOperation):
    """`nvvm.cp.async.commit.group`: the copies that this thread started since the last group form a group."""

    name = "nvvm.cp.async.commit.group"
    assembly_format = "attr-dict"


@irdl_op_definition
class CpAsyncWaitGroupOp(IRDLOperation):
    """`nvvm.cp.async.wait.group {n = 1 : i32}`: wait until at most the newest `n` groups of the thread are pending."""

    name = "nvvm.cp.async.wait.group"
    n = prop_def(IntegerAttr.constr(i32))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, groups: int):
        super().__init__(properties={"n": IntegerAttr(groups, i32)})


OPS: tuple[type[Operation], ...] = (CpAsyncCommitGroupOp, CpAsyncOp, CpAsyncWaitGroupOp, LdMatrixOp, MmaSyncOp)
