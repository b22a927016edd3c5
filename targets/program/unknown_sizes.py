"""
Programs whose entry takes arrays of unknown sizes: compiled at the call, for the sizes of the arguments given.

jax.export writes such programs for symbolic dimensions. All sizes follow from those of the arguments: with them the
entry's types are static, and `resolve-dynamic-shapes` computes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp

from ...dialects.support.rewriting import set_type
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.made_once import MadeOnce
from ...hlo_dialect.ops.dynamism.dimension_sizes import bounds_of
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.shapes import DYNAMIC
from ...hlo_dialect.types import ArrayType, make_tensor, tensor_type
from .arguments import as_array, check_array
from .entry import entry_names, entry_of, entry_types, is_of_unknown_size
from .executable import Executable
from .facts import Facts
from .pipeline import parse_source, run_passes
from .source import Source

if TYPE_CHECKING:
    from .facts import Kernel

KEPT = 64
"""The number of executables, one for each combination of sizes, that a program keeps."""

Shapes = tuple[tuple[int, ...], ...]


def specialized(source: Source, shapes: Shapes) -> Source:
    """The program for arguments of these shapes, static as far as they determine it. Raises DiagnosticError."""
    ctx = make_context()
    module = parse_source(source, ctx)
    entry = entry_of(module)
    for argument, shape in zip(entry.body.block.args, shapes, strict=True):
        if is_of_unknown_size(argument.type):
            set_type(argument, make_tensor(shape, tensor_type(argument).element_type))
    types = [argument.type for argument in entry.body.block.args]
    entry.properties["function_type"] = FunctionType.from_lists(types, entry.function_type.outputs.data)
    run_passes(ctx, module, ("inline", "resolve-dynamic-shapes"))
    returned = entry.body.block.last_op
    assert returned is not None, "the verifier has seen it"
    entry.properties["function_type"] = FunctionType.from_lists(types, [value.type for value in returned.operands])
    return Source(print_module(module, locations=True), source.filename)


class SpecializingExecutable(Executable):
    """Compiles for each combination of sizes at its first call; keeps the 64 used last."""

    def __init__(self, source: Source, module: ModuleOp, compile_: Callable[[Source], Executable]):
        """`compile_` makes the executable of a program without unknown sizes."""
        inputs, outputs = entry_types(module, unknown_sizes=True)
        name, names = entry_names(module)
        facts = Facts(inputs=inputs, outputs=outputs, result_count=len(outputs), name=name, names=names)
        super().__init__(facts, self._text)
        self.source = source
        self._source = source
        self._compile = compile_
        self._kept = MadeOnce[Shapes, Executable](KEPT)
        self._bounds = [bounds_of(argument.type) for argument in entry_of(module).body.block.args]

    def call(self, arguments: Sequence[Any], named: dict[str, Any], out: Any = None) -> Any:
        inputs = self.facts.inputs
        flat = self.signature.bind(arguments, named, inputs)
        arrays = [as_array(argument, index, inputs[index]) for index, argument in enumerate(flat)]
        found = self._specialized(arrays).called_as(replace(self.signature, in_tree=None, kept=None))
        return found.call(arrays, {}, out)

    def specialize(self, *arguments: Any) -> Executable:
        """
        The executable for the sizes of these arguments: arrays, or anything with a `shape`.

        Raises TypeError for arguments that do not fit the program's types, DiagnosticError if their sizes do not fit
        together.
        """
        return self._specialized(self.signature.bind(arguments, {}, self.facts.inputs))

    def _specialized(self, arguments: Sequence[Any]) -> Executable:
        shapes = tuple(map(_shape_of, arguments))
        return self._kept.get_or_make(shapes, lambda: self._make(arguments, shapes))

    def _make(self, arguments: Sequence[Any], shapes: Shapes) -> Executable:
        for index, (argument, wanted, shape) in enumerate(zip(arguments, self.facts.inputs, shapes, strict=True)):
            self._check(index, argument, wanted, shape)
        return self._compile(specialized(self._source, shapes))

    def _check(self, index: int, argument: Any, wanted: ArrayType, shape: tuple[int, ...]) -> None:
        if not wanted.takes(shape):
            raise TypeError(
                f"argument {index}: expected shape {_shape_text(wanted.shape)} ({wanted.text}), got {shape}"
            )
        dtype: Any = getattr(argument, "dtype", None)
        if isinstance(dtype, np.dtype):
            check_array(index, ArrayType(shape, wanted.dtype, wanted.text), shape, cast("np.dtype[Any]", dtype))
        for dim, (size, bound) in enumerate(zip(shape, self._bounds[index], strict=False)):
            if bound != DYNAMIC and size > bound:
                what = f"dimension {dim} of size {size}, at most {bound} are allowed"
                raise TypeError(f"argument {index} has {what} ({wanted.text})")

    @property
    def kernels(self) -> list[Kernel]:
        """Those of the executable that was called last; none before the first call."""
        kept = self._kept.values()
        return kept[-1].kernels if kept else []

    def reset_profile(self) -> None:
        for executable in self._kept.values():
            executable.reset_profile()

    def serialize(self) -> bytes:
        raise ValueError("a program of unknown sizes has no code before a call: serialize exe.specialize(*arguments)")

    def _text(self, stage: str) -> str:
        if stage == "hlo":
            return print_module(parse_source(self._source, make_context()))
        raise ValueError(f"no stage {stage!r} before the sizes are known: see exe.specialize(*arguments).as_text")


def _shape_of(argument: Any) -> tuple[int, ...]:
    shape = getattr(argument, "shape", None)
    return tuple(shape) if shape is not None else np.shape(argument)


def _shape_text(shape: Sequence[int]) -> str:
    return f"({', '.join('?' if size < 0 else str(size) for size in shape)})"
