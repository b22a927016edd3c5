"""The pass `simplify-hlo` and its rules, one file per family."""
