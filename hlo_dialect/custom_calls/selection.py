"""Elements that are selected, on targets that lower this to loops: the first of a sorted row, and those of a mask."""

from __future__ import annotations

import numpy as np

from ..numbers.number_semantics import total_order_key
from ..types import Array, is_float_dtype
from .call import CustomCall
from .registry import CustomCallTarget

TOP_K = "xhlo.top_k"
NONZERO = "xhlo.nonzero"


def _top_k(call: CustomCall, x: Array) -> tuple[Array, Array]:
    """
    The first elements of a stable sort along the last dimension, and their places: see `SortKey` for the attributes.

    `canonical`, which may be absent: zeros are equal, and all NaN are one number, the greatest.
    """
    count = call.results[0].shape[-1]
    keys = x
    if is_float_dtype(x.dtype):
        equal_zeros = call.attributes.get("canonical") or not call.attributes["total_order"]
        keys = np.where(x == 0, np.zeros_like(x), x) if equal_zeros else x
        keys = np.where(np.isnan(x), np.full_like(x, np.nan), keys) if call.attributes.get("canonical") else keys
        keys = total_order_key(keys)
    elif x.dtype.kind == "b":
        keys = x.astype(np.uint8)
    order = np.argsort(~keys if call.attributes["descending"] else keys, axis=-1, kind="stable")[..., :count]
    return np.take_along_axis(x, order, axis=-1), order.astype(np.int32)


def _check(call: CustomCall) -> str | None:
    if not all(isinstance(call.attributes.get(name), bool) for name in ("descending", "total_order")):
        return "an attribute is missing"
    if not isinstance(call.attributes.get("canonical", False), bool):
        return "the attribute canonical is no boolean"
    if len(call.operands) != 1 or len(call.results) != 2 or not call.operands[0].shape:
        return "it takes rows, and gives their first elements and the places of these"
    (x,), (values, places) = call.operands, call.results
    fits = values.shape == places.shape and values.shape[:-1] == x.shape[:-1] and values.shape[-1] <= x.shape[-1]
    if not fits or values.dtype != x.dtype or places.dtype != np.int32:
        return f"the results {values.text} and {places.text} are no first elements of {x.text} and their places"
    return None


def _nonzero(call: CustomCall, mask: Array) -> Array:
    """The places of the true elements, as many as there is room for, then the length of the mask."""
    places = np.full(call.results[0].shape, len(mask), np.int32)
    found = np.flatnonzero(mask)[: len(places)]
    places[: len(found)] = found
    return places


def _check_nonzero(call: CustomCall) -> str | None:
    if len(call.operands) != 1 or len(call.results) != 1:
        return "it takes a mask, and gives places"
    (mask,), (places,) = call.operands, call.results
    if mask.dtype != np.bool_ or places.dtype != np.int32 or len(mask.shape) != 1 or len(places.shape) != 1:
        return f"the result {places.text} holds no places of a mask {mask.text}"
    return None


TARGETS = (
    CustomCallTarget(TOP_K, _top_k, _check, loops=True),
    CustomCallTarget(NONZERO, _nonzero, _check_nonzero, loops=True),
)
