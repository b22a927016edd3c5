"""From kernels of linalg on memrefs to functions of the GPU: blocks, threads and the memory that blocks share."""
