"""
Bring elementwise operations that read a reshaped value to the shape in which the value is computed.

There they are part of the kernel that computes it. A reshape that splits dimensions is a sum of indices, which kernels
take in; one that joins them would need divisions.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_constant, splat_of
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.ops.slicing import PadOp, SliceOp
from ...hlo_dialect.shapes import is_static, reshape_parts
from ...hlo_dialect.types import element_of, is_splat, make_tensor, shape_of
from .graph import LOOP_ROLES, bytes_of, is_affine_reshape, role_of

Shape = tuple[int, ...]

Parts = tuple[Shape, ...]
"""For each dimension of a value, the sizes of those that are joined to make it; its own size if none are."""

Changed = tuple[Parts, Mapping[str, Attribute]]
"""The parts of an operation's result, and its properties where its operands' dimensions are not joined."""


# Products read reshaped, as a step of an optimizer reads the gradient of a 1x1 convolution's filters.


def take_shape(product: FusionOp, given: Container[Operation]) -> None:
    """
    Move the reshape between a product and the loop that alone reads it to the loop's other operands and its results.

    Nothing changes if the loop is one of those `given`, or does more than elementwise work on values of one shape.
    """
    reshape = product.outs[0].get_user_of_unique_use() if len(product.outs) == 1 else None
    if not isinstance(reshape, ReshapeOp):
        return
    loop = reshape.result.get_user_of_unique_use()
    if not isinstance(loop, FusionOp) or loop in given or loop.kind.data != "loop" or loop.parent is not product.parent:
        return
    old, new = shape_of(reshape.result), shape_of(product.outs[0])
    if not all(_is_in(op, old) for op in loop.body.block.ops):
        return
    operands: list[SSAValue] = []
    for value in loop.operands:
        if value is reshape.result:
            operands.append(product.outs[0])
            continue
        before = _reshape(value, new, reshape)
        insert_before(before, loop)
        operands.append(before.results[0])
    moved = FusionOp.create(
        operands=operands,
        result_types=[TensorType(element_of(result), new) for result in loop.outs],
        properties=dict(loop.properties),
        regions=[Region([_body(loop.body.block, new)])],
        location=loop.location,
    )
    insert_before(moved, loop)
    for result, made in zip(loop.outs, moved.outs, strict=True):
        after = _reshape(made, old, reshape)
        insert_before(after, loop)
        after.results[0].name_hint = result.name_hint
        replace_uses(result, after.results[0])
    for op in (loop, reshape):
        erase_op(op)


def _is_in(op: Operation, shape: Shape) -> bool:
    """Whether an operation of a loop works on values of this shape alone, each element by itself."""
    if isinstance(op, ConstantOp):
        return is_splat(op.dense) and shape_of(op.results[0]) == shape
    values = (*op.operands, *op.results)
    return (isinstance(op, ReturnOp) or role_of(op) == "elementwise") and all(shape_of(v) == shape for v in values)


def _reshape(value: SSAValue, shape: Shape, like: ReshapeOp) -> ReshapeOp:
    return ReshapeOp.create(
        operands=[value], result_types=[TensorType(element_of(value), shape)], location=like.location
    )


def _body(block: Block, shape: Shape) -> Block:
    """A copy of a loop's body in another shape."""
    copy = Block(arg_types=[TensorType(element_of(argument), shape) for argument in block.args])
    local: dict[SSAValue, SSAValue] = dict(zip(block.args, copy.args, strict=True))
    for argument, made in zip(block.args, copy.args, strict=True):
        made.name_hint = argument.name_hint
    for op in block.ops:
        properties: dict[str, Attribute] = {}
        if isinstance(op, ConstantOp):
            type_ = TensorType(element_of(op.results[0]), shape)
            properties["value"] = DenseIntOrFPElementsAttr(type_, op.dense.data)  # pyright: ignore[reportArgumentType]
        types = [TensorType(element_of(result), shape) for result in op.results]
        made = like(op, [local[value] for value in op.operands], types, properties)
        copy.add_op(made)
        for result, value in zip(op.results, made.results, strict=True):
            local[result] = value
            value.name_hint = result.name_hint
    return copy


