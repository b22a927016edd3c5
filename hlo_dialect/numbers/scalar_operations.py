"""
The semantics of arith and math in NumPy: `scalar_function` of an operation, and where its result is `undefined`.

Integers are signless: NumPy's signed ones, i1 is bool, index is int64. Elementary functions are computed in f64 and
rounded. Where arith leaves a result undefined (a shift past the width, a conversion out of range) the function returns
whatever NumPy returns, because masked threads and operands that a select drops compute it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.ir import Attribute, Operation

from ...dialects.support.editing import operands_of
from ..diagnostics import fail
from ..types import Array, i1, numpy_dtype
from . import special_functions
from .narrow_integers import narrow_width, narrowed, with_sign

BF16 = np.dtype(ml_dtypes.bfloat16)
INT64 = np.dtype(np.int64)
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

Scalar = Callable[..., Array]
Unary = Callable[[Any], Array]
Binary = Callable[[Any, Any], Array]


@lru_cache(maxsize=1024)
def dtype_of(type_: Attribute) -> np.dtype[Any] | None:
    """The dtype that holds a scalar of a type; None if there is none."""
    if isinstance(type_, IndexType):
        return INT64
    return numpy_dtype(type_) if narrow_width(type_) is None else np.dtype(np.int8)


def element_dtype(op: Operation, type_: Attribute) -> np.dtype[Any]:
    """The dtype of a number, or of a vector's or memref's elements."""
    element: Attribute = getattr(type_, "element_type", type_)
    found = dtype_of(element)
    if found is None:
        fail(op, f"has elements of type {element}, which have no semantics in NumPy here")
    return found


def constant(op: Operation) -> Array:
    """The value of an arith.constant: one for all threads, so of shape [1, 1], or of a vector's shape and [1, 1]."""
    value: Any = op.properties["value"]
    type_ = op.results[0].type
    dtype = element_dtype(op, type_)
    if isinstance(type_, VectorType):
        assert isinstance(value, DenseIntOrFPElementsAttr)
        numbers = _in_register(np.array(list(value.get_values())).astype(dtype), cast(Attribute, type_))
        return np.broadcast_to(numbers, type_.get_shape()).reshape(*type_.get_shape(), 1, 1)
    number = value.value.data
    return _in_register(np.full((1, 1), bool(number) if dtype.kind == "b" else number).astype(dtype), type_)


def _in_register(values: Array, type_: Attribute) -> Array:
    width = narrow_width(type_)
    return values if width is None else with_sign(values, width)


def unsigned(x: Array) -> Array:
    return x if x.dtype == np.bool_ else x.view(_UNSIGNED[x.dtype.itemsize])


# -- functions of arrays --------------------------------------------------------------------------------------------


def _unsigned(compute: Binary) -> Binary:
    return lambda x, y: compute(unsigned(x), unsigned(y)).view(x.dtype)


def _quotient(x: Array, y: Array) -> Array:
    floor = x // y
    return floor + ((floor * y != x) & ((x < 0) != (y < 0))).astype(x.dtype)


def _ceiling(x: Array, y: Array) -> Array:
    floor = x // y
    return floor + (floor * y != x).astype(x.dtype)


def _maximum(x: Array, y: Array) -> Array:
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def _minimum(x: Array, y: Array) -> Array:
    return np.where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


def _round(x: Array) -> Array:
    whole = np.trunc(x)
    return np.copysign(whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0), x)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _wide(compute: Callable[..., Any]) -> Scalar:
    """In f64, rounded to the operation's type."""

    def run(*xs: Array) -> Array:
        return compute(*(x.astype(np.float64) for x in xs)).astype(xs[0].dtype)

    return run


def _narrow(x: Array, target: np.dtype[Any]) -> Array:
    """A float of fewer bits, rounded once."""
    if target.itemsize >= 4 or x.dtype != np.float64 or target == np.float16:
        return x.astype(target)
    # ml_dtypes rounds twice here; an f32 rounded to odd has digits enough to round once more.
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    down = np.where(np.abs(back) > np.abs(x), np.nextafter(near, np.float32(0)), near)
    return (down.view(np.uint32) | ((back != x) & ~np.isnan(x))).view(np.float32).astype(target)


def _fma(x: Array, y: Array, z: Array) -> Array:
    """Rounded once for f32 and narrower but for ties of the f64 sum; f64 through long double."""
    wide = np.longdouble if x.dtype == np.float64 else np.float64
    return (x.astype(wide) * y.astype(wide) + z.astype(wide)).astype(x.dtype)


def _count_bits(count: Callable[[int, int], int]) -> Unary:
    def run(x: Array) -> Array:
        width = 8 * x.dtype.itemsize
        counts = [count(value, width) for value in unsigned(x).reshape(-1).tolist()]
        return np.array(counts, x.dtype).reshape(x.shape)

    return run


