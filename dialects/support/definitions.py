"""
Formats, accessors and fields of operations, and their identity, as xDSL has them but for less.

Assembly formats are read when they are used first: xDSL reads the format of every operation that a module of it
defines, 180 for a small program. Hardly one is used: `hlo_dialect/reading` and `hlo_dialect/printing` have notations of
their own for hlo.

Named operands, results and regions (`op.lhs`) are read from where xDSL keeps them. Its accessors go through a view of
all operands and a method for each kind of definition, seven calls in all; passes ask for a name as often as they make
operations. The values are the same.

An attribute that is made is verified with fewer calls, and its class is looked at once. A type of tensors or buffers
keeps its shape, which passes ask for at each use, once it has made it of its attributes.

Fields that are properties (`value.type`, `op.next_op`, a parser's token) are read in C, views are made in one call, and
the operations of a block and the blocks of a region come from generators, which take half the time of iterators in
Python.

xDSL's values, operations, blocks and regions are equal to themselves only, and their hash is their address; methods
that say so cost more than the search in a dictionary that asks. Python's own do the same.

To find common subexpressions xDSL hashes every attribute of an operation, and again when it compares two. Here operands
decide, and attributes only where there are none.
"""

# pyright: reportPrivateUsage=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, ParametrizedAttribute, Region, SSAValue, Use
from xdsl.ir.core import BlockOps, IRUses, IRWithUses, OpOperands, OpSuccessors, RegionBlocks, SSAValues, _IRNode
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.operations import (
    BaseAccessor,
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    SingleAttrAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
)
from xdsl.parser.generic_parser import GenericParser
from xdsl.transforms.common_subexpression_elimination import OperationInfo
from xdsl.utils.lexer import Span, Token

_read = FormatProgram.from_str

SHIPPED = frozenset(
    "arith bufferization builtin cf cpu func gpu linalg linalg_ext llvm math memref scf tensor vector".split()
)
"""Dialects whose formats are known to be right: in others a mistake should be found where the operation is defined."""


class LaterFormat:
    """Stands for the format of an operation until something of it is asked for."""

    def __init__(self, text: str, op_def: OpDef):
        self._text, self._op_def = text, op_def
        self._program: FormatProgram | None = None

    def __getattr__(self, name: str) -> Any:
        if self._program is None:
            self._program = _read(self._text, self._op_def)
        return getattr(self._program, name)


def _format(input: str, op_def: OpDef) -> Any:
    return (LaterFormat if op_def.name.partition(".")[0] in SHIPPED else _read)(input, op_def)


def read_formats_late() -> None:
    """Read the formats of operations of these dialects that are defined from now on when they are used first."""
    FormatProgram.from_str = staticmethod(_format)  # pyright: ignore[reportAttributeAccessIssue]


_OPERAND, _RESULT, _REGION = VarIRConstruct.OPERAND, VarIRConstruct.RESULT, VarIRConstruct.REGION
_item: Callable[[tuple[Any, ...], int], Any] = tuple.__getitem__
_get: Callable[..., Any] = BaseAccessor.__get__


def _single(self: BeforeVariadicSingleAccessor, obj: Operation, objtype: Any = None) -> Any:
    """The one at a place that is the same in all operations of the class."""
    construct = self.construct
    if construct is _OPERAND:
        return _item(obj._operands, self.idx)
    if construct is _RESULT:
        return _item(obj.results, self.idx)
    if construct is _REGION:
        return obj.regions[self.idx]
    return _get(self, obj, objtype)


def _any(self: BaseAccessor, obj: Operation, objtype: Any = None) -> Any:
    construct = self.construct
    if construct is _OPERAND:
        return self.index(obj._operands)
    return self.index(obj.results) if construct is _RESULT else _get(self, obj, objtype)


_get_sized: Callable[..., Any] = BaseAttrAccessor.__get__


