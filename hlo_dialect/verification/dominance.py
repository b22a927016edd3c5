"""Dominance between the blocks of a region: which block's definitions every way to another block passes."""

from __future__ import annotations

from xdsl.ir import Block, Region

from ..walking import reverse_postorder, successors


def dominator_children(region: Region) -> tuple[dict[Block, list[Block]], list[Block]]:
    """
    The dominator tree of a region as (children of each block, blocks that no way reaches).

    The algorithm is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    """
    entry = region.blocks.first
    assert entry is not None, "an empty region has no dominators"
    order = reverse_postorder(region)[::-1]
    number = {block: index for index, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for block in order:
        for successor in successors(block):
            predecessors[number[successor]].append(number[block])
    root = len(order) - 1
    dominator = [-1] * len(order)
    dominator[root] = root
    changed = True
    while changed:
        changed = False
        for index in range(root - 1, -1, -1):
            known = [p for p in predecessors[index] if dominator[p] >= 0]
            best = known[0]
            for other in known[1:]:
                best = _intersect(dominator, best, other)
            if dominator[index] != best:
                dominator[index] = best
                changed = True
    children: dict[Block, list[Block]] = {}
    for index in range(root - 1, -1, -1):
        children.setdefault(order[dominator[index]], []).append(order[index])
    return children, [block for block in region.blocks if block not in number]


def _intersect(dominator: list[int], first: int, second: int) -> int:
    while first != second:
        while first < second:
            first = dominator[first]
        while second < first:
            second = dominator[second]
    return first