def _trailing_zeros(value: int, width: int) -> int:
    return (value & -value).bit_length() - 1 if value else width


PLAIN: dict[str, Scalar] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": _unsigned(np.right_shift),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.select": np.where,
    "math.fma": _fma,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.copysign": np.copysign,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.round": _wide(_round),
    "math.roundeven": np.rint,
    "math.sqrt": np.sqrt,
    "math.rsqrt": _wide(_rsqrt),
    "math.cbrt": _wide(np.cbrt),
    "math.exp": _wide(np.exp),
    "math.exp2": _wide(np.exp2),
    "math.expm1": _wide(np.expm1),
    "math.log": _wide(np.log),
    "math.log2": _wide(np.log2),
    "math.log10": _wide(np.log10),
    "math.log1p": _wide(np.log1p),
    "math.sin": _wide(np.sin),
    "math.cos": _wide(np.cos),
    "math.tan": _wide(np.tan),
    "math.asin": _wide(np.arcsin),
    "math.acos": _wide(np.arccos),
    "math.atan": _wide(np.arctan),
    "math.sinh": _wide(np.sinh),
    "math.cosh": _wide(np.cosh),
    "math.asinh": _wide(np.arcsinh),
    "math.acosh": _wide(np.arccosh),
    "math.atanh": _wide(np.arctanh),
    "math.tanh": _wide(np.tanh),
    "math.atan2": _wide(np.arctan2),
    "math.powf": _wide(np.power),
    "math.erf": _wide(np.vectorize(math.erf, otypes=[np.float64])),
    "math_ext.erfc": _wide(np.vectorize(math.erfc, otypes=[np.float64])),
    "math_ext.erf_inv": _wide(special_functions.erf_inv),
    "math_ext.lgamma": _wide(special_functions.lgamma),
    "math_ext.digamma": _wide(special_functions.digamma),
    "math_ext.bessel_i1e": _wide(special_functions.bessel_i1e),
    "math_ext.polygamma": _wide(special_functions.polygamma),
    "math_ext.zeta": _wide(special_functions.zeta),
    "math.ctpop": _count_bits(lambda v, width: v.bit_count()),
    "math.ctlz": _count_bits(lambda v, width: width - v.bit_length()),
    "math.cttz": _count_bits(_trailing_zeros),
}
"""Functions of the operands alone."""

_OF_BOOLEANS: dict[str, Scalar] = {"arith.maxsi": np.minimum, "arith.minsi": np.maximum}
"""Those that differ for i1: as a signed number true is -1."""


def plain_function(name: str, type_: Attribute) -> Scalar | None:
    """The function of operands of a type, or vectors of it; None for an operation that is no function of them alone."""
    return (_OF_BOOLEANS.get(name) if _is_boolean(type_) else None) or PLAIN.get(name)


def _is_boolean(type_: Attribute) -> bool:
    return getattr(type_, "element_type", type_) == i1


DIVISIONS: dict[str, Binary] = {
    "arith.divsi": _quotient,
    "arith.remsi": np.fmod,
    "arith.floordivsi": np.floor_divide,
    "arith.ceildivsi": _ceiling,
    "arith.divui": _unsigned(np.floor_divide),
    "arith.remui": _unsigned(np.fmod),
    "arith.ceildivui": lambda x, y: _ceiling(unsigned(x), unsigned(y)).view(x.dtype),
}
"""Undefined for a divisor of zero; the signed ones also where the quotient is too large."""


# -- functions of the operation's attributes and types ----------------------------------------------------------------

_FLOAT_ORDERS: dict[str, Binary] = {
    "eq": np.equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}
_FLOAT_PREDICATES: tuple[str, ...] = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
_INTEGER_ORDERS: tuple[Binary, ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)


def _float_order(op: Operation) -> Binary:
    predicate: Any = op.properties["predicate"]
    code: int = predicate.value.data
    name = _FLOAT_PREDICATES[code]
    if name in ("false", "true"):
        return lambda x, y: np.full(np.broadcast_shapes(x.shape, y.shape), name == "true")
    if name in ("ord", "uno"):
        return lambda x, y: (np.isnan(x) | np.isnan(y)) == (name == "uno")
    if name == "une":
        return np.not_equal
    if name == "one":
        return lambda x, y: (x < y) | (x > y)
    if name == "ueq":
        return lambda x, y: ~((x < y) | (x > y))
    order = _FLOAT_ORDERS[name[1:]]
    if name[0] == "o":
        return order
    return lambda x, y: order(x, y) | np.isnan(x) | np.isnan(y)


