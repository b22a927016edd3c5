"""
Products write transposed results at once, and those of a row kernel read slices where they lie.

A slice is the whole operand at other indices, and a transpose of a product that nothing else reads is the product with
its result's dimensions in another order. Kernels that multiply follow any strides, so neither needs a copy.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.kernel import LOOP_SIZES
from ...dialects.support.linalg_ops import fill_op
from ...hlo_dialect.attributes import int_array
from ...lowering.convert_hlo_to_linalg.emission import affine_map, maps_attr
from .bodies import inputs_of, point
from .plan import extents, is_contraction


def read_and_write_in_place(block: Block, rows: bool) -> None:
    """Let products write through transposes, and those of a row kernel read through slices."""
    for generic in [op for op in block.ops if type(op) is GenericOp]:
        if is_contraction(generic):
            if rows:
                _read_slices(generic)
            _write_transposed(generic)


def _read_slices(product: GenericOp) -> None:
    sizes = extents(product)
    for number, value in enumerate(inputs_of(product)):
        access = _copied_from(value)
        if access is None or all(isinstance(expr, AffineDimExpr) for expr in access.results):
            continue
        copy = cast(GenericOp, value.owner)
        places = product.indexing_maps.data[number].data.results
        read = [expr.replace_dims_and_symbols(places, []) for expr in access.results]
        product.operands[number] = inputs_of(copy)[0]
        _set_map(product, number, affine_map(len(sizes), *read))
        product.attributes[LOOP_SIZES] = int_array(sizes)


def _write_transposed(product: GenericOp) -> None:
    """Before: `%1 = product -> (d0, d1)`, `%2 = copy of %1 (d1, d0)`; after: `%2 = product -> (d1, d0)`."""
    (result,) = product.results
    copy = result.get_user_of_unique_use()
    fill = product.outputs[0].owner
    if not isinstance(copy, GenericOp) or not isinstance(fill, FillOp) or not fill.results[0].has_one_use():
        return
    access = _copied_from(copy.results[0]) if len(copy.results) == 1 else None
    order = [expr.position for expr in access.results if isinstance(expr, AffineDimExpr)] if access else []
    if access is None or sorted(order) != list(range(access.num_dims)) or len(order) != len(access.results):
        return
    number = len(inputs_of(product))
    own = product.indexing_maps.data[number].data.results
    places = [own[order.index(dim)] for dim in range(len(order))]
    type_ = copy.results[0].type
    empty = create_op(tensor.EmptyOp, result_types=[type_])
    filled = fill_op(fill.inputs[0], empty.results[0], [type_])
    for op in (empty, filled):
        op.location = fill.location
        insert_before(op, product)
    made = create_op(
        GenericOp,
        operands=[*inputs_of(product), filled.results[0]],
        result_types=[type_],
        properties=dict(product.properties),
        attributes=dict(product.attributes),
        regions=[product.detach_region(0)],
        location=product.location,
    )
    _set_map(made, number, affine_map(len(made.iterator_types), *places))
    insert_before(made, product)
    made.results[0].name_hint = copy.results[0].name_hint
    replace_uses(copy.results[0], made.results[0])
    for op in (copy, product, fill):
        erase_op(op)


def _copied_from(value: SSAValue) -> AffineMap | None:
    """The index map by which a generic that does nothing but copy one operand reads it for this result."""
    generic = value.owner
    if type(generic) is not GenericOp or len(generic.results) != 1 or len(inputs_of(generic)) != 1:
        return None
    block = generic.body.block
    last = block.last_op if block.first_op is block.last_op else None
    read, written = (attr.data for attr in generic.indexing_maps.data)
    if last is None or last.operands[0] is not block.args[0] or written.results != point(written.num_dims):
        return None
    return read


def _set_map(generic: GenericOp, number: int, map_: AffineMapAttr) -> None:
    maps = list(generic.indexing_maps.data)
    maps[number] = map_
    generic.properties["indexing_maps"] = maps_attr(tuple(maps))
