"""Elementwise kernels, transposes and groups of them on a GPU."""
