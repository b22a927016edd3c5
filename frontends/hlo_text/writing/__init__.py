"""Writing modules of hlo as XLA's HLO text."""
