"""hlo.sort: linalg_ext.sort, or linalg_ext.sort_by_key if the comparator compares keys."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects.linalg_ext import sort as linalg_ext
from ...dialects.linalg_ext.base import YieldOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import sort as hlo
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.types import element_of, is_boolean, is_float, is_narrow_float, is_unsigned
from .element_types import convert
from .emission import Emitter, patterns, signless
from .scalars import inline_operations
from .window import scalar_region


@patterns.on(hlo.SortOp)
def _sort(op: hlo.SortOp, emitter: Emitter) -> None:
    """
    `hlo.sort %x ({ compare LT, f(%a), f(%b) })` becomes `linalg_ext.sort_by_key outs(%x)` with a region that computes
    f(%a) as an unsigned integer of the same order, and one that computes %a from it if f only makes zeros and NaN
    alike. Several keys that fit into 64 bits become one. With any other comparator, `linalg_ext.sort` with that
    comparator.
    """
    elements = [signless(element_of(value)) for value in op.inputs]
    keys = hlo.sort_keys(op.comparator)
    if not keys or sum(_key_width(key) for key in keys) > 64:
        cls, regions = linalg_ext.SortOp, [scalar_region(op.comparator.block, [e for e in elements for _ in range(2)])]
    else:
        cls, regions = linalg_ext.SortByKeyOp, [_key_region(keys, op.comparator.block, elements)]
        element = element_of(op.inputs[0])
        (key, *others) = keys
        if not others and len(elements) == 1 and element_of(key.value) == element and _is_own_key(key, element):
            regions.append(_inverse_region(key, element, elements[0]))
    properties: dict[str, Any] = {"dimension": integer_attr(op.dim, i64)}
    results = emitter.structured(cls, [], [emitter.get(value) for value in op.inputs], regions, properties)
    for old, new in zip(op.outs, results, strict=True):
        emitter.define(old, new)


def _key_width(key: hlo.SortKey) -> int:
    """The bits of a key as an integer: see `ordered`."""
    element = element_of(key.value)
    return 32 if is_narrow_float(element) else 8 if is_boolean(element) else width_of(signless(element))


def _key_region(keys: list[hlo.SortKey], comparator: Block, elements: list[Any]) -> Region:
    """Several keys are one integer, the first in its highest bits."""
    block = Block(arg_types=elements)
    found: list[Scalar] = []
    for key in keys:
        values: dict[SSAValue, SSAValue] = {
            argument: block.args[argument.index // 2] for argument in comparator.args if argument.index % 2 == 0
        }
        inline_operations(key.operations, values, block)
        number = Scalar(block, values[key.value])
        found.append(ordered(number, element_of(key.value), key.total_order, key.descending))
    whole = found[0]
    if len(keys) > 1:
        type_ = IntegerType(32 if sum(width_of(x.type) for x in found) <= 32 else 64)
        first, *rest = [x if x.type == type_ else x.cast(arith.ExtUIOp, type_) for x in found]
        whole = first
        for narrow, number in zip(found[1:], rest, strict=True):
            whole = (whole << width_of(narrow.type)) | number
    block.add_op(YieldOp(whole.value))
    return Region(block)


def _is_own_key(key: hlo.SortKey, element: Attribute) -> bool:
    """Whether most elements are their own keys: they are only compared with constants and replaced by some."""
    plain = not is_boolean(element) and not is_narrow_float(element) and width_of(signless(element)) in (32, 64)
    return plain and all(isinstance(op, (CompareOp, SelectOp, ConstantOp)) for op in key.operations)


def _inverse_region(key: hlo.SortKey, element: Attribute, stored: Attribute) -> Region:
    block = Block(arg_types=[IntegerType(width_of(stored))])
    block.add_op(YieldOp(unordered(Scalar(block, block.args[0]), element, stored, key.descending).value))
    return Region(block)


def unordered(x: Scalar, element: Attribute, stored: Attribute, descending: bool) -> Scalar:
    """An element of 32 or 64 bits whose key, as by `ordered`, is an integer; `stored`: its type without a sign."""
    x = x ^ -1 if descending else x
    width = width_of(x.type)
    if is_float(element):
        # The highest bit of a key is set for positive floats.
        return (x ^ (((x >> (width - 1)) ^ -1) | (-1 << (width - 1)))).bitcast(stored)
    return x if is_unsigned(element) else x ^ (-1 << (width - 1))


def ordered(x: Scalar, element: Attribute, total_order: bool, descending: bool) -> Scalar:
    """A key of an hlo element type as an integer whose unsigned order is the key's, ascending: see `SortKey`."""
    if is_narrow_float(element):
        x = convert(x, element, f32)
    if is_float(element):
        bits = x.bits()
        if not total_order:
            bits = (bits << 1).compare("eq", 0).select(0, bits)
        width = width_of(bits.type)
        # Flip all bits of negative floats, only the sign of others.
        x = bits ^ ((bits >> (width - 1)) | (-1 << (width - 1)))
    elif is_boolean(element):
        x = convert(x, element, IntegerType(8))
    elif not is_unsigned(element):
        x = x ^ (-1 << (width_of(x.type) - 1))
    return x ^ -1 if descending else x
