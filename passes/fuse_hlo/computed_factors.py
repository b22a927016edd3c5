"""
Let products compute their factors while they pack them: an activation from what it was applied to, normalized rows from
the rows and their statistics, the gradient of a softmax from its scores, that of a batch normalization from its sums.

A value that follows elementwise from what is in memory anyway, and that is only a factor of products, reshaped perhaps,
or read elementwise, is then never written: the fusion that made it returns one value per row instead, if that is
missing, and its users read what the value follows from (`lowering/convert_contractions_to_vector/factors/computed.py`).
A gather of few elements, as of a table of embeddings that is converted for the products, picks them of what the value
follows from. Where others read it too, those users compute it again that read all large values that it follows from
anyway, such as the mask of an activation beside the gradient of the normalization before it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.cost import ELEMENTARY
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses, set_operands
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import is_splat_op
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from ...lowering.device.cpu import CPU
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .epilogues import replace_results, taken_into
from .factor_users import FEW, User, apart, contract, factors_of, joined, multiplications, reader_of, users_of
from .graph import bytes_of, role_of
from .packages import cost_of, reason_apart
from .producers import FAR

if TYPE_CHECKING:
    from ...hlo_dialect.ops.gather import GatherOp

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
class _Chain:
    """A result of a fusion, and how fusions that read it can compute it."""

    maker: FusionOp
    number: int
    ops: tuple[Operation, ...]
    """The operations that compute it, in order."""
    sources: tuple[SSAValue, ...]
    """The values that these read: arguments of the maker's body, and values that are computed there."""
    users: tuple[User, ...]
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
        """The operation in each fusion that reads the value: the product, or the first one."""
        return [each.product or reader_of(each.fusion, self.value) for each in self.users]

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
        before = bytes_of(self.value) * (self.is_whole + self.times)
        before += sum(map(bytes_of, self.maker.operands)) if self.is_all else 0
        return before - sum(map(self.more_read, self.users)) - sum(map(bytes_of, self.added))

    @property
    def times(self) -> int:
        """How many users compute all of it."""
        return sum(user.gather is None for user in self.users)

    def more_read(self, user: User) -> int:
        """The bytes of the sources that a user does not read yet."""
        if user.gather is not None:
            picked = bytes_of(user.gather.result)
            return picked * bytes_of(self.sources[0]) // bytes_of(self.value) - picked
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
        again = sum(costs.values()) * self.times - sum(costs[op] for op in self.ops if op not in left)
        elements = math.prod(shape_of(self.value))
        multiplied = sum(multiplications(user.product) for user in self.users if user.product is not None)
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
    users, is_whole = users_of(maker, number, given)
    found = sources_of(maker, number) if users else None
    if found is None:
        return None
    if is_whole:
        chain = _Chain(maker, number, *found, users, is_whole)
        if 2 * chain.saved >= bytes_of(chain.value) and _is_possible(chain):
            return chain
    alone = _Chain(maker, number, *found, (), is_whole=False)
    few = bytes_of(alone.value) // FEW
    beside = tuple(each for each in users if each.is_elementwise and alone.more_read(each) <= few)
    chain = _Chain(maker, number, *found, beside, is_whole=False)
    return chain if beside and not chain.added and _is_possible(chain) else None


def _is_possible(chain: _Chain) -> bool:
    """Whether nothing is against computing a value in its users."""
    if chain.added and chain.maker.kind.data != "row":
        return False
    is_near = bytes_of(chain.value) < FAR and any(cost_of(op) > CHEAP for op in chain.ops)
    if is_near and any(user.is_elementwise for user in chain.users):
        return False
    if any(user.gather is not None for user in chain.users) and not _is_of_one(chain):
        return False
    if any(reason_apart(chain.ops[-1], reader) is not None for reader in chain.readers):
        return False
    fusions = [user.fusion for user in chain.users]
    if any(len(chain.sources) + len(fusion.operands) - 1 > MAX_INPUTS for fusion in fusions):
        return False
    return all(len(chain.ops) + len(list(fusion.body.block.ops)) <= MAX_OPS for fusion in fusions)


def _is_of_one(chain: _Chain) -> bool:
    """Whether a value that products read is computed by one elementwise operation of one other."""
    is_read = any(user.product is not None for user in chain.users)
    return is_read and len(chain.ops) == 1 and [shape_of(each) for each in chain.sources] == [shape_of(chain.value)]


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
        if is_splat_op(op) or (whole and role in ("elementwise", "broadcast", "iota")):
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
        if user.gather is not None:
            _compute_picked(user.gather, chain, outside[chain.sources[0]])
            continue
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


def _compute_in(user: User, chain: _Chain, outside: dict[SSAValue, SSAValue]) -> None:
    """Let a fusion compute the value from the sources, which have these values outside."""
    fusion, reshape = user.fusion, user.reshape
    value = chain.value if reshape is None else reshape.result
    others = dict[SSAValue, SSAValue]()
    if reshape is not None and isinstance(user.product, DotGeneralOp):
        (other,) = (each for each in factors_of(user.product, fusion) if each is not value)
        others[other] = apart(other, reshape, fusion)
    read = [others.get(each, each) for each in fusion.operands if each is not value]
    inputs = list(dict.fromkeys([*outside.values(), *read]))
    block = new_block([value.type for value in inputs])
    arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for each, argument in arguments.items():
        argument.name_hint = each.name_hint
    local = {source: arguments[each] for source, each in outside.items()}
    for op in chain.ops:
        append(block, clone_op(op, local))
    (computed,) = chain.ops[-1].results
    arguments |= {value: local[computed]} | {other: arguments[split] for other, split in others.items()}
    returned = taken_into(block, fusion, arguments)
    if reshape is not None and isinstance(user.product, DotGeneralOp):
        old, made = user.product.result, contract(user.product, joined(reshape))
        returned = [made if each is old else each for each in returned]
    replace_results(fusion.outs, fusion, inputs, block, returned, dict(fusion.properties))
    erase_op(fusion)


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
