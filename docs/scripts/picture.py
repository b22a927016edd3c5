"""
Draws docs/pipeline.svg, the picture of README.md: `python docs/scripts/picture.py`.

Everything in it is output of the compiler for near.mlir: the text, the kernel that each operation became part of (by
source locations), and the assembly of the first kernel's loop, which is for the machine at hand.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import xhlo
from xhlo.hlo_dialect.diagnostics.diagnostic import file_location
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.pipelines import FRONT, FUSE
from xhlo.targets.program.pipeline import run_passes

PICTURE = Path(__file__).resolve().parent.parent / "pipeline.svg"

PROGRAM = Path(__file__).with_name("near.mlir").read_text(encoding="utf-8")

COLOURS = ("#1f77b4", "#d9730d", "#2b8a3e")
"""One for each kernel."""
PLAIN = "#57606a"
LINE, TOP, CHARACTER = 18, 64, 6.9
"""The height of a line, the first line's place, and the width of a character of 11.5 pixels."""


@dataclass
class Panel:
    """A column of text: a title, a caption, and coloured lines."""

    title: str
    caption: str
    lines: list[tuple[str, str]] = field(default_factory=list)

    @property
    def width(self) -> float:
        return 28 + CHARACTER * max(len(text) for text, _ in [*self.lines, (self.caption, "")])

    def drawn(self, left: float) -> Iterator[str]:
        height = TOP + LINE * len(self.lines)
        yield f'<rect x="{left:.1f}" y="8" width="{self.width:.0f}" height="{height}" rx="8" class="panel"/>'
        yield f'<text x="{left + 14:.1f}" y="32" class="title">{escape(self.title)}</text>'
        yield f'<text x="{left + 14:.1f}" y="49" class="caption">{escape(self.caption)}</text>'
        for number, line in enumerate(self.drawn_lines()):
            yield f'<text x="{left + 14:.1f}" y="{TOP + 10 + LINE * number}" {line}'

    def drawn_lines(self) -> list[str]:
        """The lines of text as SVG, without their places."""
        return [f'fill="{colour}" xml:space="preserve">{escape(text)}</text>' for text, colour in self.lines]


def without_types(line: str) -> str:
    """The line without its types."""
    return re.sub(r" : .*", "", line)


def kernels_of_lines() -> dict[int, int]:
    """The number of the kernel that each line of the program became part of."""
    ctx = make_context()
    module = parse_module(PROGRAM, "near.mlir", ctx)
    run_passes(ctx, module, (*FRONT, *FUSE))
    found: dict[int, int] = {}
    for number, fusion in enumerate(op for op in module.walk() if isinstance(op, FusionOp)):
        for op in fusion.walk():
            place = file_location(op.location)
            if place is not None and op is not fusion and op.name not in ("hlo.constant", "hlo.return"):
                found[place.line.data] = number
    return found


def program_panel() -> Panel:
    kernels = kernels_of_lines()
    panel = Panel("the program", "StableHLO; a colour for each kernel")
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        if 1 < number < len(PROGRAM.splitlines()) - 1:
            colour = COLOURS[kernels[number]] if number in kernels else PLAIN
            panel.lines.append((without_types(line).strip(), colour))
    return panel


def fusions_panel(executable: xhlo.Executable) -> Panel:
    """The body of the entry, a colour for each fusion, without its constants and terminators."""
    panel = Panel("its fusions", "hlo-opt --fuse")
    number = -1
    for line in executable.as_text("fused").splitlines()[2:-3]:
        text = line.removeprefix("    ")
        if " hlo.fusion " in text:
            number += 1
            text = re.sub(r" \(.*", " {", text)
        if "hlo.constant" not in text and "hlo.return" not in text:
            panel.lines.append((without_types(text), COLOURS[number]))
    return panel


def assembly_panel(executable: xhlo.Executable) -> Panel:
    """The first loop of the first kernel: from the label that a later line jumps to, to that line."""
    text = executable.as_text("asm").partition("reduce_fusion_0:")[2]
    loop = re.search(r"^(\S+):\n((?:\t.*\n)*?\tj\w+\t\1\n)", text, re.MULTILINE)
    if loop is None:
        sys.exit(f"no loop is found in the assembly of a {platform.machine()}; the picture is made on an x86-64")
    panel = Panel("a kernel's loop", "hlo-opt --fuse --lower --emit=asm, AVX-512")
    panel.lines.append((f"{loop[1]}:", COLOURS[0]))
    for line in loop[2].splitlines():
        name, _, operands = line.strip().partition("\t")
        panel.lines.append((f"    {name:<13} {operands}", COLOURS[0]))
    return panel


def picture() -> str:
    """The picture as SVG."""
    executable = xhlo.compile(PROGRAM)
    drawn: list[str] = []
    left, height = 8.0, 0
    for panel in (program_panel(), fusions_panel(executable), assembly_panel(executable)):
        drawn += panel.drawn(left)
        left += panel.width + 12
        height = max(height, TOP + LINE * len(panel.lines) + 16)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left:.0f} {height}" font-size="11.5">
<style>
text {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }}
.title {{ font-size: 15px; font-weight: 600; fill: #1f2328; font-family: system-ui, sans-serif; }}
.caption {{ fill: {PLAIN}; }}
.panel {{ fill: #ffffff; stroke: #d0d7de; }}
</style>
{chr(10).join(drawn)}
</svg>
"""


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
