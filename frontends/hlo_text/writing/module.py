"""A module of hlo as HLO text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from ....hlo_dialect.attributes import ENTRY_LAYOUTS, XLA_SHAPE
from ....hlo_dialect.diagnostics import HloContext, fail
from ....hlo_dialect.dialect import make_context
from ....hlo_dialect.donation import ALIAS, DONOR
from ....hlo_dialect.entry import find_entry
from ....hlo_dialect.ops.control_flow import ReturnOp
from ....hlo_dialect.types import shape_of
from ....passes.manager.pass_manager import PassManager
from ....passes.manager.pipelines import build_passes
from ..shapes import layouts_of, order_text, type_text
from .lines import Lines, Module
from .rules import writers
from .shardings import sharding_text
from .values import quoted, tuple_text

_DECOMPOSED = (
    "inline,resolve-dynamic-shapes,flatten-tuples,convert-quantized-to-integer,convert-chlo-to-hlo{complete=true}"
)
"""The passes that leave no operations that HLO lacks, as far as there are such passes."""


def write_module(module: ModuleOp) -> str:
    """
    A module as HLO text, which XLA's parser takes. Operations that HLO lacks, such as those of chlo, are decomposed
    first. Raises DiagnosticError for others, and for types that HLO lacks.
    """
    if _lacks(module):
        module = module.clone()
        ctx: HloContext = make_context()
        PassManager(ctx, build_passes(_DECOMPOSED), verify_end=False).run(module)
    entry = find_entry(module)
    if entry is None:
        fail(module, "has no function @main, which would be the entry of HLO text")
    found = Module(partial(sharding_text, partitions=_count(module, "mhlo.num_partitions")))
    found.symbols = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    lines = Lines(found)
    block = entry.body.block
    layouts = _layouts(module, entry)
    lines.take(block.args, layouts=layouts[0])
    for number, (value, stated) in enumerate(zip(block.args, _entries(entry.arg_attrs, len(block.args)), strict=True)):
        lines.append(number, found.sharding(stated, entry, value.type))
    root = lines.block(block)
    name = found.unique(entry.sym_name.data)
    text = lines.text(f"ENTRY %{name}", _root(lines, entry, root))
    header = ", ".join((f"HloModule {_name(module)}", *_header(module, entry, layouts)))
    return "\n\n".join((header, *found.texts, text)) + "\n"


def _lacks(module: ModuleOp) -> bool:
    """Whether there is an operation or a type that is not written as it is."""
    known = (func.FuncOp, func.ReturnOp, ReturnOp, ModuleOp)
    for op in module.walk():
        if not isinstance(op, known) and type(op) not in writers:
            return True
        if any(type_text(value.type) is None for value in op.results) and not op.name.startswith("hlo.async"):
            return True
    return False


def _root(lines: Lines, entry: func.FuncOp, root: str) -> str:
    """The root, with the shardings of the results."""
    types = entry.function_type.outputs.data
    stated = _entries(entry.res_attrs, len(types))
    texts = [lines.module.sharding(each, entry, type_) for each, type_ in zip(stated, types, strict=True)]
    last, line = lines.lines[-1]
    if last == root and len(texts) == 1 and ", sharding={" not in line and " parameter(" not in line:
        lines.append(len(lines.lines) - 1, texts[0])
    elif last == root and len(texts) != 1 and any(texts):
        lines.append(len(lines.lines) - 1, f"{{{', '.join(text or '{replicated}' for text in texts)}}}")
    return root


def _name(module: ModuleOp) -> str:
    name = module.sym_name.data if module.sym_name is not None else "main"
    return "".join(each if each.isascii() and (each.isalnum() or each in "_.-") else "_" for each in name) or "main"


def _entries(entries: Attribute | None, count: int) -> list[Mapping[str, Attribute]]:
    """The attributes of each argument or result."""
    if not isinstance(entries, ArrayAttr):
        return [{} for _ in range(count)]
    return [each.data for each in cast("ArrayAttr[DictionaryAttr]", entries).data]


def _stated(entries: Attribute | None, name: str, count: int) -> list[Attribute | None]:
    """An attribute of each argument or result."""
    return [each.get(name) for each in _entries(entries, count)]


def _count(module: ModuleOp, name: str) -> int:
    """The number of replicas or partitions that a module is for."""
    count = module.attributes.get(name)
    return count.value.data if isinstance(count, IntegerAttr) else 1


def _header(module: ModuleOp, entry: func.FuncOp, layouts: Sequence[Sequence[str]]) -> list[str]:
    """The attributes of the module."""
    types = entry.function_type
    inputs, outputs = list(types.inputs.data), list(types.outputs.data)
    found = [*_donations(entry, len(inputs), len(outputs)), _entry_layout(entry, layouts)]
    for stated, name in (("mhlo.num_replicas", "replica_count"), ("mhlo.num_partitions", "num_partitions")):
        if (count := _count(module, stated)) != 1:
            found.append(f"{name}={count}")
    frontend = module.attributes.get("mhlo.frontend_attributes")
    if isinstance(frontend, DictionaryAttr):
        texts = {name: value.data for name, value in frontend.data.items() if isinstance(value, StringAttr)}
        found.append(f"frontend_attributes={{{','.join(f'{name}={quoted(text)}' for name, text in texts.items())}}}")
    return found


def _layouts(module: ModuleOp, entry: func.FuncOp) -> tuple[list[str], list[str]]:
    """The layouts of the entry's arguments and of its results, as the module states them; empty for row-major ones."""
    sides = entry.function_type.inputs.data, entry.function_type.outputs.data
    found: list[list[str]] = []
    for name, types, attributes in zip(ENTRY_LAYOUTS, sides, (entry.arg_attrs, entry.res_attrs), strict=True):
        shapes = _stated(attributes, XLA_SHAPE, len(types))
        texts = [layouts_of(each, [type_])[0] for each, type_ in zip(shapes, types, strict=True)]
        orders = module.attributes.get(name)
        if isinstance(orders, ArrayAttr) and len(cast(Any, orders).data) == len(types):
            stated = [list(each.get_values()) for each in cast(Any, orders).data]
            # Passes change the rank of arrays that they split.
            texts = [
                text or (order_text(order) if len(order) == _rank(type_) else "")
                for text, order, type_ in zip(texts, stated, types, strict=True)
            ]
        found.append(texts)
    return found[0], found[1]


