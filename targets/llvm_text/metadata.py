"""The numbered metadata at the end of an LLVM IR text: access groups and facts about loops."""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Operation

from ...dialects.llvm_loops import UNROLL_FULLY, UNROLL_NEVER, LoopAnnotationAttr, access_groups

_UNROLLING = {UNROLL_FULLY: '!{!"llvm.loop.unroll.full"}', UNROLL_NEVER: '!{!"llvm.loop.unroll.disable"}'}


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

    def none(self) -> str:
        """The operand of !unpredictable."""
        return self._node("!{}")

    def group(self, index: int) -> str:
        """The access group of a parallel loop."""
        if index not in self._groups:
            self._groups[index] = len(self._nodes)
            self._nodes.append("distinct !{}")
        return f"!{self._groups[index]}"

    def access_suffix(self, op: Operation) -> str:
        """`, !llvm.access.group !3` for an access inside parallel loops, a list of groups inside several."""
        groups = [self.group(number) for number in access_groups(op)]
        if not groups:
            return ""
        return f", !llvm.access.group {groups[0] if len(groups) == 1 else self._node('!{' + ', '.join(groups) + '}')}"

    def loop(self, facts: LoopAnnotationAttr) -> str:
        """A loop's node: distinct per loop, because LLVM treats loops that share a node as one."""
        parts: list[str] = []
        if facts.parallel_accesses.data:
            groups = ", ".join(self.group(group.number.data) for group in facts.parallel_accesses.data)
            parts.append(self._node(f'!{{!"llvm.loop.parallel_accesses", {groups}}}'))
        if not isinstance(facts.vectorize, NoneAttr):
            enable = "false" if facts.vectorize.disable.value.data else "true"
            parts.append(self._node(f'!{{!"llvm.loop.vectorize.enable", i1 {enable}}}'))
        if not isinstance(facts.interleave, NoneAttr):
            parts.append(self._node(f'!{{!"llvm.loop.interleave.count", i32 {facts.interleave.count.data}}}'))
        if not isinstance(facts.unroll, NoneAttr):
            count = facts.unroll.factor.data
            parts.append(self._node(_UNROLLING.get(count, f'!{{!"llvm.loop.unroll.count", i32 {count}}}')))
        number = len(self._nodes)
        self._nodes.append(f"distinct !{{{', '.join([f'!{number}', *parts])}}}")
        return f"!{number}"
