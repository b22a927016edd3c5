"""The pass `outline-kernels`: fusions to functions, and the description of the program that later levels lack."""
