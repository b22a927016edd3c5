"""One instruction while it is converted: its operands and attributes, and the building of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from ...dialects.support.creation import append
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.types import HloTensor
from .program import Computation, Instruction, Program
from .shapes import Shape, ShapeError, read_shape
from .values import UnexpectedValueError, read_bool, read_int, read_ints, read_names

T = TypeVar("T")

_INFERRED = frozenset(
    """
    abs add after-all and atan2 batch-norm-grad batch-norm-inference batch-norm-training cbrt ceil cholesky clamp
    compare complex concatenate convolution cosine count-leading-zeros divide dot erf exponential
    exponential-minus-one fft floor gather get-dimension-size imag is-finite log log-plus-one logistic map maximum
    minimum multiply negate not or pad partition-id popcnt power real reduce reduce-window remainder replica-id reverse
    round-nearest-afz round-nearest-even rsqrt scatter select select-and-scatter shift-left shift-right-arithmetic
    shift-right-logical sign sine sort sqrt subtract tan tanh transpose triangular-solve xor
""".split()
)
"""Opcodes whose shape may be left out."""

_NO_PROPERTIES: Mapping[str, Attribute] = {}

Value: TypeAlias = "SSAValue | tuple[Value, ...] | None"
"""An instruction's value: tuples are Python's; None for what programs cannot use, such as an asynchronous context."""


def leaves(value: Value) -> Iterator[SSAValue | None]:
    """The values in a tuple of tuples, in order."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def structured(shape: Shape, values: Iterator[SSAValue]) -> Value:
    """Values in the tuples of a shape."""
    if shape.is_tuple:
        return tuple(structured(part, values) for part in shape.parts)
    return next(values)


class Conversion(Protocol):
    """The conversion of a program, of which a step is a part."""

    @property
    def program(self) -> Program: ...
    @property
    def ctx(self) -> Context: ...
    @property
    def keeps_fusions(self) -> bool: ...
    def function(self, computation: Computation, step: Step) -> FuncOp: ...
    def region(self, computation: Computation, step: Step, *, is_kernel: bool = True) -> Region: ...
    def inlined(self, computation: Computation, operands: Sequence[Value], step: Step) -> Value: ...


