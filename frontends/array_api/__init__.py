"""The Python array API standard (2024.12) on the compiled functions of NumPy: the namespace `xhlo.numpy`."""
