"""The pages of all operations, one for each family: documentation, and an example before and after its lowering."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from passes_page import ROOT, shown
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import hlo_operations, make_context
from xhlo.hlo_dialect.op import HloOp
from xhlo.hlo_dialect.ops.creation import ConstantOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.verification.verifier import verify_module
from xhlo.passes.manager.pipelines import FRONT, FUSE_NONE, LOWER_LINALG
from xhlo.targets.program.pipeline import run_passes

TESTS = ROOT / "test" / "lit"
FOLDERS = ("hlo_dialect", "lowering/convert_hlo_to_linalg", "passes", "tools")
LONGEST = 60
"""The most lines that are shown of a lowered example."""
TRIED = 3
"""How many examples of an operation are tried, the shortest ones, until one can be lowered."""
DEPENDENT = {
    "hlo.return": "It ends the regions of other operations and states their results.",
    "hlo.composite": "It calls a function, its decomposition, which `inline` puts in its place.",
}
"""Operations of which the tests have no instance that stands alone, and what to know of them."""

INTRODUCTION = """
Each operation with an example from the tests, and what it becomes as a kernel of its own at the level of linalg, or
what the compiler says to it. Programs of several operations share kernels. [All operations](../ops.md) is the table of
constraints and of what each pass does with each operation.
"""


@cache
def operations() -> tuple[type[Operation], ...]:
    """The operations of hlo and chlo."""
    ctx = make_context()
    ctx.load_registered_dialect("chlo")
    return (*hlo_operations(), *ctx.get_dialect("chlo").operations)


def families() -> dict[str, list[type[Operation]]]:
    """The operations by family: the folder and file that define them."""
    found: defaultdict[str, list[type[Operation]]] = defaultdict(list)
    for cls in operations():
        found[cls.__module__.partition(".hlo_dialect.")[2].removeprefix("ops.")].append(cls)
    return dict(sorted(found.items()))


def pages() -> Iterator[tuple[str, str, str]]:
    """(file name, title, text) of each page."""
    for family, classes in families().items():
        title = family.replace(".", ": ").replace("_", " ")
        sections = map(section, sorted(classes, key=lambda cls: cls.name))
        yield f"{family.replace('.', '-')}.md", title, f"# {title}\n{INTRODUCTION}\n" + "\n".join(sections)


def section(cls: type[Operation]) -> str:
    parts = [f"## {cls.name}", f"```text\n{inspect.getdoc(cls)}\n```"]
    shown_pair = example(cls.name)
    if shown_pair is not None:
        before, after = shown_pair
        parts += [f"Before:\n\n```mlir\n{before}\n```", after]
    else:
        parts.append(DEPENDENT[cls.name])
    return "\n\n".join(parts) + "\n"


def example(name: str) -> tuple[str, str] | None:
    """A program with the operation, and in Markdown what becomes of it; one that is compiled, if there is one."""
    refused: tuple[str, str] | None = None
    for module in islice(valid_programs(name), TRIED):
        before = shown(module)
        try:
            run_passes(make_context(), module, (*FRONT, *FUSE_NONE, *LOWER_LINALG))
        except DiagnosticError as error:
            refused = refused or (before, f"After: refused.\n\n```text\n{str(error).splitlines()[0]}\n```")
            continue
        return before, f"After:\n\n```mlir\n{lowered(module)}\n```"
    return refused


def lowered(module: ModuleOp) -> str:
    module.attributes.clear()
    lines = shown(module).splitlines()
    if len(lines) > LONGEST:
        lines[LONGEST:] = [f"// .. and {len(lines) - LONGEST} more lines"]
    return "\n".join(lines)


@cache
def instances(name: str) -> list[Operation]:
    """The instances of an operation in the tests, the small ones of typical types first."""
    return sorted(found(name), key=lambda op: (*_oddities(op), _size(op)))


def found(name: str) -> Iterator[Operation]:
    """The instances of an operation in the tests, in the order of the files; only programs that name it are read."""
    for text in test_programs():
        module = test_module(text) if name in text else None
        if module is not None:
            yield from (op for op in module.walk() if op.name == name)


def _oddities(op: Operation) -> tuple[bool, bool]:
    """Whether it has unknown sizes, and whether it has no array of f32, or of complex<f32>, with dimensions."""
    types = " ".join(str(value.type) for value in (*op.operands, *op.results))
    return "?" in types, re.search(r"x(?:complex<)?f32>", types) is None


def _size(op: Operation) -> int:
    return sum(1 + len(one.operands) + len(one.properties) for one in op.walk())


def valid_programs(name: str) -> Iterator[ModuleOp]:
    """The programs that have one instance of the operation and are valid: it refers to no other function."""
    for op in instances(name):
        if not isinstance(op, HloOp) or any(
            "@" in str(value) for one in op.walk() for value in one.properties.values()
        ):
            continue
        module = program_of(op)
        try:
            verify_module(module)
        except DiagnosticError:
            continue
        yield module


@cache
def test_programs() -> tuple[str, ...]:
    """The programs of the tests of the dialect and of its lowerings; some are invalid on purpose."""
    paths = sorted(chain.from_iterable((TESTS / folder).rglob("*.mlir") for folder in FOLDERS))
    return tuple(
        part for path in paths for part in re.split(r"^// -----.*$", path.read_text(encoding="utf-8"), flags=re.M)
    )


@cache
def test_module(text: str) -> ModuleOp | None:
    """The module that a program of the tests is; None if it is invalid."""
    try:
        return parse_module(text, "example.mlir")
    except DiagnosticError:
        return None


def program_of(op: Operation) -> ModuleOp:
    """A module whose function has only this operation and the constants that it uses; other values are arguments."""
    walked = list(op.walk())
    inside = set(walked)
    used: dict[SSAValue, None] = {}
    for inner in walked:
        for value in inner.operands:
            owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
            if owner not in inside:
                used[value] = None
    outer = sorted(used, key=lambda value: [*op.operands].index(value) if value in op.operands else -1)
    constants = [value.owner for value in outer if isinstance(value.owner, ConstantOp)]
    arguments = [value for value in outer if not isinstance(value.owner, ConstantOp)]
    block = Block(arg_types=[value.type for value in arguments])
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for constant in constants:
        block.add_op(constant.clone(value_mapper=values))
    for value, argument in zip(arguments, block.args, strict=True):
        argument.name_hint = value.name_hint
    copy = op.clone(value_mapper=values)
    block.add_op(copy)
    block.add_op(ReturnOp(*copy.results))
    types = FunctionType.from_lists([value.type for value in arguments], [result.type for result in copy.results])
    return ModuleOp([FuncOp("main", types, Region(block))])
