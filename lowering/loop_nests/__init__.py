"""Loops from linalg: what the CPU's and the GPU's lowerings share."""
