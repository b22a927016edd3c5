"""What must hold of every program: compiled code agrees with the reference, printed text reads back as itself."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
from random_programs import Program, wrong_elements
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.passes import pipelines
from xhlo.passes.pass_manager import PassManager
from xhlo.passes.timing import Timing
from xhlo.targets.cpu import build as cpu_build


def _run_verified(ctx: Context, module: ModuleOp, specs: Sequence[str], timing: Timing | None = None) -> None:
    PassManager(ctx, pipelines.build_passes(specs), verify_each=True).run(module)


def compiled_results(
    text: str, inputs: Sequence[np.ndarray], fuse: bool = True, verify: bool = True
) -> tuple[np.ndarray, ...]:
    """What the CPU makes of `inputs`, with fusion or with one kernel for each operation; verified after each pass."""
    run = _run_verified if verify else cpu_build.run_passes
    specs = pipelines.FUSE if fuse else pipelines.FUSE_NONE
    with mock.patch.object(cpu_build, "run_passes", run), mock.patch.object(pipelines, "FUSE", specs):
        ctx = make_context()
        executable = cpu_build.build(ctx, parse_module(text, "random.mlir", ctx), Timing(), False, lambda stage: "")
    before = [array.tobytes() for array in inputs]
    results = executable(*inputs)
    assert before == [array.tobytes() for array in inputs], "the program wrote to its inputs"
    return results if isinstance(results, tuple) else (results,)


def reference_results(text: str, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return evaluate(parse_module(text, "random.mlir", make_context()), inputs)


def wrong_results(program: Program, got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> list[str]:
    """What is wrong in each wrong result."""
    assert len(got) == len(want) == len(program.results)
    messages = [wrong_elements(*pair) for pair in zip(got, want, program.results, strict=True)]
    return [message for message in messages if message is not None]


def check_compiled(program: Program, fuse: bool) -> None:
    """Raise AssertionError where compiled code and the reference differ."""
    want = reference_results(program.text, program.inputs)
    wrong = wrong_results(program, compiled_results(program.text, program.inputs, fuse), want)
    assert not wrong, "\n".join(wrong)


FORMS = (
    {},
    {"spelling": "stablehlo"},
    {"generic": True},
    {"generic": True, "spelling": "stablehlo"},
    {"locations": True},
)


def check_text(program: Program) -> None:
    """Each form of the text reads back as the same module: all print alike."""
    module = parse_module(program.text, "random.mlir", make_context())
    plain = print_module(module)
    for form in FORMS:
        text = print_module(module, **form)  # pyright: ignore
        again = parse_module(text, "random.mlir", make_context())
        if "locations" not in form:
            assert print_module(again, **form) == text, form  # pyright: ignore
        assert print_module(again) == plain, form
        if "generic" not in form:
            slow = parse_module(text, "random.mlir", make_context(), fast=False)
            assert print_module(slow) == plain, (form, "read by the general parser")
