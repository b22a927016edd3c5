"""
Random programs whose types know less, or claim more, than their operations: made from valid static ones.

Values get dimensions of unknown size through dynamic_reshape by a constant; results that are computed from them may
state `?`, or another size. The verifier accepts such a program wherever unknown sizes hide the contradiction. It must
end with a diagnostic or compute the right numbers, and never run code for sizes that it does not have.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.rewriting import set_type
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamism.dynamic_shapes import DynamicReshapeOp
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.reading import parse_module
from ...hlo_dialect.shapes import DYNAMIC, is_static
from ...hlo_dialect.types import element_of, make_tensor, shape_of

SIZES = (0, 1, 2, 3, 4, 64, 1000, 100_000)
"""Sizes that replace others."""


def with_unknown_sizes(text: str, random_: random.Random) -> str:
    """The program with unknown sizes and, about half of the time, contradictions between them."""
    module = parse_module(text, "random.mlir", make_context())
    wrong = random_.choice((0.0, 0.05, 0.2))
    for op in [op for op in module.walk() if isinstance(op, HloOp)]:
        around = cast(Block, op.parent)
        if _in_function_or_branch(around) and not isinstance(op, ConstantOp):
            _forget_operands(op, random_, wrong)
            _forget_results(op, random_, wrong)
    _update_signatures(module)
    return print_module(module)


def _in_function_or_branch(block: Block) -> bool:
    """Not the body of a reduction or sort, whose values are scalars."""
    around = block.parent_op()
    return isinstance(around, FuncOp) or (around is not None and around.name in ("hlo.if", "hlo.case", "hlo.while"))


def _forget_operands(op: HloOp, random_: random.Random, wrong: float) -> None:
    """Hide the sizes of some operands by a dynamic_reshape."""
    for index, operand in enumerate(list(op.operands)):
        if random_.random() < 0.25 and _is_tensor(operand.type) and shape_of(operand):
            op.operands[index] = _forgotten(op, operand, random_, wrong)


def _forgotten(op: Operation, value: SSAValue, random_: random.Random, wrong: float) -> SSAValue:
    shape = shape_of(value)
    if not is_static(shape):
        return value
    sizes = list(shape)
    if random_.random() < wrong:
        if random_.random() < 0.5:
            random_.shuffle(sizes)
        else:
            sizes[random_.randrange(len(sizes))] = random_.choice((*SIZES, -1))
    constant = ConstantOp.of(np.array(sizes, random_.choice((np.int32, np.int64))))
    reshape = DynamicReshapeOp.create(
        operands=[value, constant.results[0]],
        result_types=[make_tensor(_some_unknown(shape, random_), element_of(value))],
    )
    cast(Block, op.parent).insert_ops_before([constant, reshape], op)
    return reshape.results[0]


def _some_unknown(shape: Sequence[int], random_: random.Random) -> tuple[int, ...]:
    return tuple(DYNAMIC if random_.random() < 0.8 else size for size in shape)


def _forget_results(op: HloOp, random_: random.Random, wrong: float) -> None:
    """State unknown or other sizes for results of an operation that has operands of unknown sizes."""
    if all(not _is_tensor(operand.type) or is_static(shape_of(operand)) for operand in op.operands):
        return
    for result in op.results:
        if not (_is_tensor(result.type) and shape_of(result)):
            continue
        shape = shape_of(result)
        if random_.random() < 0.5:
            set_type(result, make_tensor(_some_unknown(shape, random_), element_of(result)))
        elif random_.random() < wrong:
            other = list(shape)
            other[random_.randrange(len(other))] = random_.choice(SIZES)
            set_type(result, make_tensor(tuple(other), element_of(result)))


def _is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def _update_signatures(module: ModuleOp) -> None:
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            last = cast(Operation, function.body.block.last_op)
            types = FunctionType.from_lists(function.function_type.inputs.data, [v.type for v in last.operands])
            function.properties["function_type"] = types
