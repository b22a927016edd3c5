"""Floor 1: dialects and operations missing from xDSL."""
