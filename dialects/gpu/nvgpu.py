"""
The nvgpu dialect: tensor cores and asynchronous copies of NVIDIA's GPUs, on vectors and memrefs.

Names, operands and syntax are MLIR's (mlir/include/mlir/Dialect/NVGPU/IR/NVGPUOps.td). All 32 lanes of a warp run
`nvgpu.mma.sync` and `nvgpu.ldmatrix` together, and each holds a part of every matrix, a *fragment*. The layouts are
those of the PTX ISA ("Matrix fragments for mma.m16n8k16 with floating point type", and so on). With

* `g = lane / 4` and `t = lane % 4`,
* `w` the elements of 4 bytes: 2 of f16 and bf16, 1 of f32 (as tf32), 4 of i8,

element `[i, j]` of a lane's fragment is

| matrix | type | element |
| --- | --- | --- |
| A, 16 x k | `vector<(k / 2w) x w>` | `A[g + 8 * (i % 2), w * t + j + 4w * (i / 2)]` |
| B, k x 8 | `vector<(k / 4w) x w>` | `B[w * t + j + 4w * i, g]` |
| C, 16 x 8 | `vector<2x2>` | `C[g + 8 * i, 2 * t + j]` |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BoolAttr,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..support.buffers import INDEX, Buffer
from .functions import WORKGROUP

Fragment = VectorType[Any]

MMA_DEPTHS: dict[type[Attribute], tuple[int, ...]] = {
    Float16Type: (8, 16),
    BFloat16Type: (8, 16),
    Float32Type: (4, 8),
    IntegerType: (16, 32),
}
"""The number of columns of A in one multiplication, by the type of A and B; A has 16 rows, and B 8 columns."""


@irdl_attr_definition
class DeviceAsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """`!nvgpu.device.async.token`: a group of asynchronous copies."""

    name = "nvgpu.device.async.token"


TOKEN = DeviceAsyncTokenType()


def bits_of(element: Attribute) -> int:
    """The bits of an element; raises VerifyException if its width is unknown."""
    if not isinstance(element, FixedBitwidthType):
        raise VerifyException(f"an element of type {element} has no known width")
    return element.bitwidth


def bytes_of(element: Attribute) -> int:
    """The bytes of an element in memory, at least one."""
    return max(1, bits_of(element) // 8)


@lru_cache(maxsize=64)
def fragment_types(element: Attribute, depth: int, total: Attribute) -> tuple[Fragment, Fragment, Fragment]:
    """The types of A, B and C in each lane; `depth`: the number of columns of A."""
    width = 32 // bits_of(element)
    return (
        VectorType(element, (depth // (2 * width), width)),
        VectorType(element, (depth // (4 * width), width)),
        VectorType(total, (2, 2)),
    )


@lru_cache(maxsize=64)
def _sizes(shape: tuple[int, ...]) -> ArrayAttr[Any]:
    return ArrayAttr([IntegerAttr(size, i64) for size in shape])


def _memref(value: SSAValue, indices: Sequence[SSAValue], what: str) -> Buffer:
    type_ = value.type
    if not isinstance(type_, MemRefType):
        raise VerifyException(f"the {what} is no memref")
    found = cast(Buffer, type_)
    if found.get_num_dims() != len(indices):
        raise VerifyException(f"expected {found.get_num_dims()} indices of the {what}, one for each dimension")
    layout = found.layout
    dense = isinstance(layout, NoneAttr) or (
        isinstance(layout, StridedLayoutAttr) and (not found.get_num_dims() or layout.get_strides()[-1] == 1)
    )
    if not dense:
        raise VerifyException(f"the last dimension of the {what} is not dense")
    return found


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """
    `%d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) ->
    vector<2x2xf32>`: D = A B + C of one warp. The module docstring describes the layout of fragments.

    Products are exact; sums have the type of C, and the hardware does not specify the order of roundings. A and B of
    f32 need `tf32Enabled`: their mantissas are truncated to 10 bits (the hardware ignores the low 13 bits). All lanes
    take part: none may be masked out.
    Raises: VerifyException.
    """

    name = "nvgpu.mma.sync"

    matrixA = operand_def(VectorType)
    matrixB = operand_def(VectorType)
    matrixC = operand_def(VectorType)
    mmaShape = prop_def(ArrayAttr)
    tf32Enabled = opt_prop_def(UnitAttr)
    res = result_def(VectorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "`(` $matrixA `,` $matrixB `,` $matrixC `)` attr-dict"
        " `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)` `->` type($res)"
    )

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, shape: Sequence[int]):
        element = cast(Fragment, a.type).element_type
        properties: dict[str, Attribute] = {"mmaShape": _sizes(tuple(shape))}
        if isinstance(element, Float32Type):
            properties["tf32Enabled"] = UnitAttr()
        super().__init__(operands=[a, b, c], result_types=[c.type], properties=properties)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows of A, columns of B, columns of A."""
        return tuple(cast("IntegerAttr[Any]", size).value.data for size in self.mmaShape.data)

    def verify_(self) -> None:
        element: Attribute = cast(Fragment, self.matrixA.type).element_type
        total = cast(Fragment, self.matrixC.type).element_type
        shape = self.shape
        if len(shape) != 3 or shape[:2] != (16, 8) or shape[2] not in MMA_DEPTHS.get(element.__class__, ()):
            raise VerifyException(f"there is no multiplication of shape {list(shape)} of elements of type {element}")
        if isinstance(element, IntegerType) and (bits_of(cast(Attribute, element)) != 8 or total != i32):
            raise VerifyException("integers are multiplied as i8 and added up as i32")
        if not isinstance(element, IntegerType) and not (
            isinstance(total, Float32Type) or (isinstance(total, Float16Type) and isinstance(element, Float16Type))
        ):
            raise VerifyException(f"products of {element} are not added up as {total}")
        if isinstance(element, Float32Type) and self.tf32Enabled is None:
            raise VerifyException("elements of type f32 are multiplied as tf32 only: expected tf32Enabled")
        wanted = fragment_types(cast(Attribute, element), shape[2], total)
        for name, value, type_ in zip("ABC", self.operands, wanted, strict=True):
            if value.type != type_:
                raise VerifyException(f"a fragment of {name} is of type {value.type}, expected {type_}")
        if self.res.type != self.matrixC.type:
            raise VerifyException("the result is not of the type of C")


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """
    `%f = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<..xf16, workgroup> ->
    vector<4x2xf16>`: fragments of `numTiles` (1, 2 or 4) tiles in shared memory, each 8 rows of 16 bytes.

    Lane `8 * i + r` provides the address of row r of tile i, a multiple of 16 bytes; those of lanes beyond the tiles
    are ignored. Row i of a lane's result holds 4 bytes (w elements) of tile i: `tile_i[lane / 4, w * (lane % 4) + j]`,
    or `tile_i[2 * (lane % 4) + j, lane / 4]` with `transpose`, which takes elements of 16 bits. All lanes of the warp
    take part.
    Raises: VerifyException.
    """

    name = "nvgpu.ldmatrix"

    srcMemref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    transpose = prop_def(BoolAttr)
    numTiles = prop_def(IntegerAttr.constr(i32))
    res = result_def(VectorType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$srcMemref `[` $indices `]` attr-dict `:` type($srcMemref) `->` type($res)"

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], tiles: int, transpose: bool):
        element = cast(Buffer, source.type).element_type
        super().__init__(
            operands=[source, indices],
            result_types=[VectorType(element, (tiles, 32 // bits_of(element)))],
            properties={"transpose": BoolAttr.from_bool(transpose), "numTiles": IntegerAttr(tiles, i32)},
        )

    @property
    def tiles(self) -> int:
        return self.numTiles.value.data

    @property
    def is_transposed(self) -> bool:
        return bool(self.transpose.value.data)

    def verify_(self) -> None:
        source = _memref(self.srcMemref, self.indices, "source")
        if source.memory_space != WORKGROUP:
            raise VerifyException("the source is not in the memory of the workgroup")
        if self.tiles not in (1, 2, 4):
            raise VerifyException(f"loads 1, 2 or 4 tiles, not {self.tiles}")
        bits = bits_of(source.element_type)
        if bits not in (8, 16, 32):
            raise VerifyException(f"loads elements of 8, 16 or 32 bits, not {source.element_type}")
        if self.is_transposed and bits != 16:
            raise VerifyException("only elements of 16 bits are transposed")
        wanted = VectorType(source.element_type, (self.tiles, 32 // bits))
        if self.res.type != wanted:
            raise VerifyException(f"the result is of type {self.res.type}, expected {wanted}")


@irdl_op_definition
class DeviceAsyncCopyOp(IRDLOperation):
    """
    `%t = nvgpu.device_async_copy %src[%i], %dst[%j, %k], 8, %n {bypassL1} : memref<..> to memref<.., workgroup>`:
    start copying `dstElements` neighbouring elements from global to shared memory.

    With the operand `srcElements` only that many are read, and zeros fill the rest; with 0 the source is not read, but
    its indices must be in bounds. 4, 8 or 16 bytes are written; both addresses are multiples of that. The copy is
    complete after a `device_async_wait` of the thread that started it; other threads see it after the next barrier.
    `bypassL1`: cached in the second-level cache only, for copies of 16 bytes.
    Raises: VerifyException.
    """

    name = "nvgpu.device_async_copy"

    dst = operand_def(MemRefType)
    dstIndices = var_operand_def(IndexType)
    src = operand_def(MemRefType)
    srcIndices = var_operand_def(IndexType)
    dstElements = prop_def(IntegerAttr.constr(IndexType()))
    srcElements = opt_operand_def(IndexType)
    bypassL1 = opt_prop_def(UnitAttr)
    asyncToken = result_def(DeviceAsyncTokenType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: SSAValue,
        source_indices: Sequence[SSAValue],
        target: SSAValue,
        target_indices: Sequence[SSAValue],
        elements: int,
        read: SSAValue | None = None,
        bypass_l1: bool = False,
    ):
        super().__init__(
            operands=[target, target_indices, source, source_indices, [] if read is None else [read]],
            result_types=[TOKEN],
            properties={
                "dstElements": IntegerAttr(elements, INDEX),
                **({"bypassL1": UnitAttr()} if bypass_l1 else {}),
            },
        )

    @property
    def bytes(self) -> int:
        """Bytes written to shared memory."""
        return self.dstElements.value.data * bits_of(cast(Buffer, self.dst.type).element_type) // 8

    def verify_(self) -> None:
        target = _memref(self.dst, self.dstIndices, "destination")
        source = _memref(self.src, self.srcIndices, "source")
        if target.memory_space != WORKGROUP or source.memory_space == WORKGROUP:
            raise VerifyException("copies from global memory to the memory of the workgroup")
        if target.element_type != source.element_type:
            raise VerifyException(f"copies elements of type {source.element_type} to {target.element_type}")
        if self.bytes not in (4, 8, 16):
            raise VerifyException(f"copies 4, 8 or 16 bytes, not {self.bytes}")
        if self.bypassL1 is not None and self.bytes != 16:
            raise VerifyException(f"bypasses the first-level cache with 16 bytes, not {self.bytes}")

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCopyOp:
        def place() -> tuple[Any, list[Any]]:
            buffer = parser.parse_unresolved_operand()
            return buffer, parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_unresolved_operand, " of indices"
            )

        source, source_at = place()
        parser.parse_punctuation(",")
        target, target_at = place()
        parser.parse_punctuation(",")
        elements = parser.parse_integer()
        read = parser.parse_unresolved_operand() if parser.parse_optional_punctuation(",") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("to")
        target_type = parser.parse_type()

        def indices(found: list[Any]) -> list[SSAValue]:
            return [parser.resolve_operand(one, INDEX) for one in found]

        op = cls(
            parser.resolve_operand(source, source_type),
            indices(source_at),
            parser.resolve_operand(target, target_type),
            indices(target_at),
            elements,
            None if read is None else parser.resolve_operand(read, INDEX),
            attributes.pop("bypassL1", None) is not None,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        for buffer, indices in ((self.src, self.srcIndices), (self.dst, self.dstIndices)):
            printer.print_ssa_value(buffer)
            with printer.in_square_brackets():
                printer.print_list(indices, printer.print_ssa_value)
            printer.print_string(", ")
        printer.print_string(str(self.dstElements.value.data))
        if self.srcElements is not None:
            printer.print_string(", ")
            printer.print_ssa_value(self.srcElements)
        flags: dict[str, Attribute] = {} if self.bypassL1 is None else {"bypassL1": self.bypassL1}
        printer.print_op_attributes({**flags, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" to ")
        printer.print_attribute(self.dst.type)


@irdl_op_definition
class DeviceAsyncCreateGroupOp(IRDLOperation):
    """
    `%g = nvgpu.device_async_create_group %t, %u`: all copies that this thread started since its last group form a
    group.

    As in PTX, the operands are informative only: the group contains the same copies without them. A group may be empty.
    Without operands `{}` is printed, because the next line's result would be parsed as an operand.
    """

    name = "nvgpu.device_async_create_group"

    inputTokens = var_operand_def(DeviceAsyncTokenType)
    asyncToken = result_def(DeviceAsyncTokenType)

    def __init__(self, tokens: Sequence[SSAValue] = ()):
        super().__init__(operands=[tokens], result_types=[TOKEN])

    @classmethod
    def parse(cls, parser: Parser) -> DeviceAsyncCreateGroupOp:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        op = cls([parser.resolve_operand(name, TOKEN) for name in names or ()])
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if self.inputTokens:
            printer.print_string(" ")
            printer.print_list(self.inputTokens, printer.print_ssa_value)
        elif not self.attributes:
            printer.print_string(" {}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class DeviceAsyncWaitOp(IRDLOperation):
    """
    `nvgpu.device_async_wait %g {numGroups = 1 : i32}`: wait until at most the newest `numGroups` groups of this thread
    are still in flight; without it, until none is.

    The copies of the other groups are then visible to this thread, and to the block after the next barrier.
    """

    name = "nvgpu.device_async_wait"

    asyncDependencies = operand_def(DeviceAsyncTokenType)
    numGroups = opt_prop_def(IntegerAttr.constr(i32))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$asyncDependencies attr-dict"

    def __init__(self, token: SSAValue, groups: int):
        super().__init__(operands=[token], properties={"numGroups": IntegerAttr(groups, i32)})

    @property
    def pending(self) -> int:
        """The number of groups that may remain in flight."""
        return 0 if self.numGroups is None else self.numGroups.value.data

    def verify_(self) -> None:
        if self.pending < 0:
            raise VerifyException("numGroups is negative")


OPS = (DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, LdMatrixOp, MmaSyncOp)
ATTRIBUTES = (DeviceAsyncTokenType,)
