"""Programs whose operations each read the one before, hundreds of times: no analysis may recurse along them."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, f32
from xdsl.ir import Block, SSAValue

from xhlo.dialects.support.buffer_ops import subview
from xhlo.dialects.support.buffers import memref_type
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.loop_nests.nest import ElementAddress, address_of
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source


def to_loops(text: str) -> str:
    """The program's loops."""
    ctx = make_context()
    module = parse_source(Source(text, "<test>"), ctx)
    Lowering(ctx, module, CPU).to("loops")
    return str(module)


def test_long_body_of_a_loop_of_elements() -> None:
    last = "%x"
    steps: list[str] = []
    for number in range(360):
        steps.append(f"%w{number} = hlo.{('add', 'multiply')[number % 2]} {last}, %x : tensor<64xf32>")
        last = f"%w{number}"
    text = f"""
    func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {{
      %zero = hlo.constant dense<0> : tensor<i32>
      %r:2 = hlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<64xf32>
      cond {{
        %n = hlo.constant dense<10> : tensor<i32>
        %less = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %less : tensor<i1>
      }} do {{
        %one = hlo.constant dense<1> : tensor<i32>
        %j = hlo.add %i, %one : tensor<i32>
        {chr(10).join(steps)}
        hlo.return %j, {last} : tensor<i32>, tensor<64xf32>
      }}
      return %r#1 : tensor<64xf32>
    }}"""
    assert to_loops(text).count("arith.mulf") >= 180


def test_windows_of_windows_are_windows_of_the_whole() -> None:
    block = Block(arg_types=(memref_type((64, 16), f32), IndexType()))
    whole, place = block.args
    window: SSAValue = subview(whole, (8, 2), (40, 12), (1, 1)).result
    window = subview(window, (1, 3), (16, 4), (2, 1)).result
    for _ in range(3):
        window = subview(window, (1, 0), (4, 4), (1, 1)).result
    op = window.owner
    assert isinstance(op, memref.SubviewOp) and op.source is whole
    assert address_of(window) == ElementAddress(whole, (8 + 1 + 2 * 3) * 16 + 2 + 3, (), (32, 1))
    moving = subview(window, (place, 0), (1, 1), (1, 1))
    assert moving.source is window, "where it begins is not known"


def test_addresses_in_views_of_views() -> None:
    value: SSAValue = Block(arg_types=(memref_type((4,), f32),)).args[0]
    whole = value
    for _ in range(1100):
        value = memref.CastOp.create(operands=[value], result_types=[value.type]).results[0]
    assert address_of(value) == ElementAddress(whole, 0, (), (1,))
