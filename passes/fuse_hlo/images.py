"""
Convolutions of small images, image by image: what follows an image's convolution at other indices, such as a pooling,
and what computes its operand, such as a pooling's gradient, run in the convolution's kernel.

Such a kernel takes an image through all steps before the next, so that only one image of what passes between them is
in memory, in the cache. A gradient of filters adds what the images contribute. `images.py` of
convert-contractions-to-vector emits these kernels.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import Float32Type, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.cost import F32_BYTES
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import is_splat_op
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.slicing import PadOp, SliceOp
from ...hlo_dialect.types import element_of, shape_of
from ...lowering.loop_nests.windows import IMAGE_BYTES, MOST_FILTERS
from .clusters import MAX_INPUTS, MAX_OPS
from .decisions import Decision, Verdict
from .epilogues import merged
from .graph import bytes_of, role_of

if TYPE_CHECKING:  # programs without convolutions do not load them
    from ...hlo_dialect.ops.convolution import ConvolutionOp

ENOUGH_IMAGES = 8
"""Images that keep threads busy."""

SHORT = 1 << 22
"""Multiplications of a convolution that is too short for many threads."""


@dataclass(frozen=True)
class Images:
    """A convolution of images: the first dimension of its input."""

    op: ConvolutionOp
    count: int
    gradient: bool
    """Whether it sums over the images."""

    @staticmethod
    def of(fusion: Operation) -> Images | None:
        """The convolution of a fusion; None if it has none, or one that is not worked on image by image."""
        if not isinstance(fusion, FusionOp) or fusion.kind.data not in ("dot", "custom"):
            return None
        found = next((inner for inner in fusion.body.block.ops if inner.name == "hlo.convolution"), None)
        if found is None:
            return None
        op = cast("ConvolutionOp", found)
        if op.feature_groups * op.batch_groups != 1 or any(op.reversal):
            return None
        if any(not isinstance(element_of(value), Float32Type) for value in (*op.operands, *op.results)):
            return None
        numbers, count = op.dimension_numbers, shape_of(op.lhs)[0]
        gradient = numbers.lhs.feature == 0 and numbers.kernel.batch == 0
        if count < 2 or not (gradient or numbers.lhs.batch == numbers.output.batch == 0):
            return None
        last = len(shape_of(op.lhs)) - 1
        channels = (numbers.lhs.batch, numbers.kernel.feature) if gradient else (numbers.lhs.feature,)
        if any(dim != last for dim in (*channels, numbers.output.feature)):
            return None
        if gradient and math.prod(shape_of(op.result)) > MOST_FILTERS:
            return None
        multiplications = op.flops() // 2
        if count < ENOUGH_IMAGES and multiplications > SHORT:
            return None
        return Images(op, count, gradient)

    def fits(self, values: Sequence[SSAValue]) -> bool:
        """Whether one image of these values, beside the padded input, stays in the cache."""
        held = [*values, *(value for value in self.op.operands if isinstance(value.owner, PadOp))]
        return sum(-(-math.prod(shape_of(value)) // self.count) * F32_BYTES for value in held) <= IMAGE_BYTES


def fuse_images(block: Block, given: Container[Operation]) -> Iterator[Decision]:
    """
    Merge the convolutions of images in `block` with the loop that follows each, and with those that make its operands.

    Fusions that the program was `given` with stay as they are. Returns a decision per merge.
    """
    for op in list(block.ops):
        if op.parent is block and isinstance(op, FusionOp) and op not in given:
            yield from _with_user(op, given)
    for op in list(block.ops):
        if op.parent is block and isinstance(op, FusionOp) and op not in given:
            yield from _with_operand(op, given)


# Operations that follow a product.


def _with_user(fusion: FusionOp, given: Container[Operation]) -> Iterator[Decision]:
    images = Images.of(fusion)
    if images is None or images.gradient or len(fusion.outs) != 1:
        return
    value = fusion.outs[0]
    user = value.get_user_of_unique_use()
    if not isinstance(user, FusionOp) or user in given or user.kind.data != "loop" or user.parent is not fusion.parent:
        return
    argument = user.body.block.args[list(user.operands).index(value)]
    if not _is_by_image(argument, images.count) or not images.fits([value]) or not _is_small(fusion, user):
        return
    last = next(iter(argument.uses)).operation
    yield Decision(Verdict.EPILOGUE, images.op, last, saved=2 * bytes_of(value))
    merged(fusion, user)
    erase_op(fusion)


def _is_by_image(argument: SSAValue, count: int) -> bool:
    """Whether all that depends on an argument has its images in the first dimension, in their order."""
    seen: set[Operation] = set()
    waiting = [argument]
    while waiting:
        for use in waiting.pop().uses:
            user = use.operation
            if user in seen or isinstance(user, ReturnOp):
                continue
            if any(shape_of(result)[:1] != (count,) for result in user.results):
                return False
            if not isinstance(user, SliceOp) and role_of(user) != "elementwise":
                return False
            seen.add(user)
            waiting += user.results
    return True


def _is_small(*fusions: FusionOp) -> bool:
    """Whether fusions are within the limits of one."""
    inputs = dict.fromkeys(value for fusion in fusions for value in fusion.operands)
    return len(inputs) <= MAX_INPUTS and sum(len(list(fusion.body.block.ops)) for fusion in fusions) <= MAX_OPS


# Operations that compute an operand.


def _with_operand(loop: FusionOp, given: Container[Operation]) -> Iterator[Decision]:
    """Compute the result of a loop in each convolution that reads it, if nothing else does."""
    if loop.kind.data != "loop" or len(loop.outs) != 1 or not loop.operands:
        return
    value: SSAValue = loop.outs[0]
    reshape = value.get_user_of_unique_use()
    if isinstance(reshape, ReshapeOp):
        value = reshape.results[0]
    users = list(dict.fromkeys(use.operation for use in value.uses))
    saved = bytes_of(value) * (1 + len(users)) - sum(map(bytes_of, loop.operands)) * (len(users) - 1)
    if not users or saved <= 0 or any(role_of(op) == "gather" for op in loop.body.block.ops):
        return
    for user in users:
        images = Images.of(user)
        if images is None or user in given or user.parent is not loop.parent or not isinstance(user, FusionOp):
            return
        if list(user.operands).count(value) != 1 or shape_of(loop.outs[0])[:1] != (images.count,):
            return
        argument = user.body.block.args[list(user.operands).index(value)]
        if not _feeds(argument, images) or not images.fits([value]) or not _is_small(loop, user):
            return
    maker = [op for op in loop.body.block.ops if not isinstance(op, ReturnOp) and not is_splat_op(op)][-1]
    producer = _reshaped(loop, reshape) if isinstance(reshape, ReshapeOp) else loop
    for user in users:
        images = Images.of(user)
        assert images is not None and isinstance(user, FusionOp)
        kind = Verdict.REPEATED if len(users) > 1 else Verdict.FUSED
        yield Decision(kind, maker, images.op, "dot", saved)
        merged(producer, user)
    for dead in (producer, reshape, loop):
        if isinstance(dead, (FusionOp, ReshapeOp)) and dead.parent is not None and dead.results[0].first_use is None:
            erase_op(dead)


def _feeds(argument: SSAValue, images: Images) -> bool:
    """Whether a convolution alone reads images from an argument, or pads it and reads that."""
    convolution = images.op
    user = argument.get_user_of_unique_use()
    if isinstance(user, PadOp) and user.operands[0] is argument:
        argument = user.results[0]
        user = argument.get_user_of_unique_use()
    if user is not convolution:
        return False
    # The right factor has images only where the images are summed over.
    return argument is convolution.lhs or images.gradient


def _reshaped(loop: FusionOp, reshape: ReshapeOp) -> FusionOp:
    """A fusion that computes the result of a loop in the shape that a reshape gives it; the reshape's users read it."""
    body = loop.body.clone()
    block = body.block
    last = block.last_op
    assert last is not None
    copy = ReshapeOp.create(operands=[last.operands[0]], result_types=[reshape.results[0].type])
    copy.location = reshape.location
    insert_before(copy, last)
    last.operands = [copy.results[0]]
    for old, new in zip(loop.body.walk(), (op for op in body.walk() if op is not copy), strict=True):
        new.location = old.location
    fusion = FusionOp.create(
        operands=list(loop.operands),
        result_types=[reshape.results[0].type],
        properties={"kind": StringAttr("loop")},
        regions=[body],
        location=loop.location,
    )
    parent = reshape.parent
    assert parent is not None
    insert_before(fusion, reshape)
    replace_uses(reshape.results[0], fusion.outs[0])
    return fusion
