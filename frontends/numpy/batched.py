"""`xhlo.vmap`: a function of one element made one of a batch, by batching the operations that it is traced to."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...targets.program.trees import flatten, map_leaves, paths, unflatten
from ..batching.batcher import Batcher
from ..builder.builder import Builder
from .arrays import TracedArray, builder_of, lift
from .errors import TraceError
from .shapes import moveaxis

_UNMAPPED = object()


def _axes(axes: Any, tree: Any, what: str) -> list[Any]:
    """An axis, or _UNMAPPED, for each leaf of a tree: stated for whole subtrees. Raises TraceError."""
    if axes is None:
        return [_UNMAPPED] * len(flatten(tree)[0])
    if isinstance(axes, (int, np.integer)):
        return [operator.index(axes)] * len(flatten(tree)[0])
    if isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        return [one for part, inner in zip(axes, tree, strict=True) for one in _axes(part, inner, what)]
    if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        return [one for key, inner in tree.items() for one in _axes(axes[key], inner, what)]
    raise TraceError(f"vmap: {what} is {axes!r}, which does not fit the values", "an axis or None for each of them")


def _size(leaves: list[Any], axes: list[Any], names: list[str]) -> int:
    """The size of the axes. Raises TraceError naming the arguments that disagree."""
    first: tuple[str, int] | None = None
    for leaf, axis, name in zip(leaves, axes, names, strict=True):
        if axis is _UNMAPPED:
            continue
        shape = np.shape(leaf) if not isinstance(leaf, TracedArray) else leaf.shape
        if not -len(shape) <= axis < len(shape):
            raise TraceError(f"vmap: {name} has shape {shape}, and no axis {axis}", "in_axes=None for this argument")
        if first is None:
            first = name, shape[axis]
        elif first[1] != shape[axis]:
            raise TraceError(
                f"vmap: {name} has {shape[axis]} elements along axis {axis}, {first[0]} has {first[1]}",
                "arrays with as many elements, or in_axes=None for one of them",
            )
    if first is None:
        raise TraceError("vmap: no argument is mapped", "in_axes= with an axis for one of them at least")
    return first[1]


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """
    The function of batches: `vmap(f)(xs)[i]` is `f(xs[i])`.

    `in_axes`: the axis of each argument that is the batch's, None for one that all elements share; for arguments that
    are trees, a tree of axes or one for all leaves. Keyword arguments have axis 0. `out_axes`: those of the results.
    May be nested. Operations become ones on batches; loops run until the last element is done. Outside of a compiled
    function the elements are computed one after the other.

    Raises TraceError.

    >>> import numpy as np
    >>> import xhlo
    >>> f = xhlo.jit(xhlo.vmap(lambda x, y: x @ y))
    >>> f(np.ones((3, 2)), np.ones((3, 2)))
    array([2., 2., 2.])
    """

    @functools.wraps(function)
    def batched(*args: Any, **kwargs: Any) -> Any:
        axes = [*_axes(in_axes, args, "in_axes"), *([0] * len(flatten(kwargs)[0]))]
        leaves, structure = flatten((args, kwargs))
        names = [name.removeprefix("argument ") for name in paths(args, "argument ")]
        names = [f"argument {name.strip('[]') if name.count('[') == 1 else name}" for name in names]
        names += [f"argument {name}" for key, value in kwargs.items() for name in paths(value, key)]
        size = _size(leaves, axes, names)
        try:
            builder = builder_of(*leaves)
        except LookupError:
            return _one_by_one(function, leaves, structure, axes, size, out_axes)
        return _traced(builder, function, leaves, structure, axes, size, out_axes)

    return batched


def _one_by_one(
    function: Callable[..., Any], leaves: list[Any], structure: Any, axes: list[Any], size: int, out_axes: Any
) -> Any:
    results: list[list[Any]] = []
    tree: Any = None
    for number in range(size):
        chosen = [
            leaf if axis is _UNMAPPED else np.take(leaf, number, axis) for leaf, axis in zip(leaves, axes, strict=True)
        ]
        args, kwargs = unflatten(structure, chosen)
        tree = function(*args, **kwargs)
        results.append(flatten(tree)[0])
    if not results:
        raise ValueError("vmap: a batch without elements has no results outside of a compiled function")
    places = [0 if axis is _UNMAPPED else axis for axis in _axes(out_axes, tree, "out_axes")]
    stacks = [np.stack(column, axis) for column, axis in zip(zip(*results, strict=True), places, strict=True)]
    return unflatten(flatten(tree)[1], stacks)


def _traced(
    builder: Builder,
    function: Callable[..., Any],
    leaves: list[Any],
    structure: Any,
    axes: list[Any],
    size: int,
    out_axes: Any,
) -> Any:
    mapped = [
        moveaxis(lift(builder, leaf), axis, 0) for leaf, axis in zip(leaves, axes, strict=True) if axis is not _UNMAPPED
    ]
    trees: list[Any] = []

    def one(*values: Any) -> list[Any]:
        given = iter(values)
        chosen = [
            leaf if axis is _UNMAPPED else TracedArray(builder, next(given))
            for leaf, axis in zip(leaves, axes, strict=True)
        ]
        args, kwargs = unflatten(structure, chosen)
        tree = map_leaves(lambda leaf: lift(builder, leaf), function(*args, **kwargs))
        trees.append(tree)
        return [leaf.value for leaf in flatten(tree)[0]]

    types = [(array.value.element, array.shape[1:]) for array in mapped]
    block = builder.region(types, one).block
    batcher = Batcher(builder, size)
    found = batcher.block(block, [array.value for array in mapped])
    results: list[TracedArray] = []
    for old, axis in zip(found, _axes(out_axes, trees[0], "out_axes"), strict=True):
        value, is_batch = batcher.value(old), batcher.is_batched(old)
        if axis is _UNMAPPED:
            if is_batch:
                raise TraceError("vmap: a result differs between the elements, and its out_axes is None", "out_axes=0")
            results.append(TracedArray(builder, value))
        else:
            results.append(moveaxis(TracedArray(builder, batcher.led(value, is_batch)), 0, axis))
    return unflatten(flatten(trees[0])[1], results)
