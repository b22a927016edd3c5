"""Quick ways of building programs, which must agree with the ways that they replace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

import xhlo
from xhlo.dialects.support.creation import append
from xhlo.frontends.numpy import jit as jit_module
from xhlo.hlo_dialect.attributes import int_array, int_attr, ints
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.ops.control_flow import ReturnOp
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp
from xhlo.hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from xhlo.hlo_dialect.ops.reduction import ReduceOp, combiner_region
from xhlo.hlo_dialect.ops.slicing import ConcatenateOp
from xhlo.hlo_dialect.types import f32, f64, make_tensor, shape_of
from xhlo.hlo_dialect.verification import definitions, facts_of, verify_module
from xhlo.hlo_dialect.verification.definitions import verify_alone
from xhlo.targets.program.trees import assembler, flatten, unflatten

ROW = make_tensor((3,), f32)
SCALAR = make_tensor((), f32)


def values(*types: Attribute) -> Any:
    return Block(arg_types=types).args


def fields(op: Operation) -> dict[str, Any]:
    return {
        "operands": tuple(op.operands),
        "uses": [(use.operation is op, use.index) for use in op._operand_uses],
        "results": [(one.type, one.index, one.op is op) for one in op.results],
        "rest": (op.properties, op.attributes, op.location, op.successors, op.parent, op.next_op, op.prev_op),
        "regions": [region.parent is op for region in op.regions],
    }


@pytest.mark.parametrize("many", [False, True])
def test_create_sets_what_xdsl_sets(many: bool) -> None:
    (x,) = values(ROW)
    parts: dict[str, Any] = {"operands": (x, x), "result_types": (ROW,)}
    if many:
        parts["properties"] = {"dimension": int_attr(0)}
        parts["attributes"] = {"note": StringAttr("n")}
    ours = AddOp.create(**parts, regions=[Region(Block())] if many else ())
    theirs = Operation.create.__func__(AddOp, **parts, regions=[Region(Block())] if many else ())
    assert {**fields(ours), "rest": fields(ours)["rest"][:3]} == {**fields(theirs), "rest": fields(theirs)["rest"][:3]}
    uses = list(x.uses)
    assert [(use.operation, use.index) for use in uses] == [(theirs, 1), (theirs, 0), (ours, 1), (ours, 0)]
    # Each is taken out again as it was put in.
    ours.erase()
    theirs.erase()
    assert x.first_use is None


def test_append_links_operations_as_xdsl_does() -> None:
    block = Block(arg_types=[ROW])
    (x,) = block.args
    ops = [AddOp.create(operands=(x, x), result_types=(ROW,)) for _ in range(3)]
    for op in ops:
        append(block, op)
    assert list(block.ops) == ops
    assert list(reversed(block.ops)) == ops[::-1]
    assert all(op.parent is block for op in ops)
    with pytest.raises(ValueError, match="already attached"):
        append(Block(), ops[0])


def reduce_op(*types: Attribute, regions: int = 1) -> Operation:
    bodies = [combiner_region(AddOp, f32, AddOp.create().location) for _ in range(regions)]
    return ReduceOp.create(
        operands=values(*types), result_types=(SCALAR,), properties={"dimensions": int_array((0,))}, regions=bodies
    )


def transpose(properties: dict[str, Attribute]) -> Operation:
    return TransposeOp.create(operands=values(ROW), result_types=(ROW,), properties=properties)


OPERATIONS: dict[str, Callable[[], Operation]] = {
    "two operands": lambda: AddOp.create(operands=values(ROW, ROW), result_types=(ROW,)),
    "one too few": lambda: AddOp.create(operands=values(ROW), result_types=(ROW,)),
    "no result": lambda: AddOp.create(operands=values(ROW, ROW)),
    "a tuple for a tensor": lambda: AddOp.create(operands=values(ROW, TupleType([])), result_types=(ROW,)),
    "other result": lambda: AddOp.create(operands=values(ROW, ROW), result_types=(SCALAR,)),
    "a property": lambda: transpose({"permutation": int_array((0,))}),
    "no property": lambda: transpose({}),
    "a property of another class": lambda: transpose({"permutation": StringAttr("0")}),
    "an unknown property": lambda: transpose({"permutation": int_array((0,)), "extra": int_attr(1)}),
    "a wrong permutation": lambda: transpose({"permutation": int_array((1,))}),
    "three of many": lambda: ConcatenateOp.create(
        operands=values(ROW, ROW, ROW), result_types=(make_tensor((9,), f32),), properties={"dimension": int_attr(0)}
    ),
    "none of many": lambda: ConcatenateOp.create(result_types=(ROW,), properties={"dimension": int_attr(0)}),
    "a region": lambda: reduce_op(ROW, SCALAR),
    "two lists of one length": lambda: reduce_op(ROW, SCALAR, SCALAR),
    "no region": lambda: reduce_op(ROW, SCALAR, regions=0),
    "two regions": lambda: reduce_op(ROW, SCALAR, regions=2),
    "a successor": lambda: AddOp.create(operands=values(ROW, ROW), result_types=(ROW,), successors=[Block()]),
    "a function": lambda: FuncOp("f", ((), ())),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_definitions_are_checked_as_xdsl_does(name: str) -> None:
    def outcome(verify: Callable[[Operation], None]) -> str:
        try:
            verify(OPERATIONS[name]())
        except VerifyException as error:
            return str(error)
        return "valid"

    assert outcome(verify_alone) == outcome(lambda op: op.verify_())


def test_most_definitions_are_checked_quickly() -> None:
    """The quick check reads what xDSL's decorator leaves in the class; if that changes, all would go the slow way."""
    for cls in (AddOp, TransposeOp, ReduceOp, ConcatenateOp, ReturnOp, ReshapeOp, FuncOp, FuncReturnOp):
        assert definitions._checker(cls) is not None, cls.name


