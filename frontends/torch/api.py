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
