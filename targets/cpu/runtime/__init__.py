"""The functions that compiled code calls, in LLVM IR: the pool of threads, and the clock."""
