"""
Control flow that a run decides: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`, `map`.

Values are arrays, numbers, and trees of them. Outside of a compiled function they do the same in Python.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...targets.program.trees import flatten, map_leaves, paths, unflatten
from ..builder.builder import Builder, Value
from .arrays import TracedArray, astype, builder_of, lift
from .errors import TraceError


def _builder(*trees: Any) -> Builder | None:
    """The trace of the values; None if none is traced."""
    try:
        return builder_of(*[leaf for tree in trees for leaf in flatten(tree)[0]])
    except LookupError:
        return None


def _lifted(builder: Builder, tree: Any) -> tuple[list[TracedArray], Any]:
    leaves, structure = flatten(tree)
    return [lift(builder, leaf) for leaf in leaves], structure


def _matching(
    what: str, tree: Any, wanted: list[TracedArray], structure: Any, builder: Builder, other: str | None = None
) -> list[Value]:
    """
    The leaves of what a function returned, of the types that are wanted: those that it takes, or those that `other`
    returns. Raises TraceError.
    """
    leaves, found = flatten(tree)
    if found != structure:
        raise TraceError(
            f"{what} returns another structure than {other or 'it takes'}", "the same tuples, lists and dicts"
        )
    values: list[Value] = []
    for name, leaf, model in zip(paths(tree, "value"), leaves, wanted, strict=True):
        array = lift(builder, leaf)
        if array.shape != model.shape or not np.can_cast(array.dtype, model.dtype, "same_kind"):
            given, taken = (f"{one.dtype}{list(one.shape)}" for one in (array, model))
            raise TraceError(
                f"{what} returns {name} as {given}, and {f'{other} returns' if other else 'takes'} it as {taken}",
                f"{'return' if other else 'begin with'} a value of that shape and dtype, or convert: .astype(..)",
            )
        values.append(astype(array, model.dtype).value)
    return values


def _arrays(builder: Builder, values: Sequence[Value]) -> list[TracedArray]:
    return [TracedArray(builder, value) for value in values]


def _results(builder: Builder, found: Any) -> list[TracedArray]:
    return _arrays(builder, found if isinstance(found, tuple) else () if found is None else (found,))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """
    The result of `branches[index](*operands)`, the index clamped; only that one runs.

    All return the same structure, shapes and dtypes. Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda i, x: xhlo.switch(i, [np.negative, np.square], x))
    >>> f(np.int32(1), np.array([2.0, 3.0]))
    array([4., 9.])
    """
    builder = _builder(index, operands)
    if not isinstance(index, TracedArray):
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    assert builder is not None
    if index.shape:
        raise TraceError(f"the index of a switch has shape {index.shape}", "one number: index[0], or np.choose")
    return _branched(
        builder, lambda functions: builder.switch(astype(index, np.int32).value, functions), branches, operands
    )


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """
    The result of `true_fun(*operands)` or `false_fun(*operands)`, as `switch`. Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda x: xhlo.cond(x.sum() > 0, np.sqrt, np.abs, x))
    >>> f(np.array([4.0, 9.0])), f(np.array([-4.0, 1.0]))
    (array([2., 3.]), array([4., 1.]))
    """
    builder = _builder(pred, operands)
    if not isinstance(pred, TracedArray):
        return true_fun(*operands) if pred else false_fun(*operands)
    assert builder is not None
    chosen = astype(pred, np.bool_).value
    return _branched(builder, lambda functions: builder.cond(chosen, *functions), (true_fun, false_fun), operands)


def _branched(
    builder: Builder, choose: Callable[..., Any], branches: Sequence[Callable[..., Any]], operands: Any
) -> Any:
    structures: list[Any] = []
    kinds: list[list[TracedArray]] = []

    def traced(branch: Callable[..., Any], number: int) -> Callable[..., Any]:
        def function() -> Any:
            tree = branch(*operands)
            if not structures:
                leaves, structure = _lifted(builder, tree)
                structures.append(structure)
                kinds.append(leaves)
            return tuple(_matching(f"branch {number}", tree, kinds[0], structures[0], builder, "branch 0"))

        return function

    found = choose([traced(branch, number) for number, branch in enumerate(branches)])
    return unflatten(structures[0], _results(builder, found))


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """
    `while cond_fun(value): value = body_fun(value)`, from `init`.

    The body returns the structure, shapes and dtypes that it takes. Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda x: xhlo.while_loop(lambda v: v.sum() < 100, lambda v: 2 * v, x))
    >>> f(np.array([1.0, 2.0]))
    array([ 64., 128.])
    """
    builder = _builder(init)
    if builder is None:
        while cond_fun(init):
            init = body_fun(init)
        return init
    start, structure = _lifted(builder, init)

    def goes_on(*values: Value) -> Value:
        found = lift(builder, cond_fun(unflatten(structure, _arrays(builder, values))))
        if found.shape:
            raise TraceError(f"the condition of a loop has shape {list(found.shape)}", "np.all(..) or np.any(..)")
        return astype(found, np.bool_).value

    def step(*values: Value) -> tuple[Value, ...]:
        tree = body_fun(unflatten(structure, _arrays(builder, values)))
        return tuple(_matching("the body of a loop", tree, start, structure, builder))

    found = builder.while_loop(goes_on, step, *[one.value for one in start])
    return unflatten(structure, _results(builder, found))


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any) -> Any:
    """
    `for i in range(lower, upper): value = body_fun(i, value)`, from `init`. Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda x: xhlo.fori_loop(0, 5, lambda i, value: value + i * x, x))
    >>> f(np.array([1.0, 2.0]))
    array([11., 22.])
    """
    builder = _builder(lower, upper, init)
    if builder is None:
        for number in range(lower, upper):
            init = body_fun(number, init)
        return init
    first, last = lift(builder, lower, np.int64), lift(builder, upper, np.int64)
    _, _, value = while_loop(
        lambda state: state[0] < state[1],
        lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2])),
        (first, last, init),
    )
    return value


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    """
    `carry, y = f(carry, x)` for each x along the first dimension of `xs`, from `init`; the ys are stacked.

    Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda xs: xhlo.scan(lambda total, x: (total + x, total), xs[0] * 0, xs))
    >>> f(np.array([1.0, 2.0, 3.0]))
    (array(6.), array([0., 1., 3.]))
    """
    builder = _builder(init, xs)
    if builder is None:
        return _scan_in_python(f, init, xs, reverse)
    start, structure = _lifted(builder, init)
    inputs, inner = _lifted(builder, xs)
    outputs: list[Any] = []

    def step(carries: list[Value], elements: list[Value]) -> tuple[list[Value], list[Value]]:
        made: Any = f(unflatten(structure, _arrays(builder, carries)), unflatten(inner, _arrays(builder, elements)))
        if not isinstance(made, tuple | list) or len(cast("Sequence[Any]", made)) != 2:
            raise TraceError(
                "the function of a scan returns no pair of a carry and a value to stack", "return carry, None"
            )
        carry, y = made
        leaves, found = _lifted(builder, y)
        outputs.append(found)
        return _matching("the function of a scan", carry, start, structure, builder), [one.value for one in leaves]

    last, stacks = builder.scan(step, [one.value for one in start], [one.value for one in inputs], reverse=reverse)
    return unflatten(structure, _arrays(builder, last)), unflatten(outputs[0], _arrays(builder, stacks))


def _scan_in_python(f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    length = len(flatten(xs)[0][0])
    ys: list[Any] = []
    for number in range(length)[:: -1 if reverse else 1]:
        carry, y = f(carry, map_leaves(operator.itemgetter(number), xs))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    columns = [np.stack(column) for column in zip(*[flatten(y)[0] for y in ys], strict=True)]
    return carry, unflatten(flatten(ys[0])[1], columns)


def map_(f: Callable[[Any], Any], xs: Any) -> Any:
    """
    `f` of each element along the first dimension, one after the other; the results are stacked. Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(lambda xs: xhlo.map(lambda x: x.sum(), xs))
    >>> f(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]
