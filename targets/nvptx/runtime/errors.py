"""The errors of CUDA."""

from __future__ import annotations

from ...gpu.runtime.driver import GpuError


class CudaError(GpuError):
    """
    The CUDA driver returned an error, or a kernel failed.

    `name` is CUDA's ("CUDA_ERROR_ILLEGAL_ADDRESS"), `kernel` the device function, if one is known to be the cause.

    >>> import xhlo
    >>> error = xhlo.CudaError("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal access", "loop_fusion_0")
    >>> error.name, error.kernel
    ('CUDA_ERROR_ILLEGAL_ADDRESS', 'loop_fusion_0')
    >>> print(error)
    CUDA_ERROR_ILLEGAL_ADDRESS: kernel @loop_fusion_0: an illegal access
    """

    OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
    CAPTURED = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
