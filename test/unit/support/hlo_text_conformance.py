"""
The conformance programs as HLO text that we write, before and after fusion: through XLA's parser, XLA:CPU and our reader.

    python test/unit/support/hlo_text_conformance.py                  all programs, both stages
    python test/unit/support/hlo_text_conformance.py --stage=after --only softmax

A text is *accepted* by XLA's parser, *run* by XLA:CPU with the results that its program has, and *read back* as a module
that is written as the same text. XLA:CPU gets fusions as calls of their computations: it compiles no fusions but its own.
Ends with 1 if a program fails.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import conformance
from jax_mlir import shared_context
from xhlo.frontends.hlo_text.writing.module import write_module
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.passes.manager.pass_manager import PassManager
from xhlo.passes.manager.pipelines import build_passes
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

STAGES = ("before", "after")
_CHECKS = (
    "inline,resolve-dynamic-shapes,flatten-tuples,convert-quantized-to-integer,resolve-custom-calls,extract-checks"
)
"""The passes that turn the checks of a program into results, which XLA:CPU can compute."""


@dataclass(frozen=True)
class Case:
    """A program with inputs and the results that it should have; those that check themselves have none."""

    name: str
    text: str
    inputs: Sequence[Any] = ()
    outputs: Sequence[Any] | None = None
    rtol: float | None = None
    signed_zeros: bool = False


def cases() -> dict[str, Callable[[], Case]]:
    """The programs with known shapes by name, each loaded when it is called."""
    found: dict[str, Callable[[], Case]] = {}
    for name in conformance.jax_programs():
        found[f"jax/{name}"] = functools.partial(_of_jax, name, f"jax/{name}", None)
    for one in conformance.stablehlo_programs():
        if one.static:
            label = f"stablehlo/{one.name}"
            found[label] = functools.partial(Case, label, conformance.stablehlo_text(one.name))
    for folder, load in (("hlo_text", _of_jax), ("tf_hlo", _of_tensorflow)):
        for path in sorted((conformance.ROOT / folder).glob("*.hlo")):
            label = f"{folder}/{path.stem}"
            found[label] = functools.partial(load, path.name.split(".")[0], label, path)
    return found


def _of_jax(name: str, label: str, path: Path | None) -> Case:
    program = conformance.jax_program(name)
    text = program.text if path is None else path.read_text()
    return Case(label, text, program.inputs, program.outputs, program.rtol, program.signed_zeros)


def _of_tensorflow(name: str, label: str, path: Path) -> Case:
    return Case(label, path.read_text(), *conformance.tensorflow_program(name))


def module_of(case: Case, stage: str) -> ModuleOp:
    """The program as it is written. Raises DiagnosticError."""
    module, ctx = parse_module(case.text, case.name), make_context()
    if stage == "after":
        run_passes(ctx, module, CPU.passes_to(None))
    elif case.outputs is None:
        PassManager(ctx, build_passes(_CHECKS), verify_end=False).run(module)
    return module


_FUSION = re.compile(r" fusion\((.*)\), kind=\w+, calls=")


def accepted(text: str) -> Any:
    """The module that XLA's parser makes of a text. Raises what it raises."""
    return import_module("jaxlib._hlo").hlo_module_from_text(text)


def results_of_xla(text: str, inputs: Sequence[Any]) -> list[Any]:
    """The results of a text on XLA:CPU. Raises what XLA raises."""
    executable = _compiled(_FUSION.sub(r" call(\1), to_apply=", text))
    with _jax().enable_x64(True):
        placed = [_jax().device_put(np.asarray(each), _jax().devices("cpu")[0]) for each in inputs]
        found = executable.execute_sharded(placed)
        return [np.asarray(shards[0]) for shards in found.disassemble_into_single_device_arrays()]


@functools.cache
def _jax() -> Any:
    return import_module("jax")


