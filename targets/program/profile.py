"""The measured times of a program's kernels as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .facts import Kernel


@dataclass(frozen=True)
class KernelTime:
    """One row: a kernel and what its calls took."""

    kernel: str
    kind: str
    calls: int
    milliseconds: float
    """The sum over all calls."""
    share: float
    """The part of the time of all kernels, from 0 to 1."""
    gigabytes_per_second: float
    """Bytes of operands and results over time."""
    gigaflops: float
    """1e9 floating-point operations per second, an elementary function counted as one."""


@dataclass(frozen=True)
class Profile:
    """
    The times of a program's kernels, the most expensive first: a sequence of rows that prints as a table.

    `str(profile)` is the table as text, `to_json()` and `to_dataframe()` are the same as data.
    """

    rows: tuple[KernelTime, ...]

    @staticmethod
    def of(kernels: Sequence[Kernel]) -> Profile:
        """The profile of kernels that counted their calls."""
        total = sum(kernel.nanoseconds for kernel in kernels)
        ordered = sorted(kernels, key=lambda kernel: -kernel.nanoseconds)
        return Profile(tuple(_row(kernel, total) for kernel in ordered))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[KernelTime]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> KernelTime:
        return self.rows[index]

    @property
    def milliseconds(self) -> float:
        """The time of all kernels together."""
        return sum(row.milliseconds for row in self.rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict per row."""
        return list(map(asdict, self.rows))

    def to_json(self) -> str:
        """The rows as a JSON array of objects."""
        return json.dumps(self.to_dicts(), indent=2)

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError without pandas."""
        try:
            import pandas  # pyright: ignore
        except ImportError as error:
            raise ImportError("to_dataframe() needs pandas: pip install pandas; to_dicts() does not") from error
        return pandas.DataFrame(self.to_dicts(), columns=list(KernelTime.__dataclass_fields__))  # pyright: ignore

    def __str__(self) -> str:
        width = max([len("kernel"), *(len(row.kernel) for row in self.rows)])
        lines = [f"{'kernel':<{width}}{'calls':>8}{'ms':>11}{'%':>7}{'GB/s':>9}{'GFLOP/s':>9}"]
        for row in self.rows:
            rates = f"{row.gigabytes_per_second:>9.2f}{row.gigaflops:>9.2f}"
            share = f"{100 * row.share:>7.1f}"
            lines.append(f"{row.kernel:<{width}}{row.calls:>8}{row.milliseconds:>11.3f}{share}{rates}")
        calls = sum(row.calls for row in self.rows)
        lines.append(f"{'total':<{width}}{calls:>8}{self.milliseconds:>11.3f}")
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def _row(kernel: Kernel, total: int) -> KernelTime:
    # A call of a library, or of a function of the host program, says which.
    name = f"{kernel.name} [{kernel.library or 'callback'}]" if kernel.target else kernel.name
    ns = max(kernel.nanoseconds, 1)
    return KernelTime(
        kernel=name,
        kind=kernel.kind,
        calls=kernel.calls,
        milliseconds=kernel.nanoseconds / 1e6,
        share=kernel.nanoseconds / total if total else 0.0,
        gigabytes_per_second=kernel.bytes * kernel.calls / ns,
        gigaflops=kernel.flops * kernel.calls / ns,
    )
