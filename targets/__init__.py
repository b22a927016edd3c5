"""Floor 5: LLVM IR text, machine code, memory, runtimes and executables."""
