"""Row kernels with products, such as attention, on a GPU: their rows are computed tile by tile and never stored."""
