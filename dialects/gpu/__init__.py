"""Operations of `gpu`, `nvgpu` and `nvvm` missing from xDSL, and calls of GPU libraries."""
