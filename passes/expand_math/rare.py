"""
Rare arguments, for which the C library computes a function, or a slow instruction does: without them the loops over its
formula vectorize.

The call is of a function without effects. LLVM's vectorizer replaces it by one of a variant for vectors and a mask
(the attribute `vector-function-abi-variant`), which is inlined afterwards: a test whether any lane is rare.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, math, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IndexType,
    StringAttr,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region

from ...dialects.arith_ops import RemFOp
from ...dialects.cpu import SHARED
from ...dialects.support.attributes import call_op, return_op
from ...dialects.support.kernel import BRIEF, INLINE, PURE, VARIANTS
from ...dialects.support.scalar import NO_FASTMATH, Scalar, constant
from ...dialects.support.shared_names import vector_variant
from ...lowering.device.parts import MATH_FUNCTION
from .control_flow import Values, branch

LIBRARY: dict[str, type[Operation]] = {"sin": math.SinOp, "cos": math.CosOp, "tan": math.TanOp, "rem": RemFOp}
"""The operations that `rarely` names, which stay calls of the C library."""

INSTRUCTIONS: dict[str, type[Operation]] = {
    "div": arith.DivfOp,
    "divsi": arith.DivSIOp,
    "divui": arith.DivUIOp,
    "remsi": arith.RemSIOp,
    "remui": arith.RemUIOp,
}
"""Those that are instructions, also of vectors."""

_PREFIX = f"{MATH_FUNCTION}rare_"


def rarely(name: str, condition: Scalar, arguments: Values, usual: Scalar) -> Scalar:
    """
    `usual`, or where the condition holds, the operation of the arguments itself. `name`: a key of LIBRARY or
    INSTRUCTIONS.
    """

    def call(*values: Scalar) -> Values:
        made = call_op(f"{_PREFIX}{name}_{usual.type}", [value.value for value in values], [usual.type])
        values[0].block.add_op(made)
        return [Scalar(values[0].block, made.results[0])]

    def keep(*values: Scalar) -> Values:
        return [Scalar(values[0].block, usual.value)]

    return branch(condition, arguments, call, keep)[0]


def define_rare(call: func.CallOp, widths: Sequence[int]) -> list[func.FuncOp]:
    """The function of a call that `rarely` made, and its variants for vectors of these widths."""
    name = call.callee.root_reference.data
    operands = [operand.type for operand in call.operands]
    block = Block(arg_types=operands)
    key = name.removeprefix(_PREFIX).rpartition("_")[0]
    cls = INSTRUCTIONS.get(key) or LIBRARY[key]
    _compute(cls, block, operands)
    # Public: were a constant passed by all calls, LLVM would drop that parameter, and the variants would no longer fit.
    scalar = _function(name, block, "public")
    scalar.attributes[PURE] = UnitAttr()
    scalar.attributes[VARIANTS] = DenseArrayBase.from_list(i64, widths)
    return [scalar, *(one for width in widths for one in _variants(name, operands, width, cls, width == widths[0]))]


def _compute(cls: type[Operation], block: Block, operands: Sequence[Attribute]) -> None:
    """Return an operation's result of the block's first arguments, which have its type."""
    arguments = block.args[: len(operands)]
    first, *others = (Scalar(block, argument) for argument in arguments)
    result = first.apply(cls, *others)
    block.add_op(return_op([result.value]))


def _function(name: str, block: Block, visibility: str = "private") -> func.FuncOp:
    last = block.last_op
    assert isinstance(last, func.ReturnOp)
    type_ = FunctionType.from_lists(block.arg_types, [value.type for value in last.arguments])
    return func.FuncOp(name, type_, Region(block), StringAttr(visibility))


def _variants(
    name: str, operands: Sequence[Attribute], width: int, cls: type[Operation], in_register: bool
) -> list[func.FuncOp]:
    """
    The variant, which is inlined, and what it calls if the mask of any lane is set: a loop over those lanes, or the
    instruction for all. Integers of 64 bits that fill one register are divided by another formula first.
    """
    from xdsl.dialects import vector  # it takes a while to load, and few programs have rare arguments

    variant = vector_variant(name, width)
    types = [*(VectorType(type_, [width]) for type_ in operands), VectorType(i1, [width])]
    # LLVM would take a quarter of its time for a small kernel for these loops and formulas, which are the same in all.
    marks = [PURE]
    if cls in LIBRARY.values():
        slow_block = _lanes(cls, types, width)
        marks += SHARED, BRIEF
    elif in_register and operands[0] == i64:
        from .large_integers import divide_vectors

        slow_block = divide_vectors(cls, types)
        marks.append(SHARED)
    else:
        _compute(cls, slow_block := Block(arg_types=types), operands)
    lanes = _function(f"{variant}_lanes", slow_block)
    lanes.attributes |= dict.fromkeys(marks, UnitAttr())
    block = Block(arg_types=types)
    test = vector.ReductionOp.create(
        operands=[block.args[-1]],
        result_types=[i1],
        properties={"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR), "fastmath": NO_FASTMATH},
    )
    slow = call_op(lanes.sym_name.data, block.args, [types[0]])
    then = Block([slow, scf.YieldOp(slow.results[0])])
    otherwise = Block([scf.YieldOp(block.args[0])])
    chosen = scf.IfOp(test.dest, [types[0]], [then], [otherwise])
    block.add_ops([test, chosen, return_op([chosen.results[0]])])
    # Public: until loops are vectorized nothing calls it.
    outer = _function(variant, block, "public")
    outer.attributes[INLINE] = UnitAttr()
    return [lanes, outer]


def _lanes(cls: type[Operation], types: Sequence[VectorType[Attribute]], width: int) -> Block:
    from xdsl.dialects import vector

    block = Block(arg_types=types)
    index = IndexType()
    start, stop, step = (constant(block, bound, index) for bound in (0, width, 1))
    body = Block(arg_types=[index, types[0]])
    lane, result = body.args
    made = [vector.ExtractOp(one, [lane], type_.element_type) for one, type_ in zip(block.args, types, strict=True)]
    *arguments, chosen = (op.result for op in made)
    then = Block()
    first, *others = (Scalar(then, argument) for argument in arguments)
    inserted = vector.InsertOp(first.apply(cls, *others).value, result, [lane])
    then.add_ops([inserted, scf.YieldOp(inserted.results[0])])
    choice = scf.IfOp(chosen, [types[0]], [then], [Block([scf.YieldOp(result)])])
    body.add_ops([*made, choice, scf.YieldOp(choice.results[0])])
    loop = scf.ForOp(start.value, stop.value, step.value, [block.args[0]], body)
    block.add_ops([loop, return_op([loop.results[0]])])
    return block