# Values read with dimensions joined, as repeated rows or the normalized groups of channels are.


def compute_before_joining(block: Block) -> None:
    """
    Rewrite the operations in `block` that read a value with its dimensions joined, elementwise ones and those that
    treat a joined dimension as a whole, where that saves memory traffic: their results' dimensions are joined instead.

        %b = hlo.broadcast_in_dim %s, dims = [0] : (tensor<32xf32>) -> tensor<32x16xf32>
        %r = hlo.multiply (hlo.reshape %b), %x : tensor<512xf32>
    becomes
        %r = hlo.reshape (hlo.multiply %b, (hlo.reshape %x))
    """
    order: dict[Operation, int] = {}
    for op in list(block.ops):
        if isinstance(op, ReshapeOp) and op.parent is block and _is_computed_and_joined(op):
            order = order or {each: place for place, each in enumerate(block.ops)}
            work = _JoinedWork(op, order)
            if work.saved() > 0:
                work.move()
                order = {}


SLOWLY_REPEATED = range(3, 9)
"""
Times that an element is repeated for which it takes longer to interleave what is computed for each of the repeated ones
than to read these from memory: loops go along more of them, and pairs are interleaved by one instruction.
"""


def _moves_along_last(op: BroadcastInDimOp) -> bool:
    """Whether neighbours in a broadcast's result are elements of its operand that may differ."""
    last = len(shape_of(op.result)) - 1
    return last in op.dims and shape_of(op.operand)[op.dims.index(last)] != 1


def _is_computed_and_joined(op: ReshapeOp) -> bool:
    """Whether a reshape joins dimensions, and does nothing else, of a value that a loop over its elements computes."""
    source, joined = shape_of(op.operand), shape_of(op.result)
    owner = op.operand.owner
    if isinstance(owner, Block) or not is_static(source) or not is_static(joined) or is_splat_constant(op.operand):
        return False
    if is_affine_reshape(source, joined) or not is_affine_reshape(joined, source):
        return False
    if isinstance(owner, TransposeOp) and owner.dims[-1:] != (len(source) - 1,):
        return False  # tiles turn it
    if isinstance(owner, BroadcastInDimOp) and source[-1] in SLOWLY_REPEATED and not _moves_along_last(owner):
        return False
    return role_of(owner) in LOOP_ROLES and not isinstance(owner, ReshapeOp)


def _parts_of(op: ReshapeOp) -> Parts:
    source, joined = shape_of(op.operand), shape_of(op.result)
    split = reshape_parts(joined, source)
    assert split is not None
    return tuple(tuple(source[dim] for dim in dims) or (1,) for dims in split)