def _rank(type_: Attribute) -> int:
    return len(shape_of(type_)) if type_.name == "tensor" else 0


def _entry_layout(entry: func.FuncOp, layouts: Sequence[Sequence[str]]) -> str:
    """`entry_computation_layout={(f32[2]{0})->f32[2]{0}}`"""
    texts: list[list[str]] = []
    for types, stated in zip((entry.function_type.inputs.data, entry.function_type.outputs.data), layouts, strict=True):
        found = [type_text(type_, layout) for type_, layout in zip(types, stated, strict=True)]
        if None in found:
            fail(entry, f"has an argument or result of type {types[found.index(None)]}, which HLO text lacks")
        texts.append([text for text in found if text is not None])
    result = texts[1][0] if len(texts[1]) == 1 else tuple_text(texts[1])
    return f"entry_computation_layout={{{tuple_text(texts[0])}->{result}}}"


def _donations(entry: func.FuncOp, count: int, results: int) -> list[str]:
    """The aliases of arguments with results, and the arguments that are donated."""
    found: list[str] = []
    aliases = [
        (each.value.data, number)
        for number, each in enumerate(_stated(entry.arg_attrs, ALIAS, count))
        if isinstance(each, IntegerAttr)
    ]
    if aliases:
        texts = [
            f"{{{output if results != 1 else ''}}}: ({number}, {{}}, may-alias)" for output, number in sorted(aliases)
        ]
        found.append(f"input_output_alias={{ {', '.join(texts)} }}")
    donors = [number for number, each in enumerate(_stated(entry.arg_attrs, DONOR, count)) if each is not None]
    if donors:
        found.append(f"buffer_donor={{ {', '.join(f'({number}, {{}})' for number in donors)} }}")
    return found
