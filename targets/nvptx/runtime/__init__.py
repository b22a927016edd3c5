"""CUDA: the driver and its errors, cuBLASLt, and the code that a device loads."""
