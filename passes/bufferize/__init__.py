"""The pass `bufferize`: tensors to memrefs, in kernels and in the host program."""
