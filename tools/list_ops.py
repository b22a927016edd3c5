"""
Writes the table of all operations, docs/ops.md: `python -m xhlo.tools.list_ops > docs/ops.md` (`make docs`).

Everything in it is derived from the classes, the registries of lowerings and the tests; nothing is maintained by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from xdsl.ir import Operation

from ..hlo_dialect.chlo.broadcasts import BroadcastingBinaryOp
from ..hlo_dialect.custom_calls.operations import CompositeOp, CustomCallOp
from ..hlo_dialect.dialect import hlo_operations, make_context
from ..hlo_dialect.op import HloOp, RegionOp
from ..hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ..hlo_dialect.ops.dynamism.dimension_sizes import GetDimensionSizeOp
from ..hlo_dialect.ops.elementwise import Kind, kind_text
from ..lowering.convert_chlo_to_hlo.conversion import ConvertChloToHloPass
from ..lowering.convert_chlo_to_hlo.rules import conversions
from ..lowering.convert_hlo_to_linalg.emission import patterns, scalar_patterns
from ..passes.decompose_hlo.transform import decompositions
from ..passes.fuse_hlo.graph import LOOP_ROLES
from ..passes.manager.pipelines import FRONT
from ..passes.manager.registry import get_pass
from ..passes.partition_spmd.parts import partition_rules
from ..passes.resolve_dynamic_shapes import STATIC_FORMS
from ..passes.simplify_hlo.rewrite import simplifications
from ..passes.split_complex.arithmetic import split_rules
from ..passes.split_complex.transform import CARRIERS
from .op_examples import examples_text

ROOT = Path(__file__).resolve().parent.parent

HEADER = """# Operations

Written by `make docs` from the classes, the lowerings and the tests; do not edit.

* *meaning*: the beginning of the class's docstring; the name leads to its section of the StableHLO specification.
* *constraints*: those that its verifier names in its messages, by the numbers of the specification (c), and the types
  of its operands (i).
* *cpu*: what becomes of it on the way to machine code.
* *gpu*: whether the GPU target takes it, on one device: by the same way up to linalg, and then by kernels of its own.
* *tests*: files of test/lit/hlo_dialect/ with its text and its invalid forms; there are more elsewhere.

After the families come the facilities of the compiler that each operation has, and then its syntax with an example.
"""

FACILITIES = """## Facilities

"no": the operation lacks the facility, and a program may reach it. An empty cell: the operation does not need it, or is
gone by then.

* *infer*, *verify*, *fold*: methods of the class. *reference*: whether `hlo-run --target=reference` runs it.
* *simplify*: rules of simplify-hlo, besides folds and constants.
* *fusion*, *cost*: the role in fusion, and the cost of computing an element again, in additions.
* *flops*: whether profiles count its arithmetic. *complex*: how split-complex treats it.
* *spmd*: how partition-spmd keeps its operands split; with "no" they are gathered.
* *linalg*: the lowering of convert-hlo-to-linalg: of one element, or of whole tensors.

| operation | infer | verify | fold | reference | simplify | fusion | cost | flops | complex | spmd | linalg |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

EXAMPLES = """## Syntax and examples

For each operation how it is written, a program of one, and its constraints; `hlo-opt --explain transpose_c2` prints a
program that breaks one. In the syntax *type* and *int* stand for any, and `..` for more of them or for operations.
"""


_OPERATION = re.compile(r"\b(?:stable)?(c?hlo\.[\w-]+)")


