"""
The processor time that reading an instruction of HLO text takes.

    python benchmarks/hlo_text_reading.py [FOLDER ..]

The computations of all texts of the folders, by default of the conformance programs, are one program, whose entry calls
those of the texts. It also reads a chain of additions, where each instruction is the cheapest that there is.
"""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from xhlo.frontends.hlo_text.parsing import parse_program
from xhlo.hlo_dialect.reading import parse_module

CONFORMANCE = Path(__file__).resolve().parents[2] / "shared" / "conformance"
_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|select|scatter|true_computation|false_computation|branch_computations)="
    r"(%?[\w.-]+|\{[^}]*\})"
)
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.-]+)(?= (?:\(.*\) -> .*)?\{$)", re.MULTILINE)
_NAME = re.compile(r"%?([A-Za-z_][\w.-]*)")


def joined(texts: Iterable[str]) -> str:
    """One program of several: the computations of number n are called `cn.name`, and the entry calls each entry."""
    parts: list[str] = ["HloModule joined"]
    parameters: list[str] = []
    calls: list[str] = []
    for number, text in enumerate(texts):
        entry = parse_program(text, "x.hlo").entry
        assert entry is not None and entry.root is not None
        # The module's header is the first line.
        own = text.partition("\n")[2]
        renamed = rf"c{number}.\1"
        own = _CALLED.sub(lambda match, new=renamed: f"{match[1]}={_NAME.sub(new, match[2])}", own)
        parts.append(_HEAD.sub(renamed, own).strip())
        shapes = [_shape(text, entry.parameters[index].offset) for index in range(len(entry.parameters))]
        names = [f"p{len(parameters) + index}" for index in range(len(shapes))]
        parameters += [
            f"  {name} = {shape} parameter({len(parameters) + index})"
            for index, (name, shape) in enumerate(zip(names, shapes, strict=True))
        ]
        result = _shape(text, entry.root.offset)
        calls.append(f"  r{number} = {result} call({', '.join(names)}), to_apply=c{number}.{entry.name}")
    return "\n\n".join((*parts, "\n".join(("ENTRY joined {", *parameters, *calls, "}\n"))))


def _shape(text: str, offset: int) -> str:
    """The shape before the opcode at an offset."""
    return text[text.rindex(" = ", 0, offset) + 3 : offset].strip()


def chain(count: int) -> str:
    lines = [f"  x{at} = f32[8,8]{{1,0}} add(x{at - 1}, x{at - 1})" for at in range(1, count)]
    return "\n".join(["HloModule chain\nENTRY main {\n  x0 = f32[8,8]{1,0} parameter(0)", *lines, "}\n"])


def seconds(function: Callable[[], object], repeat: int) -> float:
    """The least processor time of some calls, without that of collecting what the call before left."""
    found: list[float] = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        result = function()
        found.append(time.process_time() - start)
        del result
    return min(found)


def main() -> None:
    folders = [Path(name) for name in sys.argv[1:]] or [CONFORMANCE / "hlo_text", CONFORMANCE / "tf_hlo"]
    files = [file for folder in folders for file in sorted(folder.glob("*.hlo"))]
    if not files:
        sys.exit(f"there are no .hlo files in {', '.join(map(str, folders))}")
    for name, text in (("programs", joined(file.read_text() for file in files)), ("additions", chain(10_000))):
        program = parse_program(text, name)
        count = sum(len(computation.instructions) for computation in program.computations.values())
        parsed = seconds(lambda text=text: parse_program(text, "x.hlo"), 7)
        whole = seconds(lambda text=text: parse_module(text, "x.hlo"), 7)
        each, of_it = whole / count * 1e6, parsed / count * 1e6
        print(f"{name}: {count} instructions, {each:.1f} us each, of which {of_it:.1f} to parse them")


if __name__ == "__main__":
    main()
