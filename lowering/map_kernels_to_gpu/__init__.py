"""Lower kernels of linalg on memrefs to GPU functions: blocks, threads and shared memory."""
