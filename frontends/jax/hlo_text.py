"""
A compiled program as HLO text, the form in which XLA shows compiled programs.

The program after fusion is handed to jaxlib as StableHLO with MHLO's fusions; jaxlib's own translation and printer
make the text, so that names, shapes, layouts and replica groups are XLA's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnregisteredAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.printing import print_module
from ...targets.cpu.target import CPU
from ...targets.program.pipeline import parse_source, run_passes
from ...targets.program.source import Source
from .hlo_collectives import collective_of
from .jax_internals import internal

_KINDS = {"dot": "kOutput", "reduce": "kInput", "row": "kInput", "custom": "kCustom"}
"""HLO's kinds of fusions by ours; the others are kLoop."""

_OURS = ("sdy.", "xhlo.", "hlo.")
"""Prefixes of attributes that mean nothing to HLO after partitioning."""


def hlo_text(source: Source) -> str:
    """
    The program after fusion as HLO text.

    Raises ValueError for an operation that HLO lacks.
    """
    ctx = make_context()
    module = parse_source(source, ctx)
    run_passes(ctx, module, CPU.passes_to(None))
    for op in list(module.walk()):
        op.attributes = _known(op.attributes)
        if isinstance(op, FuncOp):
            _strip_arguments(op)
    for op in [op for op in module.walk() if isinstance(op, CustomCallOp)]:
        if (collective := collective_of(op)) is not None:
            Rewriter.replace_op(op, collective)
    for op in [op for op in module.walk() if isinstance(op, FusionOp)]:
        _respell_fusion(ctx, op)
    return _translated(module)


def _strip_arguments(function: FuncOp) -> None:
    for name in ("arg_attrs", "res_attrs"):
        found = function.properties.get(name)
        if isinstance(found, ArrayAttr):
            entries = cast("ArrayAttr[DictionaryAttr]", found).data
            function.properties[name] = ArrayAttr([DictionaryAttr(_known(entry.data)) for entry in entries])


def _known(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if not name.startswith(_OURS)}


def _respell_fusion(ctx: Context, op: FusionOp) -> None:
    """`mhlo.fusion`, or the operation itself if the kernel has only one."""
    block = op.body.block
    if len(block.ops) == 2 and block.first_op is not None:
        only, end = block.first_op, block.last_op
        assert end is not None
        if list(end.operands) == list(only.results):
            end.detach()
            end.erase()
            Rewriter.inline_block(block, InsertPoint.before(op), op.operands)
            Rewriter.replace_op(op, [], only.results)
            return
    kind: Attribute = UnregisteredAttr.with_name_and_type("mhlo", False)(
        "mhlo", False, False, f"fusion_kind {_KINDS.get(op.kind.data, 'kLoop')}"
    )
    fusion = UnregisteredOp.with_name("mhlo.fusion").create(
        operands=op.operands,
        result_types=list(op.result_types),
        attributes={"fusion_kind": kind},
        regions=[op.detach_region(op.body)],
    )
    Rewriter.replace_op(op, fusion)


def _translated(module: ModuleOp) -> str:
    library = internal("lib")._jax
    options = internal("lib").hlo.HloPrintOptions()
    options.print_metadata = False
    try:
        computation = library.mlir.mlir_module_to_xla_computation(
            print_module(module, spelling="stablehlo"), use_tuple_args=False, return_tuple=False
        )
    except Exception as error:  # jaxlib's errors have several classes
        raise ValueError(f"the program has no form in HLO: {error}") from None
    return str(computation.get_hlo_module().to_string(options))
