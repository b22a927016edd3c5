"""The notation of device code that every mapping uses."""
