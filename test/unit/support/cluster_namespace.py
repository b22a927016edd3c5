"""
The array API standard on arrays that record: its conformance suite runs on this module as on any namespace.

    cd array-api-tests
    PYTHONPATH=.../test/unit/support ARRAY_API_TESTS_MODULE=cluster_namespace pytest --disable-deadline array_api_tests

The functions are those of array-api-compat for NumPy, by which libraries use NumPy's arrays, or NumPy's where it is not
installed; they give ClusterArrays. With CLUSTERS_RUN=compile each cluster is compiled when it comes for the first time,
even one of a single operation, else as users' code is.
"""

from __future__ import annotations

import functools
import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

import xhlo
import xhlo.numpy
from xhlo.frontends.clusters.clusters import SETTINGS
from xhlo.hlo_dialect.types import element_type_of

if os.environ.get("CLUSTERS_RUN") == "compile":
    SETTINGS.compile_after, SETTINGS.min_operations, SETTINGS.must_gain = 1, 1, False


def _recording(found: Any) -> Any:
    """A result with arrays that record in place of NumPy's."""
    if isinstance(found, tuple | list):
        parts = [_recording(one) for one in found]
        return found._make(parts) if hasattr(found, "_make") else type(found)(parts)
    is_array = isinstance(found, np.ndarray | np.generic) and element_type_of(found.dtype) is not None
    return xhlo.asarray(found) if is_array else found


def _function(function: Any) -> Any:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return _recording(function(*args, **kwargs))

    return called


class _Namespace(ModuleType):
    """A module of NumPy, whose functions give arrays that record."""

    def __init__(self, module: ModuleType):
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _entry(getattr(self._module, name))


def _entry(found: Any) -> Any:
    if isinstance(found, ModuleType):
        return _Namespace(found)
    return found if isinstance(found, type) or not callable(found) else _function(found)


_NAMESPACE = import_module("array_api_compat.numpy" if find_spec("array_api_compat") else "numpy")

__array_api_version__ = "2024.12"
finfo = xhlo.numpy.finfo


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """A list, as this version of the standard has it; the next one has NumPy's tuple."""
    return list(_recording(_NAMESPACE.broadcast_arrays(*arrays)))


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """A list too."""
    return list(_recording(_NAMESPACE.meshgrid(*arrays, indexing=indexing)))


def __getattr__(name: str) -> Any:
    return _entry(getattr(_NAMESPACE, name))
