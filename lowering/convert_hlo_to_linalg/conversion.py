"""hlo to linalg on tensors, and host control flow to scf: one walk, one pattern per operation class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.attributes import function_type, return_op
from ...dialects.support.creation import create_op, new_block
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import is_kernel
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.ops.narrow_floats import needs_normalization
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import is_complex, numpy_dtype, tensor_type
from ...hlo_dialect.verification import verify_module
from ...hlo_dialect.walking import operations_in
from .emission import Emitter, Pattern, patterns, scalar_patterns, signless

_CONVERTED = ("linalg.", "linalg_ext.", "tensor.", "scf.")


def _elementwise(pattern: Any, op: Operation, emitter: Emitter) -> None:
    """An elementwise operation becomes a generic whose body computes one element."""
    inputs = [emitter.get(operand) for operand in operands_of(op)]
    emitter.elementwise(op.results[0], inputs, partial(pattern, op))


@patterns.on(func.CallOp)
def _call(op: func.CallOp, emitter: Emitter) -> None:
    new = create_op(
        func.CallOp,
        operands=[emitter.get(operand) for operand in op.arguments],
        result_types=[signless(result.type) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    for old, result in zip(op.results, emitter.add(new).results, strict=True):
        emitter.define(old, result)


def _pattern_of(op_type: type[Operation]) -> Pattern | None:
    """The pattern of a class; elementwise operations share one, built on their scalar pattern."""
    pattern, scalar = patterns.get(op_type), scalar_patterns.get(op_type)
    return partial(_elementwise, scalar) if pattern is None and scalar is not None else pattern


def _check_types(op: Operation, values: Iterable[SSAValue]) -> None:
    """Raise DiagnosticError for values of types without arithmetic in linalg and arith."""
    for value in values:
        type_ = value.type
        if type(type_) is not TensorType:
            fail(op, f"has a value of type {type_}, expected a tensor: run --flatten-tuples before")
        tensor = tensor_type(cast(Attribute, type_))
        if is_complex(tensor.element_type):
            fail(op, f"has a value of type {tensor}: run --split-complex before convert-hlo-to-linalg")
        if numpy_dtype(tensor.element_type) is None:
            fail(op, f"has a value of type {tensor}, whose element type is not supported by convert-hlo-to-linalg")
        if not is_static(tensor.get_shape()):
            fail(op, f"has a value of type {tensor}; convert-hlo-to-linalg needs static shapes")


def convert_operations(block: Block, emitter: Emitter) -> list[SSAValue]:
    """Convert a block's operations into the emitter's block; return the converted operands of its terminator."""
    last = block.last_op
    for op in block.ops:
        emitter.location = op.location
        if op is last:
            return [emitter.get(operand) for operand in operands_of(op)]
        pattern = _pattern_of(type(op))
        if pattern is None:
            fail(op, "is not supported by the CPU target: convert-hlo-to-linalg has no pattern for it")
        _check_types(op, op.results)
        if needs_normalization(op):
            fail(op, "computes on floats of 8 bits or less: run --normalize-narrow-floats before convert-hlo-to-linalg")
        pattern(op, emitter)
    return []


def convert_function(function: func.FuncOp, fills_pads: bool = False) -> None:
    """Convert a function in place: its type and its body."""
    if not function.is_declaration:
        _check_types(function, function.body.block.args)
    types = function.function_type
    inputs, outputs = list(map(signless, types.inputs)), list(map(signless, types.outputs))
    function.properties["function_type"] = function_type(inputs, outputs)
    if function.is_declaration:
        return
    old = function.body.block
    block = new_block([signless(argument.type) for argument in old.args])
    emitter = Emitter(block, in_kernel=is_kernel(function), fills_pads=fills_pads)
    for argument, new in zip(old.args, block.args, strict=True):
        emitter.define(argument, new)
    returned = convert_operations(old, emitter)
    emitter.add(return_op(returned))
    function.detach_region(function.body)
    function.add_region(Region(block))


def _is_converted(function: func.FuncOp) -> bool:
    """Whether a function is at the level of linalg: it has operations of it, and none of hlo."""
    names = [op.name for op in operations_in(function)]
    return any(name.startswith(_CONVERTED) for name in names) and not any(name.startswith("hlo.") for name in names)


@dataclass(frozen=True)
class ConvertHloToLinalgPass(HloPass):
    """
    Convert hlo to linalg on tensors, and host control flow to scf.

    Before: `%0 = hlo.add %x, %y : tensor<4xui8>`
    After:  `%0 = linalg.generic {..} ins(%x, %y : ..) outs(%e : tensor<4xi8>)` with arith.addi in its body
    Assumes: the level after outline-kernels: calls inlined, no tuples, no complex types, static shapes; no arithmetic
    on floats of 8 bits or less.
    Leaves: no hlo or chlo; no signedness in types; floats of 8 bits or less as the i8 of their bits. Every operation of
            a kernel is a separate generic. Functions at the level of linalg stay as they are.

    Every way to machine code leads through this pass. Code is made for what types promise, so the module is verified
    first, always.

    filled-pads=true fills results with padding and puts elements there with a stride, where rows have padding between
    them, for targets that would gather vectors of both.
    """

    name = "convert-hlo-to-linalg"
    illegal = ("hlo.*", "chlo.*")

    filled_pads: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        verify_module(module)
        for op in list(module.body.block.ops):
            if isinstance(op, func.FuncOp) and not _is_converted(op):
                convert_function(op, self.filled_pads)