def _compiled(text: str) -> Any:
    mlir: Any = import_module("jax._src.interpreters.mlir")
    xla_client: Any = import_module("jax._src.lib").xla_client
    ir: Any = import_module("jaxlib.mlir.ir")
    proto = accepted(text).as_serialized_hlo_module_proto()
    with shared_context():
        module = ir.Module.parse(import_module("jaxlib._jax").mlir.hlo_to_stablehlo(proto))
        code = mlir.module_to_bytecode(module)
    if "lapack_" in text:
        # Loads SciPy's functions, without which the calls end the process.
        import_module("jaxlib.lapack").prepare_lapack_call("potrf_ffi", np.float32)
    device = _jax().devices("cpu")[0]
    return device.client.compile_and_load(code, [device], xla_client.CompileOptions())


def reads_back(text: str) -> bool:
    """Whether the module of a text that we wrote, its fusions kept, is written as the same instructions again."""
    ctx = make_context()
    ctx.keep_fusions = True
    return _facts(write_module(parse_module(text, "written.hlo", ctx))) == _facts(text)


_NAME = re.compile(r"%[\w.-]+")
_PLACE = re.compile(r", metadata=\{[^}]*\}")


def _facts(text: str) -> Counter[str]:
    """The instructions of a text without names and places."""
    lines = [_PLACE.sub("", line.strip()) for line in text.splitlines() if " = " in line]
    return Counter(_NAME.sub("%", line.removeprefix("ROOT ")) for line in lines)


def wrong(case: Case, module: ModuleOp, found: Sequence[Any]) -> list[str]:
    """How results differ from those that a program should have."""
    if case.outputs is None:
        expected: Sequence[Any] = evaluate(module, ())
        rtol, zeros = None, False
    else:
        expected, rtol, zeros = case.outputs, case.rtol, case.signed_zeros
    if len(found) != len(expected):
        return [f"{len(found)} results for {len(expected)}"]
    joined = [_joined(got, want) for got, want in zip(found, expected, strict=True)]
    tolerances = [_RTOL.get(want.dtype.name, 0.0) if rtol is None else rtol for want in expected]
    pairs = map(conformance.difference, joined, expected, tolerances, [zeros] * len(expected))
    return [each for each in pairs if each]


_RTOL = {**conformance.RTOL, "complex128": 1e-9}
"""The other types have few enough bits to be equal."""


def _joined(found: Any, expected: Any) -> Any:
    """The complex array of one of pairs, as programs after fusion have it."""
    if expected.dtype.kind != "c" or found.dtype.kind == "c":
        return found
    return (found[..., 0] + 1j * found[..., 1]).astype(expected.dtype)


def _paired(array: Any) -> Any:
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array


def outcomes(case: Case, stage: str) -> dict[str, str]:
    """The steps that a program passes, each with an empty text, and the one that it does not with the reason."""
    try:
        module = module_of(case, stage)
        text = write_module(module)
    except DiagnosticError as error:
        return {"written": str(error).splitlines()[0]}
    found = {"written": ""}
    try:
        accepted(text)
        found["accepted"] = ""
    except Exception as error:
        return found | {"accepted": str(error)[:300]}
    try:
        found["read back"] = "" if reads_back(text) else "another module"
    except DiagnosticError as error:
        found["read back"] = str(error).splitlines()[0]
    inputs = [_paired(each) for each in case.inputs] if stage == "after" else case.inputs
    try:
        results = results_of_xla(text, inputs)
    except Exception as error:
        return found | {"run": str(error)[:300]}
    return found | {"run": "", "same results": "; ".join(wrong(case, module, results))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--only", default="", help="programs whose names have this part")
    parser.add_argument("--every", type=int, default=1, help="only one program of so many")
    given = parser.parse_args()
    if not conformance.ROOT.is_dir():
        print(f"skipped: {conformance.SKIP}")
        return 0
    failed = 0
    for stage in (given.stage,) if given.stage else STAGES:
        counts: Counter[str] = Counter()
        chosen = [load for name, load in cases().items() if given.only in name][:: given.every]
        for load in chosen:
            case = load()
            for step, reason in outcomes(case, stage).items():
                counts[step] += not reason
                if reason:
                    failed += 1
                    print(f"{stage} {case.name}: not {step}: {reason}", flush=True)
        steps = ("written", "accepted", "run", "same results", "read back")
        print(f"{stage} fusion, {len(chosen)} programs: " + ", ".join(f"{counts[step]} {step}" for step in steps))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
