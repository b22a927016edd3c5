"""The interface of a compiled program, the same on every target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...hlo_dialect.types import ArrayType
from .checks import check_results
from .facts import Facts, Kernel

if TYPE_CHECKING:
    from .source import Source


class Executable(ABC):
    """
    Call it with one array for each argument of `@main`; it returns an array, or a tuple of arrays.

    Raises TypeError for a wrong number, shape or dtype of arguments before anything runs. Thread-safe.
    """

    def __init__(self, facts: Facts, text_at: Callable[[str], str]):
        self.facts = facts
        self._text_at = text_at
        self.source: Source | None = None
        """The source text of the program, if it was given as text."""

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The arrays that the program takes."""
        return self.facts.inputs

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The arrays that the program returns."""
        return self.facts.outputs[: self.facts.result_count]

    @property
    def kernels(self) -> list[Kernel]:
        """The program's distinct kernels, with measured times when it was compiled with `profile=True`."""
        return self.facts.kernels

    @property
    def compile_stages(self) -> dict[str, float]:
        """Seconds of compile time by stage, in order."""
        return dict(self.facts.stages)

    def reset_profile(self) -> None:
        """Forget the measured times."""
        for kernel in self.facts.kernels:
            kernel.calls = kernel.nanoseconds = 0

    def traffic_table(self) -> str:
        """The memory traffic of kernels, for a program compiled with `profile=True` for a target that counts it."""
        return ""

    def as_text(self, stage: str = "hlo") -> str:
        """
        The program as text: "hlo", "fused", a stage of the target's lowering ("linalg", "loops", "llvm", ..), or a text
        emission of the target ("asm" on the CPU, "ptx" on the GPU). Raises ValueError otherwise.
        """
        return self._text_at(stage)

    @abstractmethod
    def serialize(self) -> bytes:
        """The executable as bytes, for `xhlo.deserialize`."""

    def place(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments in the memory that the program uses, so that calls do not copy them."""
        return arguments

    def wait(self) -> None:
        """Wait for asynchronous work of earlier calls; on most targets there is none."""
        return

    @abstractmethod
    def __call__(self, *arguments: Any) -> Any: ...

    def check_count(self, arguments: Sequence[Any]) -> None:
        """Check the number of arguments. Raises TypeError."""
        if len(arguments) != len(self.facts.inputs):
            raise TypeError(f"expected {len(self.facts.inputs)} arguments, got {len(arguments)}")

    def results(self, outputs: Sequence[Any]) -> Any:
        """The program's own results among its outputs: one array, or a tuple. Raises CheckFailure."""
        count = self.facts.result_count
        if self.facts.checks:
            check_results(self.facts, outputs[count:])
        return outputs[0] if count == 1 else tuple(outputs[:count])
