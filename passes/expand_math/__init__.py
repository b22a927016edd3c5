"""The pass `expand-math` and the formulas of the elementary functions."""
