"""One block runs a sequence of operations, with the loops around them: recurrences, and other chains of small steps."""
