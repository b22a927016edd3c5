"""Calls of NumPy's universal functions: promotion by their own loops, then their operations (ufunc_formulas.py)."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...hlo_dialect.types import element_type_of, make_tensor, numpy_dtype
from ..builder.builder import Builder
from .arrays import CALL_UFUNC, FUNCTIONS, TracedArray, astype, broadcast_to, builder_of, common_shape, lift
from .errors import TraceError
from .ufunc_formulas import LOGICAL, SIMPLE_POWERS, UFUNCS, Formula


def _stated_dtype(value: Any) -> Any:
    """The dtype of an operand for promotion, or the type of a number: Python's numbers are weak (NEP 50)."""
    if isinstance(value, TracedArray):
        return value.dtype if value.weak in (None, bool) else value.weak
    return type(value) if type(value) in (int, float, complex) else np.asarray(value).dtype


def call_ufunc(ufunc: np.ufunc, *inputs: Any, how: str = "__call__", **stated: Any) -> Any:
    """A ufunc on arrays of which one is traced at least, or its method `how`. Raises TraceError, TypeError."""
    if not stated and how == "__call__":
        quick = _of_one_type(ufunc, inputs)
        if quick is not None:
            return quick
    if how != "__call__":
        found = METHODS_OF_UFUNCS.get(how)
        if found is None:
            raise TraceError(f"np.{ufunc.__name__}.{how} is not compiled")
        return found(ufunc, *inputs, **stated)
    own = FUNCTIONS.get(ufunc)
    if own is not None:
        return own(*inputs, **stated)
    out, where, dtype = stated.pop("out", None), stated.pop("where", True), stated.pop("dtype", None)
    if stated.pop("casting", "same_kind") != "same_kind":
        raise TraceError(f"np.{ufunc.__name__}: casting= is not compiled", "convert before: x.astype(..)")
    if stated:
        raise TraceError(f"np.{ufunc.__name__}: the argument {next(iter(stated))} is not compiled")
    builder = builder_of(*inputs, out)
    results = _applied(builder, ufunc, inputs, dtype)
    targets = out if isinstance(out, tuple) else (out,) * len(results)
    found = tuple(_stored(one, target, where) for one, target in zip(results, targets, strict=True))
    return found[0] if len(found) == 1 else found


_POWER = np.power  # Itself: during a trace NumPy's name stands for an entrance (entrances.py).

_Plan = tuple[Any, Formula | None, Any]
"""The element type, which is kept so that its identity stays its own, the formula, and the result's element type."""

_PLANS: dict[tuple[Any, ...], _Plan] = {}


