"""
Changing operations and their uses: `erase_op`, `clone_op`, `insert_before`, `replace_uses`, `operands_of`; and freeing
them, `erased_freed` and `take_apart`.

They do what xDSL's methods of similar names do, on the links themselves. Those go through views, setters and checks
that search the operations around, and take several times as long; a compilation changes thousands of operations.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import threading
from collections.abc import Callable, Generator, MutableMapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TypeVar

from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

from .creation import NO_VALUES, append, blank_copy, give_operands, new_block

OpT = TypeVar("OpT", bound=Operation)

_NO_OPERANDS: SSAValues[SSAValue] = SSAValues()


operands_of: Callable[[Operation], Sequence[SSAValue]] = attrgetter("_operands")
"""The operands of an operation, as they are now: a tuple, not a view."""


def set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Let an operation use other operands."""
    _drop(op._operands, op._operand_uses)
    give_operands(op, operands)


def set_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Let an operation use another value as one of its operands."""
    operands, use = [*op._operands], op._operand_uses[index]
    _drop(operands[index : index + 1], (use,))
    operands[index] = value
    op._operands = SSAValues(operands)
    _add_use(value, use)


def insert_before(new: Operation, place: Operation) -> None:
    """Put an operation that is in no block right before `place`, as `Block.insert_op_before` does."""
    block = place.parent
    assert block is not None, "there is no place before an operation in no block"
    if new.regions or new.parent is not None:
        block.insert_op_before(new, place)
        return
    # It holds no block, so that there is nothing to search for circles.
    previous = place._prev_op
    new.parent = block
    new._prev_op = previous
    new._next_op = place
    place._prev_op = new
    if previous is None:
        block._first_op = new
    else:
        previous._next_op = new


def detach_op(op: Operation) -> None:
    """Take an operation out of its block."""
    block, previous, following = op.parent, op._prev_op, op._next_op
    assert block is not None, "the operation is in no block"
    if previous is None:
        block._first_op = following
    else:
        previous._next_op = following
    if following is None:
        block._last_op = previous
    else:
        following._prev_op = previous
    op.parent = op._prev_op = op._next_op = None


def replace_uses(value: SSAValue, new: SSAValue) -> None:
    """Let all operations that use a value use another; it also gets the name, if it has none."""
    if new is value:
        return
    use = value.first_use
    while use is not None:
        following = use._next_use
        user = use._operation
        operands = [*user._operands]
        operands[use._index] = new
        user._operands = SSAValues(operands)
        _add_use(new, use)
        use = following
    value.first_use = None
    if new._name is None and value._name is not None:
        new.name_hint = value._name


def erase_op(op: Operation) -> None:
    """
    Take an operation out of its block, and all that is inside it off the values that it uses. Its own results must have
    no uses, and are gone.
    """
    for result in op.results:
        if result.first_use is not None:
            raise ValueError(f"{op.name} has a result that is used: it cannot be erased")
    if op.parent is not None:
        detach_op(op)
    _drop_uses(op)
    # Nothing refers to it any more, so that it is freed at once, if it holds no blocks.
    op.results = NO_VALUES
    if op.regions and _erased.waiting is not None:
        _erased.waiting.append(op)


class _Erased(threading.local):
    waiting: list[Operation] | None = None
    """Erased operations with regions, where they are to be freed."""


_erased = _Erased()


@contextmanager
def erased_freed() -> Generator[None]:
    """
    Free the operations that are erased inside, at the end: the passes that run there may still look at them.

    Those with regions hold circles of references, which a garbage collection finds by looking through everything that
    was built.
    """
    outer, _erased.waiting = _erased.waiting, (waiting := list[Operation]())
    try:
        yield
    finally:
        _erased.waiting = outer
    for op in waiting:
        take_apart(op)


def take_apart(op: Operation) -> None:
    """Free what is inside of an operation that is in no block, with it: no circle of references is left."""
    for region in op.regions:
        region.parent = None
        block, region._first_block, region._last_block = region._first_block, None, None
        while block is not None:
            _take_apart_operations(block)
            following, block._args = block._next_block, ()
            block.parent = block._prev_block = block._next_block = None
            block = following


def _take_apart_operations(block: Block) -> None:
    inner, block._first_op, block._last_op = block._first_op, None, None
    while inner is not None:
        following = inner._next_op
        inner.parent = inner._prev_op = inner._next_op = None
        for use in inner._operand_uses:
            use._prev_use = None
        inner._operands, inner.results, inner._operand_uses = _NO_OPERANDS, NO_VALUES, ()
        if inner._successors:
            for use in inner._successor_uses:
                use._prev_use = None
            inner._successors = inner._successor_uses = ()
        if inner.regions:
            take_apart(inner)
        inner = following


def _drop_uses(op: Operation) -> None:
    """Take an operation, and all inside of it, off the values and blocks that it uses."""
    _drop(op._operands, op._operand_uses)
    op._operand_uses = ()
    if op._successors:
        _drop(op._successors, op._successor_uses)
        op._successor_uses = op._successors = ()
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                if inner._successors or inner.regions:
                    _drop_uses(inner)
                elif inner._operand_uses:
                    _drop(inner._operands, inner._operand_uses)
                    inner._operand_uses = ()
                inner = inner._next_op
            block = block._next_block


def _add_use(value: SSAValue, use: Use) -> None:
    first = value.first_use
    use._prev_use, use._next_use = None, first
    if first is not None:
        first._prev_use = use
    value.first_use = use


def _drop(used: Sequence[SSAValue] | Sequence[Block], uses: Sequence[Use]) -> None:
    # One inside of an erased operation has no uses any more.
    for value, use in zip(used, uses, strict=False):
        previous, following = use._prev_use, use._next_use
        if previous is None:
            value.first_use = following
        else:
            previous._next_use = following
        if following is not None:
            following._prev_use = previous


def clone_op(op: OpT, values: MutableMapping[SSAValue, SSAValue], operands: Sequence[SSAValue] | None = None) -> OpT:
    """
    A copy of an operation, with all inside of it, that uses `values` instead of those that they stand for, and these
    `operands`, if they are given; `values` receives the copies of results.
    """
    if not op.regions:
        copy = blank_copy(op, values)
        if op._operands:
            give_operands(copy, [values.get(value, value) for value in op._operands] if operands is None else operands)
        return copy
    # Values may be used before the operations that define them, in the order of the blocks.
    pairs: list[tuple[Operation, Operation]] = []
    copy = _clone_whole(op, values, {}, pairs)
    for old, new in pairs:
        if new is copy and operands is not None:
            give_operands(new, operands)
        elif old._operands:
            give_operands(new, [values.get(value, value) for value in old._operands])
    return copy


def _clone_whole(
    op: OpT,
    values: MutableMapping[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> OpT:
    """A copy without operands; `pairs` receives each operation inside of it with its copy."""
    copy = blank_copy(op, values, [blocks.get(block, block) for block in op._successors])
    pairs.append((op, copy))
    for region in op.regions:
        copy.add_region(_clone_region(region, values, blocks, pairs))
    return copy


def _clone_region(
    region: Region,
    values: MutableMapping[SSAValue, SSAValue],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> Region:
    olds = list(region.blocks)
    news = [new_block([argument.type for argument in block.args]) for block in olds]
    blocks.update(zip(olds, news, strict=True))
    for old, new in zip(olds, news, strict=True):
        for argument, copied in zip(old.args, new.args, strict=True):
            copied.location = argument.location
            copied.name_hint = argument.name_hint
            values[argument] = copied
        inner = old._first_op
        while inner is not None:
            append(new, _clone_whole(inner, values, blocks, pairs))
            inner = inner._next_op
    return Region(news)
