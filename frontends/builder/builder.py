"""
`Builder`: hlo programs from Python, as XlaBuilder makes them for XLA.

    b = Builder()
    x = b.parameter("f32", (2, 3))
    y = b.reduce(b.exponential(x), 0.0, dimensions=[1], body=b.add)
    module = b.build(y)

Every operation of the dialect is a method of its name, with the arguments of its definition; an operation of another
package is one as soon as the package is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...hlo_dialect.diagnostics import op_error
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.expressions.tensor import Builder as Inserter
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.op import RegionOp
from ...hlo_dialect.ops.comparison import SelectOp
from ...hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp
from ...hlo_dialect.ops.reduction import combiner_region
from ...hlo_dialect.types import HloTensor, element_of, make_tensor, shape_of
from ...hlo_dialect.verification import verify_module
from .inserting import Inserting, set_results
from .locations import callers_location
from .signatures import Signature, signature
from .types import fitted, is_element, is_shape, result_type, type_of

Value: TypeAlias = Tensor
"""A value of a program. Operators work on it: `x * 2.0 + y`, for operands of one type, or a number."""

DIALECTS = ("hlo", "chlo", "check")
"""The dialects whose operations are methods, the first that has the name."""


def listed(values: Any) -> list[Any]:
    """The values that a Python function returned: one, several, or None."""
    if values is None:
        return []
    return list(cast("Sequence[Any]", values)) if isinstance(values, tuple | list) else [values]


def _starts(array: Value, index: Value) -> list[Value]:
    return [index, *([index.like(0)] * (len(array.shape) - 1))]


def _element(array: Value, index: Value) -> Value:
    """The element at a scalar index of the first dimension."""
    rest = array.shape[1:]
    return array.dynamic_slice(_starts(array, index), (1, *rest)).reshape(rest)


def _set_element(array: Value, index: Value, element: Value) -> Value:
    return array.dynamic_update_slice(element.reshape((1, *element.shape)), _starts(array, index))


def _two_lists(made: Any) -> tuple[list[Any], list[Any]]:
    """The carried values and outputs that the body of a scan returns. Raises TypeError."""
    parts = listed(made)
    if len(parts) != 2 or not all(isinstance(one, tuple | list) for one in parts):
        raise TypeError("scan: expected a body that returns two lists, the carries and the values to stack")
    return listed(parts[0]), listed(parts[1])


_CLASSES: dict[str, type[Operation]] = {}
"""Operations by the names that were asked for."""


class Function:
    """A function of the program that others call."""

    def __init__(self, builder: Builder, op: func.FuncOp):
        self._builder = builder
        self.op = op

    @property
    def name(self) -> str:
        return self.op.sym_name.data

    def __call__(self, *arguments: Any) -> Any:
        return self._builder.call(self, *arguments)


class Builder:
    """
    Makes one program. `parameter` adds an argument of the function `name`, `build` ends it with its results.

    Methods that add an operation return its result, a tuple of results, or None. Operands are values; NumPy arrays,
    which become constants; or numbers, which take the element type of the call's first value and, in an elementwise
    operation, its shape. Regions are functions of values that return values. `result_type=` states the type where the
    operation does not determine it: an element type, a shape, both, or MLIR's text.

    Raises DiagnosticError for what the operation's constraints do not allow, at the caller's line; TypeError and
    ValueError for arguments that it does not have.

    >>> import numpy as np
    >>> import xhlo
    >>> b = xhlo.Builder()
    >>> x = b.parameter("f32", (3,), name="x")
    >>> exe = xhlo.compile(b.build(b.exponential(x) + x))
    >>> exe(np.zeros(3, np.float32))
    array([1., 1., 1.], dtype=float32)
    """

    def __init__(self, name: str = "main", watch: Callable[[Operation], None] | None = None):
        """`watch` is called with each operation that is added."""
        self._module = ModuleOp([])
        self._function = self._begin(name, ())
        self._entry = self._function.body.block
        self._inserter = Inserting(self._entry, watch)
        self._built = False
        self._signatures: dict[str, Signature] = {}

    @property
    def inserter(self) -> Inserter:
        """The expression builder that adds operations where this one is at work."""
        return self._inserter

    @property
    def current_block(self) -> Block:
        """The block to which operations are added."""
        return self._inserter.block

    # Functions.

    def _begin(self, name: str, types: Sequence[Attribute]) -> func.FuncOp:
        function = func.FuncOp(name, FunctionType.from_lists(types, ()))
        function.location = callers_location()
        self._module.body.block.add_op(function)
        return function

    def parameter(self, type_: Any, shape: Sequence[int | None] | None = None, name: str | None = None) -> Value:
        """
        The next argument of the program: `parameter("f32", (2, 3))`, `parameter("tensor<2x3xf32>")`, or like an array.
        """
        if self._built:
            raise ValueError("the program is built already: begin another xhlo.Builder()")
        value = self._entry.insert_arg(type_of(type_, shape), len(self._entry.args))
        if name is not None:
            hint = re.sub(r"\W", "_", name, flags=re.ASCII)
            value.name_hint = f"_{hint}" if hint[:1].isdigit() else hint or None
        return Tensor(self._inserter, value)

    def build(self, *results: Any) -> ModuleOp:
        """The verified program with these results. The builder adds nothing more. Raises DiagnosticError."""
        if self._built:
            raise ValueError("the program is built already: begin another xhlo.Builder()")
        self._end(self._function, self._entry, self._values(results))
        self._built = True
        self._inserter.end()
        verify_module(self._module, self._inserter.verified)
        return self._module

    def _end(self, function: func.FuncOp, block: Block, results: Sequence[SSAValue]) -> None:
        self._inserter.insert(func.ReturnOp(*results))
        types = [argument.type for argument in block.args]
        function.function_type = FunctionType.from_lists(types, [value.type for value in results])

    def function(self, name: str, *types: Any) -> Callable[[Callable[..., Any]], Function]:
        """
        A decorator: the Python function becomes a function of the program, with arguments of these types.
        """

        def define(body: Callable[..., Any]) -> Function:
            op = self._begin(name, [type_of(one) for one in types])
            op.sym_visibility = StringAttr("private")
            block = op.body.block
            with self.inside(block):
                self._end(op, block, self._values(listed(body(*self._inserter.tensors(block.args)))))
            return Function(self, op)

        return define

    def call(self, function: Function, *arguments: Any) -> Any:
        """Call a function of the program. Raises DiagnosticError for arguments of other types than it takes."""
        values = self._values(arguments)
        stated = function.op.function_type
        op = func.CallOp(SymbolRefAttr(function.name), values, stated.outputs.data)
        op.location = callers_location()
        wanted = stated.inputs.data
        if len(values) != len(wanted):
            raise op_error(op, f"has {len(values)} operands, but '@{function.name}' has {len(wanted)}")
        for index, (value, type_) in enumerate(zip(values, wanted, strict=True)):
            if value.type != type_:
                raise op_error(op, f"operand #{index} has type {value.type}, but '@{function.name}' takes {type_}")
        return self._insert(op)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """The context that appends to a block. Its values, such as shared constants, are not visible outside."""
        outside = self._inserter.enter(block)
        try:
            yield
        finally:
            self._inserter.leave(outside)

    # Values.

    def constant(self, array: Any, type_: Any = None, shape: Sequence[int] | None = None) -> Value:
        """
        An array as a constant, of its own type or another: `constant([1, 2], "f32")`, `constant(0, ("f32", (2, 3)))`.

        One element fills a larger type; floats are rounded. Raises ValueError for a number that the element type does
        not have, and for another shape.
        """
        if type_ is None:
            return self._inserter.constant(np.asarray(array))
        values = np.asarray(array)
        if shape is None and is_element(type_):
            shape = values.shape
        made = cast(HloTensor, type_of(type_, shape))
        if type(array) in (bool, int, float):
            return self._inserter.splat(array, made)
        fills = values.size == 1 and values.ndim <= len(shape_of(made))
        if not fills and values.shape != shape_of(made):
            raise ValueError(f"constant: the array has shape {values.shape}, its type is {made}")
        found = fitted(values, made.element_type)
        if fills and values.dtype.kind in "biuf":
            return self._inserter.splat(values.item(), made)
        return self._inserter.constant(found, made)

    def _values(self, given: Sequence[Any], filled: bool = False) -> list[SSAValue]:
        """
        Operands as values. Numbers take the first value's element type, and its shape if `filled`. Raises TypeError.
        """
        like: HloTensor | None = None
        values: list[SSAValue] = []
        for one in given:
            if isinstance(one, Tensor):
                values.append(one.value)
            else:
                if like is None:
                    like = self._type_of_numbers(given, filled)
                values.append(self._value(one, like))
        return values

    def _type_of_numbers(self, given: Sequence[Any], filled: bool) -> HloTensor | None:
        for one in given:
            if isinstance(one, Tensor):
                return one.type if filled else make_tensor((), one.element)
        return None

    def _value(self, given: Any, like: HloTensor | None) -> SSAValue:
        if isinstance(given, Tensor):
            return given.value
        if isinstance(given, SSAValue):
            return cast("SSAValue[Attribute]", given)
        if isinstance(given, np.ndarray | np.generic):
            return self._inserter.constant(np.asarray(cast(Any, given))).value
        if isinstance(given, bool | int | float) and like is not None:
            return self._inserter.splat(given, like).value
        raise TypeError(f"expected a value, an array or a number, got {type(given).__name__}")

    # Operations.

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        cls = self._class(name.rstrip("_"))
        if cls is None:
            raise AttributeError(f"there is no operation '{name}' in the dialects {', '.join(DIALECTS)}")
        stated = signature(cls)

        def method(*operands: Any, result_type: Any = None, **named: Any) -> Any:
            return self._operation(stated, operands, result_type, named)

        if issubclass(cls, ElementwiseBinaryOp):
            # A reduction's body as it is: `body=b.add`.
            method.__dict__["combiner"] = cls
        method.__name__ = method.__qualname__ = name
        method.__doc__ = cls.__doc__
        # Found at once the next time.
        self.__dict__[name] = method
        return method

    def _class(self, name: str) -> type[Operation] | None:
        found = _CLASSES.get(name)
        if found is None:
            names = [name] if "." in name else [f"{dialect}.{name}" for dialect in DIALECTS]
            context = make_context()
            classes = (context.get_optional_op(one) for one in names)
            found = next((cls for cls in classes if cls is not None), None)
            if found is not None:
                _CLASSES[name] = found
        return found

    def operation(self, name: str, *operands: Any, result_type: Any = None, **named: Any) -> Any:
        """An operation by its name, `chlo.scan`: also one that is hidden by another dialect's, or by a method."""
        stated = self._signatures.get(name)
        if stated is None:
            cls = self._class(name)
            if cls is None:
                raise ValueError(f"there is no operation '{name}'")
            stated = self._signatures[name] = signature(cls)
        return self._operation(stated, operands, result_type, named)

    def _operation(self, stated: Signature, operands: Sequence[Any], types: Any, named: dict[str, Any]) -> Any:
        if not named and types is None and len(operands) == stated.operands_alone:
            values = self._operands(stated, operands)
            return self._finish(stated.cls.create(operands=values, location=callers_location()))
        try:
            call = stated.sort(operands, named)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{stated.cls.name}: {error}") from None
        values = self._operands(stated, call.operands)
        op = stated.cls.create(operands=values, properties=call.properties, location=callers_location())
        for region, function in zip(stated.regions, call.regions, strict=True):
            for one in function if region.many else (function,):
                assert isinstance(op, RegionOp)
                op.add_region(self.region(op.region_arguments(len(op.regions)), one))
        return self._finish(op, types)

    def region(self, types: Sequence[Any], function: Callable[..., Any]) -> Region:
        """The region that a function of arguments of these types denotes. Raises TypeError."""
        if not callable(function):
            raise TypeError(f"expected a function that makes a region, got {type(function).__name__}")
        inserter = self._inserter
        combiner = getattr(function, "combiner", None) if len(types) == 2 and types[0] == types[1] else None
        if combiner is not None and shape_of(types[0]) == ():
            return combiner_region(combiner, element_of(types[0]), callers_location())
        block = Block(arg_types=[type_of(one) for one in types])
        outside = inserter.enter(block)
        try:
            self._return(self._values(listed(function(*inserter.tensors(block.args)))))
        finally:
            inserter.leave(outside)
        return Region(block)

    def _return(self, results: Sequence[SSAValue]) -> None:
        """End a region."""
        self._inserter.insert(ReturnOp.create(operands=results))

    def _finish(self, op: Operation, types: Any = None) -> Any:
        """Give the operation its results, check and insert it. Raises DiagnosticError."""
        if types is not None:
            first = op.operands[0].type if op.operands else None
            several = cast(Any, types if isinstance(types, list) and not is_shape(types) else [types])
            set_results(op, [result_type(one, first) for one in several])
        self._inserter.check(op)
        return self._insert(op)

    # Control flow.

    def while_loop(self, cond: Callable[..., Any], body: Callable[..., Any], *values: Any) -> Any:
        """As long as `cond` of the values is true, replace them by those that `body` returns; return the last ones."""
        return self.operation("while", values, cond=cond, body=body)

    def cond(self, pred: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], *values: Any) -> Any:
        """The results of `on_true` or `on_false` of the values; only the one that `pred` selects runs."""
        given = [Tensor(self._inserter, value) for value in self._values(values)]
        return self.operation("if", pred, true_branch=lambda: on_true(*given), false_branch=lambda: on_false(*given))

    def switch(self, index: Any, branches: Sequence[Callable[..., Any]], *values: Any) -> Any:
        """The results of the branch that an i32 index selects, clamped to the branches; only that one runs."""
        given = [Tensor(self._inserter, value) for value in self._values(values)]
        last = len(branches) - 1
        chosen = self.clamp(self.constant(0, "i32"), index, self.constant(last, "i32"))
        return self.operation("case", chosen, branches=[partial(branch, *given) for branch in branches])

    def scan(
        self, body: Callable[..., Any], carries: Sequence[Any], inputs: Sequence[Any], *, reverse: bool = False
    ) -> tuple[list[Value], list[Value]]:
        """
        Run `body` for each element along the first dimension of the inputs, in order.

        `body(carries, elements)` returns two lists: the carries of the next step, and values that are stacked along a
        new first dimension. Returns the last carries and the stacks. Raises ValueError if the inputs do not have one
        length, TypeError for arguments that are not lists.
        """
        for what, values in (("carries", carries), ("inputs", inputs)):
            if not isinstance(values, list | tuple):
                raise TypeError(f"scan: expected a list of {what}, got {type(values).__name__}")
        both = self._values([*carries, *inputs])
        begin, given = both[: len(carries)], both[len(carries) :]
        lengths = {shape_of(value)[:1] for value in given}
        if len(lengths) != 1 or () in lengths:
            raise ValueError("scan: expected inputs of one length along the first dimension, at least one")
        ((length,),) = lengths
        state = [self.constant(0, "i32").value, *begin, *given]
        step = Block(arg_types=[value.type for value in state])
        with self.inside(step):
            number, *values = self._inserter.tensors(step.args)
            index = number if not reverse else (length - 1) - number
            elements = [_element(value, index) for value in values[len(begin) :]]
            carried, outputs = _two_lists(body(values[: len(begin)], elements))
            stacks = [self._stacked(step, index, output, length) for output in self._values(outputs)]
            results = [(number + 1).value, *self._values(carried), *step.args[1 + len(begin) : len(state)]]
            self._return([*results, *(stack.value for stack in stacks)])
        empty = [self._inserter.splat(0, stack.type).value for stack in stacks]

        def goes_on(number: Value, *_: Value) -> Value:
            return number < length

        condition = self.region([value.type for value in (*state, *empty)], goes_on)
        op = WhileOp.create(operands=[*state, *empty], regions=[condition, Region(step)], location=callers_location())
        _, *found = self._finish(op)
        return found[: len(begin)], found[len(state) - 1 :]

    def _stacked(self, block: Block, index: Value, output: SSAValue, length: int) -> Value:
        """A new argument of a loop's body, with the element at `index` of the first dimension set."""
        shape = shape_of(output)
        stack = block.insert_arg(make_tensor((length, *shape), element_of(output)), len(block.args))
        return _set_element(Tensor(self._inserter, stack), index, Tensor(self._inserter, output))

    def _operands(self, stated: Signature, given: Sequence[Any]) -> list[SSAValue]:
        if stated.fixed:
            values: list[SSAValue] = []
            for value in given:
                if type(value) is not Tensor:
                    break
                values.append(value.value)
            else:
                return values
        flat: list[Any] = []
        for argument, value in zip(stated.operands, given, strict=True):
            if argument.many:
                flat += value if isinstance(value, Sequence) else [value]
            elif value is not None:
                flat.append(value)
        if stated.cls is SelectOp:
            # Numbers are of the type of what is chosen, not of the predicate.
            return [*self._values(flat[:1]), *self._values(flat[1:], filled=True)]
        return self._values(flat, getattr(stated.cls, "ROLE", None) == "elementwise")

    def _insert(self, op: Operation) -> Any:
        inserter = self._inserter
        inserter.insert(op)
        results = op.results
        if len(results) == 1:
            (result,) = results
            return Tensor(inserter, result)
        return tuple(inserter.tensors(results)) if results else None
