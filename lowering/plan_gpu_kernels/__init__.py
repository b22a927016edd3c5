"""The mapping of each kernel to a GPU (tiles, vectors, threads, launches), written as attributes."""