class _JoinedWork:
    """The operations that follow from a reshaped value and can be computed before its dimensions are joined."""

    def __init__(self, reshape: ReshapeOp, order: Mapping[Operation, int]):
        """`order`: the operations of the block, each with its place."""
        self.parts: dict[SSAValue, Parts] = {reshape.result: _parts_of(reshape)}
        """Those of the reshaped value, and of what follows from it."""
        self.ops: dict[Operation, Changed] = {}
        pending: list[int] = []
        users: dict[int, Operation] = {}

        def add_users(value: SSAValue) -> None:
            for user in _users(value):
                place = order.get(user)
                if place is not None and place not in users:
                    users[place] = user
                    heapq.heappush(pending, place)

        add_users(reshape.result)
        while pending:
            op = users[heapq.heappop(pending)]
            changed = self._changed(op)
            if changed is not None:
                self.ops[op] = changed
                self.parts[op.results[0]] = changed[0]
                add_users(op.results[0])

    def _changed(self, op: Operation) -> Changed | None:
        """An operation before dimensions are joined; None if it cannot be computed there."""
        if len(op.results) != 1:
            return None
        if not is_elementwise(op):
            # One that reads it as another operand is not moved.
            parts = self.parts.get(op.operands[0])
            return None if parts is None else _before_joining(op, parts)
        found = {self.parts[value] for value in op.operands if value in self.parts}
        shape = shape_of(op.results[0])
        if len(found) != 1 or op.regions or any(shape_of(value) != shape for value in op.operands):
            return None
        return found.pop(), {}

    def saved(self) -> int:
        """Bytes of memory traffic that moving the operations saves; what costs more is negative."""
        if not any(is_elementwise(op) or isinstance(op, ReduceOp) for op in self.ops):
            return 0
        saved = 0
        for value, parts in self._read():
            owner = value.owner
            if isinstance(owner, ReshapeOp) and _is_computed_and_joined(owner) and _parts_of(owner) == parts:
                if all(user in self.ops for user in _users(value)):
                    saved += bytes_of(value) * (2 if owner.operand.has_one_use() else 1)
            elif isinstance(owner, Operation) and role_of(owner) in ("dot", "custom", "reduce"):
                saved -= 2 * bytes_of(value)  # whose epilogues they may be
        return saved - sum(2 * bytes_of(value) for value in self._written() if self._is_taken_in(value))

    def _read(self) -> Iterator[tuple[SSAValue, Parts]]:
        """The values from elsewhere that the operations read, with their parts, each once."""
        pairs = ((value, self._parts_read(op)) for op in self.ops for value in _split_operands(op))
        yield from dict.fromkeys(pair for pair in pairs if pair[0].owner not in self.ops)

    def _parts_read(self, op: Operation) -> Parts:
        return self.ops[op][0] if is_elementwise(op) else self.parts[op.operands[0]]

    def _written(self) -> Iterator[SSAValue]:
        """The results that others read."""
        for op in self.ops:
            if any(user not in self.ops for user in _users(op.results[0])):
                yield op.results[0]

    def _is_taken_in(self, value: SSAValue) -> bool:
        """Whether an operation that stays may be in a kernel with the one that computes this value, as it stands."""
        for user in _users(value):
            if user in self.ops or role_of(user) in ("host", "custom"):
                continue
            if isinstance(user, ReshapeOp) and is_static(shape_of(user.result)):
                target = shape_of(user.result)
                stays = is_affine_reshape(_flat(self.parts[value]), target)
                if stays or not is_affine_reshape(shape_of(value), target):
                    continue
            return True
        return False

    def move(self) -> None:
        """Compute in the shapes from before the dimensions were joined."""
        made: dict[tuple[SSAValue, Parts], SSAValue] = {}
        for op, (parts, properties) in self.ops.items():
            builder = Builder.before(op)
            old, read = op.results[0], self._parts_read(op)
            split = _split_operands(op)
            for value in split:
                if (value, read) not in made:
                    made[value, read] = _split(builder, value, read)
            operands = [made[value, read] for value in split]
            type_ = make_tensor(_flat(parts), element_of(old))
            new = builder.add(like(op, [*operands, *op.operands[len(split) :]], [type_], properties)).value
            new.name_hint = old.name_hint
            made[old, parts] = new
        for op, (parts, _) in reversed(self.ops.items()):
            _join(op.results[0], made[op.results[0], parts], op)
            erase_op(op)


def _users(value: SSAValue) -> Iterator[Operation]:
    yield from dict.fromkeys(use.operation for use in value.uses)


def _split_operands(op: Operation) -> Sequence[SSAValue]:
    """The operands whose dimensions are joined: the others are scalars."""
    return op.operands if is_elementwise(op) else op.operands[:1]


def _flat(parts: Parts) -> Shape:
    return tuple(itertools.chain(*parts))


