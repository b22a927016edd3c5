"""The signatures of LAPACK calls: shapes, dtypes and attributes under which it stays inside its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .call import CustomCall

Shape = tuple[int, ...]

MOST = 1 << 31
_INTEGER = np.dtype(np.int32)

_LETTERS = {
    "potrf": {"uplo": "LU"},
    "gesdd": {"mode": "ASN"},
    "gesvd": {"mode": "ASN"},
    "syevd": {"mode": "VN", "uplo": "LU"},
    "geev": {"compute_left": "VN", "compute_right": "VN"},
    "gees": {"mode": "VN", "sort": "N"},
    "sytrd": {"uplo": "LU"},
    "trsm": {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"},
}
"""The characters that attributes may encode."""

_FLAGS = {"ormqr": ("left", "transpose")}
_VECTORS = frozenset(("gtsv",))
"""Routines whose first operand is a batch of vectors."""


def problem_of(name: str, dtype: np.dtype[Any], results: int, call: CustomCall) -> str | None:
    """A description of what is wrong with a call of the routine on matrices of `dtype`; None for a valid call."""
    wrong = _attributes_problem(name, call)
    if wrong is not None:
        return wrong
    rank = 1 if name in _VECTORS else 2
    if not call.operands or len(call.operands[0].shape) < rank:
        return f"its first operand must have at least {rank} dimensions"
    if any(size >= MOST for array in (*call.operands, *call.results) for size in array.shape):
        return f"a dimension is larger than LAPACK's integers, {MOST - 1}"
    shape = call.operands[0].shape
    batch, core = shape[: len(shape) - rank], shape[len(shape) - rank :]
    expected = _signature(name, dtype, core, call)
    if isinstance(expected, str):
        return expected
    for what, found, wanted in (("operands", call.operands, expected[0]), ("results", call.results, expected[1])):
        if what == "results" and len(wanted) != results:
            raise AssertionError(f"the table of {name} has {len(wanted)} results, its routine {results}")
        if len(found) != len(wanted):
            return f"it has {len(found)} {what}, expected {len(wanted)}"
        for index, (array, (inner, kind)) in enumerate(zip(found, wanted, strict=True)):
            if array.shape != (*batch, *inner) or array.dtype != kind:
                return f"{what[:-1]} {index} is {array.text}, expected {kind}{[*batch, *inner]}"
    return None


def _attributes_problem(name: str, call: CustomCall) -> str | None:
    for attribute, allowed in _LETTERS.get(name, {}).items():
        value = call.attributes.get(attribute)
        if not isinstance(value, int) or not 0 < value < 128 or chr(value) not in allowed:
            return f"attribute {attribute} is {value!r}, expected the number of one of the characters {allowed}"
    for attribute in _FLAGS.get(name, ()):
        if not isinstance(call.attributes.get(attribute), bool):
            return f"attribute {attribute} is {call.attributes.get(attribute)!r}, expected true or false"
    return None


Arrays = list[tuple[Shape, np.dtype[Any]]]


def _signature(name: str, dtype: np.dtype[Any], core: Shape, call: CustomCall) -> tuple[Arrays, Arrays] | str:
    """The operands and results of a routine for the first operand's matrices, or a description of what is wrong."""
    real = np.dtype(np.float32 if dtype.itemsize // (1 + (dtype.kind == "c")) == 4 else np.float64)
    info: tuple[Shape, np.dtype[Any]] = ((), _INTEGER)
    if name == "gtsv":
        if len(call.operands) != 4 or len(call.operands[3].shape) < 2:
            return "it takes three diagonals and a batch of matrices"
        diagonal = (core, dtype)
        sides = (call.operands[3].shape[-2:], dtype)
        if sides[0][0] != core[0]:
            return f"the diagonals have {core[0]} elements, the right sides {sides[0][0]} rows"
        return [diagonal] * 3 + [sides], [diagonal] * 3 + [sides, info]
    m, n = core
    least = min(m, n)
    matrix = (core, dtype)
    square = name in ("potrf", "syevd", "geev", "gees", "gehrd", "sytrd", "trsm")
    if square and m != n:
        return f"its matrices have {m} rows and {n} columns, expected square ones"
    if name == "gehrd":
        low, high = call.attributes.get("low"), call.attributes.get("high")
        if not (isinstance(low, int) and isinstance(high, int) and 1 <= low <= max(1, high) and high <= n):
            return f"attributes low and high are {low} and {high}, expected 1 <= low <= high <= {n}"
    if name in ("gesdd", "gesvd"):
        mode = chr(call.attributes["mode"])
        # Without vectors their arrays are not written; JAX makes them of either size.
        thin = mode == "S" or (mode == "N" and [r.shape[-2:] for r in call.results[2:4]] == [(m, least), (least, n)])
        u, vt = ((m, least), (least, n)) if thin else ((m, m), (n, n))
        return [matrix], [matrix, ((least,), real), (u, dtype), (vt, dtype), info]
    if name in ("orgqr", "ormqr", "trsm"):
        return _products(name, dtype, core, call)
    vector = ((n,), dtype)
    paired = [vector] if dtype.kind == "c" else [vector, vector]
    widened = (core, np.dtype(np.complex64 if real == np.float32 else np.complex128))
    before: Shape = (max(n - 1, 0),)
    found: dict[str, tuple[Arrays, Arrays]] = {
        "potrf": ([matrix], [matrix, info]),
        "getrf": ([matrix], [matrix, ((least,), _INTEGER), info]),
        "geqrf": ([matrix], [matrix, ((least,), dtype)]),
        "geqp3": ([matrix, ((n,), _INTEGER)], [matrix, ((n,), _INTEGER), ((least,), dtype)]),
        "syevd": ([matrix], [matrix, ((n,), real), info]),
        "geev": ([matrix], [*paired, widened, widened, info]),
        "gees": ([matrix], [matrix, matrix, *paired, info, info]),
        "gehrd": ([matrix], [matrix, (before, dtype), info]),
        "sytrd": ([matrix], [matrix, ((n,), real), (before, real), (before, dtype), info]),
    }
    return found[name]


def _products(name: str, dtype: np.dtype[Any], core: Shape, call: CustomCall) -> tuple[Arrays, Arrays] | str:
    """The signatures of routines that combine two arrays of different sizes."""
    m, n = core
    if len(call.operands) < 2 or not call.operands[1].shape:
        return "it takes at least two arrays"
    matrix = (core, dtype)
    if name == "trsm":
        if len(call.operands[1].shape) < 2:
            return "its second operand must have at least two dimensions"
        sides = call.operands[1].shape[-2:]
        size = sides[0] if call.attributes["side"] == ord("L") else sides[1]
        if size != n:
            return f"the triangular matrices have {n} rows, the other side {size}"
        return [matrix, (sides, dtype)], [(sides, dtype)]
    count = call.operands[1].shape[-1]
    tau = ((count,), dtype)
    if name == "orgqr":
        if not count <= n <= m:
            return f"there are {count} reflectors for {m} rows and {n} columns, expected at most {min(m, n)}; n <= m"
        return [matrix, tau], [matrix]
    if len(call.operands) != 3 or len(call.operands[2].shape) < 2:
        return "it takes reflectors, their factors and a matrix"
    c = call.operands[2].shape[-2:]
    size = c[0] if call.attributes["left"] else c[1]
    if m != size or n < count or count > m:
        return f"{count} reflectors in matrices of {m} rows and {n} columns do not fit a side of {size}"
    return [matrix, tau, (c, dtype)], [(c, dtype)]
