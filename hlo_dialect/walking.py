"""The operations inside of one and the blocks of a region, in order; faster than xDSL's nested generators."""

from __future__ import annotations

from xdsl.ir import Attribute, Block, Operation, Region


def operations_in(op: Operation) -> list[Operation]:
    """The operation and all inside of it, in the order of `walk`. The list does not change with the module."""
    found = [op]
    _collect(op, found)
    return found


def _collect(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner.next_op
            block = block.next_block


def types_at(op: Operation) -> list[Attribute]:
    """The types of an operation's results and of the arguments of its blocks."""
    found = [result.type for result in op.results]
    for region in op.regions:
        block = region.first_block
        while block is not None:
            found += [argument.type for argument in block.args]
            block = block.next_block
    return found


def successors(block: Block) -> list[Block]:
    """The blocks of the same region that a block branches to."""
    last = block.last_op
    return [] if last is None else [following for following in last.successors if following.parent is block.parent]


def reverse_postorder(region: Region) -> list[Block]:
    """The blocks that the entry reaches, each after its predecessors except for the ends of loops."""
    found: list[Block] = []
    entry = region.blocks[0]
    seen = {entry}
    stack = [(entry, reversed(successors(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            stack.pop()
            found.append(block)
        elif following not in seen:
            seen.add(following)
            stack.append((following, reversed(successors(following))))
    return found[::-1]
