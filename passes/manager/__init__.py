"""Passes by name, named pipelines, and what runs them: the pass manager, timing, reproducers."""
