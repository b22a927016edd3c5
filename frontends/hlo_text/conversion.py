"""
From a `Program` to a module of hlo.

Tuples are taken apart: what hlo gets are their arrays. Computations that are called become private functions; those of
fusions and branches are inlined where they are used, others become regions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ...dialects.support.creation import append, append_new, create_op
from ...hlo_dialect.attributes import XLA_SHAPE, function_type
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import HloContext
from ...hlo_dialect.entry import ENTRY
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.reading.names import give_name
from ...hlo_dialect.types import HloTensor
from .direct import Direct, direct, shared_string
from .header import entry_attributes, module_attributes
from .literals import LiteralError, read_literal, tuple_parts
from .program import Computation, Form, Instruction, Program
from .registry import COMMON, Opcode, opcodes
from .shapes import Shape, shape_text
from .step import Step, Value, leaves, structured
from .values import UnexpectedValueError, read_dictionary

_MAX_DEPTH = 64
_MAX_GROWTH = 100
_ALWAYS_ALLOWED = 200_000
"""Computations may be used several times; a program may so become larger by a factor, but not by any."""

_ARRAYS = {OpResult, BlockArgument}
"""The classes of values that are no tuples."""


def convert(program: Program, ctx: Context) -> tuple[ModuleOp, list[Operation]]:
    """The module of a program, not verified, and its operations that are known to verify. Raises DiagnosticError."""
    converter = Converter(program, ctx)
    return converter.module(), converter.constants


class Converter:
    """The conversion of one program."""

    def __init__(self, program: Program, ctx: Context):
        self.program = program
        self.ctx = ctx
        self.opcodes = opcodes()
        self.keeps_fusions = isinstance(ctx, HloContext) and ctx.keep_fusions
        self.functions: dict[str, func.FuncOp] = {}
        self.constants: list[Operation] = []
        """Literals are read for their types, so that these constants verify."""
        self.literals: dict[tuple[str, int], Attribute] = {}
        """Those that were read, by their texts and types."""
        self.directs: dict[Form, Direct | None] = {}
        """The operations that the instructions of each form are; None for those that take a `Step`."""
        self.names = {ENTRY}
        self.top = Block()
        written = sum(len(each.instructions) for each in program.computations.values())
        self.budget = _ALWAYS_ALLOWED + _MAX_GROWTH * written

    def module(self) -> ModuleOp:
        program, entry = self.program, self.program.entry
        assert entry is not None
        main = self._function(ENTRY, entry, None)
        attributes = module_attributes(program)
        name = StringAttr(program.name) if program.name else None
        arguments, results = entry_attributes(program, entry)
        for key, found in (("arg_attrs", arguments), ("res_attrs", results)):
            if found is not None:
                main.properties[key] = found
        module = ModuleOp(Region(self.top), attributes, name)
        module.location = program.text.positions.location(program.offset)
        return module

    # Functions and regions --------------------------------------------------------------------------------------

    def function(self, computation: Computation, step: Step) -> func.FuncOp:
        """The private function of a computation that is called."""
        found = self.functions.get(computation.name)
        if found is None:
            name, number = computation.name, 0
            while name in self.names:
                number += 1
                name = f"{computation.name}_{number}"
            self.names.add(name)
            found = self.functions[computation.name] = self._function(name, computation, step)
            found.properties["sym_visibility"] = shared_string("private")
        return found

    def _function(self, name: str, computation: Computation, step: Step | None) -> func.FuncOp:
        region, results = self._body(computation, 0 if step is None else step.depth + 1)
        block = region.block
        types = function_type([each.type for each in block.args], [each.type for each in results])
        append(block, create_op(func.ReturnOp, operands=results, location=root_of(computation).location))
        function = create_op(
            func.FuncOp,
            properties={"sym_name": StringAttr(name), "function_type": types},
            regions=[region],
            location=self.program.text.positions.location(computation.offset),
        )
        self.top.add_op(function)
        return function

    def region(self, computation: Computation, step: Step, *, is_kernel: bool = True) -> Region:
        """A computation as a region that ends with hlo.return. Fusions in a part of a kernel are inlined."""
        outside, self.keeps_fusions = self.keeps_fusions, self.keeps_fusions and not is_kernel
        region, results = self._body(computation, step.depth + 1)
        self.keeps_fusions = outside
        append(region.block, ReturnOp.create(operands=results, location=root_of(computation).location))
        return region

    def _body(self, computation: Computation, depth: int) -> tuple[Region, list[SSAValue]]:
        """A region with the computation's instructions, without a terminator, and the values that it returns."""
        self._check_depth(depth, computation)
        block = Block(arg_types=[type_ for shape in computation.shapes for type_ in shape.types()])
        arguments: Iterator[SSAValue] = iter(block.args)
        operands = [structured(shape, arguments) for shape in computation.shapes]
        for number, parameter in computation.parameters.items():
            value = operands[number]
            if type(value) in _ARRAYS:
                give_name(cast(SSAValue, value), parameter.name)
        root = self._run(computation, operands, block, depth)
        results = [value for value in leaves(root) if value is not None]
        if len(results) != sum(1 for _ in leaves(root)):
            self._fail(root_of(computation), "returns the context of an asynchronous operation, which has no value")
        return Region(block), results

    def inlined(self, computation: Computation, operands: Sequence[Value], step: Step) -> Value:
        """The value of a computation, computed at the end of the step's block."""
        if len(operands) != len(computation.shapes) or not all(map(_takes, computation.shapes, operands)):
            step.fail(f"computation {computation.name} takes other parameters than these {len(operands)} operands")
        self._check_depth(step.depth + 1, computation)
        return self._run(computation, operands, step.block, step.depth + 1)

    def _check_depth(self, depth: int, computation: Computation) -> None:
        if depth > _MAX_DEPTH:
            message = f"computation {computation.name} is called more than {_MAX_DEPTH} deep"
            raise self.program.text.error(message, computation.offset)

    # Instructions -----------------------------------------------------------------------------------------------

    def _run(self, computation: Computation, operands: Sequence[Value], block: Block, depth: int) -> Value:
        """Append the instructions of a computation to a block; the value of its root."""
        values: dict[str, Value] = {}
        arrays: dict[str, SSAValue] = {}  # those of `values` that are no tuples
        shapes: dict[str, Any] = {}
        directs = self.directs
        self.budget -= len(computation.instructions)
        if self.budget < 0:
            message = f"computation {computation.name} is used too often: the program grows a hundredfold"
            raise self.program.text.error(message, computation.offset)
        for one in computation.instructions:
            name, form = one.name, one.form
            known = directs.get(form)
            if known is None and form not in directs:
                known = directs[form] = direct(form)
            if known is not None:
                cls, count, type_, properties, layout = known
                try:
                    arguments = [arrays[each] for each in one.operands]
                except KeyError:
                    arguments = None  # one is a tuple
                if arguments is not None and (len(arguments) == count or count < 0):
                    result = append_new(block, cls, arguments, type_, properties, one.location)
                    if layout is not None:
                        result.op.attributes[XLA_SHAPE] = layout
                    give_name(result, name)
                    values[name] = arrays[name] = result
                    shapes[name] = form.shape
                    continue
            opcode, shape = form.opcode, form.shape
            if opcode == "parameter":
                value = operands[int(one.operands[0])]
                if one.attributes:
                    self._check_attributes(one, COMMON)
            elif opcode == "constant":
                value = self._constant(one, block)
            elif opcode == "get-tuple-element" and (part := _element(one, values)) is not None:
                value = part
            else:
                value = self._converted(one, values, shapes, block, depth)
            values[name] = value
            if type(value) in _ARRAYS:
                arrays[name] = cast(SSAValue, value)
            shapes[name] = shape if shape is not None else _shape_of(value)
        return values[root_of(computation).name]

    def _constant(self, one: Instruction, block: Block) -> Value:
        if one.attributes:
            self._check_attributes(one, COMMON)
        if one.shape is None:
            self._fail(one, "expected a shape")
        try:
            return self._literal(one, one.operands[0], one.shape, block)
        except LiteralError as error:
            self._fail(one, str(error))

    def _literal(self, one: Instruction, text: str, shape: Shape, block: Block) -> Value:
        """An array, or a tuple of literals."""
        if shape.type is None:
            parts = tuple_parts(text)
            if len(parts) != len(shape.parts):
                raise LiteralError(f"expected {len(shape.parts)} literals in a tuple, got {len(parts)}")
            return tuple(self._literal(one, *each, block) for each in zip(parts, shape.parts, strict=True))
        if shape.type.name != "tensor":
            raise LiteralError("expected the shape of an array")
        # By identity, which is faster: the program keeps its types.
        key = text, id(shape.type)
        value = self.literals.get(key)
        if value is None:
            value = self.literals[key] = read_literal(text, cast(HloTensor, shape.type))
        result = append_new(block, ConstantOp, (), shape.type, {"value": value}, one.location)
        if shape.stated:
            result.op.attributes[XLA_SHAPE] = shared_string(shape_text(shape))
        self.constants.append(result.op)
        give_name(result, one.name)
        return result

    def _converted(
        self, one: Instruction, values: dict[str, Value], shapes: dict[str, Shape], block: Block, depth: int
    ) -> Value:
        """The value of an instruction by the conversion of its opcode."""
        found = self.opcodes.get(one.opcode)
        attributes = found.attributes if found is not None else frozenset[str]()
        if found is None:
            inner, found = self._asynchronous(one)
            attributes = found.attributes | inner.attributes
        if one.attributes:
            self._check_attributes(one, attributes)
        if found.operands is not None and len(one.operands) != found.operands:
            self._fail(one, f"it takes {found.operands} operands, there are {len(one.operands)}")
        operands = [values[each] for each in one.operands]
        step = Step(self, block, one, operands, shapes, depth)
        value = cast("Value", found.convert(step))
        if one.shape is None:
            if None in leaves(value):
                step.fail("its shape is not stated, and is not inferred for this opcode")
        elif not _fits(one.shape, value):
            step.fail("the shape of the result does not fit")
        if step.made:
            if one.attributes:
                self._describe(step.made[-1], one)
            if one.shape is not None and not one.shape.is_plain:
                _keep_layout(step.made[-1], one.shape)
        if value is not None and not isinstance(value, tuple) and value.name_hint is None:
            give_name(value, one.name)
        return value

    def _asynchronous(self, one: Instruction) -> tuple[Opcode, Opcode]:
        """The opcode x of `x-start`, `x-update` or `x-done`, and how asynchronous ones are read at that point."""
        inner, _, ending = one.opcode.rpartition("-")
        found = self.opcodes.get(inner)
        if found is None or ending not in ("start", "update", "done"):
            self._fail(one, "unknown opcode")
        return found, self.opcodes[f"async-{ending}"]

    def _check_attributes(self, one: Instruction, known: frozenset[str]) -> None:
        for name in one.attributes:
            if name not in known:
                raise self.program.text.error(
                    f"'{one.opcode}': it has no attribute {name}",
                    max(self.program.text.content.find(f"{name}=", one.attributes_offset), one.offset),
                )

    def _describe(self, op: Operation, one: Instruction) -> None:
        """Keep the attributes that mean nothing to the operation itself."""
        sharding, frontend = one.attributes.get("sharding"), one.attributes.get("frontend_attributes")
        if sharding is not None:
            op.attributes["mhlo.sharding"] = shared_string(sharding)
        if frontend is not None:
            op.attributes["mhlo.frontend_attributes"] = self._dictionary(one, frontend)
        config = one.attributes.get("backend_config")
        if config is not None and one.opcode != "custom-call":
            op.attributes["mhlo.backend_config"] = shared_string(config)

    def _dictionary(self, one: Instruction, text: str) -> DictionaryAttr:
        try:
            return DictionaryAttr({name: StringAttr(value) for name, value in read_dictionary(text).items()})
        except UnexpectedValueError as error:
            self._fail(one, f"frontend_attributes is no dictionary, expected {error}")

    def _fail(self, one: Instruction, message: str) -> NoReturn:
        raise self.program.text.error(f"'{one.opcode}': {message}", one.offset)


