"""TensorFlow itself, an extra of the package; it has no types for checkers."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any


@lru_cache(maxsize=1)
def tensorflow() -> Any:
    """The module `tensorflow`. Raises ImportError that says how to install it."""
    try:
        return import_module("tensorflow")
    except ImportError as error:
        raise ImportError(
            f"xhlo.tensorflow needs TensorFlow, which cannot be imported ({error}): pip install 'xhlo[tensorflow]'"
        ) from error


@lru_cache(maxsize=1)
def _tapes() -> Any:
    tensorflow()
    return import_module("tensorflow.python.eager.record")


def is_recorded(tensors: list[Any]) -> bool:
    """Whether a gradient tape records what is computed from one of these tensors."""
    tapes = _tapes()
    return bool(tapes.could_possibly_record()) and bool(tapes.should_record_backprop(tensors))
