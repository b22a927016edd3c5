"""Running compiled programs on NVIDIA GPUs: the driver, memory, arrays, the host program."""
