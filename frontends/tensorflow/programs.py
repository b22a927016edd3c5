"""One signature of a function: traced by TensorFlow, its HLO compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.diagnostics import DiagnosticError, fail
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.donation import keep_arguments, stated_donations
from ...hlo_dialect.errors import file_location
from ...hlo_dialect.ops.algorithms.random import RngOp
from ...hlo_dialect.ops.creation import constant_of
from ...hlo_dialect.ops.dynamism.dimension_sizes import SetDimensionSizeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import shape_of
from ...targets.compile import compile_program
from ...targets.program.entry import entry_of
from ...targets.program.executable import Executable
from ...targets.program.pipeline import parse_source
from ...targets.program.source import Source
from .constants import ELIDED, with_constants
from .library import tensorflow
from .places import with_places
from .tensors import aligned_array, to_tensor

_NOTHING = (np.zeros((), np.bool_),)
"""The placeholder that a program without arguments is given."""


@dataclass
class Options:
    """How programs are compiled."""

    target: Any
    math: str


class Program:
    """
    The program of one signature.

    Its parameters are the tensors among the arguments, then what the function captured: tensors, and the values of
    variables. Its results are those of the function, then the new values of the variables that it assigns.
    """

    def __init__(
        self, function: Callable[..., Any], leaves: Sequence[Any], options: Options, name: str, autograph: bool = True
    ):
        """`function` takes the leaves, the tensors and arrays among the arguments."""
        tf = tensorflow()
        self.options = options
        self.described = ", ".join(f"{tf.dtypes.as_dtype(leaf.dtype).name}{list(leaf.shape)}" for leaf in leaves)
        """The arguments as the user sees them."""
        self.specs = [tf.TensorSpec(leaf.shape, tf.dtypes.as_dtype(leaf.dtype)) for leaf in leaves]
        if not self.specs:
            # From arguments that are all shapes and types TensorFlow makes the program for any values of variables;
            # from no arguments at all it would build in those that it needs as constants.
            function = partial(_ignoring, function)
            self.specs = [tf.TensorSpec((), tf.bool)]
        self.function = tf.function(function, jit_compile=True, autograph=autograph)
        start = time.perf_counter()
        concrete = self.function.get_concrete_function(*self.specs)
        # From shapes and types only: TensorFlow would build some values into the program.
        stages = self.function.experimental_get_compiler_ir(*self.specs)
        text = stages(stage="hlo")
        if ELIDED in text:
            text = with_constants(text, stages(stage="hlo_serialized"))
        self.trace_seconds = time.perf_counter() - start
        self.source = Source(with_places(text, concrete.graph), f"<{name}>")
        variables = {id(variable.handle): variable for variable in concrete.variables}
        self.captured = tuple(variables.get(id(each), each) for each in concrete.captured_inputs)
        """Variables and tensors: the parameters after the leaves."""
        self.structure = concrete.structured_outputs
        self.result_count = len(concrete.outputs)
        self.module, self.updates = _without_aliases(self.source)
        """`updates`: result and parameter of each variable that is assigned."""
        self.calls = 0
        self.backward: Any = None
        """Its derivative, once it was asked for (gradients.py)."""

    @cached_property
    def executable(self) -> Executable:
        start = time.perf_counter()
        try:
            made = compile_program(self.module, self.options.target, math=self.options.math)
        except DiagnosticError:
            _check_sizes(self.module)
            raise
        self.seconds = self.trace_seconds + time.perf_counter() - start
        return made

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors and arrays of a call, read from the variables now."""
        tf = tensorflow()
        return [
            *(leaves or _NOTHING),
            *(each.read_value() if isinstance(each, tf.Variable) else each for each in self.captured),
        ]

    def assign(self, results: Sequence[Any]) -> None:
        """Give the variables their new values."""
        for result, parameter in self.updates:
            self.captured[parameter - len(self.specs)].assign(results[result])

    def packed(self, results: Sequence[Any]) -> Any:
        """The results in the structure that the function returns them in."""
        tf = tensorflow()
        rest = iter(results)
        flat = [
            next(rest) if isinstance(each, tf.Tensor) else each
            for each in tf.nest.flatten(self.structure, expand_composites=True)
        ]
        return tf.nest.pack_sequence_as(self.structure, flat, expand_composites=True)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The results as tensors, new values of variables last."""
        executable = self.executable
        out = [aligned_array(each.shape, each.dtype) for each in executable.output_types]
        executable(*values, out=out)
        return [to_tensor(each) for each in out]


_REMEDY = (
    "depends on values (as those of tf.unique, tf.where(x) and tf.boolean_mask do): compiled programs have tensors of "
    "known shapes. Keep all elements and select by tf.where(condition, x, y), or do this part outside of the function"
)


def _check_results(main: FuncOp) -> None:
    """Raise DiagnosticError for a result whose size depends on values, which XLA allows up to a bound."""
    terminator = main.body.block.last_op
    assert terminator is not None
    for number, value in enumerate(terminator.operands):
        if not _has_known_sizes(value):
            fail(_origin(value) or terminator, f"makes result {number}, whose size {_REMEDY}")


def _check_sizes(module: ModuleOp) -> None:
    """Raise DiagnosticError for a tensor whose size depends on values, in a program that cannot be compiled."""
    for op in module.walk():
        if isinstance(op, SetDimensionSizeOp) and constant_of(op.operands[1]) is None:
            fail(op, f"makes a tensor whose size {_REMEDY}")


def _has_known_sizes(value: SSAValue) -> bool:
    return value.type.name != "tensor" or is_static(shape_of(value.type))


def _origin(value: SSAValue) -> Operation | None:
    """
    The operation that made a size depend on values, the nearest to it that has a place in the user's program.

    Instructions that only pass it on, such as those of results, have none.
    """
    found: Operation | None = None
    at: SSAValue | None = value
    while at is not None and isinstance(at.owner, Operation):
        place = file_location(at.owner.location)
        if found is None or (place is not None and not place.filename.data.startswith("<")):
            found = at.owner
        at = next((operand for operand in at.owner.operands if not _has_known_sizes(operand)), None)
    return found


def _ignoring(function: Callable[..., Any], _: Any) -> Any:
    return function()


def _without_aliases(source: Source) -> tuple[ModuleOp, tuple[tuple[int, int], ...]]:
    """
    The module of HLO text whose parameters are not given away, and the pairs of results and parameters that XLA would
    put into one buffer: those of variables.

    A buffer may belong to several tensors, so none is written to in place. Raises DiagnosticError for random numbers
    whose state TensorFlow keeps to itself: they would be the same in every call.
    """
    module = parse_source(source, make_context())
    for op in module.walk():
        if isinstance(op, RngOp):
            fail(
                op,
                "makes random numbers from TensorFlow's own state, which compiled code cannot advance; use "
                "tf.random.Generator, tf.random.stateless_normal and its like, or keras.random",
            )
    main = entry_of(module)
    _check_results(main)
    pairs = [(result, parameter) for parameter, result in stated_donations(main).items() if result is not None]
    keep_arguments(main)
    return module, tuple(sorted(pairs))
