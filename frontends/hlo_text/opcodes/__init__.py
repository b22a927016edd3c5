"""The conversions of opcodes to operations, one file per family."""
