"""
The mapping of kernels to a GPU, as attributes: `gpu.plan = #gpu.rows<threads = 32, rows = 8, width = 4, unroll = 4>`.

plan-gpu-kernels writes them, map-kernels-to-gpu reads them; both accept plans that were written by hand. The first
operation of a launch has `gpu.plan`; each further operation of the same launch has `gpu.joined`. Every plan is a class
of numbers; parameters with their default value are not printed. The verifiers here only check the numbers;
map-kernels-to-gpu checks whether a plan fits its operation and the chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .plan import (
    HEAD,
    MAX_BLOCK_THREADS,
    MOST_WARP,
    WARP,
    Plan,
    check_powers_of_two,
    check_whole_warps,
    check_width,
    require,
)
from .product_plans import RegisterTile, StreamedRows, TensorTile

PLAN = "gpu.plan"
"""The plan of the launch that starts with an operation."""

JOINED = "gpu.joined"
"""Marks an operation that runs in the same launch as the operation before it."""


@dataclass(frozen=True)
class NoLaunch(Plan):
    """The operation works on no elements."""

    name = "gpu.none"


@dataclass(frozen=True)
class Serial(Plan):
    """One thread runs everything."""

    name = "gpu.serial"


@dataclass(frozen=True)
class Points(Plan):
    """A thread per element of the result, iteration or update."""

    name = "gpu.points"
    threads: int = 256


@dataclass(frozen=True)
class Block(Plan):
    """A block runs all operations one after the other, with the loops around them; its threads share each of them."""

    name = "gpu.block"
    threads: int
    shared: tuple[int, ...] = ()
    """The buffers in shared memory, parameters that are only read among them: numbers of parameters, then of allocs."""

    def check(self) -> None:
        check_whole_warps(self.threads)
        require(list(self.shared) == sorted(set(self.shared)), "the numbers of shared buffers ascend")


@dataclass(frozen=True)
class Elementwise(Plan):
    """Each thread takes several vectors of neighbouring elements; the remainder gets a thread per element."""

    name = "gpu.elementwise"
    width: int = 1
    """Elements of a vector."""
    items: int = 1
    """Vectors of each operand per thread."""
    along: int | None = None
    """The loop along which the vectors of a thread are consecutive; None: they are a block apart."""
    crosses: bool = False
    """Whether vectors continue from one row of the last loop to the next."""
    threads: int = 256

    def check(self) -> None:
        check_width(self.width)


@dataclass(frozen=True)
class Transpose(Plan):
    """Tiles of transposed inputs go through shared memory."""

    name = "gpu.transpose"
    tile: tuple[int, ...] = field(metadata=HEAD)
    """Its sides, along `loop` and along the last loop."""
    loop: int
    """The loop along which the inputs are contiguous."""
    inputs: tuple[int, ...]
    """The inputs that go through shared memory."""
    threads: int = 256

    def check(self) -> None:
        require(len(self.tile) == 2, "a tile has two sides")
        check_powers_of_two(side=self.tile[0], other_side=self.tile[1], threads=self.threads)
        require(len(self.inputs) > 0, "no input goes through shared memory: the plan is not a transposition")


@dataclass(frozen=True)
class Rows(Plan):
    """A block, a warp or a part of a warp per row; neighbouring threads read neighbouring vectors."""

    name = "gpu.rows"
    threads: int
    """Threads per row."""
    rows: int = 1
    """Rows per block."""
    width: int = 1
    """Elements of a vector."""
    unroll: int = 1
    """Vectors that a thread reads before it combines them."""
    partials: int = 1
    """Vectors of partial results per thread and reduction; the vectors of one `unroll` are distributed over them."""
    keep: bool = False
    """Whether values that several passes over the row use stay in registers."""
    part: int = 0
    """Vectors of a part of a row, one part per block; 0: rows are not cut."""
    blocks: int = 1
    """Resident blocks per multiprocessor that the register budget must allow."""
    then: Plan | None = None
    """How the results of the parts are combined."""

    @property
    def block(self) -> int:
        return self.threads * self.rows

    def check(self) -> None:
        _check_reduction(self)
        if self.threads < WARP:
            check_powers_of_two(threads=self.threads)
        if self.rows > 1 or self.threads > WARP:
            check_whole_warps(self.block)
        require(self.rows == 1 or self.threads <= MOST_WARP, "a row of more than a warp has a block of its own")
        require(not (self.keep and self.part), "values are kept in registers only where rows are not cut")
        require(not (self.part and self.rows > 1), "a block of several rows does not cut them")


@dataclass(frozen=True)
class Columns(Plan):
    """`lanes` x `groups` threads process a tile of `lanes` vectors of columns; the groups take iterations in turn."""

    name = "gpu.columns"
    tile: tuple[int, ...] = field(metadata=HEAD)
    """Lanes and groups."""
    width: int = 1
    """Columns of a vector."""
    unroll: int = 1
    """Iterations of the reduced loops that a thread reads before it combines them."""
    partials: int = 1
    """Vectors of partial results per thread and reduction."""
    part: int = 0
    """Iterations of a part of the columns, one part per block; 0: columns are not cut."""
    blocks: int = 1
    """Resident blocks per multiprocessor that the register budget must allow."""
    then: Plan | None = None
    """How the results of the parts are combined."""

    @property
    def lanes(self) -> int:
        return self.tile[0]

    @property
    def groups(self) -> int:
        return self.tile[1]

    @property
    def block(self) -> int:
        return self.lanes * self.groups

    def check(self) -> None:
        require(len(self.tile) == 2, "a tile has two sides: lanes and groups")
        _check_reduction(self)
        check_powers_of_two(lanes=self.lanes, groups=self.groups)
        if self.groups > 1:
            check_whole_warps(self.block)


def _check_reduction(plan: Rows | Columns) -> None:
    check_width(plan.width)
    require(plan.partials <= plan.unroll, f"partials is {plan.partials}, more than unroll, which is {plan.unroll}")
    second = plan.then
    if plan.part == 0:
        require(second is None, "nothing is cut into parts, so that there is nothing to combine `then`")
    elif not isinstance(second, type(plan)) or second.part:
        raise VerifyException(f"the results of parts are combined `then` by an uncut #{plan.name}")


@dataclass(frozen=True)
class Library(Plan):
    """A contraction, with a bias, an activation and a rounding after it, as library calls."""

    name = "gpu.library"


@dataclass(frozen=True)
class ScanRows(Plan):
    """Short rows go through shared memory; one thread scans each."""

    name = "gpu.scan_rows"
    rows: int
    """Rows, and threads, per block."""

    @property
    def block(self) -> int:
        return self.rows


@dataclass(frozen=True)
class ScanThreads(Plan):
    """A thread scans each chunk of a line."""

    name = "gpu.scan_threads"
    chunk: int
    """Elements of a chunk; three launches if lines have several."""
    threads: int = 256


@dataclass(frozen=True)
class ScanBlocks(Plan):
    """A block scans each chunk of a line, tile by tile."""

    name = "gpu.scan_blocks"
    chunk: int
    """Elements of a chunk; three launches if lines have several."""
    elements: int
    """Neighbouring elements per thread in a tile."""
    threads: int = 256

    @property
    def tile(self) -> int:
        return self.threads * self.elements

    def check(self) -> None:
        check_powers_of_two(threads=self.threads)
        require(self.chunk % self.tile == 0, f"a chunk of {self.chunk} is not whole tiles of {self.tile} elements")


@dataclass(frozen=True)
class Sort(Plan):
    """Bitonic networks sort tiles in shared memory; merges follow if rows have several tiles."""

    name = "gpu.sort"
    tile: int
    """Elements of a tile."""
    rows: int = 1
    """Rows per block."""

    @property
    def block(self) -> int:
        return self.rows * self.tile // 2

    def check(self) -> None:
        check_powers_of_two(tile=self.tile)
        require(self.tile >= 2, "a tile has two elements at least")


@dataclass(frozen=True)
class SortedScatter(Plan):
    """Updates are sorted by destination; one thread combines those of a destination in order."""

    name = "gpu.sorted_scatter"
    sort: Plan

    def check(self) -> None:
        require(isinstance(self.sort, Sort), "sort is not a #gpu.sort")


class PlanAttr(Data[Plan]):
    """The attribute of a plan; `kind` is the plan's class."""

    kind: ClassVar[type[Plan]]

    def verify(self) -> None:
        for one in fields(self.kind):
            value: Any = getattr(self.data, one.name)
            least = 0 if one.name in ("part", "along", "loop", *_LISTS) else 1
            numbers: Sequence[Any] = value if one.type == "tuple[int, ...]" else [value]
            for number in numbers:
                if type(number) is int:
                    require(number >= least, f"{one.name} is {number}, less than {least}")
        self.data.check()
        block = self.data.block
        require(block <= MAX_BLOCK_THREADS, f"a block of {block} threads: the limit is {MAX_BLOCK_THREADS}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Plan:
        known = {one.name: one for one in fields(cls.kind)}
        values: dict[str, Any] = {}
        if parser.parse_optional_punctuation("<") is not None:
            heads = [name for name, one in known.items() if one.metadata.get("head")]
            for name in heads:
                values[name] = tuple(parser.parse_dimension_list())
            more = not heads or parser.parse_optional_punctuation(",") is not None
            while more:
                name = parser.parse_identifier()
                if name not in known or name in values:
                    problem = "is given twice" if name in values else "is unknown"
                    parser.raise_error(f"{name} {problem}; the parameters of #{cls.name} are {', '.join(known)}")
                values[name] = _parse(parser, known[name])
                more = parser.parse_optional_punctuation(",") is not None
            parser.parse_punctuation(">")
        missing = [one.name for one in known.values() if one.default is MISSING and one.name not in values]
        if missing:
            parser.raise_error(f"#{cls.name} needs {', '.join(missing)}")
        return cls.kind(**values)

    def print_parameter(self, printer: Printer) -> None:
        first = True
        for one in fields(self.kind):
            value: Any = getattr(self.data, one.name)
            if value == one.default:
                continue
            printer.print_string("<" if first else ", ")
            first = False
            if one.metadata.get("head"):
                printer.print_string("x".join(map(str, value)))
            elif value is True:
                printer.print_string(one.name)
            else:
                printer.print_string(f"{one.name} = ")
                _print(printer, one, value)
        if not first:
            printer.print_string(">")


_LISTS = frozenset(("inputs", "shared"))
"""The parameters that are lists of numbers, not sizes."""


def _parse(parser: AttrParser, one: Field[Any]) -> Any:
    """The value of a parameter, after its name."""
    if one.type == "bool":
        return True
    parser.parse_punctuation("=")
    if one.name in _LISTS:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    if one.type == "tuple[int, ...]":
        return tuple(parser.parse_dimension_list())
    if one.type in ("Plan", "Plan | None"):
        nested = parser.parse_attribute()
        return nested.data if isinstance(nested, PlanAttr) else parser.raise_error(f"{one.name} is not a plan")
    return parser.parse_integer(allow_boolean=False)


def _print(printer: Printer, one: Field[Any], value: Any) -> None:
    if isinstance(value, Plan):
        printer.print_attribute(attribute_of(value))
    elif one.name in _LISTS:
        printer.print_string(str(list(value)))
    else:
        printer.print_string("x".join(map(str, value)) if one.type == "tuple[int, ...]" else str(value))


def _attribute_class(kind: type[Plan]) -> type[PlanAttr]:
    members = {"name": kind.name, "kind": kind, "__doc__": kind.__doc__}
    return irdl_attr_definition(type(f"{kind.__name__}Attr", (PlanAttr,), members))


KINDS = (
    NoLaunch, Serial, Points, Block, Elementwise, Transpose, Rows, Columns, RegisterTile, TensorTile, StreamedRows,
    Library, ScanRows, ScanThreads, ScanBlocks, Sort, SortedScatter,
)  # fmt: skip

_ATTRIBUTE_OF: dict[type[Plan], type[PlanAttr]] = {kind: _attribute_class(kind) for kind in KINDS}


def attribute_of(plan: Plan) -> Attribute:
    return _ATTRIBUTE_OF[type(plan)](plan)


def set_plan(op: Operation, plan: Plan | None, joins: bool = False) -> None:
    """Write a plan to an operation; `joins`: it runs in the same launch as the operation before it."""
    if plan is not None:
        op.attributes[PLAN] = attribute_of(plan)
    if joins:
        op.attributes[JOINED] = UnitAttr()


OPS = ()
ATTRIBUTES = tuple(_ATTRIBUTE_OF.values())
