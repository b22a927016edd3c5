"""Conversion of the operations of a kernel from hlo to linalg on tensors, a file per family."""
