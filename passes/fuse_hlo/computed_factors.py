"""
Let products compute their factors while they pack them: an activation from what it was applied to, normalized rows from
the rows and their statistics, the gradient of a softmax from its scores, that of a batch normalization from its sums.

A value that follows elementwise from what is in memory anyway, and that is only a factor of products, reshaped perhaps,
or read elementwise, is then never written: the fusion that made it returns one value per row instead, if that is
missing, and its users read what the value follows from (`lowering/convert_contractions_to_vector/factors/computed.py`).
Where others read it too, those users compute it again that read all large values that it follows from anyway, such as
the mask of an activation beside the gradient of the normalization before it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.cost import ELEMENTARY
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses, set_operands
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import element_of, shape_of
from ...lowering.device.cpu import CPU
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .factor_sums import LEAST_MATRIX, LEAST_ROWS
from .graph import bytes_of, is_splat_constant, role_of
from .packages import cost_of, reason_apart
from .producers import FAR

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
        last, user = chain.ops[-1], chain.readers[-1]
        if not chain.is_quick:
            refused.add(last)
            reason = f"computing it in {len(chain.users)} fusions takes longer than keeping it"
            yield Decision(Verdict.APART, last, user, reason=reason)
            continue
        verdict = Verdict.FUSED if chain.is_whole and len(chain.users) == 1 else Verdict.REPEATED
        yield Decision(verdict, last, user, chain.users[-1].fusion.kind.data, chain.saved)
        before = op.prev_op
        op = _moved(chain) or (block.first_op if before is None else before.next_op)


def _next_chain(op: Operation, given: Container[Operation], refused: Container[Operation]) -> _Chain | None:
    """The first result of a fusion that its users can compute, but for those that were refused."""
    if not isinstance(op, FusionOp) or op in given or op.kind.data not in _MAKERS:
        return None
    chains = (_chain_of(op, number, given) for number in range(len(op.outs)))
    return next((chain for chain in chains if chain is not None and chain.ops[-1] not in refused), None)


@dataclass(frozen=True)
class _User:
    """A fusion that reads a value once, and can compute it."""

    fusion: FusionOp
    product: DotGeneralOp | None
    """The product whose factor the value is; None if the value is read elementwise."""
    reshape: ReshapeOp | None = None
    """The reshape that the product reads the value through, which joins the dimensions that it contracts."""


@dataclass(frozen=True)
class _Chain:
    """A result of a fusion, and how fusions that read it can compute it."""

    maker: FusionOp
    number: int
    ops: tuple[Operation, ...]
    """The operations that compute it, in order."""
    sources: tuple[SSAValue, ...]
    """The values that these read: arguments of the maker's body, and values that are computed there."""
    users: tuple[_User, ...]
    is_whole: bool
    """Whether these are all that read it."""

    @property
    def value(self) -> SSAValue:
        return self.maker.outs[self.number]

    @property
    def _returned(self) -> dict[SSAValue, int]:
        return _returned_by(self.maker, self.number)

    @property
    def readers(self) -> list[Operation]:
        """What reads the value in each fusion: the product, or the first operation."""
        return [each.product or _reader_of(each.fusion, self.value) for each in self.users]

    @property
    def added(self) -> list[SSAValue]:
        """The sources that the maker does not return yet."""
        returned = self._returned
        return [each for each in self.sources if not isinstance(each, BlockArgument) and each not in returned]

    @property
    def is_all(self) -> bool:
        """Whether the maker returns nothing else that is read, and is not needed any more."""
        outs = self.maker.outs
        return self.is_whole and not self.added and all(out is self.value or out.first_use is None for out in outs)

    @property
    def saved(self) -> int:
        """The bytes that are moved less."""
        before = bytes_of(self.value) * (self.is_whole + len(self.users))
        before += sum(map(bytes_of, self.maker.operands)) if self.is_all else 0
        return before - sum(map(self.more_read, self.users)) - sum(map(bytes_of, self.added))

    def more_read(self, user: _User) -> int:
        """The bytes of the sources that a user does not read yet."""
        operands = list(user.fusion.operands)
        return sum(bytes_of(source) for source in self.sources if self.outside(source) not in operands)

    def outside(self, source: SSAValue) -> SSAValue | None:
        """The value outside the maker that a source is, if there is one already."""
        if isinstance(source, BlockArgument):
            return self.maker.operands[source.index]
        number = self._returned.get(source)
        return None if number is None else self.maker.outs[number]

    @property
    def is_quick(self) -> bool:
        """Whether what is computed again takes little time, beside what memory takes for the value and the products."""
        inside, costs = set(self.ops), {op: min(cost_of(op), ELEMENTARY.loop) for op in self.ops}
        left: set[Operation] = set()
        for op in reversed(self.ops):
            others = {use.operation for result in op.results for use in result.uses}
            if op is not self.ops[-1] and any(user not in inside or user in left for user in others):
                left.add(op)
        if not self.is_whole:
            left = inside
        again = sum(costs.values()) * len(self.users) - sum(costs[op] for op in self.ops if op not in left)
        elements = math.prod(shape_of(self.value))
        multiplied = sum(_multiplications(user.product) for user in self.users if user.product is not None)
        time = again * elements / CPU.operations_per_ns
        return time <= self.saved / CPU.bytes_per_ns + multiplied / CPU.products_per_ns / SHARE


