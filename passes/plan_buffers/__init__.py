"""The pass `plan-buffers`: the places of all buffers of a program."""
