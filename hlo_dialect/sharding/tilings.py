"""
Tilings: which part of an array each device holds, however the program states it.

A tiling cuts each dimension into equal parts (the last ones shorter, or empty) and gives every part to one device, or
to several as copies. sdy's shardings, the strings of `mhlo.sharding` and JAX's OpSharding all denote tilings.
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
from ..types import Array
from .attributes import ShardingAttr


@dataclass(frozen=True, eq=False)
class Tiling:
    """Two tilings are equal where every device holds the same part."""

    counts: tuple[int, ...]
    """The number of parts along each dimension."""
    devices: tuple[int, ...]
    """Device numbers, row-major by part and then by copy."""

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
        return len(self.devices) // self.parts

    @property
    def is_replicated(self) -> bool:
        return self.parts == 1

    @property
    def table(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The devices: a dimension for each of the array's, and a last one for copies."""
        return np.array(self.devices, np.int64).reshape((*self.counts, self.copies))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The part number of each device."""
        places = np.zeros(len(self.devices), np.int64)
        places[list(self.devices)] = np.repeat(np.arange(self.parts), self.copies)
        return tuple(places.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tiling) and self.counts == other.counts and self.places == other.places

    def __hash__(self) -> int:
        return hash((self.counts, self.places))

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
        return [np.array(array[box], order="C") for box in self._boxes(shape)]

    def joined(self, parts: Sequence[Array], shape: Sequence[int]) -> Array:
        """The array of `shape` assembled from the devices' parts; of equal copies, one is used."""
        size = self.part_shape(shape)
        array = np.empty([count * length for count, length in zip(self.counts, size, strict=True)], parts[0].dtype)
        for box, part in zip(self._boxes(size), parts, strict=True):
            array[box] = part
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

    def derived(self, sources: Sequence[int | None]) -> Tiling:
        """
        The tiling of an array whose dimension i is cut as dimension `sources[i]` of this one, or not at all.

        Parts along dimensions that are no source become copies.
        """
        used = [source for source in sources if source is not None]
        table = self.table
        order = [*used, *(axis for axis in range(table.ndim) if axis not in used)]
        counts = tuple(1 if source is None else self.counts[source] for source in sources)
        return Tiling(counts, tuple(table.transpose(order).reshape(-1).tolist()))

    # Spellings -----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """In HLO's spelling: `{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}`, `{replicated}`."""
        if self.is_replicated:
            return "{replicated}"
        counts = self.counts if self.copies == 1 else (*self.counts, self.copies)
        last = " last_tile_dim_replicate" if self.copies > 1 else ""
        return f"{{devices=[{','.join(map(str, counts))}]{','.join(map(str, self.devices))}{last}}}"

    @property
    def op_sharding(self) -> bytes:
        """The serialized `xla.OpSharding`, as `OpSharding.ParseFromString` reads it."""
        if self.is_replicated:
            return b""  # type REPLICATED is 0, which protocol buffers leave out
        counts = self.counts if self.copies == 1 else (*self.counts, self.copies)
        found = _field(1, 3) + _packed(3, counts) + _packed(4, self.devices)  # type OTHER
        return found + _field(6, 1) if self.copies > 1 else found


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 128:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _packed(number: int, values: Sequence[int]) -> bytes:
    data = b"".join(map(_varint, values))
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def tiling_of(
    sharding: ShardingAttr, user: Operation, shape: Sequence[int], devices: int, axes: Collection[str] | None = None
) -> Tiling:
    """
    The tiling that a sharding of an array of `shape` states; restricted to the axes `axes` if they are given.

    Raises VerifyException if it does not fit the array or the `devices` of the program.
    """
    mesh = sharding.verify_on(user, shape, "the array")
    sizes = mesh.sizes()
    if sharding.unreduced.data:
        raise VerifyException("partial sums that are not reduced yet (unreduced axes) are not supported")
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
    flat = [axis for named in refs for axis in named]
    pieces, chosen = split_axes(sizes, flat)
    others = [piece for piece in range(len(pieces)) if piece not in chosen]
    lengths = iter([pieces[piece] for piece in chosen])
    counts = tuple(math.prod(next(lengths) for _ in named) for named in refs)
    return Tiling(counts, tuple(numbers.reshape(pieces).transpose([*chosen, *others]).reshape(-1).tolist()))


_TILED = re.compile(
    r"\{devices=\[(?P<counts>[0-9,]+)\]"
    r"(?:<=\[(?P<iota>[0-9,]+)\](?:T\((?P<order>[0-9,]+)\))?|(?P<list>[0-9,]+))"
    r"(?P<copies> last_tile_dim_replicate)?\}"
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
        if math.prod(numbers("iota")) != devices:
            raise misfit
        iota = np.arange(math.prod(numbers("iota"))).reshape(numbers("iota"))
        order = numbers("order") if match["order"] else list(range(iota.ndim))
        if sorted(order) != list(range(iota.ndim)):
            raise VerifyException(f"the sharding {text} permutes dimensions that its devices do not have")
        listed: list[int] = iota.transpose(order).reshape(-1).tolist()
    else:
        listed = numbers("list")
    dims = counts[:-1] if match["copies"] else counts
    if len(dims) != rank or sorted(listed) != list(range(devices)):
        raise misfit
    return Tiling(tuple(dims), tuple(listed))