def test_facts_tell_operations_apart() -> None:
    def facts(op: Operation) -> object:
        return facts_of(type(op), op.operands, op.properties, op.regions)

    add, wide = make_tensor((3,), f32), make_tensor((3,), f64)
    same = [facts(AddOp.create(operands=values(add, add))) for _ in range(2)]
    assert same[0] == same[1]
    assert same[0] != facts(AddOp.create(operands=values(wide, wide)))
    assert facts(transpose({"permutation": int_array((0,))})) != facts(transpose({"permutation": int_array((1,))}))
    assert facts(reduce_op(ROW, SCALAR)) == facts(reduce_op(ROW, SCALAR))
    other = reduce_op(ROW, SCALAR)
    assert other.regions[0].block.last_op is not None
    other.regions[0].block.last_op.operands = values(make_tensor((), f64))
    assert facts(other) != facts(reduce_op(ROW, SCALAR))
    unfinished = ReduceOp.create(operands=values(ROW, SCALAR), regions=[Region(Block())])
    assert facts(unfinished) is None
    assert facts(ReturnOp.create(operands=values(ROW))) is None


def test_terminators_in_the_middle_are_found() -> None:
    b = xhlo.Builder()
    x = b.parameter("f32", (3,))
    b.return_(x)
    with pytest.raises(DiagnosticError, match="hlo.return"):
        b.build(b.negate(x))


def test_a_value_of_a_region_is_not_used_outside() -> None:
    """Operations are checked as they are added; where their operands are known, at the end."""
    b = xhlo.Builder()
    x = b.parameter("f32", (3,))
    inner: list[Any] = []

    def body(a: Any, c: Any) -> Any:
        inner.append(a + c)
        return inner[0]

    b.reduce(x, 0.0, dimensions=[0], body=body)
    with pytest.raises(DiagnosticError, match="does not dominate"):
        b.build(b.negate(inner[0]))


def test_verified_operations_are_not_verified_again() -> None:
    (x,) = (block := Block(arg_types=[ROW])).args
    wrong = AddOp.create(operands=(x, x), result_types=(SCALAR,))
    append(block, wrong)
    append(block, FuncReturnOp(wrong.results[0]))
    module = ModuleOp([FuncOp("main", ((ROW,), (SCALAR,)), Region(block))])
    with pytest.raises(DiagnosticError, match="add_c1"):
        verify_module(module)
    verify_module(module, [wrong])


def test_facts_that_are_kept_in_attributes() -> None:
    type_, array = make_tensor((2, 5), f32), int_array((4, 1))
    assert shape_of(type_) is shape_of(type_)
    assert (shape_of(type_), ints(array)) == ((2, 5), (4, 1))
    assert type_ == type(type_)(f32, (2, 5)), "what is kept is no part of the attribute"
    assert hash(type_) == hash(type(type_)(f32, (2, 5)))


# Calls -------------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Layer:
    w: Any
    b: Any = None


def trees(x: Any) -> Iterator[Any]:
    yield {"a": (x, [x, 2.0]), "b": None}
    yield Pair(x, Layer(x, 3))
    yield [(), {}, Layer(1.5), np.float32(2.0)]


def test_trees_are_put_together_again() -> None:
    for tree in trees("leaf"):
        leaves, structure = flatten(tree)
        assert unflatten(structure, leaves) == tree
        make = assembler(structure)
        assert [make(iter(leaves)), make(iter(leaves))] == [tree, tree]


def test_calls_with_trees_find_their_program_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call with trees of the same kind is not bound to names, and its results are the same."""

    @xhlo.jit
    def function(tree: Any, *, scale: Any = 1.0) -> Any:
        leaves = flatten(tree)[0]
        total = scale * 1.0
        for number, leaf in enumerate(leaves):
            total = total + (number + 1) * leaf
        return {"total": total, "pair": Pair(total, [scale, "text"])}

    x = np.arange(3.0)
    for tree in trees(x):
        first = function(scale=2.0, tree=tree)
        with monkeypatch.context() as patch:
            patch.setattr(jit_module.JitFunction, "_sorted", None)
            again = function(scale=2.0, tree=tree)
        assert isinstance(again["pair"], Pair)
        assert again["pair"].second[1] == "text"
        np.testing.assert_array_equal(again["total"], first["total"])
        np.testing.assert_array_equal(again["pair"].second[0], 2.0)
    assert function.cache_info().currsize == 3


def test_calls_tell_kinds_of_trees_apart() -> None:
    @xhlo.jit(static_argnames="how")
    def function(tree: Any, how: Any = "sum") -> Any:
        if how == "kind":
            return tree[0] + len(tree) if isinstance(tree, tuple) else tree[0] - len(tree)
        return sum(tree.values()) if isinstance(tree, dict) else sum(tree)

    x = np.ones(2)
    for _ in range(2):
        assert function((x, x), how="kind")[0] == 3
        assert function([x, x], how="kind")[0] == -1
        assert function([x, x, x], "kind")[0] == -2
        assert function({"a": x, "b": x})[0] == 2
        assert function((x, 1))[0] == 2
        assert function((x, 1.5))[0] == 2.5
    assert function.cache_info().currsize == 6
