"""Floor 1: dialects and operations that xDSL lacks."""
