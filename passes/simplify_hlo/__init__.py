"""The pass `simplify-hlo` and its rules, a file per family."""
