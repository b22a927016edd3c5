"""Matrix products as calls of a GPU's library."""