def _keep_layout(op: Operation, shape: Shape) -> None:
    """State the layout of an operation whose results are the arrays of a shape."""
    if [result.type for result in op.results] == shape.types() and not isinstance(op, CustomCallOp):
        op.attributes[XLA_SHAPE] = shared_string(shape_text(shape))


def _element(one: Instruction, values: Mapping[str, Value]) -> Value:
    """The array that a get-tuple-element as XLA prints it takes; None for any other form."""
    index = one.attributes.get("index", "")
    if len(one.attributes) != 1 or len(one.operands) != 1:
        return None
    if not (index.isascii() and index.isdigit() and len(index) < 10):
        return None
    whole, at = values[one.operands[0]], int(index)
    if not isinstance(whole, tuple) or at >= len(whole) or one.shape is None:
        return None
    part = whole[at]
    if type(part) not in _ARRAYS or cast(SSAValue, part).type is not one.shape.type:
        return None
    value = cast(SSAValue, part)
    if value.name_hint is None:
        give_name(value, one.name)
    return value


def _takes(shape: Shape, value: Value) -> bool:
    """Whether a parameter of this shape takes a value."""
    if type(value) in _ARRAYS and cast(SSAValue, value).type is shape.type:
        return True
    return [None if leaf is None else leaf.type for leaf in leaves(value)] == shape.types()


