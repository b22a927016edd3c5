"""The arguments of a call of a compiled function: by name, for its executable, and as the function sees them."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hlo_dialect.types import element_type_of
from ...targets.program.trees import Structure, flatten
from ..builder.builder import Builder
from .arrays import TracedArray
from .calls import NUMBERS
from .shortcuts import is_large


@dataclass
class Bound:
    """The arguments of a call by name."""

    arguments: inspect.BoundArguments
    fixed: dict[str, Any]
    """The static ones."""
    structure: Structure
    traced: dict[str, Any]
    leaves: list[Any]
    """The others' leaves as they were given."""


def described_leaf(leaf: Any) -> str:
    if hasattr(leaf, "dtype"):
        return f"{leaf.dtype}[{', '.join(map(str, leaf.shape))}]"
    return type(leaf).__name__ if type(leaf) in NUMBERS else repr(leaf)


def types_of(static: Any) -> Any:
    """The types of the leaves of a static argument."""
    return tuple(map(type, flatten(static)[0]))


def key_of(leaf: Any) -> Any:
    """The facts of a leaf that an executable depends on."""
    if hasattr(leaf, "dtype"):
        return leaf.dtype, leaf.shape
    # An int that i64 does not hold is no argument of the program for those that it holds.
    return np.asarray(leaf).dtype if is_large(leaf) else type(leaf)


def parameters_of(builder: Builder, leaves: Sequence[Any], names: Sequence[str]) -> list[TracedArray]:
    """The arguments as the function sees them."""
    given: list[TracedArray] = []
    for leaf, name in zip(leaves, names, strict=True):
        if type(leaf) not in NUMBERS and not hasattr(leaf, "__array__"):
            raise TypeError(
                f"argument {name}: expected an array or a number, got {type(leaf).__name__}; "
                "an argument of another kind is static: xhlo.jit(static_argnames=..)"
            )
        hint = "".join(c if c.isalnum() else "_" for c in name).strip("_")
        array = as_argument(leaf)
        if is_large(leaf) and array.dtype == object:
            raise TypeError(f"argument {name}: got an int of more than 64 bits")
        dtype = array.dtype.newbyteorder("=")  # executables copy arrays of the other byte order
        if element_type_of(dtype) is None:
            raise TypeError(f"argument {name}: arrays of {dtype} are not compiled; numbers or booleans are")
        value = builder.parameter(dtype, array.shape, name=hint if hint[:1].isalpha() else None)
        made = TracedArray(builder, value, is_argument=True)
        if type(leaf) in NUMBERS:
            made.weak = type(leaf)
        given.append(made)
    return given


def as_argument(leaf: Any) -> Any:
    """A leaf as executables take it: arrays on a device stay there."""
    return leaf if isinstance(leaf, np.ndarray) or hasattr(leaf, "__cuda_array_interface__") else np.asarray(leaf)
