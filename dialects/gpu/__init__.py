"""What xDSL lacks of `gpu`, `nvgpu` and `nvvm`, and the calls of a GPU's libraries."""