def _sized(self: BaseAttrAccessor, obj: Operation, objtype: Any = None) -> Any:
    """The one, or those, whose place the sizes in an attribute determine."""
    construct = self.construct
    if construct is _OPERAND:
        values: Sequence[Any] = obj._operands
    elif construct is _RESULT:
        values = obj.results
    else:
        return _get_sized(self, obj, objtype)
    attribute = self.option.container(obj)[self.option.attribute_name]
    known = _sizes.get(id(attribute))
    if known is None:
        if len(_sizes) >= 1024:
            _sizes.clear()
        known = _sizes[id(attribute)] = (attribute, cast("DenseArrayBase[Any]", attribute).get_values())
    return self.index(known[1], values)


_sizes: dict[int, tuple[Attribute, tuple[int, ...]]] = {}
"""The numbers in attributes, by the identity of these, which it keeps: most operations of a kind share theirs."""

_FASTER: Mapping[type, Callable[..., Any]] = {
    BaseAccessor: _any,
    BeforeVariadicSingleAccessor: _single,
    SingleAttrAccessor: _sized,
    VariadicAttrAccessor: _sized,
    OptionalAttrAccessor: _sized,
}


def read_names_directly() -> None:
    """Let all operations' accessors read their fields, from now on."""
    for accessor, read in _FASTER.items():
        accessor.__get__ = read  # pyright: ignore[reportAttributeAccessIssue]


_FIELDS: Mapping[type, Mapping[str, str]] = {
    SSAValue: {"type": "_type", "name_hint": "_name"},
    OpResult: {"owner": "op"},
    BlockArgument: {"owner": "block"},
    Operation: {"next_op": "_next_op", "prev_op": "_prev_op"},
    Block: {
        "args": "_args",
        "first_op": "_first_op",
        "last_op": "_last_op",
        "next_block": "_next_block",
        "prev_block": "_prev_block",
    },
    Region: {"first_block": "_first_block", "last_block": "_last_block"},
    Use: {"operation": "_operation", "index": "_index"},
    GenericParser: {"_current_token": "_parser_state.current_token", "lexer": "_parser_state.lexer"},
    Token: {"text": "span.text"},
}
"""Properties that return a field, or one of a field, with the name of that."""

_VIEWS: Sequence[tuple[Any, str, Any]] = (
    (Operation, "operands", OpOperands),
    (Operation, "successors", OpSuccessors),
    (Block, "ops", BlockOps),
    (Region, "blocks", RegionBlocks),
    (IRWithUses, "uses", IRUses),
)
"""Properties that make a view of the object, with the class of that."""

_IDENTICAL: Sequence[Any] = (SSAValue, Use, _IRNode, IRDLOperation)
"""Classes whose objects are equal to themselves only."""

_SHAPED: Sequence[Any] = (TensorType, MemRefType)

_attribute: Any = Attribute
_parametrized: Any = ParametrizedAttribute
_block: Any = Block
_region: Any = Region
_node: Any = _IRNode
_values: Any = SSAValues
_operations: Any = BlockOps
_blocks: Any = RegionBlocks


def _operations_of(ops: BlockOps) -> Generator[Operation]:
    return _operations_from(ops.block._first_op)


def _operations_from(op: Operation | None) -> Generator[Operation]:
    """An operation and those that follow it in its block, each found before the one before it is looked at."""
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _number_of(ops: BlockOps) -> int:
    """The number of operations: a list of them asks for it before it goes through them."""
    count, op = 0, ops.block._first_op
    while op is not None:
        count += 1
        op = op._next_op
    return count


def _blocks_of(blocks: RegionBlocks) -> Generator[Block]:
    return _blocks_from(blocks._region._first_block)


def _blocks_from(block: Block | None) -> Generator[Block]:
    """A block and those that follow it in its region, each found before the one before it is looked at."""
    while block is not None:
        following = block._next_block
        yield block
        block = following


def _attach_op(self: Block, operation: Operation) -> None:
    """Mark an operation as one of a block, as xDSL does; what has no regions cannot hold the block."""
    if operation.regions or operation.parent is not None:
        _attach(self, operation)
    else:
        operation.parent = self


_attach: Any = Block._attach_op


