"""The pass `outline-loops`: loops of the host program around small kernels become kernels."""
