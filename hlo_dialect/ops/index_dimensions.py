"""
Dimension numbers of gather and scatter: the correspondence between dimensions of the indices, the windows and the
operand.

Both operations relate the elements of a tensor of windows (gather's result, scatter's updates) to elements of an
operand: `operand index = start + batching index + offset in the window`. The attributes only differ in names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NoReturn, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..attributes import IntArray, int_array, int_attr, int_list_text, ints, parse_int_list, parse_struct
from ..op import reject
from ..shapes import DYNAMIC, Shape, dims_agree, repeated, shape_text


@dataclass(frozen=True)
class IndexDimensions:
    """
    The dimension numbers that gather and scatter have in common.

    window: the dimensions of the windows' tensor that are offsets; the others are batch dimensions. collapsed: operand
    dimensions in which windows have no extent; batching: those that correspond to `index_batching` ones. index_map: the
    operand dimension of each component of an index vector, which lies along `vector_dim`.
    """

    window: tuple[int, ...]
    collapsed: tuple[int, ...]
    batching: tuple[int, ...]
    index_batching: tuple[int, ...]
    index_map: tuple[int, ...]
    vector_dim: int

    def batch_shape(self, indices: Sequence[int]) -> tuple[int, ...]:
        """The shape of the indices without the vectors' dimension."""
        return tuple(size for dim, size in enumerate(indices) if dim != self.vector_dim)

    def batch_dims(self, windows_rank: int) -> tuple[int, ...]:
        """The dimensions of the windows' tensor that are not offsets."""
        return tuple(dim for dim in range(windows_rank) if dim not in self.window)

    def offset_dims(self, operand_rank: int) -> tuple[int, ...]:
        """The operand dimensions in which windows extend, in the order of `window`."""
        return tuple(dim for dim in range(operand_rank) if dim not in self.collapsed and dim not in self.batching)

    def combine(self, batch: Sequence[int], offsets: Sequence[int]) -> tuple[int, ...]:
        """The shape of the windows' tensor."""
        batch_sizes, offset_sizes = iter(batch), iter(offsets)
        rank = len(batch) + len(offsets)
        return tuple(next(offset_sizes if dim in self.window else batch_sizes) for dim in range(rank))

    def places(self, operand_rank: int, windows_rank: int) -> tuple[Place, ...]:
        """The sources of the index into each operand dimension."""
        batch, offsets = self.batch_dims(windows_rank), self.offset_dims(operand_rank)
        found: list[Place] = []
        for dim in range(operand_rank):
            component = self.index_map.index(dim) if dim in self.index_map else None
            offset = self.window[offsets.index(dim)] if dim in offsets else None
            along = None
            if dim in self.batching:
                index_dim = self.index_batching[self.batching.index(dim)]
                along = batch[index_dim - (index_dim > self.vector_dim)]
            found.append(Place(component, along, offset))
        return tuple(found)


@dataclass(frozen=True)
class Place:
    """
    The index into one operand dimension, as a sum of the parts that are not None.

    component: the number of an index vector's component; batch, offset: dimensions of the windows' tensor.
    """

    component: int | None
    batch: int | None
    offset: int | None


class _DimensionNumbers(ParametrizedAttribute):
    """Five lists of dimensions and the dimension of the index vectors; empty lists and 0 are not printed."""

    FIELDS: ClassVar[tuple[str, ...]]

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, dimensions: IndexDimensions) -> Any:
        """The attribute of these dimensions, from a cache."""
        d = dimensions
        lists = (d.window, d.collapsed, d.batching, d.index_batching, d.index_map)
        return cls.new([*map(int_array, lists), int_attr(d.vector_dim)])

    @property
    def dimensions(self) -> IndexDimensions:
        facts: dict[str, IndexDimensions] = vars(self)
        found = facts.get("_dimensions")
        if found is None:
            *lists, vector_dim = cast("tuple[Any, ...]", self.parameters)
            window, collapsed, batching, index_batching, index_map = map(ints, lists)
            found = IndexDimensions(window, collapsed, batching, index_batching, index_map, vector_dim.value.data)
            # As functools.cached_property, which xDSL's attributes cannot have, keeps what it computes.
            facts["_dimensions"] = found
        return found

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        lists = dict.fromkeys(cls.FIELDS, lambda: int_array(parse_int_list(parser)))
        found = parse_struct(parser, {**lists, "index_vector_dim": lambda: int_attr(parser.parse_integer())})
        empty, zero = int_array(()), int_attr(0)
        return [*(found.get(field, empty) for field in cls.FIELDS), found.get("index_vector_dim", zero)]

    def print_parameters(self, printer: Printer) -> None:
        *lists, vector_dim = cast("tuple[Any, ...]", self.parameters)
        fields = [
            f"{name} = {int_list_text(ints(values))}"
            for name, values in zip(self.FIELDS, lists, strict=True)
            if len(ints(values))
        ]
        if vector_dim.value.data:
            fields.append(f"index_vector_dim = {vector_dim.value.data}")
        printer.print_string(f"<{', '.join(fields)}>")


