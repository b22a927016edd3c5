"""Kernels of rows with products, such as attention: tile by tile of rows."""
