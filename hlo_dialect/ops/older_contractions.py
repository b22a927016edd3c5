"""
Contractions superseded by dot_general: dot, einsum, unary_einsum. decompose-hlo replaces them.

The specification names them without a section; the semantics are those of StableHLO's own conversions.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attributes import DotDimensionNumbersAttr, PrecisionAttr
from ..numbers.number_semantics import convert, working
from ..op import HloOp, reject
from ..shapes import dims_agree, merge_dim, verify_results_agree
from ..syntax.keywords import Keyword, KeywordOp, text
from ..types import Array, element_of, make_tensor, numpy_dtype, shape_of
from .contraction import accumulator_of, parse_precision, precision_text, summable


@irdl_op_definition
class DotOp(KeywordOp):
    """
    The product of two matrices, a matrix and a vector, or two vectors: the last dimension of lhs with the first of rhs.

    Shapes: (m, k) and (k, n) to (m, n), where m and n are optional.
    Raises: VerifyException naming dot_ranks, dot_sizes, dot_precision, dot_types, dot_result.
    Spec:   https://openxla.org/stablehlo/spec (without a section of its own)
    """

    name = "hlo.dot"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (Keyword("precision", "precision_config", parse_precision, precision_text, optional=True),)

    @property
    def dot_dimension_numbers(self) -> DotDimensionNumbersAttr:
        """The dimensions that the same dot_general contracts."""
        return DotDimensionNumbersAttr.of(lhs_contracting=[len(shape_of(self.operands[0])) - 1], rhs_contracting=[0])

    def infer_types(self) -> tuple[Attribute, ...]:
        lhs, rhs = shape_of(self.operands[0]), shape_of(self.operands[1])
        if len(lhs) not in (1, 2) or len(rhs) not in (1, 2):
            reject(f"dot_ranks: operands have ranks {len(lhs)} and {len(rhs)}, expected 1 or 2")
        if not dims_agree(lhs[-1], rhs[0]):
            reject(f"dot_sizes: the last dimension of lhs has size {lhs[-1]}, the first of rhs {rhs[0]}")
        return (make_tensor((*lhs[:-1], *rhs[1:]), element_of(self.results[0] if self.results else self.operands[0])),)

    def verify_(self) -> None:
        config = self.precision_config
        if config is not None and len(config.data) not in (0, 2):
            reject(f"dot_precision: precision_config has {len(config.data) if config else 0} entries, expected 2")
        _check_element_types(self, "dot_types")
        verify_results_agree(self, "dot_result")

    def reference(self, *operands: Array) -> Array:
        return _summed(self, operands, np.dot)


def _check_element_types(op: HloOp, constraint: str) -> None:
    elements = [element_of(operand) for operand in op.operands]
    if not summable(*elements):
        reject(f"{constraint}: operands have element types {' and '.join(map(str, elements))}")


def _summed(op: HloOp, operands: Sequence[Array], compute: Callable[..., Any]) -> Array:
    """The result of `compute` on operands in the type to sum in, rounded to the result's type."""
    result = numpy_dtype(element_of(op.results[0]))
    assert result is not None, "the element type was checked by the reader"
    arrays = [working(operand, wide=False) for operand in operands]
    total = accumulator_of([array.dtype for array in arrays], result)
    return convert(np.asarray(compute(*(array.astype(total) for array in arrays))).astype(total), result)


# -- einsum ----------------------------------------------------------------------------------------

Labels = tuple[str, ...]
"""A label for each dimension: a letter, or `.0`, `.1`, .. for those of an ellipsis."""


@dataclass(frozen=True)
class Equation:
    """A parsed configuration of an einsum."""

    inputs: tuple[Labels, ...]
    output: Labels

    def text(self) -> str:
        """The configuration for `numpy.einsum`: one letter per label."""
        letters: dict[str, str] = {}
        used = {label for labels in (*self.inputs, self.output) for label in labels}
        free = iter(letter for letter in string.ascii_letters if letter not in used)

        def letter_of(label: str) -> str:
            if len(label) == 1:
                return label
            if label not in letters:
                letters[label] = next(free)
            return letters[label]

        words = ["".join(map(letter_of, labels)) for labels in (*self.inputs, self.output)]
        return f"{','.join(words[:-1])}->{words[-1]}"


