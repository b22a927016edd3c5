"""
Calls outside of a compiled function: a function of arrays is traced for each combination of shapes, dtypes and other
arguments, and that program is run.

Compiling takes as long as hundreds of runs of the reference interpreter on few elements, so such a program is
interpreted until that has taken as long as compiling it would; both follow the same program. With the environment
variable XHLO_EAGER=compile every program is compiled, and what cannot be compiled is an error.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...hlo_dialect.reference import evaluate
from ...targets.program.trees import Structure, unflatten
from ..numpy.arrays import FUNCTIONS, TracedArray
from ..numpy.calls import NUMBERS
from ..numpy.errors import TraceError
from ..numpy.indexing import size_depends_on_elements
from ..numpy.jit import Compiled, JitFunction, Options

FEW_ELEMENTS = 4096
"""The most elements of the arguments of a program that is interpreted at first."""
COMPILING = 0.1
"""About how long compiling a program takes, in seconds."""
KEPT = 1024
"""The number of programs that are kept."""


class _Call:
    """A function and what its program depends on."""

    __slots__ = ("constants", "function", "key", "structure")

    def __init__(self, function: Callable[..., Any], structure: Structure, facts: Sequence[Any], constants: list[Any]):
        self.function = function
        self.structure = structure
        self.constants = constants
        """The leaves of the arguments; None for an array."""
        self.key = function, structure, tuple(facts)
        """Has for each leaf the type of Python, dtype and shape of an array; or what tells a constant from others."""

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.key == other.key

    def __call__(self, *arrays: TracedArray) -> Any:
        """Trace the function."""
        rest = iter(arrays)
        leaves = [
            self._argument(next(rest), fact) if fact[0] is np.ndarray else constant
            for constant, fact in zip(self.constants, self.key[2], strict=True)
        ]
        args, kwargs = unflatten(self.structure, leaves)
        return self.function(*args, **kwargs)

    @staticmethod
    def _argument(array: TracedArray, fact: Any) -> TracedArray:
        array.weak = fact[1]
        return array


class _Program:
    """The program of a call, interpreted or compiled."""

    def __init__(self, call: _Call):
        def program(*arrays: TracedArray) -> Any:
            return call(*arrays)

        program.__name__ = getattr(call.function, "__name__", "program")
        self._jitted: JitFunction[..., Any] = JitFunction(program, Options())
        self._lowered: Compiled | None = None
        self._interpreted = 0.0
        """The seconds for which it was interpreted."""

    def __call__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
        few = sum(array.size for array in arrays) <= FEW_ELEMENTS
        if must_compile() or not few or self._interpreted > COMPILING:
            return self._jitted(*arrays)
        if self._lowered is None:
            self._lowered = self._jitted.lower(*arrays)
        start = time.perf_counter()
        outputs = evaluate(self._lowered.module, arrays)
        self._interpreted += time.perf_counter() - start
        return self._lowered.tree(outputs)


_program = lru_cache(KEPT)(_Program)


def must_compile() -> bool:
    """Whether the user wants everything compiled. Raises ValueError."""
    how = os.environ.get("XHLO_EAGER", "")
    if how not in ("", "compile"):
        raise ValueError(f"XHLO_EAGER is '{how}': it may be 'compile', or not be set")
    return bool(how)


def _constant(leaf: Any) -> Any:
    """A key that tells a constant from others: 1, 1.0 and True are equal, and so are the two zeros."""
    if isinstance(leaf, slice):
        return slice, leaf.start, leaf.stop, leaf.step
    return type(leaf), repr(leaf) if isinstance(leaf, float | complex) else leaf


def _is_input(leaf: Any, leaves: Sequence[Any]) -> bool:
    """Whether a number fits into all of the arrays; NumPy refuses to convert a constant that does not."""
    if type(leaf) is not int:
        return type(leaf) in NUMBERS
    dtypes = [one.dtype for one in leaves if isinstance(one, np.ndarray | np.generic) and one.dtype.kind in "iu"]
    limits: list[Any] = [np.iinfo(str(dtype)) for dtype in (np.dtype(np.int64), *dtypes)]
    return all(limit.min <= leaf <= limit.max for limit in limits)


def run(function: Callable[..., Any], leaves: Sequence[Any], structure: Structure, numbers: bool = False) -> Any:
    """
    The results of a function of NumPy's arrays, from the leaves and the structure of `(args, kwargs)`.

    Arrays are the program's inputs, all else is constant in it; with `numbers`, numbers are inputs too. NumPy
    computes calls that cannot be compiled, such as those whose result's size depends on the elements; with
    XHLO_EAGER=compile they raise TraceError instead.
    """
    if FUNCTIONS.get(function) is size_depends_on_elements:
        return _in_numpy(function, leaves, structure)
    constants: list[Any] = []
    facts: list[Any] = []
    arrays: list[np.ndarray[Any, Any]] = []
    for leaf in leaves:
        is_array = isinstance(leaf, np.ndarray | np.generic)
        if is_array or (numbers and _is_input(leaf, leaves)):
            array = np.asarray(leaf)
            arrays.append(array)
            facts.append((np.ndarray, None if is_array else type(leaf), array.dtype, array.shape))
            constants.append(None)
        else:
            facts.append(_constant(leaf))
            constants.append(leaf)
    try:
        return _program(_Call(function, structure, facts, constants))(arrays)
    except TraceError:
        if must_compile():
            raise
    return _in_numpy(function, leaves, structure)


def _in_numpy(function: Callable[..., Any], leaves: Sequence[Any], structure: Structure) -> Any:
    """A call of NumPy itself, without its warnings about numbers."""
    args, kwargs = unflatten(structure, leaves)
    with np.errstate(all="ignore"):
        return function(*args, **kwargs)
