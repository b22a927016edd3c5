"""Factors that are not packed as they lie in memory."""
