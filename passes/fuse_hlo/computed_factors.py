"""
Let products compute their factors while they pack them: an activation from what it was applied to, normalized rows from
the rows and their statistics, the gradient of a softmax from its scores.

A value that products alone read, and that follows elementwise from what is in memory anyway, is then never written: the
fusion that made it returns one value per row instead, if that is missing, and the products read what the value follows
from (`lowering/convert_contractions_to_vector/factors/computed.py`). A gather of few elements, as of a table of
embeddings that is converted for the products, picks them of that too.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.cost import ELEMENTARY
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses, set_operands
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from ...lowering.device.cpu import CPU
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .factor_sums import LEAST_MATRIX, LEAST_ROWS
from .graph import bytes_of, is_splat_constant, role_of
from .packages import cost_of, reason_apart

if TYPE_CHECKING:
    from ...hlo_dialect.ops.gather import GatherOp

FEW = 16
"""Elements of a value for each of a row's, from which it costs nothing to read the row's beside it."""

SHARE = 16
"""The part of their products' time that factors may take to be computed again, besides what memory takes for them."""

_MAKERS = ("loop", "row", "dot")


def fuse_computed_factors(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Compute the values in `block` that products alone read in the fusions of these products, where that moves fewer
    bytes.

    Fusions that the program was `given` with stay as they are. Returns a decision per value.
    """
    refused: set[Operation] = set()
    op = block.first_op
    while op is not None:
        chain = _next_chain(op, given, refused)
        if chain is None:
            op = op.next_op
            continue
        last, user = chain.ops[-1], chain.products[-1]
        if not chain.is_quick:
            refused.add(last)
            reason = f"computing it in {len(chain.users)} products takes longer than keeping it"
            yield Decision(Verdict.APART, last, user, reason=reason)
            continue
        verdict = Verdict.FUSED if len(chain.users) == 1 else Verdict.REPEATED
        yield Decision(verdict, last, user, "dot", chain.saved)
        before = op.prev_op
        op = _moved(chain) or (block.first_op if before is None else before.next_op)


def _next_chain(op: Operation, given: Container[Operation], refused: Container[Operation]) -> _Chain | None:
    """The first result of a fusion that products can compute, but for those that were refused."""
    if not isinstance(op, FusionOp) or op in given or op.kind.data not in _MAKERS:
        return None
    chains = (_chain_of(op, number, given) for number in range(len(op.outs)))
    return next((chain for chain in chains if chain is not None and chain.ops[-1] not in refused), None)


@dataclass(frozen=True)
class _Chain:
    """A result of a fusion that products alone read, and how they can compute it."""

    maker: FusionOp
    number: int
    ops: tuple[Operation, ...]
    """The operations that compute it, in order."""
    sources: tuple[SSAValue, ...]
    """The values that these read: arguments of the maker's body, and values that are computed there."""
    users: tuple[FusionOp, ...]
    products: tuple[DotGeneralOp, ...]
    gathers: tuple[GatherOp, ...] = ()
    """What picks few elements of it, and can pick them of its only source."""

    @property
    def value(self) -> SSAValue:
        return self.maker.outs[self.number]

    @property
    def _returned(self) -> dict[SSAValue, int]:
        return _returned_by(self.maker, self.number)

    @property
    def added(self) -> list[SSAValue]:
        """The sources that the maker does not return yet."""
        returned = self._returned
        return [each for each in self.sources if not isinstance(each, BlockArgument) and each not in returned]

    @property
    def is_all(self) -> bool:
        """Whether the maker returns nothing else that is read, and is not needed any more."""
        outs = self.maker.outs
        return not self.added and all(out is self.value or out.first_use is None for out in outs)

    @property
    def saved(self) -> int:
        """The bytes that are moved less."""
        read = sum(map(bytes_of, self.sources))
        before = bytes_of(self.value) * (1 + len(self.users))
        before += sum(map(bytes_of, self.maker.operands)) if self.is_all else 0
        picked = sum(bytes_of(gather.result) for gather in self.gathers)
        more = picked * bytes_of(self.sources[0]) // bytes_of(self.value) - picked if picked else 0
        return before - read * len(self.users) - sum(map(bytes_of, self.added)) - more

    @property
    def is_quick(self) -> bool:
        """Whether what is computed again takes little time, beside what memory takes for the value and the products."""
        inside, costs = set(self.ops), {op: min(cost_of(op), ELEMENTARY.loop) for op in self.ops}
        left: set[Operation] = set()
        for op in reversed(self.ops):
            others = {use.operation for result in op.results for use in result.uses}
            if op is not self.ops[-1] and any(user not in inside or user in left for user in others):
                left.add(op)
        again = sum(costs.values()) * len(self.users) - sum(costs[op] for op in self.ops if op not in left)
        elements = math.prod(shape_of(self.value))
        multiplied = sum(_multiplications(product) for product in self.products)
        time = again * elements / CPU.operations_per_ns
        return time <= self.saved / CPU.bytes_per_ns + multiplied / CPU.products_per_ns / SHARE


def _returned_by(maker: FusionOp, number: int) -> dict[SSAValue, int]:
    """The values that a fusion's body returns, but for result `number`, with the numbers of the results."""
    made = maker.body.block.last_op
    assert made is not None
    return {value: k for k, value in enumerate(made.operands) if k != number}


def _chain_of(maker: FusionOp, number: int, given: Container[Operation]) -> _Chain | None:
    """How products can compute a result of a fusion that they alone read; None if they cannot, or move more then."""
    value, users = maker.outs[number], dict[FusionOp, DotGeneralOp]()
    gathers: list[GatherOp] = []
    for use in value.uses:
        user = use.operation
        if (gather := _gather_of(user, value, maker, given)) is not None:
            gathers.append(gather)
            continue
        product = _product_of(user, value, maker, given)
        if not isinstance(user, FusionOp) or product is None:
            return None
        users[user] = product
    found = sources_of(maker, number) if users else None
    if found is None:
        return None
    chain = _Chain(maker, number, *found, tuple(users), tuple(users.values()), tuple(gathers))
    if gathers and not (len(chain.ops) == 1 and [shape_of(x) for x in chain.sources] == [shape_of(value)]):
        return None
    if chain.added and maker.kind.data != "row":
        return None
    if any(reason_apart(chain.ops[-1], product) is not None for product in chain.products):
        return None
    if any(len(chain.sources) + len(user.operands) - 1 > MAX_INPUTS for user in users):
        return None
    if any(len(chain.ops) + len(list(user.body.block.ops)) > MAX_OPS for user in users):
        return None
    return chain if 2 * chain.saved >= bytes_of(value) else None


def _product_of(user: Operation, value: SSAValue, maker: FusionOp, given: Container[Operation]) -> DotGeneralOp | None:
    """The product of a fusion that reads the value as a factor, and alone reads it there, and packs it."""
    if not isinstance(user, FusionOp) or user in given or user.parent is not maker.parent or user.kind.data != "dot":
        return None
    if list(user.operands).count(value) != 1:
        return None
    (use, *others) = user.body.block.args[list(user.operands).index(value)].uses
    product = use.operation
    if others or not isinstance(product, DotGeneralOp) or product.operands[0] is product.operands[1]:
        return None
    return product if _packs_both(product) else None


def _gather_of(user: Operation, value: SSAValue, maker: FusionOp, given: Container[Operation]) -> GatherOp | None:
    """The gather of a fusion that reads few elements of the value, and alone reads it there."""
    if not isinstance(user, FusionOp) or user in given or user.parent is not maker.parent or user.kind.data != "loop":
        return None
    uses = [use for argument in _arguments(user, value) for use in argument.uses]
    op = uses[0].operation if len(uses) == 1 and uses[0].index == 0 else None
    # Most products are of programs without gathers, which do not load them.
    if op is None or op.name != "hlo.gather":
        return None
    gather = cast("GatherOp", op)
    return gather if math.prod(shape_of(gather.result)) * FEW <= math.prod(shape_of(value)) else None


def _arguments(fusion: FusionOp, value: SSAValue) -> list[SSAValue]:
    return [argument for x, argument in zip(fusion.operands, fusion.body.block.args, strict=True) if x is value]


def _sides(product: DotGeneralOp) -> tuple[int, int, int]:
    """Rows and columns of the result, and contracted elements."""
    left, right = map(shape_of, product.operands)
    m, n = (math.prod(x[dim] for dim in dims) for x, dims in ((left, product.lhs_free), (right, product.rhs_free)))
    return m, n, math.prod(left[dim] for dim in product.dot_dimension_numbers.lhs_contracting)


def _packs_both(product: DotGeneralOp) -> bool:
    """Whether a product is one of matrices so large that both factors are packed, and its sum is not cut."""
    m, n, k = _sides(product)
    least = min(m * k, n * k, m * n)
    return (
        not product.dot_dimension_numbers.lhs_batching
        and min(m, n) >= LEAST_ROWS
        and k >= LEAST_ROWS // 2
        and least > LEAST_MATRIX
    )


def _multiplications(product: DotGeneralOp) -> int:
    return math.prod(_sides(product))


def sources_of(maker: FusionOp, number: int) -> tuple[tuple[Operation, ...], tuple[SSAValue, ...]] | None:
    """
    The operations by which a result follows from arguments of a fusion, from its other results, and from values of few
    elements; and these. None if there are none.
    """
    body, returned = maker.body.block, _returned_by(maker, number)
    last = body.last_op
    assert last is not None
    value = last.operands[number]
    shape, size = shape_of(value), bytes_of(value)
    ops, sources, pending = dict[Operation, None](), dict[SSAValue, None](), [value]
    if value in returned or isinstance(value, BlockArgument):
        return None
    while pending:
        each = pending.pop()
        op = each.owner
        if each is not value and (isinstance(each, BlockArgument) or each in returned):
            sources[each] = None
            continue
        assert isinstance(op, Operation)
        if op in ops:
            continue
        role = role_of(op)
        whole = shape_of(each) == shape
        if is_splat_constant(op) or (whole and role in ("elementwise", "broadcast", "iota")):
            pending += op.operands
        elif bytes_of(each) * FEW <= size:
            sources[each] = None
            continue
        else:
            return None
        ops[op] = None
    return tuple(op for op in body.ops if op in ops), tuple(sources)


def _moved(chain: _Chain) -> FusionOp | None:
    """Compute the value in the products' fusions instead; returns the rest of the fusion that made it, if it stays."""
    maker = chain.maker
    outside: dict[SSAValue, SSAValue] = {}
    inside: dict[SSAValue, SSAValue] = {}
    rest = None
    if not chain.is_all:
        returned, added = _returned_by(maker, chain.number), chain.added
        rest, inside = without(maker, chain.number, added)
        kept = [out for out in maker.outs if out is not chain.value]
        for old, new in zip(kept, rest.outs, strict=False):
            outside[old] = new
            new.name_hint = old.name_hint
            replace_uses(old, new)
        outside |= {source: rest.outs[len(kept) + k] for k, source in enumerate(added)}
        outside |= {value: rest.outs[k - (k > chain.number)] for value, k in returned.items()}
    for source in chain.sources:
        if isinstance(source, BlockArgument):
            outside[source] = maker.operands[source.index]
    for user in chain.users:
        _compute_in(user, chain, {inside.get(each, each): outside[each] for each in chain.sources})
    for gather in chain.gathers:
        _compute_picked(gather, chain, outside[chain.sources[0]])
    erase_op(maker)
    if rest is not None:
        drop_unread(rest)
    return rest


def without(
    maker: FusionOp, number: int, added: Sequence[SSAValue], read: Sequence[SSAValue] = ()
) -> tuple[FusionOp, dict[SSAValue, SSAValue]]:
    """
    A fusion that takes over the maker's operations, before it, and returns all but result `number`, and the values
    `added` of its body. It has the operands `read` too. Also its arguments for those of the maker.
    """
    operands = [*maker.operands, *read]
    block = new_block([value.type for value in operands])
    of_maker = list(zip(maker.body.block.args, block.args, strict=False))
    for old, new in of_maker:
        new.name_hint = old.name_hint
    made = taken_into(block, maker, dict(zip(operands, block.args, strict=True)))
    results = [value for k, value in enumerate(made) if k != number] + [*added]
    append(block, create_op(ReturnOp, operands=results, location=maker.location))
    fusion = create_op(
        FusionOp,
        operands=operands,
        result_types=[value.type for value in results],
        properties=dict(maker.properties),
        regions=[Region([block])],
        location=maker.location,
    )
    insert_before(fusion, maker)
    return fusion, dict(of_maker)


def drop_unread(fusion: FusionOp) -> None:
    """Erase what a fusion computes for no result, and the operands that nothing reads then."""
    block = fusion.body.block
    for op in reversed(list(block.ops)):
        if not isinstance(op, ReturnOp) and all(result.first_use is None for result in op.results):
            erase_op(op)
    unread = [argument for argument in block.args if argument.first_use is None]
    kept = [value for value, argument in zip(fusion.operands, block.args, strict=True) if argument not in unread]
    for argument in unread:
        block.erase_arg(argument)
    set_operands(fusion, kept)


def _compute_in(user: FusionOp, chain: _Chain, outside: dict[SSAValue, SSAValue]) -> None:
    """Let the fusion of a product compute the value from the sources, which have these values outside."""
    inputs = list(dict.fromkeys([*outside.values(), *(each for each in user.operands if each is not chain.value)]))
    block = new_block([value.type for value in inputs])
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in arguments.items():
        argument.name_hint = value.name_hint
    local = {source: arguments[value] for source, value in outside.items()}
    for op in chain.ops:
        append(block, clone_op(op, local))
    (made,) = chain.ops[-1].results
    arguments[chain.value] = local[made]
    returned = taken_into(block, user, arguments)
    replace_results(user.outs, user, inputs, block, returned, dict(user.properties))
    erase_op(user)


def _compute_picked(gather: GatherOp, chain: _Chain, source: SSAValue) -> None:
    """Let the fusion of a gather pick elements of the source, and compute the value from these."""
    user, (op,) = gather.parent_op(), chain.ops
    assert isinstance(user, FusionOp)
    inputs = list(dict.fromkeys([source, *(each for each in user.operands if each is not chain.value)]))
    block = new_block([each.type for each in inputs])
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for each, argument in arguments.items():
        argument.name_hint = each.name_hint
    returned = taken_into(block, user, {**arguments, chain.value: arguments[source]})
    picked = create_op(
        type(gather),
        operands=list(gather.operands),
        result_types=[make_tensor(shape_of(gather.result), element_of(source))],
        properties=dict(gather.properties),
        location=gather.location,
    )
    made = create_op(
        type(op),
        operands=[picked.results[0]],
        result_types=[gather.result.type],
        properties=dict(op.properties),
        location=op.location,
    )
    for each in (picked, made):
        insert_before(each, gather)
    returned = [made.results[0] if each is gather.result else each for each in returned]
    replace_uses(gather.result, made.results[0])
    erase_op(gather)
    replace_results(user.outs, user, inputs, block, returned, dict(user.properties))
    erase_op(user)
