"""
Attributes that passes set for later passes and targets: on kernels, their operations, other functions and the module.

A kernel is a function that outline-kernels creates from a fusion; `Kernel` reads its attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Operation

_KIND, _ROWS, _TIED, _SHARED = "hlo.kernel", "hlo.row_dims", "hlo.tied", "xhlo.shared_buffers"
_CONSTANTS = "xhlo.constants"
OF_KERNELS = frozenset((_KIND, _ROWS, _TIED))
"""The attributes of kernels' functions whose names do not begin with this project's."""

# On linalg operations and loops.
CONTRACTION = "xhlo.contraction"
"""A generic that multiplies and adds."""
TILING = "xhlo.tiling"
"""The sizes of a product's blocks, where a tuning file chose them: `{rows, vectors, tile_rows, tile_columns}`."""
PADDING = "xhlo.padding"
"""A generic that surrounds a tensor with one value: the elements before the tensor's, per dimension."""
LOOP_SIZES = "xhlo.loop_sizes"
"""The sizes of a generic's loops, if its operands do not determine them."""
PARALLEL = "xhlo.parallel"
"""An innermost loop whose iterations do not depend on each other through memory."""
CACHED = "xhlo.cached"
"""A loop over a row that reads only what earlier loops over the row left in the cache: arithmetic decides its time."""
VECTORIZE = "xhlo.vectorize"
"""On a loop: whether LLVM is to vectorize it, whatever that costs, or not to. Without it LLVM decides."""
INTERLEAVE = "xhlo.interleave"
"""On a loop: how many of its vectors LLVM is to compute at once. Without it LLVM decides."""
UNPREDICTABLE = "xhlo.unpredictable"
"""On arith.select: a processor could not guess the condition, so that it becomes no branch."""
NOT_ABOVE_ZERO = "xhlo.not_above_zero"
"""On math.exp: its operand is at most zero, or NaN, so that the result does not overflow (convert-hlo-to-linalg)."""
MAY_FUSE = "xhlo.may_fuse"
"""On a product and a sum of hlo: the machine may round both once, as one multiply-add."""

PAIRED = "xhlo.paired"
"""A loop whose body makes two iterations (pair-iterations)."""

TRIP_COUNT = "xhlo.trip_count"
"""On a loop of the host program: the number of its iterations, where that is known (fuse-hlo)."""

MOST_TRIPS = "xhlo.most_trips"
"""On such a loop: a number that its iterations never exceed, where only that is known (fuse-hlo)."""

ASKS = "xhlo.asks"
"""
On a kernel whose last argument is the arena; and on a loop of it: in how many iterations it asks once whether the run
goes on (outline-loops).
"""

IN_BOUNDS = "xhlo.in_bounds"
"""On a dynamic_slice or dynamic_update_slice: its start indices need no clamping (fuse-hlo)."""

INDEPENDENT = "xhlo.independent"
"""A loop that counts from zero, and whose iterations depend on each other by nothing else (tile-loops)."""

UNREAD = "xhlo.unread"
"""On a constant of hlo: nothing reads it, a loop that begins with it writes all of it first (fuse-hlo)."""

REPEATED = "xhlo.repeated"
"""A call of a kernel that ran before, for late readers of its results: it stays where it is (schedule-kernels)."""

# On functions, their arguments and results.
COMPLEX = "xhlo.complex"
"""An argument or result whose last dimension, of size two, is a complex number."""
COMPLEX_OPERANDS, COMPLEX_RESULTS = "xhlo.complex_operands", "xhlo.complex_results"
"""On a custom call: which operands and results were complex, arrays of booleans."""
INLINE = "xhlo.inline"
OPERATIONS = "xhlo.operations"
"""On a call of a function that is inlined: how many operations that has, if it is longer than elementary functions."""
PURE = "xhlo.pure"
"""A function without effects that is not inlined: it is called under a condition that seldom holds."""
VARIANTS = "xhlo.variants"
"""On a function of scalars: the widths for which there are variants of vectors and a mask (`vector_variant`)."""
PARALLEL_BODY = "xhlo.parallel_body"
PART = "xhlo.part"
"""Work of a kernel as a function of its own, beside the calls that are left (outline-parallel-loops)."""

BRIEF = "xhlo.brief"
"""
A function that LLVM need not optimize: a kernel, or part of one, of few operations, or a host program all of whose
iterations take long (convert-loops-to-cf); a thunk of a parallel loop; one for rare arguments.
"""

