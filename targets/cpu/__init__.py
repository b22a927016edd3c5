"""The CPU target: JIT, OpenMP runtime, buffer pool and executables."""
