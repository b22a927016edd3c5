"""The CPU target: JIT, threads, buffer pool and executables."""
