"""The notation for building hlo: placement of operations, their types, and operations that are built only once."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from xhlo.hlo_dialect.expressions.complex import Complex
from xhlo.hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from xhlo.hlo_dialect.ops.movement import ReverseOp
from xhlo.hlo_dialect.shapes import DYNAMIC
from xhlo.hlo_dialect.types import f32, i1, i32, make_tensor

VECTOR = make_tensor((4,), f32)
HERE = FileLineColLoc(StringAttr("here.py"), IntAttr(1), IntAttr(2))


def names(block: Block) -> list[str]:
    return [op.name.partition(".")[2] for op in block.ops]


def appending(*types: object) -> tuple[Block, list[Tensor]]:
    block = Block(arg_types=types)  # pyright: ignore[reportArgumentType]
    return block, Builder(InsertPoint.at_end(block), HERE).tensors(block.args)


def test_operations_go_to_the_end_of_a_block_with_the_location() -> None:
    block, (x,) = appending(VECTOR)
    y = abs(x) * 2.0 - x
    assert names(block) == ["abs", "constant", "multiply", "subtract"]
    assert y.type == VECTOR
    assert all(op.location == HERE for op in block.ops)


def test_a_number_is_one_constant_and_zeros_keep_their_sign() -> None:
    block, (x,) = appending(VECTOR)
    assert (x * 2.0 + 2.0).type == VECTOR
    assert (x * 0.0 + -0.0).type == VECTOR
    assert names(block).count("constant") == 3


def test_before_an_operation_in_order() -> None:
    block, (x,) = appending(VECTOR)
    last = (-x).value.owner
    assert isinstance(last, Operation)
    a = Tensor(Builder.before(last), x.value)
    assert a.sqrt().log().type == VECTOR
    assert names(block) == ["sqrt", "log", "negate"]


def test_collected_operations_take_the_place_of_another() -> None:
    block, (x,) = appending(VECTOR)
    old = abs(x)
    old.value.name_hint = "size"
    user = -old
    builder = Builder()
    new = Tensor(builder, x.value) * Tensor(builder, x.value)
    assert names(block) == ["abs", "negate"]
    assert isinstance(old.value.owner, Operation)
    assert builder.replace(old.value.owner, new) == [new.value.owner]
    assert names(block) == ["multiply", "negate"]
    assert (user.value.owner.operands[0], new.value.name_hint) == (new.value, "size")  # pyright: ignore


def test_types_follow_from_the_operations() -> None:
    _, (x, n) = appending(make_tensor((2, 3), f32), make_tensor((), i32))
    zero = x.builder.splat(0.0, make_tensor((), f32))
    assert x.transpose([1, 0]).shape == (3, 2)
    assert x.broadcast((3, 2, 5), [1, 0]).shape == (3, 2, 5)
    assert x.slice([0, 1], [2, 3], [1, 2]).shape == (2, 1)
    assert x.take(1, 2).shape == (2,)
    assert x.pad(zero, [1, 0], [0, 2]).shape == (3, 5)
    assert concatenate([x, x], 1).shape == (2, 6)
    assert x.sum([0]).shape == (3,)
    assert x.dynamic_slice([n, n], [1, 2]).dynamic_update_slice(x.first((1, 1)), [n, n]).shape == (1, 2)
    assert (x > 1.0).type == make_tensor((2, 3), i1)
    assert x.builder.constant(np.arange(3, dtype=np.int32)).type == make_tensor((3,), i32)
    with pytest.raises(VerifyException, match="slice_c3"):
        x.slice([0, 0], [3, 3])


def test_slices_of_unknown_dimensions_are_unknown() -> None:
    _, (x,) = appending(make_tensor((DYNAMIC, 3), f32))
    assert x.take(1, 2).shape == (DYNAMIC,)
    assert x.part(1, 0, 2).shape == (DYNAMIC, 2)


def test_movements_that_change_nothing_make_no_operation() -> None:
    block, (x,) = appending(make_tensor((2, 3), f32))
    assert all(y is x for y in (x.reshape((2, 3)), x.transpose([0, 1]), x.convert(f32), x.part(1, 0, 3), x.sum([])))
    assert not names(block)


def test_complex_products() -> None:
    block, (x, y) = appending(VECTOR, VECTOR)
    z = Complex(x, y)
    assert (z * z).joined().type == Complex.of(z.joined()).joined().type
    assert names(block)[:7] == ["multiply", "multiply", "subtract", "multiply", "multiply", "add", "complex"]


def test_reversing_twice_folds() -> None:
    _, (x,) = appending(make_tensor((2, 3), f32))
    twice = x.reverse([0, 1]).reverse([1, 0]).value.owner
    assert isinstance(twice, ReverseOp)
    assert twice.fold() == (x.value,)
