"""
The context of conversion patterns: the function under construction, its values, and builders of linalg.

Types lose their signedness (ui8 becomes i8), and 8-, 6- and 4-bit floats become the i8 of their bits; patterns select
operations by the types of the hlo operation, which still have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import INDEX, i32_array
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.linalg_ops import fill_op
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.types import is_narrow_float, is_unsigned, make_tensor
from ...hlo_dialect.walking import TypeFact

Shape: TypeAlias = tuple[int, ...]
Body: TypeAlias = Callable[..., Any]
"""Writes a generic's body: Scalars of the operands and the outputs in, the Scalar or Scalars that it yields out."""

PARALLEL = IteratorTypeAttr.parallel()
REDUCTION = IteratorTypeAttr.reduction()


@TypeFact
def signless(type_: Attribute) -> Attribute:
    """The linalg type of an element or tensor type: without signedness; i8 for 8-, 6- and 4-bit floats."""
    if isinstance(type_, TensorType):
        tensor_ = cast("TensorType[Attribute]", type_)
        return make_tensor(tensor_.get_shape(), signless(tensor_.element_type))
    if is_unsigned(type_):
        return IntegerType(cast("IntegerType[Any, Any]", type_).width.data)
    return IntegerType(8) if is_narrow_float(type_) else type_


@lru_cache(maxsize=1024)
def affine_map(dims: int, *results: AffineExpr) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(dims, 0, results))


@lru_cache(maxsize=256)
def identity_map(rank: int) -> AffineMapAttr:
    return affine_map(rank, *(AffineExpr.dimension(d) for d in range(rank)))


def rank_of(type_: Attribute) -> int:
    tensor_type: Any = type_
    return len(tensor_type.get_shape())


@lru_cache(maxsize=256)
def dims_map(rank: int, dims: tuple[int, ...]) -> AffineMapAttr:
    """The map that projects to some of the loop's dimensions."""
    return affine_map(rank, *(AffineExpr.dimension(d) for d in dims))


@lru_cache(maxsize=256)
def iterators(parallel: int, reduction: int = 0) -> ArrayAttr[IteratorTypeAttr]:
    return ArrayAttr([PARALLEL] * parallel + [REDUCTION] * reduction)


_maps: dict[tuple[int, ...], ArrayAttr[AffineMapAttr]] = {}
"""By the identities of the maps, which they keep."""


def maps_attr(maps: tuple[AffineMapAttr, ...]) -> ArrayAttr[AffineMapAttr]:
    key = tuple(map(id, maps))
    found = _maps.get(key)
    if found is None:
        if len(_maps) >= 1024:
            _maps.clear()
        found = _maps[key] = ArrayAttr(maps)
    return found


