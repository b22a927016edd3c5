"""Loops of the host program that call only small kernels become kernels, with those inside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.cpu import SHARED, HostCallOp, ParallelForOp
from ...dialects.support.attributes import call_op
from ...dialects.support.buffer_ops import byte_size, index_constant, resize_arena
from ...dialects.support.buffers import Buffer
from ...dialects.support.kernel import ARENA_SIZE, ASKS, INDEPENDENT, PROGRAM, TRIP_COUNT, Kernel, most_trips
from ...dialects.support.views import is_view, uses_through_views
from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ...lowering.device.cpu import CPU
from ...lowering.loop_nests.brevity import operations_of_a_call
from ...lowering.loop_nests.writes import Writes
from ..outline_parallel_loops.transform import outline
from ..place_safepoints import name_run
from .body import ON_STACK, LoopBody
from .stated import StatedKernels
from .tiles import TileBody, tiles_refusal

MOST_OPERATIONS = 1500
"""Operations of a loop with its kernels: LLVM's time grows faster than the function."""

MOST_OF_TILES = 4000
"""Operations of a loop over tiles with its kernels: large ones gain more by it."""

MOST_WORK = 1 << 30
"""Operations of a call, after which the program can be interrupted: a fraction of a second."""

OF_A_BYTE = 64
"""Operations for a byte of a kernel whose loops do not say how often they run."""

FEWEST_AT_A_TIME, MOST_AT_A_TIME = 16, 1 << 20
"""Iterations of one call."""

MOST_UNASKED, OF_A_QUESTION = 8, 4096
"""
Iterations of a loop around others from one safepoint to the next, where they are short, and their operations, beside
which a safepoint costs nothing.
"""

_PLAIN = (
    func.CallOp,
    memref.CopyOp,
    memref.GetGlobalOp,
    memref.LoadOp,
    memref.StoreOp,
    scf.ConditionOp,
    scf.IfOp,
    scf.IndexSwitchOp,
    scf.YieldOp,
)
"""The operations that a loop may have besides arithmetic and views."""


_BETWEEN = (arith.ConstantOp, memref.CopyOp, memref.GetGlobalOp)
"""The operations, besides views, between a loop and the kernel before it that moves with it."""


class OutlineLoopsPass(HloPass):
    """
    Make a kernel of each loop of the entry around small kernels that run on one thread, with their bodies in it.
    A loop over tiles (tile-loops) becomes a kernel that runs them on several threads, with their loops and kernels.

    Before: `scf.while { .. func.call @k(%a, %b) .. }` in the entry
    After:  `func.call @loop_0(%a, %b)` inside the loop, and `func.func private @loop_0` that makes many iterations
    Assumes: the level after plan-buffers: a loop's state is in memory.
    Leaves: loops that fork, whose iterations move more bytes than the second cache holds, or that would be large
            functions or take long. Kernels that nothing calls any more are erased.

    A call makes a bounded number of iterations, so that the entry can be interrupted between calls. A loop of a known
    number of iterations that one call makes is no loop of the entry any more. Nor is one around loops without such a
    number: its kernel takes the arena, which names the run, and place-safepoints interrupts it between inner calls.
    The kernel before such a loop moves with it, if only the loop reads what it computes and that stays in the cache.
    Small buffers of an iteration become allocas, which LLVM keeps in registers; the others of a tile get a part of the
    arena for each thread, by which it grows. Equal loops become one kernel.
    """

    name = "outline-loops"
    only_for = ("hlo.while", "scf.while")
    takes_tensors = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if ARENA_SIZE not in module.attributes or PROGRAM not in module.attributes:
            return
        engine, stated = engine_of(ctx), StatedKernels(module)
        entry = stated.entry
        if entry is None or not entry.body.block.args:
            return
        loops, names = _Loops(stated, entry.body.block.args[-1]), stated.names()
        holding: list[scf.WhileOp] = []
        for op in operations_in(entry):
            if not isinstance(op, scf.WhileOp) or not entry.is_ancestor(op):
                continue  # it moved with the loop around it
            if INDEPENDENT in op.attributes:
                reason = loops.tiles_refusal(op)
                text = f"one tile runs after the other: {reason}"
                if reason is None:
                    text = loops.outline_tiles(op, next(names))
            elif _holds_loop(op):
                holding.append(op)
                continue
            else:
                text = loops.outlined(op, names)
            engine.emit(Diagnostic("remark", text, op.location))
        # Where the loops inside have become kernels, the loops around them may, inner ones first.
        for op in reversed(holding):
            engine.emit(Diagnostic("remark", loops.outlined(op, names), op.location))
        stated.finish()


