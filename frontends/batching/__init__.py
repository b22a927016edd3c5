"""Programs on one element made to work on a batch of them, operation by operation."""