@dataclass
class Emitter:
    """One block under construction: new operations are appended, hlo values are mapped to new ones."""

    block: Block
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    location: Any = None
    in_kernel: bool = False
    fills_pads: bool = False

    def nested(self, block: Block) -> Emitter:
        return Emitter(block, self.values, self.location, self.in_kernel, self.fills_pads)

    def add(self, op: Operation) -> Operation:
        if self.location is not None:
            op.location = self.location
        append(self.block, op)
        return op

    def get(self, value: SSAValue) -> SSAValue:
        return self.values[value]

    def define(self, old: SSAValue, new: SSAValue) -> None:
        """`new` is the value of `old` from now on; both have one shape, and `new` the signless element type."""
        expected = signless(old.type)
        if new.type is not expected and new.type != expected:
            raise AssertionError(f"a value of type {old.type} is lowered to one of type {new.type}")
        self.values[old] = new
        if new.name_hint is None:
            new.name_hint = old.name_hint

    def scalar(self, value: SSAValue) -> Scalar:
        return Scalar(self.block, value)

    def index(self, value: int) -> SSAValue:
        op = create_op(arith.ConstantOp, result_types=[INDEX], properties={"value": integer_attr(value, INDEX)})
        return self.add(op).results[0]

    def empty(self, type_: Attribute) -> SSAValue:
        return self.add(create_op(tensor.EmptyOp, result_types=[type_])).results[0]

    def extract(self, value: SSAValue, indices: Sequence[SSAValue] = ()) -> SSAValue:
        """An element of a tensor."""
        element = cast("TensorType[Attribute]", value.type).element_type
        op = create_op(tensor.ExtractOp, operands=[value, *indices], result_types=[element])
        return self.add(op).results[0]

    def fill(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """A tensor filled with one value."""
        return self.add(fill_op(value, self.empty(type_), [type_])).results[0]

    def generic(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        maps: tuple[AffineMapAttr, ...],
        iterator_types: ArrayAttr[IteratorTypeAttr],
        body: Body,
        attributes: dict[str, Attribute] | None = None,
    ) -> Sequence[SSAValue]:
        """Emit a linalg.generic; `body` gets a Scalar per input and output element."""
        types = [cast("TensorType[Attribute]", value.type).element_type for value in (*inputs, *outputs)]
        block = new_block(types)
        written = body(*(Scalar(block, argument) for argument in block.args))
        yielded: Sequence[Scalar] = [written] if isinstance(written, Scalar) else written
        append(block, create_op(YieldOp, operands=[scalar.value for scalar in yielded]))
        op = create_op(
            GenericOp,
            operands=[*inputs, *outputs],
            result_types=[value.type for value in outputs],
            properties={
                "indexing_maps": maps_attr(maps),
                "iterator_types": iterator_types,
                "operandSegmentSizes": i32_array((len(inputs), len(outputs))),
            },
            attributes=attributes or {},
            regions=[Region(block)],
        )
        return self.add(op).results

    def structured(
        self,
        cls: type[DestinationOp],
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        regions: Sequence[Region] = (),
        properties: dict[str, Attribute] | None = None,
    ) -> Sequence[SSAValue]:
        """Emit a linalg_ext operation on tensors; return its results."""
        return self.add(cls.of(inputs, outputs, regions, properties)).results

    def elementwise(self, old_result: SSAValue, inputs: Sequence[SSAValue], body: Body) -> None:
        """Define `old_result` elementwise; inputs of rank 0 are broadcast."""
        type_ = signless(old_result.type)
        rank = rank_of(type_)
        maps = [identity_map(rank) if rank_of(value.type) == rank else affine_map(rank) for value in inputs]
        results = self.generic(
            inputs, [self.empty(type_)], (*maps, identity_map(rank)), iterators(rank), lambda *args: body(*args[:-1])
        )
        self.define(old_result, results[0])

    def moved(self, old_result: SSAValue, source: SSAValue, source_map: AffineMapAttr) -> None:
        """Define `old_result` as the elements of `source` at the indices that `source_map` gives."""
        type_ = signless(old_result.type)
        rank = rank_of(type_)
        maps = (source_map, identity_map(rank))
        results = self.generic([source], [self.empty(type_)], maps, iterators(rank), first)
        self.define(old_result, results[0])


def first(x: Scalar, *others: Scalar) -> Scalar:
    """The copying body."""
    return x


def loop_index(scalar_block: Block, dim: int) -> Scalar:
    """linalg.index in a body."""
    op = create_op(IndexOp, result_types=[INDEX], properties={"dim": integer_attr(dim, i64)})
    append(scalar_block, op)
    return Scalar(scalar_block, op.results[0])


Pattern: TypeAlias = Callable[[Any, Emitter], None]
"""Converts one operation: reads its operands' new values from the emitter, and defines its results'."""
patterns = Rules[Pattern]("convert-hlo-to-linalg", __package__, "xhlo.lowerings")
ScalarPattern: TypeAlias = Callable[..., Scalar]
"""From (op, operand scalars..) to the result of an elementwise operation on one element."""
scalar_patterns = Rules[ScalarPattern]("convert-hlo-to-linalg on elements", __package__, "xhlo.scalar_lowerings")
