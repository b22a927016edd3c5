"""
The amdgpu dialect: products of matrices by all lanes of a wave, on AMD's GPUs.

Names and operands are MLIR's (mlir/include/mlir/Dialect/AMDGPU/IR/AMDGPU.td): `amdgpu.mfma` of CDNA, waves of 64 lanes,
and `amdgpu.wmma` of RDNA 3, waves of 32. D = A B + C, with 16 rows and 16 columns of D. The layouts are those of AMD's
"Matrix Instruction Calculator" and of the manuals ("AMD Instinct MI300 Instruction Set Architecture", section 7.1;
"RDNA3 Instruction Set Architecture", section 7.9). Element `i` of a lane's operands, where a lane has `e` of A's and
B's elements (k / 4 of mfma; a f32 is no vector), is

| operation | A | B | C and D |
| --- | --- | --- | --- |
| mfma | `A[r, e * h + i]` | `B[e * h + i, r]` | `C[4 * h + i, r]` |
| wmma | `A[r, i]` | `B[i, r]` | `C[2 * i + h, r]` |

with `r = lane % 16` and `h = lane / 16`, so that lanes 16 to 31 of a wmma repeat those 0 to 15 in A and B.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .nvgpu import bits_of

SIDE = 16
"""Rows and columns of a product."""

MFMA_DEPTHS: dict[type[Attribute], tuple[int, ...]] = {
    Float16Type: (16,),
    BFloat16Type: (16,),
    Float32Type: (4,),
    IntegerType: (16, 32),
}
"""The columns of A in one mfma of 16 rows and columns, by the type of A and B; integers are i8."""

WMMA_DEPTH = 16


def _element(type_: Attribute) -> Attribute:
    return cast("VectorType[Any]", type_).element_type if isinstance(type_, VectorType) else type_


class _ProductOp(IRDLOperation):
    """D = A B + C of a wave; all lanes take part: none may be masked out."""

    D: ClassVar = VarConstraint("D", AnyAttr())
    sourceA = operand_def(AnyAttr())
    sourceB = operand_def(AnyAttr())
    destC = operand_def(D)
    destD = result_def(D)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$sourceA `*` $sourceB `+` $destC attr-dict `:` type($sourceA) `,` type($sourceB) `,` type($destC)"
    )

    WAVE: ClassVar[int]
    """Lanes of a wave."""

    @property
    def depth(self) -> int:
        """Columns of A."""
        raise NotImplementedError

    @property
    def element(self) -> Attribute:
        """The type of A's and B's elements."""
        return _element(self.sourceA.type)

    @property
    def each(self) -> int:
        """Elements of A in a lane."""
        raise NotImplementedError

    def verify_(self) -> None:
        element, depth = self.element, self.depth
        integers = element.__class__ is IntegerType
        total: Attribute = i32 if integers else f32
        if depth not in self.depths(element) or (integers and bits_of(element) != 8):
            raise VerifyException(f"there is no multiplication of {depth} columns of elements of type {element}")
        factor: Attribute = element if self.each == 1 else VectorType(element, (self.each,))
        sums: Attribute = VectorType(total, (SIDE * SIDE // self.WAVE,))
        for name, value, type_ in zip("ABC", self.operands, (factor, factor, sums), strict=True):
            if value.type != type_:
                raise VerifyException(f"{name} is of type {value.type}, expected {type_}")

    @classmethod
    def depths(cls, element: Attribute) -> tuple[int, ...]:
        """The columns of A that there are multiplications of."""
        raise NotImplementedError


@irdl_op_definition
class MfmaOp(_ProductOp):
    """
    `%d = amdgpu.mfma %a * %b + %c {m = 16 : i32, n = 16 : i32, k = 16 : i32, blocks = 1 : i32} : vector<4xf16>,
    vector<4xf16>, vector<4xf32>`, on CDNA.

    f16 and bf16 are added up in f32, i8 in i32; f32 is multiplied as f32. Raises: VerifyException.
    """

    name = "amdgpu.mfma"
    WAVE: ClassVar[int] = 64

    m = prop_def(IntegerAttr.constr(i32))
    n = prop_def(IntegerAttr.constr(i32))
    k = prop_def(IntegerAttr.constr(i32))
    blocks = prop_def(IntegerAttr.constr(i32))

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, depth: int):
        sizes = {"m": SIDE, "n": SIDE, "k": depth, "blocks": 1}
        super().__init__(
            operands=[a, b, c],
            result_types=[c.type],
            properties={name: IntegerAttr(size, i32) for name, size in sizes.items()},
        )

    @property
    def depth(self) -> int:
        return self.k.value.data

    @property
    def each(self) -> int:
        return self.depth * SIDE // self.WAVE

    @classmethod
    def depths(cls, element: Attribute) -> tuple[int, ...]:
        return MFMA_DEPTHS.get(element.__class__, ())

    def verify_(self) -> None:
        if (self.m.value.data, self.n.value.data, self.blocks.value.data) != (SIDE, SIDE, 1):
            raise VerifyException(f"expected one block of {SIDE} rows and columns")
        super().verify_()


@irdl_op_definition
class WmmaOp(_ProductOp):
    """
    `%d = amdgpu.wmma %a * %b + %c : vector<16xf16>, vector<16xf16>, vector<8xf32>`, on RDNA 3.

    f16 and bf16 are added up in f32, i8, with its sign, in i32. Raises: VerifyException.
    """

    name = "amdgpu.wmma"
    WAVE: ClassVar[int] = 32

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue):
        super().__init__(operands=[a, b, c], result_types=[c.type])

    @property
    def depth(self) -> int:
        return WMMA_DEPTH

    @property
    def each(self) -> int:
        return WMMA_DEPTH

    @classmethod
    def depths(cls, element: Attribute) -> tuple[int, ...]:
        return () if isinstance(element, Float32Type) or element.__class__ not in MFMA_DEPTHS else (WMMA_DEPTH,)


OPS = (MfmaOp, WmmaOp)
