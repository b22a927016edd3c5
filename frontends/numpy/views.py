"""
Views: arrays that share their elements with the one they came from, so that what is written to one is seen in all.

An array of a program is a value. A view remembers its base and how it came from it; a write to the view gives the base
its elements anew, and the other views follow. The strides that NumPy's arrays would have say where it makes a copy.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from .errors import MissingAttribute
from .registry import METHODS

Traced: TypeAlias = Any
"""A TracedArray; arrays.py needs this file."""

Layout = np.ndarray[Any, Any]
"""An array of the shape and strides that NumPy's would have, whose elements are never read."""


@dataclass(frozen=True)
class Kind:
    """A way to make a view of an array, with an argument such as the key of a slice."""

    again: Callable[[Traced, Any], Traced]
    """Makes the view of an array."""
    back: Callable[[Traced, Traced, Any], Traced]
    """The base's elements from its old ones and the view's new ones."""
    layout: Callable[[Layout, Any], Layout]
    """The layout of the view from the base's. Raises ValueError where NumPy makes a copy."""


KINDS: dict[str, Kind] = {}

FEW = 32
"""The number of views of an array from which those that are gone are forgotten."""


def linked(view: Traced, base: Traced, kind: str, argument: Any) -> Traced:
    """Note that an array is a view of another one."""
    view.source = base, kind, argument
    views = base.views
    if views is None:
        base.views = [weakref.ref(view)]
        return view
    if len(views) >= FEW and not len(views) & (len(views) - 1):
        views[:] = [one for one in views if one() is not None]
    views.append(weakref.ref(view))
    return view


def _layout(array: Traced) -> Layout:
    if array.source is None:
        strides = np.cumprod([1, *array.shape[:0:-1]])[::-1]
        return np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), array.shape, strides)
    base, kind, argument = array.source
    return KINDS[kind].layout(_layout(base), argument)


def base_of(array: Traced) -> Traced:
    """The array of which another one is a view; None if it has elements of its own."""
    if array.source is None:
        return None
    base = array.source[0]
    base_of(base)
    try:
        _layout(array)
    except ValueError:
        array.source = None
        return None
    return base


def written(array: Traced, value: Traced, origin: Traced = None) -> None:
    """
    Give an array new elements of its shape and type, and with it the arrays that share them.

    `origin` is the view that is written.
    """
    base = base_of(array)
    if base is not None:
        assert array.source is not None
        _, kind, argument = array.source
        written(base, KINDS[kind].back(base, value, argument), array)
    array.value = value.value
    _follow(array, origin)


def _follow(array: Traced, origin: Traced = None) -> None:
    """Compute the views of an array again, but for the one whose elements it took."""
    views: list[Any] = array.views or []
    for reference in tuple(views):
        view = reference()
        if view is not None and view is not origin and base_of(view) is array:
            assert view.source is not None
            _, kind, argument = view.source
            view.value = KINDS[kind].again(array, argument).value
            _follow(view)


def detached(result: Any, given: tuple[Any, ...]) -> Any:
    """The result of a function that makes new arrays: no view, nor one of its arguments."""
    for one in _parts(result):
        if getattr(one, "source", None) is not None:
            one.source = None
    alike = any(result is part for one in given for part in _parts(one))
    return result.like(result.value) if alike else result


def _parts(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, (tuple, list)) else (value,)


VIEWING = frozenset(
    """reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims atleast_1d
    atleast_2d atleast_3d flip flipud fliplr rot90 split array_split hsplit vsplit dsplit unstack real imag broadcast_to
    broadcast_arrays view""".split()
)
"""The names of functions and methods that give views."""


def attribute(name: str) -> property:
    """A method of arrays, if it is compiled. With `__getattr__` each attribute would be slower to look up."""
    is_view = name in VIEWING

    def bound(self: Traced) -> Callable[..., Any]:
        found = METHODS.get(name)
        if found is None:
            raise MissingAttribute(
                f"the attribute '{name}' of arrays is not there while the function is compiled: it is of the "
                "array's memory",
                "use it outside of the compiled function",
            )
        if is_view:
            return lambda *args, **kwargs: found(self, *args, **kwargs)
        return lambda *args, **kwargs: detached(found(self, *args, **kwargs), (self,))

    return property(bound)
