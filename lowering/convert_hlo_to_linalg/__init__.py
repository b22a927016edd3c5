"""Conversion of a kernel's operations from hlo to linalg on tensors, one file per family."""
