"""
Which attributes of passes a program may state itself.

Passes leave attributes for later ones, which trust them: that a loop writes all of a constant, that a function has no
effects. After the last operations of hlo, they belong to the text, like the indices of its loads. In a program of hlo
operations and of fusions they are what somebody wrote: here they go, unless they are harmless, hold by their types, or
can be proved again.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, Float32Type, Float64Type, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation

from ...dialects.support.kernel import (
    AFTER,
    CHECKS,
    COMPLEX,
    COMPLEX_OPERANDS,
    COMPLEX_RESULTS,
    IN_BOUNDS,
    MAY_FUSE,
    MOST_TRIPS,
    OF_KERNELS,
    PAIRED,
    PROGRAM,
    RESULT_COUNT,
    TRIP_COUNT,
    UNREAD,
    host_functions,
    kernels_of,
)
from ...hlo_dialect.diagnostics import Diagnostic, engine_of, fail, location_near, op_message
from ...hlo_dialect.entry import find_entry
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.walking import operations_in
from ...passes.manager.pipelines import LOWER_LINALG, LOWERING
from .level import level_of

if TYPE_CHECKING:
    from ...hlo_dialect.loops import Loop

_HARMLESS = frozenset(
    (AFTER, MAY_FUSE, PAIRED, COMPLEX_OPERANDS, COMPLEX_RESULTS, CHECKS, "xhlo.rng_position", "xhlo.collectives")
)
"""
Attributes of programs that choose between right results, take away a choice, or are checked where they are read.
"""


def admit(ctx: Context, module: ModuleOp) -> None:
    """
    Drop, with a warning, what a program of hlo operations or fusions states about itself without proof. Raises
    DiagnosticError for contradictions.

    A lowered program, with the attribute xhlo.program or after a pass of the lowering, stays as it is; but that does
    not make slices of hlo, which kernels have after outline-kernels, read outside their operands.
    """
    level = level_of(module)
    if level in LOWERING:
        if level != LOWER_LINALG[0]:
            return
        for kernel in kernels_of(module):
            if len(kernel.body.blocks) != 1:
                fail(kernel, f"is a kernel of {len(kernel.body.blocks)} blocks, and {level} makes those of one")
    is_lowered = level in LOWERING or PROGRAM in module.attributes
    engine = engine_of(ctx)
    bounded = _bounded(module)
    for op in operations_in(module):
        for name in _unproved(op, bounded) if op.attributes else ():
            if is_lowered and name not in (IN_BOUNDS, MOST_TRIPS):
                continue
            message = f"states {name} = {op.attributes.pop(name)} without proof: ignored, it is for passes to state"
            engine.emit(Diagnostic("warning", op_message(op, message), location_near(op)))
        if type(op) is func.FuncOp and not is_lowered:
            _check_pairs(op)


def _unproved(op: Operation, bounded: Container[Operation]) -> list[str]:
    """The attributes of an operation that go."""
    internal = [name for name in op.attributes if name in OF_KERNELS or name.startswith("xhlo.")]
    if not internal:
        return []
    proved = {*_proved(op), *((IN_BOUNDS, MOST_TRIPS) if op in bounded else ())}
    return [name for name in internal if name not in _HARMLESS and name not in proved]


def _proved(op: Operation) -> Iterable[str]:
    """The attributes of an operation, of those that are not harmless, which hold."""
    if isinstance(op, ModuleOp):
        return (RESULT_COUNT,) if _counts_results(op) else ()
    if TRIP_COUNT in op.attributes and isinstance(op, WhileOp):
        return (TRIP_COUNT,) if _runs_as_stated(op) else ()
    if UNREAD in op.attributes:
        uses = list(op.results[0].uses) if len(op.results) == 1 else []
        return (UNREAD,) if uses and all(_is_written(use.operation, use.index) for use in uses) else ()
    return ()


def _counts_results(module: ModuleOp) -> bool:
    """Whether a program has checks, and at least as many results as it states to return."""
    count, checks = module.attributes.get(RESULT_COUNT), module.attributes.get(CHECKS)
    if not isinstance(count, IntegerAttr) or not isinstance(checks, ArrayAttr):
        return False
    entry = find_entry(module)
    outputs = 0 if entry is None else len(entry.function_type.outputs.data)
    if not 0 <= count.value.data <= outputs:
        fail(module, f"states {count.value.data} in {RESULT_COUNT}, and its entry has {outputs} results")
    return True


def _check_pairs(function: func.FuncOp) -> None:
    """Check that arguments and results marked as complex are pairs of floats. Raises DiagnosticError."""
    types = function.function_type
    both = ((types.inputs.data, function.arg_attrs), (types.outputs.data, function.res_attrs))
    for what, (of_values, marks) in zip(("argument", "result"), both, strict=True):
        entries = marks.data if isinstance(marks, ArrayAttr) else ()
        for index, (type_, entry) in enumerate(zip(of_values, entries, strict=False)):
            if COMPLEX in entry.data and not _is_pairs(type_):
                fail(function, f"has {what} {index} of type {type_}, which {COMPLEX} marks, and which holds no pairs")


def _is_pairs(type_: Attribute) -> bool:
    if not isinstance(type_, TensorType):
        return False
    tensor = cast("TensorType[Any]", type_)
    return tensor.get_shape()[-1:] == (2,) and isinstance(tensor.element_type, (Float32Type, Float64Type))


# Loops -----------------------------------------------------------------------------------------------------------


def _runs_as_stated(op: WhileOp) -> bool:
    stated = op.attributes[TRIP_COUNT]
    with _plain(op) as loop:
        return isinstance(stated, IntegerAttr) and stated.value.data == loop.trip_count


def _is_written(op: Operation, position: int) -> bool:
    if not isinstance(op, WhileOp):
        return False
    with _plain(op) as loop:
        return loop.writes_all(position)


def _bounded(module: ModuleOp) -> set[Operation]:
    """The slices that are stated to be inside their operands and are, and loops that end as soon as they state."""
    ops = operations_in(module)
    stated = [place for place, op in enumerate(ops) if not {IN_BOUNDS, MOST_TRIPS}.isdisjoint(op.attributes)]
    if not stated:
        return set()
    copy = module.clone()
    copies = operations_in(copy)
    for fusion in copies:
        if isinstance(fusion, FusionOp):
            _open(fusion)
    called = _open_kernels(copy)
    found = {ops[at] for at in stated if all(map(_is_bounded, called.get(copies[at], [copies[at]])))}
    copy.erase()
    return found


def _open_kernels(module: ModuleOp) -> Mapping[Operation, Sequence[Operation]]:
    """Replace calls of kernels by the operations in them; returns those for each of the kernels'."""
    kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(module)}
    found: dict[Operation, list[Operation]] = {}
    for call in [op for function in host_functions(module) for op in operations_in(function)]:
        kernel = kernels.get(call.callee.root_reference.data) if isinstance(call, func.CallOp) else None
        if kernel is None:
            continue
        copy = kernel.clone()
        for op, of_call in zip(operations_in(kernel), operations_in(copy), strict=True):
            found.setdefault(op, []).append(of_call)
        _open_body(call, copy.body.block)
    return found