def _integer_order(op: Operation) -> Binary:
    predicate: Any = op.properties["predicate"]
    code: int = predicate.value.data
    if code >= 6:
        order = _INTEGER_ORDERS[code - 4]
        return lambda x, y: order(unsigned(x), unsigned(y))
    order = _INTEGER_ORDERS[code]
    return (lambda x, y: order(y, x)) if _is_boolean(op.operands[0].type) else order


def _cast(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    if op.operands[0].type == i1:  # As a signed number it is 0 or -1.
        return lambda x: np.where(x, -1, 0).astype(target)
    return lambda x: x.astype(target)


def _extui(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    wide = _UNSIGNED[target.itemsize]
    return lambda x: unsigned(x).astype(wide).view(target)


def _trunci(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    return (lambda x: (x & 1) != 0) if target.kind == "b" else (lambda x: x.astype(target))


def _truncf(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    return lambda x: _narrow(x, target)


def _uitofp(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    return lambda x: unsigned(x).astype(target)


def _fptoui(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    wide = _UNSIGNED[target.itemsize]
    return lambda x: np.trunc(x.astype(np.float64)).astype(wide).view(target)


def _fptosi(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    return lambda x: np.trunc(x.astype(np.float64)).astype(target)


def _bitcast(op: Operation) -> Unary:
    target = element_dtype(op, op.results[0].type)
    return lambda x: np.asarray(x, order="C").view(target)


TYPED: dict[str, Callable[[Operation], Scalar]] = {
    "arith.cmpf": _float_order,
    "arith.cmpi": _integer_order,
    "arith.bitcast": _bitcast,
    "arith.extf": _cast,
    "arith.truncf": _truncf,
    "arith.sitofp": _cast,
    "arith.uitofp": _uitofp,
    "arith.fptosi": _fptosi,
    "arith.fptoui": _fptoui,
    "arith.extsi": _cast,
    "arith.extui": _extui,
    "arith.trunci": _trunci,
    "arith.index_cast": _cast,
    "arith.index_castui": _extui,
}
"""Functions that the operation's types or attributes choose."""


def _extended(signed: bool) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The low and the high half of a product."""

    def run(x: Array, y: Array) -> tuple[Array, Array]:
        width = 8 * x.dtype.itemsize
        left, right = (x, y) if signed else (unsigned(x), unsigned(y))
        product = left.astype(object) * right.astype(object)
        low, high = product % 2**width, (product >> width) % 2**width
        wide = _UNSIGNED[x.dtype.itemsize]
        return low.astype(wide).view(x.dtype), high.astype(wide).view(x.dtype)

    return run


def _add_with_carry(x: Array, y: Array) -> tuple[Array, Array]:
    total = x + y
    return total, unsigned(total) < unsigned(x)


SEVERAL: dict[str, Callable[..., tuple[Array, ...]]] = {
    "arith.addui_extended": _add_with_carry,
    "arith.mulsi_extended": _extended(True),
    "arith.mului_extended": _extended(False),
}
"""Functions of several results."""


def scalar_function(op: Operation) -> Callable[..., Any] | None:
    """The function from arrays of operands to the result, or to a tuple of several; None for other operations."""
    name = op.name
    function = plain_function(name, operands[0].type) if (operands := operands_of(op)) else None
    function = function or DIVISIONS.get(name) or SEVERAL.get(name)
    if function is None and name in TYPED:
        function = TYPED[name](op)
    return None if function is None else narrowed(op, function)


# -- undefined results ------------------------------------------------------------------------------------------------

_SIGNED_DIVISIONS = ("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi")


def undefined(op: Operation, *operands: Array) -> Iterator[tuple[str, Array]]:
    """Each reason for which arith leaves the operation's result undefined, with a mask of the elements concerned."""
    match op.name:
        case name if name in DIVISIONS:
            x, y = operands
            yield "divides by zero", y == 0
            if name in _SIGNED_DIVISIONS:
                yield "divides the smallest number by -1", (y == -1) & (x == np.iinfo(x.dtype).min)
        case "arith.shli" | "arith.shrsi" | "arith.shrui":
            x, y = operands
            yield "shifts past the width", (y < 0) | (y >= (narrow_width(op.results[0].type) or 8 * x.dtype.itemsize))
        case "arith.fptosi" | "arith.fptoui" as name:
            signed = name == "arith.fptosi"
            width = narrow_width(op.results[0].type) or 8 * element_dtype(op, op.results[0].type).itemsize
            low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if signed else (0.0, 2.0**width)
            whole = np.trunc(operands[0].astype(np.float64))
            yield "converts a number that is out of range", ~((whole >= low) & (whole < high))
        case _:
            pass
