"""Complex tensors as pairs of real ones: the pass `split-complex`, its rules and the layout of pairs."""
