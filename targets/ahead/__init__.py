"""Programs compiled ahead of time: object files, archives and headers that need no Python."""
