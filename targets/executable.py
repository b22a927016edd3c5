"""What a compiled program is on every target, and what is known of its kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..hlo_dialect.types import ArrayType

if TYPE_CHECKING:
    from .source import Source


@dataclass
class Kernel:
    """What is known of one kernel of an executable; `calls` and `nanoseconds` grow when it was compiled to profile."""

    name: str
    kind: str
    ops: int
    """Operations of the hlo dialect in it."""
    bytes: int
    """Bytes of its operands and results: what one call moves at least."""
    flops: int
    """Floating-point operations of one call, an elementary function counted as one."""
    sites: int
    """Places of the program that call it."""
    target: str = ""
    """kinds "library" and "callback": the target of the custom call that the kernel is."""
    library: str = ""
    """kind "library": which one."""
    calls: int = 0
    nanoseconds: int = 0


class Executable(ABC):
    """
    Call it with one array for each argument of `@main`; it returns an array, or a tuple of arrays.

    Raises TypeError for a wrong number, shape or dtype of arguments before anything runs. Safe to call from several
    threads.
    """

    def __init__(self, text_at: Callable[[str], str]):
        self._text_at = text_at
        self.source: Source | None = None
        """The program as it was given, where it was given as text."""

    @property
    @abstractmethod
    def input_types(self) -> tuple[ArrayType, ...]: ...

    @property
    @abstractmethod
    def output_types(self) -> tuple[ArrayType, ...]: ...

    @property
    @abstractmethod
    def kernels(self) -> list[Kernel]:
        """The program's distinct kernels, with measured times when it was compiled with `profile=True`."""

    @property
    @abstractmethod
    def compile_stages(self) -> dict[str, float]:
        """Seconds of compile time by stage, in order."""

    @abstractmethod
    def reset_profile(self) -> None: ...

    def traffic_table(self) -> str:
        """What kernels asked of memory, of a program compiled with `profile=True` for a target that counts it."""
        return ""

    def as_text(self, stage: str = "hlo") -> str:
        """
        The program as text: "hlo", "fused", a stage of the target's lowering ("linalg", "loops", "llvm", ..), or what
        the target emits as text ("asm" on the CPU, "ptx" on the GPU). Raises ValueError otherwise.
        """
        return self._text_at(stage)

    @abstractmethod
    def serialize(self) -> bytes:
        """The executable as bytes, for `xhlo.deserialize`."""

    def place(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments in the memory that the program works in: calls with them copy nothing there."""
        return arguments

    def wait(self) -> None:
        """Wait for what calls have left running: nothing, on most targets."""
        return

    @abstractmethod
    def __call__(self, *arguments: Any) -> Any: ...
