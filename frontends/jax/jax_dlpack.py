"""
DLPack for arrays of this platform, which are in the CPU's memory.

jaxlib imports tensors on any platform, but exports its own only on the platforms it knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import PLATFORM, REPORTED
from .jax_internals import internal


def capsule_of(array: Any) -> Any:
    """The DLPack capsule of a JAX array on one of our devices; no copy. Raises BufferError for other element types."""
    # Few programs exchange arrays.
    from ...targets.program import dlpack

    view = np.asarray(array)
    strides = [stride // view.itemsize for stride in view.strides]
    return dlpack.export(view, view.ctypes.data, view.shape, view.dtype, (dlpack.CPU, 0), False, strides)


class _Instead:
    """A view of a module in which some functions are replaced."""

    def __init__(self, module: Any, **replaced: Any):
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def install() -> None:
    """Let JAX's DLPack functions know this platform."""
    module = internal("dlpack")
    bridge, library = module.xla_bridge, module._jax

    def get_backend(platform: Any = None) -> Any:
        """CPU memory belongs to our platform if JAX computes on it."""
        ours = platform == "cpu" and bridge.get_backend().platform == REPORTED
        return bridge.get_backend(PLATFORM if ours else platform)

    def buffer_to_dlpack_managed_tensor(buffer: Any, stream: Any = None) -> Any:
        if buffer.platform() != REPORTED:
            return library.buffer_to_dlpack_managed_tensor(buffer, stream=stream)
        return capsule_of(buffer)

    module.xla_bridge = _Instead(bridge, get_backend=get_backend)
    module._jax = _Instead(library, buffer_to_dlpack_managed_tensor=buffer_to_dlpack_managed_tensor)
    arrays = internal("array").ArrayImpl
    others = arrays.__dlpack_device__

    def dlpack_device(self: Any) -> tuple[Any, int]:
        if len(self._arrays) == 1 and self.platform() == REPORTED:
            return module.DLDeviceType.kDLCPU, 0
        return others(self)

    arrays.__dlpack_device__ = dlpack_device
