"""
PTX of every program that the CPU target compiles: ptxas assembles it, for old chips and new, and no kernel spills.

All programs go to one chip and a spread of them to the others. Programs are assembled together, under names of their
own: starting ptxas takes longer than most kernels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest
from xdsl.dialects.builtin import ModuleOp

import conformance
from checkout import EXAMPLES
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.garbage_collector import paused_gc
from xhlo.hlo_dialect.printing import print_module
from xhlo.lowering.device.chips import DEFAULT_CHIP, get_chip
from xhlo.passes.manager.pipelines import FRONT, FUSE
from xhlo.targets.nvptx.assembler import MISSING, AssemblyError, assemble, assemblers
from xhlo.targets.nvptx.emission import emit_ptx
from xhlo.targets.nvptx.resources import KernelResources
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import Source

PARTS = 16
"""Tests that the programs of one chip are cut into."""
SPREAD = 12
"""Every SPREADth program goes to the chips that do not get all."""
OTHER_CHIPS = ("sm_80", "sm_100")

REFUSED: dict[str, str] = {}
"""Programs that the CPU runs but that have no PTX, with a part of the error."""

SPILLING: dict[str, str] = {}
"""Kernels whose registers ptxas spills, `program/kernel`, and why that is right."""


@dataclass(frozen=True)
class Program:
    """A program and its name in test reports."""

    name: str
    text: str


@cache
def examples() -> tuple[Program, ...]:
    return tuple(Program(path.stem, path.read_text()) for path in sorted(EXAMPLES.glob("*.mlir")))


@cache
def programs() -> tuple[Program, ...]:
    """The conformance programs that the CPU target compiles, if they are present."""
    found = [Program(name, conformance.jax_program(name).text) for name in conformance.jax_programs()]
    found += [
        Program(program.name, conformance.stablehlo_text(program.name))
        for program in conformance.stablehlo_programs()
        if program.static
    ]
    return tuple(found)


def ptx_of(program: Program, chip: str) -> str:
    """The PTX of a program for a chip, through every pass."""
    target, machine = nvptx(chip), get_chip(chip)
    front = tuple(map(target.tune, (*FRONT, *FUSE)))
    with paused_gc():
        module = passed(program.text, (*front, *target.passes_between(None, target.last_stage)))
        return emit_ptx(module, machine, machine.ptx)


def passed(text: str, specs: Sequence[str]) -> ModuleOp:
    ctx = make_context()
    module = parse_source(Source(text, "program.mlir"), ctx)
    run_passes(ctx, module, specs)
    return module


_HEADER = re.compile(r"\.version .*\n\.target .*\n\.address_size 64\n")
_DEFINED = re.compile(
    r"^(?:\.(?:visible|weak|extern)\s+)*(?:\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)|\.(?:global|shared|const)\b.*?(\w+)\[)",
    re.MULTILINE,
)


def joined(modules: Mapping[str, str]) -> str:
    """Several PTX modules as one: the names that a module defines get its number as prefix, `p3_loop_fusion_0`."""
    header, bodies = "", list[str]()
    for number, text in enumerate(modules.values()):
        match = _HEADER.search(text)
        assert match is not None, text[:200]
        header, body = match[0], text[match.end() :]
        names = sorted({entry or variable for entry, variable in _DEFINED.findall(body)}, key=len, reverse=True)
        if names:
            anywhere = re.compile(rf"(?<![\w$.%])({'|'.join(names)})(?![\w$])")
            bodies.append(anywhere.sub(rf"p{number}_\1", body))
    return header + "".join(bodies)


def assembled(modules: Mapping[str, str], chip: str) -> dict[str, KernelResources]:
    """The resources of each kernel, by `program/kernel`. Fails with the name of the program that ptxas refuses."""
    try:
        kernels = assemble(joined(modules), get_chip(chip)).kernels
    except AssemblyError:
        for name, text in modules.items():
            try:
                assemble(text, get_chip(chip))
            except AssemblyError as error:
                pytest.fail(f"{name} for {chip}: {error}", pytrace=False)
        raise
    names = list(modules)
    found: dict[str, KernelResources] = {}
    for kernel in kernels:
        number, _, name = kernel.name.partition("_")
        found[f"{names[int(number[1:])]}/{name}"] = kernel
    return found


def check(chosen: Sequence[Program], chip: str) -> None:
    modules: dict[str, str] = {}
    refused: dict[str, str] = {}
    for program in chosen:
        try:
            modules[program.name] = ptx_of(program, chip)
        except DiagnosticError as error:
            refused[program.name] = str(error)
    expected = {program.name for program in chosen} & REFUSED.keys()
    assert {name: error for name, error in refused.items() if name not in expected} == {}
    assert {name for name in expected if REFUSED[name] not in refused.get(name, "")} == set(), refused
    if next(assemblers(), None) is None:
        pytest.skip(f"the PTX is made but not assembled: {MISSING}")
    kernels = assembled(modules, chip)
    assert len(kernels) == sum(text.count(".entry ") for text in modules.values())
    spilling = {name for name, kernel in kernels.items() if kernel.spills and name not in SPILLING}
    assert not spilling


@pytest.mark.long
@pytest.mark.parametrize("chip", (DEFAULT_CHIP, *OTHER_CHIPS))
def test_examples(chip: str) -> None:
    check(examples(), chip)


@pytest.mark.long
@pytest.mark.sample(4)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.parametrize("part", range(PARTS))
def test_conformance_programs(part: int) -> None:
    check(programs()[part::PARTS], DEFAULT_CHIP)


@pytest.mark.long
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.parametrize("chip", OTHER_CHIPS)
def test_spread_of_conformance_programs(chip: str) -> None:
    check(programs()[OTHER_CHIPS.index(chip) :: SPREAD], chip)


TENSOR_CORES = """
func.func @main(%a: tensor<512x256xbf16>, %b: tensor<256x384xbf16>) -> tensor<512x384xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<512x256xbf16>, tensor<256x384xbf16>) -> tensor<512x384xbf16>
  return %0 : tensor<512x384xbf16>
}
"""


LEVELS = nvptx("sm_90")


def ptx(module: ModuleOp) -> str:
    machine = get_chip("sm_90")
    return emit_ptx(module, machine, machine.ptx)


@cache
def texts_by_stage(program: Program) -> dict[str, str]:
    """The module after each stage and its PTX, lowered without being printed and read in between."""
    ctx = make_context()
    with paused_gc():
        module = parse_source(Source(program.text, "program.mlir"), ctx)
        run_passes(ctx, module, tuple(map(LEVELS.tune, (*FRONT, *FUSE))))
        texts: dict[str, str] = {}
        for before, stage in pairwise((None, *LEVELS.lowering)):
            run_passes(ctx, module, LEVELS.passes_between(before, stage))
            texts[stage] = print_module(module)
        return {**texts, "ptx": ptx(module)}


@pytest.mark.long
@pytest.mark.parametrize(("stage", "following"), list(pairwise((*LEVELS.lowering, "ptx"))))
def test_every_level_reads_back(stage: str, following: str) -> None:
    """A module that is printed at a stage and read back becomes the same one at the next, and at last the same PTX."""
    for program in (*examples(), Program("tensor_cores", TENSOR_CORES)):
        texts = texts_by_stage(program)
        with paused_gc():
            if following == "ptx":
                found = ptx(passed(texts[stage], ()))
            else:
                found = print_module(passed(texts[stage], LEVELS.passes_between(stage, following)))
        assert found == texts[following], program.name


def test_joined_modules_keep_their_functions_apart() -> None:
    text = (
        ".version 7.8\n.target sm_90\n.address_size 64\n\n.shared .align 16 .b8 a_shared_0[64];\n"
        ".visible .entry a(\n\t.param .u64 a_param_0\n)\n{\n\tmov.b64 %rd1, a_shared_0;\n}\n.visible .entry a_1(\n)\n{\n}\n"
    )
    both = joined({"first": text, "second": text})
    assert both.count(".version") == 1
    for number in (0, 1):
        assert f".entry p{number}_a(\n\t.param .u64 a_param_0" in both
        assert f".entry p{number}_a_1(" in both
        assert f"mov.b64 %rd1, p{number}_a_shared_0;" in both
