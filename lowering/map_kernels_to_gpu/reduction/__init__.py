"""Reductions and chains of row operations on a GPU."""
