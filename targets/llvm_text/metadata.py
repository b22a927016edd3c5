"""The numbered metadata at the end of an LLVM IR text: access groups and facts about loops."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr
from xdsl.ir import Operation

from ...dialects.llvm_ops import ACCESS_GROUPS

_UNROLLING = {0: '!{!"llvm.loop.unroll.full"}', 1: '!{!"llvm.loop.unroll.disable"}'}
"""The unrolling metadata by unroll factor; 0 means full unrolling."""


class Metadata:
    """Numbers metadata nodes in the order of requests; equal facts share a number."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._known: dict[str, int] = {}
        self._groups: dict[int, int] = {}

    def lines(self) -> list[str]:
        nodes = [f"!{number} = {text}" for number, text in enumerate(self._nodes)]
        return ["", *nodes] if nodes else []

    def _node(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = len(self._nodes)
            self._nodes.append(text)
        return f"!{self._known[text]}"

    def one(self) -> str:
        """The operand of !nontemporal."""
        return self._node("!{i32 1}")

    def group(self, index: int) -> str:
        """The access group of a parallel loop."""
        if index not in self._groups:
            self._groups[index] = len(self._nodes)
            self._nodes.append("distinct !{}")
        return f"!{self._groups[index]}"

    def access_suffix(self, op: Operation) -> str:
        """`, !llvm.access.group !3` for an access inside parallel loops, a list of groups inside several."""
        found = op.attributes.get(ACCESS_GROUPS)
        if not isinstance(found, DenseArrayBase):
            return ""
        groups = [self.group(int(index)) for index in cast("DenseArrayBase[Any]", found).get_values()]
        return f", !llvm.access.group {groups[0] if len(groups) == 1 else self._node('!{' + ', '.join(groups) + '}')}"

    def loop(self, facts: DictionaryAttr) -> str:
        """A loop's node: distinct per loop, because LLVM treats loops that share a node as one."""
        parts: list[str] = []
        group = facts.data.get("parallel_accesses")
        if isinstance(group, IntegerAttr):
            number = cast("IntegerAttr[Any]", group).value.data
            parts.append(self._node(f'!{{!"llvm.loop.parallel_accesses", {self.group(number)}}}'))
        if "vectorize" in facts.data:
            parts.append(self._node('!{!"llvm.loop.vectorize.enable", i1 true}'))
        unroll = facts.data.get("unroll")
        if isinstance(unroll, IntegerAttr):
            count = cast("IntegerAttr[Any]", unroll).value.data
            parts.append(self._node(_UNROLLING.get(count, f'!{{!"llvm.loop.unroll.count", i32 {count}}}')))
        number = len(self._nodes)
        self._nodes.append(f"distinct !{{{', '.join([f'!{number}', *parts])}}}")
        return f"!{number}"
