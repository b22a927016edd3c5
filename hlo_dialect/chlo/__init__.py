"""The operations of the chlo dialect, a file per family."""
