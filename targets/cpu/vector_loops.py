"""
The loops of functions that are written in vectors, such as micro-kernels, in a form that LLVM only has to translate.

Most of LLVM's time for such a function is the analysis of its induction variables, which leads to one addition for each
stream, and the unrolling of its loop. Both are written down here instead: an innermost loop has a pointer for each
stream, and the steps that a mark asks for. The pointers go through an empty piece of assembly, which is no instruction:
LLVM does not look through it, and leaves the addresses as they are.

This reads the text of `targets/llvm_text`, whose instructions have a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .index_sums import ARITHMETIC, Sum, Values, growth, plus, sums_of, times

MOST_POINTERS = 6
"""Pointers of a loop: more of them do not fit the registers, beside distances."""

MOST_DISTANCES = 7
"""Values by which addresses are apart from a pointer: a loop of three pointers and a counter has registers for them."""

DEEP, LONG, FEW = 3, 100, 4
"""
Nests of as many loops whose innermost one has fewer lines, and more instructions for its first addresses, are left to
LLVM, which moves what addresses need out of the outer loops.
"""

WHOLLY = -1
"""The mark of loops that are unrolled wholly, which is left to LLVM."""

_MARK = re.compile(r'^(!\d+) = !\{!"llvm\.loop\.unroll\.(count|full)"(?:, i32 (\d+))?\}$', re.M)
_LOOP_NODE = re.compile(r"^(!\d+) = distinct !\{\1((?:, !\d+)*)\}$", re.M)
_FUNCTION = re.compile(r"^(define .*\{\n)((?:.*\n)*?)(\}\n)", re.M)
_LABEL = re.compile(r"^(\w+):\n", re.M)
_NAME = re.compile(r"%[\w.]+")
_NAMES = re.compile(f"({_NAME.pattern})")
_PHI = re.compile(r"  (%[\w.]+) = phi (.+?) \[ (.+?), %([\w.]+) \], \[ (.+?), %([\w.]+) \]$")
_BRANCH = re.compile(r"^  br i1 (%[\w.]+), label %([\w.]+), label %([\w.]+)(?:, !llvm\.loop (!\d+))?\n", re.M)
_COMPARED = re.compile(r"  (%[\w.]+) = icmp slt i64 (%[\w.]+), (\S+)$")
_STEP = re.compile(r"  (%[\w.]+) = add (?:nuw |nsw )*i64 (%[\w.]+), (\d+)$")
_ADDRESS = re.compile(r"  (%[\w.]+) = getelementptr (?:inbounds )?([^,]+), ptr (%[\w.]+), i64 (%[\w.]+)$")
_ACTING = ("store ", "fence ", "call ", "tail call ", "atomicrmw ", "cmpxchg ")
"""The beginnings of instructions that do more than compute a result."""


def written_out(text: str) -> str | None:
    """
    The same functions with the steps of all innermost loops written out; None if some loop is of another form, and
    the text is for the optimizer.
    """
    marks = {number: WHOLLY if kind == "full" else int(count) for number, kind, count in _MARK.findall(text)}
    counts = dict[str, int]()
    for node, parts in _LOOP_NODE.findall(text):
        found = [marks.get(part, 0) for part in parts.split(", ") if part]
        counts[node] = WHOLLY if WHOLLY in found else max(found, default=0)
    functions = [
        (match, _written_function(match[2], set(_NAME.findall(match[1])), counts)) for match in _FUNCTION.finditer(text)
    ]
    if any(body is None for _, body in functions):
        return None
    result, end = list[str](), 0
    for match, body in functions:
        result += text[end : match.start(2)], body or ""
        end = match.end(2)
    return "".join((*result, text[end:]))


def _written_function(body: str, arguments: set[str], counts: Mapping[str, int]) -> str | None:
    first, *parts = _LABEL.split(body)
    blocks = dict(zip(parts[::2], parts[1::2], strict=True))
    branches = {label: match for label, text in blocks.items() if (match := _BRANCH.search(text)) is not None}
    depths = _depths(blocks, branches)
    if depths is None:
        return None
    values = Values(arguments)
    named = {label: set(_NAME.findall(text)) for label, text in blocks.items()}
    for label in [label for label, branch in branches.items() if branch[2] == label]:
        loop = _loop_of(label, blocks[label], branches[label], counts, values)
        outside = [names for other, names in named.items() if other != label]
        if loop is None or not all(map(loop.inner_names.isdisjoint, outside)):
            return None
        if depths[label] >= DEEP and blocks[label].count("\n") < LONG and len(loop.first_places) > FEW:
            return None
        for other, text in blocks.items():
            blocks[other] = loop.text() if other == label else text.replace(f", %{label} ]", f", %{loop.end} ]")
    start, *_ = blocks
    blocks[start] = "".join(f"{line}\n" for line in values.lines) + blocks[start]
    return first + "".join(f"{label}:\n{text}" for label, text in blocks.items())


def _depths(blocks: Mapping[str, str], branches: Mapping[str, re.Match[str]]) -> dict[str, int] | None:
    """
    By how many loops, itself among them, each loop of one block is surrounded; None if some loop of several blocks has
    none of those inside, which have most of the work, or has a mark.
    """
    numbers = {label: number for number, label in enumerate(blocks)}
    ranges = [(numbers[branch[2]], numbers[label], branch[4]) for label, branch in branches.items()]
    alone = {label: numbers[label] for label, branch in branches.items() if branch[2] == label}
    around = [each for each in ranges if each[0] < each[1]]
    for first, last, mark in around:
        if mark or not any(first <= number <= last for number in alone.values()):
            return None
    return {label: 1 + sum(first <= number <= last for first, last, _ in around) for label, number in alone.items()}


@dataclass(frozen=True)
class Phi:
    """A value that iterations hand on."""

    name: str
    type: str
    start: str
    next: str


@dataclass(frozen=True)
class Stream:
    """Addresses that grow by the same in every iteration, and what they are apart by."""

    name: str
    """The first of them."""
    element: str
    base: str
    index: str
    step: str
    """A number of elements, or the name of a value."""
    others: Sequence[tuple[str, str, int]]
    """Names, and what they are beyond the first: a value and a number of elements."""
    advances: Sequence[str] = ()
    """
    The growth of the first address in 1, 2, .. iterations, where the instructions that read and write add it: all other
    distances are numbers.
    """

    @property
    def stays(self) -> bool:
        return self.step == "0"


def _loop_of(label: str, text: str, branch: re.Match[str], counts: Mapping[str, int], values: Values) -> Loop | None:
    """The loop of one block; None if its mark or its counter is of another form."""
    count = counts.get(branch[4], WHOLLY) if branch[4] else 0
    if count == WHOLLY:
        return None
    lines = text[: branch.start()].splitlines()
    matches = [match for line in lines if (match := _PHI.match(line)) is not None]
    phis = [Phi(match[1], match[2], match[3], match[5]) for match in matches if match[6] == label]
    code = lines[len(matches) :]
    compared = next((match for line in code if (match := _COMPARED.match(line)) and match[1] == branch[1]), None)
    step = next((match for line in code if compared and (match := _STEP.match(line)) and match[1] == compared[2]), None)
    if compared is None or step is None or len(phis) != len(matches):
        return None
    counter = next((phi for phi in phis if phi.name == step[2] and phi.next == step[1]), None)
    if counter is None or (count > 1 and step[3] != "1") or count & (count - 1):
        return None
    code = [line for line in code if line not in (compared[0], step[0])]
    others = [phi for phi in phis if phi is not counter]
    loop = Loop(label, branch[3], counter, others, code, compared[3], int(step[3]), max(count, 1), values)
    return loop if loop.is_regular else None


@dataclass(frozen=True)
class Loop:
    """A loop of one block, which counts to a bound. It becomes several blocks, the first of which has its label."""

    label: str
    after: str
    """The block that follows the loop."""
    counter: Phi
    others: Sequence[Phi]
    code: Sequence[str]
    """The instructions without phis and counting."""
    bound: str
    by: int
    """The counter's step."""
    steps: int
    """The iterations that become one."""
    values: Values

    @cached_property
    def inside(self) -> set[str]:
        """The names that the code defines."""
        return _defined(self.code)

    @cached_property
    def inner_names(self) -> set[str]:
        """The names that mean nothing outside of the loop."""
        phis = {phi.name for phi in (self.counter, *self.others)}
        return (self.inside | phis | {self.counter.next}) - {phi.next for phi in self.others}

    @property
    def is_regular(self) -> bool:
        """Whether iterations hand on what they compute, and few pointers lead to all that they read and write."""
        following = {phi.next for phi in self.others}
        handed_on = len(following) == len(self.others) and self.inside.issuperset(following)
        used = {self.bound, *(name for line in self.code for name in _NAME.findall(line))}
        counts_alone = self.counter.next not in used and self.bound not in self.inner_names | following
        return handed_on and counts_alone and self.streams is not None and len(self.streams) <= MOST_POINTERS

    @cached_property
    def streams(self) -> list[Stream] | None:
        """The loop's addresses; None if some do not grow evenly."""
        phis = {phi.name for phi in self.others}
        sums = sums_of(self.code, self.inside | phis)
        groups = dict[tuple[str, str, str], list[tuple[re.Match[str], Sum]]]()
        totals = dict[str, Sum]()
        for line in self.code:
            match = _ADDRESS.match(line)
            if match is None or match[3] in self.inside:
                continue
            index = sums.get(match[4], {(match[4],): 1})
            if index is None:
                continue  # a place that the loop finds, and not by counting
            step = None if match[3] in phis else growth(index, self.counter.name)
            total = None if step is None else times(step, {(): self.by})
            if total is None or not self.values.has(total):
                return None
            totals[self.values.name(total)] = total
            groups.setdefault((match[2], match[3], self.values.name(total)), []).append((match, index))
        return [stream for key, found in groups.items() for stream in self._apart(*key, found, totals[key[2]])]

    def _apart(
        self, element: str, base: str, step: str, found: Sequence[tuple[re.Match[str], Sum]], total: Sum
    ) -> Iterator[Stream]:
        """One stream for addresses whose distances do not change, as far as the function's arguments state them."""
        while found:
            first, index = found[0]
            distances = [(match, other, plus(other, index, -1)) for match, other in found[1:]]
            others, left, values = list[tuple[str, str, int]](), list[tuple[re.Match[str], Sum]](), {"0"}
            for match, other, apart in distances:
                rest = {product: number for product, number in apart.items() if product}
                value = self.values.name(rest) if self.values.has(rest) else None
                if value is None or len(values | {value}) > 1 + MOST_DISTANCES:
                    left.append((match, other))
                else:
                    values.add(value)
                    others.append((match[1], value, apart.get((), 0)))
            advances = list[str]()
            if step.startswith("%") and values == {"0"} and first[1] not in self._bases:
                advances = [self.values.name(plus({}, total, count + 1)) for count in range(self.steps)]
            yield Stream(first[1], element, base, first[4], step, others, advances)
            found = left

    @cached_property
    def _bases(self) -> set[str]:
        """The addresses from which the loop computes others."""
        return {match[3] for line in self.code if (match := _ADDRESS.match(line)) is not None}

    @cached_property
    def _carried(self) -> list[tuple[str, str]]:
        """Names and types of what iterations hand on: the counter only if they compute with it."""
        values = [(phi.name, phi.type) for phi in self.others]
        uses = any(self.counter.name in _NAME.findall(line) for line in self._steps_code)
        counter = [(self.counter.name, self.counter.type)] if uses else []
        return [*values, *((stream.name, "ptr") for stream in self.streams or () if not stream.stays), *counter]

    @cached_property
    def _steps_code(self) -> list[str]:
        """The instructions of a step, without those of addresses."""
        addresses = {
            name for stream in self.streams or () for name in (stream.name, *(each[0] for each in stream.others))
        }
        return _live([line for line in self.code if _name_of(line) not in addresses], {phi.next for phi in self.others})

    @cached_property
    def _renamed_names(self) -> set[str]:
        """The names that each step has of its own."""
        return self.inside.union(name for name, _ in self._carried)

    # The lines that take the place of the loop.

    @property
    def end(self) -> str:
        """The block that ends the loop. What iterations hand on has its old names there."""
        return f"{self.label}.{'all' if self._is_even else 'done'}"

    @property
    def _is_even(self) -> bool:
        """Whether no step is left after those that are taken together."""
        if self.steps == 1 or self.bound.startswith("%") or self.counter.start.startswith("%"):
            return self.steps == 1
        return (int(self.bound) - int(self.counter.start)) % self.steps == 0

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from self._first_addresses()
        label, number, start = self.label, f"%{self.label}", self.counter.start
        starts = {phi.name: phi.start for phi in self.others} | {self.counter.name: start}
        starts |= {stream.name: f"{stream.name}.start" for stream in self.streams or ()}
        yield f"  {number}.size = sub i64 {self.bound}, {start}"
        if self._is_even:
            yield f"  br label {number}.all"
            yield from self._rounds("all", label, starts, self.steps, f"{number}.size", self.after)
            return
        yield f"  {number}.whole = and i64 {number}.size, {-self.steps}"
        yield f"  {number}.left = and i64 {number}.size, {self.steps - 1}"
        yield f"  {number}.some = icmp ne i64 {number}.whole, 0"
        yield f"  br i1 {number}.some, label {number}.most, label {number}.between"
        yield from self._rounds("most", label, starts, self.steps, f"{number}.whole", f"{label}.between")
        yield f"{label}.between:"
        for name, type_ in self._carried:
            edges = f"[ {starts[name]}, {number} ], [ {name}.most{self.steps}, {number}.most ]"
            yield f"  {name}.between = phi {type_} {edges}"
        yield f"  {number}.any = icmp ne i64 {number}.left, 0"
        yield f"  br i1 {number}.any, label {number}.rest, label {number}.done"
        between = {name: f"{name}.between" for name, _ in self._carried}
        yield from self._rounds("rest", f"{label}.between", between, 1, f"{number}.left", f"{label}.done")
        yield f"{label}.done:"
        for phi in self.others:
            edges = f"[ {phi.name}.between, {number}.between ], [ {phi.name}.rest1, {number}.rest ]"
            yield f"  {phi.next} = phi {phi.type} {edges}"
        yield f"  br label %{self.after}"

    @cached_property
    def first_places(self) -> list[str]:
        """The instructions that the first addresses need."""
        arithmetic = [line for line in self.code if ARITHMETIC.match(line)]
        return _live(arithmetic, {stream.index for stream in self.streams or ()})

    def _first_addresses(self) -> Iterator[str]:
        names = {name: f"{name}.start" for name in _defined(self.first_places)} | {
            self.counter.name: self.counter.start
        }
        yield from (_renamed(line, names) for line in self.first_places)
        for each in self.streams or ():
            index = names.get(each.index, each.index)
            yield f"  {each.name}.start = getelementptr {each.element}, ptr {each.base}, i64 {index}"

    def _rounds(
        self, tag: str, before: str, starts: Mapping[str, str], steps: int, size: str, after: str
    ) -> Iterator[str]:
        """
        A loop whose iterations have several steps; a value after step n is named `NAME.TAGn`. It counts down from
        `size`, which needs no comparison.
        """
        block, counter, code = f"{self.label}.{tag}", self.counter.name, self._steps_code
        ends = {phi.name: phi.next for phi in self.others} if block == self.end else dict[str, str]()
        yield f"{block}:"
        yield f"  %{block}.left = phi i64 [ {size}, %{before} ], [ %{block}.next, %{block} ]"
        for name, type_ in self._carried:
            end = ends.get(name, f"{name}.{tag}{steps}")
            yield f"  {name}.{tag}0 = phi {type_} [ {starts[name]}, %{before} ], [ {end}, %{block} ]"
        parts = _NAMES.split("\n".join(code))
        used = parts[1::2]
        for step in range(steps):
            names = {name: f"{name}.{tag}{step}" for name in self._renamed_names}
            last = ends if step + 1 == steps else dict[str, str]()
            names |= {phi.next: last.get(phi.name, f"{phi.name}.{tag}{step + 1}") for phi in self.others}
            for stream in self.streams or ():
                if stream.stays:
                    names[stream.name] = f"{stream.name}.start"
                yield from _beside(stream, names)
            parts[1::2] = [names.get(name, name) for name in used]
            yield "".join(parts)
            if counter in used:
                yield f"  {counter}.{tag}{step + 1} = add nsw i64 {counter}.{tag}{step}, {self.by}"
            for stream in self.streams or ():
                if not stream.stays:
                    yield from _advanced(stream, tag, step + 1, step + 1 == steps)
        yield f"  %{block}.next = sub nsw i64 %{block}.left, {steps * self.by}"
        yield f"  %{block}.more = icmp sgt i64 %{block}.next, 0"
        yield f"  br i1 %{block}.more, label %{block}, label %{after}"