def _is_bounded(op: Operation) -> bool:
    from ...hlo_dialect.loops.bounds import is_in_bounds, most_trips
    from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp

    if isinstance(op, (DynamicSliceOp, DynamicUpdateSliceOp)):
        return MOST_TRIPS not in op.attributes and is_in_bounds(op)
    if not isinstance(op, WhileOp) or IN_BOUNDS in op.attributes:
        return False
    stated, most = op.attributes[MOST_TRIPS], most_trips(op)
    return most is not None and isinstance(stated, IntegerAttr) and most <= stated.value.data


@contextmanager
def _plain(op: WhileOp) -> Generator[Loop]:
    """A copy of a loop, in no block, whose fusions are the operations in them."""
    # Only programs with such loops import what is known about loops.
    from ...hlo_dialect.loops import Loop

    copy = op.clone()
    for inner in operations_in(copy):
        if isinstance(inner, FusionOp):
            _open(inner)
    try:
        yield Loop(copy)
    finally:
        copy.erase()


def _open(fusion: FusionOp) -> None:
    """Replace a fusion by the operations in it."""
    _open_body(fusion, fusion.body.block)


def _open_body(op: Operation, block: Block) -> None:
    """Replace an operation by those of a block that takes its operands and returns its results."""
    last = block.last_op
    assert last is not None, "a region without a terminator passes no verifier"
    for argument, operand in zip(block.args, op.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for result, value in zip(op.results, last.operands, strict=True):
        result.replace_all_uses_with(value)
    for inner in list(block.ops):
        if inner is not last:
            inner.detach()
            cast(Block, op.parent).insert_op_before(inner, op)
    op.detach()
    op.erase()
