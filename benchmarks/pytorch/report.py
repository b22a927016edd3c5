"""
Write `benchmarks/TORCH.md` from the outcomes that `test/torch/run_opinfo.py --into=FILE` collected.

    python test/torch/run_opinfo.py float32 bfloat16 int64 bool --into=build/operations.txt
    python test/torch/run_opinfo.py float32 --backward --into=build/operations.txt
    python test/torch/run_opinfo.py float32 --backend=inductor --only=.. --into=build/operations.txt
    python benchmarks/pytorch/report.py build/operations.txt

`models.py speed --write` writes the table of models.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "TORCH.md"
STATES = {
    "ok": "compiled, right",
    "fallback": "right, parts run by torch",
    "breaks": "right, Dynamo ends the graph",
    "wrong": "wrong",
    "failed": "error",
    "hung": "hung",
    "crashed": "crashed",
}


def outcomes(text: str) -> dict[tuple[str, str, str], str]:
    """From system, kind of run and operation to the outcome, the last one of each."""
    found: dict[tuple[str, str, str], str] = {}
    for line in text.splitlines():
        title, _, outcome = line.partition(": ")
        system, _, rest = title.partition(" ")
        # The type is the last word but for `backward`; an operation's own name may have dots too.
        name, _, kind = rest.rpartition(" torch.")
        found[system, kind, " ".join(name.split())] = outcome
    return found


def summary(found: dict[tuple[str, str, str], str]) -> list[str]:
    """A table: for each kind of run the number of operations by outcome."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (system, kind, _), outcome in found.items():
        state = outcome.partition(":")[0]
        if system == "xhlo" and state != "refused":
            counts[kind][state] += 1
    lines = [
        f"| | operations | {' | '.join(STATES.values())} |",
        f"| --- | --- |{' --- |' * len(STATES)}",
    ]
    for kind, each in counts.items():
        numbers = " | ".join(str(each[state]) for state in STATES)
        lines.append(f"| {kind} | {each.total()} | {numbers} |")
    return lines


def reasons(found: dict[tuple[str, str, str], str]) -> list[str]:
    """A list: the operations that are not compiled whole, by outcome and reason."""
    named: defaultdict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    for (system, kind, name), outcome in found.items():
        state, _, reason = outcome.partition(": ")
        if system == "xhlo" and state not in ("ok", "refused"):
            named[state, reason if state == "fallback" else ""].setdefault(name, []).append(kind)
    lines: list[str] = []
    for (state, reason), names in sorted(named.items()):
        title = f"{STATES[state]}{f' (`{reason}`)' if reason else ''}"
        shown = ", ".join(f"`{name}`" for name in sorted(names))
        lines.append(f"- {title}: {shown}")
    return lines


def beside_inductor(found: dict[tuple[str, str, str], str]) -> list[str]:
    """How many of the operations that inductor passes are right here; it ran those that are not compiled whole."""
    right = ("ok", "fallback", "breaks")
    lines: list[str] = []
    for kind in dict.fromkeys(kind for system, kind, _ in found if system == "inductor"):
        passed = {
            name
            for (system, its, name), outcome in found.items()
            if its == kind and (outcome == "ok" if system == "inductor" else outcome.startswith("ok"))
        }
        names = [name for system, its, name in found if system == "xhlo" and its == kind and name in passed]
        states = [found["xhlo", kind, name].partition(":")[0] for name in names]
        whole, good = states.count("ok"), sum(one in right for one in states)
        lines.append(
            f"| {kind} | {len(names)} | {whole} ({whole / len(names):.1%}) | {good} ({good / len(names):.1%}) |"
        )
    return lines


def part(mark: str) -> list[str]:
    """The lines of a part of the page; none if it is not there."""
    _, _, rest = PAGE.read_text().partition(f"<!-- {mark} -->")
    return rest.partition(f"<!-- end of {mark} -->")[0].splitlines()


def put(mark: str, lines: list[str]) -> None:
    """Replace a part of the page, which stands between two comments, or add it."""
    start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    page, new = PAGE.read_text(), "\n".join([start, *lines, end])
    before, found, rest = page.partition(start)
    PAGE.write_text(before + new + rest.partition(end)[2] if found else f"{page}\n{new}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", type=Path)
    stated = parser.parse_args()
    found = outcomes(stated.operations.read_text())
    parts = [
        "## Operations of torch's own list (OpInfo), beside eager mode",
        "",
        "Two samples of each operation and type on the CPU, as one graph. Operations whose samples eager mode itself",
        "refuses are not counted. `matrix_exp` of bf16 counts as wrong: eager mode gives NaN",
        "where xhlo gives finite numbers, not checked against f64.",
        "",
        *summary(found),
        "",
        *reasons(found),
    ]
    compared = beside_inductor(found)
    if compared:
        parts += [
            "",
            "## The same beside inductor",
            "",
            "Inductor ran the operations that xhlo does not compile whole; it is taken to pass the others. An",
            "operation is right if its results are eager's, whoever computes a part of it; inductor calls torch too.",
            "Where Dynamo ends the graph it does so for every backend: these are not counted.",
            "",
            "| | inductor passes | compiled whole | right |",
            "| --- | --- | --- | --- |",
            *compared,
        ]
    put("operations", parts)


if __name__ == "__main__":
    main()