def _before_joining(op: Operation, parts: Parts) -> Changed | None:
    """An operation that is not elementwise, of an operand with these parts, before dimensions are joined."""
    first = list(itertools.accumulate(map(len, parts), initial=0))

    def split(dims: Sequence[int]) -> list[int]:
        return [place for dim in dims for place in range(first[dim], first[dim + 1])]

    if isinstance(op, ReduceOp) and len(op.operands) == 2:
        kept = tuple(part for dim, part in enumerate(parts) if dim not in op.dims)
        return kept, {"dimensions": int_array(split(op.dims))}
    if isinstance(op, TransposeOp):
        return tuple(parts[dim] for dim in op.dims), {"permutation": int_array(split(op.dims))}
    if isinstance(op, ReverseOp):
        return parts, {"dimensions": int_array(split(op.dims))}
    if isinstance(op, BroadcastInDimOp):
        return _broadcast_before(op, parts)
    if isinstance(op, SliceOp):
        stated = {"start_indices": op.starts, "limit_indices": op.limits, "strides": op.steps}
        return _window_before(op, parts, stated)
    if isinstance(op, PadOp):
        stated = {"edge_padding_low": op.low, "edge_padding_high": op.high, "interior_padding": op.interior}
        return _window_before(op, parts, stated)
    return None


def _broadcast_before(op: BroadcastInDimOp, parts: Parts) -> Changed | None:
    shape = shape_of(op.result)
    if not is_static(shape):
        return None
    made: list[Shape] = [(size,) for size in shape]
    for part, dim in zip(parts, op.dims, strict=True):
        if part != (1,):
            made[dim] = part
    first = list(itertools.accumulate(map(len, made), initial=0))
    dims = [place for dim in op.dims for place in range(first[dim], first[dim + 1])]
    return tuple(made), {"broadcast_dimensions": int_array(dims)}


def _window_before(op: SliceOp | PadOp, parts: Parts, stated: Mapping[str, Shape]) -> Changed | None:
    """A slice or padding along dimensions that are not joined, with the numbers that it has for each dimension."""
    shape = shape_of(op.result)
    if not is_static(shape):
        return None
    made: list[Shape] = []
    numbers: dict[str, list[int]] = {name: [] for name in stated}
    for part, size, *of_dim in zip(parts, shape, *stated.values(), strict=True):
        is_joined = len(part) > 1
        if is_joined and of_dim != ([0, math.prod(part), 1] if isinstance(op, SliceOp) else [0, 0, 0]):
            return None
        made.append(part if is_joined else (size,))
        for name, number in zip(stated, of_dim, strict=True):
            numbers[name] += part if is_joined and name == "limit_indices" else [number] * len(part)
    return tuple(made), {name: int_array(each) for name, each in numbers.items()}


def _split(builder: Builder, value: SSAValue, parts: Parts) -> SSAValue:
    """A value from elsewhere in the shape from before its dimensions were joined."""
    owner = value.owner
    if is_splat_constant(value):
        return builder.splat(splat_of(value).item(), make_tensor(_flat(parts), element_of(value))).value
    if not isinstance(owner, BroadcastInDimOp):
        return _reshaped(builder, value, _flat(parts))
    first = list(itertools.accumulate(map(len, parts), initial=0))
    dims: list[int] = []
    for size, dim in zip(shape_of(owner.operand), owner.dims, strict=True):
        dims += range(first[dim], first[dim + 1]) if size == shape_of(value)[dim] else ()
    operand = _reshaped(builder, owner.operand, tuple(_flat(parts)[dim] for dim in dims))
    return builder.tensors([operand])[0].broadcast(_flat(parts), dims).value


def _join(old: SSAValue, new: SSAValue, op: Operation) -> None:
    """Let those who still read an old value read the new one, its dimensions joined."""
    builder = Builder.before(op)
    for user in list(_users(old)):
        if isinstance(user, ReshapeOp):
            replace_uses(user.result, _reshaped(builder, new, shape_of(user.result)))
            erase_op(user)
    if next(iter(old.uses), None) is not None:
        replace_uses(old, _reshaped(builder, new, shape_of(old)))


def _reshaped(builder: Builder, value: SSAValue, shape: Shape) -> SSAValue:
    """A value in another shape, with no reshape of a reshape."""
    owner = value.owner
    source = owner.operand if isinstance(owner, ReshapeOp) else value
    return builder.tensors([source])[0].reshape(shape).value
