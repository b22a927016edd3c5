"""ragged_dot: a product of slices in which one dimension of lhs is divided into groups of given sizes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Block, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import DotDimensionNumbersAttr, IntArray, Precision, int_list_text, ints, parse_int_lists
from ..numbers.number_semantics import convert, working
from ..op import HloOp, reject
from ..ops.contraction import DotGeneralOp, accumulator_of
from ..ops.elementwise import Kind, check_kind
from ..shapes import dims_agree, shape_text, shapes_agree, verify_results_agree
from ..types import Array, element_of, make_tensor, numpy_dtype, shape_of

_FIELDS = (
    "lhs_batching_dimensions",
    "rhs_batching_dimensions",
    "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
    "lhs_ragged_dimensions",
    "rhs_group_dimensions",
)


@irdl_attr_definition
class ChloPrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """`#chlo<precision DEFAULT>`"""

    name = "chlo.precision"


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(ParametrizedAttribute):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], .., rhs_group_dimensions = [0]>`, without empty lists."""

    name = "chlo.ragged_dot"
    lhs_batching_dimensions: IntArray
    rhs_batching_dimensions: IntArray
    lhs_contracting_dimensions: IntArray
    rhs_contracting_dimensions: IntArray
    lhs_ragged_dimensions: IntArray
    rhs_group_dimensions: IntArray

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return parse_int_lists(parser, _FIELDS)

    def print_parameters(self, printer: Printer) -> None:
        fields = {field: ints(getattr(self, field)) for field in _FIELDS}
        text = ", ".join(f"{name} = {int_list_text(values)}" for name, values in fields.items() if values)
        printer.print_string(f"<{text}>")

    @property
    def dot(self) -> DotDimensionNumbersAttr:
        """The dimension numbers without groups."""
        return DotDimensionNumbersAttr(
            self.lhs_batching_dimensions,
            self.rhs_batching_dimensions,
            self.lhs_contracting_dimensions,
            self.rhs_contracting_dimensions,
        )


class RaggedMode(Enum):
    """The role of lhs's ragged dimension in the product."""

    NON_CONTRACTING = "non-contracting"
    CONTRACTING = "contracting"
    BATCH = "batch"


