"""
How the functions of a module are divided into parts that LLVM compiles at the same time.

A part has functions that call one another; kernels, which are never inlined, and functions whose addresses are passed
on may be elsewhere. Each part has its own copy of the constants that it names and of functions that are inlined anyway.
Functions that only start others, such as the entry, the program of calls, the loops around the micro-kernel of a
product, and the thunks of parallel loops, are a part that LLVM compiles without optimizing it, in a tenth of the time;
so are kernels of few operations (`xhlo.brief`). The division follows from the module alone, so that the machine code is
the same however many threads compile it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerType, StringAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.llvm_ops import FCmpOp, PoisonOp, SelectOp
from ...dialects.support.classes import one_of
from ...dialects.support.kernel import BRIEF
from ...dialects.support.shared_names import VECTOR_VARIANTS
from ...hlo_dialect.walking import TypeFact, operations_inside

PART = 100
"""The least number of operations of one of many parts: LLVM takes ten times longer for them than to set up another."""

HALF = 25
"""The least number of operations of one of two parts: where two threads compile, half of the time is worth more."""

MOST_PARTS = 16


@dataclass(frozen=True)
class Part:
    """The functions and globals of one text, by name."""

    defined: frozenset[str]
    """Those with a body or value in this text."""
    named: frozenset[str]
    """Those that the text names, `defined` or not."""
    exported: frozenset[str]
    """The functions that other texts call."""
    copied: frozenset[str]
    """Those that other texts define as well."""
    starts: bool = False
    """Whether the functions only start others, or are brief: nothing in them is worth optimizing."""


Named = Mapping[str, llvm.FuncOp | llvm.GlobalOp]


def divide(graph: Graph) -> tuple[Part, ...]:
    """The parts of a module's functions and globals without those that are compiled apart; the first has the entry."""
    groups = _joined(graph)
    starting = [name for names in groups if graph.only_start(names) for name in names]
    groups = [names for names in groups if not graph.only_start(names)]
    size = sum(map(graph.size, groups))
    count = min(MOST_PARTS, max(1, size // PART, 2 if size >= 2 * HALF else 1), len(groups))
    if count + bool(starting) <= 1:
        # Functions that only those apart call are not here: another compilation may know those without their bodies.
        return (replace(_part(graph, graph.roots(), frozenset(), bool(starting)), copied=frozenset()),)
    chosen = [*([starting] if starting else ()), *(_balanced(groups, graph, count) if groups else ())]
    chosen.sort(key=lambda names: not any(_is_entry(graph.ops[name]) for name in names))
    home = {name: number for number, names in enumerate(chosen) for name in names}
    exported = frozenset(
        callee
        for name, number in home.items()
        for source in (name, *graph.copied(name))
        for callee in graph.edges[source]
        if home.get(callee, number) != number
    )
    return tuple(_part(graph, names, exported, names is starting) for names in chosen)


def alone(graph: Graph, name: str) -> Part:
    """The part of one function, which other texts call, with those that only it starts."""
    names = (name, *graph.own(name))
    return _part(graph, names, frozenset({name}), graph.only_start(names))


def _part(graph: Graph, names: Sequence[str], exported: frozenset[str], starts: bool) -> Part:
    copied = {copy for name in names for copy in graph.copied(name)}
    defined = {*names, *copied}
    named = defined.union(*(graph.edges[name] for name in defined))
    return Part(frozenset(defined), frozenset(named), exported.intersection(names), frozenset(copied), starts)


class Graph:
    """Which functions and globals of a module name which."""

    def __init__(self, ops: Named, apart: frozenset[str]):
        """`apart`: the functions that are compiled by themselves."""
        self.ops = ops
        self.apart = apart
        self.edges: dict[str, set[str]] = {}
        self.bound: dict[str, set[str]] = {}
        """Those of `edges` that are compiled together with the one that names them."""
        self._sizes: dict[str, int] = {}
        self._starting: set[str] = set()
        """The functions that only start others, and brief ones."""
        self._brief = {name for name, op in ops.items() if BRIEF in op.attributes}
        self._copies = {name for name, op in self.ops.items() if _is_copied(op) and name not in apart}
        for name, op in self.ops.items():
            self._read(name, op)
        self._with_others = {each for name in apart for each in self.own(name)}
        """The functions that those `apart` start."""

    def own(self, name: str) -> list[str]:
        """The functions that one of those `apart` starts, and that these start; they are compiled with it."""
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            for each in sorted(self.edges[waiting.pop()]):
                is_own = each not in found and each not in self.apart and each not in self._copies
                if is_own and type(self.ops[each]) is llvm.FuncOp and not _is_declaration(self.ops[each]):
                    found[each] = None
                    waiting.append(each)
        return list(found)

    def _read(self, name: str, op: Operation) -> None:
        named, bound, size = set(_variants(op)) & self.ops.keys(), set[str](), 0
        self._copies |= named
        if type(op) is llvm.FuncOp:
            works = not op.body.blocks
            brief = name in self._brief
            for each in operations_inside(op.body):
                size += 1
                works = works or (not brief and _works(each))
                if type(each) is llvm.AddressOfOp:
                    addressed = each.global_name.root_reference.data
                    (named if type(self.ops.get(addressed)) is llvm.FuncOp else bound).add(addressed)
                elif type(each) is llvm.CallOp and each.callee is not None:
                    callee = each.callee.string_value()
                    named.add(callee)
                    if not _stays_a_call(self.ops.get(callee)):
                        bound.add(callee)
            if not works:
                self._starting.add(name)
        self.edges[name] = (named | bound) & self.ops.keys()
        self.bound[name] = bound & self.ops.keys()
        self._sizes[name] = size

    def roots(self) -> list[str]:
        """The functions and globals that are in one part only, in the order of the module."""
        return [
            name
            for name, op in self.ops.items()
            if not (name in self._copies or name in self.apart or name in self._with_others or _is_declaration(op))
        ]

    def only_start(self, names: Sequence[str]) -> bool:
        """Whether these functions only start others, and inline none, or are brief."""
        copies = (copy for name in names if name not in self._brief for copy in self.copied(name))
        return self._starting.issuperset(names) and all(type(self.ops[copy]) is llvm.GlobalOp for copy in copies)

    def copied(self, name: str) -> list[str]:
        """The functions and globals that are copied into each part that has `name`."""
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            for each in sorted(self.edges[waiting.pop()] & self._copies):
                if each not in found:
                    found[each] = None
                    waiting.append(each)
        return list(found)

    def size(self, names: Sequence[str]) -> int:
        """The operations of these functions and of what they copy."""
        copies = {copy for name in names for copy in self.copied(name)}
        return sum(self._sizes[name] for name in (*names, *copies))


def _joined(graph: Graph) -> list[list[str]]:
    """The roots in groups that stay together, the group of the entry first."""
    above: dict[str, str] = {name: name for name in graph.roots()}

    def head(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for name in list(above):
        for source in (name, *graph.copied(name)):
            for other in sorted(graph.bound[source]):
                if other in above:
                    above[head(other)] = head(name)
    groups: dict[str, list[str]] = {}
    for name in above:
        groups.setdefault(head(name), []).append(name)
    return sorted(groups.values(), key=lambda names: not any(_is_entry(graph.ops[name]) for name in names))


def _balanced(groups: list[list[str]], graph: Graph, count: int) -> list[list[str]]:
    """`count` parts of about the same size; the first has the first group."""
    parts: list[list[str]] = [list(groups[0]), *([] for _ in range(count - 1))]
    sizes = [graph.size(groups[0]), *[0] * (count - 1)]
    for names in sorted(groups[1:], key=graph.size, reverse=True):
        least = sizes.index(min(sizes))
        parts[least] += names
        sizes[least] += graph.size(names)
    return [part for part in parts if part]


_is_control = one_of(
    llvm.AddOp,
    llvm.AddressOfOp,
    llvm.AllocaOp,
    llvm.AndOp,
    llvm.BrOp,
    llvm.CallIntrinsicOp,
    llvm.CallOp,
    llvm.CondBrOp,
    llvm.GEPOp,
    llvm.ICmpOp,
    llvm.LShrOp,
    llvm.MulOp,
    llvm.ReturnOp,
    llvm.ShlOp,
    llvm.SubOp,
    llvm.UDivOp,
    llvm.URemOp,
    llvm.UndefOp,
    llvm.ZeroOp,
    PoisonOp,
    SelectOp,
)
_INDICES = (IntegerType(1), IntegerType(64), llvm.LLVMPointerType())
_is_index = TypeFact(lambda type_: type_ in _INDICES)


_compares = one_of(FCmpOp, llvm.ICmpOp)


def _works(op: Operation) -> bool:
    """
    Whether an operation does more than compute addresses and indices, pass those and constants on, and call; scalars
    that the function is given may be moved and compared.
    """
    if type(op) is llvm.ConstantOp:
        return False
    if type(op) is llvm.LoadOp:
        return type(op.results[0].type) is not llvm.LLVMPointerType and not _is_given(op)
    if type(op) is llvm.StoreOp:
        slot = op.ptr.owner
        kept = isinstance(slot.ptr.owner if type(slot) is llvm.GEPOp else slot, llvm.AllocaOp)
        return not kept and not (_is_fixed(op.ptr) and _is_given(op.value.owner))
    if type(op) is FCmpOp:
        return not all(_is_given(operand.owner) for operand in op.operands)
    return not _is_control(op) or not all(_is_index(result.type) for result in op.results)


def _is_given(owner: Operation | Block) -> bool:
    """Whether a value is a constant, or a scalar at one place in memory that is only moved or compared."""
    if type(owner) is llvm.ConstantOp:
        return True
    if type(owner) is not llvm.LoadOp or isinstance(owner.results[0].type, VectorType) or not _is_fixed(owner.ptr):
        return False
    return all(type(use.operation) is llvm.StoreOp or _compares(use.operation) for use in owner.results[0].uses)


def _is_fixed(pointer: SSAValue) -> bool:
    """Whether an address is that of an argument or of a global, or a constant distance from it."""
    owner = pointer.owner
    if type(owner) is llvm.GEPOp:
        return _is_fixed(owner.ptr) and all(type(index.owner) is llvm.ConstantOp for index in owner.ssa_indices)
    return type(owner) is llvm.AddressOfOp or (isinstance(owner, Block) and owner.prev_block is None)


def _is_declaration(op: Operation) -> bool:
    return type(op) is llvm.FuncOp and op.body.first_block is None


def _is_entry(op: Operation) -> bool:
    return type(op) is llvm.FuncOp and op.linkage.linkage.data == "external"


def traits(op: Operation | None) -> list[str]:
    """LLVM's attributes of a function; none for anything else."""
    # It is a property in IR made by a pass, an attribute in parsed IR.
    found = (op.properties.get("passthrough") or op.attributes.get("passthrough")) if op is not None else None
    names = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
    return [name.data for name in names if isinstance(name, StringAttr)]


def _is_copied(op: Operation) -> bool:
    if type(op) is llvm.GlobalOp:
        return op.constant is not None
    return not _is_declaration(op) and not {"alwaysinline", "memory(none)"}.isdisjoint(traits(op))


def _stays_a_call(op: Operation | None) -> bool:
    """Whether a function is neither inlined nor needed by the optimizer at its calls."""
    return op is None or _is_declaration(op) or "noinline" in traits(op)


def _variants(op: Operation) -> list[str]:
    """The functions that a vectorized loop calls instead of this one."""
    words = [trait for trait in traits(op) if VECTOR_VARIANTS in trait]
    return [part.rpartition("(")[2].rstrip(')"') for word in words for part in word.split(",")]
