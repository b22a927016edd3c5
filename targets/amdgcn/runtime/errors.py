"""The errors of HIP."""

from __future__ import annotations

from ...gpu.runtime.driver import GpuError, GpuUnavailableError


class HipError(GpuError):
    """
    HIP returned an error, or a kernel failed.

    `name` is HIP's ("hipErrorIllegalAddress"), `kernel` the device function, if one is known to be the cause.

    >>> import xhlo
    >>> error = xhlo.HipError("hipErrorIllegalAddress", "an illegal access", "loop_fusion_0")
    >>> error.name, error.kernel
    ('hipErrorIllegalAddress', 'loop_fusion_0')
    >>> print(error)
    hipErrorIllegalAddress: kernel @loop_fusion_0: an illegal access
    """

    OUT_OF_MEMORY = "hipErrorOutOfMemory"
    CAPTURED = "hipErrorStreamCaptureUnsupported"


class HipUnavailableError(GpuUnavailableError):
    """There is no GPU of AMD's to run on, or a requirement is missing; the message says which."""

    TARGET = "amdgcn"
    HINT = (
        "everything up to machine code works without a GPU: hlo-opt --target=amdgcn --emit=asm; "
        "hlo-run --target=simt --chip=gfx942 interprets the kernels"
    )
