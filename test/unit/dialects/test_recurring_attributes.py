"""Attributes and functions that are made once, or without xDSL's constructors, are what those make."""

from __future__ import annotations

import pytest
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, StringAttr, SymbolRefAttr, f32, i1, i8, i64
from xdsl.ir import Block, Region

from xhlo.dialects.support.attributes import call_op, function_op, function_type, integer_attr, return_op, symbol
from xhlo.hlo_dialect.errors import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
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


DICTIONARIES = """
module @m attributes {mhlo.num_partitions = 1 : i32, t.note = "a } b", t.on, t.half = 5.000000e-01 : f32} {
  func.func @f(%x: tensor<f32> {jax.result_info = "r"}) -> (tensor<f32> {t.n = -3 : i8}) attributes {t.deep = {a = [1, 2]}} {
    return %x : tensor<f32>
  }
}
"""


def test_attributes_in_braces_are_read_once_and_are_the_same():
    read = [parse_module(DICTIONARIES, fast=fast) for fast in (False, True, True)]
    assert len({str(module) for module in read}) == 1
    read[1].attributes["other"] = integer_attr(1)
    assert "other" not in read[2].attributes and "other" not in parse_module(DICTIONARIES).attributes


def test_a_wrong_attribute_in_braces_is_refused_each_time():
    for text in ("{a = 1 : i32, a = 2 : i32}", "{a = 300 : i8}", "{a = }"):
        for _ in range(2):
            with pytest.raises(DiagnosticError):
                parse_module(f"module attributes {text} {{ }}")
