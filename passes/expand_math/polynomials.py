"""
Long polynomials with fewer operations that wait for each other, where vectors are short.

By Horner's rule each multiply-add waits for the one before it, about four cycles. With short vectors a processor needs
more of them at once than its registers and queues hold. In pairs of terms, pairs of pairs and so on (Estrin's scheme) a
polynomial of degree 9 waits for five multiply-adds instead of nine, and takes two products more. The terms of the two
lowest coefficients, which are the largest, stay with Horner's rule, so that errors hardly grow.

The polynomials are those of elementary and special functions: `math.fma` of constants in the functions that this pass
defines, and products and sums that may be contracted, which are those of special functions. A program's own multiply-
adds stay in its order. All polynomials of a module are evaluated alike, so that a function has the same bits in every
loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.scalar import NO_FASTMATH

LEAST = 8
"""Coefficients from which a polynomial is evaluated in pairs: shorter ones gain nothing beside other vectors."""

LOWEST = 2
"""Coefficients that stay with Horner's rule."""


class Polynomial(NamedTuple):
    """Multiply-adds of one variable by Horner's rule."""

    variable: SSAValue
    coefficients: tuple[SSAValue, ...]
    """The highest first."""
    steps: tuple[tuple[Operation, ...], ...]
    """The operations of each multiply-add: one, or a product and a sum."""


def evaluate_in_pairs(ops: Sequence[Operation]) -> None:
    """Rewrite the long polynomials among the operations of a module, but for multiply-adds of the program itself."""
    found: dict[SSAValue, Polynomial] = {}
    for op in ops:
        factors, addend, step = _multiply_add(op) or (None, None, ())
        if factors is None or addend is None:
            continue
        for inner, variable in (factors, factors[::-1]):
            before = found.get(inner)
            if before is not None and before.variable is variable and inner.has_one_use():
                del found[inner]
                found[op.results[0]] = Polynomial(variable, (*before.coefficients, addend), (*before.steps, step))
                break
            if _is_constant(inner) and not _is_constant(variable):
                found[op.results[0]] = Polynomial(variable, (inner, addend), (step,))
                break
    results: dict[SSAValue, SSAValue] = {}
    for result, polynomial in found.items():
        if len(polynomial.coefficients) >= LEAST:
            # The variable may be the result of a polynomial before.
            variable = results.get(polynomial.variable, polynomial.variable)
            results[result] = _rewrite(polynomial._replace(variable=variable))


def _multiply_add(op: Operation) -> tuple[tuple[SSAValue, SSAValue], SSAValue, tuple[Operation, ...]] | None:
    """The factors of a multiply-add that may round once, the constant that it adds, and its operations."""
    if type(op) is math.FmaOp:
        a, b, c = op.operands
        return ((a, b), c, (op,)) if _is_constant(c) else None
    if type(op) is not arith.AddfOp or not _may_fuse(op):
        return None
    for product, addend in (op.operands, op.operands[::-1]):
        owner = product.owner
        if type(owner) is arith.MulfOp and _may_fuse(owner) and product.has_one_use() and _is_constant(addend):
            a, b = owner.operands
            return (a, b), addend, (owner, op)
    return None


def _may_fuse(op: arith.AddfOp | arith.MulfOp) -> bool:
    return FastMathFlag.ALLOW_CONTRACT in op.fastmath.data


def _is_constant(value: SSAValue) -> bool:
    return type(value.owner) is arith.ConstantOp


def _rewrite(polynomial: Polynomial) -> SSAValue:
    """Evaluate a polynomial in pairs of terms, but for its lowest coefficients; returns the new result."""
    variable, coefficients, steps = polynomial
    model, place = steps[-1], steps[-1][-1]

    def insert(cls: type[Operation], operands: Sequence[SSAValue], properties: Mapping[str, Attribute]) -> SSAValue:
        op = create_op(cls, operands=operands, result_types=[variable.type], properties=properties)
        op.location = place.location
        insert_before(op, place)
        return op.results[0]

    def multiply_add(x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        *product, total = model
        if not product:
            return insert(type(total), (x, y, z), total.properties)
        return insert(type(total), (insert(arith.MulfOp, (x, y), total.properties), z), total.properties)

    terms, power = list(coefficients[:-LOWEST][::-1]), variable
    while len(terms) > 1:
        pairs = [multiply_add(high, power, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) > 1:
            power = insert(arith.MulfOp, (power, power), {"fastmath": NO_FASTMATH})
    (result,) = terms
    for coefficient in coefficients[-LOWEST:]:
        result = multiply_add(result, variable, coefficient)
    replace_uses(place.results[0], result)
    for step in reversed(steps):
        for op in reversed(step):
            erase_op(op)
    return result
