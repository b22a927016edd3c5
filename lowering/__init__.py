"""Floor 3: conversions from one dialect to the next."""
