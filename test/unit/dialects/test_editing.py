"""`dialects/support/editing.py` does to operations the same as xDSL's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xhlo.dialects.support import editing
from xhlo.hlo_dialect.reading import parse_module

TEXT = """
func.func @main(%n: index, %x: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f32) {
    %b = arith.addf %a, %x : f32
    %yes = arith.constant true
    %c = scf.if %yes -> (f32) {
      %d = arith.mulf %b, %x : f32
      scf.yield %d : f32
    } else {
      scf.yield %b : f32
    }
    scf.yield %c : f32
  }
  %twice_1 = arith.addf %sum, %sum : f32
  return %twice_1 : f32
}
"""


def module_and(name: str) -> tuple[ModuleOp, Operation]:
    """A new module, and the first operation of a name in it."""
    module = parse_module(TEXT, "editing.mlir")
    return module, next(op for op in module.walk() if op.name == name)


def uses_of(module: ModuleOp) -> list[list[tuple[str, int]]]:
    """The uses of each value in their order, from which passes take theirs."""
    values: list[SSAValue] = []
    for op in module.walk():
        values += [*op.results, *(argument for region in op.regions for b in region.blocks for argument in b.args)]
    return [[(use.operation.name, use.index) for use in value.uses] for value in values]


def both(name: str, ours: Callable[[Operation], object], theirs: Callable[[Operation], object]) -> None:
    """Edit equal modules in two ways, and compare the results."""
    (one, first), (other, second) = module_and(name), module_and(name)
    ours(first)
    theirs(second)
    assert str(one) == str(other)
    assert uses_of(one) == uses_of(other)


def parent(op: Operation):
    block = op.parent
    assert block is not None
    return block


@pytest.mark.parametrize("name", ["scf.for", "scf.if", "arith.mulf", "arith.constant"])
def test_clones_are_equal(name: str) -> None:
    def names(values: dict[SSAValue, SSAValue]) -> list[tuple[str | None, str | None]]:
        return [(old.name_hint, new.name_hint) for old, new in values.items()]

    _, op = module_and(name)
    ours: dict[SSAValue, SSAValue] = {}
    theirs: dict[SSAValue, SSAValue] = {}
    copy, expected = editing.clone_op(op, ours), op.clone(theirs)
    assert copy.is_structurally_equivalent(expected)
    assert names(ours) == names(theirs)
    assert [each.location for each in copy.walk()] == [each.location for each in op.walk()]
    both(
        name,
        lambda op: editing.insert_before(editing.clone_op(op, {}), op),
        lambda op: parent(op).insert_op_before(op.clone(), op),
    )


def test_uses_are_replaced_in_the_same_order() -> None:
    def x(op: Operation) -> SSAValue:
        function = op.get_toplevel_object()
        assert isinstance(function, ModuleOp)
        return cast(func.FuncOp, function.body.block.first_op).body.block.args[1]

    both(
        "scf.for",
        lambda op: editing.replace_uses(op.results[0], x(op)),
        lambda op: op.results[0].replace_all_uses_with(x(op)),
    )
    both(
        "arith.addf",
        lambda op: editing.replace_uses(x(op), op.results[0]),
        lambda op: x(op).replace_all_uses_with(op.results[0]),
    )


def test_operands_are_set() -> None:
    def theirs(op: Operation) -> None:
        op.operands[0] = op.operands[1]
        op.operands = [*reversed(op.operands)]

    def ours(op: Operation) -> None:
        editing.set_operand(op, 0, op.operands[1])
        editing.set_operands(op, [*reversed(op.operands)])

    both("arith.mulf", ours, theirs)


def test_an_erased_operation_uses_nothing_and_is_nowhere() -> None:
    def drop(op: Operation, erase: Callable[[Operation], object]) -> None:
        op.results[0].replace_all_uses_with(op.operands[3])
        erase(op)

    both("scf.for", lambda op: drop(op, editing.erase_op), lambda op: drop(op, parent(op).erase_op))
    _, loop = module_and("scf.for")
    with pytest.raises(ValueError, match=r"scf\.for has a result that is used"):
        editing.erase_op(loop)


def test_operations_are_placed_and_taken_out() -> None:
    def ours(op: Operation) -> None:
        last = parent(op).last_op
        assert last is not None
        editing.detach_op(op)
        editing.insert_before(op, last)

    def theirs(op: Operation) -> None:
        block, last = parent(op), parent(op).last_op
        assert last is not None
        op.detach()
        block.insert_op_before(op, last)

    for name in ("arith.constant", "scf.if", "arith.mulf"):
        both(name, ours, theirs)
    with pytest.raises(AssertionError):
        editing.insert_before(arith.ConstantOp.from_int_and_width(1, 32), scf.YieldOp())
