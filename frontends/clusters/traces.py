"""
Traces: the sequences of calls that were recorded, as a tree in which equal beginnings are shared.

A `Step` is a call after those above it. Operands are numbered: the storages that a trace met, in their order, and the
numbers. A call that was recorded before at the same place of the tree is found by one lookup, so nothing of it is made
again; what ran after the last step is remembered there too.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from .calls import ASSIGN, Known
from .storage import Number, Place, Read, Storage

MANY_STEPS = 50_000
"""The number of steps that are remembered."""


class At:
    """An operand: a storage by its number in the trace, all of it or a part."""

    __slots__ = ("place", "slot")

    def __init__(self, slot: int, place: Place | None):
        self.slot = slot
        self.place = place


class NumberAt:
    """An operand: a number by its number in the trace."""

    __slots__ = ("slot",)

    def __init__(self, slot: int):
        self.slot = slot


class Beginning:
    """The facts of the traces that begin with a call at a place of the user's."""

    __slots__ = ("gain", "times")

    def __init__(self) -> None:
        self.gain = 0.0
        """The seconds that their clusters gained over NumPy."""
        self.times = 0
        """The clusters, equal or not, that began there."""


BEGINNINGS: dict[Any, Beginning] = {}
"""By the signatures of first steps."""
_NOWHERE: frozenset[Any] = frozenset()


class Step:
    """A recorded call, after the steps above it."""

    __slots__ = (
        "above", "args", "beginning", "depth", "ends", "facts", "first", "given_up", "is_fast", "is_whole", "key",
        "known", "kwargs", "likely", "next", "reads", "user", "writes",
    )  # fmt: skip

    def __init__(
        self,
        above: Step | None,
        known: Known,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        reads: list[At],
        writes: list[At],
        user: Any,
        is_fast: bool,
    ):
        self.above = above
        self.depth: int = 0 if above is None else above.depth + 1
        self.first: Step = self if above is None or not above.depth else above.first
        """The first step of the trace."""
        self.known = known
        self.args = args
        self.kwargs = kwargs
        """Arguments with `At` and `NumberAt` for the operands, also in lists."""
        self.reads = reads
        self.writes = writes
        self.user = user
        """The user's code, and the instruction in it, where it was first met."""
        self.is_fast = is_fast
        """Whether the next such call needs no look at its elements."""
        plain = is_fast and known.kind == "call" and known.container is None and known.bounds is None
        self.is_whole = plain and known.results[0].order is None
        """Whether its result is one row-major array of which no more is known."""
        self.facts: Any = known.results[0].facts if self.is_whole else None
        """Those of that array."""
        self.key: Any = None
        """The key of the call among the steps that follow the one above."""
        self.likely: Step = self if above is None else ROOT
        """The step that followed last, the one to look at first; the root, which has no key, if there is none."""
        self.next: dict[Any, Step] = {}
        self.ends: dict[Any, Any] = {}
        """The program to run when a trace ends here, by which storages somebody can ask for."""
        self.given_up: Set[Any] = _NOWHERE
        """Places of the user's where it is not recorded, as the first step of a trace."""
        self.beginning: Beginning | None = None
        """The facts of the traces that begin here, if it is a first step."""
        if self.depth == 1:
            self.given_up = _places_given_up(self)
            self.beginning = BEGINNINGS.setdefault(self.signature(), Beginning())
        _steps[0] += 1

    def following(self, key: Any) -> Step | None:
        """The next step of that key."""
        found = self.next.get(key)
        if found is not None:
            self.likely = found
        return found

    def follow(self, key: Any, step: Step) -> None:
        """Add a next step."""
        self.next[key] = self.likely = step
        step.key = key

    def path(self) -> list[Step]:
        """The steps of the trace that ends here."""
        found: list[Step] = []
        step: Step | None = self
        while step is not None and step.depth:
            found.append(step)
            step = step.above
        return found[::-1]

    def result_facts(self) -> Any:
        """The types of its results, or of the array that it writes to."""
        if self.known.kind == "write":
            return None if self.writes[0].place is None else (self.writes[0].place.shape, self.writes[0].place.dtype)
        return tuple([(one.shape, one.dtype) for one in self.known.results])

    def signature(self) -> Any:
        """The user's place, the function, and the types of the results: what it is, wherever in a trace."""
        return self.user, self.known.target, self.result_facts()


