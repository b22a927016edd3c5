"""The pass `batch-step-products`: products and sums of the steps of a loop, made at once before it or after it."""
