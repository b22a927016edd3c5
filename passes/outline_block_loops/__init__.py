"""The pass `outline-block-loops`: loops of the host program around small kernels become kernels that a block runs."""