def _returned_by(maker: FusionOp, number: int) -> dict[SSAValue, int]:
    """The values that a fusion's body returns, but for result `number`, with the numbers of the results."""
    made = maker.body.block.last_op
    assert made is not None
    return {value: k for k, value in enumerate(made.operands) if k != number}


def _chain_of(maker: FusionOp, number: int, given: Container[Operation]) -> _Chain | None:
    """
    How all that read a result of a fusion can compute it; else how those can that read what it follows from. None if
    they cannot, or move more then.
    """
    users, is_whole = _users_of(maker, number, given)
    found = sources_of(maker, number) if users else None
    if found is None:
        return None
    if is_whole:
        chain = _Chain(maker, number, *found, users, is_whole)
        if 2 * chain.saved >= bytes_of(chain.value) and _is_possible(chain):
            return chain
    alone = _Chain(maker, number, *found, (), is_whole=False)
    few = bytes_of(alone.value) // FEW
    beside = tuple(each for each in users if each.product is None and alone.more_read(each) <= few)
    chain = _Chain(maker, number, *found, beside, is_whole=False)
    return chain if beside and not chain.added and _is_possible(chain) else None


def _is_possible(chain: _Chain) -> bool:
    """Whether nothing is against computing a value in its users."""
    if chain.added and chain.maker.kind.data != "row":
        return False
    is_near = bytes_of(chain.value) < FAR and any(cost_of(op) > CHEAP for op in chain.ops)
    if is_near and any(user.product is None for user in chain.users):
        return False
    if any(reason_apart(chain.ops[-1], reader) is not None for reader in chain.readers):
        return False
    fusions = [user.fusion for user in chain.users]
    if any(len(chain.sources) + len(fusion.operands) - 1 > MAX_INPUTS for fusion in fusions):
        return False
    return all(len(chain.ops) + len(list(fusion.body.block.ops)) <= MAX_OPS for fusion in fusions)


def _users_of(maker: FusionOp, number: int, given: Container[Operation]) -> tuple[tuple[_User, ...], bool]:
    """The fusions that read a result and can compute it, and whether nothing else reads it."""
    value, found, is_whole = maker.outs[number], dict[FusionOp, _User](), True
    for use in value.uses:
        reader = use.operation
        reshape = reader if isinstance(reader, ReshapeOp) else None
        for each in [use.operation] if reshape is None else [other.operation for other in reshape.result.uses]:
            user = _user_of(each, value, reshape, maker, given)
            if user is None or (user.fusion in found and found[user.fusion] != user):
                is_whole = False
            else:
                found[user.fusion] = user
    return tuple(found.values()), is_whole


def _user_of(
    fusion: Operation, value: SSAValue, reshape: ReshapeOp | None, maker: FusionOp, given: Container[Operation]
) -> _User | None:
    """How a fusion reads a value; None if it cannot compute it."""
    read = value if reshape is None else reshape.result
    if not isinstance(fusion, FusionOp) or fusion in given or fusion.parent is not maker.parent:
        return None
    if list(fusion.operands).count(read) != 1:
        return None
    product = _product_of(fusion, read)
    if product is not None:
        return _User(fusion, product, reshape) if reshape is None or _contracts(product, read, reshape) else None
    return _User(fusion, None) if reshape is None and _reads_elementwise(fusion, value) else None


def _reader_of(fusion: FusionOp, value: SSAValue) -> Operation:
    """The first operation in a fusion that reads a value."""
    return next(iter(fusion.body.block.args[list(fusion.operands).index(value)].uses)).operation


def _reads_elementwise(fusion: FusionOp, value: SSAValue) -> bool:
    """Whether a fusion reads a value in elementwise operations alone, behind its product if it has one."""
    if fusion.kind.data not in ("loop", "reduce", "dot"):
        return False
    waiting: list[SSAValue] = [fusion.body.block.args[list(fusion.operands).index(value)]]
    if any(role_of(use.operation) != "elementwise" for use in waiting[0].uses):
        return False
    seen: set[Operation] = set()
    while waiting:
        for use in waiting.pop().uses:
            if use.operation not in seen:
                seen.add(use.operation)
                waiting += use.operation.results
    return not any(op.name in ("hlo.dot_general", "hlo.convolution") for op in seen)


def _product_of(fusion: FusionOp, read: SSAValue) -> DotGeneralOp | None:
    """The product of a fusion that reads the value as a factor, and alone reads it there, and packs it."""
    if fusion.kind.data != "dot":
        return None
    (use, *others) = fusion.body.block.args[list(fusion.operands).index(read)].uses
    product = use.operation
    if others or not isinstance(product, DotGeneralOp) or product.operands[0] is product.operands[1]:
        return None
    return product if _packs_both(product, use.index) else None


