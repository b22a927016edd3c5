"""The arguments of a call: what an executable is made for, and the tensors among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

import numpy as np

from .library import tensorflow


class Arguments:
    """
    A call's arguments in the order of the function's signature.

    `key` is equal for calls that one program serves: shapes and types of tensors and arrays, variables themselves, and
    the values of everything else, as for `tf.function`. `leaves` are the tensors and arrays.
    """

    def __init__(self, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]):
        self.bound = signature.bind(*args, **kwargs)
        self.bound.apply_defaults()
        self.leaves: list[Any] = []
        self.key: Hashable = tuple(self._key(name, value) for name, value in self.bound.arguments.items())

    def _key(self, name: str, value: Any) -> Hashable:
        tf = tensorflow()
        if isinstance(value, tf.Variable):
            return "variable", id(value)
        if isinstance(value, tf.Tensor | np.ndarray | np.generic):
            self.leaves.append(value)
            return "tensor", tf.dtypes.as_dtype(value.dtype).name, tuple(value.shape)
        if isinstance(value, tuple | list):
            items = cast("tuple[Any, ...]", value)
            return type(items), tuple(self._key(f"{name}[{at}]", each) for at, each in enumerate(items))
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            return type(entries), tuple((each, self._key(f"{name}[{each!r}]", entries[each])) for each in entries)
        if _is_hashable(value):
            return type(value), value
        raise TypeError(
            f"the argument {name} is a {type(value).__name__}: expected tensors, arrays, variables, values that can be "
            "hashed, and tuples, lists and dicts of them"
        )

    def filled(self, leaves: Sequence[Any]) -> inspect.BoundArguments:
        """The arguments with other leaves."""
        rest: Iterator[Any] = iter(leaves)
        replaced = {name: self._replaced(value, rest) for name, value in self.bound.arguments.items()}
        return inspect.BoundArguments(self.bound.signature, cast("Any", replaced))

    def _replaced(self, value: Any, tensors: Iterator[Any]) -> Any:
        tf = tensorflow()
        if isinstance(value, tf.Variable):
            return value
        if isinstance(value, tf.Tensor | np.ndarray | np.generic):
            return next(tensors)
        if isinstance(value, tuple | list):
            given = cast("tuple[Any, ...]", value)
            items = [self._replaced(each, tensors) for each in given]
            make: Callable[..., Any] = type(given)
            return make(*items) if hasattr(given, "_fields") else make(items)
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            return {each: self._replaced(entries[each], tensors) for each in entries}
        return value


def _is_hashable(value: Any) -> TypeGuard[Hashable]:
    """Whether a value has a hash: that of a RaggedTensor raises TypeError."""
    try:
        hash(value)
    except TypeError:
        return False
    return True