def _fits(shape: Shape, value: Value) -> bool:
    """Whether a value has the types of a shape, where it has any."""
    # Values of xDSL are instances of an abstract class, of which `isinstance` is slow.
    if not isinstance(value, tuple) and value is not None:
        return value.type is shape.type or value.type == shape.type
    return [leaf.type for leaf in leaves(value) if leaf is not None] == _types_where(shape, value)


def _types_where(shape: Shape, value: Value) -> list[Attribute] | None:
    """The types of the leaves of a shape for which there is a value; None where the tuples differ."""
    if shape.is_tuple != isinstance(value, tuple) and value is not None:
        return None
    if value is None:
        return []
    if not isinstance(value, tuple):
        return shape.types()
    if len(shape.parts) != len(value):
        return None
    found: list[Attribute] = []
    for part, each in zip(shape.parts, value, strict=True):
        types = _types_where(part, each)
        if types is None:
            return None
        found += types
    return found


def _shape_of(value: Value) -> Shape:
    """The shape of a value, with default layouts."""
    if isinstance(value, tuple):
        return Shape(None, parts=tuple(map(_shape_of, value)))
    assert value is not None
    shape = cast(HloTensor, value.type).get_shape() if value.type.name == "tensor" else ()
    return Shape(value.type, dims=tuple(shape))


def root_of(computation: Computation) -> Instruction:
    """The instruction whose value the computation returns."""
    assert computation.root is not None
    return computation.root
