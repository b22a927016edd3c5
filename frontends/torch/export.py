"""Programs of `torch.export` as modules of hlo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from . import errors, recurrent
from .api import required, torch
from .decompositions import table
from .functions import MODES, resizing
from .graphs import outputs_of
from .lowering import GraphLowering, is_plain
from .random_numbers import draws
from .registry import rules
from .specializing import has_symbols


def module_of(exported: Any, weights: str, arguments: Sequence[Any] | None) -> ModuleOp:
    """`from_torch`, with torch. Raises DiagnosticError."""
    if arguments is not None:
        exported = _with_sizes(exported, arguments)
    program = exported.run_decompositions(_decompositions())
    signature = program.graph_signature
    _check(program, signature, weights)
    lowering = GraphLowering(program.graph_module)
    tensors = {**program.state_dict, **program.constants}
    kinds: Any = required("torch.export.graph_signature").InputKind
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    for node in program.graph_module.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            if spec.kind == kinds.USER_INPUT or weights == "arguments":
                if is_plain(node.meta.get("val")):
                    lowering.parameter(node)
            else:
                lowering.values[node] = lowering.tensor(_with_values(spec.target, tensors[spec.target]))
        elif node.op == "get_attr":
            lowering.constant(node)
        elif node.op == "call_function":
            if draws(node):
                raise _error(f"{node.target} draws random numbers, which an exported program cannot; call model.eval()")
            lowering.operation(node)
    if lowering.refusals:
        raise errors.refuse(lowering.causes)
    results = [one for one in outputs_of(program.graph_module.graph) if isinstance(one, torch.fx.Node)]
    return lowering.builder.build(*[lowering.values[one] for one in results])


def _with_sizes(exported: Any, arguments: Sequence[Any]) -> Any:
    """The program for the sizes of these arguments. Raises DiagnosticError for those that it does not take."""
    try:
        found = required("torch.export").export(exported.module(), tuple(arguments))
    except (AssertionError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise _error(f"the program does not take these arguments: {str(error).partition(chr(10))[0]}") from None
    for stated, given in zip(_dtypes(exported), _dtypes(found), strict=True):
        if stated != given:
            raise _error(f"the program takes tensors of {stated}, not {given}")
    return found


def _dtypes(exported: Any) -> list[Any]:
    """The dtypes of a program's arguments, or their own value for numbers."""
    names = set(exported.graph_signature.user_inputs)
    values = [node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder" and node.name in names]
    return [getattr(one, "dtype", one) for one in values]


def _decompositions() -> Any:
    """Torch's table, which also has the operations that autograd would have taken apart, without those with rules."""
    found: Any = required("torch.export").default_decompositions()
    for op in list(found):
        if str(op) in rules():
            found.pop(op)
    found.update(table())
    found.update(recurrent.decompositions())
    for mode in MODES:
        op = getattr(torch.ops.aten, f"upsample_{mode}2d").vec
        found[op] = resizing(mode, found[op])
    return found


def _check(program: Any, signature: Any, weights: str) -> None:
    if has_symbols(program.graph_module):
        raise _error(
            "the program has symbolic sizes; xhlo.from_torch(program, arguments=(..)) takes those of its arguments"
        )
    if signature.buffers_to_mutate and weights == "constants":
        name = next(iter(signature.buffers_to_mutate.values()))
        raise _error(f"the model changes its buffer '{name}'; call model.eval(), or pass weights='arguments'")


def _with_values(name: str, tensor: Any) -> Any:
    if tensor.is_meta:
        raise _error(f"'{name}' is on the device meta, without values; load them, or pass weights='arguments'")
    return tensor


def _error(message: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic("error", f"torch.export: {message}"))
