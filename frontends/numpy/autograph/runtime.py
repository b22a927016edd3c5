"""
The functions that rewritten ones call: `if_`, `while_`, `for_` and the others.

Where a condition is known while the function is traced they do what Python does; else the statement becomes a part of
the program. The variables that a statement assigns are read and written through two functions, `get` and `put`.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, Region

from ....hlo_dialect.ops.control_flow import IfOp, ReturnOp, WhileOp
from ....targets.program.trees import LEAF, flatten, map_leaves, paths, unflatten
from ...builder.builder import Builder
from ...builder.locations import callers_location
from ..arrays import TracedArray, astype, broadcast_to, builder_of, is_weak, lift
from ..errors import TraceError
from ..shapes import promoted, reshape
from ..ufuncs import call_ufunc
from .undefined import Undefined

RETURNED = "the returned value"
"""The name of the variable that holds it, in messages."""

State = Sequence[Any]
_Joint = tuple[Any, list[tuple[Any, Any]]]
Get = Callable[[], State]
Put = Callable[[State], None]


@dataclass(frozen=True)
class Statement:
    """The facts of a statement that are known when it is rewritten."""

    names: tuple[str, ...]
    """The variables that it assigns."""
    problem: str = ""
    """Why it cannot be control flow of a program."""

    def check(self) -> None:
        """Raises TraceError."""
        if self.problem:
            raise TraceError(
                f"this depends on elements, and {self.problem}", "assign to a variable, and go on after the statement"
            )


def truth(value: TracedArray) -> TracedArray:
    """A scalar's truth. Raises TraceError."""
    if value.size != 1:
        raise TraceError(f"the truth of an array of shape {value.shape} is ambiguous", "np.all(..) or np.any(..)")
    return astype(reshape(value, ()), np.bool_)


# Expressions.