def _holds_loop(op: scf.WhileOp) -> bool:
    return any(isinstance(each, scf.WhileOp) for each in operations_in(op)[1:])


class _Loops:
    """The loops of an entry, and what is known about their kernels."""

    def __init__(self, stated: StatedKernels, arena: SSAValue):
        self.stated = stated
        self.module = stated.module
        self.functions = stated.kernels
        self.arena = arena
        self.merged: set[Operation] = set()
        """Views of the arena that functions take for several buffers, which have other views, too."""
        self._sizes: dict[tuple[str, bool], int | None] = {}
        self._work: dict[str, float] = {}

    def outlined(self, op: scf.WhileOp, names: Iterator[str]) -> str:
        """Make a kernel of a loop, with the next name, if nothing is against it. Returns what was done, in words."""
        reason = self.refusal(op)
        return self.outline(op, next(names)) if reason is None else f"the loop stays in the host program: {reason}"

    def refusal(self, op: scf.WhileOp) -> str | None:
        """In words why a loop stays in the entry."""
        ops = operations_in(op)
        if any(isinstance(each, scf.WhileOp) and (each.operands or each.results) for each in ops):
            return "its state is not in memory"
        inside = [each for each in ops if not isinstance(each, scf.WhileOp)]
        reason = self._size_refusal(inside, forks=False, most=MOST_OPERATIONS)
        if reason is not None:
            return reason
        moved = self._sum(op, "bytes")
        if moved > CPU.l2_bytes:
            return f"an iteration moves {moved} bytes, which leave the cache"
        if not self._asks(op) and self._work_of(op) * FEWEST_AT_A_TIME > MOST_WORK:
            return "an iteration may take too long between two places where a run can be stopped"
        return None

    def _size_refusal(self, ops: Sequence[Operation], forks: bool, most: int) -> str | None:
        """Why a loop's operations make no function of at most `most`, in words; `forks`: its kernels may fork."""
        size = len(ops)
        for each in ops:
            if isinstance(each, func.CallOp):
                inside = self._size(each.callee.root_reference.data, forks)
                if inside is None:
                    return f"@{each.callee.root_reference.data} runs on several threads, or outside of the program"
                size += inside
            elif not isinstance(each, _PLAIN) and not is_view(each) and not each.name.startswith("arith."):
                return f"{each.name} is not for a kernel"
        return f"it is a function of {size} operations" if size > most else None

    def _size(self, name: str, forks: bool) -> int | None:
        """The operations of a kernel; None if it forks, unless it may, or calls what is not of the module."""
        if (name, forks) not in self._sizes:
            function = self.functions.get(name)
            ops = [] if function is None or len(function.body.blocks) != 1 else operations_in(function)
            foreign = (ParallelForOp, HostCallOp) if forks else (scf.ParallelOp, ParallelForOp, HostCallOp)
            leaves = any(isinstance(op, foreign) or self._leaves(op) for op in ops)
            self._sizes[name, forks] = None if leaves or not ops else len(ops)
        return self._sizes[name, forks]

    def _leaves(self, op: Operation) -> bool:
        if not isinstance(op, func.CallOp):
            return False
        callee = self.stated.given.get(op.callee.root_reference.data)
        # The code of a shared function may be known already, so that it is only declared.
        return callee is None or (callee.is_declaration and SHARED not in callee.attributes)

    def _calls(self, op: Operation) -> list[str]:
        calls = (each for each in operations_in(op) if isinstance(each, func.CallOp))
        return [name for call in calls if self.stated.is_stated(name := call.callee.root_reference.data)]

    def _sum(self, op: Operation, fact: str) -> int:
        """A fact of all kernels that an iteration calls."""
        return sum(self.stated.fact(name, fact) for name in self._calls(op))

    def _work_of(self, op: Operation, ends: bool = False) -> float:
        """The operations of an iteration, at most; with `ends`, without the kernels that may not end."""
        kernels = (work for work in map(self._operations, self._calls(op)) if not ends or work < math.inf)
        return len(operations_in(op)) + self._sum(op, "flops") + sum(kernels)

    def _operations(self, name: str) -> float:
        """The operations of a call of a kernel, at most; infinity if it may not end."""
        if name not in self._work:
            work = operations_of_a_call(self.functions, name)
            if work == math.inf and not any(isinstance(op, scf.WhileOp) for op in operations_in(self.functions[name])):
                # Loops up to bounds that are computed, as in triangles and sorts.
                work = OF_A_BYTE * self.stated.fact(name, "bytes")
            self._work[name] = work
        return self._work[name]

    def tiles_refusal(self, op: scf.WhileOp) -> str | None:
        """In words why independent iterations stay in the entry."""
        ops = operations_in(op)[1:]
        inner = [each for each in ops if not isinstance(each, scf.WhileOp)]
        if op.operands or op.results or any(each.operands or each.results for each in ops if each not in inner):
            return "its state is not in memory"
        reason = self._size_refusal(inner, forks=True, most=MOST_OF_TILES)
        return reason or tiles_refusal(op, Writes(self.stated.given), self.functions)

    def outline_tiles(self, op: scf.WhileOp, name: str) -> str:
        """Replace the loop by a call of a function of that name that runs its iterations on several threads."""
        ops, flops = self._sum(op, "ops"), self._times(op, "flops")
        stated = (op.attributes[each] for each in (TRIP_COUNT, INDEPENDENT))
        trips, at_once = (cast("IntegerAttr[Any]", each).value.data for each in stated)
        body = TileBody(op, self.arena, self.functions, at_once, trips)
        function = body.function(name)
        self.module.body.block.add_op(function)
        resize_arena(self.module, self.arena, body.taken)
        call = call_op(name, body.operands, ())
        call.location = op.location
        body.place(call, whole=True)
        if at_once < trips:
            self._add_last(function, at_once, trips)
        self._add(function, {"ops": ops, "bytes": body.bytes, "flops": flops})
        return f"one kernel runs {trips} tiles on several threads, with their loops"

    def _times(self, op: Operation, fact: str) -> int:
        """A fact of all kernels that a loop calls, as often as the loops inside are known to run."""
        total = 0
        for each in operations_in(op):
            if isinstance(each, func.CallOp) and self.stated.is_stated(name := each.callee.root_reference.data):
                around, times = each.parent_op(), 1
                while around is not None and op.is_ancestor(around):
                    count = around.attributes.get(TRIP_COUNT)
                    times *= count.value.data if isinstance(count, IntegerAttr) else 1
                    around = around.parent_op()
                total += times * self.stated.fact(name, fact)
        return total

    def _add_last(self, function: func.FuncOp, first: int, end: int) -> None:
        """Run the iterations that depend on others after them."""
        (parallel,) = (op for op in function.body.block.ops if isinstance(op, scf.ParallelOp))
        body = outline(parallel, f"{function.sym_name.data}_body")
        (fork,) = (op for op in function.body.block.ops if isinstance(op, ParallelForOp))
        self.module.body.block.insert_op_after(body, function)
        added: list[Operation] = []
        for iteration in range(first, end):
            index = index_constant(iteration)
            call = call_op(body.sym_name.data, [*fork.captures, index.result, index.result])
            call.location = function.location
            added += [index, call]
        function.body.block.insert_ops_after(added, fork)

    def _add(self, function: func.FuncOp, facts: Mapping[str, int]) -> None:
        """Make a kernel of a function, about which these facts are known."""
        Kernel.mark(function, StringAttr("while"), 0, ())
        self.stated.add(function, facts)

    def outline(self, op: scf.WhileOp, name: str) -> str:
        """Replace the loop's body, or all of it, by a call of a function of that name; says what was done."""
        moved, flops, ops = (self._sum(op, fact) for fact in ("bytes", "flops", "ops"))
        before = {"ops": 0, "bytes": 0, "flops": 0}
        stated = op.attributes.get(TRIP_COUNT)
        trips = cast("IntegerAttr[Any]", stated).value.data if isinstance(stated, IntegerAttr) else None
        times, limit = self._in_a_call(op)
        whole, asks = limit is None, self._asks(op)
        every = max(1, min(MOST_UNASKED, int(OF_A_QUESTION / self._work_of(op, ends=True))))
        first, between = self._before(op) if whole else ([], [])
        for each in first:
            if isinstance(each, func.CallOp):
                called = each.callee.root_reference.data
                before = {fact: before[fact] + self.stated.fact(called, fact) for fact in before}
        started = [] if first or not whole else self._starts(op)
        body = LoopBody(op, self.arena, self.functions, limit, first or started, between, self.merged)
        for copy in started:
            body.take_start(copy)
        if asks:
            name_run(self.module, self.arena)
            body.let_loops_ask(every)
        function = body.function(name)
        self.module.body.block.add_op(function)
        call = call_op(name, body.operands, ())
        call.location = op.location
        body.place(call, whole)
        facts = {"ops": ops, "bytes": moved * times, "flops": flops * (trips or 1)}
        facts = {fact: number + before[fact] for fact, number in facts.items()}
        self._add(function, {**facts, "bytes": min(body.bytes, facts["bytes"])})
        if not whole:
            return f"one kernel runs up to {limit} iterations"
        return f"one kernel runs the whole loop, with its kernels{' and the one before it' if first else ''}"

    def _asks(self, op: scf.WhileOp) -> bool:
        """Whether a loop holds others that need not end soon."""
        return _holds_loop(op) or any(ASKS in self.functions[name].attributes for name in self._calls(op))

    def _in_a_call(self, op: scf.WhileOp) -> tuple[int, int | None]:
        """The iterations of a loop that a call makes, at least one, and its limit, None if it makes all of them."""
        known = most_trips(op)
        if self._asks(op):
            return known or 1, None
        most = min(int(MOST_WORK / self._work_of(op)), MOST_AT_A_TIME)
        return (most, most) if known is None or known > most else (known, None)

    def _before(self, loop: scf.WhileOp) -> tuple[list[Operation], list[SSAValue]]:
        """
        The call of the kernel before a loop, with the copies after it, and what the kernel writes, if only the loop
        reads that, and it stays in the cache until then; nothing otherwise.
        """
        found: list[Operation] = []
        op = loop.prev_op
        while op is not None and (isinstance(op, _BETWEEN) or is_view(op)):
            if isinstance(op, memref.CopyOp):
                found.append(op)
            op = op.prev_op
        if not isinstance(op, func.CallOp) or not self.stated.is_stated(op.callee.root_reference.data):
            return [], []
        name = op.callee.root_reference.data
        size, inside = self._size(name, forks=True), self._size_of(loop)
        if size is None or size + inside > MOST_OPERATIONS or self._operations(name) > MOST_WORK:
            return [], []
        writes = Writes(self.stated.given)
        written = [value for place, value in enumerate(op.operands) if writes.of(name, place)]
        held = sum(byte_size(cast(Buffer, value.type)) for value in written)
        if held > CPU.l2_bytes // 2 or not all(self._is_between(value, op, loop) for value in written):
            return [], []
        return [op, *reversed(found)], written

    def _starts(self, loop: scf.WhileOp) -> list[memref.CopyOp]:
        """The copies of constants before a loop to buffers that only the loop uses: where its counters begin."""
        found: list[memref.CopyOp] = []
        op = loop.prev_op
        while op is not None and (isinstance(op, _BETWEEN) or is_view(op)):
            if isinstance(op, memref.CopyOp) and isinstance(op.source.owner, memref.GetGlobalOp):
                target = op.destination
                if byte_size(cast(Buffer, target.type)) <= ON_STACK and self._is_between(target, op, loop):
                    found.append(op)
            op = op.prev_op
        return found[::-1]

    def _size_of(self, loop: scf.WhileOp) -> int:
        """The operations of a loop with its kernels."""
        return len(operations_in(loop)) + sum(self._size(name, forks=True) or 0 for name in self._calls(loop))

    def _is_between(self, value: SSAValue, call: Operation, loop: scf.WhileOp) -> bool:
        """Whether a value is a buffer of the arena that a call and a loop after it use, and nothing else does."""
        view = value.owner
        if not isinstance(view, memref.ViewOp) or view.source is not self.arena or view.sizes:
            return False
        users = [use.operation for use in uses_through_views(value)]
        return any(map(loop.is_ancestor, users)) and all(user is call or loop.is_ancestor(user) for user in users)
