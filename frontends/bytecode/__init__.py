"""
MLIR's bytecode: modules in MLIR's binary form, which `mlir-opt --emit-bytecode` and Python's `write_bytecode` make.

The format is described in MLIR's "MLIR Bytecode Format". Locations, strings and dictionaries have the builtin dialect's
own encoding; other attributes and types are written as their text, which the format allows for every dialect.
"""

MAGIC = b"ML\xefR"
"""How a file begins."""
