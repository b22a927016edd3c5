"""Attributes and functions that are made once, or without xDSL's constructors, are what those make."""

from __future__ import annotations

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, StringAttr, SymbolRefAttr, f32, i1, i8, i64
from xdsl.ir import Block, Region

from xhlo.dialects.support.attributes import call_op, function_op, function_type, integer_attr, return_op, symbol
from xhlo.lowering.convert_to_llvm import definitions


def test_integers_and_symbols_are_made_once():
    for value, type_ in ((3, i64), (3, IndexType()), (255, i8), (1, i1), (True, i1)):
        assert integer_attr(value, type_) == IntegerAttr(value, type_)
        assert integer_attr(value, type_) is integer_attr(value, type_)
    assert type(integer_attr(1, i64).value.data) is int and str(integer_attr(1, i8)) == "1 : i8"
    assert symbol("a") == SymbolRefAttr("a") and symbol("a") is symbol("a")


def test_types_of_functions_by_inputs_and_outputs():
    for inputs, outputs in (((i64, f32), ()), ((i64,), (f32,)), ((), (i64, f32)), ((), ())):
        assert function_type(inputs, outputs) == FunctionType.from_lists(inputs, outputs)
        assert function_type(list(inputs), list(outputs)) is function_type(inputs, outputs)


def test_functions_calls_and_returns_are_those_of_the_constructors():
    block = Block(arg_types=[f32])
    made, stated = call_op("g", block.args, [f32]), func.CallOp("g", block.args, [f32])
    assert made.is_structurally_equivalent(stated)
    assert return_op(block.args).is_structurally_equivalent(func.ReturnOp(*block.args))
    mine = function_op("f", [f32], [], Region(Block([return_op()], arg_types=[f32])))
    type_ = FunctionType.from_lists([f32], [])
    other = func.FuncOp("f", type_, Region(Block([func.ReturnOp()], arg_types=[f32])), StringAttr("private"))
    assert mine.is_structurally_equivalent(other) and list(mine.properties) == list(other.properties)


def test_functions_of_llvm_are_those_of_the_constructor():
    for output in (None, f32):
        type_ = definitions.function_type((i64, f32), output)
        assert type_ == llvm.LLVMFunctionType([i64, f32], output)
        mine = definitions.llvm_function("f", type_, "external")
        other = llvm.FuncOp("f", type_, llvm.LinkageAttr("external"))
        assert mine.is_structurally_equivalent(other) and list(mine.properties) == list(other.properties)
