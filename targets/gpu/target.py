"""GPUs as targets: one for each chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from ...lowering.device.chips import DEFAULT_CHIP
from ...lowering.device.gpu import GpuChip, UnknownChipError, chip_of_name
from ..program.target import Target, TargetOptionError


@dataclass(frozen=True)
class GpuTarget(Target):
    """Kernels mapped to the blocks and threads of a chip."""

    chip: GpuChip
    chosen: bool = field(default=False, compare=False, kw_only=True)
    """Whether somebody named the chip: the machine at hand does not replace it."""

    def tune(self, spec: str) -> str:
        """Map kernels to the chip's blocks and threads, matrix products together with their elementwise users."""
        return tuned(spec, self.chip)

    def for_chip(self, chips: Mapping[str, GpuChip], options: Mapping[str, str]) -> Self:
        """This target with the chip among `chips` that the options name, if any. Raises TargetOptionError."""
        rest = dict(options)
        name = rest.pop("chip", None)
        Target.configured(self, rest)
        if name is None:
            return self
        try:
            return replace(self, chip=chip_of_name(chips, name), chosen=True)
        except UnknownChipError as error:
            raise TargetOptionError(str(error)) from None


def tuned(spec: str, chip: GpuChip, math: str = "default", libraries: str = "never") -> str:
    """Add the options for a GPU to a pass spec."""
    if spec == "expand-math" and math != "default":
        return f"{spec}{{mode={math}}}"
    if spec == "simplify-hlo" and math == "fast":
        return f"{spec}{{math=fast}}"
    if spec == "fuse-hlo":
        # Matrix cores of AMD hold rows in other lanes than the next product reads them from.
        products = "streamed" if chip.has_tensor_cores else "none"
        return f"{spec}{{epilogues=dots row-products={products}}}"
    if spec == "tile-loops":
        return f"{spec}{{chip={chip.name}}}"
    if spec == "decompose-hlo":
        return f"{spec}{{short-floats=true}}" if chip.has_tensor_cores else spec
    if spec not in ("outline-block-loops", "plan-gpu-kernels", "map-kernels-to-gpu"):
        return spec
    options = [f"chip={chip.name}"] * (chip.name != DEFAULT_CHIP)
    if spec == "plan-gpu-kernels":
        options += [f"libraries={libraries}"] * (libraries != "never")
    return f"{spec}{{{' '.join(options)}}}" if options else spec
