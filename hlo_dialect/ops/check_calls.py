"""
The checks of StableHLO's test programs: custom calls `check.*` and operations of the `check` dialect.

* eq, expect_eq: equal values; NaN equals nothing and zeros of both signs are equal (IEEE). The custom call `check.eq`
  compares floats as expect_almost_eq with tolerance 1e-4, and also returns its verdict as a tensor<i1>.
* expect_close: at most `max_ulp_difference` units in the last place apart (3 unless stated), and at least
  `min_ulp_difference`. NaNs agree with each other, otherwise non-finite values agree with themselves only.
* expect_almost_eq: at most `tolerance` apart (1e-3 unless stated), of whatever signs.

The parts of a complex number are compared separately; `.._const` compares with an attribute instead of an operand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ..diagnostics import Diagnostic, DiagnosticError, op_message
from ..numbers.number_semantics import is_integer_dtype, is_short_float
from ..types import Array, constant_array

CHECK_PREFIX = "check."
_KINDS = {
    "check.eq": "eq",
    "check.expect_eq": "expect_eq",
    "check.expect_eq_const": "expect_eq",
    "check.expect_close": "expect_close",
    "check.expect_almost_eq": "expect_almost_eq",
    "check.expect_almost_eq_const": "expect_almost_eq",
}
INFINITELY_FAR = np.uint64(2**64 - 1)
"""The distance of a non-finite value and another."""
_REPORTED = 5
"""The number of mismatches that a message lists."""


class CheckFailure(DiagnosticError):
    """
    A check of the program did not hold; the message names indices and values.

    >>> import numpy as np
    >>> import xhlo
    >>> exe = xhlo.compile('''func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
    ...   %0 = hlo.constant dense<1> : tensor<2xi32>
    ...   hlo.custom_call @check.expect_eq(%x, %0) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    ...   return %x : tensor<2xi32>
    ... }''')
    >>> try:
    ...     exe(np.array([1, 2], np.int32))
    ... except xhlo.CheckFailure as failure:
    ...     print(failure)
    <text>:3:3: error: check.expect_eq failed: 1 of 2 elements differ: at [1] actual 2, expected 1
    """


def check_kind(name: str) -> str | None:
    """The kind of check that a custom call's target or an operation's name denotes; None for anything else."""
    return _KINDS.get(name)


def is_check(op: Operation) -> bool:
    """Whether the operation is a check: a custom call or an operation of the check dialect."""
    return check_name(op) is not None


def check_name(op: Operation) -> str | None:
    """`check.expect_close` of a check in either form; None for other operations."""
    if op.name.startswith(CHECK_PREFIX):
        return op.name
    if op.name == "hlo.custom_call":
        target = getattr(op.properties.get("call_target_name"), "data", "")
        return target if target.startswith(CHECK_PREFIX) else None
    return None


def run_check(
    kind: str, actual: Array, expected: Array, attributes: Mapping[str, Attribute] | None = None
) -> str | None:
    """
    None if the check holds, else a description of the differences: indices, values, distances.

    `kind` is eq, expect_eq, expect_close or expect_almost_eq; `attributes` those of the operation.
    Raises ValueError for an unknown kind.
    """
    attributes = attributes or {}
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"actual is {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if kind == "eq":
        if _is_exact(actual):
            return _differing(np.asarray(actual != expected, dtype=bool), actual, expected)
        return _check_almost(actual, expected, tolerance_of(kind, attributes))
    if kind == "expect_eq":
        return _differing(np.asarray(actual != expected, dtype=bool), actual, expected)
    if kind == "expect_almost_eq":
        return _check_almost(actual, expected, tolerance_of(kind, attributes))
    if kind == "expect_close":
        return _check_close(actual, expected, *ulp_bounds(attributes))
    raise ValueError(f"there is no check '{kind}'")


def tolerance_of(kind: str, attributes: Mapping[str, Attribute]) -> float:
    """The tolerance of an eq or expect_almost_eq of floats."""
    return _number(attributes, "tolerance", 1e-4 if kind == "eq" else 1e-3)


def ulp_bounds(attributes: Mapping[str, Attribute]) -> tuple[int, int]:
    """The least and the most units in the last place that an expect_close allows."""
    return int(_number(attributes, "min_ulp_difference", 0)), int(_number(attributes, "max_ulp_difference", 3))


def run_check_op(op: Operation, operands: Sequence[Array]) -> tuple[Array, ...]:
    """
    Run a check operation or custom call; its results (a `check.eq` has a tensor<i1>).

    Raises CheckFailure at the operation's location when it does not hold, DiagnosticError for an unknown check.
    """
    name = check_name(op) or op.name
    kind = check_kind(name)
    attributes = {**op.properties, **op.attributes}
    if kind is None:
        raise DiagnosticError(Diagnostic("error", op_message(op, f"is an unknown check '{name}'"), op.location))
    values = list(operands)
    constant = attributes.get("value")
    if isinstance(constant, DenseIntOrFPElementsAttr):
        values.append(constant_array(cast("DenseIntOrFPElementsAttr[Any]", constant)))
    if len(values) != 2:
        message = op_message(op, f"compares {len(values)} values, expected 2")
        raise DiagnosticError(Diagnostic("error", message, op.location))
    failure = run_check(kind, values[0], values[1], attributes)
    if failure is not None:
        raise CheckFailure(Diagnostic("error", op_message(op, f"{name} does not hold: {failure}"), op.location))
    return tuple(np.asarray(True) for _ in op.results)


def ulp_distance(actual: Array, expected: Array) -> Array:
    """
    The distance of two float or complex arrays in representable values, as uint64; for complex numbers that of the
    worse part.

    Both NaN: 0. A non-finite value and another: 2**64 - 1.
    """
    if actual.dtype.kind == "c":
        return np.maximum(*map(ulp_distance, _parts(actual), _parts(expected)))
    unsigned = np.dtype(f"u{actual.dtype.itemsize}")
    mask = unsigned.type(magnitude_mask(actual.dtype))
    bits: list[Array] = [np.array(value, order="C").view(unsigned) for value in (actual, expected)]
    magnitudes: list[Array] = [(each & mask).astype(np.uint64) for each in bits]
    first, second = magnitudes
    opposite = (bits[0] ^ bits[1]) > mask
    apart: Array = np.where(opposite, first + second, np.maximum(first, second) - np.minimum(first, second))
    wide = [_widened(value) for value in (actual, expected)]
    finite = np.isfinite(wide[0]) & np.isfinite(wide[1])
    same = (bits[0] == bits[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    return np.where(same, np.uint64(0), np.where(finite, apart, INFINITELY_FAR))


def magnitude_mask(dtype: np.dtype[Any]) -> int:
    """The bits of a float below its sign; all bits of a format without a sign."""
    if dtype.name == "float8_e8m0fnu":
        return 0xFF
    import ml_dtypes  # which takes a while

    bits: int = cast(Any, ml_dtypes).finfo(dtype).bits
    return (1 << (bits - 1)) - 1


def _is_exact(value: Array) -> bool:
    """Whether the elements are booleans or integers."""
    return value.dtype.kind == "b" or is_integer_dtype(value.dtype)


def _parts(value: Array) -> tuple[Array, Array]:
    """The real and the imaginary parts, as two arrays."""
    return np.array(np.real(value)), np.array(np.imag(value))


def _widened(value: Array) -> Array:
    """The array, with ml_dtypes' narrow floats widened to a NumPy float type."""
    return value.astype(np.float32) if is_short_float(value.dtype) else value