@irdl_op_definition
class RaggedDotOp(HloOp):
    """
    A dot_general in which the ragged dimension of lhs is divided into g consecutive groups of `group_sizes` indices.

    Non-contracting: rhs has a group dimension of size g; each group of rows is multiplied by its own rhs; rows in no
    group give 0. Contracting: each group is summed separately; the result's first dimension is the groups. Batch: the
    product of the batch elements, which groups do not change.

    Shapes: group_sizes (g), or (.., g) with the dimensions of lhs before the ragged one, of its kind (batching and
    free ones before a free one, batching and contracting ones before a contracting one, batching ones before a
    batching one).
    Raises: VerifyException naming ragged_dot_i3 (group_sizes are integers), ragged_dot_c1 (one ragged dimension, of
    lhs), c2 (group dimensions: one in the first mode, else none), c3 (it is a dimension of rhs, neither batching nor
    contracting), c4 (the shape of group_sizes), c5 (precision_config), c6 (the result's type), and those of
    dot_general.
    """

    name = "chlo.ragged_dot"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    group_sizes = operand_def(TensorType)
    ragged_dot_dimension_numbers = prop_def(RaggedDotDimensionNumbersAttr)
    precision_config = opt_prop_def(ArrayAttr[ChloPrecisionAttr])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def ragged(self) -> int:
        """The ragged dimension of lhs."""
        return ints(self.ragged_dot_dimension_numbers.lhs_ragged_dimensions)[0]

    @property
    def group(self) -> int:
        """The group dimension of rhs."""
        return ints(self.ragged_dot_dimension_numbers.rhs_group_dimensions)[0]

    @property
    def mode(self) -> RaggedMode:
        numbers = self.ragged_dot_dimension_numbers.dot
        if self.ragged in numbers.lhs_contracting:
            return RaggedMode.CONTRACTING
        return RaggedMode.BATCH if self.ragged in numbers.lhs_batching else RaggedMode.NON_CONTRACTING

    @property
    def prefix(self) -> tuple[int, ...]:
        """The dimensions of lhs that match the dimensions of group_sizes before its last one, if it has any."""
        numbers = self.ragged_dot_dimension_numbers.dot
        taken = numbers.lhs_batching + numbers.lhs_contracting
        free = tuple(dim for dim in range(len(shape_of(self.operands[0]))) if dim not in taken)
        before = {
            RaggedMode.BATCH: numbers.lhs_batching,
            RaggedMode.CONTRACTING: numbers.lhs_batching + numbers.lhs_contracting,
            RaggedMode.NON_CONTRACTING: numbers.lhs_batching + free,
        }[self.mode]
        return before[: before.index(self.ragged)]

    def dot_of_operands(self) -> DotGeneralOp:
        """A dot_general of operands like lhs and rhs, in no program, with a group dimension as any other of rhs."""
        block = Block(arg_types=[self.operands[0].type, self.operands[1].type])
        element = element_of(self.results[0] if self.results else self.operands[0])
        properties: dict[str, Attribute] = {"dot_dimension_numbers": self.ragged_dot_dimension_numbers.dot}
        untyped = DotGeneralOp.create(
            operands=block.args, result_types=[make_tensor((), element)], properties=properties
        )
        op = DotGeneralOp.create(operands=block.args, result_types=untyped.infer_types(), properties=properties)
        block.add_ops([untyped, op])
        return op

    @property
    def group_place(self) -> int:
        """The position of rhs's group dimension in the result of `dot`."""
        op = self.dot_of_operands()
        return len(op.dot_dimension_numbers.lhs_batching) + len(op.lhs_free) + op.rhs_free.index(self.group)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = list(shape_of(self.dot_of_operands().results[0]))
        if self.mode is RaggedMode.NON_CONTRACTING:
            del shape[self.group_place]
        elif self.mode is RaggedMode.CONTRACTING:
            shape.insert(0, shape_of(self.operands[2])[-1])
        return (make_tensor(tuple(shape), element_of(self.results[0] if self.results else self.operands[0])),)

    def verify_(self) -> None:
        check_kind("ragged_dot_i3", "group_sizes", self.operands[2], Kind.INTEGER)
        self._verify_dimensions()
        config = self.precision_config
        if config is not None and len(config.data) not in (0, 2):
            reject(f"ragged_dot_c5: precision_config has {len(config.data) if config else 0} entries, expected 2")
        self.dot_of_operands().verify_()
        self._verify_group_sizes()
        verify_results_agree(self, "ragged_dot_c6")

    def _verify_dimensions(self) -> None:
        numbers = self.ragged_dot_dimension_numbers
        ragged, groups = ints(numbers.lhs_ragged_dimensions), ints(numbers.rhs_group_dimensions)
        lhs_rank, rhs_rank = len(shape_of(self.operands[0])), len(shape_of(self.operands[1]))
        if not (len(ragged) == 1 and 0 <= ragged[0] < lhs_rank):
            reject(f"ragged_dot_c1: lhs_ragged_dimensions {ragged} are not one dimension in [0, {lhs_rank})")
        wanted = 1 if self.mode is RaggedMode.NON_CONTRACTING else 0
        if len(groups) != wanted:
            reject(
                f"ragged_dot_c2: there are {len(groups)} group dimensions, expected {wanted} where the ragged "
                f"dimension is a {self.mode.value} one"
            )
        taken = numbers.dot.rhs_batching + numbers.dot.rhs_contracting
        if not all(0 <= dim < rhs_rank and dim not in taken for dim in groups):
            reject(
                f"ragged_dot_c3: rhs_group_dimensions {groups} are not in [0, {rhs_rank}) or are batching or "
                "contracting ones"
            )

    def _verify_group_sizes(self) -> None:
        sizes, lhs = shape_of(self.operands[2]), shape_of(self.operands[0])
        before, last = sizes[:-1], sizes[-1:]
        prefix = tuple(lhs[dim] for dim in self.prefix)
        if not (len(last) == 1 and (not before or shapes_agree(before, prefix))):
            reject(
                f"ragged_dot_c4: group_sizes have shape {shape_text(sizes)}, expected (g) or the dimensions "
                f"{shape_text(prefix)} and g"
            )
        if self.mode is RaggedMode.NON_CONTRACTING:
            groups = shape_of(self.operands[1])[self.group]
            if not dims_agree(last[0], groups):
                reject(f"ragged_dot_c4: there are {last[0]} group sizes, and {groups} groups in rhs")

    def reference(self, *operands: Array) -> Array:
        """A product of slices for each group and each index of the dimensions that group_sizes has before it."""
        lhs, rhs, sizes = operands
        result = numpy_dtype(element_of(self.results[0]))
        assert result is not None, "the element type was checked by the reader"
        left, right, out = self._labels()
        axes: list[str] = ["G", *out] if self.mode is RaggedMode.CONTRACTING else list(out)
        extent = dict(zip((*left, *right, "G"), (*lhs.shape, *rhs.shape, sizes.shape[-1]), strict=True))
        lhs, rhs = working(lhs, wide=False), working(rhs, wide=False)
        compute = accumulator_of((lhs.dtype, rhs.dtype), result)
        total: Any = np.zeros([extent[label] for label in axes], compute)
        equation = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
        if self.mode is RaggedMode.BATCH:
            return convert(np.asarray(np.einsum(equation, lhs.astype(compute), rhs.astype(compute))), result)
        for index in np.ndindex(sizes.shape[:-1]):
            ends = np.cumsum(sizes[index].astype(np.int64))
            for group, (size, end) in enumerate(zip(sizes[index], ends, strict=True)):
                place = {left[dim]: slice(at, at + 1) for dim, at in zip(self.prefix, index, strict=False)}
                place[left[self.ragged]] = slice(max(int(end - size), 0), max(int(end), 0))
                place["G"] = slice(group, group + 1)
                if self.mode is RaggedMode.NON_CONTRACTING:
                    place[right[self.group]] = place["G"]
                parts = (
                    array[tuple(place.get(label, slice(None)) for label in labels)].astype(compute)
                    for array, labels in ((lhs, left), (rhs, right))
                )
                total[tuple(place.get(label, slice(None)) for label in axes)] += np.einsum(equation, *parts)
        return convert(total, result)

    def _labels(self) -> tuple[list[str], list[str], list[str]]:
        """The letters of np.einsum for the dimensions of lhs, rhs and the result without groups."""
        numbers = self.ragged_dot_dimension_numbers.dot
        left = [chr(ord("a") + dim) for dim in range(len(shape_of(self.operands[0])))]
        right = [chr(ord("n") + dim) for dim in range(len(shape_of(self.operands[1])))]
        for ours, theirs in (
            (numbers.lhs_batching, numbers.rhs_batching),
            (numbers.lhs_contracting, numbers.rhs_contracting),
        ):
            for mine, other in zip(ours, theirs, strict=True):
                right[other] = left[mine]
        op = self.dot_of_operands()
        rows = (*numbers.lhs_batching, *op.lhs_free)
        group = self.group if self.mode is RaggedMode.NON_CONTRACTING else None
        out = [left[dim] for dim in rows] + [right[dim] for dim in op.rhs_free if dim != group]
        return left, right, out


OPS = (RaggedDotOp,)
ATTRIBUTES = (ChloPrecisionAttr, RaggedDotDimensionNumbersAttr)
