"""NumPy code compiled: traced arrays, what NumPy's functions do on them, and `jit`."""
