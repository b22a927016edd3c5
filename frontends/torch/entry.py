"""The public functions, which import torch when they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp


def from_torch(
    exported: Any,
    weights: Literal["constants", "arguments"] = "constants",
    arguments: Sequence[Any] | None = None,
) -> ModuleOp:
    """
    The module of a program that `torch.export.export(model, args)` returned, for `xhlo.compile` and `hlo-opt`.

    weights: "constants" makes parameters and buffers part of the program, whose arguments are the model's; with
    "arguments" they come first, in the order of `exported.graph_signature.input_specs`. Results are those of the graph:
    new values of buffers and arguments that the model changes come first; those of buffers need weights="arguments".

    arguments: tensors of the sizes that a program of symbolic sizes (`dynamic_shapes=`) is made for; any values do.

    Raises DiagnosticError for an operation that is not compiled, at the line of the model, for one that draws random
    numbers, for symbolic sizes without `arguments`, and for arguments that the program does not take; TypeError for
    another object; ImportError without PyTorch.

    >>> import torch
    >>> import xhlo
    >>> model = torch.nn.Linear(2, 3).eval()
    >>> exported = torch.export.export(model, (torch.zeros(4, 2),))
    >>> module = xhlo.from_torch(exported)
    >>> xhlo.compile(module)(torch.ones(4, 2)).shape
    (4, 3)
    """
    if not hasattr(exported, "graph_signature"):
        raise TypeError(
            f"expected a program of torch.export.export(model, arguments), got {type(exported).__name__}; "
            "torch.compile(model, backend='xhlo') compiles a model as it is"
        )
    if weights not in ("constants", "arguments"):
        raise ValueError(f"weights: expected 'constants' or 'arguments', got {weights!r}")
    from .export import module_of

    return module_of(exported, weights, arguments)
