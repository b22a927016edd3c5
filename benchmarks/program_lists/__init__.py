"""The programs that the benchmarks run, a file for each list."""
