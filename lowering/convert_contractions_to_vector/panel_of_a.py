"""The memory layout of a panel of A: the form that the micro-kernel's code has, and the numbers that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..loop_nests.kernel_builder import Index


@dataclass(frozen=True)
class PanelOfA:
    """The memory layout of a panel of A."""

    row: int
    """Stride, in elements, from one row to the next."""
    step: int
    """Stride, in elements, from one step along k to the next."""
    loops: tuple[tuple[Index, int, int], ...] = ()
    """Contracted loops around the one along k: trip counts, and strides, in elements, in A and in the panel of B."""
    overlaps: bool = False
    """Whether the last panel ends with the last row of A, rather than with zeros."""

    def form(self, mr: int, b_packed: bool, known: bool) -> FormOfA:
        """
        The layout as far as the code for panels of `mr` rows depends on it; `known`: whether it is to know all numbers
        that the compiler knows.
        """
        numbers = self._numbers
        if known:
            return FormOfA(tuple(number if isinstance(number, int) else None for number in numbers), self.overlaps)
        is_packed = self.row == 1 and self.step == mr
        # Steps of both factors that are not known would take an instruction more each.
        row = 1 if self.row == 1 else None
        step = self.step if self.step == 1 or is_packed or not b_packed else None
        return FormOfA((row, step, *[None] * (len(numbers) - 2)), self.overlaps)

    @property
    def _numbers(self) -> list[Index]:
        return [self.row, self.step, *(number for loop in self.loops for number in loop)]

    def arguments(self, form: FormOfA) -> list[Index]:
        """The numbers that are not part of the form."""
        return [number for number, known in zip(self._numbers, form.numbers, strict=True) if known is None]


@dataclass(frozen=True)
class FormOfA:
    """The properties of a panel of A on which the code depends; all else are arguments, so that shapes share it."""

    numbers: tuple[int | None, ...]
    """Those of row, step and loops that are known."""
    overlaps: bool

    def with_arguments(self, arguments: Sequence[Index]) -> LayoutOfA:
        """The layout, from the numbers that `PanelOfA.arguments` has found."""
        rest = iter(arguments)
        row, step, *loops = (next(rest) if number is None else number for number in self.numbers)
        return LayoutOfA(self, row, step, list(zip(loops[::3], loops[1::3], loops[2::3], strict=True)))


@dataclass(frozen=True)
class LayoutOfA:
    """A panel of A inside the micro-kernel; the numbers are those of `PanelOfA`."""

    form: FormOfA
    row: Index
    step: Index
    loops: Sequence[tuple[Index, Index, Index]]

    @property
    def rows_adjoin(self) -> bool:
        return self.form.numbers[0] == 1
