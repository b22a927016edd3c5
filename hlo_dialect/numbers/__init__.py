"""The semantics of element types in NumPy: rounding, special functions, random bits."""
