"""
The meeting point of the devices of one run: each runs in its own thread and waits in a collective for its group.

The last member of a group to arrive computes the results of all, from the operands in place: the others wait, so that
nothing is copied. A thread that fails, ends or waits forever releases all others with an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..types import Array

Arrays: TypeAlias = tuple[Array, ...]
Exchange = Callable[[Sequence[Arrays]], Sequence[Arrays]]
"""The operands of all members of a group, in order, to the results of each; no result shares memory with an operand."""


class DeviceReleased(RuntimeError):
    """Another device, which this one waited for, has failed. The failed device's thread raises the cause."""


class DevicesStuck(RuntimeError):
    """All devices wait for others that never arrive."""


@dataclass(eq=False)
class Device:
    """One device of a run and its state: it runs, waits (`waits_in`, for `group`), or has ended."""

    number: int
    waits_in: str | None = None
    """The name of the collective; the same on all devices."""
    group: tuple[int, ...] = ()
    given: Arrays = ()
    taken: Arrays = ()
    error: BaseException | None = None
    ended: bool = False
    wake: Any = field(default_factory=threading.Lock)
    """Held while the device waits or runs; whoever completes its group releases it."""

    def __post_init__(self) -> None:
        self.wake.acquire()


class DeviceGrid:
    """The devices of one run of a program: device n is partition n % partitions of replica n // partitions."""

    def __init__(self, replicas: int, partitions: int):
        self.replicas = replicas
        self.partitions = partitions
        self.devices = [Device(number) for number in range(replicas * partitions)]
        self._lock = threading.Lock()
        self._failed: BaseException | None = None

    def meet(self, device: Device, what: str, group: tuple[int, ...], given: Arrays, exchange: Exchange) -> Arrays:
        """
        Wait for the devices of `group` in `what`. Returns the results of this device.

        Raises what `exchange` raises, DeviceReleased when another device fails, DevicesStuck when all wait forever.
        """
        with self._lock:
            if self._failed is not None:
                raise DeviceReleased(f"another device has failed: {self._failed}")
            device.waits_in, device.group, device.given = what, group, given
            members = [self.devices[number] for number in group]
            complete = all(member.waits_in == what and member.group == group for member in members)
            if not complete:
                self._look_for_deadlock()
        if complete:
            self._exchange(members, exchange)
        device.wake.acquire()
        if device.error is not None:
            raise device.error
        taken, device.taken = device.taken, ()
        return taken

    def _exchange(self, members: Sequence[Device], exchange: Exchange) -> None:
        """Complete a group whose members all wait, and release them."""
        error: BaseException | None = None
        results: Sequence[Arrays] = ()
        try:
            results = exchange([member.given for member in members])
        except BaseException as raised:
            error = raised
        with self._lock:
            for index, member in enumerate(members):
                if error is None:
                    member.taken = results[index]
                else:
                    member.error = error
                self._release(member)

    @staticmethod
    def _release(device: Device) -> None:
        device.waits_in, device.given = None, ()
        device.wake.release()

    def end(self, device: Device, error: BaseException | None) -> None:
        """The device's thread is done, with `error` if it failed. Release those that wait for it."""
        with self._lock:
            device.ended = True
            if error is not None:
                self._fail(error)
            else:
                self._look_for_deadlock()

    def fail(self, error: BaseException) -> None:
        """End the run: release all devices that wait, now and later."""
        with self._lock:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failed is not None:
            return
        self._failed = error
        for device in self.devices:
            if device.waits_in is not None and not self._completes(device):
                device.error = DeviceReleased(f"another device has failed: {error}")
                self._release(device)

    def _completes(self, device: Device) -> bool:
        """Whether all members of a waiting device's group have arrived, so that the last is about to release it."""
        members = (self.devices[number] for number in device.group)
        return all(member.waits_in == device.waits_in and member.group == device.group for member in members)

    def _look_for_deadlock(self) -> None:
        """Fail when every device that has not ended waits and no group is complete."""
        waiting = [device for device in self.devices if not device.ended]
        if not waiting or any(device.waits_in is None or self._completes(device) for device in waiting):
            return
        lines = [f"device {device.number} waits in {device.waits_in}, group {device.group}" for device in waiting]
        ended = [str(device.number) for device in self.devices if device.ended]
        gone = f"; devices {', '.join(ended)} have ended" if ended else ""
        error = DevicesStuck(f"never ends: {'; '.join(lines)}{gone}")
        self._failed = error
        for device in waiting:
            device.error = error
            self._release(device)


class _Current(threading.local):
    """The device that a thread runs, innermost run last."""

    def __init__(self) -> None:
        self.places: list[tuple[DeviceGrid, Device]] = []


_current = _Current()


@contextmanager
def running_on(grid: DeviceGrid, number: int) -> Generator[None]:
    """The context in which a thread runs as device `number` of a grid."""
    _current.places.append((grid, grid.devices[number]))
    try:
        yield
    finally:
        _current.places.pop()


def current_place() -> tuple[DeviceGrid, Device] | None:
    """The grid and the device that this thread runs, or None."""
    return _current.places[-1] if _current.places else None
