"""
The execution plan of a host program: segments of GPU work that do not need the host, and the host's steps between them.

A segment becomes one CUDA graph. It ends where the host needs a value: at a loop, a branch, or a call of a function of
the host program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .host_program import (
    CopyStep,
    HostCallStep,
    LaunchStep,
    LibraryStep,
    Place,
    ReadStep,
    Steps,
    SwitchStep,
    WhileStep,
)


@dataclass(frozen=True)
class EventMark:
    """A timed event, identified by its number in its segment."""

    number: int


Straight = LaunchStep | LibraryStep | CopyStep | ReadStep

Item = Straight | EventMark


@dataclass(frozen=True)
class Timed:
    """The events around one call of a kernel."""

    kernel: str
    start: int
    end: int


class Segment:
    """A sequence of work that is enqueued as a whole. Compared by identity."""

    def __init__(self, items: Sequence[Item], timed: Sequence[Timed] = ()):
        self.items = tuple(items)
        self.timed = tuple(timed)
        self.events = 2 * len(self.timed)
        users: dict[int, list[int]] = {}
        for position, item in enumerate(self.items):
            for slot in {place.slot for place in places(item)}:
                users.setdefault(slot, []).append(position)
        self.slots = tuple(sorted(users))
        """The slots whose addresses it uses."""
        self.users = {slot: tuple(positions) for slot, positions in users.items()}
        """The positions of the items that use a slot."""
        kernels = {item.kernel: None for item in self.items if isinstance(item, LaunchStep | LibraryStep)}
        self.kernels = tuple(kernels)


@dataclass(frozen=True)
class Loop:
    register: int
    first: Part
    again: Part


@dataclass(frozen=True)
class Branch:
    register: int
    cases: dict[int, Part]
    default: Part


Part = tuple[Segment | HostCallStep | Loop | Branch, ...]


def places(item: Item) -> Iterator[Place]:
    """The device addresses that an item uses."""
    match item:
        case LaunchStep() | LibraryStep():
            yield from item.arguments
        case CopyStep():
            yield item.target
            yield item.source
        case ReadStep():
            yield item.place
        case EventMark():
            pass


def plan(steps: Steps, timed: bool) -> Part:
    """Split steps into segments; `timed` adds events around each call of a kernel."""
    parts: list[Segment | HostCallStep | Loop | Branch] = []
    straight: list[Straight] = []

    def close() -> None:
        if straight:
            parts.append(_timed_segment(straight) if timed else Segment(straight))
            straight.clear()

    for step in steps:
        match step:
            case LaunchStep() | LibraryStep() | CopyStep() | ReadStep():
                straight.append(step)
                continue
            case HostCallStep():
                part = step
            case WhileStep():
                part = Loop(step.register, plan(step.first, timed), plan(step.again, timed))
            case SwitchStep():
                cases = {number: plan(case, timed) for number, case in step.cases}
                part = Branch(step.register, cases, plan(step.default, timed))
        close()
        parts.append(part)
    close()
    return tuple(parts)


def _timed_segment(steps: Sequence[Straight]) -> Segment:
    """The segment with an event before the first launch of each call and one after its last."""
    items: list[Item] = []
    timed: list[Timed] = []
    current: tuple[str, int] | None = None
    for step in [*steps, None]:
        call = (step.kernel, step.call) if isinstance(step, LaunchStep | LibraryStep) else None
        if call != current:
            if current is not None:
                items.append(EventMark(timed[-1].end))
            if call is not None:
                timed.append(Timed(call[0], 2 * len(timed), 2 * len(timed) + 1))
                items.append(EventMark(timed[-1].start))
            current = call
        if step is not None:
            items.append(step)
    return Segment(items, timed)
