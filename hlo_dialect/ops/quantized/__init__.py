"""Quantized types, their operations, and the meaning of other operations on them."""
