"""From JAX's program to an executable: reading, its attributes, compiling, dumping."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.collectives.tokens import TokenType
from ...hlo_dialect.diagnostics import DiagnosticError
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.donation import is_donated
from ...hlo_dialect.entry import ENTRY, find_entry
from ...hlo_dialect.printing import print_module
from ...passes.partition_spmd.transform import record_tilings
from ...targets.compile import compile_source
from ...targets.cpu.executable import CpuExecutable
from ...targets.cpu.replicated import partition
from ...targets.program.dump import dump
from ...targets.program.pipeline import parse_source, run_passes
from ...targets.program.source import Source
from . import jax_callbacks as jax_callbacks  # the target of callbacks
from .c_api import Code
from .compile_options import DUMP_PASS_RE, DUMP_TO
from .compiled import TARGET, Artifact, Compiled, Layouts, Shardings
from .entries import PluginError
from .layouts import apply_layouts, read_layouts, state_layouts
from .masks import select_by_masks
from .protos import CompileOptions

_FILENAME = "<jax>"


def compile_artifact(artifact: Artifact, options: CompileOptions) -> Compiled:
    """
    The executable of a serialized program.

    Raises DiagnosticError, located in the Python source where JAX says it, for a program that cannot be compiled.
    """
    try:
        return compile_text(artifact.text, options)
    except DiagnosticError:
        # Reading locations costs more than compiling without them; now they are needed.
        compile_text(artifact.read(locations=True), options)
        raise


def compile_text(text: str, options: CompileOptions, profile: bool = False) -> Compiled:
    """The executable of StableHLO text, whose kernels are timed if `profile`. Raises DiagnosticError."""
    name, optimized = ENTRY, ""
    donated: list[bool] = []
    tokens: tuple[list[bool], list[bool]] = ([], [])
    layouts: tuple[Layouts, Layouts] = ([], [])
    shardings: Shardings = (None, None)

    def prepare(ctx: Context, module: ModuleOp) -> Source:
        nonlocal name, optimized, donated, tokens, layouts, shardings
        name = module.sym_name.data if module.sym_name is not None else ENTRY
        donated, tokens, layouts = donations(module), find_tokens(module), read_layouts(module)
        if options.num_replicas * options.num_partitions > 1:
            optimized, shardings = _partition(ctx, module, options)
        run_passes(ctx, module, ("inline",))  # a mask and its product may be in different functions
        select_by_masks(module)
        source = Source(optimized or text, _FILENAME)
        if any(order is not None for order in (*layouts[0], *layouts[1])):
            state_layouts(module, layouts)
            optimized = print_module(module, spelling="stablehlo")
            apply_layouts(module, layouts)
            source = Source(print_module(module), _FILENAME)
        if not profile:
            _dump(name, source, options)
        return source

    executable = compile_source(Source(text, _FILENAME), TARGET, profile, prepare)
    assert isinstance(executable, CpuExecutable)
    return Compiled(executable, name, donated, text, tokens, optimized, options, layouts, shardings)


def _partition(ctx: Context, module: ModuleOp, options: CompileOptions) -> tuple[str, Shardings]:
    """Turn the module into the program of one device. Returns its text, and how arguments and results are split."""
    found = partition(ctx, module, options.num_replicas, options.num_partitions)
    shardings: Shardings = (None, None)
    if options.num_partitions > 1:
        # The translation of StableHLO to HLO in jaxlib reads these.
        record_tilings(module, found.parameters, found.outputs)
        shardings = ([each.op_sharding for each in found.parameters], [each.op_sharding for each in found.outputs])
    return print_module(module, spelling="stablehlo"), shardings


def donations(module: ModuleOp) -> list[bool]:
    """Per argument of @main, whether JAX donates it."""
    main = find_entry(module)
    if main is None:
        return []
    if main.arg_attrs is None:
        return [False] * len(main.function_type.inputs.data)
    return list(map(is_donated, main.arg_attrs.data))


def find_tokens(module: ModuleOp) -> tuple[list[bool], list[bool]]:
    """Per argument and per result of @main, whether it is a token."""
    main = find_entry(module)
    if main is None:
        return [], []
    inputs, outputs = main.function_type.inputs.data, main.function_type.outputs.data
    return [isinstance(type_, TokenType) for type_ in inputs], [isinstance(type_, TokenType) for type_ in outputs]


def _dump(name: str, source: Source, options: CompileOptions) -> None:
    """Write every stage into the folder of XHLO_DUMP_TO, or that of the compile options. Raises PluginError."""
    folder, passes = options.overrides.get(DUMP_TO), options.overrides.get(DUMP_PASS_RE)
    try:
        dump(name, source, TARGET, str(folder or ""), str(passes or ""))
    except DiagnosticError as error:
        raise PluginError(Code.FAILED_PRECONDITION, error.diagnostics[0].message) from None


def hlo_text(source: Source) -> str:
    """
    The program as HLO text, the form in which XLA shows compiled programs: after partitioning and fusion.

    Raises DiagnosticError for an operation that HLO lacks.
    """
    from ..hlo_text.writing.module import write_module

    ctx = make_context()
    module = parse_source(source, ctx)
    run_passes(ctx, module, TARGET.passes_to(None))
    return write_module(module)
