"""The package torch, which is loaded here and nowhere else: it is an extra of xhlo's."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def required(name: str) -> Any:
    """A module of torch. Raises ImportError that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise ImportError("xhlo.frontends.torch needs PyTorch: pip install 'xhlo[torch]'", name="torch") from None


# Typed as Any: whoever checks these files may not have torch.
torch: Any = required("torch")

_pytree: Any = required("torch.utils._pytree")


def distinct(values: Any) -> Any:
    """The values of a tree, copied where they repeat a tensor: those of graphs within a graph must not share memory."""
    seen: set[int] = set()

    def own(one: Any) -> Any:
        one = one.clone() if id(one) in seen else one
        seen.add(id(one))
        return one

    return _pytree.tree_map_only(torch.Tensor, own, values)
