"""
Fuse elementwise operations into the matrix product or convolution that they follow: bias, activation, residual; and
into the gradient of a pooling whose windows tile its operand.

A kernel applies the epilogue to a tile of sums that is in registers or in the cache, so that the product itself never
goes to memory. The fusion must be the product's only user, and read each element at that element's own index, or after
a transpose that the kernel writes.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import Float32Type, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.creation import create_op
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from ...hlo_dialect.types import element_of, shape_of
from ...lowering.loop_nests.windows import is_tiled, takes_columns
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .graph import bytes_of, role_of
from .packages import reason_apart

if TYPE_CHECKING:  # programs without convolutions do not load them
    from ...hlo_dialect.ops.convolution import ConvolutionOp

LEAST_OVERLAP = 2
"""Windows that read each element of a convolution's input, on average."""

LEAST_FEATURES = 16
"""Features of a result that fill vectors."""

LEAST_ROW = 12
"""Places of a row that make up for lines which blocks write in part."""

LONG_ROW = 128
"""Elements of the rows of a product that may be written elsewhere than after each other."""

LARGE = 1 << 19
"""Operations of a convolution that is large."""


def fuse_epilogues(block: Block, given: Container[Operation], convolutions: bool) -> Iterator[Decision]:
    """
    Merge each fusion of a dot in `block`, or a convolution, with the loop fusion that is its epilogue.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        product = None if op in given else product_in(op, convolutions)
        if isinstance(op, FusionOp) and product is not None:
            if len(op.outs) == 1 and isinstance(op.outs[0].get_user_of_unique_use(), ReshapeOp):
                # Most programs have no such product.
                from .reshapes import take_shape

                take_shape(op, given)
            loop = _epilogue_of(op, convolutions)
            if loop is None or loop in given:
                continue
            (user, *_) = loop.body.block.args[_operand_number(op, loop)].uses
            saved = 2 * bytes_of(op.outs[0])  # written and read
            yield Decision(Verdict.EPILOGUE, product, user.operation, saved=saved)
            merged(op, loop)
            erase_op(op)


def product_in(op: Operation, convolutions: bool) -> Operation | None:
    """The product of a fusion that holds one."""
    if not isinstance(op, FusionOp) or op.kind.data not in ("dot", "custom"):
        return None
    return next((inner for inner in op.body.block.ops if _has_epilogues(inner, convolutions)), None)


def _has_epilogues(op: Operation, convolutions: bool) -> bool:
    """Whether the operation's kernel makes each element once: a product, or windows that tile their operand."""
    if isinstance(op, DotGeneralOp):
        return True
    # Programs of products and elementwise operations alone load neither.
    from ...hlo_dialect.ops.convolution import ConvolutionOp
    from ...hlo_dialect.ops.window import SelectAndScatterOp

    if isinstance(op, SelectAndScatterOp) and convolutions:
        window, shape, counts = op.window, shape_of(op.operand), shape_of(op.source)
        sizes, strides = window.dimensions, window.strides
        whole = not any(window.high) and is_tiled(shape, counts, sizes, strides, window.low)
        return whole and takes_columns(sizes, strides, counts)
    return isinstance(op, ConvolutionOp) and convolutions


def _operand_number(product: FusionOp, loop: FusionOp) -> int:
    """The index of the loop fusion's operand that is the product."""
    return list(loop.operands).index(product.outs[0])


def _epilogue_of(product: FusionOp, transposes: bool) -> FusionOp | None:
    """
    The loop fusion that is a product's only user and reads each element at its own index, or so transposed if the
    target's kernels write transposed results (`transposes`).
    """
    if len(product.outs) != 1:
        return None
    uses = list(product.outs[0].uses)
    loop = uses[0].operation if len(uses) == 1 else None
    if not isinstance(loop, FusionOp) or loop.kind.data != "loop" or loop.parent is not product.parent:
        return None
    argument: SSAValue = loop.body.block.args[_operand_number(product, loop)]
    transpose = argument.get_user_of_unique_use()
    written = argument
    if transposes and isinstance(transpose, TransposeOp) and _writes_transposed(product, transpose):
        written = transpose.results[0]
    shape = shape_of(written.type)
    if any(shape_of(result.type) != shape for result in loop.outs):
        return None
    made_by = product.body.block.last_op
    if made_by is not None and any(
        reason_apart(value.owner, use.operation) is not None
        for value in made_by.operands
        if isinstance(value.owner, Operation)
        for use in argument.uses
    ):
        return None
    if not _reads_at_own_index(written, shape):
        return None
    inputs = dict.fromkeys([*product.operands, *loop.operands])
    if len(inputs) - 1 > MAX_INPUTS or _size(product) + _size(loop) > MAX_OPS:
        return None
    return loop


