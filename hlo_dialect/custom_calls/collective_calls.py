"""
Collectives of several devices as calls into the rendezvous of the threads that run the devices.

Attributes: `number` tells the collectives of a program apart, `groups` names devices by their flattened numbers
(rows filled up with -1), `dim`, `concat` and `pairs` are those of the operation, `combiner` the name of a reduction's
operation. decompose-hlo writes them; the results are those of the reference's collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..collectives.base import part_of
from ..collectives.exchanges import chosen_by_roots
from ..ops.elementwise import ElementwiseBinaryOp
from ..ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget
from .rendezvous import Arrays, Device, DeviceGrid, current_place

COMBINERS: dict[str, type[ElementwiseBinaryOp]] = {
    combiner.name: combiner for combiner in (AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp)
}
"""Operations that the runtime reduces with; for others, compiled code reduces the gathered operands."""

NEEDS_DEVICES = "the program is for several devices, each of which needs a thread of its own (hlo-run --num-replicas=N)"


def _place() -> tuple[DeviceGrid, Device]:
    place = current_place()
    if place is None:
        raise RuntimeError(NEEDS_DEVICES)
    return place


def _group(call: CustomCall, device: Device) -> tuple[int, ...] | None:
    """The group that contains the device, if any."""
    for row in call.attributes["groups"].tolist():
        if device.number in row:
            return tuple(number for number in row if number >= 0)
    return None


Rule = Callable[[CustomCall, Sequence[Arrays], tuple[int, ...]], Sequence[Arrays]]
"""(call, operands of each member of a group, the members' numbers) to the results of each."""


def _meeting(rule: Rule) -> Callable[..., Arrays]:
    """The function of a target: it meets the device's group and applies `rule` once for all members."""

    def function(call: CustomCall, *operands: Array) -> Arrays:
        grid, device = _place()
        group = _group(call, device)
        if group is None:
            return tuple(np.zeros(result.shape, result.dtype) for result in call.results)
        what = f"{call.target.partition('.')[2]} number {call.attributes['number']}"
        return grid.meet(device, what, group, operands, lambda inputs: rule(call, inputs, group))

    return function


def _all_gather(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    dim = call.attributes["dim"]
    return [tuple(np.concatenate(arrays, axis=dim) for arrays in zip(*inputs, strict=True))] * len(group)


def _reduced(call: CustomCall, inputs: Sequence[Arrays]) -> list[Array]:
    """The operands folded over the group, by halves, neighbours first; new arrays."""
    reduced: list[Array] = []
    for arrays, type_ in zip(zip(*inputs, strict=True), call.result_types, strict=True):
        combiner = COMBINERS[call.attributes["combiner"]].create(operands=[], result_types=[type_])
        level = list(arrays)
        while len(level) > 1:
            paired = [combiner.reference(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
            level = [*paired, *level[len(level) - len(level) % 2 :]]
        reduced.append(level[0].copy() if len(arrays) == 1 else level[0])
    return reduced


def _all_reduce(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    return [tuple(_reduced(call, inputs))] * len(group)


def _reduce_scatter(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    (whole,) = _reduced(call, inputs)
    return [(part_of(whole, call.attributes["dim"], len(group), index),) for index in range(len(group))]


def _all_to_all(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    split, concat, count = call.attributes["dim"], call.attributes["concat"], len(group)
    return [
        tuple(
            np.concatenate([part_of(array, split, count, index) for array in arrays], axis=concat)
            for arrays in zip(*inputs, strict=True)
        )
        for index in range(count)
    ]


def _broadcast(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    if "has_dynamic_root" not in call.attributes:
        return [tuple(array.copy() for array in inputs[0])] * len(group)
    return [tuple(array.copy() for array in chosen_by_roots(inputs, own[-1])) for own in inputs]


def _permute(call: CustomCall, inputs: Sequence[Arrays], group: tuple[int, ...]) -> Sequence[Arrays]:
    sources = {target: group.index(source) for source, target in call.attributes["pairs"].tolist() if source in group}
    zeros = tuple(map(np.zeros_like, inputs[0]))
    return [
        tuple(array.copy() for array in inputs[sources[number]]) if number in sources else zeros for number in group
    ]


def _replica_id(call: CustomCall) -> Array:
    grid, device = _place()
    return np.asarray(device.number // grid.partitions, np.uint32)


def _partition_id(call: CustomCall) -> Array:
    grid, device = _place()
    return np.asarray(device.number % grid.partitions, np.uint32)


_RULES: tuple[tuple[str, Rule], ...] = (
    ("xhlo.all_gather", _all_gather),
    ("xhlo.all_reduce", _all_reduce),
    ("xhlo.all_to_all", _all_to_all),
    ("xhlo.collective_broadcast", _broadcast),
    ("xhlo.collective_permute", _permute),
    ("xhlo.reduce_scatter", _reduce_scatter),
)

MEETINGS = frozenset(name for name, _ in _RULES)
"""The targets in which devices wait for each other."""

TARGETS = (
    *(CustomCallTarget(name, _meeting(rule), borrows=True) for name, rule in _RULES),
    CustomCallTarget("xhlo.partition_id", _partition_id, borrows=True),
    CustomCallTarget("xhlo.replica_id", _replica_id, borrows=True),
)
