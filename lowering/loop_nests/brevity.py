"""
Finds the functions of a program that take so little time that LLVM need not optimize them.

An operation that LLVM has not optimized takes a tenth of a nanosecond longer, and the optimizer takes milliseconds even
for the smallest function. So functions are marked that a run calls only a few times, for a few operations each, and
what is left of the host program beside kernels that take long.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation

from ...dialects.cpu import SHARED, ParallelForOp
from ...dialects.support.classes import one_of
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import BRIEF, INLINE, PART, entry_name, is_kernel, most_trips
from ...hlo_dialect.walking import TypeFact, operations_in
from .unrolling import iterations

MOST = 1024
"""Operations of the functions of a program that are not optimized, over a run: a tenth of a microsecond."""

SHORT = 64
"""Operations of a kernel without loops that is not optimized even if it is called in each iteration of a loop."""

LONG = 4096
"""Operations of a kernel beside which the others of such an iteration do not count: about half a microsecond."""

_is_free = one_of(arith.ConstantOp, scf.YieldOp, memref.ReinterpretCastOp, func.ReturnOp)
_is_access = one_of(memref.LoadOp, memref.StoreOp)
_OF_A_LOOP = 3
"""Operations of an iteration besides its body: the index is compared and increased, and control goes back."""


def mark_brief_functions(module: ModuleOp) -> None:
    """
    Mark kernels and parts of kernels, those of least work first, as long as they take `MOST` operations in all. Kernels
    that are compiled for several programs, which may have any others, count by themselves.

    Where each iteration of the host program's loops takes much longer than the loops themselves and short kernels
    without loops do, mark the host program and these kernels too, however often they run.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if type(op) is func.FuncOp}
    entry = entry_name(module)
    if entry not in functions:
        return
    runs = _marked(functions, entry)
    for name, function in functions.items():
        if SHARED in function.attributes and is_kernel(function):
            _marked(functions, name)
    loops = list(_loops_of(functions[entry]))
    if loops and all(map(runs.is_long, loops)) and all(map(_is_plain, operations_in(functions[entry]))):
        functions[entry].attributes[BRIEF] = UnitAttr()
        for name in filter(runs.is_short, runs.operations):
            functions[name].attributes[BRIEF] = UnitAttr()


def _marked(functions: dict[str, func.FuncOp], root: str) -> _Runs:
    """Mark the functions of least work that a call of one executes; returns its operations."""
    runs = _Runs(functions, root=root)
    runs.add(root, 1)
    left = float(MOST)
    for name, operations in sorted(runs.operations.items(), key=lambda each: each[1]):
        function = functions[name]
        if operations > left:
            break
        if (is_kernel(function) or PART in function.attributes) and runs.work(name).is_plain:
            function.attributes[BRIEF] = UnitAttr()
            left -= operations
    return runs


def operations_of_a_call(functions: dict[str, func.FuncOp], name: str) -> float:
    """
    An upper bound of the operations that a call of a function executes, including those of the functions that it calls
    but for shared ones; infinity if there is none.
    """
    runs = _Runs(functions)
    runs.add(name, 1)
    return sum(runs.operations.values())


@dataclass
class _Work:
    """The work of one call of a function."""

    operations: float = 0
    """Executed at most, without those of the functions that it calls; infinity if that is not known."""
    calls: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """The functions that it calls, and how often."""
    is_plain: bool = True
    """Whether the optimizer would change no result: no sums that it may reorder, and only scalars of common types."""