def _writes_transposed(product: FusionOp, transpose: TransposeOp) -> bool:
    """
    Whether a product's kernel may write its result transposed: a convolution of overlapping windows, whose features
    come before its places then, and whose blocks are transposed in registers; or a product whose rows stay whole, as
    in a convolution of single elements whose features come first.
    """
    made = product_in(product, convolutions=True)
    if made is None or made.results[0].get_user_of_unique_use() is None:
        return False
    if isinstance(made, DotGeneralOp):
        return _keeps_long_rows(made, transpose)
    if made.name != "hlo.convolution":
        return False
    op = cast("ConvolutionOp", made)
    feature, last = op.dimension_numbers.output.feature, len(transpose.dims) - 1
    if op.feature_groups * op.batch_groups > 1 or feature != last or transpose.dims[-1] != last - 1:
        return False
    if not all(isinstance(element_of(value), Float32Type) for value in (*op.operands, *op.results)):
        return False
    window, features = op.window, shape_of(op.result)[feature]
    overlap = window.size >= LEAST_OVERLAP * math.prod(window.strides)
    row = shape_of(op.result)[last - 1]
    return overlap and features >= LEAST_FEATURES and row >= LEAST_ROW and op.flops() >= LARGE


def _keeps_long_rows(product: DotGeneralOp, transpose: TransposeOp) -> bool:
    """Whether a large product's result is transposed so that its rows, which are long, stay as they are."""
    shape, kept = shape_of(product.results[0]), 0
    while kept < len(shape) and transpose.dims[-1 - kept] == len(shape) - 1 - kept:
        kept += 1
    return kept > 0 and math.prod(shape[-kept:]) >= LONG_ROW and product.flops() >= LARGE


def _size(fusion: FusionOp) -> int:
    return len(list(fusion.body.block.ops))


def _reads_at_own_index(argument: SSAValue, shape: tuple[int, ...]) -> bool:
    """Whether all operations that depend on the argument are elementwise and of its shape."""
    seen: set[Operation] = set()
    waiting: list[SSAValue] = [argument]
    while waiting:
        for use in waiting.pop().uses:
            user = use.operation
            if user in seen or isinstance(user, ReturnOp):
                continue
            if role_of(user) != "elementwise" or any(shape_of(result.type) != shape for result in user.results):
                return False
            seen.add(user)
            waiting += user.results
    return True


def merged(producer: FusionOp, user: FusionOp) -> FusionOp:
    """
    Replace a fusion that reads another's result by one that computes both; the producer stays, for other users.

    The last user takes the producer's operations themselves, which decisions are about, and others copies of them.
    """
    last = all(use.operation is user for use in producer.outs[0].uses)
    inputs = [value for value in dict.fromkeys([*producer.operands, *user.operands]) if value is not producer.outs[0]]
    block = Block(arg_types=[value.type for value in inputs])
    local: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in local.items():
        argument.name_hint = value.name_hint
    (local[producer.outs[0]],) = taken_into(block, producer, local, copies=not last)
    returned = taken_into(block, user, local)
    kind = "dot" if any(op.name in ("hlo.dot_general", "hlo.convolution") for op in block.ops) else "custom"
    fusion = replace_results(user.outs, user, inputs, block, returned, {"kind": StringAttr(kind)})
    erase_op(user)
    return fusion


def replace_results(
    results: Sequence[SSAValue],
    place: FusionOp,
    operands: Sequence[SSAValue],
    block: Block,
    returned: Sequence[SSAValue],
    properties: dict[str, Attribute],
) -> FusionOp:
    """Insert, before `place`, a fusion with a body that returns these values, and let it have the uses of `results`."""
    block.add_op(create_op(ReturnOp, operands=returned, location=place.location))
    fusion = create_op(
        FusionOp,
        operands=operands,
        result_types=[value.type for value in results],
        properties=properties,
        regions=[Region([block])],
        location=place.location,
    )
    insert_before(fusion, place)
    for old, new in zip(results, fusion.outs, strict=True):
        new.name_hint = old.name_hint
        replace_uses(old, new)
    return fusion


def taken_into(block: Block, fusion: FusionOp, local: dict[SSAValue, SSAValue], copies: bool = False) -> list[SSAValue]:
    """
    Move a fusion's operations to a block, or copies; returns its results there. `local`: its operands' values there.
    """
    body = fusion.body.block
    mapping: dict[SSAValue, SSAValue] = {
        argument: local[value] for argument, value in zip(body.args, fusion.operands, strict=True)
    }
    for op in list(body.ops):
        if isinstance(op, ReturnOp):
            return [mapping.get(value, value) for value in op.operands]
        if copies:
            block.add_op(clone_op(op, mapping))
            continue
        op.detach()
        for inner in op.walk():
            inner.operands = [mapping.get(value, value) for value in inner.operands]
        block.add_op(op)
    return []
