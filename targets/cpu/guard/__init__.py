"""Guard mode on the CPU: buffers between inaccessible pages, and reports of accesses outside of them."""