class _Runs:
    """How many operations of each function a run of the program executes."""

    def __init__(self, functions: dict[str, func.FuncOp], found: dict[str, _Work] | None = None, root: str = ""):
        """`root`: a function that counts though it is shared."""
        self._functions = functions
        self._root = root
        self._found: dict[str, _Work] = {} if found is None else found
        self._endless: set[str] = set()
        self.operations: defaultdict[str, float] = defaultdict(float)

    def add(self, name: str, times: float) -> None:
        """Count `times` calls of a function, and what it calls."""
        function = self._functions.get(name)
        if function is None or name in self._endless or (SHARED in function.attributes and name != self._root):
            return
        if times == math.inf:
            self._endless.add(name)
        work = self.work(name)
        self.operations[name] += _product(times, work.operations)
        for callee, number in work.calls:
            self.add(callee, _product(times, number))

    def is_short(self, name: str) -> bool:
        """Whether a function is a kernel of few operations, without loops, in which LLVM would change no result."""
        function, work = self._functions[name], self.work(name)
        is_plain = is_kernel(function) and work.operations <= SHORT and work.is_plain
        return is_plain and not any(_loops_of(function))

    def is_long(self, loop: Operation) -> bool:
        """Whether each iteration calls a kernel that takes long or works on several threads, or has such a loop."""
        return any(
            self._takes_long(op.callee.string_value()) if type(op) is func.CallOp else _is_loop(op) and self.is_long(op)
            for region in loop.regions
            for block in region.blocks
            for op in block.ops
        )

    def _takes_long(self, name: str) -> bool:
        alone = _Runs(self._functions, self._found)
        alone.add(name, 1)
        return sum(alone.operations.values()) >= LONG

    def work(self, name: str) -> _Work:
        """The work of a call of a function that has a body."""
        if name not in self._found:
            self._found[name] = work = _Work()
            for block in self._functions[name].body.blocks:
                self._count(block, 1, work)
        return self._found[name]

    def _count(self, block: Block, times: float, work: _Work) -> None:
        """Add the work of a block that is executed `times` times."""
        for op in block.ops:
            if _is_free(op):
                continue
            if type(op) is func.CallOp:
                self._count_call(op.callee.string_value(), times, work)
                work.is_plain = work.is_plain and _are_common(value.type for value in operands_of(op))
            elif type(op) is ParallelForOp:
                work.calls.append((op.callee.root_reference.data, math.inf))
            elif op.regions:
                again = _product(times, _repeats(op))
                work.operations += _OF_A_LOOP * again
                for inner in (block for region in op.regions for block in region.blocks):
                    self._count(inner, again, work)
            else:
                work.operations += times * _size(op)
                work.is_plain = work.is_plain and work.operations <= MOST and _is_plain(op)

    def _count_call(self, callee: str, times: float, work: _Work) -> None:
        function = self._functions.get(callee)
        if function is None or INLINE not in function.attributes:
            work.calls.append((callee, times))
            return
        inlined = self.work(callee)
        work.operations += _product(times, inlined.operations)
        work.is_plain = work.is_plain and inlined.is_plain
        work.calls += [(name, _product(times, number)) for name, number in inlined.calls]


def _loops_of(function: func.FuncOp) -> Iterator[Operation]:
    return filter(_is_loop, operations_in(function))


def _is_loop(op: Operation) -> bool:
    return bool(op.regions) and not isinstance(op, scf.IfOp | scf.IndexSwitchOp | func.FuncOp)


def _size(op: Operation) -> int:
    """The instructions of an operation: each index of an access but one is multiplied and added."""
    if not _is_access(op):
        return 1
    indices = cast(memref.LoadOp, op).indices
    return 1 + 2 * max(0, sum(type(index.owner) is not arith.ConstantOp for index in indices) - 1)


def _product(times: float, operations: float) -> float:
    return times * operations if times and operations else 0


def _repeats(op: Operation) -> float:
    """How often the regions of an operation are executed, at most."""
    if type(op) is scf.ForOp:
        count = iterations(op)
        return math.inf if count is None else count
    if type(op) is scf.WhileOp and (count := most_trips(op)) is not None:
        return count
    return 1 if isinstance(op, scf.IfOp | scf.IndexSwitchOp) else math.inf


_WIDTHS = (1, 8, 16, 32, 64)


def _is_plain(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    if type(flags) is arith.FastMathFlagsAttr and flags.data:
        return False
    return _are_common([value.type for value in (*operands_of(op), *op.results)])


def _are_common(types: Iterable[Attribute]) -> bool:
    """Whether every machine has registers for values of these types; buffers count as addresses."""
    return all(map(_is_common, types))


@TypeFact
def _is_common(type_: Attribute) -> bool:
    if isinstance(type_, IntegerType):
        return cast("IntegerType[Any, Any]", type_).width.data in _WIDTHS
    return isinstance(type_, Float32Type | Float64Type | IndexType | MemRefType)