def _of_one_type(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> TracedArray | None:
    """The result for arrays of one dtype and numbers: the most common case, without promotion. None for others."""
    model: Any = None
    type_: Any = None
    alike = True
    key: list[Any] = [ufunc]
    for one in inputs:
        kind = type(one)
        key.append(kind)
        if kind is TracedArray:
            if one.weak is not None:
                return None
            if model is None:
                model, type_ = one, one.value.value.type
            elif one.value.value.type is not type_:
                if one.value.value.type.element_type is not type_.element_type:
                    return None
                alike = False
            if one.builder is not model.builder:
                return None
        elif kind is not float and kind is not int:
            return None
    if model is None:
        return None
    key.append(id(type_.element_type))
    plan = _PLANS.get(tuple(key)) or _planned(tuple(key), ufunc, inputs, model)
    formula, made = plan[1], plan[2]
    if formula is None:
        return None
    builder = model.builder
    if not alike:
        shape = common_shape(*[one.shape for one in inputs if type(one) is TracedArray])
        inputs = tuple([broadcast_to(one, shape) if type(one) is TracedArray else one for one in inputs])
        type_ = make_tensor(shape, type_.element_type)
    splat = builder.inserter.splat
    result = formula(builder, *[one.value if type(one) is TracedArray else splat(one, type_) for one in inputs])
    found = TracedArray(builder, result)
    return found if result.value.type.element_type is made else astype(found, numpy_dtype(made))


def _planned(key: tuple[Any, ...], ufunc: np.ufunc, inputs: Any, model: TracedArray) -> _Plan:
    own = ufunc in FUNCTIONS or ufunc is _POWER or ufunc.nout != 1 or ufunc.nin != len(inputs)
    formula = None if own else UFUNCS.get(ufunc)
    made: Any = None
    if formula is not None:
        *given, result = ufunc.resolve_dtypes((*map(_stated_dtype, inputs), None))
        made = element_type_of(result)
        if any(dtype != model.dtype for dtype in given) or (ufunc in LOGICAL and model.dtype != np.bool_):
            formula = None
    plan = _PLANS[key] = (model.value.element, formula, made)
    return plan


def _applied(builder: Builder, ufunc: np.ufunc, inputs: Any, dtype: Any) -> list[TracedArray]:
    formula = UFUNCS.get(ufunc)
    if formula is None:
        raise TraceError(f"np.{ufunc.__name__} is not compiled", "call it outside of the compiled function")
    given, made = _resolved(ufunc, tuple(map(_stated_dtype, inputs)), None if dtype is None else np.dtype(dtype))
    operands = [_operand(builder, value, kind) for value, kind in zip(inputs, given, strict=True)]
    shape = common_shape(*[operand.shape for operand in operands])
    values = [broadcast_to(operand, shape).value for operand in operands]
    if ufunc is _POWER and type(inputs[1]) in (int, float) and given[0].char in "fd":
        formula = SIMPLE_POWERS.get(inputs[1], formula)
    results = formula(builder, *values)
    found = results if isinstance(results, tuple) else (results,)
    return [astype(TracedArray(builder, value), kind) for value, kind in zip(found, made, strict=True)]


@lru_cache(maxsize=4096)
def _resolved(
    ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: Any
) -> tuple[tuple[np.dtype[Any], ...], tuple[np.dtype[Any], ...]]:
    """The dtypes of the operands and of the results, for dtypes and types of Python's numbers."""
    stated: Any = {} if dtype is None else {"signature": (*[None] * ufunc.nin, *[dtype] * ufunc.nout)}
    if all(isinstance(kind, type) for kind in kinds):
        # NumPy compares two of Python's integers as objects.
        kinds = tuple(np.dtype(kind) for kind in kinds)
    dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **stated)
    given = (np.dtype(np.bool_),) * ufunc.nin if ufunc in LOGICAL else dtypes[: ufunc.nin]
    return given, dtypes[ufunc.nin :]


def _operand(builder: Builder, value: Any, dtype: np.dtype[Any]) -> TracedArray:
    if isinstance(value, TracedArray):
        return astype(lift(builder, value), dtype)
    # A Python integer that does not fit is NumPy's own error.
    return lift(builder, np.asarray(value, None if dtype == np.bool_ else dtype).astype(dtype))


def _stored(result: TracedArray, out: Any, where: Any) -> TracedArray:
    if out is None:
        if where is not True:
            raise TraceError("where= without out= leaves elements undefined", "np.where(condition, result, other)")
        return result
    if not isinstance(out, TracedArray):
        raise TraceError("out= is an array that the function did not make", "return the result")
    return out.write(result if where is True else FUNCTIONS[np.where](where, result, out))


METHODS_OF_UFUNCS: dict[str, Callable[..., Any]] = {}
"""`reduce`, `accumulate`, `outer`, .. by name; the first argument is the ufunc."""


def _outer(ufunc: np.ufunc, x: Any, y: Any, **stated: Any) -> Any:
    builder = builder_of(x, y)
    first, second = lift(builder, x), lift(builder, y)
    return call_ufunc(ufunc, first.reshape(*first.shape, *[1] * second.ndim), second, **stated)


METHODS_OF_UFUNCS["outer"] = _outer
CALL_UFUNC.append(call_ufunc)