# On the module.
ARENA_SIZE = "xhlo.arena_size"
"""Bytes of the entry's arena (plan-buffers)."""
CHECKS, RESULT_COUNT = "xhlo.checks", "xhlo.result_count"
"""The program's checks, and the number of results that do not belong to them (extract-checks)."""
DONATED = "xhlo.donated"
"""
For each argument of the entry: the number of the result that is in its memory, or a word of donation.py (bufferize).
Absent if all are UNTOUCHED.
"""
PROGRAM = "xhlo.program"
"""The facts that later levels do not state: the tensor types of the entry, and the kernels (outline-kernels)."""
HOST_CALLS = "xhlo.host_calls"
"""The functions of the host program that it calls (convert-to-llvm)."""
AFTER = "xhlo.after"
"""The name of the last pass of the lowering that ran; the pipeline goes on after it."""


def entry_name(module: ModuleOp) -> str:
    """The name of the function that the program runs, after outline-kernels."""
    program = module.attributes.get(PROGRAM)
    entry = program.data.get("entry") if isinstance(program, DictionaryAttr) else None
    return entry.root_reference.data if isinstance(entry, SymbolRefAttr) else "main"


def is_kernel(op: Operation) -> TypeGuard[func.FuncOp]:
    """Whether an operation is a kernel function."""
    return isinstance(op, func.FuncOp) and _KIND in op.attributes


def kernels_of(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The kernels of a module in order."""
    return (op for op in module.body.block.ops if is_kernel(op))


def host_functions(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The functions of a module that are no kernels, in order."""
    return (op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not is_kernel(op))


class Kernel:
    """The attributes of a kernel's function."""

    def __init__(self, function: func.FuncOp):
        self.attributes = function.attributes

    @staticmethod
    def mark(function: func.FuncOp, kind: StringAttr, rows: int, tied: Sequence[int]) -> None:
        """Make a function a kernel; see the properties for `kind`, `rows` and `tied`."""
        function.attributes[_KIND] = kind
        if rows:
            function.attributes[_ROWS] = IntegerAttr(rows, i64)
        if tied:
            function.attributes[_TIED] = DenseArrayBase.from_list(i64, tied)

    @property
    def kind(self) -> str:
        """The kind of its fusion: loop, reduce, row, dot, ..; empty for other functions."""
        kind = self.attributes.get(_KIND)
        return kind.data if isinstance(kind, StringAttr) else ""

    @property
    def rows(self) -> int:
        """The leading dimensions that all operations of a row kernel share; 0 for other kinds."""
        rows = self.attributes.get(_ROWS)
        return cast("IntegerAttr[Any]", rows).value.data if isinstance(rows, IntegerAttr) else 0

    @property
    def tied(self) -> Sequence[int]:
        """The arguments that results 0, 1, .. update in place."""
        return self._numbers(_TIED)

    @property
    def shared(self) -> Sequence[int]:
        """
        The parameters that may be one buffer with another: results that are written over arguments (bufferize).

        The kernel reads each element before it writes it, by the same iteration of a loop.
        """
        return self._numbers(_SHARED)

    @shared.setter
    def shared(self, parameters: Iterable[int]) -> None:
        self.attributes[_SHARED] = DenseArrayBase.from_list(i64, sorted(parameters))

    @property
    def constants(self) -> Sequence[int]:
        """The parameters that get a constant of the program from every call (bufferize)."""
        return self._numbers(_CONSTANTS)

    @constants.setter
    def constants(self, parameters: Iterable[int]) -> None:
        self.attributes[_CONSTANTS] = DenseArrayBase.from_list(i64, sorted(parameters))

    def _numbers(self, name: str) -> Sequence[int]:
        """The numbers that an attribute has, none if there is no such attribute."""
        found = self.attributes.get(name)
        return cast("DenseArrayBase[Any]", found).get_values() if type(found) is DenseArrayBase else ()


def loop_sizes(op: Operation) -> tuple[int, ...] | None:
    """The stated sizes of a generic's loops; None if its operands determine them."""
    stated = op.attributes.get(LOOP_SIZES)
    return tuple(cast("DenseArrayBase[Any]", stated).get_values()) if type(stated) is DenseArrayBase else None


def forget_place(op: Operation) -> None:
    """Drop the facts that may follow from the loop around an operation, for one that leaves it."""
    for name in (MOST_TRIPS, IN_BOUNDS):
        op.attributes.pop(name, None)


def most_trips(op: Operation) -> int | None:
    """How often a loop of the host program runs, at most; None if nothing states that."""
    stated = op.attributes.get(TRIP_COUNT) or op.attributes.get(MOST_TRIPS)
    return cast("IntegerAttr[Any]", stated).value.data if isinstance(stated, IntegerAttr) else None
