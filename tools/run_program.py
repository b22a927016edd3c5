"""The program that hlo-run runs: its text, its module, the arrays at its entry, its executables; and its results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ..dialects.support.kernel import PROGRAM
from ..hlo_dialect.collectives.tokens import TokenType
from ..hlo_dialect.diagnostics import Diagnostic, fail
from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.limits import check_limits, check_memory
from ..hlo_dialect.reading import parse_module
from ..hlo_dialect.types import Array, numpy_dtype, tensor_type
from ..passes.manager.pipelines import DEFAULT_OPT_LEVEL
from ..passes.manager.timing import Timing
from ..targets.program.compiler_start import compiler_start
from ..targets.program.entry import entry_of, entry_types
from ..targets.program.entry_choice import choose_entry
from .arrays import ArrayType
from .streams import STDIN, StreamError, read_text

if TYPE_CHECKING:
    from ..targets.cpu.replicated import ReplicatedExecutable
    from ..targets.program.executable import Executable
    from ..targets.program.target import Target


class Program:
    """The program of a file, parsed and compiled on demand."""

    def __init__(self, name: str, timing: Timing, entry: str | None = None):
        self.filename, self.text = read_text(name)
        self.timing = timing
        self.chosen = entry
        """The name of the function to run instead of @main."""

    @property
    def sources(self) -> dict[str, str]:
        """The text by each file name that diagnostics may use."""
        return dict.fromkeys((self.filename, str(Path(self.filename)), "<text>"), self.text)

    @cached_property
    def module(self) -> ModuleOp:
        with self.timing.stage("read"), compiler_start(kept=True):
            module = parse_module(self.text, self.filename, make_context())
        check_limits(module)
        if self.chosen is not None:
            choose_entry(module, self.chosen)
        return module

    @cached_property
    def entry(self) -> FuncOp:
        return entry_of(self.module)

    def inputs(self) -> list[ArrayType]:
        """The arrays that the program takes, -1 for unknown sizes."""
        return self._types[0]

    def sized_inputs(self, shapes: Mapping[str, tuple[int, ...]]) -> list[ArrayType]:
        """
        The arrays that the program takes, with `shapes` by the names of arguments, or in_0, in_1, ... Raises
        StreamError if one does not fit, DiagnosticError if one is missing or they do not fit into memory.
        """
        found = list(self.inputs())
        names = [(f"in_{index}", name) for index, name in enumerate(self.argument_names())]
        unknown = set(shapes) - {name for both in names for name in both if name is not None}
        if unknown:
            known = ", ".join(name or number for number, name in names)
            raise StreamError(f"--shape: no argument is named {min(unknown)}; there are {known or 'none'}")
        for index, (one, both) in enumerate(zip(found, names, strict=True)):
            shape = next((shapes[name] for name in both if name is not None and name in shapes), None)
            if shape is not None and not one.takes(shape):
                raise StreamError(f"--shape: argument {both[1] or both[0]} has type {one.text}, not shape {shape}")
            if shape is None and not one.is_static:
                sizes = ",".join("N" if size < 0 else str(size) for size in one.shape)
                fail(
                    self.entry,
                    f"argument {both[1] or both[0]} has type {one.text}: give its sizes, --shape {both[1] or both[0]}="
                    f"{sizes}, or --inputs",
                )
            if shape is not None:
                found[index] = ArrayType(shape, one.dtype, one.text)
        check_memory(self.module, sum(one.nbytes for one in found))
        return found

    def outputs(self) -> list[ArrayType]:
        return self._types[1]

    @cached_property
    def _types(self) -> tuple[list[ArrayType], list[ArrayType]]:
        if PROGRAM in self.module.attributes:
            inputs, outputs = entry_types(self.module)
            return list(inputs), list(outputs)
        types = self.entry.function_type
        return self._arrays("argument", types.inputs.data), self._arrays("result", types.outputs.data)

    def misfit(self, message: str) -> Diagnostic:
        """An error about arrays, with a note where the entry says what it takes."""
        if PROGRAM in self.module.attributes:
            return Diagnostic("error", message)
        taken = ", ".join(
            f"%{name}: {one.text}" if name else one.text
            for name, one in zip(self.argument_names(), self.inputs(), strict=True)
        )
        name = self.chosen.removeprefix("@") if self.chosen is not None else self.entry.sym_name.data
        note = Diagnostic("note", f"@{name} takes ({taken})", self.entry.location)
        return Diagnostic("error", message, notes=(note,))

    def argument_names(self) -> list[str | None]:
        if PROGRAM in self.module.attributes:
            return [None] * len(self.inputs())
        return [arg.name_hint for arg in self.entry.body.block.args if not isinstance(arg.type, TokenType)]

    def _arrays(self, what: str, types: Sequence[Attribute]) -> list[ArrayType]:
        """The array types at the entry, without tokens, which hold no data."""
        return [self._wanted(t, f"{what} {i}") for i, t in enumerate(types) if not isinstance(t, TokenType)]

    def _wanted(self, type_: Attribute, what: str) -> ArrayType:
        if not isinstance(type_, TensorType):
            fail(self.entry, f"has {what} of type {type_}; hlo-run takes tensors")
        tensor = tensor_type(cast(Attribute, type_))
        dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
        if dtype is None:
            fail(self.entry, f"has {what} of type {type_}, whose elements no array holds")
        return ArrayType(tuple(max(size, -1) for size in shape), dtype, str(tensor))

    def compile(
        self,
        target: str | Target,
        profile: bool,
        math: str = "default",
        guard: str | None = None,
        opt_level: int = DEFAULT_OPT_LEVEL,
    ) -> Executable:
        from ..targets.compile import compile_program

        return compile_program(self._source, target, profile=profile, math=math, guard=guard, opt_level=opt_level)

    def compile_replicated(self, replicas: int, partitions: int, guard: str | None) -> ReplicatedExecutable:
        """Compile the program for several devices of this CPU."""
        from ..targets.cpu.replicated import compile_replicated

        return compile_replicated(self._source, replicas, partitions, guard=guard)

    @property
    def _source(self) -> str | Path | ModuleOp:
        if self.chosen is not None:
            return self.module
        return self.text if self.filename == STDIN else Path(self.filename)


def text_of(index: int, array: Array) -> str:
    """One result as text with all of its values."""
    values = np.array2string(array, separator=", ", threshold=sys.maxsize, floatmode="unique")
    return f"result {index}: {array.dtype}{list(array.shape)}\n{values}\n"


def shown(index: int, array: Array) -> str:
    """One result as text: its number, type, and values as NumPy prints them, long ones abridged."""
    values = np.array2string(array, separator=", ", threshold=64, precision=6)
    return f"result {index}: {array.dtype}{list(array.shape)}\n{values}\n"