def _check_close(actual: Array, expected: Array, least: int, most: int) -> str | None:
    if _is_exact(actual):
        return f"expect_close compares floats and complex numbers, not {actual.dtype}"
    distance = ulp_distance(actual, expected)
    wrong = (distance > np.uint64(most)) | (distance < np.uint64(least))
    bounds = f"at most {most} ulp" if least == 0 else f"between {least} and {most} ulp"
    return _differing(wrong, actual, expected, distance, f" (allowed: {bounds})")


def _check_almost(actual: Array, expected: Array, tolerance: float) -> str | None:
    if _is_exact(actual):
        return _differing(np.asarray(actual != expected, dtype=bool), actual, expected)
    if actual.dtype.kind == "c":
        real, imag = (_almost(*pair, tolerance) for pair in zip(_parts(actual), _parts(expected), strict=True))
        fine = real & imag
    else:
        fine = _almost(actual, expected, tolerance)
    return _differing(~fine, actual, expected, note=f" (tolerance {tolerance:g})")


def _almost(actual: Array, expected: Array, tolerance: float) -> Array:
    first, second = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(first - second) <= tolerance
    both_nan = np.isnan(first) & np.isnan(second)
    # An infinity beside a finite value is never near; beside itself it is equal.
    return (first == second) | both_nan | near


def _differing(
    wrong: Array, actual: Array, expected: Array, distance: Array | None = None, note: str = ""
) -> str | None:
    """The message about the elements that are `wrong`; None if there are none."""
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    lines: list[str] = []
    for place in np.argwhere(wrong)[:_REPORTED]:
        index = tuple(int(i) for i in place)
        line = f"at {list(index)} actual {actual[index]!s}, expected {expected[index]!s}"
        if distance is not None:
            far = int(distance[index])
            line += ", not comparable" if far == int(INFINITELY_FAR) else f", {far} ulp apart"
        lines.append(line)
    if count > _REPORTED:
        lines.append("...")
    return f"{count} of {actual.size} elements differ{note}: " + "; ".join(lines)


def _number(attributes: Mapping[str, Attribute], name: str, default: float) -> float:
    attribute: Any = attributes.get(name)
    return attribute.value.data if isinstance(attribute, (IntegerAttr, FloatAttr)) else default