def parse_equation(config: str, ranks: Sequence[int]) -> Equation:
    """
    `ab,bc->ac` for operands of these ranks. An ellipsis denotes the dimensions without other labels, aligned at the
    end.

    Raises VerifyException.
    """
    text = config.replace(" ", "")
    sources, arrow, target = text.partition("->")
    words = sources.split(",")
    if not arrow or len(words) != len(ranks):
        raise VerifyException(
            f"einsum_config: '{config}' is not of the form {'ab,bc->ac' if len(ranks) == 2 else 'ab->a'}"
        )
    hidden = 0
    inputs: list[Labels] = []
    for word, rank in zip(words, ranks, strict=True):
        before, dots, after = _split_ellipsis(word, config)
        count = rank - len(before) - len(after)
        if not (count == 0 or (count > 0 and dots)):
            reject(f"einsum_config: '{word}' names the dimensions of an operand of rank {rank}")
        hidden = max(hidden, count)
        inputs.append((*before, *(f".{count - 1 - i}" for i in range(count)), *after))
    before, dots, after = _split_ellipsis(target, config)
    output = (*before, *(f".{hidden - 1 - i}" for i in range(hidden if dots else 0)), *after)
    known = {label for labels in inputs for label in labels}
    if not (len(set(output)) == len(output) and all(label in known for label in output)):
        reject(f"einsum_config: the labels of the result of '{config}' are not labels of operands, each once")
    return Equation(tuple(inputs), output)


def _split_ellipsis(word: str, config: str) -> tuple[str, bool, str]:
    before, dots, after = word.partition("...")
    if not all(letter in string.ascii_letters for letter in before + after):
        reject(f"einsum_config: '{config}' has labels that are not letters")
    return before, bool(dots), after


class EinsumBase(KeywordOp):
    """The base of einsum and unary_einsum."""

    einsum_config = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (text("config", "einsum_config"),)

    @property
    def equation(self) -> Equation:
        """Raises VerifyException naming einsum_config."""
        return parse_equation(self.einsum_config.data, [len(shape_of(operand)) for operand in self.operands])

    def infer_types(self) -> tuple[Attribute, ...]:
        equation = self.equation
        sizes: dict[str, int] = {}
        for labels, operand in zip(equation.inputs, self.operands, strict=True):
            for label, size in zip(labels, shape_of(operand), strict=True):
                known = sizes.get(label, size)
                if not dims_agree(known, size):
                    reject(f"einsum_sizes: dimensions with the label '{label}' have sizes {known} and {size}")
                sizes[label] = merge_dim(known, size)
        element = element_of(self.results[0] if self.results else self.operands[0])
        return (make_tensor(tuple(sizes[label] for label in equation.output), element),)

    def verify_(self) -> None:
        _check_element_types(self, "einsum_types")
        verify_results_agree(self, "einsum_result")

    def reference(self, *operands: Array) -> Array:
        return _summed(self, operands, partial(np.einsum, self.equation.text()))


@irdl_op_definition
class EinsumOp(EinsumBase):
    """
    Products of elements summed over the labels that the result lacks: `config = "ab,bc->ac"`.

    A label that occurs twice in an operand selects its diagonal.
    Raises: VerifyException naming einsum_config, einsum_sizes, einsum_types, einsum_result.
    Spec:   https://openxla.org/stablehlo/spec (without a section of its own)
    """

    name = "hlo.einsum"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)


@irdl_op_definition
class UnaryEinsumOp(EinsumBase):
    """
    Elements summed over the labels that the result lacks, and the others transposed: `config = "ab->b"`.

    Raises: VerifyException naming einsum_config, einsum_sizes, einsum_types, einsum_result.
    Spec:   https://openxla.org/stablehlo/spec (without a section of its own)
    """

    name = "hlo.unary_einsum"
    operand = operand_def(TensorType)


OPS = (DotOp, EinsumOp, UnaryEinsumOp)