def and_(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if isinstance(value, TracedArray):
            value = _combined(np.logical_and, value, operand())
        elif not value:
            return value
        else:
            value = operand()
    return value


def or_(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if isinstance(value, TracedArray):
            value = _combined(np.logical_or, value, operand())
        elif value:
            return value
        else:
            value = operand()
    return value


def _combined(ufunc: np.ufunc, value: TracedArray, other: Any) -> TracedArray:
    return call_ufunc(ufunc, truth(value), truth(other) if isinstance(other, TracedArray) else bool(other))


def not_(value: Any) -> Any:
    return call_ufunc(np.logical_not, truth(value)) if isinstance(value, TracedArray) else not value


def either(test: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first() if test else second()`"""
    if not isinstance(test, TracedArray):
        return first() if test else second()
    box: list[Any] = [None]

    def put(state: State) -> None:
        box[0] = state[0]

    if_(
        test,
        lambda: put([first()]),
        lambda: put([second()]),
        lambda: tuple(box),
        put,
        Statement(("the value of the expression",)),
        eager=True,
    )
    return box[0]


# Branches.


def if_(
    test: Any,
    then: Callable[[], None],
    otherwise: Callable[[], None],
    get: Get,
    put: Put,
    statement: Statement,
    eager: bool = False,
) -> None:
    """`if test: then() else: otherwise()`; a variable that the branches give different kinds of values has none."""
    if not isinstance(test, TracedArray):
        (then if test else otherwise)()
        return
    statement.check()
    builder, chosen = test.builder, truth(test)
    before = get()
    blocks: list[Block] = []
    ends: list[State] = []
    for body in (then, otherwise):
        blocks.append(Block())
        with builder.inside(blocks[-1]):
            put([_fresh(value) for value in before])
            body()
            ends.append(get())
    joints = [
        _joined(name, first, second, eager or name == RETURNED)
        for name, first, second in zip(statement.names, *ends, strict=True)
    ]
    outs = [pair for joint in joints for pair in joint[1]]
    types: list[Any] = []
    for side, block in enumerate(blocks):
        with builder.inside(block):
            kinds = [(promoted(pair), pair[side]) for pair in outs]
            values = [lift(builder, leaf, dtype).value.value for dtype, leaf in kinds]
            builder.inserter.insert(ReturnOp.create(operands=values))
            types = [value.type for value in values]
    op = IfOp.create(
        operands=[chosen.value.value],
        result_types=types,
        regions=[Region(block) for block in blocks],
        location=callers_location(),
    )
    if outs:
        builder.inserter.insert(op)
    results = iter(_arrays(builder, op.results, [is_weak(a) and is_weak(b) for a, b in outs]))
    put([_completed(value, results) for value in joints])


def _joined(name: str, first: Any, second: Any, eager: bool) -> _Joint:
    """
    The value of a variable after two branches: leaves that differ are pairs, listed, and _CHOSEN in the tree.
    """
    structures = flatten(first)[1], flatten(second)[1]
    if structures[0] != structures[1]:
        return _different(name, first, second, eager)
    pairs: list[tuple[Any, Any]] = []
    leaves: list[Any] = []
    for one, other in zip(flatten(first)[0], flatten(second)[0], strict=True):
        if _same(one, other):
            leaves.append(one)
        elif _is_array(one) and _is_array(other) and np.shape(_shaped(one)) == np.shape(_shaped(other)):
            leaves.append(_CHOSEN)
            pairs.append((one, other))
        else:
            return _different(name, first, second, eager)
    return unflatten(structures[0], leaves), pairs


_CHOSEN = object()


def _completed(joint: _Joint, results: Any) -> Any:
    return map_leaves(lambda leaf: next(results) if leaf is _CHOSEN else _fresh_leaf(leaf), joint[0])


def _different(name: str, first: Any, second: Any, eager: bool) -> _Joint:
    for value in (first, second):
        if isinstance(value, Undefined) and not value.reason:
            reason = "has a value only in one of the branches before"
            return Undefined(name, reason, "give it a value before the `if`"), []
    reason = f"is {_shown(first)} in one branch and {_shown(second)} in the other"
    remedy = "values of one shape and structure in both branches; a decision at compile time: static_argnames="
    if eager:
        raise TraceError(f"{name} {reason}", remedy)
    return Undefined(name, reason, remedy), []


def _shown(value: Any) -> str:
    if isinstance(value, Undefined):
        return value.reason or "nothing"
    if isinstance(value, TracedArray):
        return f"{value.dtype}{list(value.shape)}"
    return repr(value) if flatten(value)[1] == LEAF else type(value).__name__


def _shaped(value: Any) -> Any:
    return np.broadcast_to(False, value.shape) if isinstance(value, TracedArray) else value


def _is_array(value: Any) -> bool:
    return isinstance(value, TracedArray | np.ndarray | np.generic) or type(value) in (bool, int, float, complex)


def _same(first: Any, second: Any) -> bool:
    """Whether two leaves are one value, from before the branches or known."""
    if isinstance(first, TracedArray) and isinstance(second, TracedArray):
        return first.value.value is second.value.value
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, TracedArray | np.ndarray | Undefined):
        return False
    try:
        return bool(first == second)
    except Exception:
        return False


def _fresh(value: Any) -> Any:
    """Arrays that a branch may write to without the other seeing it."""

    return value if isinstance(value, Undefined) else map_leaves(_fresh_leaf, value)


def _fresh_leaf(leaf: Any) -> Any:
    if not isinstance(leaf, TracedArray):
        return leaf
    made = TracedArray(leaf.builder, leaf.value, leaf.is_argument)
    made.weak = leaf.weak
    return made


_KINDS = {"b": bool, "i": int, "f": float, "c": complex}


def _arrays(builder: Builder, values: Sequence[Any], weak: Sequence[bool]) -> list[TracedArray]:
    found = [TracedArray(builder, value) for value in builder.inserter.tensors(values)]
    for array, is_number in zip(found, weak, strict=True):
        array.weak = _KINDS.get(array.dtype.kind) if is_number else None
    return found


# Loops.


def while_(test: Callable[[], Any], body: Callable[[], None], get: Get, put: Put, statement: Statement) -> None:
    """`while test(): body()`, by the run from the first test on that only the run knows."""
    while True:
        found = test()
        if isinstance(found, TracedArray):
            statement.check()
            _Loop(found.builder, test, body, get, put, statement.names).run()
            return
        if not found:
            return
        body()


class Range:
    """`range` of numbers of which only the run knows one."""

    def __init__(self, start: Any, stop: Any, step: Any):
        if isinstance(step, TracedArray):
            raise TraceError("the step of a range depends on the function's arguments", "a constant step")
        self.start, self.stop, self.step = start, stop, operator.index(step)
        for bound in (start, stop):
            if isinstance(bound, TracedArray) and (bound.dtype.kind not in "iu" or bound.shape):
                raise TraceError(f"a bound of a range is {_shown(bound)}", "an integer: n.astype(int)")


def range_(function: Any, *bounds: Any) -> Any:
    """`range(..)`, whatever the name is bound to."""
    if function is not range or not any(isinstance(bound, TracedArray) for bound in bounds):
        return function(*bounds)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def for_(
    items: Any,
    body: Callable[[Any], None],
    get: Get,
    put: Put,
    statement: Statement,
    goes_on: Callable[[], Any] | None = None,
) -> None:
    """`for item in items: body(item)`, while `goes_on`; over arrays and ranges of the run it is a loop of the run."""
    if isinstance(items, TracedArray | Range):
        statement.check()
        _over(items, body, get, put, statement, goes_on)
        return
    _unrolled(items, body, get, put, statement, goes_on)


def _unrolled(
    items: Iterable[Any],
    body: Callable[[Any], None],
    get: Get,
    put: Put,
    statement: Statement,
    goes_on: Callable[[], Any] | None,
) -> None:
    for item in items:
        test = True if goes_on is None else goes_on()
        if isinstance(test, TracedArray):
            if_(test, lambda item=item: body(item), lambda: None, get, put, statement)
        elif not test:
            return
        else:
            body(item)


def _over(
    items: TracedArray | Range,
    body: Callable[[Any], None],
    get: Get,
    put: Put,
    statement: Statement,
    goes_on: Callable[[], Any] | None,
) -> None:
    bounds = Range(0, len(items), 1) if isinstance(items, TracedArray) else items
    place: list[Any] = [bounds.start]

    def test() -> Any:
        inside = operator.lt if bounds.step > 0 else operator.gt
        return and_(lambda: inside(place[0], bounds.stop), *([] if goes_on is None else [goes_on]))

    def step() -> None:
        body(items[place[0]] if isinstance(items, TracedArray) else place[0])
        place[0] = place[0] + bounds.step

    def all_() -> State:
        return (place[0], *get())

    def put_all(state: State) -> None:
        place[0] = state[0]
        put(state[1:])

    builder = builder_of(items) if isinstance(items, TracedArray) else builder_of(bounds.start, bounds.stop)
    place[0] = lift(builder, bounds.start)
    _Loop(builder, test, step, all_, put_all, ("the counter", *statement.names)).run()


_ATTEMPTS = 4
"""How often a loop's body is traced to find the types of its variables."""


class _Loop:
    """A loop of the run: the variables that hold arrays and numbers are its state."""

    def __init__(
        self,
        builder: Builder,
        test: Callable[[], Any],
        body: Callable[[], None],
        get: Get,
        put: Put,
        names: Sequence[str],
    ):
        self.builder = builder
        self.test, self.body, self.get, self.put, self.names = test, body, get, put, names
        self.before = [value if isinstance(value, Undefined) else _fresh(value) for value in get()]
        self.leaves = [leaf for value in self.before for leaf in self._carried(value)]
        self.paths = [
            path
            for value, name in zip(self.before, names, strict=True)
            for path, leaf in zip(paths(value, name), flatten(value)[0], strict=True)
            if _is_array(leaf)
        ]

    @staticmethod
    def _carried(value: Any) -> list[Any]:
        return [leaf for leaf in flatten(value)[0] if _is_array(leaf)]

    def _state(self, values: Sequence[TracedArray]) -> list[Any]:
        """The variables with these arrays in them."""
        rest = iter(values)
        return [map_leaves(lambda leaf: next(rest) if _is_array(leaf) else leaf, value) for value in self.before]

    def run(self) -> None:
        arrays = [lift(self.builder, leaf) for leaf in self.leaves]
        weak = [is_weak(leaf) for leaf in self.leaves]
        for _ in range(_ATTEMPTS):
            body = Block(arg_types=[array.value.value.type for array in arrays])
            with self.builder.inside(body):
                self.put(self._state(_arrays(self.builder, body.args, weak)))
                self.body()
                after = self._after()
            wider = [self._wider(*each) for each in zip(arrays, after, self.paths, strict=True)]
            still = [one and is_weak(leaf) for one, leaf in zip(weak, after, strict=True)]
            if still == weak and all(new is old for new, old in zip(wider, arrays, strict=True)):
                break
            arrays, weak = wider, still
        else:
            raise TraceError("the types of a loop's variables change in each iteration", "begin with arrays")
        with self.builder.inside(body):
            ends = [
                lift(self.builder, leaf, array.dtype).value.value for leaf, array in zip(after, arrays, strict=True)
            ]
            self.builder.inserter.insert(ReturnOp.create(operands=ends))
        condition = Block(arg_types=[array.value.value.type for array in arrays])
        with self.builder.inside(condition):
            self.put(self._state(_arrays(self.builder, condition.args, weak)))
            decided = truth(lift(self.builder, self.test()))
            self.builder.inserter.insert(ReturnOp.create(operands=[decided.value.value]))
        values = [array.value.value for array in arrays]
        op = WhileOp.create(
            operands=values,
            result_types=[value.type for value in values],
            regions=[Region(condition), Region(body)],
            location=callers_location(),
        )
        self.builder.inserter.insert(op)
        results = _arrays(self.builder, op.results, weak)
        self.put([self._left(*each) for each in zip(self.names, self._state(results), strict=True)])

    def _after(self) -> list[Any]:
        """The state's leaves at the end of the body. Raises TraceError."""
        leaves: list[Any] = []
        for name, old, new in zip(self.names, self.before, self.get(), strict=True):
            if isinstance(old, Undefined):
                continue
            if flatten(old)[1] != flatten(new)[1]:
                reason = f"{name} is {_shown(old)} before a loop, and {_shown(new)} after an iteration"
                raise TraceError(reason, "one structure of tuples, lists and dicts")
            for first, last in zip(flatten(old)[0], flatten(new)[0], strict=True):
                if _is_array(first) and _is_array(last):
                    leaves.append(last)
                elif _is_array(first) or not _same(first, last):
                    reason = f"{name} is {_shown(first)} before a loop, and {_shown(last)} after an iteration"
                    raise TraceError(reason, "an array or number of one shape, in place of a number np.zeros(shape)")
        return leaves

    def _wider(self, array: TracedArray, after: Any, path: str) -> TracedArray:
        """An array of a type that holds the values of the first iteration and of the next."""
        shape = np.shape(_shaped(after))
        dtype = np.result_type(array.dtype, after) if is_weak(after) and not isinstance(after, TracedArray) else None
        dtype = dtype or np.promote_types(array.dtype, lift(self.builder, after).dtype)
        try:
            same = np.broadcast_shapes(array.shape, shape) == shape
        except ValueError:
            same = False
        if not same or (array.shape != shape and array.size != 1):
            reason = f"{path} has shape {array.shape} before a loop, and {shape} after an iteration"
            raise TraceError(reason, "one shape in all iterations, or no loop of the run: static_argnames=")
        if dtype == array.dtype and shape == array.shape:
            return array
        return broadcast_to(astype(array, dtype), shape)

    def _left(self, name: str, value: Any) -> Any:
        if not isinstance(value, Undefined):
            return value
        reason = "has a value only inside of a loop before, which may run no time"
        return Undefined(name, reason, "give it a value before the loop")


def undefined(name: str) -> Undefined:
    return Undefined(name)
