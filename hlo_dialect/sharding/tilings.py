"""
Tilings: which part of an array each device holds, however the program states it.

A tiling cuts each dimension into equal parts (the last ones shorter, or empty) and gives every part to one device, or
to several: as copies, or as summands, whose sum is the part. sdy's shardings, the strings of `mhlo.sharding` and JAX's
OpSharding all denote tilings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..collectives.process_groups import Groups, split_axes
from ..limits import MAX_RANK
from ..protocol_buffers import encode_number, encode_numbers
from ..types import Array
from .attributes import ShardingAttr


@dataclass(frozen=True, eq=False)
class Tiling:
    """Two tilings are equal where every device holds the same part."""

    counts: tuple[int, ...]
    """The number of parts along each dimension."""
    devices: tuple[int, ...]
    """Device numbers, row-major by part, then by summand and then by copy."""
    summands: int = 1
    """The number of partial sums that make up each part (the product of sdy's unreduced axes)."""

    @classmethod
    def replicated(cls, rank: int, devices: int) -> Tiling:
        """The tiling in which every device holds the whole array."""
        return cls((1,) * rank, tuple(range(devices)))

    @property
    def parts(self) -> int:
        return math.prod(self.counts)

    @property
    def copies(self) -> int:
        """The number of devices that hold each part."""
        return len(self.devices) // (self.parts * self.summands)

    @property
    def is_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return self.parts == self.summands == 1

    @property
    def table(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The devices: a dimension for each of the array's, one for summands, and a last one for copies."""
        return np.array(self.devices, np.int64).reshape((*self.counts, self.summands, self.copies))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The part number of each device."""
        places = np.zeros(len(self.devices), np.int64)
        places[list(self.devices)] = np.repeat(np.arange(self.parts), self.summands * self.copies)
        return tuple(places.tolist())

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """The summand number of each device."""
        terms = np.zeros(len(self.devices), np.int64)
        terms[list(self.devices)] = np.tile(np.repeat(np.arange(self.summands), self.copies), self.parts)
        return tuple(terms.tolist())

    @property
    def _identity(self) -> tuple[tuple[int, ...], ...]:
        return self.counts, self.places, self.terms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tiling) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def coordinates(self, dim: int) -> list[int]:
        """The part number of each device along a dimension."""
        return [int(place[dim]) for place in (np.unravel_index(number, self.counts) for number in self.places)]

    def part_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a part; all have the size of the first, the last ones padded."""
        return tuple(-(-size // count) for size, count in zip(shape, self.counts, strict=True))

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether all parts of an array of `shape` have the same size."""
        return all(size % count == 0 for size, count in zip(shape, self.counts, strict=True))

    def split(self, array: Array) -> list[Array]:
        """The part of each device, padded with zeros at the end if it is not full."""
        shape = self.part_shape(array.shape)
        padding = [(0, count * size - full) for count, size, full in zip(self.counts, shape, array.shape, strict=True)]
        if any(high for _, high in padding):
            array = np.pad(array, padding)
        parts = [np.array(array[box], order="C") for box in self._boxes(shape)]
        return [np.zeros_like(part) if term else part for part, term in zip(parts, self.terms, strict=True)]

    def joined(self, parts: Sequence[Array], shape: Sequence[int]) -> Array:
        """The array of `shape` assembled from the devices' parts, summands added; of equal copies, one is used."""
        size = self.part_shape(shape)
        array = np.zeros([count * length for count, length in zip(self.counts, size, strict=True)], parts[0].dtype)
        boxes, used = self._boxes(size), self.table[..., 0].reshape(-1, self.summands)
        for first, *others in used.tolist():
            array[boxes[first]] = parts[first]
            for other in others:
                array[boxes[other]] += parts[other]
        return array[tuple(map(slice, shape))]

    def _boxes(self, shape: Sequence[int]) -> list[tuple[slice, ...]]:
        """The slices of each device's part."""
        places = [self.coordinates(dim) for dim in range(len(shape))]
        return [
            tuple(slice(at[device] * size, (at[device] + 1) * size) for at, size in zip(places, shape, strict=True))
            for device in range(len(self.devices))
        ]

    def groups_along(self, dims: Collection[int]) -> Groups:
        """The groups of devices whose parts differ along `dims` only, each in the order of the parts."""
        table = self.table
        kept = [axis for axis in range(table.ndim) if axis not in dims]
        length = math.prod(self.counts[dim] for dim in dims)
        rows = table.transpose([*kept, *sorted(dims)]).reshape(-1, length)
        return tuple(tuple(int(device) for device in row) for row in rows)

    def derived(self, sources: Sequence[int | None], summed: Sequence[int] = ()) -> Tiling:
        """
        The tiling of an array whose dimension i is cut as dimension `sources[i]` of this one, or not at all.

        Parts along the dimensions `summed` become summands, those along other dimensions that are no source copies.
        """
        table, rank = self.table, len(self.counts)
        used = [*(source for source in sources if source is not None), *summed, rank]
        order = [*used, *(axis for axis in range(table.ndim) if axis not in used)]
        counts = tuple(1 if source is None else self.counts[source] for source in sources)
        summands = self.summands * math.prod(self.counts[dim] for dim in summed)
        return Tiling(counts, tuple(table.transpose(order).reshape(-1).tolist()), summands)

    def summed(self) -> Tiling:
        """The tiling after the summands of each part were added: every device that had a summand has a copy."""
        return self if self.summands == 1 else Tiling(self.counts, self.devices)

    def sum_groups(self, kept: Tiling | None = None) -> Groups:
        """
        The groups of devices whose summands are added; with `kept`, only those that are one summand of that tiling.

        Each device is in one group, together with devices that hold the other summands of its part.
        """
        rows = np.moveaxis(self.table, -2, -1).reshape(-1, self.summands).tolist()
        if kept is None:
            return tuple(tuple(row) for row in rows)
        groups = (
            [device for device in row if kept.terms[device] == term] for row in rows for term in range(kept.summands)
        )
        return tuple(tuple(group) for group in groups)

    # Spellings -----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """In HLO's spelling: `{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}`, `{replicated}`."""
        if self.is_replicated:
            return "{replicated}"
        kinds = [kind for _, kind in self._subgroups]
        last = " last_tile_dim_replicate" if kinds == [_REPLICATED] else ""
        if _UNREDUCED in kinds:
            last = f" last_tile_dims={{{', '.join(_KINDS[kind] for kind in kinds)}}}"
        counts = (*self.counts, *(count for count, _ in self._subgroups))
        return f"{{devices=[{','.join(map(str, counts))}]{','.join(map(str, self.devices))}{last}}}"

    @property
    def _subgroups(self) -> list[tuple[int, int]]:
        """The dimensions that follow those of the array: their sizes, and kinds by OpSharding's numbers."""
        both = ((self.summands, _UNREDUCED), (self.copies, _REPLICATED))
        return [(count, kind) for count, kind in both if count > 1]

    @property
    def op_sharding(self) -> bytes:
        """The serialized `xla.OpSharding`, as `OpSharding.ParseFromString` reads it."""
        if self.is_replicated:
            return b""  # type REPLICATED is 0, which protocol buffers leave out
        counts = (*self.counts, *(count for count, _ in self._subgroups))
        kinds = [kind for _, kind in self._subgroups]
        found = encode_number(1, 3) + encode_numbers(3, counts) + encode_numbers(4, self.devices)  # type OTHER
        if _UNREDUCED in kinds:
            return found + encode_numbers(8, kinds)
        return found + encode_number(6, 1) if kinds else found


_REPLICATED, _UNREDUCED = 0, 6
_KINDS = {_REPLICATED: "replicated", _UNREDUCED: "unreduced"}
"""The kinds of subgroups, by the numbers of `xla.OpSharding.Type`."""


def tiling_of(
    sharding: ShardingAttr, user: Operation, shape: Sequence[int], devices: int, axes: Collection[str] | None = None
) -> Tiling:
    """
    The tiling that a sharding of an array of `shape` states; restricted to the axes `axes` if they are given.

    Raises VerifyException if it does not fit the array or the `devices` of the program.
    """
    mesh = sharding.verify_on(user, shape, "the array")
    sizes = mesh.sizes()
    if not sizes and mesh.numbers() is not None:
        raise VerifyException("an array on one device of several is not supported")
    if not sizes:
        return Tiling.replicated(len(shape), devices)
    numbers = mesh.devices()
    if sorted(numbers.reshape(-1).tolist()) != list(range(devices)):
        raise VerifyException(f"the mesh is of other devices than the {devices} of the program")
    refs = [
        [axis for axis in dimension.axes.data if axes is None or axis.axis_name.data in axes]
        for dimension in sharding.dimensions.data
    ]
    summed = [axis for axis in sharding.unreduced.data if axes is None or axis.axis_name.data in axes]
    pieces, chosen = split_axes(sizes, [*(axis for named in refs for axis in named), *summed])
    others = [piece for piece in range(len(pieces)) if piece not in chosen]
    lengths = iter([pieces[piece] for piece in chosen])
    counts = tuple(math.prod(next(lengths) for _ in named) for named in refs)
    table = numbers.reshape(pieces).transpose([*chosen, *others])
    return Tiling(counts, tuple(table.reshape(-1).tolist()), math.prod(lengths))


_NUMBERS = r"[0-9]{1,18}(?:,[0-9]{1,18})*"
_TILED = re.compile(
    rf"\{{devices=\[(?P<counts>{_NUMBERS})\]"
    rf"(?:<=\[(?P<iota>{_NUMBERS})\](?:T\((?P<order>{_NUMBERS})\))?|(?P<list>{_NUMBERS}))"
    r"(?:(?P<copies> last_tile_dim_replicate)| last_tile_dims=\{(?P<kinds>[a-z, ]+)\})?\}"
)


def parse_tiling(text: str, rank: int, devices: int) -> Tiling | None:
    """
    The tiling in HLO's spelling (`mhlo.sharding`): `{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}`.

    None for `{manual}`. Raises VerifyException for unknown syntax, and for a tiling that does not fit the array and
    devices.
    """
    text = re.sub(r"\s*metadata=\{[^{}]*\}", "", text.strip())
    if text in ("{replicated}", ""):
        return Tiling.replicated(rank, devices)
    if text == "{unreduced}":
        return Tiling((1,) * rank, tuple(range(devices)), devices)
    if text == "{manual}":
        return None
    match = _TILED.fullmatch(text)
    if match is None:
        raise VerifyException(f"the sharding {text} is not supported")

    def numbers(name: str) -> list[int]:
        return [int(number) for number in match[name].split(",")]

    counts = numbers("counts")
    misfit = VerifyException(f"the sharding {text} does not fit an array of {rank} dimensions on {devices} devices")
    if math.prod(counts) != devices:
        raise misfit
    if match["iota"]:
        if math.prod(numbers("iota")) != devices or len(numbers("iota")) > MAX_RANK:
            raise misfit
        iota = np.arange(math.prod(numbers("iota"))).reshape(numbers("iota"))
        order = numbers("order") if match["order"] else list(range(iota.ndim))
        if sorted(order) != list(range(iota.ndim)):
            raise VerifyException(f"the sharding {text} permutes dimensions that its devices do not have")
        listed: list[int] = iota.transpose(order).reshape(-1).tolist()
    else:
        listed = numbers("list")
    kinds = ["replicated"] if match["copies"] else [kind.strip() for kind in (match["kinds"] or "").split(",") if kind]
    if not set(kinds) <= set(_KINDS.values()) or len(set(kinds)) < len(kinds):
        raise VerifyException(f"the sharding {text} is not supported")
    dims, rest = counts[: len(counts) - len(kinds)], counts[len(counts) - len(kinds) :]
    if len(dims) != rank or sorted(listed) != list(range(devices)):
        raise misfit
    if kinds == ["replicated", "unreduced"]:
        listed = np.moveaxis(np.array(listed).reshape(counts), -1, -2).reshape(-1).tolist()
    return Tiling(tuple(dims), tuple(listed), dict(zip(kinds, rest, strict=True)).get("unreduced", 1))
