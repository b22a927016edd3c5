"""The pass `outline-parallel-loops`: parallel loops, and the work between calls, to functions."""
