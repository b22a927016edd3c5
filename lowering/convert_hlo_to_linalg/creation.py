"""hlo.constant and hlo.iota."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i32, i64
from xdsl.ir import Attribute, Block

from ...dialects.support.kernel import UNREAD
from ...dialects.support.scalar import Scalar, constant
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.ops import creation as hlo
from ...hlo_dialect.types import element_of, is_narrow_float, is_splat, numpy_dtype
from .element_types import convert
from .emission import Emitter, identity_map, iterators, loop_index, patterns, signless


def scalar_constant(block: Block, value: DenseIntOrFPElementsAttr[Any]) -> Scalar:
    """A splat's element as an arith.constant; zero for a constant without elements, whose text states none."""
    element = signless(value.get_element_type())
    # Not through constant_array: an empty splat has a value too. A narrow float is represented by its bits.
    dtype = np.dtype(np.uint8) if is_narrow_float(value.get_element_type()) else numpy_dtype(value.get_element_type())
    stated = np.frombuffer(value.data.data, dtype)
    number = (stated if stated.size else np.zeros(1, dtype))[0].item()
    return constant(block, number, element)


@patterns.on(hlo.ConstantOp)
def _constant(op: hlo.ConstantOp, emitter: Emitter) -> None:
    """On the host `arith.constant`; in a kernel a generic without operands, whose body yields the element."""
    value: DenseIntOrFPElementsAttr[Any] = op.value
    type_: Any = signless(op.result.type)
    if not emitter.in_kernel:
        if UNREAD in op.attributes and all(use.operation.name == "hlo.while" for use in op.result.uses):
            emitter.define(op.result, emitter.empty(type_))
            return
        attr = DenseIntOrFPElementsAttr(type_, value.data)
        new = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
        emitter.define(op.result, emitter.add(new).results[0])
        return
    if not is_splat(value) and value.data.data:
        fail(op, "is not a splat; a kernel takes other constants as operands")
    rank = len(type_.get_shape())

    def body(out: Scalar) -> Scalar:
        return scalar_constant(out.block, value)

    results = emitter.generic(
        [],
        [emitter.empty(type_)],
        (identity_map(rank),),
        iterators(rank),
        body,
    )
    emitter.define(op.result, results[0])


@patterns.on(hlo.IotaOp)
def _iota(op: hlo.IotaOp, emitter: Emitter) -> None:
    """The index along a dimension, by linalg.index."""
    type_: Any = signless(op.result.type)
    rank = len(type_.get_shape())
    dim = op.iota_dimension.value.data
    element: Attribute = element_of(op.result)
    # Hardware converts vectors of i32 to floats, but rarely those of i64.
    counter = i32 if type_.get_shape()[dim] <= 2**31 else i64

    def body(out: Scalar) -> Scalar:
        position = loop_index(out.block, dim).cast(arith.IndexCastOp, counter)
        return convert(position, counter, element)

    results = emitter.generic([], [emitter.empty(type_)], (identity_map(rank),), iterators(rank), body)
    emitter.define(op.result, results[0])
