"""
The named pipelines: the passes that a program runs through, in order.

Each is a tuple of pass specs as `hlo-opt --pass-pipeline` takes them. Each target builds its lowering from them, in
`targets/<name>/target.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass
    from xdsl.utils.arg_spec import ArgSpec

    from .nesting import AnyPass, NestedPass, Path

FRONT = (
    "inline",
    "resolve-dynamic-shapes",
    "flatten-tuples",
    "convert-quantized-to-integer",
    "resolve-custom-calls",
    "extract-checks",
    "convert-chlo-to-hlo",
    "decompose-hlo",
    "split-complex",
    "normalize-narrow-floats",
    "unroll-loops",
    "simplify-hlo",
    "cse",
    "hoist-loop-invariants",
    "batch-step-products",
)
"""Any program to the hlo operations that fusion and lowering support."""

FUSE = ("fuse-loops", "tile-loops", "pair-iterations", "fuse-hlo")
"""Group operations into fusions by the cost model."""

FUSE_NONE = ("fuse-hlo{strategy=none}",)
"""Group operations into fusions, one per operation."""

OPT_LEVELS = (0, 1, 2, 3)
"""0: only constants are folded. 1: without loops. 2: the default. 3: also what takes long to compile."""

DEFAULT_OPT_LEVEL = 2

_OF_LOOPS: Mapping[str, str | None] = dict.fromkeys(
    (
        "unroll-loops",
        "hoist-loop-invariants",
        "batch-step-products",
        "fuse-loops",
        "tile-loops",
        "pair-iterations",
        "outline-loops",
        "outline-block-loops",
    )
)
"""The passes that see loops, each replaced by nothing."""

_AT_LEVEL: Mapping[int, Mapping[str, str | None]] = {
    0: {
        **_OF_LOOPS,
        "simplify-hlo": "simplify-hlo{rules=false}",
        "cse": None,
        "fuse-hlo": FUSE_NONE[0],
        "schedule-kernels": None,
    },
    1: _OF_LOOPS,
    3: {
        "unroll-loops": "unroll-loops{most-iterations=32 most-operations=1600}",
        "pair-iterations": "pair-iterations{most-operations=160}",
    },
}
"""The passes that replace others of the pipeline at a level, None for no pass."""

LOWER_LINALG = ("outline-kernels", "convert-hlo-to-linalg", "fuse-linalg", "schedule-kernels")
"""Fusions to kernels: private functions of linalg on tensors, called in an order that needs little memory."""

LOWER_LOOPS = (
    "bufferize",
    "convert-linalg-ext-to-scf",
    "convert-contractions-to-vector",
    "convert-linalg-to-scf",
    "plan-buffers",
    "outline-loops",
    "outline-parallel-loops",
)
"""linalg on tensors to loops on memrefs of one arena, with bodies for the threads of the CPU."""

LOWER_LLVM = ("place-safepoints", "expand-math", "convert-loops-to-cf", "convert-to-llvm")
"""Loops to the llvm dialect."""

LIBRARIES = ("never", "auto", "always")
"""The values of an option of plan-gpu-kernels: the contractions that become library calls."""

MATH_MODES = ("strict", "default", "fast")
"""Only `fast` uses a GPU's approximate instructions (expand-math) and rules that may change results (simplify-hlo)."""

LOWER_GPU_LOOPS = ("bufferize", "outline-block-loops", "plan-gpu-kernels", "map-kernels-to-gpu", "plan-buffers")
"""linalg on tensors to launches of functions of a gpu.module, on memrefs of one arena: the gpu level."""

LOWER_NVVM = ("expand-math", "convert-loops-to-cf", "convert-nvgpu-to-nvvm", "convert-gpu-to-nvvm")
"""The gpu.module's functions to blocks, with the registers, barriers and shuffles of NVIDIA's GPUs."""

LOWER_NVVM_TO_LLVM = ("convert-nvvm-to-llvm", "convert-to-llvm")
"""The gpu.module's functions to the llvm dialect; host functions are unchanged because the runtime reads them."""

LOWER_ROCDL = ("expand-math", "convert-loops-to-cf", "convert-gpu-to-rocdl")
"""The gpu.module's functions to blocks, with the numbers, barriers and shuffles of AMD's GPUs."""

LOWER_ROCDL_TO_LLVM = ("convert-rocdl-to-llvm", "convert-to-llvm")
"""As LOWER_NVVM_TO_LLVM, of AMD's dialect."""