_steps = [0]
_given_up: dict[Any, set[Any]] = {}
"""The user's places that are given up, by the calls there: nothing is recorded there unless a trace is under way."""
GIVEN_UP: dict[Any, tuple[int, Any]] = {}
"""
All of them, whatever the calls: by the code's identity and the instruction, the bytes of the largest operand for which
recording lost there, and the code. A call on smaller ones would lose more.
"""
LONG_WAYS: dict[Any, int] = {}
"""How often NumPy ran a call on small arrays at a place of the user's, because it was new or has no compiled form."""

OFTEN = 8
"""How often NumPy runs a call on small arrays at a place until recording is given up there."""


class Origin:
    """A place of the user's where NumPy makes small arrays, which record from then on."""

    __slots__ = ("gains", "losses", "place")

    def __init__(self, place: Any):
        self.place = place
        """The code, and the instruction in it."""
        self.gains = False
        """Whether they take part in clusters that gain time."""
        self.losses = 0
        """How often they came to places where recording is given up."""

    def note_loss(self, storage: Storage) -> None:
        """Let them be NumPy's own if all that is done with them is done by NumPy."""
        self.losses += 1
        if self.losses >= OFTEN and not self.gains:
            storage.origin = None
            code, instruction = self.place
            GIVEN_UP[id(code), instruction] = 0, code


ORIGINS: dict[Any, Origin] = {}
"""By the code's identity and the instruction."""


def origin_of(code: Any, instruction: int) -> Origin:
    found = ORIGINS.get((id(code), instruction))
    if found is None:
        found = ORIGINS[id(code), instruction] = Origin((code, instruction))
    return found


ROOT = Step(None, Known(ASSIGN, "write"), [], {}, [], [], None, False)


def _places_given_up(step: Step) -> set[Any]:
    return _given_up.setdefault((step.known.target, step.result_facts()), set())


def _note_given_up(step: Step, place: Any, storages: Sequence[Storage]) -> None:
    _places_given_up(step).add(place)
    code, instruction = place
    # Its results are not among them where the call is not recorded.
    slots = [at.slot for at in (*step.reads, *step.writes) if at.slot < len(storages)]
    size = max([storages[slot].facts.nbytes for slot in slots], default=0)
    GIVEN_UP[id(code), instruction] = max(size, GIVEN_UP.get((id(code), instruction), (0,))[0]), code


def is_given_up(step: Step, place: Any, storages: Sequence[Storage]) -> bool:
    """
    Whether a first step is not recorded at a place of the user's; nor is it soon where another place gave it up.

    Equal calls at several places are one step, whose gains are those of all places.
    """
    if place in step.given_up:
        return True
    if not step.given_up or step.beginning is None or step.beginning.gain >= 0:
        return False
    code, instruction = place
    times = LONG_WAYS[id(code), instruction] = LONG_WAYS.get((id(code), instruction), 0) + 1
    if times >= OFTEN:
        _note_given_up(step, place, storages)
    return times >= OFTEN


def give_up(last: Step, storages: Sequence[Storage]) -> None:
    """Record no more at the places of a trace on these storages, but for those where traces begin that gain time."""
    for step in last.path():
        begun = BEGINNINGS.get(step.signature())
        if begun is None or begun.gain <= 0:
            _note_given_up(step, step.user, storages)


def forget_if_many() -> None:
    """Forget all traces when there are too many."""
    if _steps[0] > MANY_STEPS:
        forget()


def forget() -> None:
    ROOT.next.clear()
    ROOT.likely = ROOT
    BEGINNINGS.clear()
    _given_up.clear()
    GIVEN_UP.clear()
    ORIGINS.clear()
    LONG_WAYS.clear()
    _steps[0] = 0


@dataclass
class Recorded:
    """A call that was recorded, on its operands."""

    known: Known
    args: list[Any]
    kwargs: dict[str, Any]
    """Arrays in them are `Read`, also in lists; numbers are `Number`."""
    reads: list[Read]
    writes: list[Read]
    place: Any
    """The user's code, and the instruction in it."""


def recorded(last: Step, storages: Sequence[Storage], numbers: Sequence[Number]) -> list[Recorded]:
    """The calls of a trace on these operands."""

    def read(at: At) -> Read:
        return Read(storages[at.slot], at.place)

    def given(value: Any) -> Any:
        kind = type(value)
        if kind is At:
            return read(value)
        if kind is NumberAt:
            return numbers[value.slot]
        if kind is tuple or kind is list:
            return kind([given(item) for item in value])
        return value

    return [
        Recorded(
            step.known,
            [given(one) for one in step.args],
            {name: given(one) for name, one in step.kwargs.items()},
            [read(one) for one in step.reads],
            [read(one) for one in step.writes],
            step.user,
        )
        for step in last.path()
    ]
