"""Matrix products and convolutions on a GPU."""