@irdl_attr_definition
class GatherDimensionNumbersAttr(_DimensionNumbers):
    """`#hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>`"""

    name = "hlo.gather"
    FIELDS: ClassVar[tuple[str, ...]] = (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
    offset_dims: IntArray
    collapsed_slice_dims: IntArray
    operand_batching_dims: IntArray
    start_indices_batching_dims: IntArray
    start_index_map: IntArray
    index_vector_dim: IntegerAttr[IntegerType]


@irdl_attr_definition
class ScatterDimensionNumbersAttr(_DimensionNumbers):
    """`#hlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], ..>`"""

    name = "hlo.scatter"
    FIELDS: ClassVar[tuple[str, ...]] = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    update_window_dims: IntArray
    inserted_window_dims: IntArray
    input_batching_dims: IntArray
    scatter_indices_batching_dims: IntArray
    scatter_dims_to_operand_dims: IntArray
    index_vector_dim: IntegerAttr[IntegerType]


@dataclass(frozen=True)
class Constraints:
    """The spec's numbers of the constraints on dimension numbers, and the names in their messages."""

    op: str
    operand: str
    indices: str
    windows: str
    fields: tuple[str, ...]
    ranks: int
    vector_dim: int
    map_size: int
    window_order: int
    window_range: int
    unique: int
    collapsed_order: int
    collapsed_range: int
    batching_order: int
    batching_range: int
    index_batching_unique: int
    index_batching_range: int
    not_vector: int
    batching_sizes: int
    batching_shapes: int
    map_unique: int
    map_range: int

    def reject(self, number: int, message: str) -> NoReturn:
        reject(f"{self.op}_c{number}: {message}")


def verify_dimensions(
    rules: Constraints, dims: IndexDimensions, operand: Shape, indices: Shape, windows_rank: int
) -> None:
    """
    Check dimension numbers against the shapes of operand and indices, and the rank of the windows' tensor.

    Raises VerifyException naming the constraint of `rules`.
    """
    _verify_windows(rules, dims, len(operand), windows_rank)
    _verify_batching(rules, dims, operand, indices)
    _verify_index_map(rules, dims, len(operand), indices)


def _in_range(values: Sequence[int], rank: int) -> bool:
    return all(0 <= value < rank for value in values)


def _is_sorted(values: Sequence[int]) -> bool:
    return list(values) == sorted(values)


def _verify_windows(rules: Constraints, dims: IndexDimensions, rank: int, windows_rank: int) -> None:
    window, collapsed, batching, _, _ = rules.fields
    total = len(dims.window) + len(dims.collapsed) + len(dims.batching)
    if rank != total:
        rules.reject(
            rules.ranks,
            f"{rules.operand} has rank {rank}, but {window}, {collapsed} and {batching} have {total} entries",
        )
    if not (_is_sorted(dims.window) and not repeated(dims.window)):
        rules.reject(rules.window_order, f"{window} {dims.window} is not sorted and unique")
    if not _in_range(dims.window, windows_rank):
        rules.reject(
            rules.window_range, f"{window} {dims.window} is not in [0, {windows_rank}), the rank of {rules.windows}"
        )
    if repeated((*dims.collapsed, *dims.batching)):
        rules.reject(rules.unique, f"{collapsed} {dims.collapsed} and {batching} {dims.batching} are not unique")
    if not _is_sorted(dims.collapsed):
        rules.reject(rules.collapsed_order, f"{collapsed} {dims.collapsed} is not sorted")
    if not _in_range(dims.collapsed, rank):
        rules.reject(rules.collapsed_range, f"{collapsed} {dims.collapsed} is not in [0, {rank})")
    if not _is_sorted(dims.batching):
        rules.reject(rules.batching_order, f"{batching} {dims.batching} is not sorted")
    if not _in_range(dims.batching, rank):
        rules.reject(rules.batching_range, f"{batching} {dims.batching} is not in [0, {rank})")


def _verify_batching(rules: Constraints, dims: IndexDimensions, operand: Shape, indices: Shape) -> None:
    _, _, batching, index_batching, _ = rules.fields
    own, theirs = dims.batching, dims.index_batching
    if repeated(theirs):
        rules.reject(rules.index_batching_unique, f"{index_batching} {theirs} is not unique")
    if not _in_range(theirs, len(indices)):
        rules.reject(
            rules.index_batching_range,
            f"{index_batching} {theirs} is not in [0, {len(indices)}), the rank of {rules.indices}",
        )
    if dims.vector_dim in theirs:
        rules.reject(rules.not_vector, f"{index_batching} {theirs} contains index_vector_dim {dims.vector_dim}")
    if len(own) != len(theirs):
        rules.reject(rules.batching_sizes, f"{batching} has {len(own)} entries, {index_batching} {len(theirs)}")
    first = tuple(operand[dim] for dim in own)
    second = tuple(indices[dim] for dim in theirs)
    if not all(map(dims_agree, first, second)):
        rules.reject(
            rules.batching_shapes,
            f"batching dimensions of {rules.operand} have sizes {shape_text(first)}, those of {rules.indices} "
            f"{shape_text(second)}",
        )


def _verify_index_map(rules: Constraints, dims: IndexDimensions, rank: int, indices: Shape) -> None:
    _, _, batching, _, index_map = rules.fields
    if not (0 <= dims.vector_dim <= len(indices)):
        rules.reject(
            rules.vector_dim,
            f"index_vector_dim {dims.vector_dim} is not in [0, {len(indices)}], the rank of {rules.indices}",
        )
    size = indices[dims.vector_dim] if dims.vector_dim < len(indices) else 1
    if size not in (DYNAMIC, len(dims.index_map)):
        rules.reject(
            rules.map_size, f"{index_map} has {len(dims.index_map)} entries for index vectors of {size} components"
        )
    if repeated((*dims.index_map, *dims.batching)):
        rules.reject(rules.map_unique, f"{index_map} {dims.index_map} and {batching} {dims.batching} are not unique")
    if not _in_range(dims.index_map, rank):
        rules.reject(rules.map_range, f"{index_map} {dims.index_map} is not in [0, {rank})")
