"""Operations of `gpu`, `nvgpu` and `nvvm` that xDSL lacks, and calls of a GPU's libraries."""
