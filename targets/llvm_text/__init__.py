"""LLVM IR as text, from the llvm dialect."""