class Step:
    """
    An instruction, and the block into which it is converted. Methods raise DiagnosticError, at its place in the text,
    for operands and attributes that it cannot have.
    """

    def __init__(
        self,
        converter: Conversion,
        block: Block,
        instruction: Instruction,
        operands: Sequence[Value],
        shapes: Mapping[str, Shape],
        depth: int,
    ):
        """`shapes` are those of the instructions so far by name."""
        self.converter = converter
        self.block = block
        self.instruction = instruction
        self.operands = operands
        self._shapes = shapes
        self.depth = depth
        self.made: list[Operation] = []

    def fail(self, message: str, attribute: str | None = None) -> NoReturn:
        """Raise an error about the instruction, or about one of its attributes."""
        one, text = self.instruction, self.converter.program.text
        offset = one.offset
        if attribute is not None:
            found = text.content.find(f"{attribute}=", one.attributes_offset)
            offset = found if found >= 0 else offset
        raise text.error(f"'{one.opcode}': {message}", offset)

    @property
    def operand_shapes(self) -> list[Shape]:
        return [self._shapes[name] for name in self.instruction.operands]

    # Operands and the result ------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        if self.instruction.shape is None:
            self.fail("its shape is not stated, and is not inferred for this opcode")
        return self.instruction.shape

    @property
    def type(self) -> Attribute:
        """The type of the result, an array or a token."""
        if self.shape.type is None:
            self.fail("the result is a tuple, expected an array")
        return self.shape.type

    @property
    def tensor_type(self) -> HloTensor:
        if self.shape.type is None or self.shape.type.name != "tensor":
            self.fail("the result is no array")
        return cast(HloTensor, self.shape.type)

    def flat(self, *indices: int) -> list[SSAValue]:
        """The values of operands, those of all without indices, tuples taken apart."""
        chosen = [self.operands[index] for index in indices] if indices else self.operands
        found: list[SSAValue] = []
        for value in (leaf for operand in chosen for leaf in leaves(operand)):
            if value is None:
                self.fail("uses the context of an asynchronous operation, which has no value")
            found.append(value)
        return found

    def value(self, index: int) -> SSAValue:
        """An operand that is no tuple."""
        found = self.operands[index]
        if found is None or isinstance(found, tuple):
            self.fail(f"operand {index} is a tuple, expected an array")
        return found

    def builder(self) -> Builder:
        """A builder of expressions that appends to the block."""
        return Builder(InsertPoint.at_end(self.block), self.instruction.location, self.made)

    def tensor(self, index: int) -> Tensor:
        """An operand to compute with."""
        value = self.value(index)
        if value.type.name != "tensor":
            self.fail(f"operand {index} is no array")
        return Tensor(self.builder(), value)

    # Attributes -------------------------------------------------------------------------------------------------

    def attribute(self, name: str, read: Callable[[str], T], default: T | None = None) -> T:
        """The value of an attribute; it may be left out if there is a default."""
        text = self.instruction.attributes.get(name)
        if text is None:
            if default is None:
                self.fail(f"expected the attribute {name}")
            return default
        try:
            return read(text)
        except UnexpectedValueError as error:
            self.fail(f"{name} is '{text[:60]}', expected {error}", name)

    def has(self, name: str) -> bool:
        return name in self.instruction.attributes

    def text(self, name: str, default: str | None = None) -> str:
        return self.attribute(name, str, default)

    def ints(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        return self.attribute(name, read_ints, default)

    def int(self, name: str, default: int | None = None) -> int:
        return self.attribute(name, read_int, default)

    def bool(self, name: str, default: bool | None = None) -> bool:
        return self.attribute(name, read_bool, default)

    def choice(self, name: str, choices: Mapping[str, T], default: T | None = None) -> T:
        """One of several words."""

        def read(text: str) -> T:
            if text not in choices:
                raise UnexpectedValueError(f"one of {', '.join(choices)}")
            return choices[text]

        return self.attribute(name, read, default)

    def dimension(self, name: str = "dimensions") -> int:
        """The only entry of a list of dimensions."""
        found = self.ints(name)
        if len(found) != 1:
            self.fail(f"{name} has {len(found)} entries, expected one", name)
        return found[0]

    def computation(self, name: str) -> Computation:
        """The computation that an attribute names."""
        return self.find(self.text(name), name)

    def computations(self, name: str) -> list[Computation]:
        return [self.find(each, name) for each in self.attribute(name, read_names)]

    def find(self, named: str, attribute: str) -> Computation:
        found = self.converter.program.computations.get(named.lstrip("%"))
        if found is None or found.offset > self.instruction.offset:
            self.fail(f"there is no computation {named} before it", attribute)
        return found

    def shapes(self, name: str) -> list[Shape]:
        """`{f32[2]{0}, s32[]}`"""

        def read(text: str) -> list[Shape]:
            try:
                return list(read_shape(f"({text[1:-1]})").parts)
            except ShapeError as error:
                raise UnexpectedValueError(f"shapes ({error.message})") from None

        return self.attribute(name, read)

    # Operations -------------------------------------------------------------------------------------------------

    def insert(self, op: Operation) -> Operation:
        op.location = self.instruction.location
        append(self.block, op)
        self.made.append(op)
        return op

    def op(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        regions: Sequence[Region] = (),
        /,
        **properties: Attribute | None,
    ) -> Value:
        """An operation whose results are the instruction's; properties that are None are left out."""
        given = (
            {name: value for name, value in properties.items() if value is not None} if properties else _NO_PROPERTIES
        )
        if self.instruction.shape is None:
            return self._inferred(cls, operands, regions, given)
        shape = self.shape
        types = shape.types() if shape.type is None else (shape.type,)
        op = self.insert(cls.create(operands=operands, result_types=types, properties=given, regions=regions))
        return op.results[0] if shape.type is not None else structured(shape, iter(op.results))

    def _inferred(
        self, cls: type[Operation], operands: Sequence[SSAValue], regions: Sequence[Region], given: Any
    ) -> Value:
        if not issubclass(cls, HloOp) or self.instruction.opcode not in _INFERRED:
            self.fail("its shape is not stated, and is not inferred for this opcode")
        try:
            op = self.insert(cls.infer(operands, given, regions))
        except VerifyException as error:
            self.fail(str(error))
        results = tuple(op.results)
        return results[0] if len(results) == 1 else results

    def region(self, computation: Computation, *, is_kernel: bool = True) -> Region:
        """A computation as a region, whose arguments are its parameters; it is a part of a kernel, or has kernels."""
        return self.converter.region(computation, self, is_kernel=is_kernel)

    def inlined(self, computation: Computation, operands: Sequence[Value]) -> Value:
        """The value of a computation for these operands, computed here."""
        return self.converter.inlined(computation, operands, self)
