"""Builds the image of a module for the CPU, and the executable of it: the pipeline, then LLVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ComplexType, DictionaryAttr, ModuleOp, TensorType

from ...dialects.build.kernel import COMPLEX
from ...hlo_dialect.collectives.host_transfers import TokenType
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError, fail
from ...hlo_dialect.types import ArrayType, make_tensor, numpy_dtype, tensor_type
from ...passes.manager import pipelines
from ...passes.manager.timing import Timing
from ..compile import run_passes
from ..kernel_info import describe_kernels
from ..registry import CPU
from .executable import CpuExecutable
from .image import Image, arena_bytes, checks_of, host_calls_of, result_count

if TYPE_CHECKING:
    from xdsl.ir import Attribute

ENTRY = "main"


def entry_of(module: ModuleOp) -> func.FuncOp:
    """The function that the executable runs. Raises DiagnosticError when there is none."""
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == ENTRY and not op.is_declaration:
            return op
    raise DiagnosticError(Diagnostic("error", f"the module has no function @{ENTRY} to run", module.location))


def array_type(function: func.FuncOp, type_: Attribute, what: str, pairs: bool = False) -> ArrayType:
    """
    The array that an argument or result is; of `pairs`, which split-complex made, the array of complex numbers.

    Raises DiagnosticError where NumPy has none or the shape is open.
    """
    if not isinstance(type_, TensorType):
        fail(function, f"has {what} of type {type_}; compiled programs take tensors at the entry")
    tensor = tensor_type(cast("TensorType[Any]", type_))
    dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
    if dtype is None:
        fail(function, f"has {what} of type {type_}, whose element type compiled programs do not support at the entry")
    if any(size < 0 for size in shape):
        fail(function, f"has {what} of type {type_}; compiled programs need static shapes")
    if pairs:
        tensor = make_tensor(shape[:-1], ComplexType(cast(Any, tensor.element_type)))
        return array_type(function, tensor, what)
    return ArrayType(shape, dtype, str(tensor))


def _are_pairs(attributes: Attribute | None, count: int) -> list[bool]:
    """Of each argument or result, whether split-complex made it of a complex one."""
    if not isinstance(attributes, ArrayAttr):
        return [False] * count
    return [COMPLEX in entry.data for entry in cast("ArrayAttr[DictionaryAttr]", attributes).data]


def entry_types(module: ModuleOp) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
    """The entry's argument and result types; tokens, which hold nothing, are left out."""
    function = entry_of(module)
    inputs, outputs = function.function_type.inputs, function.function_type.outputs
    arguments = _are_pairs(function.arg_attrs, len(inputs))
    results = _are_pairs(function.res_attrs, len(outputs))
    return (
        _array_types(function, "argument", inputs.data, arguments),
        _array_types(function, "result", outputs.data, results),
    )


def _array_types(
    function: func.FuncOp, what: str, types: Sequence[Attribute], pairs: Sequence[bool]
) -> tuple[ArrayType, ...]:
    return tuple(
        array_type(function, type_, f"{what} {i}", pairs[i])
        for i, type_ in enumerate(types)
        if not isinstance(type_, TokenType)
    )


def build(
    ctx: Context,
    module: ModuleOp,
    timing: Timing,
    profile: bool,
    text_at: Callable[[str], str],
    *,
    fuse: bool = True,
    verify_each: bool = False,
) -> CpuExecutable:
    """
    Run the pipeline on `module`, which is consumed, and compile what it becomes.

    Without `fuse` each operation is a kernel of its own; with `verify_each` the module is verified after each pass.
    """
    from .loading import load_image

    return load_image(build_image(ctx, module, timing, profile, fuse=fuse, verify_each=verify_each), text_at)


def build_image(
    ctx: Context, module: ModuleOp, timing: Timing, profile: bool, *, fuse: bool = True, verify_each: bool = False
) -> Image:
    """The same, but for loading the machine code into the process."""
    from ..llvm_text.module import emit_units
    from .jit import compile_shared, compile_to_object

    def run(*specs: str) -> None:
        run_passes(ctx, module, specs, timing, verify_each)

    run(*pipelines.FRONT)
    inputs, outputs = entry_types(module)
    checks, count = checks_of(module), result_count(module, len(outputs))
    outline, *linalg = CPU.passes_between(None, "linalg")
    run(*(pipelines.FUSE if fuse else pipelines.FUSE_NONE), outline)
    kernels = describe_kernels(module)
    run(*linalg)
    bufferize, *loops = CPU.passes_between("linalg", "loops")
    instrument = ("instrument-kernels",) if profile else ()
    run(bufferize, *instrument, *loops)
    host_calls, arena = host_calls_of(module), arena_bytes(module)
    run(*CPU.passes_between("loops", "llvm"))
    with timing.stage("emit LLVM IR"):
        units = emit_units(module)
    llvm: dict[str, float] = {}
    code = (compile_to_object(units.text, llvm), *compile_shared(units.shared, llvm))
    for name, seconds in llvm.items():
        timing.seconds[f"LLVM {name}"] = seconds
    return Image(
        code=code,
        data=units.data,
        inputs=inputs,
        outputs=outputs,
        result_count=count,
        arena_bytes=arena,
        kernels=kernels,
        checks=checks,
        host_calls=host_calls,
        profiled=profile,
        stages=timing.seconds,
    )
