"""Runs programs on GPUs through the driver of a vendor: memory, streams, graphs and arrays."""