@cache
def _test_texts() -> dict[str, str]:
    folder = ROOT / "test" / "lit" / "hlo_dialect"
    files = sorted(folder.rglob("*.mlir"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file.read_text(encoding="utf-8") for file in files}


@cache
def _removed_by() -> dict[str, str]:
    """The pass of the front end that removes an operation, by the operation's name."""
    removed: dict[str, str] = {}
    for spec in FRONT:
        pass_type: Any = get_pass(spec.partition("{")[0])
        for name in getattr(pass_type, "illegal", ()):
            if not name.endswith(".*"):
                removed.setdefault(name, pass_type.name)
    return removed


def _family(cls: type[Operation]) -> str:
    """`chlo: elementary`: the family's folder and file; the file alone in hlo_dialect/ops."""
    return cls.__module__.partition(".hlo_dialect.")[2].removeprefix("ops.").replace(".", ": ")


def _meaning(cls: type[Operation]) -> str:
    """The first sentence of the docstring, on one line, escaped for a table."""
    text = " ".join((inspect.getdoc(cls) or "").split())
    sentence = re.split(r"(?<=[.:])\s+(?=[A-Z`])|\s(?=(?:Shapes|Types|Raises|Spec):)", text, maxsplit=1)[0]
    return sentence.strip().rstrip(":").replace("|", "\\|")


@cache
def _source(cls: type[Any]) -> str:
    """The text of a class, which is at the top level of its file."""
    text = inspect.getsource(sys.modules[cls.__module__])
    return _classes_of(text)[cls.__qualname__]


@cache
def _classes_of(text: str) -> dict[str, str]:
    """The classes of a file; `inspect.getsource` would parse the file for each."""
    lines = text.splitlines(keepends=True)
    return {
        node.name: "".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
    }


def _sources(cls: type[Operation]) -> str:
    """The class and its bases of this project."""
    return "\n".join(_source(base) for base in cls.__mro__ if "hlo_dialect" in base.__module__)


def constraints_of(cls: type[Operation]) -> list[str]:
    """The numbers of the constraints that the verifier of an operation names: `c1`, `i2`."""
    mnemonic = cls.name.partition(".")[2]
    module = inspect.getsource(inspect.getmodule(cls) or cls)
    found = set(re.findall(rf"\b{mnemonic}_([ci]\d+)\b", module))
    found |= set(re.findall(r"\}_([ci]\d+)\b", _sources(cls)))
    return sorted(found, key=lambda name: (name[0], int(name[1:])))


def _ranges(names: Sequence[str]) -> str:
    """`c1-c3, c5`"""
    parts: list[list[str]] = []
    for name in names:
        if parts and parts[-1][-1][0] == name[0] and int(parts[-1][-1][1:]) + 1 == int(name[1:]):
            parts[-1].append(name)
        else:
            parts.append([name])
    return ", ".join(part[0] if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _kinds(cls: type[Operation]) -> Kind | None:
    return cls.kinds() if issubclass(cls, BroadcastingBinaryOp) else getattr(cls, "KINDS", None)


def _types(cls: type[Operation]) -> str:
    kinds = _kinds(cls)
    return "" if kinds is None else kind_text(kinds)


def _on_cpu(cls: type[Operation]) -> str:
    if cls in decompositions:
        return "decomposed by decompose-hlo"
    if cls.name.startswith("chlo."):
        split = f"decomposed by {ConvertChloToHloPass.name}"
        if cls not in scalar_patterns:
            return split
        return f"elementwise, fused; of complex numbers {split}" if cls in conversions else "elementwise, fused"
    if cls is CompositeOp:
        return "its decomposition, by inline"
    if cls in STATIC_FORMS or cls is GetDimensionSizeOp:
        return "made static by resolve-dynamic-shapes, or refused"
    if cls.name in _removed_by():
        return f"taken away by {_removed_by()[cls.name]}"
    role = cls.ROLE if issubclass(cls, HloOp) and cls.ROLE != "elementwise" else None
    if role is None and cls in split_rules and not (cls in patterns or cls in scalar_patterns):
        return "split by split-complex"
    if cls in scalar_patterns:
        return "elementwise, fused"
    if role in LOOP_ROLES or role in ("constant", "reduce", "concatenate", "update"):
        return "fused"
    if cls in patterns:
        return "host program" if role == "host" else "a kernel of its own"
    return "host program" if role == "host" else "refused"


@cache
def _named_in_tests() -> dict[str, set[str]]:
    """The operations that each test names, whole words, stablehlo's as hlo's."""
    return {name: set(_OPERATION.findall(text)) for name, text in _test_texts().items()}


def _tests(cls: type[Operation]) -> str:
    return ", ".join(islice((test for test, names in _named_in_tests().items() if cls.name in names), 2))


def _row(cls: type[Operation]) -> str:
    mnemonic = cls.name.partition(".")[2]
    name = f"`{cls.name}`"
    if cls.name.startswith("hlo."):
        name = f"[{name}](https://openxla.org/stablehlo/spec#{mnemonic})"
    on_cpu = _on_cpu(cls)
    columns = (
        name,
        _meaning(cls),
        _ranges(constraints_of(cls)),
        _types(cls),
        on_cpu,
        "no" if on_cpu == "refused" else "yes",
        _tests(cls),
    )
    return f"| {' | '.join(columns)} |"


def tables(operations: Iterable[type[Operation]]) -> str:
    """One section per family file, one row per operation."""
    families: dict[str, list[type[Operation]]] = {}
    for cls in operations:
        families.setdefault(_family(cls), []).append(cls)
    sections: list[str] = []
    for family, classes in sorted(families.items()):
        rows = [_row(cls) for cls in sorted(classes, key=lambda cls: cls.name)]
        head = "| operation | meaning | constraints | elements | cpu | gpu | tests |"
        rule = "| --- | --- | --- | --- | --- | --- | --- |"
        sections.append("\n".join([f"## {family.replace('_', ' ')}", "", head, rule, *rows]))
    return "\n\n".join(sections) + "\n"


def _facilities(cls: type[HloOp]) -> str:
    """The operation's row in the matrix."""

    def defines(*names: str) -> bool:
        own = cls.__mro__[: min(map(cls.__mro__.index, {HloOp, RegionOp}.intersection(cls.__mro__)))]
        return any(name in base.__dict__ for name in names for base in own)

    def cell(has: bool, needs: bool = True) -> str:
        return "yes" if has else "no" if needs else ""

    lowering = "element" if cls in scalar_patterns else "tensors" if cls in patterns else ""
    gone = cls.name.startswith("chlo.") or cls in decompositions or cls.name in _removed_by() or cls in STATIC_FORMS
    stays = bool(lowering) or not gone
    role = cls.ROLE or ("custom" if cls in patterns else "" if gone else "no")
    kinds = _kinds(cls) or Kind.ANY
    is_carried = issubclass(cls, (*CARRIERS, CustomCallOp))
    is_split = "parts" if cls.LINEAR else "rule" if cls in split_rules else "carried" if is_carried else ""
    is_partitioned = "rule" if cls in partition_rules else "elements" if cls.ROLE == "elementwise" else ""
    if issubclass(cls, (WhileOp, IfOp, CaseOp, CustomCallOp)):
        is_partitioned = "pass"
    columns = (
        f"`{cls.name}`",
        cell(defines("infer_types")),
        cell(defines("verify_")),
        cell(defines("fold"), needs=False),
        cell(defines("reference", "reference_with_regions")),
        cell(len(simplifications.all(cls)) > len(simplifications.all(HloOp)), needs=False),
        role,
        str(cls.COST) if lowering and role in LOOP_ROLES else "",
        cell(defines("flops"), needs=cls.COMPUTES and stays),
        is_split or ("no" if Kind.COMPLEX in kinds and stays and cls not in conversions else ""),
        is_partitioned or ("" if cls.name in _removed_by() or role == "host" else "no"),
        "element"
        if cls in scalar_patterns
        else "tensors"
        if cls in patterns
        else ""
        if gone or role == "host"
        else "no",
    )
    return f"| {' | '.join(columns)} |"


def page() -> str:
    """The text of docs/ops.md."""
    ctx = make_context()
    ctx.load_registered_dialect("chlo")
    operations = [*hlo_operations(), *ctx.get_dialect("chlo").operations]
    classes = [cls for cls in operations if issubclass(cls, HloOp)]
    facilities = "\n".join(_facilities(cls) for cls in sorted(classes, key=lambda cls: cls.name))
    return f"{HEADER}\n{tables(operations)}\n{FACILITIES}{facilities}\n\n{EXAMPLES}\n{examples_text(operations)}"


if __name__ == "__main__":
    sys.stdout.write(page())
