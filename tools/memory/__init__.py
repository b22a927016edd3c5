"""`hlo-run --memory`: the buffers of a program."""
