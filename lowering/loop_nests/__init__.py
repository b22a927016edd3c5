"""Loops from linalg: shared by the CPU and GPU lowerings."""