def _add_block(self: Region, block: Any) -> None:
    """Add a block at the end of a region, as xDSL does; an empty one that is in no operation is in no block either."""
    if type(block) is not Block or block.parent is not None or self.parent is not None or self._last_block is not None:
        _add_blocks(self, block)
    else:
        block.parent = self
        self._first_block = self._last_block = block


_add_blocks: Any = Region.add_block


def _is_declaration(self: FuncOp) -> bool:
    return self.regions[0]._first_block is None


def _is_ancestor(self: Any, op: Any) -> bool:
    """Whether a node is another, or around it."""
    while op is not None:
        if op is self:
            return True
        op = op.parent
    return False


def _at(self: SSAValues[Any], index: Any) -> Any:
    found = _item(self, index)
    return SSAValues(found) if type(index) is slice else found


def _shape_of(made: Callable[[Any], tuple[int, ...]]) -> Callable[[Any], tuple[int, ...]]:
    """The function that makes the shape of a type, once for each object."""

    def shape(self: Attribute) -> tuple[int, ...]:
        facts: dict[str, Any] = vars(self)
        found = facts.get("_shape")
        if found is None:
            # As functools.cached_property keeps what it computes.
            found = facts["_shape"] = made(self)
        return found

    return shape


def _text(self: Span[Any]) -> str:
    content = self.input.content[self.start : self.end]
    return content if type(content) is str else content.decode("utf-8")


_good: set[type] = set()
"""Classes of attributes that are data or have parameters, as they should be."""


def _after_init(self: Attribute) -> None:
    self._verify()
    if type(self) not in _good:
        _post_init(self)
        _good.add(type(self))


_post_init: Callable[[Attribute], None] = Attribute.__post_init__


def _verify_parameters(self: ParametrizedAttribute) -> None:
    self.get_irdl_definition().verify(self)
    self.verify()


def _read_by(cls: type, name: str, read: Callable[[Any], Any]) -> None:
    """Let a property read its value so."""
    stated = next(base.__dict__[name] for base in cls.__mro__ if name in base.__dict__)
    setattr(cls, name, property(read, stated.fset, stated.fdel, stated.__doc__))


@cache
def read_fields_directly() -> None:
    """
    Read fields of values, operations, blocks and regions without methods, compare them by identity, and keep the shapes
    of types, from now on.
    Once: Python forgets what it has learned about a class and those below it whenever the class changes.
    """
    for cls, fields in _FIELDS.items():
        for name, field in fields.items():
            _read_by(cls, name, attrgetter(field))
    for cls, name, view in _VIEWS:
        _read_by(cls, name, view)
    _read_by(Span, "text", _text)
    for cls in _IDENTICAL:
        cls.__hash__, cls.__eq__ = object.__hash__, object.__eq__
    _attribute.__post_init__, _parametrized._verify = _after_init, _verify_parameters
    for cls in _SHAPED:
        cls.get_shape = _shape_of(cls.get_shape)
    _block._attach_op, _node.is_ancestor = _attach_op, _is_ancestor
    _region.add_block = _add_block
    _read_by(FuncOp, "is_declaration", _is_declaration)
    _values.__getitem__ = _at
    _operations.__iter__, _operations.__len__ = _operations_of, _number_of
    _blocks.__iter__ = _blocks_of


def _hash(self: OperationInfo) -> int:
    # Slices of one array differ by their properties alone: without these each would be compared with all others.
    op = self.op
    return hash((type(op), op._operands, sum(map(hash, op.properties.values()))))


def _are_equal(self: OperationInfo, other: object) -> bool:
    if not isinstance(other, OperationInfo):
        return False
    one, two = self.op, other.op
    return (
        type(one) is type(two)
        and one._operands == two._operands
        and self.name == other.name
        and one.properties == two.properties
        and one.attributes == two.attributes
        and one.result_types == two.result_types
        and len(one.regions) == len(two.regions)
        and all(map(Region.is_structurally_equivalent, one.regions, two.regions))
    )


def compare_operations_directly() -> None:
    """Let xDSL's search for common subexpressions compare the fields of operations, from now on."""
    OperationInfo.__hash__ = _hash
    OperationInfo.__eq__ = _are_equal
