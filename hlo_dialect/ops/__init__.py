"""The operations of the hlo dialect, a file per family."""
