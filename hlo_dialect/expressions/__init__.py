"""The notation in which passes build hlo."""
