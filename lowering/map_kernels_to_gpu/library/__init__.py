"""Matrix products as calls of a GPU library."""