def _beside(stream: Stream, names: Mapping[str, str]) -> Iterator[str]:
    """The other addresses of a stream in one step."""
    for name, value, number in stream.others:
        result, first = names[name], names[stream.name]
        yield f"  {result}.near = getelementptr {stream.element}, ptr {first}, i64 {value}"
        yield f"  {result} = getelementptr {stream.element}, ptr {result}.near, i64 {number}"


def _advanced(stream: Stream, tag: str, step: int, last: bool) -> Iterator[str]:
    """The first address of a stream after some steps."""
    place, by = f"{stream.name}.{tag}", stream.step
    if stream.advances:
        before, by = f"{place}0", stream.advances[step - 1]
    else:
        before, by = (f"{place}{step - 1}", by) if by.startswith("%") else (f"{place}0", int(by) * step)
    result = f"{place}{step}.sum" if last else f"{place}{step}"
    yield f"  {result} = getelementptr {stream.element}, ptr {before}, i64 {by}"
    if last:
        yield f'  {place}{step} = call ptr asm "", "=r,0"(ptr {result})'


def _defined(code: Sequence[str]) -> set[str]:
    return {name for line in code if (name := _name_of(line)) is not None}


def _name_of(line: str) -> str | None:
    """The name that an instruction defines. A regular expression takes four times as long to find it."""
    return line[2 : line.index(" ", 3)] if line.startswith("  %") else None


def _live(code: Sequence[str], wanted: set[str]) -> list[str]:
    """The instructions that act, or whose results are wanted."""
    wanted, found = set(wanted), list[str]()
    for line in reversed(code):
        name = _name_of(line)
        if name in wanted or line.startswith(_ACTING, 2 if name is None else len(name) + 5):
            found.append(line)
            wanted.update(_NAME.findall(line))
    return found[::-1]


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: names.get(match[0], match[0]), text)
