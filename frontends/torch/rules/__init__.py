"""The rules of operations, by family."""
