"""The program that hlo-run runs: its text, its module, the arrays at its entry, its executables; and its results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ..hlo_dialect.collectives.host_transfers import TokenType
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.reading import parse_module
from ..hlo_dialect.types import Array, numpy_dtype, tensor_type
from ..passes.manager.timing import Timing
from ..targets.program.entry import entry_of
from .arrays import ArrayType
from .streams import STDIN, read_text

if TYPE_CHECKING:
    from ..targets.cpu.replicated import ReplicatedExecutable
    from ..targets.program.executable import Executable


class Program:
    """The program of a file, parsed and compiled on demand."""

    def __init__(self, name: str, timing: Timing):
        self.filename, self.text = read_text(name)
        self.timing = timing

    @property
    def sources(self) -> dict[str, str]:
        """The text by each file name that diagnostics may use."""
        return dict.fromkeys((self.filename, str(Path(self.filename)), "<text>"), self.text)

    @cached_property
    def module(self) -> ModuleOp:
        with self.timing.stage("read"):
            return parse_module(self.text, self.filename, make_context())

    @cached_property
    def entry(self) -> FuncOp:
        return entry_of(self.module)

    def inputs(self) -> list[ArrayType]:
        return self._arrays("argument", self.entry.function_type.inputs.data)

    def outputs(self) -> list[ArrayType]:
        return self._arrays("result", self.entry.function_type.outputs.data)

    def argument_names(self) -> list[str | None]:
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
        if any(size < 0 for size in shape):
            fail(self.entry, f"has {what} of type {type_}; hlo-run needs static shapes")
        return ArrayType(shape, dtype, str(tensor))

    def compile(self, target: str, profile: bool, math: str = "default") -> Executable:
        from ..targets.compile import compile_program

        return compile_program(self._source, target, profile=profile, math=math)

    def compile_replicated(self, replicas: int, partitions: int) -> ReplicatedExecutable:
        """Compile the program for several devices of this CPU."""
        from ..targets.cpu.replicated import compile_replicated

        return compile_replicated(self._source, replicas, partitions)

    @property
    def _source(self) -> str | Path:
        return self.text if self.filename == STDIN else Path(self.filename)


def shown(index: int, array: Array) -> str:
    """One result as text: its number, type, and values as NumPy prints them, long ones abridged."""
    values = np.array2string(array, separator=", ", threshold=64, precision=6)
    return f"result {index}: {array.dtype}{list(array.shape)}\n{values}\n"
