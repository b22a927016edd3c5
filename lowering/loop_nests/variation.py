"""The values of a nest's body that differ between the iterations of one of its loops."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, memref
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from ...dialects.support.views import root_buffer
from ...hlo_dialect.walking import operations_in, operations_of, values_read
from .kernel_builder import known_number
from .nest import Access, Nest


def reads(op: Operation, values: set[SSAValue]) -> bool:
    """Whether an operation, or one inside of it, reads one of these values."""
    return not values.isdisjoint(values_read(op))


def is_index_of(op: object, nest: Nest, loop: int) -> bool:
    return isinstance(op, IndexOp) and nest.dims[int(op.dim.value.data)] == loop


def varying(
    nest: Nest, loop: int, spread: Callable[[Operation, set[SSAValue]], bool] = lambda op, varies: False
) -> set[SSAValue]:
    """`spread` may add the values of an operation itself, and returns whether it did."""
    if nest.body is None:
        return set()
    varies: set[SSAValue] = {
        argument
        for argument, access in zip(nest.body.args, (*nest.inputs, *nest.outputs), strict=True)
        if isinstance(access, Access) and access.strides[loop]
    }
    for op in operations_of(nest.body):
        if spread(op, varies):
            continue
        inside = operations_in(op) if op.regions else (op,)
        if reads(op, varies) or any(type(inner) is IndexOp and is_index_of(inner, nest, loop) for inner in inside):
            varies.update(op.results)
    return varies


def loads_of(nest: Nest) -> list[memref.LoadOp]:
    """The loads of the body itself, at indices that it computes."""
    return [] if nest.body is None else [op for op in operations_of(nest.body) if type(op) is memref.LoadOp]


def buffers_loaded(nest: Nest) -> set[SSAValue]:
    """The buffers that the body, or a region inside it, loads from at indices that it computes."""
    inside = () if nest.body is None else nest.body.walk()
    return {root_buffer(op.memref) for op in inside if isinstance(op, memref.LoadOp)}


def reads_rows(nest: Nest, loop: int) -> bool:
    """
    Whether every load of the body is contiguous along a loop or does not move with it, and at least one is contiguous.
    """
    loads = loads_of(nest)
    varies = varying(nest, loop) if loads else set[SSAValue]()
    moving = [load for load in loads if moves_with(load, varies)]
    return bool(moving) and all(reads_row_of(load, nest, loop, varies) for load in moving)


def moves_with(load: memref.LoadOp, varies: set[SSAValue]) -> bool:
    """Whether a load reads other elements in other iterations of a loop, with which `varies` vary."""
    return any(index in varies for index in load.indices)


def reads_row_of(load: memref.LoadOp, nest: Nest, loop: int, varies: set[SSAValue], anyhow: bool = False) -> bool:
    """
    Whether a load that moves with a loop, with which `varies` vary, reads neighbours one after the other; `anyhow` also
    from the last to the first, or the same one in iterations at the loop's ends.
    """
    *outer, last = load.indices
    return _counts(last, nest, loop, varies, anyhow) and not any(index in varies for index in outer)


def _counts(value: SSAValue, nest: Nest, loop: int, varies: set[SSAValue], anyhow: bool) -> bool:
    """Whether a value grows by one in each iteration of a loop: its index, or the sum of that and an invariant."""
    op = value.owner
    through = isinstance(op, arith.AddiOp)
    if anyhow and isinstance(op, arith.MuliOp):
        through = -1 in (known_number(op.lhs), known_number(op.rhs))
    if anyhow and isinstance(op, arith.MaxSIOp | arith.MinSIOp):
        through = True
    if not through:
        return is_index_of(op, nest, loop)
    assert isinstance(op, arith.AddiOp | arith.MuliOp | arith.MaxSIOp | arith.MinSIOp)
    pairs = ((op.lhs, op.rhs), (op.rhs, op.lhs))
    return any(other not in varies and _counts(counting, nest, loop, varies, anyhow) for counting, other in pairs)