LOWERING = frozenset(
    (
        *LOWER_LINALG,
        *LOWER_LOOPS,
        *LOWER_LLVM,
        *LOWER_GPU_LOOPS,
        *LOWER_NVVM,
        *LOWER_NVVM_TO_LLVM,
        *LOWER_ROCDL,
        *LOWER_ROCDL_TO_LLVM,
    )
)
"""The names of the passes that leave xhlo.after."""


def specs_at(level: int, specs: Iterable[str]) -> tuple[str, ...]:
    """The specs of a pipeline as they are at a level of optimization, of `OPT_LEVELS`."""
    replaced = _AT_LEVEL.get(level, {})
    return tuple(each for spec in specs if (each := replaced.get(spec, spec)) is not None)


class PipelineError(ValueError):
    """A pipeline that cannot be built: a syntax error, an unknown pass, or options that the pass does not have."""


XDSL_FUNCTION_PASSES = frozenset(("canonicalize", "constant-fold-interp", "cse", "dce", "licm"))
"""xDSL's passes that change each function by itself."""


def parse_specs(pipeline: str) -> list[ArgSpec]:
    """The passes of a pipeline, without the anchors around them. Raises PipelineError."""
    return [spec for _, spec in parse_nested_specs(pipeline)]


def parse_nested_specs(pipeline: str) -> list[tuple[Path, ArgSpec]]:
    """
    `a,func.func(b{x=1 y=true})` as pass specs with the anchors around each; `builtin.module(a,b)`, as mlir-opt writes
    it, is the same as `a,b`. Raises PipelineError.
    """
    text = pipeline.strip()
    if "(" not in text:
        return [((), spec) for spec in _flat_specs(text)]
    from .nesting import NestingError, split_pipeline

    try:
        elements = split_pipeline(text)
    except NestingError as error:
        raise PipelineError(f"syntax of the pass pipeline: {error}:\n{text}\n{' ' * error.position}^") from None
    return [(path, spec) for path, element in elements for spec in _flat_specs(element)]


def _flat_specs(text: str) -> list[ArgSpec]:
    from xdsl.utils.arg_spec import parse_pipeline
    from xdsl.utils.exceptions import ArgSpecParseError

    try:
        return list(parse_pipeline(text))
    except ArgSpecParseError as error:
        # Its first line says that a pipeline was parsed, its second names no file.
        picture = "\n".join(str(error).rstrip().splitlines()[2:])
        raise PipelineError(f"syntax of the pass pipeline:\n{picture}") from None


def build_pass(spec: ArgSpec) -> ModulePass:
    """The pass that a spec describes. Raises PipelineError."""
    from .registry import PassFileError, UnknownPassError, get_pass

    try:
        pass_type = get_pass(spec.name)
    except (UnknownPassError, PassFileError) as error:
        raise PipelineError(str(error)) from None
    try:
        return pass_type.from_pass_spec(spec)
    except (ValueError, TypeError) as error:
        from .pass_options import why_refused

        raise PipelineError(f"pass '{spec.name}': {why_refused(pass_type, spec, error)}") from None


def build_passes(specs: str | Iterable[str]) -> list[AnyPass]:
    """The passes of a pipeline given as text or as a sequence of specs. Raises PipelineError."""
    found: list[AnyPass] = []
    for text in (specs,) if isinstance(specs, str) else specs:
        for path, spec in parse_nested_specs(text):
            one = build_pass(spec)
            found.append(_nested(one, path) if path else one)
    return found


def _nested(one: ModulePass, path: Path) -> NestedPass:
    """The pass inside its anchors. Raises PipelineError if it needs the whole module."""
    from .nesting import MODULE, NestedPass

    if path[-1] != MODULE and not (one.name in XDSL_FUNCTION_PASSES or getattr(one, "works_on_functions", False)):
        raise PipelineError(
            f"pass '{one.name}' works on a whole module: write it outside of {'('.join(path)}(..{')' * len(path)}"
        )
    return NestedPass(one, path)


def pipeline_text(passes: Sequence[AnyPass]) -> str:
    """The text from which `build_passes` builds the same passes."""
    from .nesting import NestedPass, nested_text

    return nested_text(
        [
            (one.anchors, str(one.inner.pipeline_pass_spec()))
            if isinstance(one, NestedPass)
            else ((), str(one.pipeline_pass_spec()))
            for one in passes
        ]
    )