def _contracts(product: DotGeneralOp, read: SSAValue, reshape: ReshapeOp) -> bool:
    """Whether a product contracts the first dimension of its factors alone, and a reshape joins several to that one."""
    numbers = product.dot_dimension_numbers
    before, after = shape_of(reshape.operands[0]), shape_of(read)
    return (
        tuple(numbers.lhs_contracting) == tuple(numbers.rhs_contracting) == (0,)
        and not numbers.lhs_batching
        and all(isinstance(value, BlockArgument) and value.has_one_use() for value in product.operands)
        and len(before) > len(after) > 1
        and before[_joined(reshape) :] == after[1:]
    )


def _sides(product: DotGeneralOp) -> tuple[int, int, int]:
    """Rows and columns of the result, and contracted elements."""
    left, right = map(shape_of, product.operands)
    m, n = (math.prod(x[dim] for dim in dims) for x, dims in ((left, product.lhs_free), (right, product.rhs_free)))
    return m, n, math.prod(left[dim] for dim in product.dot_dimension_numbers.lhs_contracting)


def _packs_both(product: DotGeneralOp, number: int) -> bool:
    """Whether a product has a factor so large, and so many rows and columns, that both factors are packed."""
    m, n, k = _sides(product)
    return (
        not product.dot_dimension_numbers.lhs_batching
        and min(m, n, k) >= LEAST_ROWS // 2
        and (m, n)[number] * k > LEAST_MATRIX
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
    """Compute the value in its users' fusions instead; returns the rest of the fusion that made it, if it stays."""
    maker, rest = chain.maker, None
    outside: dict[SSAValue, SSAValue] = {}
    inside: dict[SSAValue, SSAValue] = {}
    if chain.is_whole and not chain.is_all:
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
        known = None if source in outside else chain.outside(source)
        if known is not None:
            outside[source] = known
    for user in chain.users:
        _compute_in(user, chain, {inside.get(each, each): outside[each] for each in chain.sources})
    if not chain.is_whole:
        return maker
    for use in list(chain.value.uses):
        erase_op(use.operation)  # Nothing reads the reshaped value.
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


def _compute_in(user: _User, chain: _Chain, outside: dict[SSAValue, SSAValue]) -> None:
    """Let a fusion compute the value from the sources, which have these values outside."""
    fusion, reshape = user.fusion, user.reshape
    value = chain.value if reshape is None else reshape.result
    others = dict[SSAValue, SSAValue]()
    if reshape is not None and user.product is not None:
        (other,) = (each for each in _factors_of(user.product, fusion) if each is not value)
        others[other] = _apart(other, reshape, fusion)
    read = [others.get(each, each) for each in fusion.operands if each is not value]
    inputs = list(dict.fromkeys([*outside.values(), *read]))
    block = new_block([value.type for value in inputs])
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for each, argument in arguments.items():
        argument.name_hint = each.name_hint
    local = {source: arguments[each] for source, each in outside.items()}
    for op in chain.ops:
        append(block, clone_op(op, local))
    (made,) = chain.ops[-1].results
    arguments |= {value: local[made]} | {other: arguments[apart] for other, apart in others.items()}
    returned = taken_into(block, fusion, arguments)
    if reshape is not None and user.product is not None:
        _contract(user.product, _joined(reshape))
    replace_results(fusion.outs, fusion, inputs, block, returned, dict(fusion.properties))
    erase_op(fusion)


def _factors_of(product: DotGeneralOp, fusion: FusionOp) -> list[SSAValue]:
    """The operands of a fusion that its product multiplies."""
    return [fusion.operands[each.index] for each in product.operands if isinstance(each, BlockArgument)]


def _joined(reshape: ReshapeOp) -> int:
    """How many dimensions a reshape joins to the first one."""
    return len(shape_of(reshape.operands[0])) - len(shape_of(reshape.result)) + 1


def _apart(value: SSAValue, reshape: ReshapeOp, place: Operation) -> SSAValue:
    """A factor before its first dimension was joined as a reshape joins those of the other factor."""
    shape = (*shape_of(reshape.operands[0])[: _joined(reshape)], *shape_of(value)[1:])
    if isinstance(value.owner, ReshapeOp) and shape_of(value.owner.operands[0]) == shape:
        return value.owner.operands[0]
    type_ = TensorType(element_of(value), shape)
    split = create_op(ReshapeOp, operands=[value], result_types=[type_], location=reshape.location)
    insert_before(split, place)
    return split.results[0]


def _contract(product: DotGeneralOp, count: int) -> None:
    """Let a product whose factors have their first dimension in several now contract this many."""
    dims = DotDimensionNumbersAttr.of((), (), range(count), range(count))
    made = like(product, list(product.operands), [product.result.type], {"dot_dimension_numbers": dims})
    insert_before(made, product)
    replace_uses(product.result, made.result)
    erase_op(product)
