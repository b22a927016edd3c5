"""Sorts, scans, scatters and selections on a GPU."""
