"""The pass `fuse-hlo`: the graph of a block, the plan of its kernels, their cost and the remarks."""
